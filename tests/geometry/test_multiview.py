"""The walk that changes view at every step, against its dense block matrix."""

from __future__ import annotations

import numpy as np
import pytest

import mdt_fast as mdt
from helpers import oracle
from mdt_fast._geometry.multiview import embed_multiview


def affinities(n, n_views, seed):
    """Symmetric affinities of very different scales, which must change the result."""
    rng = np.random.default_rng(seed)
    Ks = []
    for v in range(n_views):
        X = rng.normal(size=(n, 3))
        Ks.append(10.0**v * np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2)))
    return Ks


@pytest.mark.parametrize("n_views", [2, 3, 4])
@pytest.mark.parametrize("n", [10, 150])
def test_equals_the_dense_block_matrix(n, n_views):
    Ks = affinities(n, n_views, seed=n)
    got = embed_multiview(mdt.OperatorSet.from_affinities(Ks), 4, tol=1e-10)
    values, vectors = np.linalg.eig(oracle.multiview_walk(Ks))
    order = np.argsort(-values.real)[1:5]
    np.testing.assert_allclose(got.eigenvalues, values[order].real, atol=1e-9)
    flat = got.coordinates.reshape(n_views * n, 4)
    expected = vectors[:, order].real
    expected = expected / np.linalg.norm(expected, axis=0) * values[order].real
    signs = np.sign((flat * expected).sum(axis=0))
    np.testing.assert_allclose(flat, expected * signs, atol=1e-6)
    assert got.converged


def test_built_operators_and_both_precisions():
    Xs = np.random.default_rng(0).normal(size=(3, 200, 4))
    double, single = (embed_multiview(mdt.build_operators(list(Xs), dtype=d), 3) for d in ("float64", "float32"))
    assert single.coordinates.dtype == np.float32
    np.testing.assert_allclose(single.eigenvalues, double.eigenvalues, atol=1e-5)


def test_same_bits_at_any_number_of_threads():
    Xs = list(np.random.default_rng(0).normal(size=(2, 2000, 4)))
    results = {embed_multiview(mdt.build_operators(Xs, n_jobs=j), 3).coordinates.tobytes() for j in (1, 2, 8)}
    assert len(results) == 1


def test_bad_input():
    ops = mdt.build_operators([np.random.default_rng(0).normal(size=(30, 2))])
    with pytest.raises(ValueError, match="ops: expected at least 2 views, got 1"):
        embed_multiview(ops)
    walks = mdt.OperatorSet.from_transitions([np.full((5, 5), 0.2)] * 2)
    with pytest.raises(ValueError, match="ops: expected views made from symmetric affinities"):
        embed_multiview(walks, 2)
    with pytest.raises(ValueError, match="n_components: expected an integer >= 1 and <= 9, got 10"):
        embed_multiview(mdt.OperatorSet.from_affinities([np.ones((5, 5))] * 2), 10)
