"""Checks of arguments; every message has the argument, the expected value and the given one."""

import math
import operator
import os
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, SupportsIndex, TypeAlias, TypeGuard, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")
RandomStateLike: TypeAlias = int | np.integer[Any] | np.random.Generator | np.random.RandomState | None

# Largest count that the core stores.
LARGEST_COUNT = 2**32 - 1
# Largest number of samples: indices of SciPy's matrices have 32 bits.
LARGEST_SAMPLES = 2**31 - 1
# Largest number of starts of k-means.
LARGEST_STARTS = 2**20
# Largest number of steps of a trajectory: each step is applied, and its weights are stored.
LARGEST_STEPS = 2**20


def check_integer(
    name: str, value: object, *, minimum: int, maximum: int | None = None, limit: int = sys.maxsize
) -> int:
    """Return `value` as an int within the closed range.

    Without a `maximum` the largest integer is `limit`, which a message has only if it is exceeded.
    """
    expected = f"an integer >= {minimum}" + ("" if maximum is None else f" and <= {maximum}")
    if not is_integer(value):
        raise TypeError(f"{name}: expected {expected}, got {value!r} of type {type(value).__name__}")
    number = operator.index(value)
    if number > limit and maximum is None:
        expected += f" and <= {limit}"
    if not minimum <= number <= (limit if maximum is None else maximum):
        raise ValueError(f"{name}: expected {expected}, got {_digits(number)}")
    return number


def _digits(number: int) -> str:
    """Return an integer as text; Python refuses to write very large ones."""
    bits = number.bit_length()
    return str(number) if bits <= 256 else f"an integer of {bits} bits"


def check_number(name: str, value: object, *, minimum: float = 0.0, maximum: float = math.inf) -> float:
    """Return `value` as a finite float within the closed range."""
    bound = f" and <= {maximum:g}" if math.isfinite(maximum) else ""
    expected = f"a finite number >= {minimum:g}{bound}"
    # A time span of NumPy is an integer in its hierarchy of types.
    if not isinstance(value, (int, float, np.integer, np.floating)) or isinstance(value, (bool, np.timedelta64)):
        raise TypeError(f"{name}: expected {expected}, got {value!r} of type {type(value).__name__}")
    try:
        number = float(value)
    except OverflowError:
        assert isinstance(value, int)
        raise ValueError(f"{name}: expected {expected}, got {_digits(value)}") from None
    if not math.isfinite(number) or not minimum <= number <= maximum:
        raise ValueError(f"{name}: expected {expected}, got {number}")
    # Some functions of NumPy refuse a negative zero.
    return number + 0.0


def is_integer(value: object) -> TypeGuard[SupportsIndex]:
    """Return whether a value is an integer.

    A bool is none, although Python counts it as one. Arrays, classes and time spans of NumPy have
    `__index__`, but most of them are no integers.
    """
    if isinstance(value, (bool, np.bool_, np.timedelta64)):
        return False
    try:
        operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        return False
    return True


def check_choice(name: str, value: object, choices: Sequence[str]) -> str:
    """Return `value` if it is one of `choices`."""
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name}: expected one of {', '.join(map(repr, choices))}, got {value!r}")
    return value


def check_flag(name: str, value: object) -> bool:
    """Return `value` if it is a bool; other values, which may be misplaced, are not converted."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name}: expected True or False, got {value!r} of type {type(value).__name__}")
    return bool(value)


def check_text(name: str, value: object) -> str:
    """Return `value` if it is text."""
    if not isinstance(value, str):
        raise TypeError(f"{name}: expected text, got {value!r} of type {type(value).__name__}")
    return value


def check_path(name: str, value: object, expected: str = "a path") -> Path:
    """Return `value` as a path; `expected` is the text for other values."""
    if not isinstance(value, (str, os.PathLike)):
        raise TypeError(f"{name}: expected {expected}, got {value!r} of type {type(value).__name__}")
    return Path(value)


def check_per_view(name: str, value: object, n_views: int, check: Callable[[str, object], T]) -> list[T]:
    """Return one checked value for each view, from one value or a sequence of `n_views` values."""
    if not isinstance(value, (list, tuple, np.ndarray)) or getattr(value, "ndim", 1) == 0:
        return [check(name, value)] * n_views
    if len(value) != n_views:
        raise ValueError(f"{name}: expected one value or {n_views}, one for each view, got {len(value)}")
    return [check(f"{name}[{view}]", entry) for view, entry in enumerate(value)]


def first_true(mask: NDArray[np.bool_]) -> int | None:
    """Return the position of the first true entry of a 1-D mask, or None."""
    return int(mask.argmax()) if mask.any() else None


def check_generator(random_state: RandomStateLike) -> np.random.Generator:
    """Return a generator; the global state of NumPy is neither read nor changed."""
    if random_state is None:
        return np.random.default_rng()
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, np.random.RandomState):
        return np.random.default_rng(int(random_state.randint(2**31 - 1)))
    return np.random.default_rng(check_integer("random_state", random_state, minimum=0, maximum=2**128 - 1))
