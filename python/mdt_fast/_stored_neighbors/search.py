"""Neighbours of the rows of a cell among themselves.

A cell that is still too large, because many rows coincide or because the sample misjudged it, is cut across the
direction of its largest variance into runs of `cell_rows` rows. Each run has half of its rows in common with the
next one. Coinciding rows are cut by their numbers.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._graphs.approximate import ApproximateNeighbors, find_effort
from .._graphs.nearest import scale_distances, search_table
from .._graphs.views import Matrix, View
from .._support.one_thread import one_thread
from .cells import positions
from .parts import read_cell
from .place import Place, records, write_array
from .settings import Settings


def n_runs(size: int, cell_rows: int) -> int:
    """Return the number of runs of a cell."""
    return 1 if size <= cell_rows else math.ceil((size - cell_rows) / max(cell_rows // 2, 1)) + 1


def search_run(place: Place, cell: int, run: int, size: int, n_blocks: int, settings: Settings, n_threads: int) -> None:
    """Write the neighbours of the rows of a run."""
    metric, cell_rows = settings.metric, settings.cell_rows
    parts = read_cell(place, n_blocks, cell)
    if size > cell_rows:
        kept = _of_run(place, cell, run, size, n_blocks, cell_rows, metric)
        parts = _chosen(parts, kept)
    rows, features = (np.concatenate(each) for each in zip(*parts, strict=True))
    k = min(settings.n_neighbors, len(rows) - 1)
    indices, distances = np.empty((len(rows), 0), dtype=np.int32), np.empty((len(rows), 0))
    if k > 0:
        view = View("view 0", features, "X")
        method: Any = "auto" if find_effort("auto", view, metric) is None else ApproximateNeighbors(settings.share)
        table = search_table(view, k, metric, method, settings.seed, n_threads)
        indices, distances = rows[table.indices], scale_distances(table.distances, table.exponent)
        if not np.isfinite(distances).all():
            raise ValueError("X: expected numbers whose distances do not exceed the range of double precision")
    write_array(place.run(cell, run), records(row=rows, indices=indices, distances=distances))


def _of_run(
    place: Place, cell: int, run: int, size: int, n_blocks: int, cell_rows: int, metric: str
) -> NDArray[np.bool_]:
    """Return which rows of a cell are in a run."""
    with one_thread():
        direction = _direction(place, cell, size, n_blocks, metric)
        along = [_scaled(features, metric) @ direction for _, features in read_cell(place, n_blocks, cell)]
    order = np.argsort(np.concatenate(along), kind="stable")
    last = n_runs(size, cell_rows) - 1
    first = round(run * (size - cell_rows) / last)
    kept = np.zeros(size, dtype=bool)
    kept[order[first : first + cell_rows]] = True
    return kept


def _direction(place: Place, cell: int, size: int, n_blocks: int, metric: str) -> NDArray[np.float64]:
    """Return the direction of the largest variance of a cell."""
    # Divided by the largest number, so that squares neither overflow nor vanish.
    largest = max(float(np.abs(_scaled(each, metric)).max()) for _, each in read_cell(place, n_blocks, cell))
    scale = largest if largest > 0 else 1.0
    mean = sum((_scaled(each, metric) / scale).sum(axis=0) for _, each in read_cell(place, n_blocks, cell)) / size
    d = len(mean)
    covariance = np.zeros((d, d))
    for _, features in read_cell(place, n_blocks, cell):
        centred = _scaled(features, metric) / scale - mean
        covariance += centred.T @ centred
    return np.asarray(np.linalg.eigh(covariance)[1][:, -1])


def _scaled(features: Matrix, metric: str) -> NDArray[np.float64]:
    return np.asarray(positions(features, metric), dtype=np.float64)


def _chosen(parts: Any, kept: NDArray[np.bool_]) -> Any:
    """Yield the chosen rows of each part."""
    start = 0
    for rows, features in parts:
        own = kept[start : start + len(rows)]
        start += len(rows)
        if own.any():
            yield rows[own], features[own]
