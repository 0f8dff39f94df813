"""The estimators `MDT` (coordinates) and `MDTClustering` (clusters)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_is_fitted

from .._assignment.assign import BLOCK_ROWS, assign_rows
from .._assignment.assigner import Assigner
from .._assignment.result import Assignment
from .._clusters.confidence import neighbor_support
from .._clusters.new_samples import labels_at, memberships_of, nearest_centers
from .._fusion.fused_graph import FusedGraph
from .._geometry.embedding import WEIGHTINGS
from .._graphs.views import sample_labels
from .._operators.build import with_neighbors
from .._operators.data_checks import warn_of_data
from .._operators.imputation import Imputation, impute
from .._operators.operator_set import MAX_POWER, OperatorSet
from .._search.degenerate import is_degenerate
from .._search.scoring import Scoring
from .._search.strategies import make_strategy
from .._support.arguments import check_choice, check_integer
from .._support.monitor import Monitor, watch
from .._support.warnings import DegenerateClustersWarning, warn_user
from .base import InductiveEmbedder, MultiViewEstimator
from .graphs import is_auto, view_parameters
from .inputs import refuse_views_as_y
from .landmarks import Landmarks, reader_of, sources_of
from .pipeline import Fit, FitSettings, fit_operators, graph_of

# Members that can be added to the walks of the views by name.
_MEMBERS: dict[str, Callable[[OperatorSet], OperatorSet]] = {
    "mean": OperatorSet.with_mean,
    "identity": OperatorSet.with_identity,
    "uniform": OperatorSet.with_uniform,
    "teleport": OperatorSet.with_teleport,
}


@dataclass(eq=False, repr=False, kw_only=True)
class SearchEstimator(MultiViewEstimator):
    """An estimator that searches for a trajectory."""

    strategy: Any = "beam"
    n_clusters: Any = None
    t: Any = "auto"
    quality: Any = "auto"
    view_weights: Any = None
    joint: Any = False
    members: Any = None
    weighting: str = "uniform"
    max_evaluations: Any = None
    time_limit: Any = None
    memory_limit: Any = None
    checkpoint: Any = None
    landmarks: Any = None
    landmark_choice: str = "uniform"
    metric: Any = "auto"
    scale: Any = "auto"

    def set_params(self, **params: Any) -> Self:
        """Set parameters; ``strategy__width=3`` sets an option of the strategy.

        A strategy given by name becomes an object with its default options first.
        """
        options = {name: params.pop(name) for name in list(params) if name.startswith("strategy__")}
        super().set_params(**params)
        if options:
            changed = {name.removeprefix("strategy__"): value for name, value in options.items()}
            self.strategy = make_strategy(self.strategy).replace(**changed)
        return self

    @contextmanager
    def _watched(self) -> Iterator[Monitor]:
        """Watch a fit: show its progress, keep its time limit, and warn if that was impossible."""
        with watch(self._shown, self.time_limit) as monitor:
            yield monitor
            monitor.warn_if_late(float(self.search_history_["seconds"].max()))

    def _fit(
        self, X: Any, present: Any, batches: Any, monitor: Monitor, *, quality: Any, with_labels: bool = False
    ) -> Fit:
        """Build the operators, run the pipeline and set the attributes of all searches."""
        check_choice("weighting", self.weighting, WEIGHTINGS)
        # An earlier fit with another strategy may have left attributes that this one does not set.
        for name in ("confidence_", "graph_parameters_", "sample_names_", "landmark_indices_"):
            self.__dict__.pop(name, None)
        with monitor.stage("views"):
            if not isinstance(X, OperatorSet) and (names := sample_labels(X, self.align)) is not None:
                self.sample_names_ = names
        self.operators_ = _with_members(self._build(X, present, batches, monitor), self.members)
        if self.n_clusters is not None and not is_auto(self.n_clusters):
            check_integer("n_clusters", self.n_clusters, minimum=1, maximum=self.operators_.n_samples - 1)
        with monitor.stage("operators"):
            warn_of_data(self.operators_)
        if hasattr(self, "graph_parameters_"):
            # What "auto" decided.
            self.graph_parameters_["joint"] = self.operators_.joint is not None
        own = self.get_params(deep=False)
        shared = {each.name: own[each.name] for each in fields(FitSettings) if each.name in own}
        how = FitSettings(**{**shared, "quality": quality, "with_labels": with_labels})
        found = fit_operators(self.operators_, how, monitor)
        self.search_result_, self.geometry_ = found.result, found.geometry
        self.embedding_, self.singular_values_ = found.geometry.coordinates, found.geometry.singular_values
        self.trajectory_ = found.geometry.trajectory
        self.score_ = found.result.score
        self.search_history_ = found.result.history
        self.t_ = found.result.t or len(self.trajectory_)
        return found

    def assign(
        self, X: Any, out: Any = None, *, block_rows: int = BLOCK_ROWS, client: Any = None, time_limit: Any = None
    ) -> Assignment:
        """Assign samples that need not be in memory, a block of rows at a time.

        The results are those of `predict`, `transform` and the confidence of the labels, whatever the blocks,
        threads and workers are.

        Parameters
        ----------
        X : source, or list, tuple or dict of sources
            The views. A source is an array or memory map, a sparse matrix, an array of Zarr, h5py or Dask, an
            AnnData, the path of a .npy, .zarr, .parquet, .h5, .hdf5 or .h5ad file, an iterator of row blocks, or
            a function that returns one. Rows of NaN are samples that a view lacks.
        out : path or None, default=None
            Where the results are written: a Zarr group (.zarr), a folder of Parquet files (.parquet), or
            a folder of .npy files (a path without ending). A second call with the same arguments goes on from
            the blocks that are written, which ``<out>.manifest.json`` names; it has to be given the same rows.
            None keeps the results in memory, and makes lazy Dask arrays of Dask arrays.
        block_rows : int, default=32768
            Rows of a block.
        client : distributed.Client or None, default=None
            Workers that read, assign and write the blocks. `out` and files of `X` have to be at the same path for
            all of them.
        time_limit : float or None, default=None
            Number of seconds, after which a TimeoutError is raised. Blocks that were written are kept.

        Returns
        -------
        Assignment
            `labels`, `embedding` and `confidence` of all rows, see :class:`Assignment`.

        Examples
        --------
        >>> import mdt_fast as mdt
        >>> views = mdt.datasets.make_helix_b(400).views
        >>> model = mdt.MDT(2, landmarks=200).fit(views)
        >>> model.assign([iter([X[:150], X[150:]]) for X in views])
        Assignment(embedding (400, 2))
        """
        check_is_fitted(self)
        with watch(self._shown, time_limit) as monitor:
            return assign_rows(
                self._assigner(), sources_of(X), monitor, out=out, block_rows=block_rows, client=client,
                n_jobs=self.n_jobs,
            )  # fmt: skip

    def _assigner(self) -> Assigner:
        """Return the fitted model, prepared for blocks of new samples."""
        raise NotImplementedError

    def _assign_others(self, landmarks: Landmarks, X: Any, monitor: Monitor) -> None:
        """Set the arrays of all samples after the fit of the landmarks, which keep their values."""
        if hasattr(self, "sample_names_"):
            self.sample_names_ = sample_labels(X)
        for name, values in landmarks.assign_all(self._assigner(), monitor, self.n_jobs).items():
            values[landmarks.indices] = getattr(self, f"{name}_")
            setattr(self, f"{name}_", values)
        self.landmark_indices_ = landmarks.indices

    def _of_training(self, values: NDArray[Any]) -> NDArray[Any]:
        """Return the values of the samples of the operators among those of all samples."""
        landmarks = getattr(self, "landmark_indices_", None)
        return values if landmarks is None else values[landmarks]

    def fused_graph(self, n_neighbors: int | None = None) -> FusedGraph:
        """Return one sparse graph of all views, for tools that read neighbour graphs.

        Connectivities and distances are symmetric SciPy matrices, see :func:`mdt_fast.fused_graph`. The views
        have the weights that they have in the trajectories of the fit.

        Parameters
        ----------
        n_neighbors : int or None, default=None
            Number of neighbours of each sample in each view; the graph has their union, in both
            directions. None uses the graphs of the fit. For another number the neighbours are searched
            again, with the adaptive kernel.

        Returns
        -------
        FusedGraph

        Examples
        --------
        >>> import mdt_fast as mdt
        >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
        >>> model = mdt.MDTClustering(3).fit(views)
        >>> graph = model.fused_graph()
        >>> graph.connectivities.shape, graph.view_names
        ((150, 150), ['view 0', 'view 1'])
        """
        check_is_fitted(self)
        ops = self.operators_ if n_neighbors is None else with_neighbors(self.operators_, n_neighbors)
        return graph_of(ops, self.search_result_)

    def impute(self, view: int | str) -> Imputation:
        """Return the expected features of the samples that a view lacks.

        A walk along the trajectory ends at samples that have the view; the features are their mean. They are
        in the unit in which they were given, except after a scaling that cannot be undone.

        Parameters
        ----------
        view : int or str
            Number or name of a given view.

        Returns
        -------
        Imputation
            `values` (a row for each sample that the view lacks), `samples` (their numbers), and
            `mass` (the share of the walk that ends at samples with the view, on which a row rests).

        Examples
        --------
        >>> import numpy as np
        >>> import mdt_fast as mdt
        >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
        >>> views[1][:20] = np.nan  # samples that the second view lacks
        >>> model = mdt.MDTClustering(3).fit(views)
        >>> imputed = model.impute(1)
        >>> imputed.values.shape, imputed.samples[:3], bool(imputed.mass.min() > 0.5)
        ((20, 50), array([0, 1, 2]), True)
        """
        check_is_fitted(self)
        return impute(self.trajectory_, view)

    def _graph_parameters(self, n_samples: int) -> dict[str, Any]:
        resolved = view_parameters(self.__dict__).resolve(
            self.strategy,
            preset=self.preset,
            n_samples=n_samples,
            n_clusters=self.n_clusters,
            quality=self.quality,
        )
        # The metric and the scaling of each view are in `metrics_` and `scales_`.
        self.graph_parameters_ = {name: value for name, value in resolved.items() if name not in ("metric", "scale")}
        return resolved


@dataclass(eq=False, repr=False, kw_only=True)
class MDT(InductiveEmbedder, SearchEstimator):
    """Embed samples seen in several views by a multi-view diffusion trajectory.

    Each view becomes a random walk. A search finds a product ``W_t ... W_1`` of these walks. The
    coordinates are the leading singular vectors of the product, scaled by the singular values;
    their distances are diffusion distances.

    Parameters
    ----------
    n_components : int, default=2
        Number of coordinates.
    strategy : str, Strategy, Trajectory, sequence or weights, default="contrastive"
        How the trajectory is searched for, see :func:`search` and :mod:`mdt_fast.strategies`.
        "contrastive" fits weights so that neighbours in the views stay neighbours.
    n_clusters : int, "auto" or None, default=None
        Number of clusters, for strategies that compare candidates by their clusters.
    t : int or "auto", default="auto"
        Diffusion time; "auto" calls :func:`select_time`.
    quality : str, callable, Scoring or None, default="auto"
        As in :func:`search`. "auto" is "calinski_harabasz" if `n_clusters` is given, and otherwise
        the contrastive loss if candidates are compared.
    view_weights : (V,) array, "auto" or None, default=None
        Weight of each view in the score, as in :func:`search`.
    joint : bool or "auto", default=False
        Whether the views together are one more base view, as in :func:`build_operators`. "auto" is
        the default of the strategy: only a consensus adds it.
    members : list of {"mean", "identity", "uniform", "teleport"} or int, or None, default=None
        Members of the operator set beside the walks P of the views: their mean, the identity, the
        jump to any sample, ``0.85 P`` plus 0.15 of that jump, or ``P^s`` for an int s.
    weighting : {"uniform", "stationary"}, default="uniform"
        As in :func:`embed`. One view with "stationary" weighting is the classical diffusion map.
    time_limit : float or None, default=None
        Number of seconds for the whole fit. The diffusion time is chosen among fewer times, the search
        returns its best candidate so far, and fewer starts of k-means are tried. The graphs and one
        candidate are always computed; if they take longer, a :class:`TimeLimitWarning` says so.
    max_evaluations, memory_limit, checkpoint : default=None
        Other limits and checkpoint file, as in :func:`search`.
    landmarks : int or None, default=None
        Number of samples that are fitted; all others are assigned to the result, a block at a time. The
        views may then be files, stores, Dask arrays or functions that return an iterator of row blocks, see
        :meth:`assign`. None fits all samples.
    landmark_choice : {"uniform", "spread", "density"}, default="uniform"
        How landmarks are drawn: with equal probabilities, with a preference for samples far from a first
        sample, or with a preference for sparse regions.
    n_neighbors : "log" or int, default="log"
        Number of neighbours, as in :func:`build_operators`; so are the next parameters up to `dtype`.
        Those up to `scale` may be given per view.
    kernel : str or callable, default="gaussian"
        Kernel.
    bandwidth : "max-min", float, array or callable, default="max-min"
        Bandwidth of the kernel.
    symmetrize : {"mean", "max", "min"}, default="mean"
        How the two directions of an edge are combined.
    neighbors : str, ApproximateNeighbors, graph or transformer, default="auto"
        Source of the neighbours.
    metric : str, default="auto"
        Distance of two samples: cosine for sparse views, counts and term weights, else Euclidean.
    anisotropy : float, default=0.0
        Exponent of the density normalisation.
    scale : str, callable, transformer or None, default="auto"
        What is done with the features first: columns in very different units are divided by their
        standard deviations.
    absent : {"borrow", "stay"}, default="borrow"
        What a step of a view does with a sample that the view lacks.
    zero_rows : {"absent", "error", "keep"}, default="absent"
        What a row of zeros means in a sparse view or one with the cosine metric.
    align : {None, "outer"}, default=None
        "outer" joins data frames of different samples by their row labels.
    preset : {None, "published"}, default=None
        "published" follows the code behind the published figures.
    dtype : {None, "float32", "float64"}, default=None
        Element type of the operators.
    view_slices : list or dict of slices, (start, stop) pairs or lists of columns, default=None
        Columns of each view in a single 2-D array. Without it such an array is one view.
    tol : float, default=1e-6
        Accuracy of the embedding, see :func:`embed`.
    random_state : int, RandomState, Generator or None, default=0
        Seed. One seed gives one result at any number of threads.
    n_jobs : int or None, default=None
        Number of threads; None or -1 is all.
    verbose : bool or callable, default=False
        Whether a line on the standard error shows the stage of the fit and the time, and later the number of new
        samples that are mapped. A callable receives a :class:`Progress` several times a second.

    Attributes
    ----------
    embedding_ : (n_samples, n_components) array
        Coordinates of the training samples.
    trajectory_ : Trajectory
        The trajectory.
    t_ : int
        Diffusion time.
    score_ : float
        Score of the trajectory, higher is better; nan if nothing was compared.
    search_history_ : structured array
        All evaluated candidates.
    search_result_ : SearchResult
        Result of the search.
    geometry_ : Embedding
        Coordinates, singular values, residuals, and the functions for new samples.
    singular_values_ : (n_components,) array
        Singular values of the trajectory.
    operators_ : OperatorSet
        Operators of the views.
    n_views_in_, n_features_in_ : int
        Number of views, and number of columns of all views.
    view_names_ : list of str
        Names of the views.
    feature_names_in_ : array of str
        Names of the columns; only if fitted on one data frame.
    metrics_, scales_ : dict
        Metric of each view, and how its features were scaled (None if they were not).
    sample_names_ : pandas.Index
        Labels of the samples; only if fitted on data frames or a MuData.
    landmark_indices_ : (n_landmarks,) array
        With `landmarks`: numbers of the samples that were fitted, ascending. `embedding_` has all samples;
        `geometry_`, `operators_` and `search_result_` have the landmarks.

    References
    ----------
    G. Debaussart-Joniec and A. Kalogeratos, "Multi-view diffusion geometry using intertwined
    diffusion trajectories", arXiv:2512.01484.

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
    # Singular values along a curve differ by 1e-5. The tolerance for clusters would mix vectors.
    tol: float = 1e-6

    def fit(self, X: Any, y: Any = None, *, present: Any = None, batches: Any = None) -> Self:
        """Search for a trajectory of the views and embed the samples.

        Parameters
        ----------
        X : list, tuple or dict of arrays, sparse matrices or DataFrames; one of these; MuData; OperatorSet
            The views; their rows are the same samples. A view may lack samples: their rows are NaN
            or None. An operator set is used as it is, and the parameters of the graphs have no
            effect.
        y : None, default=None
            Ignored.
        present : (N, V) array, or list, tuple or dict of (N,) arrays of bool, default=None
            True for the samples that each view has, as in :func:`build_operators`.
        batches : (N,) array of int or str, default=None
            The batch of each sample, as in :func:`build_operators`.

        Returns
        -------
        MDT
            The fitted estimator.
        """
        refuse_views_as_y(y)
        check_integer("n_components", self.n_components, minimum=1)
        strategy = make_strategy(self.strategy)
        if not strategy.finds_trajectory:
            raise ValueError(
                f"strategy: expected one that finds a single trajectory, got {self.strategy!r}, which gives clusters: "
                "see MDTClustering"
            )
        scoring = Scoring.of(self.quality)
        if isinstance(scoring.quality, str) and scoring.quality == "auto" and self.n_clusters is None:
            scoring = replace(scoring, quality="contrastive" if strategy.compares else None)
        with self._watched() as monitor:
            landmarks = Landmarks.of(self, X, present, batches, monitor)
            with monitor.limited(None if landmarks is None else landmarks.limit(monitor)):
                self._fit(X if landmarks is None else landmarks.X, present, batches, monitor, quality=scoring)
            if landmarks is not None:
                self._assign_others(landmarks, X, monitor)
        return self

    def _assigner(self) -> Assigner:
        return Assigner.of(reader_of(self), self.geometry_)


