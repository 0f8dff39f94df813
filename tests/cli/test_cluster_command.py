"""`mdt-fast cluster`: its results, options, output and checkpoints."""

from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import adjusted_mutual_info_score

import mdt_fast as mdt
from helpers.commands import CLUSTER, CLUSTER_FILES, CONSENSUS, EMBED, N_CLUSTERS, QUICK, names_in, read_table
from mdt_fast import MDTClustering
from mdt_fast.strategies import Beam, Consensus, Direct, EpsilonGreedy, RandomSequences

pytest.importorskip("click")


def test_cluster_equals_the_functions(clustered, data):
    assert names_in(clustered.folder) == CLUSTER_FILES
    fitted = MDTClustering(N_CLUSTERS).fit(data.views)
    ops = mdt.build_operators(data.views, **fitted.graph_parameters_)
    selection = mdt.select_time(ops)
    found = mdt.search(ops, N_CLUSTERS, strategy="consensus", t=selection.t)
    steps = json.loads((clustered.folder / "trajectory.json").read_text())
    assert (steps["members"], steps["sequence"], steps["weights"]) == (ops.names, None, None)
    assert_array_equal(steps["consensus"][0], found.trajectories[0].weights)
    assert len(steps["consensus"]) == len(found.trajectories)
    # The text of a table may lose the last digits of the views.
    coordinates = read_table(clustered.folder / "coordinates.csv")
    assert_allclose(coordinates, fitted.embedding_, atol=1e-9)
    table = read_table(clustered.folder / "labels.csv")
    assert list(table.columns) == ["label", "confidence"]
    assert_array_equal(table["label"], fitted.labels_)
    assert_allclose(table["confidence"], fitted.confidence_, atol=1e-12)


def test_saved_consensus_equals_the_functions(clustered, data):
    ops = MDTClustering(N_CLUSTERS).fit(data.views).operators_
    saved = mdt.SearchResult.load(clustered.folder / "search.json", ops)
    found = mdt.search(ops, N_CLUSTERS, strategy="consensus", t=saved.t)
    assert (saved.strategy, saved.quality, saved.trajectory) == ("consensus", "information", None)
    assert saved.settings == found.settings
    assert_array_equal(saved.labels, found.labels)


def test_cluster_with_one_trajectory(run, folder, data):
    assert run("cluster", "views.npz", "-n", N_CLUSTERS, "--strategy", "beam", "--no-report", "-o", "out").code == 0
    ops = mdt.build_operators(data.views)
    selection = mdt.select_time(ops)
    found = mdt.search(ops, N_CLUSTERS, t=selection.t)
    saved = mdt.SearchResult.load("out/search.json", ops)
    assert saved.candidates == found.candidates
    assert (saved.t, saved.strategy, saved.quality) == (selection.t, "beam", "calinski_harabasz")
    assert_array_equal(saved.labels, found.labels)
    assert json.loads(Path("out/trajectory.json").read_text()) == {
        "members": ops.names,
        "sequence": list(found.trajectory.sequence),
        "weights": found.trajectory.weights.tolist(),
    }
    assert_array_equal(read_table("out/coordinates.csv"), mdt.embed(found.trajectory, N_CLUSTERS).coordinates)
    table = read_table("out/labels.csv")
    assert list(table.columns) == ["label"]
    assert_array_equal(table["label"], MDTClustering(N_CLUSTERS, strategy="beam").fit_predict(data.views))


def test_cluster_prints_a_summary(clustered, data):
    labels = read_table(clustered.folder / "labels.csv")["label"]
    agreement = adjusted_mutual_info_score(data.target, labels)
    assert "150 samples: camera (4 columns), scanner (4 columns)" in clustered.stdout
    assert f"given classes: {agreement:.3f}" in clustered.stdout
    assert re.search(r"^consensus of \d+ of \d+ trajectories$", clustered.stdout, re.MULTILINE)
    assert f"clusters of {', '.join(map(str, labels.value_counts()))} samples" in clustered.stdout
    for name in CLUSTER_FILES:
        assert f"wrote {Path('my out') / name}\n" in clustered.stdout
    assert clustered.stderr == ""


def test_sample_names_are_kept(clustered, data):
    for name in ("labels.csv", "coordinates.csv"):
        assert list(read_table(clustered.folder / name).index) == [f"cell {i}" for i in range(len(data.target))]


def test_samples_without_names_are_numbered(run, folder, data):
    run(*CLUSTER)
    assert list(read_table("out/labels.csv").index) == list(range(len(data.target)))


