"""Singular and eigenpairs of dense matrices.

The core decomposes them: LAPACK cannot be interrupted, and its threads wait for each other when other work
takes the cores.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core import Member, dense_pairs
from .._operators.trajectory import Trajectory
from .._support import memory as _memory
from .scaling import Scaling

# Bytes of the dense matrix, its copies and its factors, for each entry.
_BYTES_PER_ENTRY = 120


def column_signs(coordinates: NDArray[Any]) -> NDArray[Any]:
    """Return the signs that make the entry of largest magnitude in each column positive."""
    largest = np.take_along_axis(coordinates, np.abs(coordinates).argmax(axis=0)[np.newaxis], axis=0)
    return np.where(largest < 0, -1.0, 1.0).astype(coordinates.dtype)


@dataclass(frozen=True)
class Spectrum:
    """The leading pairs of a decomposition, the largest first.

    Attributes
    ----------
    coordinates, functions : (N, k) arrays
        One column for each pair: ``coordinates = W @ functions``.
    values, residuals : arrays
        Singular values or eigenvalues, and their residuals.
    converged : bool
        Whether all residuals are within the tolerance.
    """

    coordinates: NDArray[Any]
    functions: NDArray[Any]
    values: NDArray[np.float64]
    residuals: NDArray[np.float64]
    converged: bool

    def oriented(self, drop: bool) -> Spectrum:
        """Drop the first column if requested; make the largest entry of each column positive."""
        coordinates, functions = self.coordinates[:, int(drop) :], self.functions[:, int(drop) :]
        signs = column_signs(coordinates)
        return Spectrum(coordinates * signs, functions * signs, self.values, self.residuals, self.converged)


def solve_exact(W: Trajectory, rank: int, scaling: Scaling) -> Spectrum:
    """Return the leading pairs of a trajectory from its dense matrix."""
    n, is_eigen = W.shape[0], scaling.base is not None
    _memory.require(_BYTES_PER_ENTRY * n**2, f"solver='exact' for {n} samples")
    roots = np.ones(n) if scaling.pi is None else np.sqrt(scaling.pi)
    A = W
    if scaling.base is not None:
        A = W.operators.trajectory([W.operators.members.index(Member.walk(scaling.base))])
    dense = roots[:, np.newaxis] * A.toarray().astype(np.float64) / roots
    found = dense_pairs((dense + dense.T) / 2 if is_eigen else dense, rank, symmetric=is_eigen)
    left, values, right = found.left, found.values[:rank], found.left if is_eigen else found.right
    transposed = (A.T @ (left * roots[:, np.newaxis]).astype(W.dtype)).astype(np.float64) / roots[:, np.newaxis]
    residuals = np.linalg.norm(transposed - right * values, axis=0)
    functions = right / roots[:, np.newaxis]
    if scaling.name == "eigen":
        functions = functions / np.linalg.norm(functions, axis=0)
    functions = np.ascontiguousarray(functions.astype(W.dtype))
    return Spectrum(np.asarray(W @ functions), functions, values, residuals, True)


def eigenvalues(A: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return all eigenvalues of a dense symmetric matrix."""
    return dense_pairs(A, 0, symmetric=True).values
