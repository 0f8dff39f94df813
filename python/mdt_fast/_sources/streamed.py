"""Iterators of row blocks, cut into blocks of equal rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
from scipy import sparse

from .._graphs.views import read_matrix
from .source import RowSource, check_matrix_shape


class StreamedSource(RowSource):
    """An iterator of row blocks, or a function that returns one and is called for every pass."""

    def __init__(self, X: Callable[[], Iterable[Any]] | Iterator[Any], label: str) -> None:
        self.label, self._given = label, X
        self.is_repeatable = callable(X)
        self.n_rows = self.n_columns = self.dtype = None

    def blocks(self, rows: int) -> Iterator[Any]:
        """Yield blocks of `rows` rows, the last one shorter."""
        held: list[Any] = []
        n_held = 0
        for piece in self._pieces():
            held.append(piece)
            n_held += piece.shape[0]
            while n_held >= rows:
                whole = _stack(held)
                yield whole[:rows]
                held, n_held = [whole[rows:]], n_held - rows
        if n_held:
            yield _stack(held)

    def _pieces(self) -> Iterator[Any]:
        given: Any = self._given() if callable(self._given) else self._given
        for number, piece in enumerate(given):
            label = f"{self.label}, block {number} of the iterator"
            matrix = read_matrix(piece, label)
            _, columns = check_matrix_shape(matrix.shape, label)
            if self.n_columns is None:
                self.n_columns, self.dtype = columns, matrix.dtype
            elif columns != self.n_columns:
                raise ValueError(f"{label}: expected {self.n_columns} columns, as in block 0, got {columns}")
            if matrix.shape[0]:
                # Copied, because an iterator may use the same memory for its next block.
                yield matrix.copy()


def _stack(blocks: list[Any]) -> Any:
    if len(blocks) == 1:
        return blocks[0]
    return sparse.vstack(blocks, format="csr") if sparse.issparse(blocks[0]) else np.concatenate(blocks)
