"""Studies: data sets x methods x runs, compared with the true classes and with the published figures.

>>> import mdt_fast as mdt
>>> found = mdt.study.run(["Digits"], ["DM", "AD", "MDT-Rand"], n_runs=20)  # doctest: +SKIP
>>> print(found.to_markdown())  # doctest: +SKIP
"""

from ._cases import dataset_names
from ._methods import method_names
from ._study import Study, run
from ._tables import Cell, Table
from .paper._published import published_score, published_time

__all__ = ["Cell", "Study", "Table", "dataset_names", "method_names", "published_score", "published_time", "run"]
