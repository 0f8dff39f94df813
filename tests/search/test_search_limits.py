"""Time limits, progress, callables, threads and interrupts of a search."""

from __future__ import annotations

import itertools
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest
import scipy.optimize

import mdt_fast as mdt
from helpers.searches import SEARCHES, Counted, K, assert_same, fresh, scored, search, skip_without_package, strategies
from mdt_fast.strategies import (
    CMA,
    MCTS,
    Beam,
    Contrastive,
    Direct,
    EpsilonGreedy,
    Exhaustive,
    Given,
    Greedy,
    RandomSequences,
    RandomWeights,
)

# Far longer than any test.
LONG = {
    "random": {"strategy": RandomSequences(n=10**5), "t": 60},
    "beam": {"strategy": Beam(max_steps=10**4)},
    "greedy": {"strategy": Greedy(max_steps=10**4)},
    "epsilon-greedy": {"strategy": EpsilonGreedy(max_steps=10**4)},
    "mcts": {"strategy": MCTS(playouts=10**6, max_steps=40)},
    "exhaustive": {"strategy": Exhaustive(max_steps=15)},
    "convex": {"strategy": RandomWeights(n=10**5), "t": 20},
    "direct": {"strategy": Direct(evaluations=10**5), "t": 3},
    "cma": {"strategy": CMA(evaluations=10**5), "t": 3},
    "contrastive": {"strategy": Contrastive(steps=10**6, tol=0.0), "t": 3},
}


def test_the_objective_of_direct_does_not_raise(monkeypatch):
    """Before 1.17.1, `scipy.optimize.direct` raises SystemError from what its objective raises."""

    def hiding(*args, **kwargs):
        try:
            return direct(*args, **kwargs)
        except (SystemError, KeyboardInterrupt):
            raise
        except BaseException as error:
            raise SystemError("returned a result with an exception set") from error

    expected = search(fresh(), **SEARCHES["direct"], max_evaluations=5)
    direct = scipy.optimize.direct
    monkeypatch.setattr(scipy.optimize, "direct", hiding)
    assert_same(search(fresh(), **SEARCHES["direct"], max_evaluations=5), expected)


class TestTimeLimit:
    @scored
    def test_a_slow_quality(self, strategy):
        # Before the clock starts: the import of a package may take seconds.
        skip_without_package(LONG[strategy]["strategy"])
        quality = Counted(pause=0.05)
        begin = time.perf_counter()
        res = search(fresh(), quality=quality, time_limit=0.2, **LONG[strategy])
        assert time.perf_counter() - begin < 1.5
        assert res.stopped == "time_limit"
        assert 1 <= res.n_evaluations <= quality.n_calls < 20
        # At most the evaluations in progress are lost.
        assert quality.n_calls - res.n_evaluations <= os.cpu_count()
        assert res.score == res.history["score"].max()
        assert res.labels is not None

    @strategies
    def test_at_least_one_is_evaluated(self, strategy):
        res = search(fresh(), time_limit=1e-9, **SEARCHES[strategy])
        assert res.n_evaluations >= 1
        assert res.score == res.history["score"].max()

    @strategies
    def test_long_searches_stop(self, strategy):
        begin = time.perf_counter()
        res = search(fresh(0, 60), time_limit=0.05, **LONG[strategy])
        assert time.perf_counter() - begin < 1.0
        assert res.n_evaluations >= 1
        assert res.stopped == "time_limit"
        assert res.score == res.history["score"].max()

    @strategies
    def test_a_long_limit_does_not_change_the_result(self, strategy):
        limited, free = (search(fresh(), time_limit=limit, **SEARCHES[strategy]) for limit in (60, None))
        assert_same(limited, free)
        assert limited.stopped == free.stopped != "time_limit"


