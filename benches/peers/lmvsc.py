"""Subspace clustering by anchors.

Kang et al.: "Large-scale multi-view subspace clustering in linear time", AAAI 2020. Each view is
written as ``X = Z A``, where A has m anchors (centres of k-means) and the rows of Z are in the
simplex: ``min |X - Z A|^2 + a |Z|^2``. The left singular vectors of all ``Z D^-1/2`` side by side, D
the column sums of Z, are clustered by k-means.

O(N m^2) time for each view, O(N m) memory.
"""

import numpy as np
from sklearn.cluster import KMeans

from .base import Labels, Views
from .graphs import standardise
from .simplex import project_rows
from .spectral import k_means

# Fixed for all sets, because a user has no classes to tune them by.
ANCHORS = 50
RIDGE = 0.1
STEPS = 300


def _weights(X: np.ndarray, A: np.ndarray) -> np.ndarray:
    """Solve for Z by accelerated projected gradient descent, all rows at once."""
    gram = A @ A.T + RIDGE * np.eye(len(A))
    target = X @ A.T
    step = 1.0 / np.linalg.eigvalsh(gram)[-1]
    Z = np.full((len(X), len(A)), 1.0 / len(A))
    ahead, momentum = Z, 1.0
    for _ in range(STEPS):
        new = project_rows(ahead - step * (ahead @ gram - target))
        following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = new + (momentum - 1) / following * (new - Z)
        Z, momentum = new, following
    return Z


def lmvsc(views: Views, n_clusters: int, seed: int) -> Labels:
    """Cluster the weights of all samples on the anchors of all views."""
    m = min(max(ANCHORS, n_clusters), len(views[0]))
    parts = []
    for view in views:
        X = standardise(view)
        Z = _weights(X, KMeans(m, n_init=1, random_state=seed).fit(X).cluster_centers_)
        sums = Z.sum(axis=0)
        parts.append(Z / np.sqrt(np.where(sums > 0, sums, 1.0)))
    left = np.linalg.svd(np.hstack(parts) / np.sqrt(len(views)), full_matrices=False)[0]
    return k_means(left[:, :n_clusters], n_clusters, seed)
