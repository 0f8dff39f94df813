"""The diagonal scaling under which a trajectory is decomposed."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._operators.trajectory import Trajectory
from .._support.warnings import OperatorWarning


@dataclass(frozen=True)
class Scaling:
    """The scaling ``Pi^(1/2) A Pi^(-1/2)`` of the decomposed matrix A.

    Attributes
    ----------
    name : {"uniform", "stationary", "eigen", "eigen-stationary"}
        The decomposition, as the core names it.
    pi : (N,) array or None
        The diagonal of Pi; None for no scaling.
    base : int or None
        For the two "eigen" decompositions the index of the stored walk P with ``W = P^n_steps``,
        and ``A = P``. None otherwise, and ``A = W``.
    n_steps : int
        Number of steps of A in W.
    """

    name: str
    pi: NDArray[np.float64] | None
    base: int | None
    n_steps: int

    @classmethod
    def of(cls, W: Trajectory, weighting: str, decomposition: str) -> Scaling:
        """Choose the scaling; eigenvectors need a power of one reversible walk."""
        if decomposition == "eigen":
            base, n_steps = _repeated_walk(W)
            degrees = np.asarray(W.operators._transition(base).degrees, dtype=np.float64)
            name = "eigen" if weighting == "uniform" else "eigen-stationary"
            return cls(name, degrees / degrees.sum(), base, n_steps)
        if weighting == "uniform":
            return cls("uniform", None, None, 1)
        with warnings.catch_warnings():
            # embed itself warns of unconnected parts.
            warnings.simplefilter("ignore", OperatorWarning)
            pi = W.stationary_distribution()
        if not (pi > 0).all():
            where = int(np.argmin(pi))
            raise ValueError(
                "weighting: expected 'uniform', because the stationary distribution is 0 at sample "
                f"{where}: no walk ends there"
            )
        return cls("stationary", pi, None, 1)


def _repeated_walk(W: Trajectory) -> tuple[int, int]:
    """Return the one reversible walk that the trajectory repeats, and how often it does."""
    powers = [W.operators.members[m].powers for m in W.sequence or ()]
    is_power = all(len(each) == 1 and each[0].weight == 1.0 for each in powers)
    bases = {each[0].base for each in powers} if is_power else set()
    if len(bases) != 1 or not W.operators._is_reversible(min(bases)):
        raise ValueError(
            "decomposition: expected 'svd', because eigenvectors need a trajectory that repeats one reversible walk, "
            f"got {W!r}"
        )
    return bases.pop(), sum(each[0].exponent for each in powers)
