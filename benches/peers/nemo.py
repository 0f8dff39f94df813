"""NEMO: neighbourhood-based multi-omics clustering of samples that lack views.

Rappoport and Shamir: "NEMO: cancer subtyping by integration of partial multi-omic data",
Bioinformatics 2019, doi:10.1093/bioinformatics/btz058. Written from the formulas of the paper. In
each view, with N(i) the k nearest other samples of i among those that the view has:

    K_ij = exp(-d_ij^2 / (2 s_ij^2)) / s_ij,  s_ij^2 = (m_i + m_j + d_ij^2) / 3,  m_i = mean of d^2 to N(i)
    S_ij = [j in N(i)] K_ij / sum over N(i) of K_i.  +  [i in N(j)] K_ij / sum over N(j) of K_j.

The affinity of two samples is the mean of S over the views that have both. Pairs that no view has
get the mean of all other pairs, as in the authors' program. k is one sixth of the samples of
the view, the authors' default. Spectral clustering follows.

With N samples and V views: O(V N^2 d) time, O(N^2) memory.
"""

import numpy as np

from .base import Labels, Views
from .graphs import squared_distances
from .spectral import spectral_labels

# Samples of the view for each neighbour, NUM.NEIGHBORS.RATIO of the authors' program.
SAMPLES_PER_NEIGHBOUR = 6


def _relative_similarity(view: np.ndarray) -> np.ndarray:
    """Return S of the samples that a view has."""
    squared = squared_distances(view)
    n = len(view)
    k = min(max(round(n / SAMPLES_PER_NEIGHBOUR), 1), n - 1)
    others = squared.copy()
    np.fill_diagonal(others, np.inf)
    nearest = np.argpartition(others, k - 1, axis=1)[:, :k]
    local = np.take_along_axis(squared, nearest, axis=1).mean(axis=1)
    # The width is zero only between samples that have more than k duplicates.
    width = np.maximum((local[:, None] + local + squared) / 3, np.finfo(float).tiny)
    kernel = np.exp(-squared / (2 * width)) / np.sqrt(width)
    values = np.take_along_axis(kernel, nearest, axis=1)
    shares = np.zeros((n, n))
    np.put_along_axis(shares, nearest, values / values.sum(axis=1, keepdims=True), axis=1)
    return shares + shares.T


def nemo(views: Views, n_clusters: int, seed: int) -> Labels:
    """Average the relative similarities over the views that both samples have, and cluster them.

    Samples that a view lacks are rows of NaN.
    """
    n = len(views[0])
    total, counts = np.zeros((n, n)), np.zeros((n, n))
    for view in views:
        has = np.flatnonzero(~np.isnan(view).any(axis=1))
        pairs = np.ix_(has, has)
        total[pairs] += _relative_similarity(view[has])
        counts[pairs] += 1
    affinity = total / np.maximum(counts, 1)
    known = (counts > 0) & ~np.eye(n, dtype=bool)
    affinity[counts == 0] = affinity[known].mean()
    np.fill_diagonal(affinity, 0.0)
    return spectral_labels(affinity, n_clusters, seed)
