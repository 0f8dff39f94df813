"""Exact nearest neighbours of a few rows among all rows, collected block by block.

They say which share of the neighbours a division into cells can find, and at the end which share was found. Rows
that no cell gives enough neighbours take them from here. Cost: ``O(N q d)`` for q rows.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._assignment.block import naming_rows
from .._graphs.cross import nearest_of_new
from .._graphs.views import Matrix, View
from .._support.files import replacing

# Rows, distances and features of the nearest rows of each query.
Nearest = tuple[NDArray[np.int64], NDArray[np.float64], Matrix]


class ExactNeighbors:
    """The nearest rows of some rows, so far.

    Attributes
    ----------
    rows : (q,) array
        Numbers of the rows whose neighbours are searched.
    indices, distances : (q, k) arrays
        Neighbours in ascending order of (distance, index), -1 and infinity where there is none yet.
    features : (q, k, d) array
        Their features.
    done : set of int
        Numbers of the blocks that were compared.
    """

    def __init__(self, rows: NDArray[np.intp], k: int, n_columns: int, dtype: Any) -> None:
        q = len(rows)
        self.rows = rows
        self.indices, self.distances = np.full((q, k), -1, dtype=np.int64), np.full((q, k), np.inf)
        self.features = np.zeros((q, k, n_columns), dtype=dtype)
        self.done: set[int] = set()

    def add(self, block: int, found: Nearest) -> None:
        """Add what :func:`nearest_in_block` found; the order of the blocks does not matter."""
        k = self.indices.shape[1]
        is_other = found[0] != self.rows[:, None]
        new = np.where(is_other, found[0], -1), np.where(is_other, found[1], np.inf)
        indices = np.concatenate([self.indices, new[0]], axis=1)
        distances = np.concatenate([self.distances, new[1]], axis=1)
        order = np.lexsort((indices, distances), axis=1)[:, :k]
        self.features = np.take_along_axis(np.concatenate([self.features, found[2]], axis=1), order[:, :, None], axis=1)
        self.indices = np.take_along_axis(indices, order, axis=1)
        self.distances = np.take_along_axis(distances, order, axis=1)
        self.done.add(block)

    def save(self, path: Path) -> None:
        """Write everything to a file, from which :meth:`load` goes on."""
        with replacing(path) as part, part.open("wb") as file:
            np.savez(
                file, rows=self.rows, indices=self.indices, distances=self.distances, features=self.features,
                done=np.array(sorted(self.done), dtype=np.int64),
            )  # fmt: skip

    @classmethod
    def load(cls, path: Path) -> ExactNeighbors:
        """Return what was saved."""
        with np.load(path) as saved:
            found = cls(saved["rows"], 1, 1, np.float64)
            found.indices, found.distances, found.features = saved["indices"], saved["distances"], saved["features"]
            found.done = set(saved["done"].tolist())
        return found


def nearest_in_block(queries: NDArray[Any], block: Matrix, start: int, k: int, metric: str, n_threads: int) -> Nearest:
    """Return the k nearest rows of a block, of which `start` is the first, for some query rows.

    Queries are records of the number of a row and its features.
    """
    # The core expects two samples.
    rows = block if len(block) > 1 else np.concatenate([block, block])
    view = View("view 0", np.ascontiguousarray(queries["features"]), "X")
    k = min(k, len(block))
    with naming_rows(lambda row: f"row {queries['row'][row]}"):
        indices, distances = nearest_of_new(rows, view, k, metric, np.float64, n_threads)
    indices = np.minimum(indices, len(block) - 1)
    return indices.astype(np.int64) + start, distances, block[indices]
