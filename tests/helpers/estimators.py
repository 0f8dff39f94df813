"""Views in every form that the estimators accept, and the comparison of two fits."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import mdt_fast as mdt
from helpers.data import overlapping_clusters

N, K = 120, 3
SLICES = [(0, 4), (4, 7)]
COLUMNS = [["a", "b", "c", "d"], ["e", "f", "g"]]
LABELS = [f"sample {i}" for i in range(N)]
# Enough neighbours to connect every graph.
GRAPH = {"n_neighbors": 40}
both = pytest.mark.parametrize("make", [mdt.MDT, mdt.MDTClustering], ids=["MDT", "MDTClustering"])


def views():
    return list(overlapping_clusters(N)[0])


def frames(index=None, columns=COLUMNS):
    return [pd.DataFrame(X, columns=names, index=index) for X, names in zip(views(), columns, strict=True)]


def whole():
    return np.hstack(views())


def whole_frame(index=None):
    return pd.concat(frames(index), axis=1)


def quick(make, **parameters):
    """An estimator of few candidates."""
    few = {"strategy": [0, 1]} if make is mdt.MDT else {"strategy": "beam", "n_clusters": K, "t": 1}
    return make(**{**GRAPH, **few, **parameters})


def of_new_samples(estimator, X):
    """Return the coordinates or labels of new samples."""
    return estimator.transform(X) if isinstance(estimator, mdt.MDT) else estimator.predict(X)


def of_training(estimator):
    return estimator.embedding_ if isinstance(estimator, mdt.MDT) else estimator.labels_


def assert_same_fit(estimator, other):
    np.testing.assert_array_equal(estimator.embedding_, other.embedding_, strict=True)
    np.testing.assert_array_equal(estimator.trajectory_.weights, other.trajectory_.weights)
    np.testing.assert_array_equal(of_training(estimator), of_training(other))


class Wrapped:
    """An object that only NumPy can read."""

    def __init__(self, array):
        self._array = array

    def __array__(self, dtype=None, copy=None):
        return np.array(self._array, dtype=dtype)


def polars_frames():
    polars = pytest.importorskip("polars")
    return [polars.DataFrame(X, schema=names) for X, names in zip(views(), COLUMNS, strict=True)]


ONE = {
    "array": whole,
    "rows": lambda: whole().tolist(),
    "tuple of rows": lambda: tuple(map(tuple, whole())),
    "frame": whole_frame,
    "polars": lambda: pytest.importorskip("polars").concat(polars_frames(), how="horizontal"),
    "__array__": lambda: Wrapped(whole()),
}
