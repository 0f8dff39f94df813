"""Growth of graphs and of a search with the number of samples, on four kinds of data.

Two views of 50 columns in single precision, 15 neighbours, ``neighbors="auto"``; then a search over 16 random
trajectories of four steps, without the choice of the diffusion time. The kinds are round clusters that overlap, a
surface of eight dimensions, many clusters whose sizes follow a power law, and a cloud with heavy tails. Each size has
a process of its own. The table shows wall and processor seconds, and exponents of the processor seconds between two
sizes: these depend least on other programs of the machine.

Run: ``python benches/bench_growth.py [--kinds NAME ...] [--sizes N ...]``. Four million samples need 16 GB.
"""

import argparse
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable

import numpy as np

import mdt_fast as mdt
from bench_build import peak_megabytes
from timing import print_table

SIZES = (10_000, 100_000, 1_000_000, 4_000_000)
CLUSTERS, NEIGHBORS, STEPS, CANDIDATES, COLUMNS = 10, 15, 4, 16, 50
BLOCK = 50_000

# A kind makes the function from the numbers of some rows, and a stream for them, to the rows of both views.
Rows = Callable[[int, np.random.Generator], list[np.ndarray]]


def blobs(n: int) -> Rows:
    centers = np.random.default_rng(0).normal(size=(2, 10, COLUMNS)) * 3

    def rows(size: int, rng: np.random.Generator) -> list[np.ndarray]:
        label = rng.integers(10, size=size)
        return [center[label] + 6.0 * rng.normal(size=(size, COLUMNS)) for center in centers]

    return rows


def surface(n: int) -> Rows:
    maps = np.random.default_rng(0).normal(size=(2, 8, 64)), np.random.default_rng(1).normal(size=(2, 64, COLUMNS))

    def rows(size: int, rng: np.random.Generator) -> list[np.ndarray]:
        hidden = rng.normal(size=(size, 8))
        return [np.tanh(hidden @ bend / 2) @ lift for bend, lift in zip(*maps, strict=True)]

    return rows


def clusters(n: int) -> Rows:
    rng = np.random.default_rng(0)
    count = n // 50
    shares = 1.0 / np.arange(1, count + 1)
    ends = np.cumsum(shares / shares.sum())
    centers, widths = rng.normal(size=(2, count, COLUMNS)), rng.uniform(0.01, 0.1, size=count)

    def rows(size: int, rng: np.random.Generator) -> list[np.ndarray]:
        label = np.minimum(np.searchsorted(ends, rng.uniform(size=size)), count - 1)
        return [center[label] + widths[label, None] * rng.normal(size=(size, COLUMNS)) for center in centers]

    return rows


def heavy_tails(n: int) -> Rows:
    def rows(size: int, rng: np.random.Generator) -> list[np.ndarray]:
        scale = np.sqrt(rng.chisquare(2, size=(size, 1)) / 2)
        return [rng.normal(size=(size, COLUMNS)) / scale for _ in range(2)]

    return rows


KINDS: dict[str, Callable[[int], Rows]] = {
    "blobs": blobs, "surface": surface, "clusters": clusters, "heavy": heavy_tails
}  # fmt: skip


def views_of(kind: str, n: int) -> list[np.ndarray]:
    """Return both views, made a block at a time."""
    rows = KINDS[kind](n)
    views = [np.empty((n, COLUMNS), dtype=np.float32) for _ in range(2)]
    for start in range(0, n, BLOCK):
        stop = min(start + BLOCK, n)
        for view, block in zip(views, rows(stop - start, np.random.default_rng([2, start])), strict=True):
            view[start:stop] = block
    for view in views:
        # Operators share read-only views and copy others.
        view.flags.writeable = False
    return views


def measure(kind: str, n: int) -> dict[str, float]:
    views = views_of(kind, n)
    marks = [(time.perf_counter(), time.process_time())]
    ops = mdt.build_operators(views, n_neighbors=NEIGHBORS)
    marks.append((time.perf_counter(), time.process_time()))
    strategy = mdt.strategies.RandomWeights(n=CANDIDATES)
    mdt.search(ops, CLUSTERS, strategy=strategy, t=STEPS, progress=False, random_state=0)
    marks.append((time.perf_counter(), time.process_time()))
    (graphs, graphs_cpu), (search, search_cpu) = np.diff(marks, axis=0).tolist()
    return {
        "graphs": graphs, "graphs_cpu": graphs_cpu, "search": search, "search_cpu": search_cpu,
        "peak": peak_megabytes() / 1e3,
    }  # fmt: skip


def run(kinds: list[str], sizes: list[int]) -> None:
    rows, results = [], {}
    for kind in kinds:
        last: tuple[int, dict[str, float]] | None = None
        for n in sizes:
            command = [sys.executable, __file__, "--one", kind, str(n)]
            out = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
            found = results[kind, n] = json.loads(out.splitlines()[-1])
            cells = [kind, f"{n:,}"]
            for part in ("graphs", "search"):
                exponent = ""
                if last is not None:
                    growth = found[f"{part}_cpu"] / last[1][f"{part}_cpu"]
                    exponent = f"{np.log(growth) / np.log(n / last[0]):.2f}"
                cells += [f"{found[part]:.1f}", f"{found[f'{part}_cpu']:.1f}", exponent]
            rows.append([*cells, f"{found['peak']:.1f}"])
            print(rows[-1], file=sys.stderr, flush=True)
            last = n, found
    header = ["data", "N", "graphs, s", "CPU, s", "exponent", "search, s", "CPU, s", "exponent", "peak, GB"]
    print(
        f"### Growth: two views, d = {COLUMNS}, float32, {NEIGHBORS} neighbours, {CANDIDATES} candidates, t = {STEPS}\n"
    )
    print_table(header, rows)
    ends = [[kind] for kind in kinds]
    for row, kind in zip(ends, kinds, strict=True):
        for part in ("graphs_cpu", "search_cpu"):
            growth = results[kind, sizes[-1]][part] / results[kind, sizes[0]][part]
            row.append(f"{np.log(growth) / np.log(sizes[-1] / sizes[0]):.2f}")
    print(f"Exponents of the processor seconds from {sizes[0]:,} to {sizes[-1]:,} samples:\n")
    print_table(["data", "graphs", "search"], ends)


if __name__ == "__main__":
    # Clusters may be disconnected on purpose.
    warnings.simplefilter("ignore", mdt.OperatorWarning)
    warnings.simplefilter("ignore", mdt.ViewWarning)
    if sys.argv[1:2] == ["--one"]:
        print(json.dumps(measure(sys.argv[2], int(sys.argv[3]))))
    else:
        parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
        parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
        parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES))
        args = parser.parse_args()
        run(args.kinds, args.sizes)
