"""Matrices of an AnnData by their keys, in memory: arrays, sparse matrices and frames, also from files.

A key is "X", "raw", "layers/<name>" or a key of `.obsm`. None is ``.obsm["X_pca"]`` if it is there, and
`.X` otherwise.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from .._graphs.readable import check_columns, has_columns
from .._support.warnings import ViewWarning, warn_user
from ._objects import listed

REDUCED = "X_pca"
_LAYERS = "layers/"
# A matrix of counts with more columns is warned of.
_FEW_COLUMNS = 50


def keys_of(adata: Any) -> list[str]:
    """Return the keys of all matrices of an AnnData."""
    keys = [] if getattr(adata, "X", None) is None else ["X"]
    keys += [str(name) for name in adata.obsm]
    keys += [f"{_LAYERS}{name}" for name in adata.layers or ()]
    return keys if getattr(adata, "raw", None) is None else [*keys, "raw"]


def find_key(adata: Any, key: Any, label: str) -> str:
    """Return the key of a matrix that exists; None stands for the default."""
    known = keys_of(adata)
    if key is None:
        key = REDUCED if REDUCED in known else "X"
    if not isinstance(key, str) or key not in known:
        raise ValueError(f"{label}: expected {listed(known)}, got {key!r}")
    return key


def read_key(adata: Any, key: str, label: str) -> Any:
    """Return the matrix of a key, in memory, as an array or a sparse matrix."""
    if key == "X":
        X = adata.X
    elif key == "raw":
        X = adata.raw.X
    elif key.startswith(_LAYERS):
        X = adata.layers[key.removeprefix(_LAYERS)]
    else:
        X = adata.obsm[key]
    return in_memory(X, label)


def in_memory(X: Any, label: str) -> Any:
    """Return a matrix of a file, of dask or of pandas as an array or a sparse matrix of SciPy."""
    if hasattr(X, "to_memory"):
        X = X.to_memory()
    elif hasattr(X, "compute"):
        X = X.compute()
    if has_columns(X):
        check_columns(X, label)
        return X.to_numpy()
    if sparse.issparse(X):
        return X
    if not isinstance(X, np.ndarray) and hasattr(X, "dtype") and hasattr(X, "shape"):
        # A dataset of h5py or Zarr.
        X = X[...]
    # A view of AnnData is a subclass of an array that refers to its parent.
    return np.asarray(X) if isinstance(X, np.ndarray) else X


def shown(key: str) -> str:
    """Return a key as the user writes it."""
    if key in ("X", "raw"):
        return f".{key}"
    return f".layers[{key.removeprefix(_LAYERS)!r}]" if key.startswith(_LAYERS) else f".obsm[{key!r}]"


def is_representation(key: str) -> bool:
    """Return whether scanpy accepts the key as `use_rep`."""
    return key != "raw" and not key.startswith(_LAYERS)


def warn_of_counts(X: Any, label: str, key: str) -> None:
    """Warn of counts of many features."""
    if len(getattr(X, "shape", ())) != 2 or X.shape[1] <= _FEW_COLUMNS or not _holds_counts(X):
        return
    warn_user(
        f"{label}: {shown(key)} holds counts of {X.shape[1]} features; principal components of normalised counts tell "
        "cells apart better: sc.pp.normalize_total, sc.pp.log1p, sc.pp.pca, and 'X_pca' as the view",
        ViewWarning,
    )


def _holds_counts(X: Any) -> bool:
    values = X.data if sparse.issparse(X) else X
    if values.dtype.kind == "b" or not values.size:
        return False
    if values.dtype.kind in "ui":
        return bool((values >= 0).all())
    if values.dtype.kind != "f":
        return False
    # Most other matrices show it in the first rows.
    some = values[:1000]
    return all(bool(((part >= 0) & (part == np.floor(part))).all()) for part in (some, values))
