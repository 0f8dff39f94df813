"""Nearest neighbours of the samples of one view, from features or from a matrix of distances."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .. import _core
from .._support.arguments import check_choice, check_integer, first_true
from .._support.csr import without_empty_columns
from .._support.memory import require
from .._support.seed import check_seed
from .._support.threads import n_threads as _n_threads
from .approximate import check_search, find_effort, is_search
from .views import View, check_views

METRICS = ("euclidean", "cosine", "correlation", "manhattan", "precomputed")

# Rows of a matrix of distances that are sorted at a time.
_ROWS_PER_BLOCK = 256


def nearest_neighbors(
    X: Any,
    n_neighbors: int,
    *,
    metric: str = "euclidean",
    method: Any = "exact",
    random_state: Any = None,
    n_jobs: int | None = None,
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Find the nearest neighbours of every sample among the other samples.

    Parameters
    ----------
    X : (N, d) array or sparse matrix
        Samples.
    n_neighbors : int
        Number of neighbours, from 1 to N - 1.
    metric : {"euclidean", "cosine", "correlation", "manhattan"}, default="euclidean"
        Distance of two samples.
    method : {"exact", "approx", "auto"} or ApproximateNeighbors, default="exact"
        Exact or approximate search; "auto" as in :func:`build_operators`.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the approximate search; None for 0.
    n_jobs : int or None, default=None
        Number of threads; None or -1 for all. The result does not depend on it.

    Returns
    -------
    indices : (N, n_neighbors) array of int32
        Neighbours in ascending order of (distance, index), without the sample itself.
    distances : (N, n_neighbors) array
        Their distances.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as described.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> indices, distances = mdt.nearest_neighbors([[0.0], [1.0], [3.0]], 1)
    >>> indices.ravel(), distances.ravel()
    (array([1, 0, 1], dtype=int32), array([1., 1., 2.]))
    """
    (view,) = check_views([X], "X")
    check_choice("metric", metric, METRICS[:-1])
    k = check_integer("n_neighbors", n_neighbors, minimum=1, maximum=view.n_samples - 1)
    if not is_search(method):
        raise TypeError(f"method: expected 'exact', 'approx', 'auto' or ApproximateNeighbors, got {method!r}")
    check_search("method", method, view, metric)
    seed = check_seed(0 if random_state is None else random_state)
    table = search_table(view, k, metric, method, seed, _n_threads(n_jobs))
    distances = scale_distances(table.distances, table.exponent)
    if not np.isfinite(distances).all():
        raise ValueError("X: expected numbers whose distances do not exceed the range of double precision")
    return table.indices, distances


def search_table(
    view: View, n_neighbors: int, metric: str, neighbors: Any, seed: int, n_threads: int
) -> _core.NeighborTable:
    """Search the neighbours of every sample by its features."""
    X: Any = view.data
    effort = find_effort(neighbors, view, metric)
    if effort is None and sparse.issparse(X) and metric == "correlation":
        # Rows without their means are not sparse.
        require(8 * X.shape[0] * X.shape[1], f"{view.label}: the correlation distance of a sparse view")
        X = X.toarray()
    if sparse.issparse(X):
        (X,) = without_empty_columns(X)
    try:
        if effort is not None:
            return _core.knn_approximate(X, n_neighbors, metric, effort.recall, seed, n_threads)
        return _core.knn(X, n_neighbors, metric, "auto", n_threads)
    except ValueError as error:
        raise ValueError(f"{view.label}: {error}") from None


def sort_distances(view: View, n_neighbors: int) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]:
    """Return the neighbours of every sample from a dense (N, N) matrix of distances.

    These are indices and distances, as of :func:`nearest_neighbors`, and the smallest positive
    distance of each sample; infinity if there is none.
    """
    X, n, name = view.data, view.n_samples, view.label
    if (row := first_true(np.diagonal(X) != 0)) is not None:
        raise ValueError(f"{name}: expected distance 0 from a sample to itself, got {X[row, row]} at row {row}")
    if (X < 0).any():
        row, column = (int(i) for i in np.argwhere(X < 0)[0])
        got = f"{X[row, column]} at row {row}, column {column}"
        raise ValueError(f"{name}: expected non-negative distances, got {got}")
    indices = np.empty((n, n_neighbors), dtype=np.int32)
    distances = np.empty((n, n_neighbors))
    nearest_positive = np.empty(n)
    for start in range(0, n, _ROWS_PER_BLOCK):
        block = X[start : start + _ROWS_PER_BLOCK].astype(np.float64)
        rows = np.arange(len(block))
        block[rows, start + rows] = np.inf
        # A stable sort keeps equal distances in the order of their indices.
        nearest = np.argsort(block, axis=1, kind="stable")[:, :n_neighbors]
        indices[start : start + len(block)] = nearest
        distances[start : start + len(block)] = np.take_along_axis(block, nearest, axis=1)
        nearest_positive[start : start + len(block)] = np.where(block > 0, block, np.inf).min(axis=1)
    return indices, distances, nearest_positive


def scale_distances(distances: NDArray[np.float64], exponent: int) -> NDArray[np.float64]:
    """Return ``distances * 2**exponent``, infinity where that exceeds the range of double precision."""
    with np.errstate(over="ignore"):
        return np.ldexp(distances, exponent) if exponent else distances
