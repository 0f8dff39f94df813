"""Tables of a study: means, ranks, ratios, formats and files."""

from __future__ import annotations

import statistics

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import mdt_fast as mdt
from mdt_fast.study import Cell, Study, Table
from mdt_fast.study._rows import MEASURES, Row, read_rows

METHODS = ["DM(view 1)", "AD", "ComD", "MDT-Rand", "MDT-BSC", "True labels"]
# Scores by data set and method, one list a search; composite diffusion has none on the second.
SCORES = {
    "plain": {
        "DM(view 1)": [[0.88, 0.88]],
        "AD": [[0.7, 0.5]],
        "ComD": [[0.3, 0.3]],
        "MDT-Rand": [[0.3], [0.5]],
        "MDT-BSC": [[0.8, 0.6], [0.7, 0.9]],
        "True labels": [[1.0]],
    },
    "harder": {
        "DM(view 1)": [[0.1, 0.1]],
        "AD": [[0.2, 0.2]],
        "MDT-Rand": [[0.1], [0.3]],
        "MDT-BSC": [[0.05, 0.15], [0.2, 0.0]],
        "True labels": [[1.0]],
    },
}


def make_row(dataset, method, search, run, score, key="key"):
    """A row with the same score by every measure; `key` identifies the result of a search."""
    what = {"dataset": dataset, "method": method, "preset": "", "random_state": 0, "search": search, "run": run}
    size = {"n_samples": 90, "n_clusters": 3, "t": 8, "length": 8, "n_evaluations": 1, "seconds": 0.5}
    what |= {"key": f"{key} {dataset} {method}", "version": "one"}
    return Row(**what, **size, converged=True, **dict.fromkeys(MEASURES, score))


def make_study(scores, methods):
    rows = [
        make_row(dataset, method, search, run, score)
        for dataset, by_method in scores.items()
        for method, searches in by_method.items()
        if method in methods
        for search, runs in enumerate(searches)
        for run, score in enumerate(runs)
    ]
    return Study(rows, list(scores), list(methods))


def make_table(means, measure="ami"):
    """A table of one data set."""
    cells = {("data", method): Cell(mean, 0.0, 0.0, 0.0, 1, 1) for method, mean in means.items()}
    return Table(measure, ["data"], list(means), cells, {})


@pytest.fixture
def study():
    return make_study(SCORES, METHODS)


def test_cells():
    """Searches of different sizes: the mean is that of all clusterings, not of the searches."""
    by_search = {0: [0.1, 0.3], 1: [0.5, 0.5, 0.8], 4: [0.9]}
    cell = Cell.of(by_search)
    scores = [score for each in by_search.values() for score in each]
    assert_allclose(cell.mean, statistics.fmean(scores))
    assert_allclose(cell.std, statistics.pstdev(scores))
    assert_allclose(cell.between, statistics.pstdev([0.2, 0.6, 0.9]))
    assert_allclose(cell.within, statistics.fmean([0.1, statistics.pstdev([0.5, 0.5, 0.8]), 0.0]))
    assert (cell.n_runs, cell.n_searches) == (6, 3)


def test_cells_of_a_study(study):
    assert study.scores("plain", "MDT-BSC") == {0: [0.8, 0.6], 1: [0.7, 0.9]}
    assert study.scores("harder", "ComD") == {}
    cells = study.table().cells
    assert cells["plain", "MDT-BSC"] == Cell.of({0: [0.8, 0.6], 1: [0.7, 0.9]})
    assert cells["plain", "MDT-Rand"].between == cells["plain", "MDT-Rand"].std > 0
    assert cells["plain", "MDT-Rand"].within == 0
    assert ("harder", "ComD") not in cells
    assert len(cells) == 11


@pytest.mark.parametrize("measure", MEASURES)
def test_a_table_is_of_its_measure(measure):
    values = dict(zip(MEASURES, (0.1, 0.2, 0.3, 0.4, 5.0), strict=True))
    row = Row(**{**vars(make_row("data", "AD", 0, 0, 0.0)), **values})
    found = Study([row], ["data"], ["AD"])
    assert found.table(measure).cells["data", "AD"].mean == values[measure]
    assert found.scores("data", "AD", measure) == {0: [values[measure]]}


def test_markdown(study):
    assert study.to_markdown().splitlines() == [
        "| method      | plain             | harder            | PRR  |",
        "| ----------- | ----------------- | ----------------- | ---- |",
        "| DM(view 1)  | 88.00 (0.00)      | 10.00 (0.00)      | 1.35 |",
        "| AD          | *60.00 (10.00)*   | **20.00 (0.00)**  | 1.25 |",
        "| ComD        | 30.00 (0.00)      | —                 | 0.75 |",
        "| MDT-Rand    | 40.00 (10.00)     | **20.00 (10.00)** | 1.00 |",
        "| MDT-BSC     | **75.00 (11.18)** | *10.00 (7.91)*    | 1.19 |",
        "| True labels | 100.00 (0.00)     | 100.00 (0.00)     | —    |",
    ]
    assert str(study.table()) == study.to_markdown()


