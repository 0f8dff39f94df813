"""Wrong input of the commands, and earlier results after a failure."""

from __future__ import annotations

import errno
import hashlib
import json
import re
from pathlib import Path

import numpy as np
import pytest

import mdt_fast as mdt
from helpers.commands import CLUSTER, CLUSTER_FILES, EMBED, N_CLUSTERS, contents, failing, names_in

pytest.importorskip("click")


@pytest.mark.parametrize(
    ("argv", "match"),
    [
        (["missing.npy"], r"missing\.npy: expected a file, got a path that does not exist"),
        (["short.npy"], r"expected the same number of rows everywhere, got views\.npz: camera: 150, .*short\.npy: 40"),
        (["old.mat"], r"old\.mat: expected one of \.npy, .*, got \.mat; save the arrays as \.npz"),
        (["old.pkl"], r"old\.pkl: expected one of .*, got \.pkl; a pickle can run any code"),
        (["--labels", "species"], r"views\.npz: expected labels among 'camera', 'scanner', 'kind', got 'species'"),
        (["table.csv", "--drop-columns", "c"], r"expected a column to leave out among 'a', 'b', got 'c'"),
        (["--select", "lidar"], r"views\.npz: expected a view among 'camera', 'scanner', 'kind', got 'lidar'"),
        (["--output", "views.npz/out"], r"--output: expected a folder that can be written to, got views\.npz/out: Not"),
        (["-n", 0], r"n_clusters: expected an integer >= 1 and <= 149, got 0"),
        (["-n", 150], r"n_clusters: expected an integer >= 1 and <= 149, got 150"),
        (["--t", 0], r"t: expected an integer >= 1, got 0"),
        (["--n-neighbors", 150], r"n_neighbors: expected an integer >= 1 and <= 149, got 150"),
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
def test_bad_input_is_named(run, folder, argv, match):
    np.save("short.npy", np.zeros((40, 2)))
    Path("table.csv").write_text("a,b\n1,2\n")
    for name in ("old.mat", "old.pkl"):
        Path(name).touch()
    before = contents(folder)
    done = run(*CLUSTER, *argv, "--json")
    assert done.code == 2
    document = json.loads(done.out)
    assert list(document) == ["error"]
    assert re.search(match, document["error"])
    assert done.err == f"mdt-fast: {document['error']}\n"
    done = run(*CLUSTER, *argv)
    assert done.code == 2
    assert re.match(f"mdt-fast: .*{match}", done.err)
    assert contents(folder) == before
    assert not Path("out").exists()


USAGE = [
    (["--strategy", "fastest"], "--strategy': 'fastest' is not one of 'random', 'beam', .*'consensus', 'auto'"),
    (["--option", "max_steps=0"], r"--option.*: max_steps: expected an integer >= 1, got 0"),
    (["--option", "width=0"], r"--option.*: width: expected an integer >= 1 .*, got 0"),
    (["--option", "width=two"], r"--option.*: width: expected an integer >= 1 .*, got 'two'"),
    (["--option", "width"], r"--option.*: expected NAME=VALUE, got 'width'"),
    (["--option", "foo=1"], r"--option.*: strategy 'beam': expected one of .*'width'.*, got 'foo'"),
    (["--option", "grow=up"], r"--option.*: grow: expected .*'left'.*'right'.*, got 'up'"),
    (["--beam-width", 2], "No such option.*--beam-width"),
    (["--max-steps", 2], "No such option.*--max-steps"),
    (["--kernel", "flat"], "--kernel': 'flat' is not one of 'auto', 'gaussian', "),
    (["--quality", "best"], "--quality': 'best' is not one of 'auto', .*'persistence'"),
    (["--t", "soon"], "--t': expected 'auto' or an integer, got 'soon'"),
    (["--n-neighbors", "1.5"], "expected 'auto' or 'log' or an integer, got '1.5'"),
    (["--seed", -1], "--seed': -1 is not in the range x>=0"),
    (["-n", "many"], "expected 'auto' or 'none' or an integer, got 'many'"),
    (["--output", "views.npz"], "--output' / '-o': Directory 'views.npz' is a file"),
    (["--outptu", "x"], "No such option.*--outptu.*--output"),
]


@pytest.mark.parametrize(("argv", "match"), USAGE, ids=lambda value: str(value[:2]))
def test_wrong_usage_is_named(run, folder, argv, match):
    done = run(*CLUSTER, *argv)
    assert (done.code, done.out) == (2, "")
    assert re.search(match, done.err)
    assert "mdt-fast cluster --help" in done.err
    assert names_in(folder) == ["views.npz"]


def test_wrong_usage_as_json(run):
    done = run(*CLUSTER, "--seed", -1, "--json")
    assert (done.code, "-1 is not in the range" in done.err) == (2, True)
    assert "-1 is not in the range" in json.loads(done.out)["error"]


@pytest.mark.parametrize(
    ("argv", "match"),
    [([], "Missing argument 'FILES...'"), (["views.npz"], "Missing option '--n-clusters'")],
)
def test_missing_arguments_are_named(run, folder, argv, match):
    done = run("cluster", *argv)
    assert (done.code, match in done.err) == (2, True)


def test_a_second_run_replaces_the_files(run, folder, earlier):
    argv = ["cluster", "views.npz", "-n", N_CLUSTERS, "--t", 2, "-o", "out"]
    assert run(*argv).code == 0
    first = contents(folder / "out")
    assert sorted(first) == sorted(earlier)
    assert [name for name in first if first[name] == earlier[name]] == ["notes.txt"]
    assert run(*argv, "--select", "camera").code == 0
    second = contents(folder / "out")
    assert sorted(second) == sorted(first)
    assert [name for name in first if first[name] == second[name]] == ["notes.txt"]


def test_files_of_an_earlier_command(run, folder):
    assert run(*CLUSTER[:-3], "-o", "out").code == 0
    assert "report.html" in names_in("out")
    # A report of other results is removed, one of the user is not.
    assert run(*CLUSTER, "--seed", 1).code == 0
    assert names_in("out") == [name for name in CLUSTER_FILES if name != "report.html"]
    Path("out/report.html").write_text("the user's own")
    done = run(*EMBED)
    warning = f"{Path('out/labels.csv')} is of an earlier command; manifest.json lists the files of this one"
    assert f"! {warning}\n" in done.out
    assert names_in("out") == CLUSTER_FILES
    assert sorted(json.loads(Path("out/manifest.json").read_text())["files"]) == [
        "coordinates.csv",
        "search.json",
        "trajectory.json",
    ]
    Path("out/manifest.json").write_text('{"files": ["../views.npz", 3, null]}')
    assert run(*CLUSTER).code == 0
    assert Path("views.npz").exists()


REPORTED = ["cluster", "views.npz", "-n", N_CLUSTERS, "--t", 2, "-o", "out", "--json"]


def check_results_without_report(folder):
    """All results of the second run are there, and nothing of the report of the first."""
    names = [*CLUSTER_FILES, "notes.txt"]
    assert names_in("out") == sorted(name for name in names if name != "report.html")
    found = contents(folder / "out")
    listed = json.loads(found["manifest.json"])["files"]
    assert sorted(listed) == ["coordinates.csv", "labels.csv", "search.json", "trajectory.json"]
    for name, entry in listed.items():
        assert entry == {"bytes": len(found[name]), "sha256": hashlib.sha256(found[name]).hexdigest()}


@pytest.mark.parametrize(
    "error",
    [
        MemoryError("no more memory"),
        FloatingPointError(),
        RuntimeError("no font"),
        OSError(errno.ENOSPC, "No space left on device"),
    ],
    ids=["memory", "numbers", "runtime", "disk"],
)
def test_a_failing_report_is_a_warning(run, folder, monkeypatch, earlier, error):
    monkeypatch.setattr(mdt.plot, "map", failing(error))
    done = run(*REPORTED)
    document = json.loads(done.out)
    (warning,) = document["warnings"]
    assert warning == f"report.html was not written: {type(error).__name__}: {error}"
    assert "report.html" not in " ".join(document["files"])
    assert done.code == 0
    check_results_without_report(folder)


def test_an_interrupted_report_leaves_the_results(run, folder, monkeypatch, earlier):
    monkeypatch.setattr(mdt.plot, "map", failing(KeyboardInterrupt()))
    done = run(*REPORTED)
    assert json.loads(done.out) == {"error": "interrupted; the results were written, the report was not"}
    assert done.code == 130
    check_results_without_report(folder)


def test_earlier_results_stay_when_files_cannot_be_moved(run, folder, earlier):
    Path("out/search.json").unlink()
    Path("out/search.json/inner").mkdir(parents=True)
    del earlier["search.json"]
    assert run(*CLUSTER).code in (1, 2)
    assert contents(folder / "out") == earlier


def test_a_failing_run_leaves_no_new_folders(run, folder):
    assert run(*CLUSTER, "--output", "deep/down/out", "-n", 0).code == 2
    assert names_in(folder) == ["views.npz"]
