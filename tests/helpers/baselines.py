"""Baselines on views of a rectangle, and their graphs as dense matrices."""

from __future__ import annotations

import functools

import numpy as np
from numpy.testing import assert_allclose

import mdt_fast as mdt
from helpers import oracle

NAMES = ("DM", "AD", "p-AD", "ID", "MVD", "CrD", "ComD", "mean", "AA")
N_COMPONENTS = 3
# Largest error of a coordinate, as a share of the largest in its column.
TOLERANCE = {"float64": 1e-7, "float32": 1e-4}
# Steps of each view; all different, so that a wrong order shows.
TIMES = [3, 1, 2]


def make_views(n_samples=100, n_views=2):
    """Views of a rectangle, each with its own noise; the sides separate the singular values."""
    rng = np.random.default_rng(0)
    sides = rng.uniform(size=(n_samples, 2)) * [6, 2.5]
    return [
        np.c_[sides + 0.3 * rng.normal(size=sides.shape), 0.5 * rng.normal(size=(n_samples, 2 + v))]
        for v in range(n_views)
    ]


def fit(name, Xs=None, **parameters):
    """Fit on graphs with enough neighbours to be connected."""
    return mdt.baselines.make(name, **{"n_neighbors": 10, **parameters}).fit(make_views() if Xs is None else Xs)


@functools.cache
def dense_graphs(n_samples=100, n_views=2, **graph):
    """Affinities and walks of `make_views`."""
    Ks = [oracle.affinity(X, n_neighbors=10, **graph) for X in make_views(n_samples, n_views)]
    return Ks, [oracle.transition(K) for K in Ks]


def assert_same_up_to_sign(got, expected, tolerance):
    signs = np.sign(np.sum(got * expected, axis=0))
    assert_allclose(got / np.abs(expected).max(axis=0), signs * expected / np.abs(expected).max(axis=0), atol=tolerance)


def singular(A, **options):
    return oracle.singular_coordinates(A, N_COMPONENTS, **options)[0]


THREADS = (1, 2, 5)
