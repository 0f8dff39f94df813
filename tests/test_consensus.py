"""Consensus: persistence against dense formulas, agreement against eigenvectors, and the search that needs both."""

from __future__ import annotations

import base64
import copy
import functools
import json
import math
import pickle
import zlib

import numpy as np
import pytest
import scipy.sparse
from mdt_fast._search.result import HISTORY_DTYPE
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score

import mdt_fast as mdt
from mdt_fast import _core
from mdt_fast._clusters.agreement import agree, confidence
from mdt_fast._operators.draw import draw_repeated
from mdt_fast._search import checkpoint as _checkpoint

K = 3
N = 90
COLUMNS = ("parent", "depth", "score")


@functools.cache
def loose(n=N, seed=0, k=K, spread=2.0):
    """Two views of clusters that overlap, and the clusters."""
    rng = np.random.default_rng(seed)
    target = np.arange(n) % k
    return [spread * rng.normal(size=(k, d))[target] + rng.normal(size=(n, d)) for d in (4, 3)], target


@functools.cache
def steps_of(n=N, seed=0, dtype=None, n_neighbors=12):
    """Operators of these views, with so many neighbours that no graph is in parts."""
    return mdt.build_operators(loose(n, seed)[0], n_neighbors=min(n_neighbors, n - 1), dtype=dtype)


@functools.cache
def far(n=60, std=0.01):
    """Three clusters so far apart that each is a part of the graph by itself."""
    blobs = mdt.datasets.make_multiview_blobs(n, n_clusters=K, n_features=3, cluster_std=std, random_state=0)
    return blobs.views, blobs.target


def search(ops, n_clusters=K, **options):
    return mdt.search(ops, n_clusters, **{"strategy": "consensus", "t": 3, "progress": False, **options})


def labels_of(rng, n, k):
    """All of 0 .. k - 1 in random order."""
    return rng.permutation(np.concatenate([np.arange(k), rng.integers(0, k, n - k)]))


def assert_same(first, second, *, but=()):
    """The same bits, save for the seconds that members took."""
    for name in {"score", "best", "strategy", "quality", "t", "stopped", "settings"} - set(but):
        np.testing.assert_equal(getattr(second, name), getattr(first, name), err_msg=name)
    for name in COLUMNS:
        np.testing.assert_array_equal(second.history[name], first.history[name])
    assert len(first.candidates) == len(second.candidates)
    for a, b in zip(first.candidates, second.candidates, strict=True):
        np.testing.assert_array_equal(a, b, strict=True)
    np.testing.assert_array_equal(second.labels, first.labels, strict=True)
    for name in ("rows", "labels", "embedding", "confidence"):
        mine, other = (getattr(found.agreement, name) for found in (first, second))
        np.testing.assert_array_equal(other, mine, strict=True, err_msg=name)
    for a, b in zip(first.members, second.members, strict=True):
        np.testing.assert_array_equal(a.weights, b.weights, strict=True)


def dense_persistence(P, labels):
    """-log((1 - stay) / (1 - chance)) by loops; one step in n leaves where none does."""
    n, stays = len(P), []
    for i in range(n):
        moves = sum(P[i, j] for j in range(n) if j != i)
        if moves > 0:
            stays.append(sum(P[i, j] for j in range(n) if j != i and labels[j] == labels[i]) / moves)
    if not stays:
        return 0.0
    chance = sum((np.sum(labels == c) / n) ** 2 for c in np.unique(labels))
    return -math.log(max((1 - np.mean(stays)) / (1 - chance), 1 / n))


def with_duplicates(rng):
    return np.repeat(rng.normal(size=(20, 3)), 3, axis=0)


# Views, and options of the graph.
VIEWS = {
    "plain": (lambda rng: [rng.normal(size=(60, 3)), rng.normal(size=(60, 2))], {}),
    "duplicates": (lambda rng: [with_duplicates(rng), rng.normal(size=(60, 2))], {"n_neighbors": 5}),
    "float32": (lambda rng: [rng.normal(size=(60, 3)), rng.normal(size=(60, 2))], {"dtype": "float32"}),
    "binary": (lambda rng: [rng.normal(size=(60, 3))], {"kernel": "binary"}),
    "one neighbour": (lambda rng: [rng.normal(size=(60, 3))], {"n_neighbors": 1}),
}


