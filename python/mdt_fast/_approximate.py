"""Approximate neighbours: how hard to try, and when they are worth it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from scipy import sparse

from ._arguments import check_choice, check_integer
from ._views import View

# Up to here exact neighbours come from a tree, which approximate ones do not beat.
_TREE_DIMENSIONS = 6
# The exact search looks at n^2 d products; this many take about half a minute on two cores.
_EXACT_PRODUCTS = 2e12


@dataclass(frozen=True)
class ApproximateNeighbors:
    """How hard to look for approximate neighbours, to be given as `neighbors` to :func:`build_operators`.

    Trees with large leaves, in which all pairs are compared, give a first graph; rounds in which neighbours of
    neighbours are compared mend it. Distances are exact, only the choice of neighbours is approximate. The defaults
    find at least 95 % of the nearest 15 on the data sets of `benches/RESULTS.md`; more of anything finds more and takes
    longer.

    Parameters
    ----------
    n_trees : int
        Number of trees.
    leaf_size : int
        Samples in a leaf at most.
    n_spare : int
        Neighbours kept on the way beyond those asked for.
    n_candidates : int
        Neighbours of a sample that are compared with each other in a round.

    Examples
    --------
    >>> import numpy as np
    >>> import mdt_fast as mdt
    >>> X = np.random.default_rng(0).normal(size=(1000, 8))
    >>> found, _ = mdt.nearest_neighbors(X, 15, method=mdt.ApproximateNeighbors(n_trees=2))
    >>> exact, _ = mdt.nearest_neighbors(X, 15)
    >>> share = np.mean([len(set(a) & set(b)) / 15 for a, b in zip(found, exact)])
    >>> bool(share > 0.95)
    True
    """

    n_trees: int = 6
    leaf_size: int = 512
    n_spare: int = 10
    n_candidates: int = 20

    def __post_init__(self) -> None:
        """Refuse what cannot work."""
        check_integer("n_trees", self.n_trees, minimum=1, maximum=1000)
        check_integer("leaf_size", self.leaf_size, minimum=8, maximum=2**20)
        check_integer("n_spare", self.n_spare, minimum=0, maximum=2**16)
        check_integer("n_candidates", self.n_candidates, minimum=1, maximum=2**16)

    def parts(self, seed: int) -> tuple[int, int, int, int, int]:
        """Return what the core takes."""
        return seed, self.n_trees, self.leaf_size, self.n_spare, self.n_candidates


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
    """Return the effort with which to look for approximate neighbours, None for exact ones."""
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
