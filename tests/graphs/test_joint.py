"""The joint view against its definition, on hard inputs, and for new samples."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from scipy import sparse
from scipy.spatial.distance import pdist
from sklearn.preprocessing import normalize

import mdt_fast as mdt
from helpers import oracle
from helpers.hostile import view_sets
from mdt_fast._graphs.joint import JointView
from mdt_fast._graphs.views import check_views


def joined(Xs, metric="euclidean"):
    views = check_views(Xs)
    return JointView.of(views, [metric] * len(views)).join(views).data


def two_views(n=60):
    rng = np.random.default_rng(3)
    return [rng.normal(size=(n, 4)) * [1, 5, 20, 2] + 7, rng.normal(size=(n, 2)) / 100]


class TestJointView:
    def test_views_have_total_variance_one(self):
        J = joined(two_views())
        np.testing.assert_allclose([J[:, :4].var(axis=0).sum(), J[:, 4:].var(axis=0).sum()], 1.0)

    def test_squared_distances_are_relative_and_add_up(self):
        views = two_views()
        # The mean over all ordered pairs, pairs of a sample with itself included.
        expected = [pdist(X) ** 2 / (2 * (pdist(X) ** 2).sum() / len(X) ** 2) for X in views]
        np.testing.assert_allclose(pdist(joined(views)) ** 2, 2 * sum(expected), rtol=1e-9)

    @pytest.mark.parametrize("which", [(0,), (1,), (0, 1)])
    def test_sparse_views(self, which):
        rng = np.random.default_rng(0)
        dense = [X * (rng.random(X.shape) < 0.5) for X in two_views()]
        given = [sparse.csr_matrix(X) if v in which else X for v, X in enumerate(dense)]
        J = joined(given)
        assert sparse.issparse(J)
        np.testing.assert_allclose(J.toarray(), joined(dense), rtol=1e-9)

    def test_single_precision_stays(self):
        views = [X.astype(np.float32) for X in two_views()]
        assert joined(views).dtype == np.float32
        np.testing.assert_allclose(joined(views), joined(two_views()), rtol=1e-5)

    def test_a_constant_view_adds_nothing(self):
        J = joined([two_views()[0], np.full((60, 3), 4.0)])
        assert not J[:, 4:].any()

    @pytest.mark.parametrize("factor", [1e-300, 1e-150, 1e150, 1e300])
    def test_extreme_scales(self, factor):
        views = two_views()
        J = joined([views[0] * factor, views[1]])
        assert np.isfinite(J).all()
        np.testing.assert_allclose(J, joined(views), rtol=1e-9)

    def test_a_large_offset_of_a_sparse_view(self):
        X, Y = two_views()
        given = [sparse.csr_matrix(X + 1e8), Y]
        np.testing.assert_allclose(joined(given).toarray(), joined([X + 1e8, Y]), rtol=1e-6)

    @pytest.mark.parametrize("metric", ["cosine", "correlation"])
    @pytest.mark.parametrize("factor", [1e-200, 1e200])
    @pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
    def test_extreme_scales_of_directions(self, metric, factor, form):
        X, Y = two_views()
        expected = joined([form(X), Y], metric)
        found = joined([form(X * factor), Y], metric)
        dense = [each.toarray() if sparse.issparse(each) else each for each in (found, expected)]
        np.testing.assert_allclose(*dense, rtol=1e-6, atol=1e-9)

    def test_cosine_views_have_unit_rows(self):
        views = two_views()
        np.testing.assert_allclose(joined(views, "cosine"), joined([normalize(X) for X in views]), rtol=1e-12)


class TestOperators:
    def test_the_last_base_view(self):
        views = two_views()
        ops = mdt.build_operators({"a": views[0], "b": views[1]}, joint=True)
        assert (ops.names, ops.joint, ops.n_views, ops.given_names) == (["a", "b", "joint"], 2, 3, ["a", "b"])
        np.testing.assert_allclose(ops.views[2].toarray(), oracle.operator(joined(views)), rtol=1e-9)
        assert ops.with_mean().with_identity().joint == 2
        assert mdt.build_operators(views).joint is None

    @pytest.mark.parametrize("restore", [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
    def test_copies_know_it(self, restore):
        views = two_views()
        ops = restore(mdt.build_operators(views, joint=True))
        assert ops.joint == 2
        assert len(ops.new_rows([X[:5] for X in views])) == 3

    @pytest.mark.filterwarnings("ignore::mdt_fast.OperatorWarning")
    @settings(deadline=None)
    @given(view_sets())
    def test_training_samples_get_their_rows(self, views):
        Xs, n_neighbors = views
        if len(Xs) < 2:
            Xs = [Xs[0], Xs[0]]
        ops = mdt.build_operators(Xs, n_neighbors=n_neighbors, kernel="adaptive", joint=True, n_jobs=1)
        assert np.isfinite(ops.views[-1].data).all()
        np.testing.assert_allclose(ops.views[-1].sum(axis=1), 1.0, rtol=1e-5)
        rows = ops.new_rows(Xs)[-1]
        np.testing.assert_allclose(rows.sum(axis=1), 1.0, rtol=1e-5)

    def test_new_rows_equal_those_of_training(self):
        views = two_views()
        ops = mdt.build_operators(views, joint=True, anisotropy=1.0, kernel="adaptive")
        for found, expected in zip(ops.new_rows(views), ops.views, strict=True):
            np.testing.assert_allclose(found.toarray(), expected.toarray(), atol=1e-9)

    def test_training_samples_in_another_precision(self):
        views = [X.astype(np.float32) for X in two_views()]
        ops = mdt.build_operators(views, joint=True)
        for found, expected in zip(ops.new_rows([X.astype(np.float64) for X in views]), ops.views, strict=True):
            np.testing.assert_allclose(found.toarray(), expected.toarray(), atol=1e-6)

    @pytest.mark.parametrize("weights", [["a", "b"], [None, 1], [-1, 1], [np.inf, 1]])
    def test_bad_weights(self, weights):
        ops = mdt.build_operators(two_views(), joint=True)
        with pytest.raises((TypeError, ValueError), match="view_weights: expected"):
            mdt.search(ops, 3, strategy="mean", t=2, view_weights=weights)

    def test_weights_of_the_given_views_suffice(self):
        ops = mdt.build_operators(two_views(), joint=True)
        found = mdt.search(ops, 3, strategy="mean", t=2, view_weights=[3, 1])
        np.testing.assert_allclose(found.settings["view_weights"], [0.5, 1 / 6, 1 / 3])

    @pytest.mark.parametrize(
        ("options", "message"),
        [
            ({"kernel": ["gaussian", "adaptive"]}, "joint: expected one kernel for all views, got different"),
            ({"n_neighbors": [4, 5]}, "joint: expected one n_neighbors for all views"),
            ({"bandwidth": 2.0}, "joint: expected a kernel without a unit, got a bandwidth in the unit of the views"),
            ({"kernel": lambda d: np.exp(-d)}, "joint: expected a kernel without a unit, got a kernel function"),
            ({"kernel": "correlation"}, "joint: expected a kernel of Euclidean distances, got 'correlation'"),
            ({"joint": "yes"}, "joint: expected .*'auto'.*, got 'yes'"),
        ],
    )
    def test_views_that_cannot_be_joined(self, options, message):
        with pytest.raises(ValueError, match=message):
            mdt.build_operators(two_views(), **{"joint": True, **options})
        if "joint" not in options:
            assert mdt.build_operators(two_views(), joint="auto", **options).joint is None

    def test_one_view_and_a_taken_name(self):
        X, Y = two_views()
        with pytest.raises(ValueError, match="joint: expected at least 2 views to join, got 1"):
            mdt.build_operators([X], joint=True)
        with pytest.raises(ValueError, match="joint: expected views with other names, got one named 'joint'"):
            mdt.build_operators({"joint": X, "b": Y}, joint=True)
        with pytest.raises(TypeError, match="joint: expected"):
            mdt.build_operators([X, Y], joint=1)
