"""A dense NumPy reference for what mdt_fast computes: slow, obvious and written from the formulas.

Every function works on full N x N matrices and shares no code with the package. Tests compare against it;
nothing else uses it.
"""

from __future__ import annotations

import math

import numpy as np
import scipy.sparse
from scipy.spatial.distance import cdist


def pairwise_distances(X, metric="euclidean"):
    """All distances between rows of X."""
    X = X.toarray() if scipy.sparse.issparse(X) else X
    X = np.asarray(X, dtype=np.float64)
    if metric == "precomputed":
        return X
    # Squares of 1e300 overflow and those of 1e-300 vanish; multiplying by a power of two changes no digit.
    exponent = int(np.frexp(np.abs(X).max())[1])
    X = np.ldexp(X, -exponent)
    if metric == "euclidean":
        return np.ldexp(cdist(X, X, "euclidean"), exponent)
    if metric == "manhattan":
        return np.ldexp(cdist(X, X, "cityblock"), exponent)
    if metric == "correlation":
        X = X - X.mean(axis=1, keepdims=True)
    elif metric != "cosine":
        raise ValueError(metric)
    # |u - v|^2 / 2 = 1 - u.v for unit vectors, without the cancellation.
    U = X / np.linalg.norm(X, axis=1, keepdims=True)
    return cdist(U, U, "sqeuclidean") / 2


def log_n_neighbors(n_samples, preset=None):
    """How many other points "log" stands for."""
    log = math.log(n_samples)
    n_others = (
        math.floor(log) - 1 if preset == "published" else math.ceil(log)
    )  # the published count includes the point
    return min(max(n_others, 1), n_samples - 1)


def knn(distances, n_neighbors):
    """The n_neighbors nearest other points of each row by (distance, index): indices and distances."""
    n_samples = len(distances)
    indices = np.empty((n_samples, n_neighbors), dtype=np.int32)
    for i in range(n_samples):
        order = np.lexsort((np.arange(n_samples), distances[i]))
        indices[i] = order[order != i][:n_neighbors]
    return indices, np.take_along_axis(distances, indices, axis=1)


def neighbor_mask(indices):
    """mask[i, j]: j is a neighbour of i."""
    mask = np.zeros((len(indices), len(indices)), dtype=bool)
    for i, row in enumerate(indices):
        mask[i, row] = True
    return mask


def nearest_positive(distances):
    """For each point the smallest positive distance to another point; infinity where there is none."""
    distances = np.where(distances > 0, distances, np.inf)
    np.fill_diagonal(distances, np.inf)
    return distances.min(axis=1)


def max_min_bandwidth(distances):
    """max_j min_{i != j, d_ij > 0} d_ij, over the points that have such a distance."""
    nearest = nearest_positive(distances)
    return nearest[np.isfinite(nearest)].max()


def local_scales(distances, mask):
    """s_i of the adaptive kernel: distance to the farthest neighbour, else the nearest positive distance."""
    farthest = np.where(mask, distances, 0.0).max(axis=1)
    return np.where(farthest > 0, farthest, nearest_positive(distances))


def kernel_values(distances, kernel, sigma=None, preset=None, scales=None):
    """Affinities of all pairs. sigma: a number, or one per point, which stands for sqrt(sigma_i sigma_j)."""
    d = distances
    if callable(kernel):
        return kernel(d.ravel()).reshape(d.shape)
    if kernel == "binary":
        return np.ones_like(d)
    if kernel == "adaptive":
        return np.exp(-(d / scales[:, None]) * (d / scales[None, :]))
    if np.ndim(sigma) == 1:
        sigma = np.sqrt(sigma[:, None]) * np.sqrt(sigma[None, :])
    published = preset == "published"
    if kernel == "gaussian":
        return np.exp(-(d / sigma) * d) if published else np.exp(-((d / sigma) ** 2) / 2)
    if kernel == "laplacian":
        return np.exp(-d / sigma)
    if kernel == "correlation":
        return np.exp(-d / (2 * sigma**2)) if published else np.exp(-d / (2 * sigma))
    raise ValueError(kernel)


def symmetrize_affinity(A, how):
    return {"mean": (A + A.T) / 2, "max": np.maximum(A, A.T), "min": np.minimum(A, A.T)}[how]


def anisotropic(K, alpha):
    q = K.sum(axis=1)
    return K / np.outer(q, q) ** alpha


def graph_affinity(
    distances, mask, *, kernel="gaussian", bandwidth="max-min", symmetrize="mean", anisotropy=0.0, preset=None
):
    """Symmetrised affinity of the directed graph `mask`, in which every point is also its own neighbour.

    `distances` may be known beyond the graph (a full matrix), and then the bandwidth sees all of them.
    """
    sigma = max_min_bandwidth(distances) if isinstance(bandwidth, str) else bandwidth
    scales = local_scales(distances, mask) if kernel == "adaptive" else None
    loops = mask | np.eye(len(mask), dtype=bool)
    A = np.where(loops, kernel_values(distances, kernel, sigma, preset, scales), 0.0)
    return anisotropic(symmetrize_affinity(A, symmetrize), anisotropy)


