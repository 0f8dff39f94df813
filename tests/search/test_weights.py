"""Strategies that choose weights, and trajectories given by hand."""

from __future__ import annotations

import numpy as np
import pytest

import mdt_fast as mdt
from helpers.searches import K, assert_consistent, assert_same, composed, search, sequences_of, tiny
from mdt_fast._search.strategies import contrastive
from mdt_fast.strategies import CMA, Contrastive, Direct, Given, Mean, RandomWeights


class TestConvex:
    def test_rows_lie_on_the_simplex(self):
        ops = tiny(n_views=3)
        res = search(ops, strategy=RandomWeights(n=30), t=4)
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
        res = search(tiny(), strategy=RandomWeights(n=500), t=4)
        first = np.sort(np.array(res.candidates)[:, :, 0].ravel())
        expected = np.where(first < 0.5, first / (2 * (1 - first)), 1 - (1 - first) / (2 * first))
        steps = np.arange(1, len(first) + 1) / len(first)
        assert np.abs(expected - steps).max() < 2 / np.sqrt(len(first))  # Kolmogorov and Smirnov, at 1 in 1500


class TestGiven:
    def test_mean_is_uniform(self):
        ops = tiny(n_views=3)
        res = search(ops, strategy=Mean(), t=4)
        np.testing.assert_array_equal(res.candidates[0], np.full((4, 3), 1 / 3))
        assert res.n_evaluations == 1
        assert res.score == composed(ops, np.full((4, 3), 1 / 3))[0]

    @pytest.mark.parametrize("given", [[0, 1, 1], (0, 1, 1), ["view 0", "view 1", "view 1"]], ids=repr)
    def test_a_sequence(self, given):
        ops = tiny()
        res = search(ops, strategy=given)
        assert_consistent(res, ops)
        assert sequences_of(res) == [(0, 1, 1)]
        assert res.trajectory.sequence == (0, 1, 1)
        assert res.score == composed(ops, [0, 1, 1])[0]
        assert res.best == 0
        assert res.t is None

    @pytest.mark.parametrize("steps", [[0, 1, 1], ["view 0", "view 1"], np.full((2, 2), 0.5)], ids=str)
    def test_steps_stand_for_the_strategy_given(self, steps):
        ops = tiny()
        expected = search(ops, strategy=steps)
        assert expected.strategy == "given"
        for strategy in (Given(steps), Given(ops.trajectory(steps)), ops.trajectory(steps)):
            found = search(ops, strategy=strategy)
            assert_same(expected, found)
            assert found.settings == expected.settings

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
    @pytest.mark.parametrize("make", [Direct, CMA])
    @pytest.mark.parametrize("budget", [1, 2, 37])
    def test_first_candidate_is_the_mean_and_the_budget_is_kept(self, make, budget):
        for seed in range(3):
            ops = tiny(seed, n_views=3)
            res = search(ops, strategy=make(evaluations=budget), t=2, random_state=seed)
            assert_consistent(res, ops)
            assert res.n_evaluations == budget
            assert res.stopped is None
            np.testing.assert_allclose(res.candidates[0], 1 / 3, rtol=1e-12)
            assert res.score == res.history["score"].max() >= res.history["score"][0]
            weights = np.array(res.candidates)
            assert weights.shape == (budget, 2, 3)
            assert (weights >= 0).all()
            np.testing.assert_allclose(weights.sum(axis=2), 1, rtol=1e-12)

    @pytest.mark.parametrize("strategy", ["direct", "cma"])
    def test_a_hundred_evaluations_by_default(self, strategy):
        assert search(tiny(), strategy=strategy, t=1).n_evaluations == 100

    @pytest.mark.parametrize("make", [Direct, CMA])
    def test_the_smaller_of_budget_and_limit_ends_the_search(self, make):
        limited = search(tiny(), strategy=make(evaluations=9), t=2, max_evaluations=4)
        assert (limited.n_evaluations, limited.stopped) == (4, "max_evaluations")
        ended = search(tiny(), strategy=make(evaluations=4), t=2, max_evaluations=9)
        assert (ended.n_evaluations, ended.stopped) == (4, None)
        np.testing.assert_array_equal(limited.history["score"], ended.history["score"])

    @pytest.mark.parametrize("make", [Direct, CMA])
    def test_improve_on_the_mean(self, make):
        """A smooth quality: minus the distance of the norms of coordinates from given values."""
        gains = []
        for seed in range(5):
            ops = tiny(seed)
            target = mdt.embed(ops.trajectory([0, 0]), K).singular_values

            def quality(ops, labels, coordinates, target=target):
                return -float(np.abs(np.linalg.norm(coordinates, axis=0) - target).max())

            res = search(ops, strategy=make(evaluations=60), t=2, quality=quality, random_state=seed)
            gains.append(res.score - res.history["score"][0])
        assert min(gains) > 0

    @pytest.mark.parametrize("make", [Direct, CMA])
    def test_one_member_alone(self, make):
        res = search(tiny(n_views=1), strategy=make(evaluations=5), t=2)
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

    def test_converged(self):
        assert search(tiny(), None, strategy=Contrastive(steps=1), t=2).converged is False

    def test_more_iterations_are_no_worse(self):
        ops = tiny(3, 30)
        gains = [search(ops, None, strategy=Contrastive(steps=n), t=3).score for n in (1, 5, 40, 150)]
        gains = np.array(gains) + mdt.quality.contrastive_loss(ops, np.full((3, 2), 0.5))
        assert gains[1] > 0
        assert gains[2] > 0.95 * gains[1]
        assert gains[3] > 0.95 * gains[2]

    def test_ends_when_converged(self):
        ops = tiny(2, 30)
        whole = search(ops, None, strategy=Contrastive(tol=0.0), t=3)
        found = search(ops, None, strategy="contrastive", t=3)
        assert whole.n_evaluations == 41
        assert found.n_evaluations < 25
        assert found.converged is True
        # The first iterates are the same, and the end costs less than the tolerance times a few.
        np.testing.assert_array_equal(found.history["score"], whole.history["score"][: found.n_evaluations])
        start = whole.history["score"][0]
        assert whole.score - found.score < 5e-4 * (whole.score - start)

    def test_one_member_needs_one_evaluation(self):
        assert search(tiny(n_views=1), None, strategy="contrastive", t=2).n_evaluations == 1

    def test_batches_of_rows(self):
        ops = tiny(4, 60)
        strategy = Contrastive(learning_rate=0.2, steps=60, batch_size=16)
        first, again, other = (search(ops, None, strategy=strategy, t=3, random_state=seed) for seed in (0, 0, 1))
        start = mdt.quality.contrastive_loss(ops, np.full((3, 2), 0.5))
        for res in (first, other):
            assert mdt.quality.contrastive_loss(ops, res.trajectory) < start
        np.testing.assert_array_equal(first.trajectory.weights, again.trajectory.weights)
        assert not np.array_equal(first.trajectory.weights, other.trajectory.weights)


