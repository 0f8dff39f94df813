"""Memberships and labels of new samples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mdt_fast as mdt
from helpers.data import labels_of, overlapping_clusters
from helpers.hostile import view_sets
from mdt_fast._clusters.new_samples import labels_at, memberships_at


def two_steps(ops, rng):
    """Two trajectories with random weights."""
    return [ops.trajectory(rng.dirichlet(np.ones(len(ops)), size=2)) for _ in range(2)]


class TestMemberships:
    def test_equals_the_mean_step(self, rng):
        views, labels = overlapping_clusters(60)
        ops = mdt.build_operators(views, n_jobs=1)
        trajectories = two_steps(ops, rng)
        rows = ops.new_rows([X[:7] + 0.1 for X in views])
        weights = np.mean([W.weights for W in trajectories], axis=(0, 1))
        mean = sum(w * row.toarray() for w, row in zip(weights, rows, strict=True))
        expected = np.stack([mean[:, labels == c].sum(axis=1) for c in range(3)], axis=1)
        np.testing.assert_allclose(memberships_at(rows, trajectories, labels), expected, rtol=1e-12)

    @pytest.mark.parametrize("member", ["identity", "uniform", "mean", "teleport"])
    def test_members(self, rng, member):
        views, labels = overlapping_clusters(60)
        ops = getattr(mdt.build_operators(views, n_jobs=1), f"with_{member}")()
        trajectories = two_steps(ops, rng)
        Xs = [X[::5] for X in views]
        found = memberships_at(ops.new_rows(Xs), trajectories, labels)
        np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
        np.testing.assert_array_equal(labels_at(Xs, trajectories, labels), found.argmax(axis=1))

    @given(view_sets(), st.integers(0, 99))
    def test_properties(self, views, seed):
        Xs, n_neighbors = views
        rng = np.random.default_rng(seed)
        ops = mdt.build_operators(Xs, n_neighbors=n_neighbors, kernel="adaptive", n_jobs=1)
        labels = labels_of(rng, ops.n_samples, int(rng.integers(1, ops.n_samples + 1)))
        trajectories = two_steps(ops, rng)
        rows = ops.new_rows(Xs)
        found = memberships_at(rows, trajectories, labels)
        assert found.shape == (ops.n_samples, labels.max() + 1)
        assert found.dtype == np.float64
        assert (found >= 0).all()
        np.testing.assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)
        clusters = labels_at(Xs, trajectories, labels)
        np.testing.assert_array_equal(clusters, found.argmax(axis=1))
