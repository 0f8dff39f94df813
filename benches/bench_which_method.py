"""Cost and agreement of the baselines, and when a single view is better: the tables of docs/which-method.md.

Run: ``python benches/bench_which_method.py PART`` with a PART of

- ``cost``: processor seconds (all threads) and memory against the number of samples, each method in its own process.
- ``agreement``: adjusted mutual information with the classes on sets of bench_quality.py.
- ``single``: each view alone by the default estimator, next to all views, and what the view report says.

Sets whose files are missing are skipped.
"""

import argparse
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_mutual_info_score

import mdt_fast as mdt
from bench_build import peak_megabytes
from quality_sets import SETS
from timing import print_table

SIZES = (1_000, 4_000, 16_000, 64_000)
COST_VIEWS, COLUMNS, CLUSTERS, CLUSTER_STD = 3, 50, 10, 6.0
# Seconds after which a method is not tried at the next size, which takes at least four times as long.
LONGEST = 60.0
THREADS = 2
SEEDS = (0, 1, 2)
BASELINES = ("AD", "p-AD", "ID", "MVD", "CrD", "mean", "AA")
AGREEMENT_SETS = (
    "digits", "Multi-Feat", "MSRC-v5", "Olivetti", "100Leaves", "CITE-seq", "SNARE-seq", "wine", "breast cancer",
    "complementary grid", "noise view",
)  # fmt: skip
SINGLE_SETS = (
    *AGREEMENT_SETS, "COIL20", "ORL", "3Sources", "Reuters-1200", "yaleA2", "CUB_10", "noise for one",
    "duplicated views",
)  # fmt: skip


def kmeans_of_columns(views: list[np.ndarray], k: int, seed: int) -> np.ndarray:
    """Cluster the views side by side, each with a total variance of 1."""
    scaled = [view / np.sqrt(view.var(axis=0).sum()) for view in views]
    return KMeans(k, n_init=10, random_state=seed).fit_predict(np.hstack(scaled))


def leiden_of_graph(views: list[np.ndarray], k: int, seed: int) -> np.ndarray:
    ops = mdt.build_operators(views, kernel="adaptive", anisotropy=1.0, joint=True, n_neighbors=15, n_jobs=THREADS)
    return mdt.leiden(mdt.fused_graph(ops), n_clusters=k, random_state=seed)


def by_baseline(name: str, **options: Any) -> Callable[[list[np.ndarray], int, int], np.ndarray]:
    def fit(views: list[np.ndarray], k: int, seed: int) -> np.ndarray:
        return mdt.baselines.make(name, n_clusters=k, random_state=seed, n_jobs=THREADS, **options).fit_predict(views)

    return fit


def by_strategy(strategy: str) -> Callable[[list[np.ndarray], int, int], np.ndarray]:
    def fit(views: list[np.ndarray], k: int, seed: int) -> np.ndarray:
        return mdt.MDTClustering(k, strategy=strategy, random_state=seed, n_jobs=THREADS).fit_predict(views)

    return fit


METHODS: dict[str, Callable[[list[np.ndarray], int, int], np.ndarray]] = {
    "k-means, columns": kmeans_of_columns,
    "DM, one view": by_baseline("DM", view=0),
    **{name: by_baseline(name) for name in BASELINES},
    "fused graph, Leiden": leiden_of_graph,
    "MDTClustering, mean": by_strategy("mean"),
    "MDTClustering, beam": by_strategy("beam"),
    "MDTClustering": by_strategy("auto"),
}


def ami(classes: np.ndarray, labels: np.ndarray) -> float:
    return 100 * adjusted_mutual_info_score(classes, labels)


