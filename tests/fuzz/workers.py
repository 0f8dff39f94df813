"""A pool of worker processes that run numbered cases, so that a crash or a hang costs one case.

A worker reports every case before it runs, what it is about to call, and the outcome. If the process dies, the case
that
it last reported is the cause. Limits of a case: CPU time (SIGPROF), elapsed time (faulthandler, which needs neither the
GIL nor a live main thread) and address space (RLIMIT_AS). A case depends on its number only,
so the worker that replaces a
dead one continues with the next case.
"""

from __future__ import annotations

import faulthandler
import importlib
import itertools
import json
import os
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
# Cases that a worker gets at a time, and after which it is replaced, so that no state accumulates.
_BATCH = 20
_LIFETIME = 1500
_MEMORY = 4 * 2**30

# A suite is a module with `run_case(case, announce)`: it returns the name of what was called and, for a fault, its kind
# and
# detail. `announce` tells what is about to be called.
Announce = Callable[[str], None]


@dataclass(frozen=True)
class Report:
    """What one case did.

    Attributes
    ----------
    case : int
        Number of the case.
    what : str
        What was called or read.
    outcome : str
        "answered", "refused", "out of memory", or the kind of the fault.
    detail : str
        The message of an error or the trace of a crash.
    is_fault : bool
        Whether the outcome breaks a promise.
    """

    case: int
    what: str
    outcome: str
    detail: str = ""
    is_fault: bool = False


@dataclass
class Tally:
    """Counts of outcomes, and the faults."""

    outcomes: Counter[str] = field(default_factory=Counter)
    faults: list[Report] = field(default_factory=list)
    seconds: float = 0.0

    def add(self, report: Report) -> None:
        """Count a case."""
        self.outcomes[report.outcome] += 1
        if report.is_fault:
            self.faults.append(report)

    @property
    def n_cases(self) -> int:
        """Number of cases."""
        return self.outcomes.total()

    def by_cause(self) -> dict[tuple[str, str, str], list[Report]]:
        """Return the faults grouped by kind, call and message without numbers, most frequent first."""
        groups: dict[tuple[str, str, str], list[Report]] = {}
        for fault in sorted(self.faults, key=lambda fault: fault.case):
            text = "".join("#" if c.isdigit() else c for c in fault.detail.splitlines()[0] if fault.detail)[:90]
            groups.setdefault((fault.outcome, fault.what, text), []).append(fault)
        return dict(sorted(groups.items(), key=lambda item: -len(item[1])))


