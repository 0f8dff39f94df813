"""The same matrix as every kind of store that rows are read from."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

CHUNK = 37


def npy(X, path: Path):
    np.save(path / "X.npy", X)
    return np.load(path / "X.npy", mmap_mode="r")


def npy_path(X, path: Path):
    np.save(path / "X.npy", X)
    return path / "X.npy"


def zarr_array(X, path: Path):
    zarr = pytest.importorskip("zarr")
    made = zarr.create_array(store=path / "X.zarr", shape=X.shape, chunks=(CHUNK, X.shape[1]), dtype=X.dtype)
    made[:] = X
    return zarr.open_array(path / "X.zarr", mode="r")


def zarr_path(X, path: Path):
    zarr_array(X, path)
    return str(path / "X.zarr")


def hdf5(X, path: Path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(path / "X.h5", "w") as file:
        file.create_dataset("group/X", data=X, chunks=(CHUNK, X.shape[1]))
    return h5py.File(path / "X.h5", "r")["group/X"]


def hdf5_path(X, path: Path):
    hdf5(X, path)
    return path / "X.h5"


def parquet_path(X, path: Path):
    pytest.importorskip("pyarrow")
    import pandas as pd

    frame = pd.DataFrame(X, columns=[f"column {c}" for c in range(X.shape[1])], index=[f"s{i}" for i in range(len(X))])
    frame.to_parquet(path / "X.parquet", row_group_size=CHUNK)
    return path / "X.parquet"


def parquet_folder(X, path: Path):
    pytest.importorskip("pyarrow")
    import pandas as pd

    (path / "X.parquet").mkdir()
    for number, start in enumerate(range(0, len(X), 61)):
        frame = pd.DataFrame(X[start : start + 61], columns=[f"column {c}" for c in range(X.shape[1])])
        frame.to_parquet(path / "X.parquet" / f"part-{number:03d}.parquet", row_group_size=CHUNK)
    return path / "X.parquet"


def anndata_on_disk(X, path: Path):
    anndata = pytest.importorskip("anndata")
    anndata.AnnData(X).write_h5ad(path / "X.h5ad")
    return anndata.read_h5ad(path / "X.h5ad", backed="r")


def anndata_path(X, path: Path):
    anndata = pytest.importorskip("anndata")
    anndata.AnnData(np.zeros((len(X), 3), dtype="f4"), obsm={"X_pca": X}).write_h5ad(path / "X.h5ad")
    return path / "X.h5ad"


def dask_array(X, path: Path):
    return pytest.importorskip("dask.array").from_array(X, chunks=(CHUNK, 2))


def blocks_of(X, path: Path):
    """A function that returns an iterator, whose blocks have different numbers of rows."""

    def read():
        start = 0
        for size in [5, 1, 0, 90, 2, *[41] * len(X)]:
            if start >= len(X):
                return
            yield X[start : start + size].tolist() if start == 5 and X.dtype == np.float64 else X[start : start + size]
            start += size

    return read


def frame(X, path: Path):
    import pandas as pd

    return pd.DataFrame(X, columns=[f"column {c}" for c in range(X.shape[1])])


def polars_frame(X, path: Path):
    polars = pytest.importorskip("polars")
    return polars.DataFrame({f"column {c}": values for c, values in enumerate(X.T)})


def read_only(X, path: Path):
    X = X.copy()
    X.flags.writeable = False
    return X


def fortran(X, path: Path):
    return np.asfortranarray(X)


STORES = {
    store.__name__: store
    for store in (npy, npy_path, zarr_array, zarr_path, hdf5, hdf5_path, parquet_path, parquet_folder, anndata_on_disk,
                  anndata_path, dask_array, blocks_of, frame, polars_frame, read_only, fortran)
}  # fmt: skip


def sparse_on_disk(X, path: Path):
    anndata = pytest.importorskip("anndata")
    anndata.AnnData(sparse.csr_matrix(X)).write_h5ad(path / "X.h5ad")
    return anndata.read_h5ad(path / "X.h5ad", backed="r").X


def sparse_path(X, path: Path):
    sparse_on_disk(X, path)
    return path / "X.h5ad"


def sparse_matrix(X, path: Path):
    return sparse.csr_array(X)


SPARSE_STORES = {store.__name__: store for store in (sparse_on_disk, sparse_path, sparse_matrix)}
