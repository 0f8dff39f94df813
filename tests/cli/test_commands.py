"""The commands: what they print, write and return, and what is left behind when one cannot finish."""

from __future__ import annotations

import errno
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import click
import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import adjusted_mutual_info_score

import mdt_fast as mdt
import test_html_report
from mdt_fast import MDTClustering
from test_html_report import Page

pytest.importorskip("click")
from mdt_fast._cli import demo, doctor, main
from mdt_fast._cli.main import cli

COMMAND = str(Path(sys.executable).parent / "mdt-fast")
COMMANDS = ["cluster", "embed", "demo", "study", "doctor"]
CLUSTER_FILES = ["coordinates.csv", "labels.csv", "report.html", "search.json", "trajectory.json"]
EMBED_FILES = [name for name in CLUSTER_FILES if name != "labels.csv"]
N_CLUSTERS = 3
# What every quick job is told.
QUICK = ["--t", "2", "--no-report", "--output", "out"]
CLUSTER = ["cluster", "views.npz", "--n-clusters", N_CLUSTERS, "--strategy", "beam", *QUICK]
CONSENSUS = ["cluster", "views.npz", "--n-clusters", N_CLUSTERS, *QUICK]
EMBED = ["embed", "views.npz", *QUICK]

# Fixtures of a test module are found by their names in the module that asks for them.
browse = test_html_report.browse


def make_views(n_samples, *, std):
    data = mdt.datasets.make_multiview_blobs(
        n_samples, n_clusters=N_CLUSTERS, n_features=4, cluster_std=std, center_box=(-5, 5), random_state=0
    )
    return SimpleNamespace(views=dict(zip(("camera", "scanner"), data.views, strict=True)), target=data.target)


@pytest.fixture(scope="module")
def data():
    """Clusters that overlap, so that labels tell one way of clustering from another."""
    return make_views(150, std=3)


@pytest.fixture
def folder(tmp_path, monkeypatch, data):
    """A working folder with a file of several views."""
    monkeypatch.chdir(tmp_path)
    np.savez("views.npz", **data.views, kind=data.target)
    return tmp_path


@pytest.fixture
def run(folder, capsys, monkeypatch):
    """Call the command line in this process."""

    def call(*words):
        monkeypatch.setattr(sys, "argv", ["mdt-fast", *map(str, words)])
        with pytest.raises(SystemExit) as end:
            main()
        return SimpleNamespace(code=end.value.code, **capsys.readouterr()._asdict())

    return call


def run_process(*words, **options):
    command = [COMMAND, *map(str, words)]
    return subprocess.run(command, capture_output=True, encoding="utf-8", timeout=240, check=False, **options)


def contents(folder):
    """Return every file below a folder, byte for byte."""
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def names_in(folder):
    return sorted(path.name for path in Path(folder).iterdir())


def read_report(folder):
    return (Path(folder) / "report.html").read_text(encoding="utf-8")


def failing(error):
    """Return a function that cannot do its work."""

    def fail(*args, **kwargs):
        raise error

    return fail


def read_table(path):
    # Without this pandas does not read the last digits.
    return pd.read_csv(path, float_precision="round_trip", index_col="sample")


@pytest.fixture
def earlier(folder):
    """Results of an earlier run, and a file that is none of ours."""
    (folder / "out").mkdir()
    for name in [*CLUSTER_FILES, "notes.txt"]:
        (folder / "out" / name).write_text(f"earlier {name}")
    return contents(folder / "out")


@pytest.fixture(scope="module")
def clustered(tmp_path_factory, data):
    """The whole job in a process of its own, with nothing chosen but the number of clusters."""
    place = tmp_path_factory.mktemp("clustered")
    samples = pd.Index([f"cell {i}" for i in range(len(data.target))], name="barcode")
    for name, view in data.views.items():
        table = pd.DataFrame(view, index=samples).add_prefix("x")
        table.assign(kind=data.target, plate="left").to_csv(place / f"{name}.csv")
    words = ["cluster", "camera.csv", "scanner.csv", "--labels", "kind", "--drop-columns", "plate", "-n", N_CLUSTERS]
    done = run_process(*words, "-o", "my out", cwd=place)
    assert done.returncode == 0, done.stderr
    command = shlex.join(["mdt-fast", *map(str, words), "-o", "my out"])
    return SimpleNamespace(command=command, stdout=done.stdout, stderr=done.stderr, folder=place / "my out")


