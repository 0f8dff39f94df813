"""BLAS and OpenMP do not start to work on other cores during calls of the package."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from threadpoolctl import threadpool_info

from mdt_fast._support.one_thread import one_thread

ROOT = Path(__file__).parents[2]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads the clocks of threads in /proc")
def test_threads_of_other_libraries_rest():
    cores = len(os.sched_getaffinity(0))
    if cores < 2:
        pytest.skip("BLAS has one thread on one core")
    environment = {key: value for key, value in os.environ.items() if not key.endswith("_NUM_THREADS")}
    environment["OPENBLAS_THREAD_TIMEOUT"] = "4"
    done = subprocess.run(
        [sys.executable, "-m", "tests.reliability.other_threads"],
        cwd=ROOT, env=environment, capture_output=True, text=True, check=True, timeout=600,
    )  # fmt: skip
    seconds = json.loads(done.stdout)
    control = seconds.pop("LAPACK")
    # Threads work in LAPACK, so they would be seen.
    assert control > 5e-3
    assert {name: spent for name, spent in seconds.items() if spent > 1e-4} == {}


def n_blas_threads():
    return {each["filepath"]: each["num_threads"] for each in threadpool_info()}


def test_the_limit_holds_and_ends():
    before = n_blas_threads()
    for _ in range(2):
        with one_thread():
            assert set(n_blas_threads().values()) == {1}
        assert n_blas_threads() == before


def test_the_limit_ends_with_an_error():
    before = n_blas_threads()
    with pytest.raises(ZeroDivisionError), one_thread():
        1 / 0  # noqa: B018
    assert n_blas_threads() == before