@pytest.mark.filterwarnings("ignore::mdt_fast.OperatorWarning")
class TestPersistence:
    @pytest.mark.parametrize("k", [2, 5, 30, 59])
    @pytest.mark.parametrize(("make", "options"), VIEWS.values(), ids=VIEWS)
    def test_the_formula(self, rng, make, options, k):
        ops = mdt.build_operators(make(rng), **options)
        labels = labels_of(rng, 60, k)
        expected = [dense_persistence(P.toarray().astype(float), labels) for P in ops.views]
        found = mdt.quality.persistence(ops, labels, per_view=True)
        assert isinstance(mdt.quality.persistence(ops, labels), float)
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(mdt.quality.persistence(ops, labels), np.mean(expected), rtol=1e-9, atol=1e-12)

    def test_views_are_weighted(self, rng):
        ops, labels = steps_of(), labels_of(rng, N, 4)
        per_view = mdt.quality.persistence(ops, labels, per_view=True)
        assert per_view[0] != per_view[1]
        for weights in ([3, 1], [0.0, 1.0], [5, 5]):
            found = mdt.quality.persistence(ops, labels, view_weights=weights)
            np.testing.assert_allclose(found, np.average(per_view, weights=weights), rtol=1e-12)

    def test_added_members_are_not_scored(self, rng):
        labels = labels_of(rng, N, 4)
        wider = steps_of().with_identity().with_uniform().with_powers([2])
        assert mdt.quality.persistence(wider, labels) == mdt.quality.persistence(steps_of(), labels)

    def test_names_of_labels_do_not_matter(self, rng):
        ops, labels = steps_of(), labels_of(rng, N, 5)
        expected = mdt.quality.persistence(ops, labels)
        renamed = rng.permutation(5)[labels]
        for other in (renamed, labels * 10 - 7, renamed.astype(str), renamed.astype(float), renamed.tolist()):
            np.testing.assert_allclose(mdt.quality.persistence(ops, other), expected, rtol=1e-12)

    @pytest.mark.parametrize("k", [2, 3, 10])
    def test_labels_that_know_nothing(self, rng, k):
        ops, labels = steps_of(300), labels_of(rng, 300, k)
        found = [mdt.quality.persistence(ops, rng.permutation(labels)) for _ in range(200)]
        # A step that moves goes to one of n - 1, a jump to one of n.
        leaving = np.exp(-np.array(found))
        np.testing.assert_allclose(leaving.mean(), 300 / 299, atol=4 * leaving.std() / math.sqrt(200))
        assert abs(np.mean(found)) < 0.02
        assert mdt.quality.persistence(ops, loose(300)[1]) > 10 * np.abs(found).mean()

    def test_where_no_step_leaves(self):
        views, target = far()
        ops = mdt.build_operators(views)
        np.testing.assert_allclose(mdt.quality.persistence(ops, target, per_view=True), math.log(60), rtol=1e-12)
        # Nobody may be in the same cluster as anybody they can reach.
        alternating = mdt.OperatorSet.from_transitions([scipy.sparse.csr_array(np.eye(6)[[1, 0, 3, 2, 5, 4]])])
        found = mdt.quality.persistence(alternating, [0, 1] * 3)
        np.testing.assert_allclose(found, -math.log(2), rtol=1e-12)

    def test_idle_samples_are_passed_over(self):
        P = np.eye(5)
        P[:3, :3] = [[0.5, 0.3, 0.2], [0.0, 0.0, 1.0], [0.4, 0.4, 0.2]]
        ops = mdt.OperatorSet.from_transitions([scipy.sparse.csr_array(P)])
        labels = np.array([0, 0, 1, 1, 0])
        expected = dense_persistence(P, labels)
        # Stays 0.6, 0 and 0 of those that move.
        np.testing.assert_allclose(expected, -math.log(0.8 / (1 - 0.36 - 0.16)), rtol=1e-12)
        np.testing.assert_allclose(mdt.quality.persistence(ops, labels), expected, rtol=1e-12)
        idle = mdt.OperatorSet.from_transitions([scipy.sparse.eye_array(5, format="csr")])
        assert mdt.quality.persistence(idle, labels) == 0.0

    @pytest.mark.parametrize("labels", [np.zeros(N), np.arange(N)], ids=["one", "each its own"])
    def test_refused(self, labels):
        with pytest.raises(ValueError, match=r"labels: expected between 2 and 89 classes"):
            mdt.quality.persistence(steps_of(), labels)

    @pytest.mark.parametrize("n_jobs", [2, 3])
    def test_same_bits_at_any_number_of_threads(self, rng, n_jobs):
        X, labels = [rng.normal(size=(9000, 2))], labels_of(rng, 9000, 4)
        scores = {mdt.quality.persistence(mdt.build_operators(X, n_neighbors=4, n_jobs=j), labels) for j in (1, n_jobs)}
        assert len(scores) == 1

    @pytest.mark.parametrize("strategy", ["beam", "convex", "mcts", "consensus"])
    @pytest.mark.parametrize("weights", [None, [3, 1]], ids=["equal", "weighted"])
    def test_as_quality_of_a_search(self, strategy, weights):
        ops = steps_of()
        how = {"quality": "persistence", "view_weights": weights, "n_init": 2, "progress": False, "t": 2}
        found = mdt.search(ops, K, strategy=strategy, n_samples=6, n_playouts=6, **how)
        assert found.quality == "persistence"
        for candidate, score in zip(found.candidates, found.history["score"], strict=True):
            labels = mdt.search(ops, K, strategy=candidate, **how).labels
            np.testing.assert_allclose(
                score, mdt.quality.persistence(ops, labels, view_weights=weights), rtol=1e-12, atol=1e-12
            )
        assert found.best == np.argmax(found.history["score"])

    def test_features_are_refused(self):
        with pytest.raises(ValueError, match=r"features: expected None, because quality='persistence'"):
            search(steps_of(), features=loose()[0])


def together(labels):
    """How often two samples are together, as a share."""
    return np.mean([row[:, None] == row[None] for row in labels], axis=0)


def random_labels(rng, members=7, n=50, k=4, noise=0.2):
    """Labellings that mostly agree."""
    base = labels_of(rng, n, k)
    return np.stack([np.where(rng.random(n) < noise, rng.integers(0, k, n), base) for _ in range(members)]), base


def agreed(labels, k, seed=0, n_jobs=1):
    found = agree(np.asarray(labels, dtype=np.int32), k, seed=seed, n_jobs=n_jobs)
    return found.labels, found.embedding, found.confidence


