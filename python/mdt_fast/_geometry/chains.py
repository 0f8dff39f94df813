"""Embeddings by sums of products of walks and transposed walks: ``P_2 P_1^T + P_1 P_2^T``."""

from collections.abc import Sequence

import numpy as np

from .. import _core
from .._core import Chain, Factor
from .._operators.operator_set import OperatorSet
from .._support.arguments import RandomStateLike, check_integer, check_number
from .._support.seed import check_seed
from .._support.threads import n_threads
from .._support.warnings import warn_of_residual
from .solver_memory import check_components

__all__ = ["Chain", "Factor", "embed_chains"]


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
    components = check_integer("n_components", n_components, minimum=1, maximum=max(ops.n_samples - 1, 1))
    iterations, tolerance = check_integer("max_iter", max_iter, minimum=1), check_number("tol", tol)
    check_components("n_components", components, ops.n_samples, ops.dtype.itemsize, extra=1)
    found = _core.embed_chains(
        ops.native, list(chains), n_components=components, drop_first=drop_first, tolerance=tolerance,
        max_iterations=iterations, seed=check_seed(random_state), n_threads=n_threads(ops.n_jobs),
    )  # fmt: skip
    if not found.converged:
        relative = found.residuals / np.maximum(found.values, np.finfo(float).tiny)
        warn_of_residual(float(relative.max()), iterations, tolerance)
    return found
