"""What several clusterings of the same samples agree on, and how sure of each sample they are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .._operators.trajectory import Trajectory
from .._support.threads import n_threads
from .k_means import k_means

# Starts of k-means.
_STARTS = 10
# Tolerance and largest number of iterations of the eigensolver.
_TOLERANCE = 1e-6
_MAX_ITER = 300


@dataclass(frozen=True, eq=False)
class Agreement:
    """Trajectories whose clusters were combined, and what came of it.

    Attributes
    ----------
    members : list of Trajectory
        The trajectories.
    rows : (n_members,) array of int
        Their rows in the history of the search.
    labels : (N,) array of int32
        The clusters.
    embedding : (N, n_clusters) array
        Coordinates, rows of unit length, in which samples are close that many members put together.
    confidence : (N,) array
        For each sample the share of its cluster that a member puts with it, averaged over the members: 1 where all
        members agree.
    """

    members: list[Trajectory]
    rows: NDArray[np.intp]
    labels: NDArray[np.int32]
    embedding: NDArray[np.float64]
    confidence: NDArray[np.float64]


def agree(
    labels: NDArray[np.int32], n_clusters: int, *, seed: int, n_jobs: int | None
) -> tuple[NDArray[np.int32], NDArray[np.float64], NDArray[np.float64]]:
    """Return labels, embedding and confidence (see :class:`Agreement`) of several labellings, one in each row.

    How often any two samples are together would be an N x N matrix. Its leading eigenvectors come from products with
    the labels alone; k-means on them, each row of unit length, gives the clusters.
    """
    vectors = _core.consensus(
        np.ascontiguousarray(labels, dtype=np.uint32),
        n_labels=int(labels.max()) + 1,
        n_components=min(n_clusters, labels.shape[1]),
        tolerance=_TOLERANCE,
        max_iterations=_MAX_ITER,
        seed=seed,
        n_threads=n_threads(n_jobs),
    ).coordinates
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    embedding = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    clusters = k_means(embedding, n_clusters, n_init=_STARTS, random_state=seed, n_jobs=n_jobs).labels
    return clusters, embedding, confidence(labels, clusters)


def confidence(labels: NDArray[np.int32], clusters: NDArray[np.int32]) -> NDArray[np.float64]:
    """Return for each sample the share of its cluster that a row of `labels` puts with it, averaged over the rows."""
    n_clusters = int(clusters.max()) + 1
    sizes = np.bincount(clusters, minlength=n_clusters)
    total = np.zeros(len(clusters))
    for row in labels:
        n_labels = int(row.max()) + 1
        pairs = np.ravel_multi_index((clusters, row), (n_clusters, n_labels))
        together = np.bincount(pairs, minlength=n_clusters * n_labels)
        total += together[pairs] / sizes[clusters]
    return total / len(labels)
