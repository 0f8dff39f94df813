"""`mdt-fast cluster` and `mdt-fast embed` with `--landmarks`."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import mdt_fast as mdt
from helpers.landmarks import LANDMARKS, N
from helpers.sources import zarr_array


@pytest.fixture(scope="module")
def planted():
    data = mdt.datasets.make_multiview_blobs(N, n_features=5, n_clusters=4, cluster_std=4.5, random_state=0)
    return [view.astype(np.float32) for view in data.views], data.target


@pytest.fixture
def files(planted, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    zarr_array(planted[0][0], tmp_path)
    np.save(tmp_path / "Y.npy", planted[0][1])
    return tmp_path


OPTIONS = ["--t", "3", "--landmarks", LANDMARKS]


def test_clusters_of_files(run, files, planted):
    command = ["cluster", "X.zarr", "Y.npy", "--n-clusters", 4, *OPTIONS, "--output", "out", "--json"]
    done = run(*command)
    assert done.code == 0, done.err
    document = json.loads(done.out)
    assert document["n_samples"] == N
    assert document["n_landmarks"] == LANDMARKS
    assert document["views"] == {"X": 5, "Y": 5}
    assert json.loads((files / "out" / "summary.json").read_text())["n_clusters"] == 4
    table = pd.read_parquet(files / "out" / "assignment.parquet")
    model = mdt.MDTClustering(4, t=3, landmarks=LANDMARKS).fit(dict(zip("XY", planted[0], strict=True)))
    expected = model.assign(dict(zip("XY", planted[0], strict=True)))
    np.testing.assert_array_equal(table["label"], expected.labels)
    np.testing.assert_array_equal(table["confidence"], expected.confidence)
    np.testing.assert_array_equal(table.filter(like="coordinate").to_numpy(), expected.embedding)
    # The same command again finds everything done.
    before = {path: path.stat().st_mtime_ns for path in (files / "out" / "assignment.parquet").iterdir()}
    assert run(*command).code == 0
    assert before == {path: path.stat().st_mtime_ns for path in (files / "out" / "assignment.parquet").iterdir()}


def test_coordinates_of_files(run, files):
    done = run("embed", "X.zarr", "Y.npy", "-d", 3, *OPTIONS, "--output", "out", "-q")
    assert done.code == 0, done.err
    table = pd.read_parquet(files / "out" / "assignment.parquet")
    assert table.columns.tolist() == ["sample", "coordinate 1", "coordinate 2", "coordinate 3"]


def test_arrays_of_one_file(run, files, planted):
    h5py = pytest.importorskip("h5py")
    with h5py.File(files / "views.h5", "w") as file:
        file["group/a"], file["b"] = planted[0]
    command = ["cluster", "views.h5", "-s", "group/a", "-s", "b", "-n", 4, *OPTIONS, "--output", "out", "--json"]
    done = run(*command)
    assert done.code == 0, done.err
    assert json.loads(done.out)["views"] == {"group/a": 5, "b": 5}


@pytest.mark.parametrize(("options", "error"), [
    (["--labels", "class"], "--labels: expected none with --landmarks"),
    (["--write", "copy.h5ad"], "--write: expected none with --landmarks"),
    (["--select", "X"], "--select: expected one file with --landmarks, got 2"),
    (["--landmark-choice", "first"], "--landmark-choice"),
])  # fmt: skip
def test_wrong_options(run, options, error, files):
    done = run("cluster", "X.zarr", "Y.npy", "-n", 4, *OPTIONS, *options)
    assert done.code != 0
    assert error in done.err
    assert not (files / "mdt-fast-output" / "assignment.parquet").exists()


def test_files_of_other_formats(run, files):
    (files / "views.csv").write_text("a,b\n1,2\n")
    done = run("cluster", "views.csv", "-n", 4, *OPTIONS)
    assert done.code == 2
    assert "views: expected a file with the ending .npy, .zarr, .parquet" in done.err
