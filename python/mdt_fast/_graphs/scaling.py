"""Scaling of the columns or rows of a view before distances are computed, alike for new samples."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .column_units import leading_columns, moments
from .frozen import freeze
from .views import Matrix, View, check_matrix

SCALES = ("auto", "standard", "unit")


@dataclass(frozen=True)
class ViewScaling:
    """How a view was scaled.

    Attributes
    ----------
    name : str
        "standard", "unit", or the name of a function or transformer.
    means, deviations : (d,) arrays or None
        For "standard": what is subtracted, nothing from a sparse view, and by what is divided.
    function : callable or None
        The function of the user, which gets a matrix of samples.
    leading : tuple of int
        The columns for which "auto" chose "standard".
    n_features : int
        Number of columns before the scaling.
    """

    name: str
    n_features: int
    means: NDArray[np.float64] | None = None
    deviations: NDArray[np.float64] | None = None
    function: Callable[[Any], Any] | None = None
    leading: tuple[int, ...] = field(default=())

    def apply(self, view: View) -> View:
        """Return the scaled view."""
        X = view.data
        if not view.n_samples:
            return view
        scaled: Any
        if self.function is not None:
            scaled = _call(self.function, X, view)
        elif self.name == "unit":
            from sklearn.preprocessing import normalize

            scaled = normalize(X)
        elif sparse.issparse(X):
            assert self.deviations is not None
            values = X.data / self.deviations.astype(X.dtype)[X.indices]
            scaled = sparse.csr_array((values, X.indices, X.indptr), shape=X.shape)
        else:
            assert self.means is not None
            assert self.deviations is not None
            scaled = ((X - self.means) / self.deviations).astype(X.dtype)
        return replace(view, data=freeze(scaled))

    def invert(self, X: Matrix) -> Matrix:
        """Return features in the unit of the user, where that is possible; else as they are."""
        if self.deviations is None:
            return X
        return X * self.deviations + (0.0 if self.means is None else self.means)


def find_scaling(scale: Any, view: View, metric: str) -> ViewScaling | None:
    """Return how a view is scaled; None if it is not."""
    if scale is None:
        return None
    if metric == "precomputed":
        if scale == "auto":
            return None
        raise ValueError(f"scale ({view.name}): expected None or 'auto' for metric='precomputed', got {scale!r}")
    leading: tuple[int, ...] = ()
    if isinstance(scale, str) and scale == "auto":
        # The rows of counts and term weights are compared by their directions, in one unit.
        found = None if metric == "cosine" else leading_columns(view.data)
        if found is None:
            return None
        scale, leading = "standard", tuple(found)
    n, d = view.data.shape
    if isinstance(scale, str):
        if scale == "unit":
            return ViewScaling("unit", d)
        columns, means, variances = moments(view.data)
        if not np.isfinite(variances).all():
            raise ValueError(f"scale ({view.name}): expected columns whose variance is finite, got larger numbers")
        # The variance of a constant column is not 0 but rounded.
        rounding = np.finfo(np.float64).eps
        is_constant = variances <= n * rounding * variances + (n * means * rounding) ** 2
        deviations = np.ones(d)
        deviations[columns[~is_constant]] = np.sqrt(variances[~is_constant])
        return ViewScaling("standard", d, None if sparse.issparse(view.data) else means, deviations, leading=leading)
    if hasattr(scale, "fit") and hasattr(scale, "transform"):
        try:
            transformer = copy.deepcopy(scale).fit(view.data)
        except (TypeError, ValueError) as error:
            raise ValueError(f"scale ({view.name}): expected a transformer that fits the view, got: {error}") from error
        return ViewScaling(type(scale).__name__, d, function=transformer.transform)
    return ViewScaling(getattr(scale, "__name__", type(scale).__name__), d, function=scale)


def check_scale(scale: Any, name: str) -> Any:
    """Return `scale` if it is one of the names, None, a function or a transformer."""
    if isinstance(scale, type) and hasattr(scale, "fit"):
        raise TypeError(
            f"scale ({name}): expected a transformer, got the class {scale.__name__}; {scale.__name__}() makes one"
        )
    if scale is None or callable(scale) or (hasattr(scale, "fit") and hasattr(scale, "transform")):
        return scale
    if not isinstance(scale, str) or scale not in SCALES:
        names = ", ".join(map(repr, SCALES))
        raise ValueError(f"scale ({name}): expected None, {names}, a function or a transformer, got {scale!r}")
    return scale


def _call(function: Callable[[Any], Any], X: Matrix, view: View) -> Matrix:
    argument = f"scale ({view.name})"
    try:
        returned = function(X.copy())
    except (TypeError, ValueError) as error:
        raise ValueError(f"{argument}: expected a function of a matrix of samples, got: {error}") from error
    scaled = check_matrix(returned, f"{argument}: what the function returned")
    if scaled.shape[0] != X.shape[0]:
        raise ValueError(f"{argument}: expected a function that returns {X.shape[0]} rows, got {scaled.shape[0]}")
    return scaled if scaled.dtype in (np.float32, np.float64) else scaled.astype(np.float64)
