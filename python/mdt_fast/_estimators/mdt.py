"""The estimators: a trajectory searched for, as coordinates (`MDT`) and as clusters (`MDTClustering`)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from inspect import signature
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClusterMixin
from sklearn.metrics import pairwise_distances_argmin

from .._clusters.labels import choose_labels
from .._clusters.new_samples import labels_at
from .._geometry.embedding import WEIGHTINGS, embed
from .._operators.operator_set import OperatorSet
from .._search.consensus import kernel_for
from .._search.result import SearchResult
from .._search.search import search
from .._support.arguments import check_choice, check_flag, check_integer
from .base import InductiveEmbedder, MultiViewEstimator

# Members that can be added to the views' walks by name.
_MEMBERS: dict[str, Callable[[OperatorSet], OperatorSet]] = {
    "mean": OperatorSet.with_mean,
    "identity": OperatorSet.with_identity,
    "uniform": OperatorSet.with_uniform,
    "teleport": OperatorSet.with_teleport,
}
# Strategies with one candidate, which need no score.
_SINGLE = ("random", "convex", "mean")
# Strategies whose answer is no trajectory.
_MANY = ("consensus", "auto")


@dataclass(eq=False, repr=False, kw_only=True)
class _Searched(MultiViewEstimator):
    """An estimator that searches for its trajectory."""

    strategy: Any = "beam"
    t: Any = "auto"
    max_steps: Any = None
    beam_width: int = 2
    quality: Any = "calinski_harabasz"
    view_weights: Any = None
    members: Any = None
    weighting: str = "uniform"
    max_evaluations: Any = None
    time_limit: Any = None
    checkpoint: Any = None
    search_options: Any = None

    def _fit(self, X: Any, n_clusters: int | str | None, quality: Any, n_components: int | None) -> None:
        """Search, and embed what was found."""
        check_choice("weighting", self.weighting, WEIGHTINGS)
        # A strategy that was fitted before may have left what this one does not have.
        for name in ("confidence_", "geometry_", "singular_values_"):
            self.__dict__.pop(name, None)
        strategy = self.strategy
        if n_clusters == 1:
            # Scores of clusters need two of them; the contrastive loss needs none.
            n_clusters, quality = None, "contrastive"
            strategy = "mean" if _is_many(strategy) else strategy
        options = _check_options(self.search_options, self.get_params(deep=False))
        self.operators_ = _with_members(self._build(X), self.members)
        self.search_result_: SearchResult = search(
            self.operators_,
            n_clusters,
            strategy=strategy,
            t=self.t,
            max_steps=self.max_steps,
            beam_width=self.beam_width,
            quality=quality,
            view_weights=self.view_weights,
            max_evaluations=self.max_evaluations,
            time_limit=self.time_limit,
            checkpoint=self.checkpoint,
            tol=self.tol,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
            progress=check_flag("verbose", self.verbose),
            **{"n_components": n_components, **options},
        )
        found = self.search_result_
        self.trajectory_ = found.trajectory
        self.score_ = found.score
        self.search_history_ = found.history
        if found.agreement is not None:
            self.t_ = found.t
            self.embedding_ = found.agreement.embedding
            return
        assert self.trajectory_ is not None
        self.t_ = found.t or len(self.trajectory_)
        self.geometry_ = embed(
            self.trajectory_,
            n_components or found.settings["n_clusters"] or 1,
            weighting=self.weighting,
            tol=self.tol,
            random_state=self.random_state,
        )
        self.embedding_ = self.geometry_.coordinates
        self.singular_values_ = self.geometry_.singular_values


@dataclass(eq=False, repr=False, kw_only=True)
class MDT(InductiveEmbedder, _Searched):
    """Embed samples seen in several views by a multi-view diffusion trajectory.

    The views become random walks; a search finds a product ``W_t ... W_1`` of them; the leading singular vectors of
    that product are the coordinates, so that distances are diffusion distances.

    Parameters
    ----------
    n_components : int
        Number of coordinates.
    strategy : str, word, weights or Trajectory
        As in :func:`search`; "contrastive" fits weights so that neighbours in the views stay neighbours.
    n_clusters : int, optional
        For strategies that compare candidates by the clusters they give ("beam", "direct", ...).
    t : int or "auto"
        Number of steps; "auto": :func:`select_time`.
    max_steps, beam_width, view_weights, max_evaluations, time_limit, checkpoint
        As in :func:`search`.
    quality : str, callable or None
        As in :func:`search`; "auto": Calinski-Harabasz if `n_clusters` is given, else the contrastive loss where
        candidates are compared.
    members : list of {"mean", "identity", "uniform", "teleport"} or int, optional
        Steps beside the views' walks P: their mean, the idle step, a jump to any sample, 0.85 of P and 0.15 of a jump,
        or (an int s) ``P^s``.
    weighting : {"uniform", "stationary"}
        As in :func:`embed`. One view with "stationary" weighting is the classical diffusion map.
    search_options : dict, optional
        Further arguments of :func:`search`: ``{"learning_rate": 0.3}``.
    n_neighbors, kernel, bandwidth, symmetrize, neighbors, metric, anisotropy, preset, dtype
        Of the graphs, as in :func:`build_operators`; the first seven may be given per view.
    view_slices : list or dict of slices, (start, stop) pairs or lists of column numbers, optional
        The views in the columns of one 2-D array. Without it such an array is one view.
    tol : float
        Accuracy of the embedding, see :func:`embed`.
    random_state : int, RandomState, Generator or None
        One seed gives one result at any number of threads.
    n_jobs : int or None
        Threads; None or -1: all.
    verbose : bool
        Whether the search shows its progress.

    Attributes
    ----------
    embedding_ : (n_samples, n_components) array
        Coordinates of the training samples.
    trajectory_ : Trajectory
        What was found.
    t_ : int
        The diffusion time.
    score_ : float
        Score of the trajectory, higher is better; nan where nothing was compared.
    search_history_ : structured array
        Every evaluated candidate.
    search_result_ : SearchResult
        All of the search.
    geometry_ : Embedding
        Coordinates with singular values, residuals, and the functions for new samples.
    singular_values_ : (n_components,) array
        Of the trajectory.
    operators_ : OperatorSet
        The steps it was made of.
    n_views_in_, n_features_in_ : int
        Number of views, and of columns in all of them.
    view_names_ : list of str
        Names of the views.
    feature_names_in_ : array of str
        Names of the columns; only if fitted on one frame.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> views = mdt.datasets.make_helix_b(300).views
    >>> mdt.MDT(n_components=2).fit_transform(views).shape
    (300, 2)
    """

    n_components: int = field(default=2, kw_only=False)
    strategy: Any = "contrastive"
    n_clusters: Any = None
    quality: Any = "auto"
    # Along a curve singular values differ by 1e-5: with a tolerance that is right for clusters it would look tangled.
    tol: float = 1e-6

    def fit(self, X: Any, y: Any = None) -> Self:
        """Search for a trajectory of the views and embed the samples by it.

        Parameters
        ----------
        X : list, tuple or dict of 2-D arrays, sparse matrices or DataFrames; or one such array; or OperatorSet
            The views, rows are the same samples. Operators are taken as they are, whatever the graph parameters.
        y : None
            Not used.
        """
        components = check_integer("n_components", self.n_components, minimum=1)
        if _is_many(self.strategy):
            raise ValueError(
                f"strategy: expected one that finds a single trajectory, got {self.strategy!r}, which gives clusters: "
                "see MDTClustering"
            )
        self._fit(X, self.n_clusters, self._quality(), components)
        return self

    def _quality(self) -> Any:
        if self.quality != "auto":
            return self.quality
        if self.n_clusters is not None:
            return "calinski_harabasz"
        is_single = not isinstance(self.strategy, str) or self.strategy in _SINGLE
        if isinstance(self.search_options, Mapping):
            is_single &= self.search_options.get("n_samples", 1) == 1
        return None if is_single else "contrastive"


@dataclass(eq=False, repr=False, kw_only=True)
class MDTClustering(ClusterMixin, _Searched):  # type: ignore[misc]
    """Cluster samples seen in several views by multi-view diffusion trajectories.

    The views become random walks. By default the clusters are those on which many products ``W_t ... W_1`` of these
    walks agree, the better half of those that were drawn; or a search finds the one product whose clusters fit the
    views best, and k-means on its leading singular vectors gives the labels.

    Parameters
    ----------
    n_clusters : int or "auto"
        Number of clusters; "auto": :func:`select_n_clusters`. (With a single one candidates are compared by the
        contrastive loss.)
    strategy : str, word, weights or Trajectory
        As in :func:`search`; "auto" is "consensus".
    n_components : int, optional
        Coordinates that are clustered, of each member in a consensus; `n_clusters` by default.
    n_init : int
        Starts of k-means for the labels of a single trajectory, of which the best by `quality` is kept; a candidate of
        the search has one (five in a consensus), or ``search_options["n_init"]``.
    t : int or "auto"
        The diffusion time; "auto": :func:`select_time`.
    max_steps, beam_width, quality, view_weights, max_evaluations, time_limit, checkpoint
        As in :func:`search`.
    kernel : "auto" or as in :func:`build_operators`
        Of the graphs. "auto": "adaptive" for a consensus, unless a preset is given, else "gaussian".
    members : list of {"mean", "identity", "uniform", "teleport"} or int, optional
        Steps beside the views' walks P: their mean, the idle step, a jump to any sample, 0.85 of P and 0.15 of a jump,
        or (an int s) ``P^s``.
    weighting : {"uniform", "stationary"}
        As in :func:`embed`, for the final coordinates.
    search_options : dict, optional
        Further arguments of :func:`search`: ``{"n_playouts": 500}``.
    n_neighbors, bandwidth, symmetrize, neighbors, metric, anisotropy, preset, dtype
        Of the graphs, as in :func:`build_operators`; the first six may be given per view.
    view_slices : list or dict of slices, (start, stop) pairs or lists of column numbers, optional
        The views in the columns of one 2-D array. Without it such an array is one view.
    tol : float
        Accuracy of the embedding, see :func:`embed`.
    random_state : int, RandomState, Generator or None
        One seed gives one result at any number of threads.
    n_jobs : int or None
        Threads; None or -1: all.
    verbose : bool
        Whether the search shows its progress.

    Attributes
    ----------
    labels_ : (n_samples,) array of int
        Cluster of each training sample, numbered in order of their first sample.
    n_clusters_ : int
        Their number.
    score_ : float
        How well they fit the views; higher is better.
    confidence_ : (n_samples,) array
        Of a consensus: how much of its cluster the members put together with each sample, from 0 to 1.
    cluster_centers_ : (n_clusters, n_components) array
        Centres of the clusters among the coordinates.
    embedding_ : (n_samples, n_components) array
        Coordinates of the training samples; of a consensus (n_samples, n_clusters), rows of unit length.
    trajectory_ : Trajectory or None
        What was found; None for a consensus.
    geometry_, singular_values_
        As of :class:`MDT`; a consensus has none.
    t_, search_history_, search_result_, operators_
        As of :class:`MDT`.
    n_views_in_, n_features_in_, view_names_, feature_names_in_
        As of :class:`MDT`.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> mdt.MDTClustering(n_clusters=3).fit_predict(views)[:6]
    array([0, 1, 0, 2, 1, 1], dtype=int32)
    """

    n_clusters: Any = field(default=8, kw_only=False)
    strategy: Any = "auto"
    kernel: Any = "auto"
    quality: Any = "auto"
    n_components: Any = None
    n_init: int = 10

    def _kernel(self) -> Any:
        if not isinstance(self.kernel, str) or self.kernel != "auto":
            return self.kernel
        return kernel_for(self.strategy, self.preset)

    def fit(self, X: Any, y: Any = None) -> Self:
        """Search for a trajectory of the views and cluster the samples by it.

        Parameters
        ----------
        X : list, tuple or dict of 2-D arrays, sparse matrices or DataFrames; or one such array; or OperatorSet
            The views, rows are the same samples. Operators are taken as they are, whatever the graph parameters.
        y : None
            Not used.
        """
        check_integer("n_init", self.n_init, minimum=1)
        self._fit(X, self.n_clusters, self.quality, self.n_components)
        agreement = self.search_result_.agreement
        # None for a single cluster.
        self.n_clusters_ = self.search_result_.settings["n_clusters"] or 1
        if agreement is not None:
            self.labels_, self.confidence_ = agreement.labels, agreement.confidence
            sums = np.zeros((self.n_clusters_, self.embedding_.shape[1]))
            np.add.at(sums, self.labels_, self.embedding_)
            self.cluster_centers_ = sums / np.bincount(self.labels_)[:, np.newaxis]
            return self
        found = choose_labels(
            self.operators_,
            self.embedding_,
            self.n_clusters_,
            n_init=self.n_init,
            quality=self.quality,
            view_weights=self.search_result_.settings["view_weights"],
            features=(self.search_options or {}).get("features"),
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )
        self.labels_, self.cluster_centers_, self.score_ = found.labels, found.centers, found.score
        return self

    def predict(self, X: Any) -> NDArray[np.int32]:
        """Return the cluster of each new sample: that of the nearest centre among the coordinates.

        After a consensus it is the one to which the sample's first step most likely leads; a training sample may lie
        between two clusters and go to the other one.

        Parameters
        ----------
        X : as for :meth:`fit`
            The new samples in the same views.
        """
        views = self._new_views(X)
        if self.trajectory_ is None:
            return labels_at(views, self.search_result_.members, self.labels_, n_jobs=self.n_jobs)
        coordinates = self.geometry_.transform(views, n_jobs=self.n_jobs)
        nearest = pairwise_distances_argmin(coordinates.astype(np.float64), self.cluster_centers_)
        return np.asarray(nearest, dtype=np.int32)


def _is_many(strategy: Any) -> bool:
    return isinstance(strategy, str) and strategy in _MANY


def _with_members(ops: OperatorSet, members: Any) -> OperatorSet:
    """Add members by name, and powers by their exponent."""
    if members is None:
        return ops
    if not isinstance(members, (list, tuple)):
        raise TypeError(f"members: expected a list, got {members!r}")
    for member in members:
        if isinstance(member, str):
            ops = _MEMBERS[check_choice("members", member, list(_MEMBERS))](ops)
        else:
            ops = ops.with_powers([check_integer("members", member, minimum=1)])
    return ops


def _check_options(options: Any, own: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return further arguments of a search; those that the estimator has itself are refused."""
    if options is None:
        return {}
    if not isinstance(options, Mapping):
        raise TypeError(f"search_options: expected a dict of arguments of search, got {options!r}")
    known = [name for name in signature(search).parameters if name not in (*own, "ops", "progress") or name == "n_init"]
    for name in options:
        check_choice("search_options", name, known)
    return options
