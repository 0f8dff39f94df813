"""Results of searches: saved and loaded, refused when damaged, and as a table."""

from __future__ import annotations

import copy
import json
import pickle
import sys

import numpy as np
import pytest

import mdt_fast as mdt
from helpers import searches
from helpers.documents import change, remove
from helpers.results import N_SAMPLES, make_result, sequence_result, unscored_result, weight_result
from mdt_fast import SearchResult
from mdt_fast._search.evaluation import HISTORY_DTYPE


@pytest.fixture(scope="module")
def ops():
    rng = np.random.default_rng(0)
    return mdt.build_operators([rng.normal(size=(N_SAMPLES, 3)), rng.normal(size=(N_SAMPLES, 2))])


def stopped_result(ops):
    return weight_result(ops, stopped="time_limit", converged=True, settings={})


def infinite_result(ops):
    return make_result(ops, [(0,), (1,)], [-np.inf, np.inf], best=1)


def assert_same(first, second):
    fields = ("strategy", "quality", "t", "stopped", "converged", "settings")
    searches.assert_same(first, second, fields=fields, columns=HISTORY_DTYPE.names)
    assert second.history.dtype == HISTORY_DTYPE


EVERY_KIND = [sequence_result, weight_result, unscored_result, stopped_result, infinite_result]


@pytest.mark.parametrize("make", EVERY_KIND)
def test_round_trip_through_json(ops, make):
    result = make(ops)
    text = json.dumps(result.to_dict(), allow_nan=False)
    back = SearchResult.from_dict(json.loads(text), ops)
    assert_same(result, back)
    assert back.trajectory.operators is ops


@pytest.mark.parametrize("make", EVERY_KIND)
def test_round_trip_through_a_file(ops, make, tmp_path):
    result = make(ops)
    path = tmp_path / "result.json"
    result.save(path)
    assert_same(result, SearchResult.load(path, ops))
    result.save(str(path))
    assert_same(result, SearchResult.load(str(path), ops))
    assert [entry.name for entry in tmp_path.iterdir()] == ["result.json"]


def test_the_dict_shares_nothing_with_the_result(ops):
    result = sequence_result(ops)
    d = result.to_dict()
    back = SearchResult.from_dict(d, ops)
    d["settings"]["view_weights"][0] = 7
    d["settings"]["strategy"]["width"] = 7
    d["candidates"][0][0] = 1
    d["labels"][0] = 2
    for untouched in (result, back):
        assert_same(sequence_result(ops), untouched)


def test_weights_of_the_answer_keep_their_last_digits(ops):
    # Rescaled rows differ from the candidate in the last digit; both must be restored.
    result = weight_result(ops)
    shifted = result.candidates[result.best] * (1 + 1e-10)
    result.candidates[result.best] = shifted
    back = SearchResult.from_dict(result.to_dict(), ops)
    np.testing.assert_array_equal(back.candidates[back.best], shifted)
    np.testing.assert_array_equal(back.trajectory.weights, result.trajectory.weights)
    assert not np.array_equal(back.trajectory.weights, shifted)


def test_results_pickle(ops):
    assert_same(sequence_result(ops), pickle.loads(pickle.dumps(sequence_result(ops))))


def test_a_result_is_frozen(ops):
    with pytest.raises(AttributeError):
        sequence_result(ops).score = 1.0


def test_repr(ops):
    text = repr(sequence_result(ops, stopped="max_evaluations"))
    assert text == (
        "SearchResult(strategy='beam', score=7.5, trajectory=1-0-0, 8 evaluations, stopped='max_evaluations')"
    )
    assert "stopped" not in repr(sequence_result(ops))
    assert "trajectory=weights of 3 steps, 5 evaluations" in repr(weight_result(ops))
    assert "score=nan, trajectory=0-1-1, 1 evaluation)" in repr(unscored_result(ops))


