"""The views of an object: which matrix of which modality each of them is, and its rows.

Rows of a modality are placed among the cells of the MuData by its obsmap. A modality that lacks cells
gives :class:`PartialRows`; a row of NaN in an AnnData is a cell that the view lacks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._graphs.modalities import PartialRows, is_multimodal, rows_of_cells
from .._graphs.views import Holes, View, check_views
from ._matrices import find_key, keys_of, read_key, warn_of_counts
from ._objects import check_key, listed


@dataclass(frozen=True)
class Source:
    """Where a view is: the key of a matrix, in a modality or (None) in the AnnData itself."""

    name: str
    key: str
    modality: str | None = None

    def owner(self, data: Any) -> Any:
        """Return the AnnData that has the matrix."""
        return data if self.modality is None else data.mod[self.modality]


def find_sources(data: Any, views: Any, argument: str = "views") -> list[Source]:
    """Return where the views are.

    Parameters
    ----------
    data : AnnData or MuData
        The object.
    views : dict, list, str or None
        For a MuData names of modalities, or a dict of their keys; None for all modalities. For an
        AnnData keys, or a dict of name and key.
    argument : str, default="views"
        The argument in which the user gave the views.
    """
    names = [views] if isinstance(views, str) else views
    if is_multimodal(data):
        return _in_modalities(data, names, argument)
    if names is None:
        raise ValueError(
            f"{argument}: expected the matrices that are views of an AnnData, such as ['X_pca', 'protein'], "
            f"{listed(keys_of(data))}, got None"
        )
    pairs = _pairs(names, argument)
    if not isinstance(names, Mapping):
        pairs = [(_short(key), key) for _, key in pairs]
    _check_names([name for name, _ in pairs], argument)
    return [Source(name, find_key(data, key, f"{argument} ({name})")) for name, key in pairs]


def _in_modalities(data: Any, names: Any, argument: str) -> list[Source]:
    pairs = [(name, None) for name in data.mod] if names is None else _pairs(names, argument)
    if names is not None and not isinstance(names, Mapping):
        pairs = [(name, None) for _, name in pairs]
    sources = []
    for name, key in pairs:
        if name not in data.mod:
            raise ValueError(f"{argument}: expected modalities, {listed(data.mod)}, got {name!r}")
        sources.append(Source(str(name), find_key(data.mod[name], key, f"{argument} ({name})"), str(name)))
    _check_names([each.name for each in sources], argument)
    return sources


def _pairs(names: Any, argument: str) -> list[tuple[Any, Any]]:
    if isinstance(names, Mapping):
        pairs = list(names.items())
    elif isinstance(names, (list, tuple)):
        pairs = [(None, name) for name in names]
    else:
        raise TypeError(f"{argument}: expected a dict or a list of names, got {type(names).__name__}")
    if not pairs:
        raise ValueError(f"{argument}: expected at least one view, got none")
    return pairs


def _short(key: Any) -> Any:
    return key.removeprefix("layers/") if isinstance(key, str) else key


def _check_names(names: list[Any], argument: str) -> None:
    for name in names:
        check_key(argument, name)
    repeated = [name for i, name in enumerate(names) if name in names[:i]]
    if repeated:
        raise ValueError(f"{argument}: expected different views, got {repeated[0]!r} twice; a dict names them")


def read_views(data: Any, sources: list[Source], argument: str = "views") -> dict[str, View]:
    """Return the views, checked: finite numbers, and every cell in some view.

    Counts of many features are warned of.
    """
    matrices = {}
    for source in sources:
        label = f"{argument} ({source.name})"
        X = read_key(source.owner(data), source.key, label)
        warn_of_counts(X, label, source.key)
        matrices[source.name] = place(data, source, X, label)
    return {view.name: view for view in check_views(matrices, argument, Holes())}


def place(data: Any, source: Source, X: Any, label: str) -> Any:
    """Return a matrix of a modality with rows for the cells of the MuData, partial if it lacks some."""
    if source.modality is None:
        return X
    rows = rows_of_cells(data, source.modality, X.shape[0], label)
    has = rows >= 0
    return X[rows] if has.all() else PartialRows(X[rows[has]], has)


def cells_of(data: Any, modality: str | None) -> NDArray[np.intp]:
    """Return the number of each cell of a modality among the cells of the MuData; of an AnnData all numbers."""
    if modality is None:
        return np.arange(data.n_obs)
    n = data.mod[modality].n_obs
    rows = rows_of_cells(data, modality, n, modality)
    cells = np.empty(n, dtype=np.intp)
    cells[rows[rows >= 0]] = np.flatnonzero(rows >= 0)
    return cells
