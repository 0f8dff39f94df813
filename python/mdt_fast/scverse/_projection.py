"""Principal components of new cells, in the coordinates of a reference.

Distances between the cells of two objects mean something only if both were projected by the same PCA. scanpy
stores its loadings in ``.varm["PCs"]``. With them a query without ``.obsm["X_pca"]`` is projected:
``(X - m) PCs`` with m the means of the reference. A query that was projected by loadings of its own is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._support.one_thread import one_thread
from ._matrices import REDUCED, keys_of, read_key
from ._objects import listed

_LOADINGS = "PCs"
# Cells of the reference whose coordinates are computed again, and the accepted relative difference.
_PROBES, _TOLERANCE = 20, 1e-2


def read_like(query: Any, reference: Any, key: str, label: str) -> Any:
    """Return the matrix of a key of the query in the coordinates of the reference."""
    if key == REDUCED and _LOADINGS in reference.varm:
        if REDUCED not in query.obsm:
            return _project(query, reference, label)
        _check_loadings(query, reference, label)
    if key not in keys_of(query):
        raise ValueError(f"{label}: expected the key {key!r}, as in the reference, got {listed(keys_of(query))}")
    return read_key(query, key, label)


def _check_loadings(query: Any, reference: Any, label: str) -> None:
    """Raise ValueError if the query has loadings of its own."""
    if _LOADINGS not in query.varm:
        return
    own, known = np.asarray(query.varm[_LOADINGS]), np.asarray(reference.varm[_LOADINGS])
    places = query.var_names.get_indexer(reference.var_names) if query.var_names.is_unique else None
    is_same = own.shape[1] == known.shape[1] and places is not None and bool((places >= 0).all())
    if not is_same or not np.allclose(own[places], known, atol=1e-6):
        raise ValueError(
            f"{label}: expected coordinates of the PCA of the reference, got .obsm['X_pca'] of another PCA; without "
            "it (del query.obsm['X_pca']) the query is projected by the loadings of the reference"
        )


def _project(query: Any, reference: Any, label: str) -> NDArray[Any]:
    """Return the features of the query times the loadings of the reference, centred as the reference was."""
    loadings = np.asarray(reference.varm[_LOADINGS], dtype=np.float64)
    used = np.flatnonzero(np.abs(loadings).sum(axis=1))
    wanted = reference.var_names[used]
    if not query.var_names.is_unique:
        raise ValueError(f"{label}: expected unique var_names, by which features are found")
    places = query.var_names.get_indexer(wanted)
    if (places < 0).any():
        missing = [str(name) for name in wanted[places < 0]]
        raise ValueError(
            f"{label}: expected .obsm['X_pca'], or the {len(used)} features of the PCA of the reference to compute it, "
            f"got none of {len(missing)} features ({', '.join(map(repr, missing[:5]))}, ...)"
        )
    params = _params(reference)
    key = f"layers/{params['layer']}" if params.get("layer") is not None else "X"
    for owner, name in ((reference, "reference"), (query, label)):
        if key not in keys_of(owner):
            raise ValueError(f"{name}: expected the matrix {key!r} of which the PCA was made, got none")
    known = read_key(reference, key, "reference")
    center = np.zeros(len(used))
    if params.get("zero_center", True):
        center = np.asarray(known[:, used].mean(axis=0), dtype=np.float64).ravel()
    new = read_key(query, key, label)[:, places]
    with one_thread():
        shift = center @ loadings[used]
        _check_reference(known[:_PROBES], used, loadings[used], shift, np.asarray(reference.obsm[REDUCED][:_PROBES]))
        return _dense(new @ loadings[used]) - shift


def _params(reference: Any) -> Mapping[str, Any]:
    entry = reference.uns.get("pca", {})
    params = entry.get("params", {}) if isinstance(entry, Mapping) else {}
    return params if isinstance(params, Mapping) else {}


def _check_reference(
    X: Any, used: NDArray[np.intp], loadings: NDArray[Any], shift: NDArray[Any], expected: NDArray[Any]
) -> None:
    """Raise ValueError if the loadings do not give the reference its own coordinates."""
    found = _dense(X[:, used] @ loadings) - shift
    if not np.allclose(found, expected, rtol=0.0, atol=_TOLERANCE * float(np.abs(expected).max())):
        raise ValueError(
            "reference: expected .X, .varm['PCs'] and .obsm['X_pca'] of one PCA, by which the query can be projected, "
            "got others: .X was changed after the PCA; give the query an .obsm['X_pca']"
        )


def _dense(X: Any) -> NDArray[Any]:
    return np.asarray(X.toarray() if sparse.issparse(X) else X)
