"""The steps of a call in their order, each of which goes on from what is written."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._assignment.block import naming_out, naming_rows
from .._assignment.landmarks import choose_landmarks
from .._assignment.manifest import Manifest
from .._assignment.writers import Writer
from .._graphs.views import Matrix
from .._support.monitor import Monitor
from .._support.warnings import ViewWarning, warn_user
from .cells import Cells, check_directions, choose_cells
from .exact import ExactNeighbors, nearest_in_block
from .merge import merge_block
from .parts import lone_rows, sizes_of_cells, write_block
from .place import Place, read_array, records, write_array
from .run import Call, Runner, dense
from .search import n_runs, search_run
from .settings import Settings

# Rows that measure the recall, and rows of the k-means: a few for each cell, within limits.
_QUERIES = 512
_SAMPLE_PER_CELL, _SMALLEST_SAMPLE, _LARGEST_SAMPLE = 400, 20_000, 262_144
# Rows whose exact neighbours are searched at a time.
_LONE_AT_A_TIME = 1024
# Blocks between two writes of the exact neighbours so far.
_SAVED_EVERY = 64


class Build:
    """One call."""

    def __init__(
        self, run: Runner, place: Place, writer: Writer, manifest: Manifest, settings: Settings, monitor: Monitor,
        n_threads: int,
    ) -> None:  # fmt: skip
        self._run, self._place, self._writer, self._manifest = run, place, writer, manifest
        self._settings, self._monitor, self._n_threads = settings, monitor, n_threads
        self._generator = np.random.default_rng(settings.seed)

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
        if len(rows := lone_rows(place, n, sizes, self._settings.n_neighbors, cells.cells_per_sample)):
            self._exact_of_lone(rows)
        for _ in run.over("neighbours in each cell", self._runs_left(sizes)):
            pass
        self._merge()
        share, error = self._measured(exact)
        if share < self._settings.recall:
            warn_user(
                f"recall: expected at least {self._settings.recall:g}, got {share:.3f} with each sample in "
                f"{cells.cells_per_sample} cells; larger cells (cell_rows) find more",
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
        (given,) = self._run.views.take(rows, self._run.block_rows)
        features = dense(given, self._run.source.label)
        numbers = rows // self._run.block_rows
        check_directions(features, self._settings.metric, self._run.source.label, rows, numbers)
        return features

    def _exact(self, rows: NDArray[np.intp], path: Path, name: str, detail: str) -> ExactNeighbors:
        """Return the exact neighbours of some rows; what a file has of them is not searched again."""
        queries = self._place.path / f"{name}.npy"
        if path.exists():
            found = ExactNeighbors.load(path)
        else:
            features = self._take(rows)
            write_array(queries, records(row=rows, features=features))
            found = ExactNeighbors(rows, self._settings.n_neighbors, features.shape[1], features.dtype)
        left = [block for block in range(self._run.n_blocks) if block not in found.done]
        try:
            for block, nearest in self._run.over_blocks(
                detail, left, _nearest_in_block, queries, self._settings.n_neighbors + 1, self._settings.metric
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
        whole = ExactNeighbors(rows, self._settings.n_neighbors, 0, np.float32)
        whole.indices = np.concatenate([each.indices for each in parts])
        whole.distances = np.concatenate([each.distances for each in parts])
        whole.save(self._place.lone)

    def _cells(self, exact: ExactNeighbors) -> Cells:
        """Return the division into cells."""
        if self._place.cells.exists():
            return Cells.load(self._place.cells)
        views, n = self._run.views, self._run.views.n_rows
        assert n is not None
        wanted = np.clip(_SAMPLE_PER_CELL * n * 2 // self._settings.cell_rows, _SMALLEST_SAMPLE, _LARGEST_SAMPLE)
        sample = choose_landmarks(views, min(int(wanted), n), "uniform", self._generator, self._monitor)
        with self._monitor.stage("neighbours", detail="cells"):
            queries = read_array(self._place.path / "queries.npy")["features"]
            cells = choose_cells(self._take(sample), queries, exact.features, n, self._settings, self._n_threads)
        cells.save(self._place.cells)
        return cells

    def _runs_left(self, sizes: NDArray[np.int64]) -> Iterable[Call]:
        """Yield the searches of cells that are not done, large cells first."""
        for cell in np.argsort(-sizes, kind="stable").tolist():
            size = int(sizes[cell])
            for run in range(n_runs(size, self._settings.cell_rows) if size else 0):
                if not self._place.run(cell, run).exists():
                    arguments = (self._place, cell, run, size, self._run.n_blocks, self._settings)
                    yield Call(cell, f"search cell {cell} ({size} rows)", search_run, arguments)

    def _merge(self) -> None:
        """Write the blocks of the table that are not written."""
        run, done = self._run, self._manifest.done
        calls = [
            Call(block, f"merge block {block} (rows {start} to {stop - 1})", _merge_block, arguments)
            for block in range(run.n_blocks)
            if block not in done
            for start, stop in [run.bounds(block)]
            for arguments in [(self._place, self._writer, block, start, stop, self._settings)]
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
    check_directions(rows, metric, label, start + np.arange(len(rows)), np.full(len(rows), number))
    return nearest_in_block(read_array(queries), rows, start, k, metric, n_threads)


def _write_block(place: Place, number: int, start: int, rows: Matrix, label: str, n_threads: int) -> None:
    with naming_rows(lambda row: f"row {start + row} (block {number})"):
        write_block(place, number, start, rows, n_threads)


def _merge_block(
    place: Place, writer: Writer, number: int, start: int, stop: int, settings: Settings, n_threads: int
) -> None:
    sizes = np.load(place.path / "sizes.npy")
    writer.write(start, merge_block(place, number, start, stop, sizes, settings))
