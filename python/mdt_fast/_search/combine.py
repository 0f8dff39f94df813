"""The consensus of the best trajectories of a finished search."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from .._clusters.agreement import Agreement, agree
from .._clusters.confidence import confidence
from .._support.arguments import check_integer
from .._support.threads import n_threads
from .scoring import Scoring, ScoringPlan
from .strategies.fixed import Mean

if TYPE_CHECKING:
    from .result import SearchResult


def combine_best(result: SearchResult, n_trajectories: int, n_jobs: int | None) -> Agreement:
    """Combine the clusters of the best evaluated trajectories, the first among equals."""
    count = check_integer("n_trajectories", n_trajectories, minimum=1)
    settings, ops = result.settings, result.operators
    if settings["n_clusters"] is None:
        raise ValueError("result: expected a search for clusters, got one without n_clusters")
    if not np.isfinite(result.history["score"]).all():
        raise ValueError("result: expected a search that compared candidates, got scores that are not finite")
    scoring = Scoring("information", None, settings["n_components"], settings["n_init"], settings["tol"])
    plan = ScoringPlan.check(scoring, Mean(), ops, settings["n_clusters"], settings["view_weights"])
    jobs, seed = ops.n_jobs if n_jobs is None else n_jobs, settings["random_state"]
    rows = np.sort(np.argsort(-result.history["score"], kind="stable")[:count])
    trajectories = [ops.trajectory(result.candidates[row]) for row in rows]
    scorer = plan.scorer(ops, seed, n_threads(jobs))
    weights = [trajectory.weights for trajectory in trajectories]
    batch = scorer.score(weights, with_labels=True, seconds=None, watch=lambda _: False)
    labels = np.stack([each.labels for each in batch.candidates if each is not None and each.labels is not None])
    combined = agree(labels, settings["n_clusters"], seed=seed, n_jobs=jobs)
    return Agreement.of(trajectories, rows, combined, confidence(labels, None, combined.labels, ops))
