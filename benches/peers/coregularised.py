"""Co-regularised spectral clustering, pairwise.

Kumar, Rai, Daumé: "Co-regularized multi-view spectral clustering", NIPS 2011:
``max sum_v tr(U_v^T L_v U_v) + c sum_{v != w} tr(U_v U_v^T U_w U_w^T)``, solved for one U_v at a time.

With N samples, V views and k clusters: O(V k N^2) time for each round, O(V N^2) memory.
"""

import numpy as np

from .base import Labels, Views
from .graphs import gaussian_kernel
from .spectral import k_means, normalise, top_eigenvectors, unit_rows

# Fixed for all sets, because a user has no classes to tune it by.
WEIGHT = 0.05
ROUNDS = 10


def coregularised(views: Views, n_clusters: int, seed: int) -> Labels:
    """Alternate over the views, and cluster the concatenation of the embeddings.

    The kernel is Gaussian with the median distance.
    """
    laplacians = [normalise(gaussian_kernel(view)) for view in views]
    vectors = [top_eigenvectors(L, n_clusters) for L in laplacians]
    for _ in range(ROUNDS):
        for v, L in enumerate(laplacians):
            others = np.hstack([U for w, U in enumerate(vectors) if w != v])
            vectors[v] = top_eigenvectors(L + WEIGHT * others @ others.T, n_clusters)
    return k_means(np.hstack([unit_rows(U) for U in vectors]), n_clusters, seed)
