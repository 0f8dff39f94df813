"""Checkpoints of a search: resumed, refused when damaged, and after a kill."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
import textwrap
import time
import tracemalloc
import zlib
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import mdt_fast as mdt
from helpers.searches import SEARCHES, Counted, assert_same, fresh, search, strategies
from mdt_fast._search import checkpoint as _checkpoint
from mdt_fast._search.evaluation import Evaluation
from mdt_fast.strategies import MCTS, Beam, Consensus, Contrastive, EpsilonGreedy, Greedy, RandomSequences

BEAM = SEARCHES["beam"]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The bytes of a checkpoint, and its search."""
    path = tmp_path_factory.mktemp("checkpoint") / "search.json"
    res = search(fresh(), strategy=Beam(max_steps=3), checkpoint=path)
    return path.read_bytes(), res


class TestCheckpoint:
    @strategies
    @pytest.mark.parametrize("native", [True, False], ids=["native", "callable"])
    def test_a_finished_search_is_replayed(self, strategy, native, tmp_path):
        path, quality = tmp_path / "search.json", Counted()
        options = SEARCHES[strategy] | ({} if native or strategy == "contrastive" else {"quality": quality})
        plain = search(fresh(), **options)
        first = search(fresh(), checkpoint=path, **options)
        assert path.is_file()
        quality.n_calls = 0
        again = search(fresh(), checkpoint=str(path), **options)
        assert quality.n_calls == 0
        assert_same(plain, first)
        assert_same(plain, again)
        assert first.stopped == again.stopped == plain.stopped
        assert first.converged == again.converged == plain.converged

    @strategies
    @pytest.mark.parametrize("native", [True, False], ids=["native", "callable"])
    def test_a_stopped_search_is_resumed(self, strategy, native, tmp_path):
        path, quality = tmp_path / "search.json", Counted()
        options = SEARCHES[strategy] | ({} if native or strategy == "contrastive" else {"quality": quality})
        plain = search(fresh(), **options)
        for budget in (1, 4, 6):
            cut = search(fresh(), checkpoint=path, max_evaluations=budget, **options)
            assert cut.n_evaluations == budget
            assert cut.stopped == "max_evaluations"
        quality.n_calls = 0
        whole = search(fresh(), checkpoint=path, **options)
        assert_same(plain, whole)
        assert whole.stopped == plain.stopped
        assert quality.n_calls < plain.n_evaluations
        # Fewer evaluations than the file holds.
        less = search(fresh(), checkpoint=path, max_evaluations=3, **options)
        assert less.n_evaluations == 3
        np.testing.assert_array_equal(less.history["score"], plain.history["score"][:3])

    def test_options_without_effect_on_the_answer_may_differ(self, tmp_path):
        path, ops = tmp_path / "search.json", fresh(3, 60)
        plain = search(ops, **BEAM)
        search(ops, checkpoint=path, max_evaluations=5, n_jobs=1, **BEAM)
        limits = {"n_jobs": 2, "time_limit": 100, "progress": lambda _: None}
        other = search(ops, checkpoint=path, **limits, **BEAM)
        assert_same(plain, other)

    def test_a_search_out_of_time_is_resumed(self, tmp_path):
        path, quality = tmp_path / "search.json", Counted(0.02)
        cut = search(fresh(), quality=quality, checkpoint=path, time_limit=0.15, **BEAM)
        assert cut.stopped == "time_limit"
        quality.pause = 0
        assert_same(
            search(fresh(), quality=quality, checkpoint=path, **BEAM),
            search(fresh(), **BEAM),
        )

    def test_written_before_anything_is_evaluated(self, tmp_path):
        path, seen = tmp_path / "search.json", []

        def quality(ops, labels, coordinates):
            seen.append(path.is_file() and path.stat().st_size > 0)
            return 1.0

        search(fresh(), strategy=Beam(max_steps=2), quality=quality, checkpoint=path)
        assert all(seen)
        assert [file.name for file in tmp_path.iterdir()] == ["search.json"]

    def test_a_search_that_raised_is_resumed(self, tmp_path):
        path, quality = tmp_path / "search.json", Counted()

        class BrokenError(Exception):
            pass

        def fail(report):
            if report.n_evaluations >= 3:
                raise BrokenError

        with pytest.raises(BrokenError):
            search(fresh(), quality=quality, checkpoint=path, progress=fail, **BEAM)
        assert_same(
            search(fresh(), quality=quality, checkpoint=path, **BEAM),
            search(fresh(), **BEAM),
        )

    def refuses_other(self, path, first, second, message):
        """A search with other arguments refuses the checkpoint and leaves the file as it is."""
        search(fresh(), **{"max_evaluations": 4, "checkpoint": path, **first})
        before = path.read_bytes()
        with pytest.raises(ValueError, match=f"checkpoint: expected one {message}"):
            search(fresh(), **{"max_evaluations": 4, "checkpoint": path, **first, **second})
        assert path.read_bytes() == before

    @pytest.mark.parametrize(
        ("given", "changed"),
        [
            ({}, {"n_clusters": 4}),
            ({}, {"quality": "silhouette"}),
            ({}, {"view_weights": [1.0, 2.0]}),
            ({"view_weights": [1.0, 2.0]}, {"view_weights": [1.0, 3.0]}),
            ({}, {"random_state": 1}),
            ({"strategy": RandomSequences(n=5), "t": 4}, {"t": 5}),
        ],
        ids=lambda value: "-".join(value) or "default",
    )
    def test_of_other_arguments_is_refused(self, given, changed, tmp_path):
        first = {"strategy": Beam(max_steps=3), **given}
        name = next(iter(changed))
        self.refuses_other(tmp_path / "search.json", first, changed, f"with {name}=.* got one with {name}=")

    @pytest.mark.parametrize("changed", [{"n_components": 2}, {"n_init": 2}, {"tol": 1e-6}], ids=str)
    def test_of_another_scoring_is_refused(self, changed, tmp_path):
        (name, value), second = *changed.items(), {"quality": mdt.Scoring(**changed)}
        message = f"with {name}={value}, got one with {name}="
        self.refuses_other(tmp_path / "search.json", {"strategy": Beam(max_steps=3)}, second, message)

    @pytest.mark.parametrize(
        ("strategy", "changed"),
        [
            (Beam(max_steps=3), {"max_steps": 4}),
            (Beam(max_steps=3), {"width": 3}),
            (Beam(max_steps=3), {"answer": "last"}),
            (Beam(max_steps=3), {"grow": "right"}),
            (RandomSequences(n=5), {"n": 6}),
            (RandomSequences(n=5), {"probabilities": [0.25, 0.75]}),
            (EpsilonGreedy(max_steps=3), {"epsilon": 0.2}),
            (MCTS(max_steps=3), {"playouts": 7}),
            (MCTS(max_steps=3), {"exploration": 0.9}),
            (Contrastive(), {"learning_rate": 0.1}),
            (Contrastive(), {"steps": 7}),
            (Contrastive(), {"batch_size": 8}),
        ],
        ids=str,
    )
    def test_of_other_options_is_refused(self, strategy, changed, tmp_path):
        (name, value), second = *changed.items(), {"strategy": strategy.replace(**changed)}
        shown = re.escape(f"{name!r}: {value!r}")
        message = rf"with strategy={{.*{shown}.*}}, got one with strategy={{(?!.*{shown})"
        self.refuses_other(tmp_path / "search.json", {"strategy": strategy, "t": 4}, second, message)

    def test_of_another_strategy_is_refused(self, tmp_path):
        first, second = ({"strategy": make(max_steps=3)} for make in (Beam, Greedy))
        message = "with strategy={'name': 'greedy'.*}, got one with strategy={'name': 'beam'"
        self.refuses_other(tmp_path / "search.json", first, second, message)

    @pytest.mark.parametrize("strategy", [[0, 1, 1], np.array([[0.5, 0.5], [0.25, 0.75]])], ids=["sequence", "weights"])
    def test_of_another_given_trajectory_is_refused(self, strategy, tmp_path):
        first, second = {"strategy": strategy}, {"strategy": [0, 1]}
        message = r"with strategy={'name': 'given', 'steps': \[0, 1\]}, got one with strategy={'name': 'given'"
        self.refuses_other(tmp_path / "search.json", first, second, message)

    @pytest.mark.parametrize("changed", [None, [np.eye(16), np.eye(16)[::-1]]], ids=["none", "others"])
    def test_of_other_features_is_refused(self, changed, tmp_path):
        first, second = ({"quality": mdt.Scoring(features=given)} for given in ([np.eye(16), np.eye(16)], changed))
        message = "of the same data, got one of other operators or features"
        self.refuses_other(tmp_path / "search.json", {"strategy": Beam(max_steps=3), **first}, second, message)

    @pytest.mark.parametrize("version", [1, 3])
    def test_of_another_version_is_refused(self, version, written, tmp_path):
        content = json.loads(written[0])
        assert content["version"] == 2
        assert sorted(tuple(entry["sequence"]) for entry in content["evaluations"]) == sorted(written[1].candidates)
        content["version"] = version
        del content["digest"]
        path = tmp_path / "search.json"
        path.write_text(json.dumps({**content, "digest": _checkpoint._digest(content)}))
        with pytest.raises(ValueError, match=f"checkpoint: expected version 2, got {version}"):
            search(fresh(), strategy=Beam(max_steps=3), checkpoint=path)

    @pytest.mark.parametrize(
        "other",
        [
            lambda: fresh(1),
            lambda: fresh(0, 18),
            lambda: fresh(0, n_views=3),
            lambda: fresh().with_identity(),
            lambda: fresh(dtype="float32"),
            lambda: mdt.OperatorSet.from_transitions([P.toarray() for P in reversed(fresh().views)]),
        ],
        ids=["values", "samples", "views", "members", "dtype", "order"],
    )
    def test_of_other_data_is_refused(self, other, tmp_path):
        path = tmp_path / "search.json"
        search(fresh(), strategy=Beam(max_steps=3), max_evaluations=4, checkpoint=path)
        before = path.read_bytes()
        with pytest.raises(ValueError, match=r"(?i)ops|operator|data|sample|view|member|dtype"):
            search(other(), strategy=Beam(max_steps=3), max_evaluations=4, checkpoint=path)
        assert path.read_bytes() == before

    def refuses(self, content, path):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"(?i)checkpoint"):
            search(fresh(), strategy=Beam(max_steps=3), checkpoint=path)
        assert path.read_bytes() == content

    def test_truncated(self, written, tmp_path):
        content, _ = written
        for length in np.linspace(0, len(content) - 2, 25).astype(int):
            self.refuses(content[:length], tmp_path / "search.json")

    def test_extra_content(self, written, tmp_path):
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
    def test_an_unwritable_path_is_refused_at_once(self, strategy, tmp_path):
        quality = Counted()
        scoring = {} if strategy == "contrastive" else {"quality": quality}
        for path in (tmp_path / "missing" / "search.json", tmp_path, tmp_path / "file" / "search.json"):
            (tmp_path / "file").write_text("not a folder")
            with pytest.raises(OSError, match="missing|file|" + tmp_path.name):
                search(fresh(), checkpoint=path, **SEARCHES[strategy], **scoring)
        assert quality.n_calls == 0
        assert [file.name for file in tmp_path.iterdir()] == ["file"]


