"""Scores of candidates against the public functions that they are composed of."""

from __future__ import annotations

from dataclasses import FrozenInstanceError

import numpy as np
import pytest

import mdt_fast as mdt
from helpers.searches import (
    SEARCHES,
    SEQUENCES,
    K,
    all_sequences,
    assert_consistent,
    assert_same,
    composed,
    search,
    sequences_of,
    tiny,
)
from mdt_fast.strategies import Beam, Exhaustive, Given, Mean, RandomSequences, RandomWeights

# An accuracy at which other starts of the solver give the same labels.
TIGHT = 1e-9


class TestScores:
    @pytest.mark.parametrize("strategy", [*SEQUENCES, "convex", "direct", "cma"])
    @pytest.mark.parametrize("seed", [0, 7])
    def test_every_node_is_the_composition_of_public_functions(self, strategy, seed):
        ops = tiny(3)
        res = search(ops, random_state=seed, **SEARCHES[strategy])
        assert_consistent(res, ops)
        for steps, score in zip(res.candidates, res.history["score"], strict=True):
            assert score == composed(ops, steps, seed=seed)[0]
        score, labels = composed(ops, res.trajectory, seed=seed)
        assert res.score == score
        np.testing.assert_array_equal(res.labels, labels)
        assert res.strategy == strategy
        assert res.quality == "calinski_harabasz"

    @pytest.mark.filterwarnings("ignore:the steps of this trajectory leave:mdt_fast.OperatorWarning")  # of the identity
    @pytest.mark.parametrize("strategy", [Beam(max_steps=3), RandomSequences(n=8), RandomWeights(n=8)], ids=repr)
    @pytest.mark.parametrize("n", [16, 150])
    @pytest.mark.parametrize("dtype", ["float64", "float32"])
    def test_other_members_and_single_precision(self, strategy, n, dtype):
        ops = tiny(4, n, dtype=dtype).with_identity().with_teleport(0.8).with_powers([2])
        identity = ops.names.index("identity")
        res = search(ops, strategy=strategy, t=3, quality=mdt.Scoring(tol=TIGHT))
        assert_consistent(res, ops)
        for steps, score in zip(res.candidates, res.history["score"], strict=True):
            # All singular values of the identity are 1: its coordinates are arbitrary.
            if not np.array_equal(ops.trajectory(steps).weights[:, identity], np.ones(len(steps))):
                assert score == composed(ops, steps, tol=TIGHT)[0]

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
        res = search(ops, 4, quality=mdt.Scoring(**options), random_state=2, **SEARCHES[strategy])
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
        weights = {"view_weights": [3.0, 1.0]} if weighted else {}
        features = {"features": [rng.normal(size=(16, 2)), rng.normal(size=(16, 5))]} if on_features else {}
        res = search(ops, quality=mdt.Scoring(quality, **features), **SEARCHES[strategy], **weights)
        for steps, score in zip(res.candidates, res.history["score"], strict=True):
            assert score == composed(ops, steps, quality=quality, **weights, **features)[0]
        assert res.score == res.history["score"].max()
        assert res.quality == quality

    def test_a_view_of_weight_zero_is_ignored(self):
        ops = tiny(6)
        one = search(ops, view_weights=[1, 0], strategy=Beam(max_steps=3))
        for sequence, score in zip(one.candidates, one.history["score"], strict=True):
            labels = composed(ops, sequence)[1]
            assert score == mdt.quality.calinski_harabasz(ops, labels, per_view=True)[0]

    def test_davies_bouldin_is_negated(self):
        ops = tiny(6)
        res = search(ops, quality="davies_bouldin", strategy=Exhaustive(max_steps=3))
        assert (res.history["score"] < 0).all()
        smallest = min(-composed(ops, sequence, quality="davies_bouldin")[0] for sequence in all_sequences(2, 3))
        assert res.score == -smallest

    @pytest.mark.parametrize("n_clusters", [None, K])
    @pytest.mark.parametrize("view_weights", [None, [0.9, 0.1]])
    def test_contrastive_as_a_quality(self, n_clusters, view_weights):
        ops = tiny(6)
        strategy = Beam(max_steps=3)
        res = search(ops, n_clusters, strategy=strategy, quality="contrastive", view_weights=view_weights)
        for sequence, score in zip(res.candidates, res.history["score"], strict=True):
            loss = mdt.quality.contrastive_loss(ops, sequence, view_weights=view_weights)
            assert score == pytest.approx(-loss, rel=1e-12)
        assert res.score == res.history["score"].max() < 0

    def test_a_callable_gets_operators_labels_and_coordinates(self):
        ops, given = tiny(8), []

        def quality(operators, labels, coordinates):
            given.append((operators, np.array(labels), np.array(coordinates)))
            return float(coordinates[0, 0] - coordinates[1, -1])

        res = search(ops, strategy=Beam(max_steps=3), quality=mdt.Scoring(quality, n_components=2))
        assert len(given) == res.n_evaluations
        for sequence, score in zip(res.candidates, res.history["score"], strict=True):
            assert score == composed(ops, sequence, quality=quality, n_components=2)[0]
        for operators, labels, coordinates in given:
            assert operators is ops
            assert labels.shape == (16,)
            assert set(labels) == set(range(K))
            assert coordinates.shape == (16, 2)
        assert res.quality is None or isinstance(res.quality, str)

    @pytest.mark.parametrize("number", [3, np.float32(0.5), np.float64(-2), np.int64(7), -0.0])
    def test_any_real_number_is_a_score(self, number):
        res = search(tiny(), strategy=Beam(max_steps=1), quality=lambda *_: number)
        assert res.score == number

    @pytest.mark.parametrize(
        "strategy",
        ["random", "convex", "mean", [0, 1, 1], RandomSequences(), RandomWeights(), Mean(), Given([0, 1, 1])],
        ids=str,
    )
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
        first, again, other = (search(ops, strategy=RandomSequences(n=8), t=6, random_state=seed) for seed in (1, 1, 2))
        assert sequences_of(first) == sequences_of(again)
        np.testing.assert_array_equal(first.history["score"], again.history["score"])
        assert sequences_of(first) != sequences_of(other)


class TestScoring:
    @pytest.mark.parametrize("quality", ["silhouette", lambda ops, labels, coordinates: float(coordinates[0, 0])])
    def test_a_quality_stands_for_its_scoring(self, quality):
        short, full = (search(tiny(), quality=each, **SEARCHES["beam"]) for each in (quality, mdt.Scoring(quality)))
        assert_same(short, full)
        assert short.settings == full.settings

    def test_none_is_the_default(self):
        plain = search(tiny(), **SEARCHES["beam"])
        given = mdt.Scoring("auto", n_components=K, n_init=1, tol=1e-3)
        assert_same(plain, search(tiny(), quality=given, **SEARCHES["beam"]))

    def test_frozen(self):
        with pytest.raises(FrozenInstanceError):
            mdt.Scoring().n_init = 3

    def test_nothing_is_scored(self):
        for quality in (None, mdt.Scoring(None)):
            assert np.isnan(search(tiny(), strategy="mean", t=2, quality=quality).score)

    @pytest.mark.parametrize("quality", ["persistence", "contrastive", lambda *_: 1.0], ids=str)
    def test_features_without_effect(self, quality):
        with pytest.raises(ValueError, match="features: expected None, because quality="):
            search(tiny(), quality=mdt.Scoring(quality, features=[np.eye(16)] * 2))

    def test_unknown_setting(self):
        with pytest.raises(TypeError, match="'n_starts'"):
            mdt.Scoring(n_starts=3)