def test_latex(study):
    """The same table as in Markdown, with other marks."""
    assert study.to_latex().splitlines() == [
        r"\begin{tabular}{lccr}",
        r"\hline",
        r"Method & plain & harder & PRR \\",
        r"\hline",
        r"DM(view 1) & 88.00 \small{(0.00)} & 10.00 \small{(0.00)} & 1.35 \\",
        r"AD & \underline{60.00 \small{(10.00)}} & \textbf{20.00 \small{(0.00)}} & 1.25 \\",
        r"ComD & 30.00 \small{(0.00)} & --- & 0.75 \\",
        r"MDT-Rand & 40.00 \small{(10.00)} & \textbf{20.00 \small{(10.00)}} & 1.00 \\",
        r"MDT-BSC & \textbf{75.00 \small{(11.18)}} & \underline{10.00 \small{(7.91)}} & 1.19 \\",
        r"True labels & 100.00 \small{(0.00)} & 100.00 \small{(0.00)} & --- \\",
        r"\hline",
        r"\end{tabular}",
    ]


def test_calinski_harabasz_is_no_fraction(study):
    """It has no ratios: those are of adjusted mutual information."""
    lines = study.to_markdown("ch").splitlines()
    assert lines[0].split() == ["|", "method", "|", "plain", "|", "harder", "|"]
    assert lines[6].split("|")[2].strip() == "**0.75 (0.11)**"
    assert study.to_latex("ch").splitlines()[0] == r"\begin{tabular}{lcc}"


@pytest.mark.parametrize("measure", ["ami", "ari", "nmi", "acc"])
def test_fractions_are_in_percent(study, measure):
    assert "**75.00 (11.18)**" in study.to_markdown(measure)


@pytest.mark.parametrize(
    ("means", "places"),
    [
        ({"A": 0.5, "B": 0.5, "C": 0.4, "D": 0.4, "E": 0.3}, {"A": 1, "B": 1, "C": 2, "D": 2}),
        ({"A": 0.50001, "B": 0.50002, "C": 0.4}, {"A": 1, "B": 1, "C": 2}),
        ({"A": 0.5001, "B": 0.5002, "C": 0.4}, {"B": 1, "A": 2}),
        ({"A": -0.1, "B": -0.2}, {"A": 1, "B": 2}),
        ({"DM(view 1)": 0.9, "DM(view 12)": 0.8, "True labels": 1.0, "A": 0.1}, {"A": 1}),
        ({"DM(view 1)": 0.9, "True labels": 1.0}, {}),
    ],
    ids=["ties", "equal as printed", "nearly equal", "below zero", "out of competition", "no method"],
)
def test_places(means, places):
    assert make_table(means).rank("data") == places


def test_other_measures_are_compared_as_printed():
    assert make_table({"A": 0.501, "B": 0.502, "C": 0.4}, "ch").rank("data") == {"A": 1, "B": 1, "C": 2}


@pytest.mark.parametrize(
    ("character", "escaped"),
    [
        *((character, "\\" + character) for character in "&%$#_{}"),
        ("~", r"\textasciitilde{}"),
        ("^", r"\textasciicircum{}"),
        ("\\", r"\textbackslash{}"),
    ],
)
def test_latex_escapes_names(character, escaped):
    cell = Cell(0.5, 0.0, 0.0, 0.0, 1, 1)
    table = Table("ami", [f"d{character}1"], [f"m{character}2"], {(f"d{character}1", f"m{character}2"): cell}, {})
    lines = table.to_latex().splitlines()
    assert lines[2] == rf"Method & d{escaped}1 \\"
    assert lines[4].startswith(f"m{escaped}2 & ")


def test_ratios(study):
    found = study.prr()
    assert list(found) == ["DM(view 1)", "AD", "ComD", "MDT-Rand", "MDT-BSC"]
    assert_allclose([found["AD"]["plain"], found["AD"]["harder"]], [1.5, 1.0])
    assert_allclose([found["MDT-BSC"]["plain"], found["MDT-BSC"]["harder"]], [1.875, 0.5])
    assert list(found["ComD"]) == ["plain"]
    ratios = study.table().prr
    assert_allclose(ratios["MDT-BSC"], 1.1875)
    assert ratios["MDT-Rand"] == 1
    to_beam = study.prr("ch", reference="MDT-BSC")
    assert_allclose(to_beam["MDT-Rand"]["plain"], 0.4 / 0.75)