class TestAgreement:
    @pytest.mark.parametrize("n_components", [1, 3, 6])
    @pytest.mark.parametrize("noise", [0.2, 1.0], ids=["similar", "unlike"])
    def test_eigenvectors(self, rng, n_components, noise):
        labels, _ = random_labels(rng, noise=noise)
        vectors, values = _core.consensus(
            labels.astype(np.uint32), n_labels=4, n_components=n_components, seed=0, n_threads=1
        )
        A = together(labels)
        expected, theirs = np.linalg.eigh(A)
        np.testing.assert_allclose(values, expected[::-1][:n_components], rtol=1e-9)
        np.testing.assert_allclose(vectors.T @ vectors, np.eye(n_components), atol=1e-9)
        np.testing.assert_allclose(A @ vectors, vectors * values, atol=1e-6 * values[0])
        kept = theirs[:, ::-1][:, :n_components]
        np.testing.assert_allclose(vectors @ vectors.T, kept @ kept.T, atol=1e-5)

    def test_embedding(self, rng):
        labels, base = random_labels(rng)
        clusters, embedding, _ = agreed(labels, 4)
        assert embedding.shape == (50, 4)
        np.testing.assert_allclose(np.linalg.norm(embedding, axis=1), 1, rtol=1e-12)
        leading = np.linalg.eigh(together(labels))[1][:, -4:]
        leading /= np.linalg.norm(leading, axis=1, keepdims=True)
        np.testing.assert_allclose(embedding @ embedding.T, leading @ leading.T, atol=1e-5)
        assert clusters.dtype == np.int32
        assert adjusted_rand_score(base, clusters) > 0.9

    @pytest.mark.parametrize("k", [2, 5, 20, 39])
    @pytest.mark.parametrize("members", [1, 2, 9])
    def test_members_that_are_one(self, rng, k, members):
        base = labels_of(rng, 40, k)
        renamed = np.stack([rng.permutation(k)[base] for _ in range(members)])
        clusters, _, sure = agreed(renamed, k)
        assert adjusted_rand_score(base, clusters) == 1.0
        np.testing.assert_array_equal(sure, 1.0)
        # Numbered by their first sample.
        assert list(dict.fromkeys(clusters.tolist())) == list(range(k))

    def test_names_of_labels_do_not_matter(self, rng):
        labels, _ = random_labels(rng)
        expected = agreed(labels, 4)
        renamed = labels.copy()
        renamed[2] = np.array([2, 0, 3, 1])[labels[2]]
        renamed[5] = np.array([9, 0, 4, 7])[labels[5]]
        for mine, other in zip(expected, agreed(renamed, 4), strict=True):
            np.testing.assert_array_equal(other, mine, strict=True)

    def test_order_of_members_does_not_matter(self, rng):
        labels, _ = random_labels(rng)
        clusters, _, sure = agreed(labels, 4)
        others, _, their_sure = agreed(labels[::-1], 4)
        np.testing.assert_array_equal(others, clusters)
        np.testing.assert_allclose(their_sure, sure, rtol=1e-12)

    @pytest.mark.parametrize("n_jobs", [2, 3])
    def test_same_bits_at_any_number_of_threads(self, rng, n_jobs):
        labels, _ = random_labels(rng, 8, 20_000, 6)
        for one, other in zip(agreed(labels, 6), agreed(labels, 6, n_jobs=n_jobs), strict=True):
            np.testing.assert_array_equal(one, other, strict=True)

    @pytest.mark.parametrize("k", [2, 4, 9])
    def test_confidence_is_counted(self, rng, k):
        labels, clusters = rng.integers(0, k, (5, 30)), labels_of(rng, 30, 4)
        expected = np.empty(30)
        for i in range(30):
            mates = [j for j in range(30) if clusters[j] == clusters[i]]
            expected[i] = np.mean([np.mean([row[j] == row[i] for j in mates]) for row in labels])
        np.testing.assert_allclose(confidence(labels, clusters), expected, rtol=1e-12)
        assert expected.min() > 0

    def test_confidence_of_one_that_wavers(self):
        labels = np.array([[0, 0, 0, 0, 1, 1, 1, 1], [0, 0, 0, 1, 1, 1, 1, 1]])
        sure = confidence(labels, labels[0])
        np.testing.assert_allclose(sure, [0.875] * 3 + [(1 + 1 / 4) / 2] + [1.0] * 4)


def twin(ops, found, n_clusters=K):
    """The consensus put together from single trajectories."""
    how = {key: found.settings[key] for key in ("n_init", "n_components", "tol", "random_state", "quality")}
    single = [mdt.search(ops, n_clusters, strategy=W, progress=False, **how) for W in found.candidates]
    scores = np.array([each.score for each in single])
    n_kept = math.ceil(len(scores) / 2)
    rows = sorted(sorted(range(len(scores)), key=lambda i: (-scores[i], i))[:n_kept])
    labels = np.stack([single[row].labels for row in rows])
    return scores, rows, agreed(labels, n_clusters, seed=how["random_state"])


def assert_valid(found, n, n_clusters=K):
    """What holds of every consensus."""
    assert found.trajectory is None
    assert found.strategy == "consensus"
    assert found.n_evaluations == len(found.candidates) == len(found.history)
    assert found.history.dtype == HISTORY_DTYPE
    assert (found.history["parent"] == -1).all()
    assert found.history["depth"].tolist() == [len(c) for c in found.candidates]
    assert np.isfinite(found.history["score"]).all()
    assert found.best == np.argmax(found.history["score"])
    rows = found.agreement.rows
    assert len(rows) == len(found.members) == math.ceil(found.n_evaluations / 2)
    assert (np.diff(rows) > 0).all()
    assert found.best in rows
    left = np.setdiff1d(np.arange(found.n_evaluations), rows)
    assert not len(left) or found.history["score"][left].max() <= found.history["score"][rows].min()
    for row, member in zip(rows, found.members, strict=True):
        np.testing.assert_allclose(member.weights, found.candidates[row], rtol=1e-12)
        assert member.operators is found.operators
    assert found.labels.shape == (n,)
    assert found.labels.dtype == np.int32
    np.testing.assert_array_equal(found.labels, found.agreement.labels)
    assert set(found.labels.tolist()) <= set(range(n_clusters))
    assert found.agreement.embedding.shape[0] == n
    assert np.isfinite(found.agreement.embedding).all()
    assert found.agreement.confidence.shape == (n,)
    assert (found.agreement.confidence > 0).all()
    assert (found.agreement.confidence <= 1).all()


