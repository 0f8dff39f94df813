"""Small searches, their dense counterparts, and the comparison of two results."""

from __future__ import annotations

import functools
import itertools
import json
import time

import numpy as np
import pytest

import mdt_fast as mdt
from helpers.data import overlapping_clusters
from mdt_fast.strategies import (
    CMA,
    MCTS,
    Beam,
    Contrastive,
    Direct,
    EpsilonGreedy,
    Exhaustive,
    Greedy,
    RandomSequences,
    RandomWeights,
)

K = 3
SEQUENCES = ["random", "beam", "greedy", "epsilon-greedy", "mcts", "exhaustive"]
WEIGHTS = ["convex", "direct", "cma", "contrastive"]
COLUMNS = ("parent", "depth", "score")
# Small searches that are longer than the few evaluations that tests cut them to.
SEARCHES = {
    "random": {"strategy": RandomSequences(n=10), "t": 5},
    "beam": {"strategy": Beam(max_steps=4)},
    "greedy": {"strategy": Greedy(max_steps=6)},
    "epsilon-greedy": {"strategy": EpsilonGreedy(epsilon=0.5, max_steps=6)},
    "mcts": {"strategy": MCTS(playouts=25, max_steps=5)},
    "exhaustive": {"strategy": Exhaustive(max_steps=3)},
    "convex": {"strategy": RandomWeights(n=10), "t": 3},
    "direct": {"strategy": Direct(evaluations=20), "t": 2},
    "cma": {"strategy": CMA(evaluations=20), "t": 2},
    "contrastive": {"strategy": Contrastive(steps=12), "t": 3},
}
strategies = pytest.mark.parametrize("strategy", SEARCHES)
scored = pytest.mark.parametrize("strategy", [name for name in SEARCHES if name != "contrastive"])


class Counted:
    """A quality that counts its calls and may pause in each."""

    def __init__(self, pause=0.0, score=mdt.quality.calinski_harabasz):
        self.n_calls = 0
        self.pause = pause
        self.score = score

    def __call__(self, ops, labels, coordinates):
        self.n_calls += 1
        time.sleep(self.pause)
        return self.score(ops, labels)


def fresh(seed=0, n=16, n_views=2, dtype="float64", n_jobs=None):
    """Operators of three overlapping clusters, with enough neighbours to connect every graph."""
    views = overlapping_clusters(n, seed, (2,) * n_views)[0]
    return mdt.build_operators(views, n_neighbors=min(n // 2, 24), dtype=dtype, n_jobs=n_jobs)


# The same, built once and shared.
tiny = functools.cache(fresh)


@functools.cache
def lazy(n=12, n_views=3):
    """Walks that mostly stay: products of many steps keep their rank."""
    members = [0.85 * np.eye(n) + 0.15 * P.toarray() for P in tiny(1, n, n_views).views]
    return mdt.OperatorSet.from_transitions(members)


def skip_without_package(strategy):
    """Skip the test if the strategy needs a package that is missing."""
    if isinstance(strategy, CMA) or (isinstance(strategy, str) and strategy == "cma"):
        pytest.importorskip("cma")


def search(ops, n_clusters=K, **options):
    skip_without_package(options.get("strategy"))
    return mdt.search(ops, n_clusters, **{"progress": False, **options})


def composed(
    ops, steps, n_clusters=K, *, quality="calinski_harabasz", n_components=None, n_init=1, tol=1e-3, seed=0, **scoring
):
    """The score and the labels of a candidate, by the public functions."""
    W = steps if isinstance(steps, mdt.Trajectory) else ops.trajectory(steps)
    coordinates = mdt.embed(W, n_components or n_clusters, tol=tol, random_state=seed).coordinates
    labels = mdt.k_means(coordinates, n_clusters, n_init=n_init, random_state=seed).labels
    if callable(quality):
        return quality(ops, labels, coordinates), labels
    sign = -1 if quality == "davies_bouldin" else 1
    return sign * getattr(mdt.quality, quality)(ops, labels, **scoring), labels


def all_sequences(n_members, max_steps):
    for length in range(1, max_steps + 1):
        yield from itertools.product(range(n_members), repeat=length)


def preference(sequence, score):
    """Smallest for the answer: best score, then shorter, then lexicographically smaller."""
    return -score, len(sequence), sequence


def sequences_of(res):
    assert all(isinstance(sequence, tuple) for sequence in res.candidates)
    assert all(type(member) is int for sequence in res.candidates for member in sequence)
    return res.candidates


def assert_same(first, second, *, fields=(), columns=COLUMNS):
    """Equal answers, histories and `fields`."""
    for name in ("score", "best", *fields):
        np.testing.assert_equal(getattr(second, name), getattr(first, name), err_msg=name)
    for column in columns:
        np.testing.assert_array_equal(second.history[column], first.history[column])
    for one, other in zip(first.candidates, second.candidates, strict=True):
        assert type(one) is type(other)
        np.testing.assert_array_equal(other, one, strict=True)
    np.testing.assert_array_equal(second.labels, first.labels, strict=True)
    assert (first.trajectory is None) == (second.trajectory is None)
    if first.trajectory is not None:
        np.testing.assert_array_equal(second.trajectory.weights, first.trajectory.weights)


def assert_consistent(res, ops, n_clusters=K):
    """Check what holds for every result."""
    history = res.history
    assert len(history) == len(res.candidates) == res.n_evaluations > 0
    assert history.dtype.names == ("parent", "depth", "score", "seconds")
    assert [history.dtype[name] for name in history.dtype.names] == ["int64", "int32", "float64", "float64"]
    assert (history["seconds"] >= 0).all()
    assert (history["parent"] >= -1).all()
    assert (history["parent"] < np.arange(len(history))).all()
    assert isinstance(res.score, float)
    assert res.score == history["score"][res.best]
    steps = res.candidates[res.best]
    expected = np.eye(len(ops))[list(steps)] if isinstance(steps, tuple) else steps
    np.testing.assert_allclose(res.trajectory.weights, expected, rtol=1e-14)
    if n_clusters is None:
        assert res.labels is None
    else:
        assert res.labels.dtype == np.int32
        assert res.labels.shape == (ops.n_samples,)
    json.dumps(res.settings)


def table_of(ops, max_steps, n_clusters=K):
    """The sequence of each array of coordinates."""
    table = {}
    for sequence in all_sequences(len(ops), max_steps):
        table[key_of(mdt.embed(ops.trajectory(sequence), n_clusters).coordinates)] = sequence
    assert len(table) == sum(len(ops) ** length for length in range(1, max_steps + 1))
    return table


def key_of(coordinates):
    return np.ascontiguousarray(coordinates).tobytes()


@functools.cache
def _lazy_table(n_views, max_steps):
    return table_of(lazy(n_views=n_views), max_steps)


def by_sequence(function, n_views=2, max_steps=4):
    """Operators, and a quality that is a function of the sequence.

    The quality finds the sequence by its coordinates, which equal those of `mdt_fast.embed` bit for bit.
    """
    table = _lazy_table(n_views, max_steps)
    return lazy(n_views=n_views), lambda ops, labels, coordinates: function(table[key_of(coordinates)])


def random_scores(seed, n_members=2, max_steps=4):
    rng = np.random.default_rng(seed)
    return {sequence: float(rng.random()) for sequence in all_sequences(n_members, max_steps)}
