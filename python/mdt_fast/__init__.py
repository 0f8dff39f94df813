"""Multi-view diffusion geometry: several views of the same samples in, one geometry out.

>>> import mdt_fast as mdt
>>> ops = mdt.build_operators([X1, X2])  # doctest: +SKIP
>>> W = ops.trajectory([0, 1, 1])  # doctest: +SKIP
>>> W @ B  # doctest: +SKIP

Start with :func:`build_operators`; a :class:`Trajectory` of the resulting :class:`OperatorSet` is a linear operator.
"""

import warnings

from . import datasets, quality
from ._build import build_operators, nearest_neighbors
from ._core import DEBUG_BUILD, __version__
from ._embedding import Embedding, embed
from ._kmeans import KMeansResult, k_means
from ._operators import OperatorSet
from ._progress import SearchProgress
from ._search import search
from ._search_result import SearchResult
from ._time import TimeSelection, select_time
from ._trajectory import Trajectory
from ._warnings import ConvergenceWarning, OperatorWarning, TimeSelectionWarning

__all__ = [
    "ConvergenceWarning",
    "Embedding",
    "KMeansResult",
    "OperatorSet",
    "OperatorWarning",
    "SearchProgress",
    "SearchResult",
    "TimeSelection",
    "TimeSelectionWarning",
    "Trajectory",
    "__version__",
    "build_operators",
    "datasets",
    "embed",
    "k_means",
    "nearest_neighbors",
    "quality",
    "search",
    "select_time",
]

if DEBUG_BUILD:
    warnings.warn(
        "mdt_fast was built in debug mode and is many times slower; rebuild it with `pip install .`",
        RuntimeWarning,
        stacklevel=2,
    )
