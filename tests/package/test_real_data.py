"""The data sets of the paper: neighbours against scikit-learn, operators against the published recipe."""

from __future__ import annotations

import functools

import numpy as np
import pytest
import scipy.sparse
from sklearn.neighbors import NearestNeighbors

import mdt_fast as mdt
from helpers import oracle

pytestmark = pytest.mark.real_data

DATASETS = [
    "msrc",
    "leaves",
    "multi_feat",
    "olivetti",
    "yale",
    "caltech7",
    "l_isolet",
    "k_mvmnist",
    "l_mvmnist",
    "citeseq_pbmc",
    "snareseq_cellmix",
]
N_NEIGHBORS = 10
MAX_ROWS = 2000  # of the MNIST sets
MAX_FLOPS = 1e9  # of a full distance matrix: leaves all rows of the narrow views, and hundreds of the wide ones


@functools.cache
def load(name, prepared):
    """All views of the data set, or a few thousand rows of them."""
    try:
        bunch = getattr(mdt.datasets, f"fetch_{name}")(prepared=prepared)
    except FileNotFoundError as missing:
        pytest.skip(f"{name} is missing: {missing}")
    return [X[:MAX_ROWS] for X in bunch.views]


@pytest.fixture(params=[True, False], ids=["prepared", "raw"])
def views(request, name):
    return load(name, request.param)


def as_dense(X):
    return np.asarray(X.toarray() if scipy.sparse.issparse(X) else X, dtype=np.float64)


def sklearn_neighbors(X, n_neighbors):
    """Neighbours by scikit-learn, with distances recomputed from the rows.

    Its brute search takes |x|^2 + |y|^2 - 2 x.y, which loses digits of small distances and may swap points
    that are almost equally far; so ten more are searched, and the exact distances decide.
    """
    n_asked = min(n_neighbors + 10, len(X) - 1)
    indices = NearestNeighbors(n_neighbors=n_asked, algorithm="brute").fit(X).kneighbors(return_distance=False)
    distances = np.array([np.linalg.norm(X[row] - X[i], axis=1) for i, row in enumerate(indices)])
    order = np.argsort(distances, axis=1, kind="stable")
    return np.take_along_axis(indices, order, axis=1), np.take_along_axis(distances, order, axis=1)


@pytest.mark.parametrize("name", DATASETS)
def test_neighbours_equal_scikit_learn(views):
    for X in views:
        indices, distances = mdt.nearest_neighbors(X, N_NEIGHBORS)
        their_indices, their_distances = sklearn_neighbors(as_dense(X), N_NEIGHBORS)
        np.testing.assert_allclose(distances, their_distances[:, :N_NEIGHBORS], rtol=1e-9)
        kth, following = their_distances[:, N_NEIGHBORS - 1], their_distances[:, N_NEIGHBORS]
        decided = following - kth > 1e-9 * following
        np.testing.assert_array_equal(
            np.sort(indices[decided], axis=1), np.sort(their_indices[decided, :N_NEIGHBORS], axis=1)
        )


@pytest.mark.parametrize("name", DATASETS)
def test_operators_equal_the_published_recipe(views):
    for X in views:
        n_rows = min(X.shape[0], int(np.sqrt(MAX_FLOPS / X.shape[1])))
        X = X[:n_rows]
        distances = oracle.pairwise_distances(X)
        k = oracle.log_n_neighbors(n_rows, "published")
        nearest = oracle.knn(distances, k + 1)[1]
        tied = nearest[:, k] - nearest[:, k - 1] <= 1e-9 * nearest[:, k]
        # A tied row may choose any of the points at its K-th distance, and symmetrising passes its choice on.
        reachable = distances <= nearest[:, [k - 1]] * (1 + 1e-9)
        clean = ~tied & ~reachable[tied].any(axis=0)
        K = oracle.affinity(X, preset="published")
        P = mdt.build_operators([X], preset="published", dtype="float64").views[0].toarray()
        np.testing.assert_allclose(P[clean], oracle.transition(K)[clean], rtol=0, atol=1e-12)
        # The diagonal of K is 1, so P_ij / P_ii gives the affinities back.
        np.testing.assert_allclose(P[clean] / np.diag(P)[clean, None], K[clean], rtol=0, atol=1e-12)


def test_ties_leave_enough_rows_to_compare():
    """Check that the test above compares rows, and not only ties."""
    for X in load("msrc", True):
        distances = np.sort(oracle.pairwise_distances(X), axis=1)
        k = oracle.log_n_neighbors(len(X), "published")
        assert (distances[:, k + 1] - distances[:, k] > 1e-9 * distances[:, k + 1]).mean() > 0.9


@pytest.mark.parametrize("preset", [None, "published"])
@pytest.mark.parametrize("name", DATASETS)
def test_products_are_stochastic(views, preset):
    ops = mdt.build_operators(views, preset=preset, dtype="float64")
    report = ops.check(warn=False)
    assert all(record.stochastic and record.positive_diagonal for record in report.members)
    W = ops.trajectory([step % len(ops) for step in range(2 * len(ops))])
    np.testing.assert_allclose(W @ np.ones(ops.n_samples), 1.0, rtol=0, atol=1e-12)


def test_multi_feat_mor_has_ties_at_k():
    """A view with ties: neighbours are ordered by (distance, index)."""
    bunch = mdt.datasets.fetch_multi_feat(prepared=False)
    X = bunch.views[list(bunch.view_names).index("mor")]
    indices, found = mdt.nearest_neighbors(X, N_NEIGHBORS)
    _, expected = oracle.knn(oracle.pairwise_distances(X), N_NEIGHBORS)
    np.testing.assert_allclose(found, expected, rtol=1e-12)
    # Within a run of equal distances the smaller index comes first.
    equal = found[:, 1:] == found[:, :-1]
    assert equal.any()
    assert (indices[:, 1:] > indices[:, :-1])[equal].all()
