"""Builders of neighbour graphs at equal recall: time and memory for all neighbours of all points.

Every competitor builds its index, then finds `k` neighbours of all N points, with two threads. It has
a short list of settings from cheap to expensive; the table shows the first that reaches the recall,
or the last one, with the recall in bold if it fails. Recall is measured on 1,000 points against exact neighbours;
points at the distance of the last neighbour count. Each setting runs in a process of its own, after a
warm-up on 20,000 points, which compiles numba's functions. Memory is the peak of the process minus
that before the search. No constant of ours was chosen on these data.

glass is not compared: `glassppy` has no distribution on PyPI, and `pyglass` there is source code for Python 2
that does not build.

Run: ``python benches/bench_builders.py [--data NAME ...] [--sizes N ...] [--neighbors K ...]
[--recall R ...] [--only NAME ...]``.
"""

import argparse
import functools
import importlib.metadata
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from timing import print_table

THREADS = 2
PROBES = 1000
# pynndescent uses other functions below some thousands of points.
WARM_UP = 20_000
CHUNK = 20_000
LIMIT_SECONDS = 1800


def mnist(n: int) -> np.ndarray:
    """Return digits, rotated up to 15 degrees and shifted up to two pixels, on 50 principal components."""
    from scipy.ndimage import affine_transform
    from sklearn.decomposition import PCA

    from mdt_fast.datasets._mnist import _read_digits

    rng = np.random.default_rng(0)
    digits = _read_digits(70_000, None, False)[0].reshape(-1, 28, 28).astype(np.float32)[:60_000]
    images = np.empty((n, 784), dtype=np.float32)
    for i in range(n):
        digit = digits[i % len(digits)]
        if i >= len(digits):
            angle, shift = rng.uniform(-np.pi / 12, np.pi / 12), rng.uniform(-2, 2, size=2)
            turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
            digit = affine_transform(digit, turn, offset=13.5 - turn @ np.array([13.5, 13.5]) + shift, order=1)
        images[i] = digit.ravel()
    # The first 20,000 images determine the components.
    return PCA(50, svd_solver="covariance_eigh").fit(images[:20_000]).transform(images).astype(np.float32)


