"""The final labels: the best of several starts by the quality on the views."""

import time

import numpy as np
import pytest

import mdt_fast as mdt
from mdt_fast._clusters.labels import choose_labels, score_labels
from mdt_fast._support.monitor import Monitor


@pytest.fixture(scope="module")
def problem():
    digits = mdt.datasets.load_multiview_digits(kind="features")
    ops = mdt.build_operators([X[:400] for X in digits.views])
    return ops, mdt.embed(ops.mean(), 10).coordinates


QUALITIES = {
    "calinski_harabasz": mdt.quality.calinski_harabasz,
    "davies_bouldin": lambda *given: -mdt.quality.davies_bouldin(*given),
    "silhouette": mdt.quality.silhouette,
    "persistence": mdt.quality.persistence,
    "auto": mdt.quality.calinski_harabasz,
    None: mdt.quality.calinski_harabasz,
    "contrastive": mdt.quality.calinski_harabasz,
}


@pytest.mark.parametrize("quality", QUALITIES)
def test_more_starts_are_no_worse(problem, quality):
    ops, coordinates = problem
    found = [choose_labels(ops, coordinates, 10, n_init=n, quality=quality, random_state=3) for n in (1, 2, 5, 10)]
    first = mdt.k_means(coordinates, 10, n_init=1, random_state=3).labels
    np.testing.assert_array_equal(found[0].labels, first)
    scores = [each.score for each in found]
    assert scores == sorted(scores)
    assert scores[-1] > scores[0]
    for each in found:
        assert each.score == QUALITIES[quality](ops, each.labels)
        distances = ((coordinates[:, None] - each.centers[None]) ** 2).sum(axis=-1)
        np.testing.assert_array_equal(distances.argmin(axis=1), each.labels)


def test_callable_quality(problem):
    ops, coordinates = problem

    def evenness(given, labels, X):
        assert given is ops
        np.testing.assert_array_equal(X, coordinates)
        return -np.bincount(labels).std()

    found = choose_labels(ops, coordinates, 10, n_init=8, quality=evenness)
    assert found.score == -np.bincount(found.labels).std()
    others = [choose_labels(ops, coordinates, 10, n_init=1, quality=evenness, random_state=s).score for s in range(4)]
    assert len(set(others)) > 1


def test_view_weights(problem):
    ops, coordinates = problem
    found = choose_labels(ops, coordinates, 10, n_init=3, view_weights=[1, 0, 0])
    assert found.score == mdt.quality.calinski_harabasz(ops, found.labels, per_view=True)[0]


def test_one_cluster_has_no_score(problem):
    ops, coordinates = problem
    found = choose_labels(ops, coordinates, 1, n_init=2)
    assert np.isnan(found.score)
    assert not found.labels.any()


def one_by_one(ops, coordinates, n_clusters, n_init, seed, **how):
    """The definition: k-means and a score for each start, and the first of the best."""
    seeds = [seed, *np.random.default_rng(seed).integers(2**63, size=n_init - 1).tolist()]
    found = [mdt.k_means(coordinates, n_clusters, n_init=1, random_state=each) for each in seeds]
    scores = [score_labels(ops, each.labels, coordinates, **how) for each in found]
    best = int(np.argmax(scores))
    return found[best], scores[best]


@pytest.mark.parametrize("quality", [*QUALITIES, "information"])
@pytest.mark.parametrize("n_jobs", [1, 2, 3])
def test_starts_one_by_one(problem, quality, n_jobs):
    ops, coordinates = problem
    how = {"quality": quality, "view_weights": [0.2, 0.5, 0.3]}
    found = choose_labels(ops, coordinates, 10, n_init=7, random_state=5, n_jobs=n_jobs, **how)
    expected, score = one_by_one(ops, coordinates, 10, 7, 5, **how)
    np.testing.assert_array_equal(found.labels, expected.labels)
    np.testing.assert_array_equal(found.centers, expected.centers)
    assert found.score == score


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_starts_on_features_and_reordered_samples(dtype):
    """More samples than are reordered for the cache."""
    data = mdt.datasets.make_multiview_blobs(17_000, n_features=4, n_clusters=5, cluster_std=4, random_state=0)
    ops = mdt.build_operators(data.views, dtype=dtype)
    coordinates = mdt.embed(ops.mean(), 5).coordinates
    for how in ({"quality": "calinski_harabasz"}, {"quality": "davies_bouldin", "features": data.views}):
        found = choose_labels(ops, coordinates, 5, n_init=3, random_state=1, **how)
        expected, score = one_by_one(ops, coordinates, 5, 3, 1, **how)
        np.testing.assert_array_equal(found.labels, expected.labels)
        assert found.score == pytest.approx(score, rel=1e-12)


def test_starts_with_samples_that_views_lack(problem):
    full, coordinates = problem
    present = np.random.default_rng(0).random((400, full.n_views)) > 0.2
    present[~present.any(axis=1)] = True
    digits = mdt.datasets.load_multiview_digits(kind="features")
    ops = mdt.build_operators([X[:400] for X in digits.views], present=present)
    found = choose_labels(ops, coordinates, 10, n_init=5, random_state=2)
    expected, score = one_by_one(ops, coordinates, 10, 5, 2, quality="calinski_harabasz")
    np.testing.assert_array_equal(found.labels, expected.labels)
    assert found.score == pytest.approx(score, rel=1e-12)


def test_a_quality_that_is_no_number(problem):
    ops, coordinates = problem
    for value in (np.nan, "good"):
        with pytest.raises(ValueError, match=r"quality: expected a finite number for the trajectory of the answer"):
            choose_labels(ops, coordinates, 10, n_init=2, quality=lambda *_, value=value: value)


def test_no_start_after_the_limit(problem):
    ops, coordinates = problem
    calls = []

    def slow(given, labels, X):
        time.sleep(0.3)
        calls.append(labels)
        return float(len(calls))

    monitor = Monitor(False, 0.1)
    choose_labels(ops, coordinates, 10, n_init=9, quality=slow, n_jobs=1, progress=monitor)
    assert len(calls) == 1