class TestSave:
    def test_failed_save_leaves_the_file_unchanged(self, ops, tmp_path):
        path = tmp_path / "result.json"
        sequence_result(ops).save(path)
        before = path.read_bytes()
        with pytest.raises(TypeError):
            sequence_result(ops, settings={"quality": print}).save(path)
        with pytest.raises(ValueError, match="not JSON compliant"):
            sequence_result(ops, settings={"tol": float("nan")}).save(path)
        assert path.read_bytes() == before
        assert len(list(tmp_path.iterdir())) == 1

    def test_a_failed_move_leaves_no_files(self, ops, tmp_path):
        (tmp_path / "taken").mkdir()
        with pytest.raises(OSError, match="taken"):
            sequence_result(ops).save(tmp_path / "taken")
        assert [entry.name for entry in tmp_path.iterdir()] == ["taken"]

    def test_a_missing_folder_is_an_os_error(self, ops, tmp_path):
        with pytest.raises(FileNotFoundError):
            sequence_result(ops).save(tmp_path / "absent" / "result.json")


class TestLoad:
    def test_a_missing_file(self, ops, tmp_path):
        with pytest.raises(FileNotFoundError):
            SearchResult.load(tmp_path / "absent.json", ops)

    @pytest.mark.parametrize(
        "content", [b"", b"{", b"\x80\x04\x95", b"\xff\xfe\x00", b"[" * 200_000], ids=lambda c: repr(c[:4])
    )
    def test_not_json(self, ops, tmp_path, content):
        path = tmp_path / "other.json"
        path.write_bytes(content)
        with pytest.raises(ValueError, match=r"other\.json: expected a saved SearchResult, got no JSON"):
            SearchResult.load(path, ops)

    @pytest.mark.parametrize(
        "forge",
        [
            lambda text: text.replace('"score": 7.5', '"score": NaN', 1),
            lambda text: text.replace('"score": 7.5', '"score": Infinity', 1),
            lambda text: text.replace('"score": 7.5', '"score": 1' + 5000 * "0", 1),
            lambda text: text.replace(
                '"settings": {', '"settings": {"deep": ' + 100_000 * "[" + 100_000 * "]" + ", ", 1
            ),
            lambda text: text.replace('"settings": {', '"settings": {"deep": ' + 900 * "[" + 900 * "]" + ", ", 1),
        ],
        ids=["nan", "infinity", "digits", "deep", "less deep"],
    )
    def test_forged(self, ops, tmp_path, forge):
        path = tmp_path / "forged.json"
        sequence_result(ops).save(path)
        text = forge(path.read_text())
        assert text != path.read_text()
        path.write_text(text)
        with pytest.raises(ValueError, match=r"forged\.json: expected a saved SearchResult, got"):
            SearchResult.load(path, ops)

    def test_a_file_above_the_limit(self, ops, tmp_path, monkeypatch):
        path = tmp_path / "large.json"
        sequence_result(ops).save(path)
        monkeypatch.setenv("MDT_FAST_MAX_BYTES", "100")
        with pytest.raises(ValueError, match=r"large\.json: expected at most 100 bytes .* MDT_FAST_MAX_BYTES"):
            SearchResult.load(path, ops)

    def test_truncated(self, ops, tmp_path):
        path = tmp_path / "half.json"
        sequence_result(ops).save(path)
        path.write_bytes(path.read_bytes()[:-20])
        with pytest.raises(ValueError, match=r"half\.json: expected a saved SearchResult"):
            SearchResult.load(path, ops)

    @pytest.mark.parametrize(
        ("content", "message"),
        [("[1, 2]", "d: expected a dict .* got list"), ('{"a": 1}', "d: format: expected .* got None")],
    )
    def test_other_json(self, ops, tmp_path, content, message):
        path = tmp_path / "other.json"
        path.write_text(content)
        with pytest.raises(ValueError, match=rf"other\.json: {message}"):
            SearchResult.load(path, ops)


