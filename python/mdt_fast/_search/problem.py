"""The input and the output of a strategy."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._clusters.agreement import Agreement
from .._operators.operator_set import OperatorSet


@dataclass(frozen=True)
class Problem:
    """The problem that a strategy solves.

    Attributes
    ----------
    ops : OperatorSet
        The members to choose from.
    n_steps : int
        Length of the longest trajectory.
    n_clusters : int or None
        Number of clusters.
    view_weights : (V,) array
        Weight of each base view in the score.
    seed : int
        Seed of everything that is random.
    n_jobs : int or None
        Number of threads.
    """

    ops: OperatorSet
    n_steps: int
    n_clusters: int | None
    view_weights: NDArray[np.float64]
    seed: int
    n_jobs: int | None

    def generator(self) -> np.random.Generator:
        """Return a new random generator for the seed."""
        return np.random.default_rng(self.seed)


@dataclass(frozen=True)
class Answer:
    """The answer of a strategy.

    Attributes
    ----------
    best : int
        Row of the best candidate in the history.
    agreement : Agreement or None
        The clusters on which several trajectories agree.
    converged : bool or None
        Whether an optimisation converged.
    """

    best: int
    agreement: Agreement | None = None
    converged: bool | None = None
