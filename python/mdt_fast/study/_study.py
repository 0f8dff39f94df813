"""A study: every clustering of a grid, and what can be read from them."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .._support.progress import TaskProgress
from .._support.arguments import RandomStateLike, check_choice, check_integer
from .._support.files import replace_file
from .._support.seed import check_seed
from ._cases import check_datasets
from ._grid import is_current, left_to_do, make_tasks, perform
from ._methods import check_methods
from ._rows import MEASURES, Row, RowFile
from ._tables import Cell, Table

REFERENCE = "MDT-Rand"


@dataclass(frozen=True)
class Study:
    """The rows of a study.

    Attributes
    ----------
    rows : list of Row
        Every clustering.
    datasets, methods : list of str
        In the order of the tables.
    """

    rows: list[Row] = field(repr=False)
    datasets: list[str]
    methods: list[str]

    def scores(self, dataset: str, method: str, measure: str = "ami") -> dict[int, list[float]]:
        """Return the scores of the clusterings of each search."""
        check_choice("measure", measure, MEASURES)
        found: dict[int, list[float]] = {}
        for row in self._by_cell.get((dataset, method), ()):
            found.setdefault(row.search, []).append(getattr(row, measure))
        return found

    def cell(self, dataset: str, method: str, measure: str = "ami") -> Cell | None:
        """Return mean and spread of a method on a data set, None where it was not run."""
        scores = self.scores(dataset, method, measure)
        return Cell.of(scores) if scores else None

    def table(self, measure: str = "ami") -> Table:
        """Return mean and spread of a measure, methods down, data sets across.

        Parameters
        ----------
        measure : {"ami", "ari", "nmi", "acc", "ch"}
            Adjusted mutual information, adjusted Rand index, normalised mutual information, accuracy under the best
            matching, Calinski-Harabasz on the operators.
        """
        cells = {
            (dataset, method): cell
            for dataset in self.datasets
            for method in self.methods
            if (cell := self.cell(dataset, method, measure)) is not None
        }
        has_ratios = measure == "ami" and REFERENCE in self.methods
        ratios = {name: float(np.mean(list(each.values()))) for name, each in self.prr().items()} if has_ratios else {}
        return Table(measure, self.datasets, self.methods, cells, ratios)

    def prr(self, measure: str = "ami", reference: str = REFERENCE) -> dict[str, dict[str, float]]:
        """Return the performance of every method relative to a reference, by data set.

        Parameters
        ----------
        measure : str
            As of :meth:`table`.
        reference : str
            The method that has 1.
        """
        check_choice("reference", reference, self.methods)
        ratios: dict[str, dict[str, float]] = {}
        for dataset in self.datasets:
            base = self.cell(dataset, reference, measure)
            for method in self.methods:
                cell = self.cell(dataset, method, measure)
                if base is not None and base.mean and cell is not None and not method.startswith("True labels"):
                    ratios.setdefault(method, {})[dataset] = cell.mean / base.mean
        return {method: ratios[method] for method in self.methods if method in ratios}

    def joined(self, other: Study) -> Study:
        """Return a study with the rows of both; data sets and methods of the other come last."""
        return Study(
            [*self.rows, *other.rows],
            list(dict.fromkeys([*self.datasets, *other.datasets])),
            list(dict.fromkeys([*self.methods, *other.methods])),
        )

    def to_markdown(self, measure: str = "ami") -> str:
        """Return the table of a measure in Markdown."""
        return self.table(measure).to_markdown()

    def to_latex(self, measure: str = "ami") -> str:
        """Return the table of a measure in LaTeX."""
        return self.table(measure).to_latex()

    def to_frame(self) -> Any:
        """Return the rows as a pandas DataFrame."""
        import pandas as pd

        return pd.DataFrame([asdict(row) for row in self.rows], columns=list(Row.__dataclass_fields__))

    def save(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write rows.csv and, for every measure, a table in Markdown and in LaTeX; return the paths.

        Rows that are in rows.csv already stay there, new ones follow them.
        """
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        file = RowFile(place / "rows.csv")
        there = {(row.key, row.version, row.search, row.run) for row in file.rows}
        file.add(row for row in self.rows if (row.key, row.version, row.search, row.run) not in there)
        return [place / "rows.csv", *self.save_tables(place)]

    def save_tables(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write the tables of every measure in Markdown and in LaTeX; return the paths."""
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        written = []
        for measure in MEASURES:
            table = self.table(measure)
            for suffix, text in (("md", table.to_markdown()), ("tex", table.to_latex())):
                written.append(place / f"{measure}.{suffix}")
                replace_file(written[-1], text + "\n")
        return written

    @functools.cached_property
    def _by_cell(self) -> dict[tuple[str, str], list[Row]]:
        cells: dict[tuple[str, str], list[Row]] = {}
        for row in self.rows:
            cells.setdefault((row.dataset, row.method), []).append(row)
        return cells


def run(
    datasets: Any,
    methods: Any,
    n_runs: int = 100,
    preset: str | None = None,
    random_state: RandomStateLike = 0,
    *,
    n_searches: int = 5,
    rows: str | os.PathLike[str] | None = None,
    n_jobs: int | None = None,
    progress: bool | Callable[[int, int], object] | None = None,
) -> Study:
    """Cluster data sets by methods, many times, and compare with the true classes.

    Parameters
    ----------
    datasets : list of str, or mapping of names to data
        Names of :func:`dataset_names`; or data: Bunches with `views` and `target`, or pairs of them.
    methods : list of str, or mapping of names to estimators
        Names of :func:`method_names`, "DM" for every view alone; or estimators with `labels_` after ``fit`` on an
        :class:`OperatorSet`, which are told `n_clusters` and a seed.
    n_runs : int
        Clusterings of each data set by each method. Random trajectories are drawn as many times; what a search found is
        clustered ``n_runs / n_searches`` times by k-means with one start; a baseline has one embedding, clustered
        `n_runs` times.
    preset : {None, "published"}
        Of the graphs; "published" also takes the published diffusion times, where there are any.
    random_state : int, RandomState, Generator or None
        One seed, one study, whatever the number of workers.
    n_searches : int
        Searches of each searching method, and fits of each estimator.
    rows : path, optional
        CSV file that every row is appended to as soon as it is known. Rows that are there already, made by the same
        version of this package, are not computed again, so a study that was broken off goes on, and one with more
        runs or methods adds to it.
    n_jobs : int or None
        Workers, as joblib counts them: -1 is all cores. ``joblib.parallel_config(backend="dask")`` has them elsewhere.
    progress : bool, callable or None
        None: a bar if the standard error is a terminal. A callable is told how many tasks are done, and of how many.

    Returns
    -------
    Study

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> blobs = mdt.datasets.make_multiview_blobs(90, n_clusters=3, cluster_std=4.0, random_state=0)
    >>> found = mdt.study.run({"blobs": blobs}, ["AD", "MDT-Rand"], n_runs=3)
    >>> print(found.to_markdown())
    | method   | blobs             | PRR  |
    | -------- | ----------------- | ---- |
    | AD       | **100.00 (0.00)** | 1.00 |
    | MDT-Rand | **100.00 (0.00)** | 1.00 |
    """
    sets = check_datasets(datasets)
    ways = check_methods(methods, max(each.n_views for each in sets))
    if preset is not None:
        check_choice("preset", preset, ["published"])
    seed = check_seed(random_state)
    runs = check_integer("n_runs", n_runs, minimum=1)
    searches = check_integer("n_searches", n_searches, minimum=1)
    tasks = make_tasks(sets, ways, preset, seed, runs, searches)
    told = TaskProgress(progress, len(tasks))
    file = RowFile(rows)
    left = left_to_do(tasks, file.rows)
    told.skip(len(tasks) - len(left))
    try:
        for new in perform(left, n_jobs):
            file.add(new)
            told.add()
    finally:
        told.close()
    wanted = {(task.key, task.search): set(task.runs) for task in tasks}
    order = {key: place for place, key in enumerate(wanted)}
    # Two studies at a time may have written a row twice.
    kept = {
        (order[row.key, row.search], row.run): row
        for row in filter(is_current, file.rows)
        if row.run in wanted.get((row.key, row.search), ())
    }
    return Study([kept[place] for place in sorted(kept)], [each.name for each in sets], [each.name for each in ways])
