"""Eigenvectors and k-means, the last steps of most peers."""

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh
from scipy.sparse.linalg import ArpackNoConvergence, eigsh
from sklearn.cluster import KMeans

# Up to this size a dense decomposition takes less than a second.
DENSE_SAMPLES = 800


def k_means(X: np.ndarray, n_clusters: int, seed: int) -> np.ndarray:
    """Return the labels of the best of ten runs of k-means."""
    return KMeans(n_clusters, n_init=10, random_state=seed).fit(X).labels_


def unit_rows(X: np.ndarray) -> np.ndarray:
    """Divide each row by its length; rows of zeros stay."""
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    return X / np.where(lengths > 0, lengths, 1.0)


def normalise(affinity: Any) -> Any:
    """Return ``D^-1/2 A D^-1/2`` of a dense or sparse affinity; samples without neighbours keep rows of zeros."""
    degrees = np.asarray(affinity.sum(axis=1)).ravel()
    scale = np.where(degrees > 0, 1.0 / np.sqrt(np.where(degrees > 0, degrees, 1.0)), 0.0)
    if sp.issparse(affinity):
        return sp.csr_matrix(sp.diags(scale) @ affinity @ sp.diags(scale))
    return affinity * scale[:, None] * scale


def top_eigenvectors(matrix: Any, k: int) -> np.ndarray:
    """Return the eigenvectors of the k largest eigenvalues of a symmetric matrix, the largest first."""
    n = matrix.shape[0]
    if n > DENSE_SAMPLES and k < n // 4:
        # A fixed start makes the result reproducible. A random one is not orthogonal to any eigenvector.
        start = np.random.default_rng(0).standard_normal(n)
        try:
            values, vectors = eigsh(matrix, k, which="LA", v0=start, ncv=min(n, max(3 * k, 40)), tol=1e-8)
            return vectors[:, np.argsort(-values)]
        except ArpackNoConvergence:
            pass
    dense = matrix.toarray() if sp.issparse(matrix) else matrix
    return eigh(dense, subset_by_index=[n - k, n - 1])[1][:, ::-1]


def spectral_labels(affinity: Any, n_clusters: int, seed: int) -> np.ndarray:
    """Cluster a symmetric affinity: top eigenvectors of ``D^-1/2 A D^-1/2``, rows to unit length, k-means.

    Ng, Jordan, Weiss: "On spectral clustering: analysis and an algorithm", NIPS 2001.
    """
    return k_means(unit_rows(top_eigenvectors(normalise(affinity), n_clusters)), n_clusters, seed)
