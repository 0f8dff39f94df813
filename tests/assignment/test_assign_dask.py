"""Assignment of Dask arrays, and on the workers of a Dask cluster."""

from __future__ import annotations

import json
import os
import signal
import threading
import time
import warnings

import numpy as np
import pytest

import mdt_fast as mdt
from helpers.landmarks import N
from helpers.sources import STORES, npy_path, zarr_array
from mdt_fast._assignment import manifest as manifest_module

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

RESULTS = ("labels", "embedding", "confidence")


@pytest.fixture(scope="module")
def expected(model, planted):
    return model.assign(planted[0])


def assert_same(found, expected):
    for name in RESULTS:
        values = getattr(expected, name)
        np.testing.assert_array_equal(np.asarray(getattr(found, name)[:]), values)
        assert getattr(found, name).dtype == values.dtype


@pytest.mark.parametrize("sizes", [(100, 250), (N, 7), (333, 333)])
def test_results_of_dask_arrays_are_dask_arrays(sizes, model, planted, expected):
    views = [da.from_array(X, chunks=(size, 3)) for X, size in zip(planted[0], sizes, strict=True)]
    found = model.assign(views)
    for name in RESULTS:
        lazy = getattr(found, name)
        assert isinstance(lazy, da.Array)
        assert lazy.chunks[0] == views[0].chunks[0]
        assert lazy.shape == getattr(expected, name).shape
        assert lazy.dtype == getattr(expected, name).dtype
        np.testing.assert_array_equal(lazy.compute(scheduler="threads"), getattr(expected, name))


def test_the_model_is_once_in_the_graph(model, planted):
    views = [da.from_array(X, chunks=(100, -1)) for X in planted[0]]
    graph = dict(model.assign(views).labels.__dask_graph__())
    assert sum("finalize" in str(key) or "Assigner" in str(key) for key in graph) <= 1


def test_the_names_of_views_are_part_of_a_lazy_result(model, planted):
    """The same arrays under other names are other results, also in one graph."""
    x, y = (da.from_array(X[:300], chunks=(100, -1)) for X in planted[0])
    orders = [{"view 0": x, "view 1": y}, {"view 1": x, "view 0": y}]
    together = dask.compute(*[model.assign(views).labels for views in orders], scheduler="threads")
    for labels, views in zip(together, orders, strict=True):
        whole = {name: view.compute() for name, view in views.items()}
        np.testing.assert_array_equal(labels, model.assign(whole).labels)
    assert not np.array_equal(*together)


def test_rows_are_named_by_lazy_results(model, planted):
    views = [view.copy() for view in planted[0]]
    views[0][731, 1] = np.nan
    lazy = model.assign([da.from_array(X, chunks=(10, -1)) for X in views])
    with pytest.raises(ValueError, match=r"X \(view 0\): expected finite numbers, got nan at row 731 \(block 73\)"):
        lazy.labels.compute(scheduler="threads")


def test_threads_leave_the_state_of_warnings(model, planted):
    """Blocks that are assigned side by side warn, and warnings are issued afterwards as before."""
    views = [view.copy() for view in planted[0]]
    views[0][::3] = 1e4
    before = warnings.showwarning, list(warnings.filters)
    for _ in range(5):
        lazy = model.assign([da.from_array(X, chunks=(10, -1)) for X in views])
        with pytest.warns(mdt.RemoteSamplesWarning, match="1 blocks have samples that are far"):
            lazy.labels.compute(scheduler="threads", num_workers=8)
        assert (warnings.showwarning, list(warnings.filters)) == before
        with pytest.warns(UserWarning, match="later"):
            warnings.warn("later", UserWarning, stacklevel=1)


def test_lazy_results_on_workers(client, model, planted, expected):
    found = model.assign([da.from_array(X, chunks=(100, -1)) for X in planted[0]])
    computed = client.gather(client.compute([found.labels, found.embedding, found.confidence]))
    for name, values in zip(RESULTS, computed, strict=True):
        np.testing.assert_array_equal(values, getattr(expected, name))


