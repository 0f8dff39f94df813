"""AMI of ways to cluster views that lack samples, and the cost of missing samples.

Two patterns, for each share p of missing samples and each seed:

- random: each (sample, view) pair is removed with probability p. A sample that would lose all views
  keeps one of them at random, so that with few views less than p is missing; the share that is
  missing is a column of the rows.
- block: one view, chosen at random, lacks a random share p of the samples.

No way uses the classes; all know their number. A row (set, pattern, share, seed, way, AMI x 100,
share of missing pairs, seconds) is appended to a CSV file for each clustering; rows that the file
has are not computed again. The AMI is nan where a way does not apply. The sets and their two halves
are in quality_sets.py, the peers in peers/incomplete.py; those of iMML run if it is installed.

Run: ``python benches/bench_missing.py [ROWS.CSV] [--sets NAME ...] [--shares 0.1 0.3 0.5 0.7]
[--seeds 3] [--ways NAME ...] [--cost]``, with ``MDT_FAST_DATA`` set. ``--cost`` measures
processor seconds instead of the AMI.
"""

import argparse
import csv
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from statistics import median

import numpy as np
from sklearn.impute import KNNImputer
from sklearn.metrics import adjusted_mutual_info_score
from threadpoolctl import threadpool_limits

import mdt_fast as mdt
from mdt_fast.strategies import Consensus
from peers.base import Labels, Peer, Views
from peers.incomplete import INCOMPLETE_PEERS
from quality_sets import SETS
from timing import print_table

# Real sets of at most 1800 samples and 10 clusters, on which one fit takes a few seconds.
REAL = (
    *("Prokaryotic", "MSRC-v5", "breast cancer", "digit halves"),
    *("3Sources", "Wikipedia-test", "CUB_10", "SNARE-seq", "wine"),
)
REFERENCE = "complete data"
OWN = "borrow"
# Complete samples for each cluster below which a fit to them is not reported.
LEAST_COMPLETE = 5
IMPUTED_FROM = 10
COST_SHARE, COST_ROUNDS, COST_TRAJECTORIES = 0.3, 3, 32

Key = tuple[str, str, float, str]
Values = dict[Key, dict[int, float]]


def missing_at_random(n: int, n_views: int, share: float, rng: np.random.Generator) -> np.ndarray:
    """Return which (sample, view) pairs are missing; each sample keeps a view."""
    gone = rng.random((n, n_views)) < share
    lost = np.flatnonzero(gone.all(axis=1))
    gone[lost, rng.integers(n_views, size=len(lost))] = False
    return gone


def missing_block(n: int, n_views: int, share: float, rng: np.random.Generator) -> np.ndarray:
    """Return which (sample, view) pairs are missing: a share of the samples, in one view."""
    gone = np.zeros((n, n_views), dtype=bool)
    gone[rng.permutation(n)[: round(share * n)], rng.integers(n_views)] = True
    return gone


PATTERNS: dict[str, Callable[[int, int, float, np.random.Generator], np.ndarray]] = {
    "random": missing_at_random,
    "block": missing_block,
}


def with_holes(views: Views, pattern: str, share: float, seed: int) -> tuple[Views, float]:
    """Return views with rows of NaN, and the share of missing pairs."""
    gone = PATTERNS[pattern](len(views[0]), len(views), share, np.random.default_rng([seed, round(1000 * share)]))
    holed = [np.where(column[:, None], np.nan, view) for view, column in zip(views, gone.T, strict=True)]
    return holed, float(gone.mean())


def fit(views: Views, n_clusters: int, seed: int) -> Labels:
    """Cluster with the defaults of the package."""
    return mdt.MDTClustering(n_clusters, random_state=seed).fit(views).labels_


def stay(views: Views, n_clusters: int, seed: int) -> Labels:
    """Cluster with steps that leave a sample where it is if their view lacks it."""
    return mdt.MDTClustering(n_clusters, absent="stay", random_state=seed).fit(views).labels_


