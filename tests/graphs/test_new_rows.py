"""Transition rows of new samples: training samples keep their rows, others equal the oracle."""

from __future__ import annotations

import copy
import pickle
import re
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from sklearn.neighbors import KNeighborsTransformer

import mdt_fast as mdt
from helpers import hostile, oracle
from helpers.matrices import assert_same_bits

KERNELS = ["gaussian", "laplacian", "correlation", "adaptive", "binary"]
METRICS = ["euclidean", "cosine", "correlation", "manhattan"]
SYMMETRIZE = ["mean", "max", "min"]


def decay(d):
    return np.exp(-3 * d) + 0.1


def first_copies(X):
    """For each row the first row equal to it: copies of one point are indistinguishable."""
    X = X.toarray() if scipy.sparse.issparse(X) else np.asarray(X)
    return [int(np.flatnonzero((row == X).all(axis=1))[0]) for row in X]


def assert_own_rows(Xs, tolerance=1e-12, **options):
    ops = mdt.build_operators(Xs, **options)
    rows = ops.new_rows(Xs)
    assert len(rows) == ops.n_views
    for X, R, P in zip(Xs, rows, ops.views, strict=True):
        assert isinstance(R, scipy.sparse.csr_array)
        assert R.dtype == ops.dtype
        expected = P.toarray()[first_copies(X)]
        np.testing.assert_allclose(R.toarray(), expected, rtol=0, atol=tolerance)
        np.testing.assert_allclose(R.sum(axis=1), 1, atol=1e-12 if ops.dtype == np.float64 else 1e-5)
    return ops


