"""Packages that read or write one kind of store; each is an extra of this package."""

from __future__ import annotations

import importlib
from typing import Any

_EXTRAS = {"zarr": "zarr", "h5py": "hdf5", "anndata": "scverse", "pyarrow": "parquet", "dask": "dask",
           "distributed": "dask"}  # fmt: skip


def require(module: str, label: str) -> Any:
    """Import a module of an extra; an ImportError says which extra has to be installed."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        package = module.partition(".")[0]
        raise ImportError(
            f"{label}: needs {package}, which cannot be imported ({error}); pip install 'mdt_fast[{_EXTRAS[package]}]'"
        ) from None
