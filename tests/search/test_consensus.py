"""The consensus search: against single trajectories, on hard inputs, and refusals."""

from __future__ import annotations

import math

import numpy as np
import pytest
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score

import mdt_fast as mdt
from helpers.consensus import K, N, Undamped, assert_same, assert_valid, operators_of, overlapping, search, separate
from mdt_fast._clusters.agreement import agree
from mdt_fast._clusters.confidence import confidence
from mdt_fast._operators.draw import draw_repeated
from mdt_fast.strategies import Consensus, Contrastive


def composed_consensus(ops, found, n_clusters=K):
    """The consensus composed from single trajectories."""
    seed = found.settings["random_state"]
    scoring = mdt.Scoring(**{key: found.settings[key] for key in ("quality", "n_components", "n_init", "tol")})
    how = {"quality": scoring, "random_state": seed, "progress": False}
    single = [mdt.search(ops, n_clusters, strategy=W, **how) for W in found.candidates]
    scores = np.array([each.score for each in single])
    n_kept = math.ceil(len(scores) / 4)
    rows = sorted(sorted(range(len(scores)), key=lambda i: (-scores[i], i))[:n_kept])
    labels = np.stack([each.labels for each in single])
    combined = agree(labels[rows], n_clusters, seed=seed, n_jobs=1)
    return scores, rows, combined, confidence(labels, scores, combined.labels, ops)


