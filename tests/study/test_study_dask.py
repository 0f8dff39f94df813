"""A study on the workers of a Dask cluster."""

from __future__ import annotations

import joblib
import numpy as np
import pytest

import mdt_fast as mdt

distributed = pytest.importorskip("distributed")

METHODS = ["DM", "AD", "MDT-Cvx-Rand", "MDT-BSC"]
SIZES = {"n_runs": 3, "n_searches": 2}


def test_workers_of_a_cluster_do_not_change_rows(client, blobs, content, tmp_path, monkeypatch):
    here = mdt.study.run({"blobs": blobs}, METHODS, **SIZES, n_jobs=1)
    rows, reported = tmp_path / "rows.csv", []
    # Workers import their own module, so that only a task in this process fails.
    monkeypatch.setattr(mdt.study._grid, "k_means", None)
    with joblib.parallel_config(backend="dask"):
        there = mdt.study.run({"blobs": blobs}, METHODS, **SIZES, rows=rows, progress=lambda *now: reported.append(now))
    assert content(there.rows) == content(here.rows)
    assert reported == [(done, 8) for done in range(1, 9)]


def test_a_study_of_a_cluster_is_resumed_locally(client, blobs, content, tmp_path):
    rows, arguments = tmp_path / "rows.csv", {"datasets": {"blobs": blobs}, "methods": METHODS, **SIZES}
    with joblib.parallel_config(backend="dask"):
        mdt.study.run(**{**arguments, "methods": METHODS[:3], "n_runs": 2}, rows=rows)
    before = rows.read_bytes()
    found = mdt.study.run(**arguments, rows=rows)
    assert rows.read_bytes().startswith(before)
    assert content(found.rows) == content(mdt.study.run(**arguments).rows)


def test_searches_spread_over_a_cluster(client, blobs):
    """The example of docs/performance.md."""
    ops = mdt.build_operators(blobs.views)
    work = [joblib.delayed(mdt.search)(ops, 3, t=3, random_state=seed, n_jobs=1, progress=False) for seed in range(4)]
    with joblib.parallel_config(backend="dask"):
        found = joblib.Parallel()(work)
    here = [mdt.search(ops, 3, t=3, random_state=seed, progress=False) for seed in range(4)]
    assert [each.trajectory.sequence for each in found] == [each.trajectory.sequence for each in here]
    assert [each.score for each in found] == [each.score for each in here]
    # Results of a worker can be used in this process.
    best = max(found, key=lambda each: each.score)
    np.testing.assert_allclose(best.trajectory @ np.ones(90), 1.0, rtol=1e-12)