def debian(n: int) -> np.ndarray:
    """Return the words of Debian packages (63,651), weighted by rarity, on 100 singular vectors."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.feature_extraction.text import TfidfTransformer

    import mdt_fast as mdt

    words = mdt.datasets.fetch_debian_packages().views[0][:n]
    weighted = TfidfTransformer(sublinear_tf=True).fit_transform(words)
    return TruncatedSVD(100, random_state=0).fit_transform(weighted).astype(np.float32)


def heavy_tails(n: int) -> np.ndarray:
    """Return a t distribution with two degrees of freedom in 32 dimensions."""
    rng = np.random.default_rng(0)
    return (rng.normal(size=(n, 32)) / np.sqrt(rng.chisquare(2, size=(n, 1)) / 2)).astype(np.float32)


def clusters(n: int) -> np.ndarray:
    """Return n / 50 tight clusters in 32 dimensions whose sizes follow a power law."""
    rng = np.random.default_rng(0)
    count = n // 50
    shares = 1.0 / np.arange(1, count + 1)
    labels = rng.choice(count, size=n, p=shares / shares.sum())
    centres, widths = rng.normal(size=(count, 32)), rng.uniform(0.01, 0.1, size=count)
    return (centres[labels] + widths[labels, None] * rng.normal(size=(n, 32))).astype(np.float32)


def duplicates(n: int) -> np.ndarray:
    """Return a surface of 6 dimensions in 40 columns; half of the points are copies of others."""
    rng = np.random.default_rng(0)
    points = surface(n, 6, 40)
    points[n // 2 :] = points[rng.integers(0, n // 2, size=n - n // 2)]
    return rng.permutation(points)


def surface(n: int, hidden: int = 8, d: int = 50) -> np.ndarray:
    """Return a curved surface of 8 dimensions in 50 columns."""
    rng = np.random.default_rng(0)
    bent = np.tanh(rng.normal(size=(n, hidden)) @ rng.normal(size=(hidden, 64)) / 2)
    return (bent @ rng.normal(size=(64, d))).astype(np.float32)


def ours(X: np.ndarray, k: int, recall: float) -> np.ndarray:
    import mdt_fast as mdt

    return mdt.nearest_neighbors(X, k, method=mdt.ApproximateNeighbors(recall), n_jobs=THREADS)[0]


def exact(X: np.ndarray, k: int, _: Any) -> np.ndarray:
    import mdt_fast as mdt

    return mdt.nearest_neighbors(X, k, method="exact", n_jobs=THREADS)[0]


def pynndescent(X: np.ndarray, k: int, width: float) -> np.ndarray:
    from pynndescent import NNDescent

    # The first neighbour is the point itself.
    built = NNDescent(X, n_neighbors=int(width * (k + 1)), random_state=0, n_jobs=THREADS)
    return built.neighbor_graph[0][:, : k + 1]


def faiss_descent(X: np.ndarray, k: int, setting: tuple[int, int]) -> np.ndarray:
    import faiss

    index = faiss.IndexNNDescentFlat(X.shape[1], max(setting[0], k + 1))
    index.nndescent.S, index.nndescent.R, index.nndescent.iter = 10, 100, setting[1]
    index.nndescent.L = index.nndescent.K + 50
    index.add(X)
    # The graph of the index has the neighbours without a query.
    graph = faiss.vector_to_array(index.nndescent.final_graph).reshape(len(X), -1)
    return graph[:, :k]


def faiss_hnsw(X: np.ndarray, k: int, setting: tuple[int, int]) -> np.ndarray:
    import faiss

    index = faiss.IndexHNSWFlat(X.shape[1], setting[0])
    index.hnsw.efConstruction = index.hnsw.efSearch = max(setting[1], k + 1)
    index.add(X)
    return index.search(X, k + 1)[1]


def faiss_ivf(X: np.ndarray, k: int, n_probe: int) -> np.ndarray:
    import faiss

    n_lists = int(4 * np.sqrt(len(X)))
    coarse = faiss.IndexFlatL2(X.shape[1])
    index = faiss.IndexIVFFlat(coarse, X.shape[1], n_lists)
    index.train(X[: 40 * n_lists])
    index.add(X)
    index.nprobe = n_probe
    return index.search(X, k + 1)[1]


def hnswlib(X: np.ndarray, k: int, setting: tuple[int, int]) -> np.ndarray:
    import hnswlib as library

    index = library.Index(space="l2", dim=X.shape[1])
    index.init_index(max_elements=len(X), M=setting[0], ef_construction=setting[1], random_seed=0)
    index.set_num_threads(THREADS)
    index.add_items(X)
    index.set_ef(max(setting[1], k + 1))
    return index.knn_query(X, k + 1)[0].astype(np.int64)


def usearch(X: np.ndarray, k: int, setting: tuple[int, int]) -> np.ndarray:
    from usearch.index import Index

    effort = max(setting[1], k + 1)
    index = Index(
        ndim=X.shape[1],
        metric="l2sq",
        dtype="f32",
        connectivity=setting[0],
        expansion_add=effort,
        expansion_search=effort,
    )
    index.add(np.arange(len(X)), X, threads=THREADS)
    return index.search(X, k + 1, threads=THREADS).keys.astype(np.int64)


def voyager(X: np.ndarray, k: int, setting: tuple[int, int]) -> np.ndarray:
    from voyager import Index, Space

    index = Index(Space.Euclidean, X.shape[1], M=setting[0], ef_construction=setting[1], random_seed=0)
    index.add_items(X, num_threads=THREADS)
    return index.query(X, k + 1, num_threads=THREADS, query_ef=max(setting[1], k + 1))[0].astype(np.int64)


def annoy(X: np.ndarray, k: int, setting: tuple[int, int]) -> np.ndarray:
    from concurrent.futures import ThreadPoolExecutor

    from annoy import AnnoyIndex

    index = AnnoyIndex(X.shape[1], "euclidean")
    index.set_seed(0)
    for i, row in enumerate(X):
        index.add_item(i, row)
    index.build(setting[0], n_jobs=THREADS)
    # Annoy has no query of many points; it releases the GIL.
    with ThreadPoolExecutor(THREADS) as pool:
        query = functools.partial(index.get_nns_by_item, n=k + 1, search_k=setting[0] * setting[1])
        found = list(pool.map(query, range(len(X)), chunksize=1000))
    return np.array([(row + [-1] * (k + 1))[: k + 1] for row in found])


def scann(X: np.ndarray, k: int, setting: tuple[int, int]) -> np.ndarray:
    from scann import scann_ops_pybind

    leaves = int(2 * np.sqrt(len(X)))
    builder = scann_ops_pybind.builder(X, k + 1, "squared_l2")
    builder = builder.tree(
        num_leaves=leaves, num_leaves_to_search=setting[0], training_sample_size=min(len(X), 250_000)
    )
    builder = builder.score_ah(2, anisotropic_quantization_threshold=float("nan")).reorder(setting[1] * (k + 1))
    searcher = builder.set_n_training_threads(THREADS).build()
    searcher.set_num_threads(THREADS)
    return searcher.search_batched_parallel(X)[0].astype(np.int64)


DATA: dict[str, Callable[[int], np.ndarray]] = {
    "mnist": mnist, "debian": debian, "heavy": heavy_tails, "clusters": clusters, "duplicates": duplicates,
    "surface": surface,
}  # fmt: skip
LINKS = [(16, 40), (16, 80), (24, 160), (32, 320)]
COMPETITORS: dict[str, tuple[Callable[..., np.ndarray], list[Any]]] = {
    "ours": (ours, []),
    "exact": (exact, [None]),
    "pynndescent": (pynndescent, [1, 1.5, 2, 3]),
    "faiss NNDescent": (faiss_descent, [(32, 6), (48, 10), (64, 12)]),
    "faiss HNSW": (faiss_hnsw, LINKS),
    "faiss IVF": (faiss_ivf, [4, 8, 16, 32, 64, 128]),
    "hnswlib": (hnswlib, LINKS),
    "usearch": (usearch, LINKS),
    "voyager": (voyager, LINKS),
    "annoy": (annoy, [(20, 50), (40, 100), (80, 200)]),
    "scann": (scann, [(10, 2), (20, 3), (40, 4), (80, 6)]),
}
PACKAGES = ["mdt-fast", "pynndescent", "numba", "faiss-cpu", "hnswlib", "usearch", "voyager", "annoy", "scann", "numpy"]


def steps(competitor: str, recall: float) -> list[Any]:
    # Ours takes the recall itself, and promises it.
    return [recall] if competitor == "ours" else COMPETITORS[competitor][1]


def nearest_distances(X: np.ndarray, rows: np.ndarray, k: int) -> np.ndarray:
    """Return the distances of the k-th neighbours of some points, in double precision."""
    probes = X[rows].astype(np.float64)
    norms = (probes**2).sum(axis=1)[:, None]
    # More than needed by products, whose rounding may confuse near points; then by differences.
    spare = k + 16
    near = np.zeros((len(rows), 0), dtype=np.int64)
    distances = np.zeros((len(rows), 0))
    for first in range(0, len(X), CHUNK):
        others = X[first : first + CHUNK].astype(np.float64)
        products = norms + (others**2).sum(axis=1) - 2 * probes @ others.T
        products[rows[:, None] == np.arange(first, first + len(others))] = np.inf
        distances = np.hstack([distances, products])
        near = np.hstack([near, np.broadcast_to(np.arange(first, first + len(others)), products.shape)])
        kept = np.argpartition(distances, spare, axis=1)[:, :spare]
        distances, near = np.take_along_axis(distances, kept, axis=1), np.take_along_axis(near, kept, axis=1)
    exact = ((X[near].astype(np.float64) - probes[:, None]) ** 2).sum(axis=2)
    return np.sort(exact, axis=1)[:, k - 1]


def recall_of(X: np.ndarray, found: np.ndarray, rows: np.ndarray, last: np.ndarray, k: int) -> float:
    """Return the share of neighbours that were found; points at equal distance count."""
    hits = 0
    for row, limit in zip(rows, last, strict=True):
        # A list has the point itself, or one neighbour more than needed.
        others = np.unique(found[row][(found[row] >= 0) & (found[row] < len(X)) & (found[row] != row)])
        distances = ((X[others].astype(np.float64) - X[row]) ** 2).sum(axis=1)
        hits += min(k, np.count_nonzero(distances <= limit * (1 + 1e-9)))
    return hits / (k * len(rows))


def peak_megabytes(restart: bool = False) -> float:
    """Return the peak memory of this process, or first restart it from the present memory (Linux)."""
    # The peak that `getrusage` gives includes that of the process that started this one.
    if restart:
        Path("/proc/self/clear_refs").write_text("5")
    status = Path("/proc/self/status").read_text()
    return int(status.split("VmHWM:")[1].split()[0]) / 1e3


def run_one(job: dict[str, Any]) -> dict[str, float]:
    """Run one setting in this process."""
    X = np.load(job["points"])
    build, setting, k = COMPETITORS[job["competitor"]][0], job["setting"], job["k"]
    if isinstance(setting, list):
        setting = tuple(setting)
    if job["competitor"].startswith("faiss"):
        import faiss

        faiss.omp_set_num_threads(THREADS)
    build(X[:WARM_UP].copy(), k, setting)
    before = peak_megabytes(restart=True)
    wall, cpu = time.perf_counter(), time.process_time()
    found = np.asarray(build(X, k, setting))
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    after = peak_megabytes()
    rows, last = np.load(job["rows"]), np.load(job["last"])
    return {
        "seconds": wall, "cpu": cpu, "megabytes": after - before,
        "recall": recall_of(X, found, rows, last, k),
    }  # fmt: skip


def run_apart(job: dict[str, Any]) -> dict[str, Any]:
    """Run one setting in a process of its own; a failure is a result."""
    threads = dict.fromkeys(
        ["OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "MKL_NUM_THREADS"], str(THREADS)
    )
    command = [sys.executable, __file__, "--one", json.dumps(job)]
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, env=os.environ | threads, timeout=LIMIT_SECONDS, check=True
        )
    except subprocess.TimeoutExpired:
        return {"failure": f"more than {LIMIT_SECONDS} s"}
    except subprocess.CalledProcessError as error:
        return {"failure": (error.stderr.strip().splitlines() or [f"exit status {error.returncode}"])[-1][:60]}
    return json.loads(done.stdout.splitlines()[-1])


def compare(name: str, n: int, given: argparse.Namespace, folder: Path) -> None:
    X = np.ascontiguousarray(DATA[name](n), dtype=np.float32)
    np.save(folder / "points.npy", X)
    rows = np.random.default_rng(1).choice(len(X), PROBES, replace=False)
    np.save(folder / "rows.npy", rows)
    for k in given.neighbors:
        np.save(folder / "last.npy", nearest_distances(X, rows, k))
        known: dict[tuple[str, str], dict[str, Any]] = {}
        for recall in given.recall:
            print(f"#### {name}: N = {len(X):,}, d = {X.shape[1]}, {k} neighbours, recall {recall}\n", flush=True)
            lines, base = [], None
            for competitor in given.only:
                for setting in steps(competitor, recall):
                    job = {"competitor": competitor, "setting": setting, "k": k}
                    job |= {part: str(folder / f"{part}.npy") for part in ("points", "rows", "last")}
                    key = (competitor, str(setting))
                    # Without a repetition if a smaller recall needed the same setting.
                    result = known.get(key) or run_apart(job)
                    known[key] = result
                    print(f"{name} {n} {k} {competitor} {setting}: {result}", file=sys.stderr, flush=True)
                    if result.get("recall", 0.0) >= recall:
                        break
                if "failure" in result:
                    lines.append([competitor, str(setting), result["failure"], "", "", "", ""])
                    continue
                base = base or result
                share = f"{result['recall']:.3f}"
                lines.append([
                    competitor, "" if competitor == "ours" else str(setting),
                    f"{result['seconds']:.2f}", f"{result['cpu']:.2f}",
                    share if result["recall"] >= recall else f"**{share}**",
                    f"{result['seconds'] / base['seconds']:.2f}", f"{result['megabytes']:,.0f}",
                ])  # fmt: skip
            first = given.only[0]
            print_table(["", "setting", "seconds", "CPU, s", "recall", f"time against {first}", "memory, MB"], lines)


def versions() -> str:
    def version(package: str) -> str:
        try:
            return f"{package} {importlib.metadata.version(package)}"
        except importlib.metadata.PackageNotFoundError:
            return f"{package} (not installed)"

    return ", ".join(map(version, PACKAGES))


def run(given: argparse.Namespace) -> None:
    print(f"{versions()}; {THREADS} threads.\n")
    with tempfile.TemporaryDirectory() as folder:
        for name in given.data:
            for n in given.sizes:
                compare(name, n, given, Path(folder))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", nargs="+", choices=DATA, default=list(DATA))
    parser.add_argument("--sizes", type=int, nargs="+", default=[100_000])
    parser.add_argument("--neighbors", type=int, nargs="+", default=[15])
    parser.add_argument("--recall", type=float, nargs="+", default=[0.95])
    parser.add_argument("--only", nargs="+", choices=COMPETITORS, default=list(COMPETITORS))
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(run_one(json.loads(arguments.one))))
    else:
        run(arguments)
