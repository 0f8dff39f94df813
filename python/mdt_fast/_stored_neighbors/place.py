"""The folder of a call, and the files in it: what has a file is done, so a second call goes on from there.

Each file is complete or absent, and depends only on the rows and the arguments of the call. So a part of the work
may be done again, or twice at the same time by two workers.

| file | content |
|---|---|
| ``exact.npz``, ``lone.npz`` | exact neighbours of some rows, so far |
| ``cells.npz`` | the division into cells |
| ``block-B.{rows,ends}.npy`` | the rows of block B in the order of their cells, and where each cell ends |
| ``sizes.npy`` | number of rows of each cell |
| ``cell-C-R.npy`` | run R of cell C: its rows in ascending order, and their neighbours |

Rows are records: their number, and their features or neighbours.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.files import replacing


@dataclass(frozen=True)
class Place:
    """The folder of the intermediate results.

    Attributes
    ----------
    path : Path
        The folder.
    """

    path: Path

    @property
    def exact(self) -> Path:
        """Exact neighbours of the rows that measure the recall."""
        return self.path / "exact.npz"

    @property
    def lone(self) -> Path:
        """Exact neighbours of the rows whose cells have too few rows."""
        return self.path / "lone.npz"

    @property
    def cells(self) -> Path:
        """The division into cells."""
        return self.path / "cells.npz"

    def block(self, number: int, what: str) -> Path:
        """Return a file of a block; "ends" is written last."""
        return self.path / f"block-{number:08d}.{what}.npy"

    def run(self, cell: int, number: int) -> Path:
        """Return the file of a run of a cell."""
        return self.path / f"cell-{cell:08d}-{number:04d}.npy"

    def begin(self) -> None:
        """Make the folder."""
        self.path.mkdir(parents=True, exist_ok=True)

    def remove(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.path, ignore_errors=True)


def write_array(path: Path, values: NDArray[Any]) -> None:
    """Write an array to a file that is complete or absent; a full disk is an OSError."""
    values = np.ascontiguousarray(values)
    with replacing(path) as part, part.open("wb") as file:
        np.lib.format.write_array_header_1_0(file, np.lib.format.header_data_from_array_1_0(values))
        # Not `numpy.save`, whose error does not say why the system refused to write.
        file.write(values.reshape(-1).view(np.uint8).data)


def read_array(path: Path) -> NDArray[Any]:
    """Return an array of a file, as a memory map; NumPy cannot map an array without elements."""
    try:
        found: NDArray[Any] = np.load(path, mmap_mode="r")
    except ValueError:
        found = np.load(path)
    return found


def records(**columns: NDArray[Any]) -> NDArray[Any]:
    """Return an array of records with the given columns, of which each has one entry or one row for a record."""
    kind = np.dtype([(name, values.dtype, values.shape[1:]) for name, values in columns.items()])
    found = np.empty(len(next(iter(columns.values()))), dtype=kind)
    for name, values in columns.items():
        found[name] = values
    return found