def forged(content, change):
    """Return a checkpoint with changed content and the right digest."""
    parts = json.loads(content)
    del parts["digest"]
    change(parts)
    return json.dumps({**parts, "digest": _checkpoint._digest(parts)}).encode()


def packed(data):
    return base64.b64encode(zlib.compress(data, 9)).decode()


class TestForged:
    """Files whose digest is right: lengths, ranges and types are checked before memory is taken."""

    def refuses(self, content, path, match, n=16, **options):
        path.write_bytes(content)
        with pytest.raises(ValueError, match=match):
            search(fresh(n=n), checkpoint=path, **(options or {"strategy": Beam(max_steps=3)}))
        assert path.read_bytes() == content

    @pytest.mark.parametrize(
        ("key", "value", "match"),
        [
            ("sequence", [0, 5], r"\['sequence'\], a step: expected an integer from 0 to 1, got 5"),
            ("sequence", [10**30], "a step: expected an integer from 0 to 1"),
            ("sequence", [], "expected at least one step, got none"),
            ("sequence", "01", "expected a list, got '01'"),
            ("score", "high", r"\['score'\]: expected a number, got 'high'"),
            ("score", 10**400, r"\['score'\]: expected a number"),
            ("seconds", -1, r"\['seconds'\]: expected a finite number >= 0, got -1"),
            ("seconds", float("inf"), r"\['seconds'\]: expected a finite number >= 0, got inf"),
            ("gradient", [[1.0]], r"\['gradient'\]: expected"),
            ("labels", [10**9, packed(bytes(10))], r"\['labels'\]\[0\]: expected an integer from 16 to 16, got 10"),
            ("labels", [16, packed(bytes(15))], "expected 1, 2 or 4 bytes for each of 16 samples"),
            ("labels", [16, packed(bytes([9] * 16))], "expected labels below 3, got 9"),
            ("labels", [16, "no zlib"], "damaged or different file"),
            ("labels", [16], "expected 2 values, got 1"),
        ],
        ids=lambda value: str(value)[:20],
    )
    def test_entries(self, written, tmp_path, key, value, match):
        content = forged(written[0], lambda parts: parts["evaluations"][0].update({key: value}))
        self.refuses(content, tmp_path / "search.json", match)

    @pytest.mark.parametrize(
        ("key", "value"),
        [("evaluations", {}), ("evaluations", [3]), ("evaluations", None), ("identity", []), ("identity", None)],
        ids=str,
    )
    def test_structure(self, written, tmp_path, key, value):
        content = forged(written[0], lambda parts: parts.update({key: value}))
        self.refuses(content, tmp_path / "search.json", "damaged or different file")

    def test_labels_that_expand(self, tmp_path):
        """Zeros in place of labels are refused without being expanded."""
        path, options = tmp_path / "search.json", {"strategy": Consensus(trajectories=4), "t": 3}
        search(fresh(), checkpoint=path, **options)
        bomb = packed(bytes(2**26))
        content = forged(path.read_bytes(), lambda parts: parts["evaluations"][0].update(labels=[16, bomb]))
        tracemalloc.start()
        self.refuses(content, path, "expected 1, 2 or 4 bytes for each of 16", **options)
        assert tracemalloc.get_traced_memory()[1] < 2**24
        tracemalloc.stop()

    def test_more_labels_than_the_limit(self, tmp_path, monkeypatch):
        path, options = tmp_path / "search.json", {"strategy": Consensus(trajectories=32), "t": 3}
        search(fresh(n=400), checkpoint=path, **options)
        content = forged(path.read_bytes(), lambda parts: parts.update(evaluations=parts["evaluations"] * 20))
        monkeypatch.setenv("MDT_FAST_MAX_BYTES", str(len(content)))
        match = "checkpoint: .* the labels of 640 evaluations: expected at most .* MDT_FAST_MAX_BYTES"
        self.refuses(content, path, match, n=400, **options)
        monkeypatch.setenv("MDT_FAST_MAX_BYTES", str(len(content) - 1))
        self.refuses(content, path, r"checkpoint: .*search\.json: expected at most .* bytes", n=400, **options)

    @pytest.mark.parametrize("depth", [10**3, 10**5])
    def test_deep_nesting(self, tmp_path, depth):
        content = b"[" * depth + b"]" * depth
        self.refuses(content, tmp_path / "search.json", "damaged or different file")
        deep = b'{"format": "mdt_fast search checkpoint", "version": 2, "digest": "", "identity": %b}' % content
        self.refuses(deep, tmp_path / "search.json", "damaged or different file")


