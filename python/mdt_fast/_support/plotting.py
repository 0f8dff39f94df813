"""The hook by which results call the plots, which are in a higher layer."""

import importlib
from typing import Any


def require_matplotlib(name: str) -> None:
    """Raise ImportError for the function `name` if matplotlib is missing."""
    try:
        import matplotlib  # noqa: F401
    except ImportError as error:
        raise ImportError(f"{name} needs matplotlib: pip install 'mdt_fast[plot]'") from error


def draw(plot: str, *args: Any, needed_by: str, **options: Any) -> Any:
    """Call the function `plot` of :mod:`mdt_fast.plot`; `needed_by` names the caller in errors.

    The module is imported by name when it is needed. A static import would close a cycle.
    """
    require_matplotlib(needed_by)
    return getattr(importlib.import_module("mdt_fast.plot"), plot)(*args, **options)
