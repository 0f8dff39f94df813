"""Walks that lack samples: steps take rows of the walks that have them, as in the explicit matrix."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

import mdt_fast as mdt
from mdt_fast._core import Member, OperatorSet


def dense(transition, n):
    return sparse.csr_array((transition.values, transition.indices, transition.indptr), shape=(n, n)).toarray()


class Holes:
    """Walks of random views with random holes, and the same as explicit matrices in double precision."""

    def __init__(self, seed, dtype=np.float64):
        rng = np.random.default_rng(seed)
        self.n, n_views = int(rng.integers(20, 90)), int(rng.integers(1, 5))
        has = rng.random((n_views, self.n)) < rng.choice([0.4, 0.7, 0.95])
        has[rng.integers(n_views, size=self.n), np.arange(self.n)] = True
        has[has.sum(axis=1) < 6] = True
        self.walks, self.lacking = [], []
        for row in has:
            samples = np.flatnonzero(row).astype(np.uint32)
            ops = mdt.build_operators([rng.normal(size=(len(samples), 3)).astype(dtype)], n_neighbors=4)
            self.walks.append(ops.transitions[0].among(samples, self.n, False))
            self.lacking.append(np.flatnonzero(~row).astype(np.uint32))
        own = [dense(walk, self.n).astype(np.float64) for walk in self.walks]
        mean = sum(own) / has.sum(axis=0)[:, np.newaxis]
        views = [np.where(row[:, np.newaxis], P, mean) for row, P in zip(has, own, strict=True)]
        self.members = [
            *map(Member.walk, range(n_views)), Member.mean(n_views), Member.identity(), Member.uniform(),
            Member.teleport(0, 0.7, None), Member.teleport(n_views - 1, 0.7, 3),
        ]  # fmt: skip
        identity, uniform = np.eye(self.n), np.full((self.n, self.n), 1 / self.n)
        cube = np.linalg.matrix_power(views[-1], 3)
        self.matrices = [
            *views, sum(views) / n_views, identity, uniform, 0.7 * views[0] + 0.3 * uniform,
            0.7 * views[-1] + 0.3 * cube,
        ]  # fmt: skip
        self.set = OperatorSet(self.walks, self.members, self.lacking, n_views)
        self.rng = rng

    def weights(self, *, of_sequence):
        t, k = int(self.rng.integers(1, 5)), len(self.members)
        return np.eye(k)[self.rng.integers(k, size=t)] if of_sequence else self.rng.dirichlet(np.full(k, 0.3), t)

    def product(self, weights):
        W = np.eye(self.n)
        for row in weights:
            W = sum(a * P for a, P in zip(row, self.matrices, strict=True)) @ W
        return W


@pytest.mark.parametrize("of_sequence", [True, False], ids=["sequence", "weights"])
@pytest.mark.parametrize("seed", range(12))
def test_products_are_those_of_the_explicit_matrices(seed, of_sequence):
    dtype, tolerance = [(np.float64, 1e-13), (np.float32, 1e-4)][seed % 2]
    holes = Holes(seed, dtype)
    weights = holes.weights(of_sequence=of_sequence)
    W = holes.product(weights)
    np.testing.assert_allclose(W.sum(axis=1), 1.0, rtol=1e-6)
    X = holes.rng.normal(size=(holes.n, int(holes.rng.integers(1, 40)))).astype(dtype)
    for transposed, expected in ((False, W @ X), (True, W.T @ X)):
        found = holes.set.apply(weights, X, transposed, 2)
        np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * holes.n)
        np.testing.assert_array_equal(holes.set.apply(weights, X, transposed, 1), found)
    options = {"prune_below": 0.0, "top": None, "prune_each_step": False, "memory_limit": 2**30, "n_threads": 1}
    parts = holes.set.to_sparse(weights, **options)
    np.testing.assert_allclose(dense(parts, holes.n), W, rtol=0, atol=tolerance)


def test_nothing_missing_changes_no_bit():
    ops = mdt.build_operators(np.random.default_rng(0).normal(size=(2, 50, 3)).tolist(), n_neighbors=5)
    nothing = [np.empty(0, dtype=np.uint32)] * 2
    weights, X = np.array([[0.3, 0.7], [1.0, 0.0]]), np.random.default_rng(1).normal(size=(50, 7))
    with_holes = OperatorSet(list(ops.transitions), list(ops.members), nothing, 2)
    for transposed in (False, True):
        expected = ops.native.apply(weights, X, transposed, 1)
        np.testing.assert_array_equal(with_holes.apply(weights, X, transposed, 1), expected)


def test_refused():
    holes = Holes(1)
    wrong = [lacking[1:] for lacking in holes.lacking]
    with pytest.raises(ValueError, match="expected the rows of lacking points to be empty"):
        OperatorSet(holes.walks, holes.members, wrong, len(holes.walks))
    with pytest.raises(ValueError, match="lists of lacking points"):
        OperatorSet(holes.walks, holes.members, holes.lacking[1:], len(holes.walks))
    one = mdt.build_operators([np.random.default_rng(0).normal(size=(10, 2))], n_neighbors=3).transitions[0]
    lacking = [np.array([10, 11], dtype=np.uint32)]
    with pytest.raises(ValueError, match="expected every point in some view, got none with point 10"):
        OperatorSet([one.among(np.arange(10, dtype=np.uint32), 12, False)], [Member.walk(0)], lacking, 1)
