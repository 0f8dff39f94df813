"""Values of functions at new samples: the trajectory applied to their transition rows."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._core import Member
from .trajectory import Trajectory


def functions_at(rows: list[sparse.csr_array], W: Trajectory, functions: NDArray[Any]) -> NDArray[Any]:
    """Return ``W F`` at new samples.

    With ``F_s = W_s ... W_1 F`` on the training samples, the value at a new sample is
    ``f_s = sum_m a_(s,m) (row of member m) F_(s-1)``. The row of a stored walk is given; the row of
    ``P^e`` is the row of ``P`` times ``P^(e-1)``; the uniform jump takes the mean of ``F_(s-1)``;
    the identity keeps ``f_(s-1)``.

    Parameters
    ----------
    rows : list of (M, N) csr_array
        Transition rows of the new samples, one matrix for each base view.
    W : Trajectory
        The trajectory of the training samples.
    functions : (N, k) array
        F.

    Returns
    -------
    (M, k) array
        The values at the new samples.

    Raises
    ------
    ValueError
        If every step has a share of the identity, or a member has no rows for new samples.
    """
    operators = W.operators
    # From the last step without a share of the identity on, values at new samples depend on known
    # ones only.
    idle = [m for m, member in enumerate(operators.members) if member.identity_share > 0]
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
    result = np.zeros_like(value)
    for member, weight in zip(W.operators.members, weights, strict=True):
        if weight == 0:
            continue
        parts = [power.weight * _walk(rows, W, power.base, power.exponent, known) for power in member.powers]
        if member.uniform_share > 0:
            parts.append(member.uniform_share * known.mean(axis=0))
        if member.identity_share > 0:
            parts.append(member.identity_share * value)
        result += weight * sum(parts[1:], start=parts[0])
    return result


def _walk(rows: list[sparse.csr_array], W: Trajectory, base: int, exponent: int, known: NDArray[Any]) -> NDArray[Any]:
    """Return ``p P^(exponent - 1) F`` for the rows p of one walk."""
    if base >= len(rows):
        member = W.operators.names[W.operators.members.index(Member.walk(base))]
        raise ValueError(f"W: expected members that come from views, got {member!r}, which has no rows for new samples")
    if exponent > 1:
        walk = W.operators.walk_matrix(base)
        for _ in range(exponent - 1):
            known = walk @ known
    product: NDArray[Any] = rows[base] @ known
    return product