class TestProgress:
    def test_reports(self):
        reports = []
        res = search(fresh(), strategy=Beam(max_steps=8), quality=Counted(0.02), progress=reports.append)
        assert reports
        for report in reports:
            assert isinstance(report, mdt.Progress)
            assert 0 <= report.n_evaluations <= res.n_evaluations
            assert report.n_total is None or report.n_total >= report.n_evaluations
            assert 0 <= report.depth <= 8
            assert report.seconds >= 0
            assert report.seconds_left is None or report.seconds_left >= 0
        counts = [report.n_evaluations for report in reports]
        assert all(a <= b for a, b in itertools.pairwise(counts))
        assert counts[-1] > counts[0] or len(counts) == 1
        seconds = [report.seconds for report in reports]
        assert seconds == sorted(seconds)
        # The best so far; candidates of one length are scored in parallel, in any order.
        best = [report.best_score for report in reports if report.n_evaluations]
        assert best == sorted(best)
        assert set(best) <= set(res.history["score"])
        assert best[-1] == res.history["score"].max()

    @strategies
    @pytest.mark.parametrize("native", [True, False], ids=["native", "callable"])
    def test_an_exception_of_the_callable_is_raised(self, strategy, native):
        class StopError(Exception):
            pass

        def stop(report):
            raise StopError("so much")

        options = LONG[strategy] | ({} if native or strategy == "contrastive" else {"quality": Counted()})
        with pytest.raises(StopError, match="so much"):
            search(fresh(0, 60), progress=stop, **options)

    def test_progress_does_not_change_the_result(self):
        seen = []
        assert_same(
            search(fresh(), strategy=Beam(max_steps=4), progress=seen.append),
            search(fresh(), strategy=Beam(max_steps=4), progress=False),
        )

    @pytest.mark.parametrize("progress", [None, False])
    def test_no_output_without_a_terminal(self, progress, capfd):
        search(fresh(), strategy=Beam(max_steps=4), quality=Counted(0.01), progress=progress)
        assert capfd.readouterr() == ("", "")

    def test_progress_bar(self, capfd):
        search(fresh(), strategy=Beam(max_steps=4), quality=Counted(0.03), progress=True)
        out, err = capfd.readouterr()
        assert not out
        assert err


class TestCallables:
    @scored
    def test_callable_that_raises(self, strategy):
        class BrokenError(Exception):
            pass

        calls = []

        def quality(ops, labels, coordinates):
            calls.append(1)
            if len(calls) == 4:
                raise BrokenError("the fourth")
            return float(len(calls))

        with pytest.raises(BrokenError, match="the fourth"):
            search(fresh(), quality=quality, **SEARCHES[strategy])

    @scored
    @pytest.mark.parametrize(
        "value",
        [np.nan, "good", None, 1j, np.array([1.0, 2.0]), [1.0]],
        ids=["nan", "str", "None", "complex", "array", "list"],
    )
    def test_callable_that_returns_no_number(self, strategy, value):
        calls = []

        def quality(ops, labels, coordinates):
            calls.append(1)
            return value if len(calls) == 3 else float(len(calls))

        with pytest.raises(ValueError, match=r"(?i)quality"):
            search(fresh(), quality=quality, **SEARCHES[strategy])

    @pytest.mark.parametrize("value", [np.nan, "good"])
    @pytest.mark.parametrize(
        "options",
        [
            {"strategy": Given([0, 1, 1])},
            {"strategy": RandomSequences(probabilities=np.eye(2)[[0, 1, 1]]), "t": 3},
        ],
        ids=["by hand", "random"],
    )
    def test_the_trajectory_is_named(self, value, options):
        with pytest.raises(ValueError, match=r"0\W+1\W+1\b(?!\.)|view 1 @ view 1 @ view 0"):
            search(fresh(), quality=lambda *_: value, **options)

    def test_callable_that_calls_the_library(self):
        def quality(ops, labels, coordinates):
            again = mdt.k_means(mdt.embed(ops.trajectory([0, 1]), 2).coordinates, K, random_state=0).labels
            nested = mdt.search(ops, K, strategy=Beam(max_steps=2), progress=False)
            rebuilt = fresh(1)
            agree = mdt.quality.silhouette(rebuilt, again)
            return mdt.quality.calinski_harabasz(ops, labels) + 1e-3 * nested.score + 1e-3 * agree

        for n_jobs in (1, 2):
            res = search(fresh(), strategy=Beam(max_steps=3), quality=quality, n_jobs=n_jobs)
            plain = search(fresh(), strategy=Beam(max_steps=3), n_jobs=n_jobs)
            difference = res.history["score"][:2] - plain.history["score"][:2]
            assert difference[0] == pytest.approx(difference[1])

    def test_callable_that_changes_its_arguments(self):
        """A quality that changes its arrays does not change the search."""

        def quality(ops, labels, coordinates):
            score = mdt.quality.calinski_harabasz(ops, labels)
            for array in (labels, coordinates):
                if array.flags.writeable:
                    array[:] = 0
            return score

        assert_same(search(fresh(), quality=quality, **SEARCHES["beam"]), search(fresh(), **SEARCHES["beam"]))


