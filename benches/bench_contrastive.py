"""The default of MDT against exact gradients and all steps: CPU time, loss and neighbours in the plane.

    python benches/bench_contrastive.py --sets choose
    python benches/bench_contrastive.py --sets confirm
    python benches/bench_contrastive.py --scale 10000 100000

`--sets` reads the sets of `quality_sets.py` with more than 736 samples (smaller ones always have exact losses) and
the manifolds. The excess is that of the exact loss over the loss of exact gradients and 40 steps, as a share of the
improvement from equal weights. The accuracy is that of ten neighbours in two coordinates, five folds. `--scale`
times the stages of `MDT(2).fit`. Exact gradients of up to 10,000 samples are timed once and multiplied by the 41
evaluations of the former default.
"""

import argparse
import os
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier

import mdt_fast as mdt
from quality_sets import SETS, Data
from timing import print_table

EXACT = mdt.strategies.Contrastive(batch_size=None, tol=0.0)
FEWEST_SAMPLES, MOST_SAMPLES = 737, 6000
MANIFOLDS: dict[str, tuple[str, Callable[[], Any]]] = {
    "Helix-A": ("choose", mdt.datasets.make_helix_a),
    "Helix-B": ("confirm", mdt.datasets.make_helix_b),
    "Deformed-Plane": ("confirm", mdt.datasets.make_deformed_plane),
}


def load_sets(half: str, only: list[str] | None) -> Iterator[tuple[str, list[np.ndarray], np.ndarray | None]]:
    """Yield name, views and classes; manifolds have no classes."""
    for name, each in SETS.items():
        if each.half == half and (not only or name in only):
            views, classes = each.load()
            if FEWEST_SAMPLES <= len(classes) <= MOST_SAMPLES:
                yield name, views, classes
    for name, (own_half, make) in MANIFOLDS.items():
        if own_half == half and (not only or name in only):
            yield name, make().views, None


def blobs(n: int) -> Data:
    """Ten overlapping clusters in two views of 50 columns."""
    made = mdt.datasets.make_multiview_blobs(n, n_features=50, n_clusters=10, cluster_std=6, random_state=0)
    return [view.astype(np.float32) for view in made.views], made.target


def surface(n: int) -> Data:
    """Eight latent dimensions, mapped to 50 columns by sines, with little and more noise."""
    rng = np.random.default_rng(1)
    latent = rng.random((n, 8))
    views = []
    for noise in (0.1, 0.2):
        clean = np.sin(latent @ rng.normal(size=(8, 50)) + 6 * rng.random(50))
        views.append((clean + noise * rng.normal(size=clean.shape)).astype(np.float32))
    return views, (4 * latent[:, 0]).astype(int)


def mnist(n: int) -> Data:
    """Digits of MNIST in two noisy views."""
    made = mdt.datasets.fetch_k_mvmnist(n_samples=n, s=0.5)
    return [view.astype(np.float32) for view in made.views], made.target


def cpu_of(work: Callable[[], Any]) -> tuple[Any, float]:
    """Return the result and its CPU seconds, over all threads."""
    began = time.process_time()
    found = work()
    return found, time.process_time() - began


def accuracy(trajectory: mdt.Trajectory, classes: np.ndarray | None) -> str:
    """Return the accuracy of ten neighbours in two coordinates."""
    if classes is None:
        return "-"
    coordinates = mdt.embed(trajectory, 2, tol=1e-6).coordinates
    return f"{cross_val_score(KNeighborsClassifier(10), coordinates, classes, cv=5).mean():.3f}"


def compare(name: str, views: list[np.ndarray], classes: np.ndarray | None, seeds: int) -> list[str]:
    """Return a row of the table of sets."""
    ops = mdt.build_operators(views)
    t = mdt.select_time(ops).t
    equal = ops.trajectory(np.full((t, len(ops)), 1 / len(ops)))
    start = mdt.quality.contrastive_loss(ops, equal)
    exact, exact_seconds = cpu_of(lambda: mdt.search(ops, strategy=EXACT, t=t, progress=False))
    gain, losses, seconds = start + exact.score, [], []
    for seed in range(seeds):
        found, own = cpu_of(lambda s=seed: mdt.search(ops, strategy="contrastive", t=t, random_state=s, progress=False))
        losses.append(mdt.quality.contrastive_loss(ops, found.trajectory))
        seconds.append(own)
    own = float(np.median(seconds))
    return [
        name, f"{ops.n_samples:,}", str(len(ops)), str(t), f"{gain / start:.1e}", f"{exact_seconds:.2f}", f"{own:.2f}",
        f"{exact_seconds / own:.0f}", str(found.n_evaluations), f"{(max(losses) + exact.score) / gain:.5f}",
        accuracy(equal, classes), accuracy(exact.trajectory, classes), accuracy(found.trajectory, classes),
    ]  # fmt: skip


def time_stages(name: str, views: list[np.ndarray]) -> list[str]:
    """Return a row of the table of sizes."""
    began, cpu = time.perf_counter(), time.process_time()
    stages: dict[str, float] = {}
    last = cpu

    def note(report: mdt.Progress) -> None:
        nonlocal last
        now = time.process_time()
        stages[report.stage], last = stages.get(report.stage, 0.0) + now - last, now

    model = mdt.MDT(2, verbose=note).fit(views)
    total, wall = time.process_time() - cpu, time.perf_counter() - began
    ops, t, search = model.operators_, model.t_, stages["search"]
    graphs = sum(stages.get(stage, 0.0) for stage in ("views", "neighbours", "operators"))
    exact = "-"
    if ops.n_samples <= 10_000:
        weights = np.full((t, len(ops)), 1 / len(ops))
        exact = f"{41 * cpu_of(lambda: mdt.quality.contrastive_loss(ops, weights, gradient=True))[1]:.0f}"
    return [
        name, f"{ops.n_samples:,}", str(t), f"{graphs:.2f}", f"{stages['diffusion time']:.2f}", f"{search:.2f}",
        f"{stages['embedding']:.2f}", f"{total:.1f}", f"{wall:.1f}", str(len(model.search_history_)), exact,
        "-" if exact == "-" else f"{float(exact) / search:.0f}",
    ]  # fmt: skip


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sets", choices=["choose", "confirm"])
    parser.add_argument("--only", nargs="*", help="names of sets, or of the data of --scale")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--scale", type=int, nargs="*", default=[])
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    if given.sets:
        rows = [compare(*each, given.seeds) for each in load_sets(given.sets, given.only)]
        print_table(
            ["set", "N", "views", "t", "gain", "exact CPU s", "default CPU s", "ratio", "evaluations", "largest excess",
             "10-NN equal", "10-NN exact", "10-NN default"], rows,
        )  # fmt: skip
    rows = []
    for n in given.scale:
        data = {"blobs": blobs, "surface": surface} | ({"MNIST": mnist} if "MDT_FAST_DATA" in os.environ else {})
        for name, make in data.items():
            if (not given.only or name in given.only) and (name != "MNIST" or n <= 70_000):
                rows.append(time_stages(name, make(n)[0]))
    if rows:
        print_table(
            ["data", "N", "t", "graphs", "time", "search", "embedding", "CPU s", "wall s", "evaluations",
             "41 exact gradients", "ratio"], rows,
        )  # fmt: skip


if __name__ == "__main__":
    main()
