"""Packages that only a part of the functions needs; each is in an extra of this package."""

from __future__ import annotations

import importlib
import importlib.util
from typing import Any

# The name of a module: its package in the index, and the extra that installs it.
_EXTRAS = {
    "anndata": ("anndata", "scverse"),
    "click": ("click", "cli"),
    "cma": ("cma", "cma"),
    "dask": ("dask", "dask"),
    "distributed": ("distributed", "dask"),
    "h5py": ("h5py", "hdf5"),
    "igraph": ("igraph", "leiden"),
    "matplotlib": ("matplotlib", "plot"),
    "mudata": ("mudata", "scverse"),
    "pandas": ("pandas", "pandas"),
    "pyarrow": ("pyarrow", "parquet"),
    "skimage": ("scikit-image", "datasets"),
    "umap": ("umap-learn", "umap"),
    "zarr": ("zarr", "zarr"),
}


def require(module: str, needed_by: str) -> Any:
    """Import a module of an extra; an ImportError names what needs it and the extra to install."""
    try:
        return importlib.import_module(module)
    except ImportError as error:
        # A package that is installed may fail for a reason of its own, which the message must not hide.
        is_missing = isinstance(error, ModuleNotFoundError) and module.startswith(str(error.name))
        raise ImportError(_message(module, needed_by) + ("" if is_missing else f" ({error})")) from error


def is_installed(module: str) -> bool:
    """Return whether a module of an extra can be found, without the time that its import takes."""
    return importlib.util.find_spec(module) is not None


def require_installed(module: str, needed_by: str) -> None:
    """Raise the ImportError of :func:`require` if a module cannot be found, without importing it."""
    if not is_installed(module):
        raise ImportError(_message(module, needed_by))


def _message(module: str, needed_by: str) -> str:
    package, extra = _EXTRAS[module.partition(".")[0]]
    return f"{needed_by} needs {package}: pip install 'mdt_fast[{extra}]'"
