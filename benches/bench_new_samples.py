"""New samples: the index against a comparison with all training samples and against faiss.

The first table has the edges of new samples in one view of 50 columns (float32, 15 neighbours): the k + 1 nearest
training samples, and those whose radius contains the new sample. faiss finds only the k + 1 nearest. Of its settings
the first that reaches the recall of our k + 1 nearest is shown, or the last. All have two threads, and the smaller time
of two runs is shown. Ours gets all new samples in one call, faiss at most 50,000. Recall is measured on the first
2,000 new samples. The comparison with all ("exact") is timed on these; its time for a sample does not depend on
their number.

The second table has a whole transform: two views, operators with ``neighbors="approx"``, a trajectory of four
steps, ten coordinates.

Run: ``python benches/bench_new_samples.py edges NAME [--train N] [--new M] [--only-ours]`` with NAME blobs, mnist or
surface, or ``python benches/bench_new_samples.py transform [--train N] [--new M]``.
"""

import argparse
import resource
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import mdt_fast as mdt
from bench_approximate import surface
from bench_million import views_of
from bench_scanpy_neighbors import mnist
from mdt_fast import _core
from timing import print_table

THREADS, K, RECALL = 2, 15, 0.95
CHECKED = 2000
IVF_CELLS, IVF_PROBES = 1024, (4, 8, 16, 32, 64, 128, 256)
HNSW_LINKS, HNSW_EFFORTS = 16, (32, 64, 128, 256, 512)


def data_of(name: str, n: int) -> np.ndarray:
    if name == "blobs":
        X = views_of(n)[0][0]
    elif name == "surface":
        X = surface(n, 50)
    else:
        X = mnist()
    return np.ascontiguousarray(X[np.random.default_rng(0).permutation(len(X))], dtype=np.float32)


