"""Graphs of the default: neighbours by cluster size, the joint view, and what it is for."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.metrics import adjusted_mutual_info_score

import mdt_fast as mdt
from mdt_fast._estimators.graphs import neighbors_by_size


def complementary(n=300, seed=0):
    """Two views of six groups: the first tells three pairs of groups apart, the second halves each pair."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 6, n)
    first = np.array([[0, 0], [8, 0], [0, 8]])[y // 2] + rng.normal(size=(n, 2))
    second = np.array([[0, 0], [8, 8]])[y % 2] + rng.normal(size=(n, 2))
    return [np.c_[first, rng.normal(size=(n, 3))], np.c_[second, rng.normal(size=(n, 3))]], y


class TestNeighbors:
    @pytest.mark.parametrize(
        ("n", "k", "expected"),
        # ln 1000 is 6.9.
        [
            (1000, 2, 15),
            (1000, 12, 11),
            (10**7, 10, 17),
            (1000, 100, 7),
            (1000, np.int64(12), 11),
            (1000, "auto", 11),
            (1000, None, 15),
            (3, 2, 2),
            (2, 2, 1),
        ],
    )
    def test_an_eighth_of_a_cluster(self, n, k, expected):
        assert neighbors_by_size(n, k) == expected

    def test_clusters_beyond_any_number_of_samples(self):
        assert neighbors_by_size(50, 10**400) == neighbors_by_size(50, 50)

    def test_recorded(self):
        views, _ = complementary()
        model = mdt.MDTClustering(6).fit(views)
        assert model.graph_parameters_ == {"n_neighbors": 7, "kernel": "adaptive", "anisotropy": 1.0, "joint": True}
        assert model.operators_.names == ["view 0", "view 1", "joint"]
        assert (model.view_names_, model.n_views_in_) == (["view 0", "view 1"], 2)

    def test_other_strategies_and_presets(self):
        views, _ = complementary()
        plain = {"n_neighbors": "log", "kernel": "gaussian", "anisotropy": 0.0, "joint": False}
        assert mdt.MDTClustering(6, strategy="mean").fit(views).graph_parameters_ == plain
        assert mdt.MDTClustering(6, preset="published").fit(views).graph_parameters_ == plain
        own = mdt.MDTClustering(6, n_neighbors=5, anisotropy=0.5, joint=False, kernel="gaussian").fit(views)
        assert own.graph_parameters_ == {"n_neighbors": 5, "kernel": "gaussian", "anisotropy": 0.5, "joint": False}


class TestComplementaryViews:
    def test_clusters_that_no_view_separates(self):
        views, y = complementary()
        model = mdt.MDTClustering(6).fit(views)
        assert adjusted_mutual_info_score(y, model.labels_) >= 0.98

    def test_new_samples_need_the_given_views_only(self):
        views, _ = complementary()
        new, truth = complementary(seed=1)
        model = mdt.MDTClustering(6).fit(views)
        shares = model.memberships(new)
        np.testing.assert_allclose(shares.sum(axis=1), 1.0)
        np.testing.assert_array_equal(shares.argmax(axis=1), model.predict(new))
        assert adjusted_mutual_info_score(truth, model.predict(new)) >= 0.95
        far = [X * 30 for X in new]
        assert np.median(model.remoteness(new)) < 1.0
        assert (model.remoteness(far) > 1.5).mean() > 0.9

    def test_memberships_need_a_consensus(self):
        views, _ = complementary()
        with pytest.raises(ValueError, match="strategy: expected a consensus, which has memberships, got 'mean'"):
            mdt.MDTClustering(6, strategy="mean").fit(views).memberships(views)


class TestRepresentative:
    def test_coordinates_tell_samples_apart(self):
        views, _ = complementary()
        model = mdt.MDTClustering(6).fit(views)
        assert model.embedding_.shape == (300, 6)
        assert len(np.unique(model.embedding_, axis=0)) == 300
        kept = model.search_result_.trajectories
        weights = np.mean([W.weights[0] for W in kept], axis=0)
        np.testing.assert_allclose(model.trajectory_.weights[0], weights, rtol=1e-12)
        assert len(model.trajectory_) == round(np.mean([len(W) for W in kept]))
        assert len(kept) == math.ceil(len(model.search_history_) / 4)
        centers = [model.embedding_[model.labels_ == c].mean(axis=0) for c in range(6)]
        np.testing.assert_allclose(model.cluster_centers_, centers, rtol=1e-9, atol=1e-12)


class TestDegenerateClusters:
    @pytest.mark.filterwarnings("ignore::mdt_fast.OperatorWarning")
    def test_warns(self):
        """Labels of one giant cluster, where the views have three even ones."""
        blobs = mdt.datasets.make_multiview_blobs(200, n_clusters=3, cluster_std=3.0, random_state=0)
        giant = np.zeros(200, dtype=np.int32)
        giant[:2] = [1, 2]
        model = mdt.MDTClustering(3, strategy="mean", t=3)
        model.fit(blobs.views)
        model.labels_ = giant
        with pytest.warns(mdt.DegenerateClustersWarning, match="one cluster holds 99% of the samples"):
            model._warn_of_degenerate_clusters()
