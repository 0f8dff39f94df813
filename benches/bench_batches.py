"""Clusters of samples in batches: with and without ``batches=``, BBKNN's rule, Harmony, and centred batches.

No set at hand has batches of cells, so the batch effect is simulated. Samples are put into batches at
random, and in each view every batch but the first is moved by ``size`` times the spread of the view (the
root of the total variance of its columns) in a random direction. Designs of the batches:

- equal: two of the same size; unequal: three with 75 %, 20 % and 5 % of the samples;
- missing: two of the same size, of which the second lacks the largest class;
- crossed: the same, and the first batch lacks the second largest class.

Effects: "shift" is this move; "typed" adds a move of each class in each batch by 0.3 times as much in its own
direction; "scaled" also multiplies each column in each batch by ``exp(0.3 z)`` with a normal z. The size 0 is no
effect: what balancing costs where it is not needed.

One set has a real nuisance: the 30 speakers of ISOLET (52 samples each, 26 letters; a single view).

Scores x 100: AMI and ARI of the clusters with the classes; on the mean operator of the views, "mixing" is the
mean over samples of the entropy of the batches reached by a step to other samples of the same class, relative to
that of the batches in the class (1 is mixed, as iLISI and kBET of scib); "purity" is the mean probability that
a step to another sample stays in the class (as cLISI).

A row is appended to a CSV file for each fit; rows that the file has are not computed again.

Run: ``python benches/bench_batches.py [ROWS.CSV] [--sets NAME ...] [--ways NAME ...] [--seeds 1] [--tables]``, with
``MDT_FAST_DATA`` set. ``--isolet`` and ``--cost`` print the rows on the speakers and the seconds on 20,000 samples.
"""

import argparse
import csv
import math
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import scipy.sparse as sp
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score
from threadpoolctl import threadpool_limits

import mdt_fast as mdt
import mdt_fast._graphs.batches as rule
from quality_sets import SETS

DEFAULT_SETS = ("CITE-seq", "MSRC-v5", "Prokaryotic", "digits", "SNARE-seq", "CUB_10", "Wikipedia-test", "wine")
SHARES = {"equal": (0.5, 0.5), "unequal": (0.75, 0.2, 0.05), "missing": (0.5, 0.5), "crossed": (0.5, 0.5)}
CONDITIONS = (("shift", 0.0), ("shift", 1.0), ("shift", 3.0), ("typed", 3.0), ("scaled", 3.0))
COLUMNS = ("set", "half", "design", "effect", "size", "seed", "way", "AMI", "ARI", "mixing", "purity", "seconds")

Views = list[np.ndarray]


def simulate(
    views: Views, classes: np.ndarray, design: str, effect: str, size: float, seed: int
) -> tuple[Views, np.ndarray, np.ndarray]:
    """Return views with a batch effect, classes and batches."""
    rng = np.random.default_rng([seed, 17])
    batches = rng.choice(len(SHARES[design]), len(classes), p=SHARES[design])
    kept = np.ones(len(classes), dtype=bool)
    by_size = np.argsort(-np.bincount(classes), kind="stable")
    if design in ("missing", "crossed"):
        kept &= ~((classes == by_size[0]) & (batches == 1))
    if design == "crossed":
        kept &= ~((classes == by_size[1]) & (batches == 0))
    found = []
    for view in views:
        spread, moved = math.sqrt(view.var(axis=0).sum()), view.copy()
        for b in range(1, len(SHARES[design])):
            rows = batches == b
            if effect == "scaled":
                moved[rows] *= np.exp(0.3 * rng.standard_normal(view.shape[1]))
            moved[rows] += size * spread * _directions(1, view.shape[1], rng)
            if effect == "typed":
                moved[rows] += 0.3 * size * spread * _directions(classes.max() + 1, view.shape[1], rng)[classes[rows]]
        found.append(moved[kept])
    return found, np.unique(classes[kept], return_inverse=True)[1], batches[kept]


def _directions(count: int, columns: int, rng: np.random.Generator) -> np.ndarray:
    found = rng.standard_normal((count, columns))
    return found / np.linalg.norm(found, axis=1, keepdims=True)


def _default(views: Views, n_clusters: int, seed: int, **how: object) -> mdt.MDTClustering:
    return mdt.MDTClustering(n_clusters, random_state=seed).fit(views, **how)


