"""Gaussian clusters in several views, with noise and merged clusters that differ between views.

Merged clusters share one centre in a view. The merged pairs of a view are one round of a
round-robin schedule of the clusters. Two consecutive views therefore never merge the same pair, and
the views together separate all clusters although no single view does.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._support.arguments import (
    LARGEST_SAMPLES,
    RandomStateLike,
    check_generator,
    check_integer,
    check_number,
    check_per_view,
)
from ._bunch import make_bunch
from ._types import LabelArray


def make_multiview_blobs(
    n_samples: int = 1000,
    *,
    n_views: int = 2,
    n_clusters: int = 10,
    n_features: int | Sequence[int] = 50,
    cluster_std: float | Sequence[float] = 1.0,
    noise: float | Sequence[float] = 0.0,
    n_merged: int | Sequence[int] = 0,
    center_box: tuple[float, float] = (-10.0, 10.0),
    random_state: RandomStateLike = None,
) -> Any:
    """Make Gaussian clusters in several views.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of samples, at least `n_clusters`. Cluster sizes differ by at most one.
    n_views : int, default=2
        Number of views.
    n_clusters : int, default=10
        Number of clusters.
    n_features : int or sequence of int, default=50
        Number of columns of all views, or of each view.
    cluster_std : float or sequence of float, default=1.0
        Standard deviation about the centre in all views, or in each view.
    noise : float or sequence of float, default=0.0
        Probability that the centre of a sample in a view is that of a random cluster, in all views
        or in each view. Draws are independent between views.
    n_merged : int or sequence of int, default=0
        Number of disjoint pairs of clusters that share a centre, in all views or in each view.
        Views merge different pairs. Merging needs at least three clusters and two views; otherwise
        no view would separate the merged clusters.
    center_box : tuple of two floats, default=(-10.0, 10.0)
        Range of the centres, which are uniform in each coordinate.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None, default=None
        Seed. The centres do not depend on the number of samples.

    Returns
    -------
    sklearn.utils.Bunch
        views (arrays of shape (n_samples, n_features)), target (the cluster of each sample),
        view_names, DESCR, and cluster_groups (shape (n_views, n_clusters)): clusters with the same
        number in a row share a centre in that view.

    Raises
    ------
    TypeError, ValueError
        If an argument has a wrong type, length or range.

    Examples
    --------
    >>> from mdt_fast.datasets import make_multiview_blobs
    >>> blobs = make_multiview_blobs(60, n_clusters=4, n_merged=1, random_state=0)
    >>> [view.shape for view in blobs.views]
    [(60, 50), (60, 50)]
    >>> blobs.cluster_groups.tolist()
    [[0, 1, 2, 0], [0, 1, 0, 3]]
    """
    k = check_integer("n_clusters", n_clusters, minimum=1)
    n = check_integer("n_samples", n_samples, minimum=k, limit=LARGEST_SAMPLES)
    v = check_integer("n_views", n_views, minimum=1)
    widths = check_per_view("n_features", n_features, v, lambda name, x: check_integer(name, x, minimum=1))
    stds = check_per_view("cluster_std", cluster_std, v, lambda name, x: check_number(name, x))
    misplaced = check_per_view("noise", noise, v, lambda name, x: check_number(name, x, maximum=1.0))
    merged = check_per_view("n_merged", n_merged, v, lambda name, x: check_integer(name, x, minimum=0, maximum=k // 2))
    low, high = _check_box(center_box)
    if any(merged) and (k < 3 or v < 2):
        raise ValueError(
            f"n_merged: expected 0 with fewer than 3 clusters or 2 views, got {n_merged!r} "
            f"with n_clusters={k} and n_views={v}"
        )
    rng = check_generator(random_state)

    # Centres are drawn first, so that they do not depend on the number of samples.
    all_centers = [rng.uniform(low, high, (k, width)) for width in widths]
    target = rng.permutation(np.arange(n) % k).astype(np.intp)
    groups = np.array([_merge(k, view, pairs) for view, pairs in enumerate(merged)], dtype=np.intp)
    views = []
    for group, centers, std, probability in zip(groups, all_centers, stds, misplaced, strict=True):
        shown = np.where(rng.random(n) < probability, rng.integers(k, size=n), target)
        views.append(centers[group[shown]] + std * rng.standard_normal((n, centers.shape[1])))
    description = (
        f"Planted clusters: {n} samples, {k} clusters, {v} views of {widths} columns, standard "
        f"deviations {stds}, probability of a wrong centre {misplaced}, merged pairs {merged}."
    )
    names = [f"view {view}" for view in range(v)]
    return make_bunch(views, target, names, description, cluster_groups=groups)


def _check_box(center_box: object) -> tuple[float, float]:
    if not isinstance(center_box, (tuple, list)) or len(center_box) != 2:
        raise ValueError(f"center_box: expected two numbers (low, high), got {center_box!r}")
    low, high = (check_number("center_box", bound, minimum=-np.inf) for bound in center_box)
    if not low < high:
        raise ValueError(f"center_box: expected low < high, got {center_box!r}")
    return low, high


def _merge(n_clusters: int, round_number: int, n_pairs: int) -> LabelArray:
    """Return the group of each cluster after merging the first pairs of one round-robin round.

    The circle method: cluster 0 keeps its place, the others move by one place each round, and
    opposite places are paired. If the number of clusters is odd, a dummy makes it even, and the
    cluster paired with the dummy is not merged.
    """
    n_places = n_clusters + n_clusters % 2
    places = [0, *np.roll(np.arange(1, n_places), round_number).tolist()]
    pairs = [sorted((places[i], places[-1 - i])) for i in range(n_places // 2)]
    real = [(first, second) for first, second in pairs if second < n_clusters]
    group = np.arange(n_clusters, dtype=np.intp)
    for first, second in real[:n_pairs]:
        group[second] = group[first]
    return group
