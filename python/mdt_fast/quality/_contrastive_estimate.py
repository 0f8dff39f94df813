"""An estimate of the contrastive loss of many samples, and of its gradient.

To first order in 1 / N the loss is linear in W, so it is the trace of a product. Probes estimate a
trace in a few passes over the walks, to which all rows of W contribute (formulas and bounds:
``rust/core/src/search/contrastive_estimate.rs``).
"""

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .._operators.draw import uniform
from .._operators.operator_set import OperatorSet
from .._support.threads import n_threads

# Samples from which the reach of a walk is measured, columns of one block.
_N_STARTS = 32


class ContrastiveEstimate:
    """The estimated contrastive loss of trajectories with weights on the simplex.

    The expectation over the seeds differs from :func:`contrastive_loss` by at most
    ``sum_i d_i max(0.72 sum_(k != i) W_ik^2, 1.5 / (N - 1)) / (N - 1)``, ``d_i`` being the weighted
    number of neighbours of sample i. The probes are the same for all trajectories, so estimates
    are comparable.

    Parameters
    ----------
    ops : OperatorSet
        Operators. The base views define the neighbours.
    n_steps : int
        Length of the trajectories for which the variance is reduced.
    n_signs : int
        Number of columns of random signs.
    view_weights : (V,) array
        Weights of the base views.
    seed : int
        Seed of the signs.
    n_jobs : int or None
        Number of threads; None for that of `ops`. The result does not depend on it.
    """

    def __init__(
        self,
        ops: OperatorSet,
        n_steps: int,
        *,
        n_signs: int,
        view_weights: NDArray[np.float64],
        seed: int,
        n_jobs: int | None = None,
    ) -> None:
        self._ops, self._view_weights = ops, view_weights
        self._n_threads = n_threads(ops.n_jobs if n_jobs is None else n_jobs)
        self.probes = _core.contrastive_probes(
            ops.native, uniform(ops, n_steps), view_weights, n_signs=n_signs, seed=seed, n_threads=self._n_threads
        )

    def __call__(self, weights: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        """Return the loss and its gradient with respect to the weights."""
        found = _core.estimate_contrastive(
            self._ops.native, weights, self._view_weights, self.probes, n_threads=self._n_threads
        )
        return found.loss, found.gradient


def mean_reach(ops: OperatorSet, n_steps: int) -> float:
    """Return the number of samples that walks of any members reach from a sample, on the average.

    The average is over samples at equal distances in the given order. They are a constant sample,
    so that the way a loss is computed does not depend on a seed.
    """
    starts = np.unique(np.linspace(0, ops.n_samples - 1, _N_STARTS).astype(np.int64))
    block = np.zeros((ops.n_samples, len(starts)), dtype=ops.dtype)
    block[starts, np.arange(len(starts))] = 1.0
    return np.count_nonzero(ops.trajectory(uniform(ops, n_steps)).T @ block) / len(starts)
