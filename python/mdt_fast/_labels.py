"""The final labels: of several starts of k-means, the one whose clusters fit the views best.

Where a coordinate shows no cluster, the start with the smallest inertia may well cut one in two; the views know better.
(AMI of the best of ten starts by Calinski-Harabasz and by inertia, mean trajectory: MSRC 0.82 and 0.77, 100Leaves 0.93
and 0.92, Multi-Feat 0.88 both, Olivetti 0.76 both; one with random weights: 0.77 and 0.79, 0.68 both, 0.88 and 0.87,
0.74 both.)
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import quality as _quality
from ._arguments import RandomStateLike, check_integer
from ._kmeans import KMeansResult, k_means
from ._operators import OperatorSet
from ._scoring import QualityLike
from ._seed import check_seed

# Score of labels, and what turns it so that higher is better.
_JUDGES: dict[str, tuple[Callable[..., float], float]] = {
    "calinski_harabasz": (_quality.calinski_harabasz, 1.0),
    "davies_bouldin": (_quality.davies_bouldin, -1.0),
    "silhouette": (_quality.silhouette, 1.0),
}


@dataclass(frozen=True)
class Labelling:
    """Labels, the centres that they belong to, and how well they fit the views (nan for a single cluster)."""

    labels: NDArray[np.int32]
    centers: NDArray[np.float64]
    score: float


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
) -> Labelling:
    """Cluster coordinates from `n_init` starts and keep the labels with the best score, the first of equals.

    The first start is the one of a search with the same `random_state`. A `quality` that does not judge labels
    (the contrastive loss, None) stands for Calinski-Harabasz.
    """
    seed = check_seed(random_state)
    starts = check_integer("n_init", n_init, minimum=1)
    seeds = [seed, *np.random.default_rng(seed).integers(2**63, size=starts - 1).tolist()]

    def judge(found: KMeansResult) -> float:
        if n_clusters == 1:
            return math.nan
        if callable(quality):
            return float(quality(ops, found.labels, coordinates))
        score, sign = _JUDGES.get(str(quality), _JUDGES["calinski_harabasz"])
        return sign * score(ops, found.labels, view_weights=view_weights, features=features)

    found = [k_means(coordinates, n_clusters, n_init=1, random_state=each, n_jobs=n_jobs) for each in seeds]
    scores = [judge(each) for each in found]
    best = int(np.argmax(scores))
    return Labelling(found[best].labels, found[best].centers, scores[best])
