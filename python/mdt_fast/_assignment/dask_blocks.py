"""Assignment on the workers of a Dask cluster: lazy arrays, or blocks that the workers read, assign and write.

The model is a task, which Dask repeats if every worker that had its result is gone. The rows of a block depend only on
its number, and a row of the results only on its own row, so neither chunks nor retries nor lost workers change
a bit. Workers use one thread for a block, because a worker with several threads has several blocks.
"""

from __future__ import annotations

import sys
import uuid
from collections.abc import Iterator, Mapping
from contextlib import closing
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._sources.dask_array import DaskSource
from .._sources.views import ViewSources, check_block
from .._support.extras import require
from .._support.monitor import Monitor
from .assigner import Assigner
from .block import assign_block, check_time, naming_out, warn_of_blocks
from .dask_tasks import RETRIES, Read, Shared, Task, as_task, check_client, completed, far_rows, is_far, scattered
from .manifest import Manifest
from .result import Assignment
from .writers import Writer


def lazy_assignment(assigner: Assigner, views: ViewSources) -> Assignment:
    """Return the assignment of Dask arrays as Dask arrays with the row chunks of the first view."""
    dask, blocks = require("dask", "X"), require("dask.array", "X")
    arrays = [source.array for source in views.sources if isinstance(source, DaskSource)]
    sizes = arrays[0].chunks[0]
    arrays = [each.rechunk({0: sizes, 1: -1}) for each in arrays]
    columns = assigner.columns
    widths = [int(np.prod(shape, dtype=int)) for shape, _ in columns.values()]
    client = _client_of_this_process()
    # One object of the graph either way, so that no task has a copy of the model.
    model = dask.delayed(assigner if client is None else as_task(client, assigner, "mdt-model"))
    token = dask.base.tokenize(views.names, views.is_bare, *arrays)
    packed = blocks.map_blocks(
        _packed, *arrays, model=model, views=_Shape(views.names, views.is_bare), dtype=np.float64,
        name=f"mdt-assign-{assigner.digest()}-{token}", chunks=(sizes, (sum(widths),)), meta=np.empty((0, 0)),
    )  # fmt: skip
    found, first = {}, 0
    for (name, (shape, kind)), width in zip(columns.items(), widths, strict=True):
        part = packed[:, first : first + width].astype(kind)
        found[name] = part if shape else part[:, 0]
        first += width
    return Assignment(**found)


class _Shape:
    """The form in which views were given, without their rows."""

    def __init__(self, names: list[str] | None, is_bare: bool) -> None:
        self.names, self.is_bare = names, is_bare

    def as_given(self, parts: list[Any]) -> Any:
        """Return some rows of each view as they were given."""
        return ViewSources([], self.names, self.is_bare, None).as_given(parts)


def _packed(*parts: Any, model: Assigner, views: _Shape, block_info: Any = None) -> NDArray[np.float64]:
    """Return all results of a block side by side; double precision holds labels and single precision exactly."""
    number, start = 0, 0
    if block_info:
        number, start = int(block_info[0]["chunk-location"][0]), int(block_info[0]["array-location"][0][0])
    names = views.names or [f"view {v}" for v in range(len(parts))]
    check_block(list(parts), [f"X ({name})" for name in names], number, start)
    seen: list[str] = []
    found = assign_block(model, views.as_given(list(parts)), seen, 1, number, start)
    warn_of_blocks(seen)
    return np.column_stack([np.asarray(each, dtype=np.float64) for each in found.values()])


def assign_on_workers(
    assigner: Assigner,
    views: ViewSources,
    writer: Writer,
    manifest: Manifest | None,
    monitor: Monitor,
    rows: int,
    *,
    client: Any,
    is_limited: bool,
) -> int:
    """Assign the blocks that are not written yet on the workers; return the number of rows."""
    check_client(client)
    run = _Run(assigner, views, writer if writer.is_shared and views.n_rows is not None else None, client, rows)
    seen: list[str] = []

    def beat() -> None:
        if is_limited:
            check_time(monitor, manifest, run.n_done)
        monitor.beat()

    advice = f"give smaller blocks (block_rows, now {rows}) or larger workers"
    tasks = run.tasks(set() if manifest is None else manifest.done)
    with closing(completed(client, tasks, run.submit, run.model.n_threads, beat, advice)) as all_ended:
        for task, ended in all_ended:
            with naming_out(writer, manifest, task.number):
                found, warned = ended.result()
                if found is not None:
                    writer.write(task.start, found)
                if manifest is not None:
                    manifest.add(task.number)
            seen += warned
            run.count(task.n_rows)
            monitor.note(n_done=run.n_done)
    warn_of_blocks(seen)
    return run.n_rows


