"""The rows of a study, in a CSV file to which rows are only appended.

A row is one clustering. Written rows never change: an interrupted study resumes after its last row,
and studies of other data sets, methods or seeds may share the file.
"""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterable, Sequence
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

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
_READERS: dict[Any, Any] = {"str": str, "int": int, "float": float, "bool": {"True": True, "False": False}.__getitem__}
_TYPES = [_READERS[each.type] for each in fields(Row)]


class RowFile:
    """Rows in memory, and in a file if there is a path."""

    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self._path = None if path is None else Path(path)
        self.rows: list[Row] = []
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            if self._path.exists():
                self.rows = read_rows(self._path)
            if not self._path.exists() or not self._path.stat().st_size:
                self._append([_COLUMNS])

    def add(self, rows: Iterable[Row]) -> None:
        """Add rows, and write them to the disk before returning."""
        new = list(rows)
        self.rows += new
        if self._path is not None and new:
            self._append([list(astuple(row)) for row in new])

    def _append(self, lines: Sequence[Sequence[Any]]) -> None:
        assert self._path is not None
        text = io.StringIO()
        # csv writes repr(x), the shortest text that reads back as the same float.
        csv.writer(text, lineterminator="\n").writerows(lines)
        with self._path.open("a", encoding="utf-8", newline="") as file:
            file.write(text.getvalue())
            file.flush()
            os.fsync(file.fileno())


def read_rows(path: str | os.PathLike[str]) -> list[Row]:
    """Read the rows of a study.

    A last line that a crash left incomplete is removed from the file.

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
        content = Path(path).read_bytes()
    except IsADirectoryError:
        raise IsADirectoryError(f"{refusal}, a folder") from None
    whole = content[: content.rfind(b"\n") + 1]
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
            raise ValueError(f"rows: expected {len(_COLUMNS)} values in line {number} of {path}, got {line}") from None
    if len(whole) < len(content):
        with Path(path).open("rb+") as file:
            file.truncate(len(whole))
    return rows
