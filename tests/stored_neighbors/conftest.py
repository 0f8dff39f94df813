"""Samples whose neighbours are stored, and the table that every way of the call gives."""

from __future__ import annotations

import numpy as np
import pytest

import mdt_fast as mdt
from helpers.stored_neighbors import BLOCK, CELL, K, N


@pytest.fixture(scope="session")
def points():
    """Clusters of four dimensions, in single precision, with some samples twice."""
    rng = np.random.default_rng(0)
    centers = 6 * rng.normal(size=(5, 4))
    X = (centers[rng.integers(5, size=N)] + rng.normal(size=(N, 4))).astype(np.float32)
    X[100:120] = X[900:920]
    return X


@pytest.fixture(scope="session")
def expected(points, tmp_path_factory):
    out = tmp_path_factory.mktemp("expected") / "graph"
    return mdt.store_neighbors(points, K, out, cell_rows=CELL, block_rows=BLOCK)
