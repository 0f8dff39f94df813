"""Views that lack samples, in every form that the package accepts, and in some that it refuses.

Which samples each view has is noted in the draw, so that the result can be compared with it.
"""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .draw import Draw
from .views import collection, typed_numbers, views

Mask = NDArray[np.bool_]


def presence(draw: Draw, n: int, n_views: int) -> list[Mask]:
    """Return which of `n` samples each view has; mostly each sample is in some view."""
    share = draw.choose(0.2, 0.5, 0.8, 0.8, 0.95)
    has = draw.rng.random((n, n_views)) < share
    if draw.chance(0.9):
        has[np.arange(n), draw.rng.integers(n_views, size=n)] = True
        # Two samples that all views have, since a view of one sample is refused.
        has[draw.rng.permutation(n)[:2]] = True
    if draw.chance(0.1):
        has[:, draw.integer(0, n_views - 1)] = draw.choose(True, False)
    return list(has.T.copy())


def any_views(draw: Draw) -> Any:
    """Return views of which some lack samples in a third of the cases."""
    return views_with_holes(draw) if draw.chance(0.35) else views(draw)


def views_with_holes(draw: Draw) -> Any:
    """Return views that lack samples."""
    n, n_views = draw.n, max(draw.n_views, draw.choose(1, 2, 2))
    draw.n_rows, draw.n_views = n, n_views
    has = presence(draw, n, n_views)
    draw.known = has
    form = draw.choose("rows", "rows", "rows", "rows", "masks", "masks", "frames", "modalities")
    if form == "frames":
        return _frames(draw, has)
    if form == "modalities":
        return _modalities(draw, has)
    if form == "rows":
        each = [_with_missing_rows(draw, mask) for mask in has]
    else:
        each = [_with_hidden_rows(draw, mask) for mask in has]
        draw.wants_masks = has
        draw.known = [~_is_nan_row(X) for X in each]
    return collection(draw, each, draw.choose("list", "tuple", "dict"))


def _is_nan_row(X: NDArray[Any]) -> Mask:
    return np.isnan(X).all(axis=1) if X.dtype.kind == "f" else np.zeros(len(X), dtype=bool)


def _floats(draw: Draw, n: int, d: int) -> NDArray[Any]:
    # Mostly numbers that no function refuses: what is drawn here are the holes.
    X = (
        draw.rng.normal(size=(n, d)).astype(draw.choose("f8", "f8", "f4"))
        if draw.chance(0.7)
        else typed_numbers(draw, n, d)
    )
    return X if X.dtype.kind == "f" else X.astype(np.float64)


def _width(draw: Draw) -> int:
    return draw.choose(1, 2, 2, 3, 4, 8)


def _with_missing_rows(draw: Draw, has: Mask) -> Any:
    """Return a view whose absent rows are NaN or None, or zeros of a sparse matrix."""
    X = _floats(draw, len(has), _width(draw))
    form = draw.choose("nan", "nan", "nan", "sparse nan", "sparse zeros", "none", "objects", "pandas", "nullable")
    if form == "none":
        return [row.tolist() if known else None for row, known in zip(X, has, strict=True)]
    if form == "objects":
        rows = np.empty(len(has), dtype=object)
        rows[:] = [row if known else None for row, known in zip(X, has, strict=True)]
        return rows
    if form == "sparse zeros":
        # They may be kept as samples, so it is not known what the view has.
        draw.known = None
        return sparse.csr_array(np.where(has[:, np.newaxis], X.astype(np.float64), 0.0))
    X[~has] = np.nan
    if form == "sparse nan":
        return draw.choose(sparse.csr_array, sparse.csc_array, sparse.coo_array)(X.astype(np.float64))
    if form in ("pandas", "nullable"):
        import pandas as pd

        columns = [f"column {i}" for i in range(X.shape[1])]
        draw.view_names += columns
        table = pd.DataFrame(X.astype(np.float64), columns=columns)
        return table.convert_dtypes() if form == "nullable" else table
    return draw.choose(np.asarray, np.asarray, np.asfortranarray, np.ndarray.tolist)(X)


