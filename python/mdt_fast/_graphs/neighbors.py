"""Neighbour graphs: searched, or given by the user, in one form."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._support.arguments import first_true
from .._support.csr import check_arrays
from .approximate import is_search
from .nearest import scale_distances, search_table, sort_distances
from .readable import check_readable
from .stored import StoredNeighbors
from .views import View


@dataclass(frozen=True)
class NeighborGraph:
    """A directed graph of distances to neighbours, without self-loops, in CSR form.

    Columns ascend in each row. Distances are in units of ``2**exponent``. The exponent is 0 except
    for data of extreme scale, where squares of distances would leave the range of double precision.
    `nearest_positive` is the smallest positive distance of each sample to another; infinity if there
    is none.
    """

    indptr: NDArray[np.int64]
    indices: NDArray[np.int32]
    distances: NDArray[np.float64]
    nearest_positive: NDArray[np.float64]
    exponent: int = 0
    # Last neighbour of each sample by (distance, index); only if neighbours were searched.
    last: NDArray[np.int32] | None = None
    # The neighbours of each sample in its own batch, which define widths; None without batches.
    within: "NeighborGraph | None" = None

    @classmethod
    def from_table(
        cls,
        indices: NDArray[np.int32],
        distances: NDArray[np.float64],
        nearest_positive: NDArray[np.float64],
        exponent: int = 0,
    ) -> "NeighborGraph":
        """Return the graph of a table, which has the same number of neighbours for every sample."""
        n, k = indices.shape
        order = np.argsort(indices, axis=1)
        indptr = np.arange(0, n * k + 1, k, dtype=np.int64)
        columns = np.take_along_axis(indices, order, axis=1).ravel()
        values = np.take_along_axis(distances, order, axis=1).ravel()
        return cls(indptr, columns, values, nearest_positive, exponent, np.ascontiguousarray(indices[:, -1]))

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return len(self.indptr) - 1

    def true_distances(self) -> NDArray[np.float64]:
        """Return the distances in the unit of the data."""
        return scale_distances(self.distances, self.exponent)

    def to_csr(self) -> sparse.csr_array:
        """Return the graph as a SciPy matrix; distances 0 of coinciding samples are explicit."""
        n = self.n_samples
        return sparse.csr_array((self.true_distances(), self.indices, self.indptr), shape=(n, n), copy=True)

    def _reduce_rows(self, ufunc: np.ufunc) -> NDArray[np.float64]:
        if not len(self.distances):
            return np.zeros(self.n_samples)
        # reduceat returns wrong values for empty rows, which are replaced by 0.
        starts = np.minimum(self.indptr[:-1], len(self.distances) - 1)
        return np.where(np.diff(self.indptr) > 0, ufunc.reduceat(self.distances, starts), 0.0)

    def rows(self) -> NDArray[np.intp]:
        """Return the sample at which each edge starts."""
        return np.repeat(np.arange(self.n_samples), np.diff(self.indptr))

    def farthest(self) -> NDArray[np.float64]:
        """Return the distance of each sample to its last neighbour, in its own batch."""
        return self._reduce_rows(np.maximum) if self.within is None else self.within.farthest()

    def scales(self) -> NDArray[np.float64]:
        """Return a positive length for each sample: the distance to its last neighbour.

        A sample whose neighbours all coincide with it takes the distance of the nearest other sample, or the
        largest such distance of all samples.
        """
        farthest, nearest = self.farthest(), self.nearest_positive
        finite = np.isfinite(nearest)
        return np.where(farthest > 0, farthest, np.where(finite, nearest, nearest[finite].max(initial=0.0)))

    def nearest(self) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
        """Return the nearest neighbour of each sample and its distance, if every sample has one."""
        least = self._reduce_rows(np.minimum)
        places = np.flatnonzero(self.distances == np.repeat(least, np.diff(self.indptr)))
        return self.indices[places[np.searchsorted(places, self.indptr[:-1])]], least

    def n_duplicates(self) -> int:
        """Return the number of samples that coincide with one of their neighbours."""
        return int(np.count_nonzero((self._reduce_rows(np.minimum) == 0) & (np.diff(self.indptr) > 0)))


def find_neighbors(
    view: View, n_neighbors: int, metric: str, neighbors: Any, seed: int, n_threads: int
) -> NeighborGraph:
    """Return the neighbour graph of a view; `n_neighbors` applies only if it is searched."""
    if not is_search(neighbors):
        return _given(neighbors, view)
    if metric != "precomputed":
        found = search_table(view, n_neighbors, metric, neighbors, seed, n_threads)
        return NeighborGraph.from_table(found.indices, found.distances, found.nearest_positive, found.exponent)
    n, shape, name = view.n_samples, view.data.shape, view.label
    if shape != (n, n):
        raise ValueError(f"{name}: expected a square matrix of distances for metric='precomputed', got {shape}")
    if sparse.issparse(view.data):
        return _from_sparse(view.data, n, name)
    return NeighborGraph.from_table(*sort_distances(view, n_neighbors))


def _given(neighbors: Any, view: View) -> NeighborGraph:
    """Return a graph given by the user: (indices, distances), a sparse matrix, or a transformer."""
    if hasattr(neighbors, "fit_transform") and not isinstance(neighbors, type):
        from sklearn.base import clone

        # As in a scikit-learn pipeline, a clone is fitted, not the user's object.
        made = clone(neighbors).fit_transform(view.data)
        if not sparse.issparse(made) or getattr(neighbors, "mode", "distance") != "distance":
            raise ValueError(
                f"neighbors ({view.name}): expected a transformer that gives a sparse graph of distances "
                f"(mode='distance'), got {neighbors!r}"
            )
        return _from_sparse(made, view.n_samples, f"neighbors ({view.name})")
    if isinstance(neighbors, StoredNeighbors):
        return _from_stored(neighbors, view.n_samples, f"neighbors ({view.name})")
    if sparse.issparse(neighbors):
        return _from_sparse(neighbors, view.n_samples, f"neighbors ({view.name})")
    if isinstance(neighbors, tuple) and len(neighbors) == 2:
        return _from_pair(*neighbors, view.n_samples, f"neighbors ({view.name})")
    raise TypeError(
        f"neighbors ({view.name}): expected 'auto', 'exact', 'approx', ApproximateNeighbors, a pair (indices, "
        f"distances), a sparse graph, StoredNeighbors or a KNeighborsTransformer, got {neighbors!r}"
    )


def _from_sparse(graph: Any, n_samples: int, name: str) -> NeighborGraph:
    if graph.shape != (n_samples, n_samples):
        raise ValueError(f"{name}: expected shape {(n_samples, n_samples)}, got {graph.shape}")
    check_arrays(graph, name)
    coo = graph.tocoo()
    return _from_triplets(coo.row, coo.col, coo.data, n_samples, name)


def _from_pair(indices: Any, distances: Any, n_samples: int, name: str) -> NeighborGraph:
    for each in (indices, distances):
        check_readable(each, name, f"two arrays of shape ({n_samples}, K)")
    indices, distances = np.asarray(indices), np.asarray(distances)
    if indices.ndim != 2 or indices.shape != distances.shape or len(indices) != n_samples:
        raise ValueError(
            f"{name}: expected two arrays of shape ({n_samples}, K), got {indices.shape} and {distances.shape}"
        )
    if indices.dtype.kind not in "iu":
        raise TypeError(f"{name}: expected integer indices, got dtype {indices.dtype}")
    rows = np.repeat(np.arange(n_samples), indices.shape[1])
    return _from_triplets(rows, indices.ravel(), distances.ravel(), n_samples, name)


def _from_stored(stored: StoredNeighbors, n_samples: int, name: str) -> NeighborGraph:
    """Return the graph of a table on disk, which may be damaged; it is not sorted by rows, so it needs less memory."""
    indices, distances = np.asarray(stored.indices[:]), np.asarray(stored.distances[:])
    if len(indices) != n_samples or distances.shape != indices.shape:
        raise ValueError(f"{name}: expected the neighbours of {n_samples} samples, got {stored!r}")
    graph = NeighborGraph.from_table(indices, distances, np.where(distances > 0, distances, np.inf).min(axis=1))
    columns = graph.indices.reshape(indices.shape)
    is_wrong = (columns[:, 0] < 0) | (columns[:, -1] >= n_samples) | (columns[:, 1:] == columns[:, :-1]).any(axis=1)
    is_wrong |= (columns == np.arange(n_samples)[:, None]).any(axis=1)
    is_wrong |= ~((distances >= 0) & (distances < np.inf)).all(axis=1)
    if (i := first_true(is_wrong)) is not None:
        raise ValueError(f"{name}: expected a table of neighbours, got a damaged one in {stored.path}: row {i}")
    return graph


def _from_triplets(
    row: NDArray[Any], column: NDArray[Any], values: NDArray[Any], n_samples: int, name: str
) -> NeighborGraph:
    """Return the graph of distances at (row, column) without its diagonal."""
    row, column = row.astype(np.int64), column.astype(np.int64)
    off_diagonal = row != column
    row, column, values = row[off_diagonal], column[off_diagonal], values[off_diagonal]
    if (i := first_true((column < 0) | (column >= n_samples))) is not None:
        raise ValueError(f"{name}: expected neighbours from 0 to {n_samples - 1}, got {column[i]} in row {row[i]}")
    if values.dtype.kind not in "biuf":
        raise TypeError(f"{name}: expected real distances, got dtype {values.dtype}")
    if not len(row):
        raise ValueError(f"{name}: expected some neighbours, got a graph without edges")
    distances = np.asarray(values, dtype=np.float64)
    if (i := first_true(~(np.isfinite(distances) & (distances >= 0)))) is not None:
        raise ValueError(f"{name}: expected finite non-negative distances, got {distances[i]} in row {row[i]}")
    graph = from_edges(row, column, distances, n_samples)
    row = graph.rows()
    if (i := first_true((row[1:] == row[:-1]) & (graph.indices[1:] == graph.indices[:-1]))) is not None:
        raise ValueError(f"{name}: expected distinct neighbours, got {graph.indices[i]} twice in row {row[i]}")
    return graph


def from_edges(
    row: NDArray[Any], column: NDArray[Any], distances: NDArray[np.float64], n_samples: int
) -> NeighborGraph:
    """Return the graph of edges in any order."""
    order = np.lexsort((column, row))
    row, column, distances = row[order], column[order], distances[order]
    indptr = np.zeros(n_samples + 1, dtype=np.int64)
    np.cumsum(np.bincount(row, minlength=n_samples), out=indptr[1:])
    positive = distances > 0
    nearest_positive = np.full(n_samples, np.inf)
    np.minimum.at(nearest_positive, row[positive], distances[positive])
    return NeighborGraph(indptr, column.astype(np.int32), distances, nearest_positive)
