"""Neighbour graphs of samples from several batches, joined by mutual neighbours across batches.

Samples of one batch (a donor, a plate, a day of measurement) are alike for technical reasons, and a plain
neighbour graph joins them with each other only. Here each sample i chooses its k nearest samples of its own
batch and of every other batch, after the batches are aligned. An edge across batches a and b is kept
only if both samples chose each other, and if it is at most 1.5 times as long as ``r_i^a`` or ``r_j^b`` in an aligned
view: samples of a type that the other batch lacks have few such edges. (CITE-seq whose two batches both
lack a large type: AMI 81.0 without the second condition, 92.4 with it.) Its distance is measured by the
distances ``r_i^b`` of the last chosen sample of i in batch b:

    d'_ij = sqrt(r_i^a r_j^b) sqrt(d_ij / r_i^b) sqrt(d_ij / r_j^a),    i in a, j in b,

so that a shift between batches does not make edges across them long. Kernels see ``d'`` and, as widths
of the adaptive kernel, ``r_i^a``. With k of at most an eighth of a cluster, ``8 k n_b / N`` samples of
batch b are about its share of a cluster; no sample chooses more than that in a batch.

**Alignment.** Batches are moved, not scaled: by descending size, each by the mean difference of its
mutual nearest neighbours with the batches before it, until these do not change. It starts where it is, and
with the same mean as the batches before; the start that ends with more mutual neighbours is used. Only the
choice across batches uses the moved features. Sparse views are not moved. (Measurements: ``docs/batches.md``.)

Cost: exact searches across batches, ``N^2 d`` products; the alignment uses at most 1,000 samples on each side.

References
----------
L. Haghverdi et al., "Batch effects in single-cell RNA-sequencing data are corrected by matching mutual nearest
neighbors", Nature Biotechnology 36 (2018), doi:10.1038/nbt.4091.
K. Polanski et al., "BBKNN: fast batch alignment of single cell transcriptomes", Bioinformatics 36 (2020),
doi:10.1093/bioinformatics/btz625.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .. import _core
from .._support.csr import without_empty_columns
from .approximate import is_search
from .frozen import freeze
from .joint import directions
from .nearest import search_table
from .neighbors import NeighborGraph, find_neighbors, from_edges
from .readable import check_readable, read_array
from .settings import ViewSettings
from .views import Matrix, View, refuse_mask

# Clusters have about this many times as many samples as a neighbourhood.
_CLUSTER = 8
# Edges across aligned batches are at most this many times as long as those within.
_REACH = 1.5
# Neighbours that align two batches, samples that are compared, and moves; 0 for no alignment.
_PAIRS, _COMPARED, _MOVES = 5, 1000, 20

Codes = NDArray[np.intp]
# Rows, columns and values of the edges of a directed graph.
Edges = tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.float64]]


def check_batches(batches: Any, views: Sequence[View], settings: Sequence[ViewSettings]) -> Codes | None:
    """Return the number of the batch of each sample; None for a single batch."""
    if batches is None:
        return None
    n = views[0].n_total
    check_readable(batches, "batches", "one label for each sample")
    refuse_mask(batches, "batches")
    labels = read_array(batches, "batches")
    if labels.shape != (n,):
        raise ValueError(f"batches: expected shape ({n},), one label for each sample, got {labels.shape}")
    # A column of pandas may hold any object, also None, and NaN, which is not equal to itself.
    wrong = [i for i, label in enumerate(labels.tolist()) if not isinstance(label, (bool, int, str, bytes))]
    if wrong:
        raise TypeError(f"batches: expected integers or strings, got {labels[wrong[0]]!r} at row {wrong[0]}")
    # The order of the labels, not that of the samples, decides between batches of the same size.
    known = {label: code for code, label in enumerate(sorted(set(labels.tolist()), key=lambda x: (str(x), repr(x))))}
    if len(known) == 1:
        return None
    if len(known) == n:
        raise ValueError(f"batches: expected several samples in a batch, got {n} batches for {n} samples")
    for view, each in zip(views, settings, strict=True):
        if not is_search(each.neighbors) or each.metric == "precomputed":
            got = "metric='precomputed'" if is_search(each.neighbors) else "a given graph"
            raise ValueError(f"batches: expected views of features with searched neighbours, got {got} ({view.name})")
    return np.array([known[label] for label in labels.tolist()], dtype=np.intp)


def groups_of(codes: Codes, view: View) -> list[NDArray[np.intp]]:
    """Return the rows of a view in each batch, by descending size.

    A sample that is alone in its batch has no neighbours there, and is put into the largest batch.
    """
    own = codes if view.presence is None else codes[view.presence.samples]
    groups = sorted((np.flatnonzero(own == code) for code in np.unique(own)), key=len, reverse=True)
    alone = [group for group in groups[1:] if len(group) == 1]
    return [np.sort(np.concatenate([groups[0], *alone])), *(group for group in groups[1:] if len(group) > 1)]


def find_balanced(
    view: View, codes: Codes | None, n_neighbors: int, metric: str, neighbors: Any, seed: int, n_threads: int
) -> NeighborGraph:
    """Return the neighbour graph of a view; `codes` are the batches of all samples, None for a single batch."""
    groups = [] if codes is None else groups_of(codes, view)
    if len(groups) < 2:
        return find_neighbors(view, n_neighbors, metric, neighbors, seed, n_threads)
    within = _search_within(view, groups, n_neighbors, metric, neighbors, seed, n_threads)
    try:
        row, column, ratios = _search_across(view, groups, n_neighbors, metric, within, n_threads)
    except ValueError as error:
        raise ValueError(f"{view.label}: {error}") from None
    scales = within.scales()
    lengths = np.sqrt(ratios) * np.sqrt(scales[row]) * np.sqrt(scales[column])
    joined = from_edges(
        np.concatenate([within.rows(), row]),
        np.concatenate([within.indices, column]),
        np.concatenate([within.distances, lengths]),
        view.n_samples,
    )
    return replace(joined, nearest_positive=within.nearest_positive, exponent=within.exponent, within=within)


def _search_within(
    view: View, groups: Sequence[NDArray[np.intp]], k: int, metric: str, neighbors: Any, seed: int, n_threads: int
) -> NeighborGraph:
    """Return the graph of the neighbours of each sample in its own batch."""
    n = view.n_samples
    parts = [replace(view, data=freeze(view.data[group])) for group in groups]
    found = [search_table(part, min(k, part.n_samples - 1), metric, neighbors, seed, n_threads) for part in parts]
    # Batches of extreme scale may have different units; the largest is common to all.
    exponent = max(each.exponent for each in found)
    nearest_positive, last, edges = np.empty(n), np.empty(n, dtype=np.int32), []
    for group, each in zip(groups, found, strict=True):
        unit = each.exponent - exponent
        nearest_positive[group] = np.ldexp(each.nearest_positive, unit)
        last[group] = group[each.indices[:, -1]]
        edges.append(_edges(group, group, each.indices, np.ldexp(each.distances, unit)))
    if not np.isfinite(nearest_positive).any():
        raise ValueError(
            f"batches ({view.name}): expected distinct samples in some batch, got copies of one sample in each"
        )
    made = from_edges(*_concatenate(edges), n)
    return replace(made, nearest_positive=nearest_positive, exponent=exponent, last=last)


def _search_across(
    view: View, groups: Sequence[NDArray[np.intp]], k: int, metric: str, within: NeighborGraph, n_threads: int
) -> Edges:
    """Return the edges between samples of different batches that chose each other.

    Their values are the products of both distances, each relative to that of the last chosen sample.
    """
    n = view.n_samples
    rows = directions(view.data, metric)
    reach = _reach(within, metric, is_aligned=not sparse.issparse(rows))
    search = _Search(metric if metric == "manhattan" else "euclidean", n_threads)
    parts = align([rows[group] for group in groups], search)
    chosen = []
    for b, group in enumerate(groups):
        others = [a for a in range(len(groups)) if a != b]
        own = min(k, -(-_CLUSTER * k * len(group) // n), len(group))
        indices, distances = search.nearest(parts[b], _stack([parts[a] for a in others]), own)
        last = distances[:, -1:]
        ratios = np.divide(distances, last, out=np.zeros_like(distances), where=last > 0)
        row, column, values = _edges(np.concatenate([groups[a] for a in others]), group, indices, ratios)
        is_near = distances.ravel() <= np.maximum(reach[row], reach[column])
        chosen.append((row[is_near], column[is_near], values[is_near]))
    row, column, values = _concatenate(chosen)
    there, back = row * n + column, column * n + row
    if not len(there):
        return row, column, values
    order = np.argsort(there)
    place = order[np.minimum(np.searchsorted(there, back, sorter=order), len(order) - 1)]
    is_mutual = there[place] == back
    return row[is_mutual], column[is_mutual], (values * values[place])[is_mutual]


def _reach(within: NeighborGraph, metric: str, *, is_aligned: bool) -> NDArray[np.float64]:
    """Return the length up to which a sample has edges across batches; infinity if lengths cannot be compared.

    A shift of the features is no shift of their directions, so that batches remain apart in these.
    """
    if not is_aligned or within.exponent or metric in ("cosine", "correlation"):
        return np.full(within.n_samples, np.inf)
    return _REACH * within.scales()


# Features near the largest double have infinite differences, by which nothing is moved.
@np.errstate(over="ignore", invalid="ignore")
def align(parts: Sequence[Matrix], search: "_Search") -> list[Matrix]:
    """Return the rows of each batch, moved onto those of the batches before it; sparse rows are not moved."""
    if sparse.issparse(parts[0]):
        return list(parts)
    moved = [parts[0]]
    for part in parts[1:]:
        fixed, own = _some(np.vstack(moved)), _some(part)
        starts = np.zeros(part.shape[1]), own.mean(axis=0, dtype=np.float64) - fixed.mean(axis=0, dtype=np.float64)
        moves = [_find_move(own, fixed, start, search) for start in starts if np.isfinite(own - start).all()]
        # max returns the first of equals: no move at all.
        moved.append((part - max(moves, key=lambda found: found[0])[1]).astype(part.dtype))
    return moved


def _find_move(
    own: NDArray[Any], fixed: NDArray[Any], move: NDArray[np.float64], search: "_Search"
) -> tuple[int, NDArray[np.float64]]:
    """Return the mean difference of mutual neighbours after repeated moves, and the number of such neighbours."""
    k = min(_PAIRS, len(fixed), len(own))
    n_pairs, before = 0, np.empty((0, 2), dtype=np.intp)
    for _ in range(_MOVES):
        near = own - move
        pairs = _mutual_pairs(search.nearest(fixed, near, k)[0], search.nearest(near, fixed, k)[0])
        n_pairs = len(pairs)
        if np.array_equal(pairs, before):
            break
        mean = np.mean(own[pairs[:, 0]].astype(np.float64) - fixed[pairs[:, 1]], axis=0)
        if not np.isfinite(own - mean).all():
            break
        move, before = mean, pairs
    return n_pairs, move


@dataclass(frozen=True)
class _Search:
    """A search of the nearest rows of one matrix for each row of another."""

    metric: str
    n_threads: int

    def nearest(self, points: Matrix, queries: Matrix, k: int) -> tuple[NDArray[np.intp], NDArray[np.float64]]:
        """Return (m, k) indices of points, by ascending (distance, index), and their distances."""
        n, m = points.shape[0], queries.shape[0]
        # No query is within the radius -1 of a point, so its edges lead to the points that it chose.
        how: dict[str, Any] = {"radii": np.full(n, -1.0), "last": np.zeros(n, dtype=np.int32)}
        how |= {"k": max(k - 1, 1), "metric": self.metric, "n_threads": self.n_threads, "index": None}
        if sparse.issparse(points):
            edges = _core.cross_knn(*without_empty_columns(points, queries), **how).edges
        else:
            edges = _core.cross_knn(points, np.require(queries, np.float64, ["C", "A"]), **how).edges
        indices, distances = edges.indices.reshape(m, -1), edges.values.reshape(m, -1)
        # Indices ascend in each row, and a stable sort keeps them so for equal distances.
        order = np.argsort(distances, axis=1, kind="stable")[:, :k]
        return np.take_along_axis(indices, order, axis=1).astype(np.intp), np.take_along_axis(distances, order, axis=1)


def _edges(
    rows: NDArray[np.intp], columns: NDArray[np.intp], indices: NDArray[Any], values: NDArray[np.float64]
) -> Edges:
    """Return the edges of a table: from each of `rows` to the `columns` at its indices."""
    return np.repeat(rows, indices.shape[1]), columns[indices.ravel()], values.ravel()


def _concatenate(edges: Sequence[Edges]) -> Edges:
    row, column, values = zip(*edges, strict=True)
    return np.concatenate(row), np.concatenate(column), np.concatenate(values)


def _mutual_pairs(forward: NDArray[np.intp], backward: NDArray[np.intp]) -> NDArray[np.intp]:
    """Return the pairs (i, j) with j among ``forward[i]`` and i among ``backward[j]``, in order."""
    i, j = np.repeat(np.arange(len(forward)), forward.shape[1]), forward.ravel()
    is_mutual = (backward[j] == i[:, np.newaxis]).any(axis=1)
    found = np.column_stack([i[is_mutual], j[is_mutual]])
    return found[np.lexsort(found.T[::-1])]


def _some(X: NDArray[Any]) -> NDArray[Any]:
    """Return rows at equal steps, so that there are not too many."""
    return X if len(X) <= _COMPARED else X[np.linspace(0, len(X) - 1, _COMPARED).astype(np.intp)]


def _stack(parts: Sequence[Matrix]) -> Matrix:
    return sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.vstack(parts)
