"""Assignment on the workers of a Dask cluster: lazy arrays, or blocks that the workers read, assign and write.

The model is scattered once. The rows of a block depend only on its number, and a row of the results only on its own
row, so neither chunks nor retries nor lost workers change a bit. Workers use one thread for a block, because a
worker with several threads has several blocks.
"""

from __future__ import annotations

import sys
import time
from collections import deque
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._sources.dask_array import DaskSource
from .._sources.source import RangeSource, RowSource
from .._sources.views import ViewSources, check_block
from .._support.extras import require
from .._support.monitor import Monitor
from .assigner import Assigner
from .block import assign_block, check_time, naming_out, warn_of_blocks
from .manifest import Manifest
from .result import Assignment
from .writers import Writer

# Times that Dask runs a block again whose task failed, and that this module does after the loss of a worker.
_RETRIES = 2
# Blocks that wait at each thread of the workers; the driver holds no more than these.
_WAITING = 3
# Errors of results, or of the model, that no worker has any more.
_LOST = ("CancelledError", "FutureCancelledError", "FuturesCancelledError")
# Seconds between two looks at the time limit.
_POLL = 0.2


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
    model = dask.delayed(assigner if client is None else client.scatter(assigner, broadcast=True, hash=False))
    packed = blocks.map_blocks(
        _packed, *arrays, model=model, views=_Shape(views.names, views.is_bare), name=f"mdt-assign-{assigner.digest()}-"
        + dask.base.tokenize(*arrays), dtype=np.float64, chunks=(sizes, (sum(widths),)), meta=np.empty((0, 0)),
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
        number, start = block_info[0]["chunk-location"][0], block_info[0]["array-location"][0][0]
    names = views.names or [f"view {v}" for v in range(len(parts))]
    check_block(list(parts), [f"X ({name})" for name in names], number, int(start))
    seen: list[str] = []
    found = assign_block(model, views.as_given(list(parts)), seen, 1)
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
    distributed = require("distributed", "client")
    if not isinstance(client, distributed.Client):
        raise TypeError(f"client: expected a distributed.Client, got {type(client).__name__}")
    run = _Run(assigner, views, writer if writer.is_shared and views.n_rows is not None else None, client, rows)
    waiting = run.tasks(set() if manifest is None else manifest.done)
    active: deque[tuple[_Task, Any]] = deque()
    n_rows = n_done = 0
    seen: list[str] = []
    is_over = False
    try:
        while active or not is_over:
            while not is_over and len(active) < run.most_active():
                task = next(waiting, None)
                if task is None:
                    is_over = True
                elif task.parts is None:
                    n_rows, n_done = n_rows + task.n_rows, n_done + 1
                else:
                    active.append((task, run.submit(task)))
            if active:
                _wait_for_one(distributed, active, monitor, manifest, n_done, is_limited)
            for _ in range(len(active)):
                task, future = active.popleft()
                if not future.done():
                    active.append((task, future))
                    continue
                with naming_out(writer, manifest, task.number):
                    found = run.result(task, future)
                    if found is not None and found[0] is not None:
                        writer.write(task.start, found[0])
                    if found is not None and manifest is not None:
                        manifest.add(task.number)
                if found is None:
                    active.append((task, run.submit(task)))
                    continue
                seen += found[1]
                n_rows, n_done = n_rows + task.n_rows, n_done + 1
                monitor.note(n_done=n_done)
    finally:
        for _, future in active:
            future.cancel()
    warn_of_blocks(seen)
    return n_rows


class _Task:
    """A block for a worker: its rows, or the sources of which the worker reads them."""

    def __init__(self, number: int, start: int, n_rows: int, parts: list[Any] | None) -> None:
        self.number, self.start, self.n_rows, self.parts = number, start, n_rows, parts
        self.n_lost = 0


class _Run:
    """The tasks of one call."""

    def __init__(self, assigner: Assigner, views: ViewSources, writer: Writer | None, client: Any, rows: int) -> None:
        self._assigner, self._views, self._writer, self._client, self._rows = assigner, views, writer, client, rows
        self._shape = _Shape(views.names, views.is_bare)
        self._labels = [source.label for source in views.sources]
        self._dask = require("dask", "client")
        self._model: Any = None

    def _scattered(self) -> Any:
        """Return the model on the workers; it is sent again after the loss of all workers that had it."""
        for attempt in range(_RETRIES + 1):
            if self._model is not None and self._model.status == "finished":
                break
            try:
                self._model = self._client.scatter(self._assigner, broadcast=True, hash=False)
            except OSError:
                # A worker ended while it received the model.
                if attempt == _RETRIES:
                    raise
                time.sleep(_POLL)
        return self._model

    def most_active(self) -> int:
        """Return the number of blocks that may be in progress."""
        return _WAITING * max(int(sum(self._client.nthreads().values())), 1)

    def tasks(self, done: set[int]) -> Iterator[_Task]:
        """Yield the blocks; those that are done have no parts."""
        # What workers can read is not read here.
        far = [_is_far(source) for source in self._views.sources]
        here = [source for source, is_far in zip(self._views.sources, far, strict=True) if not is_far]
        if not here:
            assert self._views.n_rows is not None
            for number, start in enumerate(range(0, self._views.n_rows, self._rows)):
                n = min(self._rows, self._views.n_rows - start)
                parts = None if number in done else [self._part(s, start, n) for s in self._views.sources]
                yield _Task(number, start, n, parts)
            return
        near = ViewSources(here, None, False, self._views.n_rows)
        for block in near.blocks(self._rows, lambda number: number not in done, check=False):
            read = iter(block.views or [])
            parts = None
            if block.views is not None:
                parts = [
                    self._part(source, block.start, block.n_rows) if is_far else next(read)
                    for source, is_far in zip(self._views.sources, far, strict=True)
                ]
            yield _Task(block.number, block.start, block.n_rows, parts)

    def _part(self, source: Any, start: int, n: int) -> Any:
        if isinstance(source, DaskSource):
            return source.array[start : start + n].rechunk(-1).to_delayed().item()
        return _Read(source, start, start + n)

    def submit(self, task: _Task) -> Any:
        """Send a block to a worker."""
        assert task.parts is not None
        is_here = [source.label for source in self._views.sources if not _is_far(source)]
        # Rows of this process are no part of the graph, which the scheduler would hold.
        parts = [
            self._client.scatter(part, hash=False) if label in is_here else part
            for part, label in zip(task.parts, self._labels, strict=True)
        ]
        made = self._dask.delayed(_assign_on_worker, pure=False)(
            self._scattered(), self._shape, parts, self._labels, task.number, task.start, self._writer,
            dask_key_name=f"mdt-assign-{task.number}-{task.n_lost}-{id(self)}",
        )  # fmt: skip
        return self._client.compute(made, retries=_RETRIES)

    def result(self, task: _Task, future: Any) -> tuple[Mapping[str, NDArray[Any]] | None, list[str]] | None:
        """Return the results of a block, None if it has to be sent again; a failed block is an error."""
        if future.status == "finished":
            found: tuple[Mapping[str, NDArray[Any]] | None, list[str]] = future.result()
            return found
        error = future.exception() if future.status == "error" else None
        is_killed = type(error).__name__ == "KilledWorker"
        if error is not None and not is_killed and type(error).__name__ not in _LOST:
            raise error
        # The workers that had the model, or the rows of the block, are gone.
        task.n_lost += 1
        if is_killed or task.n_lost > _RETRIES:
            raise RuntimeError(
                f"client: expected workers that assign block {task.number} (rows {task.start} to "
                f"{task.start + task.n_rows - 1}), got workers that ended again and again, perhaps out of memory; give "
                f"smaller blocks (block_rows, now {self._rows}) or larger workers"
            ) from error
        return None


def _is_far(source: RowSource) -> bool:
    """Return whether workers read the rows of a source."""
    return isinstance(source, DaskSource) or source.is_shared


class _Read:
    """Rows that a worker reads from a source."""

    def __init__(self, source: RangeSource, start: int, stop: int) -> None:
        self._source, self._start, self._stop = source, start, stop

    def __call__(self) -> Any:
        """Return the rows."""
        return self._source.checked(self._start, self._stop)


def _assign_on_worker(
    model: Assigner, shape: _Shape, parts: list[Any], labels: list[str], number: int, start: int, writer: Writer | None
) -> tuple[Mapping[str, NDArray[Any]] | None, list[str]]:
    """Assign a block; return its results if the worker does not write them, and what it warned of."""
    read = [part() if isinstance(part, _Read) else part for part in parts]
    check_block(read, labels, number, start)
    seen: list[str] = []
    found = assign_block(model, shape.as_given(read), seen, 1)
    if writer is None:
        return found, seen
    writer.write(start, found)
    return None, seen


def _wait_for_one(
    distributed: Any,
    active: deque[tuple[_Task, Any]],
    monitor: Monitor,
    manifest: Manifest | None,
    n_done: int,
    is_limited: bool,
) -> None:
    """Wait until some block is done."""
    while True:
        if is_limited:
            check_time(monitor, manifest, n_done)
        try:
            distributed.wait([future for _, future in active], timeout=_POLL, return_when="FIRST_COMPLETED")
        except (TimeoutError, distributed.TimeoutError):
            monitor.beat()
            continue
        except distributed.CancelledError:
            # All workers are lost; every block is looked at.
            return
        return


def _client_of_this_process() -> Any:
    """Return the active client of distributed, None without one; Dask is not imported for it."""
    if "distributed" not in sys.modules:
        return None
    try:
        return sys.modules["distributed"].get_client()
    except ValueError:
        return None
