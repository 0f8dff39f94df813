"""Weights of the base views in one step of the fused walk."""

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


def weights_of_trajectories(trajectories: Sequence[Trajectory]) -> NDArray[np.float64]:
    """Return the mean share of each base view in the steps of trajectories, scaled to sum to 1.

    A power or teleport counts for the view of its walk. Members without a walk of a view do not count; if
    no step uses any view, the weights are :func:`default_weights`.
    """
    ops = trajectories[0].operators
    members = np.mean([each.weights.mean(axis=0) for each in trajectories], axis=0)
    weights = np.zeros(ops.n_views)
    for share, member in zip(members, ops.members, strict=True):
        for power in member.powers:
            if power.base < ops.n_views:
                weights[power.base] += share * power.weight
    total = float(weights.sum())
    return weights / total if total > 0 else default_weights(ops)
