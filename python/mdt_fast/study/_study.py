"""Run a study, and summarise its rows in tables."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .._support.arguments import RandomStateLike, check_choice, check_integer, check_path, check_text
from .._support.extras import require
from .._support.files import replace_file
from .._support.progress import TaskProgress
from .._support.seed import check_seed
from ._cases import check_datasets
from ._grid import is_current, left_to_do, make_tasks, perform
from ._methods import check_methods
from ._rows import MEASURES, Row, RowFile
from ._tables import Cell, Table

REFERENCE = "MDT-Rand"


@dataclass(frozen=True)
class Study:
    """The rows of a study, and the tables made from them.

    Attributes
    ----------
    rows : list of Row
        One row for each clustering.
    datasets, methods : list of str
        Names in the order of the tables.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> blobs = mdt.datasets.make_multiview_blobs(90, n_clusters=3, random_state=0)
    >>> study = mdt.study.run({"blobs": blobs}, ["AD", "MDT-Rand"], n_runs=2)
    >>> study
    Study(datasets=['blobs'], methods=['AD', 'MDT-Rand'])
    >>> len(study.rows), study.methods
    (4, ['AD', 'MDT-Rand'])
    """

    rows: list[Row] = field(repr=False)
    datasets: list[str]
    methods: list[str]

    def scores(self, dataset: str, method: str, measure: str = "ami") -> dict[int, list[float]]:
        """Return the scores of a method on a data set.

        Parameters
        ----------
        dataset, method : str
            Names.
        measure : {"ami", "ari", "nmi", "acc", "ch"}, default="ami"
            See :meth:`table`.

        Returns
        -------
        dict of int to list of float
            Scores of all clusterings, by number of the search.

        Examples
        --------
        >>> import mdt_fast as mdt
        >>> blobs = mdt.datasets.make_multiview_blobs(90, n_clusters=3, random_state=0)
        >>> study = mdt.study.run({"blobs": blobs}, ["AD", "MDT-Rand"], n_runs=2)
        >>> study.scores("blobs", "AD")
        {0: [1.0, 1.0]}
        """
        check_choice("measure", measure, MEASURES)
        dataset, method = check_text("dataset", dataset), check_text("method", method)
        found: dict[int, list[float]] = {}
        for row in self._by_cell.get((dataset, method), ()):
            found.setdefault(row.search, []).append(getattr(row, measure))
        return found

    def cell(self, dataset: str, method: str, measure: str = "ami") -> Cell | None:
        """Return mean and spread of a method on a data set.

        Parameters
        ----------
        dataset, method : str
            Names.
        measure : {"ami", "ari", "nmi", "acc", "ch"}, default="ami"
            See :meth:`table`.

        Returns
        -------
        Cell or None
            None if the method was not run on the data set.

        Examples
        --------
        >>> import mdt_fast as mdt
        >>> blobs = mdt.datasets.make_multiview_blobs(90, n_clusters=3, random_state=0)
        >>> study = mdt.study.run({"blobs": blobs}, ["AD", "MDT-Rand"], n_runs=2)
        >>> cell = study.cell("blobs", "AD")
        >>> round(cell.mean, 2), cell.n_runs
        (1.0, 2)
        """
        scores = self.scores(dataset, method, measure)
        return Cell.of(scores) if scores else None

    def table(self, measure: str = "ami") -> Table:
        """Return mean and spread of a measure; rows are methods, columns are data sets.

        Parameters
        ----------
        measure : {"ami", "ari", "nmi", "acc", "ch"}, default="ami"
            Adjusted mutual information, adjusted Rand index, normalised mutual information,
            accuracy under the best matching, or Calinski-Harabasz on the operators.

        Returns
        -------
        Table

        Examples
        --------
        >>> import mdt_fast as mdt
        >>> blobs = mdt.datasets.make_multiview_blobs(90, n_clusters=3, random_state=0)
        >>> study = mdt.study.run({"blobs": blobs}, ["AD", "MDT-Rand"], n_runs=2)
        >>> print(study.table("ari").to_markdown())
        | method   | blobs             |
        | -------- | ----------------- |
        | AD       | **100.00 (0.00)** |
        | MDT-Rand | **100.00 (0.00)** |
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
        """Return the performance of every method relative to a reference.

        Parameters
        ----------
        measure : {"ami", "ari", "nmi", "acc", "ch"}, default="ami"
            See :meth:`table`.
        reference : str, default="MDT-Rand"
            Method whose ratio is 1.

        Returns
        -------
        dict of str to dict of str to float
            Ratios of means, by method and data set.

        Examples
        --------
        >>> import mdt_fast as mdt
        >>> blobs = mdt.datasets.make_multiview_blobs(90, n_clusters=3, random_state=0)
        >>> study = mdt.study.run({"blobs": blobs}, ["AD", "MDT-Rand"], n_runs=2)
        >>> study.prr()["MDT-Rand"]
        {'blobs': 1.0}
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
        """Return a study with the rows of both; data sets and methods of `other` come last.

        Examples
        --------
        >>> import mdt_fast as mdt
        >>> blobs = mdt.datasets.make_multiview_blobs(90, n_clusters=3, random_state=0)
        >>> study = mdt.study.run({"blobs": blobs}, ["AD", "MDT-Rand"], n_runs=2)
        >>> other = mdt.study.run({"blobs": blobs}, ["mean"], n_runs=2)
        >>> study.joined(other).methods
        ['AD', 'MDT-Rand', 'mean']
        """
        if not isinstance(other, Study):
            raise TypeError(f"other: expected a Study, got {type(other).__name__}")
        return Study(
            [*self.rows, *other.rows],
            list(dict.fromkeys([*self.datasets, *other.datasets])),
            list(dict.fromkeys([*self.methods, *other.methods])),
        )

    def to_markdown(self, measure: str = "ami") -> str:
        """Return the table of a measure in Markdown.

        Examples
        --------
        >>> import mdt_fast as mdt
        >>> blobs = mdt.datasets.make_multiview_blobs(90, n_clusters=3, random_state=0)
        >>> study = mdt.study.run({"blobs": blobs}, ["AD", "MDT-Rand"], n_runs=2)
        >>> print(study.to_markdown())
        | method   | blobs             | PRR  |
        | -------- | ----------------- | ---- |
        | AD       | **100.00 (0.00)** | 1.00 |
        | MDT-Rand | **100.00 (0.00)** | 1.00 |
        """
        return self.table(measure).to_markdown()

    def to_latex(self, measure: str = "ami") -> str:
        """Return the table of a measure in LaTeX.

        Examples
        --------
        >>> import mdt_fast as mdt
        >>> blobs = mdt.datasets.make_multiview_blobs(90, n_clusters=3, random_state=0)
        >>> study = mdt.study.run({"blobs": blobs}, ["AD", "MDT-Rand"], n_runs=2)
        >>> study.to_latex().count("blobs")
        1
        """
        return self.table(measure).to_latex()

    def to_frame(self) -> Any:
        """Return the rows as a pandas DataFrame.

        Examples
        --------
        >>> import mdt_fast as mdt
        >>> blobs = mdt.datasets.make_multiview_blobs(90, n_clusters=3, random_state=0)
        >>> study = mdt.study.run({"blobs": blobs}, ["AD", "MDT-Rand"], n_runs=2)
        >>> study.to_frame().shape[0]
        4
        """
        pd = require("pandas", "to_frame")

        return pd.DataFrame([asdict(row) for row in self.rows], columns=list(Row.__dataclass_fields__))

    def save(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write rows.csv and, for every measure, a table in Markdown and in LaTeX.

        Rows that are already in rows.csv stay there. New rows are appended.

        Parameters
        ----------
        folder : path
            The folder. It is created if it does not exist.

        Returns
        -------
        list of Path
            The files.

        Examples
        --------
        >>> import tempfile
        >>> import mdt_fast as mdt
        >>> blobs = mdt.datasets.make_multiview_blobs(90, n_clusters=3, random_state=0)
        >>> study = mdt.study.run({"blobs": blobs}, ["AD", "MDT-Rand"], n_runs=2)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     names = sorted(path.name for path in study.save(folder))
        >>> names[:3]
        ['acc.md', 'acc.tex', 'ami.md']
        """
        place = check_path("folder", folder)
        place.mkdir(parents=True, exist_ok=True)
        file = RowFile(place / "rows.csv")
        there = {(row.key, row.version, row.search, row.run) for row in file.rows}
        file.add(row for row in self.rows if (row.key, row.version, row.search, row.run) not in there)
        return [place / "rows.csv", *self.save_tables(place)]

    def save_tables(self, folder: str | os.PathLike[str]) -> list[Path]:
        """Write the tables of every measure in Markdown and in LaTeX; return the paths.

        Examples
        --------
        >>> import tempfile
        >>> import mdt_fast as mdt
        >>> blobs = mdt.datasets.make_multiview_blobs(90, n_clusters=3, random_state=0)
        >>> study = mdt.study.run({"blobs": blobs}, ["AD", "MDT-Rand"], n_runs=2)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     names = sorted(path.name for path in study.save_tables(folder))
        >>> names[:2]
        ['acc.md', 'acc.tex']
        """
        place = check_path("folder", folder)
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
    """Cluster data sets by several methods many times and compare with the true classes.

    Parameters
    ----------
    datasets : list of str, or mapping of names to data
        Names of :func:`dataset_names`; or data, as Bunches with `views` and `target` or as
        (views, target) pairs.
    methods : list of str, or mapping of names to estimators
        Names of :func:`method_names`; or estimators with `labels_` after ``fit`` on an
        :class:`OperatorSet`. Their parameters `n_clusters`, `random_state`, `n_jobs` and `preset`
        are set, if they have them.
    n_runs : int, default=100
        Number of clusterings of each data set by each method. Random trajectories are drawn
        `n_runs` times. The answer of a search is clustered ``n_runs / n_searches`` times by k-means
        with one start. A baseline has one embedding, which is clustered `n_runs` times.
    preset : {None, "published"}, default=None
        Preset of the graphs. "published" also uses the published diffusion time of a data set, if
        there is one.
    random_state : int, RandomState, Generator or None, default=0
        Seed. The result does not depend on the number of workers.
    n_searches : int, default=5
        Number of searches of each searching method, and of fits of each estimator.
    rows : path, default=None
        CSV file to which every row is appended when it is computed. Rows that the file already
        has, made by the same version of this package, are not computed again. An interrupted study
        is resumed by running it again, and a study with more runs or methods adds to the file.
    n_jobs : int or None, default=None
        Number of workers in the sense of joblib; -1 means all cores. With
        ``joblib.parallel_config(backend="dask")`` the workers may be on other machines.
    progress : bool, callable or None, default=None
        None shows a bar if the standard error is a terminal. A callable gets the number of finished
        tasks and the number of all tasks.

    Returns
    -------
    Study

    Raises
    ------
    TypeError, ValueError
        If an argument is refused. All arguments are checked before anything is computed.
    FileNotFoundError
        If a data set needs a file that is missing and cannot be downloaded.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> blobs = mdt.datasets.make_multiview_blobs(90, n_clusters=3, cluster_std=4.0, random_state=0)
    >>> study = mdt.study.run({"blobs": blobs}, ["AD", "MDT-Rand"], n_runs=3)
    >>> print(study.to_markdown())
    | method   | blobs             | PRR  |
    | -------- | ----------------- | ---- |
    | AD       | **100.00 (0.00)** | 1.00 |
    | MDT-Rand | **100.00 (0.00)** | 1.00 |
    """
    sets = check_datasets(datasets)
    chosen = check_methods(methods, max(each.n_views for each in sets))
    if preset is not None:
        check_choice("preset", preset, ["published"])
    seed = check_seed(random_state)
    runs = check_integer("n_runs", n_runs, minimum=1)
    searches = check_integer("n_searches", n_searches, minimum=1)
    tasks = make_tasks(sets, chosen, preset, seed, runs, searches)
    shown = TaskProgress(progress, len(tasks))
    file = RowFile(None if rows is None else check_path("rows", rows, "a path or None"))
    left = left_to_do(tasks, file.rows)
    shown.skip(len(tasks) - len(left))
    try:
        for new in perform(left, n_jobs):
            file.add(new)
            shown.add()
    finally:
        shown.close()
    wanted = {(task.key, task.search): set(task.runs) for task in tasks}
    order = {key: place for place, key in enumerate(wanted)}
    # Two studies that run at the same time may write a row twice.
    kept = {
        (order[row.key, row.search], row.run): row
        for row in filter(is_current, file.rows)
        if row.run in wanted.get((row.key, row.search), ())
    }
    return Study([kept[place] for place in sorted(kept)], [each.name for each in sets], [each.name for each in chosen])
