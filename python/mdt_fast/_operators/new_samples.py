"""Values of functions at new samples: the trajectory applied to their transition rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
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
    return FunctionsOfTrajectory(W, functions).at(rows)


class FunctionsOfTrajectory:
    """``W F`` at new samples, batch by batch: functions on the training samples are computed once."""

    def __init__(self, W: Trajectory, functions: NDArray[Any]) -> None:
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
        self.trajectory, self.functions, self._first = W, functions, moving[-1]

    @cached_property
    def _steps(self) -> list[_Step]:
        # Computed after the first rows, which are refused if arguments are wrong.
        W, known, steps = self.trajectory, self.functions, []
        for s, weights in enumerate(W.weights):
            if s >= self._first:
                steps.append(_Step.of(W, weights, known))
            if s + 1 < len(W):
                known = np.asarray(W.operators.trajectory(weights[np.newaxis]) @ known)
        return steps

    def prepared(self) -> FunctionsOfTrajectory:
        """Return these functions after the work on the training samples, which copies and pickles then contain."""
        _ = self._steps
        return self

    def at(self, rows: list[sparse.csr_array]) -> NDArray[Any]:
        """Return the values at new samples, as :func:`functions_at`."""
        value = np.zeros((rows[0].shape[0], self.functions.shape[1]), dtype=self.functions.dtype)
        for step in self._steps:
            value = step.at(rows, value)
        return value

    def of(self, batches: Iterable[list[sparse.csr_array]]) -> NDArray[Any]:
        """Return the values at the new samples of all batches."""
        return np.concatenate([self.at(rows) for rows in batches])


@dataclass(frozen=True)
class _Step:
    """A step that ends at new samples."""

    # Of each member: its weight, its powers as (weight, base view, functions that its row is multiplied with), the
    # means of the functions times the uniform share, and the identity share.
    parts: list[tuple[float, list[tuple[float, int, NDArray[Any]]], NDArray[Any] | None, float]]

    @classmethod
    def of(cls, W: Trajectory, weights: NDArray[np.float64], known: NDArray[Any]) -> _Step:
        parts = []
        for member, weight in zip(W.operators.members, weights, strict=True):
            if weight != 0:
                powers = [
                    (power.weight, power.base, _after(W, power.base, power.exponent - 1, known))
                    for power in member.powers
                ]
                uniform = member.uniform_share * known.mean(axis=0) if member.uniform_share > 0 else None
                parts.append((weight, powers, uniform, member.identity_share))
        return cls(parts)

    def at(self, rows: list[sparse.csr_array], value: NDArray[Any]) -> NDArray[Any]:
        result = np.zeros_like(value)
        for weight, powers, uniform, identity in self.parts:
            parts = [share * (rows[base] @ known) for share, base, known in powers]
            if uniform is not None:
                parts.append(uniform)
            if identity > 0:
                parts.append(identity * value)
            result += weight * sum(parts[1:], start=parts[0])
        return result


def _after(W: Trajectory, base: int, exponent: int, known: NDArray[Any]) -> NDArray[Any]:
    """Return ``P^exponent F`` for the walk of a base view, which must have rows for new samples."""
    if base >= W.operators.n_views:
        member = W.operators.names[W.operators.members.index(Member.walk(base))]
        raise ValueError(f"W: expected members that come from views, got {member!r}, which has no rows for new samples")
    if exponent > 0:
        walk = W.operators.walk_matrix(base)
        for _ in range(exponent):
            known = walk @ known
    return known