class _BlockTask(Task):
    """A block for a worker: its rows, or the sources of which the worker reads them."""

    def __init__(self, number: int, start: int, n_rows: int, parts: list[Any]) -> None:
        super().__init__(number, f"assign block {number} (rows {start} to {start + n_rows - 1})")
        self.start, self.n_rows, self.parts = start, n_rows, parts


class _Run:
    """The tasks of one call."""

    def __init__(self, assigner: Assigner, views: ViewSources, writer: Writer | None, client: Any, rows: int) -> None:
        self._views, self._writer, self._client, self._rows = views, writer, client, rows
        self._shape = _Shape(views.names, views.is_bare)
        self._labels = [source.label for source in views.sources]
        self._dask = require("dask", "client")
        self.model = Shared(client, assigner, "mdt-model")
        # Blocks that are done, and their rows.
        self.n_done = self.n_rows = 0

    def count(self, n_rows: int) -> None:
        """Count a block that is done."""
        self.n_rows, self.n_done = self.n_rows + n_rows, self.n_done + 1

    def tasks(self, done: set[int]) -> Iterator[_BlockTask]:
        """Yield the blocks that are not done; the others are counted."""
        # What workers can read is not read here.
        far = [is_far(source) for source in self._views.sources]
        here = [source for source, there in zip(self._views.sources, far, strict=True) if not there]
        if not here:
            assert self._views.n_rows is not None
            for number, start in enumerate(range(0, self._views.n_rows, self._rows)):
                n = min(self._rows, self._views.n_rows - start)
                if number in done:
                    self.count(n)
                    continue
                yield _BlockTask(number, start, n, [far_rows(s, start, start + n) for s in self._views.sources])
            return
        near = ViewSources(here, None, False, self._views.n_rows)
        for block in near.blocks(self._rows, lambda number: number not in done, check=False):
            if block.views is None:
                self.count(block.n_rows)
                continue
            read, stop = iter(block.views), block.start + block.n_rows
            parts = [
                far_rows(source, block.start, stop) if there else next(read)
                for source, there in zip(self._views.sources, far, strict=True)
            ]
            yield _BlockTask(block.number, block.start, block.n_rows, parts)

    def submit(self, task: _BlockTask) -> Any:
        """Send a block to a worker."""
        parts = [
            part if is_far(source) else scattered(self._client, part)
            for part, source in zip(task.parts, self._views.sources, strict=True)
        ]
        made = self._dask.delayed(_assign_on_worker, pure=False)(
            self.model.future, self._shape, parts, self._labels, task.number, task.start, self._writer,
            dask_key_name=f"mdt-assign-{task.number}-{uuid.uuid4().hex}",
        )  # fmt: skip
        return self._client.compute(made, retries=RETRIES)


def _assign_on_worker(
    model: Assigner, shape: _Shape, parts: list[Any], labels: list[str], number: int, start: int, writer: Writer | None
) -> tuple[Mapping[str, NDArray[Any]] | None, list[str]]:
    """Assign a block; return its results if the worker does not write them, and what it warned of."""
    read = [part() if isinstance(part, Read) else part for part in parts]
    check_block(read, labels, number, start)
    seen: list[str] = []
    found = assign_block(model, shape.as_given(read), seen, 1, number, start)
    if writer is None:
        return found, seen
    writer.write(start, found)
    return None, seen


def _client_of_this_process() -> Any:
    """Return the active client of distributed, None without one; Dask is not imported for it."""
    if "distributed" not in sys.modules:
        return None
    try:
        return sys.modules["distributed"].get_client()
    except ValueError:
        return None
