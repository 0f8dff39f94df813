"""Spectral clustering with weights of the views that follow from the data.

Nie, Li, Li: "Parameter-free auto-weighted multiple graph learning", IJCAI 2016:
``min_F sum_v sqrt(tr(F^T L_v F))`` with ``F^T F = I``. The derivative of the root gives the weights
``a_v = 1 / (2 sqrt(tr(F^T L_v F)))``, and F is the bottom eigenvectors of ``sum_v a_v L_v``.
"""

import numpy as np
import scipy.sparse as sp

from .base import Labels, Views
from .graphs import N_NEIGHBORS, adaptive_neighbours, squared_distances
from .spectral import k_means, normalise, top_eigenvectors

ROUNDS = 30
TOLERANCE = 1e-6


def amgl(views: Views, n_clusters: int, seed: int) -> Labels:
    """Alternate between weights and eigenvectors until the weights are stable.

    The graphs have adaptive neighbours, which have no scale to choose.
    """
    walks = []
    for view in views:
        directed = adaptive_neighbours(squared_distances(view), N_NEIGHBORS)
        walks.append(normalise((directed + directed.T) / 2))
    identity = sp.identity(len(views[0]), format="csr")
    weights = np.full(len(views), 1.0 / len(views))
    for _ in range(ROUNDS):
        # The bottom eigenvectors of sum a_v (I - W_v) are the top ones of sum a_v W_v.
        F = top_eigenvectors(sum(a * W for a, W in zip(weights, walks, strict=True)), n_clusters)
        costs = np.array([np.sum(F * ((identity - W) @ F)) for W in walks])
        # A graph with k components or more has cost zero, so its weight needs a bound.
        new = 1.0 / (2 * np.sqrt(np.maximum(costs, 1e-8)))
        new /= new.sum()
        if np.abs(new - weights).max() < TOLERANCE:
            break
        weights = new
    return k_means(F, n_clusters, seed)