class TestShared:
    """Several searches with the same arguments and one file."""

    @pytest.mark.parametrize("strategy", ["beam", "random", "direct"])
    def test_by_threads(self, strategy, tmp_path, monkeypatch):
        monkeypatch.setattr(_checkpoint, "_INTERVAL", 0.0)
        path, options = tmp_path / "search.json", SEARCHES[strategy]
        plain = search(fresh(), **options)
        with ThreadPoolExecutor(4) as pool:
            running = [pool.submit(search, fresh(), checkpoint=path, **options) for _ in range(8)]
            for each in running:
                assert_same(plain, each.result())
        assert [file.name for file in tmp_path.iterdir()] == ["search.json"]
        assert_same(plain, search(fresh(), checkpoint=path, **options))

    def test_each_adds_to_the_file(self, tmp_path):
        """What one search has added is not lost when the other writes."""
        path = tmp_path / "search.json"
        identity, ops = {"n_clusters": 3}, fresh()
        first, second = (_checkpoint.Checkpoint(path, identity, ops) for _ in range(2))
        first.add(Evaluation((0,), 1.0, 0.1))
        first.write()
        second.add(Evaluation((1,), 2.0, 0.1))
        second.write()
        assert second.find((0,)) is not None
        assert len(_checkpoint.Checkpoint(path, identity, ops).sequences()) == 2
        first.write()
        assert len(_checkpoint.Checkpoint(path, identity, ops).sequences()) == 2

    def test_of_other_arguments_is_refused(self, tmp_path):
        """Also if both begin before either has written an evaluation."""
        path = tmp_path / "search.json"
        _checkpoint.Checkpoint(path, {"n_clusters": 3}, fresh())
        with pytest.raises(ValueError, match="expected one with n_clusters=4, got one with n_clusters=3"):
            _checkpoint.Checkpoint(path, {"n_clusters": 4}, fresh())

    def test_a_link_is_kept(self, tmp_path):
        (tmp_path / "elsewhere").mkdir()
        link = tmp_path / "search.json"
        link.symlink_to(tmp_path / "elsewhere" / "target.json")
        plain = search(fresh(), checkpoint=link, **BEAM)
        assert link.is_symlink()
        assert_same(plain, search(fresh(), checkpoint=tmp_path / "elsewhere" / "target.json", **BEAM))

    def test_a_file_that_somebody_replaced_is_not_overwritten(self, tmp_path):
        path = tmp_path / "search.json"
        known = _checkpoint.Checkpoint(path, {"n_clusters": 3}, fresh())
        path.write_text("notes")
        known.add(Evaluation((0,), 1.0, 0.1))
        with pytest.raises(ValueError, match="damaged or different file"):
            known.write()
        assert path.read_text() == "notes"