class TestTrainingSamples:
    @pytest.mark.parametrize("symmetrize", SYMMETRIZE)
    @pytest.mark.parametrize("metric", METRICS)
    @pytest.mark.parametrize("kernel", [*KERNELS, decay])
    def test_every_kernel_metric_and_symmetrisation(self, views, kernel, metric, symmetrize):
        metric = "correlation" if kernel == "correlation" else metric
        assert_own_rows([views[0], views[2]], kernel=kernel, metric=metric, symmetrize=symmetrize)

    @pytest.mark.parametrize("kernel", KERNELS)
    def test_published(self, views, kernel):
        assert_own_rows([views[0], views[2]], kernel=kernel, preset="published")

    @pytest.mark.parametrize("symmetrize", SYMMETRIZE)
    @pytest.mark.parametrize("kernel", ["gaussian", "adaptive", decay])
    @pytest.mark.parametrize("anisotropy", [0.5, 1.0, 2.0])
    def test_anisotropy(self, views, kernel, anisotropy, symmetrize):
        assert_own_rows(views, kernel=kernel, anisotropy=anisotropy, symmetrize=symmetrize)

    @pytest.mark.parametrize("bandwidth", [0.7, lambda graph: np.median(graph.data)])
    @pytest.mark.parametrize("preset", [None, "published"])
    def test_bandwidths(self, views, bandwidth, preset):
        assert_own_rows(views, bandwidth=bandwidth, preset=preset)

    def test_settings_per_view(self, views):
        options = {"n_neighbors": [1, 39, 7], "kernel": ["adaptive", "binary", "laplacian"]}
        assert_own_rows(views, symmetrize=["min", "mean", "max"], anisotropy=[0, 1, 0.5], **options)

    @pytest.mark.parametrize("symmetrize", SYMMETRIZE)
    @pytest.mark.parametrize("kernel", ["gaussian", "adaptive", "binary", decay])
    @pytest.mark.parametrize("n_neighbors", [1, 2, 3, 5, 8])
    def test_lattices_full_of_ties(self, kernel, symmetrize, n_neighbors):
        """Every point has several others at the distance of its last neighbour; only their indices decide."""
        grid = np.stack(np.meshgrid(np.arange(6.0), np.arange(5.0)), axis=-1).reshape(-1, 2)
        shuffled = np.random.default_rng(3).permutation(grid)
        for metric in ("euclidean", "manhattan"):
            options = {"metric": metric, "n_neighbors": n_neighbors}
            assert_own_rows([grid, shuffled], kernel=kernel, symmetrize=symmetrize, **options)

    @pytest.mark.parametrize("symmetrize", SYMMETRIZE)
    @pytest.mark.parametrize("kernel", ["gaussian", "adaptive", decay])
    @pytest.mark.parametrize("n_neighbors", [1, 3, 6, 20])
    def test_duplicates(self, rng, kernel, symmetrize, n_neighbors):
        """Six copies of one point, three of another, pairs: the row of the first copy, ties included."""
        X = rng.normal(size=(12, 2))
        X = rng.permutation(np.vstack([X, X[[0] * 5], X[[1] * 2], X[3:6]]))
        for anisotropy in (0.0, 1.0):
            options = {"n_neighbors": n_neighbors, "anisotropy": anisotropy}
            assert_own_rows([X], kernel=kernel, symmetrize=symmetrize, **options)

    @pytest.mark.parametrize("kernel", ["gaussian", "adaptive", "binary"])
    @pytest.mark.parametrize("n_neighbors", [1, 2, 4])
    def test_proportional_rows_get_their_own_rows(self, rng, kernel, n_neighbors):
        """Rows of one direction are at cosine distance 0 but differ by rounding; each still gets its own row."""
        directions = rng.normal(size=(8, 4))
        X = np.vstack([directions * scale for scale in (1.0, 3.0, 0.7)])
        ops = mdt.build_operators(X, metric="cosine", kernel=kernel, n_neighbors=n_neighbors)
        units = X / np.linalg.norm(X, axis=1, keepdims=True)
        rows, P = ops.new_rows(X)[0].toarray(), ops.views[0].toarray()
        for i, row in enumerate(rows):
            # A direction that rounds to the same unit vector as an earlier row's is a copy of it.
            same = [j for j in range(len(X)) if np.abs(units[j] - units[i]).max() < 1e-14]
            assert min(np.abs(row - P[j]).max() for j in same) < 1e-12

    @pytest.mark.parametrize("n_samples", [2, 3, 4])
    @pytest.mark.parametrize("kernel", ["gaussian", "adaptive", decay])
    def test_few_samples_and_all_neighbours(self, rng, n_samples, kernel):
        X = rng.normal(size=(n_samples, 3))
        for n_neighbors in range(1, n_samples):
            assert_own_rows([X], n_neighbors=n_neighbors, kernel=kernel)

    @pytest.mark.parametrize("dtype", [None, "float32", "float64"])
    @pytest.mark.parametrize("kernel", ["gaussian", "adaptive"])
    def test_float32(self, views, kernel, dtype):
        ops = assert_own_rows([X.astype(np.float32) for X in views], kernel=kernel, dtype=dtype, tolerance=1e-12)
        assert ops.dtype == np.dtype(dtype or "float32")

    def test_layouts(self, views):
        X = views[0]
        ops = mdt.build_operators(X)
        read_only = X.copy()
        read_only.setflags(write=False)
        strided = np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3]
        (expected,) = ops.new_rows(X)
        for given_X in (np.asfortranarray(X), strided, read_only, pd.DataFrame(X), scipy.sparse.csr_array(X)):
            assert_same_bits(ops.new_rows(given_X)[0], expected)
            assert_same_bits(mdt.build_operators(given_X).new_rows(X)[0], mdt.build_operators(given_X).new_rows(X)[0])
            assert_own_rows([given_X])

    @pytest.mark.parametrize("metric", METRICS)
    @pytest.mark.parametrize("kernel", ["gaussian", "adaptive"])
    def test_sparse(self, rng, metric, kernel):
        X = scipy.sparse.random_array((40, 30), density=0.3, format="csr", random_state=rng)
        X = scipy.sparse.csr_array(X + scipy.sparse.csr_array(np.eye(40, 30)[np.arange(40) % 30]))
        ops = assert_own_rows([X], metric=metric, kernel=kernel)
        assert_same_bits(ops.new_rows([X.toarray()])[0], ops.new_rows([X])[0])

    @given(hostile.view_sets(), st.sampled_from(SYMMETRIZE), st.sampled_from(["gaussian", "adaptive", "laplacian"]))
    def test_hostile_views(self, drawn, symmetrize, kernel):
        Xs, n_neighbors = drawn
        assert_own_rows(Xs, n_neighbors=n_neighbors, symmetrize=symmetrize, kernel=kernel)

    @pytest.mark.parametrize("scale", [1e-300, 1e300])
    def test_extreme_scales_beside_a_constant_feature(self, rng, scale):
        X = np.column_stack([scale * rng.normal(size=(30, 2)), np.full(30, 1.5)])
        for options in ({}, {"kernel": "adaptive"}, {"metric": "manhattan", "kernel": "laplacian"}):
            assert_own_rows([X], **options)


