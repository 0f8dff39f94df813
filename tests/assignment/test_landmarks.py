"""Fits on landmarks."""

from __future__ import annotations

import pickle
import time
import tracemalloc

import numpy as np
import pytest
from sklearn.metrics import adjusted_mutual_info_score

import mdt_fast as mdt
from helpers.landmarks import LANDMARKS, MODELS, N
from helpers.sources import STORES, blocks_of
from mdt_fast._assignment.landmarks import choose_landmarks
from mdt_fast._sources.views import ViewSources
from mdt_fast._support.monitor import Monitor

ARRAYS = ("labels_", "embedding_", "confidence_")


def arrays_of(model):
    return {name: getattr(model, name) for name in ARRAYS if hasattr(model, name)}


def chosen(views, n, choice="uniform", seed=0):
    found = choose_landmarks(ViewSources.of(views), n, choice, np.random.default_rng(seed), Monitor(False))
    assert len(np.unique(found)) == n
    assert (np.diff(found) > 0).all()
    return found


@pytest.mark.parametrize("kind", MODELS)
def test_landmarks_keep_the_fit_and_others_are_new_samples(kind, fitted, planted):
    model, (views, _) = fitted[kind], planted
    assert len(model.landmark_indices_) == LANDMARKS
    alone = MODELS[kind]().fit([view[model.landmark_indices_] for view in views])
    others = np.setdiff1d(np.arange(N), model.landmark_indices_)
    rest = [view[others] for view in views]
    assert model.embedding_.shape == (N, alone.embedding_.shape[1])
    assert model.embedding_.dtype == np.float32
    np.testing.assert_array_equal(model.embedding_[model.landmark_indices_], alone.embedding_)
    np.testing.assert_array_equal(model.embedding_[others], alone.geometry_.transform(rest))
    if kind != "coordinates":
        np.testing.assert_array_equal(model.labels_[model.landmark_indices_], alone.labels_)
        np.testing.assert_array_equal(model.labels_[others], alone.predict(rest))
        # The estimator is that of the landmarks.
        np.testing.assert_array_equal(model.predict(rest), alone.predict(rest))
        np.testing.assert_array_equal(model.labels_[others], model.predict(rest))
        assert model.confidence_.shape == (N,)
        assert ((model.confidence_ >= 0) & (model.confidence_ <= 1)).all()
    if kind in ("consensus", "communities"):
        np.testing.assert_array_equal(model.confidence_[model.landmark_indices_], alone.confidence_)
        np.testing.assert_array_equal(model.memberships(rest), alone.memberships(rest))
    copied = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copied.embedding_, model.embedding_)
    np.testing.assert_array_equal(copied.transform(rest) if kind == "coordinates" else copied.predict(rest),
                                  model.transform(rest) if kind == "coordinates" else model.predict(rest))  # fmt: skip


@pytest.mark.parametrize("kind", ["consensus", "k-means", "communities"])
def test_landmarks_find_the_clusters(kind, fitted, planted):
    assert adjusted_mutual_info_score(planted[1], fitted[kind].labels_) > 0.9


def test_confidence_is_that_of_the_walk(model, planted):
    """The definition, sample by sample."""
    views, _ = planted
    landmarks = model.landmark_indices_
    labels, confidence, ops = model.labels_[landmarks], model.confidence_[landmarks], model.operators_
    walks = [P.toarray().astype(np.float64) for P in ops.views]
    for P in walks:
        np.fill_diagonal(P, 0)
        P /= P.sum(axis=1, keepdims=True)
    same = labels[:, np.newaxis] == labels

    def stay(P, moves):
        probability = np.ones(len(P))
        for _ in range(moves):
            probability = (P * same) @ probability
        return probability

    support = np.max([stay(P, 3) for P in walks], axis=0)
    agreement = np.divide(confidence**2, support, out=np.zeros(LANDMARKS), where=support > 0)
    weights = np.mean([W.weights.mean(axis=0) for W in model.search_result_.trajectories], axis=0)
    others = np.setdiff1d(np.arange(N), landmarks)[:50]
    rows = [P.toarray().astype(np.float64) for P in ops.new_rows([view[others] for view in views])]
    for place, sample in enumerate(others):
        inside = labels == model.labels_[sample]
        first = sum(w * P[place] for w, P in zip(weights, rows, strict=True)) * inside
        a = (first @ agreement) / first.sum()
        s = max((P[place] * inside) @ stay(walk, 2) for P, walk in zip(rows, walks, strict=True))
        assert model.confidence_[sample] == pytest.approx(np.sqrt(a * s), rel=1e-4)


