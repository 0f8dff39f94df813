"""Which strategy, kernel and criterion to use by default: agreement with the classes of every data set at hand.

`python benches/choices.py rows.csv` appends a row for each data set, kernel, seed and way, goes on from what is there,
and prints the tables of docs/choosing.md. No way sees the classes. Takes an hour or two; `--seeds` makes it shorter.
"""

import argparse
import csv
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from mdt_fast._search.consensus import MEMBER_STARTS, N_MEMBERS, draw_members
from mdt_fast._search.scoring import ScoringPlan
from sklearn.metrics import adjusted_mutual_info_score

import mdt_fast as mdt
from mdt_fast._clusters.agreement import agree
from timing import print_table

KERNELS = ("adaptive", "gaussian")
# Searches evaluate a hundred candidates and more; their answers vary little.
SEARCH_SEEDS = 5
SILHOUETTE_SAMPLE = 1000

Way = Callable[[mdt.OperatorSet, int, int, int], np.ndarray]


def blobs(n_clusters: int, seed: int, std: float) -> Any:
    return mdt.datasets.make_multiview_blobs(1500, n_views=3, n_clusters=n_clusters, cluster_std=std, random_state=seed)


SETS: dict[str, Callable[[], Any]] = {
    "MSRC-v5": mdt.datasets.fetch_msrc,
    "Olivetti": mdt.datasets.fetch_olivetti,
    "100Leaves": mdt.datasets.fetch_leaves,
    "Multi-Feat": mdt.datasets.fetch_multi_feat,
    "CITE-seq": mdt.datasets.fetch_citeseq_pbmc,
    "SNARE-seq": mdt.datasets.fetch_snareseq_cellmix,
    "digits": mdt.datasets.load_multiview_digits,
    "blobs, k = 5": lambda: blobs(5, 1, 6.0),
    "blobs, k = 12": lambda: blobs(12, 2, 4.0),
    "L-Isolet": mdt.datasets.fetch_l_isolet,
    "K-MvMNIST": lambda: mdt.datasets.fetch_k_mvmnist(s=0.5),
    "L-MvMNIST": lambda: mdt.datasets.fetch_l_mvmnist(s=0.5),
}


def read(name: str) -> tuple[list[np.ndarray], np.ndarray]:
    """Return views and classes; cells of unknown type are left out."""
    data = SETS[name]()
    classes = np.asarray(data.target)
    known = np.array([str(label) != "unknown" for label in data.get("target_names", range(classes.max() + 1))])[classes]
    return [np.asarray(view)[known] for view in data.views], classes[known]


