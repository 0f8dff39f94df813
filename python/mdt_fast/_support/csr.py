"""Sparse matrices on their way to and from the core."""

import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .. import _core


def check_arrays(matrix: Any, name: str) -> None:
    """Raise ValueError if the arrays of a SciPy matrix do not describe a matrix of its shape.

    SciPy checks them only when a matrix is made. Its compiled functions trust arrays that were
    changed or exchanged later, and read or write outside of them.
    """
    try:
        if matrix.format in ("csr", "csc", "bsr"):
            _check_indices(matrix.indices)
            # SciPy does not look at the others if the last pointer is not positive.
            _check_indices(matrix.indptr, size=len(matrix.indices) + 1)
            if (np.diff(matrix.indptr) < 0).any():
                raise ValueError("row pointers decrease")
            # The check may shorten arrays; those of the caller stay as they are.
            copy.copy(matrix).check_format(full_check=True)
        elif matrix.format == "coo":
            for positions, size in zip(matrix.coords, matrix.shape, strict=True):
                _check_indices(positions, len(matrix.data), size)
        elif matrix.format == "dia":
            _check_indices(matrix.offsets, len(matrix.data))
        elif matrix.format == "lil":
            lengths = [[len(line) for line in lines] for lines in (matrix.rows, matrix.data)]
            if lengths[0] != lengths[1] or len(lengths[0]) != matrix.shape[0]:
                raise ValueError("lists of columns and of values have different lengths")
            positions = np.array([column for row in matrix.rows for column in row], dtype=np.int64)
            _check_indices(positions, len(positions), matrix.shape[1])
    except (ValueError, TypeError, AttributeError, IndexError, OverflowError) as error:
        raise ValueError(f"{name}: expected a valid {matrix.format} matrix, got one whose {error}") from None


def _check_indices(array: Any, length: int | None = None, size: int | None = None) -> None:
    """Raise unless `array` is 1-D, of this length, with integers from 0 to below `size`."""
    if array.ndim != 1 or array.dtype.kind not in "iu":
        raise ValueError(f"index array has dtype {array.dtype} and {array.ndim} dimensions")
    if length is not None and len(array) != length:
        raise ValueError(f"index array has {len(array)} entries for {length} values")
    if size is not None and len(array) and not 0 <= array.min() <= array.max() < size:
        raise ValueError(f"indices reach from {array.min()} to {array.max()}, outside of 0 to {size - 1}")


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
