"""The clusters of single views, and of the mean of some views, as a consensus labels a trajectory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from .._operators.operator_set import OperatorSet
from .._support.threads import n_threads
from .scoring import Scoring, ScoringPlan
from .strategies.consensus import Consensus


def own_clusters(
    ops: OperatorSet,
    groups: Sequence[Sequence[int]],
    n_clusters: int,
    *,
    steps: int,
    seed: int,
    n_jobs: int | None,
) -> list[NDArray[np.int32]]:
    """Cluster by the mean walk of each group of base views.

    Parameters
    ----------
    ops : OperatorSet
        Operators.
    groups : sequence of sequences of int
        Indices of base views.
    n_clusters : int
        Number of clusters.
    steps : int
        Number of steps.
    seed : int
        Seed.
    n_jobs : int or None
        Number of threads; None is that of the operators.

    Returns
    -------
    list of (N,) arrays of int32
        The labels of each group.
    """
    candidates = []
    for views in groups:
        weights = np.zeros((steps, len(ops)))
        weights[:, list(views)] = 1 / len(views)
        candidates.append(weights)
    scoring = Scoring("information")
    plan = ScoringPlan.check(scoring, Consensus(), ops, n_clusters, None)
    threads = n_threads(ops.n_jobs if n_jobs is None else n_jobs)
    scorer = plan.scorer(ops, seed, threads)
    scored = scorer.score(candidates, with_labels=True, seconds=None, watch=lambda _: False).candidates
    return [each.labels for each in scored if each is not None and each.labels is not None]