class TestNewSamples:
    @pytest.mark.parametrize("symmetrize", SYMMETRIZE)
    @pytest.mark.parametrize("metric", METRICS)
    @pytest.mark.parametrize("kernel", [*KERNELS, decay])
    def test_equal_the_oracle(self, rng, views, kernel, metric, symmetrize):
        metric = "correlation" if kernel == "correlation" else metric
        options = {"kernel": kernel, "metric": metric, "symmetrize": symmetrize}
        for X in (views[0], views[2]):
            X_new = X[:25] + 0.3 * rng.normal(size=X[:25].shape)
            ops = mdt.build_operators(X, **options)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", mdt.OperatorWarning)
                (R,) = ops.new_rows([X_new])
            assert R.shape == (25, 40)
            np.testing.assert_allclose(R.toarray(), oracle.new_rows(X, X_new, **options), rtol=0, atol=1e-12)

    @pytest.mark.parametrize("kernel", KERNELS)
    @pytest.mark.parametrize("n_neighbors", ["log", 1, 39])
    def test_published_and_neighbours(self, rng, views, kernel, n_neighbors):
        options = {"kernel": kernel, "preset": "published", "n_neighbors": n_neighbors}
        X_new = rng.normal(size=(9, 6))
        (R,) = mdt.build_operators(views[0], **options).new_rows([X_new])
        np.testing.assert_allclose(R.toarray(), oracle.new_rows(views[0], X_new, **options), rtol=0, atol=1e-12)

    @pytest.mark.parametrize("kernel", ["gaussian", "adaptive"])
    @pytest.mark.parametrize("anisotropy", [0.5, 1.0])
    def test_anisotropy(self, rng, views, kernel, anisotropy):
        X_new = rng.normal(size=(9, 6))
        options = {"kernel": kernel, "anisotropy": anisotropy}
        (R,) = mdt.build_operators(views[0], **options).new_rows([X_new])
        np.testing.assert_allclose(R.toarray(), oracle.new_rows(views[0], X_new, **options), rtol=0, atol=1e-12)

    @pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
    def test_between_the_points_of_a_lattice(self, metric):
        """Ties at every distance: all that are no nearer than their last neighbour count, nearest by index."""
        grid = np.stack(np.meshgrid(np.arange(6.0), np.arange(5.0)), axis=-1).reshape(-1, 2)
        X_new = grid[:20] + 0.5
        (R,) = mdt.build_operators(grid, metric=metric, kernel="adaptive").new_rows([X_new])
        expected = oracle.new_rows(grid, X_new, metric=metric, kernel="adaptive")
        np.testing.assert_allclose(R.toarray(), expected, rtol=0, atol=1e-12)

    @pytest.mark.parametrize("scale", [1e-300, 1e-30, 1e30, 1e300])
    def test_extreme_scales(self, rng, scale):
        X, X_new = scale * rng.normal(size=(30, 3)), scale * rng.normal(size=(8, 3))
        for kernel in ("gaussian", "adaptive"):
            (R,) = mdt.build_operators(X, kernel=kernel).new_rows([X_new])
            np.testing.assert_allclose(R.toarray(), oracle.new_rows(X, X_new, kernel=kernel), rtol=0, atol=1e-12)

    def test_a_feature_that_was_constant_counts(self):
        X = np.column_stack([1e-300 * np.arange(6.0), np.full(6, 1e-300)])
        X_new = np.array([[2e-300, 4e-300]])
        (R,) = mdt.build_operators(X).new_rows([X_new])
        np.testing.assert_allclose(R.toarray(), oracle.new_rows(X, X_new), rtol=0, atol=1e-12)

    def test_sparse_samples_with_features_that_training_never_used(self):
        X = np.zeros((8, 1000))
        X[:, 3] = np.arange(8)
        X_new = np.zeros((1, 1000))
        X_new[0, [3, 900]] = 2.5, 1.0
        (R,) = mdt.build_operators(scipy.sparse.csr_array(X)).new_rows([scipy.sparse.csr_array(X_new)])
        np.testing.assert_allclose(R.toarray(), oracle.new_rows(X, X_new), rtol=0, atol=1e-12)

    @pytest.mark.parametrize("symmetrize", SYMMETRIZE)
    @pytest.mark.parametrize("kernel", ["gaussian", "adaptive", "binary", decay])
    def test_training_sample_with_rounding_errors(self, rng, views, kernel, symmetrize):
        """Features that are computed again differ in their last digits; rows must not lose edges for that."""
        ops = mdt.build_operators(views[0], kernel=kernel, symmetrize=symmetrize)
        (R,) = ops.new_rows([views[0] + 1e-13 * rng.normal(size=views[0].shape)])
        np.testing.assert_allclose(R.toarray(), ops.views[0].toarray(), rtol=0, atol=1e-11)

    @pytest.mark.parametrize("kernel", ["gaussian", "laplacian"])
    def test_far_samples_step_to_their_nearest(self, views, kernel):
        """All affinities are 0 in floating point; their ratios are not."""
        with pytest.warns(mdt.RemoteSamplesWarning):
            (R,) = mdt.build_operators(views[0], kernel=kernel).new_rows([views[0][:1] + 1e9])
        assert np.isfinite(R.data).all()
        np.testing.assert_allclose(R.sum(axis=1), 1)

    @pytest.mark.filterwarnings("ignore::mdt_fast.RemoteSamplesWarning")
    def test_without_mutual_neighbours(self):
        X = np.arange(10.0)[:, None]
        ops = mdt.build_operators(X, symmetrize="min", n_neighbors=2)
        with pytest.warns(mdt.OperatorWarning, match=r"view 0: 1 new samples have no affinity .* row 1\); each moves"):
            (R,) = ops.new_rows([np.array([[3.0], [100.0]])])
        np.testing.assert_array_equal(R.toarray()[1], np.eye(10)[9])

    def test_no_samples(self, views):
        for X in (views[0], scipy.sparse.csr_array(views[0])):
            for kernel in ("gaussian", "adaptive", decay):
                (R,) = mdt.build_operators([X], kernel=kernel).new_rows([X[:0]])
                assert R.shape == (0, 40)
                assert R.nnz == 0