class TestSearch:
    @pytest.mark.parametrize("quality", ["auto", "calinski_harabasz", "davies_bouldin", "silhouette"])
    @pytest.mark.parametrize("n", [5, 20])
    def test_equals_the_composition_of_single_trajectories(self, quality, n):
        ops = operators_of()
        found = search(ops, quality=quality, strategy=Undamped(n), random_state=4)
        assert_valid(found, N)
        scores, rows, combined, sure = composed_consensus(ops, found)
        np.testing.assert_array_equal(found.history["score"], scores)
        assert found.agreement.rows.tolist() == rows
        for name in ("labels", "embedding"):
            np.testing.assert_array_equal(getattr(found.agreement, name), getattr(combined, name), err_msg=name)
        np.testing.assert_array_equal(found.agreement.confidence, sure)
        name = "information" if quality == "auto" else quality
        sign = -1 if name == "davies_bouldin" else 1
        assert found.score == sign * getattr(mdt.quality, name)(ops, combined.labels)

    def test_defaults(self):
        found = search(operators_of(), t=2)
        assert_valid(found, N)
        assert found.quality == found.settings["quality"] == "information"
        assert found.settings["strategy"] == {"name": "consensus", "trajectories": 128, "kept": 0.25}
        assert found.settings["damped"] is True
        assert (found.settings["n_init"], found.t) == (5, 2)
        assert found.n_evaluations in (32, 64, 128)
        assert found.stopped is None
        assert found.converged is None
        assert f"{len(found.trajectories)} trajectories, {found.n_evaluations} evaluations" in repr(found)

    def test_auto_is_the_consensus(self):
        for strategy in ("auto", "consensus"):
            assert_same(search(operators_of(), t=2), search(operators_of(), t=2, strategy=strategy))

    def test_automatic_time(self):
        ops = operators_of()
        found = search(ops, t="auto", n=40)
        assert found.t == mdt.select_time(ops).t
        assert found.history["depth"].max() <= found.t

    @pytest.mark.parametrize("n", [1, 2, 3, 16, 17])
    @pytest.mark.parametrize("kept", [0.01, 0.25, 0.5, 1.0])
    def test_the_best_are_kept(self, n, kept):
        found = search(operators_of(), strategy=Consensus(n, kept=kept))
        assert_valid(found, N)
        assert found.n_evaluations == n
        assert len(found.trajectories) == len(found.agreement.trajectories) == math.ceil(kept * n)

    @pytest.mark.parametrize(
        ("kept", "error"), [(0, ValueError), (1.5, ValueError), (-1, ValueError), ("all", TypeError)]
    )
    def test_shares_that_cannot_be_kept(self, kept, error):
        with pytest.raises(error, match="kept: expected"):
            Consensus(kept=kept)

    def test_rows_are_damped(self):
        seen = {}

        def note(ops, labels, coordinates):
            seen.setdefault("first", (labels, coordinates))
            return 0.0

        noise = mdt.build_operators(list(np.random.default_rng(0).normal(size=(2, 60, 8))), n_neighbors=10)
        found = search(noise, 6, n=1, quality=note)
        labels, coordinates = seen["first"]
        lengths = np.linalg.norm(coordinates, axis=1)
        median = np.sort(lengths)[len(lengths) // 2]
        damped = coordinates / np.hypot(lengths, median)[:, np.newaxis]
        expected = mdt.k_means(damped, 6, n_init=5, random_state=found.settings["random_state"]).labels
        np.testing.assert_array_equal(labels, expected)
        undamped = mdt.k_means(coordinates, 6, n_init=5, random_state=found.settings["random_state"]).labels
        assert (labels != undamped).any()

    @pytest.mark.parametrize("n", [1, 4, 9])
    def test_ties_keep_the_first(self, n):
        found = search(operators_of(), n=n, quality=lambda ops, labels, coordinates: 1.0)
        assert found.agreement.rows.tolist() == list(range(math.ceil(n / 4)))
        assert found.best == 0
        assert found.score == 1.0

    def test_callable_quality(self):
        seen = []

        def evenness(ops, labels, coordinates):
            seen.append((labels.shape, coordinates.shape))
            return -np.bincount(labels).std()

        found = search(operators_of(), n=8, quality=evenness)
        assert_valid(found, N)
        assert found.quality.endswith("evenness")
        assert found.score == -np.bincount(found.labels).std()
        assert set(seen) == {((N,), (N, K))}
        assert len(seen) == 9

    def test_candidates_have_constant_weights(self):
        found = search(operators_of().with_identity(), n=30, t=4)
        assert set(found.history["depth"]) == {1, 2, 3, 4}
        for weights in found.candidates:
            assert (weights == weights[0]).all()
            assert (weights > 0).all()
            np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=1e-12)

    def test_draws_are_uniform(self):
        ops = operators_of().with_identity()
        drawn = list(draw_repeated(ops, 4, 3000, np.random.default_rng(0)))
        counts = np.bincount([len(weights) for weights in drawn], minlength=5)[1:]
        assert abs(counts - 750).max() < 5 * math.sqrt(750)
        first = np.array([weights[0] for weights in drawn])
        np.testing.assert_allclose(first.mean(axis=0), 1 / 3, atol=0.025)
        # On the simplex of three corners a weight w is exceeded with probability (1 - w)^2.
        np.testing.assert_allclose((first > 0.5).mean(axis=0), 0.25, atol=0.04)

    def test_more_candidates_begin_with_the_same(self):
        few, many = (search(operators_of(), n=n) for n in (7, 20))
        np.testing.assert_array_equal(many.history["score"][:7], few.history["score"])
        for a, b in zip(few.candidates, many.candidates, strict=False):
            np.testing.assert_array_equal(a, b)

    @pytest.mark.filterwarnings("ignore::mdt_fast.OperatorWarning")
    def test_stops_when_the_labels_are_stable(self):
        assert search(mdt.build_operators(separate()[0])).n_evaluations == 32
        noise = mdt.build_operators(list(np.random.default_rng(0).normal(size=(2, 60, 8))), n_neighbors=10)
        assert search(noise, 6).n_evaluations == 128
        assert search(noise, 6, n=40).n_evaluations == 40

    @pytest.mark.parametrize("n_jobs", [2, 3])
    @pytest.mark.parametrize("dtype", ["float64", "float32"])
    def test_same_bits_at_any_number_of_threads(self, n_jobs, dtype):
        ops = operators_of(300, dtype=dtype)
        assert_same(search(ops, n=20, n_jobs=1), search(ops, n=20, n_jobs=n_jobs))

    def test_seeds(self):
        ops = operators_of()
        found = [search(ops, n=12, random_state=seed) for seed in (0, 0, 1)]
        assert_same(found[0], found[1])
        assert found[0].settings["random_state"] != found[2].settings["random_state"]
        assert all(not np.array_equal(a, b) for a, b in zip(found[0].candidates, found[2].candidates, strict=True))
        generators = [search(ops, n=6, random_state=np.random.default_rng(3)) for _ in range(2)]
        assert_same(*generators)

    def test_single_precision(self):
        found = search(operators_of(dtype="float32"), n=9)
        assert_valid(found, N)
        assert adjusted_rand_score(found.labels, search(operators_of(dtype="float64"), n=9).labels) > 0.9

    @pytest.mark.parametrize("weights", [[3, 1], [1, 0]], ids=str)
    def test_view_weights(self, weights):
        ops = operators_of()
        found, plain = search(ops, n=9, view_weights=weights), search(ops, n=9)
        assert_valid(found, N)
        assert found.score == mdt.quality.information(ops, found.labels, view_weights=weights)
        # Weights choose among the same candidates.
        for mine, other in zip(found.candidates, plain.candidates, strict=True):
            np.testing.assert_array_equal(mine, other)
        assert (found.history["score"] != plain.history["score"]).all()

    def test_features(self):
        ops, views = operators_of(), overlapping()[0]
        found = search(ops, n=6, quality=mdt.Scoring("silhouette", features=views))
        assert found.score == mdt.quality.silhouette(ops, found.labels, features=views)

    def test_to_frame(self):
        found = search(operators_of(), n=6)
        frame = found.to_frame()
        np.testing.assert_array_equal(frame["score"], found.history["score"])
        assert set(frame["trajectory"]) == {"weights"}

    def test_no_tree(self):
        pytest.importorskip("matplotlib")
        with pytest.raises(ValueError, match=r"expected sequences, which a tree needs.*'consensus'"):
            search(operators_of(), n=2).plot_tree()


