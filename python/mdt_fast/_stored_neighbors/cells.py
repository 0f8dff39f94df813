"""Division of the samples into cells that overlap, each of which fits into memory.

A cell has a centre. A sample is in the cells of its `m` nearest centres, so two samples are compared if they share a
cell. Centres are those of a k-means on a sample of the rows. A cell that has too many of these rows is divided by a
k-means of its own.

The number `m` is the smallest with which a sample shares a cell with enough of its nearest neighbours, by the exact
neighbours of some samples. Rows of more dimensions need a larger `m` (``benches/RESULTS.md``).

For the cosine and the correlation distance, centres are those of rows of unit length: the order of the Euclidean
distances of these is the order of the metric.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .._clusters.k_means import k_means
from .._graphs.cross import nearest_of_new
from .._graphs.presence import is_zero_row
from .._graphs.views import Matrix, View
from .._support.arguments import first_true
from .._support.files import replacing
from .settings import Settings

# The largest number of cells of a sample.
MOST_CELLS = 8
# Planned rows of a cell, as a share of the largest number: sizes vary.
_PLANNED = 2 / 3
# Rounds in which cells that are too large are divided.
_ROUNDS = 6
_MAX_ITER = 15


@dataclass(frozen=True, eq=False)
class Cells:
    """A division into cells.

    Attributes
    ----------
    centers : (n_cells, d) array
        The centres.
    cells_per_sample : int
        Number of cells that contain each sample.
    metric : str
        Distance of the samples.
    """

    centers: NDArray[np.float64]
    cells_per_sample: int
    metric: str

    def of_rows(self, X: Matrix, n_threads: int, n: int | None = None) -> NDArray[np.int32]:
        """Return the `n` nearest cells of some rows, nearest first; by default those that contain them."""
        n = self.cells_per_sample if n is None else n
        if len(self.centers) == 1:
            return np.zeros((len(X), 1), dtype=np.int32)
        view = View("view 0", positions(X, self.metric), "X")
        return nearest_of_new(self.centers, view, n, "euclidean", np.float64, n_threads)[0]

    def save(self, path: Path) -> None:
        """Write the division to a file."""
        with replacing(path) as part, part.open("wb") as file:
            np.savez(file, centers=self.centers, cells_per_sample=self.cells_per_sample, metric=self.metric)

    @classmethod
    def load(cls, path: Path) -> Cells:
        """Return a division that was saved."""
        with np.load(path) as saved:
            return cls(saved["centers"], int(saved["cells_per_sample"]), str(saved["metric"]))


def choose_cells(
    sample: Matrix, queries: Matrix, neighbors: Matrix, n: int, settings: Settings, n_threads: int
) -> Cells:
    """Choose cells of `n` rows.

    Parameters
    ----------
    sample : (s, d) array
        Rows for the k-means.
    queries : (q, d) array
        Some rows.
    neighbors : (q, k, d) array
        Their nearest neighbours.
    n : int
        Number of rows.
    settings : Settings
        Size of the cells, metric, seed, and the share of the neighbours that have a cell in common with their row.
    n_threads : int
        Number of threads.

    Returns
    -------
    Cells
        Of :data:`MOST_CELLS` cells for each sample if none reach the share.
    """
    metric = settings.metric
    sample = positions(sample, metric)
    q, k, d = neighbors.shape
    for m in range(1, MOST_CELLS + 1):
        cells = Cells(_centers(sample, n, m, settings, n_threads), m, metric)
        if len(cells.centers) <= m:
            return Cells(sample[:1].astype(np.float64), 1, metric)
        own = cells.of_rows(queries, n_threads)
        others = cells.of_rows(neighbors.reshape(q * k, d), n_threads).reshape(q, k, m)
        if (own[:, None, :, None] == others[:, :, None, :]).any(axis=(2, 3)).mean() >= settings.share:
            break
    return cells


def _centers(sample: Matrix, n: int, m: int, settings: Settings, n_threads: int) -> NDArray[np.float64]:
    """Return the centres of cells of which each sample is in `m`."""
    cell_rows, seed = settings.cell_rows, settings.seed
    if n <= cell_rows:
        return np.asarray(sample[:1], dtype=np.float64)
    planned = _PLANNED * cell_rows
    centers = _k_means(sample, math.ceil(n * m / planned), seed, n_threads)
    for _ in range(_ROUNDS):
        if len(centers) <= m:
            break
        nearest = Cells(centers, m, "euclidean").of_rows(sample, n_threads)
        sizes = np.bincount(nearest.ravel(), minlength=len(centers)) * (n / len(sample))
        large = np.flatnonzero(sizes > cell_rows)
        parts = [(c, sample[nearest[:, 0] == c], math.ceil(sizes[c] / planned)) for c in large.tolist()]
        divided = {c: _k_means(rows, count, seed, n_threads) for c, rows, count in parts if len(rows)}
        divided = {c: made for c, made in divided.items() if len(made) > 1}
        if not divided:
            break
        kept = np.setdiff1d(np.arange(len(centers)), list(divided))
        centers = np.concatenate([centers[kept], *divided.values()])
    return centers


def _k_means(rows: Matrix, n_clusters: int, seed: int, n_threads: int) -> NDArray[np.float64]:
    """Return centres, at most as many as there are distinct rows."""
    distinct = np.unique(rows, axis=0)
    if len(distinct) <= n_clusters:
        return np.asarray(distinct, dtype=np.float64)
    try:
        found = k_means(rows, n_clusters, n_init=1, max_iter=_MAX_ITER, random_state=seed, n_jobs=n_threads)
    except ValueError:
        # Rows that a few far ones leave without differences, or whose squared distances leave the range of a double.
        chosen = np.random.default_rng(seed).choice(len(distinct), n_clusters, replace=False)
        return np.asarray(distinct[np.sort(chosen)], dtype=np.float64)
    return np.asarray(found.centers)


def positions(X: Matrix, metric: str) -> Matrix:
    """Return rows whose Euclidean distances have the order of the metric; of the manhattan distance, nearly."""
    if metric not in ("cosine", "correlation"):
        return X
    # Divided by the largest number first, so that sums and squares neither overflow nor vanish.
    rows = _divided(X, np.abs(X).max(axis=1, keepdims=True))
    if metric == "correlation":
        rows -= rows.mean(axis=1, keepdims=True)
        rows = _divided(rows, np.abs(rows).max(axis=1, keepdims=True))
    return _divided(rows, np.linalg.norm(rows, axis=1, keepdims=True))


def _divided(rows: Matrix, sizes: Matrix) -> Matrix:
    return np.asarray(rows / np.maximum(sizes, np.finfo(rows.dtype).tiny))


def check_directions(X: Matrix, metric: str, label: str, rows: NDArray[np.intp], blocks: NDArray[np.intp]) -> None:
    """Raise ValueError for a row without cosine or correlation distance; `rows` and `blocks` are their numbers."""
    if metric not in ("cosine", "correlation"):
        return
    what, bad = ("all zeros", is_zero_row(X)) if metric == "cosine" else ("constant", (X[:, :1] == X).all(axis=1))
    if (row := first_true(bad)) is not None:
        raise ValueError(
            f"{label}: row {rows[row]} (block {blocks[row]}) is {what}: its {metric} distance is undefined"
        )
