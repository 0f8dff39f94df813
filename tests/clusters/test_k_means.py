"""k-means against scikit-learn's, on hard inputs, and with bad ones."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, make_blobs
from sklearn.metrics import adjusted_rand_score

import mdt_fast as mdt

THREADS = [1, 2, 3, 8]


def data(name):
    if name == "blobs":
        return make_blobs(500, n_features=5, centers=8, random_state=0)[0], 8
    if name == "digits":
        return load_digits().data / 16, 10
    # Many small clusters that overlap: the result depends on the seeding.
    return make_blobs(1500, n_features=2, centers=60, cluster_std=0.4, random_state=1)[0], 60


@pytest.mark.parametrize("name", ["blobs", "digits", "many clusters"])
@pytest.mark.parametrize("n_init", [1, 4])
def test_inertia_equals_scikit_learn(name, n_init):
    X, k = data(name)
    ours = [mdt.k_means(X, k, n_init=n_init, random_state=s).inertia for s in range(20)]
    theirs = [KMeans(k, n_init=n_init, random_state=s).fit(X).inertia_ for s in range(20)]
    # One start falls into a poor optimum now and then; the mean of twenty is off by its standard error.
    spread = np.hypot(np.std(ours), np.std(theirs)) / np.sqrt(20)
    assert np.mean(ours) <= 1.01 * np.mean(theirs) + (2 * spread if n_init == 1 else 0)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_result_is_consistent(dtype):
    X, k = data("digits")
    X = X.astype(dtype)
    res = mdt.k_means(X, k, random_state=0)
    assert res.labels.dtype == np.int32
    assert res.labels.shape == (len(X),)
    assert res.centers.shape == (k, X.shape[1])
    assert res.converged
    assert 1 <= res.n_iter <= 300
    squares = ((X[:, None, :].astype(float) - res.centers) ** 2).sum(axis=2)
    np.testing.assert_array_equal(squares.argmin(axis=1), res.labels)
    np.testing.assert_allclose(squares.min(axis=1).sum(), res.inertia, rtol=1e-10)
    # Clusters are numbered by their first sample.
    first = [np.flatnonzero(res.labels == c)[0] for c in range(k)]
    assert first == sorted(first)


def test_well_separated_blobs_are_found():
    X, y = make_blobs(300, centers=5, cluster_std=0.05, random_state=3)
    assert adjusted_rand_score(y, mdt.k_means(X, 5, random_state=0).labels) == 1.0


def test_same_bits_for_any_number_of_threads():
    X, k = data("many clusters")
    for n_init in (1, 10):
        results = [mdt.k_means(X, k, n_init=n_init, random_state=7, n_jobs=n) for n in THREADS]
        assert len({(r.labels.tobytes(), r.centers.tobytes(), r.inertia) for r in results}) == 1


@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e150])
def test_scale_does_not_matter(scale):
    X, k = data("blobs")
    X = X / np.abs(X).max()
    plain, scaled = (mdt.k_means(x, k, random_state=0) for x in (X, X * scale))
    np.testing.assert_array_equal(plain.labels, scaled.labels)
    np.testing.assert_allclose(scaled.centers / scale, plain.centers, rtol=1e-9, atol=1e-12)


def test_offset_does_not_matter():
    X, k = data("blobs")
    plain, moved = (mdt.k_means(x, k, random_state=0) for x in (X, X + 1e6))
    np.testing.assert_array_equal(plain.labels, moved.labels)
    np.testing.assert_allclose(moved.inertia, plain.inertia, rtol=1e-8)


def test_far_clusters_keep_their_structure():
    rng = np.random.default_rng(0)
    y = np.arange(200) % 4
    X = np.column_stack([1e9 * (y // 2), 10.0 * (y % 2)]) + rng.normal(size=(200, 2))
    assert adjusted_rand_score(y, mdt.k_means(X, 4, random_state=0).labels) == 1.0


def test_one_cluster_and_as_many_as_samples(rng):
    X = rng.normal(size=(30, 3))
    one = mdt.k_means(X, 1, random_state=0)
    np.testing.assert_allclose(one.centers[0], X.mean(axis=0), atol=1e-14)
    each = mdt.k_means(X, 30, random_state=0)
    np.testing.assert_array_equal(each.labels, np.arange(30))
    assert each.inertia == 0.0


@given(
    n=st.integers(2, 40), d=st.integers(1, 4), values=st.integers(1, 4), k=st.integers(1, 12), seed=st.integers(0, 99)
)
def test_duplicates(n, d, values, k, seed):
    X = np.random.default_rng(seed).integers(0, values, size=(n, d)).astype(float)
    distinct = len(np.unique(X, axis=0))
    if k > distinct:
        with pytest.raises(ValueError, match=rf"n_clusters: expected at most \d+, the number of .*, got {k}"):
            mdt.k_means(X, k, random_state=seed)
        return
    res = mdt.k_means(X, k, random_state=seed)
    assert set(res.labels) == set(range(k))
    if k == distinct:
        assert res.inertia == 0.0


def test_kinds_of_arrays(rng):
    X = rng.normal(size=(50, 4))
    expected = mdt.k_means(X, 3, random_state=0)
    wide = np.zeros((50, 8))
    wide[:, ::2] = X
    frozen = X.copy()
    frozen.setflags(write=False)
    for given_as in (np.asfortranarray(X), wide[:, ::2], frozen, X.tolist()):
        np.testing.assert_array_equal(mdt.k_means(given_as, 3, random_state=0).labels, expected.labels)


def test_max_iter_is_reached():
    X, k = data("digits")
    res = mdt.k_means(X, k, n_init=1, max_iter=2, random_state=0)
    assert (res.n_iter, res.converged) == (2, False)
    # Labels are still those of the nearest centres.
    squares = ((X[:, None, :] - res.centers) ** 2).sum(axis=2)
    np.testing.assert_array_equal(squares.argmin(axis=1), res.labels)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n_clusters": 0}, "n_clusters: expected an integer >= 1, got 0"),
        ({"n_clusters": 13}, "n_clusters: expected at most 12, the number of samples, got 13"),
        ({"n_clusters": 2.0}, "n_clusters: expected an integer >= 1, got 2.0 of type float"),
        ({"n_init": 0}, "n_init: expected an integer >= 1"),
        ({"max_iter": 0}, "max_iter: expected an integer >= 1"),
        ({"tol": -1.0}, "tol: expected a finite number >= 0, got -1.0"),
        ({"tol": np.nan}, "tol: expected a finite number >= 0, got nan"),
        ({"n_jobs": 0}, "n_jobs: expected a number of threads"),
        ({"X": np.zeros(12)}, r"X: expected a 2-D array \(samples, features\), got 1-D"),
        ({"X": np.zeros((12, 0))}, r"X: expected at least 1 sample and 1 feature, got shape \(12, 0\)"),
        ({"X": np.full((12, 2), np.nan)}, "X: expected finite numbers, got nan at row 0, column 0"),
        ({"X": np.zeros((12, 2))}, "n_clusters: expected at most 1, the number of distinct points, got 3"),
        ({"X": scipy.sparse.csr_array(np.eye(12))}, "X: expected a dense array, got csr_array"),
    ],
)
def test_bad_arguments(rng, change, message):
    arguments = {"X": rng.normal(size=(12, 2)), "n_clusters": 3, "random_state": 0} | change
    with pytest.raises((TypeError, ValueError), match=message):
        mdt.k_means(**arguments)
