"""`mdt-fast doctor`: versions, the plan of the memory, and the self-test."""

from __future__ import annotations

import json
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import mdt_fast as mdt
from helpers.commands import failing

pytest.importorskip("click")
from mdt_fast._cli import doctor


def test_doctor_lists_versions_and_runs_the_self_test(run):
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


def test_doctor_estimates_the_memory(run, monkeypatch):
    monkeypatch.setattr(doctor, "self_test", list)

    def total(*argv):
        stages = json.loads(run("doctor", "--json", *argv).out)["memory"]
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


def test_doctor_plans_an_assignment(run, monkeypatch):
    monkeypatch.setattr(doctor, "self_test", list)

    def planned(*argv):
        return json.loads(run("doctor", "--json", "--dtype", "float32", "--samples", 10**8, *argv).out)["assignment"]

    usual = planned()
    assert usual["n_landmarks"] == 200_000
    assert usual["hours"]["1"] == pytest.approx(1e8 / usual["rows_per_second"] / 3600)
    assert usual["hours"]["16"] == pytest.approx(usual["hours"]["1"] / 16)
    assert 2e8 < usual["model_bytes"] < usual["worker_bytes"] < 3e9
    assert planned("--landmarks", 20_000)["model_bytes"] == usual["model_bytes"] // 10
    text = run("doctor", "--samples", 10**8).out
    assert "With 200,000 landmarks" in text
    assert "16 workers:" in text


@pytest.mark.parametrize("argv", [["--samples", 1], ["--views", 0], ["--samples", "many"], ["--dtype", "float16"]])
def test_doctor_refuses_impossible_sizes(run, argv):
    done = run("doctor", *argv)
    assert (done.code, done.out) == (2, "")
    assert f"Invalid value for '{argv[0]}'" in done.err


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


def test_doctor_finds_a_debug_build(run, monkeypatch):
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
def test_exit_codes_of_doctor(run, monkeypatch, error, code):
    monkeypatch.setattr(doctor, "embed", failing(error))
    done = run("doctor")
    assert done.code == code
    assert str(error) in done.out + done.err
