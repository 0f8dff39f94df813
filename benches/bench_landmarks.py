"""Landmarks: agreement with the fit of all samples, the choice of landmarks, confidence, memory, time and workers.

Run: ``python benches/bench_landmarks.py PART [options]`` with a PART of

- ``full``: landmarks and the fit of all samples on planted clusters (``--samples 1000000 --landmarks 200000``), and on
  a tenth of both in 40 clusters of unequal sizes.
- ``mnist``: the same on 70,000 MNIST digits in two noisy views (needs MDT_FAST_DATA).
- ``choices``: the three choices of landmarks, on one half of the sets ("choose") and on the other ("confirm").
- ``confidence``: calibration of the confidence of assigned samples beside that of the fit.
- ``disk``: time and peak memory from .npy or .zarr files (``--samples 10000000 --store npy --folder DIR``).
- ``rates``: rows that one thread assigns in a second, by the number of landmarks (``--landmarks`` for a single one).
- ``workers``: one and two workers of a Dask cluster with one thread each.
"""

import argparse
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_mutual_info_score, roc_auc_score
from sklearn.neighbors import NearestNeighbors

import mdt_fast as mdt
from bench_build import peak_megabytes
from mdt_fast._assignment.plan import measure_row
from timing import print_table

CHOICES = ("uniform", "spread", "density")
SEEDS = (0, 1, 2)
BLOCK = 50_000


def ami(a: np.ndarray, b: np.ndarray) -> float:
    return 100 * adjusted_mutual_info_score(a, b)


def unequal(n: int, k: int, ratio: float, std: float, seed: int, d: int = 20) -> tuple[list[np.ndarray], np.ndarray]:
    """Two views of k clusters whose sizes fall geometrically to `ratio` of the largest."""
    rng = np.random.default_rng(seed)
    sizes = ratio ** (np.arange(k) / (k - 1))
    target = rng.choice(k, size=n, p=sizes / sizes.sum())
    views = [(rng.normal(size=(k, d))[target] * 3 + std * rng.normal(size=(n, d))).astype(np.float32) for _ in range(2)]
    return views, target


def digits(name: str, n: int) -> tuple[list[np.ndarray], np.ndarray]:
    fetch = {"K-MvMNIST": mdt.datasets.fetch_k_mvmnist, "L-MvMNIST": mdt.datasets.fetch_l_mvmnist}[name]
    data = fetch(s=0.5, n_samples=n)
    return [view.astype(np.float32) for view in data.views], np.asarray(data.target)


