"""Attributes of fitted estimators, and new samples."""

from __future__ import annotations

import copy

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from sklearn.metrics import adjusted_rand_score

import mdt_fast as mdt
from helpers.data import overlapping_clusters
from helpers.estimators import (
    COLUMNS,
    GRAPH,
    LABELS,
    ONE,
    SLICES,
    K,
    N,
    assert_same_fit,
    both,
    frames,
    of_new_samples,
    of_training,
    quick,
    views,
    whole,
    whole_frame,
)
from mdt_fast.strategies import Greedy


class TestFitted:
    @both
    def test_attributes(self, make):
        fitted = quick(make, strategy="beam", n_clusters=K, n_components=4, t=2).fit(views())
        assert fitted.embedding_.shape == (N, 4)
        assert isinstance(fitted.trajectory_, mdt.Trajectory)
        assert fitted.trajectory_ is fitted.search_result_.trajectory
        assert isinstance(fitted.t_, int)
        assert fitted.t_ == 2
        assert isinstance(fitted.score_, float)
        assert fitted.score_ == fitted.search_history_["score"].max()
        assert isinstance(fitted.search_result_, mdt.SearchResult)
        assert len(fitted.search_history_) == fitted.search_result_.n_evaluations > 1
        assert isinstance(fitted.geometry_, mdt.Embedding)
        np.testing.assert_array_equal(fitted.geometry_.coordinates, fitted.embedding_)
        assert fitted.singular_values_.shape == (4,)
        assert isinstance(fitted.operators_, mdt.OperatorSet)
        assert (fitted.n_views_in_, fitted.n_features_in_) == (2, 7)
        assert fitted.view_names_ == ["view 0", "view 1"]
        assert not hasattr(fitted, "feature_names_in_")

    @pytest.mark.parametrize("strategy", ["beam", "auto"])
    def test_clusters(self, strategy):
        fitted = mdt.MDTClustering(K, strategy=strategy, t=1, **GRAPH)
        np.testing.assert_array_equal(fitted.fit_predict(views()), fitted.labels_)
        assert fitted.labels_.dtype == np.int32
        # Numbered in the order of their first sample.
        assert list(dict.fromkeys(fitted.labels_.tolist())) == list(range(K))
        means = [fitted.embedding_[fitted.labels_ == k].mean(axis=0) for k in range(K)]
        np.testing.assert_allclose(fitted.cluster_centers_, means, atol=1e-12)

    def test_time_of_a_search_without_one(self):
        fitted = mdt.MDTClustering(K, strategy=Greedy(max_steps=3), **GRAPH).fit(views())
        assert fitted.t_ == len(fitted.trajectory_)

    @both
    @pytest.mark.parametrize("form", ["frame", "polars"])
    def test_names_of_columns(self, make, form):
        fitted = quick(make, view_slices=SLICES).fit(ONE[form]())
        assert fitted.feature_names_in_.tolist() == [*COLUMNS[0], *COLUMNS[1]]
        assert not hasattr(quick(make).fit(frames()), "feature_names_in_")

    @both
    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ((whole_frame, SLICES), (views, None)),
            ((whole_frame, SLICES), (lambda: whole()[:, :5], [(0, 2), (2, 5)])),
            ((frames, None), (lambda: views()[::-1], None)),
            ((lambda: {"sight": frames()[0], "sound": views()[1]}, None), (whole_frame, {"x": (0, 4), "y": (4, 7)})),
            ((lambda: [*views(), whole()], None), (lambda: [X[:90] for X in views()], None)),
        ],
        ids=["frame to views", "frame to array", "frames to arrays", "dict to frame", "fewer views and samples"],
    )
    def test_refitting_removes_attributes(self, make, before, after):
        fitted = quick(make, view_slices=before[1]).fit(before[0]())
        fitted.set_params(view_slices=after[1]).fit(after[0]())
        fresh = quick(make, view_slices=after[1]).fit(after[0]())
        assert_same_fit(fitted, fresh)
        assert vars(fitted).keys() == vars(fresh).keys()
        for name in ("n_views_in_", "n_features_in_", "view_names_"):
            assert getattr(fitted, name) == getattr(fresh, name)
        np.testing.assert_allclose(of_new_samples(fitted, after[0]()), of_training(fitted), atol=1e-8)

    @both
    def test_input_and_parameters_stay_as_they_are(self, make):
        unsorted = scipy.sparse.csr_array(views()[1])
        unsorted.indices[:3], unsorted.data[:3] = unsorted.indices[2::-1].copy(), unsorted.data[2::-1].copy()
        unsorted.has_sorted_indices = False
        # The arrays of views() are read-only.
        X = {"array": views()[0], "frame": frames(LABELS)[0], "sparse": unsorted}
        parameters = {
            "members": ["identity", 2],
            "view_weights": [2.0, 1.0, 1.0],
            "n_neighbors": dict.fromkeys(X, 40),
        }
        before = copy.deepcopy((X, parameters))
        of_new_samples(quick(make, **parameters).fit(X), X)
        assert (list(X), parameters) == (list(before[0]), before[1])
        pd.testing.assert_frame_equal(X["frame"], before[0]["frame"])
        for part in ("data", "indices", "indptr"):
            np.testing.assert_array_equal(getattr(X["sparse"], part), getattr(before[0]["sparse"], part))

    @both
    @pytest.mark.parametrize("n", [N, 300])
    def test_same_bits_at_any_number_of_threads(self, make, n):
        Xs = overlapping_clusters(n)[0]
        one, two = (quick(make, t=2, n_jobs=n_jobs).fit(Xs) for n_jobs in (1, 2))
        assert_same_fit(one, two)
        np.testing.assert_array_equal(of_new_samples(one, Xs), of_new_samples(two, Xs))

    @both
    def test_verbose(self, make, capfd):
        quick(make, strategy="beam", t=1).fit(views())
        assert capfd.readouterr() == ("", "")
        quick(make, strategy="beam", t=1, verbose=True).fit(views())
        out, err = capfd.readouterr()
        assert not out
        assert "search [####" in err


