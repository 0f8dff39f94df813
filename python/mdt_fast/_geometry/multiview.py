"""Multi-view diffusion maps: the walk that changes the view at every step."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .._operators.operator_set import OperatorSet
from .._support.arguments import RandomStateLike, check_integer, check_number
from .._support.seed import check_seed
from .._support.threads import n_threads
from .._support.warnings import warn_of_residual
from .solver_memory import check_components


@dataclass(frozen=True)
class MultiviewEmbedding:
    """Coordinates of every sample in every view, made by :func:`embed_multiview`.

    Attributes
    ----------
    coordinates : (V, N, n_components) array
        Right eigenvectors of the block walk, of unit Euclidean length over all V N states, times
        their eigenvalues.
    eigenvalues : (n_components,) array
        Eigenvalues, descending, without the first one, which is 1.
    residuals : (n_components + 1,) array
        Residuals of all computed pairs, the dropped one first.
    converged : bool
        Whether all residuals are within the tolerance.
    """

    coordinates: NDArray[Any]
    eigenvalues: NDArray[np.float64]
    residuals: NDArray[np.float64]
    converged: bool


def embed_multiview(
    ops: OperatorSet,
    n_components: int = 10,
    *,
    tol: float = 1e-3,
    max_iter: int = 300,
    random_state: RandomStateLike = 0,
) -> MultiviewEmbedding:
    """Embed the samples by the walk that changes the view at every step.

    The walk has V N states. The affinity between views u and v is ``K_u K_v``, and 0 within a view.
    The block matrix is never formed.

    Parameters
    ----------
    ops : OperatorSet
        A set with at least two base views, made from symmetric affinities.
    n_components : int, default=10
        Number of coordinates, without the constant one.
    tol : float, default=1e-3
        Tolerance of :func:`mdt_fast.embed`, relative to the eigenvalue plus 1.
    max_iter : int, default=300
        Largest number of iterations.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the random start.

    Returns
    -------
    MultiviewEmbedding
        The coordinates of every sample in every view.

    Raises
    ------
    ValueError
        If the set has one view only, or a view that is not made from a symmetric affinity.

    References
    ----------
    .. [1] O. Lindenbaum, A. Yeredor, M. Salhov, A. Averbuch, "Multi-view diffusion maps",
       Information Fusion 55 (2020) 127-149, arXiv:1508.05550.
    """
    if not isinstance(ops, OperatorSet):
        raise TypeError(f"ops: expected an OperatorSet, got {type(ops).__name__}")
    if ops.n_views < 2:
        raise ValueError(f"ops: expected at least 2 views, got {ops.n_views}")
    states = ops.n_views * ops.n_samples
    components = check_integer("n_components", n_components, minimum=1, maximum=states - 1)
    iterations = check_integer("max_iter", max_iter, minimum=1)
    tolerance = check_number("tol", tol)
    check_components("n_components", components, states, ops.dtype.itemsize, extra=1)
    try:
        found = _core.embed_multiview(
            ops.native, n_views=ops.n_views, n_components=components, tolerance=tolerance, max_iterations=iterations,
            seed=check_seed(random_state), n_threads=n_threads(ops.n_jobs),
        )  # fmt: skip
    except ValueError as error:
        raise ValueError(f"ops: {error}") from None
    if not found.converged:
        warn_of_residual(float(found.residuals.max()), iterations, tolerance)
    coordinates = found.coordinates.reshape(ops.n_views, ops.n_samples, components)
    return MultiviewEmbedding(coordinates, found.values[1:], found.residuals, found.converged)
