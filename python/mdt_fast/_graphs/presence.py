"""Which samples a view has: masks, rows of NaN, and rows of zeros that stand for absent samples."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .readable import check_readable, has_columns, read_array


@dataclass(frozen=True)
class Presence:
    """The samples that a view has.

    Attributes
    ----------
    samples : (n,) array of uint32
        Ascending numbers of the samples that the view has.
    n_total : int
        Number of samples of all views together.
    n_zero : int
        Number of samples that count as absent because their row holds only zeros.
    """

    samples: NDArray[np.uint32]
    n_total: int
    n_zero: int = 0

    @classmethod
    def of(cls, has: NDArray[np.bool_], n_zero: int = 0) -> Presence | None:
        """Return the samples that are marked; None if these are all."""
        return None if has.all() else cls(np.flatnonzero(has).astype(np.uint32), len(has), n_zero)

    def mask(self) -> NDArray[np.bool_]:
        """Return whether the view has each sample."""
        has = np.zeros(self.n_total, dtype=bool)
        has[self.samples] = True
        return has

    def lacking(self) -> NDArray[np.uint32]:
        """Return the samples that the view lacks, ascending."""
        return np.flatnonzero(~self.mask()).astype(np.uint32)


def has_samples(presence: Presence | None, n: int) -> NDArray[np.bool_]:
    """Return whether a view with this presence has each of `n` samples."""
    return np.ones(n, dtype=bool) if presence is None else presence.mask()


def check_masks(present: Any, names: Sequence[str]) -> list[NDArray[np.bool_] | None]:
    """Return the mask of each view: True for samples that it has; None for all.

    Parameters
    ----------
    present : None, (N, V) array, data frame, or list, tuple or dict of (N,) arrays or None
        The masks; columns of a data frame have the names of the views.
    names : sequence of str
        Names of the views.
    """
    if present is None:
        return [None] * len(names)
    if isinstance(present, Mapping) or has_columns(present):
        names_given = present if isinstance(present, Mapping) else present.columns
        by_name = {str(name): present[name] for name in names_given}
        unknown = [name for name in by_name if name not in names]
        if unknown:
            raise ValueError(f"present: expected names among {list(names)}, got {unknown[0]!r}")
        masks = [by_name.get(name) for name in names]
    elif isinstance(present, (list, tuple)) and not _is_flat(present):
        masks = list(present)
    else:
        check_readable(present, "present", "masks of booleans")
        table = read_array(present, "present")
        if table.ndim == 1 and len(names) == 1:
            table = table[:, np.newaxis]
        if table.ndim != 2:
            raise ValueError(f"present: expected an (N, V) array or one mask for each view, got shape {table.shape}")
        masks = list(table.T)
    if len(masks) != len(names):
        raise ValueError(f"present: expected one mask for each of {len(names)} views, got {len(masks)}")
    return [_check_mask(mask, name) for mask, name in zip(masks, names, strict=True)]


def _is_flat(values: list[Any] | tuple[Any, ...]) -> bool:
    return all(isinstance(value, (bool, np.bool_)) for value in values)


def _check_mask(mask: Any, name: str) -> NDArray[np.bool_] | None:
    if mask is None:
        return None
    check_readable(mask, f"present ({name})", "a mask of booleans")
    array = read_array(mask, f"present ({name})")
    if array.dtype != bool:
        raise TypeError(f"present ({name}): expected booleans, True for samples that the view has, got {array.dtype}")
    if array.ndim != 1:
        raise ValueError(f"present ({name}): expected a 1-D array, one boolean for each row, got shape {array.shape}")
    return array


def is_nan_row(X: Any) -> NDArray[np.bool_]:
    """Return which rows of a matrix hold only NaN."""
    if not sparse.issparse(X):
        first = np.isnan(X[:, 0]) if X.shape[1] else np.zeros(len(X), dtype=bool)
        rows = np.flatnonzero(first)
        first[rows] = np.isnan(X[rows]).all(axis=1)
        return first
    n, d = X.shape
    owners = np.repeat(np.arange(n), np.diff(X.indptr))
    return np.bincount(owners[np.isnan(X.data)], minlength=n) == d if d else np.zeros(n, dtype=bool)


def is_zero_row(X: Any) -> NDArray[np.bool_]:
    """Return which rows of a matrix hold only zeros."""
    if sparse.issparse(X):
        owners = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        return np.asarray(np.bincount(owners[X.data != 0], minlength=X.shape[0]) == 0)
    return np.asarray(~X.any(axis=1))
