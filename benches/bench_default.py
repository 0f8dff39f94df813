"""Time and memory of the default estimator, ``MDTClustering(10).fit``, at up to a million samples.

The views are those of bench_million.py in single precision. Each size has its own process, because the peak
memory is that of a process. The seconds of the stages come from the reports of progress.

Run: ``python benches/bench_default.py [N ...]``.
"""

import json
import subprocess
import sys
import time
import warnings

from sklearn.metrics import adjusted_mutual_info_score

import mdt_fast as mdt
from bench_build import peak_megabytes
from bench_million import CLUSTERS, views_of
from timing import StageSeconds, print_table

SIZES = (10_000, 100_000, 1_000_000)


def fit(n: int) -> dict[str, float]:
    """Fit, and return the seconds of the stages, the peak memory and the agreement with the true labels."""
    views, target = views_of(n)
    stages = StageSeconds()
    first: list[float] = []
    began = time.perf_counter()

    def note(report: mdt.Progress) -> None:
        first.append(time.perf_counter() - began)
        stages.note(report)

    model = mdt.MDTClustering(CLUSTERS, verbose=note).fit(views)
    seconds = time.perf_counter() - began
    silent = max(after - before for before, after in zip(first, [*first[1:], seconds], strict=True))
    return {
        "n": n, "stages": stages.totals(), "total": seconds, "first": first[0], "silent": silent, "t": model.t_,
        "candidates": len(model.search_history_), "peak": peak_megabytes(),
        "ami": float(adjusted_mutual_info_score(target, model.labels_)),
    }  # fmt: skip


def run(sizes: tuple[int, ...]) -> None:
    """Print one row for each size."""
    rows = []
    for n in sizes:
        out = subprocess.run([sys.executable, __file__, "--one", str(n)], check=True, capture_output=True, text=True)
        r = json.loads(out.stdout)
        stages = ", ".join(f"{name} {seconds:.1f}" for name, seconds in r["stages"].items() if seconds >= 0.05)
        rows.append(
            [f"{n:,}", f"{r['total']:.1f}", stages, f"{r['first']:.2f}", f"{r['silent']:.2f}", str(r["candidates"]),
             f"{r['peak'] / 1e3:.1f}", f"{r['ami']:.4f}"]
        )  # fmt: skip
    print("### `MDTClustering(10).fit`, two views, d = 50, float32, ten clusters\n")
    header = ["N", "all, s", "stages, s", "first report, s", "longest silence, s", "candidates", "peak, GB", "AMI"]
    print_table(header, rows)


if __name__ == "__main__":
    # The graphs of clusters may be disconnected on purpose.
    warnings.simplefilter("ignore", mdt.OperatorWarning)
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(fit(int(sys.argv[2]))))
    else:
        run(tuple(map(int, sys.argv[1:])) or SIZES)
