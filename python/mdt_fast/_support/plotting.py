"""The hook by which results call the plots, which are in a higher layer."""

import importlib
from typing import Any

from .extras import require


def draw(plot: str, *args: Any, needed_by: str, **options: Any) -> Any:
    """Call the function `plot` of :mod:`mdt_fast.plot`; `needed_by` names the caller in errors.

    The module is imported by name when it is needed. A static import would close a cycle.
    """
    require("matplotlib", needed_by)
    return getattr(importlib.import_module("mdt_fast.plot"), plot)(*args, **options)