@pytest.mark.parametrize("out", [None, "result", "result.zarr"])
@pytest.mark.parametrize("store", ["npy_path", "zarr_array", "dask_array", "read_only", "blocks_of"])
def test_workers_do_not_change_a_bit(store, out, client, model, planted, expected, tmp_path):
    views = [STORES[store](planted[0][0], tmp_path), planted[0][1]]
    path = None if out is None else tmp_path / out
    assert_same(model.assign(views, path, block_rows=70, client=client), expected)
    if path is not None:
        # Another call, without workers, finds the same results.
        assert_same(model.assign(views, path, block_rows=70), expected)


# Blocks that a worker assigns before it waits for the gate.
BEFORE_THE_GATE = 5


def close_gate(gate):
    """Let this worker wait after a few blocks until a file exists."""
    from mdt_fast._assignment.assigner import Assigner

    assign, n = Assigner.assign, 0

    def gated(self, X, n_jobs=None):
        nonlocal n
        n += 1
        while n > BEFORE_THE_GATE and not gate.exists():
            time.sleep(0.01)
        return assign(self, X, n_jobs)

    gated.without_gate = assign
    Assigner.assign = gated


def remove_gate():
    from mdt_fast._assignment.assigner import Assigner

    # A worker that was started in place of the killed one never had it.
    Assigner.assign = getattr(Assigner.assign, "without_gate", Assigner.assign)


def test_a_worker_is_killed_in_the_middle(client, model, planted, expected, tmp_path, monkeypatch):
    """The workers wait until one of them is killed, so no speed of the machine lets them finish before."""
    monkeypatch.setattr(manifest_module, "_INTERVAL", 0.0)
    pids = client.run(os.getpid)
    zarr_array(planted[0][0], tmp_path)
    np.save(tmp_path / "Y.npy", planted[0][1])
    views = [tmp_path / "X.zarr", tmp_path / "Y.npy"]
    manifest, gate = tmp_path / "result.zarr.manifest.json", tmp_path / "gate"

    def kill():
        while not manifest.exists() or n_done(manifest) < BEFORE_THE_GATE:
            time.sleep(0.01)
        seen.append(json.loads(manifest.read_text()))
        os.kill(next(iter(pids.values())), signal.SIGKILL)
        gate.touch()

    seen: list[dict] = []
    client.run(close_gate, gate)
    killer = threading.Thread(target=kill)
    killer.start()
    try:
        found = model.assign(views, tmp_path / "result.zarr", block_rows=5, client=client)
    finally:
        killer.join()
        client.run(remove_gate)
    assert_same(found, expected)
    # The worker ended in the middle.
    assert seen[0]["n_rows"] is None
    assert n_done(manifest) == N // 5


def test_a_result_is_lost_after_its_task(client, model, planted, expected, tmp_path, monkeypatch):
    """A worker may end between the end of its task and the transfer of the result."""
    result, lost = distributed.Future.result, []

    def lost_at_first(self, timeout=None):
        if len(lost) < 2:
            lost.append(self.key)
            raise type("FutureCancelledError", (distributed.CancelledError,), {})(self.key)
        return result(self, timeout)

    monkeypatch.setattr(distributed.Future, "result", lost_at_first)
    assert_same(model.assign(planted[0], tmp_path / "result", block_rows=100, client=client), expected)
    assert len(lost) == 2


def end_at_model(number, folder):
    """Let the worker end that receives the model as the given one of all workers, counted by files."""
    from mdt_fast._operators.operator_set import OperatorSet

    receive = OperatorSet.__setstate__

    def counted(self, state):
        (folder / str(os.getpid())).touch()
        if len(list(folder.iterdir())) == number:
            os._exit(1)
        receive(self, state)

    counted.without_end = receive
    OperatorSet.__setstate__ = counted


