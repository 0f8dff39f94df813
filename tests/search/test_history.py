"""The history of a search: parents, depths, budgets of evaluations and of memory."""

from __future__ import annotations

import re

import numpy as np
import pytest

import mdt_fast as mdt
from helpers.searches import SEARCHES, SEQUENCES, WEIGHTS, assert_consistent, key_of, lazy, search, sequences_of, tiny


class TestHistory:
    @pytest.mark.parametrize("strategy", ["beam", "greedy", "epsilon-greedy", "exhaustive"])
    @pytest.mark.parametrize("grow", ["left", "right"])
    def test_parents_and_depths(self, strategy, grow):
        if grow == "right" and strategy == "exhaustive":
            pytest.skip("grows to the left only")
        res = search(tiny(n_views=3), strategy=strategy, max_steps=3, grow=grow)
        sequences = sequences_of(res)
        for sequence, parent, depth in zip(sequences, res.history["parent"], res.history["depth"], strict=True):
            assert depth == len(sequence)
            shorter = sequence[:-1] if grow == "left" else sequence[1:]
            assert (sequences[parent] if parent >= 0 else ()) == shorter

    @pytest.mark.parametrize("strategy", ["random", "mcts"])
    def test_parents_that_were_evaluated(self, strategy):
        res = search(tiny(n_views=3), strategy=strategy, **SEARCHES[strategy])
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

        options = {"t": 1, "n_samples": 50} if strategy == "random" else SEARCHES[strategy]
        res = search(lazy(n_views=2), strategy=strategy, quality=quality, **options)
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

        options = {"strategy": strategy, **SEARCHES[strategy]} | ({} if native else {"quality": quality})
        whole = search(ops, **options)
        del calls[:]
        res = search(ops, **options | {"max_evaluations": budget})
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

    @pytest.mark.parametrize("strategy", ["random", "beam", "greedy", "epsilon-greedy", "mcts", "exhaustive", "convex"])
    def test_a_search_that_ends_by_itself_was_not_stopped(self, strategy):
        assert search(tiny(), strategy=strategy, **SEARCHES[strategy]).stopped is None
        assert search(tiny(), strategy=strategy, max_evaluations=10**6, **SEARCHES[strategy]).stopped is None


class TestMemory:
    @staticmethod
    def needed(ops, **options):
        with pytest.raises(ValueError, match=r"(?is)(?=.*memory_budget).*bytes") as refused:
            search(ops, memory_budget=1, **options)
        return max(int(re.sub("[,_]", "", number)) for number in re.findall(r"\d[\d,_]*\d", str(refused.value)))

    @pytest.mark.parametrize(
        ("strategy", "dtype"),
        [
            *((name, "float64") for name in ("beam", "greedy", "epsilon-greedy", "mcts", "exhaustive")),
            ("beam", "float32"),
        ],
    )
    def test_any_budget_gives_the_same_history(self, strategy, dtype):
        ops = tiny(5, 90, 3, dtype)
        options = {"strategy": strategy, "max_steps": 3, "n_playouts": 30, "beam_width": 3}
        least = self.needed(ops, **options)
        reference = search(ops, **options)
        for budget in (least, least + 1, 2 * least, 5 * least, 100 * least):
            res = search(ops, memory_budget=budget, **options)
            assert sequences_of(res) == sequences_of(reference)
            for column in ("score", "parent", "depth"):
                np.testing.assert_array_equal(res.history[column], reference.history[column])
            assert res.trajectory.word == reference.trajectory.word
            np.testing.assert_array_equal(res.labels, reference.labels)
        with pytest.raises(ValueError, match="memory_budget"):
            search(ops, memory_budget=least - 1, **options)

    def test_more_samples_need_more(self):
        small, large = (self.needed(tiny(5, n), max_steps=2) for n in (100, 200))
        assert 0 < small < large
