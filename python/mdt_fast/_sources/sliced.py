"""Arrays that are sliced: NumPy, memory maps, SciPy, Zarr, HDF5, AnnData on disk and data frames."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._graphs.readable import has_columns
from .._graphs.views import refuse_mask
from .._support.warnings import ViewWarning, warn_user
from .source import RangeSource, check_matrix_shape


class SlicedSource(RangeSource):
    """An array of which ``X[start:stop]`` are some rows, in memory or not."""

    def __init__(self, X: Any, label: str) -> None:
        refuse_mask(X, label)
        self._rows = X.iloc if has_columns(X) and hasattr(X, "iloc") else X
        self.label = label
        self.n_rows, self.n_columns = check_matrix_shape(tuple(X.shape), label)
        self.dtype = np.dtype(X.dtype) if hasattr(X, "dtype") else None
        # An array of Zarr is pickled as the place of its store.
        self.is_shared = self.is_shared or (type(X).__module__.startswith("zarr.") and not _is_in_memory(X))
        _warn_of_missing_chunks(X, label)

    def read(self, start: int, stop: int) -> Any:
        """Return some rows."""
        block = self._rows[start:stop]
        return block if has_columns(block) or sparse.issparse(block) else np.asarray(block)


def is_sliced(X: Any) -> bool:
    """Return whether an object is an array that can be sliced by rows."""
    is_array = hasattr(X, "shape") and hasattr(X, "__getitem__") and not isinstance(X, type)
    return is_array and (hasattr(X, "dtype") or has_columns(X))


def _is_in_memory(X: Any) -> bool:
    return type(X.store).__name__ == "MemoryStore"


def _warn_of_missing_chunks(X: Any, label: str) -> None:
    """Warn of a Zarr array of which chunks were never written: they are read as its fill value."""
    written = getattr(X, "nchunks_initialized", None)
    if written is not None and written < X.nchunks:
        warn_user(
            f"{label}: {X.nchunks - written} of {X.nchunks} chunks of the Zarr array do not exist and are read as "
            f"{X.fill_value}; the store may be incomplete",
            ViewWarning,
        )