@pytest.mark.filterwarnings("ignore::mdt_fast.DegenerateClustersWarning")
@pytest.mark.parametrize(
    ("argv", "arguments"),
    [
        (
            ["--strategy", "direct", "--option", "evaluations=9", "--quality", "davies_bouldin"],
            {"strategy": Direct(evaluations=9), "quality": "davies_bouldin"},
        ),
        (
            ["--strategy", "mean", "-k", 20, "--kernel", "adaptive", "--metric", "cosine"],
            {"strategy": "mean", "n_neighbors": 20, "kernel": "adaptive", "metric": "cosine"},
        ),
        (
            ["--option", "width=1", "--option", "max_steps=3", "--quality", "silhouette", "--seed", 7],
            {"strategy": Beam(width=1, max_steps=3), "quality": "silhouette", "random_state": 7},
        ),
        (
            ["--preset", "published", "--dtype", "float32", "--strategy", "convex", "--jobs", 1],
            {"preset": "published", "dtype": "float32", "strategy": "convex", "n_jobs": 1},
        ),
        (["--strategy", "auto"], {}),
        (["--strategy", "auto", "--kernel", "gaussian", "--seed", 7], {"kernel": "gaussian", "random_state": 7}),
        (["--strategy", "consensus", "--preset", "published"], {"strategy": "consensus", "preset": "published"}),
        (["--strategy", "auto", "--quality", "silhouette"], {"quality": "silhouette"}),
    ],
    ids=["direct", "graph", "tree", "published", "auto", "gaussian", "published consensus", "silhouette"],
)
def test_options_are_passed_to_the_functions(run, folder, data, argv, arguments):
    assert run(*CLUSTER, *argv).code == 0
    expected = MDTClustering(N_CLUSTERS, t=2, **arguments).fit(data.views)
    assert_array_equal(read_table("out/labels.csv")["label"], expected.labels_)
    assert_array_equal(read_table("out/coordinates.csv").astype(expected.embedding_.dtype), expected.embedding_)
    saved = mdt.SearchResult.load("out/search.json", expected.operators_)
    assert saved.settings == expected.search_result_.settings
    assert saved.n_evaluations == expected.search_result_.n_evaluations


@pytest.mark.parametrize(
    ("argv", "strategy"),
    [
        (
            ["--strategy", "beam", "--option", "grow=right", "--option", "answer=last"],
            Beam(grow="right", answer="last"),
        ),
        (["--strategy", "epsilon-greedy", "--option", "epsilon=0.5"], EpsilonGreedy(epsilon=0.5)),
        (
            ["--strategy", "random", "--option", "n=3", "--option", "probabilities=[0.25, 0.75]"],
            RandomSequences(n=3, probabilities=[0.25, 0.75]),
        ),
        (["--strategy", "auto", "--option", "trajectories=8"], Consensus(trajectories=8)),
        (["--strategy", "beam", "--option", "max_steps=None"], Beam()),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, list) else "",
)
def test_options_of_the_strategy(run, folder, data, argv, strategy):
    assert run(*CLUSTER, *argv).code == 0
    expected = MDTClustering(N_CLUSTERS, t=2, strategy=strategy).fit(data.views)
    saved = mdt.SearchResult.load("out/search.json", expected.operators_)
    assert saved.settings["strategy"] == strategy.settings()
    assert_array_equal(saved.history["score"], expected.search_result_.history["score"])
    assert_array_equal(read_table("out/labels.csv")["label"], expected.labels_)


@pytest.mark.filterwarnings("ignore::mdt_fast.ClusterSelectionWarning")
@pytest.mark.parametrize("strategy", ["beam", "auto", "mean", "contrastive", "convex", "mcts"])
@pytest.mark.parametrize("n_clusters", [N_CLUSTERS, "auto"])
def test_the_estimator_gives_the_same_result(run, folder, data, strategy, n_clusters):
    """Both use one pipeline: with the same data and seed all results are equal, also the selected numbers."""
    argv = ["cluster", "views.npz", "-n", n_clusters, "--strategy", strategy, "--seed", 5, "--no-report", "-o", "out"]
    assert run(*argv).code == 0
    fitted = MDTClustering(n_clusters, strategy=strategy, random_state=5).fit(data.views)
    assert_array_equal(read_table("out/labels.csv")["label"], fitted.labels_)
    assert_array_equal(read_table("out/coordinates.csv"), fitted.embedding_)
    saved, found = mdt.SearchResult.load("out/search.json", fitted.operators_), fitted.search_result_
    assert saved.settings == found.settings
    assert (saved.t, saved.score, saved.best) == (found.t, found.score, found.best)
    assert_array_equal(saved.history["score"], found.history["score"])
    assert_array_equal(saved.labels, found.labels)


@pytest.mark.parametrize("strategy", ["beam", "auto"])
def test_one_file_equals_several(run, folder, data, strategy):
    for name, view in data.views.items():
        np.save(f"{name}.npy", view)
    run(*CLUSTER, "--strategy", strategy)
    run("cluster", "camera.npy", "scanner.npy", "-n", N_CLUSTERS, "--strategy", strategy, *QUICK, "-o", "other")
    for name in ("labels.csv", "coordinates.csv", "trajectory.json"):
        assert Path("out", name).read_bytes() == Path("other", name).read_bytes()


def test_selection_keeps_the_given_order(run, folder):
    run(*CLUSTER, "--select", "scanner", "--select", "camera")
    assert json.loads(Path("out/trajectory.json").read_text())["members"] == ["scanner", "camera"]


