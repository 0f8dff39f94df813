"""Strategies with one candidate: the mean of the members, or a trajectory given by hand."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from ..._operators.draw import uniform
from ..._operators.trajectory import Trajectory
from ..evaluation import Candidate
from ..problem import Answer, Problem
from .base import Strategy

if TYPE_CHECKING:
    from ..._operators.operator_set import OperatorSet
    from ..run import SearchRun


@dataclass(frozen=True)
class FixedStrategy(Strategy):
    """A strategy with one candidate, known before the search."""

    @property
    def compares(self) -> bool:
        """Nothing is compared."""
        return False

    def run(self, run: SearchRun) -> Answer:
        """Score the candidate."""
        run.score([self.only_candidate(run.problem)])
        return Answer(0)


@dataclass(frozen=True)
class Mean(FixedStrategy):
    """Evaluate the trajectory of t steps with equal weights.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> ops = mdt.build_operators(views)
    >>> strategy = mdt.strategies.Mean()
    >>> found = mdt.search(ops, 3, strategy=strategy, t=2)
    >>> found.trajectory.weights
    array([[0.5, 0.5],
           [0.5, 0.5]])
    """

    name: ClassVar[str] = "mean"

    def only_candidate(self, problem: Problem) -> Candidate:
        """Return equal weights."""
        return uniform(problem.ops, problem.n_steps)


@dataclass(frozen=True, eq=False)
class Given(FixedStrategy):
    """Evaluate a trajectory given by hand.

    Parameters
    ----------
    steps : Trajectory, sequence of members, or (t, members) array of weights
        The trajectory.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> ops = mdt.build_operators(views)
    >>> strategy = mdt.strategies.Given([0, 1, 1])
    >>> found = mdt.search(ops, 3, strategy=strategy, t=2)
    >>> found.trajectory.sequence
    (0, 1, 1)
    """

    name: ClassVar[str] = "given"
    uses_time: ClassVar[bool] = False

    steps: Any

    @property
    def fixed_length(self) -> int:
        """Number of steps."""
        return len(self.steps)

    def bind(self, ops: OperatorSet) -> Given:
        """Return the strategy with the steps as a sequence, if they are one, or as weights."""
        if isinstance(self.steps, Trajectory):
            if not self.steps.operators.has_same_members(ops):
                raise ValueError(f"strategy: expected a trajectory of {ops!r}, got one of {self.steps.operators!r}")
            given = self.steps
        else:
            try:
                given = ops.trajectory(self.steps)
            except (TypeError, ValueError) as error:
                raise type(error)(f"strategy: {error}") from None
        return Given(given.weights if given.sequence is None else given.sequence)

    def only_candidate(self, problem: Problem) -> Candidate:
        """Return the steps."""
        return self.steps if isinstance(self.steps, tuple) else np.asarray(self.steps)
