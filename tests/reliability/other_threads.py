"""Print the seconds for which threads of other libraries work during calls of the package, as JSON.

Usage: ``OPENBLAS_THREAD_TIMEOUT=4 python -m tests.reliability.other_threads``. (By default, threads of OpenBLAS that
have nothing to do poll for 2^26 cycles, also when they start.) BLAS and OpenMP start threads of their own. The threads
of the package are named "mdt". The clock of every other thread except the main one is read before and after each call.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import scipy.linalg

# Imported first: libraries start their threads when they are loaded.
import sklearn.manifold
import sklearn.metrics  # noqa: F401

import mdt_fast as mdt
from mdt_fast._search.strategies import BY_NAME
from mdt_fast.datasets._prepare import principal_components

# Large enough for threads: one decomposition of this size in LAPACK wakes them.
N = 400


def seconds_of_others() -> float:
    """Return the time on processors of all threads that are not the main one and not named "mdt"."""
    total = 0
    for task in Path("/proc/self/task").iterdir():
        try:
            if int(task.name) != os.getpid() and not (task / "comm").read_text().startswith("mdt"):
                # The clock of a thread, by its number: see clock_getcpuclockid(3).
                total += time.clock_gettime_ns((~int(task.name) << 3) | 6)
        except OSError:
            # The thread has ended.
            continue
    return total / 1e9


def calls() -> dict[str, Callable[[], Any]]:
    """Return the calls by name; the last one, LAPACK itself, shows that such work is seen."""
    views = mdt.datasets.make_multiview_blobs(N, n_clusters=3, random_state=0).views
    views = [*views, np.hstack(views)]
    ops = mdt.build_operators(views)
    W = ops.trajectory([0, 1, 2])
    one_walk = ops.trajectory([0, 0])
    model = mdt.MDTClustering(3, strategy="random", t=3).fit(views)
    graph = mdt.fused_graph(ops)
    A = np.random.default_rng(0).normal(size=(N, N))
    found: dict[str, Callable[[], Any]] = {
        "MDTClustering.fit": lambda: mdt.MDTClustering(3).fit(views),
        "MDTClustering.fit, raw": lambda: mdt.MDTClustering(3, joint=False, scale=None).fit(views[:1]),
        "MDTClustering.predict": lambda: model.predict(views),
        "MDT.fit": lambda: mdt.MDT(2).fit(views),
        "embed exact": lambda: mdt.embed(W, 5, solver="exact"),
        "embed eigen": lambda: mdt.embed(one_walk, 5, solver="exact", decomposition="eigen"),
        "select_n_clusters": lambda: mdt.select_n_clusters(ops),
        "view_report": lambda: mdt.view_report(ops, 3),
        "t-SNE": lambda: mdt.layout(graph, method="tsne"),
        "datasets": lambda: principal_components(A, 50),
    }
    for method in ("exact", "stochastic"):
        found[f"select_time {method}"] = lambda method=method: mdt.select_time(ops, method=method)
    found["select_time spectral"] = lambda: mdt.select_time(ops, method="spectral", view=0)
    for name in mdt.baselines.names():
        given = views[:2] if name == "ComD" else views
        found[name] = lambda name=name, given=given: mdt.baselines.make(name, n_clusters=3).fit(given)
    for name in BY_NAME:
        if name != "cma" or find_spec("cma"):
            # Logits of 24 steps and three members: threads of LAPACK would work in an evolution strategy.
            found[f"search {name}"] = lambda name=name: mdt.search(ops, 3, strategy=name, t=24, max_evaluations=40)
    return {**found, "LAPACK": lambda: scipy.linalg.svd(A)}


def main() -> None:
    warnings.simplefilter("ignore")
    measured = {}
    for name, call in calls().items():
        before = seconds_of_others()
        call()
        measured[name] = seconds_of_others() - before
    json.dump(measured, sys.stdout)


if __name__ == "__main__":
    main()
