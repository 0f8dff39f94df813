"""What one file holds: NumPy arrays, a table, AnnData or MuData. Nothing here unpickles.

A reader for each kind of file turns a `Request` into `Contents`; `READERS` knows which by the suffix. Packages that few
need, or that take long to import, are imported by the reader that uses them.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._graphs.views import Matrix, check_matrix

PICKLE_ADVICE = "a pickle can run any code when it is read; save the views with np.savez"

# A column of one of these names holds sample names; the last is pandas' name of a first column that has none.
_NAME_COLUMNS = frozenset({"index", "id", "sample", "cell", "barcode", "", "unnamed: 0"})

# Long lists in messages are cut here.
_LISTED = 12


class FileError(ValueError):
    """A file that cannot be read as views; the message names it."""


@dataclass(frozen=True)
class Contents:
    """What a reader found: what was asked for, and the names of what could be asked for."""

    views: dict[str, Matrix]
    view_names: list[str]
    sample_names: list[str] | None = None
    labels: NDArray[Any] | None = None
    label_names: list[str] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Request:
    """What is wanted of one file, and how to refuse it."""

    path: Path
    suffix: str
    select: Sequence[str] | None
    drop_columns: Sequence[str]
    labels: str | None

    @property
    def stem(self) -> str:
        """The name of the file without its suffix."""
        return self.path.name[: -len(self.suffix)]

    def rank(self, name: str) -> int:
        """Return the place of a view in the selection, named alone or after the file's stem, or -1."""
        places = (i for i, wanted in enumerate(self.select or ()) if wanted in (name, f"{self.stem}/{name}"))
        return next(places, -1)

    def wants(self, name: str, *, unasked: bool = True) -> bool:
        """Tell whether to read a view; `unasked` is the answer when nothing is selected."""
        return unasked if self.select is None else self.rank(name) >= 0

    def source(self, name: str) -> str:
        """Return where a view comes from."""
        return str(self.path) if name == self.stem else f"{self.path}: {name}"

    def matrix(self, name: str, X: Any) -> Matrix:
        """Return a view's matrix if it is 2-D, finite and not empty."""
        if hasattr(X, "check_format"):
            # SciPy trusts the indices of a file, and wrong ones would make it read outside of its arrays.
            with self.reading("a sparse matrix"):
                X.check_format(full_check=True)
        try:
            matrix = check_matrix(X, self.source(name))
        except (TypeError, ValueError) as error:
            raise FileError(str(error)) from error
        if 0 in matrix.shape:
            rows, columns = matrix.shape
            raise FileError(f"{self.source(name)}: expected rows and columns, got {rows} rows and {columns} columns")
        return matrix

    def classes(self, values: Any, missing: NDArray[np.bool_]) -> NDArray[Any]:
        """Return labels as numbers or text, one for every sample."""
        if missing.any():
            row = int(missing.argmax())
            raise FileError(f"{self.path}: expected a class for every sample in {self.labels!r}, got none at row {row}")
        array = np.asarray(values)
        return array if array.dtype.kind in "biufU" else array.astype(str)

    def package(self, module: str, extra: str) -> Any:
        """Return an optional package."""
        try:
            return importlib.import_module(module)
        except ImportError as error:
            package = module.partition(".")[0]
            raise FileError(
                f"{self.path}: reading {self.suffix} needs {package}: pip install 'mdt_fast[{extra}]'"
            ) from error

    @contextmanager
    def reading(self, expected: str) -> Iterator[None]:
        """Name the file in whatever a library says of it."""
        try:
            yield
        except (FileError, MemoryError):
            raise
        # Damaged files make libraries raise nearly anything: zlib.error, TokenError, errors of their own.
        except Exception as error:
            advice = f"; {PICKLE_ADVICE}" if "Object arrays" in str(error) else ""
            raise FileError(
                f"{self.path}: expected {expected}, got a damaged or different file ({error}){advice}"
            ) from error


def listed(names: Sequence[str]) -> str:
    """Return names for a message."""
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return (", ".join(map(repr, names[:_LISTED])) or "none") + more


