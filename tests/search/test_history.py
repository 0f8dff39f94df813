"""The history of a search: parents, depths, budgets of evaluations and of memory."""

from __future__ import annotations

import numpy as np
import pytest

import mdt_fast as mdt
from helpers.searches import SEARCHES, SEQUENCES, WEIGHTS, assert_consistent, key_of, lazy, search, sequences_of, tiny
from mdt_fast.strategies import Beam, EpsilonGreedy, Exhaustive, Greedy, RandomSequences


class TestHistory:
    @pytest.mark.parametrize(
        ("strategy", "grow"),
        [
            *(
                (make(max_steps=3, grow=grow), grow)
                for make in (Beam, Greedy, EpsilonGreedy)
                for grow in ("left", "right")
            ),
            (Exhaustive(max_steps=3), "left"),
        ],
        ids=str,
    )
    def test_parents_and_depths(self, strategy, grow):
        res = search(tiny(n_views=3), strategy=strategy)
        sequences = sequences_of(res)
        for sequence, parent, depth in zip(sequences, res.history["parent"], res.history["depth"], strict=True):
            assert depth == len(sequence)
            shorter = sequence[:-1] if grow == "left" else sequence[1:]
            assert (sequences[parent] if parent >= 0 else ()) == shorter

    @pytest.mark.parametrize("strategy", ["random", "mcts"])
    def test_parents_that_were_evaluated(self, strategy):
        res = search(tiny(n_views=3), **SEARCHES[strategy])
        sequences = sequences_of(res)
        for sequence, parent, depth in zip(sequences, res.history["parent"], res.history["depth"], strict=True):
            assert depth == len(sequence)
            if parent >= 0:
                assert sequence[: len(sequences[parent])] == sequences[parent] != sequence

    @pytest.mark.parametrize("strategy", SEQUENCES)
    def test_no_sequence_is_evaluated_twice(self, strategy):
        calls = []

        def quality(ops, labels, coordinates):
            calls.append(key_of(coordinates))
            return float(coordinates[0, 0])

        options = {"strategy": RandomSequences(n=50), "t": 1} if strategy == "random" else SEARCHES[strategy]
        res = search(lazy(n_views=2), quality=quality, **options)
        assert len(set(sequences_of(res))) == res.n_evaluations
        assert len(calls) == len(set(calls)) == res.n_evaluations
        if strategy == "random":
            assert sorted(sequences_of(res)) == [(0,), (1,)]

    @pytest.mark.parametrize("strategy", [*SEQUENCES, *WEIGHTS])
    @pytest.mark.parametrize("native", [True, False], ids=["native", "callable"])
    @pytest.mark.parametrize("budget", [1, 3, 5])
    def test_budgets_are_exact(self, strategy, native, budget):
        if strategy == "contrastive" and not native:
            pytest.skip("scores by its own loss")
        ops, calls = tiny(2), []

        def quality(ops, labels, coordinates):
            calls.append(1)
            return mdt.quality.calinski_harabasz(ops, labels)

        options = SEARCHES[strategy] | ({} if native else {"quality": quality})
        whole = search(ops, **options)
        del calls[:]
        res = search(ops, **options, max_evaluations=budget)
        assert_consistent(res, ops)
        assert res.n_evaluations == budget < whole.n_evaluations
        assert native or len(calls) == budget
        assert res.stopped == "max_evaluations"
        assert res.score == res.history["score"].max()
        # A budget does not change the candidates before it.
        for cut, full in zip(res.candidates, whole.candidates, strict=False):
            np.testing.assert_array_equal(cut, full)
        for column in ("score", "parent", "depth"):
            np.testing.assert_array_equal(res.history[column], whole.history[column][:budget])

    @pytest.mark.parametrize("strategy", SEARCHES)
    def test_a_search_that_ends_by_itself_was_not_stopped(self, strategy):
        assert search(tiny(), **SEARCHES[strategy]).stopped is None
        assert search(tiny(), max_evaluations=10**6, **SEARCHES[strategy]).stopped is None
