"""The confidence of samples in combined clusters, against loops and on hostile inputs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import roc_auc_score

import mdt_fast as mdt
from helpers.data import labels_of, overlapping_clusters
from helpers.hostile import view_sets
from mdt_fast._clusters import confidence as module
from mdt_fast._clusters.agreement import agree
from mdt_fast._clusters.confidence import agreement_with, better_half, confidence, neighbor_support
from mdt_fast._clusters.k_means import k_means


def blocks(sizes, weight=1.0):
    """The walk on separate groups, each joined completely."""
    K = sparse.block_diag([np.full((n, n), weight) for n in sizes])
    return mdt.OperatorSet.from_affinities([K], n_jobs=1)


def jaccard_by_loops(labels, clusters):
    n = len(clusters)
    found = np.empty(n)
    for i in range(n):
        own = {j for j in range(n) if clusters[j] == clusters[i]}
        others = [{j for j in range(n) if row[j] == row[i]} for row in labels]
        found[i] = np.mean([len(own & other) / len(own | other) for other in others])
    return found


def support_by_paths(Ps, clusters, moves=3):
    """Sum over all paths of moves to other samples inside the cluster, with dense matrices."""
    same = clusters[:, None] == clusters[None]
    found = []
    for P in Ps:
        M = P.toarray() - np.diag(P.diagonal())
        M = np.divide(M, M.sum(1, keepdims=True), out=np.zeros_like(M), where=M.sum(1, keepdims=True) > 0)
        found.append(np.linalg.matrix_power(M * same, moves).sum(1))
    return np.max(found, axis=0)


def are_right(clusters, target):
    table = np.zeros((clusters.max() + 1, target.max() + 1))
    np.add.at(table, (clusters, target), 1)
    return linear_sum_assignment(-table)[1][clusters] == target


class TestAgreement:
    @pytest.mark.parametrize("k", [1, 3, 29, 30])
    @pytest.mark.parametrize("table", [0, 2**20], ids=["sorted", "table"])
    def test_equals_loops(self, rng, monkeypatch, k, table):
        monkeypatch.setattr(module, "_LARGEST_TABLE", table)
        labels, clusters = rng.integers(0, k, (5, 30)), labels_of(rng, 30, min(k, 7))
        np.testing.assert_allclose(agreement_with(labels, clusters), jaccard_by_loops(labels, clusters), rtol=1e-12)

    @pytest.mark.parametrize("k", [1, 5, 40])
    def test_equal_labellings(self, rng, k):
        clusters = labels_of(rng, 40, k)
        labels = np.stack([rng.permutation(k)[clusters] for _ in range(4)])
        np.testing.assert_array_equal(agreement_with(labels, clusters), 1.0)

    def test_values_of_labels_do_not_matter(self, rng):
        labels, clusters = rng.integers(0, 4, (3, 30)), labels_of(rng, 30, 4)
        names = np.array([10**9, -5, 77, 3])
        expected = agreement_with(labels, clusters)
        np.testing.assert_array_equal(agreement_with(names[labels], names[::-1][clusters]), expected)

    def test_better_half(self):
        assert better_half(np.array([3.0])).tolist() == [0]
        assert better_half(np.array([1.0, 3.0, 2.0])).tolist() == [1, 2]
        assert better_half(np.array([np.nan, 1.0, 1.0, 1.0])).tolist() == [1, 2]
        assert better_half(np.array([-np.inf, 0.0])).tolist() == [1]


class TestSupport:
    @given(view_sets(), st.integers(1, 5), st.integers(0, 9))
    def test_equals_paths(self, views, k, seed):
        Xs, n_neighbors = views
        ops = mdt.build_operators(Xs, n_neighbors=n_neighbors, kernel="adaptive", n_jobs=1)
        clusters = np.random.default_rng(seed).integers(0, k, ops.n_samples)
        found = neighbor_support(clusters, ops)
        assert (found >= 0).all()
        assert (found <= 1).all()
        Ps = [P.astype(np.float64) for P in ops.views]
        np.testing.assert_allclose(found, support_by_paths(Ps, clusters), rtol=1e-6, atol=1e-9)

    def test_components(self):
        ops = blocks([4, 6])
        np.testing.assert_allclose(neighbor_support(np.repeat([0, 1], [4, 6]), ops), 1.0)
        # In the second component, the two other clusters of three samples: two of five moves stay.
        clusters = np.repeat([0, 1, 2], [4, 3, 3])
        np.testing.assert_allclose(neighbor_support(clusters, ops)[4:], (2 / 5) ** 3)

    def test_samples_without_neighbours(self):
        ops = mdt.OperatorSet.from_affinities([np.eye(3)], n_jobs=1)
        np.testing.assert_array_equal(neighbor_support(np.zeros(3, dtype=int), ops), 0.0)

    def test_uninformative_view_does_not_lower_it(self, rng):
        clusters = np.repeat([0, 1], 10)
        informative = sparse.block_diag([np.ones((10, 10))] * 2)
        noise = rng.random((20, 20))
        ops = mdt.OperatorSet.from_affinities([informative, noise + noise.T], n_jobs=1)
        np.testing.assert_allclose(neighbor_support(clusters, ops), 1.0)

    def test_weight_of_staying_does_not_matter(self, rng):
        K = rng.random((12, 12))
        K += K.T
        lazy = K + np.diag(rng.random(12) * 100)
        clusters = labels_of(rng, 12, 3)
        first, second = (mdt.OperatorSet.from_affinities([each], n_jobs=1) for each in (K, lazy))
        np.testing.assert_allclose(neighbor_support(clusters, first), neighbor_support(clusters, second), rtol=1e-9)


class TestConfidence:
    def test_largest_value(self, rng):
        clusters = np.repeat([0, 1, 2], [5, 4, 9])
        labels = np.stack([rng.permutation(3)[clusters] for _ in range(6)])
        found = confidence(labels, np.arange(6.0), clusters, blocks([5, 4, 9]))
        np.testing.assert_allclose(found, 1.0, rtol=1e-12)
        assert found.max() <= 1.0

    def test_uses_the_better_half(self, rng):
        clusters = np.repeat([0, 1], [8, 8])
        labels = np.stack([clusters, rng.integers(0, 2, 16), clusters, rng.integers(0, 2, 16)])
        ops = blocks([8, 8])
        np.testing.assert_allclose(confidence(labels, np.array([3.0, 1.0, 2.0, np.nan]), clusters, ops), 1.0)
        assert (confidence(labels, None, clusters, ops) < 1).all()

    @pytest.mark.parametrize(("n", "k"), [(2, 1), (2, 2), (12, 11), (12, 12)])
    @pytest.mark.parametrize("n_views", [1, 3])
    def test_small_and_fine(self, rng, n, k, n_views):
        ops = mdt.build_operators([rng.normal(size=(n, 2)) for _ in range(n_views)], n_jobs=1)
        clusters = labels_of(rng, n, k)
        found = confidence(clusters[None], np.zeros(1), clusters, ops)
        assert found.shape == (n,)
        alone = np.bincount(clusters)[clusters] == 1
        np.testing.assert_array_equal(found[alone], 0.0)
        assert ((found >= 0) & (found <= 1)).all()

    def test_names_of_labels_do_not_matter(self, rng):
        views, _ = overlapping_clusters(60)
        ops = mdt.build_operators(views, n_jobs=1)
        labels, clusters = rng.integers(0, 3, (8, 60)), labels_of(rng, 60, 3)
        scores = rng.random(8)
        renamed = np.stack([rng.permutation(3)[row] for row in labels])
        expected = confidence(labels, scores, clusters, ops)
        np.testing.assert_array_equal(confidence(renamed, scores, clusters, ops), expected)
        np.testing.assert_array_equal(confidence(labels, scores, np.array([2, 0, 1])[clusters], ops), expected)

    def test_no_square_matrix(self):
        """Ten thousand samples, nearly all alone in their cluster: no table of pairs of labels."""
        n = 10_000
        ops = mdt.build_operators([np.arange(n, dtype=float)[:, None]], n_neighbors=3, n_jobs=1)
        clusters = np.maximum(np.arange(n), 3)
        found = confidence(np.stack([clusters, clusters]), None, clusters, ops)
        np.testing.assert_array_equal(found[10:], 0.0)
        assert (found[:3] > 0).all()

    def test_float32_and_read_only(self, rng):
        X = rng.normal(size=(50, 3))
        single, double = (mdt.build_operators([X], dtype=dtype, n_jobs=1) for dtype in ("float32", "float64"))
        clusters = labels_of(rng, 50, 4)
        clusters.flags.writeable = False
        first, second = (confidence(clusters[None], None, clusters, ops) for ops in (single, double))
        assert first.dtype == np.float64
        np.testing.assert_allclose(first, second, rtol=1e-5)

    @pytest.mark.parametrize("seed", [0, 1, 2])
    def test_wrong_samples_have_a_lower_one(self, seed):
        views, target = overlapping_clusters(400, seed=seed)
        ops = mdt.build_operators(views, kernel="adaptive", n_jobs=1)
        rng = np.random.default_rng(seed)
        labels = []
        for _ in range(16):
            W = ops.trajectory([rng.dirichlet(np.ones(2))] * int(rng.integers(1, 4)))
            coordinates = mdt.embed(W, 3).coordinates
            labels.append(k_means(coordinates, 3, n_init=3, random_state=seed, n_jobs=1).labels)
        labels = np.stack(labels)
        clusters = agree(labels[:4], 3, seed=seed, n_jobs=1).labels
        right = are_right(clusters, target)
        found = confidence(labels, None, clusters, ops)
        assert 5 < (~right).sum() < 200
        assert roc_auc_score(right, found) > 0.7
        low = found < np.median(found)
        assert right[low].mean() < right[~low].mean()
