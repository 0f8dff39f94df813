"""Parameters of the graphs that depend on the strategy, for the value "auto"."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from .._search.scoring import Scoring
from .._search.strategies import Strategy, make_strategy
from .._support.arguments import is_integer

# A neighbourhood has about this share of the mean size of a cluster, and at most this many samples
# where more are not needed to connect the graph.
_SHARE_OF_CLUSTER = 1 / 8
_MOST = 15


@dataclass(frozen=True)
class GraphParameters:
    """Parameters of :func:`build_operators` for which an estimator accepts "auto"."""

    n_neighbors: Any = "auto"
    kernel: Any = "auto"
    anisotropy: Any = "auto"
    joint: Any = "auto"
    metric: Any = "auto"
    scale: Any = "auto"

    def resolve(
        self, strategy: Any, *, preset: str | None, n_samples: int, n_clusters: Any, quality: Any
    ) -> dict[str, Any]:
        """Return the parameters with the values that "auto" stands for.

        They are those of the strategy, and the defaults of :func:`build_operators` with a preset, which
        knows one metric and no scaling. Without a preset, "auto" stays for metric and scale, which depend on
        the views. A quality that scores features has them for the given views only, so it excludes a joint view.
        """
        used = Strategy if preset is not None else make_strategy(strategy)
        default: dict[str, Any] = {
            "n_neighbors": neighbors_by_size(n_samples, n_clusters) if used.neighbors_by_size else "log",
            "kernel": used.kernel,
            "anisotropy": used.anisotropy,
            "joint": "auto" if used.joint and Scoring.of(quality).features is None else False,
            "metric": "auto" if preset is None else "euclidean",
            "scale": "auto" if preset is None else None,
        }
        return {name: default[name] if is_auto(value) else value for name, value in vars(self).items()}


def neighbors_by_size(n_samples: int, n_clusters: Any) -> int:
    """Return the number of neighbours for clusters of a known mean size.

    It is an eighth of the mean size of a cluster, but at most 15 and at least ``ceil(ln N)``. If the number of
    clusters is to be chosen ("auto") it is half as many again as ``ceil(ln N)``, but at most 15; if no number is
    used (None) it is 15.
    """
    least = max(math.ceil(math.log(n_samples)), 1)
    is_known = is_integer(n_clusters) and int(n_clusters) > 1
    # More clusters than samples are refused where clusters are made.
    wanted = _SHARE_OF_CLUSTER * n_samples / min(int(n_clusters), n_samples) if is_known else 1.5 * least
    if n_clusters is None:
        wanted = _MOST
    return min(max(math.ceil(min(wanted, _MOST)), least), n_samples - 1)


def view_parameters(given: Mapping[str, Any]) -> GraphParameters:
    """Return the parameters among those of an estimator or of a command."""
    return GraphParameters(**{each.name: given[each.name] for each in fields(GraphParameters)})


def is_auto(value: Any) -> bool:
    """Return whether a parameter is "auto"; an array, which compares by item, is not."""
    return isinstance(value, str) and value == "auto"
