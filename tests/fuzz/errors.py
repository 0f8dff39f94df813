"""Which errors and warnings are answers, and which are faults.

An answer is a MemoryError, an OSError about a path, or a ValueError or TypeError that names an argument: a parameter of
the
function that was called, or a view or column that was given. Anything else is a fault, for example an IndexError, a
panic
of the core, or a message of NumPy about an array that the caller does not know.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

# Names that are also English words or single letters need punctuation that sets them off.
_SHORT = 4
_PATH_ARGUMENTS = frozenset({"path", "folder", "data_home", "available", "checkpoint", "rows", "download_if_missing"})


def fault_of(
    error: BaseException, arguments: Iterable[str], views: Iterable[str], *, looks_up: bool = False
) -> str | None:
    """Return the kind of fault that an error is, or None if it is an answer.

    Parameters
    ----------
    error : BaseException
        What the call raised.
    arguments, views : iterable of str
        Names of the parameters, and of views and columns that were given.
    looks_up : bool, default=False
        Whether the call is ``x[key]``, which raises KeyError and IndexError.
    """
    kind = type(error)
    name = kind.__name__
    if name == "PanicException":
        return "panic"
    if isinstance(error, MemoryError):
        return None
    arguments = list(arguments)
    if isinstance(error, OSError) and _PATH_ARGUMENTS & set(arguments):
        return None
    # Subclasses such as UnicodeEncodeError and LinAlgError come from below; NotFittedError is scikit-learn's
    # convention.
    accepted = (ValueError, TypeError, *((KeyError, IndexError) if looks_up else ()))
    own = isinstance(error, accepted) and kind.__module__.startswith("mdt_fast")
    if kind not in accepted and not own and name != "NotFittedError":
        return f"raised {name}"
    return None if names_one(str(error), arguments, views) else "error without a name"


def names_one(message: str, arguments: Iterable[str], views: Iterable[str]) -> bool:
    """Return whether a message names an argument, a view or a column."""
    return any(_names(message, name) for name in arguments) or any(view in message for view in views)


def _names(message: str, name: str) -> bool:
    word = rf"(?<![\w.]){re.escape(name)}"
    if len(name) >= _SHORT:
        return re.search(rf"{word}(?!\w)", message) is not None
    return (
        re.search(rf"{word}(?:[:=,\[]| \(| has \d)|'{re.escape(name)}'|Input {re.escape(name)}\b", message) is not None
    )


def is_documented(warning: Warning | str) -> bool:
    """Return whether a warning is of a category of the package."""
    return type(warning).__module__.startswith("mdt_fast")