REFUSED_SEQUENCES = [
    (change("format", to="other"), r"format: expected 'mdt_fast.SearchResult', got 'other'"),
    (remove("format"), r"format: expected 'mdt_fast.SearchResult', got None"),
    (change("version", to=1), "version: expected 2, got 1"),
    (remove("version"), "version: expected 2, got None"),
    (remove("labels"), "d: expected the keys .* got none for labels"),
    (remove("history"), "got none for history"),
    (change("members", to=["view 0", "other"]), r"ops: expected the members \['view 0', 'other'\].* got \['view 0'"),
    (change("members", to="view 0"), "members: expected a list, got 'view 0'"),
    (change("n_samples", to=41), "ops: expected 41 samples, those that were searched, got 40"),
    (change("n_samples", to="40"), "n_samples: expected an integer from 1 .* got '40'"),
    (change("candidates", to={}), "candidates: expected a list, got {}"),
    (change("candidates", to=[]), "candidates: expected at least one, got none"),
    (change("candidates", 3, to=[]), r"candidates\[3\]: expected at least one step, got none"),
    (change("candidates", 3, to=[0, 2]), r"candidates\[3\], a step: expected an integer from 0 to 1, got 2"),
    (change("candidates", 3, to=[0, -1]), r"candidates\[3\], a step: .* got -1"),
    (change("candidates", 3, to=[0, "view 1"]), r"candidates\[3\], a step: .* got 'view 1'"),
    (change("candidates", 3, to=[0, True]), r"candidates\[3\], a step: .* got True"),
    (change("candidates", 3, to=[0, 0.5]), r"candidates\[3\], a step: .* got 0.5"),
    (change("candidates", 3, to="01"), r"candidates\[3\]: expected a list, got '01'"),
    (change("history", to=[]), r"history: expected a dict, got \[\]"),
    (remove("history", "seconds"), "history: expected parent, depth, score, seconds, got no seconds"),
    (change("history", "score", to=[1.0]), r"history\['score'\]: expected 8 values, got 1"),
    (change("history", "parent", to=None), r"history\['parent'\]: expected a list, got None"),
    (change("history", "parent", 5, to=8), r"history\['parent'\]\[5\]: expected an integer from -1 to 7, got 8"),
    (change("history", "parent", 5, to=-2), r"history\['parent'\]\[5\]: expected an integer from -1 to 7, got -2"),
    (change("history", "parent", 5, to=1.0), r"history\['parent'\]\[5\]: expected an integer .* got 1.0"),
    (change("history", "parent", 5, to=2**70), r"history\['parent'\]\[5\]: expected an integer"),
    (change("history", "parent", 5, to=5), r"history\['parent'\]\[5\]: expected a row of depth below 2, got row 5"),
    (change("history", "parent", 1, to=6), r"history\['parent'\]\[1\]: .* below 1, got row 6 of depth 3"),
    (change("history", "depth", 5, to=3), r"history\['depth'\]\[5\]: expected 2, the steps .* got 3"),
    (change("history", "depth", 5, to=None), r"history\['depth'\]\[5\]: expected 2, .* got None"),
    (change("history", "score", 2, to="high"), r"history\['score'\]\[2\]: expected a number, .* got 'high'"),
    (change("history", "score", 2, to=True), r"history\['score'\]\[2\]: expected a number, .* got True"),
    (change("history", "score", 2, to=10**400), r"history\['score'\]\[2\]: expected a number"),
    (change("history", "seconds", 2, to=[]), r"history\['seconds'\]\[2\]: expected a number, .* got \[\]"),
    (change("best", to=8), "best: expected an integer from 0 to 7, got 8"),
    (change("best", to=None), "best: expected an integer from 0 to 7, got None"),
    (change("best", to=5), r"score: expected that of row 5, 3.0, got 7.5"),
    (change("score", to=None), "score: expected that of row 6, 7.5, got nan"),
    (
        change("trajectory", to=[1, 0, 1]),
        r"trajectory: expected the candidate in row best, \(1, 0, 0\), got \(1, 0, 1\)",
    ),
    (change("trajectory", to=[[0.5, 0.5]]), "trajectory: expected the candidate in row best"),
    (change("trajectory", to=None), "trajectory: expected a list, got None"),
    (change("labels", to=[0, 1]), "labels: expected 40 values, got 2"),
    (change("labels", 7, to=0.5), r"labels\[7\]: expected an integer from 0 .* got 0.5"),
    (change("labels", 7, to=-1), r"labels\[7\]: expected an integer from 0 .* got -1"),
    (change("labels", 7, to=2**31), r"labels\[7\]: expected an integer from 0 to 39"),
    (change("strategy", to=None), "strategy: expected a string, got None"),
    (change("quality", to=3), "quality: expected a string or None, got 3"),
    (change("t", to=0), "t: expected an integer from 1 .* got 0"),
    (change("t", to="auto"), "t: expected an integer from 1 .* got 'auto'"),
    (change("stopped", to="bored"), "stopped: expected one of None, 'time_limit', 'max_evaluations', got 'bored'"),
    (change("converged", to="yes"), "converged: expected True, False or None, got 'yes'"),
    (change("settings", to=[]), r"settings: expected a dict, got \[\]"),
]
REFUSED_WEIGHTS = [
    (change("candidates", 2, 1, to=[0.5, 0.6]), r"candidates\[2\]: weights: expected rows that sum to 1, got 1.1"),
    (change("candidates", 2, 1, to=[0.5]), r"candidates\[2\]: weights: expected rows of one length"),
    (change("candidates", 2, 1, to=[1.5, -0.5]), r"candidates\[2\]: weights: expected finite non-negative numbers"),
    (change("candidates", 2, 1, to=["a", "b"]), r"candidates\[2\]: weights: expected real numbers"),
    (change("candidates", 2, 1, to=[None, 1.0]), r"candidates\[2\]: weights: expected real numbers"),
    (change("candidates", 2, to=[[0.2, 0.3, 0.5]] * 3), r"candidates\[2\]: weights: expected shape \(t, 2\)"),
    (change("candidates", 2, to=[[0.5, 0.5], 1]), r"candidates\[2\], a step: .* got \[0.5, 0.5\]"),
    (change("candidates", 2, to=[[0.5, 0.5]]), r"history\['depth'\]\[2\]: expected 1, .* got 3"),
    (change("trajectory", to=[[0.5, 0.5]] * 3), "trajectory: expected the candidate in row best"),
]


