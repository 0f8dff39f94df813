"""The progress of a search, reported to a callable or shown on a terminal."""

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

from .._support.progress import clock, gauge, outputs_of


@dataclass(frozen=True)
class SearchProgress:
    """The progress of a search.

    Attributes
    ----------
    n_evaluations : int
        Number of trajectories scored so far.
    n_total : int or None
        Upper bound of the number of trajectories; None if it is not known.
    depth : int
        Length of the longest trajectory so far.
    best_score : float
        The best score so far; -inf before the first.
    seconds : float
        Time since the start.
    seconds_left : float or None
        Estimate of the time left; None if it is not known.
    """

    n_evaluations: int
    n_total: int | None
    depth: int
    best_score: float
    seconds: float
    seconds_left: float | None


ProgressLike: TypeAlias = bool | Callable[[SearchProgress], object] | None


class Reporter:
    """Count scored trajectories and report them to a callable or to a terminal."""

    def __init__(self, progress: ProgressLike, n_total: int | None) -> None:
        self._callback, self._bar = outputs_of(progress)
        self._n_total = n_total
        self._began = time.monotonic()
        # Evaluations of this run, which determine the estimate of the time left.
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

    def report(self) -> None:
        """Report the state."""
        state = self.state()
        if self._callback is not None:
            self._callback(state)
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


def _search_line(state: SearchProgress) -> str:
    n, total = state.n_evaluations, state.n_total
    head = gauge(n, total) if total else f"{n} evaluations"
    best = "" if state.best_score == -math.inf else f"  best {state.best_score:.6g}"
    left = "" if state.seconds_left is None else f"  {clock(state.seconds_left)} left"
    return f"search {head}  depth {state.depth}{best}  {clock(state.seconds)}{left}"
