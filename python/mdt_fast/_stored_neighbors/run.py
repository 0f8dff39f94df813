"""Runs parts of the work, one after the other in this process or on the workers of a Dask cluster.

Workers read what they can read themselves. The rows of other sources, such as arrays in the memory of this process,
are passed to the functions here.
"""

from __future__ import annotations

import math
import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

from scipy import sparse

from .._assignment.dask_tasks import RETRIES, Read, Task, check_client, completed, far_rows, is_far
from .._graphs.views import Matrix, read_matrix
from .._sources.source import RowSource
from .._sources.views import ViewSources, check_block
from .._support.extras import require
from .._support.monitor import Monitor
from .place import Place


@dataclass(frozen=True)
class Call:
    """A function to call with some arguments, besides those that :class:`Runner` adds."""

    number: int
    what: str
    function: Callable[..., Any]
    arguments: tuple[Any, ...]


class _CallTask(Task):
    def __init__(self, call: Call, parts: tuple[Any, ...]) -> None:
        super().__init__(call.number, call.what)
        self.call, self.parts = call, parts


class Runner:
    """Where and how parts of the work are run.

    Attributes
    ----------
    views : ViewSources
        One view, with a known number of rows.
    block_rows : int
        Rows of a block.
    n_blocks : int
        Number of blocks.
    """

    def __init__(
        self, views: ViewSources, place: Place, block_rows: int, client: Any, monitor: Monitor, n_threads: int
    ) -> None:
        assert views.n_rows is not None
        self.views, self.block_rows = views, block_rows
        self.n_blocks = math.ceil(views.n_rows / block_rows)
        self._place, self._client, self._monitor, self._n_threads = place, client, monitor, n_threads
        if client is not None:
            check_client(client)

    @property
    def source(self) -> RowSource:
        """The source of the rows."""
        return self.views.sources[0]

    def bounds(self, block: int) -> tuple[int, int]:
        """Return the first row of a block, and the one after its last."""
        assert self.views.n_rows is not None
        return block * self.block_rows, min((block + 1) * self.block_rows, self.views.n_rows)

    def over_blocks(
        self, detail: str, wanted: Iterable[int], function: Callable[..., Any], *arguments: Any
    ) -> Iterator[tuple[int, Any]]:
        """Yield ``function(*arguments, number, start, rows, label, n_threads)`` of each block that is wanted.

        Its first row is number `start` of all rows.
        """
        chosen = sorted(wanted)
        if self._client is not None and is_far(self.source):
            calls = (self._call(block, function, arguments) for block in chosen)
            yield from self._on_workers(detail, len(chosen), (self._reading(call) for call in calls))
            return
        kept = set(chosen)
        with self._stage(detail, len(chosen)) as note:
            for block in self.views.blocks(self.block_rows, kept.__contains__):
                if block.views is not None:
                    part = block.views[0]
                    yield (
                        block.number,
                        _on_block(
                            function, arguments, block.number, block.start, part, self.source.label, self._n_threads
                        ),
                    )
                    note()

    def over(self, detail: str, calls: Iterable[Call]) -> Iterator[tuple[int, Any]]:
        """Yield ``function(*arguments, n_threads)`` of each call."""
        chosen = list(calls)
        if self._client is not None:
            yield from self._on_workers(detail, len(chosen), (_CallTask(call, ()) for call in chosen))
            return
        with self._stage(detail, len(chosen)) as note:
            for call in chosen:
                yield call.number, call.function(*call.arguments, self._n_threads)
                note()

    def _call(self, block: int, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Call:
        start, stop = self.bounds(block)
        what = f"read block {block} (rows {start} to {stop - 1})"
        return Call(block, what, _on_block, (function, arguments, block, start))

    def _reading(self, call: Call) -> _CallTask:
        return _CallTask(call, (far_rows(self.source, *self.bounds(call.number)), self.source.label))

    def _on_workers(self, detail: str, n: int, tasks: Iterator[_CallTask]) -> Iterator[tuple[int, Any]]:
        delayed = require("dask", "client").delayed

        def submit(task: _CallTask) -> Any:
            # Workers use one thread for a task, because a worker with several threads has several tasks. Dask runs
            # only one of two tasks with the same key, and a cell may have several runs.
            made = delayed(task.call.function, pure=False)(
                *task.call.arguments, *task.parts, 1,
                dask_key_name=f"mdt-neighbors-{detail}-{task.number}-{uuid.uuid4().hex}",
            )  # fmt: skip
            return self._client.compute(made, retries=RETRIES)

        def n_threads() -> int:
            return sum(self._client.nthreads().values())

        advice = "give smaller cells (cell_rows), smaller blocks (block_rows) or larger workers"
        with (
            self._stage(detail, n) as note,
            closing(completed(self._client, tasks, submit, n_threads, self._monitor.beat, advice)) as all_ended,
        ):
            for task, ended in all_ended:
                yield task.number, ended.result()
                note()

    @contextmanager
    def _stage(self, detail: str, n: int) -> Iterator[Callable[[], None]]:
        """Report the parts of a stage; give a function that counts one."""
        n_done = 0

        def note() -> None:
            nonlocal n_done
            n_done += 1
            self._monitor.note(n_done=n_done)

        with self._monitor.stage("neighbours", detail=detail, n_total=n):
            yield note


def _on_block(
    function: Callable[..., Any], arguments: tuple[Any, ...], number: int, start: int, part: Any, label: str,
    n_threads: int,
) -> Any:  # fmt: skip
    """Call a function with the rows of a block, which are read and checked."""
    rows = part() if isinstance(part, Read) else part
    check_block([rows], [label], number, start)
    return function(*arguments, number, start, dense(rows, label), label, n_threads)


def dense(rows: Any, label: str) -> Matrix:
    """Return rows as an array of single or double precision."""
    matrix = read_matrix(rows, label)
    if sparse.issparse(matrix):
        raise TypeError(f"{label}: expected dense rows, got a sparse matrix")
    return matrix
