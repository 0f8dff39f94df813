"""New samples among training samples: their edges, and their nearest training samples."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .. import _core
from .._support.csr import without_empty_columns
from .._support.memory import require
from .views import Matrix, View

# New samples that are searched at a time: all samples of a large set again need no second copy in double precision.
_ROWS_PER_CALL = 16_384
# No distance is that small, and its square is 0.
_NO_REACH = -1e-300


def cross_search(
    X: Matrix,
    new: View,
    *,
    radii: NDArray[np.float64],
    last: NDArray[np.int32],
    k: int,
    metric: str,
    n_threads: int,
    index: _core.CrossIndex | None = None,
) -> _core.CrossTable:
    """Search the edges from new samples to training samples `X`, each dense or sparse.

    With an `index` of dense `X` the edges are approximate.
    """
    how: dict[str, Any] = {
        "radii": radii, "last": last, "k": k, "metric": metric, "index": index, "n_threads": n_threads
    }  # fmt: skip
    rows: Any = new.data
    if sparse.issparse(X) and metric == "correlation":
        require(8 * X.shape[0] * X.shape[1], f"{new.label}: the correlation distance of a sparse view")
        X = X.toarray()
    if sparse.issparse(X):
        pair: Any = without_empty_columns(X, sparse.csr_array(rows))
    else:
        if sparse.issparse(rows):
            require(8 * rows.shape[0] * rows.shape[1], f"{new.label}: sparse new samples of a dense view")
            rows = rows.toarray()
        pair = X, np.require(rows, np.float64, ["C", "A"])
    try:
        return _core.cross_knn(*pair, **how)
    except ValueError as error:
        raise ValueError(f"{new.label}: {error}") from None


def nearest_of_new(
    X: Matrix, new: View, n_neighbors: int, metric: str, dtype: Any, n_threads: int
) -> tuple[NDArray[np.int32], NDArray[Any]]:
    """Return the exact nearest training samples of new samples by (distance, index), and their distances.

    Both arrays have shape (M, n_neighbors), where `n_neighbors` is at most the number of training samples.
    """
    n, m = X.shape[0], new.n_samples
    # The core gives one sample more than `k`, and those that choose a new sample, which none does here.
    k = max(n_neighbors - 1, 1)
    reach: dict[str, Any] = {"radii": np.full(n, _NO_REACH), "last": np.zeros(n, dtype=np.int32)}
    exponent = unit_exponent(X, metric)
    indices = np.empty((m, n_neighbors), dtype=np.int32)
    distances = np.empty((m, n_neighbors), dtype=dtype)
    for start in range(0, m, _ROWS_PER_CALL):
        part, stop = new, min(start + _ROWS_PER_CALL, m)
        if m > _ROWS_PER_CALL:
            part = replace(new, data=new.data[start:stop], argument=f"{new.argument}[{start}:{stop}]")
        edges = cross_search(X, part, **reach, k=k, metric=metric, n_threads=n_threads).edges
        values = edges.values.reshape(stop - start, k + 1)
        # Columns ascend, and a stable sort keeps equal distances in that order.
        order = np.argsort(values, axis=1, kind="stable")[:, :n_neighbors]
        indices[start:stop] = np.take_along_axis(edges.indices.reshape(values.shape), order, axis=1)
        store_distances(np.take_along_axis(values, order, axis=1), exponent, distances[start:stop], new.argument)
    return indices, distances


def unit_exponent(X: Matrix, metric: str) -> int:
    """Return the exponent of the unit in which the core gives the distances of these samples.

    The core derives it from the widest range of a column, or from the largest number of a sparse matrix.
    Two rows that have it have the same exponent.
    """
    if metric in ("cosine", "correlation"):
        return 0
    if sparse.issparse(X):
        if not X.nnz:
            return 0
        row = int(np.searchsorted(X.indptr, np.abs(X.data).argmax(), side="right")) - 1
        (rows,) = without_empty_columns(X[[row, (row + 1) % X.shape[0]]])
    else:
        # Halved, so that the ranges are finite.
        ranges = X.max(axis=0).astype(np.float64) / 2 - X.min(axis=0).astype(np.float64) / 2
        column = X[:, ranges.argmax()]
        rows = X[[column.argmin(), column.argmax()]]
    return _core.knn(rows, 1, metric, "scan", 1).exponent


def store_distances(distances: NDArray[np.float64], exponent: int, out: NDArray[Any], argument: str) -> None:
    """Write ``distances * 2**exponent``, which ascend in each row, to an array of any floating type."""
    with np.errstate(over="ignore"):
        if exponent:
            np.ldexp(distances, exponent, out=out, casting="same_kind")
        else:
            out[...] = distances
    if not np.isfinite(out[:, -1:]).all():
        raise ValueError(f"{argument}: expected numbers whose distances do not exceed the range of {out.dtype}")
