"""`mdt-fast demo`."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest
from sklearn.metrics import adjusted_mutual_info_score

import mdt_fast as mdt
from helpers.commands import DEMO_SEED, failing, names_in, outside_references, read_report
from helpers.page import Page
from mdt_fast import MDTClustering

pytest.importorskip("click")
from mdt_fast._cli import demo


@pytest.fixture(scope="module")
def methods(demonstrated):
    """The rows of the table that was printed, by method."""
    lines = demonstrated.stdout.splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith("method "))
    header = lines[first].split()
    assert header == ["method", "kind", "AMI", "CH", "PRR", "seconds"]
    rows = [re.split(r"  +", line) for line in lines[first + 2 : lines.index("", first)]]
    return {row[0]: dict(zip(header, row, strict=True)) for row in rows}


def test_demo_takes_less_than_two_minutes(demonstrated):
    assert demonstrated.seconds < 120
    assert demonstrated.stderr == ""


def test_demo_compares_views_baselines_and_trajectories(methods):
    kinds = {row["kind"] for row in methods.values()}
    assert kinds == {"one view", "baseline", "trajectory"}
    assert sum(row["kind"] == "one view" for row in methods.values()) == 3
    assert {"AD", "ID", "MVD", "mean", "random", "convex", "beam", "direct", "consensus"} <= set(methods)
    for row in methods.values():
        assert 0 < float(row["AMI"]) < 1
        assert float(row["seconds"]) > 0
        # Every number was rounded to three digits.
        assert float(row["PRR"]) == pytest.approx(float(row["AMI"]) / float(methods["random"]["AMI"]), abs=0.002)


def test_demo_equals_the_estimator(demonstrated, methods):
    digits = mdt.datasets.load_multiview_digits(kind="features")
    views = dict(zip(digits.view_names, digits.views, strict=True))
    t = int(re.search(r"Diffusion time: TimeSelection\(t=(\d+),", demonstrated.stdout)[1])
    found = MDTClustering(10, strategy="beam", t=t, random_state=DEMO_SEED).fit(views)
    assert t == mdt.select_time(found.operators_).t
    assert methods["beam"]["AMI"] == f"{adjusted_mutual_info_score(digits.target, found.labels_):.3f}"
    assert methods["beam"]["CH"] == f"{mdt.quality.calinski_harabasz(found.operators_, found.labels_):.3f}"
    count = found.search_result_.n_evaluations
    assert f"The best of {count} sequences of the beam search: {found.trajectory_!r}" in demonstrated.stdout


def test_demo_writes_pictures_and_a_report(demonstrated, methods):
    pictures = [path for path in demonstrated.folder.iterdir() if path.suffix == ".png"]
    assert names_in(demonstrated.folder) == sorted([*(path.name for path in pictures), "manifest.json", "report.html"])
    for path in pictures:
        assert path.read_bytes().startswith(b"\x89PNG")
        assert str(path) in demonstrated.stdout
    html = read_report(demonstrated.folder)
    page = Page(html)
    assert len(page.find("svg", role="img") + page.find("img")) == len(pictures) >= 5
    assert set(methods) <= set(page.texts("th", scope="row"))
    assert not outside_references(html)


def test_demo_report_has_the_command(demonstrated):
    page = Page(read_report(demonstrated.folder))
    command = shlex.join(["mdt-fast", "demo", "--seed", str(DEMO_SEED), "--output", str(demonstrated.folder)])
    assert page.texts("code") == [command]
    # The result is first, and the parameters are folded at the end.
    assert page.texts("h2")[0] == "Map"
    assert page.texts("h2")[-1] == "What was run"
    assert page.texts("summary") == ["Parameters of the beam search"]


@pytest.fixture
def few_digits(monkeypatch):
    digits = mdt.datasets.load_multiview_digits(kind="features")
    few = digits | {"views": [view[:80] for view in digits.views], "target": digits.target[:80]}
    monkeypatch.setattr(demo, "load_multiview_digits", lambda **options: type(digits)(**few))
    monkeypatch.setattr(demo, "N_RANDOM", 2)


def test_demo_in_json_is_the_same_for_a_seed(run, few_digits):
    def results():
        done = run("demo", "--seed", DEMO_SEED, "-o", "out", "--json")
        assert (done.code, done.err) == (0, "")
        document = json.loads(done.out)
        assert sorted(document["files"]) == [str(Path("out", name)) for name in names_in("out")]
        for row in document["methods"]:
            assert row.pop("seconds") > 0
        return document

    assert results() == results()


def test_a_failing_demo_leaves_no_files(run, folder, few_digits, monkeypatch):
    monkeypatch.setattr(mdt.plot, "tree", failing(MemoryError("no more memory")))
    done = run("demo", "--quiet", "-o", "out")
    assert (done.code, done.out, done.err) == (1, "", "mdt-fast: no more memory\n")
    assert not Path("out").exists()