def _with_hidden_rows(draw: Draw, has: Mask) -> NDArray[Any]:
    """Return a view whose absent rows hold anything."""
    X = _floats(draw, len(has), _width(draw))
    X[~has] = draw.choose(0.0, 1.0, np.nan, np.inf, -np.inf, 6e4)
    if draw.chance(0.3):
        X[~has, 0] = np.nan
    return X


def _frames(draw: Draw, has: list[Mask]) -> Any:
    """Return frames that have rows for some of the samples, in any order."""
    import pandas as pd

    draw.wants_alignment = True
    kind = draw.choose("text", "text", "numbers", "dates", "pairs")
    n = len(has[0])
    labels: Any = {
        "text": lambda: pd.Index([f"sample {i}" for i in range(n)]),
        "numbers": lambda: pd.Index(np.arange(n) * 3 - 5),
        "dates": lambda: pd.date_range("2026-01-01", periods=n),
        "pairs": lambda: pd.MultiIndex.from_arrays([np.arange(n) // 3, np.arange(n) % 3]),
    }[kind]()
    orders = [draw.rng.permutation(np.flatnonzero(mask)) for mask in has]
    columns = [[f"column {v} {i}" for i in range(_width(draw))] for v in range(len(has))]
    draw.view_names += [name for names in columns for name in names]
    frames = [
        pd.DataFrame(_floats(draw, len(order), len(names)).astype(float), index=labels[order], columns=names)
        for order, names in zip(orders, columns, strict=True)
    ]
    # The samples of the first frame come first, then the new ones of the next.
    order = list(dict.fromkeys(int(i) for each in orders for i in each))
    draw.n_rows, draw.known = len(order), [mask[order] for mask in has]
    if not draw.is_clean and draw.chance(0.3):
        draw.known = None
        frames[-1] = _spoiled(draw, frames[-1])
    return collection(draw, frames, draw.choose("list", "tuple", "dict"))


def _spoiled(draw: Draw, frame: Any) -> Any:
    """Return a frame whose labels cannot be aligned, or that has none."""
    kind = draw.choose("repeated", "missing", "levels", "array", "other labels", "empty")
    if kind == "array":
        return frame.to_numpy()
    if kind == "empty":
        return frame.iloc[:0]
    frame = frame.copy()
    n = len(frame)
    labels: dict[str, Any] = {
        "repeated": ["same"] * n,
        "missing": [None] * n,
        "levels": [[i, i] for i in range(n)],
        "other labels": [object() for _ in range(n)],
    }
    if kind == "levels" and n:
        import pandas as pd

        frame.index = pd.MultiIndex.from_tuples([tuple(each) for each in labels[kind]])
    else:
        frame.index = labels[kind] if kind != "levels" else frame.index
    return frame


def _modalities(draw: Draw, has: list[Mask]) -> Any:
    """Return an object like a MuData, whose modalities have some of the cells in any order."""
    import pandas as pd

    n = len(has[0])
    names = [f"view {v}" for v in range(len(has))]
    draw.view_names += names
    modalities, maps = {}, {}
    for name, mask in zip(names, has, strict=True):
        order = draw.rng.permutation(np.flatnonzero(mask))
        X = _floats(draw, len(order), _width(draw)).astype(np.float64)
        rows = np.zeros(n, dtype=draw.choose(np.uint32, np.int64, np.uint8))
        rows[order] = np.arange(1, len(order) + 1)
        if not draw.is_clean and draw.chance(0.2):
            draw.known = None
            rows = _wrong_rows(draw, rows)
        maps[name] = rows
        in_obsm = draw.chance(0.3)
        modalities[name] = SimpleNamespace(
            X=draw.choose(None, sparse.csr_array(X)) if in_obsm else draw.choose(np.asarray, sparse.csr_array)(X),
            obsm={"X_pca": draw.choose(X, pd.DataFrame(X))} if in_obsm else {},
        )
    cells = pd.Index([f"cell {i}" for i in range(n)])
    return SimpleNamespace(mod=modalities, obsmap=maps, obs_names=cells, axis=draw.choose(0, 0, 0, 0, 0, 0, 0, 1))


def _wrong_rows(draw: Draw, rows: NDArray[Any]) -> Any:
    """Return numbers of rows that do not fit a modality."""
    far = rows.astype(np.int64)
    far[-1] = draw.choose(10**6, -5, len(rows) + 1)
    return draw.choose(far, rows[:-1], rows.astype(float) + 0.5, ["a"] * len(rows), None)


def masks(draw: Draw) -> Any:
    """Return which samples each view has, as an argument `present`."""
    n, n_views = draw.n_rows, draw.n_views if draw.known is None else len(draw.known)
    has = draw.wants_masks if draw.wants_masks and draw.chance(0.9) else presence(draw, n, n_views)
    if not draw.wants_masks and draw.chance(0.5):
        draw.masks = []
        return None
    draw.masks = has
    form = draw.choose("table", "table", "list", "lists", "tuple", "some", "frame", "dict")
    if form == "some" and not draw.wants_masks:
        draw.masks = [np.ones(n, dtype=bool), *has[1:]]
        return [None, *has[1:]]
    if form == "dict":
        # The names may be others.
        draw.masks = None
        return dict(zip([*draw.view_names[-n_views:], *"abc"], has, strict=False))
    if form == "frame":
        import pandas as pd

        return pd.DataFrame({f"mask {v}": mask for v, mask in enumerate(has)})
    if form == "table":
        return np.column_stack(has)
    return tuple(has) if form == "tuple" else [mask.tolist() for mask in has] if form == "lists" else has


def wrong_masks(draw: Draw) -> Any:
    """Return masks that do not fit the views, or are none."""
    n, n_views = draw.n_rows, draw.n_views
    draw.masks = None
    table = np.column_stack(presence(draw, n, n_views))
    return draw.choose(
        table[:-1], table.T, table.astype(int), table.astype(float), table[:, :-1], table[:, 0], table[np.newaxis],
        ~table & table, table.astype(object), table.astype(str), sparse.csr_array(table), [table[:, 0]] * (n_views + 1),
        [mask[:-1] for mask in table.T], ["yes"] * n_views, [[None] * n] * n_views, [[True, [False]]] * n_views,
        {"nobody": table[:, 0]}, {1: table[:, 0], "1": table[:, 0]}, np.ma.masked_array(table, ~table), True, [], {},
        [[]] * n_views, np.empty((0, n_views), dtype=bool), np.empty((n, 0), dtype=bool), iter(table.T), range(n),
    )  # fmt: skip


def new_views(draw: Draw) -> Any:
    """Return new samples in the views from which an object was made; some may lack views or samples."""
    if not draw.widths or draw.chance(0.25):
        return any_views(draw)
    m = draw.choose(1, 2, 3, 5, 12)
    each: list[Any] = [draw.rng.normal(size=(m, d)) * draw.choose(1.0, 1.0, 10.0, 1e6) for d in draw.widths]
    names = [f"view {v}" for v in range(len(each))]
    draw.n_rows, draw.known = m, [np.ones(m, dtype=bool)] * len(each)
    form = draw.choose("whole", "rows", "rows", "masks", "left out", "left out")
    if form in ("rows", "masks"):
        has = presence(draw, m, len(each))
        for X, mask in zip(each, has, strict=True):
            X[~mask] = np.nan if form == "rows" else draw.choose(np.nan, np.inf, 0.0)
        draw.wants_masks = has if form == "masks" else []
    kept = [form != "left out" or draw.chance(0.6) for _ in each]
    if draw.chance(0.5):
        return {name: X for name, X, keep in zip(names, each, kept, strict=True) if keep}
    if len(each) == 1 and draw.chance(0.5):
        return each[0]
    return [X if keep else None for X, keep in zip(each, kept, strict=True)]