class TestFirstEvaluations:
    """The first evaluations are in the file at once, so that a search that is killed soon gets on."""

    @pytest.mark.parametrize("strategy", ["beam", "convex", "direct", "contrastive", "consensus"])
    def test_are_written_at_once(self, strategy, tmp_path):
        path = tmp_path / "search.json"
        options = SEARCHES.get(strategy, {"strategy": Consensus(trajectories=20), "t": 3})
        counts = []

        def note(report):
            counts.append((report.n_evaluations, len(json.loads(path.read_bytes())["evaluations"])))

        search(fresh(), checkpoint=path, n_jobs=1, progress=note, **options)
        first, written = next(pair for pair in counts if pair[0])
        assert written >= first > 0
        if strategy != "beam":
            # Scored one by one at first, not in batches of 16.
            assert first == 1


# Arguments: case, checkpoint or nothing, pause per evaluation, work without pauses, output file.
KILLED = """
    import json, sys, time
    import numpy as np
    import mdt_fast as mdt
    from mdt_fast.strategies import MCTS, Beam, Contrastive, Direct

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
        "beam": (60, {"strategy": Beam(max_steps=8), "quality": quality}),
        "mcts": (60, {"strategy": MCTS(playouts=40, max_steps=6), "quality": quality}),
        "direct": (60, {"strategy": Direct(evaluations=40), "t": 3, "quality": quality}),
        "native beam": (400 * work, {"strategy": Beam(width=4, max_steps=30)}),
        "contrastive": (400, {"strategy": Contrastive(steps=40 * work, tol=0.0), "t": 6}),
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
    """Run the search in another process, killed `after` seconds; return what it wrote, or None."""
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


def uninterrupted_and_resumed(case, folder, moments, pause, work=1):
    """The same search, once uninterrupted and once killed at each moment and then finished."""
    folder = folder / case.replace(" ", "-")
    folder.mkdir()
    uninterrupted = run_killed(case, None, folder / "undisturbed.json", work=work)
    path = folder / "checkpoint"
    for after in moments:
        run_killed(case, path, folder / "never.json", pause=pause, work=work, after=after)
        assert path.is_file() or after < 0.5
    return uninterrupted, run_killed(case, path, folder / "survivor.json", work=work)


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("killed")
    rng = np.random.default_rng()  # another moment each time
    with ThreadPoolExecutor(len(CASES)) as pool:
        moments = [rng.uniform(0.0, 1.2, size=2) for _ in CASES]
        return {
            case: pool.submit(uninterrupted_and_resumed, case, folder, when, 0.03)
            for case, when in zip(CASES, moments, strict=True)
        }


class TestKilled:
    @pytest.mark.parametrize("case", CASES)
    def test_ends_with_the_same_answer(self, pairs, case):
        uninterrupted, resumed = pairs[case].result()
        assert resumed["answer"] == uninterrupted["answer"]

    @pytest.mark.slow
    @pytest.mark.parametrize("case", CASES)
    def test_many_times_and_late(self, case, tmp_path):
        rng = np.random.default_rng()
        moments = [*rng.uniform(0.0, 10.0, size=4), 12.0]
        uninterrupted, resumed = uninterrupted_and_resumed(case, tmp_path, moments, 0.4, work=10)
        assert resumed["answer"] == uninterrupted["answer"]
        if uninterrupted["n_calls"]:
            # Twelve seconds are about thirty evaluations; all but the last few were written.
            assert resumed["n_calls"] <= uninterrupted["n_calls"] - 10
