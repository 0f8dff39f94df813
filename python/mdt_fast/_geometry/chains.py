"""Embeddings by sums of products of walks and transposed walks: ``P_2 P_1^T + P_1 P_2^T``."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .. import _core
from .._core import Chain, Factor
from .._operators.operator_set import OperatorSet
from .._support.arguments import RandomStateLike, check_integer, check_number
from .._support.seed import check_seed
from .._support.threads import n_threads
from .._support.warnings import warn_of_residual
from .solver_memory import check_components

__all__ = ["Chain", "Factor", "embed_chains", "embed_cross_diffusion"]


def embed_chains(
    ops: OperatorSet,
    chains: Sequence[Chain],
    n_components: int,
    *,
    drop_first: bool = True,
    tol: float = 1e-3,
    max_iter: int = 300,
    random_state: RandomStateLike = 0,
) -> _core.Coordinates:
    """Embed the samples by ``U S`` of a sum of chains, ``U S V^T``, without forming it.

    Parameters
    ----------
    ops : OperatorSet
        The set whose stored walks are the factors.
    chains : sequence of Chain
        The chains: each is a weight times a product of factors, in the order of application.
    n_components : int
        Number of coordinates, between 1 and N - 1.
    drop_first, tol, max_iter, random_state
        See :func:`mdt_fast.embed`.

    Returns
    -------
    Coordinates
        The coordinates, and all singular values, the dropped one first.
    """
    how = _solver(ops, n_components, tol, max_iter, random_state)
    return _warned(_core.embed_chains(ops.native, list(chains), drop_first=drop_first, **how), max_iter, tol)


def embed_cross_diffusion(
    ops: OperatorSet,
    n_steps: int,
    n_components: int,
    *,
    tol: float = 1e-3,
    max_iter: int = 300,
    random_state: RandomStateLike = 0,
) -> _core.Coordinates:
    """Embed the samples by ``U S`` of the mean of the dense matrices of cross diffusion.

    Parameters
    ----------
    ops : OperatorSet
        The set whose base views are diffused.
    n_steps : int
        Number of steps ``Q_v <- P_v (mean of the other Q_u) P_v^T``, from ``Q_v = P_v``.
    n_components : int
        Number of coordinates, between 1 and N - 1. The first pair is dropped.
    tol, max_iter, random_state
        See :func:`mdt_fast.embed`.

    Returns
    -------
    Coordinates
        The coordinates, and all singular values, the dropped one first.
    """
    how = _solver(ops, n_components, tol, max_iter, random_state)
    found = _core.embed_cross_diffusion(ops.native, n_views=ops.n_views, n_steps=n_steps, **how)
    return _warned(found, max_iter, tol)


def _solver(ops: OperatorSet, n_components: int, tol: float, max_iter: int, seed: RandomStateLike) -> dict[str, Any]:
    """Return the checked arguments of the solver."""
    components = check_integer("n_components", n_components, minimum=1, maximum=max(ops.n_samples - 1, 1))
    iterations, tolerance = check_integer("max_iter", max_iter, minimum=1), check_number("tol", tol)
    check_components("n_components", components, ops.n_samples, ops.dtype.itemsize, extra=1)
    return {
        "n_components": components, "tolerance": tolerance, "max_iterations": iterations, "seed": check_seed(seed),
        "n_threads": n_threads(ops.n_jobs),
    }  # fmt: skip


def _warned(found: _core.Coordinates, max_iter: int, tol: float) -> _core.Coordinates:
    """Warn of residuals above the tolerance."""
    if not found.converged:
        relative = found.residuals / np.maximum(found.values, np.finfo(float).tiny)
        warn_of_residual(float(relative.max()), max_iter, tol)
    return found
