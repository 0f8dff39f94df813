"""Embeddings: coordinates of the samples whose distances are diffusion distances."""

import warnings
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .._graphs.readable import check_readable
from .._operators.new_samples import FunctionsOfTrajectory
from .._operators.trajectory import Trajectory
from .._support.arguments import RandomStateLike, check_choice, check_flag, check_integer, check_number
from .._support.monitor import ProgressLike, watch
from .._support.seed import check_seed
from .._support.threads import n_threads
from .._support.warnings import OperatorWarning, warn_of_residual
from .scaling import Scaling
from .solver_memory import check_components
from .spectrum import Spectrum, solve_exact

# Squares of larger numbers, and sums of many squares, may exceed the range of double precision.
_LARGEST_START = 1e140
SOLVERS = ("auto", "exact")
WEIGHTINGS = ("uniform", "stationary")


@dataclass(frozen=True)
class Embedding:
    """Coordinates of the samples under a trajectory, made by :func:`embed`.

    Attributes
    ----------
    coordinates : (N, n_components) array
        One row for each sample.
    singular_values : (n_components,) array
        Singular values of the columns, descending; for ``decomposition="eigen"`` the magnitudes of
        the eigenvalues of W.
    eigenvalues : (n_components,) array or None
        For ``decomposition="eigen"`` the eigenvalues of W, in the order of the columns; else None.
    first_value : float or None
        The singular value (or eigenvalue) of the dropped pair; None if no pair is dropped.
    residuals : array
        ``|A^T u - s v|`` of every computed pair, the dropped one first.
    converged : bool
        Whether every pair is within `tol`, or exact to rounding.
    functions : (N, n_components) array
        The functions F on the samples with ``coordinates = W @ F``.
    trajectory : Trajectory
        W.
    weighting, solver : str
        Arguments of :func:`embed`.
    tol : float
        Argument of :func:`embed`.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> ops = mdt.build_operators(views)
    >>> embedding = mdt.embed(ops.trajectory([0, 1, 1]), n_components=2)
    >>> embedding.coordinates.shape, embedding.converged
    ((150, 2), True)
    >>> bool(abs(embedding.coordinates - embedding.trajectory @ embedding.functions).max() < 1e-6)
    True
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
        """Return shape, leading values and weighting."""
        values = ", ".join(f"{v:.4g}" for v in self.singular_values[:4])
        more = ", ..." if len(self.singular_values) > 4 else ""
        state = "" if self.converged else "; not converged"
        return (
            f"Embedding({self.coordinates.shape[0]} samples, {self.coordinates.shape[1]} components; "
            f"singular values {values}{more}; {self.weighting} weighting{state})"
        )

    def transform(
        self, Xs: Any = None, *, affinities: Any = None, n_jobs: int | None = None, progress: ProgressLike = False
    ) -> NDArray[Any]:
        """Return coordinates of new samples, each independent of the others.

        The transition rows of a new sample are made as those of a training sample
        (:meth:`OperatorSet.new_rows`). Its coordinates are its row of W times `functions`. A
        training sample that is given again gets its own coordinates.

        Parameters
        ----------
        Xs : list, tuple or dict of 2-D arrays, default=None
            M new samples in the views of the training samples.
        affinities : list of (M, N) matrices, default=None
            For operators that were not built from views: affinities of the new samples to the
            training samples.
        n_jobs : int or None, default=None
            Number of threads; None uses the number of the operators.
        progress : bool, callable or None, default=False
            As in :func:`build_operators`.

        Returns
        -------
        (M, n_components) array
            The coordinates.

        Examples
        --------
        >>> import mdt_fast as mdt
        >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
        >>> ops = mdt.build_operators(views)
        >>> embedding = mdt.embed(ops.trajectory([0, 1, 1]), n_components=2)
        >>> new = embedding.transform([X[:5] for X in views])
        >>> bool(abs(new - embedding.coordinates[:5]).max() < 1e-6)  # a training sample gets its own coordinates
        True
        """
        operators = self.trajectory.operators
        functions = FunctionsOfTrajectory(self.trajectory, self.functions)
        with watch(progress) as monitor, monitor.stage("new samples"):
            return functions.of(operators._batches_of(Xs, "Xs", affinities, n_jobs, monitor))


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
    """Embed the samples so that distances are diffusion distances of a trajectory.

    Parameters
    ----------
    W : Trajectory
        The trajectory, made by :meth:`OperatorSet.trajectory`.
    n_components : int, default=10
        Number of coordinates, between 1 and N - 1. The first pair, which is (nearly) constant, is
        not counted unless `drop_first` is False.
    solver : {"auto", "exact"}, default="auto"
        "auto": block Lanczos bidiagonalisation without forming W, or a decomposition of the dense
        matrix for more than about N / 4 components. "exact": a decomposition of the dense matrix.
    weighting : {"uniform", "stationary"}, default="uniform"
        Geometry of the embedding, see Notes.
    decomposition : {"svd", "eigen"}, default="svd"
        Singular vectors, or eigenvectors of a trajectory that repeats one reversible walk, see
        Notes.
    drop_first : bool, default=True
        Whether the first pair is dropped.
    tol : float, default=1e-3
        Largest relative error of a singular value. The residuals of the vectors are at most 5 `tol`
        times the largest singular value.
    max_iter : int, default=300
        Largest number of iterations; if they do not suffice, the result is returned with a warning.
    start : (N, m) array, default=None
        Functions to start from, for example `Embedding.functions` of a similar trajectory.
        They change the speed, and the result only within `tol`.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the random start; one seed gives one result with any number of threads.

    Returns
    -------
    Embedding
        The coordinates, and the functions that carry them to new samples.

    Raises
    ------
    ValueError
        If ``decomposition="eigen"`` and the trajectory does not repeat one reversible walk, or if
        the stationary distribution is 0 at some sample.
    FloatingPointError
        If the coordinates overflow.
    MemoryError
        If the solver needs more memory than is available.

    Notes
    -----
    With "uniform" weighting ``W = U S V^T`` and the coordinates are ``U S``. With "stationary"
    weighting ``Pi^(1/2) W Pi^(-1/2) = M S N^T`` and the coordinates are ``Pi^(-1/2) M S``, with Pi
    the stationary distribution: their distances are the diffusion distances weighted by ``1 / pi``,
    and the dropped coordinate is constant. With ``decomposition="eigen"`` the coordinates are right
    eigenvectors times their eigenvalues, ordered by the eigenvalue of the repeated walk (not its
    magnitude). Eigenvectors have unit Euclidean length with "uniform" weighting, and unit length in
    the geometry of Pi with "stationary" weighting: the classical diffusion map [1]_.

    References
    ----------
    .. [1] R. R. Coifman, S. Lafon, "Diffusion maps", Applied and Computational Harmonic Analysis 21
       (2006) 5-30. doi:10.1016/j.acha.2006.04.006

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
    if solver == "auto":
        check_components("n_components", components, n, W.dtype.itemsize, extra=drop)
    _warn_of_parts(W)
    found: _core.Embedded | Spectrum
    if solver == "exact":
        found = solve_exact(W, components + drop, scaling).oriented(drop)
    else:
        found = _core.embed(
            W.operators.native, W.weights, decomposition=scaling.name,
            pi=scaling.pi if scaling.name == "stationary" else None, n_components=components, drop_first=drop,
            tolerance=tolerance, max_iterations=iterations, seed=seed, start=first,
            n_threads=n_threads(W.operators.n_jobs),
        )  # fmt: skip
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
        coordinates=found.coordinates, singular_values=np.abs(values), eigenvalues=eigenvalues,
        first_value=float(found.values[0]) if drop else None, residuals=found.residuals, converged=found.converged,
        functions=found.functions, trajectory=W, weighting=weighting, solver=solver, tol=tolerance,
    )  # fmt: skip


def _check_start(start: Any, W: Trajectory) -> NDArray[Any] | None:
    if start is None:
        return None
    check_readable(start, "start")
    try:
        block = np.asarray(start)
    except ValueError:
        raise ValueError("start: expected rows of one length, got rows of different lengths") from None
    n = W.operators.n_samples
    if block.ndim != 2 or block.shape[0] != n or not block.shape[1]:
        raise ValueError(f"start: expected an array of shape ({n}, m), got {block.shape}")
    if block.dtype.kind == "f" and np.abs(block).max() > _LARGEST_START:
        raise ValueError(f"start: expected numbers of at most {_LARGEST_START:g}, whose squares are finite")
    if block.dtype.kind not in "biuf" or not np.isfinite(block).all():
        raise ValueError("start: expected finite real numbers")
    return np.require(block, W.dtype, ["C", "A"])


def _warn_of_parts(W: Trajectory) -> None:
    parts = W.n_unconnected_parts
    if parts > 1:
        warnings.warn(
            f"the steps of this trajectory leave {parts} parts of the samples unconnected: as many singular values are "
            "near 1, and the leading coordinates separate the parts",
            OperatorWarning,
            stacklevel=3,
        )
