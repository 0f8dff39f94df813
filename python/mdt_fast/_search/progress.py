"""The candidates of a search, counted for its progress."""

import math
import time

from .._support.monitor import Monitor


class Reporter:
    """Count scored trajectories and report them to a monitor."""

    def __init__(self, monitor: Monitor, n_total: int | None) -> None:
        self._monitor = monitor
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

    def add(self, depth: int, score: float, *, is_new: bool) -> None:
        """Count a scored trajectory."""
        self._n += 1
        self._n_new += is_new
        self._depth = max(self._depth, depth)
        self._best = max(self._best, score)

    def report(self) -> None:
        """Report the state."""
        left = None
        if self._n_total is not None and self._n_new:
            left = (time.monotonic() - self._began) / self._n_new * max(self._n_total - self._n, 0)
        self._monitor.note(
            n_done=self._n, n_total=self._n_total, n_evaluations=self._n, depth=self._depth, best_score=self._best,
            seconds_left=left,
        )  # fmt: skip