def bbknn_graph(view: np.ndarray, batches: np.ndarray, k: int) -> sp.csr_array:
    """Return the distances to the k nearest samples of every batch, which is BBKNN's graph."""
    n, rows, columns, values = len(view), [], [], []
    for batch in np.unique(batches):
        own = np.flatnonzero(batches == batch)
        for start in range(0, n, 512):
            block = np.arange(start, min(start + 512, n))
            distances = np.sqrt(np.maximum(_squared(view[block], view[own]), 0.0))
            distances[block[:, None] == own] = np.inf
            nearest = np.argsort(distances, axis=1, kind="stable")[:, : min(k, len(own) - 1)]
            rows.append(np.repeat(block, nearest.shape[1]))
            columns.append(own[nearest].ravel())
            values.append(np.take_along_axis(distances, nearest, axis=1).ravel())
    triplets = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
    return sp.csr_array(triplets, shape=(n, n))


def _squared(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (a**2).sum(axis=1)[:, None] - 2 * a @ b.T + (b**2).sum(axis=1)


def bbknn(views: Views, batches: np.ndarray, n_clusters: int, seed: int) -> mdt.MDTClustering:
    """Cluster with the k nearest samples of every batch in each view, of which k is that of the default."""
    k = _default_neighbors(len(batches), n_clusters)
    joined = np.hstack([view / math.sqrt(view.var(axis=0).sum()) for view in views])
    parts = [*views, joined] if len(views) > 1 else views
    how = {"kernel": "adaptive", "anisotropy": 1.0, "joint": False}
    model = mdt.MDTClustering(
        n_clusters, random_state=seed, neighbors=[bbknn_graph(part, batches, k) for part in parts], **how
    )
    return model.fit(parts)


def _default_neighbors(n: int, n_clusters: int) -> int:
    return min(max(math.ceil(min(n / n_clusters / 8, 15)), math.ceil(math.log(n))), n - 1)


def harmony(views: Views, batches: np.ndarray, n_clusters: int, seed: int) -> mdt.MDTClustering:
    """Correct each view by Harmony with its default parameters, and cluster."""
    import harmonypy

    meta = pd.DataFrame({"batch": batches.astype(str)})
    corrected = []
    for view in views:
        found = harmonypy.run_harmony(view, meta, "batch", verbose=False, random_state=seed).Z_corr
        corrected.append(np.asarray(found if found.shape == view.shape else found.T, dtype=float))
    return _default(corrected, n_clusters, seed)


def centred(views: Views, batches: np.ndarray, n_clusters: int, seed: int) -> mdt.MDTClustering:
    """Subtract the mean of each batch, and cluster."""
    found = [view.copy() for view in views]
    for view in found:
        for batch in np.unique(batches):
            view[batches == batch] -= view[batches == batch].mean(axis=0)
    return _default(found, n_clusters, seed)


def not_aligned(views: Views, batches: np.ndarray, n_clusters: int, seed: int) -> mdt.MDTClustering:
    """Cluster with ``batches=``, but choose neighbours across batches without moving the batches, at any distance."""
    usual = rule._MOVES, rule._REACH
    rule._MOVES, rule._REACH = 0, np.inf
    try:
        return _default(views, n_clusters, seed, batches=batches)
    finally:
        rule._MOVES, rule._REACH = usual


WAYS: dict[str, Callable[[Views, np.ndarray, int, int], mdt.MDTClustering]] = {
    "plain": lambda views, _, k, seed: _default(views, k, seed),
    "batches=": lambda views, batches, k, seed: _default(views, k, seed, batches=batches),
    "not aligned": not_aligned,
    "BBKNN": bbknn,
    "Harmony": harmony,
    "centred": centred,
}


def neighbour_scores(ops: mdt.OperatorSet, classes: np.ndarray, batches: np.ndarray) -> tuple[float, float]:
    """Return mixing and purity of the mean operator, see above."""
    step = sp.csr_array(sum(ops[v] for v in range(ops.n_views)) / ops.n_views)
    step.setdiag(0.0)
    step = sp.diags_array(1.0 / np.maximum(np.asarray(step.sum(axis=1)).ravel(), 1e-300)) @ step
    edges = step.tocoo()
    same = classes[edges.row] == classes[edges.col]
    purity = np.bincount(edges.row[same], edges.data[same], minlength=len(classes))
    kinds = np.unique(batches)
    reached = np.zeros((len(classes), len(kinds)))
    np.add.at(reached, (edges.row[same], np.searchsorted(kinds, batches[edges.col[same]])), edges.data[same])
    values, weights = [], []
    for each in np.unique(classes):
        counts = np.array([np.count_nonzero(batches[classes == each] == kind) for kind in kinds], dtype=float)
        if np.count_nonzero(counts) < 2:
            continue
        # Batches of a class may be unequal: masses relative to the sizes are equal if it is mixed.
        shares = reached[classes == each][:, counts > 0] / counts[counts > 0]
        total = shares.sum(axis=1, keepdims=True)
        shares = np.divide(shares, total, out=np.zeros_like(shares), where=total > 0)
        entropy = -(shares * np.log(np.where(shares > 0, shares, 1.0))).sum(axis=1)
        values.append(entropy.mean() / math.log(np.count_nonzero(counts)))
        weights.append(len(shares))
    return float(np.average(values, weights=weights)), float(purity.mean())


def score(way: str, views: Views, classes: np.ndarray, batches: np.ndarray, seed: int) -> list[float]:
    """Return the scores of a way and its seconds."""
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = WAYS[way](views, batches, int(classes.max() + 1), seed)
    seconds = time.perf_counter() - start
    agreement = adjusted_mutual_info_score(classes, model.labels_), adjusted_rand_score(classes, model.labels_)
    return [*agreement, *neighbour_scores(model.operators_, classes, batches), seconds]


def run(path: Path, sets: list[str], ways: list[str], seeds: int) -> None:
    """Append the rows that the file does not have."""
    known = set()
    if path.exists():
        with path.open(newline="") as file:
            known = {tuple(row[:7]) for row in csv.reader(file)}
    else:
        path.write_text(",".join(COLUMNS) + "\n")
    for name in sets:
        views, classes = SETS[name].load()
        views = [np.asarray(view, dtype=float) for view in views]
        for design in SHARES:
            for effect, size in CONDITIONS:
                for seed in range(seeds):
                    data = simulate(views, classes, design, effect, size, seed)
                    for way in ways:
                        key = (name, SETS[name].half, design, effect, str(size), str(seed), way)
                        if key in known:
                            continue
                        found = score(way, *data, seed)
                        values = [f"{100 * value:.1f}" for value in found[:4]]
                        with path.open("a", newline="") as file:
                            csv.writer(file).writerow([*key, *values, f"{found[4]:.2f}"])
                        print(*key, *values, flush=True)


def print_tables(path: Path) -> None:
    """Print the mean scores of each way over the sets of each half."""
    rows = pd.read_csv(path)
    rows["condition"] = rows["effect"] + " " + rows["size"].map("{:g}".format)
    for half, part in rows.groupby("half"):
        print(f"\n{half}: {', '.join(part['set'].unique())}; mean AMI")
        print(part.pivot_table(index="way", columns=["design", "condition"], values="AMI").round(1).to_string())
        print(part.groupby("way")[["AMI", "ARI", "mixing", "purity", "seconds"]].mean().round(1).to_string())
    print("\nAMI, mean over the designs and over the effects with a size above 0")
    moved = rows[rows["size"] > 0]
    print(
        moved.pivot_table(index="way", columns="set", values="AMI")[list(dict.fromkeys(rows["set"]))]
        .round(1)
        .to_string()
    )


def isolet(ways: list[str], seeds: int) -> None:
    """Print the scores on the speakers of ISOLET, 50 principal components."""
    with np.load(Path(os.environ["MDT_FAST_DATA"]) / "isolet" / "isolet_1560.npz") as file:
        view = PCA(50, random_state=0).fit_transform(file["X"].astype(float))
        classes = np.unique(file["y"], return_inverse=True)[1]
    speakers = np.arange(len(classes)) // 52
    for way in ways:
        found = np.mean([score(way, [view], classes, speakers, seed) for seed in range(seeds)], axis=0)
        print(f"ISOLET, 30 speakers, {way:>9}: " + ", ".join(f"{100 * x:.1f}" for x in found[:4]))


def cost() -> None:
    """Print the seconds of the graphs of 20,000 samples in 50 columns, in turns."""
    rng = np.random.default_rng(0)
    view = rng.standard_normal((20_000, 50)) + 4 * rng.standard_normal((20, 50))[rng.integers(20, size=20_000)]
    for n_batches in (1, 2, 8):
        batches = rng.integers(n_batches, size=len(view))
        times = []
        for _ in range(3):
            start = time.perf_counter()
            mdt.build_operators(view, n_neighbors=15, kernel="adaptive", batches=batches)
            times.append(time.perf_counter() - start)
        print(f"{len(view)} samples, {n_batches} batches: {min(times):.2f} s")


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", nargs="?", type=Path, default=Path("batches.csv"))
    parser.add_argument("--sets", nargs="+", default=list(DEFAULT_SETS), choices=list(SETS))
    parser.add_argument("--ways", nargs="+", default=list(WAYS), choices=list(WAYS))
    parser.add_argument("--seeds", type=int, default=1)
    for flag in ("tables", "isolet", "cost"):
        parser.add_argument(f"--{flag}", action="store_true")
    given = parser.parse_args()
    with threadpool_limits(1, "blas"):
        if given.isolet:
            isolet(given.ways, given.seeds)
        if given.cost:
            cost()
        if not (given.tables or given.isolet or given.cost):
            run(given.rows, given.sets, given.ways, given.seeds)
    if given.rows.exists() and not (given.isolet or given.cost):
        print_tables(given.rows)


if __name__ == "__main__":
    main()
