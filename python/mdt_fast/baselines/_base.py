"""What all baselines share: coordinates of their operator, and clusters if a number of them is asked for."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

from .._clusters.labels import choose_labels
from .._estimators.base import Embedder, InductiveEmbedder
from .._geometry.embedding import Embedding, embed
from .._operators.operator_set import OperatorSet
from .._operators.trajectory import Trajectory
from .._support.arguments import check_integer


def _is_clustering(estimator: Baseline) -> bool:
    return estimator.n_clusters is not None


@dataclass(eq=False, repr=False, kw_only=True)
class Baseline(Embedder):
    """What all baselines have; a class of your own derives from it and gives ``_coordinates(ops, n_components)``.

    Parameters
    ----------
    n_components : int, optional
        Number of coordinates; by default `n_clusters`, or 2 without.
    n_clusters : int, optional
        Cluster the samples too, by k-means on the coordinates.
    n_init : int
        Starts of k-means; the labels that fit the views best are kept.
    n_neighbors, kernel, bandwidth, symmetrize, neighbors, metric, anisotropy, preset, dtype
        Of the graphs, as in :func:`build_operators`; the first seven may be given per view.
    view_slices, tol, random_state, n_jobs, verbose
        As of :class:`MDT`.

    Attributes
    ----------
    embedding_ : (n_samples, n_components) array
        Coordinates of the samples.
    labels_ : (n_samples,) array of int
        Clusters, with `n_clusters`.
    score_ : float
        How well they fit the views: Calinski-Harabasz, as in :mod:`mdt_fast.quality`.
    cluster_centers_ : (n_clusters, n_components) array
        Centres of the clusters.
    operators_ : OperatorSet
        The walks of the views.
    """

    n_components: Any = field(default=None, kw_only=False)
    n_clusters: Any = None
    n_init: int = 10

    def _coordinates(self, ops: OperatorSet, n_components: int) -> NDArray[Any]:
        """Return the coordinates of the samples."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None) -> Self:
        """Embed the samples, and cluster them if `n_clusters` is given.

        Parameters
        ----------
        X : list, tuple or dict of 2-D arrays, sparse matrices or DataFrames; or one such array; or OperatorSet
            The views, rows are the same samples. Operators are taken as they are, whatever the graph parameters.
        y : None
            Not used.
        """
        clusters = None
        if self.n_clusters is not None:
            clusters = check_integer("n_clusters", self.n_clusters, minimum=1)
        self.operators_ = self._build(X)
        components = self.n_components if self.n_components is not None else clusters or 2
        self.embedding_ = self._coordinates(self.operators_, components)
        for name in ("labels_", "cluster_centers_", "score_"):
            # From an earlier fit that clustered.
            self.__dict__.pop(name, None)
        if clusters is not None:
            how = {"n_init": self.n_init, "random_state": self.random_state, "n_jobs": self.n_jobs}
            found = choose_labels(self.operators_, self.embedding_, clusters, **how)
            self.labels_, self.cluster_centers_, self.score_ = found.labels, found.centers, found.score
        return self

    @available_if(_is_clustering)  # type: ignore[untyped-decorator]
    def fit_predict(self, X: Any, y: Any = None) -> NDArray[Any]:
        """Fit and return the clusters of the samples; there when `n_clusters` is given."""
        return self.fit(X).labels_


@dataclass(eq=False, repr=False, kw_only=True)
class TrajectoryBaseline(InductiveEmbedder, Baseline):
    """A baseline whose operator is a trajectory, so that new samples have coordinates too.

    A class of your own gives ``_trajectory(ops)``.
    """

    def _trajectory(self, ops: OperatorSet) -> Trajectory:
        """Return the trajectory."""
        raise NotImplementedError

    def _embed(self, W: Trajectory, n_components: int) -> Embedding:
        return embed(W, n_components, tol=self.tol, random_state=self.random_state)

    def _coordinates(self, ops: OperatorSet, n_components: int) -> NDArray[Any]:
        self.trajectory_ = self._trajectory(ops)
        self.geometry_ = self._embed(self.trajectory_, n_components)
        return self.geometry_.coordinates
