"""Neighbour graphs: searched here, or brought by the user, always in one form."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .. import _core
from .._support.csr import without_empty_columns
from .._support.memory import require
from .approximate import find_effort
from .views import Matrix, View

METRICS = ("euclidean", "cosine", "correlation", "manhattan", "precomputed")

# Rows of a precomputed distance matrix that are sorted at a time.
_ROWS_PER_BLOCK = 256


@dataclass(frozen=True)
class NeighborGraph:
    """A directed graph of distances to neighbours, without self-loops, in CSR form with ascending columns.

    Distances are in units of 2**exponent; the exponent is 0 but for data of extreme scale, whose squares would
    leave the range of a double.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    distances: NDArray[np.float64]
    nearest_positive: NDArray[np.float64]
    exponent: int = 0
    # Index of the last neighbour of each point by (distance, index); only where every point has the same number.
    last: NDArray[np.int32] | None = None

    @property
    def n_samples(self) -> int:
        """Number of points."""
        return len(self.indptr) - 1

    def true_distances(self) -> NDArray[np.float64]:
        """Distances in the units of the data."""
        return np.ldexp(self.distances, self.exponent) if self.exponent else self.distances

    def to_csr(self) -> sparse.csr_array:
        """Return the graph as a SciPy matrix; coinciding points are explicit zeros."""
        n = self.n_samples
        return sparse.csr_array((self.true_distances(), self.indices, self.indptr), shape=(n, n), copy=True)

    def _reduce_rows(self, ufunc: np.ufunc) -> NDArray[np.float64]:
        lengths = np.diff(self.indptr)
        reduced = np.zeros(self.n_samples)
        if len(self.distances):
            # reduceat gives nonsense for empty rows, which keep the 0.
            starts = np.minimum(self.indptr[:-1], len(self.distances) - 1)
            reduced = np.where(lengths > 0, ufunc.reduceat(self.distances, starts), 0.0)
        return reduced

    def farthest(self) -> NDArray[np.float64]:
        """Distance of each point to its last neighbour."""
        return self._reduce_rows(np.maximum)

    def n_duplicates(self) -> int:
        """Count the points that coincide with one of their neighbours."""
        has_neighbors = np.diff(self.indptr) > 0
        return int(np.count_nonzero((self._reduce_rows(np.minimum) == 0) & has_neighbors))


def search(view: View, n_neighbors: int, metric: str, neighbors: Any, seed: int, n_threads: int) -> NeighborGraph:
    """Find the neighbours of every sample, as `neighbors` of :func:`build_operators` says."""
    if metric == "precomputed":
        return _from_distance_matrix(view.data, n_neighbors, view.name)
    table = search_table(view, n_neighbors, metric, neighbors, seed, n_threads)
    return _from_table(table.indices, table.distances, table.nearest_positive, table.exponent)


def search_table(
    view: View, n_neighbors: int, metric: str, neighbors: Any, seed: int, n_threads: int
) -> _core.NeighborTable:
    """Return the neighbours of every sample in the order of their distances."""
    X: Any = view.data
    effort = find_effort(neighbors, view, metric)
    if effort is not None:
        return _core.knn_approximate(X, n_neighbors, metric, effort.recall, seed, n_threads)
    if sparse.issparse(X) and metric == "correlation":
        # Removing the mean of a row leaves nothing sparse.
        require(8 * X.shape[0] * X.shape[1], f"Xs ({view.name}): the correlation distance of a sparse view")
        X = X.toarray()
    try:
        if sparse.issparse(X):
            (rows,) = without_empty_columns(X)
            return _core.knn_sparse(rows, n_neighbors, metric, n_threads)
        return _core.knn(X, n_neighbors, metric, "auto", n_threads)
    except ValueError as error:
        raise ValueError(f"Xs ({view.name}): {error}") from None


def given(neighbors: Any, view: View) -> NeighborGraph:
    """Return a graph that the user brings: (indices, distances), a sparse matrix, or a transformer making one."""
    if hasattr(neighbors, "fit_transform") and not isinstance(neighbors, type):
        from sklearn.base import clone

        # A clone, as in every scikit-learn pipeline: the user's object stays as it was.
        made = clone(neighbors).fit_transform(view.data)
        if not sparse.issparse(made) or getattr(neighbors, "mode", "distance") != "distance":
            raise ValueError(
                f"neighbors ({view.name}): expected a transformer that gives a sparse graph of distances "
                f"(mode='distance'), got {neighbors!r}"
            )
        return from_sparse(made, view.n_samples, f"neighbors ({view.name})")
    if sparse.issparse(neighbors):
        return from_sparse(neighbors, view.n_samples, f"neighbors ({view.name})")
    if isinstance(neighbors, tuple) and len(neighbors) == 2:
        return _from_pair(*neighbors, view.n_samples, f"neighbors ({view.name})")
    raise TypeError(
        f"neighbors ({view.name}): expected 'auto', 'exact', 'approx', ApproximateNeighbors, a pair (indices, "
        f"distances), a sparse graph or a KNeighborsTransformer, got {neighbors!r}"
    )


