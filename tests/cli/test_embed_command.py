"""`mdt-fast embed`: its results, reports and refusals."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from numpy.testing import assert_array_equal

import mdt_fast as mdt
from helpers.commands import EMBED, EMBED_FILES, names_in, read_report, read_table
from helpers.page import Page

pytest.importorskip("click")


@pytest.mark.parametrize("strategy", ["contrastive", "mean", "random", "convex"])
def test_embed_equals_the_functions(run, folder, data, strategy):
    done = run(*EMBED, "--strategy", strategy, "--n-components", 3, "--seed", 5, "--labels", "kind")
    assert (done.code, done.err) == (0, "")
    assert names_in("out") == [name for name in EMBED_FILES if name != "report.html"]
    ops = mdt.build_operators(data.views)
    quality = "contrastive" if strategy == "contrastive" else None
    found = mdt.search(ops, strategy=strategy, t=2, quality=quality, random_state=5)
    assert_array_equal(read_table("out/coordinates.csv"), mdt.embed(found.trajectory, 3, random_state=5).coordinates)
    saved = mdt.SearchResult.load("out/search.json", ops)
    assert_array_equal(saved.trajectory.weights, found.trajectory.weights)
    assert json.loads(Path("out/trajectory.json").read_text())["weights"] == found.trajectory.weights.tolist()


@pytest.mark.parametrize("n_components", [1, 3])
def test_embed_writes_a_report_of_any_number_of_coordinates(run, folder, n_components):
    done = run("embed", "views.npz", "--t", 2, "-o", "out", "-d", n_components, "--strategy", "mean")
    assert done.code == 0
    assert names_in("out") == EMBED_FILES
    assert Page(read_report("out")).texts("h1") == ["Embedding of 150 samples in 2 views"]


@pytest.mark.parametrize(
    "n_components",
    [
        0,
        -1,
        150,
    ],
)
def test_embed_refuses_impossible_coordinates(run, folder, n_components):
    done = run(*EMBED, "--n-components", n_components)
    assert done.code == 2
    assert f"n_components: expected an integer >= 1 and <= 149, got {n_components}" in done.err
    assert not Path("out").exists()
