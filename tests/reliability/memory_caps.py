"""What happens when memory runs out: the main operations under ten limits of the address space each.

    python -m tests.reliability.memory_caps
    python -m tests.reliability.memory_caps --only embed --samples 10000

A first run without a limit measures how much an operation takes. The limits are parts of it, on top of what the process
has before the call. A call succeeds or raises MemoryError; anything else is a fault.
"""

from __future__ import annotations

import argparse
import os
import resource
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from tests.reliability.operations import labels, operators, operators_with_holes, trajectory, views, views_with_holes

import mdt_fast as mdt

ROOT = Path(__file__).resolve().parents[2]
SHARES = (0.01, 0.03, 0.1, 0.2, 0.3, 0.45, 0.6, 0.75, 0.9, 1.1)
_PATIENCE = 300.0
# Address space of a process that measures how much an operation takes.
_CEILING = 4 * 2**30

# What an operation needs and its call, for a number of samples.
OPERATIONS: dict[str, tuple[Callable[[int], Any], Callable[[Any], Any]]] = {
    "build_operators": (views, mdt.build_operators),
    "build_operators, approx": (views, lambda Xs: mdt.build_operators(Xs, neighbors="approx", random_state=0)),
    "build_operators, missing samples": (views_with_holes, lambda Xs: mdt.build_operators(Xs, joint=True)),
    "borrowed rows": (operators_with_holes, lambda ops: ops.views),
    "nearest_neighbors": (lambda n: views(n)[0], lambda X: mdt.nearest_neighbors(X, 30)),
    "k_means": (lambda n: views(n)[0], lambda X: mdt.k_means(X, 20, n_init=1, random_state=0)),
    "embed": (trajectory, lambda W: mdt.embed(W, 20)),
    "embed, 500 components": (lambda n: trajectory(min(n, 2500)), lambda W: mdt.embed(W, 500)),
    "select_time": (operators, lambda ops: mdt.select_time(ops, n_vectors=60)),
    "select_n_clusters": (operators, lambda ops: mdt.select_n_clusters(ops, t=3)),
    "search, beam": (operators, lambda ops: mdt.search(ops, 5, t=2, max_evaluations=6)),
    "search, consensus": (operators, lambda ops: mdt.search(ops, 5, t=2, strategy=mdt.strategies.Consensus(6))),
    "search, contrastive": (lambda n: operators(n // 4), lambda ops: mdt.search(ops, t=2,
    strategy=mdt.strategies.Contrastive(steps=2))),
    "view_report": (operators, lambda ops: mdt.view_report(ops, labels=labels(ops.n_samples), t=2)),
    "contrastive_loss": (lambda n: trajectory(n // 4), lambda W: mdt.quality.contrastive_loss(W.operators, W,
    gradient=True)),
    "silhouette": (operators, lambda ops: mdt.quality.silhouette(ops, labels(ops.n_samples))),
    "W @ B": (lambda n: (trajectory(n), np.ones((n, 200))), lambda given: given[0] @ given[1]),
    "W.T @ B": (lambda n: (trajectory(n), np.ones((n, 200))), lambda given: given[0].T @ given[1]),
    "tosparse": (trajectory, lambda W: W.tosparse()),
    "toarray": (lambda n: trajectory(min(n, 5000)), lambda W: W.toarray()),
    "new_rows": (operators, lambda ops: ops.new_rows([X + 0.01 for X in views(ops.n_samples)])),
    "pickle": (operators, lambda ops: __import__("pickle").loads(__import__("pickle").dumps(ops))),
    "MDTClustering.fit": (views, lambda Xs: mdt.MDTClustering(5, t=2, strategy="greedy").fit(Xs)),
}  # fmt: skip


@dataclass
class Outcomes:
    """Outcomes of one operation under all limits."""

    name: str
    needed: float
    counts: Counter[str] = field(default_factory=Counter)

    @property
    def n_faults(self) -> int:
        """Number of calls that neither succeeded nor raised MemoryError."""
        return self.counts.total() - self.counts["success"] - self.counts["MemoryError"]


def measure(name: str, samples: int) -> Outcomes:
    """Run an operation once without a limit and then under each limit."""
    first = _run(name, samples, 0)
    if not first.startswith("success "):
        return Outcomes(name, float("nan"), Counter({f"without a limit: {first}": 1}))
    _, taken, modules = first.split(" ")
    needed = max(int(taken), 2**20)
    found = Outcomes(name, needed / 1e6)
    for share in SHARES:
        outcome = _run(name, samples, int(share * needed), modules)
        found.counts["success" if outcome.startswith("success ") else outcome] += 1
    return found


def _run(name: str, samples: int, cap: int, modules: str = "") -> str:
    command = [sys.executable, "-m", "tests.reliability.memory_caps", "--child", name, str(samples), str(cap), modules]
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=_PATIENCE, check=False)
    except subprocess.TimeoutExpired:
        return "hang"
    if done.returncode < 0:
        return signal.Signals(-done.returncode).name
    last = done.stdout.rstrip("\n").splitlines()[-1:]
    return last[0] if last else f"exit {done.returncode}"


def _child(name: str, samples: int, cap: int, modules: str) -> None:
    """Prepare, set the limit, call, and print what happened.

    Modules that a call imports are no memory of the operation: the run without a limit names them, the others import
    them before.
    """
    prepare, call = OPERATIONS[name]
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    given = prepare(samples)
    for module in filter(None, modules.split(",")):
        # Some are parts of others and cannot be imported by themselves.
        with suppress(ImportError, AttributeError):
            import_module(module)
    known, before = set(sys.modules), _kilobytes("VmSize")
    limit = 1024 * before + cap if cap else _CEILING
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))
    try:
        call(given)
        outcome = "success"
    except BaseException as error:
        # The message may need memory, too.
        resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
        kind = type(error).__name__
        outcome = kind if kind == "MemoryError" else f"{kind}: {error}"[:120].replace("\n", " ")
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))
    if outcome == "success":
        imported = ",".join(sorted(set(sys.modules) - known))
        outcome = f"success {1024 * max(0, _kilobytes('VmPeak') - before)} {imported}"
    print(outcome)


def _kilobytes(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1])
    raise RuntimeError(f"{name}: expected in /proc/self/status")


def measure_all(samples: int, only: str = "") -> list[Outcomes]:
    """Measure the operations whose names contain a text, and print each as it is done."""
    found = []
    for name in OPERATIONS:
        if only in name:
            found.append(measure(name, samples))
            print(row(found[-1]), flush=True)
    return found


def header() -> str:
    """Return the first lines of the table."""
    return "| operation | needs, MB | success | MemoryError | other |\n|---|---|---|---|---|"


def row(found: Outcomes) -> str:
    """Return a line of the table."""
    other = {outcome: count for outcome, count in found.counts.items() if outcome not in ("success", "MemoryError")}
    text = ", ".join(f"{count} x {outcome}" for outcome, count in other.items()) or "0"
    return f"| {found.name} | {found.needed:.0f} | {found.counts['success']} | {found.counts['MemoryError']} | {text} |"


def main(argv: list[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.reliability.memory_caps", description=__doc__)
    parser.add_argument("--samples", type=int, default=40000)
    parser.add_argument("--only", default="", help="text that the names of the operations contain")
    parser.add_argument("--child", nargs=4, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.child is not None:
        name, samples, cap, modules = options.child
        _child(name, int(samples), int(cap), modules)
        return 0
    print(header())
    found = measure_all(options.samples, options.only)
    return 1 if any(each.n_faults for each in found) else 0


if __name__ == "__main__":
    sys.exit(main())
