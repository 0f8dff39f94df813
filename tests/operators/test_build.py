"""build_operators against the dense oracle, and the accepted forms of views and parameters."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse

import mdt_fast as mdt
from helpers import oracle
from helpers.matrices import assert_same_bits

# Entries lie in [0, 1]. In float32 the distances of neighbours carry a relative error of some 1e-6.
TOLERANCE = {"float64": 1e-12, "float32": 1e-4}


def assert_operator(P, expected, tolerance=1e-12):
    assert isinstance(P, scipy.sparse.csr_array)
    np.testing.assert_allclose(P.toarray(), expected, rtol=0, atol=tolerance)


@pytest.mark.parametrize(
    ("preset", "near", "far"),
    [(None, np.exp(-1 / 8), np.exp(-4 / 8)), ("published", np.exp(-1 / 2), np.exp(-4 / 2))],
)
def test_three_points_by_hand(preset, near, far):
    """0, 1 and 3 on a line, one neighbour each: the bandwidth is 2, and 3 is no neighbour of 1."""
    ops = mdt.build_operators([np.array([[0.0], [1.0], [3.0]])], n_neighbors=1, preset=preset)
    assert ops.bandwidths == (2.0,)
    K = np.array([[1, near, 0], [near, 1, far / 2], [0, far / 2, 1]])
    assert_operator(ops.views[0], K / K.sum(axis=1, keepdims=True), 1e-15)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("symmetrize", ["mean", "max", "min"])
@pytest.mark.parametrize("preset", [None, "published"])
@pytest.mark.parametrize("metric", ["euclidean", "cosine", "correlation", "manhattan"])
@pytest.mark.parametrize("kernel", ["gaussian", "laplacian", "adaptive", "binary"])
def test_operators_equal_oracle(views, kernel, metric, preset, symmetrize, dtype):
    # Correlation needs rows of more than two entries: with two it is always 1 or -1.
    Xs = [views[0], views[2]]
    options = {"kernel": kernel, "metric": metric, "preset": preset, "symmetrize": symmetrize}
    ops = mdt.build_operators(Xs, dtype=dtype, **options)
    assert ops.dtype == np.dtype(dtype)
    for P, X in zip(ops.views, Xs, strict=True):
        assert P.dtype == np.dtype(dtype)
        assert_operator(P, oracle.operator(X, **options), TOLERANCE[dtype])


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("preset", [None, "published"])
@pytest.mark.parametrize("metric", ["euclidean", "correlation"])
def test_correlation_kernel_always_uses_correlation_distance(views, metric, preset, dtype):
    ops = mdt.build_operators(views[0], kernel="correlation", metric=metric, preset=preset, dtype=dtype)
    assert_operator(ops.views[0], oracle.operator(views[0], kernel="correlation", preset=preset), TOLERANCE[dtype])


@pytest.mark.parametrize("anisotropy", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("kernel", ["gaussian", "adaptive"])
def test_anisotropy(views, kernel, anisotropy):
    ops = mdt.build_operators(views, kernel=kernel, anisotropy=anisotropy)
    for P, X in zip(ops.views, views, strict=True):
        assert_operator(P, oracle.operator(X, kernel=kernel, anisotropy=anisotropy))


@pytest.mark.parametrize("n_samples", [2, 3, 7, 8, 20, 21, 54, 55])
@pytest.mark.parametrize("preset", [None, "published"])
def test_log_neighbors_around_powers_of_e(rng, n_samples, preset):
    X = rng.normal(size=(n_samples, 2))
    ops = mdt.build_operators(X, kernel="binary", symmetrize="max", preset=preset)
    k = oracle.log_n_neighbors(n_samples, preset)
    assert 1 <= k <= n_samples - 1
    assert_operator(ops.views[0], oracle.operator(X, kernel="binary", symmetrize="max", n_neighbors=k))


@pytest.mark.parametrize("n_neighbors", [1, 5, 39])
def test_integer_neighbors_count_others(views, n_neighbors):
    ops = mdt.build_operators(views[0], n_neighbors=n_neighbors)
    assert_operator(ops.views[0], oracle.operator(views[0], n_neighbors=n_neighbors))


class TestBandwidth:
    def test_max_min_is_recorded(self, views):
        ops = mdt.build_operators(views)
        expected = [oracle.max_min_bandwidth(oracle.pairwise_distances(X)) for X in views]
        np.testing.assert_allclose(ops.bandwidths, expected, rtol=1e-13)

    @pytest.mark.parametrize("kernel", ["gaussian", "adaptive"])
    def test_duplicates_beyond_the_neighbours_do_not_hide_positive_distances(self, rng, kernel):
        # Six copies of one point and K = 3: all its neighbours are at distance 0, yet its nearest positive
        # distance, the largest of all, sets the bandwidth.
        X = np.vstack([np.full((6, 2), 10.0), rng.normal(size=(12, 2))])
        ops = mdt.build_operators(X, n_neighbors=3, kernel=kernel)
        if kernel == "gaussian":
            expected = oracle.nearest_positive(oracle.pairwise_distances(X))[0]
            np.testing.assert_allclose(ops.bandwidths[0], expected, rtol=1e-13)
        assert_operator(ops.views[0], oracle.operator(X, n_neighbors=3, kernel=kernel))

    @pytest.mark.parametrize("kernel", ["binary", lambda d: np.exp(-d)])
    def test_none_where_the_kernel_has_no_bandwidth(self, views, kernel):
        assert mdt.build_operators(views[:1], kernel=kernel).bandwidths == (None,)

    @pytest.mark.parametrize("preset", [None, "published"])
    @pytest.mark.parametrize("kernel", ["gaussian", "laplacian", "correlation"])
    @pytest.mark.parametrize("bandwidth", [0.7, 2, np.float32(1.5)])
    def test_number(self, views, kernel, preset, bandwidth):
        options = {"kernel": kernel, "preset": preset, "bandwidth": bandwidth}
        ops = mdt.build_operators(views[0], **options)
        assert ops.bandwidths[0] == pytest.approx(float(bandwidth))
        assert_operator(ops.views[0], oracle.operator(views[0], **options))

    @pytest.mark.parametrize("kernel", ["gaussian", "laplacian", "correlation"])
    def test_one_per_point(self, rng, views, kernel):
        bandwidth = rng.uniform(0.5, 2.0, size=40)
        ops = mdt.build_operators(views[0], kernel=kernel, bandwidth=bandwidth)
        np.testing.assert_array_equal(ops.bandwidths[0], bandwidth)
        assert_operator(ops.views[0], oracle.operator(views[0], kernel=kernel, bandwidth=bandwidth))

    def test_one_per_point_in_each_view(self, rng, views):
        bandwidth = [rng.uniform(0.5, 2.0, size=40), rng.uniform(0.5, 2.0, size=40)]
        ops = mdt.build_operators(views[:2], bandwidth=bandwidth)
        for P, X, b in zip(ops.views, views[:2], bandwidth, strict=True):
            assert_operator(P, oracle.operator(X, bandwidth=b))

    @pytest.mark.parametrize(
        "rule",
        [lambda graph: np.median(graph.data), lambda graph: graph.sum(axis=1) / 4],
        ids=["number", "one per point"],
    )
    def test_callable_sees_the_directed_graph(self, rng, rule):
        X = rng.normal(size=(30, 3))
        X[7] = X[3]  # a distance of 0 that the graph must keep
        seen = []

        def bandwidth(graph):
            seen.append(graph)
            return rule(graph)

        ops = mdt.build_operators(X, n_neighbors=4, bandwidth=bandwidth)
        (graph,) = seen
        assert isinstance(graph, scipy.sparse.csr_array)
        assert graph.shape == (30, 30)
        np.testing.assert_array_equal(np.diff(graph.indptr), 4)
        distances = oracle.pairwise_distances(X)
        mask = oracle.neighbor_mask(oracle.knn(distances, 4)[0])
        stored = graph.tocoo()
        assert set(zip(stored.row.tolist(), stored.col.tolist(), strict=True)) == set(
            zip(*(part.tolist() for part in mask.nonzero()), strict=True)
        )
        np.testing.assert_allclose(stored.data, distances[stored.row, stored.col], rtol=1e-13)
        assert_operator(ops.views[0], oracle.operator(X, n_neighbors=4, bandwidth=rule(graph)))


@pytest.mark.parametrize(
    "kernel", [lambda d: 1 / (1 + d), lambda d: 2 * np.exp(-d)], ids=["one at zero", "two at zero"]
)
def test_callable_kernel_gives_the_diagonal_too(views, kernel):
    seen = []

    def recorded(distances):
        seen.append(distances)
        return kernel(distances)

    ops = mdt.build_operators(views[0], kernel=recorded, n_neighbors=5)
    assert all(isinstance(distances, np.ndarray) and distances.ndim == 1 for distances in seen)
    assert_operator(ops.views[0], oracle.operator(views[0], kernel=kernel, n_neighbors=5))


def test_affinities_that_underflow_are_not_stored(rng):
    X = rng.normal(size=(20, 2))
    P = mdt.build_operators(X, bandwidth=1e-4).views[0]
    assert P.nnz == 20
    np.testing.assert_array_equal(P.toarray(), np.eye(20))


PER_VIEW = {
    "n_neighbors": ["log", 3, 7],
    "kernel": ["gaussian", "adaptive", "laplacian"],
    "bandwidth": ["max-min", 0.5, 2.0],
    "symmetrize": ["mean", "max", "min"],
    "metric": ["euclidean", "manhattan", "cosine"],
    "anisotropy": [0.0, 0.5, 1.0],
}


class TestPerView:
    @pytest.mark.parametrize("argument", PER_VIEW)
    def test_list_in_the_order_of_the_views(self, views, argument):
        values = PER_VIEW[argument]
        ops = mdt.build_operators(views, **{argument: values})
        for P, X, value in zip(ops.views, views, values, strict=True):
            assert_operator(P, oracle.operator(X, **{argument: value}))

    @pytest.mark.parametrize("argument", PER_VIEW)
    def test_dict_by_name(self, views, argument):
        Xs = dict(zip(["sight", "sound", "smell"], views, strict=True))
        values = dict(zip(["smell", "sight", "sound"], PER_VIEW[argument], strict=True))
        ops = mdt.build_operators(Xs, **{argument: values})
        for name, P in zip(ops.names, ops.views, strict=True):
            assert_operator(P, oracle.operator(Xs[name], **{argument: values[name]}))

    def test_neighbors_of_some_views_given(self, views):
        graph = mdt.nearest_neighbors(views[1], 3)
        ops = mdt.build_operators(views[:2], neighbors=["exact", graph])
        assert_operator(ops.views[0], oracle.operator(views[0]))
        assert_operator(ops.views[1], oracle.operator(views[1], n_neighbors=3))


class TestFormsOfInput:
    @pytest.mark.parametrize("container", [list, tuple])
    def test_sequences(self, views, container):
        ops = mdt.build_operators(container(views))
        assert ops.names == ["view 0", "view 1", "view 2"]
        assert ops.n_samples == 40
        assert len(ops) == len(ops.views) == 3

    def test_dict_names_the_views(self, views):
        ops = mdt.build_operators({"sound": views[1], "sight": views[0]})
        assert ops.names == ["sound", "sight"]
        assert_same_bits(ops.views[0], mdt.build_operators(views[1]).views[0])

    @pytest.mark.parametrize("wrap", [np.asarray, pd.DataFrame, scipy.sparse.csr_array])
    def test_bare_matrix_is_one_view(self, views, wrap):
        ops = mdt.build_operators(wrap(views[0]))
        assert len(ops) == 1
        assert_operator(ops.views[0], oracle.operator(views[0]))

    @pytest.mark.parametrize(
        "form",
        [
            np.asfortranarray,
            lambda X: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
            lambda X: X[::-1].copy()[::-1],
            lambda X: pd.DataFrame(X, columns=[f"feature {j}" for j in range(X.shape[1])]),
            lambda X: X.astype(X.dtype.newbyteorder()),
        ],
        ids=["Fortran", "strided", "negative strides", "DataFrame", "other byte order"],
    )
    def test_memory_layout_does_not_matter(self, views, form):
        expected = mdt.build_operators([views[0]]).views[0]
        assert_same_bits(mdt.build_operators([form(views[0])]).views[0], expected)

    def test_read_only_input_is_accepted_and_no_input_is_changed(self, views):
        writable = 1e300 * views[0]  # of extreme scale: it is rescaled inside
        before = writable.copy()
        frozen = before.copy()
        frozen.flags.writeable = False
        assert_same_bits(mdt.build_operators([frozen]).views[0], mdt.build_operators([writable]).views[0])
        np.testing.assert_array_equal(writable, before)

    @pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int32, np.int64])
    def test_integers_are_read_as_float64(self, rng, dtype):
        X = rng.integers(0, 100, size=(30, 4)).astype(dtype)
        ops = mdt.build_operators([X])
        assert ops.dtype == np.float64
        # Unsigned differences must not wrap around.
        assert_operator(ops.views[0], oracle.operator(X.astype(float)))

    @pytest.mark.parametrize("form", ["csr", "csc", "coo"])
    @pytest.mark.parametrize("array", [True, False], ids=["array", "matrix"])
    def test_sparse_formats(self, rng, form, array):
        X = rng.normal(size=(30, 8)) * (rng.random((30, 8)) < 0.4)
        made = getattr(scipy.sparse, f"{form}_{'array' if array else 'matrix'}")(X)
        assert_operator(mdt.build_operators([made]).views[0], oracle.operator(X))

    @pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine", "correlation"])
    def test_sparse_metrics(self, rng, metric):
        X = rng.normal(size=(30, 12)) * (rng.random((30, 12)) < 0.4)
        X[:, 0] = np.arange(30) + 1.0  # no empty and no constant row
        ops = mdt.build_operators([scipy.sparse.csr_array(X)], metric=metric)
        assert_operator(ops.views[0], oracle.operator(X, metric=metric))

    def test_sparse_with_unsorted_indices_and_stored_zeros(self):
        # Row 0 is (1, 0, 2) written backwards with a stored zero; the other rows are plain.
        data = np.array([2.0, 0.0, 1.0, 5.0, 7.0, 1.0])
        X = scipy.sparse.csr_array((data, np.array([2, 1, 0, 1, 2, 0]), np.array([0, 3, 4, 5, 6])), shape=(4, 3))
        ops = mdt.build_operators([X], n_neighbors=2)
        assert_operator(ops.views[0], oracle.operator(X, n_neighbors=2))

    def test_mixed_kinds_in_one_call(self, views):
        Xs = [pd.DataFrame(views[0]), scipy.sparse.csr_array(views[1]), np.asfortranarray(views[2])]
        for P, X in zip(mdt.build_operators(Xs).views, views, strict=True):
            assert_operator(P, oracle.operator(X))


class TestDtype:
    @pytest.mark.parametrize(
        ("dtypes", "expected"),
        [
            ((np.float32, np.float32), np.float32),
            ((np.float32, np.float64), np.float64),
            ((np.float64, np.float64), np.float64),
        ],
    )
    def test_float32_only_if_every_view_is(self, views, dtypes, expected):
        ops = mdt.build_operators([X.astype(dtype) for X, dtype in zip(views[:2], dtypes, strict=True)])
        assert ops.dtype == expected
        assert all(P.dtype == expected for P in ops.views)

    @pytest.mark.parametrize("dtype", ["float64", np.float64, np.dtype("float64")])
    def test_float64_of_float32_views(self, views, dtype):
        X = views[0].astype(np.float32)
        ops = mdt.build_operators([X], dtype=dtype)
        assert ops.dtype == np.float64
        assert_operator(ops.views[0], oracle.operator(X.astype(float)))

    @pytest.mark.parametrize("dtype", ["float32", np.float32])
    def test_float32_of_float64_views(self, views, dtype):
        ops = mdt.build_operators(views, dtype=dtype)
        assert ops.dtype == np.float32
        for P, X in zip(ops.views, views, strict=True):
            assert_operator(P, oracle.operator(X), TOLERANCE["float32"])


@pytest.mark.parametrize("n_jobs", [None, -1, 1, 2])
def test_n_jobs_and_random_state_do_not_change_the_result(views, n_jobs):
    ops = mdt.build_operators(views, n_jobs=n_jobs, random_state=7)
    for P, Q in zip(ops.views, mdt.build_operators(views).views, strict=True):
        assert_same_bits(P, Q)


@pytest.mark.parametrize("options", [{}, {"kernel": "adaptive", "symmetrize": "max"}, {"anisotropy": 1.0}])
def test_transitions_are_canonical_csr(views, options):
    for P in mdt.build_operators(views, **options).views:
        assert P.has_canonical_format
        assert (P.data > 0).all()
        assert P.indices.dtype == np.int32
        np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=0, atol=1e-12)