def ensembles(ops: mdt.OperatorSet, k: int, t: int, seed: int) -> Iterator[tuple[str, np.ndarray | float]]:
    """Draw members once and combine them in several ways."""
    members = draw_members(ops, t, N_MEMBERS, np.random.default_rng(seed))
    plan = ScoringPlan.check(ops, "persistence", k, None, MEMBER_STARTS, 1e-3, None, None)
    scorer = plan.make(ops, seed, 2**30, 1)
    found = scorer.score(members, with_labels=True, seconds=None, watch=lambda _: False).candidates
    labels = np.stack([each.labels for each in found if each is not None])
    yield "members", labels
    yield "consensus of all", agree(labels, k, seed=seed, n_jobs=1)[0]
    criteria: dict[str, Callable[[np.ndarray], float]] = {
        "persistence": lambda y: mdt.quality.persistence(ops, y),
        "Calinski-Harabasz": lambda y: mdt.quality.calinski_harabasz(ops, y),
        "Davies-Bouldin": lambda y: -mdt.quality.davies_bouldin(ops, y),
        "silhouette": lambda y: mdt.quality.silhouette(
            ops, y, sample_size=min(SILHOUETTE_SAMPLE, len(y)), random_state=0
        ),
        "stability": lambda y: float(np.mean([adjusted_mutual_info_score(y, other) for other in labels[:16]])),
    }
    for name, score in criteria.items():
        scores = np.array([score(y) for y in labels])
        half = np.argsort(-scores, kind="stable")[: len(labels) // 2]
        yield f"better half by {name}", agree(labels[half], k, seed=seed, n_jobs=1)[0]
        if name == "persistence":
            yield "members kept", labels[half]


def single(word: Any) -> Way:
    def labels(ops: mdt.OperatorSet, k: int, t: int, seed: int) -> np.ndarray:
        strategy = [word] * t if isinstance(word, int) else word
        options = {"n_init": 10} if strategy == "mean" or isinstance(word, int) else {}
        found = mdt.search(ops, k, strategy=strategy, t=t, random_state=seed, progress=False, n_jobs=1, **options)
        return found.labels

    return labels


def rows_of(name: str, kernel: str, seeds: int, done: set[tuple[str, str, int]]) -> Iterator[list[Any]]:
    if all((name, kernel, seed) in done for seed in range(seeds)):
        return
    views, classes = read(name)
    k = len(np.unique(classes))
    # The views of L-Isolet are three kernels of one table.
    kernels = [kernel, "laplacian", "correlation"] if name == "L-Isolet" else kernel
    ops = mdt.build_operators(views, kernel=kernels, n_jobs=1)
    t = mdt.select_time(ops).t

    def ami(labels: np.ndarray) -> float:
        return 100 * float(adjusted_mutual_info_score(classes, labels))

    for seed in range(seeds):
        if (name, kernel, seed) in done:
            continue
        began = time.perf_counter()
        rows = []
        for way, labels in ensembles(ops, k, t, seed):
            rows.append((way, np.mean([ami(y) for y in labels]) if labels.ndim == 2 else ami(labels)))
        rows.append(("mean", ami(single("mean")(ops, k, t, seed))))
        for v in range(ops.n_views):
            rows.append((f"view {v}", ami(single(v)(ops, k, t, seed))))
        if seed < SEARCH_SEEDS:
            rows.extend((way, ami(single(way)(ops, k, t, seed))) for way in ("beam", "direct"))
        yield from ([name, kernel, seed, way, f"{value:.4f}"] for way, value in rows)
        print(f"{name}, {kernel}, seed {seed}: {time.perf_counter() - began:.0f} s", flush=True)


def table(path: Path) -> None:
    values: dict[tuple[str, str, str], list[float]] = {}
    with path.open(newline="") as file:
        for name, kernel, _, way, value in csv.reader(file):
            values.setdefault((name, kernel, way), []).append(float(value))
    for kernel in KERNELS:
        names = [name for name in SETS if (name, kernel, "members") in values]
        ways = list(dict.fromkeys(way for _, of, way in values if of == kernel and not way.startswith("view")))
        rows = []
        for way in ways:
            cells = [values.get((name, kernel, way), [np.nan]) for name in names]
            means = [float(np.mean(cell)) for cell in cells]
            rows.append([way, *(f"{m:.1f} ({np.std(c):.1f})" for m, c in zip(means, cells, strict=True))])
            rows[-1].append(f"{np.nanmean(means):.1f}")
        best = []
        for name in names:
            alone = [
                np.mean(v) for (of, ker, way), v in values.items() if (of, ker) == (name, kernel) and "view" in way
            ]
            best.append(f"{max(alone):.1f}")
        rows.append(["best view, known by its classes", *best, f"{np.mean([float(b) for b in best]):.1f}"])
        print(f"### Kernel {kernel}\n")
        print_table(["way", *names, "mean"], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=Path)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--sets", nargs="*", default=list(SETS))
    parser.add_argument("--kernels", nargs="*", default=list(KERNELS))
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    done = set()
    if given.rows.exists():
        with given.rows.open(newline="") as file:
            done = {(name, kernel, int(seed)) for name, kernel, seed, _, _ in csv.reader(file)}
    for name in given.sets:
        for kernel in given.kernels:
            for row in rows_of(name, kernel, given.seeds, done):
                with given.rows.open("a", newline="") as file:
                    csv.writer(file).writerow(row)
    table(given.rows)


if __name__ == "__main__":
    main()