def faiss_searches(X: np.ndarray) -> Iterator[tuple[str, float, list[tuple[str, Callable[[np.ndarray], np.ndarray]]]]]:
    """Return for each kind of index its name, the seconds of building it, and its settings by effort."""
    import faiss

    faiss.omp_set_num_threads(THREADS)

    def search(index: Any, name: str, effort: int) -> Callable[[np.ndarray], np.ndarray]:
        def run(new: np.ndarray) -> np.ndarray:
            setattr(index.hnsw if name == "efSearch" else index, name, effort)
            return np.asarray(index.search(new, K + 1)[1])

        return run

    start = time.perf_counter()
    cells = min(IVF_CELLS, len(X) // 64)
    ivf = faiss.IndexIVFFlat(faiss.IndexFlatL2(X.shape[1]), X.shape[1], cells)
    ivf.train(X)
    ivf.add(X)
    seconds = time.perf_counter() - start
    yield f"faiss IVF{cells}", seconds, [(f"nprobe={p}", search(ivf, "nprobe", p)) for p in IVF_PROBES]
    start = time.perf_counter()
    hnsw = faiss.IndexHNSWFlat(X.shape[1], HNSW_LINKS)
    hnsw.hnsw.efConstruction = 80
    hnsw.add(X)
    seconds = time.perf_counter() - start
    yield f"faiss HNSW{HNSW_LINKS}", seconds, [(f"efSearch={e}", search(hnsw, "efSearch", e)) for e in HNSW_EFFORTS]


def edges_of(table: _core.CrossTable, side: int, count: int) -> list[set[int]]:
    """Return the edges of the first new samples that these (1), the training samples (2) or either (3) chose."""
    edges, sides = table.edges, table.sides
    rows = [slice(edges.indptr[i], edges.indptr[i + 1]) for i in range(count)]
    return [set(edges.indices[row][(sides[row] & side) > 0].tolist()) for row in rows]


def share(found: list[set[int]], true: list[set[int]]) -> float:
    return sum(len(a & b) for a, b in zip(found, true, strict=True)) / sum(map(len, true))


def smaller(work: Callable[[], Any]) -> tuple[float, float, Any]:
    """Return the smaller elapsed and processor seconds of two runs, and the result."""
    seconds, processor = [], []
    for _ in range(2):
        start, before = time.perf_counter(), time.process_time()
        result = work()
        seconds.append(time.perf_counter() - start)
        processor.append(time.process_time() - before)
    return min(seconds), min(processor), result


def edges(name: str, n: int, m: int, only_ours: bool) -> None:
    X = data_of(name, n + m)
    new, X = X[n:], X[:n]
    m, checked = len(new), new[:CHECKED]
    table = _core.knn_approximate(X, K, "euclidean", RECALL, 0, THREADS)
    how: dict[str, Any] = {
        "radii": table.distances[:, -1].copy(), "last": table.indices[:, -1].copy(), "k": K, "metric": "euclidean",
        "n_threads": THREADS,
    }  # fmt: skip
    start = time.perf_counter()
    index = _core.cross_index(
        X, radii=how["radii"], k=K, metric="euclidean", recall=RECALL, points_per_cell=None, largest_share=None,
        n_threads=THREADS,
    )  # fmt: skip
    building = time.perf_counter() - start
    all_pairs, all_pairs_cpu, exact = smaller(lambda: _core.cross_knn(X, checked.astype(np.float64), index=None, **how))
    ours, ours_cpu, found = smaller(lambda: _core.cross_knn(X, new.astype(np.float64), index=index, **how))
    micro = 1e6 / m

    def row(label: str, built: float, seconds: float, processor: float, recalls: list[float]) -> list[str]:
        shown = [f"{each:.3f}" for each in recalls] + ["-"] * (3 - len(recalls))
        return [label, f"{built:.1f}", f"{seconds:.1f}", f"{processor:.1f}", *shown]

    true = [edges_of(exact, side, len(checked)) for side in (1, 2, 3)]
    recalls = [share(edges_of(found, side, len(checked)), t) for side, t in zip((1, 2, 3), true, strict=True)]
    each = len(checked) / m
    rows = [
        row("exact", 0.0, all_pairs / each * micro, all_pairs_cpu / each * micro, [1.0] * 3),
        row("index", building, ours * micro, ours_cpu * micro, recalls),
    ]
    if not only_ours:
        for kind, seconds, settings in faiss_searches(X):
            for place, (setting, search) in enumerate(settings):
                neighbours = [set(line.tolist()) for line in search(checked)]
                reached = share(neighbours, true[0])
                if reached >= recalls[0] or place == len(settings) - 1:
                    # Many new samples at a time, as many as take some seconds.
                    several = new[: min(m, 50_000)]
                    taken, processor, _ = smaller(lambda: search(several))  # noqa: B023
                    per = 1e6 / len(several)
                    rows.append(row(f"{kind}, {setting}", seconds, taken * per, processor * per, [reached]))
                    break
    print(f"**{name}: {n:,} training samples, {m:,} new samples, d = {X.shape[1]}**\n")
    header = ["search", "building, s", "us each", "processor us each", "recall of k + 1", "of reverse edges", "of all"]
    print_table(header, rows)
    print()


def transform(n: int, m: int) -> None:
    views, _ = views_of(n + m)
    order = np.random.default_rng(0).permutation(n + m)
    views = [X[order] for X in views]
    ops = mdt.build_operators([X[:n] for X in views], n_neighbors=K, neighbors="approx", n_jobs=THREADS)
    geometry = mdt.embed(ops.trajectory([0, 1, 0, 1]), 10)
    new = [X[n:] for X in views]
    del views
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    start, processor = time.perf_counter(), time.process_time()
    geometry.transform([X[:1] for X in new])
    first = time.perf_counter() - start
    start, processor = time.perf_counter(), time.process_time()
    geometry.transform(new)
    seconds, processor = time.perf_counter() - start, time.process_time() - processor
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(f"**transform: {n:,} training samples, {m:,} new samples, two views of 50 columns**\n")
    rows = [[f"{first:.1f}", f"{seconds:.1f}", f"{processor:.1f}", f"{before:.2f}", f"{peak:.2f}"]]
    print_table(["first sample, s", "all, s", "processor, s", "peak before, GB", "peak after, GB"], rows)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["edges", "transform"])
    parser.add_argument("name", nargs="?", choices=["blobs", "mnist", "surface"], default="blobs")
    parser.add_argument("--train", type=int, default=200_000)
    parser.add_argument("--new", type=int, default=131_072)
    parser.add_argument("--only-ours", action="store_true")
    given = parser.parse_args()
    if given.what == "edges":
        edges(given.name, given.train, given.new, given.only_ours)
    else:
        transform(given.train, given.new)
