"""Exact neighbours, and graphs given in place of the search."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
import scipy.spatial
from hypothesis import given
from hypothesis import strategies as st
from sklearn.neighbors import KNeighborsTransformer

import mdt_fast as mdt
from helpers import oracle
from helpers.hostile import EXACT, VIEWS

METRICS = ["euclidean", "manhattan", "cosine", "correlation"]


def assert_neighbors(X, n_neighbors, metric="euclidean", rtol=1e-13, atol=1e-15):
    indices, distances = mdt.nearest_neighbors(X, n_neighbors, metric=metric)
    expected_indices, expected_distances = oracle.knn(oracle.pairwise_distances(X, metric), n_neighbors)
    assert (indices.dtype, distances.dtype) == (np.int32, np.float64)
    np.testing.assert_allclose(distances, expected_distances, rtol=rtol, atol=atol)
    np.testing.assert_array_equal(indices, expected_indices)


def sparse_graph(indices, distances):
    """A csr_array of directed distances that keeps stored zeros."""
    n_samples, k = indices.shape
    return scipy.sparse.csr_array(
        (distances.ravel(), indices.ravel(), np.arange(0, n_samples * k + 1, k)), shape=(n_samples, n_samples)
    )


class TestSearch:
    # Sizes on both sides of any plausible chunk of rows or columns; dimensions from a line to wide.
    @pytest.mark.parametrize("metric", METRICS)
    @pytest.mark.parametrize(("n_samples", "n_features"), [(5, 3), (63, 4), (257, 8), (700, 17), (1100, 130)])
    def test_equals_oracle(self, rng, n_samples, n_features, metric):
        assert_neighbors(rng.normal(size=(n_samples, n_features)), min(12, n_samples - 1), metric, rtol=1e-12)

    @pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
    @pytest.mark.parametrize("n_features", [1, 2, 3])
    def test_low_dimension(self, rng, n_features, metric):
        assert_neighbors(rng.normal(size=(600, n_features)), 7, metric)

    @pytest.mark.parametrize("n_neighbors", [1, 2, 99, 149])
    def test_any_number_of_neighbours(self, rng, n_neighbors):
        assert_neighbors(rng.normal(size=(150, 5)), n_neighbors)

    @pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
    @given(kind=st.sampled_from(EXACT), n=st.integers(2, 60), seed=st.integers(0, 2**32 - 1), data=st.data())
    def test_ties_go_to_the_smaller_index(self, metric, kind, n, seed, data):
        X = VIEWS[kind](np.random.default_rng(seed), n)
        assert_neighbors(X, data.draw(st.integers(1, n - 1), label="n_neighbors"), metric, rtol=1e-15)

    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    def test_ties_across_chunks(self, dtype):
        # 24 x 24 x 4 points of a lattice: almost every K-th distance is tied, and the tied points lie far
        # apart in the order of rows. The squares are small integers, exact in either precision.
        lattice = np.stack(np.meshgrid(np.arange(24), np.arange(24), np.arange(4), indexing="ij"), axis=-1)
        order = np.random.default_rng(3).permutation(24 * 24 * 4)
        assert_neighbors(lattice.reshape(-1, 3)[order].astype(dtype), 9, rtol=1e-15)

    @pytest.mark.parametrize("metric", METRICS)
    @pytest.mark.parametrize("offset", [0.0, 1e6])
    @pytest.mark.parametrize("dtype", [np.float64, np.float32])
    def test_duplicates_are_at_exactly_zero(self, rng, metric, offset, dtype):
        # The offset makes norms large against distances, where |x|^2 + |y|^2 - 2 x.y cancels.
        X = (offset + rng.normal(size=(80, 6))).astype(dtype)
        X[40:] = X[:40]
        indices, distances = mdt.nearest_neighbors(X, 3, metric=metric)
        np.testing.assert_array_equal(distances[:, 0], 0.0)
        if offset == 0:
            np.testing.assert_array_equal(indices[:, 0], np.roll(np.arange(80), 40))

    def test_no_cancellation_far_from_the_origin(self, rng):
        assert_neighbors(1e7 + rng.normal(size=(400, 40)), 6)

    @pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
    @pytest.mark.parametrize("metric", METRICS)
    def test_extreme_scale(self, rng, scale, metric):
        X = scale * rng.normal(size=(50, 4))
        # Rounding of cosine distances is absolute, that of the others relative.
        assert_neighbors(X, 6, metric, atol=1e-15 if metric in ("cosine", "correlation") else 0.0)

    def test_float32_distances_of_float32_data(self, rng):
        X = rng.normal(size=(300, 20)).astype(np.float32)
        _, distances = mdt.nearest_neighbors(X, 8)
        assert distances.dtype == np.float64
        expected = oracle.knn(oracle.pairwise_distances(X), 8)[1]
        np.testing.assert_allclose(distances, expected, rtol=1e-5)

    @pytest.mark.parametrize("metric", METRICS)
    def test_sparse_equals_dense(self, rng, metric):
        X = rng.normal(size=(200, 30)) * (rng.random((200, 30)) < 0.3)
        X[:, 0] = rng.normal(size=200)
        indices, distances = mdt.nearest_neighbors(scipy.sparse.csr_array(X), 6, metric=metric)
        expected_indices, expected_distances = oracle.knn(oracle.pairwise_distances(X, metric), 6)
        np.testing.assert_array_equal(indices, expected_indices)
        np.testing.assert_allclose(distances, expected_distances, rtol=1e-12, atol=1e-15)

    @pytest.mark.parametrize("n_neighbors", [0, -1, 30])
    def test_number_of_neighbours_out_of_range(self, rng, n_neighbors):
        with pytest.raises(ValueError, match=rf"n_neighbors.*{n_neighbors}"):
            mdt.nearest_neighbors(rng.normal(size=(30, 2)), n_neighbors)


class TestGivenGraph:
    """A given graph gives the same operators as the search of the package."""

    K = 5

    @pytest.fixture(name="X")
    def one_view(self, views):
        return views[0]

    @pytest.fixture
    def expected(self, X):
        return {
            kernel: mdt.build_operators(X, kernel=kernel, n_neighbors=self.K).views[0].toarray()
            for kernel in ("gaussian", "adaptive", "binary")
        }

    def assert_same_operators(self, X, neighbors, expected, rtol=1e-14, **options):
        for kernel, P in expected.items():
            ops = mdt.build_operators([X], neighbors=neighbors, kernel=kernel, **options)
            np.testing.assert_allclose(ops.views[0].toarray(), P, rtol=0, atol=rtol)

    @pytest.mark.parametrize("index_dtype", [np.int32, np.int64])
    def test_arrays_without_self(self, X, expected, index_dtype):
        indices, distances = mdt.nearest_neighbors(X, self.K)
        self.assert_same_operators(X, (indices.astype(index_dtype), distances), expected)

    def test_arrays_with_self(self, X, expected):
        indices, distances = mdt.nearest_neighbors(X, self.K)
        indices = np.column_stack([np.arange(len(X)), indices])
        self.assert_same_operators(X, (indices, np.column_stack([np.zeros(len(X)), distances])), expected)

    def test_order_within_a_row_does_not_matter(self, X, expected):
        indices, distances = mdt.nearest_neighbors(X, self.K)
        self.assert_same_operators(X, (indices[:, ::-1], distances[:, ::-1]), expected)

    def test_n_neighbors_is_not_applied(self, X, expected):
        self.assert_same_operators(X, mdt.nearest_neighbors(X, self.K), expected, n_neighbors=2)

    @pytest.mark.parametrize("given_in", ["neighbors", "metric"])
    def test_sparse_graph(self, X, expected, given_in):
        graph = sparse_graph(*mdt.nearest_neighbors(X, self.K))
        if given_in == "neighbors":
            self.assert_same_operators(X, graph, expected)
        else:
            self.assert_same_operators(graph, "auto", expected, metric="precomputed")

    def test_kneighbors_transformer(self, X, expected):
        transformer = KNeighborsTransformer(n_neighbors=self.K, mode="distance", algorithm="kd_tree")
        self.assert_same_operators(X, transformer, expected, rtol=1e-12)

    def test_dense_precomputed_distances(self, X, expected):
        D = oracle.pairwise_distances(X)
        self.assert_same_operators(D, "auto", expected, rtol=1e-12, metric="precomputed", n_neighbors=self.K)

    @pytest.mark.parametrize("neighbors", ["auto", "exact"])
    def test_names_of_the_search(self, X, expected, neighbors):
        self.assert_same_operators(X, neighbors, expected, n_neighbors=self.K)

    def test_stored_zeros_of_a_sparse_graph_are_duplicates(self):
        X = np.array([[0.0], [0.0], [1.0], [3.0], [7.0]])
        D = oracle.pairwise_distances(X)
        indices, distances = oracle.knn(D, 2)
        assert (distances == 0).sum() == 2
        ops = mdt.build_operators(X, neighbors=[sparse_graph(indices, distances)])
        np.testing.assert_allclose(ops.views[0].toarray(), oracle.operator(X, n_neighbors=2), rtol=0, atol=1e-14)

    @pytest.mark.parametrize("symmetrize", ["mean", "max"])
    def test_rows_of_different_lengths(self, rng, symmetrize):
        X = rng.normal(size=(12, 2))
        D = oracle.pairwise_distances(X)
        mask = rng.random((12, 12)) < 0.4
        mask |= np.roll(np.eye(12, dtype=bool), 1, axis=1) | np.roll(np.eye(12, dtype=bool), -1, axis=1)
        np.fill_diagonal(mask, False)
        # A given bandwidth: a rule could read rows or columns of a directed graph.
        expected = oracle.transition(oracle.graph_affinity(D, mask, bandwidth=0.9, symmetrize=symmetrize))
        graph = scipy.sparse.csr_array(np.where(mask, D, 0.0))
        ops = mdt.build_operators([X], neighbors=graph, bandwidth=0.9, symmetrize=symmetrize)
        np.testing.assert_allclose(ops.views[0].toarray(), expected, rtol=0, atol=1e-13)

    def test_a_point_without_neighbours_stays(self):
        graph = np.zeros((4, 4))
        graph[0, 1] = graph[1, 0] = graph[1, 2] = graph[2, 1] = 1.0
        ops = mdt.build_operators([scipy.sparse.csr_array(graph)], metric="precomputed")
        np.testing.assert_array_equal(ops.views[0].toarray()[3], [0, 0, 0, 1])


@pytest.mark.parametrize("metric", ["cosine", "correlation"])
def test_proportional_rows_coincide_despite_rounding(rng, metric):
    # Otherwise the bandwidth would be the size of a rounding error, and the walk would never leave a point.
    X = rng.normal(size=(12, 6))
    X = np.vstack([X, X * rng.uniform(1, 9, size=(12, 1))])
    indices, distances = mdt.nearest_neighbors(X, 1, metric=metric)
    np.testing.assert_array_equal(indices.ravel(), np.roll(np.arange(24), 12))
    np.testing.assert_array_equal(distances, 0.0)
    assert mdt.build_operators(X, metric=metric).bandwidths[0] > 1e-6


def test_points_with_more_copies_than_neighbours(rng):
    distinct = rng.normal(size=(60, 30))
    X = np.repeat(distinct, 9, axis=0)
    ops = mdt.build_operators(X, n_neighbors=5)
    gaps = scipy.spatial.distance.cdist(distinct, distinct)
    expected = np.where(gaps > 0, gaps, np.inf).min(axis=1).max()
    np.testing.assert_allclose(ops.bandwidths[0], expected, rtol=1e-12)


def test_wide_sparse_views_with_mostly_empty_columns(rng):
    dense = rng.normal(size=(40, 25)) * (rng.random((40, 25)) < 0.3)
    dense[:, 0] += 1
    rows, columns = np.nonzero(dense)
    wide = scipy.sparse.csr_array((dense[rows, columns], (rows, columns * 40_000_000)), shape=(40, 10**9))
    found = mdt.nearest_neighbors(wide, 4)
    expected = mdt.nearest_neighbors(dense, 4)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_allclose(found[1], expected[1], rtol=1e-12)


def test_given_transformer_is_not_fitted(rng):
    transformer = KNeighborsTransformer(n_neighbors=4, mode="distance")
    mdt.build_operators([rng.normal(size=(20, 3)), rng.normal(size=(20, 4))], neighbors=[transformer, transformer])
    assert not hasattr(transformer, "n_features_in_")
