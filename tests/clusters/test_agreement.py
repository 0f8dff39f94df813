"""Agreement of labellings against dense eigenvectors."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

from helpers.data import labels_of
from mdt_fast import _core
from mdt_fast._clusters.agreement import agree


def together(labels):
    """The share of labellings in which two samples have the same label."""
    return np.mean([row[:, None] == row[None] for row in labels], axis=0)


def random_labels(rng, n_labellings=7, n=50, k=4, noise=0.2):
    """Labellings that mostly agree."""
    base = labels_of(rng, n, k)
    return np.stack([np.where(rng.random(n) < noise, rng.integers(0, k, n), base) for _ in range(n_labellings)]), base


def agreed(labels, k, seed=0, n_jobs=1):
    return agree(np.asarray(labels, dtype=np.int32), k, seed=seed, n_jobs=n_jobs)


def assert_same(first, second):
    for name in ("labels", "embedding"):
        np.testing.assert_array_equal(getattr(second, name), getattr(first, name), strict=True, err_msg=name)


class TestAgreement:
    @pytest.mark.parametrize("n_components", [1, 3, 6])
    @pytest.mark.parametrize("noise", [0.2, 1.0], ids=["similar", "unlike"])
    def test_eigenvectors(self, rng, n_components, noise):
        labels, _ = random_labels(rng, noise=noise)
        solver = {"tolerance": 1e-6, "max_iterations": 300, "seed": 0, "n_threads": 1}
        found = _core.consensus(labels.astype(np.uint32), n_labels=4, n_components=n_components, **solver)
        vectors, values = found.coordinates, found.eigenvalues
        A = together(labels)
        expected, theirs = np.linalg.eigh(A)
        np.testing.assert_allclose(values, expected[::-1][:n_components], rtol=1e-9)
        np.testing.assert_allclose(vectors.T @ vectors, np.eye(n_components), atol=1e-9)
        np.testing.assert_allclose(A @ vectors, vectors * values, atol=1e-6 * values[0])
        kept = theirs[:, ::-1][:, :n_components]
        np.testing.assert_allclose(vectors @ vectors.T, kept @ kept.T, atol=1e-5)

    def test_embedding(self, rng):
        labels, base = random_labels(rng)
        found = agreed(labels, 4)
        clusters, embedding = found.labels, found.embedding
        assert embedding.shape == (50, 4)
        np.testing.assert_allclose(np.linalg.norm(embedding, axis=1), 1, rtol=1e-12)
        leading = np.linalg.eigh(together(labels))[1][:, -4:]
        leading /= np.linalg.norm(leading, axis=1, keepdims=True)
        np.testing.assert_allclose(embedding @ embedding.T, leading @ leading.T, atol=1e-5)
        assert clusters.dtype == np.int32
        assert adjusted_rand_score(base, clusters) > 0.9

    @pytest.mark.parametrize("k", [2, 5, 20, 39])
    @pytest.mark.parametrize("n_labellings", [1, 2, 9])
    def test_equal_labellings(self, rng, k, n_labellings):
        base = labels_of(rng, 40, k)
        renamed = np.stack([rng.permutation(k)[base] for _ in range(n_labellings)])
        found = agreed(renamed, k)
        assert adjusted_rand_score(base, found.labels) == 1.0
        # Clusters are numbered by their first sample.
        assert list(dict.fromkeys(found.labels.tolist())) == list(range(k))

    def test_label_values_do_not_matter(self, rng):
        labels, _ = random_labels(rng)
        expected = agreed(labels, 4)
        renamed = labels.copy()
        renamed[2] = np.array([2, 0, 3, 1])[labels[2]]
        renamed[5] = np.array([9, 0, 4, 7])[labels[5]]
        assert_same(expected, agreed(renamed, 4))

    def test_order_of_labellings_does_not_matter(self, rng):
        labels, _ = random_labels(rng)
        found, reversed_order = agreed(labels, 4), agreed(labels[::-1], 4)
        np.testing.assert_array_equal(reversed_order.labels, found.labels)

    @pytest.mark.parametrize("n_jobs", [2, 3])
    def test_same_bits_at_any_number_of_threads(self, rng, n_jobs):
        labels, _ = random_labels(rng, 8, 20_000, 6)
        assert_same(agreed(labels, 6), agreed(labels, 6, n_jobs=n_jobs))
