"""Parquet files: their row groups are read one at a time."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.extras import require
from .source import RangeSource


class ParquetSource(RangeSource):
    """A Parquet file, or a folder of them in the order of their names, with columns of numbers."""

    is_shared = True

    def __init__(self, path: Path, label: str) -> None:
        parquet = require("pyarrow.parquet", label)
        paths = sorted(path.rglob("*.parquet")) if path.is_dir() else [path]
        if not paths:
            raise ValueError(f"{label}: expected a folder with .parquet files, got none in {path}")
        self.label, self._paths = label, paths
        self._first: list[int] = []
        self._groups: list[tuple[int, int]] = []
        n_rows, names = 0, None
        for number, each in enumerate(paths):
            file = parquet.ParquetFile(each)
            found = [
                name
                for name in file.schema_arrow.names
                if not (name.startswith("__index_level_") or name in _index_names(file.schema_arrow))
            ]
            if names is not None and found != names:
                raise ValueError(f"{label}: expected the columns of {paths[0].name} in all files, got others in {each}")
            names = found
            for group in range(file.metadata.num_row_groups):
                self._first.append(n_rows)
                self._groups.append((number, group))
                n_rows += file.metadata.row_group(group).num_rows
        self.names = names or []
        self.n_rows, self.n_columns, self.dtype = n_rows, len(self.names), None
        self._parquet = parquet
        # The group that was read last: consecutive blocks share it.
        self._held: tuple[int, Any] | None = None

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return some rows, which may be of several row groups."""
        begin = int(np.searchsorted(self._first, start, side="right")) - 1
        parts = []
        for number in range(begin, len(self._groups)):
            first = self._first[number]
            if first >= stop:
                break
            parts.append(self._group(number)[max(start - first, 0) : stop - first])
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _group(self, number: int) -> NDArray[Any]:
        if self._held is None or self._held[0] != number:
            self._held = None
            file, group = self._groups[number]
            table = self._parquet.ParquetFile(self._paths[file]).read_row_group(group, columns=self.names)
            columns = [column.to_numpy() for column in table.columns]
            kinds = {column.dtype.kind for column in columns}
            if not kinds <= set("biuf"):
                wrong = next(n for n, c in zip(self.names, columns, strict=True) if c.dtype.kind not in "biuf")
                got = f"{table.schema.field(wrong).type} in column {wrong!r}"
                raise TypeError(f"expected columns of numbers, got {got}")
            self._held = number, np.column_stack(columns)
        return self._held[1]

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the module and the rows that are held."""
        return {**self.__dict__, "_parquet": None, "_held": None}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Import the module again."""
        self.__dict__.update(state)
        self._parquet = require("pyarrow.parquet", self.label)


def _index_names(schema: Any) -> set[str]:
    """Return the columns that pandas wrote as the index of a frame."""
    columns = (schema.pandas_metadata or {}).get("index_columns", [])
    return {name for name in columns if isinstance(name, str)}
