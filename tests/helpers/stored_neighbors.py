"""Sizes and comparisons of stored neighbours."""

import numpy as np

import mdt_fast as mdt

N, K, CELL, BLOCK = 1200, 7, 300, 170


def store(X, out, **how):
    """Store the neighbours of samples with the sizes of the tests."""
    return mdt.store_neighbors(X, K, out, **{"cell_rows": CELL, "block_rows": BLOCK, **how})


def assert_same(found, expected):
    """Two tables are the same to the last bit."""
    for name in ("indices", "distances"):
        np.testing.assert_array_equal(np.asarray(getattr(found, name)[:]), getattr(expected, name))
    for name in ("recall", "recall_error", "n_cells", "cells_per_sample"):
        assert getattr(found, name) == getattr(expected, name)