def mean_imputed(views: Views, n_clusters: int, seed: int) -> Labels:
    """Put the means of the columns in place of missing rows, and cluster."""
    return fit([np.where(np.isnan(view), np.nanmean(view, axis=0), view) for view in views], n_clusters, seed)


def neighbour_imputed(views: Views, n_clusters: int, seed: int) -> Labels:
    """Put means over the nearest samples by the views in common in place of missing rows, and cluster."""
    # The root of the total variance, so that no view dominates the distances.
    scales = [np.sqrt(np.nanvar(view, axis=0).sum()) or 1.0 for view in views]
    together = np.hstack([view / scale for view, scale in zip(views, scales, strict=True)])
    filled = KNNImputer(n_neighbors=IMPUTED_FROM, keep_empty_features=True).fit_transform(together)
    parts = np.split(filled, np.cumsum([view.shape[1] for view in views])[:-1], axis=1)
    return fit([part * scale for part, scale in zip(parts, scales, strict=True)], n_clusters, seed)


def complete_only(views: Views, n_clusters: int, seed: int) -> Labels | None:
    """Fit to the samples that no view lacks, and predict the others; None if they are too few."""
    complete = ~np.any([np.isnan(view).any(axis=1) for view in views], axis=0)
    if complete.sum() < LEAST_COMPLETE * n_clusters:
        return None
    model = mdt.MDTClustering(n_clusters, random_state=seed).fit([view[complete] for view in views])
    labels = np.empty(len(complete), dtype=int)
    labels[complete] = model.labels_
    labels[~complete] = model.predict([view[~complete] for view in views])
    return labels


WAYS: dict[str, Peer] = {
    OWN: Peer(fit),
    "stay": Peer(stay),
    "mean imputation": Peer(mean_imputed),
    "KNN imputation": Peer(neighbour_imputed),
    "complete samples": Peer(complete_only),
    **INCOMPLETE_PEERS,
}


def measured(way: Peer, views: Views, classes: np.ndarray, seed: int) -> tuple[float, float]:
    """Run a way once, and return AMI x 100, nan where it does not apply, and seconds."""
    began = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            labels = way.run(views, len(np.unique(classes)), seed)
    except (np.linalg.LinAlgError, ValueError) as error:
        print(f"  failed: {error!r}", flush=True)
        labels = None
    ami = np.nan if labels is None else 100 * adjusted_mutual_info_score(classes, labels)
    return ami, time.perf_counter() - began


def read_rows(path: Path) -> list[list[str]]:
    """Return the rows of the file."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.reader(file))


def measure(path: Path, sets: list[str], shares: list[float], seeds: int, ways: dict[str, Peer]) -> None:
    """Append the rows that the file lacks."""
    done = {(name, pattern, float(share), int(seed), way) for name, pattern, share, seed, way, *_ in read_rows(path)}
    cases = [("complete", 0.0, {REFERENCE: Peer(fit)})]
    cases += [(pattern, share, ways) for share in shares for pattern in PATTERNS]
    for name in sets:
        wanted = [
            (pattern, share, seed, way, peer)
            for pattern, share, peers in cases
            for seed in range(seeds)
            for way, peer in peers.items()
            if (name, pattern, share, seed, way) not in done
        ]
        if not wanted:
            continue
        complete, classes = SETS[name].load()
        complete = [np.asarray(view, dtype=float) for view in complete]
        for pattern, share, seed, way, peer in wanted:
            if peer.max_samples is not None and len(classes) > peer.max_samples:
                continue
            views, missing = with_holes(complete, pattern, share, seed) if share else (complete, 0.0)
            ami, seconds = measured(peer, views, classes, seed)
            with path.open("a", newline="") as file:
                row = [name, pattern, share, seed, way, f"{ami:.4f}", f"{missing:.4f}", f"{seconds:.3f}"]
                csv.writer(file).writerow(row)
            print(f"{name}, {pattern} {share:.0%}, seed {seed}, {way}: AMI {ami:.1f}, {seconds:.1f} s", flush=True)


def read_values(path: Path, seeds: int) -> Values:
    """Return the AMI of the first seeds by set, pattern, share and way."""
    values: Values = {}
    for name, pattern, share, seed, way, ami, *_ in read_rows(path):
        if int(seed) < seeds and not np.isnan(float(ami)):
            values.setdefault((name, pattern, float(share), way), {})[int(seed)] = float(ami)
    return values


def deviation(values: list[float]) -> float:
    """Return the standard deviation of a sample of seeds, 0 for one seed."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def cell(values: list[float]) -> str:
    """Return mean and standard deviation as text."""
    return f"{np.mean(values):.1f} ({deviation(values):.1f})" if values else "-"


