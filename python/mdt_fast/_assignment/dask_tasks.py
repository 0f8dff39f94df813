"""Tasks on the workers of a Dask cluster, and the rows that workers read themselves.

A task whose worker ends, or whose data are lost with a worker, is sent again. Few tasks are sent at a time, so that
the scheduler and this process hold little.
"""

from __future__ import annotations

import sys
import threading
import time
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
# Errors of results, or of data that were sent, that no worker has any more.
_LOST = ("CancelledError", "FutureCancelledError", "FuturesCancelledError")
# Seconds between two calls of `beat`.
_POLL = 0.2
# Held while the configuration of Dask is changed.
_CONFIGURATION = threading.Lock()


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
    """Return the future of a task that makes a copy of an object on a worker.

    The scheduler holds the pickled object as long as the future exists. A broadcast with `Client.scatter` would hold
    nothing there, but waits for ever if a worker ends while it receives its copy (distributed 2024.8 to 2026.8).
    """
    config, pickle = require("dask", "client").config, require("distributed.protocol.pickle", "client")
    # Dask warns of large tasks. Its configuration is that of the process, so two changes must not overlap.
    with _CONFIGURATION, config.set({"distributed.admin.large-graph-warning-threshold": sys.maxsize}):
        return client.submit(
            pickle.loads, pickle.dumps(value), key=f"{name}-{uuid.uuid4().hex}", pure=False, retries=RETRIES
        )


class Shared:
    """An object that all workers need.

    Dask gives tasks to workers that have what they need, so the first worker with the object would get all of them.
    Therefore each worker has a task that only needs the object, and as many tasks are sent as the workers that have it
    can take. A worker that is busy, paused or gone delays nothing.

    Attributes
    ----------
    future : distributed.Future
        The object.
    """

    def __init__(self, client: Any, value: Any, name: str) -> None:
        self._client, self.future = client, as_task(client, value, name)
        self._copies: dict[str, Any] = {}

    def n_threads(self) -> int:
        """Return the number of threads of the workers that have the object; the others are sent it."""
        threads = self._client.nthreads()
        there = set(self._client.who_has([self.future]).get(self.future.key, ()))
        self._copies = {address: copy for address, copy in self._copies.items() if address in threads}
        for address in threads:
            # Dask may drop a copy that no task needs at the moment.
            if address not in there and (address not in self._copies or self._copies[address].done()):
                self._copies[address] = self._client.submit(_ignore, self.future, pure=False, workers=[address])
        return sum(n for address, n in threads.items() if address in there)


def _ignore(value: Any) -> None:
    """Need a value."""


def scattered(client: Any, rows: Any) -> Any:
    """Return the future of rows on a worker.

    Rows are not part of a task, because the scheduler would hold them.
    """
    for _ in range(RETRIES):
        try:
            return client.scatter(rows, hash=False)
        except OSError:
            # A worker ended while it received them.
            time.sleep(_POLL)
    return client.scatter(rows, hash=False)


def completed(
    client: Any,
    tasks: Iterator[AnyTask],
    submit: Callable[[AnyTask], Any],
    n_threads: Callable[[], int],
    beat: Callable[[], None],
    advice: str,
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
    n_threads : callable
        Returns the number of threads that take tasks at present.
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
            most = 0 if is_over else _WAITING * max(n_threads(), 1)
            while not is_over and len(active) < most:
                task = next(tasks, None)
                if task is None:
                    is_over = True
                else:
                    active.append((task, submit(task)))
            if not active:
                return
            beat()
            _wait_a_moment(distributed, active)
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


def _wait_a_moment(distributed: Any, active: deque[tuple[Any, Any]]) -> None:
    """Wait until some task is done, not longer than between two calls of `beat`."""
    # If all workers are lost, every task is looked at.
    with suppress(TimeoutError, distributed.TimeoutError, distributed.CancelledError):
        distributed.wait([future for _, future in active], timeout=_POLL, return_when="FIRST_COMPLETED")


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