def test_confidence_is_lower_for_wrong_labels():
    noisy = mdt.datasets.make_multiview_blobs(1500, n_features=5, n_clusters=4, cluster_std=5.0, random_state=1)
    found = mdt.MDTClustering(4, t=3, landmarks=500).fit(noisy.views)
    others = np.setdiff1d(np.arange(1500), found.landmark_indices_)
    majority = np.array([np.bincount(noisy.target[found.labels_ == c]).argmax() for c in range(4)])
    wrong = majority[found.labels_[others]] != noisy.target[others]
    assert 20 < wrong.sum() < 400
    assert found.confidence_[others][wrong].mean() < found.confidence_[others][~wrong].mean() - 0.1


@pytest.mark.parametrize("store", STORES)
def test_every_store_gives_the_same_fit(store, model, planted, tmp_path):
    folders = [tmp_path / name for name in "ab"]
    for folder in folders:
        folder.mkdir()
    views = [STORES[store](X, folder) for X, folder in zip(planted[0], folders, strict=True)]
    found = MODELS["consensus"](landmarks=LANDMARKS).fit(views)
    np.testing.assert_array_equal(found.landmark_indices_, model.landmark_indices_)
    for name, values in arrays_of(found).items():
        assert type(values) is np.ndarray
        np.testing.assert_array_equal(values, getattr(model, name))


@pytest.mark.parametrize("jobs", [1, 2])
def test_threads_do_not_change_a_bit(jobs, model, planted):
    found = MODELS["consensus"](landmarks=LANDMARKS, n_jobs=jobs).fit(planted[0])
    for name, values in arrays_of(found).items():
        np.testing.assert_array_equal(values, getattr(model, name))


def test_a_dict_and_one_matrix(planted, tmp_path):
    views, _ = planted
    named = mdt.MDT(2, strategy="mean", t=2, landmarks=200).fit({"a": views[0], "b": blocks_of(views[1], tmp_path)})
    assert named.view_names_ == ["a", "b"]
    bare = mdt.MDT(2, strategy="mean", t=2, landmarks=200, view_slices=[(0, 5), (5, 10)]).fit(np.hstack(views))
    np.testing.assert_array_equal(bare.embedding_, named.embedding_)
    lists = mdt.MDT(2, strategy="mean", t=2, landmarks=200).fit(views[0].astype(np.float64).tolist())
    assert lists.n_views_in_ == 1


def test_labels_of_all_samples_are_kept(planted):
    pd = pytest.importorskip("pandas")
    names = [f"s{i}" for i in range(N)]
    frames = [pd.DataFrame(view, index=names, columns=list("abcde")) for view in planted[0]]
    found = mdt.MDT(2, strategy="mean", t=2, landmarks=200).fit(frames)
    assert found.sample_names_.tolist() == names
    with pytest.raises(ValueError, match="expected the columns of fit in their order, got 'e'"):
        found.assign([frame[list("edcba")] for frame in frames])


def test_samples_that_views_lack(planted):
    views = [view.copy() for view in planted[0]]
    views[0][::7] = np.nan
    views[1][1::7] = np.nan
    found = mdt.MDTClustering(4, t=3, landmarks=LANDMARKS).fit(views)
    assert adjusted_mutual_info_score(planted[1], found.labels_) > 0.9


def test_more_landmarks_than_samples_fit_all(planted):
    whole = MODELS["consensus"]().fit(planted[0])
    found = MODELS["consensus"](landmarks=10 * N).fit(planted[0])
    np.testing.assert_array_equal(found.landmark_indices_, np.arange(N))
    for name, values in arrays_of(whole).items():
        np.testing.assert_array_equal(getattr(found, name), values)


def test_a_later_fit_without_landmarks_forgets_them(planted):
    found = MODELS["k-means"](landmarks=100).fit(planted[0])
    found.set_params(landmarks=None).fit(planted[0])
    assert not hasattr(found, "landmark_indices_")
    assert not hasattr(found, "confidence_")
    found.predict(planted[0])


