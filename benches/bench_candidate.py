"""Time of one candidate of a search: step, embedding, k-means and score.

Measures the candidate against dense matrices, its growth with the number of samples, the choice of
the diffusion time, and the solver alone against SciPy's svds (ARPACK).

Run: ``python benches/bench_candidate.py``. Data sets whose files are missing are skipped.
"""

import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import numpy as np
from scipy.sparse.linalg import svds
from sklearn.cluster import KMeans
from sklearn.metrics import calinski_harabasz_score
from threadpoolctl import threadpool_limits

import mdt_fast as mdt
from timing import print_table, seconds_of, time_in_turns

THREADS = 2
CLUSTERS = 10


def evaluate(W: mdt.Trajectory) -> float:
    """Score a candidate as a search does: embedding, one start of k-means, Calinski-Harabasz."""
    labels = mdt.k_means(mdt.embed(W, CLUSTERS).coordinates, CLUSTERS, n_init=1, random_state=0).labels
    return mdt.quality.calinski_harabasz(W.operators, labels)


def evaluate_densely(views: list[np.ndarray], before: np.ndarray, n_clusters: int = CLUSTERS) -> float:
    """Score a candidate with N x N matrices."""
    U, s, _ = np.linalg.svd(views[0] @ before)
    coordinates = U[:, 1 : n_clusters + 1] * s[1 : n_clusters + 1]
    labels = KMeans(n_clusters, n_init=1, random_state=0).fit_predict(coordinates)
    return float(np.mean([calinski_harabasz_score(P, labels) for P in views]))


@dataclass(frozen=True)
class PublishedSet:
    """Views of a data set, its diffusion time, and the number of rounds of dense computations."""

    name: str
    views: list[np.ndarray]
    t: int
    rounds: int


def published_sets() -> Iterator[PublishedSet]:
    """Yield the data sets whose files exist."""
    with suppress(FileNotFoundError):
        yield PublishedSet("Multi-Feat", mdt.datasets.fetch_multi_feat().views, 11, 3)
    with suppress(FileNotFoundError):
        yield PublishedSet("K-MvMNIST, s = 0.5", mdt.datasets.fetch_k_mvmnist(s=0.5).views, 10, 1)


def against_dense() -> None:
    rows = []
    for data in published_sets():
        ops = mdt.build_operators(data.views, preset="published", n_jobs=THREADS)
        before = ops.trajectory(np.random.default_rng(0).integers(0, len(ops), data.t - 1).tolist())
        W = before.extend(0)
        densely = partial(evaluate_densely, [P.toarray() for P in ops.views], before.toarray())
        dense, ours = seconds_of(densely, data.rounds), seconds_of(partial(evaluate, W), 9)
        differ = f"{abs(evaluate(W) / densely() - 1):.1e}" if data.rounds > 1 else ""
        times = [f"{dense:.2f}", f"{1e3 * ours:.0f}", f"{dense / ours:.0f}"]
        rows.append([data.name, f"{ops.n_samples:,}", str(data.t), *times, differ])
    print(f"### One candidate evaluation, {THREADS} threads, one start of k-means\n")
    header = ["data", "N", "t", "dense, s", "ours, ms", "dense / ours", "scores differ by"]
    print_table(header, rows)


def blobs(n: int) -> mdt.OperatorSet:
    views = mdt.datasets.make_multiview_blobs(n, n_views=2, n_features=20, cluster_std=4.0, random_state=0).views
    return mdt.build_operators(views, n_neighbors=15, n_jobs=THREADS)


