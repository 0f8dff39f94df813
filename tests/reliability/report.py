"""All figures of docs/reliability.md, measured and written by one command.

    python -m tests.reliability.report --output docs/reliability.md
    python -m tests.reliability.report --scale 0.01

The full size takes about an hour on an idle machine with two cores. A smaller scale takes fewer cases and, below 0.1,
fewer operations.
"""

from __future__ import annotations

import argparse
import datetime
import math
import os
import platform
import string
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from tests.fuzz.command import describe, summary
from tests.fuzz.workers import Tally, run_cases
from tests.reliability import interrupts, memory_caps
from tests.reliability.operations import OPERATIONS

import mdt_fast as mdt

T = TypeVar("T")
N_CALLS, N_FILES, N_KILLS, N_TRIALS = 100_000, 20_000, 500, 5
_SAMPLES = 40_000


@dataclass(frozen=True)
class Figure:
    """One line of the first table, and the section that belongs to it."""

    name: str
    measured: str
    required: str
    section: str
    is_reached: bool


def some(values: Sequence[T], scale: float) -> list[T]:
    """Return all values, or evenly spaced ones at a scale below 0.1."""
    return list(values[:: max(1, round(0.1 / scale))])


def _fuzz(suite: str, name: str, count: int) -> Figure:
    tally = run_cases(suite, range(count), processes=os.cpu_count() or 1)
    print(summary(suite, tally), flush=True)
    return Figure(
        name, f"{len(tally.faults)} faults in {tally.n_cases:,}", "0", _outcomes(suite, tally), not tally.faults
    )


def _outcomes(suite: str, tally: Tally) -> str:
    lines = [f"- {count:,} {outcome}" for outcome, count in tally.outcomes.most_common()]
    rate = tally.n_cases / max(tally.seconds, 1e-9)
    lines.append(f"- {rate:.0f} cases a second")
    causes = tally.by_cause()
    if causes:
        lines += ["", f"{len(causes)} distinct faults, the most frequent first:", ""]
    lines += [f"- {len(faults)} x `{describe(suite, faults[0])}`" for faults in list(causes.values())[:20]]
    return "\n".join(lines)


def _kills(count: int) -> Figure:
    """Kill every job of `kills` at random times and at operations on files."""
    kills: Any = import_module("tests.reliability.kills")
    names = ("kills", "torn", "lost", "different", "stray")
    loops = [(moments, make) for moments in ("time", "file") for make in kills.JOBS.values()]
    rows, n_kills, n_faults = [], 0, 0
    for moments, make in loops:
        with tempfile.TemporaryDirectory() as folder:
            found = kills.kill_loop(make(), Path(folder), math.ceil(count / len(loops)), moments=moments)
        rows.append(f"| {found.job} | {moments} | " + " | ".join(str(getattr(found, name)) for name in names) + " |")
        print(rows[-1], *found.details, sep="\n", flush=True)
        n_kills, n_faults = n_kills + found.kills, n_faults + found.failures
    table = [f"| job | moments | {' | '.join(names)} |", "|---" * (2 + len(names)) + "|", *rows]
    required = "0 lost, torn or different files"
    return Figure("kills", f"{n_faults} faults in {n_kills:,}", required, "\n".join(table), not n_faults)


def _interrupts(scale: float) -> Figure:
    trials = max(1, round(N_TRIALS * min(1.0, 10 * scale)))
    found = [each for operation in some(OPERATIONS, scale) for each in interrupts.measure_all(trials, operation.name)]
    slow = sum(each.is_fault for each in found)
    worst = max((max(each.cpu, default=0.0) for each in found), default=0.0)
    table = "\n".join([interrupts.header(), *map(interrupts.row, found)])
    measured = f"{slow} of {len(found)} functions later than {interrupts.BOUND:g} s; worst {worst:.2f} s"
    return Figure("interrupts", measured, "0 later than 1 s", table, not slow)


def _caps(samples: int, scale: float) -> Figure:
    found = [
        each for name in some(list(memory_caps.OPERATIONS), scale) for each in [memory_caps.measure(name, samples)]
    ]
    for each in found:
        print(memory_caps.row(each), flush=True)
    faults, total = sum(each.n_faults for each in found), sum(each.counts.total() for each in found)
    table = "\n".join([memory_caps.header(), *map(memory_caps.row, found)])
    return Figure("memory limits", f"{faults} aborts or other errors in {total}", "0", table, not faults)


def write_page(figures: dict[str, Figure], sizes: dict[str, Any], path: Path) -> None:
    """Write the page from its template."""
    template = string.Template((Path(__file__).parent / "template.md").read_text(encoding="utf-8"))
    rows = [f"| {each.name} | {each.measured} | {each.required} |" for each in figures.values()]
    text = template.substitute(
        {key: each.section for key, each in figures.items()},
        figures="\n".join(rows),
        date=datetime.datetime.now(tz=datetime.UTC).date().isoformat(),
        version=f"{mdt.__version__} (commit {_commit()})",
        machine=f"{platform.machine()} with {os.cpu_count()} cores, Python {platform.python_version()}",
        bound=f"{interrupts.BOUND:g}",
        **sizes,
    )
    path.write_text(text, encoding="utf-8")


def _commit() -> str:
    """Return the commit that is measured; figures without it could be those of other code."""
    command = ["git", "describe", "--always", "--dirty", "--exclude", "*"]
    done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=False)
    return done.stdout.strip() or "unknown"


def main(argv: list[str] | None = None) -> int:
    """Run the command; return 1 if a figure is not reached."""
    parser = argparse.ArgumentParser(prog="python -m tests.reliability.report", description=__doc__)
    parser.add_argument("--scale", type=float, default=1.0, help="part of the full numbers of cases")
    parser.add_argument("--samples", type=int, default=_SAMPLES, help="samples of the memory limits")
    parser.add_argument("--output", type=Path, default=Path("docs/reliability.md"))
    options = parser.parse_args(argv)
    scale = options.scale
    n_calls, n_files, n_kills = (math.ceil(count * scale) for count in (N_CALLS, N_FILES, N_KILLS))
    figures = {
        "api": _fuzz("api", "fuzzed calls", n_calls),
        "files": _fuzz("files", "changed files", n_files),
        "kills": _kills(n_kills),
        "interrupts": _interrupts(scale),
        "caps": _caps(options.samples, scale),
    }
    note = "" if scale == 1 else f"It is a run at {scale:g} of the full size, which `make reliability` measures."
    write_page(
        figures,
        {"n_calls": n_calls, "n_files": n_files, "samples": f"{options.samples:,}", "sizes": note},
        options.output,
    )
    for each in figures.values():
        print(f"{each.name}: {each.measured} (required: {each.required})")
    return 0 if all(each.is_reached for each in figures.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
