"""Threads, forked and spawned processes, sub-interpreters, and the end of the interpreter."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import subprocess
import sys
import textwrap
import threading
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import mdt_fast as mdt

# Enough for a busy machine; a deadlock would last for ever.
PATIENCE = 120


def small_job(seed: int) -> tuple[bytes, float]:
    """Build operators, search and cluster; return what must not depend on where it ran."""
    views = mdt.datasets.make_multiview_blobs(60, n_clusters=3, random_state=seed).views
    result = mdt.search(mdt.build_operators(views, n_jobs=2), 3, t=2)
    return result.labels.tobytes(), result.score


def large_product() -> bytes:
    """Multiply on the thread pool, in blocks that are kept between calls."""
    ops = mdt.build_operators(np.random.default_rng(0).normal(size=(3000, 3)), n_jobs=2)
    return (ops.trajectory([0, 0]) @ np.ones((3000, 64))).tobytes()


def run_script(script: str, *options: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-X", "faulthandler", *options, "-c", textwrap.dedent(script)],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )


def assert_quiet(done: subprocess.CompletedProcess[str]) -> None:
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


class TestThreads:
    def test_fifty_threads_at_once_give_the_results_of_one(self):
        expected = [small_job(seed) for seed in range(5)]
        barrier = threading.Barrier(50, timeout=PATIENCE)

        def work(number):
            barrier.wait()
            return small_job(number % 5)

        with ThreadPoolExecutor(50) as pool:
            found = list(pool.map(work, range(50)))
        assert found == expected * 10

    def test_an_array_that_changes_during_a_call_is_no_panic(self, rng):
        x = rng.normal(size=(400, 3))
        graph = mdt.build_operators(x).views[0].copy()
        labels = np.arange(400) % 4
        ops = mdt.build_operators(x)
        is_done = threading.Event()

        def scribble():
            generator = np.random.default_rng(0)
            while not is_done.is_set():
                row = generator.integers(400)
                x[row] = generator.choice([np.nan, np.inf, 0.0, 1e308, -1.0])
                graph.indices[generator.integers(len(graph.indices))] = generator.integers(-(10**8), 10**8)
                graph.indptr[generator.integers(401)] = generator.integers(-5, 10**8)
                labels[row] = generator.integers(-9, 10**6)

        calls = [
            lambda: mdt.nearest_neighbors(x, 5),
            lambda: mdt.nearest_neighbors(x, 5, method="approx"),
            lambda: mdt.k_means(x, 4, n_init=2),
            lambda: mdt.OperatorSet.from_transitions([graph]),
            lambda: mdt.quality.information(ops, labels),
            lambda: mdt.quality.silhouette(ops, labels),
            lambda: mdt.build_operators([x]),
            lambda: ops.mean() @ x,
        ]
        writer = threading.Thread(target=scribble)
        writer.start()
        try:
            for number in range(160):
                # A wrong number or an error, but neither a panic, which is no Exception, nor a crash.
                with warnings.catch_warnings(), contextlib.suppress(Exception):
                    warnings.simplefilter("ignore")
                    calls[number % len(calls)]()
        finally:
            is_done.set()
            writer.join()


class TestProcesses:
    @pytest.mark.parametrize("method", ["spawn", "forkserver"])
    def test_a_new_process_gives_the_same_results(self, method):
        with multiprocessing.get_context(method).Pool(2) as pool:
            found = pool.map_async(small_job, range(3)).get(timeout=PATIENCE)
        assert found == [small_job(seed) for seed in range(3)]

    @pytest.mark.skipif(not hasattr(os, "fork"), reason="the system has no fork")
    @pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
    def test_children_forked_while_threads_work_do_not_wait_for_ever(self):
        is_done = threading.Event()

        def work():
            while not is_done.is_set():
                large_product()

        expected = large_product()
        workers = [threading.Thread(target=work) for _ in range(2)]
        for worker in workers:
            worker.start()
        try:
            context = multiprocessing.get_context("fork")
            for _ in range(10):
                answers = context.SimpleQueue()
                child = context.Process(target=lambda answers=answers: answers.put(large_product() == expected))
                child.start()
                child.join(timeout=PATIENCE)
                is_stuck = child.is_alive()
                child.kill()
                assert not is_stuck
                assert child.exitcode == 0
                assert answers.get()
        finally:
            is_done.set()
            for worker in workers:
                worker.join()

    def test_development_mode_with_warnings_as_errors(self):
        assert_quiet(
            run_script(
                """
                import mdt_fast as mdt
                views = mdt.datasets.make_multiview_blobs(60, n_clusters=3, random_state=0).views
                mdt.search(mdt.build_operators(views), 3, t=2)
                mdt.MDTClustering(n_clusters=3).fit(views)
                """,
                "-X",
                "dev",
                "-W",
                "error",
            )
        )


class TestEndOfTheInterpreter:
    @pytest.mark.parametrize("finalizer", ["0", "0.3"])
    def test_daemon_threads_with_callbacks_end_quietly(self, finalizer):
        # The main thread ends while two others search and call back; a slow finalizer gives them time to meet the
        # end of the interpreter at every point of a call.
        script = f"""
            import threading, time
            import mdt_fast as mdt

            class Slow:
                def __del__(self):
                    time.sleep({finalizer})

            views = mdt.datasets.make_multiview_blobs(100, n_clusters=3, random_state=0).views
            ops = mdt.build_operators(views)
            begun = threading.Semaphore(0)

            def quality(ops, labels, coordinates):
                begun.release()
                time.sleep(0.01)
                return float(labels[0])

            def search():
                strategy = mdt.strategies.RandomSequences(n=100_000)
                mdt.search(ops, 3, t=12, strategy=strategy, quality=quality, progress=lambda seen: time.sleep(0.01))

            for _ in range(2):
                threading.Thread(target=search, daemon=True).start()
            for _ in range(4):
                begun.acquire()
            slow = Slow()
        """
        for _ in range(4):
            assert_quiet(run_script(script))

    def test_sub_interpreters_are_refused_with_a_reason(self):
        done = run_script(
            """
            import warnings
            warnings.simplefilter("ignore")
            try:
                import _interpreters as interpreters
            except ImportError:
                import _xxsubinterpreters as interpreters
            import mdt_fast._core
            code = '''
            import warnings
            warnings.simplefilter("ignore")
            try:
                import mdt_fast._core
            except ImportError as error:
                assert "interpreter" in str(error) or "once per process" in str(error), error
                print("refused")
            '''
            import textwrap
            interpreters.run_string(interpreters.create(), textwrap.dedent(code))
            """
        )
        assert done.returncode == 0, done.stderr
        assert "refused" in done.stdout
