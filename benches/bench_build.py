"""Time to build operators against dense matrices, and peak memory against the number of samples.

Times are those of the six views of Multi-Feat, or of random views of their shape if its files are
missing.

Run: ``python benches/bench_build.py``.
"""

import subprocess
import sys
from pathlib import Path

import numpy as np
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import NearestNeighbors

import mdt_fast as mdt
from timing import print_table, time_in_turns

SIZES = (25_000, 50_000, 100_000)
WIDTHS = {"fac": 216, "kar": 64, "zer": 47, "mor": 6, "pix": 240, "fou": 76}


def dense_operator(X: np.ndarray) -> np.ndarray:
    """Return the operator of a view, computed as in the published code with N x N matrices."""
    distances = pairwise_distances(X)
    n = len(X)
    bandwidth = np.where(distances > 0, distances, np.inf).min(axis=0).max()
    k = int(np.floor(np.log(n)))
    search = NearestNeighbors(n_neighbors=k, metric="precomputed").fit(distances)
    graph = search.kneighbors_graph(distances, mode="distance")
    affinity = np.zeros((n, n))
    rows = np.repeat(np.arange(n), k)
    affinity[rows, graph.indices] = np.exp(-(graph.data**2) / bandwidth)
    affinity = (affinity + affinity.T) / 2
    return affinity / affinity.sum(axis=1, keepdims=True)


def multi_feat() -> None:
    try:
        views, origin = mdt.datasets.fetch_multi_feat().views, "the real data"
    except FileNotFoundError:
        rng = np.random.default_rng(0)
        views, origin = [rng.random((2000, d)) for d in WIDTHS.values()], "random data of its shape"
    print(f"### Operators of six views, Multi-Feat ({origin}): N = {len(views[0])}\n")
    seconds = time_in_turns(
        {
            "dense": lambda: [dense_operator(X) for X in views],
            "1 thread": lambda: mdt.build_operators(views, preset="published", n_jobs=1),
            "2 threads": lambda: mdt.build_operators(views, preset="published", n_jobs=2),
        },
        5,
    )
    rows = [
        [who, f"{1e3 * seconds['dense']:.0f}", f"{1e3 * took:.0f}", f"{seconds['dense'] / took:.1f}"]
        for who, took in seconds.items()
        if who != "dense"
    ]
    print_table(["ours on", "dense, ms", "ours, ms", "dense / ours"], rows)


def peak_megabytes() -> float:
    """Return the peak resident size of this process (Linux; getrusage would include the parent)."""
    status = dict(line.split(":", 1) for line in Path("/proc/self/status").read_text().splitlines())
    return int(status["VmHWM"].split()[0]) / 1024


def peak_of_one_size(n: int) -> None:
    """Print the increase of the peak memory by one job, in a process that does nothing else."""
    X = np.random.default_rng(0).normal(size=(n, 20))
    before = peak_megabytes()
    ops = mdt.build_operators([X, X[:, ::-1]], n_neighbors=15)
    W = ops.trajectory([0, 1, 0])
    W @ np.ones((n, 32))
    W.T @ np.ones((n, 32))
    print(peak_megabytes() - before)


def memory() -> None:
    print("### Peak memory: two views, d = 20, K = 15, three steps and their transposes on 32 columns\n")
    peaks = []
    for n in SIZES:
        done = subprocess.run([sys.executable, __file__, str(n)], check=True, capture_output=True, text=True)
        peaks.append(float(done.stdout))
    rows = []
    for i, (n, peak) in enumerate(zip(SIZES, peaks, strict=True)):
        exponent = "" if i == 0 else f"{np.log(peak / peaks[i - 1]) / np.log(n / SIZES[i - 1]):.2f}"
        rows.append([f"{n:,}", f"{peak:.0f}", f"{1024 * peak / n:.2f}", exponent])
    print_table(["N", "MB above the input", "kB per sample", "exponent"], rows)


def run() -> None:
    multi_feat()
    memory()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        peak_of_one_size(int(sys.argv[1]))
    else:
        run()
