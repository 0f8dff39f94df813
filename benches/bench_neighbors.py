"""Exact neighbours against scikit-learn's brute force and faiss, and the tree against the scan."""

import faiss
import numpy as np
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

import mdt_fast as mdt
from mdt_fast import _core
from timing import print_table, time_in_turns

N, DIMENSIONS, NEIGHBORS, ROUNDS = 20_000, 100, 15, 5


def faiss_search(X: np.ndarray, threads: int) -> np.ndarray:
    faiss.omp_set_num_threads(threads)
    index = faiss.IndexFlatL2(X.shape[1])
    index.add(X)
    return index.search(X, NEIGHBORS + 1)[1]


def against_peers() -> None:
    print(f"### Exact neighbours: N = {N:,}, d = {DIMENSIONS}, K = {NEIGHBORS}, standard normal\n")
    X = np.random.default_rng(0).normal(size=(N, DIMENSIONS))
    rows = []
    # Two threads first: a limit that was lowered once is not always raised again by every library.
    for threads in (2, 1):
        for dtype in (np.float64, np.float32):
            Z = X.astype(dtype)
            Z32 = X.astype(np.float32)

            def brute(Z: np.ndarray = Z) -> np.ndarray:
                return NearestNeighbors(n_neighbors=NEIGHBORS, algorithm="brute").fit(Z).kneighbors()[1]

            def ours(Z: np.ndarray = Z, threads: int = threads) -> np.ndarray:
                return mdt.nearest_neighbors(Z, NEIGHBORS, n_jobs=threads)[0]

            def flat(Z32: np.ndarray = Z32, threads: int = threads) -> np.ndarray:
                return faiss_search(Z32, threads)

            with threadpool_limits(threads):
                agree = float((np.sort(brute(), axis=1) == np.sort(ours(), axis=1)).all(axis=1).mean())
                seconds = time_in_turns({"sklearn": brute, "ours": ours, "faiss": flat}, ROUNDS)
            ratios = [f"{seconds[peer] / seconds['ours']:.2f}" for peer in ("sklearn", "faiss")]
            times = [f"{seconds[who]:.2f}" for who in ("sklearn", "faiss", "ours")]
            rows.append([str(threads), dtype.__name__, *times, *ratios, f"{agree:.2%}"])
    header = ["threads", "input", "sklearn brute, s", "faiss FlatL2 (float32), s", "ours, s"]
    print_table([*header, "sklearn / ours", "faiss / ours", "rows equal to sklearn's"], rows)


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
    run()
