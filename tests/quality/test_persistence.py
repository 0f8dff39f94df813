"""Persistence against dense formulas, on hard inputs, and as the quality of a search."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.sparse

import mdt_fast as mdt
from helpers.consensus import K, N, Undamped, operators_of, overlapping, search, separate
from helpers.data import labels_of
from mdt_fast.strategies import MCTS, Beam, RandomWeights


def dense_persistence(P, labels):
    """-log((1 - stay) / (1 - chance)) by loops; one step in n leaves where none does."""
    n, stays = len(P), []
    for i in range(n):
        moves = sum(P[i, j] for j in range(n) if j != i)
        if moves > 0:
            stays.append(sum(P[i, j] for j in range(n) if j != i and labels[j] == labels[i]) / moves)
    if not stays:
        return 0.0
    chance = sum((np.sum(labels == c) / n) ** 2 for c in np.unique(labels))
    return -math.log(max((1 - np.mean(stays)) / (1 - chance), 1 / n))


def with_duplicates(rng):
    return np.repeat(rng.normal(size=(20, 3)), 3, axis=0)


# Views, and options of the graph.
VIEWS = {
    "plain": (lambda rng: [rng.normal(size=(60, 3)), rng.normal(size=(60, 2))], {}),
    "duplicates": (lambda rng: [with_duplicates(rng), rng.normal(size=(60, 2))], {"n_neighbors": 5}),
    "float32": (lambda rng: [rng.normal(size=(60, 3)), rng.normal(size=(60, 2))], {"dtype": "float32"}),
    "binary": (lambda rng: [rng.normal(size=(60, 3))], {"kernel": "binary"}),
    "one neighbour": (lambda rng: [rng.normal(size=(60, 3))], {"n_neighbors": 1}),
}


@pytest.mark.filterwarnings("ignore::mdt_fast.OperatorWarning")
class TestPersistence:
    @pytest.mark.parametrize("k", [2, 5, 30, 59])
    @pytest.mark.parametrize(("make", "options"), VIEWS.values(), ids=VIEWS)
    def test_the_formula(self, rng, make, options, k):
        ops = mdt.build_operators(make(rng), **options)
        labels = labels_of(rng, 60, k)
        expected = [dense_persistence(P.toarray().astype(float), labels) for P in ops.views]
        found = mdt.quality.persistence(ops, labels, per_view=True)
        assert isinstance(mdt.quality.persistence(ops, labels), float)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(mdt.quality.persistence(ops, labels), np.mean(expected), rtol=1e-9, atol=1e-12)

    def test_views_are_weighted(self, rng):
        ops, labels = operators_of(), labels_of(rng, N, 4)
        per_view = mdt.quality.persistence(ops, labels, per_view=True)
        assert per_view[0] != per_view[1]
        for weights in ([3, 1], [0.0, 1.0], [5, 5]):
            found = mdt.quality.persistence(ops, labels, view_weights=weights)
            np.testing.assert_allclose(found, np.average(per_view, weights=weights), rtol=1e-12)

    def test_added_members_are_not_scored(self, rng):
        labels = labels_of(rng, N, 4)
        wider = operators_of().with_identity().with_uniform().with_powers([2])
        assert mdt.quality.persistence(wider, labels) == mdt.quality.persistence(operators_of(), labels)

    def test_label_values_do_not_matter(self, rng):
        ops, labels = operators_of(), labels_of(rng, N, 5)
        expected = mdt.quality.persistence(ops, labels)
        renamed = rng.permutation(5)[labels]
        for other in (renamed, labels * 10 - 7, renamed.astype(str), renamed.astype(float), renamed.tolist()):
            np.testing.assert_allclose(mdt.quality.persistence(ops, other), expected, rtol=1e-12)

    @pytest.mark.parametrize("k", [2, 3, 10])
    def test_random_labels_score_zero(self, rng, k):
        ops, labels = operators_of(300), labels_of(rng, 300, k)
        found = [mdt.quality.persistence(ops, rng.permutation(labels)) for _ in range(200)]
        # A step that moves has n - 1 targets, a uniform jump has n.
        leaving = np.exp(-np.array(found))
        np.testing.assert_allclose(leaving.mean(), 300 / 299, atol=4 * leaving.std() / math.sqrt(200))
        assert abs(np.mean(found)) < 0.02
        assert mdt.quality.persistence(ops, overlapping(300)[1]) > 10 * np.abs(found).mean()

    def test_labels_that_no_step_leaves(self):
        views, target = separate()
        ops = mdt.build_operators(views)
        np.testing.assert_allclose(mdt.quality.persistence(ops, target, per_view=True), math.log(60), rtol=1e-12)
        # No sample can reach another of its cluster.
        alternating = mdt.OperatorSet.from_transitions([scipy.sparse.csr_array(np.eye(6)[[1, 0, 3, 2, 5, 4]])])
        found = mdt.quality.persistence(alternating, [0, 1] * 3)
        np.testing.assert_allclose(found, -math.log(2), rtol=1e-12)

    def test_samples_that_never_move_are_skipped(self):
        P = np.eye(5)
        P[:3, :3] = [[0.5, 0.3, 0.2], [0.0, 0.0, 1.0], [0.4, 0.4, 0.2]]
        ops = mdt.OperatorSet.from_transitions([scipy.sparse.csr_array(P)])
        labels = np.array([0, 0, 1, 1, 0])
        expected = dense_persistence(P, labels)
        # Probabilities to stay of the samples that move: 0.6, 0 and 0.
        np.testing.assert_allclose(expected, -math.log(0.8 / (1 - 0.36 - 0.16)), rtol=1e-12)
        np.testing.assert_allclose(mdt.quality.persistence(ops, labels), expected, rtol=1e-12)
        idle = mdt.OperatorSet.from_transitions([scipy.sparse.eye_array(5, format="csr")])
        assert mdt.quality.persistence(idle, labels) == 0.0

    @pytest.mark.parametrize("labels", [np.zeros(N), np.arange(N)], ids=["one", "each its own"])
    def test_refused(self, labels):
        with pytest.raises(ValueError, match=r"labels: expected between 2 and 89 classes"):
            mdt.quality.persistence(operators_of(), labels)

    @pytest.mark.parametrize("n_jobs", [2, 3])
    def test_same_bits_at_any_number_of_threads(self, rng, n_jobs):
        X, labels = [rng.normal(size=(9000, 2))], labels_of(rng, 9000, 4)
        scores = {mdt.quality.persistence(mdt.build_operators(X, n_neighbors=4, n_jobs=j), labels) for j in (1, n_jobs)}
        assert len(scores) == 1

    @pytest.mark.parametrize(
        "strategy", [Beam(), RandomWeights(n=6), MCTS(playouts=6), Undamped(trajectories=6)], ids=repr
    )
    @pytest.mark.parametrize("weights", [None, [3, 1]], ids=["equal", "weighted"])
    def test_as_quality_of_a_search(self, strategy, weights):
        ops = operators_of()
        scoring = mdt.Scoring("persistence", n_init=2)
        how = {"quality": scoring, "view_weights": weights, "progress": False, "t": 2}
        found = mdt.search(ops, K, strategy=strategy, **how)
        assert found.quality == "persistence"
        for candidate, score in zip(found.candidates, found.history["score"], strict=True):
            labels = mdt.search(ops, K, strategy=candidate, **how).labels
            np.testing.assert_allclose(
                score, mdt.quality.persistence(ops, labels, view_weights=weights), rtol=1e-12, atol=1e-12
            )
        assert found.best == np.argmax(found.history["score"])

    def test_features_are_refused(self):
        with pytest.raises(ValueError, match=r"features: expected None, because quality='persistence'"):
            search(operators_of(), quality=mdt.Scoring("persistence", features=overlapping()[0]))
