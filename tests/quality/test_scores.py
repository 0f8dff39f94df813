"""Scores against scikit-learn's on dense copies, on hard inputs, and with bad ones."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from scipy.spatial.distance import cdist
from sklearn.metrics import calinski_harabasz_score, davies_bouldin_score, silhouette_score

import mdt_fast as mdt
from helpers.data import labels_of

THREADS = [1, 2, 3, 8]
N_SAMPLES = 60


def exact_silhouette(X, labels):
    # scikit-learn's own distances lose half the digits of near points.
    return silhouette_score(cdist(X, X), labels, metric="precomputed")


def exact_davies_bouldin(X, labels):
    """The same definition on exact distances: scikit-learn finds a lone point 1e-8 away from itself."""
    classes = np.unique(labels)
    means = np.array([X[labels == c].mean(axis=0) for c in classes])
    widths = np.array([cdist(X[labels == c], means[[i]]).mean() for i, c in enumerate(classes)])
    distances = cdist(means, means)
    if np.allclose(widths, 0) or np.allclose(distances, 0):
        return 0.0
    distances[distances == 0] = np.inf
    score = np.max((widths[:, None] + widths) / distances, axis=1).mean()
    np.testing.assert_allclose(score, davies_bouldin_score(X, labels), rtol=1e-6)
    return score


SCORES = {
    "calinski_harabasz": calinski_harabasz_score,
    "davies_bouldin": exact_davies_bouldin,
    "silhouette": exact_silhouette,
}
scores = pytest.mark.parametrize("name", SCORES)


def score_of(X, labels, name, **options):
    """The score of one view's features."""
    ops = mdt.OperatorSet.from_transitions([scipy.sparse.eye_array(len(labels), format="csr")])
    return getattr(mdt.quality, name)(ops, labels, features=[X], **options)


@pytest.fixture
def ops(rng):
    latent = rng.normal(size=(N_SAMPLES, 3))
    return mdt.build_operators([latent, latent[:, :2] + rng.normal(size=(N_SAMPLES, 2))])


@scores
@pytest.mark.parametrize("k", [2, 5, N_SAMPLES - 1])
def test_rows_of_the_walks(ops, rng, name, k):
    labels = labels_of(rng, N_SAMPLES, k)
    expected = [SCORES[name](P.toarray(), labels) for P in ops.views]
    score = getattr(mdt.quality, name)
    np.testing.assert_allclose(score(ops, labels, per_view=True), expected, rtol=1e-9)
    np.testing.assert_allclose(score(ops, labels), np.mean(expected), rtol=1e-9)
    weighted = score(ops, labels, view_weights=[3, 1])
    np.testing.assert_allclose(weighted, np.average(expected, weights=[3, 1]), rtol=1e-9)


@scores
def test_added_members_are_not_scored(ops, rng, name):
    labels = labels_of(rng, N_SAMPLES, 4)
    score = getattr(mdt.quality, name)
    assert score(ops.with_identity().with_uniform(), labels) == score(ops, labels)


@scores
@pytest.mark.parametrize("k", [2, 7, N_SAMPLES - 1])
@pytest.mark.parametrize(
    ("X", "rtol"),
    [
        (lambda rng: rng.normal(size=(N_SAMPLES, 5)), 1e-9),
        (lambda rng: rng.normal(size=(N_SAMPLES, 1)), 1e-9),
        (lambda rng: rng.normal(size=(N_SAMPLES, 100)), 1e-9),
        (lambda rng: rng.integers(0, 3, size=(N_SAMPLES, 2)).astype(float), 1e-9),
        (lambda rng: rng.integers(0, 9, size=(N_SAMPLES, 2)), 1e-9),
    ],
    ids=["plain", "one feature", "wide", "duplicates", "integers"],
)
@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_features(rng, name, k, X, rtol, form):
    X, labels = X(rng), labels_of(rng, N_SAMPLES, k)
    expected = SCORES[name](X.astype(float), labels)
    given = scipy.sparse.csr_array(X) if form == "sparse" else X
    np.testing.assert_allclose(score_of(given, labels, name), expected, rtol=rtol, atol=1e-9)


