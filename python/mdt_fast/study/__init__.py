"""Studies: cluster data sets by several methods many times and compare with the true classes.

:mod:`mdt_fast.study.paper` reproduces the published tables and figures.

>>> import mdt_fast as mdt
>>> study = mdt.study.run(["Digits"], ["DM", "AD", "MDT-Rand"], n_runs=20)  # doctest: +SKIP
>>> print(study.to_markdown())  # doctest: +SKIP
"""

import importlib
from typing import TYPE_CHECKING, Any

from ._cases import dataset_names
from ._methods import method_names
from ._study import Study, run
from ._tables import Cell, Table

if TYPE_CHECKING:
    from . import paper

__all__ = ["Cell", "Study", "Table", "dataset_names", "method_names", "paper", "run"]


def __getattr__(name: str) -> Any:
    """Import `paper`, which depends on this package, at its first use."""
    if name != "paper":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module(".paper", __name__)
