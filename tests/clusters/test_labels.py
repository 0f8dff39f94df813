"""The final labels: the best of several starts by the quality on the views."""

import numpy as np
import pytest

import mdt_fast as mdt
from mdt_fast._clusters.labels import choose_labels


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
