"""Views of a MuData object, without the package mudata: its modalities, and the cells that each has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

# The matrix of a modality in which cells are compared, if it is there.
_REDUCED = "X_pca"


@dataclass(frozen=True)
class PartialRows:
    """A matrix with rows for some of the samples: those that are marked in `has`."""

    matrix: Any
    has: NDArray[np.bool_]


def is_multimodal(X: Any) -> bool:
    """Return whether an object is a MuData."""
    return all(hasattr(X, name) for name in ("mod", "obsmap", "obs_names")) and hasattr(X.mod, "items")


def modalities(mdata: Any, argument: str) -> list[tuple[str, Any]]:
    """Return name and matrix of each modality, as :class:`PartialRows` if it lacks cells.

    The matrix is ``.obsm["X_pca"]``, or ``.X`` if there is none.
    """
    if getattr(mdata, "axis", 0) != 0:
        raise ValueError(f"{argument}: expected modalities that share cells (axis 0), got axis {mdata.axis}")
    pairs = []
    for name, modality in mdata.mod.items():
        X = modality.obsm.get(_REDUCED, modality.X)
        if X is None:
            raise ValueError(f"{argument} ({name}): expected a matrix in .obsm[{_REDUCED!r}] or .X, got neither")
        # Numbers of the rows from 1 on; 0 for a cell that the modality lacks.
        rows = np.asarray(mdata.obsmap[name]).astype(np.int64).ravel() - 1
        has = rows >= 0
        pairs.append((str(name), X[rows] if has.all() else PartialRows(X[rows[has]], has)))
    return pairs
