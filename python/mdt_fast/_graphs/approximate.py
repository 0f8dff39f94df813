"""Approximate neighbours: the required recall, and when approximate search is used."""

from dataclasses import dataclass
from typing import Any

from scipy import sparse

from .._support.arguments import check_choice, check_number
from .views import View

# Up to this dimension exact search uses a tree, which is as fast as approximate search.
_TREE_DIMENSIONS = 6
# Seconds of one processor, fitted to 15 neighbours of 10,000 to 80,000 samples of 10 to 200 columns: surfaces, round
# clusters, many clusters. Exact search takes 4.1e-12 n^2 (d + 50), approximate search 7e-8 n (d + 150). (80,000
# samples of 50 columns: 2.6 and 1.1. Heavy tails take up to four times as long, 2.8 there.)
_EXACT_PAIR, _EXACT_COLUMNS = 4.1e-12, 50
_APPROXIMATE_SAMPLE, _APPROXIMATE_COLUMNS = 7e-8, 150
# Exact neighbours are worth this factor.
_TIMES_FASTER = 2.0


@dataclass(frozen=True)
class ApproximateNeighbors:
    """Approximate neighbour search, an argument `neighbors` of :func:`build_operators`.

    Parameters
    ----------
    recall : float, default=0.95
        Share of the nearest neighbours to be found, from 0 to 1. The estimate of the share exceeds
        it by two standard errors. The time increases with the recall, up to that of exact search.

    Raises
    ------
    TypeError, ValueError
        If `recall` is not a number from 0 to 1.

    Notes
    -----
    Distances are exact; only the choice of the neighbours is approximate. 1,024 samples (256 for
    views of 256 columns or more) are compared with all others to estimate the recall. The first
    graph comes from a tree with large leaves, within which all pairs are compared. If the samples
    have a low intrinsic dimension, further trees and comparisons with neighbours of neighbours
    improve the graph; otherwise every sample is compared with the samples of the nearest cells.
    Samples of many columns are compared along the directions of largest variance if that is
    accurate enough. Neighbours in a sparse view are exact at any recall: only rows that share a column
    are compared, which takes seconds for 60,000 texts.

    The edges of new samples are approximate too, with the same recall. An index of the view is made at the first
    call with new samples. Its effort is the smallest that finds the required share of the edges of up to 1,024 training
    samples in the place of new ones. The edges of a new sample do not depend on the others. A training sample that
    is given again is mapped near its own coordinates; with exact search it is mapped onto them. New samples are
    compared with all training samples if that takes less time, if ``recall=1``, if they are far from all training
    samples, or if single precision cannot separate near samples.

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
        """Check the recall."""
        check_number("recall", self.recall, maximum=1.0)


def is_search(neighbors: Any) -> bool:
    """Return whether `neighbors` is a method of search, not a graph."""
    return isinstance(neighbors, (str, ApproximateNeighbors))


def check_search(name: str, neighbors: Any, view: View, metric: str) -> None:
    """Check that a method of search exists and applies to this view."""
    if isinstance(neighbors, str):
        check_choice(name, neighbors, ("auto", "exact", "approx"))
    reason = _why_exact(view, metric)
    if neighbors not in ("auto", "exact") and reason is not None:
        raise ValueError(f"{name} ({view.name}): expected 'auto' or 'exact' for {reason}, got {neighbors!r}")


def find_effort(neighbors: Any, view: View, metric: str) -> ApproximateNeighbors | None:
    """Return the approximate search to use, or None for exact search, which sparse views always have."""
    if sparse.issparse(view.data):
        return None
    if isinstance(neighbors, ApproximateNeighbors):
        return neighbors
    if neighbors == "approx" or (neighbors == "auto" and _pays(view, metric)):
        return ApproximateNeighbors()
    return None


def _why_exact(view: View, metric: str) -> str | None:
    """Return the property of a view that requires exact search, or None."""
    return None if metric in ("euclidean", "cosine", "correlation") else f"metric={metric!r}"


def _pays(view: View, metric: str) -> bool:
    """Return whether approximate search is expected to be much faster than exact search."""
    n, d = view.data.shape
    if _why_exact(view, metric) is not None or d <= _TREE_DIMENSIONS:
        return False
    exact = _EXACT_PAIR * n * n * (d + _EXACT_COLUMNS)
    return bool(exact >= _TIMES_FASTER * _APPROXIMATE_SAMPLE * n * (d + _APPROXIMATE_COLUMNS))
