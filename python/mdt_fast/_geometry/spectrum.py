"""Decompositions by SciPy, to compare the core's solver with: the dense matrix, ARPACK, PROPACK."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh, svds

from .._operators.trajectory import Trajectory
from .._support import memory as _memory
from .._support.warnings import OperatorWarning

# Up to here all pairs of a dense matrix are computed as fast as some.
_SMALL = 300


def column_signs(coordinates: NDArray[Any]) -> NDArray[Any]:
    """Return what makes the entry of largest magnitude in each column positive."""
    largest = np.take_along_axis(coordinates, np.abs(coordinates).argmax(axis=0)[np.newaxis], axis=0)
    return np.where(largest < 0, -1.0, 1.0).astype(coordinates.dtype)


@dataclass(frozen=True)
class Spectrum:
    """Pairs of a decomposition: ``coordinates = W @ functions``, all computed values (the dropped one first)."""

    coordinates: NDArray[Any]
    functions: NDArray[Any]
    values: NDArray[np.float64]
    residuals: NDArray[np.float64]
    converged: bool

    def oriented(self, drop: bool) -> Spectrum:
        """Leave out the first column if asked; make the entry of largest magnitude in each column positive."""
        coordinates, functions = self.coordinates[:, int(drop) :], self.functions[:, int(drop) :]
        signs = column_signs(coordinates)
        return Spectrum(coordinates * signs, functions * signs, self.values, self.residuals, self.converged)


@dataclass(frozen=True)
class Scaling:
    """The diagonal scaling ``Pi^(1/2) A Pi^(-1/2)`` under which a trajectory is decomposed.

    For "eigen" A is the one walk P that the trajectory takes `n_steps` of; else it is the trajectory.
    """

    name: str
    pi: NDArray[np.float64] | None
    n_steps: int

    @classmethod
    def of(cls, W: Trajectory, weighting: str, decomposition: str) -> Scaling:
        """Choose the scaling; refuse eigenvectors of what is not a power of one reversible walk."""
        if decomposition == "eigen":
            degrees, n_steps = _repeated_walk(W)
            name = "eigen" if weighting == "uniform" else "eigen-stationary"
            return cls(name, degrees / degrees.sum(), n_steps)
        if weighting == "uniform":
            return cls("uniform", None, len(W))
        with warnings.catch_warnings():
            # embed speaks of unconnected parts itself.
            warnings.simplefilter("ignore", OperatorWarning)
            pi = W.stationary_distribution()
        if not (pi > 0).all():
            where = int(np.argmin(pi))
            raise ValueError(
                "weighting: expected 'uniform', because the stationary distribution is 0 at sample "
                f"{where}: no walk ends there"
            )
        return cls("stationary", pi, len(W))

    @property
    def is_eigen(self) -> bool:
        """Whether eigenvectors are asked for."""
        return self.name.startswith("eigen")


def _repeated_walk(W: Trajectory) -> tuple[NDArray[np.float64], int]:
    """Return the degrees of the one reversible walk that the trajectory repeats, and how often it does."""
    used = np.flatnonzero(W.weights.max(axis=0))
    members = [W.operators._members[m] for m in used]
    bases = W.operators._bases(used)
    degrees = W.operators._transitions[bases[0]].degrees if len(bases) == 1 else None
    if W.word is None or degrees is None or any(member[0] not in ("walk", "power") for member in members):
        raise ValueError(
            "decomposition: expected 'svd', because eigenvectors need a trajectory that repeats one reversible walk, "
            f"got {W!r}"
        )
    exponents = (W.operators._members[m][2] if W.operators._members[m][0] == "power" else 1 for m in W.word)
    return np.asarray(degrees, dtype=np.float64), sum(exponents)


def solve(
    W: Trajectory,
    rank: int,
    scaling: Scaling,
    solver: str,
    tolerance: float,
    iterations: int,
    generator: np.random.Generator,
    start: NDArray[Any] | None,
) -> Spectrum:
    """Return the leading pairs by a solver of SciPy."""
    roots = np.ones(W.shape[0]) if scaling.pi is None else np.sqrt(scaling.pi)
    A = W.operators.trajectory([W.operators._members.index(_walk_of(W))]) if scaling.is_eigen else W
    if solver == "exact":
        _memory.require(6 * 8 * W.shape[0] ** 2, f"solver='exact' for {W.shape[0]} samples")
        dense = roots[:, np.newaxis] * A.toarray().astype(np.float64) / roots
        left, values, right = _dense_pairs(dense, rank, scaling.is_eigen)
        converged = True
    else:
        left, values, right, converged = _iterative_pairs(
            A, roots, rank, scaling.is_eigen, solver, tolerance, iterations, generator, start
        )
    transposed = (A.T @ (left * roots[:, np.newaxis]).astype(W.dtype)).astype(np.float64) / roots[:, np.newaxis]
    residuals = np.linalg.norm(transposed - right * values, axis=0)
    functions = right / roots[:, np.newaxis]
    if scaling.name == "eigen":
        functions = functions / np.linalg.norm(functions, axis=0)
    functions = np.ascontiguousarray(functions.astype(W.dtype))
    return Spectrum(np.asarray(W @ functions), functions, values, residuals, converged)


def _walk_of(W: Trajectory) -> tuple[Any, ...]:
    """Return the member that is one step of the walk that `W` repeats."""
    assert W.word is not None
    return ("walk", W.operators._members[W.word[0]][1])


def _dense_pairs(A: NDArray[Any], rank: int, eigen: bool) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    if eigen:
        values, vectors = linalg.eigh((A + A.T) / 2, subset_by_index=(len(A) - rank, len(A) - 1))
        vectors = vectors[:, ::-1]
        return vectors, values[::-1], vectors
    left, values, right = linalg.svd(A, full_matrices=False)
    return left[:, :rank], values[:rank], right[:rank].T


def leading_pairs(
    A: NDArray[Any], rank: int, tolerance: float, generator: np.random.Generator
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return left vectors, singular values and right vectors of a dense matrix, the leading ones, largest first."""
    A = A.astype(np.float64)
    if rank >= len(A) or len(A) <= _SMALL:
        return _dense_pairs(A, rank, eigen=False)
    left, values, right = svds(A, k=rank, tol=tolerance, v0=generator.normal(size=len(A)))
    order = np.argsort(-values)
    return left[:, order], values[order], right[order].T


