"""Values of functions at new samples: the trajectory applied to their transition rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._core import Member
from .trajectory import Trajectory


@dataclass(frozen=True, eq=False)
class NewFunctions:
    """The function ``W F`` at new samples, prepared for any number of blocks of them.

    With ``F_s = W_s ... W_1 F`` on the training samples, the value at a new sample is
    ``f_s = sum_m a_(s,m) (row of member m) F_(s-1)``. The row of a stored walk is given; the row of
    ``P^e`` is the row of ``P`` times ``P^(e-1)``; the uniform jump takes the mean of ``F_(s-1)``;
    the identity keeps ``f_(s-1)``.

    Attributes
    ----------
    steps : tuple of arrays
        For each remaining step the weights of the members.
    known : tuple of arrays
        For each remaining step ``F_(s-1)``.
    powers : dict
        ``P^(e-1) F_(s-1)`` by step, walk and exponent above 1.
    trajectory : Trajectory
        W.
    """

    steps: tuple[NDArray[np.float64], ...]
    known: tuple[NDArray[Any], ...]
    powers: dict[tuple[int, int, int], NDArray[Any]]
    trajectory: Trajectory

    @classmethod
    def of(cls, W: Trajectory, functions: NDArray[Any]) -> NewFunctions:
        """Compute what depends on the training samples only.

        Parameters
        ----------
        W : Trajectory
            The trajectory of the training samples.
        functions : (N, k) array
            F.

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
        first = int(moving[-1])
        values = functions
        for weights in W.weights[:first]:
            values = np.asarray(operators.trajectory(weights[np.newaxis]) @ values)
        known = [values]
        for weights in W.weights[first:-1]:
            known.append(np.asarray(operators.trajectory(weights[np.newaxis]) @ known[-1]))
        steps = tuple(W.weights[first:])
        powers = {}
        for s, weights in enumerate(steps):
            for member, weight in zip(operators.members, weights, strict=True):
                for power in member.powers if weight else ():
                    _check_base(W, power.base)
                    if power.exponent > 1:
                        powers[s, power.base, power.exponent] = _after(W, power.base, power.exponent - 1, known[s])
        return cls(steps, tuple(known), powers, W)

    def at(self, rows: list[sparse.csr_array]) -> NDArray[Any]:
        """Return the (M, k) values at M new samples; `rows` are their transition rows in each base view."""
        value = np.zeros((rows[0].shape[0], self.known[0].shape[1]), dtype=self.known[0].dtype)
        for s, weights in enumerate(self.steps):
            value = self._step(s, weights, rows, value)
        return value

    def _step(
        self, s: int, weights: NDArray[np.float64], rows: list[sparse.csr_array], value: NDArray[Any]
    ) -> NDArray[Any]:
        result = np.zeros_like(value)
        for member, weight in zip(self.trajectory.operators.members, weights, strict=True):
            if weight == 0:
                continue
            parts = [
                power.weight * (rows[power.base] @ self.powers.get((s, power.base, power.exponent), self.known[s]))
                for power in member.powers
            ]
            if member.uniform_share > 0:
                parts.append(member.uniform_share * self.known[s].mean(axis=0))
            if member.identity_share > 0:
                parts.append(member.identity_share * value)
            result += weight * sum(parts[1:], start=parts[0])
        return result


def functions_at(rows: list[sparse.csr_array], W: Trajectory, functions: NDArray[Any]) -> NDArray[Any]:
    """Return ``W F`` at new samples, an (M, k) array; the arguments are those of :class:`NewFunctions`."""
    return NewFunctions.of(W, functions).at(rows)


def _check_base(W: Trajectory, base: int) -> None:
    """Raise ValueError for a walk that no view has."""
    if base >= W.operators.n_views:
        member = W.operators.names[W.operators.members.index(Member.walk(base))]
        raise ValueError(f"W: expected members that come from views, got {member!r}, which has no rows for new samples")


def _after(W: Trajectory, base: int, n_steps: int, known: NDArray[Any]) -> NDArray[Any]:
    """Return ``P^n F``."""
    walk = W.operators.walk_matrix(base)
    for _ in range(n_steps):
        known = walk @ known
    return known
