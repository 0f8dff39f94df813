"""Reader of arrays that np.save, np.savez and scipy.sparse.save_npz write."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .request import Contents, FileError, Request


def read_numpy(request: Request) -> Contents:
    """Read one array, an archive of arrays, or one sparse matrix."""
    expected = "arrays saved by np.save or np.savez"
    with request.reading(expected), request.path.open("rb") as file:
        # NumPy treats a file with any other first bytes as a pickle.
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
    views = {request.stem: request.to_matrix(request.stem, X)} if request.wants(request.stem) else {}
    return Contents(request, views, [request.stem])


def _read_archive(request: Request, archive: Any) -> Contents:
    views, labels = {}, None
    for key in archive.files:
        if key == request.labels:
            labels = _read_labels(request, np.asarray(archive[key]))
        elif request.wants(key):
            array = np.asarray(archive[key])
            # Without a selection, 1-D arrays and text are skipped, because they are often names
            # and classes. 3-D arrays are refused, because they are more likely a mistake.
            if request.select is not None or (array.ndim > 1 and array.dtype.kind in "biufc"):
                views[key] = request.to_matrix(key, array)
    names = [key for key in archive.files if key != request.labels]
    return Contents(request, views, names, None, labels, archive.files)


def _read_labels(request: Request, array: NDArray[Any]) -> NDArray[Any]:
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise FileError(f"{request.path}: expected a 1-D array of labels {request.labels!r}, got {array.ndim}-D")
    return request.to_labels(array, array != array)
