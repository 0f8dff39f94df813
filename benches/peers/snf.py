"""Similarity network fusion, then spectral clustering.

Wang et al.: "Similarity network fusion for aggregating data types on a genomic scale", Nature
Methods 2014. Written from the paper: the package snfpy 0.2.2 does not run with scikit-learn 1.9.

With N samples, V views and T rounds: O(V T K N^2) time, O(V N^2) memory.
"""

import numpy as np
import scipy.sparse as sp

from .base import Labels, Views
from .graphs import squared_distances, standardise
from .spectral import spectral_labels

# The values in the documentation of the R package SNFtool, which gives K 10 to 30, mu 0.3 to 0.8, T 10 to 20.
N_NEIGHBORS = 20
MU = 0.5
ROUNDS = 20


def _affinity(view: np.ndarray, k: int) -> np.ndarray:
    """Return ``exp(-d_ij^2 / (mu e_ij))``, e_ij the mean of d_ij and of both mean neighbour distances."""
    squared = squared_distances(standardise(view))
    distances = np.sqrt(squared)
    local = np.sort(distances, axis=1)[:, 1 : k + 1].mean(axis=1)
    scale = (local[:, None] + local + distances) / 3
    # The scale is zero only between samples that have more than K duplicates.
    return np.exp(-squared / np.maximum(MU * scale, np.finfo(float).tiny))


def _full(weights: np.ndarray) -> np.ndarray:
    """Return P: off the diagonal half of the row's share, on the diagonal one half."""
    weights = weights.copy()
    np.fill_diagonal(weights, 0.0)
    totals = weights.sum(axis=1, keepdims=True)
    P = weights / (2 * np.where(totals > 0, totals, 1.0))
    np.fill_diagonal(P, 0.5)
    return P


def _local(weights: np.ndarray, k: int) -> sp.csr_matrix:
    """Return S: the shares of the K most similar other samples."""
    n = len(weights)
    others = weights.copy()
    np.fill_diagonal(others, -1.0)
    nearest = np.argpartition(-others, k - 1, axis=1)[:, :k]
    values = np.take_along_axis(weights, nearest, axis=1)
    totals = values.sum(axis=1, keepdims=True)
    values = np.where(totals > 0, values / np.where(totals > 0, totals, 1.0), 1.0 / k)
    return sp.csr_matrix((values.ravel(), (np.repeat(np.arange(n), k), nearest.ravel())), shape=(n, n))


def snf(views: Views, n_clusters: int, seed: int) -> Labels:
    """Diffuse each view's similarities through the mean of the other views', and cluster the mean."""
    k = min(N_NEIGHBORS, len(views[0]) - 1)
    weights = [_affinity(view, k) for view in views]
    fused = [_full(W) for W in weights]
    local = [_local(W, k) for W in weights]
    for _ in range(ROUNDS if len(views) > 1 else 0):
        total = sum(fused)
        fused = [
            # S M S^T, with the sparse factor on the left in both products.
            (S @ (S @ ((total - P) / (len(views) - 1))).T).T
            for S, P in zip(local, fused, strict=True)
        ]
        fused = [_full((P + P.T) / 2) for P in fused]
    mean = sum(fused) / len(fused)
    return spectral_labels((mean + mean.T) / 2, n_clusters, seed)
