"""The nearest neighbours of samples that memory does not hold."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._assignment.block import naming_out
from .._assignment.landmarks import choose_landmarks
from .._assignment.manifest import Manifest
from .._assignment.writers import Writer, writer_for
from .._graphs.nearest import METRICS
from .._graphs.stored import StoredNeighbors
from .._graphs.views import Matrix
from .._sources.views import ViewSources
from .._support.arguments import check_choice, check_integer, check_number, check_path
from .._support.monitor import Monitor, ProgressLike, watch
from .._support.seed import check_seed
from .._support.threads import n_threads
from .._support.warnings import ViewWarning, warn_user
from .cells import Cells, choose_cells
from .exact import ExactNeighbors, nearest_in_block
from .merge import merge_block
from .parts import lone_rows, sizes_of_cells, write_block
from .place import Place, read_array, write_array
from .run import Call, Runner, dense
from .search import n_runs, search_run

# Rows that measure the recall, and rows of the k-means: a few for each cell, within limits.
_QUERIES = 512
_SAMPLE_PER_CELL, _SMALLEST_SAMPLE, _LARGEST_SAMPLE = 400, 20_000, 262_144
# Rows whose exact neighbours are searched at a time.
_LONE_AT_A_TIME = 1024
# Blocks between two writes of the exact neighbours so far.
_SAVED_EVERY = 64
_LARGEST = 2**31 - 1


def store_neighbors(
    X: Any,
    n_neighbors: int,
    out: str | os.PathLike[str],
    *,
    metric: str = "euclidean",
    recall: float = 0.95,
    cell_rows: int = 200_000,
    block_rows: int = 32_768,
    client: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: ProgressLike = False,
) -> StoredNeighbors:
    """Find the nearest neighbours of every sample of a view that memory does not hold.

    The samples are divided into cells that overlap, neighbours are found in each cell, and the nearest of what
    the cells of a sample give are its neighbours. The table is written a block at a time. After an interruption the
    same call goes on from what is written.

    Parameters
    ----------
    X : path, array, Zarr or Dask array, or function
        The samples, which are dense rows: all that ``MDTClustering(landmarks=...)`` reads. A function that returns an
        iterator of row blocks is called five times.
    n_neighbors : int
        Number of neighbours, from 1 to N - 1.
    out : path
        A new place for the table: a Zarr group if it ends with .zarr, otherwise a folder of .npy files. Intermediate
        results are in the folder `<out>.work` beside it, which needs about twice the memory of the view for each cell
        of a sample, and is removed at the end.
    metric : {"euclidean", "cosine", "correlation", "manhattan"}, default="euclidean"
        Distance of two samples.
    recall : float, default=0.95
        Share of the nearest neighbours to be found.
    cell_rows : int, default=200000
        Largest number of samples of a cell, which a worker has in memory. Larger cells find more neighbours.
    block_rows : int, default=32768
        Samples that are read at a time.
    client : distributed.Client, default=None
        Its workers do the work, with one thread for each cell. They have to see the same files.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the cells and of the approximate search; None for 0.
    n_jobs : int or None, default=None
        Number of threads without a client; None or -1 for all. The result depends neither on it nor on the workers.
    progress : bool, callable or None, default=False
        As in :func:`build_operators`.

    Returns
    -------
    StoredNeighbors
        Indices and distances on disk, and the measured recall; an argument `neighbors` of :func:`build_operators`.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as described, or if a number is not finite: the message names the row and the block.
    OSError
        If the table cannot be written.

    Warns
    -----
    ViewWarning
        If the recall is not reached.

    See Also
    --------
    nearest_neighbors : The same in memory.

    Notes
    -----
    512 samples are compared with all others. Their neighbours decide in how many cells each sample is (at most 8),
    and at the end they measure the recall. Distances are exact.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> import mdt_fast as mdt
    >>> X = np.random.default_rng(0).normal(size=(3000, 3))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = mdt.store_neighbors(X, 10, Path(folder) / "graph", cell_rows=1000)
    ...     ops = mdt.build_operators([X], neighbors=found)
    >>> found.recall > 0.95
    True
    """
    views = ViewSources.of([X])
    if not views.is_repeatable:
        raise ValueError("X: expected rows that can be read more than once, got an iterator; give a function of it")
    check_choice("metric", metric, METRICS[:-1])
    check_number("recall", recall, maximum=1.0)
    rows = check_integer("block_rows", block_rows, minimum=1)
    place = check_path("out", out).absolute()
    if place.suffix.lower() == ".parquet":
        raise ValueError(f"out: expected a path that ends with .zarr, or one without ending, got {str(place)!r}")
    seed, threads = check_seed(0 if random_state is None else random_state), n_threads(n_jobs)
    views = views.counted(rows)
    n = views.n_rows
    assert n is not None
    if not 2 <= n <= _LARGEST:
        raise ValueError(f"X: expected from 2 to {_LARGEST:,} samples, got {n:,}")
    k = check_integer("n_neighbors", n_neighbors, minimum=1, maximum=n - 1)
    size = check_integer("cell_rows", cell_rows, minimum=4 * (k + 1))
    writer = writer_for(place, {"indices": ((k,), np.dtype("i4")), "distances": ((k,), np.dtype("f8"))}, n, rows)
    identity = {
        "number of rows": n, "n_neighbors": k, "metric": metric, "recall": float(recall), "cell_rows": size,
        "block_rows": rows, "random_state": seed,
    }  # fmt: skip
    manifest = Manifest(place, identity, "neighbours")
    if manifest.n_rows is None:
        work = Place(place.with_name(f"{place.name}.work"))
        if work.path.exists() and not manifest.path.exists():
            raise FileExistsError(f"out: expected a new place, got one with a folder of another call: {work.path}")
        with watch(progress) as monitor, manifest.kept(), _naming(work):
            run = Runner(views, work, rows, client, monitor, threads)
            _Build(run, work, writer, manifest, k, size, metric, float(recall), seed, monitor, threads).run()
    arrays = writer.finish(n)
    return StoredNeighbors(arrays["indices"], arrays["distances"], **manifest.measured, path=place)


@contextmanager
def _naming(place: Place) -> Any:
    """Say in an error of the file system what is kept."""
    try:
        yield
    except OSError as error:
        if str(error).find("out: ") >= 0 or error.errno is None:
            raise
        raise type(error)(
            error.errno,
            f"out: expected to write to {str(place.path)!r}, got {error.strerror or error}; what is written is kept, "
            "and a second call goes on from there",
        ) from error


class _Build:
    """One call: its steps in their order, each of which goes on from what is written."""

    def __init__(
        self, run: Runner, place: Place, writer: Writer, manifest: Manifest, k: int, cell_rows: int, metric: str,
        recall: float, seed: int, monitor: Monitor, n_threads: int,
    ) -> None:  # fmt: skip
        self._run, self._place, self._writer, self._manifest = run, place, writer, manifest
        self._k, self._cell_rows, self._metric, self._seed, self._n_threads = k, cell_rows, metric, seed, n_threads
        self._recall, self._monitor = recall, monitor
        # Half of the neighbours that may be missed are those in no common cell, the other half those that the
        # approximate search of a cell misses.
        self._share = 1 - (1 - recall) / 2
        self._generator = np.random.default_rng(seed)

    def run(self) -> None:
        """Write the table."""
        with naming_out(self._writer, self._manifest):
            self._writer.begin()
        self._place.begin()
        run, place, n = self._run, self._place, self._run.n_blocks
        exact = self._exact(self._queries(), place.exact, "queries", "exact neighbours of some rows")
        cells = self._cells(exact)
        left = [block for block in range(n) if not place.block(block, "ends").exists()]
        for _ in run.over_blocks("rows of each cell", left, _write_block, place):
            pass
        sizes = sizes_of_cells(place, n)
        write_array(place.path / "sizes.npy", sizes)
        if len(rows := lone_rows(place, n, sizes, self._k, cells.cells_per_sample)):
            self._exact_of_lone(rows)
        for _ in run.over("neighbours in each cell", self._runs_left(sizes)):
            pass
        self._merge()
        share, error = self._measured(exact)
        if share < self._recall:
            warn_user(
                f"recall: expected at least {self._recall:g}, got {share:.3f} with {cells.cells_per_sample} cells for "
                "each sample; larger cells (cell_rows) find more",
                ViewWarning,
            )
        self._manifest.measured = {
            "recall": share, "recall_error": error, "n_cells": len(cells.centers),
            "cells_per_sample": cells.cells_per_sample,
        }  # fmt: skip
        assert run.views.n_rows is not None
        with naming_out(self._writer, self._manifest):
            self._writer.finish(run.views.n_rows)
            self._manifest.write(run.views.n_rows)
        place.remove()

    def _queries(self) -> NDArray[np.intp]:
        """Return the numbers of the rows that measure the recall."""
        n = self._run.views.n_rows
        assert n is not None
        return choose_landmarks(self._run.views, min(_QUERIES, n), "uniform", self._generator, self._monitor)

    def _take(self, rows: NDArray[np.intp]) -> Matrix:
        (features,) = self._run.views.take(rows, self._run.block_rows)
        return dense(features, self._run.source.label)

    def _exact(self, rows: NDArray[np.intp], path: Path, name: str, detail: str) -> ExactNeighbors:
        """Return the exact neighbours of some rows; what a file has of them is not searched again."""
        queries = self._place.path / f"{name}.npy"
        if path.exists():
            found = ExactNeighbors.load(path)
        else:
            features = self._take(rows)
            write_array(queries, features)
            found = ExactNeighbors(rows, self._k, features.shape[1], features.dtype)
        left = [block for block in range(self._run.n_blocks) if block not in found.done]
        try:
            for block, nearest in self._run.over_blocks(
                detail, left, _nearest_in_block, queries, self._k + 1, self._metric
            ):
                found.add(block, nearest)
                if len(found.done) % _SAVED_EVERY == 0:
                    found.save(path)
        finally:
            found.save(path)
        return found

    def _exact_of_lone(self, rows: NDArray[np.intp]) -> None:
        """Search the neighbours of rows whose cells have too few, a part of them at a time."""
        parts = []
        for number, first in enumerate(range(0, len(rows), _LONE_AT_A_TIME)):
            name = f"lone-{number:04d}"
            path = self._place.path / f"{name}.npz"
            detail = "rows of small cells"
            parts.append(self._exact(rows[first : first + _LONE_AT_A_TIME], path, f"{name}.queries", detail))
        whole = ExactNeighbors(rows, self._k, 0, np.float32)
        whole.indices = np.concatenate([each.indices for each in parts])
        whole.distances = np.concatenate([each.distances for each in parts])
        whole.save(self._place.lone)

    def _cells(self, exact: ExactNeighbors) -> Cells:
        """Return the division into cells."""
        if self._place.cells.exists():
            return Cells.load(self._place.cells)
        views, n = self._run.views, self._run.views.n_rows
        assert n is not None
        wanted = np.clip(_SAMPLE_PER_CELL * n * 2 // self._cell_rows, _SMALLEST_SAMPLE, _LARGEST_SAMPLE)
        sample = choose_landmarks(views, min(int(wanted), n), "uniform", self._generator, self._monitor)
        with self._monitor.stage("neighbours", detail="cells"):
            queries = read_array(self._place.path / "queries.npy")
            cells = choose_cells(
                self._take(sample), queries, exact.features, n, self._cell_rows, self._metric, self._share,
                seed=self._seed, n_threads=self._n_threads,
            )  # fmt: skip
        cells.save(self._place.cells)
        return cells

    def _runs_left(self, sizes: NDArray[np.int64]) -> Iterable[Call]:
        """Yield the searches of cells that are not done, large cells first."""
        for cell in np.argsort(-sizes, kind="stable").tolist():
            size = int(sizes[cell])
            for run in range(n_runs(size, self._cell_rows) if size else 0):
                if not self._place.run(cell, run).exists():
                    arguments = (
                        self._place, cell, run, size, self._run.n_blocks, self._cell_rows, self._k, self._metric,
                        self._share, self._seed,
                    )  # fmt: skip
                    yield Call(cell, f"search cell {cell} ({size} rows)", search_run, arguments)

    def _merge(self) -> None:
        """Write the blocks of the table that are not written."""
        run, done = self._run, self._manifest.done
        writer = self._writer if self._writer.is_shared else None
        calls = [
            Call(block, f"merge block {block} (rows {start} to {stop - 1})", _merge_block, arguments)
            for block in range(run.n_blocks)
            if block not in done
            for start, stop in [run.bounds(block)]
            for arguments in [(self._place, writer, block, start, stop, self._cell_rows, self._k)]
        ]
        for block, _ in run.over("merge", calls):
            self._manifest.add(block)

    def _measured(self, exact: ExactNeighbors) -> tuple[float, float]:
        """Return the recall of the table and its standard error."""
        arrays = self._writer.finish(int(self._run.views.n_rows or 0))
        found = np.stack([np.asarray(arrays["distances"][row]) for row in exact.rows.tolist()])
        # A neighbour as far as the last exact one is as good as it.
        shares = (found <= exact.distances[:, -1:] * (1 + 1e-9)).mean(axis=1)
        error = shares.std() / np.sqrt(len(shares))
        return float(shares.mean()), float(error)


def _nearest_in_block(
    queries: Path, k: int, metric: str, number: int, start: int, rows: Matrix, label: str, n_threads: int
) -> Any:
    return nearest_in_block(read_array(queries), rows, start, k, metric, label, n_threads)


def _write_block(place: Place, number: int, start: int, rows: Matrix, label: str, n_threads: int) -> None:
    write_block(place, number, start, rows, n_threads)


def _merge_block(
    place: Place, writer: Writer, number: int, start: int, stop: int, cell_rows: int, k: int, n_threads: int
) -> None:
    sizes = np.load(place.path / "sizes.npy")
    writer.write(start, merge_block(place, number, start, stop, sizes, cell_rows, k))