class TestChoice:
    @pytest.mark.parametrize("choice", ["uniform", "spread", "density"])
    def test_choice_depends_on_the_seed_only(self, choice, planted, tmp_path):
        views, _ = planted
        first = chosen(views, 100, choice)
        streams = []
        for name, X in zip("ab", views, strict=True):
            (tmp_path / name).mkdir()
            streams.append(blocks_of(X, tmp_path / name))
        counted = ViewSources.of(streams).counted(11)
        again = choose_landmarks(counted, 100, choice, np.random.default_rng(0), Monitor(False))
        np.testing.assert_array_equal(first, again)
        assert (first != chosen(views, 100, choice, seed=1)).any()

    def test_uniform_draws_are_even(self):
        X = np.zeros((50, 1))
        counts = np.bincount(np.concatenate([chosen(X, 10, seed=seed) for seed in range(2000)]), minlength=50)
        # Each row is drawn 400 times on average, with a standard deviation of 17.9.
        assert np.abs(counts - 400).max() < 4.5 * 17.9

    def test_large_draws_over_several_blocks(self):
        found = chosen(np.zeros((100_000, 1), dtype=np.float32), 40_000)
        assert abs(found.mean() - 50_000) < 1000

    @pytest.mark.parametrize("choice", ["spread", "density"])
    def test_a_sparse_region_has_more_than_its_share(self, choice, rng):
        X = np.concatenate([rng.normal(size=(9900, 3)), 60 + 8 * rng.normal(size=(100, 3))])
        share = np.mean([(chosen(X, 500, choice, seed) >= 9900).mean() for seed in range(3)])
        assert share > 0.02

    @pytest.mark.parametrize("choice", ["spread", "density"])
    def test_rows_without_distances(self, choice):
        assert len(chosen([np.ones((300, 2)), np.full((300, 1), 5.0)], 50, choice)) == 50


class TestArguments:
    @pytest.mark.parametrize(("how", "error"), [
        ({"landmarks": 1}, "landmarks: expected an integer >= 2, got 1"),
        ({"landmarks": 50, "landmark_choice": "first"}, "landmark_choice: expected one of 'uniform', 'spread'"),
    ])  # fmt: skip
    def test_values(self, how, error, planted):
        with pytest.raises(ValueError, match=error):
            mdt.MDT(2, **how).fit(planted[0])

    def test_an_operator_set_has_all_samples(self, planted):
        with pytest.raises(ValueError, match="landmarks: expected None for an OperatorSet"):
            mdt.MDT(2, landmarks=50).fit(mdt.build_operators(planted[0]))

    @pytest.mark.parametrize("name", ["present", "batches"])
    def test_arguments_for_all_samples(self, name, planted):
        with pytest.raises(ValueError, match=f"{name}: expected None with landmarks"):
            mdt.MDT(2, landmarks=50).fit(planted[0], **{name: np.ones((N, 2), dtype=bool)})

    def test_frames_are_not_aligned(self, planted):
        with pytest.raises(ValueError, match="align: expected None with landmarks"):
            mdt.MDT(2, landmarks=50, align="outer").fit(planted[0])

    def test_an_iterator_is_read_once(self, planted):
        with pytest.raises(ValueError, match="X: expected rows that can be read more than once"):
            mdt.MDT(2, landmarks=50).fit(iter([planted[0][0]]))

    def test_nan_is_named_by_its_row(self, planted):
        views = [view.copy() for view in planted[0]]
        views[1][701, 3] = np.nan
        with pytest.raises(ValueError, match=r"X \(view 1\): expected finite numbers, got nan at row 701 \(block 0\)"):
            mdt.MDT(2, landmarks=50).fit(views)


def test_progress_names_the_stages(planted):
    seen = []
    mdt.MDT(2, strategy="mean", t=2, landmarks=100, verbose=lambda now: seen.append(now.stage)).fit(planted[0])
    stages = list(dict.fromkeys(seen))
    assert stages[0] == "landmarks"
    assert stages[-1] == "assignment"


def test_time_limit_leaves_time_for_the_assignment(planted):
    began = time.monotonic()
    found = mdt.MDTClustering(4, landmarks=600, time_limit=2.0).fit(planted[0])
    assert time.monotonic() - began < 4
    assert found.labels_.shape == (N,)


def test_memory_is_that_of_a_block():
    """An iterator of rows that are made when they are read."""
    n, d, size = 400_000, 20, 10_000

    def read():
        for block in range(n // size):
            yield np.random.default_rng(block).normal(size=(size, d)).astype(np.float32)

    model = mdt.MDT(2, strategy="mean", t=2, landmarks=200, n_neighbors=5)
    tracemalloc.start()
    found = model.fit(read)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found.embedding_.shape == (n, 2)
    # All rows take 32 MB in single and 64 MB in double precision; a block of 32,768 rows 5.2 MB in double precision.
    assert peak < 30e6
