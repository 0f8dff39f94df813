"""The rows of a study, in a CSV file to which rows are only appended.

A row is one clustering. Written rows never change: an interrupted study resumes after its last row,
and studies of other data sets, methods or seeds may share the file, also at the same time: rows are
appended under a lock. Text that a spreadsheet would take for a formula is written with an apostrophe.
"""

from __future__ import annotations

import csv
import functools
import io
import math
import os
import reprlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

from .._support.files import locked
from .._support.reading import check_size
from .._support.text import from_cell, to_cells

MEASURES = ("ami", "ari", "nmi", "acc", "ch")


@dataclass(frozen=True)
class Row:
    """One clustering of one data set.

    Attributes
    ----------
    dataset, method, preset : str
        Names. The preset None is "".
    random_state, search, run : int
        Seed of the study, number of the search (or draw), number of the clustering.
    key : str
        Digest of everything that the result depends on except `search`, `run` and `version`.
    version : str
        Version of this package.
    n_samples, n_clusters, t, length : int
        Numbers of samples and classes, diffusion time, steps of the trajectory (0 without one).
    n_evaluations : int
        Number of candidates of the search.
    seconds : float
        Duration of the search, draw or embedding; on one thread if there are several workers.
    converged : bool
        Whether every result is within its tolerance.
    ami, ari, nmi, acc : float
        Agreement with the classes: adjusted mutual information, adjusted Rand index, normalised
        mutual information, share of samples in the right class under the best matching of clusters
        and classes.
    ch : float
        Calinski-Harabasz score of the clusters on the rows of the operators.
    """

    dataset: str
    method: str
    preset: str
    random_state: int
    search: int
    run: int
    key: str
    version: str
    n_samples: int
    n_clusters: int
    t: int
    length: int
    n_evaluations: int
    seconds: float
    converged: bool
    ami: float
    ari: float
    nmi: float
    acc: float
    ch: float


_COLUMNS = [each.name for each in fields(Row)]
# Undefined for some labels.
_MAY_BE_NAN = ("ch",)
# Seeds have 64 bits.
_LARGEST = 2**64 - 1
_FLAGS = {"True": True, "False": False}


def _read_integer(text: str) -> int:
    value = int(text)
    if not 0 <= value <= _LARGEST:
        raise ValueError
    return value


def _read_number(text: str, *, may_be_nan: bool = False) -> float:
    value = float(text)
    if not math.isfinite(value) and not (may_be_nan and math.isnan(value)):
        raise ValueError
    return value


_READERS: dict[Any, Any] = {"str": from_cell, "int": _read_integer, "float": _read_number, "bool": _FLAGS.__getitem__}
_TYPES: list[Any] = [
    functools.partial(_read_number, may_be_nan=True) if each.name in _MAY_BE_NAN else _READERS[each.type]
    for each in fields(Row)
]


class RowFile:
    """Rows in memory, and in a file if there is a path; several studies may append to one file."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        # Bytes at the beginning of the file that are known to be complete rows.
        self._n_known = 0
        self.rows: list[Row] = []
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            if self._path.exists():
                self.rows = read_rows(self._path)
            self._append([])

    def add(self, rows: Iterable[Row]) -> None:
        """Add rows, and write them to the disk before returning."""
        new = list(rows)
        self.rows += new
        if self._path is not None and new:
            self._append([list(astuple(row)) for row in new])

    def _append(self, lines: Sequence[Sequence[Any]]) -> None:
        assert self._path is not None
        with locked(self._path), self._path.open("ab+") as file:
            size = file.seek(0, os.SEEK_END)
            known = self._n_known if self._n_known <= size else 0
            file.seek(known)
            end = known + _complete(file.read())
            if end < size:
                # A crash left the last line incomplete.
                file.truncate(end)
            text = io.StringIO()
            # csv writes repr(x), the shortest text that reads back as the same float.
            writer = csv.writer(text, lineterminator="\n")
            writer.writerows([_COLUMNS] if end == 0 else [])
            writer.writerows(map(to_cells, lines))
            data = text.getvalue().encode()
            try:
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
                self._n_known = end + len(data)
            except OSError:
                # On a full disk a part may have been written.
                with suppress(OSError):
                    file.truncate(end)
                raise


def _complete(content: bytes) -> int:
    """Return the length of the complete rows; a line break between quotes ends no row.

    Raises
    ------
    ValueError
        If complete rows follow an open quote: the file was damaged, and nothing of it may be removed.
    """
    end = position = 0
    is_open = False
    since: list[bytes] = []
    for line in content.splitlines(keepends=True):
        position += len(line)
        is_odd = line.count(b'"') % 2 == 1
        is_open ^= is_odd
        if not is_open and line.endswith(b"\n"):
            end, since = position, []
        elif not is_odd:
            since.append(line)
    if is_open and any(_is_row(line) for line in since):
        raise ValueError("rows: expected quotes in pairs, got an open quote before the last row")
    return end


def _is_row(line: bytes) -> bool:
    return len(next(csv.reader([line.decode("utf-8", "replace")]), [])) == len(_COLUMNS)


def read_rows(path: str | os.PathLike[str]) -> list[Row]:
    """Read the rows of a study.

    A last line that a crash left incomplete is ignored; the next study that adds rows removes it.

    Parameters
    ----------
    path : path
        A file written by :func:`run` or :meth:`Study.save`.

    Returns
    -------
    list of Row

    Raises
    ------
    IsADirectoryError
        If the path is a folder.
    ValueError
        If the file has other columns, or a line with other values.
    """
    refusal = f"rows: expected a file with the columns {', '.join(_COLUMNS)}, got {path}"
    try:
        check_size(f"rows: {os.fspath(path)}", Path(path).stat().st_size)
        content = Path(path).read_bytes()
    except IsADirectoryError:
        raise IsADirectoryError(f"{refusal}, a folder") from None
    whole = content[: _complete(content)]
    try:
        lines = list(csv.reader(io.StringIO(whole.decode("utf-8"))))
    except (UnicodeDecodeError, csv.Error):
        raise ValueError(refusal) from None
    begun = not lines and ",".join(_COLUMNS).encode().startswith(content)
    if not begun and (not lines or lines[0] != _COLUMNS):
        raise ValueError(refusal)
    rows = []
    for number, line in enumerate(lines[1:], start=2):
        try:
            rows.append(Row(*(read(text) for read, text in zip(_TYPES, line, strict=True))))
        except (ValueError, KeyError):
            expected = f"{len(_COLUMNS)} values within their ranges in line {number} of {path}"
            raise ValueError(f"rows: expected {expected}, got {reprlib.repr(line)}") from None
    return rows