@pytest.mark.parametrize("kernel", ["gaussian", "adaptive", decay])
def test_rows_do_not_depend_on_each_other(rng, kernel):
    X = rng.normal(size=(1500, 60))
    X_new = np.vstack([rng.normal(size=(50, 60)), X[:10]])
    ops = mdt.build_operators(X, kernel=kernel, anisotropy=0.5)
    (R,) = ops.new_rows([X_new], n_jobs=2)
    assert_same_bits(ops.new_rows([X_new], n_jobs=1)[0], R)
    order = rng.permutation(len(X_new))
    assert_same_bits(ops.new_rows([X_new[order]])[0], R[order])
    for i in (0, 17, 55):
        assert_same_bits(ops.new_rows([X_new[i : i + 1]])[0], R[[i]])


class TestSets:
    def test_training_views_carry_over(self, views):
        ops = mdt.build_operators(views, kernel=["gaussian", "adaptive", decay], anisotropy=1.0)
        X_new = [X[:5] + 0.1 for X in views]
        expected = ops.new_rows(X_new)
        larger = ops.with_identity().with_uniform().with_teleport(0.8).with_powers([2]).with_transitions([ops[0]])
        for other in (larger, copy.copy(ops), copy.deepcopy(ops), pickle.loads(pickle.dumps(larger))):
            rows = other.new_rows(X_new)
            assert len(rows) == 3
            for R, E in zip(rows, expected, strict=True):
                assert_same_bits(R, E)

    def test_a_kernel_that_does_not_pickle(self, views):
        ops = mdt.build_operators(views[0], kernel=lambda d: np.exp(-d))
        np.testing.assert_array_equal(copy.deepcopy(ops).new_rows([views[0]])[0].data, ops.new_rows([views[0]])[0].data)
        with pytest.raises(ValueError, match=r"Xs_new \(view 0\): expected a kernel that can be pickled"):
            pickle.loads(pickle.dumps(ops)).new_rows([views[0]])

    def test_views_by_name(self, views):
        ops = mdt.build_operators({"a": views[0], "b": views[1]})
        in_order = ops.new_rows(views[:2])
        by_name = ops.new_rows({"b": views[1], "a": views[0]})
        for R, S in zip(in_order, by_name, strict=True):
            assert_same_bits(R, S)


