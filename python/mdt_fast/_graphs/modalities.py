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
        # An .obsm may hold data frames.
        X = X.to_numpy() if hasattr(X, "to_numpy") else X
        rows = rows_of_cells(mdata, name, X.shape[0], f"{argument} ({name})")
        has = rows >= 0
        pairs.append((str(name), X[rows] if has.all() else PartialRows(X[rows[has]], has)))
    return pairs


def rows_of_cells(mdata: Any, name: Any, n_rows: int, label: str) -> NDArray[np.int64]:
    """Return the row of each cell in a modality; -1 for a cell that the modality lacks."""
    n_cells = len(mdata.obs_names)
    # Numbers from 1 on, and 0 for no row.
    numbers = np.asarray(mdata.obsmap[name]).ravel()
    is_map = numbers.dtype.kind in "biuf" and len(numbers) == n_cells
    if not is_map or not ((numbers >= 0) & (numbers <= n_rows) & (numbers == np.floor(numbers))).all():
        raise ValueError(f"{label}: expected an obsmap with a number from 0 to {n_rows} for each of {n_cells} cells")
    return numbers.astype(np.int64) - 1
