"""Memory bandwidth of the sparse kernel: bytes per second of a step, against plain copies.

The bytes of a step on a block of c columns are entries x (index + value + c elements) + the output,
whether a cache holds them or not. Samples are in breadth-first order, one of the permutations that
searches use.

Run: ``python benches/bench_bandwidth.py [N ...]``.
"""

import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from scipy import sparse

import mdt_fast as mdt
from timing import print_table, seconds_of

THREADS, NEIGHBORS, STEPS, ROUNDS = 2, 15, 4, 7
SIZES = (100_000, 1_000_000)
COLUMNS = (4, 8, 16, 32)
COPIED_BYTES = 1 << 29


def copy_bandwidth() -> float:
    """Return bytes per second, read and written, of copies on all threads at the same time."""
    halves = [(np.zeros(COPIED_BYTES, np.uint8), np.ones(COPIED_BYTES, np.uint8)) for _ in range(THREADS)]
    with ThreadPoolExecutor(THREADS) as pool:
        seconds = seconds_of(lambda: list(pool.map(lambda half: np.copyto(*half), halves)), ROUNDS)
    return 2 * COPIED_BYTES * THREADS / seconds


def breadth_first(P: sparse.csr_array) -> sparse.csr_array:
    order = sparse.csgraph.reverse_cuthill_mckee(sparse.csr_matrix(P), symmetric_mode=True)
    Q = sparse.csr_array(P[order][:, order])
    Q.sort_indices()
    return Q


def bytes_of_step(P: sparse.csr_array, columns: int) -> int:
    width = P.dtype.itemsize
    return P.nnz * (4 + width + columns * width) + P.shape[0] * columns * width


def measure(n: int, dtype: str, bandwidth: float) -> list[list[str]]:
    views = mdt.datasets.make_multiview_blobs(n, n_views=1, n_features=10, cluster_std=4.0, random_state=0).views
    ops = mdt.build_operators(views, n_neighbors=NEIGHBORS, dtype=dtype, n_jobs=THREADS)
    P = breadth_first(ops.views[0])
    ops = mdt.OperatorSet.from_transitions([P], dtype=dtype, n_jobs=THREADS)
    once, often = ops.trajectory([0]), ops.trajectory([0] * (1 + STEPS))
    rows = []
    for columns in COLUMNS:
        X = np.random.default_rng(0).random((n, columns)).astype(dtype)
        # The difference of two lengths removes the cost of a call.
        seconds = (seconds_of(lambda X=X: often @ X, ROUNDS) - seconds_of(lambda X=X: once @ X, ROUNDS)) / STEPS
        rate = bytes_of_step(P, columns) / seconds
        cells = [f"{n:,}", dtype, str(columns), f"{1e3 * seconds:.1f}", f"{bytes_of_step(P, columns) / 1e9:.2f}"]
        rows.append([*cells, f"{rate / 1e9:.1f}", f"{100 * rate / bandwidth:.0f} %"])
    return rows


def run(sizes: tuple[int, ...] = SIZES) -> None:
    bandwidth = copy_bandwidth()
    print(f"### Steps against copies: {THREADS} threads copy {bandwidth / 1e9:.1f} GB/s, read and written\n")
    rows = [row for n in sizes for dtype in ("float32", "float64") for row in measure(n, dtype, bandwidth)]
    print_table(["N", "elements", "columns", "one step, ms", "bytes, GB", "GB/s", "share of copies"], rows)


if __name__ == "__main__":
    run(tuple(map(int, sys.argv[1:])) or SIZES)
