"""How a long search tells how far it is."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

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
        if progress is not None and not isinstance(progress, bool) and not callable(progress):
            raise TypeError(f"progress: expected None, True, False or a callable, got {progress!r}")
        self._tell = progress if callable(progress) else None
        wants_bar = sys.stderr.isatty() if progress is None else progress is True
        self._bar = _Bar() if wants_bar else None
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
            self._bar.show(state)

    def state(self) -> SearchProgress:
        """Return the state."""
        left = None
        if self._n_total is not None and self._n_new:
            left = self.seconds / self._n_new * max(self._n_total - self._n, 0)
        return SearchProgress(self._n, self._n_total, self._depth, self._best, self.seconds, left)

    def close(self) -> None:
        """End the line of the bar."""
        if self._bar is not None:
            self._bar.show(self.state(), at_once=True)
            self._bar.close()


class _Bar:
    def __init__(self) -> None:
        self._last = -math.inf
        self._length = 0

    def show(self, state: SearchProgress, *, at_once: bool = False) -> None:
        now = time.monotonic()
        if not at_once and now - self._last < _REFRESH:
            return
        self._last = now
        if state.n_total:
            full = min(_WIDTH, _WIDTH * state.n_evaluations // state.n_total)
            head = f"[{'#' * full}{'.' * (_WIDTH - full)}] {state.n_evaluations}/{state.n_total}"
        else:
            head = f"{state.n_evaluations} evaluations"
        best = "" if state.best_score == -math.inf else f"  best {state.best_score:.6g}"
        left = "" if state.seconds_left is None else f"  {_clock(state.seconds_left)} left"
        line = f"search {head}  depth {state.depth}{best}  {_clock(state.seconds)}{left}"
        sys.stderr.write("\r" + line.ljust(self._length))
        sys.stderr.flush()
        self._length = len(line)

    def close(self) -> None:
        sys.stderr.write("\n")
        sys.stderr.flush()


def _clock(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
