"""The pipeline from operators to coordinates and labels, for estimators and the command line."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, TypeVar

from .._clusters.labels import Labelling, choose_labels
from .._clusters.n_clusters import select_n_clusters
from .._geometry.embedding import Embedding, embed
from .._geometry.time import TimeSelection, select_time
from .._operators.operator_set import OperatorSet
from .._operators.trajectory import Trajectory
from .._search.result import SearchResult
from .._search.scoring import Scoring
from .._search.search import search
from .._search.strategies import make_strategy
from .._search.strategies.fixed import Mean
from .._support.arguments import is_integer
from .._support.warnings import OperatorWarning
from .graphs import is_auto

T = TypeVar("T")

# Called after each stage with its name, its result and its seconds.
Observer: TypeAlias = Callable[[str, Any, float], None]


@dataclass(frozen=True, kw_only=True)
class FitSettings:
    """Settings of the pipeline; the names are those of the estimators and of :func:`search`.

    `n_components` is the number of coordinates; None is the number of clusters. Labels are computed
    if `with_labels`.
    """

    strategy: Any
    n_clusters: int | str | None
    n_components: int | None
    with_labels: bool
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
    progress: Any = None


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


def fit_operators(ops: OperatorSet, how: FitSettings, observe: Observer | None = None) -> Fit:
    """Choose the diffusion time and the number of clusters, search, embed and label.

    Parameters
    ----------
    ops : OperatorSet
        The operators.
    how : FitSettings
        The settings.
    observe : callable or None, default=None
        Called after each stage as ``observe(name, result, seconds)``.
    """

    def stage(name: str, compute: Callable[[], T]) -> T:
        began = time.perf_counter()
        found = compute()
        if observe is not None:
            observe(name, found, time.perf_counter() - began)
        return found

    strategy, scoring, n_clusters, t = make_strategy(how.strategy), Scoring.of(how.quality), how.n_clusters, how.t
    if is_integer(n_clusters) and int(n_clusters) == 1:
        # Scores of labels need two clusters; the contrastive loss needs none.
        n_clusters, strategy = None, strategy if strategy.finds_trajectory else Mean()
        scoring = replace(scoring, quality="contrastive", features=None)
    scoring = scoring.with_defaults(tol=how.tol, n_components=how.n_components)
    selection = None
    if is_auto(t) and strategy.needs_time:
        selection = stage("diffusion time", lambda: select_time(ops, n_jobs=how.n_jobs))
        t = selection.t
    if is_auto(n_clusters):
        if ops.n_samples < 3:
            raise ValueError(f"n_clusters: expected a number for {ops.n_samples} samples, got 'auto'")
        seeded = {"random_state": how.random_state, "n_jobs": how.n_jobs}
        n_clusters = stage("number of clusters", lambda: select_n_clusters(ops, t=t, **seeded)).n_clusters
    result = stage(
        "search",
        lambda: search(
            ops,
            n_clusters,
            strategy=strategy,
            t=t,
            quality=scoring,
            view_weights=how.view_weights,
            max_evaluations=how.max_evaluations,
            time_limit=how.time_limit,
            memory_limit=how.memory_limit,
            checkpoint=how.checkpoint,
            random_state=how.random_state,
            n_jobs=how.n_jobs,
            progress=how.progress,
        ),
    )
    n_labels = result.settings["n_clusters"] or 1
    trajectory = result.trajectory if result.agreement is None else result.agreement.representative
    assert trajectory is not None
    geometry = stage("embedding", lambda: _embed(trajectory, how.n_components or n_labels, how, result))
    labelling = None
    if result.agreement is not None:
        labelling = Labelling.of_labels(result.agreement.labels, geometry.coordinates, result.score)
    elif how.with_labels:
        labelling = stage(
            "labels",
            lambda: choose_labels(
                ops,
                geometry.coordinates,
                n_labels,
                n_init=how.n_init,
                quality=Scoring.of(how.quality).quality,
                view_weights=result.settings["view_weights"],
                features=scoring.features,
                random_state=how.random_state,
                n_jobs=how.n_jobs,
            ),
        )
    return Fit(result, geometry, labelling, selection)


def _embed(trajectory: Trajectory, n_components: int, how: FitSettings, result: SearchResult) -> Embedding:
    with warnings.catch_warnings():
        if result.agreement is not None:
            # Of parts that no step connects: the clusters of a consensus do not depend on these coordinates.
            warnings.simplefilter("ignore", OperatorWarning)
        return embed(trajectory, n_components, weighting=how.weighting, tol=how.tol, random_state=how.random_state)
