"""Time and recall of approximate neighbours against pynndescent and faiss.

Measures seconds (the minimum of several runs) and recall of 15 neighbours, with two threads for
every competitor. Competitors have several settings. The table shows the first setting that reaches
the required recall, or the last one. pynndescent is run once before, so that its compilation is not
counted.

Run: ``python benches/bench_approximate.py [--sizes N ...] [--dimensions D ...] [--mnist]``.
"""

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

import mdt_fast as mdt
from timing import print_table

THREADS = 2
K = 15
PROBES = 1000
CHUNK = 20_000

# Names of settings, and functions that search with them.
Attempts = Iterator[tuple[str, Callable[[], np.ndarray]]]


def surface(n: int, d: int) -> np.ndarray:
    """Return points on a curved surface of eight dimensions in d columns."""
    rng = np.random.default_rng(0)
    hidden = np.tanh(rng.normal(size=(n, 8)) @ rng.normal(size=(8, 64)) / 2)
    return (hidden @ rng.normal(size=(64, d))).astype(np.float32)


def blobs(n: int, d: int) -> np.ndarray:
    """Return ten Gaussian clusters of full dimension."""
    views = mdt.datasets.make_multiview_blobs(n, n_views=1, n_features=d, n_clusters=10, random_state=0).views
    return views[0].astype(np.float32)


def mnist() -> np.ndarray:
    from mdt_fast.datasets._mnist import _read_digits

    images, _ = _read_digits(70_000, None, False)
    return images.reshape(70_000, -1).astype(np.float32)


def ours(X: np.ndarray, recall: float) -> Attempts:
    method = mdt.ApproximateNeighbors(recall)
    yield "", lambda: mdt.nearest_neighbors(X, K, method=method, n_jobs=THREADS)[0]


def exact(X: np.ndarray) -> Attempts:
    yield "", lambda: mdt.nearest_neighbors(X, K, n_jobs=THREADS)[0]


def pynndescent(X: np.ndarray) -> Attempts:
    from pynndescent import NNDescent

    def search(data: np.ndarray, width: int) -> np.ndarray:
        return NNDescent(data, n_neighbors=width, random_state=0, n_jobs=THREADS).neighbor_graph[0][:, 1 : K + 1]

    search(X[:20_000], K + 1)
    for width in (16, 24, 32, 48):
        yield f"n_neighbors={width}", partial(search, X, width)


def faiss_hnsw(X: np.ndarray) -> Attempts:
    import faiss

    for links, effort in ((16, 40), (16, 80), (32, 120)):

        def search(links: int = links, effort: int = effort) -> np.ndarray:
            index = faiss.IndexHNSWFlat(X.shape[1], links)
            index.hnsw.efConstruction, index.hnsw.efSearch = effort, effort
            index.add(X)
            return others(index.search(X, K + 1)[1])

        yield f"M={links}, ef={effort}", search


def faiss_ivf(X: np.ndarray) -> Attempts:
    import faiss

    n_lists = int(4 * np.sqrt(len(X)))
    for n_probe in (8, 32, 128):

        def search(n_probe: int = n_probe) -> np.ndarray:
            index = faiss.IndexIVFFlat(faiss.IndexFlatL2(X.shape[1]), X.shape[1], n_lists)
            index.train(X[: 40 * n_lists])
            index.add(X)
            index.nprobe = n_probe
            return others(index.search(X, K + 1)[1])

        yield f"nlist={n_lists}, nprobe={n_probe}", search


DATA = {"surface": ("surface of 8 dimensions", surface), "clusters": ("ten round clusters", blobs)}
COMPETITORS = {"ours": ours, "exact": exact, "pynndescent": pynndescent, "HNSW": faiss_hnsw, "IVF": faiss_ivf}


def others(found: np.ndarray) -> np.ndarray:
    """Remove the sample itself from its neighbours, or the last neighbour if it is not there."""
    itself = found == np.arange(len(found))[:, None]
    itself[~itself.any(axis=1), -1] = True
    return found[~itself].reshape(len(found), -1)


class Truth:
    """Exact distances to the neighbours of some samples."""

    def __init__(self, X: np.ndarray) -> None:
        self.rows = np.random.default_rng(1).choice(len(X), PROBES, replace=False)
        probes = X[self.rows].astype(np.float64)
        norms = (probes**2).sum(axis=1)[:, None]
        # The nearest neighbour is the sample itself.
        self.nearest = np.full((PROBES, K + 1), np.inf)
        for first in range(0, len(X), CHUNK):
            others = X[first : first + CHUNK].astype(np.float64)
            distances = norms + (others**2).sum(axis=1) - 2 * probes @ others.T
            self.nearest = np.partition(np.hstack([self.nearest, distances]), K, axis=1)[:, : K + 1]

    def recall(self, X: np.ndarray, found: np.ndarray) -> float:
        """Return the share of neighbours that were found; those at equal distance count."""
        hits = 0
        for row, last in zip(self.rows, self.nearest.max(axis=1), strict=True):
            mine = found[row]
            mine = mine[(mine >= 0) & (mine != row)]
            distances = ((X[mine].astype(np.float64) - X[row]) ** 2).sum(axis=1)
            hits += np.count_nonzero(distances <= last * (1 + 1e-6))
        return hits / (K * PROBES)


def compare(
    name: str, X: np.ndarray, competitors: dict[str, Callable[[np.ndarray], Attempts]], given: argparse.Namespace
) -> None:
    lines, base, truth = [], None, Truth(X)
    for competitor, attempts in competitors.items():
        for setting, search in attempts(X):
            seconds = np.inf
            for _ in range(given.repeats):
                began = time.perf_counter()
                found = search()
                seconds = min(seconds, time.perf_counter() - began)
            share = truth.recall(X, found)
            print(f"{name}, {competitor} {setting}: {seconds:.1f} s, {share:.3f}", file=sys.stderr, flush=True)
            if share >= given.recall:
                break
        base = base or seconds
        lines.append([competitor, setting, f"{seconds:.2f}", f"{share:.3f}", f"{seconds / base:.2f}"])
    print(f"### {name}: N = {len(X):,}, d = {X.shape[1]}\n")
    print_table(["", "setting", "seconds", "recall", "against the first"], lines)


def run(given: argparse.Namespace) -> None:
    import faiss

    faiss.omp_set_num_threads(THREADS)
    competitors = {name: COMPETITORS[name] for name in given.only}
    if "ours" in competitors:
        competitors["ours"] = partial(ours, recall=given.recall)
    for n in given.sizes:
        for d in given.dimensions:
            for name, make in (DATA[data] for data in given.data):
                compare(name, make(n, d), competitors, given)
    if given.mnist:
        compare("MNIST, pixels", mnist(), competitors, given)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", type=int, nargs="*", default=[100_000])
    parser.add_argument("--dimensions", type=int, nargs="*", default=[20, 50, 100])
    parser.add_argument("--data", nargs="*", choices=DATA, default=list(DATA))
    parser.add_argument("--mnist", action="store_true")
    parser.add_argument("--only", nargs="*", choices=COMPETITORS, default=list(COMPETITORS))
    parser.add_argument("--recall", type=float, default=0.95)
    parser.add_argument("--repeats", type=int, default=2)
    run(parser.parse_args())
