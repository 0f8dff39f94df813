"""How long Ctrl-C takes: every long public function is interrupted at random moments, in a process of its own.

    python -m tests.reliability.interrupts                   # the whole table
    python -m tests.reliability.interrupts --only embed --trials 10

The parent sends SIGINT, because a thread of the same process could not do so while a call holds the GIL. CPU time is
that
of the interrupted process between the signal and KeyboardInterrupt; on an idle machine it is the elapsed time, since
everything runs on one thread.
"""

from __future__ import annotations

import argparse
import os
import random
import select
import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path

from tests.reliability.operations import OPERATIONS, Operation

ROOT = Path(__file__).resolve().parents[2]
# Largest accepted latency in seconds of CPU time.
BOUND = 1.0
# Seconds within which the signal is sent, and after which a call counts as not interruptible.
_LONGEST_DELAY = 3.0
_PATIENCE = 60.0
# Seconds that the preparation may take on a busy machine.
_PREPARATION = 600.0


@dataclass
class Latency:
    """Latencies of one operation.

    Attributes
    ----------
    operation : Operation
        What was interrupted.
    cpu, wall : list of float
        Seconds of each trial.
    fault : str or None
        What happened instead of KeyboardInterrupt.
    """

    operation: Operation
    cpu: list[float] = field(default_factory=list)
    wall: list[float] = field(default_factory=list)
    fault: str | None = None

    @property
    def is_fault(self) -> bool:
        """Whether the call was not interrupted in time."""
        return self.fault is not None or max(self.cpu, default=0.0) > BOUND


def measure(operation: Operation, trials: int, rng: random.Random) -> Latency:
    """Interrupt an operation several times."""
    found = Latency(operation)
    command = [sys.executable, "-m", "tests.reliability.interrupts", "--child", str(OPERATIONS.index(operation))]
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment
    ) as child:
        assert child.stdin is not None
        try:
            for _ in range(trials):
                child.stdin.write("go\n")
                child.stdin.flush()
                began = _line(child, _PREPARATION)
                if began != "running":
                    found.fault = began
                    break
                time.sleep(rng.uniform(0.02, _LONGEST_DELAY))
                cpu, sent = _cpu_seconds(child.pid), time.monotonic()
                child.send_signal(signal.SIGINT)
                answer = _line(child, _PATIENCE)
                if not answer.startswith("interrupted "):
                    found.fault = answer
                    break
                at, used = (float(number) for number in answer.split()[1:])
                found.cpu.append(used - cpu)
                found.wall.append(at - sent)
        finally:
            child.kill()
    return found


def _cpu_seconds(pid: int) -> float:
    """Return the CPU time of all threads of another process; the clock is that of clock_getcpuclockid(3)."""
    return time.clock_gettime((~pid << 3) | 2)


def _line(child: subprocess.Popen[str], patience: float) -> str:
    assert child.stdout is not None
    ready, _, _ = select.select([child.stdout], [], [], patience)
    if not ready:
        return f"no answer within {patience:.0f} s"
    return child.stdout.readline().strip() or f"process ended with {child.wait()}"


def _child(operation: Operation) -> None:
    """Repeat the call until it is interrupted, as often as the parent asks."""
    # A shell starts processes in the background with SIGINT ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    given = operation.prepare()
    for _ in sys.stdin:
        try:
            print("running", flush=True)
            while True:
                operation.call(given)
        except KeyboardInterrupt:
            print(f"interrupted {time.monotonic()} {time.process_time()}", flush=True)
        except BaseException as error:
            print(f"raised {type(error).__name__}: {error}".replace("\n", " ")[:200], flush=True)


def measure_all(trials: int, only: str = "", seed: int = 0) -> list[Latency]:
    """Measure the operations whose names contain a text, and print each as it is done."""
    rng = random.Random(seed)
    found = []
    for operation in OPERATIONS:
        if only in operation.name:
            found.append(measure(operation, trials, rng))
            print(row(found[-1]), flush=True)
    return found


def header() -> str:
    """Return the first lines of the table."""
    return "| function | size | trials | worst, CPU s | worst, elapsed s |\n|---|---|---|---|---|"


def row(found: Latency) -> str:
    """Return a line of the table."""
    function, size = found.operation.target, found.operation.size
    if found.fault is not None:
        return f"| `{function}` | {size} | {len(found.cpu)} | {found.fault} | |"
    mark = " (above the bound)" if found.is_fault else ""
    return f"| `{function}` | {size} | {len(found.cpu)} | {max(found.cpu):.2f}{mark} | {max(found.wall):.2f} |"


def main(argv: list[str] | None = None) -> int:
    """Run the command."""
    parser = argparse.ArgumentParser(prog="python -m tests.reliability.interrupts", description=__doc__)
    parser.add_argument("--trials", type=int, default=5)
    parser.add_argument("--only", default="", help="text that the names of the operations contain")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args(argv)
    if options.child is not None:
        _child(OPERATIONS[options.child])
        return 0
    print(header())
    found = measure_all(options.trials, options.only, options.seed)
    return 1 if any(each.is_fault for each in found) else 0


if __name__ == "__main__":
    sys.exit(main())
