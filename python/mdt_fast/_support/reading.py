"""Limits of what is read from files, and strict JSON.

A small file may describe a large content: an archive of zeros, a header with a false shape, deeply
nested lists. Sizes are therefore compared with a limit before memory is taken. The limit is half of
the available memory, or the value of the environment variable MDT_FAST_MAX_BYTES.
"""

import json
import os
from pathlib import Path
from typing import Any, NoReturn

from .memory import available_bytes

LIMIT_VARIABLE = "MDT_FAST_MAX_BYTES"


class SizeLimitError(ValueError):
    """A file describes more bytes than may be read."""


def max_bytes() -> int:
    """Return the largest number of bytes that may be read from one file."""
    given = os.environ.get(LIMIT_VARIABLE)
    if not given:
        return available_bytes() // 2
    try:
        limit = int(given)
    except ValueError:
        limit = 0
    if limit < 1:
        raise ValueError(f"{LIMIT_VARIABLE}: expected a number of bytes >= 1, got {given!r}")
    return limit


def check_size(what: str, n_bytes: int) -> None:
    """Raise SizeLimitError if `what` takes more bytes than may be read."""
    limit = max_bytes()
    if n_bytes > limit:
        raise SizeLimitError(
            f"{what}: expected at most {limit:,} bytes in memory, got {n_bytes:,}; "
            f"the environment variable {LIMIT_VARIABLE} sets the limit"
        )


def read_json(path: Path, *, allow_nan: bool = False) -> Any:
    """Return the content of a JSON file; ValueError if it has none, or NaN and infinities without `allow_nan`."""
    check_size(str(path), path.stat().st_size)
    try:
        return json.loads(path.read_bytes(), parse_constant=None if allow_nan else _refuse)
    except RecursionError:
        raise ValueError("the values are nested too deeply") from None


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON number")
