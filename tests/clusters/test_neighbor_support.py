"""The probability that a walk stays in the cluster of its start, against dense matrices."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import mdt_fast as mdt
from mdt_fast import _core
from mdt_fast._clusters.confidence import MOVES, neighbor_support
from mdt_fast._support.csr import to_parts


def densely(P, clusters, moves):
    """Multiply with the moves to other samples of the cluster, divided by those to all other samples."""
    others = P.toarray() * (1 - np.eye(P.shape[0]))
    inside = others * (clusters[:, None] == clusters)
    leaving = others.sum(axis=1)
    stays = np.ones(len(clusters))
    for _ in range(moves):
        stays = np.divide(inside @ stays, leaving, out=np.zeros(len(clusters)), where=leaving > 0)
    return stays


@pytest.mark.parametrize("moves", [1, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_support_of_a_matrix(rng, moves, dtype):
    n = 60
    P = sparse.random_array((n, n), density=0.1, random_state=rng, format="csr", dtype=dtype)
    # Samples that only reach themselves, and samples that reach nothing.
    P = P.tolil()
    P[:3] = 0
    P[0, 0] = 1
    clusters = rng.integers(0, 3, n)
    P = sparse.csr_array(P)
    rows = to_parts(P, dtype)
    found = _core.neighbor_support(rows, clusters.astype(np.uint32), moves=moves, n_threads=1)
    np.testing.assert_allclose(found, densely(P, clusters, moves), rtol=1e-6 if dtype == np.float32 else 1e-12)
    assert not found[:3].any()
    assert ((found >= 0) & (found <= 1)).all()


@pytest.mark.parametrize("lacking", [0, 5])
def test_support_is_that_of_the_best_view(rng, lacking):
    views = mdt.datasets.make_multiview_blobs(80, n_clusters=3, random_state=0).views
    views[1][:lacking] = np.nan
    ops = mdt.build_operators(views)
    clusters = rng.integers(5, 8, 80).astype(np.int32)
    expected = np.max([densely(P, clusters, MOVES) for P in ops.views], axis=0)
    np.testing.assert_allclose(neighbor_support(clusters, ops), expected, rtol=1e-12)


def test_threads_and_errors(rng):
    ops = mdt.build_operators([rng.normal(size=(9000, 3))], n_jobs=1)
    walk, clusters = ops.transitions[0], rng.integers(0, 4, 9000).astype(np.uint32)
    one = _core.neighbor_support(walk, clusters, moves=3, n_threads=1)
    np.testing.assert_array_equal(_core.neighbor_support(walk, clusters, moves=3, n_threads=3), one)
    with pytest.raises(ValueError, match="labels"):
        _core.neighbor_support(walk, clusters[:-1], moves=3, n_threads=1)
    with pytest.raises(ValueError, match="expected a walk or a sparse matrix, got an array"):
        _core.neighbor_support(np.ones((3, 2)), clusters[:3], moves=1, n_threads=1)
