"""Strategies that choose sequences: against brute force and each other."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import chisquare
from sklearn.metrics import adjusted_mutual_info_score

import mdt_fast as mdt
from helpers.searches import (
    all_sequences,
    assert_consistent,
    by_sequence,
    composed,
    lazy,
    preference,
    random_scores,
    search,
    sequences_of,
    tiny,
)
from mdt_fast.strategies import MCTS, Beam, EpsilonGreedy, Exhaustive, Greedy, RandomSequences


class TestExhaustive:
    @pytest.mark.parametrize(("n_views", "max_steps"), [(1, 4), (2, 1), (2, 4), (3, 3)])
    @pytest.mark.parametrize("seed", range(4))
    def test_equals_brute_force(self, n_views, max_steps, seed):
        ops = tiny(seed, n_views=n_views)
        res = search(ops, strategy=Exhaustive(max_steps=max_steps))
        scores = {sequence: composed(ops, sequence)[0] for sequence in all_sequences(n_views, max_steps)}
        assert sorted(sequences_of(res)) == sorted(scores)
        assert dict(zip(res.candidates, res.history["score"], strict=True)) == scores
        # Sequences with equal clusters have equal scores, so that ties decide many answers.
        assert res.trajectory.sequence == min(scores, key=lambda sequence: preference(sequence, scores[sequence]))

    @pytest.mark.parametrize("n_views", [1, 2, 3])
    @pytest.mark.parametrize("seed", range(3))
    def test_equals_a_beam_that_keeps_all(self, n_views, seed):
        ops = tiny(seed, n_views=n_views)
        exhaustive = search(ops, strategy=Exhaustive(max_steps=3))
        for width in (n_views**3, n_views**3 + 1, 1000):
            beam = search(ops, strategy=Beam(width=width, max_steps=3))
            assert set(sequences_of(beam)) == set(sequences_of(exhaustive))
            assert beam.trajectory.sequence == exhaustive.trajectory.sequence
            assert beam.score == exhaustive.score

    def test_goes_to_t_by_default(self):
        assert max(map(len, search(tiny(), strategy="exhaustive", t=3).candidates)) == 3

    def test_more_than_a_hundred_thousand_sequences_with_a_budget(self):
        res = search(tiny(), strategy=Exhaustive(max_steps=40), max_evaluations=9)
        assert res.n_evaluations == 9
        assert res.stopped == "max_evaluations"


class TestBeam:
    @staticmethod
    def evaluated(scores, n_members, width, max_steps, grow):
        """All sequences that a beam search evaluates."""
        seen, frontier = [], [()]
        for _ in range(max_steps):
            level = [
                (*sequence, member) if grow == "left" else (member, *sequence)
                for sequence in frontier
                for member in range(n_members)
            ]
            seen += level
            frontier = sorted(level, key=lambda sequence: preference(sequence, scores[sequence]))[:width]
        return seen

    @pytest.mark.parametrize("answer", ["any", "last"])
    @pytest.mark.parametrize("grow", ["left", "right"])
    @pytest.mark.parametrize(("n_members", "max_steps"), [(2, 5), (3, 4)])
    @pytest.mark.parametrize("width", [1, 2, 3])
    def test_equals_the_reference(self, n_members, max_steps, width, grow, answer):
        for seed in range(3):
            scores = random_scores(seed, n_members, max_steps)
            ops, quality = by_sequence(scores.__getitem__, n_members, max_steps)
            options = {"max_steps": max_steps, "grow": grow, "answer": answer}
            strategies = [Beam(width=width, **options), *([Greedy(**options)] if width == 1 else [])]
            for strategy in strategies:
                res = search(ops, strategy=strategy, quality=quality)
                assert_consistent(res, ops)
                seen = self.evaluated(scores, n_members, width, max_steps, grow)
                assert sorted(sequences_of(res)) == sorted(seen)
                for sequence, score in zip(res.candidates, res.history["score"], strict=True):
                    assert score == scores[sequence]
                allowed = [sequence for sequence in seen if answer == "any" or len(sequence) == max_steps]
                assert res.trajectory.sequence == min(
                    allowed, key=lambda sequence: preference(sequence, scores[sequence])
                )
                assert (np.diff(res.history["depth"]) >= 0).all()

    @pytest.mark.parametrize("grow", ["left", "right"])
    def test_scores_do_not_depend_on_grow(self, grow):
        ops = tiny(11)
        for answer in ("any", "last"):
            beam = Beam(max_steps=4, grow=grow, answer=answer)
            res = search(ops, strategy=beam, quality=mdt.Scoring(n_components=5))
            for sequence, score in zip(sequences_of(res), res.history["score"], strict=True):
                assert score == composed(ops, sequence, n_components=5)[0]
            if answer == "last":
                assert len(res.trajectory) == 4
                assert res.score == res.history["score"][res.history["depth"] == 4].max()

    def test_depth_defaults_to_twice_the_time(self):
        res = search(tiny(), t=3)
        assert res.history["depth"].max() == 6
        assert res.t == 3

    def test_time_is_selected(self):
        ops = tiny(0, 60)
        t = mdt.select_time(ops).t
        assert t > 1
        res = search(ops)
        assert res.t == t
        assert res.history["depth"].max() == 2 * t
        for strategy in ("random", "convex", "mean"):
            assert len(search(ops, strategy=strategy).trajectory) == t

    def test_is_better_than_greedy_on_average(self):
        """A wider beam may be worse on one problem, but not on the average of many."""
        gains = []
        for seed in range(100):
            ops = tiny(seed, 14)
            beam, greedy = (search(ops, strategy=each) for each in (Beam(max_steps=4), Greedy(max_steps=4)))
            gains.append(beam.score - greedy.score)
        assert np.mean(gains) > 0

    def test_is_better_than_greedy_on_tables_of_random_scores(self):
        gains = []
        for seed in range(100):
            scores = random_scores(seed)
            ops, quality = by_sequence(scores.__getitem__)
            beam, greedy = (
                search(ops, strategy=each, quality=quality) for each in (Beam(max_steps=4), Greedy(max_steps=4))
            )
            gains.append(beam.score - greedy.score)
        assert np.mean(gains) > 0


class TestTies:
    @pytest.mark.parametrize("make", [Beam, Greedy, EpsilonGreedy, Exhaustive])
    @pytest.mark.parametrize("n_jobs", [1, 2])
    def test_all_sequences_equal(self, make, n_jobs):
        res = search(tiny(), strategy=make(max_steps=3), quality=lambda *_: 1.25, n_jobs=n_jobs)
        assert res.trajectory.sequence == (0,)

    @pytest.mark.parametrize(
        "strategy",
        [
            *(Beam(width=3, max_steps=4, grow=grow) for grow in ("left", "right")),
            *(Greedy(max_steps=4, grow=grow) for grow in ("left", "right")),
            *(EpsilonGreedy(max_steps=4, grow=grow) for grow in ("left", "right")),
            MCTS(max_steps=4),
            Exhaustive(max_steps=4),
        ],
        ids=repr,
    )
    def test_shorter_then_smaller(self, strategy):
        for seed in range(10):
            # Few values, so that several sequences have the best score.
            levels = {sequence: round(score * 2) for sequence, score in random_scores(seed).items()}
            ops, quality = by_sequence(levels.__getitem__)
            res = search(ops, strategy=strategy, quality=quality)
            assert res.trajectory.sequence == min(
                sequences_of(res), key=lambda sequence: preference(sequence, levels[sequence])
            )

    def test_last_level(self):
        res = search(tiny(), strategy=Beam(width=8, max_steps=3, answer="last"), quality=lambda *_: 0.0)
        assert res.trajectory.sequence == (0, 0, 0)


class TestEpsilonGreedy:
    @pytest.mark.parametrize("seed", range(5))
    def test_never_random_is_greedy(self, seed):
        ops = tiny(seed, n_views=3)
        greedy = search(ops, strategy=Greedy(max_steps=4), random_state=seed)
        epsilon = search(ops, strategy=EpsilonGreedy(epsilon=0, max_steps=4), random_state=seed)
        assert sequences_of(epsilon) == sequences_of(greedy)
        for column in ("score", "parent", "depth"):
            np.testing.assert_array_equal(epsilon.history[column], greedy.history[column])
        assert epsilon.trajectory.sequence == greedy.trajectory.sequence

    def test_all_children_are_evaluated_of_one_path(self):
        paths = set()
        for seed in range(8):
            always_random = EpsilonGreedy(epsilon=1, max_steps=4)
            res = search(tiny(0, n_views=3), strategy=always_random, random_state=seed)
            sequences = sequences_of(res)
            assert len(sequences) == 12
            for depth in range(1, 5):
                level = [sequence for sequence in sequences if len(sequence) == depth]
                assert sorted(sequence[-1] for sequence in level) == [0, 1, 2]
                assert len({sequence[:-1] for sequence in level}) == 1
            paths.add(sequences[-1][:-1])
        assert len(paths) > 3  # of 27 at random


class TestTreeSearch:
    def test_reaches_the_exhaustive_best_of_small_problems(self):
        reached = 0
        for seed in range(20):
            ops = tiny(seed, 14)
            res = search(ops, strategy=MCTS(playouts=60, max_steps=4), random_state=seed)
            best = search(ops, strategy=Exhaustive(max_steps=4), random_state=seed)
            assert len(set(sequences_of(res))) == res.n_evaluations <= 30
            assert res.score <= best.score
            reached += res.score == best.score
        assert reached >= 15

    def test_finds_a_planted_sequence(self):
        """The longer a sequence agrees with the planted one, the better; 100 playouts find it among 510 sequences."""
        found = 0
        for seed in range(10):
            rng = np.random.default_rng(seed)
            planted = tuple(rng.integers(0, 2, size=8).tolist())

            def agreement(sequence, planted=planted):
                pairs = itertools.zip_longest(sequence, planted)
                return float(len(list(itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))))

            ops, quality = by_sequence(agreement, 2, 8)
            res = search(ops, strategy=MCTS(playouts=100, max_steps=8), quality=quality, random_state=seed)
            found += res.trajectory.sequence == planted
        assert found >= 8

    def test_the_unit_of_the_scores_does_not_matter(self):
        scores, paths = random_scores(3), []
        for scale in (1.0, 2.0**40, 2.0**-40):
            ops, quality = by_sequence(lambda sequence, scale=scale: scale * scores[sequence])
            res = search(ops, strategy=MCTS(playouts=20, max_steps=4), quality=quality)
            paths.append(sequences_of(res))
        assert paths[0] == paths[1] == paths[2]


class TestRandom:
    T, N_DRAWS = 30, 2000

    def draws(self, probabilities, seed=0):
        """Members of many sequences, long enough that none is drawn twice."""
        ops = lazy()
        strategy = RandomSequences(n=self.N_DRAWS, probabilities=probabilities)
        res = search(ops, strategy=strategy, t=self.T, random_state=seed)
        members = np.array(sequences_of(res))
        assert members.shape == (self.N_DRAWS, self.T)
        return members

    def assert_follows(self, members, probabilities):
        counts = np.bincount(members, minlength=3)
        assert not counts[probabilities == 0].any()
        possible = probabilities > 0
        assert chisquare(counts[possible], probabilities[possible] * len(members)).pvalue > 1e-4

    @pytest.mark.parametrize("probabilities", [None, [0.5, 0.3, 0.2], (0.0, 0.45, 0.55)])
    def test_draws_follow_one_distribution(self, probabilities):
        members = self.draws(probabilities)
        expected = np.full(3, 1 / 3) if probabilities is None else np.array(probabilities)
        for step in range(self.T):
            self.assert_follows(members[:, step], expected)
        self.assert_follows(members.ravel(), expected)

    def test_draws_follow_a_distribution_for_each_step(self):
        probabilities = np.random.default_rng(1).dirichlet(np.full(3, 5.0), size=self.T)
        probabilities[3] = [0, 1, 0]
        probabilities[5] = [0.25, 0, 0.75]
        members = self.draws(probabilities)
        for step in range(self.T):
            if step == 3:
                assert (members[:, step] == 1).all()
            else:
                self.assert_follows(members[:, step], probabilities[step])

    def test_steps_are_independent(self):
        members = self.draws(None, seed=5)
        for step in range(self.T - 1):
            pairs = np.bincount(3 * members[:, step] + members[:, step + 1], minlength=9)
            assert chisquare(pairs).pvalue > 1e-4

    def test_certain_probabilities_give_one_sequence(self):
        sequence = (1, 0, 0, 1)
        res = search(tiny(), strategy=RandomSequences(probabilities=np.eye(2)[list(sequence)]), t=4)
        assert res.candidates == [sequence]

    def test_one_sequence_by_default(self):
        res = search(tiny(), strategy="random", t=5)
        assert res.n_evaluations == 1
        assert len(res.trajectory.sequence) == 5

    def test_the_best_sequence_is_the_answer(self):
        res = search(tiny(), strategy=RandomSequences(n=12), t=5)
        assert res.score == res.history["score"].max()


def test_the_mean_as_a_member_separates_clusters_merged_in_each_view():
    data = mdt.datasets.make_multiview_blobs(1500, n_features=50, n_clusters=10, cluster_std=9.0, random_state=0)
    ops = mdt.build_operators(data.views)
    sequences, with_mean = (mdt.search(set_, 10, t=3, progress=False) for set_ in (ops, ops.with_mean()))
    assert 2 in with_mean.trajectory.sequence
    ami = [adjusted_mutual_info_score(data.target, found.labels) for found in (sequences, with_mean)]
    assert ami[1] > ami[0] + 0.005
    # The quality depends on the views only, so that the scores are comparable.
    assert with_mean.score > sequences.score
