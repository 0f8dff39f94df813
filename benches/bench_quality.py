"""AMI of the default and of peer methods for multi-view clustering.

No method uses the classes, apart from those marked as an oracle; all know the number of classes. A row
(set, method, seed, AMI x 100, ARI, share of the largest cluster, seconds) is appended to a CSV file for
each clustering; rows that the file already has are not computed again. The data sets and their two halves are in
quality_sets.py, the peers in the folder peers.

Run: ``python benches/bench_quality.py ROWS.CSV [--seeds 5] [--sets NAME ...] [--methods NAME ...]
[--half choose|confirm|all]``, with ``MDT_FAST_DATA`` set.
"""

import argparse
import csv
import time
import warnings
from pathlib import Path

import numpy as np
from scipy.sparse.linalg import ArpackError
from scipy.stats import rankdata
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score
from threadpoolctl import threadpool_limits

import mdt_fast as mdt
from peers import PEERS, Labels, Peer, Views
from quality_sets import SETS
from timing import print_table

PACKAGE = "mdt_fast"
# A set counts as lost where the best peer is better by more than this.
MARGIN = 3.0

Values = dict[tuple[str, str], list[float]]


def default(views: Views, n_clusters: int, seed: int) -> Labels:
    """Cluster with the defaults of the package."""
    return mdt.MDTClustering(n_clusters, random_state=seed).fit(views).labels_


METHODS: dict[str, Peer] = {PACKAGE: Peer(default), **PEERS}


def row_of(method: Peer, views: Views, classes: np.ndarray, seed: int) -> list[str] | None:
    """Run a method once, and return its measurements, or None where it does not converge."""
    began = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = np.atleast_2d(method.run(views, len(np.unique(classes)), seed))
    except (ArpackError, np.linalg.LinAlgError, ValueError) as error:
        print(f"  failed: {error!r}", flush=True)
        return None
    seconds = time.perf_counter() - began
    # Only an oracle returns several rows of labels.
    labels = max(found, key=lambda row: adjusted_mutual_info_score(classes, row))
    ami = 100 * adjusted_mutual_info_score(classes, labels)
    largest = np.unique(labels, return_counts=True)[1].max() / len(labels)
    return [f"{ami:.4f}", f"{adjusted_rand_score(classes, labels):.6f}", f"{largest:.4f}", f"{seconds:.3f}"]


def measure(path: Path, sets: list[str], methods: dict[str, Peer], seeds: int) -> None:
    """Append the missing rows."""
    done = set()
    if path.exists():
        with path.open(newline="") as file:
            done = {(row[0], row[1], int(row[2])) for row in csv.reader(file)}
    for name in sets:
        wanted = [
            (method, seed)
            for method in methods
            for seed in range(seeds if methods[method].random else 1)
            if (name, method, seed) not in done
        ]
        if not wanted:
            continue
        views, classes = SETS[name].load()
        for method, seed in wanted:
            limit = methods[method].max_samples
            if limit is not None and len(classes) > limit:
                continue
            row = row_of(methods[method], views, classes, seed)
            if row is None:
                continue
            with path.open("a", newline="") as file:
                csv.writer(file).writerow([name, method, seed, *row])
            print(f"{name}, {method}, seed {seed}: AMI {float(row[0]):.1f}, {float(row[3]):.1f} s", flush=True)


def read_values(path: Path, seeds: int) -> Values:
    """Return the AMI of the first seeds for each set and method."""
    values: Values = {}
    if path.exists():
        with path.open(newline="") as file:
            for row in csv.reader(file):
                if int(row[2]) < seeds:
                    values.setdefault((row[0], row[1]), []).append(float(row[3]))
    return values


def summary(means: np.ndarray, methods: dict[str, Peer]) -> list[list[str]]:
    """Return the rows below the sets: means, ranks, and the number of sets that a method loses."""
    fair = np.array([not method.oracle for method in methods.values()])
    peers = fair & np.array([method != PACKAGE for method in methods])
    # A method that skips the large sets must not gain from it: means and ranks use the sets that all have.
    common = means[~np.isnan(means).any(axis=1)]
    ranks = np.full(len(methods), np.nan)
    if len(common) and fair.any():
        ranks[fair] = rankdata(-common[:, fair].round(4), axis=1).mean(axis=0)
    best = np.full(len(means), np.nan)
    has_peer = ~np.isnan(means[:, peers]).all(axis=1)
    best[has_peer] = np.nanmax(means[has_peer][:, peers], axis=1)
    lost = (means < best[:, None] - MARGIN).sum(axis=0)
    counts = (~np.isnan(means)).sum(axis=0)
    own = [f"{np.nanmean(column):.1f} ({n})" if n else "" for column, n in zip(means.T, counts, strict=True)]
    shared = [f"{value:.1f}" for value in common.mean(axis=0)] if len(common) else [""] * len(methods)
    shares = [f"{a}/{b}" for a, b in zip(lost, counts, strict=True)]
    return [
        ["**mean (sets)**", *own],
        [f"**mean of the {len(common)} sets that all have**", *shared],
        ["**mean rank on these**", *("" if np.isnan(rank) else f"{rank:.1f}" for rank in ranks)],
        [f"**sets more than {MARGIN:.0f} below the best peer**", *shares],
    ]


def print_half(title: str, sets: list[str], methods: dict[str, Peer], values: Values) -> None:
    """Print the table of one half."""
    sets = [name for name in sets if any((name, method) in values for method in methods)]
    methods = {key: method for key, method in methods.items() if any((name, key) in values for name in sets)}
    if not sets:
        return
    cells = [[values.get((name, method), []) for method in methods] for name in sets]
    means = np.array([[np.mean(cell) if cell else np.nan for cell in row] for row in cells])
    rows = [
        [name, *(f"{np.mean(cell):.1f} ({np.std(cell):.1f})" if cell else "" for cell in row)]
        for name, row in zip(sets, cells, strict=True)
    ]
    print(f"### {title}: AMI x 100, mean (standard deviation over seeds)\n")
    print_table(["set", *methods], rows + summary(means, methods))


def available(methods: dict[str, Peer]) -> dict[str, Peer]:
    """Return the methods whose packages are installed, with a message for the others."""
    for name, method in methods.items():
        if missing := method.missing():
            print(f"{name} is left out: pip install {' '.join(missing)}")
    return {name: method for name, method in methods.items() if not method.missing()}


def main(methods: dict[str, Peer], description: str | None) -> None:
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=Path)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--sets", nargs="*", choices=list(SETS), default=list(SETS), metavar="NAME")
    parser.add_argument("--methods", nargs="*", choices=list(methods), default=list(methods), metavar="NAME")
    parser.add_argument("--half", choices=["choose", "confirm", "all"], default="all")
    given = parser.parse_args()
    halves = ["choose", "confirm"] if given.half == "all" else [given.half]
    sets = [name for name in given.sets if SETS[name].half in halves]
    chosen = {name: methods[name] for name in given.methods}
    with threadpool_limits(1):
        measure(given.rows, sets, available(chosen), given.seeds)
    values = read_values(given.rows, given.seeds)
    for half in halves:
        print_half(half, [name for name in sets if SETS[name].half == half], chosen, values)


if __name__ == "__main__":
    main(METHODS, __doc__)