def growth() -> None:
    sizes, t = (10_000, 31_623, 100_000), 12
    operators = [blobs(n) for n in sizes]
    rows: list[list[str]] = []
    first = last = None
    for n, ops in zip(sizes, operators, strict=True):
        W = ops.trajectory([s % 2 for s in range(t)])
        embedding = mdt.embed(W, CLUSTERS)
        stages = {
            "embedding": lambda W=W: mdt.embed(W, CLUSTERS),
            "k-means": lambda e=embedding: mdt.k_means(e.coordinates, CLUSTERS, n_init=1, random_state=0),
            "step": lambda W=W, ops=ops: ops.trajectory([0]) @ np.ones((W.shape[0], 16)),
            "all": lambda W=W: evaluate(W),
        }
        seconds = time_in_turns(stages, 5)
        exponent = "" if last is None else f"{np.log(seconds['all'] / last[1]) / np.log(n / last[0]):.2f}"
        rows.append([f"{n:,}", *(f"{1e3 * seconds[stage]:.1f}" for stage in stages), exponent])
        last = (n, seconds["all"])
        first = first or last
    print(f"### Growth of one evaluation: blobs, two views, d = 20, 15 neighbours, t = {t}, {THREADS} threads\n")
    print_table(["N", "embedding, ms", "k-means, ms", "one step on 16 columns, ms", "evaluation, ms", "exponent"], rows)
    overall = np.log(last[1] / first[1]) / np.log(last[0] / first[0])
    print(f"From {first[0]:,} to {last[0]:,}: exponent {overall:.2f}.\n")
    time_selection(operators[-1])


def time_selection(ops: mdt.OperatorSet) -> None:
    start = time.perf_counter()
    selected = mdt.select_time(ops)
    took = time.perf_counter() - start
    candidate = seconds_of(lambda: evaluate(ops.trajectory([s % 2 for s in range(selected.t)])), 3)
    print(f"### Choice of the diffusion time, N = {ops.n_samples:,}\n")
    times = [f"{took:.1f}", f"{1e3 * candidate:.0f}", f"{took / candidate:.0f}"]
    header = ["t", "column-steps", "seconds", "one candidate at t, ms", "candidates"]
    print_table(header, [[str(selected.t), f"{selected.n_column_steps:,}", *times]])


def solver() -> None:
    """Time each solver at the largest power of ten, as tolerance, that reaches an accuracy."""
    ops, rank = blobs(20_000), CLUSTERS + 1

    def ours(W: mdt.Trajectory, tol: float) -> np.ndarray:
        found = mdt.embed(W, CLUSTERS, tol=tol)
        return np.array([found.first_value, *found.singular_values])

    def arpack(W: mdt.Trajectory, tol: float) -> np.ndarray:
        return np.sort(svds(W, k=rank, tol=tol, random_state=0)[1])[::-1]

    rows = []
    for t in (1, 3, 8):
        W = ops.trajectory([s % 2 for s in range(t)])
        truth = ours(W, 1e-10)
        for accuracy in (1e-3, 1e-8):
            work, cells = {}, {}
            for name, solve in (("svds", arpack), ("ours", ours)):
                for tol in 10.0 ** -np.arange(1, 11):
                    error = np.max(np.abs(solve(W, tol) / truth - 1))
                    if error <= accuracy:
                        break
                work[name] = partial(solve, W, tol)
                cells[name] = (f"{tol:.0e}", f"{error:.0e}")
            seconds = time_in_turns(work, 5)
            times = [f"{1e3 * seconds[name]:.0f}" for name in work]
            ratio = f"{seconds['svds'] / seconds['ours']:.1f}"
            rows.append([str(t), f"{accuracy:.0e}", *times, *cells["svds"], *cells["ours"], ratio])
    print("### Leading 11 singular triplets, N = 20,000, two views, 15 neighbours, against SciPy's svds (ARPACK)\n")
    header = ["t", "accuracy", "svds, ms", "ours, ms", "its tol", "error", "our tol", "error", "svds / ours"]
    print_table(header, rows)


def run() -> None:
    # The graphs of blobs are disconnected on purpose.
    with warnings.catch_warnings(), threadpool_limits(THREADS):
        warnings.simplefilter("ignore", mdt.OperatorWarning)
        against_dense()
        growth()
        solver()


if __name__ == "__main__":
    run()
