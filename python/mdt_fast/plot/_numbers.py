"""Checks of the arguments of plots of scores: numbers by name."""

import math
from collections.abc import Collection
from typing import Any

import numpy as np
from numpy.typing import NDArray


def numbers_by_name(argument: str, values: Any, shapes: str, n_dimensions: Collection[int]) -> dict[Any, NDArray[Any]]:
    """Return arrays of floats or nan from a dict, Series or DataFrame.

    `shapes` describes in words the shapes that `n_dimensions` allows.
    """
    if not hasattr(values, "items"):
        raise TypeError(f"{argument}: expected a mapping of names to {shapes}, got {type(values).__name__}")
    found = {}
    for name, value in values.items():
        try:
            numbers = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError):
            raise TypeError(f"{argument}[{name!r}]: expected {shapes}, got {value!r}") from None
        if numbers.ndim not in n_dimensions or numbers.size == 0:
            raise ValueError(f"{argument}[{name!r}]: expected {shapes}, got the shape {numbers.shape}")
        if np.isinf(numbers).any():
            raise ValueError(f"{argument}[{name!r}]: expected finite numbers, or nan for no value, got an infinity")
        found[name] = numbers
    if not found:
        raise ValueError(f"{argument}: expected at least one name, got none")
    return found


def check_names(argument: str, given: Any, known: Collection[Any], *, all_of_them: bool = False) -> None:
    """Refuse names that are not in `known` and, with `all_of_them`, missing names."""
    if not hasattr(given, "keys"):
        raise TypeError(f"{argument}: expected a mapping, got {type(given).__name__}")
    names = list(given.keys())
    unknown = [name for name in names if name not in known]
    missing = [name for name in known if name not in names] if all_of_them else []
    if unknown or missing:
        wrong = f"unknown {unknown}" if unknown else f"none for {missing}"
        raise ValueError(f"{argument}: expected names out of {list(known)}, got {wrong}")


def check_finite(argument: str, value: Any) -> float:
    """Return `value` as a finite float."""
    if (
        not isinstance(value, (int, float, np.integer, np.floating))
        or isinstance(value, bool)
        or not math.isfinite(value)
    ):
        raise ValueError(f"{argument}: expected a finite number, got {value!r}")
    return float(value)
