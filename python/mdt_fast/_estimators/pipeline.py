"""The pipeline from operators to coordinates and labels, for estimators and the command line."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from .._clusters.labels import Labelling, choose_labels
from .._clusters.leiden import leiden
from .._clusters.n_clusters import select_n_clusters
from .._fusion.base_weights import default_weights, walk_of_views, weights_of_trajectories
from .._fusion.fused_graph import FusedGraph, fused_graph
from .._geometry.embedding import Embedding, embed
from .._geometry.time import TimeSelection, select_time
from .._operators.operator_set import OperatorSet
from .._operators.trajectory import Trajectory
from .._search.result import SearchResult
from .._search.scoring import CANDIDATE_TOL, Scoring
from .._search.search import watched_search
from .._search.strategies import make_strategy
from .._search.strategies.fixed import Given, Mean
from .._support.arguments import LARGEST_STEPS, check_integer, check_number, is_integer
from .._support.extras import require
from .._support.monitor import Monitor
from .._support.warnings import OperatorWarning
from ..quality import information
from .graphs import is_auto

T = TypeVar("T")

# Time for the embedding and the labels of the winner, in candidates. (At 100,000 samples an embedding takes 1.5
# times as long as a candidate.)
_RESERVE = 1.5

# Called with the results of the choices and of the search, as soon as they are known.
Observer: TypeAlias = Callable[[Any], None]


@dataclass(frozen=True, kw_only=True)
class FitSettings:
    """Settings of the pipeline; the names are those of the estimators and of :func:`search`.

    `n_components` is the number of coordinates; None is the number of clusters. Labels are computed
    if `with_labels`; if `n_clusters` is None they are the communities of the fused graph at a `resolution`.
    """

    strategy: Any
    n_clusters: int | str | None
    n_components: int | None
    with_labels: bool
    resolution: float = 1.0
    t: int | str = "auto"
    quality: Any = "auto"
    view_weights: Any = None
    weighting: str = "uniform"
    max_evaluations: int | None = None
    time_limit: float | None = None
    memory_limit: int | None = None
    checkpoint: Any = None
    tol: float = 1e-3
    n_init: int = 10
    random_state: Any = 0
    n_jobs: int | None = None


@dataclass(frozen=True)
class Fit:
    """What the pipeline computes.

    `geometry` is that of one trajectory, which represents the others if the result is a consensus.
    `labelling` is None without labels, `selection` is None if the diffusion time was given or is
    not used.
    """

    result: SearchResult
    geometry: Embedding
    labelling: Labelling | None
    selection: TimeSelection | None


def fit_operators(ops: OperatorSet, how: FitSettings, monitor: Monitor, observe: Observer | None = None) -> Fit:
    """Choose the diffusion time and the number of clusters, search, embed and label.

    Parameters
    ----------
    ops : OperatorSet
        The operators.
    how : FitSettings
        The settings.
    monitor : Monitor
        Progress and time limit of the fit.
    observe : callable or None, default=None
        Called as ``observe(result)`` with the result of each choice and of the search.
    """

    def seen(result: T) -> T:
        if observe is not None:
            monitor.clear()
            observe(result)
        return result

    strategy, scoring, n_clusters, t = make_strategy(how.strategy), Scoring.of(how.quality), how.n_clusters, how.t
    if is_integer(n_clusters) and int(n_clusters) == 1:
        # Scores of labels need two clusters; the contrastive loss needs none.
        n_clusters, strategy = None, strategy if strategy.finds_trajectory else Mean()
        scoring = replace(scoring, quality="contrastive", features=None)
    by_graph = how.with_labels and how.n_clusters is None
    is_searched = strategy.finds_trajectory
    if by_graph:
        require("igraph", "n_clusters=None")
        check_number("resolution", how.resolution)
        strategy = strategy if is_searched else Mean()
        scoring = replace(scoring, quality="contrastive" if strategy.compares else None, features=None)
    scoring = scoring.with_defaults(tol=CANDIDATE_TOL * check_number("tol", how.tol), n_components=how.n_components)
    selection = None
    if is_auto(t) and strategy.needs_time:
        selection = seen(select_time(ops, n_jobs=how.n_jobs, progress=monitor, time_limit=monitor.share()))
        t = selection.t
    if by_graph and not is_searched:
        # Without labels to compare trajectories by, the weights are those of the fused graph.
        n_steps = check_integer("t", t, minimum=1, limit=LARGEST_STEPS)
        strategy = Given(walk_of_views(ops, default_weights(ops), n_steps))
    if is_auto(n_clusters):
        if ops.n_samples < 3:
            raise ValueError(f"n_clusters: expected a number for {ops.n_samples} samples, got 'auto'")
        chosen = select_n_clusters(
            ops, t=t, random_state=how.random_state, n_jobs=how.n_jobs, progress=monitor, time_limit=monitor.share()
        )
        n_clusters = seen(chosen).n_clusters
    monitor.reserve = _RESERVE
    result = seen(
        watched_search(
            ops, n_clusters, monitor, strategy=strategy, t=t, quality=scoring, view_weights=how.view_weights,
            max_evaluations=how.max_evaluations, memory_limit=how.memory_limit, checkpoint=how.checkpoint,
            random_state=how.random_state, n_jobs=how.n_jobs, is_labelled_later=how.with_labels,
        )
    )  # fmt: skip
    n_labels = result.settings["n_clusters"] or 1
    trajectory = result.trajectory if result.agreement is None else result.agreement.representative
    assert trajectory is not None
    communities = None
    if by_graph:
        with monitor.stage("labels"):
            communities = _communities(ops, result, how)
        n_labels = int(communities.max()) + 1
    # Clusters of a consensus and of a graph do not depend on the coordinates.
    has_labels = result.agreement is not None or by_graph
    # Each sample may be a community of its own.
    n_components = how.n_components or min(n_labels, max(ops.n_samples - 1, 1))
    with monitor.stage("embedding"):
        geometry = _embed(trajectory, n_components, how, has_labels)
    labelling = None
    if result.agreement is not None:
        labelling = Labelling.of_labels(result.agreement.labels, geometry.coordinates, result.score)
    elif communities is not None:
        score = information(ops, communities) if 1 < n_labels < ops.n_samples else math.nan
        labelling = Labelling.of_labels(communities, geometry.coordinates, score)
    elif how.with_labels:
        with monitor.stage("labels"):
            labelling = choose_labels(
                ops,
                geometry.coordinates,
                n_labels,
                n_init=how.n_init,
                quality=Scoring.of(how.quality).quality,
                view_weights=result.settings["view_weights"],
                features=scoring.features,
                random_state=how.random_state,
                n_jobs=how.n_jobs,
                progress=monitor,
            )
        result = _with_labels(result, labelling, monitor)
    return Fit(result, geometry, labelling, selection)


def _with_labels(result: SearchResult, labelling: Labelling, monitor: Monitor) -> SearchResult:
    """Return the result of a search with the labels and the score of the fit, if it has none of its own."""
    if result.labels is not None or result.settings["n_clusters"] is None:
        return result
    if result.quality in ("contrastive", None):
        return replace(result, labels=labelling.labels)
    # The only candidate was embedded and clustered here.
    history = result.history.copy()
    history["score"], history["seconds"] = (
        labelling.score,
        monitor.seconds_of["embedding"] + monitor.seconds_of["labels"],
    )
    return replace(result, labels=labelling.labels, score=labelling.score, history=history)


def graph_of(ops: OperatorSet, result: SearchResult) -> FusedGraph:
    """Return the fused graph of views, which have their weights in the trajectories of a search."""
    return fused_graph(ops, weights=weights_of_trajectories(result.trajectories))


def _communities(ops: OperatorSet, result: SearchResult, how: FitSettings) -> NDArray[np.int32]:
    return leiden(graph_of(ops, result), resolution=how.resolution, random_state=how.random_state)


def _embed(trajectory: Trajectory, n_components: int, how: FitSettings, labelled: bool) -> Embedding:
    with warnings.catch_warnings():
        if labelled:
            # The warning of parts that no step connects matters for clusters of coordinates only.
            warnings.simplefilter("ignore", OperatorWarning)
        return embed(trajectory, n_components, weighting=how.weighting, tol=how.tol, random_state=how.random_state)
