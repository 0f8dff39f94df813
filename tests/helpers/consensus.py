"""Operators for tests of the consensus, and the comparison of two of its results."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

import mdt_fast as mdt
from helpers import searches
from helpers.data import overlapping_clusters
from mdt_fast._search.evaluation import HISTORY_DTYPE
from mdt_fast.strategies import Consensus

K = 3
N = 90


@dataclass(frozen=True)
class Undamped(Consensus):
    """A consensus whose trajectories are clustered as in a search for a single one."""

    damped: ClassVar[bool] = False


def overlapping(n=N, seed=0):
    return overlapping_clusters(n, seed)


@functools.cache
def operators_of(n=N, seed=0, dtype=None, n_neighbors=12):
    """Operators of these views, with enough neighbours to connect every graph."""
    return mdt.build_operators(overlapping(n, seed)[0], n_neighbors=min(n_neighbors, n - 1), dtype=dtype)


@functools.cache
def separate(n=60, std=0.01):
    """Three clusters so far apart that each is a connected component of the graph."""
    blobs = mdt.datasets.make_multiview_blobs(n, n_clusters=K, n_features=3, cluster_std=std, random_state=0)
    return blobs.views, blobs.target


def search(ops, n_clusters=K, *, n=None, **options):
    """The consensus of at most `n` trajectories, as many as by default for None."""
    strategy = Consensus() if n is None else Consensus(trajectories=n)
    return mdt.search(ops, n_clusters, **{"strategy": strategy, "t": 3, "progress": False, **options})


def assert_same(first, second, *, but=()):
    """The same bits, except for the seconds that candidates took."""
    fields = {"strategy", "quality", "t", "stopped", "settings"} - set(but)
    searches.assert_same(first, second, fields=fields)
    for name in ("rows", "labels", "embedding", "confidence"):
        mine, other = (getattr(found.agreement, name) for found in (first, second))
        np.testing.assert_array_equal(other, mine, strict=True, err_msg=name)
    for a, b in zip(first.trajectories, second.trajectories, strict=True):
        np.testing.assert_array_equal(a.weights, b.weights, strict=True)


def assert_valid(found, n, n_clusters=K):
    """Check what holds for every consensus."""
    assert found.trajectory is None
    assert found.strategy == "consensus"
    assert found.n_evaluations == len(found.candidates) == len(found.history)
    assert found.history.dtype == HISTORY_DTYPE
    assert (found.history["parent"] == -1).all()
    assert found.history["depth"].tolist() == [len(c) for c in found.candidates]
    assert np.isfinite(found.history["score"]).all()
    assert found.best == np.argmax(found.history["score"])
    rows = found.agreement.rows
    assert len(rows) == len(found.trajectories) == math.ceil(found.settings["strategy"]["kept"] * found.n_evaluations)
    assert (np.diff(rows) > 0).all()
    assert found.best in rows
    left = np.setdiff1d(np.arange(found.n_evaluations), rows)
    assert not len(left) or found.history["score"][left].max() <= found.history["score"][rows].min()
    for row, trajectory in zip(rows, found.trajectories, strict=True):
        np.testing.assert_allclose(trajectory.weights, found.candidates[row], rtol=1e-12)
        assert trajectory.operators is found.operators
    assert found.labels.shape == (n,)
    assert found.labels.dtype == np.int32
    np.testing.assert_array_equal(found.labels, found.agreement.labels)
    assert set(found.labels.tolist()) <= set(range(n_clusters))
    assert found.agreement.embedding.shape[0] == n
    assert np.isfinite(found.agreement.embedding).all()
    assert found.agreement.confidence.shape == (n,)
    assert (found.agreement.confidence >= 0).all()
    assert (found.agreement.confidence <= 1).all()
