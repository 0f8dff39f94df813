"""Readers of HDF5 files that anndata and mudata write.

Views are named by their place in the file: "X", "layers/..." and "obsm/...", in an .h5mu file after
the name of the modality. Without a selection, the view of an AnnData object is "obsm/X_pca" if there is
one, because X has thousands of noisy columns, and X otherwise. Elements are read one by one; elements
that are not requested are not read. Shapes are compared with the limit of memory before reading: a
dataset without stored chunks may have any shape.
"""

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._graphs.presence import has_samples
from ..._graphs.views import View
from .request import Contents, FileError, Request, SampleCount, format_names

# The element that is read without a selection, if there is one.
_PREFERRED = "obsm/X_pca"
# Number of columns of X from which a note recommends principal components.
_MANY = 1000


def read_anndata(request: Request) -> Contents:
    """Read an .h5ad file."""
    with _open_hdf5(request) as (file, read):
        elements = elements_of(file)
        default = _default_element(elements)
        wanted = [name for name in elements if request.wants(name, by_default=name == default)]
        obs = _read_obs(request, file, read)
        views = {name: _read_element(request, name, file[name], read, obs.index) for name in wanted}
        labels = _find_labels(request, [obs], obs.index)
        notes = [] if request.select is not None else _notes(request, "", file, default)
    return Contents(request, views, elements, list(obs.index), labels, list(obs.columns), notes=notes)


def read_mudata(request: Request) -> Contents:
    """Read an .h5mu file: the cells of any requested modality, or those of all if others are left out."""
    with _open_hdf5(request) as (file, read):
        modalities = file["mod"]
        elements = {
            modality: elements_of(modalities[modality])
            for modality in modalities.attrs.get("mod-order", list(modalities))
        }
        places = {
            modality if element == "X" else f"{modality}/{element}": (modality, element)
            for modality, names in elements.items()
            for element in names
        }
        defaults = {modality: _default_element(names) for modality, names in elements.items()}
        wanted = [
            name
            for name, (modality, element) in places.items()
            if request.wants(name, by_default=element == defaults[modality])
        ]
        used = dict.fromkeys(places[name][0] for name in wanted or places)
        obs = {modality: _read_obs(request, modalities[modality], read) for modality in used}
        cells = _join_cells(request, {modality: table.index for modality, table in obs.items()})
        views = {}
        for name in wanted:
            modality, element = places[name]
            index = obs[modality].index
            views[name] = _read_element(request, name, modalities[modality][element], read, index)
            if not index.equals(cells):
                views[name] = _among(views[name], index.get_indexer(cells), cells.get_indexer(index))
        tables = [_read_obs(request, file, read), *obs.values()]
        labels = _find_labels(request, tables, cells)
        notes = []
        if request.select is None:
            for modality in used:
                notes += _notes(request, f"{modality}/", modalities[modality], defaults[modality])
    columns = dict.fromkeys(column for table in tables for column in table.columns)
    counts = {modality: SampleCount(len(table), int(table.index.isin(cells).sum())) for modality, table in obs.items()}
    return Contents(request, views, list(places), list(cells), labels, list(columns), [], counts, notes)


def _default_element(elements: Sequence[str]) -> str:
    return _PREFERRED if _PREFERRED in elements else "X"


def _notes(request: Request, prefix: str, group: Any, default: str) -> list[str]:
    """Say which matrix of an AnnData object is read without a selection, if there is a choice."""
    n_columns = _shape(group["X"])[1:] if "X" in elements_of(group) else ()
    whole = prefix.rstrip("/") or "X"
    if default == _PREFERRED:
        instead = f" instead of the {n_columns[0]:,} columns of X; --select {whole} reads these" if n_columns else ""
        return [f"{request.path}: {prefix}{_PREFERRED} is read{instead}"]
    if n_columns and n_columns[0] >= _MANY:
        return [
            f"{request.path}: all {n_columns[0]:,} columns of {prefix}X are read, because there is no {_PREFERRED}; "
            "principal components of normalised values are usually better"
        ]
    return []


@contextmanager
def _open_hdf5(request: Request) -> Iterator[tuple[Any, Callable[[Any], Any]]]:
    """Open a file; yield it and the function that reads one of its elements."""
    read = request.require("anndata.io").read_elem
    h5py = request.require("h5py")
    with request.reading("an HDF5 file written by anndata or mudata"), h5py.File(request.path, "r") as file:
        yield file, read


