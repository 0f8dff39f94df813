"""`mdt-fast study` on small data under published names: what it writes, and how it resumes."""

from __future__ import annotations

import functools
import json

import pytest
from click.testing import CliRunner

import mdt_fast as mdt
from mdt_fast._cli.main import cli
from mdt_fast.study import _cases
from mdt_fast.study._rows import read_rows
from mdt_fast.study.paper import _manifold, _runs

TINY = _runs.Profile(
    n_runs=2,
    n_searches=1,
    presets=("published", None),
    noise=(0.05, 0.5),
    noise_runs=1,
    noise_draws=2,
    lengths=(1, 2, 3),
    length_draws=2,
    variants=("published", "paper"),
)


def blobs(n_views, s=0.5):
    return mdt.datasets.make_multiview_blobs(
        80, n_views=n_views, n_clusters=3, cluster_std=3.0 + 4.0 * s, random_state=0
    )


def missing():
    raise FileNotFoundError("Yale.mat is not in the folder")


@pytest.fixture
def study(monkeypatch, tmp_path):
    sets = (
        _cases.DataSet("K-MvMNIST", 2, functools.partial(blobs, 2), _cases._build),
        _cases.DataSet("MSRC-v5", 3, functools.partial(blobs, 3), _cases._build),
        _cases.DataSet("Yale", 3, missing, _cases._build),
    )
    known = {each.name: each for each in sets}
    monkeypatch.setattr(_cases, "_KNOWN", known)
    monkeypatch.setattr(_runs, "DATASETS", tuple(known))
    for name in ("QUICK", "WHOLE"):
        monkeypatch.setattr(f"mdt_fast._cli.study.{name}", TINY)
    small = functools.partial(_manifold.run_manifold, n_samples=60)
    monkeypatch.setattr(_runs, "run_manifold", small)
    monkeypatch.setattr(_runs, "MANIFOLDS", {"Helix-B": _manifold.MANIFOLDS["Helix-B"]})

    def call(*options):
        return CliRunner().invoke(cli, ["study", "--output", str(tmp_path), "--jobs", "1", *options])

    return call, tmp_path


def test_study_writes_the_document_and_resumes(study):
    call, folder = study
    first = call("--json")
    assert first.exit_code == 0, first.output
    summary = json.loads(first.stdout)
    assert 0 <= summary["agreeing"] <= summary["cells"]
    assert list(summary["missing"]) == ["Yale"]
    text = (folder / "results.md").read_text()
    # Every picture exists, and no placeholder of the template is left.
    pictures = [part.split(")")[0] for part in text.split("](")[1:] if part.startswith("images")]
    assert len(pictures) == 9
    assert all((folder / name).stat().st_size > 1000 for name in pictures)
    assert "$" not in text
    assert "Yale" in text.split("## Ours")[0]
    rows = read_rows(folder / "rows.csv")
    assert {row.preset for row in rows} == {"published", ""}
    # Published times, where known: 10 for K-MvMNIST, 9 for MSRC.
    assert {(row.dataset, row.t) for row in rows if row.preset} == {
        ("K-MvMNIST(s=0.05)", 10), ("K-MvMNIST(s=0.50)", 10), ("MSRC-v5", 9)
    }  # fmt: skip
    for table in ("published", "text"):
        for name in ("ami.md", "ami.tex", "ari.md", "ari.tex", "nmi.md", "acc.tex", "ch.md", "ch.tex"):
            assert (folder / "tables" / table / name).exists()
    before = (folder / "rows.csv").read_bytes()
    again = call("--quick")
    assert again.exit_code == 0, again.output
    assert "published cells are within two standard deviations" in again.stdout
    assert (folder / "rows.csv").read_bytes() == before


def test_study_without_data(study, monkeypatch):
    call, _ = study
    monkeypatch.setattr(_runs, "DATASETS", ("Yale",))
    result = call()
    assert result.exit_code == 2
    assert "expected at least one of Yale" in result.stderr


def test_other_rows_file_is_refused(study):
    call, folder = study
    (folder / "rows.csv").write_text("something else\n")
    result = call()
    assert result.exit_code == 2
    assert "rows: expected a file with the columns" in result.stderr
    assert (folder / "rows.csv").read_text() == "something else\n"
