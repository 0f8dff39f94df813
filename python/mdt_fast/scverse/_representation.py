"""The matrix that scanpy and muon use beside a graph, to arrange the parts that no edge joins.

`sc.tl.umap` reads one key as `use_rep`. `mu.tl.umap` of a MuData reads `use_rep` and `n_pcs` as dicts by
modality, with -1 for None. It fails (muon 0.1.9) if a modality beside the first lacks cells, so that
only one modality is named then.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._graphs.modalities import is_multimodal
from ._matrices import is_representation, read_key
from ._views import Source


def representation(data: Any, sources: list[Source]) -> dict[str, Any]:
    """Return `use_rep`, and for a MuData `n_pcs`, as the readers want them."""
    if is_multimodal(data):
        named = {str(source.modality): _key_or_default(source, data) for source in sources}
        if any(data.mod[name].n_obs < data.n_obs for name in named):
            most = max(named, key=lambda name: int(data.mod[name].n_obs))
            named = {most: named[most]}
        return {"use_rep": named, "n_pcs": dict.fromkeys(named, -1)}
    usable = [source for source in sources if is_representation(source.key)]
    found = next((source.key for source in usable if _is_complete(data, source.key)), None)
    if found is None and data.X is not None:
        found = "X"
    return {} if found is None else {"use_rep": found}


def _key_or_default(source: Source, data: Any) -> str | int:
    if is_representation(source.key):
        return source.key
    return -1 if source.owner(data).X is None else "X"


def _is_complete(adata: Any, key: str) -> bool:
    """Return whether a representation has no row of NaN, a cell that the view lacks."""
    if key == "X":
        return True
    X = read_key(adata, key, key)
    values = X.data if sparse.issparse(X) else X
    return bool(np.isfinite(np.asarray(values).sum()))