@pytest.mark.parametrize("strategy", ["mcts", "auto"])
def test_same_seed_same_result_at_any_number_of_threads(run, folder, strategy):
    for out, jobs in (("out", 1), ("other", 2)):
        run(*CLUSTER, "--strategy", strategy, "--seed", 3, "--jobs", jobs, "-o", out)
    run(*CLUSTER, "--strategy", strategy, "--seed", 4, "-o", "third")
    same = ("labels.csv", "coordinates.csv", "trajectory.json")
    assert [Path("out", name).read_bytes() for name in same] == [Path("other", name).read_bytes() for name in same]
    assert Path("out/coordinates.csv").read_bytes() != Path("third/coordinates.csv").read_bytes()


def test_json_is_one_document(run, folder, data):
    # A trajectory whose labels differ from those of the search.
    done = run(*CLUSTER, "--strategy", "direct", "--labels", "kind", "--json")
    assert (done.code, done.err) == (0, "")
    document = json.loads(done.out)
    labels = read_table("out/labels.csv")["label"]
    assert document["n_samples"] == 150
    assert document["views"] == {name: f"views.npz: {name}" for name in data.views}
    assert document["t"] == 2
    assert document["ami"] == adjusted_mutual_info_score(data.target, labels)
    assert document["cluster_sizes"] == np.bincount(labels).tolist()
    assert sorted(document["files"]) == [str(Path("out", name)) for name in names_in("out")]
    assert document["stopped"] is None
    assert document["warnings"] == []


def test_json_of_a_consensus(run, folder, data):
    document = json.loads(run(*CONSENSUS, "--labels", "kind", "--json").out)
    expected = MDTClustering(N_CLUSTERS, t=2).fit(data.views)
    assert (document["sequence"], document["weights"]) == (None, None)
    assert document["n_trajectories"] == len(expected.search_result_.trajectories)
    assert document["n_evaluations"] == expected.search_result_.n_evaluations
    assert document["score"] == expected.score_
    assert document["cluster_sizes"] == np.bincount(expected.labels_).tolist()
    assert document["ami"] == adjusted_mutual_info_score(data.target, expected.labels_)


def test_json_of_a_trajectory_without_score(run, folder):
    document = json.loads(run(*EMBED, "--strategy", "mean", "--json").out)
    assert document["score"] is None
    assert document["sequence"] is None
    assert document["n_trajectories"] == 1
    assert document["weights"] == [[0.5, 0.5]] * 2


def test_quiet_prints_nothing_but_errors(run, folder):
    done = run(*CLUSTER, "--quiet")
    assert (done.code, done.out, done.err) == (0, "", "")
    done = run(*CLUSTER, "--quiet", "-n", 0)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("mdt-fast: n_clusters: expected")


@pytest.mark.parametrize("limit", [["--max-evaluations", 5], ["--time-limit", 0]], ids=["evaluations", "seconds"])
@pytest.mark.parametrize("command", [CLUSTER, CONSENSUS], ids=["beam", "consensus"])
def test_limits_return_the_best_candidate(run, folder, limit, command):
    document = json.loads(run(*command, *limit, "--json").out)
    assert document["stopped"] == limit[0].removeprefix("--").replace("-", "_")
    done = run(*command, *limit)
    assert (done.code, "labels.csv" in names_in("out")) == (0, True)
    assert f"stopped by {document['stopped']}" in done.out


def test_checkpoint_resumes_the_search(run, folder, data):
    run(*CLUSTER, "--checkpoint", "known.json", "--max-evaluations", 6)
    known = {tuple(e["sequence"]): e["seconds"] for e in json.loads(Path("known.json").read_text())["evaluations"]}
    assert len(known) >= 6
    assert run(*CLUSTER, "--checkpoint", "known.json").code == 0
    ops = mdt.build_operators(data.views)
    result = mdt.SearchResult.load("out/search.json", ops)
    assert result.n_evaluations > len(known)
    # Equal times show that nothing was evaluated again.
    seconds = dict(zip(result.candidates, result.history["seconds"].tolist(), strict=True))
    assert {sequence: seconds[sequence] for sequence in known} == known
    assert_array_equal(result.labels, mdt.search(ops, N_CLUSTERS, t=2).labels)


def test_checkpoint_of_a_consensus(run, folder, data):
    run(*CONSENSUS, "--checkpoint", "known.json", "--max-evaluations", 6)
    known = [entry["seconds"] for entry in json.loads(Path("known.json").read_text())["evaluations"]]
    assert len(known) == 6
    assert run(*CONSENSUS, "--checkpoint", "known.json").code == 0
    saved = json.loads(Path("out/search.json").read_text())
    # Equal times show that nothing was evaluated again.
    assert saved["history"]["seconds"][:6] == known
    assert saved["labels"] == MDTClustering(N_CLUSTERS, t=2).fit(data.views).labels_.tolist()
