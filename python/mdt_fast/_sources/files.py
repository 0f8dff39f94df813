"""Files that are read by rows, by the ending of their names."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .._support.extras import require
from .parquet import ParquetSource
from .sliced import SlicedSource
from .source import RangeSource

ENDINGS = (".npy", ".zarr", ".parquet", ".h5", ".hdf5", ".h5ad")
# Elements of an .h5ad file, in the order in which commands look for them.
_H5AD = ("obsm/X_pca", "X")


def open_file(given: str | os.PathLike[str], label: str, key: str | None = None) -> RangeSource:
    """Return the rows of a file; `key` is the name of an array inside a Zarr or HDF5 file.

    Without it the array is the only matrix of the file; of an .h5ad file "obsm/X_pca", or else "X".
    """
    path = Path(given)
    if path.suffix.lower() not in ENDINGS:
        raise ValueError(f"{label}: expected a file with the ending {', '.join(ENDINGS)}, got {str(path)!r}")
    if not path.exists():
        raise FileNotFoundError(f"{label}: expected a file, got none at {str(path)!r}")
    return ParquetSource(path, label) if path.suffix.lower() == ".parquet" else FileSource(path, key, label)


class FileSource(SlicedSource):
    """An array in a file, which another process opens again."""

    is_shared = True

    def __init__(self, path: Path, key: str | None, label: str) -> None:
        self._path, self._key = path.absolute(), key
        super().__init__(_open(path, key, label), label)

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle the path, not the rows."""
        return FileSource, (self._path, self._key, self.label)


def _open(path: Path, key: str | None, label: str) -> Any:
    """Return an array of a file that can be sliced."""
    ending = path.suffix.lower()
    try:
        if ending == ".npy":
            return np.load(path, mmap_mode="r")
        if ending == ".zarr":
            found = require("zarr", label).open(path, mode="r")
            return found if hasattr(found, "shape") and key is None else _matrix_of(found, path, key, label)
        return _matrix_of(require("h5py", label).File(path, "r"), path, key, label)
    except (OSError, ValueError, KeyError) as error:
        if label in str(error):
            raise
        raise ValueError(f"{label}: expected a file that can be read, got {str(path)!r}: {error}") from error


def _matrix_of(group: Any, path: Path, key: str | None, label: str) -> Any:
    """Return a named or the only matrix of a group."""
    if key is None and path.suffix.lower() == ".h5ad":
        key = next((name for name in _H5AD if name in group), None)
    names = list(_matrices(group))
    if key is None:
        if len(names) != 1:
            raise ValueError(f"{label}: expected a file with one matrix, got {names[:9]} in {str(path)!r}")
        key = names[0]
    if key not in group:
        raise ValueError(f"{label}: expected one of {names[:9]} in {str(path)!r}, got {key!r}")
    found = group[key]
    if hasattr(found, "shape"):
        return found
    # A sparse matrix, which AnnData writes as a group of three arrays.
    return require("anndata", label).io.sparse_dataset(found)


def _matrices(group: Any, prefix: str = "") -> Iterator[str]:
    for name in sorted(group.keys()):
        item = group[name]
        if hasattr(item, "shape"):
            if len(item.shape) == 2:
                yield prefix + name
        elif item.attrs.get("encoding-type", "").startswith(("csr", "csc")):
            yield prefix + name
        else:
            yield from _matrices(item, f"{prefix}{name}/")
