"""Monte Carlo tree search over sequences."""

from dataclasses import dataclass
from typing import ClassVar

from ... import _core
from ..._support.arguments import check_number
from ..problem import Problem
from .base import TreeStrategy, check_count


@dataclass(frozen=True)
class MCTS(TreeStrategy):
    """Search the tree of sequences with upper confidence bounds (UCT).

    Parameters
    ----------
    playouts : int, default=100
        Number of playouts.
    exploration : float, default=0.5
        Weight of the confidence bound: larger values prefer members that were tried less often.
    max_steps : int or None, default=None
        Length of the longest sequence; None is twice the diffusion time.

    References
    ----------
    L. Kocsis and C. Szepesvari, "Bandit based Monte-Carlo planning", 2006,
    doi:10.1007/11871842_29.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> ops = mdt.build_operators(views)
    >>> strategy = mdt.strategies.MCTS(playouts=20, max_steps=3)
    >>> found = mdt.search(ops, 3, strategy=strategy, t=2)
    >>> found.strategy, len(found.trajectory.sequence) <= 3
    ('mcts', True)
    """

    name: ClassVar[str] = "mcts"

    playouts: int = 100
    exploration: float = 0.5

    def __post_init__(self) -> None:
        """Check the options."""
        super().__post_init__()
        check_count("playouts", self.playouts)
        check_number("exploration", self.exploration)

    def native(self, problem: Problem) -> _core.Strategy:
        """Return the strategy as an object of the core."""
        return _core.Mcts(
            playouts=self.playouts, depth=problem.n_steps, exploration=self.exploration, seed=problem.seed
        )
