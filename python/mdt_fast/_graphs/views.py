"""Views: named, finite, floating-point matrices with the same number of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._support.arguments import check_choice, first_true
from .._support.csr import check_arrays
from .alignment import align_frames
from .frozen import freeze
from .modalities import PartialRows, is_multimodal, modalities
from .presence import Presence, check_masks, has_samples, is_nan_row
from .readable import MATRIX, check_columns, check_readable, column_names, read_array
from .row_labels import check_row_labels, has_index, row_labels

# A dense array or a SciPy csr_array; SciPy has no type annotations.
Matrix: TypeAlias = Any


@dataclass(frozen=True)
class View:
    """One view: a C-contiguous float array or a canonical CSR matrix whose rows are samples."""

    name: str
    data: Matrix
    # The argument in which the user gave the view.
    argument: str = "Xs"
    # The samples of which `data` has rows; None for all.
    presence: Presence | None = None

    @property
    def label(self) -> str:
        """The view as messages name it."""
        return f"{self.argument} ({self.name})"

    @property
    def n_samples(self) -> int:
        """Number of samples that the view has."""
        return int(self.data.shape[0])

    @property
    def n_total(self) -> int:
        """Number of samples of all views together."""
        return self.n_samples if self.presence is None else self.presence.n_total

    def without(self, rows: NDArray[np.bool_], n_zero: int = 0) -> View:
        """Return the view without some of its rows, whose samples it lacks then."""
        has = has_samples(self.presence, self.n_total)
        has[np.flatnonzero(has)[rows]] = False
        known = 0 if self.presence is None else self.presence.n_zero
        return replace(self, data=freeze(self.data[~rows]), presence=Presence.of(has, known + n_zero))

    def part(self, start: int, stop: int) -> View:
        """Return the samples from `start` to `stop`; messages name them."""
        argument = f"{self.argument}[{start}:{stop}]"
        if self.presence is None:
            return replace(self, data=self.data[start:stop], argument=argument)
        samples = self.presence.samples
        first, end = np.searchsorted(samples, [start, stop])
        has = np.zeros(stop - start, dtype=bool)
        has[samples[first:end] - start] = True
        return replace(self, data=self.data[first:end], argument=argument, presence=Presence.of(has))

    def among(self, places: NDArray[np.intp], n: int) -> View:
        """Return the view as one of `n` samples, of which the present ones are at `places`."""
        own = places if self.presence is None else places[self.presence.samples]
        order = np.argsort(own, kind="stable")
        has = np.zeros(n, dtype=bool)
        has[own] = True
        is_ordered = bool((np.diff(order) == 1).all())
        data = self.data if is_ordered else freeze(self.data[order])
        return replace(self, data=data, presence=Presence.of(has))


@dataclass(frozen=True)
class Holes:
    """What the user says of samples that views lack.

    Attributes
    ----------
    present : None, (N, V) array, or list, tuple or dict of (N,) arrays or None
        True for the samples that each view has.
    align : {None, "outer"}
        Whether frames are joined by their row labels.
    """

    present: Any = None
    align: str | None = None


def check_views(Xs: Any, argument: str = "Xs", holes: Holes | None = None) -> list[View]:
    """Return the views of `Xs`: a mapping, a list or tuple, a MuData, or one bare matrix.

    Views may lack samples if `holes` is given. Without it a row of NaN is an error.
    """
    pairs = _named_pairs(Xs, argument)
    if not pairs:
        raise ValueError(f"{argument}: expected at least one view, got none")
    check_names([name for name, _ in pairs], argument)
    if holes is not None and is_multimodal(Xs):
        # The cells of a MuData are aligned already.
        holes = replace(holes, align=None)
    views = _check_pairs(pairs, argument, holes)
    for view in views:
        check_samples(view)
    check_present(views, argument)
    return views


def check_views_like(given: Any, names: Sequence[str], argument: str, holes: Holes | None = None) -> list[View]:
    """Return a view for each of `names`: those of a mapping by name, others in order.

    With `holes` a mapping may lack views, and a view may be None: no sample has it.
    """
    pairs = _named_pairs(given, argument)
    if is_named(given) or is_multimodal(given):
        by_name = dict(pairs)
        unknown = [name for name in by_name if name not in names]
        if unknown or len(by_name) != len(pairs) or (holes is None and len(pairs) != len(names)):
            raise ValueError(
                f"{argument}: expected a view for each of {list(names)}, got {[name for name, _ in pairs]}"
            )
        pairs = [(name, by_name.get(name)) for name in names]
    if len(pairs) != len(names):
        raise ValueError(f"{argument}: expected {len(names)} views, got {len(pairs)}")
    pairs = [(name, X) for name, (_, X) in zip(names, pairs, strict=True)]
    if holes is None:
        return _check_pairs(pairs, argument)
    known = [(name, X) for name, X in pairs if X is not None]
    if not known:
        raise ValueError(f"{argument}: expected at least one view, got none")
    if holes.present is not None and len(known) < len(names):
        raise ValueError(f"present: expected None beside views that are left out, got {type(holes.present).__name__}")
    views = {view.name: view for view in _check_pairs(known, argument, holes)}
    n = next(iter(views.values())).n_total
    nobody = Presence(np.empty(0, dtype=np.uint32), n)
    views |= {name: View(name, np.empty((0, 0)), argument, nobody) for name in names if name not in views}
    found = [views[name] for name in names]
    check_present(found, argument)
    return found


def in_no_view(views: Sequence[View]) -> NDArray[np.bool_]:
    """Return which samples no view has."""
    if any(view.presence is None for view in views):
        return np.zeros(views[0].n_total, dtype=bool)
    return np.asarray(~np.any([has_samples(view.presence, view.n_total) for view in views], axis=0))


def check_present(views: Sequence[View], argument: str) -> None:
    """Raise ValueError for a sample that no view has."""
    nowhere = in_no_view(views)
    if (sample := first_true(nowhere)) is not None:
        count = int(nowhere.sum())
        raise ValueError(
            f"{argument}: expected every sample in at least one view, got {count} in none (the first is row {sample}); "
            "leave them out"
        )


def sample_labels(Xs: Any, align: str | None = None) -> Any:
    """Return the labels of the samples, a pandas index; None if no view has any."""
    if is_multimodal(Xs):
        return Xs.obs_names
    views = Xs if isinstance(Xs, (list, tuple)) else [Xs]
    pairs = (
        [(str(name), X) for name, X in Xs.items()] if is_named(Xs) else [(f"view {v}", X) for v, X in enumerate(views)]
    )
    if align is not None and pairs and all(has_index(X) for _, X in pairs):
        return align_frames(pairs, "X").index
    return row_labels(X for _, X in pairs)


def is_named(Xs: Any) -> bool:
    """Return whether `Xs` is a mapping of views; a dok_array of SciPy is a dict, but one matrix."""
    return isinstance(Xs, Mapping) and not sparse.issparse(Xs)


def _named_pairs(given: Any, argument: str) -> list[tuple[str, Any]]:
    if is_named(given):
        return [(str(name), X) for name, X in given.items()]
    if is_multimodal(given):
        return modalities(given, argument)
    if isinstance(given, (list, tuple)):
        return [(f"view {v}", X) for v, X in enumerate(given)]
    if not sparse.issparse(given):
        check_readable(given, argument, "a list, tuple or dict of 2-D arrays")
    return [("view 0", given)]


def _check_pairs(pairs: Sequence[tuple[str, Any]], argument: str, holes: Holes | None = None) -> list[View]:
    """Return the views of named matrices that describe the same samples."""
    if holes is not None and holes.align is not None:
        return _check_aligned(pairs, argument, holes)
    # The masks are needed before the rows are read, so the numbers of rows are compared afterwards.
    masks = check_masks(None if holes is None else holes.present, [name for name, _ in pairs])
    views = []
    for (name, X), mask in zip(pairs, masks, strict=True):
        # A View has been checked before, and names the argument of its user.
        is_view = isinstance(X, View)
        if is_view and mask is not None:
            X = X.without(~mask[has_samples(X.presence, X.n_total)])
        views.append(X if is_view else _read_view(name, X, argument, mask, holes))
    sizes = {view.name: view.n_total for view in views}
    if len(set(sizes.values())) > 1:
        got = ", ".join(f"{name} has {size}" for name, size in sizes.items())
        hint = "; align='outer' joins data frames by their row labels" if holes is not None else ""
        raise ValueError(f"{argument}: expected the same number of samples in every view, got {got}{hint}")
    check_row_labels(pairs, argument)
    return views


def _check_aligned(pairs: Sequence[tuple[str, Any]], argument: str, holes: Holes) -> list[View]:
    """Return the views of frames that are joined by their row labels."""
    check_choice("align", holes.align, ("outer",))
    if holes.present is not None:
        raise ValueError("present: expected None with align='outer', where row labels say which samples a view has")
    aligned = align_frames(pairs, argument)
    n = len(aligned.index)
    return [
        _read_view(name, X, argument, None, holes).among(places, n)
        for (name, X), places in zip(pairs, aligned.places, strict=True)
    ]


def _read_view(name: str, X: Any, argument: str, mask: NDArray[np.bool_] | None, holes: Holes | None) -> View:
    """Return one view; without `holes` it must have all samples."""
    label = f"{argument} ({name})"
    if holes is None:
        if isinstance(X, PartialRows):
            raise ValueError(f"{label}: expected all samples, got none at row {int(X.has.argmin())}")
        return View(name, check_matrix(X, label), argument)
    data, presence = read_present(X, label, mask, f"present ({name})")
    return View(name, data, argument, presence)


def read_present(
    X: Any, label: str, mask: NDArray[np.bool_] | None = None, mask_label: str = "present"
) -> tuple[Matrix, Presence | None]:
    """Return the rows of a matrix that are not missing, and which they are; None for all.

    Rows are missing if they are NaN or None, or False in the mask.
    """
    has = None
    if _is_list(X) and any(row is None for row in X):
        X = PartialRows([row for row in X if row is not None], np.array([row is not None for row in X]))
    if isinstance(X, PartialRows):
        X, has = X.matrix, X.has
        if not has.any():
            raise ValueError(f"{label}: expected at least 2 samples, got none")
    data = read_matrix(X, label)
    n = data.shape[0] if has is None else len(has)
    if mask is not None:
        if len(mask) != n:
            raise ValueError(f"{mask_label}: expected shape ({n},), one for each row, got {mask.shape}")
        # What a row holds that is marked as absent does not matter.
        data = data[mask if has is None else mask[has]]
        has = mask if has is None else has & mask
    if not _is_finite(data):
        empty = is_nan_row(data)
        if empty.any():
            data, has = data[~empty], np.ones(n, dtype=bool) if has is None else has.copy()
            has[np.flatnonzero(has)[empty]] = False
        rows = None if has is None else np.flatnonzero(has)
        check_finite(data, label, column_names(X), rows)
    presence = None if has is None else Presence.of(has)
    return (data, None) if presence is None else (freeze(data), presence)


def _is_list(X: Any) -> bool:
    return isinstance(X, (list, tuple)) or (isinstance(X, np.ndarray) and X.ndim == 1 and X.dtype == object)


def check_names(names: Sequence[str], argument: str) -> None:
    """Check that names are unique."""
    repeated = [name for i, name in enumerate(names) if name in names[:i]]
    if repeated:
        raise ValueError(f"{argument}: expected unique names, got {repeated[0]!r} twice")


def check_samples(view: View) -> None:
    """Check that a view has at least 2 samples and 1 feature."""
    n, d = view.data.shape
    if n < 2:
        others = "" if view.presence is None else " beside rows of NaN or None, or that are marked as absent"
        raise ValueError(f"{view.label}: expected at least 2 samples, got {n}{others}")
    if d < 1:
        raise ValueError(f"{view.label}: expected at least 1 feature, got 0 features")


def check_matrix(X: Any, name: str) -> Matrix:
    """Return a finite 2-D matrix: float32 if given in float32 or float16, else float64."""
    matrix = read_matrix(X, name)
    if not _is_finite(matrix):
        check_finite(matrix, name, column_names(X))
    return matrix


def read_matrix(X: Any, name: str) -> Matrix:
    """Return a 2-D matrix of floats, which may be NaN or infinite."""
    if sparse.issparse(X):
        _check_dtype(X.dtype, name)
        if X.ndim != 2:
            raise ValueError(f"{name}: expected a 2-D matrix (samples, features), got {X.ndim}-D")
        check_arrays(X, name)
        rows = sparse.csr_array(X, dtype=float_type(X.dtype))
        if not rows.has_canonical_format:
            # On a copy: the caller's matrix is not changed.
            rows = rows.copy()
            rows.sum_duplicates()
        return rows
    array = _read(X, name)
    _check_dtype(array.dtype, name)
    if array.ndim != 2:
        hint = "; a single feature is X.reshape(-1, 1)" if array.ndim == 1 else ""
        raise ValueError(f"{name}: expected a 2-D array (samples, features), got {array.ndim}-D{hint}")
    shared = array
    array = np.require(array, float_type(array.dtype), ["C", "A"])
    return array if array is shared else freeze(array)


def _is_finite(X: Matrix) -> bool:
    values = X.data if sparse.issparse(X) else X
    # A sum is finite only if all its terms are. Sums may overflow, so a second test is exact.
    with np.errstate(over="ignore", invalid="ignore"):
        return bool(np.isfinite(values.sum())) or bool(np.isfinite(values).all())


def check_finite(X: Matrix, name: str, columns: list[Any] | None = None, rows: NDArray[np.intp] | None = None) -> None:
    """Raise ValueError for the first number that is not finite; `rows` are the numbers of the rows."""
    if sparse.issparse(X):
        where = first_true(~np.isfinite(X.data))
        if where is None:
            return
        row, column, value = int(np.searchsorted(X.indptr, where, side="right")) - 1, X.indices[where], X.data[where]
    else:
        found = np.argwhere(~np.isfinite(X))
        if not len(found):
            return
        row, column = (int(i) for i in found[0])
        value = X[row, column]
    label = f" ({columns[column]!r})" if columns is not None and isinstance(columns[column], str) else ""
    number = row if rows is None else int(rows[row])
    advice = "; fill in or leave out single missing values; a row of NaN only is a sample that the view lacks"
    raise ValueError(
        f"{name}: expected finite numbers, got {value} at row {number}, column {column}{label}"
        + (advice if np.isnan(value) and X.shape[1] > 1 else "")
    )


def _read(X: Any, name: str) -> NDArray[Any]:
    """Return `X` as an array of any type and number of dimensions."""
    check_readable(X, name)
    refuse_mask(X, name)
    check_columns(X, name)
    array = read_array(X, name)
    if array.dtype == object and hasattr(X, "to_numpy"):
        array = _nullable_columns(X, array)
    if array.ndim == 0 and not isinstance(X, np.ndarray):
        raise TypeError(f"{name}: expected {MATRIX}, got {type(X).__name__}")
    return array


def refuse_mask(X: Any, name: str) -> None:
    """Raise TypeError for a masked array, because its mask would be ignored."""
    if isinstance(X, np.ma.MaskedArray):
        raise TypeError(f"{name}: expected an array without a mask, got a masked array; fill or drop the masked values")


def _nullable_columns(frame: Any, array: NDArray[Any]) -> NDArray[Any]:
    """Return a frame with nullable columns of pandas as floats, other frames unchanged."""
    try:
        return np.asarray(frame.to_numpy(dtype=np.float64, na_value=np.nan))
    except (TypeError, ValueError):
        return array


def float_type(dtype: np.dtype[Any]) -> type[np.float32] | type[np.float64]:
    """Return the precision in which numbers of a type are read."""
    return np.float32 if dtype in (np.float32, np.float16) else np.float64


def _check_dtype(dtype: np.dtype[Any], name: str) -> None:
    if dtype.kind not in "biuf":
        raise TypeError(f"{name}: expected real numbers, got dtype {dtype}")
