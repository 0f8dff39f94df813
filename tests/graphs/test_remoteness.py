"""The remoteness of new samples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from scipy import sparse
from scipy.spatial.distance import cdist

import mdt_fast as mdt
from helpers.hostile import UNSCALED, VIEWS, view_sets
from mdt_fast._graphs.remoteness import REMOTE


def test_equals_distances(rng):
    views, new = ([rng.normal(size=(n, d)) for d in (2, 4)] for n in (40, 9))
    found = mdt.build_operators(views, n_neighbors=5, n_jobs=1).remoteness(new)
    assert found.shape == (9, 2)
    for v in range(2):
        radii = np.sort(cdist(views[v], views[v]), axis=1)[:, 5]
        distances = cdist(new[v], views[v])
        nearest = distances.argmin(axis=1)
        np.testing.assert_allclose(found[:, v], distances.min(axis=1) / radii[nearest], rtol=1e-9)


def test_far_and_near(rng):
    X, Y = rng.normal(size=(500, 3)), rng.normal(size=(500, 2))
    ops = mdt.build_operators([X, Y], n_jobs=1)
    fresh = ops.remoteness([rng.normal(size=(200, 3)), rng.normal(size=(200, 2))])
    assert (fresh.max(axis=1) > REMOTE).mean() < 0.1
    one_view = ops.remoteness([X[:5] + 50, Y[:5]])
    assert (one_view[:, 0] > 10).all()
    np.testing.assert_array_equal(one_view[:, 1], 0.0)


@given(view_sets(kinds=tuple(UNSCALED)))
def test_training_samples(views):
    Xs, n_neighbors = views
    np.testing.assert_array_equal(mdt.build_operators(Xs, n_neighbors=n_neighbors, n_jobs=1).remoteness(Xs), 0.0)


@pytest.mark.parametrize("kind", VIEWS)
def test_unit_of_distance(rng, kind):
    X = VIEWS[kind](rng, 20)
    found = mdt.build_operators([X], n_neighbors=4, n_jobs=1).remoteness([X[:3].astype(float) * 0.75])
    assert np.isfinite(found).all()
    assert (found >= 0).all()


def test_samples_that_coincide(rng):
    """The radius of coinciding samples is 0; that of the others is used."""
    X = np.concatenate([np.zeros((10, 2)), rng.normal(size=(10, 2)) + 5])
    ops = mdt.build_operators([X], n_neighbors=3, kernel="adaptive", n_jobs=1)
    found = ops.remoteness([np.array([[0.0, 0.0], [1e-3, 0.0], [-1e3, 0.0]])])[:, 0]
    assert found[0] == 0
    assert found[1] < 1
    assert found[2] > 100


def test_sparse_views(rng):
    X = sparse.random_array((50, 20), density=0.3, random_state=rng).tocsr()
    dense, sparse_ = (mdt.build_operators([each], n_jobs=1) for each in (X.toarray(), X))
    new = rng.random((4, 20))
    np.testing.assert_allclose(sparse_.remoteness([sparse.csr_array(new)]), dense.remoteness([new]), rtol=1e-6)


@pytest.mark.parametrize("n_jobs", [2, 3])
def test_same_bits_at_any_number_of_threads(rng, n_jobs):
    ops = mdt.build_operators([rng.normal(size=(300, 3))], n_jobs=1)
    new = [rng.normal(size=(50, 3))]
    np.testing.assert_array_equal(ops.remoteness(new, n_jobs=n_jobs), ops.remoteness(new, n_jobs=1))


def test_errors(rng):
    X = rng.normal(size=(20, 3))
    with pytest.raises(ValueError, match=r"view 0.*expected 3 features, as in training, got 2"):
        mdt.build_operators([X], n_jobs=1).remoteness([X[:, :2]])
    with pytest.raises(ValueError, match=r"view 0.*a given matrix or graph, which has no distances"):
        mdt.OperatorSet.from_affinities([np.ones((20, 20))]).remoteness([X])