def is_near_best(found: dict[str, list[float]]) -> bool:
    """Return whether the default is first or within one of its standard deviations of the first."""
    best = max(np.mean(values) for values in found.values())
    return bool(np.mean(found[OWN]) + deviation(found[OWN]) >= best)


def of_all_seeds(values: Values, key: Key, seeds: int) -> list[float]:
    """Return the AMI of each seed; empty where the way does not apply to all of them."""
    found = values.get(key, {})
    return [found[seed] for seed in range(seeds)] if len(found) == seeds else []


def means_over_sets(
    values: Values, sets: list[str], pattern: str, share: float, ways: list[str], seeds: int
) -> dict[str, list[float]]:
    """Return the mean over sets for each seed, of the ways that have all sets and seeds."""
    found = {}
    for way in ways:
        of_sets = [of_all_seeds(values, (name, pattern, share, way), seeds) for name in sets]
        if all(of_sets):
            found[way] = np.mean(of_sets, axis=0).tolist()
    return found


def print_sets(values: Values, sets: list[str], pattern: str, share: float, ways: list[str], seeds: int) -> None:
    """Print one table: a row for each set of a half, and their mean."""
    rows = []
    for name in sets:
        keys = [(name, "complete", 0.0, REFERENCE), *((name, pattern, share, way) for way in ways)]
        rows.append([name, *(cell(of_all_seeds(values, key, seeds)) for key in keys)])
    means = means_over_sets(values, sets, pattern, share, ways, seeds)
    reference = means_over_sets(values, sets, "complete", 0.0, [REFERENCE], seeds).get(REFERENCE, [])
    rows.append(["**mean**", cell(reference), *(cell(means.get(way, [])) for way in ways)])
    print_table(["set", REFERENCE, *ways], rows)


def print_summary(values: Values, sets: list[str], shares: list[float], ways: list[str], seeds: int) -> None:
    """Print the place of the default for each pattern and share, and its loss."""
    rows = []
    reference = means_over_sets(values, sets, "complete", 0.0, [REFERENCE], seeds).get(REFERENCE)
    for pattern in PATTERNS:
        for share in shares:
            means = means_over_sets(values, sets, pattern, share, ways, seeds)
            if OWN not in means or reference is None:
                continue
            near = 0
            for name in sets:
                found = {way: of_all_seeds(values, (name, pattern, share, way), seeds) for way in ways}
                near += is_near_best({way: each for way, each in found.items() if each})
            others = {way: np.mean(each) for way, each in means.items() if way != OWN}
            best = max(others, key=lambda way: others[way])
            place = 1 + sum(mean > np.mean(means[OWN]) for mean in others.values())
            loss = f"{np.mean(reference) - np.mean(means[OWN]):.1f}"
            verdict = "first" if place == 1 else "within one deviation" if is_near_best(means) else f"place {place}"
            own = [cell(means[OWN]), f"{best}: {others[best]:.1f}", verdict, f"{near}/{len(sets)}", loss]
            rows.append([pattern, f"{share:.0%}", *own])
    header = ["pattern", "share", OWN, "best other", "place by the mean", "sets first or within one deviation"]
    print_table([*header, "loss against complete"], rows)


