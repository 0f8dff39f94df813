"""Checks of JSON values from files; NaN is null, an infinity is "inf" or "-inf"."""

import math
import reprlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._operators.operator_set import OperatorSet
from .._operators.trajectory import check_steps
from .evaluation import Candidate


def from_float(value: Any) -> float | str | None:
    """Return a float as a JSON value."""
    number = float(value)
    if math.isnan(number):
        return None
    return number if math.isfinite(number) else str(number)


def to_float(name: str, value: Any) -> float:
    """Return the float of a JSON value that :func:`from_float` made."""
    if value is None:
        return math.nan
    if value in ("inf", "-inf") or (isinstance(value, (int, float)) and not isinstance(value, bool)):
        try:
            return float(value)
        except OverflowError:
            pass
    raise ValueError(f"{name}: expected a number, None for nan, 'inf' or '-inf', got {reprlib.repr(value)}")


def to_kind(name: str, value: Any, kinds: tuple[type, ...], expected: str) -> Any:
    """Return a value of one of the given types."""
    if not isinstance(value, kinds):
        raise ValueError(f"{name}: expected {expected}, got {reprlib.repr(value)}")
    return value


def to_list(name: str, value: Any, length: int | None = None) -> list[Any]:
    """Return a list, of the given length."""
    values: list[Any] = to_kind(name, value, (list, tuple), "a list")
    if length is not None and len(values) != length:
        raise ValueError(f"{name}: expected {length} values, got {len(values)}")
    return values


def to_integer(name: str, value: Any, minimum: int, maximum: int = 2**31 - 1) -> int:
    """Return an integer within the closed range."""
    if not isinstance(value, int) or isinstance(value, bool) or not minimum <= value <= maximum:
        raise ValueError(f"{name}: expected an integer from {minimum} to {maximum}, got {reprlib.repr(value)}")
    return value


def to_steps(name: str, value: Any, ops: OperatorSet) -> Candidate:
    """Return a sequence of members, or (t, members) weights."""
    steps = to_list(name, value)
    if not steps or not all(isinstance(row, (list, tuple)) for row in steps):
        sequence = tuple(to_integer(f"{name}, a step", member, 0, len(ops) - 1) for member in steps)
        if not sequence:
            raise ValueError(f"{name}: expected at least one step, got none")
        return sequence
    try:
        check_steps(steps, ops)
    except (TypeError, ValueError, OverflowError) as error:
        raise ValueError(f"{name}: {error}") from None
    # As written: the check returns weights divided by their sums once more.
    return np.array(steps, dtype=np.float64)


def to_numbers(name: str, value: Any, n_rows: int, n_dimensions: int) -> NDArray[np.float64]:
    """Return finite numbers for each of `n_rows` samples."""
    try:
        numbers = np.array(to_list(name, value, n_rows), dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        numbers = np.empty(0)
    if numbers.ndim != n_dimensions or len(numbers) != n_rows or not np.isfinite(numbers).all():
        raise ValueError(f"{name}: expected finite numbers for each of {n_rows} samples, got {reprlib.repr(value)}")
    return numbers
