"""Stability of the clusters of one view: halves of its edges, and what they have in common."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import mdt_fast as mdt
from mdt_fast._clusters.stability import damped, entropy, halves, stability


def operators(X, **options):
    return mdt.build_operators([X], kernel="adaptive", n_neighbors=10, **options)


@pytest.fixture(scope="module")
def walk():
    return operators(np.random.default_rng(0).normal(size=(200, 4))).views[0]


class TestHalves:
    def test_each_edge_is_in_one_half(self, walk):
        first, second = (half - sparse.diags_array(half.diagonal()) for half in halves(walk, 0))
        first, second = ((half.toarray() > 0) for half in (first, second))
        assert not (first & second).any()
        edges = walk.toarray() > 0
        np.fill_diagonal(edges, False)
        np.testing.assert_array_equal(first | second, edges)
        np.testing.assert_array_equal(first, first.T)
        assert 0.45 < first.sum() / edges.sum() < 0.55

    def test_rows_sum_to_one_in_proportion(self, walk):
        for half in halves(walk, 0):
            np.testing.assert_allclose(half.sum(axis=1), 1, rtol=1e-12)
            dense, kept = half.toarray(), half.toarray() > 0
            expected = np.where(kept, walk.toarray(), 0)
            np.testing.assert_allclose(dense, expected / expected.sum(axis=1, keepdims=True), rtol=1e-12)

    def test_a_sample_without_edges_stays(self):
        swap = sparse.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))
        dense = [half.toarray().tolist() for half in halves(swap, 0)]
        assert sorted(dense) == [[[0.0, 1.0], [1.0, 0.0]], [[1.0, 0.0], [0.0, 1.0]]]

    def test_the_seed_decides(self, walk):
        first, same, other = (halves(walk, seed)[0].toarray() for seed in (0, 0, 1))
        np.testing.assert_array_equal(first, same)
        assert (first != other).any()


class TestStability:
    def test_clusters_and_noise(self):
        classes = np.arange(300) % 3
        rng = np.random.default_rng(1)
        distinct = operators(8 * np.eye(20)[classes] + rng.normal(size=(300, 20)))
        found, number = stability(distinct, 0, 9, steps=4, seed=0, n_jobs=1)
        assert (found, number) == (pytest.approx(1, abs=0.05), 3)
        noise, _ = stability(operators(rng.normal(size=(300, 16))), 0, 9, steps=4, seed=0, n_jobs=1)
        assert noise < 0.3

    def test_a_few_remote_samples_count_little(self):
        X = np.random.default_rng(2).normal(size=(300, 30))
        X[:11] += 100
        found, _ = stability(operators(X), 0, 2, steps=2, seed=0, n_jobs=1)
        assert found < 0.35

    def test_same_at_any_number_of_threads(self):
        ops = operators(np.random.default_rng(3).normal(size=(300, 5)))
        one, three = (stability(ops, 0, 6, steps=3, seed=4, n_jobs=n_jobs) for n_jobs in (1, 3))
        assert one == three

    def test_single_precision(self):
        ops = operators(np.random.default_rng(3).normal(size=(100, 5)), dtype="float32")
        assert np.isfinite(stability(ops, 0, 4, steps=3, seed=0, n_jobs=1)[0])

    def test_three_samples(self):
        ops = mdt.OperatorSet.from_transitions([np.full((3, 3), 1 / 3)])
        assert np.isfinite(stability(ops, 0, 2, steps=1, seed=0, n_jobs=1)[0])


def test_damped_rows():
    rows = np.array([[3.0, 4.0], [0.0, 5.0], [5.0, 0.0], [3e6, 4e6], [0.0, 0.0]])
    np.testing.assert_allclose(np.linalg.norm(damped(rows), axis=1), [0.5**0.5] * 3 + [1.0, 0.0], rtol=1e-9)
    assert not damped(np.zeros((3, 2))).any()


def test_entropy():
    assert entropy(np.repeat([0, 7], 5)) == pytest.approx(np.log(2))


@pytest.mark.filterwarnings("ignore::mdt_fast.OperatorWarning")
def test_a_walk_that_never_moves_has_no_stable_clusters():
    ops = mdt.OperatorSet.from_transitions([sparse.eye_array(60, format="csr")])
    assert stability(ops, 0, 3, steps=2, seed=0, n_jobs=1)[0] == 0.0