def test_cluster_gives_what_the_functions_give(clustered, data):
    assert names_in(clustered.folder) == CLUSTER_FILES
    ops = mdt.build_operators(data.views, kernel="adaptive")
    selection = mdt.select_time(ops)
    found = mdt.search(ops, N_CLUSTERS, strategy="consensus", t=selection.t)
    steps = json.loads((clustered.folder / "trajectory.json").read_text())
    assert (steps["members"], steps["word"], steps["weights"]) == (ops.names, None, None)
    assert_array_equal(steps["consensus"][0], found.members[0].weights)
    assert len(steps["consensus"]) == len(found.members)
    # Text of a table may have lost the last digits of the views.
    coordinates = read_table(clustered.folder / "coordinates.csv")
    assert_allclose(coordinates, found.agreement.embedding, atol=1e-9)
    fitted = MDTClustering(N_CLUSTERS).fit(data.views)
    table = read_table(clustered.folder / "labels.csv")
    assert list(table.columns) == ["label", "confidence"]
    assert_array_equal(table["label"], fitted.labels_)
    assert_allclose(table["confidence"], fitted.confidence_, atol=1e-12)


def test_the_saved_consensus_is_that_of_the_functions(clustered, data):
    ops = mdt.build_operators(data.views, kernel="adaptive")
    saved = mdt.SearchResult.load(clustered.folder / "search.json", ops)
    found = mdt.search(ops, N_CLUSTERS, strategy="consensus", t=saved.t)
    assert (saved.strategy, saved.quality, saved.trajectory) == ("consensus", "persistence", None)
    assert saved.settings == found.settings
    assert_array_equal(saved.labels, found.labels)


def test_cluster_by_one_trajectory(run, folder, data):
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
        "word": list(found.trajectory.word),
        "weights": found.trajectory.weights.tolist(),
    }
    assert_array_equal(read_table("out/coordinates.csv"), mdt.embed(found.trajectory, N_CLUSTERS).coordinates)
    table = read_table("out/labels.csv")
    assert list(table.columns) == ["label"]
    assert_array_equal(table["label"], MDTClustering(N_CLUSTERS, strategy="beam").fit_predict(data.views))


def test_cluster_tells_what_it_did(clustered, data):
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


