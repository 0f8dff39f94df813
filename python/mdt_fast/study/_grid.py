"""Data sets x methods x runs: cut into tasks, spread by joblib, collected in their order.

A task is one search (or draw, or embedding) with the clusterings of what it found. Its seeds follow from what it is, so
the rows of a study do not depend on how many workers there are, in which order they finish, or what was done before.
Tasks go through :class:`joblib.Parallel`: ``joblib.parallel_config(backend="dask")`` spreads them over machines.
"""

from __future__ import annotations

import functools
import hashlib
import math
import warnings
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score, normalized_mutual_info_score
from sklearn.metrics.cluster import contingency_matrix

from .. import quality
from .._clusters.k_means import k_means
from .._core import __version__
from ._cases import Case, DataSet
from ._methods import Method, observe
from ._rows import Row

# Data sets that a worker keeps ready: tasks come data set by data set.
_KEPT = 2


@dataclass(frozen=True)
class Task:
    """One search, and which clusterings of it are wanted."""

    dataset: DataSet
    method: Method
    preset: str | None
    random_state: int
    search: int
    runs: tuple[int, ...]

    @property
    def key(self) -> str:
        """Digest of everything that the rows depend on, but for the numbers of search and run."""
        parts = (self.dataset.name, self.dataset.digest, self.method.name, self.method.settings, self.preset)
        return _digest(*parts, self.random_state)[:16]

    def seed(self, *which: int) -> int:
        """Return the seed of the search, or of one of its clusterings."""
        return int(_digest(self.key, self.search, *which)[:15], 16)

    def perform(self, n_jobs: int | None) -> list[Row]:
        """Search and cluster."""
        with warnings.catch_warnings():
            # Each worker would give them again for each data set.
            warnings.simplefilter("ignore")
            case = prepared(self.dataset, self.preset, n_jobs)
        found, seconds, converged = observe(self.method, case, self.seed(), n_jobs)
        assert case.n_clusters is not None
        rows = []
        for run in self.runs:
            labels = found.labels
            if labels is None:
                seed = self.seed(run)
                labels = k_means(found.coordinates, case.n_clusters, n_init=1, random_state=seed, n_jobs=n_jobs).labels
            rows.append(
                Row(
                    dataset=self.dataset.name,
                    method=self.method.name,
                    preset=self.preset or "",
                    random_state=self.random_state,
                    search=self.search,
                    run=run,
                    key=self.key,
                    version=__version__,
                    n_samples=case.ops.n_samples,
                    n_clusters=case.n_clusters,
                    t=case.t,
                    length=0 if found.trajectory is None else len(found.trajectory),
                    n_evaluations=found.n_evaluations,
                    seconds=seconds,
                    converged=converged,
                    **judge(case, labels),
                )
            )
        return rows


def _digest(*parts: object) -> str:
    return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()


@functools.lru_cache(maxsize=_KEPT)
def prepared(dataset: DataSet, preset: str | None, n_jobs: int | None) -> Case:
    """Return a data set made ready; its time, which most methods need, is chosen here, before any method is timed."""
    case = dataset.prepare(preset, n_jobs)
    _ = case.t
    return case


def judge(case: Case, labels: NDArray[Any]) -> dict[str, float]:
    """Return every measure of some labels."""
    target, n_found = case.target, len(np.unique(labels))
    return {
        "ami": float(adjusted_mutual_info_score(target, labels)),
        "ari": float(adjusted_rand_score(target, labels)),
        "nmi": float(normalized_mutual_info_score(target, labels)),
        "acc": accuracy(target, labels),
        # Not defined for a single cluster, nor for as many as samples, which an estimator may well find.
        "ch": float(quality.calinski_harabasz(case.ops, labels)) if 1 < n_found < len(labels) else math.nan,
    }


def accuracy(target: Any, labels: Any) -> float:
    """Return the share of samples in the right class, clusters and classes matched as well as can be."""
    counts = contingency_matrix(target, labels)
    at = linear_sum_assignment(counts, maximize=True)
    return float(counts[at].sum() / counts.sum())


def make_tasks(
    datasets: list[DataSet],
    methods: list[Method],
    preset: str | None,
    random_state: int,
    n_runs: int,
    n_searches: int,
) -> list[Task]:
    """Return everything that there is to do, data set by data set."""
    tasks = []
    for dataset in datasets:
        for method in methods:
            if method.suits(dataset.n_views):
                times, runs = method.repeats(n_runs, n_searches)
                tasks += [Task(dataset, method, preset, random_state, s, tuple(range(runs))) for s in range(times)]
    return tasks


def is_current(row: Row) -> bool:
    """Return whether a row was made by this version: another may give other numbers."""
    return row.version == __version__


def left_to_do(tasks: list[Task], rows: list[Row]) -> list[Task]:
    """Return the tasks whose rows are not all there, with the clusterings that are missing."""
    there: dict[tuple[str, int], set[int]] = {}
    for row in filter(is_current, rows):
        there.setdefault((row.key, row.search), set()).add(row.run)
    left = []
    for task in tasks:
        missing = tuple(run for run in task.runs if run not in there.get((task.key, task.search), ()))
        if missing:
            left.append(replace(task, runs=missing))
    return left


def perform(tasks: list[Task], n_jobs: int | None) -> Iterator[list[Row]]:
    """Perform tasks side by side and yield the rows of each, in their order, as soon as they are there."""
    parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator")
    workers = joblib.effective_n_jobs(n_jobs)
    # Workers share the cores; alone, a task may have them all.
    threads = None if workers == 1 else 1
    return parallel(joblib.delayed(Task.perform)(task, threads) for task in tasks)  # type: ignore[no-any-return]
