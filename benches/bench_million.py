"""Time and memory of a whole analysis at up to a million samples, in single precision.

The stages are neighbours and operators, diffusion time, beam search (width 2, depth 12) and labels,
on two views of 50 columns with ten clusters and 15 neighbours. Each size has its own process,
because the peak memory is that of a process. Results are written to million.json, which
examples/growth.py plots.

Run: ``python benches/bench_million.py [N ...]``, or ``make bench-million`` (about ten minutes).
"""

import json
import subprocess
import sys
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.metrics import adjusted_mutual_info_score

import mdt_fast as mdt
from bench_bandwidth import copy_bandwidth
from bench_build import peak_megabytes
from bench_candidate import evaluate_densely
from mdt_fast._core import bytes_moved
from timing import print_table, seconds_of

SIZES = (10_000, 100_000, 1_000_000)
CLUSTERS, DEPTH, NEIGHBORS = 10, 12, 15
CLUSTER_STD = 6.0
DENSE_SIZES = (1000, 2000, 4000)
KEPT = Path(__file__).with_name("million.json")
STAGES = ("neighbours and operators", "diffusion time", "beam search", "labels")


def views_of(n: int) -> tuple[list[np.ndarray], np.ndarray]:
    # The clusters are the same at every size. They overlap: in the better view, one sample in
    # 20,000 is closer to another centre.
    bunch = mdt.datasets.make_multiview_blobs(
        n, n_features=50, n_clusters=CLUSTERS, cluster_std=CLUSTER_STD, random_state=0
    )
    return [view.astype(np.float32) for view in bunch.views], bunch.target


def job(n: int, neighbors: str) -> dict[str, float]:
    """Run all stages; return seconds, peak memory and agreement with the true labels."""
    views, target = views_of(n)
    before = peak_megabytes()
    marks = [(time.perf_counter(), bytes_moved())]

    def mark() -> None:
        marks.append((time.perf_counter(), bytes_moved()))

    ops = mdt.build_operators(views, n_neighbors=NEIGHBORS, neighbors=neighbors)
    mark()
    t = mdt.select_time(ops).t
    mark()
    found = mdt.search(ops, CLUSTERS, strategy=mdt.strategies.Beam(max_steps=DEPTH), t=t, progress=False)
    mark()
    coordinates = mdt.embed(found.trajectory, CLUSTERS).coordinates
    labels = mdt.k_means(coordinates, CLUSTERS, n_init=10, random_state=0).labels
    mark()
    seconds, moved = np.diff(marks, axis=0).T.tolist()
    return {
        "n": n, **dict(zip(STAGES, seconds, strict=True)), "total": sum(seconds), "t": t,
        "moved": dict(zip(STAGES, moved, strict=True)), "candidates": found.n_evaluations,
        "entries": sum(P.nnz for P in ops.views), "peak": peak_megabytes(), "views": before,
        "ami": float(adjusted_mutual_info_score(target, labels)),
        "search_ami": float(adjusted_mutual_info_score(target, found.labels)),
    }  # fmt: skip


def dense(n: int) -> dict[str, float]:
    """Time one candidate with dense matrices; a search holds eight of them at the same time."""
    ops = mdt.build_operators(views_of(n)[0], n_neighbors=NEIGHBORS, dtype="float64")
    views, before = [P.toarray() for P in ops.views], ops.trajectory([0, 1] * (DEPTH // 2 - 1)).toarray()
    return {
        "n": n,
        "candidate": seconds_of(partial(evaluate_densely, views, before, CLUSTERS), 1),
        "peak": 8e-6 * 8 * n * n,
    }


def run(sizes: tuple[int, ...]) -> None:
    kept = json.loads(KEPT.read_text()) if KEPT.exists() else {}
    results = []
    for n in sizes:
        out = subprocess.run([sys.executable, __file__, "--one", str(n)], check=True, capture_output=True, text=True)
        results.append(json.loads(out.stdout))
        kept.setdefault("ours", {})[str(n)] = results[-1]
        KEPT.write_text(json.dumps(kept, indent=1) + "\n")
    kept["dense"] = [dense(n) for n in DENSE_SIZES]
    KEPT.write_text(json.dumps(kept, indent=1) + "\n")
    rows = []
    for place, r in enumerate(results):
        exponent = ""
        if place:
            last = results[place - 1]
            exponent = f"{np.log(r['total'] / last['total']) / np.log(r['n'] / last['n']):.2f}"
        seconds = [f"{r[stage]:.1f}" for stage in (*STAGES, "total")]
        rows.append([f"{r['n']:,}", *seconds, exponent, f"{r['peak'] / 1e3:.1f}", f"{r['ami']:.4f}"])
    print("### The whole job in float32: two views, d = 50, ten clusters, 15 neighbours, width 2, depth 12\n")
    print_table(["N", *(f"{stage}, s" for stage in STAGES), "all, s", "exponent", "peak, GB", "AMI"], rows)
    print_bytes(results[-1])


def print_bytes(result: dict) -> None:
    """Print the bytes that steps moved in each stage, against plain copies."""
    bandwidth = copy_bandwidth()
    rows = []
    for stage in STAGES:
        seconds, moved = result[stage], result["moved"][stage]
        share = f"{100 * moved / seconds / bandwidth:.0f} %"
        rows.append([stage, f"{seconds:.1f}", f"{moved / 1e9:,.0f}", f"{moved / seconds / 1e9:.1f}", share])
    print(f"\n#### N = {result['n']:,} by stage: copies run at {bandwidth / 1e9:.1f} GB/s, read and written\n")
    print_table(["stage", "seconds", "moved by steps, GB", "GB/s", "share of copies"], rows)


if __name__ == "__main__":
    # The graphs of clusters may be disconnected on purpose.
    warnings.simplefilter("ignore", mdt.OperatorWarning)
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(job(int(sys.argv[2]), "approx")))
    else:
        run(tuple(map(int, sys.argv[1:])) or SIZES)
