"""Sparse matrices on their way to and from the core."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .. import _core


def to_parts(matrix: sparse.csr_array, dtype: Any = None) -> _core.CsrParts:
    """Return the arrays of a SciPy matrix, converted to the types of the core."""
    indptr, indices = np.asarray(matrix.indptr, np.int64), np.asarray(matrix.indices, np.int32)
    return _core.CsrParts(matrix.shape[1], indptr, indices, np.asarray(matrix.data, dtype))


def to_scipy(parts: _core.CsrParts | _core.Transition, n_cols: int) -> sparse.csr_array:
    """Return a matrix of the core as a SciPy matrix that shares its memory."""
    indptr: NDArray[Any] = parts.indptr
    # SciPy requires one type for both index arrays and would copy the long one.
    if len(parts.indices) <= np.iinfo(np.int32).max:
        indptr = indptr.astype(np.int32)
    shape = (len(indptr) - 1, n_cols)
    matrix = sparse.csr_array((parts.values, parts.indices, indptr), shape=shape, copy=False)
    matrix.has_canonical_format = True
    return matrix


def without_empty_columns(*matrices: sparse.csr_array) -> list[_core.CsrParts]:
    """Return matrices with float64 values, without the columns that are empty in all of them.

    Hashed features may have millions of empty columns. The order of the others, and so every sum,
    stays the same.
    """
    used, columns = np.unique(np.concatenate([each.indices for each in matrices]), return_inverse=True)
    ends = np.cumsum([each.nnz for each in matrices])[:-1]
    return [
        _core.CsrParts(max(len(used), 1), np.asarray(each.indptr, np.int64), chosen, np.asarray(each.data, np.float64))
        for each, chosen in zip(matrices, np.split(columns.astype(np.int32), ends), strict=True)
    ]
