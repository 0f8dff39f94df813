"""Progress and time limit of a long call.

A call has stages, one after the other. Its :class:`Monitor` reports them to a callable or to a terminal. The
core calls :meth:`Monitor.beat` twenty times a second while it works, on the thread of the caller, so that a stage
of minutes is seen to go on and can be stopped. A function that calls others passes its monitor as their argument
`progress`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from .. import _core
from .arguments import check_number
from .progress import clock, gauge, outputs_of
from .text import printable
from .warnings import TimeLimitWarning, warn_user

# Share of the time left that a choice before the search may take.
_SHARE = 1 / 3


@dataclass(frozen=True)
class Progress:
    """The progress of a fit, of a search or of the construction of operators.

    Attributes
    ----------
    stage : str
        What is computed now: "views" (their checks), "neighbours" and "operators" (view by view), "diffusion
        time", "number of clusters", "view weights", "search", "embedding" or "labels"; with landmarks also
        "landmarks" and "assignment". New samples have the stage "new samples". A command also has "reading".
    detail : str
        The part of the stage, such as the name of a view; empty if there is none.
    n_done : int
        Number of parts of the stage that are done: views, times, numbers of clusters, trajectories, blocks, or
        new samples.
    n_total : int or None
        Upper bound of `n_done`; None if it is not known.
    n_evaluations : int
        Number of trajectories scored so far.
    depth : int
        Length of the longest trajectory so far.
    best_score : float
        The best score so far; -inf before the first.
    seconds : float
        Time since the start of the call.
    stage_seconds : float
        Time since the start of the stage.
    seconds_left : float or None
        Estimate of the time that a search takes from now on; None if it is not known, and in other stages.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> ops = mdt.build_operators(views)
    >>> stages = set()
    >>> found = mdt.search(ops, 3, strategy="greedy", t=2, progress=lambda progress: stages.add(progress.stage))
    >>> stages
    {'search'}
    """

    stage: str = ""
    detail: str = ""
    n_done: int = 0
    n_total: int | None = None
    n_evaluations: int = 0
    depth: int = 0
    best_score: float = -math.inf
    seconds: float = 0.0
    stage_seconds: float = 0.0
    seconds_left: float | None = None

    def __str__(self) -> str:
        """Return the line that a terminal shows."""
        parts = [self.stage]
        if self.n_total:
            parts[0] += f" {gauge(self.n_done, self.n_total)}"
        elif self.n_done:
            parts[0] += f" {self.n_done}"
        if self.detail:
            parts.append(printable(self.detail))
        if self.depth and self.stage == "search":
            parts.append(f"depth {self.depth}")
            parts.append(f"best {self.best_score:.6g}")
        parts.append(clock(self.seconds))
        if self.seconds_left is not None:
            parts.append(f"{clock(self.seconds_left)} left")
        return "  ".join(parts)


ProgressLike: TypeAlias = "bool | Callable[[Progress], object] | Monitor | None"


class OutOfTimeError(Exception):
    """The time limit is reached inside :meth:`Monitor.stopping`."""


class Monitor:
    """The stages of a call, the reports of its progress, and its time limit.

    Attributes
    ----------
    time_limit : float or None
        Number of seconds that the call may take; None for any number.
    seconds_of : dict
        Seconds of each stage so far.
    reserve : float
        Seconds that will be needed after the search, in evaluations of a candidate.
    """

    def __init__(self, progress: Any, time_limit: float | None = None) -> None:
        self._callback, self._bar = outputs_of(progress)
        self.time_limit = None if time_limit is None else check_number("time_limit", time_limit)
        self.seconds_of: dict[str, float] = {}
        self.reserve = 0.0
        self._began = time.monotonic()
        self._stage_began = self._began
        self._end = math.inf if self.time_limit is None else self._began + self.time_limit
        self._is_stopping = False
        self._state = Progress()

    @property
    def seconds(self) -> float:
        """Time since the start."""
        return time.monotonic() - self._began

    @property
    def seconds_left(self) -> float:
        """Time until the limit, negative after it; infinity if there is none."""
        return self._end - time.monotonic()

    def share(self, share: float = _SHARE) -> float | None:
        """Return a share of the time left, by default that of a choice before the search; None if there is no limit."""
        return None if self._end == math.inf else share * max(self.seconds_left, 0.0)

    @contextmanager
    def limited(self, seconds: float | None) -> Iterator[None]:
        """Let the limit be some seconds from now, inside this context; None for no change."""
        before = self._end
        if seconds is not None:
            self._end = time.monotonic() + seconds
        try:
            yield
        finally:
            self._end = before

    @contextmanager
    def stopping(self) -> Iterator[None]:
        """Raise OutOfTimeError inside this context when the limit is reached."""
        before, self._is_stopping = self._is_stopping, True
        try:
            self.beat()
            yield
        finally:
            self._is_stopping = before

    @contextmanager
    def stage(self, name: str, **state: Any) -> Iterator[None]:
        """Report a stage from its start to its end; one inside another keeps the name of the outer one.

        `state` are attributes of the progress at its start.
        """
        if self._state.stage:
            yield
            return
        self._stage_began = time.monotonic()
        self._state = replace(self._state, **{"detail": "", "n_done": 0, "n_total": None, **state}, stage=name)
        try:
            self.beat(at_once=True)
            yield
            self.beat(at_once=True)
        finally:
            spent = time.monotonic() - self._stage_began
            self.seconds_of[name] = self.seconds_of.get(name, 0.0) + spent
            self._state = replace(self._state, stage="", seconds_left=None)

    def note(self, **changes: Any) -> None:
        """Change attributes of the progress and report it."""
        self._state = replace(self._state, **changes)
        self.beat()

    def beat(self, *, at_once: bool = False) -> None:
        """Report the progress."""
        if self._state.stage and (self._callback is not None or self._bar is not None):
            now = time.monotonic()
            shown = replace(self._state, seconds=now - self._began, stage_seconds=now - self._stage_began)
            if self._callback is not None:
                self._callback(shown)
            if self._bar is not None:
                self._bar.write(str(shown), at_once=at_once)
        if self._is_stopping and self.seconds_left <= 0:
            raise OutOfTimeError

    def clear(self) -> None:
        """Erase the bar, so that other text can be printed."""
        if self._bar is not None:
            self._bar.clear()

    def close(self) -> None:
        """Show the seconds of the stages, if there are several, and end the line."""
        if self._bar is None:
            return
        if len(self.seconds_of) > 1:
            self._bar.write(f"{clock(self.seconds)}: {self._stages()}", at_once=True)
        self._bar.close()

    def warn_if_late(self, slowest: float) -> None:
        """Warn if the limit was exceeded by more than a second and more than `slowest`, that of a candidate."""
        if self.time_limit is not None and self.seconds > self.time_limit + max(1.0, slowest):
            warn_user(
                f"time_limit: expected {self.time_limit:g} s, got a fit of {self.seconds:.1f} s ({self._stages()}); "
                "graphs and one candidate are always computed",
                TimeLimitWarning,
            )

    def _stages(self) -> str:
        return ", ".join(f"{name} {seconds:.1f} s" for name, seconds in self.seconds_of.items())


@contextmanager
def watch(progress: Any, time_limit: float | None = None) -> Iterator[Monitor]:
    """Give a call its monitor: that of its caller, with another limit if one is given, or a new one."""
    if isinstance(progress, Monitor):
        with progress.limited(time_limit):
            yield progress
        return
    monitor = Monitor(progress, time_limit)
    before = _core.set_heartbeat(monitor.beat)
    try:
        yield monitor
    finally:
        _core.set_heartbeat(before)
        monitor.close()
