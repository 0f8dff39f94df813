"""Estimators fitted to views that lack samples, and views that are sparse or in different units."""

from __future__ import annotations

import pickle
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_mutual_info_score
from sklearn.preprocessing import StandardScaler

import mdt_fast as mdt
from mdt_fast import ViewWarning

# The clusters of the generator are parts that no step joins.
pytestmark = pytest.mark.filterwarnings("ignore::mdt_fast.OperatorWarning")


@pytest.fixture(scope="module")
def blobs():
    return mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0)


@pytest.fixture(scope="module")
def has(blobs):
    rng = np.random.default_rng(0)
    mask = rng.random((150, 2)) < 0.7
    mask[np.arange(150), rng.integers(2, size=150)] = True
    return mask


@pytest.fixture(scope="module")
def with_holes(blobs, has):
    return [np.where(mask[:, np.newaxis], X, np.nan) for X, mask in zip(blobs.views, has.T, strict=True)]


@pytest.fixture(scope="module")
def fitted(with_holes):
    return mdt.MDTClustering(3).fit(with_holes)


def test_clusters_are_found(fitted, blobs):
    assert adjusted_mutual_info_score(blobs.target, fitted.labels_) > 0.95


@pytest.mark.parametrize("strategy", ["beam", "direct", "contrastive", "mean", "random", "convex", [0, 1, 0]])
@pytest.mark.parametrize("absent", ["borrow", "stay"])
def test_all_strategies(strategy, absent, with_holes, blobs):
    model = mdt.MDTClustering(3, strategy=strategy, absent=absent, t=3, max_evaluations=8)
    labels = model.fit_predict(with_holes)
    assert adjusted_mutual_info_score(blobs.target, labels) > 0.8
    assert np.isfinite(model.embedding_).all()
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(with_holes), model.predict(with_holes))


def test_forms_agree(with_holes, blobs, has, fitted):
    full = [np.asarray(X) for X in blobs.views]
    np.testing.assert_array_equal(clone(fitted).fit_predict(full, present=has), fitted.labels_)
    named = {"view 0": full[0], "view 1": full[1]}
    masks = {"view 1": has[:, 1], "view 0": has[:, 0]}
    np.testing.assert_array_equal(clone(fitted).fit_predict(named, present=masks), fitted.labels_)
    widths = np.cumsum([0, *(X.shape[1] for X in full)])
    slices = list(pairwise(widths))
    joined = mdt.MDTClustering(3, view_slices=slices).fit(np.hstack(with_holes))
    np.testing.assert_array_equal(joined.labels_, fitted.labels_)


def test_frames_of_different_samples(with_holes, has, fitted):
    names = np.array([f"sample {i}" for i in range(150)])
    frames = {
        f"view {v}": pd.DataFrame(X[mask], index=names[mask])
        for v, (X, mask) in enumerate(zip(with_holes, has.T, strict=True))
    }
    model = mdt.MDTClustering(3, align="outer").fit(frames)
    expected = pd.Series(fitted.labels_, index=names)
    found = pd.Series(model.labels_, index=model.sample_names_)
    assert adjusted_mutual_info_score(expected, found[expected.index]) > 0.95
    coordinates = mdt.MDT(2, align="outer").set_output(transform="pandas").fit_transform(frames)
    assert coordinates.index.equals(model.sample_names_)
    with pytest.raises(ValueError, match="align='outer' joins"):
        mdt.MDTClustering(3).fit(frames)


class TestNewSamples:
    def test_any_view_will_do(self, fitted, blobs):
        for given in ({"view 1": blobs.views[1]}, [None, blobs.views[1]], {"view 0": blobs.views[0]}):
            assert adjusted_mutual_info_score(blobs.target, fitted.predict(given)) > 0.9
        memberships = fitted.memberships([None, blobs.views[1][:5]])
        np.testing.assert_allclose(memberships.sum(axis=1), 1.0)

    def test_do_not_depend_on_each_other(self, fitted, with_holes):
        rows = [X[40:60] for X in with_holes]
        np.testing.assert_array_equal(fitted.predict(rows), fitted.predict(with_holes)[40:60])

    def test_mask(self, fitted, blobs, has, with_holes):
        np.testing.assert_array_equal(fitted.predict(blobs.views, present=has), fitted.predict(with_holes))

    def test_coordinates_of_training_samples_are_their_own(self, with_holes):
        model = mdt.MDT(2, t=4).fit(with_holes)
        np.testing.assert_allclose(model.transform(with_holes), model.embedding_, atol=1e-10)

    def test_remoteness_is_that_of_the_views_they_have(self, fitted, blobs):
        far = [None, blobs.views[1][:3] + 1000.0]
        assert (fitted.remoteness(far) > 10).all()
        assert fitted.operators_.remoteness(far).shape == (3, 3)
        assert np.isnan(fitted.operators_.remoteness(far)[:, 0]).all()

    def test_refused(self, fitted, blobs):
        X = blobs.views[0][:4].copy()
        X[2] = np.nan
        with pytest.raises(ValueError, match=r"expected every sample in at least one view, got 1 in none .* row 2"):
            fitted.predict({"view 0": X})
        with pytest.raises(ValueError, match="expected 50 features"):
            fitted.predict({"view 0": X[:2, :3]})

    def test_rows_of_zeros_do_not_depend_on_the_batch(self):
        rng = np.random.default_rng(0)
        X, Y = rng.normal(size=(60, 3)), rng.random((60, 8)) * (rng.random((60, 8)) < 0.5)
        Y[:, 0] += 0.1
        model = mdt.MDTClustering(3).fit([X, sparse.csr_array(Y)])
        Y[0] = 0.0
        expected = model.memberships([X[:5], sparse.csr_array(Y[:5])])
        np.testing.assert_allclose(model.memberships([X[:1], sparse.csr_array(Y[:1])]), expected[:1])
        np.testing.assert_allclose(model.memberships([X[:1], None]), expected[:1])

    def test_labels_of_aligned_frames_in_another_order(self, with_holes, has):
        names = np.array([f"sample {i}" for i in range(150)])
        first, second = (pd.DataFrame(X[mask], index=names[mask]) for X, mask in zip(with_holes, has.T, strict=True))
        model = mdt.MDT(2, t=3, align="outer").set_output(transform="pandas").fit({"a": first, "b": second})
        expected = model.transform({"a": first[:40], "b": second[20:60]})
        pd.testing.assert_frame_equal(model.transform({"b": second[20:60], "a": first[:40]}), expected)