class TestFromDict:
    @pytest.mark.parametrize(
        ("damage", "message"), REFUSED_SEQUENCES, ids=[message[:50] for _, message in REFUSED_SEQUENCES]
    )
    def test_damaged_sequences(self, ops, damage, message):
        self.check_refusal(sequence_result(ops), ops, damage, message)

    @pytest.mark.parametrize(
        ("damage", "message"), REFUSED_WEIGHTS, ids=[message[:50] for _, message in REFUSED_WEIGHTS]
    )
    def test_damaged_weights(self, ops, damage, message):
        self.check_refusal(weight_result(ops), ops, damage, message)

    def check_refusal(self, result, ops, damage, message):
        d = result.to_dict()
        SearchResult.from_dict(copy.deepcopy(d), ops)
        damage(d)
        with pytest.raises(ValueError, match=message):
            SearchResult.from_dict(d, ops)

    @pytest.mark.parametrize("given", [None, [], "result"])
    def test_no_dict(self, ops, given):
        with pytest.raises(ValueError, match=f"d: expected a dict .* got {type(given).__name__}"):
            SearchResult.from_dict(given, ops)

    def test_other_operators(self, ops, rng):
        d = sequence_result(ops).to_dict()
        with pytest.raises(ValueError, match=r"ops: expected the members .* got \['view 0', 'view 1', 'identity'\]"):
            SearchResult.from_dict(d, ops.with_identity())
        fewer = mdt.build_operators([rng.normal(size=(39, 3)), rng.normal(size=(39, 2))])
        with pytest.raises(ValueError, match="ops: expected 40 samples, those that were searched, got 39"):
            SearchResult.from_dict(d, fewer)
        with pytest.raises(TypeError, match="ops: expected an OperatorSet, got list"):
            SearchResult.from_dict(d, [])


class TestFrame:
    def test_sequences(self, ops):
        result = sequence_result(ops)
        frame = result.to_frame()
        assert list(frame.columns) == ["node", "parent", "depth", "score", "seconds", "trajectory"]
        assert len(frame) == result.n_evaluations == 8
        assert list(frame["node"]) == list(range(8))
        assert list(frame["trajectory"]) == ["0", "1", "0-0", "0-1", "1-0", "1-1", "1-0-0", "1-0-1"]
        for name in HISTORY_DTYPE.names:
            np.testing.assert_array_equal(frame[name], result.history[name])
            assert frame[name].dtype == HISTORY_DTYPE[name]

    def test_weights(self, ops):
        assert set(weight_result(ops).to_frame()["trajectory"]) == {"weights"}

    def test_without_pandas(self, ops, monkeypatch):
        monkeypatch.setitem(sys.modules, "pandas", None)
        with pytest.raises(ImportError, match=r"to_frame needs pandas: pip install 'mdt_fast\[pandas\]'"):
            sequence_result(ops).to_frame()