@dataclass(eq=False, repr=False, kw_only=True)
class MDTClustering(ClusterMixin, SearchEstimator):  # type: ignore[misc]
    """Cluster samples seen in several views by multi-view diffusion trajectories.

    Each view becomes a random walk, and so do all views together (the joint view). By default many
    random products ``W_t ... W_1`` of these walks are clustered, and the clusters of the best
    quarter are combined. Other strategies search for the one product whose clusters score best on
    the views; its leading singular vectors are then clustered by k-means.

    Parameters
    ----------
    n_clusters : int, "auto" or None, default=8
        Number of clusters; "auto" calls :func:`select_n_clusters`. With None the clusters are the
        communities that :func:`leiden` finds in the fused graph (``pip install 'mdt_fast[leiden]'``).
        For a single cluster candidates are compared by the contrastive loss.
    resolution : float, default=1.0
        With ``n_clusters=None``: a larger number gives more clusters.
    strategy : str, Strategy, Trajectory, sequence or weights, default="auto"
        How trajectories are searched for, see :func:`search` and :mod:`mdt_fast.strategies`. "auto"
        is "consensus".
    n_components : int or None, default=None
        Number of coordinates that are clustered; None is `n_clusters`.
    n_init : int, default=10
        Number of k-means starts for the labels of a single trajectory; the labels with the best
        quality are kept. Candidates of the search have one start, or five in a consensus, unless
        ``quality=Scoring(n_init=...)`` sets the number.
    t : int or "auto", default="auto"
        Diffusion time; "auto" calls :func:`select_time`.
    quality : str, callable, Scoring or None, default="auto"
        As in :func:`search`.
    view_weights : (V,) array, "auto" or None, default=None
        Weight of each view in the score, as in :func:`search`.
    n_neighbors : int, "log" or "auto", default="auto"
        Number of neighbours, as in :func:`build_operators`. "auto" is an eighth of the mean size of a
        cluster, at most 15 and at least ``ceil(ln N)``, for a consensus without a preset; 15 with
        ``n_clusters=None``; and "log" otherwise.
    kernel : str or callable, default="auto"
        Kernel of the graphs, as in :func:`build_operators`. "auto" is "adaptive" for a consensus
        without a preset, and "gaussian" otherwise.
    anisotropy : float or "auto", default="auto"
        Exponent of the density normalisation, as in :func:`build_operators`. "auto" is 1 for a
        consensus without a preset, and 0 otherwise.
    joint : bool or "auto", default="auto"
        Whether the views together are one more base view, as in :func:`build_operators`. "auto" adds
        it for a consensus without a preset, if the views can be joined.
    members, weighting, max_evaluations, time_limit, memory_limit, checkpoint, landmarks, landmark_choice
        As in :class:`MDT`.
    bandwidth, symmetrize, neighbors, metric, scale, absent, zero_rows, align, preset, dtype, view_slices
        As in :class:`MDT`.
    tol : float, default=1e-3
        Accuracy of the embedding, see :func:`embed`.
    random_state, n_jobs, verbose
        As in :class:`MDT`.

    Attributes
    ----------
    labels_ : (n_samples,) array of int
        Cluster of each training sample, numbered in the order of their first samples (landmarks).
    n_clusters_ : int
        Number of clusters.
    score_ : float
        Score of the labels on the views, higher is better.
    confidence_ : (n_samples,) array
        For a consensus, and with ``n_clusters=None``: how clearly the trajectories and the views, or the
        views alone, support the cluster of each sample, from 0 to 1. It is not the probability of a class:
        where clusters are not the classes it is too high. Samples with a low value are more often wrong
        (``docs/choosing.md``). With `landmarks` every fit has it: samples that are assigned have its counterpart for
        new samples, and for clusters of k-means it is the support of the neighbours alone.
    cluster_centers_ : (n_clusters, n_components) array
        Mean coordinates of the clusters.
    embedding_ : (n_samples, n_components) array
        Coordinates of the training samples along `trajectory_`.
    trajectory_ : Trajectory
        The trajectory; for a consensus one that represents the combined trajectories: its steps have
        the mean of their weights, and their mean number.
    graph_parameters_ : dict
        The values of `n_neighbors`, `kernel`, `anisotropy` and `joint` that "auto" stands for; not
        if fitted on an operator set.
    geometry_, singular_values_, t_, search_history_, search_result_, operators_
        As in :class:`MDT`.
    n_views_in_, n_features_in_, view_names_, feature_names_in_, metrics_, scales_, sample_names_, landmark_indices_
        As in :class:`MDT`.

    References
    ----------
    G. Debaussart-Joniec and A. Kalogeratos, "Multi-view diffusion geometry using intertwined
    diffusion trajectories", arXiv:2512.01484.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> mdt.MDTClustering(n_clusters=3).fit_predict(views)[:6]
    array([0, 1, 0, 2, 1, 1], dtype=int32)
    """

    n_clusters: Any = field(default=8, kw_only=False)
    strategy: Any = "auto"
    n_neighbors: Any = "auto"
    kernel: Any = "auto"
    anisotropy: Any = "auto"
    joint: Any = "auto"
    n_components: Any = None
    n_init: int = 10
    resolution: float = 1.0

    def fit(self, X: Any, y: Any = None, *, present: Any = None, batches: Any = None) -> Self:
        """Search for trajectories of the views and cluster the samples.

        Parameters
        ----------
        X : list, tuple or dict of arrays, sparse matrices or DataFrames; one of these; MuData; OperatorSet
            The views; their rows are the same samples. A view may lack samples: their rows are NaN
            or None. An operator set is used as it is, and the parameters of the graphs have no
            effect.
        y : None, default=None
            Ignored.
        present : (N, V) array, or list, tuple or dict of (N,) arrays of bool, default=None
            True for the samples that each view has, as in :func:`build_operators`.
        batches : (N,) array of int or str, default=None
            The batch of each sample, as in :func:`build_operators`.

        Returns
        -------
        MDTClustering
            The fitted estimator.
        """
        refuse_views_as_y(y)
        check_integer("n_init", self.n_init, minimum=1)
        with self._watched() as monitor:
            landmarks = Landmarks.of(self, X, present, batches, monitor)
            with monitor.limited(None if landmarks is None else landmarks.limit(monitor)):
                self._fit_labels(X if landmarks is None else landmarks.X, present, batches, monitor)
            if landmarks is not None:
                if not hasattr(self, "confidence_"):
                    self.confidence_ = neighbor_support(self.labels_, self.operators_)
                self._assign_others(landmarks, X, monitor)
        return self

    def _fit_labels(self, X: Any, present: Any, batches: Any, monitor: Monitor) -> None:
        """Fit some samples and set the attributes of clusters."""
        found = self._fit(X, present, batches, monitor, quality=self.quality, with_labels=True)
        assert found.labelling is not None
        # The settings have None for a single cluster and for communities.
        self.n_clusters_ = found.result.settings["n_clusters"] or len(found.labelling.centers)
        self.labels_, self.cluster_centers_ = found.labelling.labels, found.labelling.centers
        self.score_ = found.labelling.score
        with monitor.stage("labels"):
            if found.result.agreement is not None:
                self.confidence_ = found.result.agreement.confidence
            elif self.n_clusters is None:
                self.confidence_ = neighbor_support(self.labels_, self.operators_)
            # The check may cluster every view.
            if monitor.seconds_left > 0:
                self._warn_of_degenerate_clusters()

    def _assigner(self) -> Assigner:
        labels, own = self._of_training(self.labels_), getattr(self, "confidence_", None)
        confidence = neighbor_support(labels, self.operators_) if own is None else self._of_training(own)
        trajectories = self.search_result_.trajectories if self._has_memberships else None
        return Assigner.of(reader_of(self), self.geometry_, trajectories, self.cluster_centers_, labels, confidence)

    def fit_predict(self, X: Any, y: Any = None, *, present: Any = None, batches: Any = None) -> NDArray[np.int32]:
        """Fit and return the clusters of the training samples."""
        labels: NDArray[np.int32] = self.fit(X, y, present=present, batches=batches).labels_
        return labels

    def _warn_of_degenerate_clusters(self) -> None:
        sizes = np.bincount(self.labels_)
        if not 2 <= len(sizes) < len(self.labels_):
            return
        how = {"t": self.t_, "random_state": self.random_state, "n_jobs": self.n_jobs}
        if is_degenerate(self.operators_, self.labels_, **how):
            share = sizes.max() / sizes.sum()
            warn_user(
                f"one cluster holds {share:.0%} of the samples, although the views support a more even division; "
                "compare other numbers of clusters, and see view_report",
                DegenerateClustersWarning,
            )

    def predict(self, X: Any, *, present: Any = None) -> NDArray[np.int32]:
        """Return the cluster of each new sample; :meth:`assign` reads rows that do not fit into memory.

        It is the cluster with the nearest centre. After a consensus, and with ``n_clusters=None``, it
        is the cluster that the first step of the sample most probably reaches; a training sample between
        two clusters may then be assigned to the other one.

        Parameters
        ----------
        X : as for :meth:`fit`
            The new samples in the same views, or in some of them: a dict may lack views, and a view
            in a list may be None.
        present : as for :func:`build_operators`, default=None
            Which samples each view has.

        Returns
        -------
        (n_new,) array of int32

        Examples
        --------
        >>> import mdt_fast as mdt
        >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
        >>> model = mdt.MDTClustering(3).fit(views)
        >>> bool((model.predict([X[:5] for X in views]) == model.labels_[:5]).all())
        True
        """
        views = self._new_views(X, present)
        if self._has_memberships:
            labels = self._of_training(self.labels_)
            trajectories = self.search_result_.trajectories
            return labels_at(views, trajectories, labels, n_jobs=self.n_jobs, progress=self._shown)
        coordinates = self.geometry_.transform(views, n_jobs=self.n_jobs, progress=self._shown)
        return nearest_centers(coordinates, self.cluster_centers_)

    def memberships(self, X: Any, *, present: Any = None) -> NDArray[np.float64]:
        """Return the membership of each new sample in the clusters, after a consensus or with ``n_clusters=None``.

        It is the probability that the first step of the sample leads to the cluster. The cluster
        with the largest membership is that of :meth:`predict`.

        Parameters
        ----------
        X : as for :meth:`fit`
            The new samples in the same views, or in some of them: a dict may lack views, and a view
            in a list may be None.
        present : as for :func:`build_operators`, default=None
            Which samples each view has.

        Returns
        -------
        (n_new, n_clusters) array
            Values between 0 and 1; rows sum to 1.

        Examples
        --------
        >>> import mdt_fast as mdt
        >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
        >>> model = mdt.MDTClustering(3).fit(views)
        >>> memberships = model.memberships([X[:5] for X in views])
        >>> memberships.shape, bool(abs(memberships.sum(axis=1) - 1).max() < 1e-9)
        ((5, 3), True)
        """
        views = self._new_views(X, present)
        if not self._has_memberships:
            raise ValueError(f"strategy: expected a consensus, which has memberships, got {self.strategy!r}")
        labels = self._of_training(self.labels_)
        trajectories = self.search_result_.trajectories
        return memberships_of(views, trajectories, labels, n_jobs=self.n_jobs, progress=self._shown)

    @property
    def _has_memberships(self) -> bool:
        """Whether clusters are those of a graph or a consensus, not of k-means in the coordinates."""
        return self.search_result_.agreement is not None or self.n_clusters is None

    def remoteness(self, X: Any, *, present: Any = None) -> NDArray[np.float64]:
        """Return how far new samples are from all training samples.

        It is the distance to the nearest training sample over the distance of that sample to the last
        of its own neighbours, in the view where this is largest. Above 1.5 the sample is unlike all
        training samples, and its cluster means little.

        Parameters
        ----------
        X : as for :meth:`fit`
            The new samples in the same views, or in some of them: a dict may lack views, and a view
            in a list may be None.
        present : as for :func:`build_operators`, default=None
            Which samples each view has.

        Returns
        -------
        (n_new,) array

        Examples
        --------
        >>> import mdt_fast as mdt
        >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
        >>> model = mdt.MDTClustering(3).fit(views)
        >>> model.remoteness([X[:2] for X in views])
        array([0., 0.])
        """
        values = self.operators_.remoteness(self._new_views(X, present), n_jobs=self.n_jobs)
        return np.asarray(np.nanmax(values, axis=1))


def _with_members(ops: OperatorSet, members: Any) -> OperatorSet:
    """Add members by name, or powers of the walks by their exponent."""
    if members is None:
        return ops
    if not isinstance(members, (list, tuple)):
        raise TypeError(f"members: expected a list, got {members!r}")
    for member in members:
        if isinstance(member, str):
            ops = _MEMBERS[check_choice("members", member, list(_MEMBERS))](ops)
        else:
            ops = ops.with_powers([check_integer("members", member, minimum=1, maximum=MAX_POWER)])
    return ops