def test_without_random_trajectories_there_are_no_ratios():
    study = make_study(SCORES, ["AD", "MDT-BSC"])
    assert "PRR" not in study.to_markdown()
    assert "PRR" not in study.to_latex()
    with pytest.raises(ValueError, match=r"^reference: expected one of 'AD', 'MDT-BSC', got 'MDT-Rand'"):
        study.prr()


def test_no_ratio_without_a_reference():
    study = make_study({"plain": SCORES["plain"], "hopeless": {"AD": [[0.1]], "MDT-Rand": [[0.0]]}}, ["AD", "MDT-Rand"])
    assert list(study.prr()["AD"]) == ["plain"]
    assert_allclose(study.table().prr["AD"], 1.5)


@pytest.mark.parametrize(
    ("ask", "match"),
    [
        (lambda study: study.table("luck"), "^measure: expected one of 'ami', .*, got 'luck'"),
        (lambda study: study.to_markdown("luck"), "^measure: expected .*, got 'luck'"),
        (lambda study: study.to_latex("luck"), "^measure: expected .*, got 'luck'"),
        (lambda study: study.scores("plain", "AD", "luck"), "^measure: expected .*, got 'luck'"),
        (lambda study: study.prr("luck"), "^measure: expected .*, got 'luck'"),
        (lambda study: study.prr(reference="Magic"), "^reference: expected .*'MDT-Rand'.*, got 'Magic'"),
    ],
)
def test_refused_tables_and_ratios(study, ask, match):
    with pytest.raises(ValueError, match=match):
        ask(study)


def test_frames(study):
    rows = study.to_frame()
    assert list(rows.columns) == list(Row.__dataclass_fields__)
    assert [Row(**record) for record in rows.to_dict("records")] == study.rows
    table = study.table().to_frame()
    assert list(table.index) == METHODS
    assert table["plain", "mean"]["True labels"] == 1
    assert_allclose(table["plain", "std"]["AD"], 0.1)
    assert np.isnan(table["harder", "mean"]["ComD"])
    assert list(Study([], [], []).to_frame().columns) == list(rows.columns)


def test_save(study, tmp_path):
    folder = tmp_path / "some" / "place"
    written = study.save(folder)
    names = ["rows.csv", *(f"{measure}.{suffix}" for measure in MEASURES for suffix in ("md", "tex"))]
    assert sorted(path.name for path in written) == sorted(names)
    assert sorted(folder.iterdir()) == sorted(written)
    assert read_rows(folder / "rows.csv") == study.rows
    for measure in MEASURES:
        assert (folder / f"{measure}.md").read_text(encoding="utf-8") == study.to_markdown(measure) + "\n"
        assert (folder / f"{measure}.tex").read_text(encoding="utf-8") == study.to_latex(measure) + "\n"
    assert pd.read_csv(folder / "rows.csv", keep_default_na=False).equals(study.to_frame())


def test_saving_again_adds_nothing(study, tmp_path):
    study.save(tmp_path)
    before = (tmp_path / "rows.csv").read_bytes()
    study.save(tmp_path)
    assert (tmp_path / "rows.csv").read_bytes() == before


def test_saving_keeps_the_rows_of_others(study, tmp_path):
    theirs = make_row("theirs", "AD", 0, 0, 0.123)
    Study([theirs], ["theirs"], ["AD"]).save(tmp_path)
    before = (tmp_path / "rows.csv").read_bytes()
    study.save(tmp_path)
    assert (tmp_path / "rows.csv").read_bytes().startswith(before)
    assert read_rows(tmp_path / "rows.csv") == [theirs, *study.rows]
    assert "theirs" not in (tmp_path / "ami.md").read_text(encoding="utf-8")


def test_saving_over_something_else_is_refused(study, tmp_path):
    """The folder stays unchanged."""
    (tmp_path / "rows.csv").write_text("name,age\nAda,36\n")
    with pytest.raises(ValueError, match=r"^rows: expected .*rows\.csv"):
        study.save(tmp_path)
    assert (tmp_path / "rows.csv").read_text() == "name,age\nAda,36\n"
    assert [path.name for path in tmp_path.iterdir()] == ["rows.csv"]


def test_a_saved_study_is_resumed(blobs, tmp_path):
    found = mdt.study.run({"blobs": blobs}, ["AD", "MDT-Rand"], n_runs=2)
    found.save(tmp_path)
    reported = []
    again = mdt.study.run(
        {"blobs": blobs}, ["AD", "MDT-Rand"], 2, rows=tmp_path / "rows.csv", progress=lambda *now: reported.append(now)
    )
    assert again == found
    assert reported == []