class TestSearch:
    @pytest.mark.parametrize("quality", ["auto", "calinski_harabasz", "davies_bouldin", "silhouette"])
    @pytest.mark.parametrize("n_samples", [5, 20])
    def test_it_is_put_together_from_single_trajectories(self, quality, n_samples):
        ops = steps_of()
        found = search(ops, quality=quality, n_samples=n_samples, random_state=4)
        assert_valid(found, N)
        scores, rows, (labels, embedding, sure) = twin(ops, found)
        np.testing.assert_array_equal(found.history["score"], scores)
        assert found.agreement.rows.tolist() == rows
        np.testing.assert_array_equal(found.labels, labels)
        np.testing.assert_array_equal(found.agreement.embedding, embedding)
        np.testing.assert_array_equal(found.agreement.confidence, sure)
        name = "persistence" if quality == "auto" else quality
        sign = -1 if name == "davies_bouldin" else 1
        assert found.score == sign * getattr(mdt.quality, name)(ops, labels)

    def test_defaults(self):
        found = search(steps_of(), t=2)
        assert_valid(found, N)
        assert found.quality == found.settings["quality"] == "persistence"
        assert (found.settings["n_samples"], found.settings["n_init"], found.t) == (64, 5, 2)
        assert found.n_evaluations in (32, 64)
        assert found.stopped is None
        assert found.converged is None
        assert f"{len(found.members)} members, {found.n_evaluations} evaluations" in repr(found)

    def test_auto_is_its_other_name(self):
        assert_same(search(steps_of(), n_samples=6), search(steps_of(), n_samples=6, strategy="auto"))

    def test_automatic_time(self):
        ops = steps_of()
        found = search(ops, t="auto", n_samples=40)
        assert found.t == mdt.select_time(ops).t
        assert found.history["depth"].max() <= found.t

    @pytest.mark.parametrize("n_samples", [1, 2, 3, 16, 17])
    def test_the_better_half_is_kept(self, n_samples):
        found = search(steps_of(), n_samples=n_samples)
        assert_valid(found, N)
        assert found.n_evaluations == n_samples
        assert len(found.members) == (n_samples + 1) // 2

    @pytest.mark.parametrize("n_samples", [1, 4, 9])
    def test_the_first_of_equals_are_kept(self, n_samples):
        found = search(steps_of(), n_samples=n_samples, quality=lambda ops, labels, coordinates: 1.0)
        assert found.agreement.rows.tolist() == list(range((n_samples + 1) // 2))
        assert found.best == 0
        assert found.score == 1.0

    def test_a_function_judges(self):
        seen = []

        def evenness(ops, labels, coordinates):
            seen.append((labels.shape, coordinates.shape))
            return -np.bincount(labels).std()

        found = search(steps_of(), n_samples=8, quality=evenness)
        assert_valid(found, N)
        assert found.quality.endswith("evenness")
        assert found.score == -np.bincount(found.labels).std()
        assert set(seen) == {((N,), (N, K))}
        assert len(seen) == 9

    def test_members_have_one_weight_for_each_view(self):
        found = search(steps_of().with_identity(), n_samples=30, t=4)
        assert set(found.history["depth"]) == {1, 2, 3, 4}
        for weights in found.candidates:
            assert (weights == weights[0]).all()
            assert (weights > 0).all()
            np.testing.assert_allclose(weights.sum(axis=1), 1, rtol=1e-12)

    def test_draws_are_uniform(self):
        ops = steps_of().with_identity()
        drawn = draw_repeated(ops, 4, 3000, np.random.default_rng(0))
        counts = np.bincount([len(weights) for weights in drawn], minlength=5)[1:]
        assert abs(counts - 750).max() < 5 * math.sqrt(750)
        first = np.array([weights[0] for weights in drawn])
        np.testing.assert_allclose(first.mean(axis=0), 1 / 3, atol=0.025)
        # On the simplex of three corners a weight w is exceeded with probability (1 - w)^2.
        np.testing.assert_allclose((first > 0.5).mean(axis=0), 0.25, atol=0.04)

    def test_more_members_begin_with_the_same(self):
        few, many = (search(steps_of(), n_samples=n) for n in (7, 20))
        np.testing.assert_array_equal(many.history["score"][:7], few.history["score"])
        for a, b in zip(few.candidates, many.candidates, strict=False):
            np.testing.assert_array_equal(a, b)

    @pytest.mark.filterwarnings("ignore::mdt_fast.OperatorWarning")
    def test_it_stops_when_more_do_not_matter(self):
        assert search(mdt.build_operators(far()[0])).n_evaluations == 32
        noise = mdt.build_operators(list(np.random.default_rng(0).normal(size=(2, 60, 8))), n_neighbors=10)
        assert search(noise, 6).n_evaluations == 64
        assert search(noise, 6, n_samples=40).n_evaluations == 40

    @pytest.mark.parametrize("n_jobs", [2, 3])
    @pytest.mark.parametrize("dtype", ["float64", "float32"])
    def test_same_bits_at_any_number_of_threads(self, n_jobs, dtype):
        ops = steps_of(300, dtype=dtype)
        assert_same(search(ops, n_samples=20, n_jobs=1), search(ops, n_samples=20, n_jobs=n_jobs))

    def test_seeds(self):
        ops = steps_of()
        found = [search(ops, n_samples=12, random_state=seed) for seed in (0, 0, 1)]
        assert_same(found[0], found[1])
        assert found[0].settings["random_state"] != found[2].settings["random_state"]
        assert all(not np.array_equal(a, b) for a, b in zip(found[0].candidates, found[2].candidates, strict=True))
        generators = [search(ops, n_samples=6, random_state=np.random.default_rng(3)) for _ in range(2)]
        assert_same(*generators)

    def test_single_precision(self):
        found = search(steps_of(dtype="float32"), n_samples=9)
        assert_valid(found, N)
        assert adjusted_rand_score(found.labels, search(steps_of(dtype="float64"), n_samples=9).labels) > 0.9

    @pytest.mark.parametrize("weights", [[3, 1], [1, 0]], ids=str)
    def test_view_weights(self, weights):
        ops = steps_of()
        found, plain = search(ops, n_samples=9, view_weights=weights), search(ops, n_samples=9)
        assert_valid(found, N)
        assert found.score == mdt.quality.persistence(ops, found.labels, view_weights=weights)
        # They choose among the same members.
        for mine, other in zip(found.candidates, plain.candidates, strict=True):
            np.testing.assert_array_equal(mine, other)
        assert (found.history["score"] != plain.history["score"]).all()

    def test_features(self):
        ops, views = steps_of(), loose()[0]
        found = search(ops, n_samples=6, quality="silhouette", features=views)
        assert found.score == mdt.quality.silhouette(ops, found.labels, features=views)

    def test_to_frame(self):
        found = search(steps_of(), n_samples=6)
        frame = found.to_frame()
        np.testing.assert_array_equal(frame["score"], found.history["score"])
        assert set(frame["trajectory"]) == {"weights"}

    def test_no_tree(self):
        pytest.importorskip("matplotlib")
        with pytest.raises(ValueError, match=r"expected words, which a tree needs.*'consensus'"):
            search(steps_of(), n_samples=2).plot_tree()


class TestHardInput:
    def test_one_step(self):
        found = search(steps_of(), t=1, n_samples=8)
        assert_valid(found, N)
        assert set(found.history["depth"]) == {1}

    @pytest.mark.parametrize("t", [1, 3])
    def test_one_view(self, t):
        found = search(mdt.build_operators(loose()[0][:1], n_neighbors=12), t=t)
        assert_valid(found, N)
        assert set(found.history["depth"]) == set(range(1, t + 1))
        assert found.stopped is None

    @pytest.mark.parametrize("t", [1, 3])
    def test_each_trajectory_counts_once(self, t):
        # Of one view there is a single one of each length.
        found = search(mdt.build_operators(loose()[0][:1], n_neighbors=12), t=t)
        assert sorted(found.history["depth"].tolist()) == list(range(1, t + 1))

    @pytest.mark.parametrize("names", [["identity"], ["uniform"], ["teleport"], ["identity", "uniform", "teleport"]])
    def test_other_members(self, names):
        ops = steps_of()
        for name in names:
            ops = getattr(ops, f"with_{name}")()
        found = search(ops, n_samples=12)
        assert_valid(found, N)
        assert found.members[0].weights.shape[1] == len(ops)

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
            search(steps_of(), N)

    @pytest.mark.filterwarnings("ignore::mdt_fast.OperatorWarning")
    @pytest.mark.parametrize("kernel", ["gaussian", "adaptive"])
    @pytest.mark.parametrize("copies", [2, 12])
    def test_duplicates(self, rng, kernel, copies):
        views = [np.repeat(rng.normal(size=(8, d)), copies, axis=0) for d in (2, 3)]
        found = search(mdt.build_operators(views, kernel=kernel), 4)
        assert_valid(found, 8 * copies, 4)
        assert np.isfinite(found.score)

    @pytest.mark.filterwarnings("ignore::mdt_fast.OperatorWarning")
    @pytest.mark.parametrize("kernel", ["gaussian", "adaptive"])
    def test_fewer_places_than_clusters(self, kernel):
        views = [np.repeat([[0.0, 0.0], [1.0, 1.0]], 15, axis=0)] * 2
        fitted = mdt.MDTClustering(4, kernel=kernel).fit(views)
        assert_valid(fitted.search_result_, 30, 4)
        assert np.isfinite(fitted.cluster_centers_).all()
        # Whatever cut them, no cluster is in both places.
        assert not set(fitted.labels_[:15]) & set(fitted.labels_[15:])

    @pytest.mark.filterwarnings("ignore::mdt_fast.OperatorWarning")
    def test_graphs_in_parts(self):
        views, target = far()
        found = search(mdt.build_operators(views))
        assert_valid(found, 60)
        assert adjusted_rand_score(target, found.labels) == 1.0
        np.testing.assert_array_equal(found.agreement.confidence, 1.0)
        np.testing.assert_allclose(found.score, math.log(60), rtol=1e-12)

    @pytest.mark.filterwarnings("ignore::mdt_fast.OperatorWarning")
    @pytest.mark.parametrize("k", [2, 5])
    def test_other_numbers_of_clusters_than_parts(self, k):
        found = search(mdt.build_operators(far()[0]), k)
        assert_valid(found, 60, k)
        assert np.isfinite(found.score)


class TestLimits:
    @pytest.mark.parametrize("count", [1, 2, 7, 16, 20, 33])
    def test_evaluations(self, count):
        noise = mdt.build_operators(list(np.random.default_rng(0).normal(size=(2, 60, 8))), n_neighbors=10)
        found = search(noise, 6, max_evaluations=count)
        assert_valid(found, 60, 6)
        assert (found.n_evaluations, found.stopped) == (count, "max_evaluations")
        assert_same(search(noise, 6, n_samples=count), found, but=("stopped", "settings"))

    def test_a_limit_that_is_not_reached(self):
        found = search(steps_of(), n_samples=9, max_evaluations=9)
        assert found.stopped is None
        assert_same(search(steps_of(), n_samples=9), found)

    @pytest.mark.parametrize("seconds", [0, 1e-9])
    def test_no_time(self, seconds):
        found = search(steps_of(), time_limit=seconds)
        assert_valid(found, N)
        assert found.stopped == "time_limit"
        assert 1 <= found.n_evaluations < 32

    def test_enough_time(self):
        assert_same(search(steps_of(), n_samples=9, time_limit=600), search(steps_of(), n_samples=9))

    def test_progress(self):
        seen = []
        found = search(steps_of(), n_samples=20, progress=seen.append)
        assert seen[-1].n_evaluations == found.n_evaluations == 20
        assert {state.n_total for state in seen} == {20}
        assert seen[-1].best_score == found.history["score"].max()


class Counted:
    """A quality that counts its calls."""

    n_calls = 0

    def __call__(self, ops, labels, coordinates):
        self.n_calls += 1
        return mdt.quality.persistence(ops, labels)


class BrokenError(Exception):
    pass


class TestCheckpoint:
    @pytest.mark.parametrize("count", [1, 7, 16, 18])
    def test_goes_on_after_a_limit(self, tmp_path, count):
        path, ops = tmp_path / "known.json", steps_of()
        plain = search(ops, n_samples=20)
        cut = search(ops, n_samples=20, checkpoint=path, max_evaluations=count)
        assert (cut.n_evaluations, cut.stopped) == (count, "max_evaluations")
        whole = search(ops, n_samples=20, checkpoint=path)
        assert_same(plain, whole)
        # Nothing takes the same time twice.
        np.testing.assert_array_equal(whole.history["seconds"][:count], cut.history["seconds"])
        assert_same(whole, search(ops, n_samples=20, checkpoint=path))

    @pytest.mark.parametrize("count", [1, 5, 17])
    def test_goes_on_after_an_error(self, tmp_path, count):
        path, ops, quality = tmp_path / "known.json", steps_of(), Counted()

        def fail(state):
            if state.n_evaluations >= count:
                raise BrokenError

        with pytest.raises(BrokenError):
            search(ops, n_samples=20, quality=quality, checkpoint=path, progress=fail)
        n_known = len(json.loads(path.read_text())["evaluations"])
        assert n_known >= count
        quality.n_calls = 0
        whole = search(ops, n_samples=20, quality=quality, checkpoint=path)
        # Once more for the labels of the consensus.
        assert quality.n_calls == 20 - n_known + 1
        assert_same(search(ops, n_samples=20, quality=quality), whole)

    def test_labels_are_read_back(self, tmp_path):
        """What the file says of the members is taken, whatever they would give now."""
        path, ops, target = tmp_path / "known.json", steps_of(), loose()[1]
        assert adjusted_rand_score(search(ops, n_samples=9, checkpoint=path).labels, target) < 1
        content = json.loads(path.read_text())
        assert len(content["evaluations"]) == 9
        packed = base64.b64encode(zlib.compress(target.astype(np.uint8).tobytes())).decode()
        for entry in content["evaluations"]:
            assert entry["labels"][0] == N
            entry["labels"][1] = packed
        del content["digest"]
        path.write_text(json.dumps({**content, "digest": _checkpoint._digest(content)}))
        found = search(ops, n_samples=9, checkpoint=path)
        np.testing.assert_array_equal(found.labels, target)
        np.testing.assert_array_equal(found.agreement.confidence, 1.0)

    def test_many_labels(self, tmp_path):
        """More than a byte can tell apart."""
        views = list(np.random.default_rng(0).normal(size=(2, 320, 3)))
        ops, path = mdt.build_operators(views, n_neighbors=20), tmp_path / "known.json"
        how = {"t": 1, "n_samples": 3, "n_components": 10, "n_init": 1}
        plain = search(ops, 300, **how)
        search(ops, 300, **how, checkpoint=path, max_evaluations=2)
        assert_same(plain, search(ops, 300, **how, checkpoint=path))

    @pytest.mark.parametrize(
        ("changed", "message"),
        [
            ({"random_state": 1}, "random_state=1, got one with random_state=0"),
            ({"n_samples": 10}, "n_samples=10, got one with n_samples=9"),
            ({"n_init": 4}, "n_init=4, got one with n_init=5"),
            ({"quality": "silhouette"}, "quality='silhouette', got one with quality='persistence'"),
            ({"strategy": "convex", "n_init": 5, "quality": "persistence"}, "strategy='convex'"),
        ],
    )
    def test_another_search_is_refused(self, tmp_path, changed, message):
        path = tmp_path / "known.json"
        search(steps_of(), n_samples=9, checkpoint=path, max_evaluations=2)
        before = path.read_bytes()
        with pytest.raises(ValueError, match=f"checkpoint: expected one with {message}"):
            search(steps_of(), **{"n_samples": 9, "checkpoint": path, **changed})
        with pytest.raises(ValueError, match="checkpoint: expected one of the same data"):
            search(steps_of(seed=1), n_samples=9, checkpoint=path)
        assert path.read_bytes() == before

    def test_a_damaged_file_is_refused(self, tmp_path):
        path = tmp_path / "known.json"
        search(steps_of(), n_samples=3, checkpoint=path)
        content = json.loads(path.read_text())
        content["evaluations"][0]["labels"][1] = content["evaluations"][1]["labels"][1][::-1]
        path.write_text(json.dumps(content))
        with pytest.raises(ValueError, match="checkpoint: expected a checkpoint of mdt_fast, got a damaged"):
            search(steps_of(), n_samples=3, checkpoint=path)


def change(*keys, to):
    def apply(d):
        for key in keys[:-1]:
            d = d[key]
        d[keys[-1]] = to

    return apply


def remove(*keys):
    def apply(d):
        for key in keys[:-1]:
            d = d[key]
        del d[keys[-1]]

    return apply


DAMAGED = [
    (change("agreement", to=[1]), r"agreement: expected a dict, got \[1\]"),
    (change("agreement", to={}), "agreement: expected rows, embedding and confidence, got no rows, embedding, conf"),
    (remove("agreement", "confidence"), "agreement: expected .* got no confidence"),
    (remove("agreement", "rows"), "agreement: expected .* got no rows"),
    (change("labels", to=None), "labels: expected those of the consensus, got None"),
    (change("labels", to=[0]), "labels: expected 90 values, got 1"),
    (change("agreement", "rows", to=3), r"agreement\['rows'\]: expected a list, got 3"),
    (change("agreement", "rows", to=[]), r"agreement\['rows'\]: expected at least one member, got none"),
    (change("agreement", "rows", 0, to=5), r"agreement\['rows'\]: expected an integer from 0 to 4, got 5"),
    (change("agreement", "rows", 0, to=-1), r"agreement\['rows'\]: expected an integer from 0 to 4, got -1"),
    (change("agreement", "rows", 0, to=True), r"agreement\['rows'\]: expected an integer .* got True"),
    (change("agreement", "rows", 0, to="0"), r"agreement\['rows'\]: expected an integer .* got '0'"),
    (change("agreement", "embedding", to=None), r"agreement\['embedding'\]: expected .*None"),
    (change("agreement", "embedding", to=[[1.0]]), r"agreement\['embedding'\]: expected .*90"),
    (change("agreement", "embedding", to=[1.0] * N), r"agreement\['embedding'\]: expected finite numbers for each"),
    (change("agreement", "embedding", 3, to=[1.0]), r"agreement\['embedding'\]: expected finite numbers for each"),
    (change("agreement", "embedding", 3, 0, to="x"), r"agreement\['embedding'\]: expected finite numbers for each"),
    (change("agreement", "embedding", 3, 0, to=math.inf), r"agreement\['embedding'\]: expected finite numbers"),
    (change("agreement", "confidence", to=[1.0]), r"agreement\['confidence'\]: expected .*90"),
    (change("agreement", "confidence", 3, to=None), r"agreement\['confidence'\]: expected finite numbers"),
    (change("agreement", "confidence", 3, to=[1.0]), r"agreement\['confidence'\]: expected finite numbers"),
    (change("candidates", 0, to=[[0.5, 0.6]]), r"candidates\[0\]: .*"),
]


@pytest.fixture(scope="module")
def saved():
    return search(steps_of(), n_samples=5)


class TestResult:
    def test_through_json(self, saved):
        text = json.dumps(saved.to_dict(), allow_nan=False)
        back = mdt.SearchResult.from_dict(json.loads(text), steps_of())
        assert_same(saved, back)
        assert_valid(back, N)
        assert back.to_dict() == saved.to_dict()

    @pytest.mark.parametrize("options", [{}, {"max_evaluations": 3}, {"quality": "davies_bouldin"}], ids=str)
    def test_through_a_file(self, tmp_path, options):
        found = search(steps_of(), n_samples=4, **options)
        found.save(tmp_path / "result.json")
        assert_same(found, mdt.SearchResult.load(tmp_path / "result.json", steps_of()))

    def test_plain_values(self, saved):
        d = saved.to_dict()
        assert d["trajectory"] is None
        assert d["agreement"].keys() == {"rows", "embedding", "confidence"}
        assert d["agreement"]["rows"] == saved.agreement.rows.tolist()
        assert d["labels"] == saved.labels.tolist()
        np.testing.assert_array_equal(d["agreement"]["embedding"], saved.agreement.embedding)

    @pytest.mark.parametrize(("damage", "message"), DAMAGED)
    def test_damaged(self, saved, damage, message):
        d = copy.deepcopy(saved.to_dict())
        damage(d)
        with pytest.raises(ValueError, match=message):
            mdt.SearchResult.from_dict(d, steps_of())

    @pytest.mark.parametrize(
        "copied", [lambda r: pickle.loads(pickle.dumps(r)), copy.deepcopy, copy.copy], ids=["pickle", "deep", "shallow"]
    )
    def test_copies(self, saved, copied):
        other = copied(saved)
        assert_same(saved, other)
        assert_valid(other, N)


REFUSED = [
    ({"n_clusters": None}, ValueError, "strategy: expected n_clusters .* got n_clusters=None"),
    ({"quality": "contrastive"}, ValueError, "strategy: .*quality of labels .* got quality='contrastive'"),
    ({"quality": None}, ValueError, "quality: expected one, because strategy='consensus' compares candidates"),
    ({"quality": "best"}, ValueError, "quality: expected one of .*'persistence'.* got 'best'"),
    ({"n_clusters": 1}, ValueError, "n_clusters: expected an integer >= 2"),
    ({"n_samples": 0}, ValueError, "n_samples: expected an integer >= 1.* got 0"),
    ({"n_init": 0}, ValueError, "n_init: expected an integer >= 1.* got 0"),
    ({"t": 0}, ValueError, "t: expected an integer >= 1, got 0"),
    ({"answer": "last"}, ValueError, "answer: expected 'any' with strategy='consensus', got 'last'"),
    ({"max_evaluations": 0}, ValueError, "max_evaluations: expected an integer >= 1, got 0"),
]


@pytest.mark.parametrize(("options", "error", "message"), REFUSED, ids=lambda value: str(value)[:30])
@pytest.mark.parametrize("strategy", ["consensus", "auto"])
def test_refused(strategy, options, error, message):
    with pytest.raises(error, match=message):
        search(steps_of(), **{"strategy": strategy, **options})


@pytest.mark.parametrize("seed", range(2))
def test_better_than_its_members(seed):
    # Two views in which clusters overlap, and one of noise.
    blobs = mdt.datasets.make_multiview_blobs(
        300, n_views=3, n_clusters=5, n_features=5, cluster_std=4, noise=[0.1, 0.1, 1.0], random_state=seed
    )
    ops = mdt.build_operators(blobs.views, kernel="adaptive")
    found = search(ops, 5, random_state=seed)
    how = {"quality": "persistence", "n_init": 5, "random_state": seed, "progress": False}
    singles = [mdt.search(ops, 5, strategy=W, **how).labels for W in found.candidates]
    scores = [adjusted_mutual_info_score(blobs.target, labels) for labels in singles]
    ours = adjusted_mutual_info_score(blobs.target, found.labels)
    assert ours > np.mean(scores) + 0.02
    assert ours > np.mean([scores[row] for row in found.agreement.rows])
    # And the members that were kept are better than those that were not.
    kept = np.zeros(len(scores), dtype=bool)
    kept[found.agreement.rows] = True
    assert np.mean(np.array(scores)[kept]) > np.mean(np.array(scores)[~kept])


def blobs_of(seed=0, n=300, **options):
    return mdt.datasets.make_multiview_blobs(
        n, **{"n_clusters": 4, "n_features": 6, "cluster_std": 2.0, "random_state": seed, **options}
    )


def same_operators(first, second):
    return all((P != Q).nnz == 0 for P, Q in zip(first.views, second.views, strict=True))


@pytest.mark.filterwarnings("ignore::mdt_fast.OperatorWarning")
class TestClustering:
    def test_it_is_the_search(self):
        views = loose()[0]
        fitted = mdt.MDTClustering(K, t=3, random_state=5).fit(views)
        ops = mdt.build_operators(views, kernel="adaptive")
        found = search(ops, random_state=5)
        assert_same(found, fitted.search_result_)
        np.testing.assert_array_equal(fitted.labels_, found.labels, strict=True)
        np.testing.assert_array_equal(fitted.confidence_, found.agreement.confidence)
        np.testing.assert_array_equal(fitted.embedding_, found.agreement.embedding)
        assert (fitted.score_, fitted.t_, fitted.trajectory_) == (found.score, 3, None)
        np.testing.assert_array_equal(fitted.search_history_["score"], found.history["score"])
        assert fitted.cluster_centers_.shape == (K, K)
        means = [fitted.embedding_[fitted.labels_ == c].mean(axis=0) for c in range(K)]
        np.testing.assert_allclose(fitted.cluster_centers_, means, atol=1e-12)
        assert not hasattr(fitted, "geometry_")
        assert not hasattr(fitted, "singular_values_")

    def test_options_reach_the_search(self):
        views = loose()[0]
        how = {"t": 2, "quality": "silhouette", "n_components": 5, "view_weights": [2, 1], "max_evaluations": 7}
        fitted = mdt.MDTClustering(K, **how, search_options={"n_samples": 9, "n_init": 2}).fit(views)
        found = search(mdt.build_operators(views, kernel="adaptive"), n_samples=9, n_init=2, **how)
        assert_same(found, fitted.search_result_)
        assert fitted.search_result_.stopped == "max_evaluations"

    @pytest.mark.parametrize("n_jobs", [2, 3])
    def test_same_bits_at_any_number_of_threads(self, n_jobs):
        one, other = (mdt.MDTClustering(K, t=2, n_jobs=j).fit(loose(300)[0]) for j in (1, n_jobs))
        assert_same(one.search_result_, other.search_result_)
        new = loose(40, seed=1)[0]
        np.testing.assert_array_equal(one.predict(new), other.predict(new))

    @pytest.mark.parametrize(
        ("parameters", "build"),
        [
            ({}, {"kernel": "adaptive"}),
            ({"strategy": "consensus"}, {"kernel": "adaptive"}),
            ({"strategy": "beam"}, {"kernel": "gaussian"}),
            ({"strategy": [0, 1]}, {"kernel": "gaussian"}),
            ({"kernel": "gaussian"}, {"kernel": "gaussian"}),
            ({"kernel": ["adaptive", "binary"]}, {"kernel": ["adaptive", "binary"]}),
            ({"preset": "published"}, {"kernel": "gaussian", "preset": "published"}),
        ],
        ids=str,
    )
    def test_kernels(self, parameters, build):
        views = loose()[0]
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
        # Those that go elsewhere are those of which the members are less sure.
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
        views = loose()[0]
        fitted = mdt.MDTClustering(1, t=2).fit(views)
        assert (fitted.search_result_.strategy, fitted.search_result_.quality) == ("mean", "contrastive")
        assert not fitted.labels_.any()
        assert not fitted.predict([X[:5] for X in views]).any()

    @pytest.mark.parametrize("copied", [lambda e: pickle.loads(pickle.dumps(e)), copy.deepcopy])
    def test_copies(self, copied):
        fitted = mdt.MDTClustering(K, t=2).fit(loose()[0])
        other, new = copied(fitted), loose(40, seed=1)[0]
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
            mdt.MDTClustering(**{"n_clusters": K, "t": 1, **parameters}).fit(loose()[0])

    @pytest.mark.parametrize("strategies", [("auto", "beam"), ("beam", "auto"), ("auto", "mean")])
    def test_refitting_forgets(self, strategies):
        views = loose()[0]
        first, second = strategies
        fitted = mdt.MDTClustering(K, t=1, strategy=first).fit(views).set_params(strategy=second).fit(views)
        fresh = mdt.MDTClustering(K, t=1, strategy=second).fit(views)
        assert vars(fitted).keys() == vars(fresh).keys()

    @pytest.mark.parametrize("strategy", ["consensus", "auto"])
    @pytest.mark.parametrize("n_clusters", [None, K])
    def test_coordinates_need_a_trajectory(self, strategy, n_clusters):
        with pytest.raises(ValueError, match=rf"strategy: .*single trajectory, got '{strategy}'.*MDTClustering"):
            mdt.MDT(strategy=strategy, n_clusters=n_clusters).fit(loose()[0])


@pytest.mark.real_data
@pytest.mark.filterwarnings("ignore::mdt_fast.OperatorWarning")
@pytest.mark.parametrize(("name", "expected"), [("msrc", 0.76), ("multi_feat", 0.873)])
def test_real_data(name, expected):
    try:
        bunch = getattr(mdt.datasets, f"fetch_{name}")()
    except FileNotFoundError as missing:
        pytest.skip(f"{name} is not at hand: {missing}")
    fitted = mdt.MDTClustering(len(np.unique(bunch.target)), random_state=0).fit(bunch.views)
    assert adjusted_mutual_info_score(bunch.target, fitted.labels_) >= expected - 0.02