def _read_numpy(request: Request) -> Contents:
    expected = "arrays saved by np.save or np.savez"
    with request.reading(expected), request.path.open("rb") as file:
        # NumPy takes whatever begins otherwise for a pickle.
        if file.read(2) not in (b"\x93N", b"PK"):
            raise FileError(f"{request.path}: expected {expected}, got an empty file or one of another kind")
        file.seek(0)
        loaded = np.load(file, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            return _one_view(request, loaded)
        with loaded as archive:
            if {"format", "shape", "data"} <= set(archive.files):
                return _one_view(request, sparse.load_npz(request.path))
            return _read_archive(request, archive)


def _one_view(request: Request, X: Any) -> Contents:
    views = {request.stem: request.matrix(request.stem, X)} if request.wants(request.stem) else {}
    return Contents(views, [request.stem])


def _read_archive(request: Request, archive: Any) -> Contents:
    views, labels = {}, None
    for key in archive.files:
        if key == request.labels:
            labels = _flat_classes(request, np.asarray(archive[key]))
        elif request.wants(key):
            array = np.asarray(archive[key])
            # Names and classes often lie beside the views. An array of three axes is more likely a mistake.
            if request.select is not None or (array.ndim > 1 and array.dtype.kind in "biufc"):
                views[key] = request.matrix(key, array)
    return Contents(views, [key for key in archive.files if key != request.labels], None, labels, archive.files)


def _flat_classes(request: Request, array: NDArray[Any]) -> NDArray[Any]:
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise FileError(f"{request.path}: expected a 1-D array of labels {request.labels!r}, got {array.ndim}-D")
    return request.classes(array, array != array)


def _read_text(request: Request) -> Contents:
    pandas = request.package("pandas", "cli")
    separator, others = (",", ";\t") if request.suffix.startswith(".csv") else ("\t", ";,")
    options = {
        "sep": separator,
        "compression": "gzip" if request.suffix.endswith(".gz") else None,
        "encoding": "utf-8-sig",
        "low_memory": False,
    }
    with request.reading("a table of UTF-8 text with a header row"):
        header = [str(column) for column in pandas.read_csv(request.path, nrows=0, **options).columns]
        _check_header(request, header, separator, others)
        as_text = {column: str for column in header if _holds_names(column)}
        frame = pandas.read_csv(request.path, dtype=as_text, **options)
    return _read_frame(request, frame, pandas)


def _check_header(request: Request, header: list[str], separator: str, others: str) -> None:
    for other in others if len(header) == 1 else "":
        if other in header[0]:
            raise FileError(
                f"{request.path}: expected columns separated by {separator!r}, got {other!r} in the header; "
                "tables are read with commas (.csv) or tabs (.tsv)"
            )
    # Whole numbers may be names: pandas writes 0, 1, 2 above columns without any. The first cell may name a sample.
    cells = header if _is_number(header[0]) else header[1:]
    if all(map(_is_number, cells)) and not all(map(str.isdigit, cells)):
        raise FileError(f"{request.path}: expected a header row of column names, got numbers: {listed(cells)}")


def _is_number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _read_parquet(request: Request) -> Contents:
    pandas = request.package("pandas", "cli")
    request.package("pyarrow", "cli")
    with request.reading("a Parquet table"):
        frame = pandas.read_parquet(request.path, engine="pyarrow")
    return _read_frame(request, frame, pandas)


def _read_frame(request: Request, frame: Any, pandas: Any) -> Contents:
    frame.columns = columns = [str(column) for column in frame.columns]
    if frame.empty:
        raise FileError(f"{request.path}: expected rows and columns, got {len(frame)} rows and {len(columns)} columns")
    labels = None
    if request.labels in columns:
        column = frame.pop(request.labels)
        labels = request.classes(column, column.isna().to_numpy())
    frame = frame.drop(columns=[column for column in request.drop_columns if column in frame.columns])
    names = _take_names(request, frame, pandas)
    views = {}
    if request.wants(request.stem) and len(frame.columns):
        _check_numbers(request, frame, pandas)
        views[request.stem] = request.matrix(request.stem, frame)
    return Contents(views, [request.stem], names, labels, columns, columns)


def _holds_names(column: str) -> bool:
    return column.strip().lower() in _NAME_COLUMNS


def _take_names(request: Request, frame: Any, pandas: Any) -> list[str] | None:
    """Take the sample names out of a table."""
    advice = ""
    if frame.index.nlevels > 1:
        raise FileError(
            f"{request.path}: expected one name in a row, got {frame.index.nlevels} fields without a header"
        )
    if not isinstance(frame.index, pandas.RangeIndex):
        where, names = "the index", frame.index.to_series()
    else:
        text = [column for column in frame.columns[:1] if _to_numbers(frame[column], pandas).isna().all()]
        found = [*filter(_holds_names, frame.columns), *text]
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
    """Refuse text and gaps here, where columns still have their names."""
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
    """Return a column of numbers as it is, any other with gaps for what is no number."""
    if pandas.api.types.is_numeric_dtype(column):
        return column
    return pandas.to_numeric(column.astype(object), errors="coerce")


def _read_anndata(request: Request) -> Contents:
    with _open_hdf5(request) as (file, read):
        elements = _elements(file)
        wanted = [name for name in elements if request.wants(name, unasked=name == "X")]
        obs = _read_obs(request, file, read)
        views = {name: _read_element(request, name, file[name], read, obs.index) for name in wanted}
        labels = _find_classes(request, [obs], obs.index)
    return Contents(views, elements, list(obs.index), labels, list(obs.columns))


def _read_mudata(request: Request) -> Contents:
    with _open_hdf5(request) as (file, read):
        modalities = file["mod"]
        places = {
            modality if element == "X" else f"{modality}/{element}": (modality, element)
            for modality in modalities.attrs.get("mod-order", list(modalities))
            for element in _elements(modalities[modality])
        }
        wanted = [name for name, (_, element) in places.items() if request.wants(name, unasked=element == "X")]
        obs = {
            modality: _read_obs(request, modalities[modality], read)
            for modality in dict.fromkeys(places[name][0] for name in wanted or places)
        }
        cells = _common_cells(request, {modality: table.index for modality, table in obs.items()})
        views = {}
        for name in wanted:
            modality, element = places[name]
            index = obs[modality].index
            views[name] = _read_element(request, name, modalities[modality][element], read, index)
            if not index.equals(cells):
                views[name] = views[name][index.get_indexer(cells)]
        everywhere = _read_obs(request, file, read)
        labels = _find_classes(request, [everywhere, *obs.values()], cells)
    columns = dict.fromkeys(column for table in (everywhere, *obs.values()) for column in table.columns)
    return Contents(views, list(places), list(cells), labels, list(columns))


@contextmanager
def _open_hdf5(request: Request) -> Iterator[tuple[Any, Callable[[Any], Any]]]:
    """Open a file whose elements are read one by one, so that the others stay on the disk."""
    read = request.package("anndata.io", "scverse").read_elem
    h5py = request.package("h5py", "scverse")
    with request.reading("an HDF5 file written by anndata or mudata"), h5py.File(request.path, "r") as file:
        yield file, read


def _elements(group: Any) -> list[str]:
    inner = [f"{part}/{key}" for part in ("layers", "obsm") for key in group.get(part, ())]
    # An AnnData without X leaves it out of the file, or writes a null there.
    has_x = "X" in group and group["X"].attrs.get("encoding-type") != "null"
    return ["X", *inner] if has_x else inner


def _read_obs(request: Request, group: Any, read: Callable[[Any], Any]) -> Any:
    if group["obs"].attrs.get("encoding-type") != "dataframe":
        raise FileError(f"{request.path}: expected a file of anndata 0.7 or later, got another; write it anew")
    obs = read(group["obs"])
    obs.index = obs.index.astype(str)
    return obs


def _read_element(request: Request, name: str, group: Any, read: Callable[[Any], Any], index: Any) -> Matrix:
    matrix = request.matrix(name, read(group))
    if matrix.shape[0] != len(index):
        raise FileError(f"{request.source(name)}: expected {len(index)} rows, as obs has, got {matrix.shape[0]}")
    return matrix


def _common_cells(request: Request, indexes: dict[str, Any]) -> Any:
    for modality, index in indexes.items():
        if not index.is_unique:
            repeated = index[index.duplicated()][0]
            raise FileError(f"{request.path}: expected unique cell names in {modality!r}, got {repeated!r} twice")
    first, *others = indexes.values()
    cells = first
    for other in others:
        cells = cells[cells.isin(other)]
    if not len(cells):
        raise FileError(f"{request.path}: expected cells that are in each of {listed(list(indexes))}, got none")
    return cells


def _find_classes(request: Request, tables: Sequence[Any], cells: Any) -> NDArray[Any] | None:
    for table in tables:
        if request.labels in table.columns:
            column = table[request.labels]
            if not table.index.equals(cells):
                column = column.reindex(cells)
            return request.classes(column, column.isna().to_numpy())
    return None


READERS: dict[str, Callable[[Request], Contents]] = {
    ".npy": _read_numpy,
    ".npz": _read_numpy,
    ".csv": _read_text,
    ".csv.gz": _read_text,
    ".tsv": _read_text,
    ".tsv.gz": _read_text,
    ".parquet": _read_parquet,
    ".h5ad": _read_anndata,
    ".h5mu": _read_mudata,
}