class TestAffinities:
    def test_rows_are_normalised(self, rng, views):
        ops = mdt.build_operators(views[:2])
        A = rng.uniform(size=(4, 40)) * (rng.uniform(size=(4, 40)) < 0.5)
        A[:, 0] = 1e-9
        R, S = ops.new_rows(affinities=[A, scipy.sparse.csr_array(1e300 * A)])
        np.testing.assert_allclose(R.toarray(), A / A.sum(axis=1, keepdims=True), rtol=1e-13)
        np.testing.assert_allclose(S.toarray(), R.toarray(), rtol=1e-13)

    @pytest.mark.parametrize("make", ["from_affinities", "from_transitions"])
    def test_sets_of_matrices(self, views, make):
        P = mdt.build_operators(views[0]).views[0].toarray()
        ops = getattr(mdt.OperatorSet, make)([P @ P.T if make == "from_affinities" else P])
        (R,) = ops.new_rows(affinities=[P[:3]])
        np.testing.assert_allclose(R.toarray(), P[:3], atol=1e-15)
        assert ops.new_rows(affinities=[P[:0]])[0].shape == (0, 40)

    @pytest.mark.parametrize(
        ("spoil", "message"),
        [
            (lambda A: A[:, :-1], r"affinities \(view 0\): expected shape \(M, 40\), got \(3, 39\)"),
            (lambda A: -A, r"affinities \(view 0\): expected non-negative affinities, got -0.5 at \(0, 0\)"),
            (lambda A: A * [[1], [0], [1]], r"affinities \(view 0\): expected rows with a positive sum, got row 1"),
            (lambda A: A * np.nan, r"affinities \(view 0\): expected finite numbers, got nan at row 0, column 0"),
        ],
    )
    def test_bad_affinities(self, views, spoil, message):
        with pytest.raises(ValueError, match=message):
            mdt.build_operators(views[0]).new_rows(affinities=[spoil(np.full((3, 40), 0.5))])