def print_half(half: str, sets: list[str], shares: list[float], ways: list[str], values: Values, seeds: int) -> None:
    """Print the tables of one half."""
    sets = [name for name in sets if any(key[0] == name for key in values)]
    ways = [way for way in ways if any(key[3] == way for key in values)]
    if not sets:
        return
    for pattern in PATTERNS:
        for share in shares:
            print(f"#### {half}, {pattern}, {share:.0%} missing: AMI x 100, mean (standard deviation over seeds)\n")
            print_sets(values, sets, pattern, share, ways, seeds)
    print(f"#### {half}: the default among the ways\n")
    print_summary(values, sets, shares, ways, seeds)


def timed_fit(views: Views, n_clusters: int, strategy: str | Consensus) -> Callable[[], object]:
    """Return a fit to be timed."""
    model = mdt.MDTClustering(n_clusters, strategy=strategy, random_state=0, n_jobs=1)
    return lambda: model.fit(views)


def processor_seconds(competitors: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return the median processor seconds of each competitor in rounds; other users of the machine add no time."""
    seconds: dict[str, list[float]] = {name: [] for name in competitors}
    for _ in range(rounds):
        for name, work in competitors.items():
            start = time.process_time()
            work()
            seconds[name].append(time.process_time() - start)
    return {name: median(times) for name, times in seconds.items()}


def print_cost(sets: list[str]) -> None:
    """Print the time of a fit with missing samples over the time of a complete one, on one thread."""
    rows = []
    for name in sets:
        complete, classes = SETS[name].load()
        complete = [np.asarray(view, dtype=float) for view in complete]
        cases = {"complete": complete, **{p: with_holes(complete, p, COST_SHARE, 0)[0] for p in PATTERNS}}
        k = len(np.unique(classes))
        work: dict[str, Callable[[], object]] = {}
        for case, views in cases.items():
            work[case] = timed_fit(views, k, "auto")
            # The number of trajectories of the default depends on when its rounds agree.
            work[f"{case}, {COST_TRAJECTORIES}"] = timed_fit(views, k, Consensus(trajectories=COST_TRAJECTORIES))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            seconds = processor_seconds(work, COST_ROUNDS)
        parts = ("", f", {COST_TRAJECTORIES}")
        ratios = [seconds[f"{p}{part}"] / seconds[f"complete{part}"] for part in parts for p in PATTERNS]
        rows.append([name, f"{seconds['complete']:.2f}", *(f"{ratio:.2f}" for ratio in ratios)])
        print(rows[-1], flush=True)
    columns = np.array([[float(value) for value in row[2:]] for row in rows])
    rows.append(["**median**", "", *(f"{value:.2f}" for value in np.median(columns, axis=0))])
    header = [*PATTERNS, *(f"{p}, {COST_TRAJECTORIES} trajectories" for p in PATTERNS)]
    print(f"\n#### Processor seconds of a fit with {COST_SHARE:.0%} missing over those with complete data\n")
    print_table(["set", "complete, s", *header], rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rows", type=Path, nargs="?", default=Path("missing.csv"))
    parser.add_argument("--sets", nargs="*", choices=list(SETS), default=list(REAL), metavar="NAME")
    parser.add_argument("--shares", nargs="*", type=float, default=[0.1, 0.3, 0.5, 0.7])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--ways", nargs="*", choices=list(WAYS), default=list(WAYS), metavar="NAME")
    parser.add_argument("--cost", action="store_true")
    given = parser.parse_args()
    with threadpool_limits(1):
        if given.cost:
            print_cost(given.sets)
            return
        ways = {way: WAYS[way] for way in given.ways if not WAYS[way].missing()}
        if len(ways) < len(given.ways):
            print(f"left out: {', '.join(way for way in given.ways if way not in ways)}; pip install imml")
        measure(given.rows, given.sets, given.shares, given.seeds, ways)
    values = read_values(given.rows, given.seeds)
    for half in ("choose", "confirm"):
        sets = [name for name in given.sets if SETS[name].half == half]
        print_half(half, sets, given.shares, given.ways, values, given.seeds)


if __name__ == "__main__":
    main()
