"""Time and memory of a fit of all samples from memory-mapped files, at up to ten million samples.

The views are two .npy files of 50 columns in single precision with ten overlapping clusters, as in
``bench_landmarks.py disk``. They are opened as read-only memory maps. Resident memory is read ten times a
second: what the process has allocated, and the pages of files, which the system can drop at any time.

Run: ``python benches/bench_full.py [--samples 10000000] [--strategy beam] [--folder DIR]``.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import threading
import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.metrics import adjusted_mutual_info_score

import mdt_fast as mdt
from bench_landmarks import store_views, targets
from timing import StageSeconds, print_table

CLUSTERS = 10
STRATEGIES = {
    "consensus": mdt.strategies.Consensus,
    "beam": lambda: mdt.strategies.Beam(max_steps=12),
}


def resident() -> dict[str, float]:
    """Return the resident gigabytes of this process: allocated, and of files."""
    status = Path("/proc/self/status").read_text()
    return {name: int(re.search(rf"Rss{name}:\s+(\d+)", status)[1]) / 1e6 for name in ("Anon", "File")}  # type: ignore[index]


class Watch:
    """The largest resident memory of each stage, read by a thread until `stop`."""

    def __init__(self) -> None:
        self.stage = "start"
        self.peaks: dict[str, dict[str, float]] = {}
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        while not self._done.wait(0.1):
            now = resident()
            now["Both"] = now["Anon"] + now["File"]
            old = self.peaks.setdefault(self.stage, now)
            self.peaks[self.stage] = {name: max(old[name], size) for name, size in now.items()}

    def stop(self) -> None:
        """End the readings."""
        self._done.set()
        self._thread.join()


def fit(args: argparse.Namespace) -> dict[str, object]:
    """Fit all samples; return the seconds and the peak memory of the stages."""
    views = [np.load(path, mmap_mode="r") for path in args.views]
    stages = StageSeconds()
    watch = Watch()

    def note(report: mdt.Progress) -> None:
        watch.stage = report.stage
        stages.note(report)
        if args.progress:
            print(f"{report.seconds:7.0f} {report.stage} {report.detail or ''} {resident()}", file=sys.stderr)

    began = time.perf_counter()
    try:
        model = mdt.MDTClustering(
            CLUSTERS, strategy=STRATEGIES[args.strategy](), n_neighbors=args.neighbors, verbose=note
        ).fit(views)
    finally:
        watch.stop()
    seconds = time.perf_counter() - began
    return {
        "stages": stages.totals(), "peaks": watch.peaks, "total": seconds, "t": model.t_,
        "candidates": len(model.search_history_),
        "ami": float(adjusted_mutual_info_score(targets(args.samples), model.labels_)),
    }  # fmt: skip


def run(args: argparse.Namespace) -> None:
    """Write the views, fit them in a process of its own, and print a row for each stage."""
    with tempfile.TemporaryDirectory(dir=args.folder) as temporary:
        paths = store_views(Path(args.folder or temporary), args.samples, "npy")
        out = subprocess.run(
            [sys.executable, __file__, *sys.argv[1:], "--views", *map(str, paths)],
            check=True, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
    r = json.loads(out.stdout)
    peaks = r["peaks"]
    rows = [
        [stage, f"{seconds:.0f}", *(f"{peaks.get(stage, {}).get(name, 0):.1f}" for name in ("Anon", "File", "Both"))]
        for stage, seconds in r["stages"].items()
        if seconds >= 0.5
    ]
    most = [f"{max(each[name] for each in peaks.values()):.1f}" for name in ("Anon", "File", "Both")]
    rows.append(["all", f"{r['total']:.0f}", *most])
    print(
        f"### A fit of {args.samples:,} samples, two memory-mapped views, d = 50, float32, {args.neighbors} neighbours,"
        f" strategy {args.strategy}: t = {r['t']}, {r['candidates']} candidates, AMI {r['ami']:.4f}\n"
    )
    print_table(["stage", "seconds", "allocated, GB", "pages of files, GB", "resident, GB"], rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--samples", type=int, default=10_000_000)
    parser.add_argument("--neighbors", type=int, default=15)
    parser.add_argument("--strategy", choices=STRATEGIES, default="beam")
    parser.add_argument("--folder", help="keep the views here; a second run finds them")
    parser.add_argument("--progress", action="store_true", help="print the reports of progress")
    parser.add_argument("--views", nargs=2, help=argparse.SUPPRESS)
    args = parser.parse_args()
    # The graphs of clusters may be disconnected on purpose.
    warnings.simplefilter("ignore", mdt.OperatorWarning)
    if args.views:
        print(json.dumps(fit(args)))
    else:
        run(args)
