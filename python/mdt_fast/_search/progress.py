"""How long work tells how far it is: a search by what it has scored, a study by its tasks."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

# Seconds between two updates of the bar.
_REFRESH = 0.1
_WIDTH = 24


@dataclass(frozen=True)
class SearchProgress:
    """How far a search is.

    Attributes
    ----------
    n_evaluations : int
        Trajectories scored so far.
    n_total : int or None
        How many there will be at most; None where nobody knows.
    depth : int
        Length of the longest trajectory so far.
    best_score : float
        The best score so far; -inf before the first.
    seconds : float
        Time since the start.
    seconds_left : float or None
        Estimate of the time left; None where nobody knows.
    """

    n_evaluations: int
    n_total: int | None
    depth: int
    best_score: float
    seconds: float
    seconds_left: float | None


ProgressLike: TypeAlias = bool | Callable[[SearchProgress], object] | None


class Reporter:
    """Collects what has been scored and tells it: to a callable, to a terminal, or to nobody."""

    def __init__(self, progress: ProgressLike, n_total: int | None) -> None:
        self._tell, self._bar = _listeners(progress)
        self._n_total = n_total
        self._began = time.monotonic()
        # Evaluations that cost time in this run, for the estimate: those of an earlier run are free.
        self._n_new = 0
        self._n = 0
        self._depth = 0
        self._best = -math.inf

    @property
    def n_evaluations(self) -> int:
        """Number of trajectories scored so far."""
        return self._n

    @property
    def seconds(self) -> float:
        """Time since the start."""
        return time.monotonic() - self._began

    def add(self, depth: int, score: float, *, is_new: bool) -> None:
        """Count a scored trajectory."""
        self._n += 1
        self._n_new += is_new
        self._depth = max(self._depth, depth)
        self._best = max(self._best, score)

    def tell(self) -> None:
        """Report the state."""
        state = self.state()
        if self._tell is not None:
            self._tell(state)
        if self._bar is not None:
            self._bar.write(_search_line(state), at_once=False)

    def state(self) -> SearchProgress:
        """Return the state."""
        left = None
        if self._n_total is not None and self._n_new:
            left = self.seconds / self._n_new * max(self._n_total - self._n, 0)
        return SearchProgress(self._n, self._n_total, self._depth, self._best, self.seconds, left)

    def close(self) -> None:
        """End the line of the bar."""
        if self._bar is not None:
            self._bar.write(_search_line(self.state()), at_once=True)
            self._bar.close()


class TaskProgress:
    """Counts the tasks of a study and tells: a callable (done, total), a terminal, or nobody."""

    def __init__(self, progress: bool | Callable[[int, int], object] | None, n_total: int) -> None:
        self._tell, self._bar = _listeners(progress)
        self._n_total, self._n_done, self._n_new = n_total, 0, 0
        self._began = time.monotonic()

    def skip(self, n_tasks: int) -> None:
        """Count tasks that an earlier run has done: they tell nothing of the time left."""
        self._n_done += n_tasks

    def add(self) -> None:
        """Count a task."""
        self._n_done += 1
        self._n_new += 1
        if self._tell is not None:
            self._tell(self._n_done, self._n_total)
        if self._bar is not None:
            self._bar.write(self._line(), at_once=self._n_done == self._n_total)

    def close(self) -> None:
        """End the line of the bar."""
        if self._bar is not None:
            self._bar.close()

    def _line(self) -> str:
        seconds = time.monotonic() - self._began
        left = seconds / self._n_new * (self._n_total - self._n_done)
        return f"study {_gauge(self._n_done, self._n_total)}  {_clock(seconds)}  {_clock(left)} left"


def _listeners(progress: Any) -> tuple[Callable[..., object] | None, _Bar | None]:
    """Return the callable and the bar that `progress` asks for."""
    if progress is not None and not isinstance(progress, bool) and not callable(progress):
        raise TypeError(f"progress: expected None, True, False or a callable, got {progress!r}")
    wants_bar = sys.stderr.isatty() if progress is None else progress is True
    return (progress if callable(progress) else None), (_Bar() if wants_bar else None)


class _Bar:
    """One line on the standard error, written over and over."""

    def __init__(self) -> None:
        self._last = -math.inf
        self._length = 0

    def write(self, line: str, *, at_once: bool) -> None:
        now = time.monotonic()
        if not at_once and now - self._last < _REFRESH:
            return
        self._last = now
        sys.stderr.write("\r" + line.ljust(self._length))
        sys.stderr.flush()
        self._length = len(line)

    def close(self) -> None:
        sys.stderr.write("\n")
        sys.stderr.flush()


def _search_line(state: SearchProgress) -> str:
    n, total = state.n_evaluations, state.n_total
    head = _gauge(n, total) if total else f"{n} evaluations"
    best = "" if state.best_score == -math.inf else f"  best {state.best_score:.6g}"
    left = "" if state.seconds_left is None else f"  {_clock(state.seconds_left)} left"
    return f"search {head}  depth {state.depth}{best}  {_clock(state.seconds)}{left}"


def _gauge(done: int, total: int) -> str:
    full = min(_WIDTH, _WIDTH * done // total)
    return f"[{'#' * full}{'.' * (_WIDTH - full)}] {done}/{total}"


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
