"""Reader of arrays that np.save, np.savez and scipy.sparse.save_npz write."""

import math
import zipfile
from collections.abc import Sequence
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .request import Contents, FileError, Request


def read_numpy(request: Request) -> Contents:
    """Read one array, an archive of arrays, or one sparse matrix."""
    expected = "arrays saved by np.save or np.savez"
    with request.reading(expected), request.path.open("rb") as file:
        # NumPy treats a file with any other first bytes as a pickle.
        magic = file.read(2)
        if magic not in (b"\x93N", b"PK"):
            raise FileError(f"{request.path}: expected {expected}, got an empty file or one of another kind")
        file.seek(0)
        if magic == b"\x93N":
            _check_header(request, request.stem, file, request.path.stat().st_size)
            file.seek(0)
            return _one_view(request, np.load(file, allow_pickle=False))
        with zipfile.ZipFile(file) as archive, np.load(request.path, allow_pickle=False) as arrays:
            if {"format", "shape", "data"} <= set(arrays.files):
                _check_members(request, arrays.files, archive)
                return _one_view(request, sparse.load_npz(request.path))
            return _read_archive(request, arrays, archive)


def _check_header(request: Request, name: str, stream: IO[bytes], size: int) -> None:
    """Refuse an array whose header promises more bytes than its file has, or than may be read."""
    version = np.lib.format.read_magic(stream)
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read_header(stream)
    n_bytes = math.prod(shape) * dtype.itemsize
    if not dtype.hasobject and n_bytes > size - stream.tell():
        expected = f"{n_bytes:,} bytes for an array of shape {shape} and type {dtype}"
        raise ValueError(f"{name}: expected {expected}, got {size - stream.tell():,}")
    request.check_size(name, n_bytes)


def _check_members(request: Request, keys: Sequence[str], archive: zipfile.ZipFile) -> None:
    """Refuse arrays of an archive that are too large together, before any is unpacked."""
    total = 0
    for key in keys:
        entry = archive.getinfo(f"{key}.npy" if f"{key}.npy" in archive.NameToInfo else key)
        if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            # zipfile limits what it unpacks at a time only for these, which are those of NumPy.
            raise ValueError(f"{key}: expected an array that is stored or deflated, got another compression")
        # No more than this is unpacked, whatever the entry contains.
        total += entry.file_size
        request.check_size(key, total)
        with archive.open(entry) as stream:
            if stream.read(2) == b"\x93N":
                stream.seek(0)
                _check_header(request, key, stream, entry.file_size)


def _one_view(request: Request, X: Any) -> Contents:
    views = {request.stem: request.to_view(request.stem, X)} if request.wants(request.stem) else {}
    return Contents(request, views, [request.stem])


def _read_archive(request: Request, arrays: Any, archive: zipfile.ZipFile) -> Contents:
    _check_members(request, [key for key in arrays.files if key == request.labels or request.wants(key)], archive)
    views, labels = {}, None
    for key in arrays.files:
        if key == request.labels:
            labels = _read_labels(request, np.asarray(arrays[key]))
        elif request.wants(key):
            array = np.asarray(arrays[key])
            # Without a selection, 1-D arrays and text are skipped, because they are often names
            # and classes. 3-D arrays are refused, because they are more likely a mistake.
            if request.select is not None or (array.ndim > 1 and array.dtype.kind in "biufc"):
                views[key] = request.to_view(key, array)
    names = [key for key in arrays.files if key != request.labels]
    return Contents(request, views, names, None, labels, arrays.files)


def _read_labels(request: Request, array: NDArray[Any]) -> NDArray[Any]:
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise FileError(f"{request.path}: expected a 1-D array of labels {request.labels!r}, got {array.ndim}-D")
    return request.to_labels(array, array != array)
