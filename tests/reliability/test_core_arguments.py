"""The private classes and functions of the compiled core with wrong arguments: errors, but no panic and no crash."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mdt_fast import _core


def make_calls(seed: int, count: int) -> None:
    tests = str(Path(__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-m", "helpers.core_calls", str(seed), str(count)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([tests, *sys.path])},
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def test_garbage_is_refused_without_a_panic():
    make_calls(seed=0, count=1500)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 11))
def test_much_garbage_is_refused_without_a_panic(seed):
    make_calls(seed, 4000)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: _core.Member.mean(2**62), "count: expected an integer >= 1 and <= 65535, got 4611686018427387904"),
        (lambda: _core.Member.power(0, 0), "exponent: expected an integer >= 1"),
        (lambda: _core.Member.teleport(0, float("nan")), "alpha: expected a number from 0 to 1, got NaN"),
        (lambda: _core.Beam(width=0, depth=1, side="left"), "width: expected an integer >= 1, got 0"),
        (lambda: _core.Exhaustive(depth=2**62), "depth: expected an integer >= 1 and <= 4194304"),
        (lambda: _core.RandomSequences(n=1, probabilities=np.ones((1, 0)), seed=0), "columns of probabilities"),
    ],
)
def test_messages_name_the_argument(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize(
    ("indptr", "indices", "values", "message"),
    [
        ([0, 1, 2], [0, 10**8], [1.0, 1.0], "row 1: expected columns below 2, got 100000000"),
        ([0, 1, 2], [0, -1], [1.0, 1.0], "indices: expected non-negative integers"),
        ([0, 5, 2], [0, 1], [1.0, 1.0], "indptr: expected non-decreasing row pointers from 0"),
        ([0, 1, 2], [0, 1], [1.0], "values: expected 2, got 1"),
        ([0, 1, 2], [0, 1], [1.0, np.nan], r"entry \(1, 1\) is NaN: expected a finite non-negative number"),
    ],
)
def test_stored_walks_are_checked_when_they_are_restored(indptr, indices, values, message):
    with pytest.raises(ValueError, match=message):
        _core.Transition.restore(np.array(indptr), np.array(indices, dtype=np.int32), np.array(values), None)


@pytest.fixture(name="walk")
def walk_of_two_samples():
    return _core.Transition.restore(
        np.array([0, 2, 4]), np.array([0, 1, 0, 1], dtype=np.int32), np.full(4, 0.5), np.ones(2)
    )


@pytest.mark.parametrize(
    ("samples", "n"),
    [
        ([0], 3),
        ([0, 1, 2], 3),
        ([1, 0], 3),
        ([1, 1], 3),
        ([0, 3], 3),
        ([0, 2**32 - 1], 3),
        ([0, 1], 1),
        ([0, 1], 2**62),
    ],
    ids=["few", "many", "descending", "repeated", "beyond", "far beyond", "few in all", "memory"],
)
@pytest.mark.parametrize("stay", [False, True])
def test_wrong_samples_of_a_walk_are_refused(walk, samples, n, stay):
    with pytest.raises((ValueError, MemoryError, OverflowError)):
        walk.among(np.array(samples, dtype=np.uint32), n, stay)


@pytest.mark.parametrize(
    ("lacking", "n_lenders"),
    [
        ([[0]], 2), ([[0], [], []], 2), ([[0], [0]], 2), ([[3], []], 2), ([[2**32 - 1], []], 2), ([[2], []], 3),
        ([[2], []], 2**62), ([[2], []], -1), ([[1], []], 2), ([[2, 2], []], 2),
    ],
)  # fmt: skip
def test_wrong_absences_are_refused(walk, lacking, n_lenders):
    first = walk.among(np.array([0, 1], dtype=np.uint32), 3, False)
    whole = _core.Transition.restore(np.arange(4), np.arange(3, dtype=np.int32), np.ones(3), np.ones(3))
    arrays = [np.array(each, dtype=np.uint32) for each in lacking]
    members = [_core.Member.walk(0), _core.Member.walk(1)]
    with pytest.raises((ValueError, OverflowError)):
        _core.OperatorSet([first, whole], members, arrays, n_lenders)


def test_visits_of_deep_searches_are_counted_at_once():
    assert _core.Beam(width=2, depth=2**22, side="left").visits(3) == 3 + 6 * (2**22 - 1)
    assert _core.Beam(width=100, depth=3, side="left").visits(3) == 3 + 9 + 27
    assert _core.Beam(width=2, depth=2**22, side="left").visits(1) == 2**22
    assert _core.Exhaustive(depth=2**22).visits(1) == 2**22
    assert _core.Exhaustive(depth=5).visits(3) == 3 + 9 + 27 + 81 + 243
    assert _core.Exhaustive(depth=2**22).visits(2) == 2**64 - 1
