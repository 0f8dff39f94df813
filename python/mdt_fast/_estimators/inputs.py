"""The arguments X and y of estimators: views in scikit-learn's forms."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from .._graphs.modalities import is_multimodal
from .._graphs.readable import check_columns, check_readable, has_columns, read_array
from .._graphs.views import Holes, Matrix, View, check_names, check_views, check_views_like, is_named, refuse_mask
from .._support.csr import check_arrays

if TYPE_CHECKING:
    from .base import MultiViewEstimator


def refuse_views_as_y(y: Any) -> None:
    """Raise ValueError for a view in the place of `y`, which would be ignored."""
    shape = getattr(y, "shape", None)
    if isinstance(y, (list, tuple)):
        # Labels are numbers or strings; a list of anything else with a length is a matrix or several.
        is_matrix = any(map(_has_items, y[:1]))
    else:
        # One column of labels is no view.
        is_matrix = is_named(y) or (shape is not None and len(shape) > 1 and tuple(shape[1:]) != (1,))
    if is_matrix:
        got = type(y).__name__ if shape is None else f"{type(y).__name__} of shape {tuple(shape)}"
        raise ValueError(
            f"y: expected None or one label for each sample, which has no effect, got {got}; several views are one "
            "argument: fit([X1, X2]) or fit({'name': X1, 'other': X2})"
        )


def one_matrix(X: Any) -> tuple[str | None, Any]:
    """Return name, if any, and array of a single view, or (None, None) for several."""
    if is_named(X):
        return next(((str(name), view) for name, view in X.items()), (None, None)) if len(X) == 1 else (None, None)
    if is_multimodal(X):
        return None, None
    if not isinstance(X, (list, tuple)):
        return None, X
    # A list of lists of numbers is one array; a list of arrays is a list of views.
    if X and all(isinstance(row, (list, tuple)) and not any(map(_has_items, row[:1])) for row in X):
        return None, X
    return None, X[0] if len(X) == 1 else None


def _has_items(X: Any) -> bool:
    return not isinstance(X, (str, bytes)) and hasattr(X, "__len__") and getattr(X, "ndim", 1) > 0


def read_views(estimator: MultiViewEstimator, X: Any, present: Any) -> dict[str, View]:
    """Return several views, checked."""
    views = {view.name: view for view in check_views(X, "X", Holes(present, estimator.align))}
    columns = {name: columns_of(view) for name, view in given_views(X, list(views)).items()}
    estimator._columns = {name: names for name, names in columns.items() if names is not None}
    estimator.n_features_in_ = sum(int(view.data.shape[1]) for view in views.values())
    if hasattr(estimator, "feature_names_in_"):
        # Set by an earlier fit on a data frame.
        del estimator.feature_names_in_
    return views


def given_views(X: Any, names: list[str]) -> dict[str, Any]:
    """Return the views as the user gave them, by name; those of a list or tuple by their order."""
    if is_named(X):
        return {str(key): view for key, view in X.items()}
    return dict(zip(names, X, strict=False)) if isinstance(X, (list, tuple)) else {}


def split_matrix(
    estimator: MultiViewEstimator, X: Any, name: str | None, present: Any, *, is_new: bool = False
) -> dict[str, View]:
    """Return the views of one 2-D array, checked by scikit-learn's rules."""
    slices = estimator.view_slices
    # Of several views a sample may lack some.
    argument = "X" if name is None else f"X ({name})"
    whole = validate_matrix(estimator, X, argument, is_new=is_new, allow_nan=slices is not None)
    if slices is None:
        slices = {name or "view 0": slice(None)}
    elif not isinstance(slices, (Mapping, list, tuple)) or not len(slices):
        raise TypeError(f"view_slices: expected a list or dict of slices, got {slices!r}")
    named = slices if isinstance(slices, Mapping) else {f"view {v}": columns for v, columns in enumerate(slices)}
    check_names([str(name) for name in named], "view_slices")
    chosen = {str(name): _column_numbers(columns, whole.shape[1], str(name)) for name, columns in named.items()}
    if not is_new:
        names = getattr(estimator, "feature_names_in_", None)
        estimator._columns = (
            {} if names is None else {name: names[columns].tolist() for name, columns in chosen.items()}
        )
    parts = {name: whole[:, columns] for name, columns in chosen.items()}
    holes = Holes(present)
    views = check_views_like(parts, list(parts), "X", holes) if is_new else check_views(parts, "X", holes)
    return {view.name: view for view in views}


def validate_matrix(
    estimator: BaseEstimator, X: Any, argument: str, *, is_new: bool = False, allow_nan: bool = False
) -> Matrix:
    """Return one matrix of floats, checked by scikit-learn's rules.

    scikit-learn converts dates and strings and trusts the arrays of sparse matrices, so they are checked
    first.
    """
    if sparse.issparse(X):
        check_arrays(X, argument)
    else:
        check_readable(X, argument)
        refuse_mask(X, argument)
        if not has_columns(X) and not isinstance(X, np.ndarray):
            X = read_array(X, argument)
        check_columns(X, argument)
    try:
        whole = validate_data(
            estimator,
            X,
            reset=not is_new,
            accept_sparse="csr",
            dtype=(np.float64, np.float32),
            ensure_all_finite="allow-nan" if allow_nan else True,
            ensure_min_samples=1 if is_new else 2,
        )
    except (TypeError, ValueError) as error:
        if "X" in str(error):
            raise
        raise type(error)(f"{argument}: {error}") from None
    return sparse.csr_array(whole) if sparse.issparse(whole) else whole


def _column_numbers(columns: Any, d: int, name: str) -> Any:
    """Return a slice, or an array of column numbers, that selects at least one of `d` columns."""
    expected = f"view_slices ({name}): expected a slice, a (start, stop) pair or a list of numbers below {d}"
    if isinstance(columns, tuple) and len(columns) == 2:
        columns = slice(*columns)
    try:
        selected = np.arange(d)[columns]
    except (IndexError, TypeError, ValueError):
        raise ValueError(f"{expected}, got {columns!r}") from None
    # NumPy clips slices at the ends; a view that is shorter than intended would go unnoticed.
    ends = (columns.start or 0, columns.stop or 0) if isinstance(columns, slice) else (0,)
    if np.ndim(selected) != 1 or not len(selected) or max(ends) > d or min(ends) < -d:
        raise ValueError(f"{expected}, got {columns!r}")
    return columns if isinstance(columns, slice) else selected


def columns_of(view: Any) -> list[str] | None:
    """Return the names of the columns of a data frame."""
    columns = getattr(view, "columns", None)
    return None if columns is None else [str(column) for column in columns]