def elements_of(group: Any) -> list[str]:
    """Return the names of the matrices of an AnnData object in a file."""
    inner = [f"{part}/{key}" for part in ("layers", "obsm") for key in _keys(group.get(part))]
    # anndata omits a missing X or writes a null element.
    has_x = "X" in group and group["X"].attrs.get("encoding-type") != "null"
    return ["X", *inner] if has_x else inner


def _keys(group: Any) -> list[str]:
    """Return the keys of a group; none of a dataset in its place, which may have any number of rows."""
    return list(group) if hasattr(group, "keys") else []


def _read_obs(request: Request, group: Any, read: Callable[[Any], Any]) -> Any:
    if group["obs"].attrs.get("encoding-type") != "dataframe":
        raise FileError(f"{request.path}: expected a file of anndata 0.7 or later, got another; write it again")
    request.check_size("obs", _n_bytes(request, group["obs"]))
    obs = read(group["obs"])
    obs.index = obs.index.astype(str)
    return obs


def _read_element(request: Request, name: str, group: Any, read: Callable[[Any], Any], index: Any) -> View:
    shape = _shape(group)
    # A data frame in obsm has no shape in its header.
    if shape and shape[0] != len(index):
        raise FileError(f"{request.source(name)}: expected {len(index)} rows, as obs has, got {shape[0]}")
    request.check_size(name, _n_bytes(request, group))
    view = request.to_view(name, read(group))
    if view.n_total != len(index):
        raise FileError(f"{request.source(name)}: expected {len(index)} rows, as obs has, got {view.n_total}")
    return view


def _shape(element: Any) -> tuple[int, ...]:
    """Return the shape of a dense or sparse matrix by its header, or () for other elements."""
    shape = element.attrs.get("shape", ()) if hasattr(element, "keys") else element.shape or ()
    return tuple(int(size) for size in shape)


def _n_bytes(request: Request, element: Any) -> int:
    """Return the number of bytes of all arrays of an element by their headers; refuse those of other files."""
    if (
        element.file.filename != str(request.path)
        or getattr(element, "external", None)
        or getattr(element, "is_virtual", False)
    ):
        raise FileError(f"{request.path}: expected data in the file itself, got {element.name!r} in another file")
    if hasattr(element, "keys"):
        return sum(_n_bytes(request, element[key]) for key in element)
    return math.prod(element.shape or ()) * int(element.dtype.itemsize)


def _join_cells(request: Request, indexes: dict[str, Any]) -> Any:
    """Return the cells of all modalities, in the order of the first one; those of any one, unless they are dropped."""
    for modality, index in indexes.items():
        if not index.is_unique:
            repeated = index[index.duplicated()][0]
            raise FileError(f"{request.path}: expected unique cell names in {modality!r}, got {repeated!r} twice")
    first, *others = indexes.values()
    cells = first
    for other in others:
        drops = request.missing == "drop"
        cells = cells[cells.isin(other)] if drops else cells.append(other[~other.isin(cells)])
    if not len(cells):
        raise FileError(f"{request.path}: expected cells that are in each of {format_names(list(indexes))}, got none")
    for modality, index in indexes.items():
        if request.missing == "error" and len(index) < len(cells):
            raise FileError(
                f"{request.path}: expected the same cells in each of {format_names(list(indexes))}, got "
                f"{len(cells)} in all and {len(index)} in {modality!r}; --missing borrow uses them, --missing drop "
                "leaves them out"
            )
    return cells


def _among(view: View, rows: NDArray[np.intp], places: NDArray[np.intp]) -> View:
    """Return a view among other cells: `rows` are theirs in the view, `places` those of its rows, -1 for none."""
    kept = places >= 0
    if not kept.all():
        has = np.flatnonzero(has_samples(view.presence, view.n_total))
        view = view.without(~kept[has])
        # Places of the cells that are left out do not matter.
        places = np.where(kept, places, 0)
    return view.among(places, len(rows))


def _find_labels(request: Request, tables: Sequence[Any], cells: Any) -> NDArray[Any] | None:
    """Return the given classes of the cells from the first table that has them; of cells it lacks, from the next."""
    columns = [table[request.labels] for table in tables if request.labels in table.columns]
    if not columns:
        return None
    found = columns[0] if columns[0].index.equals(cells) else columns[0].reindex(cells)
    for other in columns[1:]:
        lacking = ~cells.isin(columns[0].index)
        if not (found.isna().to_numpy() & lacking).any():
            break
        found = found.astype(object).where(~lacking | found.notna().to_numpy(), other.reindex(cells).astype(object))
    return request.to_labels(found, found.isna().to_numpy())
