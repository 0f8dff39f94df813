"""Random weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from ..._operators.draw import draw_convex
from ..evaluation import Candidate
from ..problem import Answer, Problem
from .base import Strategy, check_count

if TYPE_CHECKING:
    from ..run import SearchRun


@dataclass(frozen=True)
class RandomWeights(Strategy):
    """Evaluate trajectories of t steps with random weights (MDT-Cvx-Rand in the paper).

    Each row of weights is drawn uniformly from the unit cube and divided by its sum.

    Parameters
    ----------
    n : int, default=1
        Number of trajectories.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> ops = mdt.build_operators(views)
    >>> strategy = mdt.strategies.RandomWeights(n=5)
    >>> found = mdt.search(ops, 3, strategy=strategy, t=3)
    >>> found.n_evaluations, found.trajectory.weights.shape
    (5, (3, 2))
    """

    name: ClassVar[str] = "convex"

    n: int = 1

    def __post_init__(self) -> None:
        """Check the options."""
        check_count("n", self.n)

    @property
    def compares(self) -> bool:
        """Whether there is more than one trajectory."""
        return self.n > 1

    def n_candidates(self, problem: Problem, limit: int | None) -> int:
        """Return the number of trajectories."""
        return self.n

    def only_candidate(self, problem: Problem) -> Candidate:
        """Return the first draw."""
        return draw_convex(problem.ops, problem.n_steps, problem.generator())

    def run(self, run: SearchRun) -> Answer:
        """Score the draws in batches."""
        ops, n_steps, generator = run.problem.ops, run.problem.n_steps, run.problem.generator()
        for size in run.batch_sizes(self.n):
            run.score([draw_convex(ops, n_steps, generator) for _ in range(size)])
        return Answer(run.best())
