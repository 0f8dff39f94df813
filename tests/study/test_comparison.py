"""Computed against published figures: agreement, differences, and reasons."""

from __future__ import annotations

import re

import pytest

from mdt_fast.study._rows import Row
from mdt_fast.study._study import Study
from mdt_fast.study._tables import Cell
from mdt_fast.study.paper import PublishedScore, published_score
from mdt_fast.study.paper._comparison import Compared, compare, dataset_table, differences, reasons, summary


def row(dataset, method, search, run, ami, ch=3.0):
    what = (dataset, method, "published", 0, search, run, "key", "1.0")
    return Row(*what, 210, 7, 9, 9, 1, 0.1, True, ami, 0.5, 0.5, 0.5, ch)


def cell(mean, published, std, measure="ami"):
    return Compared("MSRC-v5", "AD", measure, Cell(mean, 0.0, 0.0, 0.0, 1, 1), PublishedScore(published, std))


@pytest.mark.parametrize(
    ("mean", "published", "std", "agrees"),
    [
        (0.5199, 0.50, 0.01, True),
        (0.5201, 0.50, 0.01, False),
        (0.4801, 0.50, 0.01, True),
        (0.4799, 0.50, 0.01, False),
        # Equal as printed, although the published deviation is 0.
        (0.50004, 0.50, 0.0, True),
        (0.5001, 0.50, 0.0, False),
    ],
)
def test_two_published_deviations(mean, published, std, agrees):
    assert cell(mean, published, std).agrees is agrees


def test_cells_are_those_that_were_published():
    rows = [row("MSRC-v5", "MDT-Direct", s, r, 0.76 + 0.01 * s) for s in range(2) for r in range(3)]
    rows += [row("MSRC-v5", "mean", 0, 0, 0.8), row("mine", "MDT-Direct", 0, 0, 0.8)]
    cells = list(compare(Study(rows, ["MSRC-v5", "mine"], ["MDT-Direct", "mean"])))
    assert [(c.dataset, c.method, c.measure) for c in cells] == [
        ("MSRC-v5", "MDT-Direct", measure) for measure in ("ami", "ari", "ch")
    ]
    ami = cells[0]
    assert ami.theirs == published_score("MSRC-v5", "MDT-Direct", "ami")
    assert ami.difference == pytest.approx(0.765 - 0.7618)
    assert ami.numbers == ["76.50 (0.50)", "76.18 (2.64)", "+0.32", "yes"]
    assert ami.ours.between == pytest.approx(0.005)
    table = dataset_table("MSRC-v5", cells)
    assert "| MDT-Direct | 2 x 3" in table
    assert "0.50 / 0.00" in table
    assert dataset_table("other", cells).count("\n") == 1
    counts = [[entry.strip() for entry in line.split("|")[1:-1]] for line in summary(cells).splitlines()[2:]]
    assert [(name, int(n), int(yes) + int(no), int(m)) for name, n, yes, no, m, _, _ in counts] == [
        ("AMI", 1, 1, 1), ("ARI", 1, 1, 1), ("CH", 1, 1, 1)
    ]  # fmt: skip


def test_cells_that_differ_are_listed_with_a_reason_or_without():
    rows = [row("MSRC-v5", "AD", 0, 0, 0.9), row("MSRC-v5", "MDT-BSC", 0, 0, 0.1)]
    study = Study(rows, ["MSRC-v5"], ["AD", "MDT-BSC"])
    text = differences([c for c in compare(study) if c.measure == "ami"])
    unexplained, explained = text.split("Beam search as the text has it")
    assert unexplained.startswith("Not explained.")
    assert "| AD " in unexplained
    assert "| MDT-BSC " in explained
    assert differences([]) == "None."


def test_every_reason_can_apply():
    for reason in reasons():
        for pattern in (reason.datasets, reason.methods, reason.measures):
            re.compile(pattern)
        names = ("MSRC-v5", "K-MvMNIST(s=0.50)", "L-Isolet", "L-Isolet (as coded)", "Multi-Feat")
        methods = ("AD", "AA", "MDT-BSC", "MDT-BSC (as coded)", "MDT-CST", "DM(view 4)")
        cells = [
            Compared(d, m, x, Cell(0, 0, 0, 0, 1, 1), PublishedScore(1.0, 0.1))
            for d in names for m in methods for x in ("ami", "ari", "ch")
        ]  # fmt: skip
        first = [next((r for r in reasons() if r.explains(c)), None) for c in cells]
        assert reason in first
