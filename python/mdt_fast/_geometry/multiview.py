"""Multi-view diffusion maps: the walk that changes view at every step."""

from __future__ import annotations

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


@dataclass(frozen=True)
class MultiviewEmbedding:
    """Coordinates of every sample as each view sees it.

    Attributes
    ----------
    coordinates : (V, N, n_components) array
        Right eigenvectors of the block walk, of unit Euclidean length over all V N states, times their eigenvalues.
    eigenvalues : (n_components,) array
        Descending; the first one, 1, is left out.
    residuals : array
        Of every computed pair, the dropped one first.
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
    """Embed the samples by the walk on V N states with affinities ``K_u K_v`` between views u and v, 0 within a view.

    The block matrix is never formed. Needs at least two base views made from symmetric affinities.

    Parameters
    ----------
    ops : OperatorSet
        Its base views take part.
    n_components : int
        Number of coordinates; the constant one is not counted.
    tol, max_iter, random_state
        As for :func:`mdt_fast.embed`; `tol` is relative to the eigenvalue plus 1.
    """
    if not isinstance(ops, OperatorSet):
        raise TypeError(f"ops: expected an OperatorSet, got {type(ops).__name__}")
    if ops.n_views < 2:
        raise ValueError(f"ops: expected at least 2 views, got {ops.n_views}")
    states = ops.n_views * ops.n_samples
    components = check_integer("n_components", n_components, minimum=1, maximum=states - 1)
    iterations = check_integer("max_iter", max_iter, minimum=1)
    tolerance = check_number("tol", tol)
    try:
        coordinates, values, residuals, converged = _core.embed_multiview(
            ops._core,
            n_views=ops.n_views,
            n_components=components,
            tolerance=tolerance,
            max_iterations=iterations,
            seed=check_seed(random_state),
            n_threads=n_threads(ops.n_jobs),
        )
    except ValueError as error:
        raise ValueError(f"ops: {error}") from None
    if not converged:
        warn_of_residual(float(residuals.max()), iterations, tolerance)
    shape = (ops.n_views, ops.n_samples, components)
    return MultiviewEmbedding(coordinates.reshape(shape), values[1:], residuals, converged)
