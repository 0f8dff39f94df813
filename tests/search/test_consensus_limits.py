"""Limits, checkpoints and saved results of the consensus search."""

from __future__ import annotations

import base64
import copy
import json
import math
import pickle
import zlib

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

import mdt_fast as mdt
from helpers.consensus import N, assert_same, assert_valid, operators_of, overlapping, search
from helpers.documents import change, remove
from helpers.searches import Counted
from mdt_fast._search import checkpoint as _checkpoint


class TestLimits:
    @pytest.mark.parametrize("count", [1, 2, 7, 16, 20, 33])
    def test_evaluations(self, count):
        noise = mdt.build_operators(list(np.random.default_rng(0).normal(size=(2, 60, 8))), n_neighbors=10)
        found = search(noise, 6, max_evaluations=count)
        assert_valid(found, 60, 6)
        assert (found.n_evaluations, found.stopped) == (count, "max_evaluations")
        assert_same(search(noise, 6, n=count), found, but=("stopped", "settings"))

    def test_a_limit_that_is_not_reached(self):
        found = search(operators_of(), n=9, max_evaluations=9)
        assert found.stopped is None
        assert_same(search(operators_of(), n=9), found)

    @pytest.mark.parametrize("seconds", [0, 1e-9])
    def test_no_time(self, seconds):
        found = search(operators_of(), time_limit=seconds)
        assert_valid(found, N)
        assert found.stopped == "time_limit"
        assert 1 <= found.n_evaluations < 32

    def test_enough_time(self):
        assert_same(search(operators_of(), n=9, time_limit=600), search(operators_of(), n=9))

    def test_progress(self):
        seen = []
        found = search(operators_of(), n=20, progress=seen.append)
        assert seen[-1].n_evaluations == found.n_evaluations == 20
        assert {state.n_total for state in seen} == {20}
        assert seen[-1].best_score == found.history["score"].max()


class BrokenError(Exception):
    pass


class TestCheckpoint:
    @pytest.mark.parametrize("count", [1, 7, 16, 18])
    def test_resumes_after_a_limit(self, tmp_path, count):
        path, ops = tmp_path / "known.json", operators_of()
        plain = search(ops, n=20)
        cut = search(ops, n=20, checkpoint=path, max_evaluations=count)
        assert (cut.n_evaluations, cut.stopped) == (count, "max_evaluations")
        whole = search(ops, n=20, checkpoint=path)
        assert_same(plain, whole)
        # Equal times show that nothing was evaluated again.
        np.testing.assert_array_equal(whole.history["seconds"][:count], cut.history["seconds"])
        assert_same(whole, search(ops, n=20, checkpoint=path))

    @pytest.mark.parametrize("count", [1, 5, 17])
    def test_resumes_after_an_error(self, tmp_path, count):
        path, ops, quality = tmp_path / "known.json", operators_of(), Counted(score=mdt.quality.persistence)

        def fail(state):
            if state.n_evaluations >= count:
                raise BrokenError

        with pytest.raises(BrokenError):
            search(ops, n=20, quality=quality, checkpoint=path, progress=fail)
        n_known = len(json.loads(path.read_text())["evaluations"])
        assert n_known >= count
        quality.n_calls = 0
        whole = search(ops, n=20, quality=quality, checkpoint=path)
        # One more call scores the labels of the consensus.
        assert quality.n_calls == 20 - n_known + 1
        assert_same(search(ops, n=20, quality=quality), whole)

    def test_labels_are_read_back(self, tmp_path):
        """Labels in the file are used instead of labels computed again."""
        path, ops, target = tmp_path / "known.json", operators_of(), overlapping()[1]
        assert adjusted_rand_score(search(ops, n=9, checkpoint=path).labels, target) < 1
        content = json.loads(path.read_text())
        assert len(content["evaluations"]) == 9
        packed = base64.b64encode(zlib.compress(target.astype(np.uint8).tobytes())).decode()
        for entry in content["evaluations"]:
            assert entry["labels"][0] == N
            entry["labels"][1] = packed
        del content["digest"]
        path.write_text(json.dumps({**content, "digest": _checkpoint._digest(content)}))
        found = search(ops, n=9, checkpoint=path)
        np.testing.assert_array_equal(found.labels, target)
        assert adjusted_rand_score(found.labels, target) == 1.0

    def test_many_labels(self, tmp_path):
        """More labels than a byte can hold."""
        views = list(np.random.default_rng(0).normal(size=(2, 320, 3)))
        ops, path = mdt.build_operators(views, n_neighbors=20), tmp_path / "known.json"
        how = {"t": 1, "n": 3, "quality": mdt.Scoring(n_components=10, n_init=1)}
        plain = search(ops, 300, **how)
        search(ops, 300, **how, checkpoint=path, max_evaluations=2)
        assert_same(plain, search(ops, 300, **how, checkpoint=path))

    @pytest.mark.parametrize(
        ("changed", "message"),
        [
            ({"random_state": 1}, "random_state=1, got one with random_state=0"),
            ({"n": 10}, "strategy={.*'trajectories': 10.*, got one with strategy={.*'trajectories': 9"),
            ({"quality": mdt.Scoring(n_init=4)}, "n_init=4, got one with n_init=5"),
            ({"quality": "silhouette"}, "quality='silhouette', got one with quality='information'"),
            (
                {"strategy": "convex", "quality": mdt.Scoring("persistence", n_init=5)},
                "strategy={'name': 'convex', 'n': 1}, got one with strategy={'name': 'consensus'",
            ),
        ],
    )
    def test_another_search_is_refused(self, tmp_path, changed, message):
        path = tmp_path / "known.json"
        search(operators_of(), n=9, checkpoint=path, max_evaluations=2)
        before = path.read_bytes()
        with pytest.raises(ValueError, match=f"checkpoint: expected one with {message}"):
            search(operators_of(), **{"n": 9, "checkpoint": path, **changed})
        with pytest.raises(ValueError, match="checkpoint: expected one of the same data"):
            search(operators_of(seed=1), n=9, checkpoint=path)
        assert path.read_bytes() == before

    def test_a_damaged_file_is_refused(self, tmp_path):
        path = tmp_path / "known.json"
        search(operators_of(), n=3, checkpoint=path)
        content = json.loads(path.read_text())
        content["evaluations"][0]["labels"][1] = content["evaluations"][1]["labels"][1][::-1]
        path.write_text(json.dumps(content))
        with pytest.raises(ValueError, match="checkpoint: expected a checkpoint of mdt_fast, got a damaged"):
            search(operators_of(), n=3, checkpoint=path)


