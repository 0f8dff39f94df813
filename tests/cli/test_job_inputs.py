"""What a job says about its files: what is used, left out, taken on trust or looks like a mistake."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_mutual_info_score

from helpers.commands import (
    CLUSTER_FILES,
    COMMAND,
    N_CLUSTERS,
    QUICK,
    names_in,
    read_report,
    read_table,
    run_process,
)
from helpers.page import Page
from mdt_fast import MDTClustering
from mdt_fast._cli.files import read_views
from mdt_fast._support.text import from_cell, printable

pytest.importorskip("click")


@pytest.fixture
def cells(folder, data):
    """An .h5mu file in which 20 cells have no protein, with principal components of the RNA."""
    anndata, mudata = pytest.importorskip("anndata"), pytest.importorskip("mudata")
    camera, scanner = data.views.values()
    n = len(camera)
    names = pd.Index([f"cell {i}" for i in range(n)], dtype=object)
    types = np.where(np.arange(n) % 5 == 0, "unknown", data.target.astype(str))
    rna = anndata.AnnData(np.hstack([camera] * 300), obs=pd.DataFrame({"cell_type": types}, index=names))
    rna.obsm["X_pca"] = camera
    protein = anndata.AnnData(scanner[20:], obs=pd.DataFrame(index=names[20:]))
    with warnings.catch_warnings(), mudata.set_options(pull_on_update=False):
        warnings.simplefilter("ignore")
        if hasattr(anndata.settings, "allow_write_nullable_strings"):
            anndata.settings.allow_write_nullable_strings = True
        mudata.MuData({"rna": rna, "prot": protein}).write("cells.h5mu")
    return types[20:]


def test_cells_that_are_left_out(run, folder, data, cells):
    argv = ["cluster", "cells.h5mu", "-n", N_CLUSTERS, "--t", 2, "--missing", "drop", "-o", "out"]
    done = run(*argv)
    assert done.code == 0
    left_out = "20 of the 150 cells of 'rna' are left out, because not all of 'rna', 'prot' have them"
    chosen = "rna/obsm/X_pca is read instead of the 1,200 columns of X; --select rna reads these"
    assert "130 samples: rna/obsm/X_pca (4 columns), prot (4 columns)\n" in done.out
    assert f"! cells.h5mu: {left_out}\n" in done.out
    assert f"cells.h5mu: {chosen}\n" in done.out
    page = Page(read_report("out"))
    assert f"cells.h5mu: {left_out}" in page.texts("li")
    assert f"cells.h5mu: {chosen}" in page.texts("p")
    (table,) = [table["text"] for table in page.find("table") if "left out" in table["text"]]
    assert re.search(r"rna15013020\s+prot1301300", table)
    document = json.loads(run(*argv, "--no-report", "--json").out)
    assert document["n_samples"] == 130
    assert document["modalities"] == {
        "rna": {"samples": 150, "used": 130, "left_out": 20},
        "prot": {"samples": 130, "used": 130, "left_out": 0},
    }
    assert f"cells.h5mu: {left_out}" in document["warnings"]
    assert document["notes"] == [f"cells.h5mu: {chosen}"]
    expected = MDTClustering(N_CLUSTERS, t=2).fit([view[20:] for view in data.views.values()]).labels_
    assert read_table("out/labels.csv")["label"].tolist() == expected.tolist()
    assert list(read_table("out/labels.csv").index) == [f"cell {i}" for i in range(20, 150)]


@pytest.mark.parametrize("absent", ["borrow", "stay"])
def test_cells_that_a_modality_lacks(run, folder, data, cells, absent):
    argv = ["cluster", "cells.h5mu", "-n", N_CLUSTERS, "--t", 2, "--missing", absent, "-o", "out"]
    done = run(*argv)
    assert done.code == 0
    assert "prot has 130 of the 150 samples\n" in done.out
    assert "left out" not in done.out
    (table,) = [table["text"] for table in Page(read_report("out")).find("table") if "source" in table["text"]]
    assert re.search(r"prot.*130euclidean", table)
    document = json.loads(run(*argv, "--no-report", "--json").out)
    assert document["n_present"] == {"rna/obsm/X_pca": 150, "prot": 130, "joint": 150}
    camera, scanner = (np.array(view) for view in data.views.values())
    scanner[:20] = np.nan
    expected = MDTClustering(N_CLUSTERS, t=2, absent=absent).fit([camera, scanner]).labels_
    assert read_table("out/labels.csv")["label"].tolist() == expected.tolist()
    done = run("cluster", "cells.h5mu", "-n", N_CLUSTERS, "--missing", "error")
    assert (done.code, "--missing borrow uses them" in done.err) == (2, True)


def test_ignored_labels(run, folder, cells):
    argv = ["cluster", "cells.h5mu", "-n", N_CLUSTERS, "--t", 2, "--missing", "drop"]
    argv += ["--labels", "cell_type", "-o", "out"]
    done = run(*argv, "--no-report")
    assert (
        "! labels: 26 samples have the class 'unknown', which counts as a class; --ignore-label unknown leaves"
        in done.out
    )
    done = run(*argv, "--ignore-label", "unknown")
    labels = read_table("out/labels.csv")["label"].to_numpy()
    known = cells != "unknown"
    ami = adjusted_mutual_info_score(cells[known], labels[known])
    assert f"given classes: {ami:.3f}; 26 of 130 samples are left out of it\n" in done.out
    assert "which counts as a class" not in done.out
    captions = " ".join(Page(read_report("out")).texts("figcaption"))
    assert "with the given classes, without 26 samples of ignored classes." in captions
    document = json.loads(run(*argv, "--no-report", "--ignore-label", "unknown", "--json").out)
    assert (document["ami"], document["n_ignored"]) == (ami, 26)
    done = run(*argv, "--ignore-label", "other")
    assert (done.code, "--ignore-label: expected a class among" in done.err) == (2, True)


def test_rows_in_an_order_that_cannot_be_checked(run, folder, data):
    camera, scanner = data.views.values()
    np.save("camera.npy", camera)
    names = pd.Index([f"cell {i}" for i in range(150)], name="barcode")
    pd.DataFrame(scanner, index=names).add_prefix("x").to_csv("scanner.csv")
    argv = ["cluster", "camera.npy", "scanner.csv", "-n", N_CLUSTERS, *QUICK]
    warning = "camera.npy: its rows have no names; they are taken to be in the order of scanner.csv"
    assert f"! {warning}\n" in run(*argv).out
    assert json.loads(run(*argv, "--json").out)["warnings"] == [warning]


@pytest.mark.parametrize("strategy", ["auto", "beam", "mean"])
def test_one_cluster_as_in_python(run, folder, data, strategy):
    done = run("cluster", "views.npz", "-n", 1, "--t", 2, "--strategy", strategy, "--labels", "kind", "-o", "out")
    assert done.code == 0
    assert "was not written" not in done.out
    assert "report.html" in names_in("out")
    assert set(read_table("out/labels.csv")["label"]) == {0}
    fitted = MDTClustering(1, t=2, strategy=strategy).fit(data.views)
    assert np.array_equal(read_table("out/coordinates.csv"), fitted.embedding_)


HOSTILE = [
    "bell\x07 escape\x1b[31m",
    "x\ufffey\uffff",
    "two\nlines\ttab\r",
    "abc\u202edef",
    "<script>document.title='run'</script>",
    "<img src=x onerror=\"document.title='run'\">",
    "--><svg onload=document.title='run'>]]>",
    "</style></title><script>document.title='run'</script>",
    "javascript:document.title='run'",
    "$\\frac{$ % {",
    "=cmd|' /C calc'!A0",
    "@SUM(1)",
    "-x",
    "x" * 300,
    "漢字 😀 \u200b",
]


@pytest.fixture(scope="module", params=["auto", "beam"])
def hostile(request, tmp_path_factory, data):
    """The folder and the output of a job in which views, classes and samples have hostile names."""
    place = tmp_path_factory.mktemp("hostile")
    generator = np.random.default_rng(0)
    (camera, _), n = data.views.values(), len(data.target)
    np.savez(place / "views.npz", **{name: camera + generator.normal(size=camera.shape) for name in HOSTILE})
    names = [f"{HOSTILE[i % len(HOSTILE)]} {i}" for i in range(n)]
    kinds = [HOSTILE[i % len(HOSTILE)] for i in data.target]
    pd.DataFrame({"sample": names, "kind": kinds}).to_csv(place / "<b>kinds=.csv", index=False)
    argv = ["cluster", "views.npz", "<b>kinds=.csv", "-n", N_CLUSTERS, "--t", 2, "--labels", "kind"]
    done = run_process(*argv, "--strategy", request.param, "-o", "out", cwd=place)
    assert (done.returncode, done.stderr) == (0, "")
    assert "was not written" not in done.stdout
    return place / "out", done.stdout, names


def test_hostile_names_are_shown(hostile):
    folder, printed, _ = hostile
    assert names_in(folder) == CLUSTER_FILES
    html = read_report(folder)
    page = Page(html)
    assert not page.find("script")
    assert not [name for each in page.elements for name in each["attrs"] if name.startswith("on")]
    for name in HOSTILE:
        assert printable(name) in printed
        assert printable(name) in " ".join(page.texts("td") + page.texts("th"))
    assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202e\ufffe\uffff]", html + printed)
    members = json.loads((folder / "trajectory.json").read_text())["members"]
    assert set(map(printable, HOSTILE)) <= set(members)


def test_hostile_names_run_no_script(hostile, browse):
    folder, _, _ = hostile
    dom, messages = browse(folder / "report.html", "--dump-dom", "--virtual-time-budget=2000")
    page = Page(dom)
    assert page.texts("title") == [f"Clusters of 150 samples in {len(HOSTILE)} views"]
    assert not page.find("script")
    # The policy of the page makes the browser report any script or request.
    assert "CONSOLE" not in messages


def test_hostile_names_are_no_formulas_and_round_trip(hostile):
    folder, _, names = hostile
    for table in ("labels.csv", "coordinates.csv"):
        with (folder / table).open(newline="", encoding="utf-8") as file:
            cells = [row[0] for row in csv.reader(file)][1:]
        assert not [cell for cell in cells if cell[0] in "=+-@\t\r"]
        assert [from_cell(cell) for cell in cells] == names
        assert read_views([folder / table]).sample_names == names


def test_a_file_name_that_is_not_utf_8(folder):
    """Python reads such a name with lone surrogates."""
    name = os.fsencode(folder) + b"/caf\xe9.npz"
    try:
        os.link("views.npz", name)
    except OSError:
        pytest.skip("the file system refuses the name")
    command = [os.fsencode(COMMAND), b"cluster", name, b"-n", b"3", b"--t", b"2", b"-o", b"out"]
    done = subprocess.run(command, capture_output=True, timeout=240, check=False)
    assert (done.returncode, done.stderr) == (0, b"")
    assert "caf\\udce9.npz" in read_report("out")
    assert names_in("out") == CLUSTER_FILES


def test_the_published_preset_knows_one_metric_and_no_scaling(run, folder):
    rng = np.random.default_rng(0)
    counts = np.where(rng.random((60, 30)) < 0.2, rng.integers(1, 9, size=(60, 30)), 0) + np.eye(60, 30)
    np.save("counts.npy", counts)
    argv = ["cluster", "counts.npy", "-n", 3, "--t", 2, "--strategy", "mean", "--no-report", "--json"]
    assert json.loads(run(*argv).out)["metrics"] == {"counts": "cosine"}
    assert json.loads(run(*argv, "--preset", "published").out)["metrics"] == {"counts": "euclidean"}
