"""Base classes of the baselines: coordinates of an operator, and clusters on request."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Self

from numpy.typing import NDArray
from sklearn.utils.metaestimators import available_if

from .._clusters.labels import choose_labels
from .._estimators.base import Embedder, InductiveEmbedder
from .._estimators.inputs import refuse_views_as_y
from .._geometry.embedding import Embedding, embed
from .._operators.data_checks import warn_of_data
from .._operators.operator_set import OperatorSet
from .._operators.trajectory import Trajectory
from .._support.arguments import check_integer


def _is_clustering(estimator: Baseline) -> bool:
    return estimator.n_clusters is not None


@dataclass(eq=False, repr=False, kw_only=True)
class Baseline(Embedder):
    """Base class of the baselines.

    A subclass implements ``_coordinates(ops, n_components)``.

    Parameters
    ----------
    n_components : int, default=None
        Number of coordinates. None means `n_clusters`, or 2 if that is None.
    n_clusters : int, default=None
        Number of clusters, found by k-means on the coordinates. None means no clustering.
    n_init : int, default=10
        Number of starts of k-means. The labels with the best score on the views are kept.
    n_neighbors : "log" or int, default="log"
        Number of neighbours. This parameter and the next eight (up to `dtype`) are those of
        :func:`build_operators`; those up to `anisotropy` may be given per view.
    kernel : str or callable, default="gaussian"
        Kernel.
    bandwidth : "max-min", float, array or callable, default="max-min"
        Bandwidth of the kernel.
    symmetrize : {"mean", "max", "min"}, default="mean"
        How the affinities of the two directions are combined.
    neighbors : str, ApproximateNeighbors or graph, default="auto"
        Search of neighbours, or the neighbours.
    metric : str, default="euclidean"
        Distance of two samples.
    anisotropy : float, default=0.0
        Exponent of the density normalisation.
    preset : {None, "published"}, default=None
        "published" follows the code behind the published figures.
    dtype : {None, "float32", "float64"}, default=None
        Type of the elements of the operators.
    view_slices : list or dict of slices, (start, stop) pairs or lists of int, default=None
        Columns of the views in one 2-D array. None means that such an array is one view.
    tol : float, default=1e-3
        Tolerance of the embedding, see :func:`embed`.
    random_state : int, RandomState, Generator or None, default=0
        Seed. The result does not depend on the number of threads.
    n_jobs : int or None, default=None
        Number of threads; None and -1 mean all.
    verbose : bool, default=False
        Accepted for uniformity. No baseline reports progress.

    Attributes
    ----------
    embedding_ : (n_samples, n_components) array
        Coordinates of the samples.
    labels_ : (n_samples,) array of int
        Clusters; only if `n_clusters` is given, like the next two.
    score_ : float
        Calinski-Harabasz score of the clusters on the views, see :mod:`mdt_fast.quality`.
    cluster_centers_ : (n_clusters, n_components) array
        Centres of the clusters.
    operators_ : OperatorSet
        The operators of the views.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> class OneStep(mdt.baselines.Baseline):
    ...     def _coordinates(self, ops, n_components):
    ...         return mdt.embed(ops.trajectory([0]), n_components).coordinates
    >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> OneStep(n_components=2).fit_transform(views).shape
    (150, 2)
    """

    n_components: Any = field(default=None, kw_only=False)
    n_clusters: Any = None
    n_init: int = 10

    def _coordinates(self, ops: OperatorSet, n_components: int) -> NDArray[Any]:
        """Return the coordinates of the samples."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None, *, present: Any = None, batches: Any = None) -> Self:
        """Embed the samples, and cluster them if `n_clusters` is given.

        Parameters
        ----------
        X : list, tuple or dict of 2-D arrays, sparse matrices or DataFrames; or one such array; \
or OperatorSet
            The views. Rows are the same samples in every view; rows of NaN are samples that a view
            lacks, which methods that need a reversible walk refuse. The graph parameters do not
            apply to an OperatorSet.
        y : None, default=None
            Not used.
        present : as for :func:`build_operators`, default=None
            Which samples each view has.
        batches : as for :func:`build_operators`, default=None
            The batch of each sample.

        Returns
        -------
        Baseline
            The estimator.

        Raises
        ------
        TypeError, ValueError
            If a parameter or a view is refused, or the number of views does not suit the method.
        """
        refuse_views_as_y(y)
        clusters = None
        if self.n_clusters is not None:
            clusters = check_integer("n_clusters", self.n_clusters, minimum=1)
        self.operators_ = self._build(X, present, batches)
        warn_of_data(self.operators_)
        if clusters is not None:
            check_integer("n_clusters", clusters, minimum=1, maximum=self.operators_.n_samples)
        components = self.n_components if self.n_components is not None else clusters or 2
        self.embedding_ = self._coordinates(self.operators_, components)
        for name in ("labels_", "cluster_centers_", "score_"):
            # An earlier fit may have clustered.
            self.__dict__.pop(name, None)
        if clusters is not None:
            how = {"n_init": self.n_init, "random_state": self.random_state, "n_jobs": self.n_jobs}
            found = choose_labels(self.operators_, self.embedding_, clusters, **how)
            self.labels_, self.cluster_centers_, self.score_ = found.labels, found.centers, found.score
        return self

    @available_if(_is_clustering)  # type: ignore[untyped-decorator]
    def fit_predict(self, X: Any, y: Any = None) -> NDArray[Any]:
        """Fit and return the clusters of the samples; available if `n_clusters` is given."""
        return self.fit(X, y).labels_


@dataclass(eq=False, repr=False, kw_only=True)
class TrajectoryBaseline(InductiveEmbedder, Baseline):
    """Base class of the baselines whose operator is a trajectory, with `transform` for new samples.

    A subclass implements ``_trajectory(ops)``. Parameters are those of :class:`Baseline`.

    Attributes
    ----------
    trajectory_ : Trajectory
        The trajectory.
    geometry_ : Embedding
        Embedding of the trajectory.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> class Backwards(mdt.baselines.TrajectoryBaseline):
    ...     def _trajectory(self, ops):
    ...         return ops.trajectory(range(ops.n_views))
    >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> Backwards(n_clusters=3).fit_predict(views).shape
    (150,)
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
