"""Dask arrays: each range of rows is computed when it is read."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from .source import RangeSource, check_matrix_shape


class DaskSource(RangeSource):
    """A Dask array, read by the active scheduler."""

    def __init__(self, X: Any, label: str) -> None:
        check_chunks(X, label)
        self.array, self.label = X, label
        self.n_rows, self.n_columns = check_matrix_shape(X.shape, label)
        self.dtype = np.dtype(X.dtype)

    def read(self, start: int, stop: int) -> Any:
        """Return some rows."""
        return self.array[start:stop].compute()


def is_dask(X: Any) -> bool:
    """Return whether an object is an array of Dask, without an import of Dask."""
    return type(X).__module__.startswith("dask.") and hasattr(X, "chunks")


def check_chunks(X: Any, label: str) -> None:
    """Raise ValueError for chunks of unknown size."""
    if any(math.isnan(size) for axis in X.chunks for size in axis):
        raise ValueError(
            f"{label}: expected a Dask array with known chunk sizes, got chunks of unknown rows; call "
            "X.compute_chunk_sizes() first"
        )
