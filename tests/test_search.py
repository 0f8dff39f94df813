"""Strategies of the search: against the public functions they are made of, brute force, and each other."""

from __future__ import annotations

import functools
import itertools
import json
import re

import numpy as np
import pytest
from scipy.stats import chisquare
from sklearn.metrics import adjusted_mutual_info_score

import mdt_fast as mdt

K = 3
WORDS = ["random", "beam", "greedy", "epsilon-greedy", "mcts", "exhaustive"]
WEIGHTS = ["convex", "direct", "cma", "contrastive"]
# Small searches that are longer than the few evaluations that tests cut them to.
SMALL = {
    "random": {"t": 5, "n_samples": 8},
    "beam": {"max_steps": 3},
    "greedy": {"max_steps": 4},
    "epsilon-greedy": {"max_steps": 4, "epsilon": 0.5},
    "mcts": {"max_steps": 4, "n_playouts": 20},
    "exhaustive": {"max_steps": 3},
    "convex": {"t": 3, "n_samples": 8},
    "direct": {"t": 2, "max_evaluations": 15},
    "cma": {"t": 2, "max_evaluations": 15},
    "contrastive": {"t": 3, "max_iter": 10},
}


@functools.cache
def tiny(seed=0, n=16, n_views=2, dtype="float64"):
    """Three loose clusters, with so many neighbours that no graph is in parts."""
    rng = np.random.default_rng(seed)
    clusters = np.arange(n) % K
    Xs = [2 * rng.normal(size=(K, 2))[clusters] + rng.normal(size=(n, 2)) for _ in range(n_views)]
    return mdt.build_operators(Xs, n_neighbors=min(n // 2, 24), dtype=dtype)


@functools.cache
def lazy(n=12, n_views=3):
    """Walks that mostly stay: products of many steps keep their rank."""
    members = [0.85 * np.eye(n) + 0.15 * P.toarray() for P in tiny(1, n, n_views).views]
    return mdt.OperatorSet.from_transitions(members)


def search(ops, n_clusters=K, **options):
    if isinstance(strategy := options.get("strategy"), str) and strategy == "cma":
        pytest.importorskip("cma")
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


def all_words(n_members, max_steps):
    for length in range(1, max_steps + 1):
        yield from itertools.product(range(n_members), repeat=length)


def preference(word, score):
    """Smallest for the answer: best score, then shorter, then lexicographically smaller."""
    return -score, len(word), word


def words_of(res):
    assert all(isinstance(word, tuple) for word in res.candidates)
    assert all(type(letter) is int for word in res.candidates for letter in word)
    return res.candidates


def assert_consistent(res, ops, n_clusters=K):
    """What holds of any answer."""
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
    """Which word has which coordinates."""
    table = {}
    for word in all_words(len(ops), max_steps):
        table[key_of(mdt.embed(ops.trajectory(word), n_clusters).coordinates)] = word
    assert len(table) == sum(len(ops) ** length for length in range(1, max_steps + 1))
    return table


def key_of(coordinates):
    return np.ascontiguousarray(coordinates).tobytes()


@functools.cache
def _lazy_table(n_views, max_steps):
    return table_of(lazy(n_views=n_views), max_steps)


def by_word(function, n_views=2, max_steps=4):
    """A set of operators and a quality that is a function of the word.

    The quality knows the word by its coordinates, which are those of :func:`mdt_fast.embed` to the last bit.
    """
    table = _lazy_table(n_views, max_steps)
    return lazy(n_views=n_views), lambda ops, labels, coordinates: function(table[key_of(coordinates)])


def random_scores(seed, n_members=2, max_steps=4):
    rng = np.random.default_rng(seed)
    return {word: float(rng.random()) for word in all_words(n_members, max_steps)}


class TestScores:
    @pytest.mark.parametrize("strategy", [*WORDS, "convex", "direct", "cma"])
    @pytest.mark.parametrize("seed", [0, 7])
    def test_every_node_is_the_composition_of_public_functions(self, strategy, seed):
        ops = tiny(3)
        res = search(ops, strategy=strategy, random_state=seed, **SMALL[strategy])
        assert_consistent(res, ops)
        for steps, score in zip(res.candidates, res.history["score"], strict=True):
            assert score == composed(ops, steps, seed=seed)[0]
        score, labels = composed(ops, res.trajectory, seed=seed)
        assert res.score == score
        np.testing.assert_array_equal(res.labels, labels)
        assert res.strategy == strategy
        assert res.quality == "calinski_harabasz"

    @pytest.mark.filterwarnings("ignore:the steps of this trajectory leave:mdt_fast.OperatorWarning")  # of the identity
    @pytest.mark.parametrize("strategy", ["beam", "random", "convex"])
    @pytest.mark.parametrize("n", [16, 150])
    @pytest.mark.parametrize("dtype", ["float64", "float32"])
    def test_other_members_and_single_precision(self, strategy, n, dtype):
        ops = tiny(4, n, dtype=dtype).with_identity().with_teleport(0.8).with_powers([2])
        res = search(ops, strategy=strategy, t=3, max_steps=3, n_samples=8)
        assert_consistent(res, ops)
        for steps, score in zip(res.candidates, res.history["score"], strict=True):
            assert score == composed(ops, steps)[0]

    @pytest.mark.parametrize("strategy", ["beam", "mcts", "convex"])
    @pytest.mark.parametrize(
        "options",
        [
            {"n_components": 1},
            {"n_components": 5},
            {"n_init": 7},
            {"tol": 1e-8},
            {"n_components": 2, "n_init": 3, "tol": 1e-2},
        ],
        ids=str,
    )
    def test_options_of_a_candidate(self, strategy, options):
        ops = tiny(5, 60)
        res = search(ops, 4, strategy=strategy, random_state=2, **SMALL[strategy], **options)
        for steps, score in zip(res.candidates, res.history["score"], strict=True):
            assert score == composed(ops, steps, 4, seed=2, **options)[0]
        np.testing.assert_array_equal(res.labels, composed(ops, res.trajectory, 4, seed=2, **options)[1])

    @pytest.mark.parametrize("quality", ["calinski_harabasz", "davies_bouldin", "silhouette"])
    @pytest.mark.parametrize("weighted", [False, True])
    @pytest.mark.parametrize("on_features", [False, True])
    @pytest.mark.parametrize("strategy", ["beam", "convex"])
    def test_qualities(self, quality, weighted, on_features, strategy):
        ops = tiny(6)
        rng = np.random.default_rng(0)
        scoring = {"view_weights": [3.0, 1.0]} if weighted else {}
        scoring |= {"features": [rng.normal(size=(16, 2)), rng.normal(size=(16, 5))]} if on_features else {}
        res = search(ops, strategy=strategy, quality=quality, **SMALL[strategy], **scoring)
        for steps, score in zip(res.candidates, res.history["score"], strict=True):
            assert score == composed(ops, steps, quality=quality, **scoring)[0]
        assert res.score == res.history["score"].max()
        assert res.quality == quality

    def test_a_view_without_weight_has_no_say(self):
        ops = tiny(6)
        one = search(ops, view_weights=[1, 0], max_steps=3)
        for word, score in zip(one.candidates, one.history["score"], strict=True):
            labels = composed(ops, word)[1]
            assert score == mdt.quality.calinski_harabasz(ops, labels, per_view=True)[0]

    def test_smaller_is_better_is_negated(self):
        ops = tiny(6)
        res = search(ops, quality="davies_bouldin", strategy="exhaustive", max_steps=3)
        assert (res.history["score"] < 0).all()
        smallest = min(-composed(ops, word, quality="davies_bouldin")[0] for word in all_words(2, 3))
        assert res.score == -smallest

    @pytest.mark.parametrize("n_clusters", [None, K])
    @pytest.mark.parametrize("view_weights", [None, [0.9, 0.1]])
    def test_contrastive_as_a_quality(self, n_clusters, view_weights):
        ops = tiny(6)
        res = search(ops, n_clusters, quality="contrastive", max_steps=3, view_weights=view_weights)
        for word, score in zip(res.candidates, res.history["score"], strict=True):
            loss = mdt.quality.contrastive_loss(ops, word, view_weights=view_weights)
            assert score == pytest.approx(-loss, rel=1e-12)
        assert res.score == res.history["score"].max() < 0

    def test_a_callable_gets_operators_labels_and_coordinates(self):
        ops, given = tiny(8), []

        def quality(operators, labels, coordinates):
            given.append((operators, np.array(labels), np.array(coordinates)))
            return float(coordinates[0, 0] - coordinates[1, -1])

        res = search(ops, quality=quality, max_steps=3, n_components=2)
        assert len(given) == res.n_evaluations
        for word, score in zip(res.candidates, res.history["score"], strict=True):
            assert score == composed(ops, word, quality=quality, n_components=2)[0]
        for operators, labels, coordinates in given:
            assert operators is ops
            assert labels.shape == (16,)
            assert set(labels) == set(range(K))
            assert coordinates.shape == (16, 2)
        assert res.quality is None or isinstance(res.quality, str)

    @pytest.mark.parametrize("number", [3, np.float32(0.5), np.float64(-2), np.int64(7), -0.0])
    def test_any_real_number_is_a_score(self, number):
        res = search(tiny(), quality=lambda *_: number, max_steps=1)
        assert res.score == number

    @pytest.mark.parametrize("strategy", ["random", "convex", "mean", [0, 1, 1]])
    def test_nothing_is_scored_without_a_quality(self, strategy):
        ops = tiny()
        res = search(ops, strategy=strategy, t=4, quality=None, random_state=3)
        scored = search(ops, strategy=strategy, t=4, random_state=3)
        assert np.isnan(res.score)
        assert res.n_evaluations == 1
        assert res.quality is None
        np.testing.assert_array_equal(res.trajectory.weights, scored.trajectory.weights)
        unlabelled = search(ops, None, strategy=strategy, t=4, quality=None, random_state=3)
        assert unlabelled.labels is None
        np.testing.assert_array_equal(unlabelled.trajectory.weights, res.trajectory.weights)

    def test_seeds(self):
        ops = tiny(9)
        first, again, other = (
            search(ops, strategy="random", t=6, n_samples=8, random_state=seed) for seed in (1, 1, 2)
        )
        assert words_of(first) == words_of(again)
        np.testing.assert_array_equal(first.history["score"], again.history["score"])
        assert words_of(first) != words_of(other)


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


class TestConvex:
    def test_rows_lie_on_the_simplex(self):
        ops = tiny(n_views=3)
        res = search(ops, strategy="convex", t=4, n_samples=30)
        assert res.n_evaluations == 30
        weights = np.array(res.candidates)
        assert weights.shape == (30, 4, 3)
        assert weights.dtype == np.float64
        assert (weights >= 0).all()
        np.testing.assert_allclose(weights.sum(axis=2), 1, rtol=1e-14)
        assert len(np.unique(weights)) == weights.size
        assert res.score == res.history["score"].max()

    def test_rows_are_uniforms_divided_by_their_sum(self):
        """The first weight of two is a / (a + b): its distribution is x / (2 (1 - x)) up to 1/2, and symmetric."""
        res = search(tiny(), strategy="convex", t=4, n_samples=500)
        first = np.sort(np.array(res.candidates)[:, :, 0].ravel())
        expected = np.where(first < 0.5, first / (2 * (1 - first)), 1 - (1 - first) / (2 * first))
        steps = np.arange(1, len(first) + 1) / len(first)
        assert np.abs(expected - steps).max() < 2 / np.sqrt(len(first))  # Kolmogorov and Smirnov, at 1 in 1500


class TestGiven:
    def test_mean_is_uniform(self):
        ops = tiny(n_views=3)
        res = search(ops, strategy="mean", t=4)
        np.testing.assert_array_equal(res.candidates[0], np.full((4, 3), 1 / 3))
        assert res.n_evaluations == 1
        assert res.score == composed(ops, np.full((4, 3), 1 / 3))[0]

    @pytest.mark.parametrize("given", [[0, 1, 1], (0, 1, 1), ["view 0", "view 1", "view 1"]], ids=repr)
    def test_a_word(self, given):
        ops = tiny()
        res = search(ops, strategy=given)
        assert_consistent(res, ops)
        assert words_of(res) == [(0, 1, 1)]
        assert res.trajectory.word == (0, 1, 1)
        assert res.score == composed(ops, [0, 1, 1])[0]
        assert res.best == 0

    def test_weights(self):
        ops = tiny()
        weights = np.random.default_rng(0).dirichlet(np.ones(2), size=3)
        res = search(ops, strategy=weights)
        assert_consistent(res, ops)
        np.testing.assert_allclose(res.candidates[0], weights, rtol=1e-14)
        assert res.score == composed(ops, weights)[0]

    @pytest.mark.parametrize("steps", [[1, 0], [[0.25, 0.75], [0.5, 0.5]]])
    def test_a_trajectory(self, steps):
        ops = tiny()
        W = ops.trajectory(steps)
        res = search(ops, strategy=W)
        assert_consistent(res, ops)
        np.testing.assert_array_equal(res.trajectory.weights, W.weights)
        score, labels = composed(ops, W)
        assert res.score == score
        np.testing.assert_array_equal(res.labels, labels)


class TestOptimisers:
    @pytest.mark.parametrize("strategy", ["direct", "cma"])
    @pytest.mark.parametrize("budget", [1, 2, 37])
    def test_begin_with_the_mean_and_keep_the_budget(self, strategy, budget):
        for seed in range(3):
            ops = tiny(seed, n_views=3)
            res = search(ops, strategy=strategy, t=2, max_evaluations=budget, random_state=seed)
            assert_consistent(res, ops)
            assert res.n_evaluations == budget
            np.testing.assert_allclose(res.candidates[0], 1 / 3, rtol=1e-12)
            assert res.score == res.history["score"].max() >= res.history["score"][0]
            weights = np.array(res.candidates)
            assert weights.shape == (budget, 2, 3)
            assert (weights >= 0).all()
            np.testing.assert_allclose(weights.sum(axis=2), 1, rtol=1e-12)

    @pytest.mark.parametrize("strategy", ["direct", "cma"])
    def test_a_hundred_evaluations_by_default(self, strategy):
        assert search(tiny(), strategy=strategy, t=1).n_evaluations == 100

    @pytest.mark.parametrize("strategy", ["direct", "cma"])
    def test_improve_on_the_mean(self, strategy):
        """A smooth quality: how far the weights, read off the first coordinates, are from the mean's."""
        gains = []
        for seed in range(5):
            ops = tiny(seed)
            target = mdt.embed(ops.trajectory([0, 0]), K).singular_values

            def quality(ops, labels, coordinates, target=target):
                return -float(np.abs(np.linalg.norm(coordinates, axis=0) - target).max())

            res = search(ops, strategy=strategy, t=2, max_evaluations=60, quality=quality, random_state=seed)
            gains.append(res.score - res.history["score"][0])
        assert min(gains) > 0

    @pytest.mark.parametrize("strategy", ["direct", "cma"])
    def test_one_member_alone(self, strategy):
        res = search(tiny(n_views=1), strategy=strategy, t=2, max_evaluations=5)
        np.testing.assert_array_equal(res.trajectory.weights, 1)


class TestContrastive:
    @pytest.mark.parametrize("n_clusters", [None, K])
    @pytest.mark.parametrize("t", [1, 4])
    def test_lowers_the_loss(self, n_clusters, t):
        for seed in range(3):
            ops = tiny(seed, 30, 3)
            res = search(ops, n_clusters, strategy="contrastive", t=t)
            assert_consistent(res, ops, n_clusters)
            start = mdt.quality.contrastive_loss(ops, np.full((t, 3), 1 / 3))
            assert -res.score < start
            assert res.score == pytest.approx(-mdt.quality.contrastive_loss(ops, res.trajectory), rel=1e-9)
            assert len(res.trajectory) == t
            assert res.history["score"][0] == pytest.approx(-start, rel=1e-9)
            assert res.score == res.history["score"].max()
            assert isinstance(res.converged, bool)
            for weights, score in zip(res.candidates, res.history["score"], strict=True):
                assert score == pytest.approx(-mdt.quality.contrastive_loss(ops, weights), rel=1e-9)
            if n_clusters is not None:
                np.testing.assert_array_equal(res.labels, composed(ops, res.trajectory)[1])

    def test_view_weights(self):
        ops = tiny(2, 30)
        res = search(ops, None, strategy="contrastive", t=3, view_weights=[1.0, 0.0])
        loss = mdt.quality.contrastive_loss(ops, res.trajectory, view_weights=[1.0, 0.0])
        assert res.score == pytest.approx(-loss, rel=1e-9)
        assert loss < mdt.quality.contrastive_loss(ops, np.full((3, 2), 0.5), view_weights=[1.0, 0.0])

    def test_says_whether_it_settled(self):
        assert search(tiny(), None, strategy="contrastive", t=2, max_iter=1).converged is False

    def test_more_iterations_are_no_worse(self):
        ops = tiny(3, 30)
        gains = [search(ops, None, strategy="contrastive", t=3, max_iter=n).score for n in (1, 5, 40, 150)]
        gains = np.array(gains) + mdt.quality.contrastive_loss(ops, np.full((3, 2), 0.5))
        assert gains[1] > 0
        assert gains[2] > 0.95 * gains[1]
        assert gains[3] > 0.95 * gains[2]

    def test_batches_of_rows(self):
        ops = tiny(4, 60)
        options = {"strategy": "contrastive", "t": 3, "batch_size": 16, "learning_rate": 0.2, "max_iter": 60}
        first, again, other = (search(ops, None, random_state=seed, **options) for seed in (0, 0, 1))
        start = mdt.quality.contrastive_loss(ops, np.full((3, 2), 0.5))
        for res in (first, other):
            assert mdt.quality.contrastive_loss(ops, res.trajectory) < start
        np.testing.assert_array_equal(first.trajectory.weights, again.trajectory.weights)
        assert not np.array_equal(first.trajectory.weights, other.trajectory.weights)


class TestHistory:
    @pytest.mark.parametrize("strategy", ["beam", "greedy", "epsilon-greedy", "exhaustive"])
    @pytest.mark.parametrize("grow", ["left", "right"])
    def test_parents_and_depths(self, strategy, grow):
        if grow == "right" and strategy == "exhaustive":
            pytest.skip("grows to the left only")
        res = search(tiny(n_views=3), strategy=strategy, max_steps=3, grow=grow)
        words = words_of(res)
        for word, parent, depth in zip(words, res.history["parent"], res.history["depth"], strict=True):
            assert depth == len(word)
            shorter = word[:-1] if grow == "left" else word[1:]
            assert (words[parent] if parent >= 0 else ()) == shorter

    @pytest.mark.parametrize("strategy", ["random", "mcts"])
    def test_parents_that_were_evaluated(self, strategy):
        res = search(tiny(n_views=3), strategy=strategy, **SMALL[strategy])
        words = words_of(res)
        for word, parent, depth in zip(words, res.history["parent"], res.history["depth"], strict=True):
            assert depth == len(word)
            if parent >= 0:
                assert word[: len(words[parent])] == words[parent] != word

    @pytest.mark.parametrize("strategy", WORDS)
    def test_no_word_is_evaluated_twice(self, strategy):
        calls = []

        def quality(ops, labels, coordinates):
            calls.append(key_of(coordinates))
            return float(coordinates[0, 0])

        options = {"t": 1, "n_samples": 50} if strategy == "random" else SMALL[strategy]
        res = search(lazy(n_views=2), strategy=strategy, quality=quality, **options)
        assert len(set(words_of(res))) == res.n_evaluations
        assert len(calls) == len(set(calls)) == res.n_evaluations
        if strategy == "random":
            assert sorted(words_of(res)) == [(0,), (1,)]

    @pytest.mark.parametrize("strategy", [*WORDS, *WEIGHTS])
    @pytest.mark.parametrize("native", [True, False], ids=["native", "callable"])
    @pytest.mark.parametrize("budget", [1, 3, 5])
    def test_budgets_are_exact(self, strategy, native, budget):
        if strategy == "contrastive" and not native:
            pytest.skip("scores by its own loss")
        ops, calls = tiny(2), []

        def quality(ops, labels, coordinates):
            calls.append(1)
            return mdt.quality.calinski_harabasz(ops, labels)

        options = {"strategy": strategy, **SMALL[strategy]} | ({} if native else {"quality": quality})
        whole = search(ops, **options)
        del calls[:]
        res = search(ops, **options | {"max_evaluations": budget})
        assert_consistent(res, ops)
        assert res.n_evaluations == budget < whole.n_evaluations
        assert native or len(calls) == budget
        assert res.stopped == "max_evaluations"
        assert res.score == res.history["score"].max()
        # Cutting a search short does not change what it did before.
        for cut, full in zip(res.candidates, whole.candidates, strict=False):
            np.testing.assert_array_equal(cut, full)
        for column in ("score", "parent", "depth"):
            np.testing.assert_array_equal(res.history[column], whole.history[column][:budget])

    @pytest.mark.parametrize("strategy", ["random", "beam", "greedy", "epsilon-greedy", "mcts", "exhaustive", "convex"])
    def test_a_search_that_ends_by_itself_was_not_stopped(self, strategy):
        assert search(tiny(), strategy=strategy, **SMALL[strategy]).stopped is None
        assert search(tiny(), strategy=strategy, max_evaluations=10**6, **SMALL[strategy]).stopped is None


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
            assert words_of(res) == words_of(reference)
            for column in ("score", "parent", "depth"):
                np.testing.assert_array_equal(res.history[column], reference.history[column])
            assert res.trajectory.word == reference.trajectory.word
            np.testing.assert_array_equal(res.labels, reference.labels)
        with pytest.raises(ValueError, match="memory_budget"):
            search(ops, memory_budget=least - 1, **options)

    def test_more_samples_need_more(self):
        small, large = (self.needed(tiny(5, n), max_steps=2) for n in (100, 200))
        assert 0 < small < large


def test_the_mean_as_a_letter_tells_apart_what_either_view_confuses():
    data = mdt.datasets.make_multiview_blobs(1500, n_features=50, n_clusters=10, cluster_std=9.0, random_state=0)
    ops = mdt.build_operators(data.views)
    words, with_mean = (mdt.search(set_, 10, t=3, progress=False) for set_ in (ops, ops.with_mean()))
    assert 2 in with_mean.trajectory.word
    ami = [adjusted_mutual_info_score(data.target, found.labels) for found in (words, with_mean)]
    assert ami[1] > ami[0] + 0.005
    # Quality looks at the views alone, so that the scores compare.
    assert with_mean.score > words.score