class TestImpute:
    def test_features_are_close_to_the_true_ones(self, fitted, blobs, has):
        for v in range(2):
            found = fitted.impute(v)
            np.testing.assert_array_equal(found.samples, np.flatnonzero(~has[:, v]))
            assert (found.mass > 0).all()
            assert (found.mass <= 1 + 1e-12).all()
            true, mean = blobs.views[v][~has[:, v]], blobs.views[v][has[:, v]].mean(axis=0)
            assert np.square(found.values - true).mean() < 0.5 * np.square(mean - true).mean()

    def test_is_the_mean_over_the_walk(self, fitted, blobs, has):
        W = fitted.trajectory_.toarray()[:, has[:, 0]]
        expected = (W @ blobs.views[0][has[:, 0]])[~has[:, 0]] / W.sum(axis=1)[~has[:, 0], np.newaxis]
        np.testing.assert_allclose(fitted.impute("view 0").values, expected, rtol=1e-8)
        np.testing.assert_allclose(fitted.impute("view 0").mass, W.sum(axis=1)[~has[:, 0]], rtol=1e-10)

    def test_features_are_in_the_unit_of_the_user(self, with_holes, has):
        scaled = mdt.MDTClustering(3, scale="standard").fit(with_holes)
        plain = mdt.MDTClustering(3).fit([StandardScaler().fit_transform(X) for X in with_holes])
        expected = plain.impute(0).values * np.nanstd(with_holes[0], axis=0) + np.nanmean(with_holes[0], axis=0)
        np.testing.assert_allclose(scaled.impute(0).values, expected, rtol=1e-6)

    def test_nothing_is_missing(self, blobs):
        found = mdt.MDTClustering(3).fit(blobs.views).impute(0)
        assert found.values.shape == (0, 50)

    @pytest.mark.parametrize("view", ["joint", "other", 2, -1, 1.5])
    def test_refused(self, fitted, view):
        with pytest.raises((TypeError, ValueError), match="view: expected"):
            fitted.impute(view)


class TestMetric:
    @pytest.mark.filterwarnings("ignore::mdt_fast.ViewWarning")
    def test_sparse_views_and_counts(self):
        rng = np.random.default_rng(0)
        counts = np.where(rng.random((80, 60)) < 0.1, rng.integers(1, 20, size=(80, 60)), 0).astype(float)
        counts[:, 0] += 1
        dense = rng.normal(size=(80, 5))
        model = mdt.MDTClustering(3).fit({"counts": counts, "words": sparse.csr_array(counts), "dense": dense})
        assert model.metrics_ == {"counts": "cosine", "words": "cosine", "dense": "euclidean"}
        # Views of different metrics can be joined.
        assert model.graph_parameters_["joint"] is True
        assert mdt.MDTClustering(3, preset="published").fit([counts, dense]).metrics_["view 0"] == "euclidean"
        assert mdt.MDTClustering(3, metric="euclidean").fit([counts, dense]).metrics_["view 0"] == "euclidean"

    def test_other_choices_are_kept(self):
        words = sparse.random_array((40, 60), density=0.1, random_state=0, format="csr") + sparse.eye_array(40, 60)
        assert mdt.MDTClustering(3, metric="euclidean").fit([words]).metrics_ == {"view 0": "euclidean"}
        assert mdt.build_operators([words]).metrics == ("euclidean",)


