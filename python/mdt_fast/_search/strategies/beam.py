"""Beam search over sequences, and the greedy search, which is a beam of width one."""

from dataclasses import dataclass
from typing import ClassVar

from ... import _core
from ..problem import Problem
from .base import LevelStrategy, check_count


@dataclass(frozen=True)
class Greedy(LevelStrategy):
    """Extend the best sequence of each length by every member.

    Parameters
    ----------
    max_steps : int or None, default=None
        Length of the longest sequence; None is twice the diffusion time.
    answer : {"any", "last"}, default="any"
        Return the best sequence of any length, or the best of the longest ones. Among equal scores
        the shorter sequence is preferred, then the first in the order of the members.
    grow : {"left", "right"}, default="left"
        Side of the product on which a new step is multiplied.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> ops = mdt.build_operators(views)
    >>> strategy = mdt.strategies.Greedy(max_steps=3)
    >>> found = mdt.search(ops, 3, strategy=strategy, t=2)
    >>> found.n_evaluations  # two members at each of three lengths
    6
    """

    name: ClassVar[str] = "greedy"

    def native(self, problem: Problem) -> _core.Strategy:
        """Return the strategy as an object of the core."""
        return _core.Beam(width=1, depth=problem.n_steps, side=self.grow)


@dataclass(frozen=True)
class Beam(LevelStrategy):
    """Extend the best sequences of each length by every member (MDT-BSC in the paper).

    Parameters
    ----------
    width : int, default=2
        Number of sequences of one length that are extended.
    max_steps : int or None, default=None
        Length of the longest sequence; None is twice the diffusion time.
    answer : {"any", "last"}, default="any"
        Return the best sequence of any length, or the best of the longest ones. Among equal scores
        the shorter sequence is preferred, then the first in the order of the members.
    grow : {"left", "right"}, default="left"
        Side of the product on which a new step is multiplied.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> beam = mdt.strategies.Beam(width=3, max_steps=4)
    >>> mdt.search(mdt.build_operators(views), 3, strategy=beam).n_evaluations
    18
    """

    name: ClassVar[str] = "beam"

    width: int = 2

    def __post_init__(self) -> None:
        """Check the options."""
        super().__post_init__()
        check_count("width", self.width)

    def native(self, problem: Problem) -> _core.Strategy:
        """Return the strategy as an object of the core."""
        return _core.Beam(width=self.width, depth=problem.n_steps, side=self.grow)