def end_at_no_model():
    from mdt_fast._operators.operator_set import OperatorSet

    OperatorSet.__setstate__ = getattr(OperatorSet.__setstate__, "without_end", OperatorSet.__setstate__)


@pytest.mark.parametrize("number", [1, 2])
@pytest.mark.parametrize("store", ["npy_path", "blocks_of"])
def test_a_worker_ends_while_it_receives_the_model(store, number, client, model, planted, expected, tmp_path):
    """A broadcast by `Client.scatter` waits for ever for such a worker."""
    (folder := tmp_path / "received").mkdir()
    client.run(end_at_model, number, folder)
    views = [STORES[store](planted[0][0], tmp_path), planted[0][1]]
    try:
        assert_same(model.assign(views, block_rows=70, client=client), expected)
    finally:
        client.run(end_at_no_model)
    assert len(list(folder.iterdir())) >= number


def wait_for(gate):
    while not gate.exists():
        time.sleep(0.01)


@pytest.mark.parametrize("hindrance", ["busy", "paused"])
def test_a_worker_that_takes_no_task_delays_nothing(hindrance, client, model, planted, expected, tmp_path):
    address, gate = next(iter(client.nthreads())), tmp_path / "gate"
    if hindrance == "busy":
        task = client.submit(wait_for, gate, workers=[address], pure=False)
        while not any(client.processing()[address]):
            time.sleep(0.01)
    else:
        client.run(set_status, "paused", workers=[address])
    try:
        assert_same(model.assign(planted[0], block_rows=70, client=client), expected)
    finally:
        if hindrance == "busy":
            assert not task.done()
            gate.touch()
            task.result()
        else:
            client.run(set_status, "running", workers=[address])


def set_status(status, dask_worker):
    dask_worker.status = getattr(type(dask_worker.status), status)


def n_done(manifest):
    return sum(end - first for first, end in json.loads(manifest.read_text())["done"])


def test_an_error_on_a_worker_names_the_row_and_keeps_blocks(client, model, planted, expected, tmp_path):
    views = [view.copy() for view in planted[0]]
    views[1][731, 2] = np.nan
    bad = [npy_path(X, tmp_path / name) for X, name in zip(views, "ab", strict=True) if not (tmp_path / name).mkdir()]
    with pytest.raises(ValueError, match=r"X \(view 1\): expected finite numbers, got nan at row 731 \(block 73\)"):
        model.assign(bad, tmp_path / "result", block_rows=10, client=client)
    done = (tmp_path / "result.manifest.json").read_text()
    assert '"done": [[0, ' in done
    np.save(bad[1], planted[0][1])
    assert_same(model.assign(bad, tmp_path / "result", block_rows=10, client=client), expected)


def test_a_full_disk_of_a_worker(client, model, planted, expected, tmp_path):
    import resource

    def limit(size):
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, resource.getrlimit(resource.RLIMIT_FSIZE)[1]))

    before = resource.getrlimit(resource.RLIMIT_FSIZE)[0]
    client.run(limit, 7000)
    try:
        with pytest.raises(OSError, match=r"out: .* File too large while block \d was written; \d blocks are kept"):
            model.assign(planted[0], tmp_path / "result", block_rows=100, client=client)
    finally:
        client.run(limit, before)
    assert_same(model.assign(planted[0], tmp_path / "result", block_rows=100, client=client), expected)


def end(parts):
    os._exit(1)


def test_a_worker_that_ends_again_and_again(client, model, planted, tmp_path):
    """What the kernel does to a worker that takes too much memory."""
    views = [da.from_array(X, chunks=(300, -1)) for X in planted[0]]
    views[0] = views[0].map_blocks(end, dtype="f4", meta=np.empty((0, 0), dtype="f4"))
    with pytest.raises(RuntimeError, match=r"client: expected workers that assign block \d \(rows \d+ to \d+\)"):
        model.assign(views, tmp_path / "result", block_rows=300, client=client)