def run_cases(
    suite: str,
    cases: Iterable[int],
    *,
    processes: int = 2,
    seconds: float | None = None,
    cpu_limit: float = 30.0,
    wall_limit: float = 180.0,
    on_fault: Callable[[Report], None] | None = None,
) -> Tally:
    """Run cases of a suite in worker processes.

    Parameters
    ----------
    suite : {"api", "files"}
        Module of this package with `run_case`.
    cases : iterable of int
        Numbers of the cases; may be endless if `seconds` is given.
    processes : int, default=2
        Number of workers at a time.
    seconds : float or None, default=None
        Time after which no case is started.
    cpu_limit, wall_limit : float
        Seconds of CPU time and of elapsed time after which a case counts as a hang.
    on_fault : callable or None, default=None
        Gets each fault as soon as it is found.
    """
    tally, lock = Tally(), threading.Lock()
    began = time.monotonic()
    numbers = iter(cases)

    def batch() -> list[int]:
        with lock:
            if seconds is not None and time.monotonic() - began > seconds:
                return []
            return list(itertools.islice(numbers, _BATCH))

    def note(report: Report) -> None:
        with lock:
            tally.add(report)
            if report.is_fault and on_fault is not None:
                on_fault(report)

    def serve() -> None:
        with tempfile.TemporaryDirectory(prefix="mdt-fuzz-") as folder:
            worker = _Worker(suite, Path(folder), cpu_limit, wall_limit)
            while todo := batch():
                for report in worker.run(todo):
                    note(report)
            worker.close()

    threads = [threading.Thread(target=serve) for _ in range(processes)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    tally.seconds = time.monotonic() - began
    return tally


class _Worker:
    """One worker process, replaced when it dies or gets old."""

    def __init__(self, suite: str, folder: Path, cpu_limit: float, wall_limit: float) -> None:
        self._command = [sys.executable, "-m", "tests.fuzz.workers", suite, str(cpu_limit), str(wall_limit)]
        self._folder = folder
        self._errors = folder / "stderr"
        self._process: subprocess.Popen[str] | None = None
        self._what = "start"
        self._n_done = 0

    def run(self, cases: list[int]) -> Iterator[Report]:
        """Run cases; every case gets a report, also if its process dies."""
        left = list(cases)
        while left:
            self._what = "start"
            for report in self._reports(left):
                left.pop(0)
                yield report
            if left:
                died = self._post_mortem(left.pop(0))
                yield died if died.outcome == "hang" else self._confirm(died)

    def _reports(self, cases: list[int]) -> Iterator[Report]:
        """Yield the reports of a process until it has run the cases or died."""
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(cases) + "\n")
        process.stdin.flush()
        left = len(cases)
        while left and (line := process.stdout.readline()):
            if line.startswith("call "):
                self._what = line[5:].strip()
                continue
            left -= 1
            self._n_done += 1
            yield Report(**json.loads(line))
            self._what = "start"

    def _confirm(self, died: Report) -> Report:
        """Run the case of a crash alone; an earlier case of the process may have damaged its memory."""
        for _ in self._reports([died.case]):
            return replace(died, outcome=f"{died.outcome}, not alone")
        return self._post_mortem(died.case)

    def close(self) -> int:
        """End the process and return its exit code."""
        if self._process is None:
            return 0
        # Closes the pipes; a process that still runs ends with its input.
        with self._process as process:
            pass
        self._process = None
        return process.returncode

    def _started(self) -> subprocess.Popen[str]:
        if self._n_done > _LIFETIME:
            self.close()
        if self._process is None:
            self._n_done = 0
            path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
            threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
            settings = {"PYTHONPATH": path, "MDT_FAST_OFFLINE": "1", "MPLBACKEND": "agg", **threads}
            with self._errors.open("wb") as errors:
                self._process = subprocess.Popen(
                    self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True,
                    cwd=self._folder, env={**os.environ, **settings},
                )  # fmt: skip
        return self._process

    def _post_mortem(self, case: int) -> Report:
        code = self.close()
        trace = self._errors.read_text(errors="replace")
        if code == -signal.SIGPROF or "Timeout (" in trace:
            outcome = "hang"
        else:
            outcome = signal.Signals(-code).name if code < 0 else f"exit {code}"
        return Report(case, self._what, outcome, _last_frames(trace), is_fault=True)


def _last_frames(trace: str) -> str:
    """Return the lines of a trace that tell the cause: the panic or the innermost frames of the package."""
    lines = [line.strip() for line in trace.splitlines() if line.strip()]
    telling = [line for line in lines if "panicked" in line or "mdt_fast" in line or "memory allocation" in line]
    return "\n".join(telling[:8]) if telling else "\n".join(lines[:4])


def _work(suite: str, cpu_limit: float, wall_limit: float) -> None:
    """Run the cases that the standard input lists, until it ends."""
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    # The reports keep the pipe; whatever the package or a library prints goes to the error file.
    reports = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    faulthandler.enable()
    # The trace of a case that takes too much CPU time; the default action then ends the process.
    faulthandler.register(signal.SIGPROF, chain=True)
    module = importlib.import_module(f"tests.fuzz.{suite}")

    def announce(what: str) -> None:
        reports.write(f"call {what}\n")
        reports.flush()

    for line in sys.stdin:
        for case in json.loads(line):
            signal.setitimer(signal.ITIMER_PROF, cpu_limit)
            faulthandler.dump_traceback_later(wall_limit, exit=True)
            report: Any = module.run_case(case, announce)
            faulthandler.cancel_dump_traceback_later()
            signal.setitimer(signal.ITIMER_PROF, 0)
            reports.write(json.dumps(vars(report)) + "\n")
            reports.flush()


if __name__ == "__main__":
    _work(sys.argv[1], float(sys.argv[2]), float(sys.argv[3]))
