"""Information about labels that only one view has."""

from __future__ import annotations

import numpy as np
import pytest

from mdt_fast._clusters.added_information import added_information

LABELS = np.arange(1200) % 6


def test_complementary_clusters():
    three, two = LABELS // 2, LABELS % 2
    assert added_information(LABELS, three, two, seed=0) == pytest.approx(np.log(3) / np.log(6), abs=0.01)
    assert added_information(LABELS, two, three, seed=0) == pytest.approx(np.log(2) / np.log(6), abs=0.01)


def test_nothing_is_added():
    rng = np.random.default_rng(0)
    # What the others know, and what has nothing to do with the labels.
    assert added_information(LABELS, LABELS // 2, LABELS, seed=0) == pytest.approx(0, abs=1e-12)
    poor = np.where(rng.uniform(size=1200) < 0.5, LABELS, 0)
    assert added_information(LABELS, poor, poor, seed=0) == pytest.approx(0, abs=1e-12)
    assert added_information(LABELS, rng.integers(6, size=1200), poor, seed=0) == pytest.approx(0, abs=0.01)


def test_many_clusters_of_few_samples():
    """Without the correction, noise would have two thirds of the information."""
    rng = np.random.default_rng(1)
    labels, noise, others = rng.integers(50, size=(3, 300))
    assert added_information(labels, noise, others, seed=0) == pytest.approx(0, abs=0.02)


def test_everything_is_added():
    constant = np.zeros(1200, dtype=int)
    assert added_information(LABELS, LABELS, constant, seed=0) == pytest.approx(1, abs=0.02)
