"""Counts that no computer can do are refused; large ones can be interrupted and take no memory in advance."""

from __future__ import annotations

import signal
import time

import numpy as np
import pytest

import mdt_fast as mdt
from mdt_fast import strategies
from mdt_fast._support.arguments import LARGEST_STEPS, check_integer, check_number
from mdt_fast._support.threads import n_threads


class InterruptedByAlarmError(Exception):
    pass


@pytest.fixture(scope="module")
def ops():
    return mdt.build_operators(mdt.datasets.make_multiview_blobs(60, n_clusters=3, random_state=0).views)


@pytest.fixture
def alarm():
    """Interrupt the test after 0.3 seconds, as Ctrl-C would."""

    def interrupt(number, frame):
        raise InterruptedByAlarmError

    before = signal.signal(signal.SIGALRM, interrupt)
    yield lambda: signal.setitimer(signal.ITIMER_REAL, 0.3)
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("value", [LARGEST_STEPS + 1, 10**9, 10**12, 10**30, 10**5000], ids=range(5))
def test_times_that_cannot_be_reached_are_refused(ops, value):
    expected = f"expected an integer >= 1 and <= {LARGEST_STEPS}, got"
    for strategy in ("beam", "mean", "random", "consensus", "mcts"):
        with pytest.raises(ValueError, match=rf"^t: {expected}"):
            mdt.search(ops, 3, t=value, strategy=strategy)
    for kind in (strategies.Beam, strategies.MCTS, strategies.Exhaustive, strategies.EpsilonGreedy):
        with pytest.raises(ValueError, match=rf"^max_steps: {expected}"):
            kind(max_steps=value)
    with pytest.raises(ValueError, match=r"^max_t: expected an integer >= 3"):
        mdt.select_time(ops, max_t=value)


@pytest.mark.parametrize(
    "call",
    [
        lambda ops: mdt.search(ops, 3, strategy=strategies.Beam(max_steps=LARGEST_STEPS)),
        lambda ops: mdt.search(ops, 3, t=2**16, strategy="mcts"),
        lambda ops: mdt.search(ops, 3, t=40, strategy=strategies.RandomSequences(n=2**32 - 1)),
        lambda ops: mdt.search(ops, 3, t=4, strategy=strategies.RandomWeights(n=2**32 - 1)),
        lambda ops: mdt.k_means(np.random.default_rng(0).normal(size=(50, 2)), 3, n_init=2**20),
    ],
)
def test_long_searches_are_interrupted(ops, alarm, call):
    began = time.monotonic()
    alarm()
    with pytest.raises(InterruptedByAlarmError):
        call(ops)
    # Far more than it takes, but not the hours of the call itself.
    assert time.monotonic() - began < 20


def test_exhausted_searches_end(ops):
    n_sequences = 2 + 4 + 8
    tree = mdt.search(ops, 3, strategy=strategies.MCTS(playouts=2**32 - 1, max_steps=3))
    assert tree.n_evaluations == n_sequences
    drawn = mdt.search(ops, 3, t=3, strategy=strategies.RandomSequences(n=2**32 - 1))
    assert drawn.n_evaluations == 8


def test_few_and_many_draws_begin_alike(ops):
    few = mdt.search(ops, 3, t=12, strategy=strategies.RandomSequences(n=40))
    many = mdt.search(ops, 3, t=12, strategy=strategies.RandomSequences(n=10**9), max_evaluations=40)
    assert many.candidates[: few.n_evaluations] == few.candidates
    assert many.stopped == "max_evaluations"


def test_a_consensus_draws_only_what_it_scores(ops):
    default = mdt.search(ops, 3, t=3, strategy="consensus")
    large = mdt.search(ops, 3, t=3, strategy=strategies.Consensus(trajectories=2 * 10**9))
    assert default.n_evaluations < 128
    np.testing.assert_array_equal(large.labels, default.labels)


def test_threads_are_few(ops):
    most = n_threads(2000)
    assert most <= max(n_threads(None), 16)
    assert n_threads(10**30) == most
    assert n_threads(-(10**30)) == 1
    one, many = (mdt.search(ops, 3, t=2, n_jobs=jobs) for jobs in (1, 2000))
    assert one.score == many.score


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: check_integer("n", 10**30, minimum=1), f"n: expected an integer >= 1 and <= {2**63 - 1}, got 1000"),
        (lambda: check_integer("n", 10**5000, minimum=1, maximum=9), r"n: .* <= 9, got an integer of 16610 bits"),
        (lambda: check_number("tol", 10**400), "tol: expected a finite number >= 0, got an integer of 1329 bits"),
    ],
)  # fmt: skip
def test_large_integers_are_refused_by_name(call, message):
    with pytest.raises(ValueError, match=message):
        call()


class TestKMeansOfHugeNumbers:
    def test_an_inertia_that_overflows_is_refused(self):
        with pytest.raises(ValueError, match="X: expected numbers whose squared distances have a finite sum"):
            mdt.k_means(np.array([[1e300], [-1e300], [1.7e308], [1.0]]), 2)

    def test_centers_are_finite(self):
        largest = np.finfo(np.float64).max
        found = mdt.k_means(np.array([[largest], [largest], [-largest], [-largest]]), 2, random_state=0)
        np.testing.assert_array_equal(found.centers, [[largest], [-largest]])