class TestThreads:
    def test_two_searches_at_once(self):
        cases = [
            (fresh(1, 150), {"strategy": Beam(max_steps=6)}),
            (fresh(2, 150), {"strategy": MCTS(max_steps=6)}),
            (fresh(3, 60), {"strategy": Beam(max_steps=4), "quality": Counted()}),
        ]
        alone = [search(ops, **options) for ops, options in cases]
        together = [None] * len(cases)
        barrier = threading.Barrier(len(cases))

        def run(slot):
            ops, options = cases[slot]
            barrier.wait()
            together[slot] = search(ops, **options)

        threads = [threading.Thread(target=run, args=(slot,)) for slot in range(len(cases))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for one, other in zip(alone, together, strict=True):
            assert_same(one, other)

    @strategies
    @pytest.mark.parametrize("dtype", ["float64", "float32"])
    def test_same_history_at_any_number_of_threads(self, strategy, dtype):
        ops = fresh(4, 200, 3, dtype)
        options = SEARCHES[strategy]
        results = [search(ops, n_jobs=n_jobs, **options) for n_jobs in (1, 2, 4)]
        for other in results[1:]:
            assert_same(results[0], other)
        own = search(fresh(4, 200, 3, dtype, n_jobs=1), **options)
        assert_same(results[0], own)

    def test_callables_at_any_number_of_threads(self):
        results = [search(fresh(5, 60), quality=Counted(), n_jobs=n_jobs, **SEARCHES["beam"]) for n_jobs in (1, 2, 4)]
        for other in results[1:]:
            assert_same(results[0], other)
        assert_same(results[0], search(fresh(5, 60), **SEARCHES["beam"]))


INTERRUPTED = """
    import signal, sys, time
    import numpy as np
    import mdt_fast as mdt

    # A shell may start this process with the signal ignored.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    rng = np.random.default_rng(0)
    ops = mdt.build_operators([rng.normal(size=(5000, 3)), rng.normal(size=(5000, 3))], n_neighbors=12)
    print("started", flush=True)
    try:
        mdt.search(ops, 10, progress=False, CALL)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    else:
        print("finished", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT cannot be sent to one process there")
@pytest.mark.parametrize(
    "call",
    [
        "strategy=mdt.strategies.Beam(max_steps=3000)",
        "strategy=mdt.strategies.MCTS(playouts=10**6, max_steps=300)",
        "strategy=mdt.strategies.Contrastive(steps=10**6, tol=0.0), t=8",
        "strategy=mdt.strategies.Direct(evaluations=10**6), t=8",
        "strategy=[0, 1] * 20_000",
    ],
)
def test_ctrl_c_ends_a_search_within_a_second(call):
    script = textwrap.dedent(INTERRUPTED).replace("CALL", call)
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout.readline() == "started\n"
            time.sleep(0.6)
            sent = time.perf_counter()
            child.send_signal(signal.SIGINT)
            answer = child.stdout.readline()
            elapsed = time.perf_counter() - sent
        finally:
            child.kill()
    assert answer == "interrupted\n"
    assert elapsed < 1.0
