"""Multi-view diffusion geometry: several views of the same samples in, one geometry out.

>>> import mdt_fast as mdt
>>> ops = mdt.build_operators([X1, X2])  # doctest: +SKIP
>>> W = ops.trajectory([0, 1, 1])  # doctest: +SKIP
>>> W @ B  # doctest: +SKIP

Start with :func:`build_operators`. A :class:`Trajectory` of the resulting :class:`OperatorSet` is a
SciPy linear operator.
"""

import importlib
import warnings
from typing import TYPE_CHECKING, Any

from . import datasets, plot, quality, strategies
from ._assignment.result import Assignment
from ._clusters.k_means import KMeansResult, k_means
from ._clusters.leiden import leiden
from ._clusters.n_clusters import ClusterSelection, select_n_clusters
from ._core import DEBUG_BUILD, __version__
from ._fusion.fused_graph import FusedGraph, fused_graph
from ._fusion.layout import layout
from ._geometry.embedding import Embedding, embed
from ._geometry.time import TimeSelection, select_time
from ._graphs.approximate import ApproximateNeighbors
from ._graphs.nearest import nearest_neighbors
from ._graphs.stored import StoredNeighbors
from ._operators.build import build_operators
from ._operators.operator_set import OperatorSet
from ._operators.trajectory import Trajectory
from ._search.result import SearchResult
from ._search.scoring import Scoring
from ._search.search import search
from ._search.view_report import ViewReport, view_report
from ._stored_neighbors.store import store_neighbors
from ._support.monitor import Progress
from ._support.warnings import (
    ClusterSelectionWarning,
    ConvergenceWarning,
    DegenerateClustersWarning,
    OperatorWarning,
    RemoteSamplesWarning,
    TimeLimitWarning,
    TimeSelectionWarning,
    ViewWarning,
)

if TYPE_CHECKING:
    from . import baselines, study
    from ._estimators.mdt import MDT, MDTClustering
    from ._estimators.neighbors_transformer import NeighborsTransformer

__all__ = [
    "MDT", "ApproximateNeighbors", "Assignment", "ClusterSelection", "ClusterSelectionWarning", "ConvergenceWarning",
    "DegenerateClustersWarning", "Embedding", "FusedGraph", "KMeansResult", "MDTClustering", "NeighborsTransformer",
    "OperatorSet", "OperatorWarning", "Progress", "RemoteSamplesWarning", "Scoring", "SearchResult",
    "StoredNeighbors", "TimeLimitWarning", "TimeSelection", "TimeSelectionWarning", "Trajectory", "ViewReport",
    "ViewWarning", "__version__", "baselines", "build_operators", "datasets", "embed", "fused_graph", "k_means",
    "layout", "leiden", "nearest_neighbors", "plot", "quality", "search", "select_n_clusters", "select_time",
    "store_neighbors", "strategies", "study", "view_report",
]  # fmt: skip

# These modules import scikit-learn, which takes longer than the rest of the package. They are
# imported at their first use.
_LAZY = {
    "MDT": "_estimators.mdt",
    "MDTClustering": "_estimators.mdt",
    "NeighborsTransformer": "_estimators.neighbors_transformer",
    "baselines": "baselines",
    "study": "study",
}


def __getattr__(name: str) -> Any:
    """Import the estimators at their first use."""
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(f".{_LAZY[name]}", __name__)
    return module if name == _LAZY[name] else getattr(module, name)


def __dir__() -> list[str]:
    """Name everything public, imported or not."""
    return sorted({*globals(), *__all__})


if DEBUG_BUILD:
    warnings.warn(
        "mdt_fast was built in debug mode and is many times slower; rebuild it with `pip install .`",
        RuntimeWarning,
        stacklevel=2,
    )
