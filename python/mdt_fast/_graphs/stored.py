"""A neighbour table on disk, of samples that memory need not hold."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, eq=False)
class StoredNeighbors:
    """The nearest neighbours of samples, written by :func:`store_neighbors`.

    It is an argument `neighbors` of :func:`build_operators` and of the estimators.

    Attributes
    ----------
    indices : (n_samples, n_neighbors) array of int32
        Neighbours in ascending order of (distance, index), without the sample itself. A memory map, or an array of
        Zarr.
    distances : (n_samples, n_neighbors) array of float64
        Their distances.
    recall : float
        Share of the nearest neighbours that were found, of some samples that were compared with all others.
    recall_error : float
        Standard error of this share.
    n_cells : int
        Number of cells into which the samples were divided.
    cells_per_sample : int
        Number of cells that contain each sample.
    path : Path
        Where the table was written.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import mdt_fast as mdt
    >>> (X, _) = mdt.datasets.make_multiview_blobs(600, random_state=0).views
    >>> with TemporaryDirectory() as folder:
    ...     found = mdt.store_neighbors(X, 10, Path(folder) / "graph", cell_rows=200)
    ...     print(type(found).__name__, found.indices.shape, found.recall > 0.9)
    StoredNeighbors (600, 10) True
    """

    indices: Any
    distances: Any
    recall: float
    recall_error: float
    n_cells: int
    cells_per_sample: int
    path: Path

    def __repr__(self) -> str:
        """Return the shape and the recall."""
        n, k = self.indices.shape
        return f"StoredNeighbors({n} samples, {k} neighbours; recall {self.recall:.3f}; {self.path})"