class TestHardInput:
    def test_one_step(self):
        found = search(operators_of(), t=1, n=8)
        assert_valid(found, N)
        assert set(found.history["depth"]) == {1}

    @pytest.mark.parametrize("t", [1, 3])
    def test_one_view(self, t):
        found = search(mdt.build_operators(overlapping()[0][:1], n_neighbors=12), t=t)
        assert_valid(found, N)
        assert set(found.history["depth"]) == set(range(1, t + 1))
        assert found.stopped is None

    @pytest.mark.parametrize("t", [1, 3])
    def test_each_trajectory_counts_once(self, t):
        # One view has a single trajectory of each length.
        found = search(mdt.build_operators(overlapping()[0][:1], n_neighbors=12), t=t)
        assert sorted(found.history["depth"].tolist()) == list(range(1, t + 1))

    @pytest.mark.parametrize("names", [["identity"], ["uniform"], ["teleport"], ["identity", "uniform", "teleport"]])
    def test_other_members(self, names):
        ops = operators_of()
        for name in names:
            ops = getattr(ops, f"with_{name}")()
        found = search(ops, n=12)
        assert_valid(found, N)
        assert found.trajectories[0].weights.shape[1] == len(ops)

    @pytest.mark.filterwarnings("ignore::mdt_fast.OperatorWarning")
    @pytest.mark.parametrize(("n", "k"), [(3, 2), (4, 2), (4, 3), (5, 2), (5, 4), (7, 6)])
    @pytest.mark.parametrize("t", [1, 4])
    def test_few_samples(self, rng, n, k, t):
        ops = mdt.build_operators([rng.normal(size=(n, 2)), rng.normal(size=(n, 3))])
        found = search(ops, k, t=t)
        assert_valid(found, n, k)
        assert len(set(found.labels.tolist())) == k
        assert np.isfinite(found.score)

    def test_as_many_clusters_as_samples(self):
        with pytest.raises(ValueError, match=r"n_clusters: expected an integer >= 2 and <= 89, got 90"):
            search(operators_of(), N)

    @pytest.mark.filterwarnings("ignore::mdt_fast.OperatorWarning")
    @pytest.mark.parametrize("kernel", ["gaussian", "adaptive"])
    @pytest.mark.parametrize("copies", [2, 12])
    def test_duplicates(self, rng, kernel, copies):
        views = [np.repeat(rng.normal(size=(8, d)), copies, axis=0) for d in (2, 3)]
        found = search(mdt.build_operators(views, kernel=kernel), 4)
        assert_valid(found, 8 * copies, 4)
        assert np.isfinite(found.score)

    @pytest.mark.filterwarnings("ignore::mdt_fast.OperatorWarning")
    @pytest.mark.filterwarnings("ignore::mdt_fast.ViewWarning")
    @pytest.mark.parametrize("kernel", ["gaussian", "adaptive"])
    def test_fewer_distinct_points_than_clusters(self, kernel):
        views = [np.repeat([[0.0, 0.0], [1.0, 1.0]], 15, axis=0)] * 2
        fitted = mdt.MDTClustering(4, kernel=kernel).fit(views)
        assert_valid(fitted.search_result_, 30, 4)
        assert np.isfinite(fitted.cluster_centers_).all()
        # No cluster contains samples of both points.
        assert not set(fitted.labels_[:15]) & set(fitted.labels_[15:])

    @pytest.mark.filterwarnings("ignore::mdt_fast.OperatorWarning")
    def test_graphs_in_parts(self):
        views, target = separate()
        found = search(mdt.build_operators(views))
        assert_valid(found, 60)
        assert adjusted_rand_score(target, found.labels) == 1.0
        np.testing.assert_array_equal(found.agreement.confidence, 1.0)
        np.testing.assert_allclose(found.score, math.sqrt(math.log(3)), rtol=1e-12)

    @pytest.mark.filterwarnings("ignore::mdt_fast.OperatorWarning")
    @pytest.mark.parametrize("k", [2, 5])
    def test_more_or_fewer_clusters_than_parts(self, k):
        found = search(mdt.build_operators(separate()[0]), k)
        assert_valid(found, 60, k)
        assert np.isfinite(found.score)