def affinity(X, *, n_neighbors="log", kernel="gaussian", metric="euclidean", preset=None, **graph_options):
    """Affinity of one view."""
    distances = pairwise_distances(X, "correlation" if kernel == "correlation" else metric)
    k = log_n_neighbors(len(distances), preset) if n_neighbors == "log" else n_neighbors
    mask = neighbor_mask(knn(distances, k)[0])
    return graph_affinity(distances, mask, kernel=kernel, preset=preset, **graph_options)


def transition(K):
    """D^-1 K."""
    return K / K.sum(axis=1, keepdims=True)


def operator(X, **options):
    """Transition matrix of one view."""
    return transition(affinity(X, **options))


def cross_distances(X_new, X, metric="euclidean"):
    """Distances from the rows of X_new to the rows of X."""
    stack = [Y.toarray() if scipy.sparse.issparse(Y) else np.asarray(Y, dtype=np.float64) for Y in (X, X_new)]
    return pairwise_distances(np.vstack(stack), metric)[len(stack[0]) :, : len(stack[0])]


def new_rows(
    X, X_new, *, n_neighbors="log", kernel="gaussian", metric="euclidean", preset=None, bandwidth="max-min",
    symmetrize="mean", anisotropy=0.0,
):  # fmt: skip
    """Transition rows of points that coincide with none of X: to the K + 1 nearest, and to those that reach them."""
    metric = "correlation" if kernel == "correlation" else metric
    within = pairwise_distances(X, metric)
    across = cross_distances(X_new, X, metric)
    k = log_n_neighbors(len(within), preset) if n_neighbors == "log" else n_neighbors
    indices, radii = knn(within, k)
    order = np.argsort(across, axis=1, kind="stable")[:, : k + 1]
    near = np.zeros(across.shape, dtype=bool)
    np.put_along_axis(near, order, True, axis=1)
    if kernel == "adaptive":
        own = np.take_along_axis(across, order, axis=1)[:, -1:]
        values = np.exp(-(across / own) * (across / local_scales(within, neighbor_mask(indices))))
    else:
        sigma = max_min_bandwidth(within) if isinstance(bandwidth, str) else bandwidth
        values = kernel_values(across, kernel, sigma, preset)
    forward, backward = np.where(near, values, 0.0), np.where(across <= radii[:, -1], values, 0.0)
    A = {
        "mean": (forward + backward) / 2,
        "max": np.maximum(forward, backward),
        "min": np.minimum(forward, backward),
    }[symmetrize]
    # A point without affinity steps to its nearest point.
    lonely = A.sum(axis=1) == 0
    A[lonely, order[lonely, 0]] = 1.0
    K = graph_affinity(
        within, neighbor_mask(indices), kernel=kernel, bandwidth=bandwidth, symmetrize=symmetrize, preset=preset
    )
    return transition(A / np.outer(A.sum(axis=1), K.sum(axis=1)) ** anisotropy)


def identity(n_samples):
    return np.eye(n_samples)


def uniform(n_samples):
    return np.full((n_samples, n_samples), 1.0 / n_samples)


def teleport(P, alpha=0.85, to="uniform"):
    target = uniform(len(P)) if to == "uniform" else np.linalg.matrix_power(P, to)
    return alpha * P + (1 - alpha) * target


def sequence_product(members, sequence):
    """W_t ... W_1 for the sequence (W_1, ..., W_t): one more step multiplies on the left."""
    W = np.eye(len(members[0]))
    for step in sequence:
        W = members[step] @ W
    return W


def weights_product(members, weights):
    """The same with a convex combination of the members at every step."""
    W = np.eye(len(members[0]))
    for row in weights:
        W = sum(a * P for a, P in zip(row, members, strict=True)) @ W
    return W


def stationary_distribution(W):
    """The left fixed vector that sums to 1, where it is unique: (W^T - I) pi = 0 and sum(pi) = 1."""
    n_samples = len(W)
    system = np.vstack([W.T - np.eye(n_samples), np.ones(n_samples)])
    return np.linalg.lstsq(system, np.append(np.zeros(n_samples), 1.0), rcond=None)[0]


def diffusion_distances(W, rows, weighting="stationary"):
    weights = 1 / stationary_distribution(W) if weighting == "stationary" else np.ones(len(W))
    D = np.empty((len(rows), len(rows)))
    for a, i in enumerate(rows):
        for b, j in enumerate(rows):
            D[a, b] = np.sqrt(np.sum(weights * (W[i] - W[j]) ** 2))
    return D


