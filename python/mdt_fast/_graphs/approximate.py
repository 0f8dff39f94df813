"""Approximate neighbours: how good they have to be, and when they are worth it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from scipy import sparse

from .._support.arguments import check_choice, check_number
from .views import View

# Up to here exact neighbours come from a tree, which approximate ones do not beat.
_TREE_DIMENSIONS = 6
# The exact search looks at n^2 d products; this many take about half a minute on two cores.
_EXACT_PRODUCTS = 2e12


@dataclass(frozen=True)
class ApproximateNeighbors:
    """How good approximate neighbours have to be, to be given as `neighbors` to :func:`build_operators`.

    A tree with large leaves, in which all pairs are compared, gives a first graph, and 1,024 samples (256 of 256
    columns and more) that are compared with all others tell what is missing. Where samples lie on few dimensions, more
    trees and rounds in which neighbours of neighbours are compared mend the graph; where they fill many, every sample
    is compared with the cells around it, as many as it takes. Samples of many columns are compared along the directions
    in which they differ most, if these tell who is near. Distances are exact, only the choice of neighbours is
    approximate. New samples are joined to their exact neighbours; a training sample that is given again lands near its
    own coordinates, where with exact neighbours it lands on them.

    Parameters
    ----------
    recall : float
        Share of the nearest neighbours that are to be found, up to 1, by two standard errors of the estimate. The more,
        the longer it takes, in the end as long as an exact search.

    Examples
    --------
    >>> import numpy as np
    >>> import mdt_fast as mdt
    >>> X = np.random.default_rng(0).normal(size=(3000, 12))
    >>> found, _ = mdt.nearest_neighbors(X, 15, method=mdt.ApproximateNeighbors(recall=0.9))
    >>> exact, _ = mdt.nearest_neighbors(X, 15)
    >>> share = np.mean([len(set(a) & set(b)) / 15 for a, b in zip(found, exact)])
    >>> bool(share > 0.9)
    True
    """

    recall: float = 0.95

    def __post_init__(self) -> None:
        """Refuse what cannot work."""
        check_number("recall", self.recall, maximum=1.0)


def is_search(neighbors: Any) -> bool:
    """Whether `neighbors` says how to search, rather than being a graph."""
    return isinstance(neighbors, (str, ApproximateNeighbors))


def check_search(name: str, neighbors: Any, view: View, metric: str) -> None:
    """Refuse a way to search that there is not, or not for this view."""
    if isinstance(neighbors, str):
        check_choice(name, neighbors, ("auto", "exact", "approx"))
    reason = _why_exact(view, metric)
    if neighbors not in ("auto", "exact") and reason is not None:
        raise ValueError(f"{name} ({view.name}): expected 'auto' or 'exact' for {reason}, got {neighbors!r}")


def find_effort(neighbors: Any, view: View, metric: str) -> ApproximateNeighbors | None:
    """Return how good approximate neighbours have to be, None for exact ones."""
    if isinstance(neighbors, ApproximateNeighbors):
        return neighbors
    if neighbors == "approx" or (neighbors == "auto" and _pays(view, metric)):
        return ApproximateNeighbors()
    return None


def _why_exact(view: View, metric: str) -> str | None:
    """Return what stands against approximate neighbours of a view, None if nothing does."""
    if sparse.issparse(view.data):
        return "a sparse view"
    return None if metric in ("euclidean", "cosine", "correlation") else f"metric={metric!r}"


def _pays(view: View, metric: str) -> bool:
    """Whether approximate neighbours are several times faster than exact ones."""
    n, d = view.data.shape
    return _why_exact(view, metric) is None and d > _TREE_DIMENSIONS and n * n * d >= _EXACT_PRODUCTS
