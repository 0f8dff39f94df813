"""k-means: greedy k-means++ seeding, Lloyd's iteration, the best of several starts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .. import _core
from .._graphs.views import check_matrix
from .._support.arguments import LARGEST_COUNT, LARGEST_STARTS, RandomStateLike, check_integer, check_number
from .._support.seed import check_seed
from .._support.threads import n_threads

# Largest number of iterations of a start, and the tolerance at which it ends earlier.
MAX_ITER = 300
TOL = 1e-4


@dataclass(frozen=True, eq=False)
class KMeansResult:
    """The result of :func:`k_means`.

    Attributes
    ----------
    labels : (N,) array of int32
        Cluster of each sample. Clusters are numbered in the order of their first samples, so equal
        partitions have equal labels.
    centers : (n_clusters, d) array
        Centres of the clusters.
    inertia : float
        Sum of squared distances of the samples to the centres of their clusters.
    n_iter : int
        Number of iterations of the best start.
    converged : bool
        Whether the best start ended before `max_iter`.

    Examples
    --------
    >>> import numpy as np
    >>> import mdt_fast as mdt
    >>> result = mdt.k_means(np.array([[0.0], [0.2], [5.0], [5.2]]), 2, random_state=0)
    >>> result.labels, result.centers, round(result.inertia, 2)
    (array([0, 0, 1, 1], dtype=int32), array([[0.1],
           [5.1]]), 0.04)
    """

    labels: NDArray[np.int32]
    centers: NDArray[np.float64]
    inertia: float
    n_iter: int
    converged: bool


def k_means(
    X: Any,
    n_clusters: int,
    *,
    n_init: int = 10,
    max_iter: int = MAX_ITER,
    tol: float = TOL,
    random_state: RandomStateLike = None,
    n_jobs: int | None = None,
) -> KMeansResult:
    """Cluster the rows of an array by k-means.

    Parameters
    ----------
    X : (N, d) array
        Finite numbers.
    n_clusters : int
        Number of clusters, at most the number of distinct rows. No cluster is empty.
    n_init : int, default=10
        Number of starts. The result is the start with the smallest inertia.
    max_iter : int, default=300
        Largest number of iterations of a start.
    tol : float, default=1e-4
        A start ends when no label changes, or when the sum of squared movements of the centres is
        at most `tol` times the mean variance of the features.
    random_state : int, Generator, RandomState or None, default=None
        Seed. The result does not depend on the number of threads.
    n_jobs : int or None, default=None
        Number of threads; None or -1 for all.

    Returns
    -------
    KMeansResult
        Labels, centres and inertia.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as described, or if the inertia exceeds the range of double precision.

    References
    ----------
    D. Arthur and S. Vassilvitskii, "k-means++: the advantages of careful seeding", Proceedings of
    the 18th ACM-SIAM Symposium on Discrete Algorithms (2007) 1027-1035.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> mdt.k_means([[0.0], [9.0], [0.5], [9.5]], 2, random_state=0).labels
    array([0, 1, 0, 1], dtype=int32)
    """
    k = check_integer("n_clusters", n_clusters, minimum=1)
    settings = {
        "n_init": check_integer("n_init", n_init, minimum=1, maximum=LARGEST_STARTS),
        "max_iter": check_integer("max_iter", max_iter, minimum=1, maximum=LARGEST_COUNT),
    }
    tol = check_number("tol", tol)
    if sparse.issparse(X):
        raise TypeError(f"X: expected a dense array, got {type(X).__name__}; X.toarray() makes one")
    points = check_matrix(X, "X")
    n, d = points.shape
    if n < 1 or d < 1:
        raise ValueError(f"X: expected at least 1 sample and 1 feature, got shape {(n, d)}")
    if k > n:
        raise ValueError(f"n_clusters: expected at most {n}, the number of samples, got {k}")
    seed, threads = check_seed(random_state), n_threads(n_jobs)
    found = _core.k_means(points, n_clusters=k, tol=tol, seed=seed, n_threads=threads, **settings)
    if not np.isfinite(found.inertia):
        got = f"magnitudes up to {np.abs(points).max():.3g}"
        raise ValueError(f"X: expected numbers whose squared distances have a finite sum, got {got}; rescale X")
    return KMeansResult(found.labels, found.centers, found.inertia, found.n_iter, found.converged)
