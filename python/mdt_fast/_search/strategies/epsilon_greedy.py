"""Greedy search over sequences with random steps."""

from dataclasses import dataclass
from typing import ClassVar

from ... import _core
from ..._support.arguments import check_number
from ..problem import Problem
from .base import LevelStrategy


@dataclass(frozen=True)
class EpsilonGreedy(LevelStrategy):
    """Extend one sequence by its best step, or with probability `epsilon` by a random step.

    Parameters
    ----------
    epsilon : float, default=0.1
        Probability of a random step.
    max_steps : int or None, default=None
        Length of the longest sequence; None is twice the diffusion time.
    answer : {"any", "last"}, default="any"
        Return the best sequence of any length, or the best of the longest ones.
    grow : {"left", "right"}, default="left"
        Side of the product on which a new step is multiplied.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> ops = mdt.build_operators(views)
    >>> strategy = mdt.strategies.EpsilonGreedy(epsilon=0.2, max_steps=3)
    >>> found = mdt.search(ops, 3, strategy=strategy, t=2)
    >>> found.strategy, len(found.trajectory.sequence) <= 3
    ('epsilon-greedy', True)
    """

    name: ClassVar[str] = "epsilon-greedy"

    epsilon: float = 0.1

    def __post_init__(self) -> None:
        """Check the options."""
        super().__post_init__()
        check_number("epsilon", self.epsilon, maximum=1.0)

    def native(self, problem: Problem) -> _core.Strategy:
        """Return the strategy as an object of the core."""
        return _core.EpsilonGreedy(epsilon=self.epsilon, depth=problem.n_steps, side=self.grow, seed=problem.seed)
