"""MDTClustering with the consensus: against the search, and on new samples."""

from __future__ import annotations

import copy
import pickle
import re

import numpy as np
import pytest
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score

import mdt_fast as mdt
from helpers.consensus import K, N, assert_same, overlapping, search
from helpers.published import fetch
from mdt_fast.strategies import Beam, Consensus, Contrastive

# Parameters of the graphs of the default, for N samples in K clusters: N / 8 K is below ln N.
DEFAULT = {"kernel": "adaptive", "anisotropy": 1.0, "n_neighbors": 5, "joint": True}


def blobs_of(seed=0, n=300, **options):
    return mdt.datasets.make_multiview_blobs(
        n, **{"n_clusters": 4, "n_features": 6, "cluster_std": 2.0, "random_state": seed, **options}
    )


def same_operators(first, second):
    return all((P != Q).nnz == 0 for P, Q in zip(first.views, second.views, strict=True))


@pytest.mark.filterwarnings("ignore::mdt_fast.OperatorWarning")
class TestClustering:
    def test_equals_the_search(self):
        views = overlapping()[0]
        fitted = mdt.MDTClustering(K, t=3, random_state=5).fit(views)
        ops = mdt.build_operators(views, **DEFAULT)
        found = search(ops, random_state=5)
        assert_same(found, fitted.search_result_)
        np.testing.assert_array_equal(fitted.labels_, found.labels, strict=True)
        np.testing.assert_array_equal(fitted.confidence_, found.agreement.confidence)
        assert (fitted.score_, fitted.t_) == (found.score, 3)
        np.testing.assert_array_equal(fitted.trajectory_.weights, found.agreement.representative.weights)
        np.testing.assert_array_equal(fitted.embedding_, mdt.embed(fitted.trajectory_, K, random_state=5).coordinates)
        np.testing.assert_array_equal(fitted.search_history_["score"], found.history["score"])
        assert fitted.cluster_centers_.shape == (K, K)
        means = [fitted.embedding_[fitted.labels_ == c].mean(axis=0) for c in range(K)]
        np.testing.assert_allclose(fitted.cluster_centers_, means, atol=1e-12)

    def test_options_are_passed_to_the_search(self):
        views = overlapping()[0]
        how = {"strategy": Consensus(trajectories=9), "t": 2, "view_weights": [2, 1], "max_evaluations": 7}
        scoring = mdt.Scoring("silhouette", n_init=2)
        fitted = mdt.MDTClustering(K, quality=scoring, n_components=5, **how).fit(views)
        scoring = mdt.Scoring("silhouette", n_components=5, n_init=2)
        found = search(mdt.build_operators(views, **DEFAULT), quality=scoring, **how)
        assert_same(found, fitted.search_result_)
        assert fitted.search_result_.stopped == "max_evaluations"

    @pytest.mark.parametrize("n_jobs", [2, 3])
    def test_same_bits_at_any_number_of_threads(self, n_jobs):
        one, other = (mdt.MDTClustering(K, t=2, n_jobs=j).fit(overlapping(300)[0]) for j in (1, n_jobs))
        assert_same(one.search_result_, other.search_result_)
        new = overlapping(40, seed=1)[0]
        np.testing.assert_array_equal(one.predict(new), other.predict(new))

    @pytest.mark.parametrize(
        ("parameters", "build"),
        [
            ({}, DEFAULT),
            ({"strategy": "consensus"}, DEFAULT),
            ({"strategy": Consensus(trajectories=4)}, DEFAULT),
            ({"strategy": "beam"}, {"kernel": "gaussian"}),
            ({"strategy": Beam(width=1)}, {"kernel": "gaussian"}),
            ({"strategy": [0, 1]}, {"kernel": "gaussian"}),
            ({"kernel": "gaussian"}, {**DEFAULT, "kernel": "gaussian"}),
            ({"kernel": ["adaptive", "binary"]}, {**DEFAULT, "kernel": ["adaptive", "binary"], "joint": False}),
            ({"preset": "published"}, {"kernel": "gaussian", "preset": "published"}),
        ],
        ids=str,
    )
    def test_kernels(self, parameters, build):
        views = overlapping()[0]
        fitted = mdt.MDTClustering(K, t=1, max_evaluations=3, **parameters).fit(views)
        assert same_operators(fitted.operators_, mdt.build_operators(views, **build))
        other = "gaussian" if build["kernel"] == "adaptive" else "adaptive"
        assert not same_operators(fitted.operators_, mdt.build_operators(views, **{**build, "kernel": other}))

    @pytest.mark.parametrize("seed", range(3))
    @pytest.mark.parametrize(
        "parameters",
        [{}, {"members": ["identity", "uniform", 2]}, {"dtype": "float32"}, {"preset": "published"}],
        ids=str,
    )
    def test_new_samples(self, seed, parameters):
        blobs = blobs_of(seed)
        known, new = [X[:200] for X in blobs.views], [X[200:] for X in blobs.views]
        fitted = mdt.MDTClustering(4, t=3, **parameters).fit(known)
        assert adjusted_rand_score(blobs.target[:200], fitted.labels_) > 0.95
        again = fitted.predict(known)
        assert again.dtype == np.int32
        assert (again == fitted.labels_).mean() >= 0.95
        both = np.concatenate([fitted.labels_, fitted.predict(new)])
        assert adjusted_rand_score(blobs.target, both) > 0.95

    def test_training_samples_where_clusters_overlap(self):
        blobs = blobs_of(cluster_std=5.0)
        fitted = mdt.MDTClustering(4, t=3).fit(blobs.views)
        differs = fitted.predict(blobs.views) != fitted.labels_
        assert differs.mean() < 0.1
        # Samples with another label have lower confidence.
        assert not differs.any() or fitted.confidence_[differs].mean() < fitted.confidence_[~differs].mean()

    def test_rows_do_not_depend_on_each_other(self):
        blobs = blobs_of(cluster_std=5.0)
        fitted = mdt.MDTClustering(4, t=3).fit([X[:200] for X in blobs.views])
        new = [X[200:230] for X in blobs.views]
        together = fitted.predict(new)
        for i in range(30):
            assert fitted.predict([X[i : i + 1] for X in new]) == together[i]
        np.testing.assert_array_equal(fitted.predict([X[::-1] for X in new]), together[::-1])

    def test_one_cluster(self):
        views = overlapping()[0]
        fitted = mdt.MDTClustering(1, t=2).fit(views)
        assert (fitted.search_result_.strategy, fitted.search_result_.quality) == ("mean", "contrastive")
        assert not fitted.labels_.any()
        assert not fitted.predict([X[:5] for X in views]).any()

    def test_one_cluster_by_a_strategy_that_finds_a_trajectory(self):
        strategy = Contrastive(steps=3)
        fitted = mdt.MDTClustering(1, strategy=strategy, t=2).fit(overlapping()[0])
        assert fitted.search_result_.settings["strategy"] == strategy.settings()
        assert not fitted.labels_.any()

    @pytest.mark.parametrize("copied", [lambda e: pickle.loads(pickle.dumps(e)), copy.deepcopy])
    def test_copies(self, copied):
        fitted = mdt.MDTClustering(K, t=2).fit(overlapping()[0])
        other, new = copied(fitted), overlapping(40, seed=1)[0]
        assert_same(fitted.search_result_, other.search_result_)
        np.testing.assert_array_equal(other.confidence_, fitted.confidence_)
        np.testing.assert_array_equal(other.predict(new), fitted.predict(new))

    @pytest.mark.parametrize(
        ("parameters", "message"),
        [
            ({"quality": "contrastive"}, "strategy: .*quality='contrastive'"),
            ({"weighting": "heavy"}, "weighting: .*'heavy'"),
            ({"n_init": 0}, "n_init: .*got 0"),
            ({"n_clusters": N}, "n_clusters: .*90"),
            ({"kernel": "flat"}, "kernel: .*'flat'"),
        ],
    )
    def test_refused(self, parameters, message):
        with pytest.raises(ValueError, match=message):
            mdt.MDTClustering(**{"n_clusters": K, "t": 1, **parameters}).fit(overlapping()[0])

    @pytest.mark.parametrize(
        "strategies",
        [("auto", "beam"), ("beam", "auto"), ("auto", "mean"), (Consensus(trajectories=4), Beam())],
        ids=str,
    )
    def test_refitting_removes_attributes(self, strategies):
        views = overlapping()[0]
        first, second = strategies
        fitted = mdt.MDTClustering(K, t=1, strategy=first).fit(views).set_params(strategy=second).fit(views)
        fresh = mdt.MDTClustering(K, t=1, strategy=second).fit(views)
        assert vars(fitted).keys() == vars(fresh).keys()

    @pytest.mark.parametrize("strategy", ["consensus", "auto", Consensus(trajectories=4)], ids=str)
    @pytest.mark.parametrize("n_clusters", [None, K])
    def test_coordinates_need_a_trajectory(self, strategy, n_clusters):
        shown = re.escape(repr(strategy))
        with pytest.raises(ValueError, match=rf"strategy: .*single trajectory, got {shown}.*MDTClustering"):
            mdt.MDT(strategy=strategy, n_clusters=n_clusters).fit(overlapping()[0])


@pytest.mark.real_data
@pytest.mark.filterwarnings("ignore::mdt_fast.OperatorWarning")
@pytest.mark.parametrize(("name", "expected"), [("msrc", 0.76), ("multi_feat", 0.873)])
def test_real_data(name, expected):
    bunch = fetch(name)
    fitted = mdt.MDTClustering(len(np.unique(bunch.target)), random_state=0).fit(bunch.views)
    assert adjusted_mutual_info_score(bunch.target, fitted.labels_) >= expected - 0.02