def contrastive_loss(W, Ps, view_weights=None, rows=None, include_self=False):
    """sum_v w_v sum_i sum_(j in N_v(i)) [log sum_(k != i) exp(W_ik) - W_ij], neighbours the nonzeros of the views."""
    view_weights = [1 / len(Ps)] * len(Ps) if view_weights is None else view_weights
    loss = 0.0
    for i in range(len(W)) if rows is None else rows:
        log_sum = np.log(np.exp(np.delete(W[i], i)).sum())
        for w, P in zip(view_weights, Ps, strict=True):
            for j in np.flatnonzero(P[i]):
                if include_self or j != i:
                    loss += w * (log_sum - W[i, j])
    return loss


def contrastive_gradient(members, weights, Ps, **options):
    """Derivatives by the weights from central differences; the loss is smooth, so a wide step is exact to 1e-8."""
    step, gradient = 1e-4, np.empty_like(weights)
    for place in np.ndindex(weights.shape):
        shift = np.zeros_like(weights)
        shift[place] = step
        above, below = (contrastive_loss(weights_product(members, weights + s), Ps, **options) for s in (shift, -shift))
        gradient[place] = (above - below) / (2 * step)
    return gradient


def contrastive_trace(Ps, view_weights=None):
    """The weighted number of neighbours of each sample, and H of the linear part of the loss."""
    view_weights = [1 / len(Ps)] * len(Ps) if view_weights is None else view_weights
    H = sum(w * (P != 0) for w, P in zip(view_weights, Ps, strict=True)).astype(float)
    np.fill_diagonal(H, 0.0)
    degrees = H.sum(axis=1)
    return degrees, H + np.diag(degrees / (len(H) - 1))


def contrastive_estimate(W, Ps, probes, view_weights=None):
    """sum_i d_i (log(N - 1) + 1 / (N - 1)) - sum_c z_c^T H^T W z_c, with the probes z_c."""
    degrees, H = contrastive_trace(Ps, view_weights)
    n = len(W)
    return degrees.sum() * (np.log(n - 1) + 1 / (n - 1)) - np.sum((H @ probes) * (W @ probes))


def contrastive_remainder(W, Ps, view_weights=None):
    """Bound of the loss minus its linear part."""
    degrees, _ = contrastive_trace(Ps, view_weights)
    squares, others = (W**2).sum(axis=1) - np.diag(W) ** 2, len(W) - 1
    return np.sum(degrees * np.maximum(0.72 * squares, 1.5 / others)) / others


def prune(W, prune_below=0.0, top=None):
    """Drop entries below the threshold, keep the `top` largest of each row, rescale rows to sum 1.

    Ties go to the smaller column, and the largest entry is never dropped.
    """
    pruned = np.zeros_like(W)
    for i, row in enumerate(W):
        by_value = np.lexsort((np.arange(len(row)), -row))
        kept = [j for j in by_value[:top] if row[j] >= prune_below] or [by_value[0]]
        pruned[i, kept] = row[kept]
    return transition(pruned)


def singular_coordinates(A, n_components, drop_first=True):
    """U S and its singular values, without the first pair if `drop_first`."""
    U, s, _ = np.linalg.svd(A)
    kept = slice(int(drop_first), n_components + int(drop_first))
    return U[:, kept] * s[kept], s[kept]


def eigen_coordinates(P, n_components, t=1):
    """Right eigenvectors of unit length times eigenvalues to the power t, and these, by value; the first left out."""
    values, vectors = np.linalg.eig(P)
    kept = np.argsort(-values.real)[1 : n_components + 1]
    powers = values[kept].real ** t
    return vectors[:, kept].real / np.linalg.norm(vectors[:, kept].real, axis=0) * powers, powers


def diffusion_map(P, n_components, t=1):
    """The classical diffusion map: eigenvectors of length 1 under the stationary distribution."""
    coordinates, powers = eigen_coordinates(P, n_components, t)
    pi = stationary_distribution(P)
    return coordinates / np.sqrt(pi @ (coordinates / powers) ** 2), powers


def integrated_product(Ps, times):
    """P_1^(t_1) P_2^(t_2) ... P_V^(t_V); alternating diffusion with every time 1."""
    W = np.eye(len(Ps[0]))
    for P, t in zip(Ps, times, strict=True):
        W = W @ np.linalg.matrix_power(P, t)
    return W


def multiview_walk(Ks):
    """The walk on V N states: K_u K_v between two views, nothing within one."""
    return transition(
        np.block([[Ku @ Kv if u != v else np.zeros_like(Ku) for v, Kv in enumerate(Ks)] for u, Ku in enumerate(Ks)])
    )


def cross_diffusion(Ps, n_steps):
    """The mean of Q_v after steps Q_v <- P_v (mean of the other Q_u) P_v^T of all views at once, from Q_v = P_v."""
    Q = list(Ps)
    for _ in range(n_steps):
        Q = [P @ np.mean(Q[:v] + Q[v + 1 :], axis=0) @ P.T for v, P in enumerate(Ps)]
    return np.mean(Q, axis=0)


def composite_diffusion(P1, P2, sign=1):
    """P_2 P_1^T + P_1 P_2^T, or with sign -1 their difference."""
    return P2 @ P1.T + sign * P1 @ P2.T