@scores
@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_float32(rng, name, form):
    X, labels = rng.normal(size=(N_SAMPLES, 4)).astype(np.float32), labels_of(rng, N_SAMPLES, 4)
    given = scipy.sparse.csr_array(X) if form == "sparse" else X
    np.testing.assert_allclose(score_of(given, labels, name), SCORES[name](X.astype(float), labels), rtol=1e-9)


@scores
def test_float32_walks(rng, name):
    ops = mdt.build_operators([rng.normal(size=(N_SAMPLES, 3))], dtype="float32")
    labels = labels_of(rng, N_SAMPLES, 4)
    expected = SCORES[name](ops.views[0].toarray().astype(float), labels)
    np.testing.assert_allclose(getattr(mdt.quality, name)(ops, labels), expected, rtol=1e-9)


@scores
def test_huge_offset(rng, name):
    X, labels = rng.normal(size=(N_SAMPLES, 4)), labels_of(rng, N_SAMPLES, 4)
    # The offset itself rounds the data.
    moved = X + 1e6
    np.testing.assert_allclose(score_of(moved, labels, name), SCORES[name](moved - 1e6, labels), rtol=1e-9)


@scores
@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e150, 1e300])
def test_scale_does_not_matter(rng, name, scale, form):
    X, labels = rng.normal(size=(N_SAMPLES, 4)), labels_of(rng, N_SAMPLES, 4)
    given = scipy.sparse.csr_array(X * scale) if form == "sparse" else X * scale
    np.testing.assert_allclose(score_of(given, labels, name), SCORES[name](X, labels), rtol=1e-9)


@scores
@pytest.mark.parametrize("form", ["dense", "sparse"])
def test_clusters_of_single_points(name, form):
    X = np.repeat(np.eye(3), 4, axis=0)
    labels = np.repeat([0, 1, 2], 4)
    given = scipy.sparse.csr_array(X) if form == "sparse" else X
    assert score_of(given, labels, name) == pytest.approx(SCORES[name](X, labels), abs=1e-12)


@scores
def test_label_values_do_not_matter(ops, rng, name):
    labels = labels_of(rng, N_SAMPLES, 3)
    score = getattr(mdt.quality, name)
    expected = score(ops, labels)
    for other in (
        labels * 10 - 7,
        labels.astype(float),
        labels.astype(np.uint8),
        np.array(["a", "bb", "c"])[labels],
        np.array(["a", "bb", "c"], dtype=object)[labels],
        labels.tolist(),
    ):
        assert score(ops, other) == expected


@scores
def test_same_bits_for_any_number_of_threads(name):
    rng = np.random.default_rng(2)
    n = 4000
    Xs = [rng.normal(size=(n, 40)), rng.normal(size=(n, 3))]
    labels = labels_of(rng, n, 6)
    results = set()
    for n_jobs in THREADS:
        ops = mdt.build_operators(Xs, n_jobs=n_jobs)
        score = getattr(mdt.quality, name)
        results.add((score(ops, labels), score(ops, labels, features=Xs)))
    assert len(results) == 1


def test_full_sample_equals_no_sample(ops, rng):
    labels = labels_of(rng, N_SAMPLES, 6)
    whole = mdt.quality.silhouette(ops, labels, sample_size=N_SAMPLES, random_state=0)
    assert whole == mdt.quality.silhouette(ops, labels)


def test_generator_is_used_only_for_a_sample(ops, rng):
    labels = labels_of(rng, N_SAMPLES, 6)
    generator = np.random.default_rng(0)
    mdt.quality.silhouette(ops, labels, random_state=generator)
    assert generator.integers(2**40) == np.random.default_rng(0).integers(2**40)