def _iterative_pairs(
    A: Trajectory,
    roots: NDArray[Any],
    rank: int,
    eigen: bool,
    solver: str,
    tolerance: float,
    iterations: int,
    generator: np.random.Generator,
    start: NDArray[Any] | None,
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any], bool]:
    n = A.shape[0]
    if rank >= n:
        raise ValueError(f"solver: expected 'auto' or 'exact' for {rank} pairs of {n} samples, got {solver!r}")

    def forward(x: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(roots * (A @ (x.ravel() / roots).astype(A.dtype)), dtype=np.float64)

    def backward(x: NDArray[Any]) -> NDArray[Any]:
        return np.asarray((A.T @ (x.ravel() * roots).astype(A.dtype)) / roots, dtype=np.float64)

    scaled = LinearOperator((n, n), matvec=forward, rmatvec=backward, dtype=np.float64)
    first = generator.normal(size=n) if start is None else start.sum(axis=1) * roots
    try:
        if eigen:
            values, vectors = eigsh(scaled, k=rank, which="LA", tol=tolerance, maxiter=10 * iterations, v0=first)
            vectors, values = vectors[:, ::-1], values[::-1]
            return vectors, values, vectors, True
        left, values, right = svds(
            scaled, k=rank, solver=solver, tol=tolerance, maxiter=10 * iterations, v0=first,
            rng=generator if solver == "propack" else None,
        )  # fmt: skip
    except ArpackNoConvergence as error:
        raise RuntimeError(f"solver: {solver!r} did not converge: {error}; try 'auto' or a larger max_iter") from None
    order = np.argsort(-values)
    return left[:, order], values[order], right[order].T, True
