"""What a user expects of a long search: limits, progress, interrupts, threads and checkpoints."""

from __future__ import annotations

import itertools
import json
import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import mdt_fast as mdt

K = 3
COLUMNS = ("parent", "depth", "score")


def tiny(seed=0, n=16, n_views=2, dtype="float64", n_jobs=None):
    """Three loose clusters, with so many neighbours that no graph is in parts."""
    rng = np.random.default_rng(seed)
    clusters = np.arange(n) % K
    Xs = [2 * rng.normal(size=(K, 2))[clusters] + rng.normal(size=(n, 2)) for _ in range(n_views)]
    return mdt.build_operators(Xs, n_neighbors=min(n // 2, 24), dtype=dtype, n_jobs=n_jobs)


def search(ops, n_clusters=K, **options):
    if isinstance(strategy := options.get("strategy"), str) and strategy == "cma":
        pytest.importorskip("cma")
    return mdt.search(ops, n_clusters, **{"progress": False, **options})


def assert_same(first, second):
    """Equal answers and histories, save for the time they took."""
    assert len(first.candidates) == len(second.candidates)
    for one, other in zip(first.candidates, second.candidates, strict=True):
        np.testing.assert_array_equal(one, other)
    for column in COLUMNS:
        np.testing.assert_array_equal(first.history[column], second.history[column])
    assert first.best == second.best
    assert first.score == second.score or (np.isnan(first.score) and np.isnan(second.score))
    np.testing.assert_array_equal(first.trajectory.weights, second.trajectory.weights)
    np.testing.assert_array_equal(first.labels, second.labels)


class Counted:
    """A quality that counts its calls and may take its time."""

    def __init__(self, pause=0.0):
        self.n_calls = 0
        self.pause = pause

    def __call__(self, ops, labels, coordinates):
        self.n_calls += 1
        time.sleep(self.pause)
        return mdt.quality.calinski_harabasz(ops, labels)


SEARCHES = {
    "random": {"t": 5, "n_samples": 10},
    "beam": {"max_steps": 4},
    "greedy": {"max_steps": 6},
    "epsilon-greedy": {"max_steps": 6, "epsilon": 0.5},
    "mcts": {"max_steps": 5, "n_playouts": 25},
    "exhaustive": {"max_steps": 3},
    "convex": {"t": 3, "n_samples": 10},
    "direct": {"t": 2, "max_evaluations": 20},
    "cma": {"t": 2, "max_evaluations": 20},
    "contrastive": {"t": 3, "max_iter": 12},
}
# Far longer than any test waits.
LONG = {
    "random": {"t": 60, "n_samples": 10**5},
    "beam": {"max_steps": 10**4},
    "greedy": {"max_steps": 10**4},
    "epsilon-greedy": {"max_steps": 10**4},
    "mcts": {"max_steps": 40, "n_playouts": 10**6},
    "exhaustive": {"max_steps": 15},
    "convex": {"t": 20, "n_samples": 10**5},
    "direct": {"t": 3, "max_evaluations": 10**5},
    "cma": {"t": 3, "max_evaluations": 10**5},
    "contrastive": {"t": 3, "max_iter": 10**6},
}
strategies = pytest.mark.parametrize("strategy", SEARCHES)
scored = pytest.mark.parametrize("strategy", [name for name in SEARCHES if name != "contrastive"])


class TestTimeLimit:
    @scored
    def test_a_slow_quality(self, strategy):
        quality = Counted(pause=0.05)
        options = SEARCHES[strategy] | {"n_samples": 100, "n_playouts": 100, "max_evaluations": 100}
        begin = time.perf_counter()
        res = search(tiny(), strategy=strategy, quality=quality, time_limit=0.2, **options | {"t": 12, "max_steps": 40})
        assert time.perf_counter() - begin < 1.5
        assert res.stopped == "time_limit"
        assert 1 <= res.n_evaluations <= quality.n_calls < 20
        # Lost are at most those under way.
        assert quality.n_calls - res.n_evaluations <= os.cpu_count()
        assert res.score == res.history["score"].max()
        assert res.labels is not None

    @strategies
    def test_at_least_one_is_evaluated(self, strategy):
        res = search(tiny(), strategy=strategy, time_limit=1e-9, **SEARCHES[strategy])
        assert res.n_evaluations >= 1
        assert res.score == res.history["score"].max()

    @strategies
    def test_long_ones_are_cut(self, strategy):
        begin = time.perf_counter()
        res = search(tiny(0, 60), strategy=strategy, time_limit=0.05, **LONG[strategy])
        assert time.perf_counter() - begin < 1.0
        assert res.n_evaluations >= 1
        assert res.stopped == "time_limit"
        assert res.score == res.history["score"].max()

    @strategies
    def test_enough_time_changes_nothing(self, strategy):
        limited, free = (
            search(tiny(), strategy=strategy, time_limit=limit, **SEARCHES[strategy]) for limit in (60, None)
        )
        assert_same(limited, free)
        assert limited.stopped == free.stopped != "time_limit"


class TestProgress:
    def test_reports(self):
        reports = []
        res = search(tiny(), strategy="beam", max_steps=8, quality=Counted(0.02), progress=reports.append)
        assert reports
        for report in reports:
            assert isinstance(report, mdt.SearchProgress)
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
        # The best so far; candidates of one length are scored side by side, and may come in any order.
        best = [report.best_score for report in reports if report.n_evaluations]
        assert best == sorted(best)
        assert set(best) <= set(res.history["score"])
        assert best[-1] == res.history["score"].max()

    @strategies
    @pytest.mark.parametrize("native", [True, False], ids=["native", "callable"])
    def test_an_exception_of_the_callable_comes_out(self, strategy, native):
        class StopError(Exception):
            pass

        def stop(report):
            raise StopError("so much")

        options = LONG[strategy] | ({} if native or strategy == "contrastive" else {"quality": Counted()})
        with pytest.raises(StopError, match="so much"):
            search(tiny(0, 60), strategy=strategy, progress=stop, **options)

    def test_it_changes_nothing(self):
        seen = []
        assert_same(search(tiny(), max_steps=4, progress=seen.append), search(tiny(), max_steps=4, progress=False))

    @pytest.mark.parametrize("progress", [None, False])
    def test_silence_where_there_is_no_terminal(self, progress, capfd):
        search(tiny(), max_steps=4, quality=Counted(0.01), progress=progress)
        assert capfd.readouterr() == ("", "")

    def test_a_bar_on_demand(self, capfd):
        search(tiny(), max_steps=4, quality=Counted(0.03), progress=True)
        out, err = capfd.readouterr()
        assert not out
        assert err


class TestCallables:
    @scored
    def test_that_raises(self, strategy):
        class BrokenError(Exception):
            pass

        calls = []

        def quality(ops, labels, coordinates):
            calls.append(1)
            if len(calls) == 4:
                raise BrokenError("the fourth")
            return float(len(calls))

        with pytest.raises(BrokenError, match="the fourth"):
            search(tiny(), strategy=strategy, quality=quality, **SEARCHES[strategy])

    @scored
    @pytest.mark.parametrize(
        "value",
        [np.nan, "good", None, 1j, np.array([1.0, 2.0]), [1.0]],
        ids=["nan", "str", "None", "complex", "array", "list"],
    )
    def test_that_returns_no_number(self, strategy, value):
        calls = []

        def quality(ops, labels, coordinates):
            calls.append(1)
            return value if len(calls) == 3 else float(len(calls))

        with pytest.raises(ValueError, match=r"(?i)quality"):
            search(tiny(), strategy=strategy, quality=quality, **SEARCHES[strategy])

    @pytest.mark.parametrize("value", [np.nan, "good"])
    @pytest.mark.parametrize(
        "options",
        [
            {"strategy": [0, 1, 1]},
            {"strategy": "random", "t": 3, "probabilities": np.eye(2)[[0, 1, 1]]},
        ],
        ids=["by hand", "random"],
    )
    def test_the_trajectory_is_named(self, value, options):
        with pytest.raises(ValueError, match=r"0\W+1\W+1\b(?!\.)|view 1 @ view 1 @ view 0"):
            search(tiny(), quality=lambda *_: value, **options)

    def test_that_calls_the_library(self):
        def quality(ops, labels, coordinates):
            again = mdt.k_means(mdt.embed(ops.trajectory([0, 1]), 2).coordinates, K, random_state=0).labels
            nested = mdt.search(ops, K, max_steps=2, progress=False)
            rebuilt = tiny(1)
            agree = mdt.quality.silhouette(rebuilt, again)
            return mdt.quality.calinski_harabasz(ops, labels) + 1e-3 * nested.score + 1e-3 * agree

        for n_jobs in (1, 2):
            res = search(tiny(), max_steps=3, quality=quality, n_jobs=n_jobs)
            plain = search(tiny(), max_steps=3, n_jobs=n_jobs)
            difference = res.history["score"][:2] - plain.history["score"][:2]
            assert difference[0] == pytest.approx(difference[1])

    def test_that_spoils_its_arguments(self):
        """What a quality does to its arrays is its own affair."""

        def quality(ops, labels, coordinates):
            score = mdt.quality.calinski_harabasz(ops, labels)
            for array in (labels, coordinates):
                if array.flags.writeable:
                    array[:] = 0
            return score

        assert_same(search(tiny(), max_steps=4, quality=quality), search(tiny(), max_steps=4))


class TestThreads:
    def test_two_searches_at_once(self):
        cases = [(tiny(1, 150), {"max_steps": 6}), (tiny(2, 150), {"strategy": "mcts", "max_steps": 6})]
        cases += [(tiny(3, 60), {"max_steps": 4, "quality": Counted()})]
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
        ops = tiny(4, 200, 3, dtype)
        options = SEARCHES[strategy] | {"max_steps": 3}
        results = [search(ops, strategy=strategy, n_jobs=n_jobs, **options) for n_jobs in (1, 2, 4)]
        for other in results[1:]:
            assert_same(results[0], other)
        own = search(tiny(4, 200, 3, dtype, n_jobs=1), strategy=strategy, **options)
        assert_same(results[0], own)

    def test_callables_too(self):
        results = [search(tiny(5, 60), quality=Counted(), max_steps=4, n_jobs=n_jobs) for n_jobs in (1, 2, 4)]
        for other in results[1:]:
            assert_same(results[0], other)
        assert_same(results[0], search(tiny(5, 60), max_steps=4))


INTERRUPTED = """
    import signal, sys, time
    import numpy as np
    import mdt_fast as mdt

    # A shell may have started us with the signal ignored.
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
        "strategy='beam', max_steps=3000",
        "strategy='mcts', max_steps=300, n_playouts=10**6",
        "strategy='contrastive', t=8, max_iter=10**6",
        "strategy='direct', t=8, max_evaluations=10**6",
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


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The bytes of a checkpoint, and its search."""
    path = tmp_path_factory.mktemp("checkpoint") / "search.json"
    res = search(tiny(), max_steps=3, checkpoint=path)
    return path.read_bytes(), res


class TestCheckpoint:
    @strategies
    @pytest.mark.parametrize("native", [True, False], ids=["native", "callable"])
    def test_a_finished_search_is_replayed(self, strategy, native, tmp_path):
        path, quality = tmp_path / "search.json", Counted()
        options = SEARCHES[strategy] | ({} if native or strategy == "contrastive" else {"quality": quality})
        plain = search(tiny(), strategy=strategy, **options)
        first = search(tiny(), strategy=strategy, checkpoint=path, **options)
        assert path.is_file()
        quality.n_calls = 0
        again = search(tiny(), strategy=strategy, checkpoint=str(path), **options)
        assert quality.n_calls == 0
        assert_same(plain, first)
        assert_same(plain, again)
        assert first.stopped == again.stopped == plain.stopped
        assert first.converged == again.converged == plain.converged

    @strategies
    @pytest.mark.parametrize("native", [True, False], ids=["native", "callable"])
    def test_a_stopped_search_goes_on(self, strategy, native, tmp_path):
        path, quality = tmp_path / "search.json", Counted()
        options = SEARCHES[strategy] | ({} if native or strategy == "contrastive" else {"quality": quality})
        plain = search(tiny(), strategy=strategy, **options)
        for budget in (1, 4, 6):
            cut = search(tiny(), strategy=strategy, checkpoint=path, **options | {"max_evaluations": budget})
            assert cut.n_evaluations == budget
            assert cut.stopped == "max_evaluations"
        quality.n_calls = 0
        whole = search(tiny(), strategy=strategy, checkpoint=path, **options)
        assert_same(plain, whole)
        assert whole.stopped == plain.stopped
        assert quality.n_calls < plain.n_evaluations
        # Fewer evaluations than the file holds.
        less = search(tiny(), strategy=strategy, checkpoint=path, **options | {"max_evaluations": 3})
        assert less.n_evaluations == 3
        np.testing.assert_array_equal(less.history["score"], plain.history["score"][:3])

    def test_what_does_not_change_the_answer_may_differ(self, tmp_path):
        path, ops = tmp_path / "search.json", tiny(3, 60)
        plain = search(ops, max_steps=4)
        search(ops, max_steps=4, checkpoint=path, max_evaluations=5, n_jobs=1)
        other = search(
            ops, max_steps=4, checkpoint=path, n_jobs=2, memory_budget=2**22, time_limit=100, progress=lambda _: None
        )
        assert_same(plain, other)

    def test_a_run_out_of_time_goes_on(self, tmp_path):
        path, quality = tmp_path / "search.json", Counted(0.02)
        cut = search(tiny(), max_steps=4, quality=quality, checkpoint=path, time_limit=0.15)
        assert cut.stopped == "time_limit"
        quality.pause = 0
        assert_same(search(tiny(), max_steps=4, quality=quality, checkpoint=path), search(tiny(), max_steps=4))

    def test_written_before_anything_is_evaluated(self, tmp_path):
        path, seen = tmp_path / "search.json", []

        def quality(ops, labels, coordinates):
            seen.append(path.is_file() and path.stat().st_size > 0)
            return 1.0

        search(tiny(), max_steps=2, quality=quality, checkpoint=path)
        assert all(seen)
        assert [file.name for file in tmp_path.iterdir()] == ["search.json"]

    def test_the_search_that_raised_goes_on(self, tmp_path):
        path, quality = tmp_path / "search.json", Counted()

        class BrokenError(Exception):
            pass

        def fail(report):
            if report.n_evaluations >= 3:
                raise BrokenError

        with pytest.raises(BrokenError):
            search(tiny(), max_steps=4, quality=quality, checkpoint=path, progress=fail)
        assert_same(search(tiny(), max_steps=4, quality=quality, checkpoint=path), search(tiny(), max_steps=4))

    @pytest.mark.parametrize(
        ("options", "changed"),
        [
            ({}, {"n_clusters": 4}),
            ({}, {"max_steps": 4}),
            ({}, {"beam_width": 3}),
            ({}, {"quality": "silhouette"}),
            ({}, {"view_weights": [1.0, 2.0]}),
            ({"view_weights": [1.0, 2.0]}, {"view_weights": [1.0, 3.0]}),
            ({}, {"features": [np.eye(16), np.eye(16)]}),
            ({"features": [np.eye(16), np.eye(16)]}, {"features": [np.eye(16), np.eye(16)[::-1]]}),
            ({}, {"n_components": 2}),
            ({}, {"n_init": 2}),
            ({}, {"tol": 1e-6}),
            ({}, {"answer": "last"}),
            ({}, {"grow": "right"}),
            ({}, {"random_state": 1}),
            ({}, {"strategy": "greedy"}),
            ({"strategy": "random", "t": 4, "n_samples": 5}, {"t": 5}),
            ({"strategy": "random", "t": 4, "n_samples": 5}, {"n_samples": 6}),
            ({"strategy": "random", "t": 4, "n_samples": 5}, {"probabilities": [0.25, 0.75]}),
            ({"strategy": "epsilon-greedy"}, {"epsilon": 0.2}),
            ({"strategy": "mcts"}, {"n_playouts": 7}),
            ({"strategy": "mcts"}, {"exploration": 0.9}),
            ({"strategy": "contrastive", "t": 2}, {"learning_rate": 0.1}),
            ({"strategy": "contrastive", "t": 2}, {"max_iter": 7}),
            ({"strategy": "contrastive", "t": 2}, {"batch_size": 8}),
        ],
        ids=lambda value: "-".join(value) or "default",
    )
    def test_of_other_arguments_is_refused(self, options, changed, tmp_path):
        path = tmp_path / "search.json"
        options = {"max_steps": 3, "max_evaluations": 4, "checkpoint": path, **options}
        search(tiny(), **options)
        before = path.read_bytes()
        with pytest.raises(ValueError, match=next(iter(changed))):
            search(tiny(), **options | changed)
        assert path.read_bytes() == before

    @pytest.mark.parametrize(
        "other",
        [
            lambda: tiny(1),
            lambda: tiny(0, 18),
            lambda: tiny(0, n_views=3),
            lambda: tiny().with_identity(),
            lambda: tiny(dtype="float32"),
            lambda: mdt.OperatorSet.from_transitions([P.toarray() for P in reversed(tiny().views)]),
        ],
        ids=["values", "samples", "views", "members", "dtype", "order"],
    )
    def test_of_other_data_is_refused(self, other, tmp_path):
        path = tmp_path / "search.json"
        search(tiny(), max_steps=3, max_evaluations=4, checkpoint=path)
        before = path.read_bytes()
        with pytest.raises(ValueError, match=r"(?i)ops|operator|data|sample|view|member|dtype"):
            search(other(), max_steps=3, max_evaluations=4, checkpoint=path)
        assert path.read_bytes() == before

    def refuses(self, content, path):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"(?i)checkpoint"):
            search(tiny(), max_steps=3, checkpoint=path)
        assert path.read_bytes() == content

    def test_truncated(self, written, tmp_path):
        content, _ = written
        for length in np.linspace(0, len(content) - 2, 25).astype(int):
            self.refuses(content[:length], tmp_path / "search.json")

    def test_longer_than_it_was(self, written, tmp_path):
        content, _ = written
        self.refuses(content + content, tmp_path / "search.json")
        self.refuses(content + b"7", tmp_path / "search.json")

    @pytest.mark.parametrize(
        "content",
        [b"\x00" * 100, b"\xff\xfe\x00garbage", b"{}", b"[]", b"null", b"3", b'"text"', bytes(range(256)) * 20],
        ids=["zeros", "bytes", "object", "list", "null", "number", "string", "all bytes"],
    )
    def test_garbage(self, content, tmp_path):
        self.refuses(content, tmp_path / "search.json")

    def test_tampered(self, written, tmp_path):
        content, res = written
        digits = [i for i, byte in enumerate(content) if chr(byte).isdigit() and byte < 128]
        chosen = list(np.random.default_rng(0).choice(digits, size=min(60, len(digits)), replace=False))
        for score in res.history["score"]:  # every score that stands in the file as Python writes it
            at = content.find(repr(float(score)).encode())
            chosen += [at] if at >= 0 else []
        for at in chosen:
            other = b"1" if content[at : at + 1] != b"1" else b"2"
            self.refuses(content[:at] + other + content[at + 1 :], tmp_path / "search.json")

    @pytest.mark.parametrize("strategy", ["beam", "direct", "contrastive", "random"])
    def test_an_unwritable_path_is_found_out_at_once(self, strategy, tmp_path):
        quality = Counted()
        scoring = {} if strategy == "contrastive" else {"quality": quality}
        for path in (tmp_path / "missing" / "search.json", tmp_path, tmp_path / "file" / "search.json"):
            (tmp_path / "file").write_text("not a folder")
            with pytest.raises(OSError, match="missing|file|" + tmp_path.name):
                search(tiny(), strategy=strategy, checkpoint=path, **SEARCHES[strategy], **scoring)
        assert quality.n_calls == 0
        assert [file.name for file in tmp_path.iterdir()] == ["file"]


# Arguments: case, checkpoint (or nothing), pause of each evaluation, work of those without pauses, file of the answer.
KILLED = """
    import json, sys, time
    import numpy as np
    import mdt_fast as mdt

    case, path, pause, work, out = sys.argv[1], sys.argv[2] or None, float(sys.argv[3]), int(sys.argv[4]), sys.argv[5]
    n_calls = 0

    def quality(ops, labels, coordinates):
        global n_calls
        n_calls += 1
        time.sleep(pause)
        return mdt.quality.calinski_harabasz(ops, labels)

    def operators(n, n_views):
        rng = np.random.default_rng(0)
        clusters = np.arange(n) % 3
        Xs = [2 * rng.normal(size=(3, 2))[clusters] + rng.normal(size=(n, 2)) for _ in range(n_views)]
        return mdt.build_operators(Xs, n_neighbors=min(n // 2, 20))

    cases = {
        "beam": (60, {"strategy": "beam", "max_steps": 8, "quality": quality}),
        "mcts": (60, {"strategy": "mcts", "max_steps": 6, "n_playouts": 40, "quality": quality}),
        "direct": (60, {"strategy": "direct", "t": 3, "max_evaluations": 40, "quality": quality}),
        "native beam": (400 * work, {"strategy": "beam", "max_steps": 30, "beam_width": 4}),
        "contrastive": (400, {"strategy": "contrastive", "t": 6, "max_iter": 40 * work}),
    }
    n, options = cases[case]
    ops = operators(n, 3)
    print("started", flush=True)
    res = mdt.search(ops, 3, progress=False, checkpoint=path, **options)
    answer = {
        "candidates": [np.asarray(steps).tolist() for steps in res.candidates],
        "trajectory": res.trajectory.weights.tolist(),
        "labels": None if res.labels is None else res.labels.tolist(),
        "best_score": res.score,
        "best": int(res.best),
        **{name: res.history[name].tolist() for name in ("score", "parent", "depth")},
    }
    with open(out, "w") as file:
        json.dump({"answer": answer, "n_calls": n_calls}, file)
    print("finished", flush=True)
"""
CASES = ["beam", "mcts", "direct", "native beam", "contrastive"]


def run_killed(case, checkpoint, out, *, pause=0.0, work=1, after=None):
    """Run the search in a process of its own, killed `after` seconds; return what it wrote, if it came so far."""
    command = [sys.executable, "-c", textwrap.dedent(KILLED), case, str(checkpoint or "")]
    command += [str(pause), str(work), str(out)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        try:
            assert child.stdout.readline() == "started\n"
            if after is not None:
                time.sleep(after)
                child.kill()
                child.wait()
                return None
            assert child.stdout.readline() == "finished\n"
        finally:
            child.kill()
    return json.loads(out.read_text())


def undisturbed_and_survivor(case, folder, moments, pause, work=1):
    """The same search, once without a break and once killed at each of the moments, then left to end."""
    folder = folder / case.replace(" ", "-")
    folder.mkdir()
    undisturbed = run_killed(case, None, folder / "undisturbed.json", work=work)
    path = folder / "checkpoint"
    for after in moments:
        run_killed(case, path, folder / "never.json", pause=pause, work=work, after=after)
        assert path.is_file() or after < 0.5
    return undisturbed, run_killed(case, path, folder / "survivor.json", work=work)


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("killed")
    rng = np.random.default_rng()  # another moment each time
    with ThreadPoolExecutor(len(CASES)) as pool:
        moments = [rng.uniform(0.0, 1.2, size=2) for _ in CASES]
        return {
            case: pool.submit(undisturbed_and_survivor, case, folder, when, 0.03)
            for case, when in zip(CASES, moments, strict=True)
        }


class TestKilled:
    @pytest.mark.parametrize("case", CASES)
    def test_ends_with_the_same_answer(self, pairs, case):
        undisturbed, survivor = pairs[case].result()
        assert survivor["answer"] == undisturbed["answer"]

    @pytest.mark.slow
    @pytest.mark.parametrize("case", CASES)
    def test_many_times_and_late(self, case, tmp_path):
        rng = np.random.default_rng()
        moments = [*rng.uniform(0.0, 10.0, size=4), 12.0]
        undisturbed, survivor = undisturbed_and_survivor(case, tmp_path, moments, 0.4, work=10)
        assert survivor["answer"] == undisturbed["answer"]
        if undisturbed["n_calls"]:
            # Twelve seconds hold about thirty evaluations, of which all but those of the last seconds were written.
            assert survivor["n_calls"] <= undisturbed["n_calls"] - 10
