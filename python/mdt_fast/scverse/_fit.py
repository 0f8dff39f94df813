"""Fits of estimators to the views of an object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from .._estimators.mdt import SearchEstimator
from ._recipe import Recipe

E = TypeVar("E", bound=SearchEstimator)


def fit(model: E, data: Any, recipe: Recipe) -> E:
    """Fit an estimator to the views and batches of an object."""
    views: dict[str, Any] = recipe.views(data)
    if len(views) == 1:
        # An estimator reads the matrix of a single view as scikit-learn does.
        views = {name: view.data for name, view in views.items()}
    model.fit(views, **recipe.batches(data))
    return model


def model_options(cls: type[SearchEstimator], options: Mapping[str, Any], taken: tuple[str, ...]) -> dict[str, Any]:
    """Return options that are parameters of an estimator and no arguments of the function itself."""
    known = [name for name in cls._get_param_names() if name not in taken]
    unknown = [name for name in options if name not in known]
    if unknown:
        raise TypeError(f"{unknown[0]}: expected a parameter of {cls.__name__}, one of {', '.join(known)}")
    return dict(options)