DAMAGED = [
    (change("agreement", to=[1]), r"agreement: expected a dict, got \[1\]"),
    (change("agreement", to={}), "agreement: expected rows, embedding and confidence, got no rows, embedding, conf"),
    (remove("agreement", "confidence"), "agreement: expected .* got no confidence"),
    (remove("agreement", "rows"), "agreement: expected .* got no rows"),
    (change("labels", to=None), "labels: expected those of the consensus, got None"),
    (change("labels", to=[0]), "labels: expected 90 values, got 1"),
    (change("agreement", "rows", to=3), r"agreement\['rows'\]: expected a list, got 3"),
    (change("agreement", "rows", to=[]), r"agreement\['rows'\]: expected at least one trajectory, got none"),
    (change("agreement", "rows", 0, to=5), r"agreement\['rows'\]: expected an integer from 0 to 4, got 5"),
    (change("agreement", "rows", 0, to=-1), r"agreement\['rows'\]: expected an integer from 0 to 4, got -1"),
    (change("agreement", "rows", 0, to=True), r"agreement\['rows'\]: expected an integer .* got True"),
    (change("agreement", "rows", 0, to="0"), r"agreement\['rows'\]: expected an integer .* got '0'"),
    (change("agreement", "embedding", to=None), r"agreement\['embedding'\]: expected .*None"),
    (change("agreement", "embedding", to=[[1.0]]), r"agreement\['embedding'\]: expected .*90"),
    (change("agreement", "embedding", to=[1.0] * N), r"agreement\['embedding'\]: expected finite numbers for each"),
    (change("agreement", "embedding", 3, to=[1.0]), r"agreement\['embedding'\]: expected finite numbers for each"),
    (change("agreement", "embedding", 3, 0, to="x"), r"agreement\['embedding'\]: expected finite numbers for each"),
    (change("agreement", "embedding", 3, 0, to=math.inf), r"agreement\['embedding'\]: expected finite numbers"),
    (change("agreement", "confidence", to=[1.0]), r"agreement\['confidence'\]: expected .*90"),
    (change("agreement", "confidence", 3, to=None), r"agreement\['confidence'\]: expected finite numbers"),
    (change("agreement", "confidence", 3, to=[1.0]), r"agreement\['confidence'\]: expected finite numbers"),
    (change("candidates", 0, to=[[0.5, 0.6]]), r"candidates\[0\]: .*"),
]


@pytest.fixture(scope="module")
def saved():
    return search(operators_of(), n=5)


class TestResult:
    def test_through_json(self, saved):
        text = json.dumps(saved.to_dict(), allow_nan=False)
        back = mdt.SearchResult.from_dict(json.loads(text), operators_of())
        assert_same(saved, back)
        assert_valid(back, N)
        assert back.to_dict() == saved.to_dict()

    @pytest.mark.parametrize("options", [{}, {"max_evaluations": 3}, {"quality": "davies_bouldin"}], ids=str)
    def test_through_a_file(self, tmp_path, options):
        found = search(operators_of(), n=4, **options)
        found.save(tmp_path / "result.json")
        assert_same(found, mdt.SearchResult.load(tmp_path / "result.json", operators_of()))

    def test_plain_values(self, saved):
        d = saved.to_dict()
        assert d["trajectory"] is None
        assert d["agreement"].keys() == {"rows", "embedding", "confidence"}
        assert d["agreement"]["rows"] == saved.agreement.rows.tolist()
        assert d["labels"] == saved.labels.tolist()
        np.testing.assert_array_equal(d["agreement"]["embedding"], saved.agreement.embedding)

    @pytest.mark.parametrize(("damage", "message"), DAMAGED)
    def test_damaged(self, saved, damage, message):
        d = copy.deepcopy(saved.to_dict())
        damage(d)
        with pytest.raises(ValueError, match=message):
            mdt.SearchResult.from_dict(d, operators_of())

    @pytest.mark.parametrize(
        "copied", [lambda r: pickle.loads(pickle.dumps(r)), copy.deepcopy, copy.copy], ids=["pickle", "deep", "shallow"]
    )
    def test_copies(self, saved, copied):
        other = copied(saved)
        assert_same(saved, other)
        assert_valid(other, N)
