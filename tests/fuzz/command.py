"""The command line that both fuzzers share: many cases in workers, or a few in this process."""

from __future__ import annotations

import argparse
import itertools
import os
import tempfile
from collections.abc import Callable

from .workers import Report, Tally, run_cases


def reproducer(suite: str, case: int) -> str:
    """Return the command that runs one case again."""
    return f"python -m tests.fuzz.{suite} --seed {case} --only 1"


def run(suite: str, parser: argparse.ArgumentParser, run_case: Callable[..., Report], argv: list[str] | None) -> int:
    """Parse the options and run the cases; return 1 if there are faults."""
    parser.add_argument("--seed", type=int, default=0, help="number of the first case")
    parser.add_argument("--only", type=int, help="run this many cases in this process and show them")
    parser.add_argument("--calls", type=int, default=1000, help="number of cases")
    parser.add_argument("--minutes", type=float, help="run for this time instead")
    parser.add_argument("--processes", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--cpu-limit", type=float, default=30.0, help="seconds of CPU time of a case")
    options = parser.parse_args(argv)
    if options.only is not None:
        return _run_here(run_case, range(options.seed, options.seed + options.only))
    cases = range(options.seed, options.seed + options.calls)
    tally = run_cases(
        suite,
        cases if options.minutes is None else itertools.count(options.seed),
        processes=options.processes,
        seconds=None if options.minutes is None else 60 * options.minutes,
        cpu_limit=options.cpu_limit,
        on_fault=lambda fault: print(describe(suite, fault), flush=True),
    )
    print(summary(suite, tally))
    return 1 if tally.faults else 0


def describe(suite: str, fault: Report) -> str:
    """Return one line: the fault, and the command that reproduces it."""
    text = " ".join(fault.detail.split())[:160]
    return f"{fault.outcome}: {fault.what}: {text}  # {reproducer(suite, fault.case)}"


def summary(suite: str, tally: Tally) -> str:
    """Return the counts, and one line for each distinct fault."""
    rate = tally.n_cases / max(tally.seconds, 1e-9)
    lines = [f"{tally.n_cases} cases in {tally.seconds:.0f} s ({rate:.0f} a second)"]
    lines += [f"{count:8d}  {outcome}" for outcome, count in tally.outcomes.most_common()]
    causes = tally.by_cause()
    if causes:
        lines.append(f"{len(causes)} distinct faults:")
    lines += [f"{len(faults):6d} x {describe(suite, faults[0])}" for faults in causes.values()]
    return "\n".join(lines)


def _run_here(run_case: Callable[..., Report], cases: range) -> int:
    n_faults = 0
    os.environ["MDT_FAST_OFFLINE"] = "1"
    with tempfile.TemporaryDirectory(prefix="mdt-fuzz-") as folder:
        os.chdir(folder)
        for case in cases:
            report = run_case(case, lambda what: None, loud=True)
            n_faults += report.is_fault
            print(f"case {case}: {report.what}: {report.outcome} {report.detail}")
        os.chdir("/")
    return 1 if n_faults else 0