def from_sparse(graph: Any, n_samples: int, name: str) -> NeighborGraph:
    """Return the graph of a sparse (N, N) matrix of distances; its diagonal is left out."""
    if graph.shape != (n_samples, n_samples):
        raise ValueError(f"{name}: expected shape {(n_samples, n_samples)}, got {graph.shape}")
    coo = graph.tocoo()
    off_diagonal = coo.row != coo.col
    row, column = coo.row[off_diagonal].astype(np.int64), coo.col[off_diagonal].astype(np.int64)
    return _from_triplets(row, column, coo.data[off_diagonal], n_samples, name)


def _from_pair(indices: Any, distances: Any, n_samples: int, name: str) -> NeighborGraph:
    indices, distances = np.asarray(indices), np.asarray(distances)
    if indices.ndim != 2 or indices.shape != distances.shape or len(indices) != n_samples:
        raise ValueError(
            f"{name}: expected two arrays of shape ({n_samples}, K), got {indices.shape} and {distances.shape}"
        )
    if indices.dtype.kind not in "iu":
        raise TypeError(f"{name}: expected integer indices, got dtype {indices.dtype}")
    row = np.repeat(np.arange(n_samples), indices.shape[1])
    column = indices.ravel().astype(np.int64)
    off_diagonal = row != column
    return _from_triplets(row[off_diagonal], column[off_diagonal], distances.ravel()[off_diagonal], n_samples, name)


def _from_triplets(
    row: NDArray[np.int64], column: NDArray[np.int64], values: NDArray[Any], n_samples: int, name: str
) -> NeighborGraph:
    outside = (column < 0) | (column >= n_samples)
    if outside.any():
        where = int(np.flatnonzero(outside)[0])
        raise ValueError(
            f"{name}: expected neighbours from 0 to {n_samples - 1}, got {column[where]} in row {row[where]}"
        )
    if np.asarray(values).dtype.kind not in "biuf":
        raise TypeError(f"{name}: expected real distances, got dtype {np.asarray(values).dtype}")
    if not len(row):
        raise ValueError(f"{name}: expected some neighbours, got a graph without edges")
    distances = np.asarray(values, dtype=np.float64)
    bad = ~(np.isfinite(distances) & (distances >= 0))
    if bad.any():
        where = int(np.flatnonzero(bad)[0])
        raise ValueError(f"{name}: expected finite non-negative distances, got {distances[where]} in row {row[where]}")
    order = np.lexsort((column, row))
    row, column, distances = row[order], column[order], distances[order]
    repeated = (row[1:] == row[:-1]) & (column[1:] == column[:-1])
    if repeated.any():
        where = int(np.flatnonzero(repeated)[0])
        raise ValueError(f"{name}: expected distinct neighbours, got {column[where]} twice in row {row[where]}")
    indptr = np.zeros(n_samples + 1, dtype=np.int64)
    np.cumsum(np.bincount(row, minlength=n_samples), out=indptr[1:])
    positive = distances > 0
    nearest_positive = np.full(n_samples, np.inf)
    np.minimum.at(nearest_positive, row[positive], distances[positive])
    return NeighborGraph(indptr, column.astype(np.int32), distances, nearest_positive)


def _from_table(
    indices: NDArray[np.int32], distances: NDArray[np.float64], nearest_positive: NDArray[np.float64], exponent: int
) -> NeighborGraph:
    n, k = indices.shape
    order = np.argsort(indices, axis=1)
    return NeighborGraph(
        np.arange(0, n * k + 1, k, dtype=np.int64),
        np.take_along_axis(indices, order, axis=1).ravel(),
        np.take_along_axis(distances, order, axis=1).ravel(),
        nearest_positive,
        exponent,
        np.ascontiguousarray(indices[:, -1]),
    )


def _from_distance_matrix(X: Matrix, n_neighbors: int, name: str) -> NeighborGraph:
    n = X.shape[0]
    if X.shape != (n, n):
        raise ValueError(f"Xs ({name}): expected a square matrix of distances for metric='precomputed', got {X.shape}")
    if not isinstance(X, np.ndarray):
        return from_sparse(X, n, f"Xs ({name})")
    diagonal = np.diagonal(X)
    if diagonal.any():
        row = int(np.flatnonzero(diagonal)[0])
        raise ValueError(f"Xs ({name}): expected distance 0 from a sample to itself, got {diagonal[row]} at row {row}")
    if (X < 0).any():
        row, column = (int(i) for i in np.argwhere(X < 0)[0])
        raise ValueError(
            f"Xs ({name}): expected non-negative distances, got {X[row, column]} at row {row}, column {column}"
        )
    indices = np.empty((n, n_neighbors), dtype=np.int32)
    distances = np.empty((n, n_neighbors))
    nearest_positive = np.empty(n)
    for start in range(0, n, _ROWS_PER_BLOCK):
        block = X[start : start + _ROWS_PER_BLOCK].astype(np.float64)
        rows = np.arange(len(block))
        block[rows, start + rows] = np.inf
        # A stable sort keeps equal distances by index.
        nearest = np.argsort(block, axis=1, kind="stable")[:, :n_neighbors]
        indices[start : start + len(block)] = nearest
        distances[start : start + len(block)] = np.take_along_axis(block, nearest, axis=1)
        nearest_positive[start : start + len(block)] = np.where(block > 0, block, np.inf).min(axis=1)
    return _from_table(indices, distances, nearest_positive, 0)
