"""Graph-based multi-view clustering.

Wang, Yang, Liu: "GMC: graph-based multi-view clustering", IEEE TKDE 2020 (online 2019):
``min sum_v sum_ij d_ij s_ij + b |S_v|^2 + sum_v w_v |U - S_v|^2 + 2 c tr(F^T L_U F)`` over similarities S_v,
a common graph U with rows in the simplex, and F with ``F^T F = I``, with ``w_v = 1 / (2 |U - S_v|)``. The
clusters are the connected components of U.

O(V N^2) time for each round, apart from the eigenvectors, and O(V N^2) memory.
"""

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import eigsh

from .base import Labels, Views
from .graphs import adaptive_neighbours, squared_distances, standardise
from .simplex import project_rows
from .spectral import k_means

# The number c starts at 1 and is doubled or halved, according to the number of components.
N_NEIGHBORS = 15
START = 1.0
ROUNDS = 30


def _bottom_eigenvectors(U: sp.csr_matrix, k: int) -> np.ndarray:
    """Return the eigenvectors of the k smallest eigenvalues of the Laplacian of U."""
    W = (U + U.T) / 2
    laplacian = sp.csc_matrix(sp.diags(np.asarray(W.sum(axis=1)).ravel()) - W)
    start = np.random.default_rng(0).standard_normal(U.shape[0])
    # The shift is negative because the Laplacian itself is singular.
    values, vectors = eigsh(laplacian, k, sigma=-1e-4, which="LM", v0=start)
    return vectors[:, np.argsort(values)]


def _fuse(graphs: list[sp.csr_matrix], weights: np.ndarray, F: np.ndarray, penalty: float) -> sp.csr_matrix:
    """Return the common graph: rows of the weighted mean, minus the penalty, projected onto the simplex.

    Only pairs that are neighbours in a view may be joined. This keeps U sparse.
    """
    total = weights.sum()
    mean = sp.csr_matrix(sum(w * S for w, S in zip(weights, graphs, strict=True)) / total)
    mean.eliminate_zeros()
    n = mean.shape[0]
    counts = np.diff(mean.indptr)
    rows = np.repeat(np.arange(n), counts)
    places = np.arange(mean.nnz) - np.repeat(mean.indptr[:-1], counts)
    gaps = ((F[rows] - F[mean.indices]) ** 2).sum(axis=1)
    # Padding so low that the projection sets it to zero.
    padded = np.full((n, counts.max()), -1e12)
    padded[rows, places] = mean.data - penalty * gaps / (2 * total)
    projected = project_rows(padded)
    U = sp.csr_matrix((projected[rows, places], (rows, mean.indices)), shape=(n, n))
    U.eliminate_zeros()
    return U


def gmc(views: Views, n_clusters: int, seed: int) -> Labels:
    """Learn the graph of each view, the common graph and the weights in turns.

    Where the components of U never have the requested number, the rows of F are clustered by k-means.
    """
    costs = [squared_distances(standardise(view)) for view in views]
    graphs = [adaptive_neighbours(D, N_NEIGHBORS) for D in costs]
    weights = np.full(len(views), 1.0 / len(views))
    U = sp.csr_matrix(sum(graphs) / len(graphs))
    F = _bottom_eigenvectors(U, n_clusters)
    penalty = START
    for _ in range(ROUNDS):
        # The term w |U - S|^2 adds -2 w u_ij to the cost of a pair; w s_ij^2 only changes the number b.
        graphs = [
            adaptive_neighbours(D - 2 * w * U.toarray(), N_NEIGHBORS) for w, D in zip(weights, costs, strict=True)
        ]
        weights = np.array([1.0 / (2 * max(np.sqrt(((U - S).power(2)).sum()), 1e-8)) for S in graphs])
        U = _fuse(graphs, weights, F, penalty)
        count, labels = connected_components(U, directed=False)
        if count == n_clusters:
            return labels
        if count < n_clusters:
            penalty *= 2
            F = _bottom_eigenvectors(U, n_clusters)
        else:
            # The eigenvectors of too many components are not unique: keep the former ones.
            penalty /= 2
    return k_means(F, n_clusters, seed)
