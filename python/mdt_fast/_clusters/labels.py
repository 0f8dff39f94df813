"""Final labels: of several starts of k-means, the labels with the best score on the views.

If a coordinate does not separate clusters, the start with the smallest inertia may divide a cluster
in two. The score on the views avoids that. (AMI of the best of ten starts by Calinski-Harabasz and
by inertia, mean trajectory: MSRC 0.82 and 0.77, 100Leaves 0.93 and 0.92, Multi-Feat 0.88 both,
Olivetti 0.76 both; one with random weights: 0.77 and 0.79, 0.68 both, 0.88 and 0.87, 0.74 both.)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .. import quality as _quality
from .._operators.operator_set import OperatorSet
from .._support.arguments import LARGEST_STARTS, RandomStateLike, check_integer
from .._support.monitor import ProgressLike, watch
from .._support.seed import check_seed
from .._support.threads import n_threads
from ..quality._arguments import QualityLike, check_normalized_weights, double_features, share_weights
from .k_means import MAX_ITER, TOL, k_means

_SCORES: dict[str, Callable[..., float]] = {
    "calinski_harabasz": _quality.calinski_harabasz,
    "davies_bouldin": lambda *args, **options: -_quality.davies_bouldin(*args, **options),
    "silhouette": _quality.silhouette,
    "persistence": _quality.persistence,
    "information": _quality.information,
}


@dataclass(frozen=True)
class Labelling:
    """Labels, centres of the clusters, and score on the views (nan for one cluster, and for one of each sample)."""

    labels: NDArray[np.int32]
    centers: NDArray[np.float64]
    score: float

    @classmethod
    def of_labels(cls, labels: NDArray[np.int32], coordinates: NDArray[Any], score: float) -> Labelling:
        """Return labels with the mean coordinates of their clusters."""
        sums = np.zeros((int(labels.max()) + 1, coordinates.shape[1]))
        np.add.at(sums, labels, coordinates)
        return cls(labels, sums / np.bincount(labels)[:, np.newaxis], score)


def score_labels(
    ops: OperatorSet,
    labels: NDArray[np.int32],
    coordinates: NDArray[Any],
    *,
    quality: QualityLike,
    view_weights: Any = None,
    features: Any = None,
) -> float:
    """Return the score of labels on the views; larger is better.

    Scores to be minimised are negated. Calinski-Harabasz replaces a `quality` that is no score of
    labels (the contrastive loss, None).
    """
    if callable(quality):
        return float(quality(ops, labels, coordinates))
    score = _SCORES.get(str(quality), _SCORES["calinski_harabasz"])
    given = {} if features is None else {"features": features}
    return score(ops, labels, view_weights=view_weights, **given)


def choose_labels(
    ops: OperatorSet,
    coordinates: NDArray[Any],
    n_clusters: int,
    *,
    n_init: int,
    quality: QualityLike = "calinski_harabasz",
    view_weights: Any = None,
    features: Any = None,
    random_state: RandomStateLike = 0,
    n_jobs: int | None = None,
    progress: ProgressLike = False,
) -> Labelling:
    """Cluster coordinates from `n_init` starts and return the labels with the best score.

    Of equal scores the first is taken. The first start is that of a search with the same
    `random_state`. Scores are those of :func:`score_labels`. After the time limit of the call no start is begun,
    except the first.
    """
    seed = check_seed(random_state)
    starts = check_integer("n_init", n_init, minimum=1, maximum=LARGEST_STARTS)
    if not 1 < n_clusters < len(coordinates):
        only = k_means(coordinates, n_clusters, n_init=1, random_state=seed, n_jobs=n_jobs)
        return Labelling(only.labels, only.centers, math.nan)
    clustering = _core.Clustering(
        n_clusters=n_clusters, n_components=coordinates.shape[1], damped=False, n_init=1, max_iter=MAX_ITER, tol=TOL,
        embedding_tol=0.0, embedding_max_iter=1, seed=seed,
    )  # fmt: skip
    weights = check_normalized_weights(share_weights(ops) if view_weights is None else view_weights, ops.n_views)
    scorer = _core.Scorer(
        ops.native, _score_of(quality, ops), clustering=clustering, view_weights=weights.tolist(),
        features=double_features(features, ops), n_threads=n_threads(n_jobs),
    )  # fmt: skip
    with watch(progress) as monitor:

        def beat(_: Any) -> bool:
            monitor.beat()
            return False

        found = scorer.label(
            np.require(coordinates, ops.dtype, ["C", "A"]),
            seeds=[seed, *np.random.default_rng(seed).integers(2**63, size=starts - 1).tolist()],
            seconds=monitor.share(1.0),
            watch=beat,
        )
    return Labelling(found.labels, found.centers, found.score)


def _score_of(quality: QualityLike, ops: OperatorSet) -> Any:
    """Return the name of a score, or a function of labels and coordinates, for a scorer of the core."""
    if not callable(quality):
        return quality if quality in _SCORES else "calinski_harabasz"
    function = quality
    return lambda labels, coordinates: function(ops, labels, coordinates)