@pytest.mark.parametrize(
    ("words", "arguments"),
    [
        (
            ["--strategy", "direct", "--max-evaluations", 9, "--quality", "davies_bouldin"],
            {"strategy": "direct", "max_evaluations": 9, "quality": "davies_bouldin"},
        ),
        (
            ["--strategy", "mean", "-k", 20, "--kernel", "adaptive", "--metric", "cosine"],
            {"strategy": "mean", "n_neighbors": 20, "kernel": "adaptive", "metric": "cosine"},
        ),
        (
            ["--beam-width", 1, "--max-steps", 3, "--quality", "silhouette", "--seed", 7],
            {"strategy": "beam", "beam_width": 1, "max_steps": 3, "quality": "silhouette", "random_state": 7},
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
def test_options_reach_the_functions(run, folder, data, words, arguments):
    assert run(*CLUSTER, *words).code == 0
    expected = MDTClustering(N_CLUSTERS, t=2, **arguments).fit(data.views)
    assert_array_equal(read_table("out/labels.csv")["label"], expected.labels_)
    assert_array_equal(read_table("out/coordinates.csv").astype(expected.embedding_.dtype), expected.embedding_)
    saved = mdt.SearchResult.load("out/search.json", expected.operators_)
    assert saved.settings == expected.search_result_.settings
    assert saved.n_evaluations == expected.search_result_.n_evaluations


@pytest.mark.parametrize("strategy", ["contrastive", "mean", "random", "convex"])
def test_embed_gives_what_the_functions_give(run, folder, data, strategy):
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


@pytest.mark.parametrize("strategy", ["beam", "auto"])
def test_one_file_or_several_make_no_difference(run, folder, data, strategy):
    for name, view in data.views.items():
        np.save(f"{name}.npy", view)
    run(*CLUSTER, "--strategy", strategy)
    run("cluster", "camera.npy", "scanner.npy", "-n", N_CLUSTERS, "--strategy", strategy, *QUICK, "-o", "other")
    for name in ("labels.csv", "coordinates.csv", "trajectory.json"):
        assert Path("out", name).read_bytes() == Path("other", name).read_bytes()


def test_selection_takes_the_views_in_the_order_given(run, folder):
    run(*CLUSTER, "--select", "scanner", "--select", "camera")
    assert json.loads(Path("out/trajectory.json").read_text())["members"] == ["scanner", "camera"]


@pytest.mark.parametrize("strategy", ["mcts", "auto"])
def test_one_seed_gives_one_result_at_any_number_of_threads(run, folder, strategy):
    for out, jobs in (("out", 1), ("other", 2)):
        run(*CLUSTER, "--strategy", strategy, "--seed", 3, "--jobs", jobs, "-o", out)
    run(*CLUSTER, "--strategy", strategy, "--seed", 4, "-o", "third")
    same = ("labels.csv", "coordinates.csv", "trajectory.json")
    assert [Path("out", name).read_bytes() for name in same] == [Path("other", name).read_bytes() for name in same]
    assert Path("out/coordinates.csv").read_bytes() != Path("third/coordinates.csv").read_bytes()


def test_json_is_one_document(run, folder, data):
    # A trajectory whose labels are not those of the search.
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
    assert (document["trajectory"], document["weights"]) == (None, None)
    assert document["n_members"] == len(expected.search_result_.members)
    assert document["n_evaluations"] == expected.search_result_.n_evaluations
    assert document["score"] == expected.score_
    assert document["cluster_sizes"] == np.bincount(expected.labels_).tolist()
    assert document["ami"] == adjusted_mutual_info_score(data.target, expected.labels_)


def test_json_of_a_trajectory_without_score(run, folder):
    document = json.loads(run(*EMBED, "--strategy", "mean", "--json").out)
    assert document["score"] is None
    assert document["trajectory"] is None
    assert document["weights"] == [[0.5, 0.5]] * 2


def test_quiet_prints_nothing_but_errors(run, folder):
    done = run(*CLUSTER, "--quiet")
    assert (done.code, done.out, done.err) == (0, "", "")
    done = run(*CLUSTER, "--quiet", "-n", 1)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("mdt-fast: n_clusters: expected")


@pytest.mark.parametrize("limit", [["--max-evaluations", 5], ["--time-limit", 0]], ids=["evaluations", "seconds"])
@pytest.mark.parametrize("command", [CLUSTER, CONSENSUS], ids=["beam", "consensus"])
def test_limits_stop_a_search_with_the_best_so_far(run, folder, limit, command):
    document = json.loads(run(*command, *limit, "--json").out)
    assert document["stopped"] == limit[0].removeprefix("--").replace("-", "_")
    done = run(*command, *limit)
    assert (done.code, "labels.csv" in names_in("out")) == (0, True)
    assert f"stopped by {document['stopped']}" in done.out


def test_checkpoint_goes_on_where_the_search_stopped(run, folder, data):
    run(*CLUSTER, "--checkpoint", "known.json", "--max-evaluations", 6)
    known = {tuple(e["word"]): e["seconds"] for e in json.loads(Path("known.json").read_text())["evaluations"]}
    assert len(known) >= 6
    assert run(*CLUSTER, "--checkpoint", "known.json").code == 0
    ops = mdt.build_operators(data.views)
    result = mdt.SearchResult.load("out/search.json", ops)
    assert result.n_evaluations > len(known)
    # Nothing takes the same time twice.
    seconds = dict(zip(result.candidates, result.history["seconds"].tolist(), strict=True))
    assert {word: seconds[word] for word in known} == known
    assert_array_equal(result.labels, mdt.search(ops, N_CLUSTERS, t=2).labels)


def test_checkpoint_of_a_consensus(run, folder, data):
    run(*CONSENSUS, "--checkpoint", "known.json", "--max-evaluations", 6)
    known = [entry["seconds"] for entry in json.loads(Path("known.json").read_text())["evaluations"]]
    assert len(known) == 6
    assert run(*CONSENSUS, "--checkpoint", "known.json").code == 0
    saved = json.loads(Path("out/search.json").read_text())
    # Nothing takes the same time twice.
    assert saved["history"]["seconds"][:6] == known
    assert saved["labels"] == MDTClustering(N_CLUSTERS, t=2).fit(data.views).labels_.tolist()


@pytest.fixture
def run_on_terminal(run, monkeypatch):
    """Call the command line with a terminal for its standard error; return the exit code and what the terminal got."""
    pty = pytest.importorskip("pty")

    def call(*words):
        near, far = pty.openpty()
        os.set_blocking(near, False)
        with os.fdopen(near, "rb", buffering=0) as seen, os.fdopen(far, "w") as screen, monkeypatch.context() as patch:
            patch.setattr(sys, "stderr", screen)
            code = run(*words).code
            return code, (seen.read(100_000) or b"").decode()

    return call


@pytest.mark.parametrize("command", [CLUSTER, [*CONSENSUS, "--max-evaluations", 9], EMBED], ids=lambda c: str(c[:4:3]))
def test_a_bar_on_a_terminal(run_on_terminal, command):
    code, seen = run_on_terminal(*command)
    assert code == 0
    assert re.search(r"\rsearch \[#+\] (\d+)/\1 .*left\r\n$", seen)


@pytest.mark.parametrize("option", ["--json", "--quiet"])
def test_no_bar_where_nothing_else_is_wanted(run_on_terminal, option):
    assert run_on_terminal(*CLUSTER, option) == (0, "")


@pytest.mark.parametrize(
    ("words", "match"),
    [
        (["missing.npy"], r"missing\.npy: expected a file, got a path where nothing is"),
        (["short.npy"], r"expected the same number of rows everywhere, got views\.npz: camera: 150, .*short\.npy: 40"),
        (["old.mat"], r"old\.mat: expected one of \.npy, .*, got \.mat; save the arrays as \.npz"),
        (["old.pkl"], r"old\.pkl: expected one of .*, got \.pkl; a pickle can run any code"),
        (["--labels", "species"], r"views\.npz: expected labels of 'camera', 'scanner', 'kind', got 'species'"),
        (["table.csv", "--drop-columns", "c"], r"expected a column to leave out of 'a', 'b', got 'c'"),
        (["--select", "lidar"], r"views\.npz: expected a view of 'camera', 'scanner', 'kind', got 'lidar'"),
        (["--output", "views.npz/out"], r"--output: expected a folder that can be written to, got views\.npz/out: Not"),
        (["-n", 1], r"n_clusters: expected an integer >= 2 and <= 149, got 1"),
        (["-n", 150], r"n_clusters: expected an integer >= 2 and <= 149, got 150"),
        (["--t", 0], r"t: expected an integer >= 1, got 0"),
        (["--n-neighbors", 150], r"n_neighbors: expected an integer >= 1 and <= 149, got 150"),
        (["--max-steps", 0], r"max_steps: expected an integer >= 1, got 0"),
        (["--beam-width", 0], r"beam_width: expected an integer >= 1 .*, got 0"),
        (["--time-limit", "nan"], r"time_limit: expected a finite number >= 0, got nan"),
        (["--max-evaluations", 0], r"max_evaluations: expected an integer >= 1, got 0"),
        (["--jobs", 0], r"n_jobs: expected a number of threads, .*, got 0"),
        (["--seed", 2**64], r"random_state: expected an integer >= 0 and <= 18446744073709551615, got"),
        (
            ["--checkpoint", "views.npz"],
            r"checkpoint: expected a checkpoint of mdt_fast, .* different file: views\.npz",
        ),
        (["--checkpoint", "missing/known.json"], r"checkpoint: expected .*missing/known\.json"),
    ],
    ids=lambda value: "-".join(map(str, value)).replace("/", "-") if isinstance(value, list) else "",
)
def test_bad_input_is_named(run, folder, words, match):
    np.save("short.npy", np.zeros((40, 2)))
    Path("table.csv").write_text("a,b\n1,2\n")
    for name in ("old.mat", "old.pkl"):
        Path(name).touch()
    before = contents(folder)
    done = run(*CLUSTER, *words, "--json")
    assert done.code == 2
    document = json.loads(done.out)
    assert list(document) == ["error"]
    assert re.search(match, document["error"])
    assert done.err == f"mdt-fast: {document['error']}\n"
    done = run(*CLUSTER, *words)
    assert done.code == 2
    assert re.match(f"mdt-fast: .*{match}", done.err)
    assert contents(folder) == before
    assert not Path("out").exists()


USAGE = [
    (["--strategy", "fastest"], "--strategy': 'fastest' is not one of 'random', 'beam', .*'consensus', 'auto'"),
    (["--kernel", "flat"], "--kernel': 'flat' is not one of 'auto', 'gaussian', "),
    (["--quality", "best"], "--quality': 'best' is not one of 'auto', .*'persistence'"),
    (["--t", "soon"], "--t': expected 'auto' or an integer, got 'soon'"),
    (["--n-neighbors", "1.5"], "expected 'log' or an integer, got '1.5'"),
    (["--seed", -1], "--seed': -1 is not in the range x>=0"),
    (["-n", "many"], "'many' is not a valid integer"),
    (["--output", "views.npz"], "--output' / '-o': Directory 'views.npz' is a file"),
    (["--outptu", "x"], "No such option.*--outptu.*--output"),
]


@pytest.mark.parametrize(("words", "match"), USAGE, ids=lambda value: str(value[0]))
def test_wrong_usage_is_named(run, folder, words, match):
    done = run(*CLUSTER, *words)
    assert (done.code, done.out) == (2, "")
    assert re.search(match, done.err)
    assert "mdt-fast cluster --help" in done.err
    assert names_in(folder) == ["views.npz"]


def test_wrong_usage_is_a_document_too(run):
    done = run(*CLUSTER, "--seed", -1, "--json")
    assert (done.code, "-1 is not in the range" in done.err) == (2, True)
    assert "-1 is not in the range" in json.loads(done.out)["error"]


@pytest.mark.parametrize(
    ("words", "match"),
    [([], "Missing argument 'FILES...'"), (["views.npz"], "Missing option '--n-clusters'")],
)
def test_what_is_missing_is_named(run, folder, words, match):
    done = run("cluster", *words)
    assert (done.code, match in done.err) == (2, True)


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


def test_a_second_run_replaces_the_files(run, folder, earlier):
    words = ["cluster", "views.npz", "-n", N_CLUSTERS, "--t", 2, "-o", "out"]
    assert run(*words).code == 0
    first = contents(folder / "out")
    assert sorted(first) == sorted(earlier)
    assert [name for name in first if first[name] == earlier[name]] == ["notes.txt"]
    assert run(*words, "--select", "camera").code == 0
    second = contents(folder / "out")
    assert sorted(second) == sorted(first)
    assert [name for name in first if first[name] == second[name]] == ["notes.txt"]


@pytest.mark.parametrize(
    ("error", "code", "message"),
    [
        (MemoryError("no more memory"), 1, "no more memory"),
        (FloatingPointError(), 1, "FloatingPointError"),
        (KeyboardInterrupt(), 130, "interrupted; nothing was written"),
        (RuntimeError("no font"), 1, "no font"),
        (OSError(errno.ENOSPC, "No space left on device"), 1, "No space left on device"),
    ],
    ids=["memory", "numbers", "interrupt", "runtime", "disk"],
)
def test_a_failing_report_leaves_earlier_results(run, folder, monkeypatch, earlier, error, code, message):
    monkeypatch.setattr(mdt.plot, "embedding", failing(error))
    done = run("cluster", "views.npz", "-n", N_CLUSTERS, "--t", 2, "-o", "out", "--json")
    assert contents(folder / "out") == earlier
    assert names_in("out") == sorted(earlier)
    assert message in json.loads(done.out)["error"]
    assert message in done.err
    assert done.code == code


def test_results_that_cannot_be_moved_leave_earlier_ones(run, folder, earlier):
    Path("out/search.json").unlink()
    Path("out/search.json/inner").mkdir(parents=True)
    del earlier["search.json"]
    assert run(*CLUSTER).code in (1, 2)
    assert contents(folder / "out") == earlier


def test_a_failing_run_leaves_no_new_folders(run, folder):
    assert run(*CLUSTER, "--output", "deep/down/out", "-n", 1).code == 2
    assert names_in(folder) == ["views.npz"]


@pytest.fixture
def start(folder):
    """Start a long job in a process of its own that hears Ctrl-C also where the tests run in the background."""
    np.savez("long.npz", **make_views(2000, std=3).views)
    script = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from mdt_fast._cli import main; main()"
    )
    started = []

    def begin(*words):
        command = [sys.executable, "-c", script, *map(str, words), "--output", "out"]
        pipe = subprocess.PIPE
        started.append(subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, cwd=folder))
        return started[-1]

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def wait_for_search(process):
    """A checkpoint is written when a search begins."""
    while not Path("known.json").exists():
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.01)
    assert any(name.startswith(".") for name in names_in("out"))