def of_classes(classes: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return whether each sample has the class that its cluster stands for, one-to-one."""
    counts = np.zeros((labels.max() + 1, classes.max() + 1))
    np.add.at(counts, (labels, classes), 1)
    clusters, matched = linear_sum_assignment(-counts)
    meaning = np.full(len(counts), -1)
    meaning[clusters] = matched
    return meaning[labels] == classes


def cluster(views: list[np.ndarray], k: int, seed: int = 0, **how: Any) -> tuple[mdt.MDTClustering, float]:
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mdt.OperatorWarning)
        warnings.simplefilter("ignore", mdt.DegenerateClustersWarning)
        model = mdt.MDTClustering(k, random_state=seed, **how).fit(views)
    return model, time.perf_counter() - began


def compare(name: str, views: list[np.ndarray], target: np.ndarray, n_landmarks: list[int]) -> list[list[str]]:
    k = int(target.max()) + 1
    smallest = np.bincount(target).argsort()[: max(k // 4, 1)]
    rare = np.isin(target, smallest)
    rows = []
    whole = None
    for landmarks in [None, *n_landmarks]:
        model, seconds = cluster(views, k, landmarks=landmarks)
        whole = model.labels_ if whole is None else whole
        right = of_classes(target, model.labels_)
        rows.append(
            [
                name, f"{len(target):,}", "all" if landmarks is None else f"{landmarks:,}",
                f"{ami(target, model.labels_):.2f}", f"{ami(whole, model.labels_):.2f}",
                f"{100 * right.mean():.2f}", f"{100 * right[rare].mean():.2f}", f"{seconds:.0f}",
            ]
        )  # fmt: skip
        print(rows[-1], file=sys.stderr, flush=True)
    return rows


HEADER = [
    "data",
    "N",
    "landmarks",
    "AMI x 100",
    "AMI with all",
    "right, %",
    "right in the smallest quarter, %",
    "seconds",
]


def full(args: argparse.Namespace) -> None:
    data = mdt.datasets.make_multiview_blobs(
        args.samples, n_features=50, n_clusters=10, cluster_std=12.0, random_state=0
    )
    blobs = [view.astype(np.float32) for view in data.views], data.target
    del data
    rows = compare("planted", *blobs, [args.landmarks])
    # Forty clusters take much longer than ten.
    rows += compare("planted, unequal", *unequal(args.samples // 10, 40, 0.02, 6.0, 0, d=50), [args.landmarks // 10])
    print_table(HEADER, rows)


def mnist(args: argparse.Namespace) -> None:
    rows = []
    for name in ("K-MvMNIST", "L-MvMNIST"):
        rows += compare(name, *digits(name, args.samples), [args.landmarks, args.landmarks // 2])
    print_table(HEADER, rows)


def plane(n: int, seed: int) -> tuple[list[np.ndarray], np.ndarray]:
    data = mdt.datasets.make_deformed_plane(n, random_state=seed)
    return [np.asarray(view, dtype=np.float32) for view in data.views], np.asarray(data.target)


def kept_neighbors(coordinates: np.ndarray, truth: np.ndarray) -> float:
    """Return the share of the 50 nearest samples on the surface among the 50 nearest coordinates, of 2,000 samples."""
    some = np.random.default_rng(0).permutation(len(truth))[:2000]
    truth = (truth.reshape(len(truth), -1) - truth.min(axis=0)) / np.ptp(truth, axis=0)
    sets = [NearestNeighbors(n_neighbors=51).fit(each).kneighbors(each[some])[1] for each in (truth, coordinates)]
    return 100 * float(np.mean([len(np.intersect1d(a, b)) - 1 for a, b in zip(*sets, strict=True)])) / 50


def choices(args: argparse.Namespace) -> None:
    halves = {
        "choose": {
            "20 clusters, 1 : 50": lambda seed: unequal(args.samples, 20, 0.02, 4.5, seed),
            "K-MvMNIST": lambda seed: digits("K-MvMNIST", args.digits),
            "plane": lambda seed: plane(20_000, seed),
        },
        "confirm": {
            "50 clusters, 1 : 200": lambda seed: unequal(args.samples, 50, 0.005, 4.0, 100 + seed),
            "L-MvMNIST": lambda seed: digits("L-MvMNIST", args.digits),
            "helix": lambda seed: (
                [np.asarray(view, dtype=np.float32) for view in mdt.datasets.make_helix_a(20_000).views],
                np.asarray(mdt.datasets.make_helix_a(20_000).target),
            ),
        },
    }
    for half, sets in halves.items():
        rows = []
        for name, make in sets.items():
            for choice in CHOICES:
                found, rare, seconds = [], [], []
                for seed in SEEDS[: args.seeds]:
                    views, target = make(seed)
                    began = time.perf_counter()
                    if name in ("plane", "helix"):
                        with warnings.catch_warnings():
                            warnings.simplefilter("ignore", mdt.OperatorWarning)
                            how = {"landmarks": 4000, "landmark_choice": choice, "random_state": seed}
                            model = mdt.MDT(2, **how).fit(views)
                        seconds.append(time.perf_counter() - began)
                        found.append(kept_neighbors(model.embedding_, target))
                        continue
                    k = int(target.max()) + 1
                    how = {"landmarks": len(target) // 7, "landmark_choice": choice}
                    model, spent = cluster(views, k, seed, **how)
                    smallest = np.bincount(target).argsort()[: max(k // 4, 1)]
                    found.append(ami(target, model.labels_))
                    rare.append(100 * of_classes(target, model.labels_)[np.isin(target, smallest)].mean())
                    seconds.append(spent)
                rows.append(
                    [
                        half, name, choice, f"{np.mean(found):.1f} ({np.std(found):.1f})",
                        f"{np.mean(rare):.1f}" if rare else "-", f"{np.mean(seconds):.0f}",
                    ]
                )  # fmt: skip
                print(rows[-1], file=sys.stderr, flush=True)
        print_table(["half", "set", "choice", "AMI or neighbours kept, x 100", "right in small clusters, %", "s"], rows)
        print()


def calibration_error(confidence: np.ndarray, right: np.ndarray) -> float:
    bins = np.minimum((10 * confidence).astype(int), 9)
    parts = [bins == b for b in range(10)]
    return sum(abs(right[p].mean() - confidence[p].mean()) * p.mean() for p in parts if p.any())


def confidence(args: argparse.Namespace) -> None:
    blobs = mdt.datasets.make_multiview_blobs(6000, n_features=10, n_clusters=8, cluster_std=8.0, random_state=1)
    sets: dict[str, tuple[Any, Any]] = {"overlapping clusters": (blobs.views, blobs.target)}
    for name in ("multi_feat", "k_mvmnist", "l_mvmnist", "leaves"):
        data = getattr(mdt.datasets, f"fetch_{name}")()
        sets[name] = data.views, data.target
    rows = []
    for name, (given, classes) in sets.items():
        views, target = list(given), np.unique(classes, return_inverse=True)[1]
        k = int(target.max()) + 1
        for landmarks in (None, len(target) // 3):
            model, _ = cluster(views, k, landmarks=landmarks)
            right = of_classes(target, model.labels_)
            parts = {"fit of all": slice(None)}
            if landmarks is not None:
                others = np.setdiff1d(np.arange(len(target)), model.landmark_indices_)
                parts = {"landmarks": model.landmark_indices_, "assigned": others}
            for part, chosen in parts.items():
                own, ok = model.confidence_[chosen], right[chosen]
                area = roc_auc_score(ok, own)
                numbers = [own.mean(), ok.mean(), calibration_error(own, ok), area]
                rows.append([name, part, f"{len(ok):,}", *(f"{number:.3f}" for number in numbers)])
    print_table(["set", "samples", "n", "mean confidence", "right", "calibration error", "area"], rows)


def row_blocks(n: int, view: int) -> Iterator[np.ndarray]:
    """Yield 50 columns of ten overlapping clusters, a block at a time."""
    centers = np.random.default_rng(view).normal(size=(10, 50)) * 3
    for start in range(0, n, BLOCK):
        size = min(BLOCK, n - start)
        target = np.random.default_rng([7, start]).integers(10, size=size)
        noise = np.random.default_rng([8, view, start]).normal(size=(size, 50))
        yield (centers[target] + 4.0 * noise).astype(np.float32)


def targets(n: int) -> np.ndarray:
    return np.concatenate(
        [np.random.default_rng([7, start]).integers(10, size=min(BLOCK, n - start)) for start in range(0, n, BLOCK)]
    )


def store_views(folder: Path, n: int, store: str) -> list[Path]:
    """Write the views once; a second run finds them."""
    paths = [folder / f"view{view}-{n}.{store}" for view in range(2)]
    for view, path in enumerate(paths):
        if path.exists():
            continue
        if store == "zarr":
            import zarr

            out = zarr.create_array(store=path, shape=(n, 50), chunks=(65_536, 50), dtype="f4")
        else:
            out = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=(n, 50))
        for number, block in enumerate(row_blocks(n, view)):
            out[number * BLOCK : number * BLOCK + len(block)] = block
    return paths


def disk(args: argparse.Namespace) -> None:
    with tempfile.TemporaryDirectory(dir=args.folder) as temporary:
        folder = Path(args.folder or temporary)
        paths = store_views(folder, args.samples, args.store)
        # A process of its own: the peak memory is that of a process.
        command = [
            sys.executable,
            __file__,
            "one-fit",
            "--samples",
            str(args.samples),
            "--landmarks",
            str(args.landmarks),
        ]
        out = subprocess.run([*command, *map(str, paths)], check=True, stdout=subprocess.PIPE, text=True).stdout
    print_table(
        ["store", "N", "landmarks", "fit of landmarks, s", "assignment, s", "minutes", "peak, GB", "AMI x 100"],
        [[args.store, f"{args.samples:,}", f"{args.landmarks:,}", *out.split()]],
    )


def one_fit(args: argparse.Namespace) -> None:
    seconds: dict[str, float] = {}

    def note(now: mdt.Progress) -> None:
        seconds[now.stage] = now.stage_seconds

    model, spent = cluster(args.paths, 10, landmarks=args.landmarks, verbose=note)
    assigned = seconds["assignment"]
    score = ami(targets(args.samples), model.labels_)
    print(f"{spent - assigned:.0f} {assigned:.0f} {spent / 60:.1f} {peak_megabytes() / 1e3:.2f} {score:.2f}")


def workers(args: argparse.Namespace) -> None:
    from distributed import Client, LocalCluster

    rows, alone = [], 0.0
    with tempfile.TemporaryDirectory(dir=args.folder) as temporary:
        paths = store_views(Path(temporary), args.samples, "zarr")
        model, _ = cluster(paths, 10, landmarks=args.landmarks)
        for n in (1, 2):
            how = {"n_workers": n, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
            with LocalCluster(**how) as local, Client(local) as client:
                # Workers import the package and receive the model before the clock starts.
                model.assign([path_rows[:1000] for path_rows in map(first_rows, paths)], block_rows=500, client=client)
                began = time.perf_counter()
                # Several blocks for each worker, so that the last ones leave no worker idle for long.
                found = model.assign(paths, Path(temporary) / f"out{n}.zarr", block_rows=4096, client=client)
                seconds = time.perf_counter() - began
            alone = alone or seconds
            others = np.setdiff1d(np.arange(args.samples), model.landmark_indices_)
            same = np.array_equal(found.embedding[:][others], model.embedding_[others])
            rows.append([str(n), f"{args.samples:,}", f"{args.landmarks:,}", f"{seconds:.1f}", f"{alone / seconds:.2f}",
                         f"{args.samples / seconds:,.0f}", "yes" if same else "NO"])  # fmt: skip
    print_table(["workers", "N", "landmarks", "seconds", "times one", "rows a second", "same bits"], rows)


def first_rows(path: Path) -> np.ndarray:
    import zarr

    return zarr.open_array(path, mode="r")[:1000]


def rates(args: argparse.Namespace) -> None:
    def fit(views: list[np.ndarray]) -> Any:
        how = {"n_neighbors": 15, "kernel": "adaptive", "anisotropy": 1.0, "joint": True, "neighbors": neighbors}
        return mdt.MDTClustering(10, strategy="mean", t=3, n_jobs=2, **how).fit(views)._assigner()

    rows = []
    for n in [args.landmarks] if args.landmarks else [10_000, 50_000, 200_000]:
        for neighbors in ("exact", "approx") if n <= 50_000 else ("approx",):
            seconds = measure_row(fit, 2, "float32", n, args.samples)
            search = "all landmarks" if neighbors == "exact" else "index"
            rows.append([f"{n:,}", search, f"{1e6 * seconds:.0f}", f"{1 / seconds:,.0f}"])
            print(rows[-1], file=sys.stderr, flush=True)
    print_table(["landmarks", "compared with", "processor us a row", "rows a second of a thread"], rows)


PARTS = {"full": full, "mnist": mnist, "choices": choices, "confidence": confidence, "disk": disk, "one-fit": one_fit,
         "rates": rates, "workers": workers}  # fmt: skip
# Samples and landmarks of each part.
SIZES = {"full": (1_000_000, 200_000), "mnist": (70_000, 20_000), "choices": (70_000, 0), "confidence": (0, 0),
         "disk": (10_000_000, 200_000), "one-fit": (0, 0), "rates": (131_072, 0),
         "workers": (200_000, 20_000)}  # fmt: skip

if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("paths", nargs="*", help=argparse.SUPPRESS)
    parser.add_argument("--samples", type=int)
    parser.add_argument("--landmarks", type=int)
    parser.add_argument("--digits", type=int, default=70_000)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--store", choices=["npy", "zarr"], default="npy")
    parser.add_argument("--folder")
    given = parser.parse_intermixed_args()
    defaults = SIZES[given.part]
    given.samples = defaults[0] if given.samples is None else given.samples
    given.landmarks = defaults[1] if given.landmarks is None else given.landmarks
    PARTS[given.part](given)
