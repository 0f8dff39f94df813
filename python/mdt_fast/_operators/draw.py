"""Random trajectories: weights of the members, drawn for every step of a trajectory."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from .operator_set import OperatorSet


def on_simplex(ops: OperatorSet, weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return (t, members) weights as a trajectory of `ops` stores them, rows on the simplex."""
    return ops.trajectory(weights).weights


def uniform(ops: OperatorSet, t: int) -> NDArray[np.float64]:
    """Return t steps with equal weights."""
    return on_simplex(ops, np.full((t, len(ops)), 1.0 / len(ops)))


def draw_convex(ops: OperatorSet, t: int, generator: np.random.Generator) -> NDArray[np.float64]:
    """Draw weights for t steps: uniform numbers, each row divided by its sum."""
    draw = generator.uniform(size=(t, len(ops)))
    return on_simplex(ops, draw / draw.sum(axis=1, keepdims=True))


def draw_repeated(
    ops: OperatorSet, t: int, count: int, generator: np.random.Generator
) -> Iterator[NDArray[np.float64]]:
    """Draw `count` trajectories of 1 to t equal steps, with weights uniform on the simplex.

    If the set has a joint view, its weight follows the arcsine distribution, Beta(1/2, 1/2), and
    the other weights are uniform on what is left. So a third of the trajectories follows nearly
    the joint view alone, and a third nearly the other members alone.
    """
    others = [i for i in range(len(ops)) if i != ops.joint]
    for _ in range(count):
        steps = int(generator.integers(1, t, endpoint=True))
        weights = np.zeros(len(ops))
        # A single weight is 1; the generator may return a number that differs in the last digit.
        weights[others] = generator.dirichlet(np.ones(len(others))) if len(others) > 1 else 1.0
        if ops.joint is not None:
            share = generator.beta(0.5, 0.5)
            weights *= 1.0 - share
            weights[ops.joint] = share
        yield on_simplex(ops, np.tile(weights, (steps, 1)))
