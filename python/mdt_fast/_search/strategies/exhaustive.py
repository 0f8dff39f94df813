"""All sequences up to a length."""

from dataclasses import dataclass
from typing import ClassVar

from ... import _core
from ..problem import Problem
from .base import TreeStrategy

# Number of sequences that are evaluated without an explicit limit.
_MANY = 100_000


@dataclass(frozen=True)
class Exhaustive(TreeStrategy):
    """Evaluate all sequences up to a length.

    Parameters
    ----------
    max_steps : int or None, default=None
        Length of the longest sequence; None is the diffusion time. More than 100,000 sequences are
        refused unless `max_evaluations` of the search is given.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> ops = mdt.build_operators(views)
    >>> strategy = mdt.strategies.Exhaustive(max_steps=3)
    >>> found = mdt.search(ops, 3, strategy=strategy, t=2)
    >>> found.n_evaluations  # 2 + 4 + 8 sequences of two members
    14
    """

    name: ClassVar[str] = "exhaustive"

    def length(self, t: int) -> int:
        """Return the diffusion time."""
        return t

    def native(self, problem: Problem) -> _core.Strategy:
        """Return the strategy as an object of the core."""
        return _core.Exhaustive(depth=problem.n_steps)

    def n_candidates(self, problem: Problem, limit: int | None) -> int:
        """Return the number of sequences; raise if it is large and the caller names no limit."""
        total = super().n_candidates(problem, limit)
        if limit is None and total > _MANY:
            raise ValueError(
                f"max_steps: expected at most {_MANY:,} sequences for an exhaustive search, got {total:,} "
                f"({len(problem.ops)} members, up to {problem.n_steps} steps); max_evaluations allows more"
            )
        return total
