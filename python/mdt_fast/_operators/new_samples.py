"""Functions on the training samples, carried to new ones along a trajectory."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .trajectory import Trajectory


def functions_at(rows: list[sparse.csr_array], W: Trajectory, functions: NDArray[Any]) -> NDArray[Any]:
    """Return ``W F`` at new samples.

    With ``F_s = W_s ... W_1 F`` on the training samples, a new sample has ``f_s = sum_m a_(s,m) (row of O_m) F_(s-1)``:
    the row of a walk is given (`rows`, one matrix for each stored walk), that of a power goes on through the walk, the
    uniform member takes the mean, and the idle step keeps ``f_(s-1)``.

    Parameters
    ----------
    rows : list of (M, N) csr_array
        Transition rows of the new samples, one matrix for each base view.
    W : Trajectory
        The trajectory of the training samples.
    functions : (N, k) array
        F.
    """
    operators = W.operators
    # The step after which the value at a new sample is known whatever came before: the last one without an idle share.
    idle = [m for m, member in enumerate(operators._members) if member[0] == "identity"]
    moving = np.flatnonzero(W.weights[:, idle].sum(axis=1) == 0)
    if not len(moving):
        raise ValueError(
            "Xs: a new sample has no row of the identity, and every step of this trajectory has a share of it; "
            "expected at least one step without"
        )
    value = np.zeros((rows[0].shape[0], functions.shape[1]), dtype=functions.dtype)
    known = functions
    for s, weights in enumerate(W.weights):
        if s >= moving[-1]:
            value = _step(rows, W, weights, known, value)
        if s + 1 < len(W):
            known = np.asarray(operators.trajectory(weights[np.newaxis]) @ known)
    return value


def _step(
    rows: list[sparse.csr_array], W: Trajectory, weights: NDArray[np.float64], known: NDArray[Any], value: NDArray[Any]
) -> NDArray[Any]:
    operators = W.operators
    result = np.zeros_like(value)
    for member, weight in zip(operators._members, weights, strict=True):
        if weight == 0:
            continue
        kind = member[0]
        if kind == "identity":
            result += weight * value
        elif kind == "uniform":
            result += weight * known.mean(axis=0)
        elif kind == "walk":
            result += weight * _walk(rows, W, member[1], 1, known)
        elif kind == "mean":
            result += weight * sum(_walk(rows, W, base, 1, known) for base in range(member[1])) / member[1]
        elif kind == "power":
            result += weight * _walk(rows, W, member[1], member[2], known)
        else:
            _, base, alpha, exponent = member
            landing = known.mean(axis=0) if exponent == 0 else _walk(rows, W, base, exponent, known)
            result += weight * (alpha * _walk(rows, W, base, 1, known) + (1 - alpha) * landing)
    return result


def _walk(rows: list[sparse.csr_array], W: Trajectory, base: int, exponent: int, known: NDArray[Any]) -> NDArray[Any]:
    """Return ``p P^(exponent - 1) F`` for the rows p of one walk."""
    if base >= len(rows):
        member = W.operators.names[W.operators._members.index(("walk", base))]
        raise ValueError(f"W: expected members that come from views, got {member!r}, which has no rows for new samples")
    for _ in range(exponent - 1):
        known = W.operators._matrix(base) @ known
    product: NDArray[Any] = rows[base] @ known
    return product
