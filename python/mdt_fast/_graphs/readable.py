"""What can be read as a matrix of numbers: checks of objects and of columns before NumPy reads them.

NumPy iterates over any object with a length and items. For a MuData object this takes gigabytes
before it fails, so the type is looked at first. NumPy and pandas also convert dates to nanoseconds
and strings of digits to numbers if a column of floats is beside them, so columns are looked at too.
"""

from __future__ import annotations

import datetime
import os
from array import array
from collections import deque
from collections.abc import Iterable, Iterator
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

MATRIX = "a 2-D array (samples, features)"
# Interfaces by which an object gives NumPy an array as a whole.
_WHOLE = ("__array__", "__array_interface__", "__array_struct__")
# Sequences of numbers that NumPy reads without harm; and text, which is refused by its dtype.
_NUMBERS = (range, array, deque)
_PLAIN = (str, bytes, *_NUMBERS)
# Lists within lists that are looked into: samples, features, and one level to report.
_MOST_LEVELS = 3
_REAL_KINDS = "biuf"


def check_readable(X: Any, name: str, expected: str = MATRIX) -> None:
    """Raise TypeError for an object that is no array and no list of numbers."""
    if isinstance(X, (list, tuple)):
        _check_items(X, name, expected, _MOST_LEVELS)
    elif not _is_whole(X) and not isinstance(X, _NUMBERS):
        raise TypeError(f"{name}: expected {expected}, got {_describe(X)}")


def check_columns(X: Any, name: str) -> None:
    """Raise TypeError for a column of a data frame, or an array, that does not hold real numbers.

    An array of objects passes if its items are neither strings nor dates; NumPy converts it or not.
    """
    if has_columns(X):
        for position, (label, dtype) in enumerate(zip(X.columns, X.dtypes, strict=True)):
            got = _not_real(dtype, X, position)
            if got is not None:
                raise TypeError(
                    f"{name}: expected columns of numbers, got {got} in column {label!r}; {_advice(got, 'the column')}"
                )
        return
    dtype = getattr(X, "dtype", None)
    if not isinstance(dtype, np.dtype):
        return
    if dtype.kind in "mMUS":
        raise TypeError(f"{name}: expected real numbers, got dtype {dtype}; {_advice(str(dtype), 'them')}")
    if dtype.kind == "O" and isinstance(X, np.ndarray):
        found = next((kind for kind in set(map(type, X.ravel())) if _is_text_or_date(kind)), None)
        if found is not None:
            got = found.__name__
            raise TypeError(f"{name}: expected real numbers, got {got} in dtype object; {_advice(got, 'them')}")


def column_names(X: Any) -> list[Any] | None:
    """Return the names of the columns of a data frame, None for other objects."""
    return list(X.columns) if has_columns(X) else None


def has_columns(X: Any) -> bool:
    """Return whether an object is a data frame of pandas, polars or the like."""
    return hasattr(X, "columns") and hasattr(X, "dtypes")


def read_array(X: Any, name: str) -> NDArray[Any]:
    """Return `X` as an array of any type and number of dimensions."""
    if isinstance(X, (list, tuple)):
        return _read_rows(X, name)
    try:
        return np.asarray(X)
    except (TypeError, ValueError) as error:
        got = f"{type(X).__name__}, which NumPy cannot read: {error}"
        raise TypeError(f"{name}: expected {MATRIX}, got {got}") from None


def _read_rows(X: list[Any] | tuple[Any, ...], name: str) -> NDArray[Any]:
    """Return nested lists as an array; rows of different lengths are named."""
    try:
        return np.asarray(X)
    except ValueError as error:
        lengths = [len(row) if isinstance(row, (list, tuple)) else next(iter(np.shape(row)), None) for row in X]
        other = next((i for i, length in enumerate(lengths) if length != lengths[0]), None)
        if other is None or lengths[0] is None or lengths[other] is None:
            raise ValueError(f"{name}: expected rows of numbers, got lists that make no array ({error})") from None
        got = f"{lengths[0]} numbers in row 0 and {lengths[other]} in row {other}"
        raise ValueError(f"{name}: expected rows of one length, got {got}") from None


def _is_whole(X: Any) -> bool:
    # A class has the interfaces of its objects, but is none of them.
    return not isinstance(X, type) and (isinstance(X, memoryview) or any(hasattr(X, interface) for interface in _WHOLE))


def _check_items(X: Iterable[Any], name: str, expected: str, levels: int) -> None:
    """Check the types of the items, which are few; the items themselves are looked at in C."""
    kinds = set(map(type, X))
    for kind in kinds:
        if issubclass(kind, (list, tuple)):
            if levels == 1:
                raise ValueError(f"{name}: expected {expected}, got lists nested deeper than {_MOST_LEVELS} levels")
            for item in X:
                if isinstance(item, (list, tuple)):
                    _check_items(item, name, expected, levels - 1)
        elif issubclass(kind, _PLAIN) or any(hasattr(kind, interface) for interface in _WHOLE):
            continue
        elif any(hasattr(kind, method) for method in ("__getitem__", "__iter__", "__len__")):
            item = next(item for item in X if type(item) is kind)
            raise TypeError(f"{name}: expected {expected}, got a list with {_describe(item)}")


def _describe(X: Any) -> str:
    """Return the type of an object, and how to make views of it."""
    kind = type(X).__name__
    if isinstance(X, (str, os.PathLike)):
        return f"the {kind} {str(X)[:80]!r}; a file has to be read first (numpy.load, pandas.read_csv)"
    if isinstance(X, Iterator):
        return f"a {kind}, which can be read only once; list(...) makes a list of views"
    if hasattr(X, "obsm"):
        return f"{kind}; give its matrices, such as {{'rna': mdata['rna'].obsm['X_pca'], ...}} or adata.obsm['X_pca']"
    if hasattr(X, "collect"):
        return f"{kind}; .collect() makes a data frame"
    return kind if X is None or isinstance(X, type) else f"{kind} {X!r}" if isinstance(X, (Real, Decimal)) else kind


def _not_real(dtype: Any, frame: Any, position: int) -> str | None:
    """Return what a column holds if it does not hold real numbers."""
    kind = getattr(dtype, "kind", None)
    if kind is None:
        # A type of polars, which has no nulls of its own for numbers and booleans.
        is_number = getattr(dtype, "is_numeric", None)
        return None if is_number is None or is_number() or str(dtype) in ("Boolean", "Null") else str(dtype)
    if kind in _REAL_KINDS:
        return None
    if kind != "O":
        return str(dtype)
    # Objects, strings, categories, periods: the values decide. Missing values are reported later.
    column = frame.iloc[:, position] if hasattr(frame, "iloc") else ()
    for item in set(map(type, column)):
        if not issubclass(item, (Real, Decimal, np.bool_, type(None))) and item.__name__ != "NAType":
            return item.__name__ if str(dtype) == "object" else str(dtype)
    return None


def _is_text_or_date(kind: type) -> bool:
    # Those of pandas are subclasses.
    return issubclass(kind, (str, bytes, datetime.date, datetime.time, datetime.timedelta))


def _advice(got: str, them: str) -> str:
    if any(word in got.lower() for word in ("date", "time", "duration", "period")):
        return f"leave {them} out, or convert {them} to numbers in a unit that suits the other columns"
    return f"leave {them} out, or encode {them} as numbers"
