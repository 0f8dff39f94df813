"""Tasks on the workers of a Dask cluster, and the rows that workers read themselves.

A task whose worker ends, or whose data are lost with a worker, is sent again. Few tasks are sent at a time, so that
the scheduler and this process hold little.
"""

from __future__ import annotations

import sys
import uuid
from collections import deque
from collections.abc import Callable, Generator, Iterator
from contextlib import suppress
from typing import Any, TypeVar

from .._sources.dask_array import DaskSource
from .._sources.source import RangeSource, RowSource
from .._support.extras import require

# Times that Dask runs a task again that failed, and that this module does after the loss of a worker.
RETRIES = 2
# Tasks that wait at each thread of the workers; the driver holds no more than these.
_WAITING = 3
# Errors of results that no worker has any more.
_LOST = ("CancelledError", "FutureCancelledError", "FuturesCancelledError")
# Seconds between two calls of `beat`.
POLL = 0.2


class Task:
    """A part of the work.

    Attributes
    ----------
    number : int
        Its number.
    what : str
        What a worker does, as messages say it: "assign block 3 (rows 300 to 399)".
    n_lost : int
        How often it was lost with a worker.
    """

    def __init__(self, number: int, what: str) -> None:
        self.number, self.what = number, what
        self.n_lost = 0


AnyTask = TypeVar("AnyTask", bound=Task)


class Ended:
    """The result or the error of a task."""

    def __init__(self, value: Any, error: BaseException | None) -> None:
        self._value, self._error = value, error

    def result(self) -> Any:
        """Return the result, or raise the error."""
        if self._error is not None:
            raise self._error
        return self._value


def check_client(client: Any) -> Any:
    """Return the module `distributed`, of which `client` has to be a client."""
    distributed = require("distributed", "client")
    if not isinstance(client, distributed.Client):
        raise TypeError(f"client: expected a distributed.Client, got {type(client).__name__}")
    return distributed


def as_task(client: Any, value: Any, name: str) -> Any:
    """Return the future of a task that makes a copy of an object on a worker."""
    pickle = require("distributed.protocol.pickle", "client")
    with _any_size():
        return client.submit(
            pickle.loads, pickle.dumps(value), key=f"{name}-{uuid.uuid4().hex}", pure=False, retries=RETRIES
        )


def on_all_workers(client: Any, value: Any, name: str, beat: Callable[[], None]) -> Any:
    """Return a task as :func:`as_task`, whose result all workers of this moment have.

    Dask prefers workers that have the data of a task, so others would hardly get any.
    """
    distributed, made = check_client(client), as_task(client, value, name)
    copies = {
        address: client.submit(_ignore, made, pure=False, workers=[address], allow_other_workers=False)
        for address in client.nthreads()
    }
    while copies:
        beat()
        with suppress(TimeoutError, distributed.TimeoutError, distributed.CancelledError):
            distributed.wait(list(copies.values()), timeout=POLL)
        # Dask would wait for a worker that is gone.
        there = client.nthreads()
        copies = {address: copy for address, copy in copies.items() if address in there and not copy.done()}
    return made


def _ignore(value: Any) -> None:
    """Need a value on a worker."""


def compute(client: Any, made: Any) -> Any:
    """Return the future of a delayed call, which may hold the rows of a block."""
    with _any_size():
        return client.compute(made, retries=RETRIES)


def _any_size() -> Any:
    """Switch off the warning of Dask of large tasks: few are sent at a time."""
    return require("dask", "client").config.set({"distributed.admin.large-graph-warning-threshold": sys.maxsize})


def completed(
    client: Any, tasks: Iterator[AnyTask], submit: Callable[[AnyTask], Any], beat: Callable[[], None], advice: str
) -> Generator[tuple[AnyTask, Ended]]:
    """Yield the tasks and what they ended with, in the order in which they end.

    Parameters
    ----------
    client : distributed.Client
        The cluster.
    tasks : iterator of Task
        They are drawn as workers become free.
    submit : callable
        Sends a task and returns its future.
    beat : callable
        Is called several times a second; what it raises ends the work.
    advice : str
        What the user may do if workers end again and again.
    """
    distributed = check_client(client)
    active: deque[tuple[AnyTask, Any]] = deque()
    is_over = False
    try:
        while True:
            while not is_over and len(active) < _WAITING * max(int(sum(client.nthreads().values())), 1):
                task = next(tasks, None)
                if task is None:
                    is_over = True
                else:
                    active.append((task, submit(task)))
            if not active:
                return
            _wait_for_one(distributed, active, beat)
            for _ in range(len(active)):
                task, future = active.popleft()
                if not future.done():
                    active.append((task, future))
                elif (ended := _ended(distributed, task, future, advice)) is None:
                    active.append((task, submit(task)))
                else:
                    yield task, ended
    finally:
        for _, future in active:
            future.cancel()


def _ended(distributed: Any, task: Task, future: Any, advice: str) -> Ended | None:
    """Return what a task that is done ended with; None if it has to be sent again.

    A result may be lost with its worker until it is here. A task that was lost too often is an error.
    """
    try:
        return Ended(future.result(), None)
    except (Exception, distributed.CancelledError) as caught:
        error = caught
    is_killed = type(error).__name__ == "KilledWorker"
    if not is_killed and type(error).__name__ not in _LOST:
        return Ended(None, error)
    task.n_lost += 1
    if is_killed or task.n_lost > RETRIES:
        raise RuntimeError(
            f"client: expected workers that {task.what}, got workers that ended again and again, perhaps out of "
            f"memory; {advice}"
        ) from error
    return None


def _wait_for_one(distributed: Any, active: deque[tuple[Any, Any]], beat: Callable[[], None]) -> None:
    """Wait until some task is done."""
    while True:
        beat()
        try:
            distributed.wait([future for _, future in active], timeout=POLL, return_when="FIRST_COMPLETED")
        except (TimeoutError, distributed.TimeoutError):
            continue
        except distributed.CancelledError:
            # All workers are lost; every task is looked at.
            return
        return


def is_far(source: RowSource) -> bool:
    """Return whether workers read the rows of a source."""
    return isinstance(source, DaskSource) or source.is_shared


def far_rows(source: Any, start: int, stop: int) -> Any:
    """Return what a worker makes some rows of: a part of a Dask graph, or a function to call."""
    if isinstance(source, DaskSource):
        return source.array[start:stop].rechunk(-1).to_delayed().item()
    return Read(source, start, stop)


class Read:
    """Rows that a worker reads from a source."""

    def __init__(self, source: RangeSource, start: int, stop: int) -> None:
        self._source, self._start, self._stop = source, start, stop

    def __call__(self) -> Any:
        """Return the rows."""
        return self._source.checked(self._start, self._stop)