def wait_for_time(process):
    """Views have been read, the diffusion time is next and takes longer than this."""
    assert process.stdout.readline().startswith("2,000 samples")
    time.sleep(0.3)


# Hours, if nobody stops it.
LONG = ["--checkpoint", "known.json", "--strategy", "direct", "--t", 8, "--max-evaluations", 10**6]


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT cannot be sent to one process there")
@pytest.mark.parametrize(
    ("words", "wait"),
    [
        (["cluster", "long.npz", "-n", 9, *LONG], wait_for_search),
        (["embed", "long.npz", "--checkpoint", "known.json", "--t", 40], wait_for_search),
        (["cluster", "long.npz", "-n", 9], wait_for_time),
    ],
    ids=["search", "gradient", "time"],
)
@pytest.mark.parametrize("has_results", [False, True], ids=["new", "over results"])
def test_an_interrupt_ends_a_run_without_a_trace(request, start, folder, words, wait, has_results):
    if has_results:
        earlier = request.getfixturevalue("earlier")
    process = start(*words)
    wait(process)
    process.send_signal(signal.SIGINT)
    _, messages = process.communicate(timeout=2)
    assert (process.returncode, messages) == (130, "mdt-fast: interrupted; nothing was written\n")
    if has_results:
        assert contents(folder / "out") == earlier
        assert names_in("out") == sorted(earlier)
    else:
        assert not Path("out").exists()


