"""The contrastive strategy on two closed curves: neighbours on the circle stay neighbours.

The views of Helix-A and Helix-B are curves with loops or turns, cut open at different angles; in both, points of
different angles come near each other. Two numbers measure how well two coordinates show the circle:

neighbours      the mean angle between a sample and its 10 nearest in the embedding. Of 500 samples it is at best
                0.038 (three steps of 2 pi / 500); here at most 0.1. At random it is pi / 2.
rank            Spearman's correlation of distance in the embedding with angle, over pairs within a quarter turn
                (beyond, chords bend away from arcs); here at least 0.7. At random it is 0.
"""

from __future__ import annotations

import functools

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from scipy.stats import spearmanr

import mdt_fast as mdt

N_SAMPLES = 500
N_STEPS = 10  # the knees are 11 and 10
N_NEAREST = 10
N_PAIRS = 20_000
LARGEST_ANGLE = 0.1
LEAST_RANK = 0.7

curves = pytest.mark.parametrize("curve", ["a", "b"])


@functools.cache
def searched(curve):
    data = getattr(mdt.datasets, f"make_helix_{curve}")(N_SAMPLES)
    ops = mdt.build_operators(data.views)
    return ops, data.target, mdt.search(ops, strategy="contrastive", t=N_STEPS, progress=False)


def angles_between(a, b):
    turn = np.abs(a - b) % (2 * np.pi)
    return np.minimum(turn, 2 * np.pi - turn)


def neighbour_angle(coordinates, angle):
    distances = cdist(coordinates, coordinates)
    np.fill_diagonal(distances, np.inf)
    nearest = np.argsort(distances, axis=1)[:, :N_NEAREST]
    return angles_between(angle[:, None], angle[nearest]).mean()


def rank_correlation(coordinates, angle):
    rng = np.random.default_rng(0)
    i, j = rng.integers(0, len(angle), size=(2, N_PAIRS))
    angles = angles_between(angle[i], angle[j])
    near = (angles > 0) & (angles <= np.pi / 2)
    distances = np.linalg.norm(coordinates[i[near]] - coordinates[j[near]], axis=1)
    return spearmanr(distances, angles[near]).statistic


def test_measures_of_a_circle_and_of_noise():
    angle = np.linspace(0, 2 * np.pi, N_SAMPLES, endpoint=False)
    circle = np.column_stack([np.cos(angle), np.sin(angle)])
    assert neighbour_angle(circle, angle) == pytest.approx(6 * np.pi / N_SAMPLES)
    assert rank_correlation(circle, angle) > 0.999
    noise = np.random.default_rng(0).normal(size=(N_SAMPLES, 2))
    assert neighbour_angle(noise, angle) > 1
    assert abs(rank_correlation(noise, angle)) < 0.1


@curves
def test_the_loss_falls(curve):
    ops, _, res = searched(curve)
    start = mdt.quality.contrastive_loss(ops, np.full((N_STEPS, 2), 0.5))
    found = mdt.quality.contrastive_loss(ops, res.trajectory)
    assert found < start
    assert res.score == pytest.approx(-found, rel=1e-9)


@curves
def test_the_circle_is_recovered(curve):
    _, angle, res = searched(curve)
    coordinates = mdt.embed(res.trajectory, 2).coordinates
    nearest, rank = neighbour_angle(coordinates, angle), rank_correlation(coordinates, angle)
    print(f"Helix-{curve.upper()}: neighbours {nearest:.4f} rad apart, rank correlation {rank:.3f}")
    assert nearest <= LARGEST_ANGLE
    assert rank >= LEAST_RANK