class TestScale:
    def test_columns_in_different_units_are_scaled(self):
        X, y = load_wine(return_X_y=True)
        with pytest.warns(ViewWarning, match=r"column 12 holds 99 % .* were divided by their standard deviations"):
            model = mdt.MDTClustering(3).fit(X)
        assert model.scales_ == {"view 0": "standard"}
        assert adjusted_mutual_info_score(y, model.labels_) > 0.8
        expected = mdt.MDTClustering(3).fit(StandardScaler().fit_transform(X))
        np.testing.assert_array_equal(model.labels_, expected.labels_)
        # New samples are scaled alike.
        np.testing.assert_array_equal(
            model.predict(X[:20]), expected.predict(StandardScaler().fit(X).transform(X[:20]))
        )
        again = pickle.loads(pickle.dumps(model))
        np.testing.assert_array_equal(again.predict(X[:20]), model.predict(X[:20]))

    def test_none_only_warns(self):
        X, _ = load_wine(return_X_y=True)
        with pytest.warns(ViewWarning, match="if their units differ, scale them"):
            assert mdt.MDTClustering(3, scale=None).fit(X).scales_ == {"view 0": None}

    @pytest.mark.parametrize("scale", [StandardScaler(), np.sqrt, "unit", "standard", None])
    def test_forms(self, scale, blobs):
        views = [np.abs(X) for X in blobs.views]
        model = mdt.MDTClustering(3, scale=scale).fit(views)
        assert model.predict([X[:5] for X in views]).shape == (5,)

    def test_other_numbers_of_columns(self, blobs):
        model = mdt.MDTClustering(3, scale=[PCA(4), PCA(6)]).fit(blobs.views)
        np.testing.assert_array_equal(model.predict(blobs.views), model.labels_)

    def test_constant_columns_stay(self):
        rng = np.random.default_rng(0)
        X = np.full((60, 12), 0.1)
        X[:, 1:4] = rng.normal(size=(60, 3))
        model = mdt.MDTClustering(3, scale="standard").fit(X)
        moved = X.copy()
        moved[:, 0] += 1e-12
        assert model.remoteness(moved).max() < 1e-9
        with pytest.raises(ValueError, match=r"scale \(view 0\): expected columns whose variance is finite"):
            mdt.MDTClustering(3, scale="standard").fit(X * 1e307)

    def test_a_class_is_refused(self, blobs):
        with pytest.raises(
            TypeError, match=r"expected a transformer, got the class StandardScaler; StandardScaler\(\)"
        ):
            mdt.MDTClustering(3, scale=StandardScaler).fit(blobs.views)

    def test_per_view(self, blobs):
        model = mdt.MDTClustering(3, scale=["unit", None]).fit(blobs.views)
        assert model.scales_ == {"view 0": "unit", "view 1": None}

    def test_errors_of_functions_and_transformers_name_the_argument(self, blobs):
        with pytest.raises(ValueError, match=r"scale \(view 0\): expected a function of a matrix of samples, got: int"):
            mdt.build_operators([sparse.csr_array(blobs.views[0])], scale=int)
        with pytest.raises(ValueError, match=r"scale \(view 0\): expected a transformer that fits the view, got: "):
            mdt.build_operators([sparse.csr_array(blobs.views[0])], scale=StandardScaler())

    @pytest.mark.parametrize("scale", ["robust", 3])
    def test_refused(self, scale, blobs):
        with pytest.raises(ValueError, match=r"scale \(view 0\): expected None, 'auto'"):
            mdt.MDTClustering(3, scale=scale).fit(blobs.views)

    def test_a_function_that_returns_other_rows_is_refused(self, blobs):
        with pytest.raises(ValueError, match=r"scale \(view 0\): expected a function that returns 150 rows, got 149"):
            mdt.MDTClustering(3, scale=lambda X: X[1:]).fit(blobs.views)

    def test_a_lost_function_is_named(self, blobs):
        model = mdt.MDTClustering(3, scale=lambda X: 2 * X).fit(blobs.views)
        again = pickle.loads(pickle.dumps(model.operators_))
        with pytest.raises(ValueError, match="scale: expected a function that can be pickled"):
            again.new_rows([X[:2] for X in blobs.views])


def test_view_report_counts_samples(fitted, has):
    report = mdt.view_report(fitted.operators_, labels=fitted.labels_, t=3)
    np.testing.assert_array_equal(report.n_present, [*has.sum(axis=0), 150])
    assert "samples" in str(report).splitlines()[1]
    assert report.to_frame()["n_present"].tolist() == report.n_present.tolist()


@pytest.mark.parametrize("count", [5, 75])
def test_views_that_may_be_a_mistake(blobs, count):
    """A view of hardly any sample, and two views without a common sample."""
    mask = np.arange(150) < count
    present = np.column_stack([~mask, mask])
    with pytest.warns(
        ViewWarning, match="only 5 of 150 samples" if count == 5 else "none of its 75 samples is in another"
    ):
        model = mdt.MDTClustering(3).fit(blobs.views, present=present)
    report = mdt.view_report(model.operators_, labels=model.labels_, t=3)
    assert not any("redundant" in remark for remark in report.remark)


def test_an_operator_set_and_a_mask_are_refused(fitted, has):
    with pytest.raises(ValueError, match="present: expected None beside an OperatorSet"):
        mdt.MDTClustering(3).fit(fitted.operators_, present=has)