class TestRefusals:
    @pytest.fixture
    def ops(self, views):
        return mdt.build_operators({"a": views[0], "b": views[1]})

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda a, b: [a], "Xs_new: expected 2 views, got 1"),
            (lambda a, b: [], "Xs_new: expected 2 views, got 0"),
            (lambda a, b: a, "Xs_new: expected 2 views, got 1"),
            (lambda a, b: {"a": a, "c": b}, "Xs_new: expected a view for each of ['a', 'b'], got ['a', 'c']"),
            (lambda a, b: [a, b[:, :1]], "Xs_new (b): expected 2 features, as in training, got 1"),
            (lambda a, b: [b, a], "Xs_new (a): expected 6 features, as in training, got 2"),
            (
                lambda a, b: [a, b[:3]],
                "Xs_new: expected the same number of samples in every view, got a has 40, b has 3",
            ),
            (lambda a, b: [a, b * np.inf], "Xs_new (b): expected finite numbers"),
            (lambda a, b: [a, b[0]], "Xs_new (b): expected a 2-D array"),
            (lambda a, b: [a, b + 1e200], "Xs_new (b): row 0 is so far from the training samples"),
        ],
    )
    def test_values(self, ops, views, change, message):
        with np.errstate(invalid="ignore"), pytest.raises(ValueError, match=re.escape(message)):
            ops.new_rows(change(*views[:2]))

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            ({}, "Xs_new, affinities: expected one of the two, got neither"),
            ({"Xs_new": [], "affinities": []}, "Xs_new, affinities: expected one of the two, got both"),
            ({"Xs_new": 3}, "Xs_new: expected a list, tuple or dict of 2-D arrays, got int"),
            ({"Xs_new": [["a"]] * 2}, r"Xs_new \(a\): expected real numbers"),
            ({"affinities": 3}, "affinities: expected a list, tuple or dict of 2-D arrays, got int"),
        ],
    )
    def test_types(self, ops, arguments, message):
        with pytest.raises(TypeError, match=message):
            ops.new_rows(**arguments)

    def test_undefined_directions(self, views):
        with pytest.raises(
            ValueError, match=r"Xs_new \(view 0\): row 1 is all zeros: its cosine distance is undefined"
        ):
            mdt.build_operators(views[0], metric="cosine").new_rows([views[0][:2] * [[1], [0]]])

    def test_graphs_that_were_given(self, views):
        X = views[0]
        D = oracle.pairwise_distances(X)
        graph = mdt.nearest_neighbors(X, 4)
        made = {
            "pair": mdt.build_operators(X, neighbors=graph),
            "transformer": mdt.build_operators(X, neighbors=KNeighborsTransformer(n_neighbors=4)),
            "distances": mdt.build_operators(D, metric="precomputed"),
            "sparse distances": mdt.build_operators(
                scipy.sparse.csr_array(np.where(D < 3, D, 0)), metric="precomputed"
            ),
            "affinities": mdt.OperatorSet.from_affinities([np.exp(-D)]),
        }
        for ops in made.values():
            with pytest.raises(ValueError, match=r"Xs_new \(view 0\).*use new_rows\(affinities=\[\.\.\.\]\)"):
                ops.new_rows([X])

    @pytest.mark.parametrize("bandwidth", [np.full(40, 1.0), lambda graph: np.full(40, 1.0)])
    def test_one_bandwidth_for_each_sample(self, views, bandwidth):
        with pytest.raises(ValueError, match=r"Xs_new \(view 0\): .* got one bandwidth for each training sample"):
            mdt.build_operators(views[0], bandwidth=bandwidth).new_rows([views[0]])

    def test_a_kernel_that_fails_on_new_distances(self, views):
        ops = mdt.build_operators(views[0], kernel=lambda d: 1.0 - d / 100)
        with pytest.raises(ValueError, match=r"kernel \(view 0\): expected finite non-negative affinities, got -"):
            ops.new_rows([views[0] + 1000])
