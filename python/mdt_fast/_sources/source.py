"""A view of which a range of rows is read at a time."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np


class RowSource:
    """Rows of one view.

    Attributes
    ----------
    label : str
        The view as messages name it: "X (rna)".
    n_rows : int or None
        Number of rows; None if it is known only at the end of an iterator.
    n_columns : int or None
        Number of columns; None if it is known only after the first block of an iterator.
    dtype : numpy.dtype or None
        Type of the numbers; None if it is not known.
    """

    label: str
    n_rows: int | None
    n_columns: int | None
    dtype: np.dtype[Any] | None
    # Whether the rows can be read a second time.
    is_repeatable: bool = True
    # Whether another process can read them: pickled, the source is a path or a name, not the rows.
    is_shared: bool = False


class RangeSource(RowSource, ABC):
    """Rows that are read by their numbers."""

    n_rows: int

    @abstractmethod
    def read(self, start: int, stop: int) -> Any:
        """Return some rows as a 2-D array, sparse matrix or data frame."""

    def checked(self, start: int, stop: int) -> Any:
        """Return some rows; an error names them."""
        try:
            block = self.read(start, stop)
        except MemoryError:
            raise
        except Exception as error:  # what a store raises depends on its kind
            got = f"{type(error).__name__}: {error}"
            raise ValueError(
                f"{self.label}: expected {self.n_rows:,} rows that can be read, got an error at rows {start} to "
                f"{stop - 1}: {got}"
            ) from error
        if block.shape[0] != stop - start:
            raise ValueError(
                f"{self.label}: expected {self.n_rows:,} rows, got an end after row {start + block.shape[0] - 1}"
            )
        return block


def check_matrix_shape(shape: tuple[int, ...], label: str) -> tuple[int, int]:
    """Return the shape of a 2-D matrix."""
    if len(shape) != 2:
        raise ValueError(f"{label}: expected a 2-D array (samples, features), got {len(shape)}-D")
    return int(shape[0]), int(shape[1])
