"""The rows of each block in the order of their cells, from which the rows of a cell are read.

The features are written once for each cell of a row, so the files have ``m`` times the size of the view. A cell is
read as one range of each block; its rows ascend.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from .._graphs.views import Matrix
from .cells import Cells
from .place import Place, read_array, records, write_array


def write_block(place: Place, number: int, start: int, block: Matrix, n_threads: int) -> None:
    """Write the rows of a block, of which `start` is the first, in the order of their cells."""
    cells = Cells.load(place.cells)
    own = cells.of_rows(block, n_threads)
    order = np.argsort(own.ravel(), kind="stable")
    rows = (order // own.shape[1]).astype(np.int32)
    ends = np.cumsum(np.bincount(own.ravel(), minlength=len(cells.centers)))
    write_array(place.block(number, "rows"), records(row=rows + np.int32(start), features=block[rows]))
    write_array(place.block(number, "ends"), ends)


def sizes_of_cells(place: Place, n_blocks: int) -> NDArray[np.int64]:
    """Return the number of rows of each cell."""
    return np.asarray(np.sum([np.diff(np.load(place.block(b, "ends")), prepend=0) for b in range(n_blocks)], axis=0))


def read_cell(place: Place, n_blocks: int, cell: int) -> Iterator[tuple[NDArray[np.int32], Matrix]]:
    """Yield the rows of a cell and their features, a block at a time in ascending order."""
    for number in range(n_blocks):
        ends = read_array(place.block(number, "ends"))
        first, end = int(ends[cell - 1]) if cell else 0, int(ends[cell])
        if end > first:
            rows = read_array(place.block(number, "rows"))[first:end]
            yield np.ascontiguousarray(rows["row"]), np.ascontiguousarray(rows["features"])


def lone_rows(place: Place, n_blocks: int, sizes: NDArray[np.int64], k: int, m: int) -> NDArray[np.intp]:
    """Return the rows all of whose cells have at most `k` rows, too few for `k` neighbours."""
    small = np.flatnonzero((sizes > 0) & (sizes <= k)).tolist()
    rows = [rows for cell in small for rows, _ in read_cell(place, n_blocks, cell)]
    if not rows:
        return np.empty(0, dtype=np.intp)
    found, counts = np.unique(np.concatenate(rows), return_counts=True)
    return np.asarray(found[counts == m], dtype=np.intp)
