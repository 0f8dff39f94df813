"""The public names of the package and their documented methods."""

from __future__ import annotations

import importlib
import inspect
from typing import Any

MODULES = (
    "mdt_fast",
    "mdt_fast.baselines",
    "mdt_fast.datasets",
    "mdt_fast.plot",
    "mdt_fast.quality",
    "mdt_fast.scverse",
    "mdt_fast.scverse.pl",
    "mdt_fast.scverse.pp",
    "mdt_fast.scverse.tl",
    "mdt_fast.strategies",
    "mdt_fast.study",
    "mdt_fast.study.paper",
)


def public_objects() -> dict[str, Any]:
    """Return every public class, function and constant by its full name."""
    found = {}
    for module in map(importlib.import_module, MODULES):
        for name in module.__all__:
            value = getattr(module, name)
            if inspect.ismodule(value):
                assert value.__name__ in MODULES
            elif name != "__version__":
                found[f"{module.__name__}.{name}"] = value
    return found


def own_methods(cls: type) -> dict[str, Any]:
    """Return the public methods of a class that this package defines."""
    found = {}
    for name, method in inspect.getmembers(cls, callable):
        owner = next((each for each in cls.__mro__ if name in vars(each)), object)
        if not name.startswith("_") and owner.__module__.startswith("mdt_fast"):
            found[name] = method
    return found
