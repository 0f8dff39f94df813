"""Ours beside the published figures, cell by cell, and why those that differ do."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from ._published import published_score
from ._study import Study
from ._tables import PERCENT, TITLES, Cell, markdown_table

MEASURES = ("ami", "ari", "ch")
# A cell agrees if the means differ by no more than so many published standard deviations.
_ALLOWED = 2.0


@dataclass(frozen=True)
class Compared:
    """One cell, ours and theirs."""

    dataset: str
    method: str
    measure: str
    ours: Cell
    mean: float
    std: float

    @property
    def difference(self) -> float:
        """Ours less theirs."""
        return self.ours.mean - self.mean

    @property
    def agrees(self) -> bool:
        """Whether the means are within two published standard deviations, or the same as printed."""
        return abs(self.difference) <= max(_ALLOWED * self.std, 0.5 * 10.0 ** -(4 if self.measure in PERCENT else 2))

    @property
    def numbers(self) -> list[str]:
        """Ours, theirs, the difference and the verdict, as text."""
        scale = 100.0 if self.measure in PERCENT else 1.0
        return [
            f"{scale * self.ours.mean:.2f} ({scale * self.ours.std:.2f})",
            f"{scale * self.mean:.2f} ({scale * self.std:.2f})",
            f"{scale * self.difference:+.2f}",
            "yes" if self.agrees else "**no**",
        ]


def compare(study: Study) -> Iterator[Compared]:
    """Yield every cell that was published."""
    for dataset in study.datasets:
        for method in study.methods:
            for measure in MEASURES:
                theirs = published_score(dataset, method, measure)
                scores = study.scores(dataset, method, measure)
                if theirs is not None and scores:
                    yield Compared(dataset, method, measure, Cell.of(scores), *theirs)


def summary(cells: list[Compared]) -> str:
    """Return a table that counts how many cells agree."""
    rows = []
    for measure in MEASURES:
        mine = [cell for cell in cells if cell.measure == measure]
        agreeing = sum(cell.agrees for cell in mine)
        rows.append([TITLES[measure], str(len(mine)), str(agreeing), str(len(mine) - agreeing)])
    return markdown_table(["measure", "published cells", "within 2 sd", "outside"], rows)


def dataset_table(dataset: str, cells: list[Compared]) -> str:
    """Return all cells of a data set: a line for each method, the measures side by side."""
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
    """Why cells differ: patterns of the data sets, methods and measures that it is about."""

    datasets: str
    methods: str
    measures: str
    text: str

    def explains(self, cell: Compared) -> bool:
        """Whether it is about this cell."""
        patterns = ((self.datasets, cell.dataset), (self.methods, cell.method), (self.measures, cell.measure))
        return all(re.fullmatch(pattern, text) for pattern, text in patterns)


# The first that fits a cell explains it.
REASONS = (
    Reason(
        r"L-Isolet.*",
        r"MVD|AA",
        r".*",
        "L-Isolet, MVD and sums of affinities: the published code computes kernels once more, on the rows of kernels. With "
        "the kernels themselves both methods do as well as the others.",
    ),
    Reason(
        r"L-Isolet \(as coded\)",
        r".*",
        r"ch",
        "L-Isolet as coded, CH: 6 % lower throughout, with agreement (AMI, ARI) as published. Ours are 1,560 of the "
        "1,600 samples, and CH grows with their number; the rest is not explained.",
    ),
    Reason(
        r"L-Isolet",
        r".*",
        r".*",
        "L-Isolet as the text has it, with a Gaussian, a Laplacian and a correlation kernel: the published code has one "
        "of them twice and leaves out self-loops, so that neither the first view nor CH, which is measured on the rows of the "
        'operators, can be compared. See "L-Isolet (as coded)".',
    ),
    Reason(
        r".*",
        r"MDT-BSC",
        r".*",
        "Beam search as the text has it. The published tree search multiplies on the other side, judges in ten "
        'dimensions and answers with the best of the longest words: see "MDT-BSC (as coded)". The best word of any '
        "length is much better on 100Leaves, a little better on Multi-Feat, and worse on MSRC.",
    ),
    Reason(
        r".*",
        r"MDT-BSC \(as coded\)",
        r".*",
        "Beam search as coded: the published figure is one search, and its spread that of k-means alone. Our five "
        "searches end at different words; the published mean lies among their means.",
    ),
    Reason(
        r".*",
        r"MDT-CST",
        r".*",
        "Contrastive weights: the published optimisation starts at random weights, lets them leave the simplex, counts a "
        "sample among its own neighbours, and by a slip keeps the last of 40 iterates. Ours ends at a smaller loss, which "
        "is nearer to a single view.",
    ),
    Reason(
        r"[KL]-MvMNIST.*",
        r"AA",
        r".*",
        "Sum of affinities on K-MvMNIST: it is in the authors' tables but not in the paper, so that its recipe is a "
        "guess. Ours agrees on the other sets, and on this one for other noise; why not here is not explained.",
    ),
    Reason(
        r"[KL]-MvMNIST.*",
        r".*",
        r"ch",
        "MNIST, CH: the noise and the randomised PCA are not bit for bit those of the published figures; CH of L-MvMNIST "
        "at s = 0.5 is 1.5 % lower for every method and for the true labels, whose published spread is 0.",
    ),
    Reason(
        r"Multi-Feat",
        r"DM\(view 4\)",
        r"ch",
        "Multi-Feat, view 4 (morphological features): many samples are equally far away, and which of them are "
        "neighbours depends on the tool.",
    ),
)


def differences(cells: list[Compared]) -> str:
    """Return the cells that differ, grouped by why they do."""
    groups: dict[str, list[Compared]] = {}
    for cell in cells:
        if not cell.agrees:
            reason = next((each.text for each in REASONS if each.explains(cell)), "Not explained.")
            groups.setdefault(reason, []).append(cell)
    parts = []
    for reason, mine in groups.items():
        rows = [[cell.dataset, cell.method, TITLES[cell.measure], *cell.numbers[:3]] for cell in mine]
        header = ["data set", "method", "measure", "ours", "published", "difference"]
        parts.append(f"{reason}\n\n{markdown_table(header, rows)}")
    return "\n\n".join(parts) if parts else "None."
