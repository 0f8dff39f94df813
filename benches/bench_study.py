"""Time of the published study against dense matrices.

Our times are in the rows that `mdt-fast study` writes. Dense times are those of one candidate (a
product, LAPACK's SVD, scikit-learn's k-means and Calinski-Harabasz), multiplied by the number of
trajectories.

Run: ``python benches/bench_study.py ROWS.CSV``.
"""

import sys
import warnings
from functools import partial

import numpy as np
from threadpoolctl import threadpool_limits

import mdt_fast as mdt
from bench_candidate import THREADS, evaluate_densely
from mdt_fast.study._cases import find_dataset
from mdt_fast.study._rows import Row, read_rows
from mdt_fast.study.paper._runs import DATASETS
from timing import print_table, seconds_of

# Larger data sets take minutes each and are timed once.
SMALL = 3000


def dense_seconds(name: str) -> float:
    case = find_dataset(name).prepare("published", THREADS)
    sequence = np.random.default_rng(0).integers(0, len(case.ops), case.t - 1).tolist()
    views, before = [P.toarray() for P in case.ops.views], case.ops.trajectory(sequence).toarray()
    rounds = 3 if case.ops.n_samples <= SMALL else 1
    return seconds_of(partial(evaluate_densely, views, before, case.n_clusters), rounds)


def table(rows: list[Row]) -> None:
    lines, sums = [], np.zeros(3)
    for dataset in DATASETS:
        name = find_dataset(dataset).name
        searches = {(r.key, r.search): r for r in rows if r.dataset == name and r.preset and "(t=" not in r.method}
        if not searches:
            continue
        n, ours = sum(r.n_evaluations for r in searches.values()), sum(r.seconds for r in searches.values())
        n_samples = next(iter(searches.values())).n_samples
        one = dense_seconds(dataset)
        sums += (n, ours, n * one)
        times = [f"{ours:,.0f}", f"{one:.2f}", f"{n * one / 3600:.1f}", f"{n * one / ours:,.0f}"]
        lines.append([name, f"{n_samples:,}", f"{n:,}", *times])
    n, ours, dense = sums
    lines.append(["all", "", f"{n:,.0f}", f"{ours:,.0f}", "", f"{dense / 3600:.1f}", f"{dense / ours:,.0f}"])
    print("### The table of the published study, ours on one thread, dense on two\n")
    header = ["data", "N", "trajectories", "ours, s", "one dense, s", "all dense, h (extrapolated)", "dense / ours"]
    print_table(header, lines)


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit("usage: python benches/bench_study.py ROWS.CSV (written by `mdt-fast study`)")
    with warnings.catch_warnings(), threadpool_limits(THREADS):
        warnings.simplefilter("ignore", mdt.OperatorWarning)
        table(read_rows(sys.argv[1]))