def fit_once(name: str, n: int) -> dict[str, float]:
    """Return the processor seconds and the peak memory of a fit beyond that of the data and the packages."""
    bunch = mdt.datasets.make_multiview_blobs(
        n, n_views=COST_VIEWS, n_features=COLUMNS, n_clusters=CLUSTERS, cluster_std=CLUSTER_STD, random_state=0
    )
    before = peak_megabytes()
    began = time.process_time()
    METHODS[name](bunch.views, CLUSTERS, 0)
    return {"seconds": time.process_time() - began, "memory": peak_megabytes() - before}


def cost() -> None:
    rows = []
    for name in METHODS:
        cells: list[str] = []
        seconds = 0.0
        for n in SIZES:
            if seconds > LONGEST:
                cells.append("")
                continue
            command = [sys.executable, __file__, "cost", "--one", name, str(n)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                cells.append("")
                seconds = np.inf
                print(f"{name} at {n}: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
                continue
            found = json.loads(done.stdout)
            seconds = found["seconds"]
            cells.append(f"{seconds:.1f} s, {found['memory']:,.0f} MB")
        rows.append([name, *cells])
    print_table(["method", *(f"{n:,}" for n in SIZES)], rows)


def load(name: str) -> tuple[list[np.ndarray], np.ndarray] | None:
    try:
        return SETS[name].load()
    except (FileNotFoundError, KeyError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return None


def agreement() -> None:
    names = ("best view*", *(name for name in METHODS if name != "DM, one view"))
    rows = []
    for set_name in AGREEMENT_SETS:
        if (data := load(set_name)) is None:
            continue
        views, classes = data
        k = int(classes.max()) + 1
        alone = [
            np.mean([ami(classes, by_baseline("DM", view=v)(views, k, seed)) for seed in SEEDS])
            for v in range(len(views))
        ]
        scores = {"best view*": max(alone)}
        for name in names[1:]:
            scores[name] = float(np.mean([ami(classes, METHODS[name](views, k, seed)) for seed in SEEDS]))
        # The best view is chosen by the classes, so it does not compete.
        highest = max(scores[name] for name in names[1:])
        rows.append(
            [set_name, *(f"**{scores[n]:.1f}**" if scores[n] == highest else f"{scores[n]:.1f}" for n in names)]
        )
        print(rows[-1], file=sys.stderr)
    print_table(["set", *names], rows)


def single() -> None:
    rows = []
    for set_name in SINGLE_SETS:
        if (data := load(set_name)) is None:
            continue
        views, classes = data
        k = int(classes.max()) + 1
        model = mdt.MDTClustering(k, n_jobs=THREADS).fit(views)
        together = ami(classes, model.labels_)
        alone = [ami(classes, mdt.MDTClustering(k, n_jobs=THREADS).fit_predict([view])) for view in views]
        report = mdt.view_report(model.operators_, labels=model.labels_, n_jobs=THREADS)
        remarks = [f"{name}: {remark}" for name, remark in zip(report.names, report.remark, strict=True) if remark]
        preferred = int(np.argmax(report.scores[: len(views)]))
        best = int(np.argmax(alone))
        rows.append(
            [
                set_name, f"{together:.1f}", f"{alone[best]:.1f} (view {best})",
                f"{alone[preferred]:.1f} (view {preferred})",
                f"{report.scores[preferred]:.3f}, {report.score:.3f}", "; ".join([*report.findings, *remarks]),
            ]
        )  # fmt: skip
        print(rows[-1], file=sys.stderr)
    header = ["set", "all views", "best view alone*", "view that scores highest", "its score, score of all", "report"]
    print_table(header, rows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("part", choices=("cost", "agreement", "single"))
    parser.add_argument("--one", nargs=2, metavar=("METHOD", "N"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    # Graphs of clusters may be in several parts, and sets have columns and rows that deserve warnings.
    for kind in (mdt.OperatorWarning, mdt.ViewWarning, mdt.DegenerateClustersWarning):
        warnings.simplefilter("ignore", kind)
    if given.one:
        print(json.dumps(fit_once(given.one[0], int(given.one[1]))))
    else:
        {"cost": cost, "agreement": agreement, "single": single}[given.part]()
