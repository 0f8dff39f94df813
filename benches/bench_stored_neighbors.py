"""Neighbours on disk, cell by cell, beside the search in memory: time, peak memory and recall.

Run: ``python benches/bench_stored_neighbors.py --samples 1000000 --cell-rows 200000``. The samples are 50 columns of
ten round clusters, in single precision, in an .npy file. Each way is a process of its own, with two threads or two
workers with one thread each; the memory is that of the largest process.
"""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import mdt_fast as mdt
from bench_build import peak_megabytes
from bench_landmarks import BLOCK, row_blocks
from timing import print_table

K = 15
QUERIES = 2000


def store_view(folder: Path, n: int, kind: str) -> Path:
    """Write the samples once; a second run finds them."""
    path = folder / f"{kind}-{n}.npy"
    if path.exists():
        return path
    out = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n, 50))
    plane = np.random.default_rng(5).normal(size=(6, 50))
    for number, block in enumerate(row_blocks(n, 0)):
        if kind == "surface":
            # Six dimensions, bent into fifty.
            inner = np.random.default_rng([9, number]).uniform(-1, 1, size=(len(block), 6))
            block = np.sin(inner @ plane) + 0.01 * block
        out[number * BLOCK : number * BLOCK + len(block)] = block
    return path


def measure(args: argparse.Namespace) -> None:
    """Print seconds, peak memory, recall, cells and cells for each sample of one way."""
    folder = Path(args.folder)
    X = np.load(args.path, mmap_mode="r")
    # The imports and the threads of the core.
    mdt.nearest_neighbors(np.random.default_rng(0).normal(size=(1000, 3)), 5, n_jobs=2)
    how = {"cell_rows": args.cell_rows, "progress": args.progress}
    began = time.perf_counter()
    if args.way == "memory":
        _, distances = mdt.nearest_neighbors(np.asarray(X), K, method="auto", n_jobs=2)
        seconds, peak, cells = time.perf_counter() - began, peak_megabytes() / 1e3, "- -"
    elif args.way == "cells":
        found = mdt.store_neighbors(args.path, K, folder / "cells", n_jobs=2, **how)
        seconds, peak, distances = time.perf_counter() - began, peak_megabytes() / 1e3, found.distances
        cells = f"{found.n_cells} {found.cells_per_sample}"
    else:
        from distributed import Client, LocalCluster

        n = int(args.way[0])
        with (
            LocalCluster(n_workers=n, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster,
            Client(cluster) as client,
        ):
            client.run(mdt.nearest_neighbors, [[0.0], [1.0]], 1)
            began = time.perf_counter()
            found = mdt.store_neighbors(args.path, K, folder / args.way, client=client, **how)
            seconds, distances = time.perf_counter() - began, found.distances
            peak = max([peak_megabytes(), *client.run(peak_megabytes).values()]) / 1e3
            cells = f"{found.n_cells} {found.cells_per_sample}"
    print(f"{seconds:.0f} {peak:.2f} {recall(X, distances):.4f} {cells}")


def recall(X: np.ndarray, distances: np.ndarray) -> float:
    """Return the share of the exact neighbours that were found, of some samples, compared with all others."""
    some = np.sort(np.random.default_rng(1).permutation(len(X))[:QUERIES])
    queries = X[some].astype(np.float64)
    nearest = np.full((len(some), K + 1), np.inf)
    for start in range(0, len(X), BLOCK):
        rows = np.asarray(X[start : start + BLOCK], dtype=np.float64)
        squares = (queries**2).sum(1)[:, None] - 2 * queries @ rows.T + (rows**2).sum(1)
        nearest = np.sort(np.concatenate([nearest, np.partition(squares, K, axis=1)[:, : K + 1]], axis=1))[:, : K + 1]
    # The nearest one is the sample itself. The products above are rounded.
    limits = np.sqrt(nearest[:, -1:]) * (1 + 1e-6)
    return float((np.asarray(distances[some]) <= limits).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--samples", type=int, default=1_000_000)
    parser.add_argument("--cell-rows", type=int, default=200_000)
    parser.add_argument("--kind", choices=["clusters", "surface"], default="clusters")
    parser.add_argument("--ways", nargs="+", default=["memory", "cells", "2-workers"])
    parser.add_argument("--folder")
    parser.add_argument("--progress", action="store_true")
    parser.add_argument("--way", help=argparse.SUPPRESS)
    parser.add_argument("--path", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.way:
        measure(args)
        return
    rows = []
    with tempfile.TemporaryDirectory(dir=args.folder) as temporary:
        path = store_view(Path(args.folder or temporary), args.samples, args.kind)
        for way in args.ways:
            command = [sys.executable, __file__, "--way", way, "--path", str(path), "--cell-rows", str(args.cell_rows)]
            command += ["--folder", temporary] + ["--progress"] * args.progress
            out = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
            rows.append([args.kind, f"{args.samples:,}", f"{args.cell_rows:,}", way, *out.splitlines()[-1].split()])
            print(rows[-1], file=sys.stderr, flush=True)
    header = ["data", "N", "cell_rows", "way", "seconds", "peak, GB", "recall", "cells", "cells per sample"]
    print_table(header, rows)


if __name__ == "__main__":
    main()
