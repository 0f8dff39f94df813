"""Time of exact neighbours against scikit-learn and faiss, and of the tree against the scan.

Run: ``python benches/bench_neighbors.py``.
"""

import subprocess
import sys
from functools import partial

import numpy as np
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

import mdt_fast as mdt
from mdt_fast import _core
from timing import print_table, time_in_turns

N, DIMENSIONS, NEIGHBORS, ROUNDS = 20_000, 100, 15, 5


def brute(X: np.ndarray, threads: int) -> np.ndarray:
    return NearestNeighbors(n_neighbors=NEIGHBORS, algorithm="brute", n_jobs=threads).fit(X).kneighbors()[1]


def ours(X: np.ndarray, threads: int) -> np.ndarray:
    return mdt.nearest_neighbors(X, NEIGHBORS, n_jobs=threads)[0]


def faiss_flat(X: np.ndarray, threads: int) -> np.ndarray:
    import faiss

    faiss.omp_set_num_threads(threads)
    index = faiss.IndexFlatL2(X.shape[1])
    index.add(X)
    return index.search(X, NEIGHBORS + 1)[1][:, 1:]


PEERS = {"sklearn brute": brute, "faiss FlatL2": faiss_flat}


def against_peer(name: str) -> None:
    """Print a line for each number of threads and element type."""
    X = np.random.default_rng(0).normal(size=(N, DIMENSIONS))
    for threads in (2, 1):
        for dtype in (np.float64, np.float32) if name != "faiss FlatL2" else (np.float32,):
            Z, peer = X.astype(dtype), PEERS[name]
            with threadpool_limits(threads):
                agree = (np.sort(peer(Z, threads), axis=1) == np.sort(ours(Z, threads), axis=1)).all(axis=1).mean()
                work = {"peer": partial(peer, Z, threads), "ours": partial(ours, Z, threads)}
                seconds = time_in_turns(work, ROUNDS)
            ratio = seconds["peer"] / seconds["ours"]
            times = [f"{seconds['peer']:.2f}", f"{seconds['ours']:.2f}", f"{ratio:.2f}"]
            print("|".join([name, str(threads), dtype.__name__, *times, f"{agree:.2%}"]))


def against_peers() -> None:
    print(f"### Exact neighbours: N = {N:,}, d = {DIMENSIONS}, K = {NEIGHBORS}, standard normal\n")
    rows = []
    for name in PEERS:
        # One process each: after faiss is imported, scikit-learn uses one thread whatever its
        # n_jobs.
        done = subprocess.run([sys.executable, __file__, name], check=True, capture_output=True, text=True)
        rows += [line.split("|") for line in done.stdout.splitlines()]
    print_table(["peer", "threads", "input", "peer, s", "ours, s", "peer / ours", "rows equal to the peer's"], rows)


def tree_against_scan() -> None:
    print("### Tree against scan: seconds on two threads, standard normal, K = 15\n")
    rng = np.random.default_rng(0)
    rows = []
    for n in (2_000, 20_000):
        for d in (2, 4, 6, 8, 10):
            X = rng.normal(size=(n, d))
            work = {m: lambda X=X, m=m: _core.knn(X, NEIGHBORS, "euclidean", m, 2) for m in ("scan", "tree")}
            seconds = time_in_turns(work, 3)
            ratio = seconds["scan"] / seconds["tree"]
            rows.append([f"{n:,}", str(d), f"{seconds['scan']:.4f}", f"{seconds['tree']:.4f}", f"{ratio:.2f}"])
    print_table(["N", "d", "scan", "tree", "scan / tree"], rows)


def run() -> None:
    against_peers()
    tree_against_scan()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        against_peer(sys.argv[1])
    else:
        run()
