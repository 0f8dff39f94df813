"""Stored neighbours on the workers of a Dask cluster."""

from __future__ import annotations

import os
import signal
import threading
import time

import numpy as np
import pytest

from helpers.sources import STORES, npy_path
from helpers.stored_neighbors import N, assert_same, store

pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")


@pytest.mark.parametrize("out", ["graph", "graph.zarr"])
@pytest.mark.parametrize("kind", ["npy_path", "zarr_array", "dask_array", "fortran", "blocks_of"])
def test_workers_do_not_change_a_bit(kind, out, client, points, expected, tmp_path):
    assert_same(store(STORES[kind](points, tmp_path), tmp_path / out, client=client), expected)


def test_cells_that_are_cut_into_runs(client, tmp_path):
    """Each run of a cell is a task of its own."""
    X = np.random.default_rng(0).normal(size=(N, 3))
    X[50:1000] = 0.0
    expected = store(X, tmp_path / "here")
    assert_same(store(npy_path(X, tmp_path), tmp_path / "graph", client=client), expected)


def close_gate(gate):
    """Let this worker wait after its first cell until a file exists."""
    from mdt_fast._stored_neighbors import search

    search_run, n = search.search_run, 0

    def gated(*args):
        nonlocal n
        n += 1
        while n > 1 and not gate.exists():
            time.sleep(0.01)
        return search_run(*args)

    gated.without_gate = search_run
    search.search_run = gated


def remove_gate():
    from mdt_fast._stored_neighbors import search

    # A worker that was started in place of the killed one never had it.
    search.search_run = getattr(search.search_run, "without_gate", search.search_run)


def test_a_worker_is_killed_in_the_middle(client, points, expected, tmp_path):
    """The workers wait until one of them is killed, so no speed of the machine lets them finish before."""
    pids, gate, work = client.run(os.getpid), tmp_path / "gate", tmp_path / "graph.work"

    def kill():
        while not (cells := list(work.glob("cell-*.npy"))):
            time.sleep(0.01)
        seen.append(len(cells))
        os.kill(next(iter(pids.values())), signal.SIGKILL)
        gate.touch()

    seen: list[int] = []
    client.run(close_gate, gate)
    killer = threading.Thread(target=kill)
    killer.start()
    try:
        found = store(npy_path(points, tmp_path), tmp_path / "graph", client=client)
    finally:
        killer.join()
        client.run(remove_gate)
    assert_same(found, expected)
    assert 0 < seen[0] < expected.n_cells


def test_an_error_on_a_worker_names_the_row(client, points, expected, tmp_path):
    X = points.copy()
    X[731, 2] = np.inf
    message = r"X \(view 0\): expected finite numbers, got inf at row 731 \(block 4\), column 2"
    with pytest.raises(ValueError, match=message):
        store(npy_path(X, tmp_path), tmp_path / "graph", client=client)
    np.save(tmp_path / "X.npy", points)
    assert_same(store(tmp_path / "X.npy", tmp_path / "graph", client=client), expected)


def test_a_full_disk_of_a_worker(client, points, expected, tmp_path):
    import resource

    def limit(size):
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))

    before = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    client.run(limit, 7000)
    try:
        with pytest.raises(OSError, match=r"out: .* File too large; what is written is kept"):
            store(points, tmp_path / "graph", client=client)
    finally:
        client.run(limit, before)
    assert_same(store(points, tmp_path / "graph", client=client), expected)
