"""Sums of products of walks and their transposes: operators that go to a place and back along another view."""

from __future__ import annotations

from collections.abc import Sequence
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
class Chain:
    """A weight times a product of the base views' walks.

    `factors` are (view, transposed) in the order of application, the rightmost factor first.
    """

    factors: Sequence[tuple[int, bool]]
    weight: float = 1.0


def embed_chains(
    ops: OperatorSet,
    chains: Sequence[Chain],
    n_components: int,
    *,
    drop_first: bool = True,
    tol: float = 1e-3,
    max_iter: int = 300,
    random_state: RandomStateLike = 0,
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return coordinates ``U S`` from the singular triplets of a sum of chains, and all its singular values.

    Nothing is formed; `drop_first`, `tol`, `max_iter` and `random_state` are those of :func:`mdt_fast.embed`.
    """
    components = check_integer("n_components", n_components, minimum=1, maximum=max(ops.n_samples - 1, 1))
    iterations, tolerance = check_integer("max_iter", max_iter, minimum=1), check_number("tol", tol)
    coordinates, values, residuals, converged = _core.embed_chains(
        ops._core,
        [(chain.weight, list(chain.factors)) for chain in chains],
        n_components=components,
        drop_first=drop_first,
        tolerance=tolerance,
        max_iterations=iterations,
        seed=check_seed(random_state),
        n_threads=n_threads(ops.n_jobs),
    )
    if not converged:
        warn_of_residual(float((residuals / np.maximum(values, np.finfo(float).tiny)).max()), iterations, tolerance)
    return coordinates, values
