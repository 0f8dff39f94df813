"""Coordinates of the samples: the geometry that a trajectory gives them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .._operators.new_samples import functions_at
from .._operators.trajectory import Trajectory
from .._support.arguments import RandomStateLike, check_choice, check_flag, check_integer, check_number
from .._support.seed import check_seed
from .._support.threads import n_threads
from .._support.warnings import OperatorWarning, warn_of_residual
from .spectrum import Scaling, Spectrum, solve

SOLVERS = ("auto", "exact", "arpack", "propack")
WEIGHTINGS = ("uniform", "stationary")


@dataclass(frozen=True)
class Embedding:
    """Coordinates of the samples under a trajectory, made by :func:`embed`.

    Attributes
    ----------
    coordinates : (N, n_components) array
        One row for each sample.
    singular_values : (n_components,) array
        Singular values that belong to the columns, descending; for ``decomposition="eigen"`` the magnitudes of the
        eigenvalues of W.
    eigenvalues : (n_components,) array or None
        For ``decomposition="eigen"``: eigenvalues of W, in the order of the columns.
    first_value : float or None
        The singular value (or eigenvalue) of the dropped pair.
    residuals : array
        ``|A^T u - s v|`` of every computed pair, the dropped one first.
    converged : bool
        Whether every pair is within `tol`, or at the level of rounding.
    functions : (N, n_components) array
        The functions F on the samples with ``coordinates = W @ F``.
    trajectory : Trajectory
        W.
    """

    coordinates: NDArray[Any]
    singular_values: NDArray[np.float64]
    eigenvalues: NDArray[np.float64] | None
    first_value: float | None
    residuals: NDArray[np.float64]
    converged: bool
    functions: NDArray[Any] = field(repr=False)
    trajectory: Trajectory
    weighting: str
    solver: str
    tol: float

    def __repr__(self) -> str:
        """Return shape, leading values and how they were computed."""
        values = ", ".join(f"{v:.4g}" for v in self.singular_values[:4])
        more = ", ..." if len(self.singular_values) > 4 else ""
        state = "" if self.converged else "; not converged"
        return (
            f"Embedding({self.coordinates.shape[0]} samples, {self.coordinates.shape[1]} components; "
            f"singular values {values}{more}; {self.weighting} weighting{state})"
        )

    def transform(self, Xs: Any = None, *, affinities: Any = None, n_jobs: int | None = None) -> NDArray[Any]:
        """Return coordinates of new samples, each independent of the others.

        A new sample gets its row of every operator as a training sample got its own (:meth:`OperatorSet.new_rows`); its
        coordinates are that row, taken through the trajectory, times :attr:`functions`. A training sample given again
        lands on its own coordinates.

        Parameters
        ----------
        Xs : list, tuple or dict of 2-D arrays
            The new samples, seen in the same views as the training samples.
        affinities : list of (M, N) matrices, optional
            For operators that were not built from views: affinities of the new samples to the training samples.
        n_jobs : int or None
            Threads; None: as for the operators.

        Returns
        -------
        (M, n_components) array
        """
        operators = self.trajectory.operators
        rows = operators.new_rows(Xs, affinities=affinities, n_jobs=n_jobs)
        return functions_at(rows, self.trajectory, self.functions)


def embed(
    W: Trajectory,
    n_components: int = 10,
    *,
    solver: str = "auto",
    weighting: str = "uniform",
    decomposition: str = "svd",
    drop_first: bool = True,
    tol: float = 1e-3,
    max_iter: int = 300,
    start: Any = None,
    random_state: RandomStateLike = 0,
) -> Embedding:
    """Embed the samples so that distances are diffusion distances under a trajectory.

    Parameters
    ----------
    W : Trajectory
        The walk, see :meth:`OperatorSet.trajectory`.
    n_components : int
        Number of coordinates, between 1 and N - 1. The first pair, which is (nearly) constant, is not counted unless
        `drop_first` is False.
    solver : {"auto", "exact", "arpack", "propack"}
        "auto": block Lanczos bidiagonalisation without forming W. "exact": LAPACK on the dense matrix. The other two
        are SciPy's.
    weighting : {"uniform", "stationary"}
        "uniform": ``W = U S V^T``, coordinates ``U S``. "stationary": ``Pi^(1/2) W Pi^(-1/2) = M S N^T``, coordinates
        ``Pi^(-1/2) M S``, with Pi the stationary distribution; their distances are the diffusion distances weighted
        by ``1 / pi``, and the dropped coordinate is constant.
    decomposition : {"svd", "eigen"}
        "eigen", for a trajectory that repeats one reversible walk P: right eigenvectors times their eigenvalues,
        ordered by the eigenvalue of P (not its magnitude). Eigenvectors have unit Euclidean length with "uniform"
        weighting and unit length in the geometry of Pi with "stationary": the classical diffusion map.
    drop_first : bool
        Leave out the first pair.
    tol : float
        Largest relative error of a singular value. Residuals, by which vectors err, are at most 5 times this and the
        largest singular value.
    max_iter : int
        Iterations after which the answer is given as it is, with a warning.
    start : (N, m) array, optional
        Functions to start from, for example :attr:`Embedding.functions` of a similar trajectory. Changes speed, and the
        result only within `tol`.
    random_state : int, RandomState, Generator or None
        Seed of the random start; one seed gives one result at any number of threads.

    Returns
    -------
    Embedding

    Examples
    --------
    >>> import numpy as np
    >>> import mdt_fast as mdt
    >>> X1, X2 = np.random.default_rng(0).normal(size=(2, 200, 5))
    >>> ops = mdt.build_operators([X1, X2])
    >>> mdt.embed(ops.trajectory([0, 1, 0]), n_components=2).coordinates.shape
    (200, 2)
    """
    if not isinstance(W, Trajectory):
        raise TypeError(f"W: expected a Trajectory, got {type(W).__name__}; make one with ops.trajectory(...)")
    n = W.operators.n_samples
    components = check_integer("n_components", n_components, minimum=1, maximum=max(n - 1, 1))
    check_choice("solver", solver, SOLVERS)
    check_choice("weighting", weighting, WEIGHTINGS)
    check_choice("decomposition", decomposition, ("svd", "eigen"))
    tolerance = check_number("tol", tol)
    drop = check_flag("drop_first", drop_first)
    iterations = check_integer("max_iter", max_iter, minimum=1)
    seed = check_seed(random_state)
    scaling = Scaling.of(W, weighting, decomposition)
    first = _check_start(start, W)
    _warn_of_parts(W)
    if solver == "auto":
        found = _solve_in_core(W, components, scaling, drop, tolerance, iterations, seed, first)
    else:
        found = solve(W, components + drop, scaling, solver, tolerance, iterations, np.random.default_rng(seed), first)
        found = found.oriented(drop)
    if not np.isfinite(found.coordinates).all():
        raise FloatingPointError("embed: the coordinates left the range of their numbers")
    if not found.converged:
        worst = float(np.max(found.residuals / np.maximum(np.abs(found.values), np.finfo(float).tiny)))
        warn_of_residual(worst, iterations, tolerance)
    values = found.values[int(drop) :]
    eigenvalues = None
    if decomposition == "eigen":
        eigenvalues = values = values**scaling.n_steps
    return Embedding(
        coordinates=found.coordinates,
        singular_values=np.abs(values),
        eigenvalues=eigenvalues,
        first_value=float(found.values[0]) if drop else None,
        residuals=found.residuals,
        converged=found.converged,
        functions=found.functions,
        trajectory=W,
        weighting=weighting,
        solver=solver,
        tol=tolerance,
    )


def _solve_in_core(
    W: Trajectory,
    components: int,
    scaling: Scaling,
    drop: bool,
    tolerance: float,
    iterations: int,
    seed: int,
    start: NDArray[Any] | None,
) -> Spectrum:
    coordinates, functions, values, residuals, converged, _ = _core.embed(
        W.operators._core,
        W.weights,
        decomposition=scaling.name,
        pi=scaling.pi if scaling.name == "stationary" else None,
        n_components=components,
        drop_first=drop,
        tolerance=tolerance,
        max_iterations=iterations,
        seed=seed,
        start=start,
        n_threads=n_threads(W.operators.n_jobs),
    )
    return Spectrum(coordinates, functions, values, residuals, converged)


def _check_start(start: Any, W: Trajectory) -> NDArray[Any] | None:
    if start is None:
        return None
    block = np.asarray(start)
    n = W.operators.n_samples
    if block.ndim != 2 or block.shape[0] != n or not block.shape[1]:
        raise ValueError(f"start: expected an array of shape ({n}, m), got {block.shape}")
    if block.dtype.kind not in "biuf" or not np.isfinite(block).all():
        raise ValueError("start: expected finite real numbers")
    return np.require(block, W.dtype, ["C", "A"])


def _warn_of_parts(W: Trajectory) -> None:
    parts = W._n_parts
    if parts > 1:
        warnings.warn(
            f"the steps of this trajectory leave {parts} parts of the samples unconnected: as many singular values are "
            "near 1, and the leading coordinates tell the parts apart",
            OperatorWarning,
            stacklevel=3,
        )
