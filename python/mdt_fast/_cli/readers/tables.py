"""Readers of tables: CSV, TSV and Parquet. A table is one view; pandas is required."""

import gzip
import io
import math
from collections.abc import Callable
from typing import IO, Any

import numpy as np

from ..._support.text import from_cell
from .request import Contents, FileError, Request, format_names

# Names of columns that hold sample names. pandas calls a first column without a name "Unnamed: 0".
_NAME_COLUMNS = frozenset({"index", "id", "sample", "cell", "barcode", "", "unnamed: 0"})


def read_text(request: Request) -> Contents:
    """Read a table of text with a header row, separated by commas or tabs."""
    pandas = request.require("pandas")
    separator, others = (",", ";\t") if request.suffix.startswith(".csv") else ("\t", ";,")
    options = {"sep": separator, "encoding": "utf-8-sig", "low_memory": False}
    # Exact, as the numbers were written. The default of pandas 2.3 crashes at some long exponents.
    options["float_precision"] = "round_trip"
    with request.reading("a table of UTF-8 text with a header row"):
        with _open_text(request) as file:
            header = [str(column) for column in pandas.read_csv(file, nrows=0, **options).columns]
        _check_header(request, header, separator, others)
        as_text = {column: str for column in header if _is_name_column(column)}
        with _open_text(request) as file:
            frame = pandas.read_csv(file, dtype=as_text, **options)
    return _read_frame(request, frame, pandas, restore=from_cell)


def _open_text(request: Request) -> IO[bytes]:
    """Open a table as bytes, unpacked and checked."""
    is_packed = request.suffix.endswith(".gz")
    return io.BufferedReader(_Checked(gzip.open(request.path) if is_packed else request.path.open("rb"), request))


class _Checked(io.RawIOBase):
    """A stream that raises FileError at a null byte, and after more bytes than may be read.

    pandas 2.3 crashes at some null bytes.
    """

    def __init__(self, stream: Any, request: Request) -> None:
        self._stream, self._request = stream, request
        self._n_read = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._stream.read(len(buffer))
        self._n_read += len(data)
        self._request.check_size(self._request.stem, self._n_read)
        if b"\0" in data:
            raise FileError(f"{self._request.path}: expected a table of UTF-8 text, got a null byte")
        buffer[: len(data)] = data
        return len(data)

    def close(self) -> None:
        self._stream.close()
        super().close()


def read_parquet(request: Request) -> Contents:
    """Read a Parquet table."""
    pandas = request.require("pandas")
    request.require("pyarrow")
    with request.reading("a Parquet table"):
        from pyarrow import parquet

        with parquet.ParquetFile(request.path) as file:
            about = file.metadata
            unpacked = sum(about.row_group(i).total_byte_size for i in range(about.num_row_groups))
            # Equal values of a column are stored once, but read as often as they occur.
            request.check_size(request.stem, max(unpacked, 8 * about.num_rows * about.num_columns))
        frame = pandas.read_parquet(request.path, engine="pyarrow")
    return _read_frame(request, frame, pandas)


def _check_header(request: Request, header: list[str], separator: str, others: str) -> None:
    """Refuse a header with another separator, and a row of numbers in place of a header."""
    for other in others if len(header) == 1 else "":
        if other in header[0]:
            raise FileError(
                f"{request.path}: expected columns separated by {separator!r}, got {other!r} in the header; "
                "tables are read with commas (.csv) or tabs (.tsv)"
            )
    # Integers are valid names: pandas writes 0, 1, 2 for columns without names. The first cell may
    # be a sample name.
    cells = header if _is_number(header[0]) else header[1:]
    if all(map(_is_number, cells)) and not all(map(str.isdigit, cells)):
        raise FileError(f"{request.path}: expected a header row of column names, got numbers: {format_names(cells)}")


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _read_frame(request: Request, frame: Any, pandas: Any, restore: Callable[[str], str] = str) -> Contents:
    """Convert a table; `restore` is applied to sample names and to classes that are text."""
    frame.columns = columns = [str(column) for column in frame.columns]
    if frame.empty:
        raise FileError(f"{request.path}: expected rows and columns, got {len(frame)} rows and {len(columns)} columns")
    labels = None
    if request.labels in columns:
        column = frame.pop(request.labels)
        if not pandas.api.types.is_numeric_dtype(column):
            column = column.map(lambda value: restore(value) if isinstance(value, str) else value)
        labels = request.to_labels(column, column.isna().to_numpy())
    frame = frame.drop(columns=[column for column in request.drop_columns if column in frame.columns])
    names = _pop_names(request, frame, pandas)
    names = None if names is None else [restore(name) for name in names]
    views = {}
    if request.wants(request.stem) and len(frame.columns):
        _check_numbers(request, frame, pandas)
        views[request.stem] = request.to_view(request.stem, frame)
    return Contents(request, views, [request.stem], names, labels, columns, columns)


def _is_name_column(column: str) -> bool:
    return column.strip().lower() in _NAME_COLUMNS


def _pop_names(request: Request, frame: Any, pandas: Any) -> list[str] | None:
    """Return the sample names of a table, and remove their column from it."""
    advice = ""
    if frame.index.nlevels > 1:
        raise FileError(
            f"{request.path}: expected one name in a row, got {frame.index.nlevels} fields without a header"
        )
    if not isinstance(frame.index, pandas.RangeIndex):
        where, names = "the index", frame.index.to_series()
    else:
        text = [column for column in frame.columns[:1] if _to_numbers(frame[column], pandas).isna().all()]
        found = [*filter(_is_name_column, frame.columns), *text]
        if not found:
            return None
        where, names = f"column {found[0]!r}", frame.pop(found[0])
        advice = f"; leave it out with --drop-columns {found[0]!r}, or read it as classes with --labels {found[0]!r}"
    if names.isna().any():
        row = int(names.isna().to_numpy().argmax())
        raise FileError(
            f"{request.path}: expected a sample name in every row of {where}, got none at row {row}{advice}"
        )
    repeated = names[names.duplicated()]
    if len(repeated):
        raise FileError(
            f"{request.path}: expected unique sample names in {where}, got {str(repeated.iloc[0])!r} twice{advice}"
        )
    return [str(name) for name in names]


def _check_numbers(request: Request, frame: Any, pandas: Any) -> None:
    """Refuse text and missing values while the columns still have names for the message."""
    for name, column in frame.items():
        numbers = _to_numbers(column, pandas)
        bad = ~np.isfinite(numbers.to_numpy(dtype=np.float64, na_value=np.nan))
        if bad.any() or numbers is not column:
            row = int(bad.argmax())
            value = column.iloc[row]
            raise FileError(
                f"{request.path}: expected finite numbers in column {name!r}, "
                f"got {repr(value) if isinstance(value, str) else value} at row {row}; "
                f"leave the column out with --drop-columns {name!r}"
            )


def _to_numbers(column: Any, pandas: Any) -> Any:
    """Return a numeric column unchanged, another one with NaN in place of other values."""
    if pandas.api.types.is_numeric_dtype(column):
        return column
    # Not by pandas.to_numeric, which crashes at some long exponents.
    return pandas.Series(list(map(_number, column)), index=column.index, dtype=np.float64)


def _number(value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
