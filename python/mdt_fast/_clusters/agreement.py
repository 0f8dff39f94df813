"""Consensus of several labellings of the same samples.

The co-association ``A_ij`` is the share of the labellings that put samples i and j in one cluster.
Its leading eigenvectors, rows scaled to unit length, are clustered by k-means. ``A`` has N x N
entries and is not formed: a product with it takes two passes over the labels.

References
----------
A. Strehl and J. Ghosh, "Cluster ensembles - a knowledge reuse framework for combining multiple
partitions", Journal of Machine Learning Research 3 (2002) 583-617.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .._fusion.base_weights import mean_weights
from .._operators.trajectory import Trajectory
from .._support.threads import n_threads
from .k_means import k_means

# Starts of k-means.
_STARTS = 10
# Tolerance and largest number of iterations of the eigensolver.
_TOLERANCE = 1e-6
_MAX_ITER = 300


@dataclass(frozen=True, eq=False)
class CombinedLabels:
    """Clusters on which several labellings agree.

    Attributes
    ----------
    labels : (N,) array of int32
        The clusters.
    embedding : (N, n_clusters) array
        Coordinates of the samples, rows of unit length. Samples that many labellings put together
        are close.
    """

    labels: NDArray[np.int32]
    embedding: NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Agreement(CombinedLabels):
    """Clusters on which several trajectories agree.

    Attributes
    ----------
    labels, embedding : array
        The clusters, see :class:`CombinedLabels`.
    confidence : (N,) array
        How clearly the labellings and the views support the cluster of each sample, from 0 to 1. It
        is not the probability of a class; its order within a data set is informative.
    trajectories : list of Trajectory
        The trajectories whose labels were combined.
    rows : (n_trajectories,) array of int
        Their rows in the history of the search.
    """

    confidence: NDArray[np.float64]
    trajectories: list[Trajectory]
    rows: NDArray[np.intp]

    @property
    def representative(self) -> Trajectory:
        """One trajectory in place of all: steps with the mean of their weights, as many as on average."""
        weights = mean_weights(self.trajectories)
        n_steps = round(float(np.mean([len(each) for each in self.trajectories])))
        return self.trajectories[0].operators.trajectory(np.tile(weights / weights.sum(), (max(n_steps, 1), 1)))

    @classmethod
    def of(
        cls,
        trajectories: list[Trajectory],
        rows: NDArray[np.intp],
        combined: CombinedLabels,
        confidence: NDArray[np.float64],
    ) -> Agreement:
        """Return the combined labels of some trajectories."""
        return cls(combined.labels, combined.embedding, confidence, trajectories, rows)


def agree(labels: NDArray[np.int32], n_clusters: int, *, seed: int, n_jobs: int | None) -> CombinedLabels:
    """Combine the rows of `labels`, one labelling of the samples in each."""
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
    return CombinedLabels(clusters, embedding)
