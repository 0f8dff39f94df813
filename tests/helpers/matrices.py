"""Comparisons of sparse matrices."""

from __future__ import annotations

import numpy as np


def assert_same_bits(P, Q):
    np.testing.assert_array_equal(P.indptr, Q.indptr)
    np.testing.assert_array_equal(P.indices, Q.indices)
    assert P.data.tobytes() == Q.data.tobytes()
