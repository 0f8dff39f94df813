"""Compare the cells of a study with the published ones, and explain the cells that differ."""

import functools
import re
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources

from .._study import Study
from .._tables import PERCENT, TITLES, Cell, markdown_table, scale_of
from ._published import PublishedScore, published_score

MEASURES = ("ami", "ari", "ch")
# Cells agree if their means differ by at most this number of published standard deviations.
_ALLOWED = 2.0


@dataclass(frozen=True)
class Compared:
    """One cell of a study and the published cell.

    Attributes
    ----------
    dataset, method, measure : str
        Names of the cell.
    ours : Cell
        Cell of the study.
    theirs : PublishedScore
        Published cell.
    """

    dataset: str
    method: str
    measure: str
    ours: Cell
    theirs: PublishedScore

    @property
    def difference(self) -> float:
        """Mean of ours minus mean of theirs."""
        return self.ours.mean - self.theirs.mean

    @property
    def agrees(self) -> bool:
        """Whether the means are within two published standard deviations, or equal as printed."""
        rounding = 0.5 * 10.0 ** -(4 if self.measure in PERCENT else 2)
        return abs(self.difference) <= max(_ALLOWED * self.theirs.std, rounding)

    @property
    def numbers(self) -> list[str]:
        """Texts of ours, theirs, their difference and their agreement."""
        scale = scale_of(self.measure)
        return [
            *(f"{scale * cell.mean:.2f} ({scale * cell.std:.2f})" for cell in (self.ours, self.theirs)),
            f"{scale * self.difference:+.2f}",
            "yes" if self.agrees else "**no**",
        ]


def compare(study: Study) -> Iterator[Compared]:
    """Pair the cells of a study with the published ones.

    Parameters
    ----------
    study : Study
        A study of data sets and methods of the published tables.

    Yields
    ------
    Compared
        Every cell of the study that was published.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> study = mdt.study.run(["100Leaves"], ["AD"], n_runs=2, preset="published")
    >>> [compared.measure for compared in mdt.study.paper.compare(study)]
    ['ami', 'ari', 'ch']
    """
    for dataset in study.datasets:
        for method in study.methods:
            for measure in MEASURES:
                theirs = published_score(dataset, method, measure)
                ours = study.cell(dataset, method, measure)
                if theirs is not None and ours is not None:
                    yield Compared(dataset, method, measure, ours, theirs)


def summary(cells: list[Compared]) -> str:
    """Return a table of the numbers of cells that agree."""
    rows = []
    for measure in MEASURES:
        mine = [cell for cell in cells if cell.measure == measure]
        line = [TITLES[measure]]
        # Our L-Isolet differs from the data of the paper and of the authors' code, see
        # reasons.toml.
        for some in (mine, [cell for cell in mine if not cell.dataset.startswith("L-Isolet")]):
            agreeing = sum(cell.agrees for cell in some)
            line += [str(len(some)), str(agreeing), str(len(some) - agreeing)]
        rows.append(line)
    header = ["published cells", "within 2 sd", "outside"]
    return markdown_table(["measure", *header, *(f"{name}, without L-Isolet" for name in header)], rows)


def dataset_table(dataset: str, cells: list[Compared]) -> str:
    """Return a table of all cells of a data set; rows are methods, columns are measures."""
    by_method: dict[str, dict[str, Compared]] = {}
    for cell in cells:
        if cell.dataset == dataset:
            by_method.setdefault(cell.method, {})[cell.measure] = cell
    header = ["method", "searches x runs", "AMI between / within searches"]
    for measure in MEASURES:
        header += [TITLES[measure], "published", "difference", "within 2 sd"]
    rows = []
    for method, mine in by_method.items():
        first = next(iter(mine.values())).ours
        amount = f"{first.n_searches} x {first.n_runs // first.n_searches}"
        spread = "—"
        if "ami" in mine and 1 < first.n_searches < first.n_runs:
            spread = f"{100 * mine['ami'].ours.between:.2f} / {100 * mine['ami'].ours.within:.2f}"
        numbers = [text for m in MEASURES for text in (mine[m].numbers if m in mine else ["—"] * 4)]
        rows.append([method, amount, spread, *numbers])
    return markdown_table(header, rows)


@dataclass(frozen=True)
class Reason:
    """Why cells differ, with patterns of the data sets, methods and measures concerned."""

    datasets: str
    methods: str
    measures: str
    text: str

    def explains(self, cell: Compared) -> bool:
        """Return whether the patterns match a cell."""
        patterns = ((self.datasets, cell.dataset), (self.methods, cell.method), (self.measures, cell.measure))
        return all(re.fullmatch(pattern, text) for pattern, text in patterns)


@functools.cache
def reasons() -> list[Reason]:
    """Return the reasons of reasons.toml; the first that matches a cell explains it."""
    text = resources.files(__package__).joinpath("reasons.toml").read_text(encoding="utf-8")
    return [Reason(**each) for each in tomllib.loads(text)["reason"]]


def differences(cells: list[Compared]) -> str:
    """Return tables of the cells that differ, grouped by reason."""
    groups: dict[str, list[Compared]] = {}
    for cell in cells:
        if not cell.agrees:
            reason = next((each.text for each in reasons() if each.explains(cell)), "Not explained.")
            groups.setdefault(reason, []).append(cell)
    parts = []
    for reason, mine in groups.items():
        rows = [[cell.dataset, cell.method, TITLES[cell.measure], *cell.numbers[:3]] for cell in mine]
        header = ["data set", "method", "measure", "ours", "published", "difference"]
        parts.append(f"{reason}\n\n{markdown_table(header, rows)}")
    return "\n\n".join(parts) if parts else "None."
