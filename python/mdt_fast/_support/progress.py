"""Progress reports of long work: a bar on a terminal, or a callable."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from typing import Any

# Seconds between two updates of the bar, and its width in characters.
_REFRESH = 0.1
_WIDTH = 24


class TaskProgress:
    """Count the tasks of a study and report to a callable ``(done, total)`` or to a terminal."""

    def __init__(self, progress: bool | Callable[[int, int], object] | None, n_total: int) -> None:
        self._callback, self._bar = outputs_of(progress)
        self._n_total, self._n_done, self._n_new = n_total, 0, 0
        self._began = time.monotonic()

    def skip(self, n_tasks: int) -> None:
        """Count tasks of an earlier run, which do not enter the estimate of the time left."""
        self._n_done += n_tasks

    def add(self) -> None:
        """Count a task."""
        self._n_done += 1
        self._n_new += 1
        if self._callback is not None:
            self._callback(self._n_done, self._n_total)
        if self._bar is not None:
            self._bar.write(self._line(), at_once=self._n_done == self._n_total)

    def close(self) -> None:
        """End the line of the bar."""
        if self._bar is not None:
            self._bar.close()

    def _line(self) -> str:
        seconds = time.monotonic() - self._began
        left = seconds / self._n_new * (self._n_total - self._n_done)
        return f"study {gauge(self._n_done, self._n_total)}  {clock(seconds)}  {clock(left)} left"


def outputs_of(progress: Any) -> tuple[Callable[..., object] | None, ProgressBar | None]:
    """Return the callable and the bar for an argument `progress`."""
    is_function = callable(progress) and not isinstance(progress, type)
    if progress is not None and not isinstance(progress, bool) and not is_function:
        raise TypeError(f"progress: expected None, True, False or a callable, got {progress!r}")
    wants_bar = sys.stderr.isatty() if progress is None else progress is True
    return (progress if is_function else None), (ProgressBar() if wants_bar else None)


class ProgressBar:
    """One line on the standard error that is overwritten."""

    def __init__(self) -> None:
        self._last = -math.inf
        self._length = 0

    def write(self, line: str, *, at_once: bool) -> None:
        """Write the line; unless `at_once`, not more often than the display can show."""
        now = time.monotonic()
        if not at_once and now - self._last < _REFRESH:
            return
        self._last = now
        sys.stderr.write("\r" + line.ljust(self._length))
        sys.stderr.flush()
        self._length = len(line)

    def clear(self) -> None:
        """Erase the line."""
        sys.stderr.write("\r" + " " * self._length + "\r")
        sys.stderr.flush()
        self._length = 0

    def close(self) -> None:
        """End the line, if there is one."""
        if self._length:
            sys.stderr.write("\n")
            sys.stderr.flush()


def gauge(done: int, total: int) -> str:
    """Return a bar of characters and the counts."""
    full = min(_WIDTH, _WIDTH * done // total)
    return f"[{'#' * full}{'.' * (_WIDTH - full)}] {done}/{total}"


def clock(seconds: float) -> str:
    """Return a duration as minutes and seconds, with hours if there are any."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
