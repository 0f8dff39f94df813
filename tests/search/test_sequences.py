"""Strategies that choose sequences: against brute force and each other."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from scipy.stats import chisquare
from sklearn.metrics import adjusted_mutual_info_score

import mdt_fast as mdt
from helpers.searches import (
    all_words,
    assert_consistent,
    by_word,
    composed,
    lazy,
    preference,
    random_scores,
    search,
    tiny,
    words_of,
)


class TestExhaustive:
    @pytest.mark.parametrize(("n_views", "max_steps"), [(1, 4), (2, 1), (2, 4), (3, 3)])
    @pytest.mark.parametrize("seed", range(4))
    def test_equals_brute_force(self, n_views, max_steps, seed):
        ops = tiny(seed, n_views=n_views)
        res = search(ops, strategy="exhaustive", max_steps=max_steps)
        scores = {word: composed(ops, word)[0] for word in all_words(n_views, max_steps)}
        assert sorted(words_of(res)) == sorted(scores)
        assert dict(zip(res.candidates, res.history["score"], strict=True)) == scores
        # Words that cluster alike score alike, so that many of these answers are decided by the tie.
        assert res.trajectory.word == min(scores, key=lambda word: preference(word, scores[word]))

    @pytest.mark.parametrize("n_views", [1, 2, 3])
    @pytest.mark.parametrize("seed", range(3))
    def test_equals_a_beam_that_keeps_all(self, n_views, seed):
        ops = tiny(seed, n_views=n_views)
        exhaustive = search(ops, strategy="exhaustive", max_steps=3)
        for width in (n_views**3, n_views**3 + 1, 1000):
            beam = search(ops, strategy="beam", max_steps=3, beam_width=width)
            assert set(words_of(beam)) == set(words_of(exhaustive))
            assert beam.trajectory.word == exhaustive.trajectory.word
            assert beam.score == exhaustive.score

    def test_goes_to_t_by_default(self):
        assert max(map(len, search(tiny(), strategy="exhaustive", t=3).candidates)) == 3

    def test_more_than_a_hundred_thousand_words_with_a_budget(self):
        res = search(tiny(), strategy="exhaustive", max_steps=40, max_evaluations=9)
        assert res.n_evaluations == 9
        assert res.stopped == "max_evaluations"


class TestBeam:
    @staticmethod
    def twin(scores, n_members, width, max_steps, grow):
        """Everything that a beam search looks at, by the letter."""
        seen, frontier = [], [()]
        for _ in range(max_steps):
            level = [
                (*word, letter) if grow == "left" else (letter, *word)
                for word in frontier
                for letter in range(n_members)
            ]
            seen += level
            frontier = sorted(level, key=lambda word: preference(word, scores[word]))[:width]
        return seen

    @pytest.mark.parametrize("answer", ["any", "last"])
    @pytest.mark.parametrize("grow", ["left", "right"])
    @pytest.mark.parametrize(("n_members", "max_steps"), [(2, 5), (3, 4)])
    @pytest.mark.parametrize("width", [1, 2, 3])
    def test_equals_its_twin(self, n_members, max_steps, width, grow, answer):
        for seed in range(3):
            scores = random_scores(seed, n_members, max_steps)
            ops, quality = by_word(scores.__getitem__, n_members, max_steps)
            strategies = ["beam", "greedy"] if width == 1 else ["beam"]
            for strategy in strategies:
                res = search(
                    ops,
                    strategy=strategy,
                    beam_width=width,
                    max_steps=max_steps,
                    quality=quality,
                    grow=grow,
                    answer=answer,
                )
                assert_consistent(res, ops)
                seen = self.twin(scores, n_members, width, max_steps, grow)
                assert sorted(words_of(res)) == sorted(seen)
                for word, score in zip(res.candidates, res.history["score"], strict=True):
                    assert score == scores[word]
                allowed = [word for word in seen if answer == "any" or len(word) == max_steps]
                assert res.trajectory.word == min(allowed, key=lambda word: preference(word, scores[word]))
                assert (np.diff(res.history["depth"]) >= 0).all()

    @pytest.mark.parametrize("grow", ["left", "right"])
    def test_answers_are_scored_alike_whichever_way_they_grow(self, grow):
        ops = tiny(11)
        for answer in ("any", "last"):
            res = search(ops, max_steps=4, grow=grow, answer=answer, n_components=5)
            for word, score in zip(words_of(res), res.history["score"], strict=True):
                assert score == composed(ops, word, n_components=5)[0]
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
        """A wider beam may lose on one problem, not on the average of many."""
        gains = []
        for seed in range(100):
            ops = tiny(seed, 14)
            beam, greedy = (search(ops, strategy=strategy, max_steps=4) for strategy in ("beam", "greedy"))
            gains.append(beam.score - greedy.score)
        assert np.mean(gains) > 0

    def test_is_better_than_greedy_on_tables_of_random_scores(self):
        gains = []
        for seed in range(100):
            scores = random_scores(seed)
            ops, quality = by_word(scores.__getitem__)
            beam, greedy = (
                search(ops, strategy=strategy, max_steps=4, quality=quality) for strategy in ("beam", "greedy")
            )
            gains.append(beam.score - greedy.score)
        assert np.mean(gains) > 0


class TestTies:
    @pytest.mark.parametrize("strategy", ["beam", "greedy", "epsilon-greedy", "exhaustive"])
    @pytest.mark.parametrize("n_jobs", [1, 2])
    def test_all_words_equal(self, strategy, n_jobs):
        res = search(tiny(), strategy=strategy, max_steps=3, quality=lambda *_: 1.25, n_jobs=n_jobs)
        assert res.trajectory.word == (0,)

    @pytest.mark.parametrize("strategy", ["beam", "greedy", "epsilon-greedy", "mcts", "exhaustive"])
    @pytest.mark.parametrize("grow", ["left", "right"])
    def test_shorter_then_smaller(self, strategy, grow):
        if grow == "right" and strategy in ("mcts", "exhaustive"):
            pytest.skip("grows to the left only")
        for seed in range(10):
            # Few values, so that the best is shared.
            levels = {word: round(score * 2) for word, score in random_scores(seed).items()}
            ops, quality = by_word(levels.__getitem__)
            res = search(ops, strategy=strategy, max_steps=4, quality=quality, grow=grow, beam_width=3)
            assert res.trajectory.word == min(words_of(res), key=lambda word: preference(word, levels[word]))

    def test_last_level(self):
        res = search(tiny(), max_steps=3, quality=lambda *_: 0.0, answer="last", beam_width=8)
        assert res.trajectory.word == (0, 0, 0)


class TestEpsilonGreedy:
    @pytest.mark.parametrize("seed", range(5))
    def test_never_random_is_greedy(self, seed):
        ops = tiny(seed, n_views=3)
        greedy = search(ops, strategy="greedy", max_steps=4, random_state=seed)
        epsilon = search(ops, strategy="epsilon-greedy", epsilon=0, max_steps=4, random_state=seed)
        assert words_of(epsilon) == words_of(greedy)
        for column in ("score", "parent", "depth"):
            np.testing.assert_array_equal(epsilon.history[column], greedy.history[column])
        assert epsilon.trajectory.word == greedy.trajectory.word

    def test_all_children_are_evaluated_of_one_path(self):
        paths = set()
        for seed in range(8):
            res = search(tiny(0, n_views=3), strategy="epsilon-greedy", epsilon=1, max_steps=4, random_state=seed)
            words = words_of(res)
            assert len(words) == 12
            for depth in range(1, 5):
                level = [word for word in words if len(word) == depth]
                assert sorted(word[-1] for word in level) == [0, 1, 2]
                assert len({word[:-1] for word in level}) == 1
            paths.add(words[-1][:-1])
        assert len(paths) > 3  # of 27 at random


class TestTreeSearch:
    def test_reaches_the_exhaustive_best_of_small_problems(self):
        reached = 0
        for seed in range(20):
            ops = tiny(seed, 14)
            res = search(ops, strategy="mcts", max_steps=4, n_playouts=60, random_state=seed)
            best = search(ops, strategy="exhaustive", max_steps=4, random_state=seed)
            assert len(set(words_of(res))) == res.n_evaluations <= 30
            assert res.score <= best.score
            reached += res.score == best.score
        assert reached >= 15

    def test_finds_a_planted_word(self):
        """The longer a word agrees with the planted one, the better; 100 playouts find it among 510 words."""
        found = 0
        for seed in range(10):
            rng = np.random.default_rng(seed)
            planted = tuple(rng.integers(0, 2, size=8).tolist())

            def agreement(word, planted=planted):
                pairs = itertools.zip_longest(word, planted)
                return float(len(list(itertools.takewhile(lambda pair: pair[0] == pair[1], pairs))))

            ops, quality = by_word(agreement, 2, 8)
            res = search(ops, strategy="mcts", max_steps=8, n_playouts=100, quality=quality, random_state=seed)
            found += res.trajectory.word == planted
        assert found >= 8

    def test_the_unit_of_the_scores_does_not_matter(self):
        scores, paths = random_scores(3), []
        for scale in (1.0, 2.0**40, 2.0**-40):
            ops, quality = by_word(lambda word, scale=scale: scale * scores[word])
            res = search(ops, strategy="mcts", max_steps=4, n_playouts=20, quality=quality)
            paths.append(words_of(res))
        assert paths[0] == paths[1] == paths[2]


class TestRandom:
    T, N_DRAWS = 30, 2000

    def draws(self, probabilities, seed=0):
        """Letters of many words, so long that none is drawn twice."""
        ops = lazy()
        res = search(
            ops,
            strategy="random",
            t=self.T,
            n_samples=self.N_DRAWS,
            probabilities=probabilities,
            random_state=seed,
        )
        letters = np.array(words_of(res))
        assert letters.shape == (self.N_DRAWS, self.T)
        return letters

    def assert_follows(self, letters, probabilities):
        counts = np.bincount(letters, minlength=3)
        assert not counts[probabilities == 0].any()
        possible = probabilities > 0
        assert chisquare(counts[possible], probabilities[possible] * len(letters)).pvalue > 1e-4

    @pytest.mark.parametrize("probabilities", [None, [0.5, 0.3, 0.2], (0.0, 0.45, 0.55)])
    def test_draws_follow_one_distribution(self, probabilities):
        letters = self.draws(probabilities)
        expected = np.full(3, 1 / 3) if probabilities is None else np.array(probabilities)
        for step in range(self.T):
            self.assert_follows(letters[:, step], expected)
        self.assert_follows(letters.ravel(), expected)

    def test_draws_follow_a_distribution_for_each_step(self):
        probabilities = np.random.default_rng(1).dirichlet(np.full(3, 5.0), size=self.T)
        probabilities[3] = [0, 1, 0]
        probabilities[5] = [0.25, 0, 0.75]
        letters = self.draws(probabilities)
        for step in range(self.T):
            if step == 3:
                assert (letters[:, step] == 1).all()
            else:
                self.assert_follows(letters[:, step], probabilities[step])

    def test_steps_are_independent(self):
        letters = self.draws(None, seed=5)
        for step in range(self.T - 1):
            pairs = np.bincount(3 * letters[:, step] + letters[:, step + 1], minlength=9)
            assert chisquare(pairs).pvalue > 1e-4

    def test_certain_steps_spell_a_word(self):
        word = (1, 0, 0, 1)
        res = search(tiny(), strategy="random", t=4, probabilities=np.eye(2)[list(word)])
        assert res.candidates == [word]

    def test_one_word_by_default(self):
        res = search(tiny(), strategy="random", t=5)
        assert res.n_evaluations == 1
        assert len(res.trajectory.word) == 5

    def test_the_best_word_is_the_answer(self):
        res = search(tiny(), strategy="random", t=5, n_samples=12)
        assert res.score == res.history["score"].max()


def test_the_mean_as_a_letter_tells_apart_what_either_view_confuses():
    data = mdt.datasets.make_multiview_blobs(1500, n_features=50, n_clusters=10, cluster_std=9.0, random_state=0)
    ops = mdt.build_operators(data.views)
    words, with_mean = (mdt.search(set_, 10, t=3, progress=False) for set_ in (ops, ops.with_mean()))
    assert 2 in with_mean.trajectory.word
    ami = [adjusted_mutual_info_score(data.target, found.labels) for found in (words, with_mean)]
    assert ami[1] > ami[0] + 0.005
    # Quality looks at the views alone, so that the scores compare.
    assert with_mean.score > words.score
