"""Large sets keep their matrices once, in the order of the cache; every result is that of a set with two copies."""

import copy
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import mdt_fast as mdt
from mdt_fast._operators import operator_set
from mdt_fast._search import memory_plan

# From 16,384 samples on, the core reorders sets.
N = 17_000


def make_views():
    blobs = mdt.datasets.make_multiview_blobs(N, n_clusters=4, n_features=6, cluster_std=4.0, random_state=0)
    order = np.random.default_rng(1).permutation(N)
    return [view[order] for view in blobs.views]


def make(lacking=None):
    views = make_views()
    if lacking is not None:
        views[1][lacking] = np.nan
    return mdt.build_operators(views, n_neighbors=6)


@pytest.fixture(scope="module")
def two_copies():
    return make()


@pytest.fixture(scope="module")
def one_copy():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(operator_set, "ONE_COPY", N)
        return make()


def test_the_copy_has_another_order(one_copy, two_copies):
    stored = one_copy.native.transition_in_any_order(0)
    assert not np.array_equal(stored.indices, two_copies.transitions[0].indices)
    assert two_copies.native.transition_in_any_order(0).indices is not None
    assert_array_equal(np.sort(stored.values), np.sort(two_copies.transitions[0].values))


def test_matrices_in_the_given_order_are_the_same_bits(one_copy, two_copies):
    for a, b in zip(one_copy.views, two_copies.views, strict=True):
        for part in ("indptr", "indices", "data"):
            assert_array_equal(getattr(a, part), getattr(b, part))
    for a, b in zip(one_copy.affinities, two_copies.affinities, strict=True):
        assert_array_equal(a.data, b.data)
    assert one_copy.has_same_members(two_copies)
    assert one_copy.has_same_members(one_copy.with_identity()) is False


def test_products_are_those_of_the_given_order(one_copy, two_copies):
    x = np.random.default_rng(2).normal(size=(N, 3))
    W, V = one_copy.trajectory([0, 1, 1]), two_copies.trajectory([0, 1, 1])
    assert_allclose(W @ x, V @ x, rtol=0, atol=1e-13)
    assert_allclose(W.T @ x, V.T @ x, rtol=0, atol=1e-12)
    assert_allclose(W @ x[:, 0], V @ x[:, 0], rtol=0, atol=1e-13)
    before = W @ x
    # This makes matrices in the given order, which must not change later products.
    one_copy.trajectory([0]).tosparse()
    assert_array_equal(W @ x, before)
    assert (W @ np.empty((N, 0))).shape == (N, 0)


def test_time_search_and_embedding_have_the_same_bits(one_copy, two_copies):
    assert mdt.select_time(one_copy).t == mdt.select_time(two_copies).t
    for strategy in (mdt.strategies.Beam(max_steps=2), mdt.strategies.RandomWeights(n=2)):
        found, wanted = (mdt.search(each, 4, strategy=strategy, t=2, progress=False) for each in (one_copy, two_copies))
        assert found.score == wanted.score
        assert_array_equal(found.labels, wanted.labels)
    a, b = (mdt.embed(each.trajectory([0, 1]), 3) for each in (one_copy, two_copies))
    assert_array_equal(a.coordinates, b.coordinates)


def test_a_fit_and_new_samples(monkeypatch):
    views = make_views()
    how = {"n_neighbors": 6, "strategy": mdt.strategies.Beam(max_steps=2), "t": 2}
    two = mdt.MDTClustering(4, **how).fit(views)
    monkeypatch.setattr(operator_set, "ONE_COPY", N)
    one = mdt.MDTClustering(4, **how).fit(views)
    assert_array_equal(one.labels_, two.labels_)
    assert one.score_ == two.score_
    some = [view[:50] for view in views]
    assert_array_equal(one.predict(some), one.labels_[:50])
    assert_array_equal(one.predict(some), two.predict(some))


def test_other_functions_make_the_matrices_they_need(monkeypatch, one_copy, two_copies):
    W, V = (each.trajectory([0]) for each in (one_copy, two_copies))
    assert_array_equal(W.tosparse().toarray()[:3], V.tosparse().toarray()[:3])
    assert_allclose(W.stationary_distribution(tol=1e-2), V.stationary_distribution(tol=1e-2), rtol=1e-9)
    assert_allclose(
        W.diffusion_distances([1, 5, 9], weighting="uniform"),
        V.diffusion_distances([1, 5, 9], weighting="uniform"),
        rtol=1e-9,
    )
    monkeypatch.setattr(operator_set, "ONE_COPY", N)
    again = pickle.loads(pickle.dumps(one_copy))
    assert again.has_same_members(two_copies)
    larger = again.with_identity().with_transitions([two_copies[1]])
    x = np.random.default_rng(3).normal(size=(N, 2))
    assert_allclose(larger.trajectory([2, 3]) @ x, two_copies[1] @ x, rtol=0, atol=1e-13)


def test_larger_sets_share_the_copy(one_copy, two_copies):
    x = np.random.default_rng(3).normal(size=(N, 2))
    for grow in (
        lambda ops: ops.with_mean().with_identity(),
        lambda ops: ops.with_transitions([two_copies[1]]),
        copy.copy,
    ):
        larger, wanted = grow(one_copy), grow(two_copies)
        assert larger.native.shares_matrices(one_copy.native)
        for index in range(len(larger)):
            found = larger.trajectory([0, index]) @ x
            assert_allclose(found, wanted.trajectory([0, index]) @ x, rtol=0, atol=1e-13)
    assert one_copy.with_transitions([two_copies[1]]).has_same_members(two_copies.with_transitions([two_copies[1]]))
    assert one_copy.names == ["view 0", "view 1"]


def test_wide_blocks_pass_in_panels(one_copy, two_copies):
    x = np.random.default_rng(6).normal(size=(N, 70))
    W, V = one_copy.trajectory([0, 1]), two_copies.trajectory([0, 1])
    assert_allclose(W @ x, V @ x, rtol=0, atol=1e-13)
    assert_array_equal((W @ x)[:, 40:50], W @ x[:, 40:50])
    assert_allclose(W.T @ x, V.T @ x, rtol=0, atol=1e-12)


def test_views_that_lack_samples(monkeypatch):
    lacking = np.random.default_rng(4).permutation(N)[:900]
    two = make(lacking)
    monkeypatch.setattr(operator_set, "ONE_COPY", N)
    one = make(lacking)
    x = np.random.default_rng(5).normal(size=(N, 2))
    for direction in (lambda W: W @ x, lambda W: W.T @ x):
        for a, b in ((one, two), (one.with_mean(), two.with_mean())):
            steps = [1, len(a) - 1, 0]
            assert_allclose(direction(a.trajectory(steps)), direction(b.trajectory(steps)), rtol=0, atol=1e-12)
    a, b = (mdt.search(each, 4, strategy="mean", t=2, progress=False) for each in (one, two))
    assert a.score == b.score
    assert_array_equal(a.labels, b.labels)


def test_the_plan_of_a_search_has_no_further_copy(monkeypatch):
    before = memory_plan.plan_search(N, 2, 15, 4)
    monkeypatch.setattr(memory_plan, "ONE_COPY", N)
    after = memory_plan.plan_search(N, 2, 15, 4)
    assert before["reordered operators"] == before["operators"]
    assert after["reordered operators"] == 0
    # Both orders exist while the set is made.
    many = memory_plan.plan_search(N, 12, 15, 4)
    assert many["total"] >= 2 * many["operators"]
