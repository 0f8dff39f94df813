"""Fits of estimators to the views of an object."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from .._estimators.mdt import SearchEstimator
from ._recipe import Recipe
from ._write import storable

E = TypeVar("E", bound=SearchEstimator)


def fit(model: E, data: Any, recipe: Recipe) -> E:
    """Fit an estimator to the views and batches of an object."""
    views: dict[str, Any] = recipe.views(data)
    if len(views) == 1:
        # An estimator reads the matrix of a single view as scikit-learn does.
        views = {name: view.data for name, view in views.items()}
    model.fit(views, **recipe.batches(data))
    return model


def fit_params(recipe: Recipe, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the views and the options of a fit for `.uns`."""
    return {
        "views": np.array([source.name for source in recipe.sources], dtype=object),
        "keys": np.array([source.key for source in recipe.sources], dtype=object),
        **storable({"batch_key": recipe.batch_key, **options}),
    }


def model_options(cls: type[SearchEstimator], options: Mapping[str, Any], taken: tuple[str, ...]) -> dict[str, Any]:
    """Return options that are parameters of an estimator and no arguments of the function itself."""
    known = [name for name in cls._get_param_names() if name not in taken]
    unknown = [name for name in options if name not in known]
    if unknown:
        raise TypeError(f"{unknown[0]}: expected a parameter of {cls.__name__}, one of {', '.join(known)}")
    return dict(options)
