"""Sources of several views, whose blocks have the same rows."""

from __future__ import annotations

import importlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._graphs.presence import is_nan_row
from .._graphs.readable import has_columns
from .._graphs.views import check_names, is_named, read_matrix
from .._support.arguments import first_true
from .dask_array import DaskSource, is_dask
from .files import open_file
from .sliced import SlicedSource, is_sliced
from .source import RangeSource, RowSource
from .streamed import StreamedSource


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows of all views.

    Attributes
    ----------
    number : int
        Its place among the blocks.
    start : int
        The number of its first row.
    n_rows : int
        Number of rows.
    views : list
        The rows of each view, an array, sparse matrix or data frame; None if the block was not wanted.
    """

    number: int
    start: int
    n_rows: int
    views: list[Any] | None


@dataclass(frozen=True, eq=False)
class ViewSources:
    """The sources of some views of the same samples.

    Attributes
    ----------
    sources : list of RowSource
        A source for each view.
    names : list of str or None
        Names of the views; None if they are given by their order.
    is_bare : bool
        Whether one source was given, not a list or dict.
    n_rows : int or None
        Number of rows; None if every view is an iterator.
    """

    sources: list[RowSource]
    names: list[str] | None
    is_bare: bool
    n_rows: int | None

    @classmethod
    def of(cls, X: Any, argument: str = "X") -> ViewSources:
        """Return the sources of views: one, or a list, tuple or dict of them."""
        if is_named(X):
            names = [str(name) for name in X]
            check_names(names, argument)
            pairs = list(zip(names, X.values(), strict=True))
        elif isinstance(X, (list, tuple)):
            names, pairs = None, [(f"view {v}", given) for v, given in enumerate(X)]
        else:
            names, pairs = None, [("view 0", X)]
        if not pairs:
            raise ValueError(f"{argument}: expected at least one view, got none")
        sources = [source_of(given, f"{argument} ({name})") for name, given in pairs]
        sizes = {source.label: source.n_rows for source in sources if source.n_rows is not None}
        if len(set(sizes.values())) > 1:
            got = ", ".join(f"{label} has {size:,}" for label, size in sizes.items())
            raise ValueError(f"{argument}: expected the same number of samples in every view, got {got}")
        is_bare = not isinstance(X, (list, tuple)) and not is_named(X)
        return cls(sources, names, is_bare, next(iter(sizes.values()), None))

    @property
    def is_repeatable(self) -> bool:
        """Whether the rows can be read a second time."""
        return all(source.is_repeatable for source in self.sources)

    def counted(self, rows: int) -> ViewSources:
        """Return the sources with a known number of rows; iterators are read once for it."""
        if self.n_rows is not None:
            return self
        return replace(self, n_rows=sum(block.n_rows for block in self.blocks(rows, check=False)))

    def as_given(self, parts: list[Any]) -> Any:
        """Return some rows of each view in the form in which the views were given."""
        if self.is_bare:
            return parts[0]
        return parts if self.names is None else dict(zip(self.names, parts, strict=True))

    def blocks(self, rows: int, wanted: Callable[[int], bool] | None = None, *, check: bool = True) -> Iterator[Block]:
        """Yield blocks of `rows` rows of all views.

        A block for which ``wanted(number)`` is False has no rows, and is not read if it need not be.
        """
        # A source of ranges is read here, so that it needs to know nothing of iterators.
        streams = [s.blocks(rows) if isinstance(s, StreamedSource) else None for s in self.sources]
        start = number = 0
        while self.n_rows is None or start < self.n_rows:
            streamed = [None if stream is None else next(stream, None) for stream in streams]
            sizes = {s.label: part.shape[0] for s, part in zip(self.sources, streamed, strict=True) if part is not None}
            ended = [s.label for s, i, part in zip(self.sources, streams, streamed, strict=True) if i and part is None]
            n = self._rows_at(start, rows, sizes, ended)
            if not n:
                return
            parts = None
            if wanted is None or wanted(number):
                parts = [
                    source.checked(start, start + n) if isinstance(source, RangeSource) else part
                    for source, part in zip(self.sources, streamed, strict=True)
                ]
                if check:
                    check_block(parts, [source.label for source in self.sources], number, start)
            yield Block(number, start, n, parts)
            start, number = start + n, number + 1
        self._check_ends(streams)

    def _rows_at(self, start: int, rows: int, sizes: dict[str, int], ended: list[str]) -> int:
        """Return the number of rows of the block from `start` on; views that end elsewhere are an error."""
        expected = None if self.n_rows is None else min(rows, self.n_rows - start)
        if not sizes and not ended:
            assert expected is not None
            return expected
        found = {**sizes, **dict.fromkeys(ended, 0)}
        if expected is None and not sizes:
            return 0
        most = max(found.values()) if expected is None else expected
        for label, size in found.items():
            if size != most:
                others = f"{self.n_rows:,} rows" if self.n_rows is not None else "as many rows as in the other views"
                how = "an end" if size < most else "more rows"
                raise ValueError(f"{label}: expected {others}, got {how} after row {start + min(size, most) - 1}")
        return most

    def _check_ends(self, streams: list[Iterator[Any] | None]) -> None:
        """Raise ValueError for an iterator with more rows than the other views."""
        for source, stream in zip(self.sources, streams, strict=True):
            if stream is not None and next(stream, None) is not None:
                raise ValueError(f"{source.label}: expected {self.n_rows:,} rows, got more")

    def take(self, chosen: NDArray[np.intp], rows: int) -> list[Any]:
        """Return some rows of each view, by their numbers in ascending order."""
        numbers = chosen // rows
        has_some = set(np.unique(numbers).tolist())
        parts: list[list[Any]] = [[] for _ in self.sources]
        for block in self.blocks(rows, has_some.__contains__, check=False):
            if block.views is None:
                continue
            own = chosen[np.searchsorted(numbers, block.number) : np.searchsorted(numbers, block.number, "right")]
            places = own - block.start
            picked = [view.iloc[places] if hasattr(view, "iloc") else view[places] for view in block.views]
            check_block(picked, [source.label for source in self.sources], block.number, own)
            for part, rows_of_view in zip(parts, picked, strict=True):
                part.append(rows_of_view)
        return [_joined(part) for part in parts]


def source_of(X: Any, label: str) -> RowSource:
    """Return the source of one view, by the type of what was given."""
    if isinstance(X, RowSource):
        return X
    if isinstance(X, (str, os.PathLike)):
        return open_file(X, label)
    if is_dask(X):
        return DaskSource(X, label)
    if hasattr(X, "obsm") and hasattr(X, "X"):
        # An AnnData, in memory or on disk.
        return source_of(X.X, label)
    if is_sliced(X):
        return SlicedSource(X, label)
    if callable(X) or isinstance(X, Iterator):
        return StreamedSource(X, label)
    if isinstance(X, (list, tuple)):
        return SlicedSource(read_matrix(X, label), label)
    raise TypeError(
        f"{label}: expected an array, a file, a Dask array, or an iterator of row blocks, got {type(X).__name__}"
    )


def check_block(parts: list[Any], labels: list[str], number: int, start: int | NDArray[np.intp]) -> None:
    """Raise ValueError for a number that is not finite, and for a sample that no view has; rows are those of the store.

    `start` is the number of the first row, or the numbers of all rows.
    """

    def at(row: int) -> str:
        return f"row {start + row if isinstance(start, int) else start[row]} (block {number})"

    nowhere = None
    for X, label in zip(parts, labels, strict=True):
        matrix = read_matrix(X, f"{label}, block {number}")
        finite = np.isfinite(matrix.data if sparse.issparse(matrix) else matrix)
        if finite.all():
            nowhere = np.zeros(matrix.shape[0], dtype=bool)
            continue
        absent = is_nan_row(matrix)
        if sparse.issparse(matrix):
            bad = np.zeros(matrix.shape[0], dtype=bool)
            bad[np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))[~finite]] = True
        else:
            bad = ~finite.all(axis=1)
        if (row := first_true(bad & (~absent if len(parts) > 1 else True))) is not None:
            values = matrix[[row]].toarray()[0] if sparse.issparse(matrix) else matrix[row]
            column = int((~np.isfinite(values)).argmax())
            raise ValueError(
                f"{label}: expected finite numbers, got {values[column]} at {at(row)}, column {column}"
                + ("; a row of NaN only is a sample that the view lacks" if len(parts) > 1 else "")
            )
        nowhere = absent if nowhere is None else nowhere & absent
    if nowhere is not None and (row := first_true(nowhere)) is not None:
        raise ValueError(f"X: expected every sample in at least one view, got none at {at(row)}")


def _joined(parts: list[Any]) -> Any:
    if not parts:
        raise ValueError("landmarks: expected at least one row, got none")
    if sparse.issparse(parts[0]):
        return sparse.csr_array(sparse.vstack(parts, format="csr"))
    if has_columns(parts[0]):
        # pandas, or another package of frames, such as polars.
        package = importlib.import_module(type(parts[0]).__module__.partition(".")[0])
        return package.concat(parts)
    return np.concatenate(parts)
