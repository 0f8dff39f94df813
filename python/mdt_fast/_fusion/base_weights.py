"""Weights of the base views in a step of the fused walk, and the walk itself."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .._operators.operator_set import OperatorSet
from .._operators.trajectory import Trajectory

# Share of the joint view beside the given views, the mean of the law by which a consensus draws it.
_JOINT_SHARE = 0.5


def default_weights(ops: OperatorSet) -> NDArray[np.float64]:
    """Return equal weights of the given views, and a half for the joint view."""
    n_given = len(ops.given_names)
    weights = np.full(ops.n_views, 1.0 / n_given)
    if ops.joint is not None:
        weights *= 1.0 - _JOINT_SHARE
        weights[ops.joint] = _JOINT_SHARE
    return weights


def walk_of_views(ops: OperatorSet, weights: NDArray[np.float64], t: int = 1) -> Trajectory:
    """Return t steps with these weights of the base views; other members have none."""
    step = np.append(weights, np.zeros(len(ops) - ops.n_views))
    return ops.trajectory(np.tile(step, (t, 1)))


def mean_weights(trajectories: Sequence[Trajectory]) -> NDArray[np.float64]:
    """Return the mean weight of each member, over the steps and over the trajectories."""
    return np.asarray(np.mean([each.weights.mean(axis=0) for each in trajectories], axis=0))


def weights_of_trajectories(trajectories: Sequence[Trajectory]) -> NDArray[np.float64]:
    """Return the mean share of each base view in the steps of trajectories, scaled to sum to 1.

    A power or teleport counts for the view of its walk. Members without a walk of a view do not count; if
    no step uses any view, the weights are :func:`default_weights`.
    """
    ops = trajectories[0].operators
    weights = np.zeros(ops.n_views)
    for share, member in zip(mean_weights(trajectories), ops.members, strict=True):
        for power in member.powers:
            if power.base < ops.n_views:
                weights[power.base] += share * power.weight
    total = float(weights.sum())
    return weights / total if total > 0 else default_weights(ops)
