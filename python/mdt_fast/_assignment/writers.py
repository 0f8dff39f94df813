"""Where the results of blocks are written: memory, .npy files, a Zarr group, or Parquet files.

A block has its own range of every array, so blocks may be written in any order, again, and by several processes.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.extras import require
from .._support.files import replacing

# Shape of a row and type of each result.
Columns = dict[str, tuple[tuple[int, ...], np.dtype[Any]]]
# Bytes of the header of an .npy file. It is written last, because the number of rows may not be known before.
_HEADER = 128


class Writer(ABC):
    """Receives the results of blocks."""

    # Whether a pickled copy in another process writes to the same place.
    is_shared = True

    def __init__(self, path: Path, columns: Columns, n_rows: int | None, block_rows: int) -> None:
        self.path, self.columns, self.n_rows, self.block_rows = path, columns, n_rows, block_rows

    def begin(self) -> None:
        """Make the place; what is there of an earlier call is kept."""
        self.path.mkdir(parents=True, exist_ok=True)

    @abstractmethod
    def write(self, start: int, found: Mapping[str, NDArray[Any]]) -> None:
        """Write the results of a block whose first row is `start`; when it returns, they outlive this process."""

    @abstractmethod
    def finish(self, n_rows: int) -> dict[str, Any]:
        """Return the arrays of all rows."""


class MemoryWriter(Writer):
    """Arrays in memory."""

    is_shared = False

    def __init__(self, columns: Columns, n_rows: int | None, block_rows: int) -> None:
        super().__init__(Path(), columns, n_rows, block_rows)
        self._parts: dict[int, Mapping[str, NDArray[Any]]] = {}
        self._whole: dict[str, NDArray[Any]] = {}

    def begin(self) -> None:
        """Reserve the arrays if the number of rows is known."""
        if self.n_rows is not None:
            self._whole = {name: np.empty((self.n_rows, *shape), kind) for name, (shape, kind) in self.columns.items()}

    def write(self, start: int, found: Mapping[str, NDArray[Any]]) -> None:
        """Keep the results of a block."""
        if self.n_rows is None:
            self._parts[start] = found
            return
        for name, values in found.items():
            self._whole[name][start : start + len(values)] = values

    def finish(self, n_rows: int) -> dict[str, Any]:
        """Return the arrays of all rows."""
        if self.n_rows is not None:
            return dict(self._whole)
        parts = [self._parts[start] for start in sorted(self._parts)]
        return {
            name: np.concatenate([part[name] for part in parts]) if parts else np.empty((0, *shape), kind)
            for name, (shape, kind) in self.columns.items()
        }


class NpyWriter(Writer):
    """A folder with one .npy file for each result.

    Files are written by ordinary calls: a full disk is then an error, and not the end of the process, as for
    a memory map.
    """

    def write(self, start: int, found: Mapping[str, NDArray[Any]]) -> None:
        """Write the results of a block."""
        for name, values in found.items():
            self._write_at(name, _HEADER + start * values[:1].nbytes, np.ascontiguousarray(values).tobytes())

    def finish(self, n_rows: int) -> dict[str, Any]:
        """Write the headers and return memory maps."""
        for name, (shape, kind) in self.columns.items():
            entry = {"descr": np.lib.format.dtype_to_descr(kind), "fortran_order": False, "shape": (n_rows, *shape)}
            text = repr(entry).encode("latin1").ljust(_HEADER - 11) + b"\n"
            self._write_at(name, 0, np.lib.format.magic(1, 0) + (_HEADER - 10).to_bytes(2, "little") + text)
        return {name: np.load(self._file(name), mmap_mode="r") for name in self.columns}

    def _file(self, name: str) -> Path:
        return self.path / f"{name}.npy"

    def _write_at(self, name: str, offset: int, content: bytes) -> None:
        descriptor = os.open(self._file(name), os.O_WRONLY | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o666)
        with os.fdopen(descriptor, "wb") as file:
            file.seek(offset)
            file.write(content)
            file.flush()
            os.fsync(descriptor)


class ZarrWriter(Writer):
    """A Zarr group with one array for each result, whose chunks are the blocks."""

    def begin(self) -> None:
        """Make the group and its arrays."""
        zarr = require("zarr", "out")
        group = zarr.open_group(self.path, mode="a")
        for name, (shape, kind) in self.columns.items():
            if name not in group:
                whole, chunks = (self.n_rows or 0, *shape), (self.block_rows, *(max(size, 1) for size in shape))
                group.create_array(name, shape=whole, chunks=chunks, dtype=kind)

    def write(self, start: int, found: Mapping[str, NDArray[Any]]) -> None:
        """Write the results of a block."""
        group = self._group()
        for name, values in found.items():
            array, end = group[name], start + len(values)
            if array.shape[0] < end:
                array.resize((end, *array.shape[1:]))
            array[start:end] = values

    def finish(self, n_rows: int) -> dict[str, Any]:
        """Return the arrays."""
        group = self._group()
        return {name: group[name] for name in self.columns}

    def _group(self) -> Any:
        return require("zarr", "out").open_group(self.path, mode="r+")


class ParquetWriter(Writer):
    """A folder with one Parquet file for each block, and columns label, confidence and those of the coordinates."""

    def begin(self) -> None:
        """Make the folder."""
        require("pyarrow.parquet", "out")
        super().begin()

    def write(self, start: int, found: Mapping[str, NDArray[Any]]) -> None:
        """Write the results of a block; a file is complete or absent."""
        arrow, parquet = require("pyarrow", "out"), require("pyarrow.parquet", "out")
        columns: dict[str, NDArray[Any]] = {"sample": np.arange(start, start + len(found["embedding"]))}
        for name in ("labels", "confidence"):
            if name in found:
                columns[name.removesuffix("s")] = found[name]
        columns |= {f"coordinate {c + 1}": np.ascontiguousarray(each) for c, each in enumerate(found["embedding"].T)}
        with replacing(self.path / f"part-{start // self.block_rows:08d}.parquet") as part:
            parquet.write_table(arrow.table(columns), part)

    def finish(self, n_rows: int) -> dict[str, Any]:
        """Return nothing: the files are read by other tools."""
        return {}


def writer_for(path: Path | None, columns: Columns, n_rows: int | None, block_rows: int) -> Writer:
    """Return the writer for a path, by its ending: .zarr, .parquet, or a folder of .npy files."""
    if path is None:
        return MemoryWriter(columns, n_rows, block_rows)
    kinds: dict[str, type[Writer]] = {".zarr": ZarrWriter, ".parquet": ParquetWriter, "": NpyWriter}
    if path.suffix.lower() not in kinds:
        raise ValueError(
            f"out: expected a path that ends with .zarr or .parquet, or one without ending for a folder of .npy "
            f"files, got {str(path)!r}"
        )
    return kinds[path.suffix.lower()](path, columns, n_rows, block_rows)
