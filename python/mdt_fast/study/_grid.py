"""The tasks of a study: data sets x methods x runs, run by joblib and collected in order.

A task is one search, draw or embedding, with the clusterings of its coordinates. Its seeds are
digests of its content. The rows of a study therefore depend neither on the number of workers, nor
on the order in which they finish, nor on earlier runs. Tasks run in :class:`joblib.Parallel`:
``joblib.parallel_config(backend="dask")`` distributes them over machines.
"""

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
from ._methods import Method
from ._rows import Row

# Number of prepared data sets that a worker keeps. Tasks are ordered by data set.
_KEPT = 2


@dataclass(frozen=True)
class Task:
    """One run of a method on a data set, and the numbers of its clusterings."""

    dataset: DataSet
    method: Method
    preset: str | None
    random_state: int
    search: int
    runs: tuple[int, ...]

    @property
    def key(self) -> str:
        """Digest of everything that the rows depend on except the numbers of search and run."""
        parts = (self.dataset.name, self.dataset.digest, self.method.name, self.method.settings, self.preset)
        return _digest(*parts, self.random_state)[:16]

    def seed(self, *which: int) -> int:
        """Return the seed of the search, or of one of its clusterings."""
        return int(_digest(self.key, self.search, *which)[:15], 16)

    def perform(self, n_jobs: int | None) -> list[Row]:
        """Run the method and cluster its coordinates."""
        with warnings.catch_warnings():
            # Every worker would repeat the warnings of every data set.
            warnings.simplefilter("ignore")
            case = prepared(self.dataset, self.preset, n_jobs)
        found = self.method.observe(case, self.seed(), n_jobs)
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
                    seconds=found.seconds,
                    converged=found.converged,
                    **score_labels(case, labels),
                )
            )
        return rows


def _digest(*parts: object) -> str:
    return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()


@functools.lru_cache(maxsize=_KEPT)
def prepared(dataset: DataSet, preset: str | None, n_jobs: int | None) -> Case:
    """Return a prepared data set whose diffusion time is already chosen."""
    case = dataset.prepare(preset, n_jobs)
    _ = case.t
    return case


def score_labels(case: Case, labels: NDArray[Any]) -> dict[str, float]:
    """Return every measure of labels, by the names of the columns of :class:`Row`."""
    target, n_found = case.target, len(np.unique(labels))
    return {
        "ami": float(adjusted_mutual_info_score(target, labels)),
        "ari": float(adjusted_rand_score(target, labels)),
        "nmi": float(normalized_mutual_info_score(target, labels)),
        "acc": accuracy(target, labels),
        # Undefined for one cluster, and for one cluster per sample. Estimators may return both.
        "ch": float(quality.calinski_harabasz(case.ops, labels)) if 1 < n_found < len(labels) else math.nan,
    }


def accuracy(target: Any, labels: Any) -> float:
    """Return the share of correct samples under the best matching of clusters and classes."""
    counts = contingency_matrix(target, labels)
    at = linear_sum_assignment(counts, maximize=True)
    return float(counts[at].sum() / counts.sum())


def make_tasks(
    datasets: list[DataSet], methods: list[Method], preset: str | None, random_state: int, n_runs: int, n_searches: int
) -> list[Task]:
    """Return all tasks of a study, ordered by data set."""
    tasks = []
    for dataset in datasets:
        for method in methods:
            if method.accepts(dataset.n_views):
                times = method.repeats(n_runs, n_searches)
                runs = tuple(range(times.clusterings))
                tasks += [Task(dataset, method, preset, random_state, s, runs) for s in range(times.searches)]
    return tasks


def is_current(row: Row) -> bool:
    """Return whether this version of the package made a row. Another may give other numbers."""
    return row.version == __version__


def left_to_do(tasks: list[Task], rows: list[Row]) -> list[Task]:
    """Return the tasks with missing rows, restricted to the missing clusterings."""
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
    """Perform tasks in parallel and yield the rows of each task in the order of the tasks."""
    parallel = joblib.Parallel(n_jobs=n_jobs, return_as="generator")
    workers = joblib.effective_n_jobs(n_jobs)
    # Several workers use one thread each. A single worker uses all cores.
    threads = None if workers == 1 else 1
    return parallel(joblib.delayed(Task.perform)(task, threads) for task in tasks)  # type: ignore[no-any-return]