REFUSED = [
    ({"n_clusters": None}, ValueError, "strategy: expected n_clusters .* got n_clusters=None"),
    ({"quality": "contrastive"}, ValueError, "strategy: .*quality of labels .* got quality='contrastive'"),
    ({"quality": None}, ValueError, "quality: expected one, because strategy='consensus' compares candidates"),
    ({"quality": "best"}, ValueError, "quality: expected one of .*'persistence'.* got 'best'"),
    ({"n_clusters": 1}, ValueError, "n_clusters: expected an integer >= 2"),
    ({"quality": mdt.Scoring(n_init=0)}, ValueError, "n_init: expected an integer >= 1.* got 0"),
    ({"t": 0}, ValueError, "t: expected an integer >= 1, got 0"),
    ({"max_evaluations": 0}, ValueError, "max_evaluations: expected an integer >= 1, got 0"),
]


@pytest.mark.parametrize(("options", "error", "message"), REFUSED, ids=lambda value: str(value)[:30])
@pytest.mark.parametrize("strategy", ["consensus", "auto"])
def test_refused(strategy, options, error, message):
    with pytest.raises(error, match=message):
        search(operators_of(), **{"strategy": strategy, **options})


def test_a_strategy_without_trajectories():
    with pytest.raises(ValueError, match=r"trajectories: expected an integer >= 1.* got 0"):
        Consensus(trajectories=0)


def test_better_than_its_trajectories():
    over_all, over_kept, kept_over_others = [], [], []
    for seed in range(3):
        # Two views in which clusters overlap, and one of noise.
        blobs = mdt.datasets.make_multiview_blobs(
            300, n_views=3, n_clusters=5, n_features=5, cluster_std=4, noise=[0.1, 0.1, 1.0], random_state=seed
        )
        ops = mdt.build_operators(blobs.views, kernel="adaptive")
        found = search(ops, 5, random_state=seed)
        how = {"quality": mdt.Scoring("persistence", n_init=5), "random_state": seed, "progress": False}
        singles = [mdt.search(ops, 5, strategy=W, **how).labels for W in found.candidates]
        scores = np.array([adjusted_mutual_info_score(blobs.target, labels) for labels in singles])
        ours = adjusted_mutual_info_score(blobs.target, found.labels)
        kept = np.zeros(len(scores), dtype=bool)
        kept[found.agreement.rows] = True
        over_all.append(ours - scores.mean())
        over_kept.append(ours - scores[kept].mean())
        kept_over_others.append(scores[kept].mean() - scores[~kept].mean())
    assert np.min(over_all) > 0.02
    # The gain over the kept ones is small for some seeds.
    assert np.mean(over_kept) > 0.005
    assert np.min(kept_over_others) > 0


def test_consensus_of_a_search():
    ops = mdt.build_operators(mdt.datasets.make_multiview_blobs(240, n_clusters=4, random_state=0).views)
    found = mdt.search(ops, 4, t=3)
    agreed = found.consensus(6)
    assert agreed.trajectory is None
    assert len(agreed.trajectories) == 6
    least = found.history["score"][agreed.agreement.rows].min()
    rest = np.delete(found.history["score"], agreed.agreement.rows)
    assert least >= rest.max()
    assert agreed.score == mdt.quality.information(ops, agreed.labels)
    np.testing.assert_array_equal(agreed.labels, found.consensus(6, n_jobs=1).labels)
    assert len(found.consensus(10**6).trajectories) == found.n_evaluations
    with pytest.raises(ValueError, match="n_trajectories: expected an integer >= 1, got 0"):
        found.consensus(0)
    with pytest.raises(ValueError, match="expected a search that compared candidates"):
        mdt.search(ops, 4, strategy="mean", quality=None, t=2).consensus()
    with pytest.raises(ValueError, match="expected a search for clusters"):
        mdt.search(ops, strategy=Contrastive(steps=2), t=2).consensus()
