"""Views, and labels of their samples."""

from __future__ import annotations

import functools

import numpy as np

N_SAMPLES = 12


def good_view(n_samples=N_SAMPLES, n_features=4):
    return np.random.default_rng(5).normal(size=(n_samples, n_features))


@functools.cache
def overlapping_clusters(n, seed=0, widths=(4, 3), n_clusters=3):
    """Read-only views of clusters that overlap, and the cluster of each sample."""
    rng = np.random.default_rng(seed)
    target = np.arange(n) % n_clusters
    views = [2 * rng.normal(size=(n_clusters, d))[target] + rng.normal(size=(n, d)) for d in widths]
    for view in views:
        view.flags.writeable = False
    return views, target


def labels_of(rng, n, k):
    """All of 0 .. k - 1 in random order."""
    return rng.permutation(np.concatenate([np.arange(k), rng.integers(0, k, n - k)]))