# NumPy runs Python code when its interface is first used, and when it explains that an array has another type.
@pytest.mark.parametrize(
    ("module", "function"),
    [("numpy.lib", "NumpyVersion"), ("numpy._core._dtype", "__str__")],
    ids=["first array", "type of an array"],
)
def test_an_interrupt_on_the_way_into_the_core_is_heard(folder, module, function):
    pytest.importorskip(module)
    script = f"""
import {module} as place, mdt_fast._cli.job
def interrupt(*args):
    raise KeyboardInterrupt
place.{function} = interrupt
from mdt_fast._cli import main
main()
"""
    command = [sys.executable, "-c", script, *map(str, CLUSTER)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    # Also fine: nobody goes there any more.
    assert (done.returncode, done.stderr) in [(0, ""), (130, "mdt-fast: interrupted; nothing was written\n")]


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGTERM there")
def test_a_terminated_run_leaves_only_hidden_files(start, folder, earlier):
    process = start("cluster", "long.npz", "-n", 9, *LONG)
    wait_for_search(process)
    process.terminate()
    process.communicate(timeout=2)
    # Killed on the spot, or after cleaning up with the code that a shell gives to such an end.
    assert process.returncode in (-signal.SIGTERM, 128 + signal.SIGTERM)
    visible = {name: content for name, content in contents(folder / "out").items() if not name.startswith(".")}
    assert visible == earlier


@pytest.mark.skipif(sys.platform == "win32", reason="pipes break otherwise there")
def test_a_reader_that_goes_away_is_no_bad_input(folder):
    read_end, write_end = os.pipe()
    os.close(read_end)
    with os.fdopen(write_end, "wb") as nobody:
        command = [COMMAND, *map(str, CLUSTER)]
        done = subprocess.run(command, stdout=nobody, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert done.returncode != 2
    assert "Errno" not in done.stderr


def outside_references(html):
    """Return what a page asks of other places."""
    page = Page(html)
    addresses = [
        e["attrs"][name] for e in page.elements for name in ("src", "href", "xlink:href") if name in e["attrs"]
    ]
    addresses += re.findall(r"url\(['\"]?(.*?)['\"]?\)", html)
    assert addresses
    return [address for address in addresses if not address.startswith(("#", "data:image/"))]


def test_report_says_what_was_run(clustered):
    page = Page(read_report(clustered.folder))
    assert page.texts("h1") == page.texts("title") == ["Clusters of 150 samples in 2 views"]
    assert page.texts("code") == [clustered.command]
    (table,) = page.find("table", class_="parameters")
    options = {option.name for option in cli.commands["cluster"].params}
    unlike = {"seed": "random_state"}
    # Where results go changes nothing in them, and neither does the number of threads.
    for name in options - {"output", "report", "as_json", "quiet", "jobs"}:
        assert f"\n{unlike.get(name, name)}" in table["text"], name
    # The strategy, the quality and the kernel are all left to us.
    for value in ("camera.csv, scanner.csv", "kind", "plate", "auto", "euclidean"):
        assert value in table["text"]


@pytest.fixture(scope="module")
def walked(tmp_path_factory, data):
    """The folder of a job that finds one trajectory."""
    place = tmp_path_factory.mktemp("walked")
    np.savez(place / "views.npz", **data.views, kind=data.target)
    words = ["cluster", "views.npz", "--labels", "kind", "-n", N_CLUSTERS, "--strategy", "beam", "-o", "out"]
    done = run_process(*words, cwd=place)
    assert done.returncode == 0, done.stderr
    return place / "out"


def pictures_of(page):
    return page.find("svg", role="img") + page.find("img")


@pytest.mark.parametrize(
    ("strategy", "section", "n_pictures"),
    [
        # Views, entropy, clusters, classes, scores and agreement of each view.
        ("consensus", "Consensus", 6),
        # And weights, tree, scores by length.
        ("beam", "Trajectory", 9),
    ],
)
def test_report_shows_what_was_found(clustered, walked, data, strategy, section, n_pictures):
    folder = clustered.folder if strategy == "consensus" else walked
    html = read_report(folder)
    page = Page(html)
    assert page.texts("h2") == [
        "What was run", "Views", "Diffusion time", section, "Clusters", "Each view alone, and together",
    ]  # fmt: skip
    assert len(pictures_of(page)) == n_pictures
    assert page.texts("div", class_="note") == ["✓Nothing to worry about"]
    sizes = read_table(folder / "labels.csv")["label"].value_counts()
    cells = page.texts("td")
    assert all(str(size) in cells for size in sizes)
    assert all(name in html for name in data.views)
    assert not outside_references(html)


def test_report_counts_every_confidence(clustered):
    page = Page(read_report(clustered.folder))
    (table,) = [table["text"] for table in page.find("table") if "0.8 to 1.0" in table["text"]]
    counts = re.findall(r"^0\.\d to [01]\.\d(\d+)$", table, re.MULTILINE)
    sure = read_table(clustered.folder / "labels.csv")["confidence"]
    expected = [((sure > low / 10) & (sure <= low / 10 + 0.2)).sum() for low in (0, 2, 4, 6, 8)]
    assert list(map(int, counts)) == expected
    assert sum(expected) == len(sure)


@pytest.mark.parametrize("strategy", ["beam", "auto"])
def test_warnings_are_told_everywhere(run, folder, strategy):
    np.savez("far.npz", **make_views(150, std=0.01).views)
    expected = [f"{name}: its graph falls into 3 parts" for name in ("camera", "scanner")]
    words = ["cluster", "far.npz", "-n", N_CLUSTERS, "--strategy", strategy, "--t", 2, "-o", "out"]
    done = run(*words)
    assert done.code == 0
    noted = Page(read_report("out")).texts("li")
    document = json.loads(run(*words, "--json").out)
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


DEMO_SEED = 1


@pytest.fixture(scope="module")
def demonstrated(tmp_path_factory):
    """The demonstration, once, in a process of its own."""
    folder = tmp_path_factory.mktemp("demo") / "out"
    began = time.perf_counter()
    done = run_process("demo", "--seed", DEMO_SEED, "--output", folder)
    seconds = time.perf_counter() - began
    assert done.returncode == 0, done.stderr
    return SimpleNamespace(folder=folder, seconds=seconds, stdout=done.stdout, stderr=done.stderr)


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


def test_demo_gives_what_the_estimator_gives(demonstrated, methods):
    digits = mdt.datasets.load_multiview_digits(kind="features")
    views = dict(zip(digits.view_names, digits.views, strict=True))
    t = int(re.search(r"How long to walk: TimeSelection\(t=(\d+),", demonstrated.stdout)[1])
    found = MDTClustering(10, strategy="beam", t=t, random_state=DEMO_SEED).fit(views)
    assert t == mdt.select_time(found.operators_).t
    assert methods["beam"]["AMI"] == f"{adjusted_mutual_info_score(digits.target, found.labels_):.3f}"
    assert methods["beam"]["CH"] == f"{mdt.quality.calinski_harabasz(found.operators_, found.labels_):.3f}"
    count = found.search_result_.n_evaluations
    assert f"The best of {count} words of the beam search: {found.trajectory_!r}" in demonstrated.stdout


def test_demo_writes_pictures_and_a_report(demonstrated, methods):
    pictures = [path for path in demonstrated.folder.iterdir() if path.suffix == ".png"]
    assert names_in(demonstrated.folder) == sorted([*(path.name for path in pictures), "report.html"])
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


def test_a_failing_demo_leaves_no_trace(run, folder, few_digits, monkeypatch):
    monkeypatch.setattr(mdt.plot, "tree", failing(MemoryError("no more memory")))
    done = run("demo", "--quiet", "-o", "out")
    assert (done.code, done.out, done.err) == (1, "", "mdt-fast: no more memory\n")
    assert not Path("out").exists()


def test_doctor_says_what_is_installed_and_tests_it(run):
    versions = json.loads(run("doctor", "--json").out)["versions"]
    done = run("doctor")
    assert (done.code, done.err) == (0, "")
    for name, value in {"mdt_fast": mdt.__version__, "numpy": np.__version__, "pandas": pd.__version__}.items():
        assert versions[name] == value
        assert re.search(rf"^{name} +{re.escape(value)}$", done.out, re.MULTILINE)
    for name in ("build", "threads", "cpu features", "memory available"):
        assert re.search(rf"^{name} +\w", done.out, re.MULTILINE)
    seconds = re.search(r"^self-test: passed in (\d+\.\d) s$", done.out, re.MULTILINE)
    assert float(seconds[1]) < 30


def test_doctor_plans_the_memory(run, monkeypatch):
    monkeypatch.setattr(doctor, "self_test", list)

    def total(*words):
        stages = json.loads(run("doctor", "--json", *words).out)["memory"]
        assert stages["total"] == sum(size for stage, size in stages.items() if stage != "total")
        return stages["total"]

    size = ["--samples", 10**6, "--views", 2]
    usual = total(*size)
    # A graph of 15 neighbours in two views alone has some 500 bytes a sample; N x N would be terabytes.
    assert 5e8 < usual < 5e10
    assert total("--samples", 10**7, "--views", 2) > 5 * usual
    for more in (["--views", 5], ["--n-neighbors", 50], ["--n-clusters", 100]):
        assert total(*size, *more) > usual
    assert total(*size, "--dtype", "float32") < usual


@pytest.mark.parametrize("words", [["--samples", 1], ["--views", 0], ["--samples", "many"], ["--dtype", "float16"]])
def test_doctor_refuses_impossible_sizes(run, words):
    done = run("doctor", *words)
    assert (done.code, done.out) == (2, "")
    assert f"Invalid value for '{words[0]}'" in done.err


def doubled(*args, **kwargs):
    found = mdt.embed(*args, **kwargs)
    return SimpleNamespace(singular_values=2 * found.singular_values, coordinates=found.coordinates)


def one_cluster(coordinates, *args, **kwargs):
    return SimpleNamespace(labels=np.zeros(len(coordinates), dtype=int))


@pytest.mark.parametrize(
    ("name", "wrong", "problem"),
    [
        ("embed", doubled, "singular values .* differ from LAPACK's"),
        ("k_means", one_cluster, "three separate clusters were not found"),
    ],
    ids=["embed", "k_means"],
)
def test_doctor_finds_wrong_results(run, monkeypatch, name, wrong, problem):
    monkeypatch.setattr(doctor, name, wrong)
    done = run("doctor")
    assert done.code == 1
    assert "self-test: FAILED" in done.out
    assert re.search(f"^! {problem}", done.out, re.MULTILINE)
    done = run("doctor", "--json")
    assert done.code == 1
    (found,) = json.loads(done.out)["self_test"]["problems"]
    assert re.match(problem, found)


def test_doctor_finds_a_slow_build(run, monkeypatch):
    monkeypatch.setattr(doctor._core, "DEBUG_BUILD", True)
    done = run("doctor")
    assert (done.code, "! built in debug mode" in done.out) == (1, True)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (RuntimeError("no such instruction"), 1),
        (KeyboardInterrupt(), 130),
    ],
    ids=["error", "interrupt"],
)
def test_doctor_ends_like_the_other_commands(run, monkeypatch, error, code):
    monkeypatch.setattr(doctor, "embed", failing(error))
    done = run("doctor")
    assert done.code == code
    assert str(error) in done.out + done.err