class TestNewSamples:
    @pytest.mark.parametrize("weighting", ["uniform", "stationary"])
    @pytest.mark.parametrize("seed", range(3))
    @pytest.mark.parametrize(
        "parameters",
        [{}, {"members": ["uniform", "teleport", 2]}, {"strategy": "convex"}, {"kernel": "adaptive"}],
        ids=str,
    )
    def test_training_samples(self, seed, weighting, parameters):
        Xs = overlapping_clusters(N, seed=seed)[0]
        how = {"t": 2, "weighting": weighting, "random_state": seed, **GRAPH}
        fitted = mdt.MDT(3, **{"strategy": "mean", **how, **parameters}).fit(Xs)
        np.testing.assert_allclose(fitted.transform(Xs), fitted.embedding_, atol=1e-8)
        fitted = mdt.MDTClustering(5, **{"strategy": "beam", "max_evaluations": 5, **how, **parameters}).fit(Xs)
        np.testing.assert_array_equal(fitted.predict(Xs), fitted.labels_, strict=True)

    @both
    def test_rows_do_not_depend_on_each_other(self, make):
        fitted = quick(make).fit(views())
        new = [X[:9] for X in overlapping_clusters(N, seed=1)[0]]
        together = of_new_samples(fitted, new)
        assert together.shape[0] == 9
        for i in range(9):
            np.testing.assert_array_equal(of_new_samples(fitted, [X[i : i + 1] for X in new])[0], together[i])
        np.testing.assert_array_equal(of_new_samples(fitted, [X[::-1] for X in new]), together[::-1])

    # The graphs of distant clusters are disconnected.
    @pytest.mark.filterwarnings("ignore::mdt_fast.OperatorWarning")
    @pytest.mark.parametrize("seed", [0, 1])
    @pytest.mark.parametrize(
        "parameters",
        [
            {},
            {"n_neighbors": 60},
            {"n_neighbors": 60, "dtype": "float32"},
            {"n_components": 3},
        ],
        ids=str,
    )
    @pytest.mark.parametrize("strategy", ["beam", "auto"])
    def test_blobs(self, parameters, seed, strategy):
        blobs = mdt.datasets.make_multiview_blobs(300, n_clusters=4, n_features=6, random_state=seed)
        known, new = [X[:200] for X in blobs.views], [X[200:] for X in blobs.views]
        fitted = mdt.MDTClustering(4, strategy=strategy, t=2, **parameters).fit(known)
        found = np.concatenate([fitted.labels_, fitted.predict(new)])
        assert adjusted_rand_score(blobs.target, found) == 1.0

    @both
    def test_in_single_precision(self, make):
        Xs = [X.astype(np.float32) for X in views()]
        fitted = quick(make).fit(Xs)
        assert fitted.embedding_.dtype == np.float32
        np.testing.assert_allclose(of_new_samples(fitted, Xs), of_training(fitted), atol=1e-5)
