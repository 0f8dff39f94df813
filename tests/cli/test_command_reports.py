"""HTML reports that the commands write."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest

import mdt_fast as mdt
from helpers.commands import N_CLUSTERS, make_views, outside_references, read_report, read_table, run_process
from helpers.page import Page

pytest.importorskip("click")
from mdt_fast._cli import job_map
from mdt_fast._cli.job_map import map_of
from mdt_fast._cli.main import cli


def test_report_states_the_parameters(clustered):
    page = Page(read_report(clustered.folder))
    assert page.texts("h1") == page.texts("title") == ["Clusters of 150 samples in 2 views"]
    assert page.texts("code") == [clustered.command]
    (table,) = page.find("table", class_="parameters")
    options = {option.name for option in cli.commands["cluster"].params}
    unlike = {"seed": "random_state", "options": "strategy"}
    # These options do not change the results, and with landmarks there is no report.
    for name in options - {"output", "report", "write", "as_json", "quiet", "jobs", "landmarks", "landmark_choice"}:
        assert f"\n{unlike.get(name, name)}" in table["text"], name
    # The quality and the kernel are "auto".
    for value in (
        "camera.csv, scanner.csv",
        "kind",
        "plate",
        "Consensus(trajectories=128, kept=0.25)",
        "auto",
        "borrow",
    ):
        assert value in table["text"]


@pytest.fixture(scope="module")
def one_trajectory(tmp_path_factory, data):
    """The folder of a job that finds one trajectory."""
    place = tmp_path_factory.mktemp("walked")
    np.savez(place / "views.npz", **data.views, kind=data.target)
    argv = ["cluster", "views.npz", "--labels", "kind", "-n", N_CLUSTERS, "--strategy", "beam", "-o", "out"]
    done = run_process(*argv, cwd=place)
    assert done.returncode == 0, done.stderr
    return place / "out"


def pictures_of(page):
    return page.find("svg", role="img") + page.find("img")


@pytest.mark.parametrize(
    ("strategy", "more", "n_pictures"),
    [
        # Map by clusters, classes, weights and confidence; views, scores and agreement of each view, entropy.
        ("consensus", [], 8),
        # No confidence, but weights, tree, scores by length.
        ("beam", ["Trajectory"], 10),
    ],
)
def test_report_shows_the_results(clustered, one_trajectory, data, strategy, more, n_pictures):
    folder = clustered.folder if strategy == "consensus" else one_trajectory
    html = read_report(folder)
    page = Page(html)
    assert page.texts("h2") == [
        "Clusters", "Map", "Which views matter", "How sure the clusters are", "Each view alone, and together", *more,
        "Diffusion time", "What was run",
    ]  # fmt: skip
    assert len(pictures_of(page)) == n_pictures
    assert page.texts("div", class_="note") == ["✓Nothing to worry about"]
    sizes = read_table(folder / "labels.csv")["label"].value_counts()
    cells = page.texts("td")
    assert all(str(size) in cells for size in sizes)
    assert all(name in html for name in data.views)
    assert not outside_references(html)


def test_result_is_first_and_parameters_are_folded(clustered, one_trajectory):
    for folder in (clustered.folder, one_trajectory):
        html = read_report(folder)
        first, last = html.index("<h2>Clusters"), html.index("<h2>What was run")
        assert first < html.index("<svg", first) < last
        assert html.index('class="parameters"') > html.index("<summary>Parameters</summary>") > last
        assert Page(html).texts("summary") == ["Parameters", "Views and their random walks", "Seconds of each stage"]
        assert not re.search(r"<details[^>]*\bopen\b", html)


def test_a_long_table_of_clusters_is_folded(run, monkeypatch):
    monkeypatch.setattr("mdt_fast._cli.job_report._MOST_CLUSTERS", N_CLUSTERS - 1)
    assert run("cluster", "views.npz", "-n", N_CLUSTERS, "--t", 2, "-o", "out").code == 0
    assert Page(read_report("out")).texts("summary")[0] == f"All {N_CLUSTERS} clusters"


def test_report_says_why_there_is_no_confidence(one_trajectory):
    page = Page(read_report(one_trajectory))
    assert any(text.startswith("The clusters of a single trajectory have no confidence.") for text in page.texts("p"))
    assert "Confidence of each sample" not in captions_of(one_trajectory)


def captions_of(folder):
    return " ".join(Page(read_report(folder)).texts("figcaption"))


def test_report_has_the_mean_weights_of_each_cluster(clustered, data):
    page = Page(read_report(clustered.folder))
    (table,) = [table["text"] for table in page.find("table") if "weight of camera" in table["text"]]
    fitted = mdt.MDTClustering(N_CLUSTERS).fit(data.views)
    weights = fitted.fused_graph().view_weights
    for cluster, size in enumerate(np.bincount(fitted.labels_)):
        own = fitted.labels_ == cluster
        means = weights[own].mean(axis=0)
        numbers = "".join(f"{mean:.4f}" for mean in [fitted.confidence_[own].mean(), *(means / means.sum())])
        assert f"\n{cluster}{size}{numbers}" in table
    assert "Weight of each view at each sample" in captions_of(clustered.folder)


def test_map_is_that_of_the_fused_graph(run, data, monkeypatch):
    drawn = []
    monkeypatch.setattr("mdt_fast._cli.job_report.map_of", lambda *args: drawn.append(map_of(*args)) or drawn[-1])
    assert run("cluster", "views.npz", "-n", N_CLUSTERS, "--seed", 3, "-o", "out").code == 0
    fitted = mdt.MDTClustering(N_CLUSTERS, random_state=3).fit(data.views)
    (found,) = drawn
    np.testing.assert_array_equal(found.points, mdt.layout(fitted.fused_graph(), random_state=3))
    assert found.is_complete
    assert "(UMAP)" in captions_of("out")


def test_map_of_many_samples_is_that_of_some(run, monkeypatch):
    monkeypatch.setitem(job_map._MOST, "umap", 60)
    assert run("cluster", "views.npz", "--labels", "kind", "-n", N_CLUSTERS, "-o", "out").code == 0
    assert "coloured by clusters, of 60 samples drawn at random." in captions_of("out")


def test_map_without_umap(run, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name, *args: None)
    assert run("embed", "views.npz", "--t", 2, "--strategy", "mean", "-o", "out").code == 0
    page = Page(read_report("out"))
    assert page.texts("h2")[:3] == ["Map", "Coordinates", "Which views matter"]
    assert "(t-SNE)" in captions_of("out")
    # The map, that of the weights, the diffusion time is given, the weights of the steps, the coordinates.
    assert len(pictures_of(page)) == 4


def test_one_view_has_no_weights(run, data):
    np.savez("one.npz", camera=data.views["camera"])
    assert run("cluster", "one.npz", "-n", N_CLUSTERS, "--t", 2, "-o", "out").code == 0
    assert "Weight of each view" not in captions_of("out")


def test_report_counts_every_confidence(clustered):
    page = Page(read_report(clustered.folder))
    (table,) = [table["text"] for table in page.find("table") if "0.8 to 1.0" in table["text"]]
    counts = re.findall(r"^0\.\d to [01]\.\d(\d+)$", table, re.MULTILINE)
    sure = read_table(clustered.folder / "labels.csv")["confidence"]
    expected = [((sure > low / 10) & (sure <= low / 10 + 0.2)).sum() for low in (0, 2, 4, 6, 8)]
    assert list(map(int, counts)) == expected
    assert sum(expected) == len(sure)


@pytest.mark.parametrize("strategy", ["beam", "auto"])
def test_warnings_are_printed_and_reported(run, folder, strategy):
    np.savez("far.npz", **make_views(150, std=0.01).views)
    expected = [f"{name}: its graph falls into 3 parts" for name in ("camera", "scanner")]
    argv = ["cluster", "far.npz", "-n", N_CLUSTERS, "--strategy", strategy, "--t", 2, "-o", "out"]
    done = run(*argv)
    assert done.code == 0
    noted = Page(read_report("out")).texts("li")
    document = json.loads(run(*argv, "--json").out)
    for warning in expected:
        assert f"! {warning}" in done.out
        assert sum(note.startswith(warning) for note in noted) == 1
        assert sum(note.startswith(warning) for note in document["warnings"]) == 1


def test_reports_open_in_a_browser(browse, clustered, demonstrated):
    for folder in (clustered.folder, demonstrated.folder):
        dom, messages = browse(folder / "report.html", "--dump-dom")
        written, shown = Page(read_report(folder)), Page(dom)
        assert shown.texts("h1") == written.texts("h1")
        assert len(shown.find("figure")) == len(written.find("figure"))
        assert "CONSOLE" not in messages


def test_report_has_the_numbers_of_each_view(run):
    pytest.importorskip("matplotlib")
    blobs = mdt.datasets.make_multiview_blobs(240, n_clusters=4, n_features=3, cluster_std=2.5, random_state=1)
    views = dict(zip(("camera", "scanner"), blobs.views, strict=True))
    np.savez("blobs.npz", **views)
    assert run("cluster", "blobs.npz", "-n", 4, "--t", 2, "--kernel", "gaussian", "-o", "out").code == 0
    page = Page(read_report("out"))
    (table,) = [table["text"] for table in page.find("table") if "adds" in table["text"]]
    fitted = mdt.MDTClustering(4, t=2, kernel="gaussian").fit(views)
    found = mdt.view_report(fitted.operators_, labels=fitted.labels_, t=2)
    assert found.names == ["camera", "scanner", "joint"]
    for name, stay, weight in zip(found.names, found.stay, found.weights, strict=True):
        assert re.search(rf"{name}{stay:.4f}.*{weight:.4f}", table)
    assert f"the clusters: {found.score:.4f}" in " ".join(page.texts("figcaption"))
    assert "The same numbers for each view." in " ".join(page.texts("figcaption"))


def test_findings_of_the_views_are_warnings(run, monkeypatch):
    pytest.importorskip("matplotlib")
    np.savez("views.npz", **make_views(150, std=1.0).views)

    def with_finding(*args, **options):
        return replace(mdt.view_report(*args, **options), findings=["one cluster holds 95 % of the samples"])

    monkeypatch.setattr("mdt_fast._cli.job_report.view_report", with_finding)
    assert run("cluster", "views.npz", "-n", N_CLUSTERS, "--t", 2, "-o", "out").code == 0
    assert "one cluster holds 95 % of the samples" in Page(read_report("out")).texts("li")