@pytest.mark.parametrize("command", [None, *COMMANDS])
def test_help_has_examples_that_can_be_called(run, command):
    done = run(*filter(None, [command]), "--help")
    assert (done.code, done.err) == (0, "")
    examples = re.findall(r"^ +mdt-fast (\w+)(.*)$", done.out, re.MULTILINE)
    assert examples
    assert {name for name, _ in examples} <= ({command} if command else set(COMMANDS))
    for name, words in examples:
        # Refuses what the command does not know.
        # (With the parent that it has in life: click remembers the help options of the first context.)
        parent = click.Context(cli, **cli.context_settings)
        cli.commands[name].make_context(name, shlex.split(words), parent=parent)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_option_is_explained(run, name):
    assert re.search(rf"^  {name} +\w", run("-h").out, re.MULTILINE)
    text = run(name, "-h").out
    options = [option for option in cli.commands[name].params if option.param_type_name == "option"]
    assert options
    for option in options:
        assert option.help
        assert all(spelling in text for spelling in option.opts)


def test_version(run):
    done = run("--version")
    assert (done.code, done.out) == (0, f"mdt-fast, version {mdt.__version__}\n")


def test_unknown_command_is_named(run):
    done = run("clusters")
    assert (done.code, done.out) == (2, "")
    assert "No such command 'clusters'" in done.err