def test_a_view_of_weight_zero_is_ignored(ops, rng):
    labels = labels_of(rng, N_SAMPLES, 3)
    one, two = mdt.quality.calinski_harabasz(ops, labels, per_view=True)
    assert mdt.quality.calinski_harabasz(ops, labels, view_weights=[0, 5]) == two
    huge = mdt.quality.calinski_harabasz(ops, labels, view_weights=[1e308, 1e308])
    np.testing.assert_allclose(huge, (one + two) / 2, rtol=1e-12)


GOOD = np.arange(N_SAMPLES) % 3


@scores
@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (GOOD[:-1], r"labels: expected shape \(60,\), one label for each sample, got \(59,\)"),
        (GOOD[:, None], r"labels: expected shape \(60,\).*got \(60, 1\)"),
        (np.zeros(N_SAMPLES), r"labels: expected between 2 and 59 classes \(fewer than samples\), got 1"),
        (np.arange(N_SAMPLES), "labels: expected between 2 and 59 classes .*, got 60"),
        (np.where(GOOD == 0, np.nan, GOOD), "labels: expected integers or strings, got nan at sample 0"),
        (GOOD + 0.5, "labels: expected integers or strings, got 0.5 at sample 0"),
        (GOOD.astype(complex), "labels: expected integers or strings, got dtype complex128"),
        (np.array([None, *GOOD[1:]], dtype=object), "labels: expected integers or strings, got None at sample 0"),
        (np.array(["a", *GOOD[1:]], dtype=object), "labels: expected all integers or all strings, got both"),
    ],
)
def test_bad_labels(ops, name, labels, message):
    with pytest.raises((TypeError, ValueError), match=message):
        getattr(mdt.quality, name)(ops, labels)


@scores
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"view_weights": [1]}, r"view_weights: expected shape \(2,\), one for each base view, got \(1,\)"),
        ({"view_weights": [1, -1]}, r"view_weights: expected finite numbers >= 0, got \[1.0, -1.0\]"),
        ({"view_weights": [1, np.inf]}, "view_weights: expected finite numbers >= 0"),
        ({"view_weights": [0, 0]}, "view_weights: expected at least one positive number, got only zeros"),
        ({"view_weights": "ab"}, "view_weights: expected 2 numbers, got 'ab'"),
        ({"features": np.zeros((N_SAMPLES, 2))}, "features: expected a list, tuple or dict .*, got ndarray"),
        ({"features": [np.zeros((N_SAMPLES, 2))]}, "features: expected 2 views, one for each base view, got 1"),
        ({"features": [np.zeros((9, 2))] * 2}, r"features\[0\]: expected 60 samples .*, got shape \(9, 2\)"),
        ({"features": [np.full((N_SAMPLES, 2), np.inf)] * 2}, r"features\[0\]: expected finite numbers, got inf"),
        ({"per_view": 1}, "per_view: expected True or False, got 1"),
    ],
)
def test_bad_options(ops, name, options, message):
    with pytest.raises((TypeError, ValueError), match=message):
        getattr(mdt.quality, name)(ops, GOOD, **options)


@pytest.mark.parametrize("size", [0, 2, N_SAMPLES + 1, 5.0])
def test_bad_sample_size(ops, size):
    with pytest.raises((TypeError, ValueError), match="sample_size: expected an integer >= 3 and <= 60, got"):
        mdt.quality.silhouette(ops, GOOD, sample_size=size)


def test_sample_of_one_class(ops):
    labels = np.zeros(N_SAMPLES)
    labels[0] = 1
    with pytest.raises(ValueError, match="sample_size: expected a sample with between 2 and 2 classes, got 1 among 3"):
        mdt.quality.silhouette(ops, labels, sample_size=3, random_state=0)


@scores
def test_not_an_operator_set(name):
    with pytest.raises(TypeError, match="ops: expected an OperatorSet, got list"):
        getattr(mdt.quality, name)([np.eye(3)], [0, 1, 1])
