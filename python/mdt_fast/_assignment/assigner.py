"""What a fitted model says of new samples: labels, coordinates and confidence of one block of rows.

The confidence of a new sample in its cluster C is ``sqrt(a s)``, as that of a training sample
(`_clusters/confidence.py`):

- ``s`` is the probability that a walk stays in C for three moves, in the view where it is largest. The first move is
  the transition row of the new sample, the others are moves between training samples.
- ``a`` is the mean agreement of the training samples of C that the first step reaches; 1 for clusters that are not
  those of a consensus.

Calibration errors of samples that are assigned differ by up to 0.01 from those of the landmarks, areas under the curve
for right against wrong labels by 0.02 (docs/scale.md). The mean confidence of the training samples that the first
step reaches, which is simpler, is up to 0.15 lower.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._clusters.confidence import MOVES, neighbor_support, support_by_view
from .._clusters.new_samples import cluster_functions, nearest_centers, normalized
from .._geometry.embedding import Embedding
from .._graphs.views import View
from .._operators.new_samples import FunctionsOfTrajectory
from .._operators.operator_set import OperatorSet
from .._operators.trajectory import Trajectory


@dataclass(frozen=True, eq=False)
class Assigner:
    """A model, prepared for any number of blocks of new samples.

    Attributes
    ----------
    read : callable
        Returns the checked views of a block.
    operators : OperatorSet
        The operators of the training samples.
    coordinates : FunctionsOfTrajectory
        The embedding as functions.
    memberships : FunctionsOfTrajectory or None
        Indicators of the clusters of a consensus or of communities; None for clusters of k-means.
    centers : (n_clusters, k) array or None
        Centres of k-means; None without.
    labels : (n_training,) array or None
        Clusters of the training samples; None if there are none.
    support : list of (n_training,) arrays
        For each base view the probability that two moves from a training sample stay in its cluster.
    agreement : FunctionsOfTrajectory or None
        The agreement of the training samples in the column of their cluster, 0 in others; None without a consensus.
    """

    read: Callable[[Any], Mapping[str, View]]
    operators: OperatorSet
    coordinates: FunctionsOfTrajectory
    memberships: FunctionsOfTrajectory | None
    centers: NDArray[Any] | None
    labels: NDArray[np.int32] | None
    support: list[NDArray[np.float64]]
    agreement: FunctionsOfTrajectory | None

    @classmethod
    def of(
        cls,
        read: Callable[[Any], Mapping[str, View]],
        geometry: Embedding,
        trajectories: list[Trajectory] | None = None,
        centers: NDArray[Any] | None = None,
        labels: NDArray[np.int32] | None = None,
        confidence: NDArray[np.float64] | None = None,
    ) -> Assigner:
        """Compute what depends on the training samples only."""
        ops = geometry.trajectory.operators
        memberships = agreement = None
        support: list[NDArray[np.float64]] = []
        if labels is not None:
            support = support_by_view(labels, ops, MOVES - 1)
            if trajectories is not None:
                memberships = cluster_functions(trajectories, labels).prepared()
            if trajectories is not None and confidence is not None:
                supported = neighbor_support(labels, ops)
                agreed = np.divide(confidence**2, supported, out=np.zeros(len(labels)), where=supported > 0)
                agreement = cluster_functions(trajectories, labels, agreed).prepared()
        coordinates = FunctionsOfTrajectory(geometry.trajectory, geometry.functions).prepared()
        return cls(read, ops, coordinates, memberships, centers, labels, support, agreement)

    @property
    def columns(self) -> dict[str, tuple[tuple[int, ...], np.dtype[Any]]]:
        """Shape of a row and type of each result."""
        known = self.coordinates.functions
        found: dict[str, tuple[tuple[int, ...], np.dtype[Any]]] = {}
        if self.labels is not None:
            found["labels"] = (), np.dtype(np.int32)
        found["embedding"] = (known.shape[1],), known.dtype
        if self.labels is not None:
            found["confidence"] = (), np.dtype(np.float64)
        return found

    def assign(self, X: Any, n_jobs: int | None = None) -> dict[str, NDArray[Any]]:
        """Return the results of some rows, which do not depend on other rows."""
        rows = self.operators._rows_of(self.read(X), "X", n_jobs=n_jobs)
        coordinates = self.coordinates.at(rows)
        if self.labels is None:
            return {"embedding": coordinates}
        agreed: NDArray[np.float64] | float = 1.0
        if self.memberships is not None:
            shares = self.memberships.at(rows)
            labels = np.asarray(normalized(shares).argmax(axis=1), dtype=np.int32)
            if self.agreement is not None:
                own = np.arange(len(labels)), labels
                agreed = self.agreement.at(rows)[own] / shares[own]
        else:
            assert self.centers is not None
            labels = nearest_centers(coordinates, self.centers)
        stays = np.zeros(len(labels))
        for P, support in zip(rows, self.support, strict=True):
            np.maximum(stays, _within(P, self.labels, labels, support), out=stays)
        # Rounding can exceed 1 by some units in the last place.
        confidence = np.sqrt(np.minimum(agreed * stays, 1.0))
        return {"labels": labels, "embedding": coordinates, "confidence": confidence}

    def digest(self) -> str:
        """Return a digest of everything that results are computed from."""
        digest = hashlib.blake2b(digest_size=16)
        functions = [self.coordinates, self.memberships, self.agreement]
        arrays = [each for f in functions if f is not None for each in (f.trajectory.weights, f.functions)]
        for view in self.operators._training_views:
            if view is not None:
                data = view.data
                arrays += [data.indptr, data.indices, data.data] if sparse.issparse(data) else [data]
                arrays += [view.radii, np.asarray(view.widths)]
        arrays += [each for each in (self.centers, self.labels, *self.support) if each is not None]
        for each in arrays:
            digest.update(repr((each.shape, each.dtype.str)).encode())
            digest.update(np.ascontiguousarray(each).data)
        return digest.hexdigest()


def _within(
    P: sparse.csr_array, training: NDArray[np.int32], labels: NDArray[np.int32], values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the sum of ``p_j values_j`` over the training samples j of the cluster of each row p."""
    owners = np.repeat(np.arange(P.shape[0]), np.diff(P.indptr))
    shares = np.where(training[P.indices] == labels[owners], P.data * values[P.indices], 0.0)
    return np.asarray(np.bincount(owners, weights=shares, minlength=P.shape[0]), dtype=np.float64)
