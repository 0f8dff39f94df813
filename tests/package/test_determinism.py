"""Same bits for any number of threads; the interpreter lock is released; Ctrl-C is handled."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
import scipy.sparse

import mdt_fast as mdt

THREADS = [1, 2, 3, 8]
N_SAMPLES = 2500  # many chunks of rows for every thread


def bits(value):
    """The value as bytes; sparse arrays with their structure."""
    if scipy.sparse.issparse(value):
        return tuple(bits(part) for part in (value.indptr, value.indices, value.data))
    return np.ascontiguousarray(value).tobytes()


@pytest.fixture(scope="module")
def clouds():
    rng = np.random.default_rng(8)
    return [
        rng.normal(size=(N_SAMPLES, 30)),
        rng.normal(size=(N_SAMPLES, 2)),
        rng.normal(size=(N_SAMPLES, 80)),
    ]


@pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine", "correlation"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_neighbours_do_not_depend_on_threads(clouds, metric, dtype):
    X = clouds[0].astype(dtype)
    results = {tuple(map(bits, mdt.nearest_neighbors(X, 9, metric=metric, n_jobs=n))) for n in THREADS}
    assert len(results) == 1


def test_ties_do_not_depend_on_threads():
    X = np.random.default_rng(9).integers(0, 4, size=(N_SAMPLES, 5)).astype(float)
    assert len({bits(mdt.nearest_neighbors(X, 7, n_jobs=n)[0]) for n in THREADS}) == 1


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"kernel": "adaptive", "symmetrize": "max"},
        {"anisotropy": 1.0, "kernel": "laplacian"},
        {"preset": "published"},
    ],
    ids=str,
)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_operators_do_not_depend_on_threads(clouds, options, dtype):
    results = set()
    for n_jobs in THREADS:
        ops = mdt.build_operators(clouds, dtype=dtype, n_jobs=n_jobs, **options)
        results.add(tuple(bits(P) for P in ops.views))
    assert len(results) == 1


@pytest.mark.parametrize(
    "compute",
    [
        lambda W, B: W @ B,
        lambda W, B: W.T @ B,
        lambda W, B: W @ B[:, 0],
        lambda W, B: W.T @ B[:, 0],
        lambda W, B: W.tosparse(prune_below=1e-4, top=50),
        lambda W, B: W.toarray(),
        lambda W, B: W.stationary_distribution(),
        lambda W, B: W.diffusion_distances(np.arange(0, N_SAMPLES, 100), weighting="uniform"),
    ],
    ids=[
        "product",
        "transposed",
        "vector",
        "transposed vector",
        "sparse",
        "dense",
        "stationary",
        "distances",
    ],
)
@pytest.mark.parametrize("kind", ["sequence", "weights"])
def test_trajectories_do_not_depend_on_threads(clouds, compute, kind):
    rng = np.random.default_rng(10)
    B = rng.normal(size=(N_SAMPLES, 33))
    # The teleport members make the stationary distribution unique and quick to find.
    steps = [3, 1, 5, 4] if kind == "sequence" else rng.dirichlet(np.ones(6), size=3)
    results = set()
    for n_jobs in THREADS:
        ops = mdt.build_operators(clouds, n_jobs=n_jobs).with_teleport(0.7)
        results.add(bits(compute(ops.trajectory(steps), B)))
    assert len(results) == 1


def test_two_calls_give_the_same_bits(clouds):
    first, second = (mdt.build_operators(clouds).trajectory([0, 1, 2]) for _ in range(2))
    B = np.random.default_rng(12).normal(size=(N_SAMPLES, 4))
    assert bits(first @ B) == bits(second @ B)


def neighbour_search():
    X = np.random.default_rng(13).normal(size=(24_000, 120))
    return lambda: mdt.nearest_neighbors(X, 15, n_jobs=1)


def chain_product():
    n, k = 60_000, 15
    rng = np.random.default_rng(14)
    indices = rng.integers(0, n, size=(n, k)).astype(np.int32)
    P = scipy.sparse.csr_array((np.full(n * k, 1 / k), indices.ravel(), np.arange(0, n * k + 1, k)), shape=(n, n))
    W = mdt.OperatorSet.from_transitions([P], n_jobs=1).trajectory([0] * 120)
    B = rng.normal(size=(n, 32))
    return lambda: W @ B


@pytest.mark.parametrize("prepare", [neighbour_search, chain_product])
def test_other_python_threads_run_during_long_work(prepare):
    work = prepare()
    ticks, done = [], threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    ticker = threading.Thread(target=tick)
    ticker.start()
    start = time.perf_counter()
    try:
        work()
    finally:
        end = time.perf_counter()
        done.set()
        ticker.join()
    during = [start, *(moment for moment in ticks if start <= moment <= end), end]
    # Work that held the lock would leave a gap of its whole length.
    assert end - start > 0.1, "too short to tell: enlarge the work"
    assert np.diff(during).max() < 0.5 * (end - start)


def test_two_threads_work_at_once_and_get_right_answers():
    # Both run in the core at the same time, and each must get its own result.
    rng = np.random.default_rng(15)
    clouds = [rng.normal(size=(6000, 60)) for _ in range(2)]
    alone = [mdt.nearest_neighbors(X, 8, n_jobs=1) for X in clouds]
    spans, together = [None, None], [None, None]
    barrier = threading.Barrier(2)

    def run(slot):
        barrier.wait()
        start = time.perf_counter()
        together[slot] = mdt.nearest_neighbors(clouds[slot], 8, n_jobs=1)
        spans[slot] = (start, time.perf_counter())

    threads = [threading.Thread(target=run, args=(slot,)) for slot in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for expected, got in zip(alone, together, strict=True):
        np.testing.assert_array_equal(got[0], expected[0])
        np.testing.assert_array_equal(got[1], expected[1])
    overlap = min(end for _, end in spans) - max(start for start, _ in spans)
    assert overlap > 0


LONG_SEARCH = """
    import signal, sys, time
    import numpy as np
    import mdt_fast as mdt

    # A shell may start this process with the signal ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    X = np.random.default_rng(0).normal(size=(60_000, 400))
    print("started", flush=True)
    try:
        CALL
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    else:
        print("finished", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT cannot be sent to one process there")
@pytest.mark.parametrize("call", ["mdt.build_operators(X)", "mdt.nearest_neighbors(X, 15, n_jobs=1)"])
def test_ctrl_c_ends_a_long_search_within_a_second(call):
    import signal

    script = textwrap.dedent(LONG_SEARCH).replace("CALL", call)
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout.readline() == "started\n"
            time.sleep(1.5)  # well inside the search, which takes far longer
            sent = time.perf_counter()
            child.send_signal(signal.SIGINT)
            answer = child.stdout.readline()
            elapsed = time.perf_counter() - sent
        finally:
            child.kill()
    assert answer == "interrupted\n"
    assert elapsed < 1.0


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_works_in_a_forked_process():
    """Threads kept from an earlier call do not exist in a forked process, which must start its own."""
    script = """
        import os, warnings
        import numpy as np
        import mdt_fast as mdt
        X = np.random.default_rng(0).normal(size=(3000, 10))
        expected = mdt.nearest_neighbors(X, 5, n_jobs=2)[0]
        warnings.simplefilter("ignore")
        child = os.fork()
        if child == 0:
            same = np.array_equal(mdt.nearest_neighbors(X, 5, n_jobs=2)[0], expected)
            os._exit(0 if same else 1)
        raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=True, timeout=60)
