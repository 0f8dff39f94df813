"""Timing in rounds: each competitor runs once per round, so that slow periods affect all."""

import gc
import time
from collections.abc import Callable
from statistics import median
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mdt_fast import Progress


def time_in_turns(competitors: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """Return the median seconds of each competitor after one untimed round."""
    for work in competitors.values():
        work()
    seconds: dict[str, list[float]] = {name: [] for name in competitors}
    for _ in range(rounds):
        for name, work in competitors.items():
            gc.collect()
            # OpenBLAS keeps its threads busy for a while after a call.
            time.sleep(0.1)
            start = time.perf_counter()
            work()
            seconds[name].append(time.perf_counter() - start)
    return {name: median(times) for name, times in seconds.items()}


def seconds_of(work: Callable[[], Any], rounds: int) -> float:
    """Return the median seconds of several runs, after one untimed run if there are several."""
    times = []
    for _ in range(rounds + (rounds > 1)):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return median(times[rounds > 1 :])


def print_table(header: list[str], rows: list[list[str]]) -> None:
    """Print a Markdown table."""
    widths = [max(len(row[c]) for row in [header, *rows]) for c in range(len(header))]
    for row in [header, ["-" * w for w in widths], *rows]:
        print("| " + " | ".join(cell.ljust(w) for cell, w in zip(row, widths, strict=True)) + " |")
    print()


class StageSeconds:
    """The seconds of each stage of a fit, from its reports of progress; parts of a stage are added."""

    def __init__(self) -> None:
        self._parts: dict[tuple[str, str], float] = {}

    def note(self, report: "Progress") -> None:
        """Take a report. The clock of a stage starts again at each part, such as a view."""
        self._parts[report.stage, report.detail] = report.stage_seconds

    def totals(self) -> dict[str, float]:
        """Return the seconds by stage, in the order in which they began."""
        sums: dict[str, float] = {}
        for (stage, _), seconds in self._parts.items():
            sums[stage] = sums.get(stage, 0.0) + seconds
        return sums
