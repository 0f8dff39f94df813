"""The nearest neighbours of the rows of a block: the nearest of what all their cells found.

A pair of rows that share several cells is found several times, with the same distance.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .exact import ExactNeighbors
from .place import Place, read_array
from .search import n_runs
from .settings import Settings

# Rows that are merged at a time.
_ROWS = 4096

Lists = tuple[NDArray[np.intp], NDArray[np.int32], NDArray[np.float64]]


def merge_block(
    place: Place, number: int, start: int, stop: int, sizes: NDArray[np.int64], settings: Settings
) -> dict[str, NDArray[np.generic]]:
    """Return the k nearest neighbours of the rows of a block and their distances."""
    k = settings.n_neighbors
    counts = np.diff(read_array(place.block(number, "ends")), prepend=0)
    found = [
        each
        for cell in np.flatnonzero(counts).tolist()
        for run in range(n_runs(int(sizes[cell]), settings.cell_rows))
        if (each := _lists_of(place, cell, run, start, stop, k)) is not None
    ]
    if place.lone.exists():
        lone = ExactNeighbors.load(place.lone)
        first, end = np.searchsorted(lone.rows, [start, stop])
        found.append(
            (lone.rows[first:end] - start, lone.indices[first:end].astype(np.int32), lone.distances[first:end])
        )
    rows, indices, distances = (np.concatenate(each) for each in zip(*found, strict=True))
    order = np.argsort(rows, kind="stable")
    begins = np.searchsorted(rows[order], np.arange(stop - start + 1))
    merged = np.empty((stop - start, k), dtype=np.int32), np.empty((stop - start, k))
    for first in range(0, stop - start, _ROWS):
        last = min(first + _ROWS, stop - start)
        own = order[begins[first] : begins[last]]
        nearest = _nearest((rows[own] - first, indices[own], distances[own]), last - first, k)
        merged[0][first:last], merged[1][first:last] = nearest
    return {"indices": merged[0], "distances": merged[1]}


def _lists_of(place: Place, cell: int, run: int, start: int, stop: int, k: int) -> Lists | None:
    """Return the rows of a block in a run, with their neighbours there, padded to `k`."""
    found = read_array(place.run(cell, run))
    first, end = np.searchsorted(found["row"], [start, stop])
    if first == end:
        return None
    found = found[first:end]
    n_found = found["indices"].shape[1]
    indices, distances = np.full((len(found), k), -1, dtype=np.int32), np.full((len(found), k), np.inf)
    indices[:, :n_found], distances[:, :n_found] = found["indices"], found["distances"]
    return found["row"].astype(np.intp) - start, indices, distances


def _nearest(lists: Lists, n: int, k: int) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Return the k nearest of the lists of each of `n` rows, of which each has some; lists are in the order of rows."""
    rows, indices, distances = lists
    places = np.arange(len(rows)) - np.searchsorted(rows, rows)
    width = int(places.max()) + 1
    table = np.full((n, width, k), -1, dtype=np.int32), np.full((n, width, k), np.inf)
    table[0][rows, places], table[1][rows, places] = indices, distances
    all_indices, all_distances = (each.reshape(n, width * k) for each in table)
    order = np.argsort(all_indices, axis=1, kind="stable")
    all_indices = np.take_along_axis(all_indices, order, axis=1)
    all_distances = np.take_along_axis(all_distances, order, axis=1)
    all_distances[:, 1:][all_indices[:, 1:] == all_indices[:, :-1]] = np.inf
    # Stable: equal distances stay in the order of the indices.
    order = np.argsort(all_distances, axis=1, kind="stable")[:, :k]
    return np.take_along_axis(all_indices, order, axis=1), np.take_along_axis(all_distances, order, axis=1)