def test_shell_completion(run, monkeypatch):
    monkeypatch.setenv("_MDT_FAST_COMPLETE", "bash_source")
    done = run()
    assert done.code == 0
    assert re.search(r"complete .* mdt-fast$", done.out, re.MULTILINE)
    monkeypatch.setenv("_MDT_FAST_COMPLETE", "bash_complete")
    for typed, expected in (("mdt-fast cl", ["plain,cluster"]), ("mdt-fast embed --strategy m", ["plain,mean"])):
        monkeypatch.setenv("COMP_WORDS", typed)
        monkeypatch.setenv("COMP_CWORD", str(typed.count(" ")))
        assert run().out.split() == expected


def run_without(module, folder, *words):
    """Call the command line where a package is not installed."""
    script = f"""
import sys
class Missing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] == {module!r}:
            raise ModuleNotFoundError("No module named " + name, name=name)
sys.meta_path.insert(0, Missing())
from mdt_fast._cli import main
main()
"""
    command = [sys.executable, "-c", script, *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False, cwd=folder)


def test_without_click_one_is_told_what_to_install(folder):
    done = run_without("click", folder, "--help")
    assert done.returncode != 0
    assert done.stdout == ""
    assert done.stderr == "mdt-fast: the command line needs click: pip install 'mdt_fast[cli]'\n"


@pytest.mark.parametrize("words", [CLUSTER[:4], EMBED[:2], ["demo"]], ids=lambda words: words[0])
def test_without_matplotlib_one_is_told_at_the_start(folder, words):
    done = run_without("matplotlib", folder, *words, "-o", "out")
    assert done.returncode in (1, 2)
    assert done.stdout == ""
    assert re.match(r"mdt-fast: .* needs matplotlib: pip install 'mdt_fast\[plot\]'\n$", done.stderr)
    assert not Path("out").exists()


def test_without_matplotlib_there_are_results_without_a_report(folder):
    done = run_without("matplotlib", folder, *CLUSTER[:4], "--no-report", "-o", "out")
    assert (done.returncode, done.stderr) == (0, "")
    assert names_in("out") == [name for name in CLUSTER_FILES if name != "report.html"]
