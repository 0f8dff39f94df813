"""Views: named, finite, floating-point matrices with the same number of rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._support.arguments import first_true
from .._support.csr import check_arrays
from .frozen import freeze
from .readable import MATRIX, check_columns, check_readable, column_names, read_array
from .row_labels import check_row_labels

# A dense array or a SciPy csr_array; SciPy has no type annotations.
Matrix: TypeAlias = Any


@dataclass(frozen=True)
class View:
    """One view: a C-contiguous float array or a canonical CSR matrix whose rows are samples."""

    name: str
    data: Matrix
    # The argument in which the user gave the view.
    argument: str = "Xs"

    @property
    def label(self) -> str:
        """The view as messages name it."""
        return f"{self.argument} ({self.name})"

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return int(self.data.shape[0])


def check_views(Xs: Any, argument: str = "Xs") -> list[View]:
    """Return the views of `Xs`: a mapping, a list or tuple, or one bare matrix."""
    pairs = _named_pairs(Xs, argument)
    if not pairs:
        raise ValueError(f"{argument}: expected at least one view, got none")
    check_names([name for name, _ in pairs], argument)
    views = _check_pairs(pairs, argument)
    for view in views:
        check_samples(view)
    return views


def check_views_like(given: Any, names: Sequence[str], argument: str) -> list[View]:
    """Return a view for each of `names`: those of a mapping by name, others in order."""
    pairs = _named_pairs(given, argument)
    if is_named(given):
        by_name = dict(pairs)
        if len(pairs) != len(names) or set(by_name) != set(names):
            raise ValueError(
                f"{argument}: expected a view for each of {list(names)}, got {[name for name, _ in pairs]}"
            )
        pairs = [(name, by_name[name]) for name in names]
    if len(pairs) != len(names):
        raise ValueError(f"{argument}: expected {len(names)} views, got {len(pairs)}")
    return _check_pairs([(name, X) for name, (_, X) in zip(names, pairs, strict=True)], argument)


def is_named(Xs: Any) -> bool:
    """Return whether `Xs` is a mapping of views; a dok_array of SciPy is a dict, but one matrix."""
    return isinstance(Xs, Mapping) and not sparse.issparse(Xs)


def _named_pairs(given: Any, argument: str) -> list[tuple[str, Any]]:
    if is_named(given):
        return [(str(name), X) for name, X in given.items()]
    if isinstance(given, (list, tuple)):
        return [(f"view {v}", X) for v, X in enumerate(given)]
    if not sparse.issparse(given):
        check_readable(given, argument, "a list, tuple or dict of 2-D arrays")
    return [("view 0", given)]


def _check_pairs(pairs: Sequence[tuple[str, Any]], argument: str) -> list[View]:
    """Return the views of named matrices that describe the same samples."""
    # A View has been checked before, and names the argument of its user.
    views = [
        X if isinstance(X, View) else View(name, check_matrix(X, f"{argument} ({name})"), argument) for name, X in pairs
    ]
    sizes = {view.name: view.n_samples for view in views}
    if len(set(sizes.values())) > 1:
        got = ", ".join(f"{name} has {size}" for name, size in sizes.items())
        raise ValueError(f"{argument}: expected the same number of samples in every view, got {got}")
    check_row_labels(pairs, argument)
    return views


def check_names(names: Sequence[str], argument: str) -> None:
    """Check that names are unique."""
    repeated = [name for i, name in enumerate(names) if name in names[:i]]
    if repeated:
        raise ValueError(f"{argument}: expected unique names, got {repeated[0]!r} twice")


def check_samples(view: View) -> None:
    """Check that a view has at least 2 samples and 1 feature."""
    n, d = view.data.shape
    if n < 2:
        raise ValueError(f"{view.label}: expected at least 2 samples, got {n}")
    if d < 1:
        raise ValueError(f"{view.label}: expected at least 1 feature, got 0 features")


def check_matrix(X: Any, name: str) -> Matrix:
    """Return a finite 2-D matrix: float32 if given in float32 or float16, else float64."""
    if sparse.issparse(X):
        _check_dtype(X.dtype, name)
        if X.ndim != 2:
            raise ValueError(f"{name}: expected a 2-D matrix (samples, features), got {X.ndim}-D")
        check_arrays(X, name)
        rows = sparse.csr_array(X, dtype=_float_type(X.dtype))
        if not rows.has_canonical_format:
            # On a copy: the caller's matrix is not changed.
            rows = rows.copy()
            rows.sum_duplicates()
        if (where := first_true(~np.isfinite(rows.data))) is not None:
            row = int(np.searchsorted(rows.indptr, where, side="right")) - 1
            _refuse_non_finite(name, row, int(rows.indices[where]), rows.data[where])
        return rows
    array = _read(X, name)
    _check_dtype(array.dtype, name)
    if array.ndim != 2:
        hint = "; a single feature is X.reshape(-1, 1)" if array.ndim == 1 else ""
        raise ValueError(f"{name}: expected a 2-D array (samples, features), got {array.ndim}-D{hint}")
    shared = array
    array = np.require(array, _float_type(array.dtype), ["C", "A"])
    # A sum is finite only if all its terms are. Sums may overflow, so a second test is exact.
    with np.errstate(over="ignore", invalid="ignore"):
        suspicious = not np.isfinite(array.sum())
    if suspicious and not np.isfinite(array).all():
        row, column = (int(i) for i in np.argwhere(~np.isfinite(array))[0])
        _refuse_non_finite(name, row, column, array[row, column], column_names(X))
    return array if array is shared else freeze(array)


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


def _float_type(dtype: np.dtype[Any]) -> type[np.float32] | type[np.float64]:
    return np.float32 if dtype in (np.float32, np.float16) else np.float64


def _check_dtype(dtype: np.dtype[Any], name: str) -> None:
    if dtype.kind not in "biuf":
        raise TypeError(f"{name}: expected real numbers, got dtype {dtype}")


def _refuse_non_finite(name: str, row: int, column: int, value: Any, names: list[Any] | None = None) -> None:
    label = f" ({names[column]!r})" if names is not None and isinstance(names[column], str) else ""
    raise ValueError(f"{name}: expected finite numbers, got {value} at row {row}, column {column}{label}")
