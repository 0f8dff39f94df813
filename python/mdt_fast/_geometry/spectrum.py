"""Singular and eigenpairs of dense matrices.

LAPACK cannot be interrupted. It decomposes matrices that take it less than a second; larger ones are
decomposed in the core, on a thread that a Ctrl-C leaves behind.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.sparse.linalg import svds

from .._core import Member, dense_pairs
from .._operators.trajectory import Trajectory
from .._support import memory as _memory
from .scaling import Scaling

# Up to this size LAPACK computes all pairs of a dense matrix as fast as ARPACK computes some.
_SMALL = 300
# Bytes of the dense matrix, its copies and its factors, for each entry.
_BYTES_PER_ENTRY = 120
# Up to this size LAPACK takes less than half a second.
_SHORT = 1_000


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
    left, values, right = _dense_pairs(dense, rank, is_eigen)
    transposed = (A.T @ (left * roots[:, np.newaxis]).astype(W.dtype)).astype(np.float64) / roots[:, np.newaxis]
    residuals = np.linalg.norm(transposed - right * values, axis=0)
    functions = right / roots[:, np.newaxis]
    if scaling.name == "eigen":
        functions = functions / np.linalg.norm(functions, axis=0)
    functions = np.ascontiguousarray(functions.astype(W.dtype))
    return Spectrum(np.asarray(W @ functions), functions, values, residuals, True)


def leading_pairs(
    A: NDArray[Any], rank: int, tolerance: float, generator: np.random.Generator
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return leading left vectors, singular values and right vectors of a dense matrix."""
    A = A.astype(np.float64)
    if rank >= len(A) or len(A) <= _SMALL:
        return _dense_pairs(A, rank, eigen=False)
    left, values, right = svds(A, k=rank, tol=tolerance, v0=generator.normal(size=len(A)))
    order = np.argsort(-values)
    return left[:, order], values[order], right[order].T


def _dense_pairs(A: NDArray[Any], rank: int, eigen: bool) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    if len(A) > _SHORT:
        found = dense_pairs((A + A.T) / 2 if eigen else np.ascontiguousarray(A), rank, symmetric=eigen)
        return found.left, found.values[:rank], found.left if eigen else found.right
    if eigen:
        values, vectors = linalg.eigh((A + A.T) / 2, subset_by_index=(len(A) - rank, len(A) - 1))
        vectors = vectors[:, ::-1]
        return vectors, values[::-1], vectors
    left, values, right = linalg.svd(A, full_matrices=False)
    return left[:, :rank], values[:rank], right[:rank].T


def singular_values(A: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return all singular values of a dense matrix."""
    if len(A) > _SHORT:
        return dense_pairs(np.ascontiguousarray(A), 0, symmetric=False).values
    values: NDArray[np.float64] = linalg.svdvals(A, check_finite=False)
    return values


def eigenvalues(A: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return all eigenvalues of a dense symmetric matrix, which may be overwritten."""
    if len(A) > _SHORT:
        return dense_pairs(A, 0, symmetric=True).values
    values: NDArray[np.float64] = linalg.eigvalsh(A, overwrite_a=True, check_finite=False)
    return values
