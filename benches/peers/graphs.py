"""Distances, kernels and neighbour graphs that several peers share."""

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import pdist, squareform
from sklearn.neighbors import kneighbors_graph

N_NEIGHBORS = 10


def standardise(view: np.ndarray) -> np.ndarray:
    """Centre the columns and divide the view by the root of its total variance.

    All views then have the same mean squared distance between samples, and the proportions of the
    columns within a view stay as they are.
    """
    centred = view - view.mean(axis=0)
    total = np.sqrt((centred**2).sum() / len(view))
    return centred / total if total > 0 else centred


def concatenate(views: list[np.ndarray]) -> np.ndarray:
    """Return all standardised views side by side."""
    return np.hstack([standardise(view) for view in views])


def neighbour_graph(view: np.ndarray, n_neighbors: int = N_NEIGHBORS) -> sp.csr_matrix:
    """Return the symmetric KNN graph ``(A + A^T) / 2``, A with ones, each sample among its own neighbours.

    These are the affinities of scikit-learn's ``SpectralClustering(affinity="nearest_neighbors")``.
    """
    directed = kneighbors_graph(view, n_neighbors, include_self=True)
    return sp.csr_matrix(0.5 * (directed + directed.T))


def squared_distances(view: np.ndarray) -> np.ndarray:
    """Return the squared Euclidean distances, exactly zero between equal rows."""
    return squareform(pdist(view, "sqeuclidean"))


def gaussian_kernel(view: np.ndarray) -> np.ndarray:
    """Return ``exp(-d^2 / (2 s^2))`` with s the median distance between two samples."""
    distances = pdist(view, "sqeuclidean")
    scale = np.median(distances)
    kernel = squareform(np.exp(-distances / (2 * (scale if scale > 0 else 1.0))))
    np.fill_diagonal(kernel, 1.0)
    return kernel


def adaptive_neighbours(costs: np.ndarray, n_neighbors: int) -> sp.csr_matrix:
    """Solve ``min sum_j c_ij s_ij + b_i s_ij^2`` over the simplex, with exactly `n_neighbors` non-zeros a row.

    The solution is ``s_ij = (c_i,k+1 - c_ij) / (k c_i,k+1 - sum_{h <= k} c_ih)`` for the k smallest
    costs; b_i is the number that makes k of them positive (Nie, Wang, Huang: "Clustering and
    projected clustering with adaptive neighbors", KDD 2014). The diagonal of `costs` is ignored.
    """
    n = len(costs)
    k = min(n_neighbors, n - 2)
    costs = costs.copy()
    np.fill_diagonal(costs, np.inf)
    nearest = np.argpartition(costs, k, axis=1)[:, : k + 1]
    values = np.take_along_axis(costs, nearest, axis=1)
    order = np.argsort(values, axis=1, kind="stable")
    nearest = np.take_along_axis(nearest, order, axis=1)
    values = np.take_along_axis(values, order, axis=1)
    margin = values[:, k : k + 1] - values[:, :k]
    total = margin.sum(axis=1, keepdims=True)
    # Samples with more than k duplicates have equal costs; any weights on them are optimal.
    weights = np.where(total > 0, margin / np.where(total > 0, total, 1.0), 1.0 / k)
    rows = np.repeat(np.arange(n), k)
    return sp.csr_matrix((weights.ravel(), (rows, nearest[:, :k].ravel())), shape=(n, n))
