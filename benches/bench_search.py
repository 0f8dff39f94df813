"""Whole searches: against the dense way, against evaluating each word by itself, and their growth."""

import subprocess
import sys
import time
import warnings
from functools import partial

from mdt_fast._search.scoring import ScoringPlan
from threadpoolctl import threadpool_limits

import mdt_fast as mdt
from bench_build import peak_megabytes
from bench_candidate import CLUSTERS, THREADS, blobs, evaluate_densely, published_sets
from timing import print_table, seconds_of, time_in_turns

GROWTH_DEPTH = 12
ROUNDS = 5


def against_dense() -> None:
    """Time a few dense candidates and multiply by the number that the search evaluates."""
    rows = []
    for name, views, t, rounds in published_sets():
        ops = mdt.build_operators(views, preset="published", n_jobs=THREADS)
        search = partial(mdt.search, ops, CLUSTERS, t=t, progress=False)
        res = search()
        seconds = time_in_turns({"ours": search, "alone": partial(one_by_one, ops, res)}, ROUNDS)
        ours, alone = seconds["ours"], seconds["alone"]
        dense_views, before = [P.toarray() for P in ops.views], ops.trajectory([0] * (t - 1)).toarray()
        dense = seconds_of(lambda d=dense_views, b=before: evaluate_densely(d, b), rounds) * res.n_evaluations
        rows.append(
            [
                name,
                f"{len(views[0]):,}",
                str(2 * t),
                str(res.n_evaluations),
                f"{dense:.0f}",
                f"{alone:.2f}",
                f"{ours:.2f}",
                f"{dense / ours:.0f}",
                f"{alone / ours:.2f}",
            ]
        )
    print(f"### Beam search of width 2 to depth 2 t, {THREADS} threads\n")
    header = ["data", "N", "depth", "candidates", "dense, s (extrapolated)", "one by one, 1 thread, s", "ours, s"]
    print_table([*header, "dense / ours", "one by one / ours"], rows)


def one_by_one(ops: mdt.OperatorSet, res: mdt.SearchResult) -> None:
    """Score the same words from scratch on one thread, each by itself."""
    plan = ScoringPlan.check(ops, "calinski_harabasz", CLUSTERS, None, 1, 1e-3, None, None)
    scorer = plan.make(ops, 0, 2**30, 1)
    for word, expected in zip(res.candidates, res.history["score"], strict=True):
        how = {"with_labels": False, "seconds": None, "watch": lambda _: False}
        (found,) = scorer.score([ops.trajectory(word).weights], **how).candidates
        assert found.score == expected


def growth() -> None:
    rows = []
    for n in (10_000, 100_000):
        # A process each: the peak of memory is that of the process.
        out = subprocess.run([sys.executable, __file__, str(n)], check=True, capture_output=True, text=True).stdout
        seconds, candidates, built, peak = (float(word) for word in out.split())
        rows.append((n, seconds, candidates, built, peak))
    each = [seconds / candidates for _, seconds, candidates, _, _ in rows]
    cells = [
        [f"{n:,}", f"{c:.0f}", f"{s:.1f}", f"{1e3 * s / c:.0f}", f"{built:.0f}", f"{peak:.0f}"]
        for n, s, c, built, peak in rows
    ]
    print(f"### Growth of a beam search: blobs, two views, 15 neighbours, width 2, depth {GROWTH_DEPTH}\n")
    header = ["N", "candidates", "seconds", "one candidate, ms", "peak after building, MB", "peak, MB"]
    print_table(header, cells)
    print(f"One candidate costs {each[1] / each[0]:.1f} times as much at ten times the samples (target: 16).\n")


def grow(n: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mdt.OperatorWarning)
        ops = blobs(n)
        built = peak_megabytes()
        began = time.perf_counter()
        res = mdt.search(ops, CLUSTERS, t=GROWTH_DEPTH // 2, progress=False)
        seconds = time.perf_counter() - began
    print(seconds, res.n_evaluations, built, peak_megabytes())


def run() -> None:
    with threadpool_limits(THREADS):
        against_dense()
    growth()


if __name__ == "__main__":
    if len(sys.argv) > 1:
        grow(int(sys.argv[1]))
    else:
        run()