class TestContrastiveEstimates:
    """More samples than columns of signs: losses are estimated."""

    @pytest.fixture
    def ops(self):
        rng = np.random.default_rng(0)
        classes = np.arange(900) % 4
        X = 2 * np.eye(4)[classes] + rng.normal(size=(900, 4))
        return mdt.build_operators([X, X + 1.5 * rng.normal(size=X.shape)])

    def test_finds_the_weights_of_exact_losses(self, ops):
        exact = search(ops, None, strategy=Contrastive(batch_size=None, tol=0.0), t=5)
        start = -exact.history["score"][0]
        for seed in range(3):
            found = search(ops, None, strategy="contrastive", t=5, random_state=seed)
            loss = mdt.quality.contrastive_loss(ops, found.trajectory)
            assert loss + exact.score < 1e-3 * (start + exact.score)
            assert -found.score != loss
            assert -found.score == pytest.approx(loss, abs=0.1 * (start + exact.score))
            assert found.score == found.history["score"].max()
            assert_consistent(found, ops, None)

    def test_seed_and_threads(self, ops):
        first, again, other = (
            search(ops, None, strategy="contrastive", t=5, random_state=seed, n_jobs=n_jobs)
            for seed, n_jobs in ((0, 1), (0, 3), (1, 1))
        )
        assert_same(first, again)
        assert first.score != other.score

    def test_small_and_narrow_sets_are_exact(self, monkeypatch):
        """Exact losses need no more columns than an estimate if walks reach few samples."""
        ops = mdt.build_operators(mdt.datasets.make_helix_a(1000).views)
        for n_signs, n_samples, is_exact in ((1000, 1000, True), (900, 1000, True), (32, 1000, False)):
            monkeypatch.setattr(contrastive, "_SIGNS", n_signs * n_samples)
            res = search(ops, None, strategy=Contrastive(steps=1), t=5)
            losses = [mdt.quality.contrastive_loss(ops, weights) for weights in res.candidates]
            assert (-res.history["score"] == pytest.approx(losses, rel=1e-12)) == is_exact

    def test_resumes(self, ops, tmp_path):
        whole = search(ops, None, strategy="contrastive", t=5)
        options = {"strategy": "contrastive", "t": 5, "checkpoint": tmp_path / "search.json"}
        part = search(ops, None, max_evaluations=3, **options)
        assert part.stopped == "max_evaluations"
        assert_same(whole, search(ops, None, **options))

    def test_time_limit(self, ops):
        res = search(ops, None, strategy=Contrastive(steps=10**6, tol=0.0), t=5, time_limit=0.2)
        assert res.stopped == "time_limit"
        assert res.score == res.history["score"].max()
