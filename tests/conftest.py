"""Fixtures and settings shared by all tests.

MDT_FAST_DATA           folder of the real data sets; tests marked real_data skip without it.
MDT_FAST_OFFLINE        set here: no test touches the network.
MDT_FAST_KILLS          number of kills of each slow test in tests/reliability.
MDT_FAST_HYPOTHESIS     "thorough" draws many more examples, at random rather than the same ones each time.
"""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, settings

os.environ["MDT_FAST_OFFLINE"] = "1"
pytest.register_assert_rewrite("helpers")

settings.register_profile("default", deadline=None, derandomize=True, max_examples=25, database=None)
settings.register_profile("thorough", deadline=None, max_examples=1000, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("MDT_FAST_HYPOTHESIS", "default"))


def pytest_collection_modifyitems(items):
    folder = os.environ.get("MDT_FAST_DATA")
    if folder is None:
        reason = "MDT_FAST_DATA is not set"
    elif not Path(folder).is_dir():
        reason = f"MDT_FAST_DATA is not a folder: {folder}"
    else:
        return
    for item in items:
        if "real_data" in item.keywords:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture
def rng():
    return np.random.default_rng(20251201)


@pytest.fixture
def views(rng):
    """Three views of 40 points with increasing noise, without ties."""
    latent = rng.normal(size=(40, 3))
    return [
        latent @ rng.normal(size=(3, 6)) + 0.1 * rng.normal(size=(40, 6)),
        latent[:, :2] + 0.5 * rng.normal(size=(40, 2)),
        rng.normal(size=(40, 11)),
    ]


@pytest.fixture(scope="module")
def dask_cluster():
    """Two processes with one thread each."""
    distributed = pytest.importorskip("distributed")
    # Any free port: Dask warns if the default port is in use.
    how = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with distributed.LocalCluster(**how) as cluster:
        yield cluster


@pytest.fixture
def client(dask_cluster):
    """A client of two Dask workers, which are there."""
    distributed = pytest.importorskip("distributed")
    with distributed.Client(dask_cluster) as client:
        client.wait_for_workers(2, timeout=60)
        yield client


@pytest.fixture
def plt():
    """matplotlib.pyplot without a display; figures are closed and settings compared at the end."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    settings = dict(matplotlib.rcParams)
    yield plt
    plt.close("all")
    assert dict(matplotlib.rcParams) == settings
