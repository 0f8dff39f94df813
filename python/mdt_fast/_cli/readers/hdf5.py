"""Readers of HDF5 files that anndata and mudata write.

Views are named by their place in the file: "X", "layers/..." and "obsm/...", in an .h5mu file after
the name of the modality. Elements are read one by one; elements that are not requested are not read.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from numpy.typing import NDArray

from ..._graphs.views import Matrix
from .request import Contents, FileError, Request, format_names


def read_anndata(request: Request) -> Contents:
    """Read an .h5ad file."""
    with _open_hdf5(request) as (file, read):
        elements = _elements(file)
        wanted = [name for name in elements if request.wants(name, by_default=name == "X")]
        obs = _read_obs(request, file, read)
        views = {name: _read_element(request, name, file[name], read, obs.index) for name in wanted}
        labels = _find_labels(request, [obs], obs.index)
    return Contents(request, views, elements, list(obs.index), labels, list(obs.columns))


def read_mudata(request: Request) -> Contents:
    """Read the cells of an .h5mu file that all modalities with requested views contain."""
    with _open_hdf5(request) as (file, read):
        modalities = file["mod"]
        places = {
            modality if element == "X" else f"{modality}/{element}": (modality, element)
            for modality in modalities.attrs.get("mod-order", list(modalities))
            for element in _elements(modalities[modality])
        }
        wanted = [name for name, (_, element) in places.items() if request.wants(name, by_default=element == "X")]
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
        tables = [_read_obs(request, file, read), *obs.values()]
        labels = _find_labels(request, tables, cells)
    columns = dict.fromkeys(column for table in tables for column in table.columns)
    return Contents(request, views, list(places), list(cells), labels, list(columns))


@contextmanager
def _open_hdf5(request: Request) -> Iterator[tuple[Any, Callable[[Any], Any]]]:
    """Open a file; yield it and the function that reads one of its elements."""
    read = request.import_package("anndata.io", "scverse").read_elem
    h5py = request.import_package("h5py", "scverse")
    with request.reading("an HDF5 file written by anndata or mudata"), h5py.File(request.path, "r") as file:
        yield file, read


def _elements(group: Any) -> list[str]:
    """Return the names of the matrices of an AnnData object."""
    inner = [f"{part}/{key}" for part in ("layers", "obsm") for key in group.get(part, ())]
    # anndata omits a missing X or writes a null element.
    has_x = "X" in group and group["X"].attrs.get("encoding-type") != "null"
    return ["X", *inner] if has_x else inner


def _read_obs(request: Request, group: Any, read: Callable[[Any], Any]) -> Any:
    if group["obs"].attrs.get("encoding-type") != "dataframe":
        raise FileError(f"{request.path}: expected a file of anndata 0.7 or later, got another; write it again")
    obs = read(group["obs"])
    obs.index = obs.index.astype(str)
    return obs


def _read_element(request: Request, name: str, group: Any, read: Callable[[Any], Any], index: Any) -> Matrix:
    matrix = request.to_matrix(name, read(group))
    if matrix.shape[0] != len(index):
        raise FileError(f"{request.source(name)}: expected {len(index)} rows, as obs has, got {matrix.shape[0]}")
    return matrix


def _common_cells(request: Request, indexes: dict[str, Any]) -> Any:
    """Return the cells of all modalities, in the order of the first one."""
    for modality, index in indexes.items():
        if not index.is_unique:
            repeated = index[index.duplicated()][0]
            raise FileError(f"{request.path}: expected unique cell names in {modality!r}, got {repeated!r} twice")
    first, *others = indexes.values()
    cells = first
    for other in others:
        cells = cells[cells.isin(other)]
    if not len(cells):
        raise FileError(f"{request.path}: expected cells that are in each of {format_names(list(indexes))}, got none")
    return cells


def _find_labels(request: Request, tables: Sequence[Any], cells: Any) -> NDArray[Any] | None:
    """Return the given classes of the cells from the first table that has them."""
    for table in tables:
        if request.labels in table.columns:
            column = table[request.labels]
            if not table.index.equals(cells):
                column = column.reindex(cells)
            return request.to_labels(column, column.isna().to_numpy())
    return None
