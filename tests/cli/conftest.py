"""Folders of data, the command line in this process, and a browser."""

from __future__ import annotations

import shlex
import shutil
import subprocess
import sys
import time
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from helpers.commands import CLUSTER_FILES, DEMO_SEED, N_CLUSTERS, contents, make_views, run_process
from helpers.files import NAMES
from mdt_fast._cli import main


@pytest.fixture(scope="session")
def browse(tmp_path_factory):
    """Open a page in a headless browser; return what it wrote to stdout and stderr."""
    found = filter(None, map(shutil.which, ("chromium", "google-chrome", "chromium-browser")))
    if not (browser := next(found, None)):
        pytest.skip("no chromium or google-chrome on the PATH")
    profile = tmp_path_factory.mktemp("profile")
    options = ["--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={profile}"]
    options += ["--host-resolver-rules=MAP * ~NOTFOUND", "--enable-logging=stderr"]

    def run(path, *more):
        command = [browser, *options, *more, path.as_uri()]
        done = subprocess.run(command, capture_output=True, encoding="utf-8", timeout=120, check=True)
        return done.stdout, done.stderr

    return run


@pytest.fixture(scope="session")
def data():
    """Clusters that overlap, so that other options give other labels."""
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

    def call(*argv):
        monkeypatch.setattr(sys, "argv", ["mdt-fast", *map(str, argv)])
        with pytest.raises(SystemExit) as end:
            main()
        return SimpleNamespace(code=end.value.code, **capsys.readouterr()._asdict())

    return call


@pytest.fixture
def earlier(folder):
    """Results of an earlier run, and a file of the user."""
    (folder / "out").mkdir()
    for name in [*CLUSTER_FILES, "notes.txt"]:
        (folder / "out" / name).write_text(f"earlier {name}")
    return contents(folder / "out")


@pytest.fixture(scope="session")
def clustered(tmp_path_factory, data):
    """The complete job in another process, with default options."""
    place = tmp_path_factory.mktemp("clustered")
    samples = pd.Index([f"cell {i}" for i in range(len(data.target))], name="barcode")
    for name, view in data.views.items():
        table = pd.DataFrame(view, index=samples).add_prefix("x")
        table.assign(kind=data.target, plate="left").to_csv(place / f"{name}.csv")
    argv = ["cluster", "camera.csv", "scanner.csv", "--labels", "kind", "--drop-columns", "plate", "-n", N_CLUSTERS]
    done = run_process(*argv, "-o", "my out", cwd=place)
    assert done.returncode == 0, done.stderr
    command = shlex.join(["mdt-fast", *map(str, argv), "-o", "my out"])
    return SimpleNamespace(command=command, stdout=done.stdout, stderr=done.stderr, folder=place / "my out")


@pytest.fixture(scope="session")
def demonstrated(tmp_path_factory):
    """The demonstration, run once in another process."""
    folder = tmp_path_factory.mktemp("demo") / "out"
    began = time.perf_counter()
    done = run_process("demo", "--seed", DEMO_SEED, "--output", folder)
    seconds = time.perf_counter() - began
    assert done.returncode == 0, done.stderr
    return SimpleNamespace(folder=folder, seconds=seconds, stdout=done.stdout, stderr=done.stderr)


@pytest.fixture(name="X")
def features(rng):
    return rng.normal(size=(6, 3))


@pytest.fixture
def counts(rng):
    return sparse.csr_array(rng.poisson(0.7, size=(6, 4)).astype(np.float32))


@pytest.fixture
def frame(X):
    return pd.DataFrame(X, columns=["a", "b", "c"], index=pd.Index(NAMES, name="barcode", dtype=object))
