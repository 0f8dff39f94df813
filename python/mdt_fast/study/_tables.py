"""Tables of a study: rows are methods, columns are data sets, the two best are marked."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._support.arguments import check_text
from .._support.extras import require

# Measures between 0 and 1, shown in percent.
PERCENT = ("ami", "ari", "nmi", "acc")
TITLES = {"ami": "AMI", "ari": "ARI", "nmi": "NMI", "acc": "ACC", "ch": "CH"}
_EMPTY = "—"


def scale_of(measure: str) -> float:
    """Return the factor by which scores of a measure are shown."""
    return 100.0 if measure in PERCENT else 1.0


def competes(method: str) -> bool:
    """Return whether a method is ranked: not a single view, nor the true labels."""
    return not method.startswith(("DM(", "True labels"))


@dataclass(frozen=True)
class Cell:
    """Scores of one method on one data set.

    Attributes
    ----------
    mean, std : float
        Mean and standard deviation over all clusterings.
    between, within : float
        Standard deviation of the means of the searches, and mean of the standard deviations within
        a search.
    n_runs, n_searches : int
        Numbers of clusterings and of searches.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> blobs = mdt.datasets.make_multiview_blobs(90, n_clusters=3, random_state=0)
    >>> study = mdt.study.run({"blobs": blobs}, ["AD", "MDT-Rand"], n_runs=2)
    >>> study.cell("blobs", "AD").n_runs
    2
    """

    mean: float
    std: float
    between: float
    within: float
    n_runs: int
    n_searches: int

    @classmethod
    def of(cls, by_search: Mapping[int, Sequence[float]]) -> Cell:
        """Summarise the scores of each search.

        Examples
        --------
        >>> import mdt_fast as mdt
        >>> cell = mdt.study.Cell.of({0: [0.8, 0.6], 1: [0.7, 0.7]})
        >>> round(cell.mean, 2), round(cell.between, 2), round(cell.within, 2)
        (0.7, 0.0, 0.05)
        """
        if not isinstance(by_search, Mapping) or not by_search:
            raise TypeError(f"by_search: expected scores by number of the search, got {by_search!r}")
        lists = [np.asarray(each, dtype=float) for each in by_search.values()]
        if any(each.ndim != 1 for each in lists):
            raise TypeError(f"by_search: expected a list of scores for each search, got {by_search!r}")
        scores = np.concatenate(lists)
        means = [float(np.mean(each)) for each in by_search.values()]
        within = float(np.mean([np.std(each) for each in by_search.values()]))
        return cls(float(scores.mean()), float(scores.std()), float(np.std(means)), within, len(scores), len(by_search))


@dataclass(frozen=True)
class Table:
    """Cells by data set and method.

    Parameters
    ----------
    measure : str
        Measure of the scores.
    datasets, methods : list of str
        Columns and rows, in order.
    cells : mapping of (data set, method) to Cell
        Cells, without pairs that were not run.
    prr : mapping of methods to numbers
        Performance relative to random, shown as last column unless it is empty.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> blobs = mdt.datasets.make_multiview_blobs(90, n_clusters=3, random_state=0)
    >>> study = mdt.study.run({"blobs": blobs}, ["AD", "MDT-Rand"], n_runs=2)
    >>> table = study.table("ari")
    >>> table.methods, table.datasets
    (['AD', 'MDT-Rand'], ['blobs'])
    >>> sorted(table.rank("blobs").values())
    [1, 1]
    """

    measure: str
    datasets: list[str]
    methods: list[str]
    cells: Mapping[tuple[str, str], Cell]
    prr: Mapping[str, float]

    def rank(self, dataset: str) -> dict[str, int]:
        """Return the rank, 1 or 2, of the two best methods; equal printed scores share a rank.

        Examples
        --------
        >>> import mdt_fast as mdt
        >>> blobs = mdt.datasets.make_multiview_blobs(90, n_clusters=3, random_state=0)
        >>> study = mdt.study.run({"blobs": blobs}, ["AD", "MDT-Rand"], n_runs=2)
        >>> table = study.table("ami")
        >>> table.rank("blobs")
        {'AD': 1, 'MDT-Rand': 1}
        """
        check_text("dataset", dataset)
        shown = {
            method: round(scale_of(self.measure) * cell.mean, 2)
            for method in self.methods
            if competes(method) and (cell := self.cells.get((dataset, method))) is not None
        }
        places = sorted(set(shown.values()), reverse=True)[:2]
        return {method: places.index(value) + 1 for method, value in shown.items() if value in places}

    def to_markdown(self) -> str:
        """Return the table in Markdown, the best score in bold, the second best in italics.

        Examples
        --------
        >>> import mdt_fast as mdt
        >>> blobs = mdt.datasets.make_multiview_blobs(90, n_clusters=3, random_state=0)
        >>> study = mdt.study.run({"blobs": blobs}, ["AD", "MDT-Rand"], n_runs=2)
        >>> table = study.table("ami")
        >>> print(table.to_markdown())
        | method   | blobs             | PRR  |
        | -------- | ----------------- | ---- |
        | AD       | **100.00 (0.00)** | 1.00 |
        | MDT-Rand | **100.00 (0.00)** | 1.00 |
        """
        marks: dict[int, Callable[[str], str]] = {1: lambda text: f"**{text}**", 2: lambda text: f"*{text}*"}
        rows = self._rows(marks, "{:.2f} ({:.2f})")
        header = ["method", *self.datasets, *(["PRR"] if self.prr else [])]
        return markdown_table(header, rows)

    def to_latex(self) -> str:
        """Return the table in LaTeX, the best score in bold, the second best underlined.

        Examples
        --------
        >>> import mdt_fast as mdt
        >>> blobs = mdt.datasets.make_multiview_blobs(90, n_clusters=3, random_state=0)
        >>> study = mdt.study.run({"blobs": blobs}, ["AD", "MDT-Rand"], n_runs=2)
        >>> table = study.table("ami")
        >>> table.to_latex().count("blobs")
        1
        """
        marks: dict[int, Callable[[str], str]] = {
            1: lambda text: rf"\textbf{{{text}}}",
            2: lambda text: rf"\underline{{{text}}}",
        }
        rows = self._rows(marks, r"{:.2f} \small{{({:.2f})}}")
        header = ["Method", *self.datasets, *(["PRR"] if self.prr else [])]
        columns = "l" + "c" * len(self.datasets) + ("r" if self.prr else "")
        body = [" & ".join(map(_escape, header)) + r" \\", r"\hline"]
        body += [" & ".join([_escape(row[0]), *row[1:]]) + r" \\" for row in rows]
        return "\n".join([rf"\begin{{tabular}}{{{columns}}}", r"\hline", *body, r"\hline", r"\end{tabular}"]).replace(
            _EMPTY, "---"
        )

    def to_frame(self) -> Any:
        """Return a pandas DataFrame; rows are methods, columns are (data set, "mean" or "std").

        Examples
        --------
        >>> import mdt_fast as mdt
        >>> blobs = mdt.datasets.make_multiview_blobs(90, n_clusters=3, random_state=0)
        >>> study = mdt.study.run({"blobs": blobs}, ["AD", "MDT-Rand"], n_runs=2)
        >>> table = study.table("ami")
        >>> list(table.to_frame().index)
        ['AD', 'MDT-Rand']
        """
        pd = require("pandas", "to_frame")

        empty = Cell(math.nan, math.nan, math.nan, math.nan, 0, 0)
        content = {
            (dataset, statistic): [
                getattr(self.cells.get((dataset, method), empty), statistic) for method in self.methods
            ]
            for dataset in self.datasets
            for statistic in ("mean", "std")
        }
        return pd.DataFrame(content, index=pd.Index(self.methods, name="method"))

    def __str__(self) -> str:
        """Return the table in Markdown."""
        return self.to_markdown()

    def _rows(self, marks: Mapping[int, Callable[[str], str]], form: str) -> list[list[str]]:
        ranks = {dataset: self.rank(dataset) for dataset in self.datasets}

        def text(dataset: str, method: str) -> str:
            cell = self.cells.get((dataset, method))
            if cell is None:
                return _EMPTY
            scale = scale_of(self.measure)
            shown = form.format(scale * cell.mean, scale * cell.std)
            place = ranks[dataset].get(method)
            return shown if place is None else marks[place](shown)

        def ratio(method: str) -> list[str]:
            return [f"{self.prr[method]:.2f}" if method in self.prr else _EMPTY] if self.prr else []

        return [[m, *(text(d, m) for d in self.datasets), *ratio(m)] for m in self.methods]


def markdown_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table with aligned columns."""
    header, *rows = ([cell.replace("|", r"\|") for cell in row] for row in (header, *rows))
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    rule = ["-" * width for width in widths]
    lines = [[cell.ljust(width) for cell, width in zip(row, widths, strict=True)] for row in (header, rule, *rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


_SPECIAL = {character: rf"\{character}" for character in "&%$#_{}"} | {
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "\\": r"\textbackslash{}",
}


def _escape(text: str) -> str:
    return "".join(_SPECIAL.get(character, character) for character in text)
