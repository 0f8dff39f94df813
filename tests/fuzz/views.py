"""Views of samples: numbers of many kinds, in every container that the package accepts, and in some that it refuses.

A view is drawn in three steps: its numbers, their type, its container. The same numbers in another container are the
same view.
"""

from __future__ import annotations

import datetime
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .draw import Draw

NAMES = ("camera", "scanner", "view one", "η", "x\ty", "=1+1", "a" * 60)


def numbers(draw: Draw, n: int, d: int) -> NDArray[np.float64]:
    """Return an (n, d) array of finite numbers."""
    rng = draw.rng
    X: NDArray[np.float64] = rng.normal(size=(n, d))
    kind = draw.choose(
        "normal", "normal", "clusters", "clusters", "clusters", "duplicates", "grid", "constant column", "far sample",
        "far clusters", "huge", "tiny", "mixed scales", "constant", "zero rows", "line", "extreme",
    )  # fmt: skip
    if kind == "clusters":
        X += 6.0 * rng.normal(size=(draw.n_clusters, d))[np.arange(n) % draw.n_clusters]
    elif kind == "duplicates":
        X = X[rng.integers(0, min(n, max(2, n // 3)), n)] if n else X
    elif kind == "grid":
        X = np.round(X)
    elif kind == "constant column":
        X[:, 0] = 7.0
    elif kind == "far sample":
        X[-1:] += 1e6
    elif kind == "far clusters":
        X[: n // 2] += 1e8
    elif kind == "huge":
        X *= 10.0 ** draw.integer(100, 307)
    elif kind == "tiny":
        X *= 10.0 ** -draw.integer(100, 320)
    elif kind == "mixed scales":
        X *= 10.0 ** rng.integers(-12, 12, d)
    elif kind == "constant":
        X[:] = draw.choose(0.0, 1.0, -3.5)
    elif kind == "zero rows":
        X[rng.random(n) < 0.3] = 0.0
    elif kind == "line":
        X = np.arange(n, dtype=float)[:, np.newaxis] * np.ones(d)
    elif kind == "extreme":
        X = rng.choice([0.0, 1.0, -1.0, 1.7e308, -1.7e308, 5e-324], size=(n, d))
    return X


def _to_type(draw: Draw, X: NDArray[np.float64]) -> NDArray[Any]:
    kind = draw.choose("f8", "f8", "f8", "f8", "f4", "f4", "f2", ">f8", "g", "i8", "u1", "bool")
    if kind == "f8":
        return X
    with np.errstate(all="ignore"):
        if kind in ("i8", "u1"):
            return np.nan_to_num(np.clip(np.round(3 * X), -(2.0**53), 2.0**53)).astype(kind)
        converted = X.astype(kind)
    return np.nan_to_num(converted) if converted.dtype.kind == "f" else converted


def _read_only(X: NDArray[Any]) -> NDArray[Any]:
    X = X.copy()
    X.flags.writeable = False
    return X


def _every_second(X: NDArray[Any]) -> NDArray[Any]:
    return np.repeat(X, 2, axis=0)[::2]


def _sparse(kind: str, *, old: bool = False) -> Callable[[NDArray[Any]], Any]:
    def convert(X: NDArray[Any]) -> Any:
        if X.dtype.kind == "f" and X.dtype.itemsize not in (4, 8):
            X = X.astype(np.float64)
        X = np.where(np.abs(X) < np.median(np.abs(X)), np.zeros((), X.dtype), X).astype(X.dtype.newbyteorder("="))
        return getattr(sparse, f"{kind}_{'matrix' if old else 'array'}")(X)

    return convert


def _with_split_entries(X: NDArray[Any]) -> Any:
    """Return a COO matrix in which every entry occurs twice, as two halves, out of order."""
    whole = sparse.coo_array(X.astype(np.float64))
    order = np.arange(2 * whole.nnz)[::-1]
    data = np.concatenate([whole.data, whole.data])[order] / 2
    rows, columns = (np.concatenate([c, c])[order] for c in whole.coords)
    return sparse.coo_array((data, (rows, columns)), shape=X.shape)


def frame(draw: Draw, X: NDArray[Any]) -> Any:
    """Return a data frame of pandas or polars."""
    import pandas as pd

    X = X.astype(X.dtype.newbyteorder("=")) if X.dtype.itemsize <= 8 else X.astype(np.float64)
    columns = [f"column {i}" for i in range(X.shape[1])]
    draw.view_names += columns
    if draw.chance(0.2) and X.dtype != np.float16:
        import polars as pl

        return pl.DataFrame({name: X[:, i] for i, name in enumerate(columns)})
    table = pd.DataFrame(X, columns=columns)
    if draw.chance(0.3):
        table.index = [f"sample {i}" for i in range(len(table))]
    if draw.chance(0.2) and X.dtype.kind == "f":
        table = table.convert_dtypes()
    return table


_CONTAINERS: tuple[Callable[[NDArray[Any]], Any], ...] = (
    *(np.asarray,) * 8,
    np.asfortranarray,
    _read_only,
    _every_second,
    np.ndarray.tolist,
    *(_sparse(kind) for kind in ("csr", "csr", "csc", "coo", "dok", "lil", "bsr", "dia")),
    _sparse("csr", old=True),
    _with_split_entries,
)


def typed_numbers(draw: Draw, n: int, d: int) -> NDArray[Any]:
    """Return an (n, d) array of finite numbers of any type."""
    return _to_type(draw, numbers(draw, n, d))


def matrix(draw: Draw, n: int | None = None, d: int | None = None) -> Any:
    """Return one view of finite numbers, in any accepted form."""
    n = draw.n if n is None else n
    X = typed_numbers(draw, n, draw.choose(1, 2, 2, 3, 4, 8, 20) if d is None else d)
    if draw.chance(0.15):
        return frame(draw, X)
    return draw.choose(*_CONTAINERS)(X)


def views(draw: Draw, n: int | None = None) -> Any:
    """Return several views of the same samples: a list, a tuple, a dict, or one bare matrix."""
    n = draw.n if n is None else n
    each = [matrix(draw, n) for _ in range(draw.n_views)]
    form = draw.choose("list", "list", "tuple", "dict", "dict", "bare")
    draw.n_rows, draw.known = n, [np.ones(n, dtype=bool)] * (1 if form == "bare" else len(each))
    return each[0] if form == "bare" else collection(draw, each, form)


def collection(draw: Draw, each: list[Any], form: str) -> Any:
    """Return views as a "list", a "tuple" or a "dict" with names of any kind."""
    if form == "dict":
        names = [str(name) for name in draw.rng.permutation(NAMES)[: len(each)]]
        draw.view_names += names
        return dict(zip(names, each, strict=True))
    draw.view_names += [f"view {v}" for v in range(len(each))]
    return tuple(each) if form == "tuple" else each


# Kinds of broken matrices that are wrong as a view of any function; others, such as one row, may be right for some.
_NEVER_VIEWS = frozenset({
    "hole", "sparse hole", "text", "object", "complex", "datetime", "frame of text", "frame of dates", "ragged", "mask",
    "recursive",
})  # fmt: skip


def broken_matrix(draw: Draw) -> Any:
    """Return a view that has to be refused, or that is accepted only by luck."""
    kind, X = _broken_matrix(draw)
    is_wrong = kind in _NEVER_VIEWS or (kind == "sparse lies" and not _is_consistent(X))
    draw.broken = kind if is_wrong else ""
    return X


def _is_consistent(X: Any) -> bool:
    try:
        X.check_format(full_check=True)
    except ValueError:
        return False
    return True


def _broken_matrix(draw: Draw) -> tuple[str, Any]:
    n, d = draw.n, draw.integer(1, 4)
    X = numbers(draw, n, d)
    holes = X.copy()
    # A row of NaN only is a sample that the view lacks.
    missing = draw.choose(np.nan, np.inf, -np.inf) if d > 1 else draw.choose(np.inf, -np.inf)
    holes[draw.integer(0, n - 1), draw.integer(0, d - 1)] = missing
    kind = draw.choose(
        "hole", "hole", "sparse hole", "3-D", "1-D", "0-D", "no rows", "no columns", "one row", "text", "object",
        "complex",
        "datetime", "frame of text", "frame of dates", "ragged", "generator", "mask", "file name", "sparse lies",
        "sparse lies",
        "None", "rows missing", "bytes", "nested list", "iterator of rows", "set", "recursive",
    )  # fmt: skip
    simple: dict[str, Callable[[], Any]] = {
        "hole": lambda: holes,
        "sparse hole": lambda: sparse.csr_array(holes),
        "3-D": lambda: X[np.newaxis],
        "1-D": lambda: X[:, 0],
        "0-D": lambda: np.array(3.0),
        "no rows": lambda: X[:0],
        "no columns": lambda: X[:, :0],
        "one row": lambda: X[:1],
        "text": lambda: X.astype(str),
        "object": lambda: np.array([[object()] * d] * n),
        "complex": lambda: X + 1j,
        "datetime": lambda: np.zeros((n, d), dtype="datetime64[s]"),
        "ragged": lambda: [[1.0] * (1 + i % 2) for i in range(n)],
        "generator": lambda: (row for row in X),
        "mask": lambda: np.ma.masked_less(X, 0),
        "file name": lambda: "views.npy",
        "sparse lies": lambda: lying_sparse(draw, X),
        "None": lambda: None,
        "rows missing": lambda: X[: max(1, n // 2)],
        "bytes": lambda: X.tobytes(),
        "nested list": lambda: [[[1.0], [2.0]]] * n,
        "iterator of rows": lambda: map(list, X),
        "set": lambda: {1.0, 2.0},
        "recursive": _recursive_list,
    }
    if kind in simple:
        return kind, simple[kind]()
    import pandas as pd

    column: Any = ["a"] * n if kind == "frame of text" else [datetime.datetime(2026, 1, 1)] * n
    table = pd.DataFrame({"column 0": X[:, 0], "column 1": column})
    draw.view_names += list(table.columns)
    return kind, table


def _recursive_list() -> list[Any]:
    endless: list[Any] = []
    endless.append(endless)
    return endless


def lying_sparse(draw: Draw, X: NDArray[np.float64]) -> Any:
    """Return a sparse matrix whose arrays contradict each other; SciPy does not check them."""
    rows = draw.choose(sparse.csr_array, sparse.csc_array)(X)
    rows.indices, rows.indptr = rows.indices.copy(), rows.indptr.copy()
    if not rows.nnz:
        return rows
    place = draw.integer(0, rows.nnz - 1)
    lie = draw.choose("index", "negative index", "end", "order", "short data", "first", "unsorted", "repeated")
    if lie == "index":
        rows.indices[place] = draw.choose(10**8, X.size, 2**31 - 1)
    elif lie == "negative index":
        rows.indices[place] = -1
    elif lie == "end":
        rows.indptr[-1] = draw.choose(rows.nnz + 1, 10**8, -1, 0)
    elif lie == "order":
        rows.indptr[1:-1] = rows.indptr[1:-1][::-1].copy()
    elif lie == "short data":
        rows.data = rows.data[:place]
    elif lie == "first":
        rows.indptr[0] = draw.choose(1, -1, 10**8)
    elif lie == "unsorted":
        rows.indices[:] = rows.indices[::-1].copy()
        rows.has_sorted_indices = True
    else:
        rows.indices[:] = rows.indices[place]
        rows.has_canonical_format = True
    return rows


def broken_views(draw: Draw) -> Any:
    """Return views of which at least one has to be refused, or that do not fit together."""
    bad = broken_matrix(draw)
    form = draw.choose("bare", "list", "list", "dict", "empty", "same name", "two frames", "object", "scverse")
    if form not in ("bare", "list", "dict"):
        draw.broken = ""
    if form == "bare":
        return bad
    if form == "list":
        return [matrix(draw), bad]
    if form == "dict":
        draw.view_names += ["camera", "scanner"]
        return {"camera": bad, "scanner": matrix(draw)}
    if form == "empty":
        return draw.choose([], (), {}, np.empty((0, 0)), np.empty((0, 3)))
    if form == "same name":
        draw.view_names.append("1")
        return {1: matrix(draw), "1": matrix(draw)}
    if form == "two frames":
        import pandas as pd

        first = pd.DataFrame(numbers(draw, draw.n, 2), columns=["a", "b"])
        return {"camera": first, "scanner": first.sample(frac=1.0, random_state=1)}
    if form == "scverse":
        return _annotated(draw)
    return draw.choose(object(), 3, 2.5, True, "views.npz", b"PK", Ellipsis, dict, range(draw.n))


def _annotated(draw: Draw) -> Any:
    """Return an object of anndata or mudata, which is no array but can be iterated over."""
    import anndata
    import mudata

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        cells = anndata.AnnData(numbers(draw, draw.n, 3))
        return draw.choose(cells, [cells, cells], mudata.MuData({"rna": cells, "protein": cells.copy()}))


def square(draw: Draw) -> Any:
    """Return a symmetric affinity, dense or sparse."""
    X = draw.rng.normal(size=(draw.n, 2))
    distances = ((X[:, np.newaxis] - X) ** 2).sum(axis=2)
    K = np.exp(-distances / draw.choose(0.1, 1.0, 10.0))
    if draw.chance(0.4):
        K[K < 0.3] = 0.0
    scale = draw.choose(1.0, 1.0, 1.0, 1e-300, 1e300, 1e-30)
    return draw.choose(np.asarray, np.asarray, sparse.csr_array, sparse.csc_array, np.ndarray.tolist)(K * scale)


def broken_square(draw: Draw) -> Any:
    """Return a matrix that is no affinity and no walk, in one way."""
    n = draw.n
    K = np.exp(-np.abs(np.subtract.outer(np.arange(n), np.arange(n))).astype(float))
    kind = draw.choose("negative", "not symmetric", "hole", "zero row", "not square", "lies", "huge", "any")
    if kind == "negative":
        K[0, 0] = -1.0
    elif kind == "not symmetric":
        K[0, -1] += 1.0
    elif kind == "hole":
        K[0, 0] = draw.choose(np.nan, np.inf)
    elif kind == "zero row":
        K[0] = K[:, 0] = 0.0
    elif kind == "not square":
        K = K[:, :-1]
    elif kind == "lies":
        return lying_sparse(draw, K)
    elif kind == "huge":
        K *= 1e308
    else:
        return broken_matrix(draw)
    return K


def walk(draw: Draw) -> Any:
    """Return a row-stochastic matrix, dense or sparse."""
    P = draw.rng.random((draw.n, draw.n)) ** draw.choose(1, 8)
    if draw.chance(0.4):
        P[P < 0.5] = 0.0
        np.fill_diagonal(P, 1.0)
    P /= P.sum(axis=1, keepdims=True)
    return draw.choose(np.asarray, np.asarray, sparse.csr_array, sparse.csc_array)(P)
