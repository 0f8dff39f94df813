"""Information against dense formulas, its bounds, and what it prefers."""

from __future__ import annotations

import numpy as np
import pytest

import mdt_fast as mdt
from helpers.data import labels_of


def dense_information(P, labels):
    """I / sqrt(H) by loops, over the samples that can move."""
    n, k = len(P), labels.max() + 1
    joint, moving = np.zeros((k, k)), 0
    for i in range(n):
        moves = sum(P[i, j] for j in range(n) if j != i)
        if moves > 0:
            moving += 1
            for j in range(n):
                if j != i:
                    joint[labels[i], labels[j]] += P[i, j] / moves
    if not moving:
        return 0.0
    joint /= moving
    independent = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    shared = sum(joint[a, b] * np.log(joint[a, b] / independent[a, b]) for a, b in np.argwhere(joint > 0))
    sizes = np.bincount(labels) / n
    return shared / np.sqrt(-(sizes * np.log(sizes)).sum())


def noise(n=60):
    rng = np.random.default_rng(1)
    return [rng.normal(size=(n, 3)), np.repeat(rng.normal(size=(n // 3, 2)), 3, axis=0)]


@pytest.mark.filterwarnings("ignore::mdt_fast.OperatorWarning")
class TestInformation:
    @pytest.mark.parametrize("k", [2, 5, 40, 59])
    @pytest.mark.parametrize("options", [{}, {"dtype": "float32"}, {"kernel": "binary"}, {"n_neighbors": 1}])
    def test_the_formula(self, rng, options, k):
        ops = mdt.build_operators(noise(), **{"n_neighbors": 5, **options})
        labels = labels_of(rng, 60, k)
        expected = [dense_information(P.toarray().astype(float), labels) for P in ops.views]
        np.testing.assert_allclose(mdt.quality.information(ops, labels, per_view=True), expected, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(mdt.quality.information(ops, labels), np.mean(expected), rtol=1e-6, atol=1e-9)

    def test_is_at_most_the_root_of_the_entropy(self, rng):
        apart = [np.repeat([[0.0], [100.0]], 30, axis=0) + rng.normal(size=(60, 1))]
        ops = mdt.build_operators(apart)
        labels = np.repeat([0, 1], 30)
        assert mdt.quality.information(ops, labels) == pytest.approx(np.sqrt(np.log(2)))
        assert mdt.quality.information(ops, rng.permutation(labels)) < 0.1

    def test_same_bits_at_any_number_of_threads(self, rng):
        X, labels = rng.normal(size=(9000, 3)), labels_of(rng, 9000, 70)
        found = {mdt.quality.information(mdt.build_operators([X], n_jobs=jobs), labels) for jobs in (1, 2, 3)}
        assert len(found) == 1

    def test_small_cliques_do_not_win(self, rng):
        """Two halves of a cloud and one small far clique: persistence prefers the clique."""
        X = np.concatenate([rng.normal(size=(190, 2)), 50 + rng.normal(size=(10, 2))])
        ops = mdt.build_operators([X])
        halves, clique = (X[:, 0] > np.median(X[:, 0])).astype(int), (np.arange(200) >= 190).astype(int)
        halves[190:] = 1
        assert mdt.quality.persistence(ops, clique) > mdt.quality.persistence(ops, halves)
        assert mdt.quality.information(ops, clique) < mdt.quality.information(ops, halves)
