"""Results of searches: JSON there and back, what is refused, the table, and the picture of the tree."""

from __future__ import annotations

import copy
import itertools
import json
import pickle
import sys

import numpy as np
import pytest
from mdt_fast._search.result import HISTORY_DTYPE, SearchResult

import mdt_fast as mdt

N_SAMPLES = 40


@pytest.fixture(scope="module")
def ops():
    rng = np.random.default_rng(0)
    return mdt.build_operators([rng.normal(size=(N_SAMPLES, 3)), rng.normal(size=(N_SAMPLES, 2))])


def make_result(ops, candidates, scores, parents=None, best=None, **changes):
    history = np.zeros(len(candidates), dtype=HISTORY_DTYPE)
    history["parent"] = -1 if parents is None else parents
    history["depth"] = [len(c) for c in candidates]
    history["score"] = scores
    history["seconds"] = np.linspace(0.1, 1.0, len(candidates))
    if best is None:
        best = int(np.nanargmax(scores))
    fields = {
        "trajectory": ops.trajectory(list(candidates[best])),
        "score": float(scores[best]),
        "labels": np.arange(N_SAMPLES, dtype=np.int32) % 3,
        "history": history,
        "candidates": candidates,
        "best": best,
        "strategy": "beam",
        "quality": "calinski_harabasz",
        "t": 3,
        "stopped": None,
        "converged": None,
        "settings": {"beam_width": 2, "tol": 1e-3, "probabilities": [[0.5, 0.5]]},
    }
    return SearchResult(**{**fields, **changes})


def word_result(ops, **changes):
    """Two levels below both members, and a third below one of them."""
    words = [(0,), (1,), (0, 0), (0, 1), (1, 0), (1, 1), (1, 0, 0), (1, 0, 1)]
    return make_result(ops, words, [1.0, 2.0, 0.1, 1 / 3, 4.0, 3.0, 7.5, 5.0], [-1, -1, 0, 0, 1, 1, 4, 4], **changes)


def weight_result(ops, **changes):
    rows = np.random.default_rng(1).uniform(size=(5, 3, 2))
    candidates = list(rows / rows.sum(axis=2, keepdims=True))
    return make_result(ops, candidates, np.array([0.3, np.nan, -2.0, 9.1, 0.0]), strategy="cma", **changes)


def unscored_result(ops):
    words = [(0, 1, 1)]
    return make_result(ops, words, [np.nan], best=0, strategy="random", quality=None, labels=None, t=None)


def stopped_result(ops):
    return weight_result(ops, stopped="time_limit", converged=True, settings={})


def infinite_result(ops):
    return make_result(ops, [(0,), (1,)], [-np.inf, np.inf], best=1)


def deep_words(n_members, n_levels, width):
    """Words and parents of a beam: at each level the children of some of the level before."""
    words, parents, survivors = [], [], [-1]
    rng = np.random.default_rng(2)
    for _ in range(n_levels):
        level = [(p, m) for p in survivors for m in range(n_members)]
        first = len(words)
        words += [(*(words[p] if p >= 0 else ()), m) for p, m in level]
        parents += [p for p, _ in level]
        survivors = sorted(first + rng.choice(len(level), size=min(width, len(level)), replace=False))
    return words, [int(p) for p in parents]


def assert_same(first, second):
    for name in ("score", "best", "strategy", "quality", "t", "stopped", "converged", "settings"):
        np.testing.assert_equal(getattr(second, name), getattr(first, name), err_msg=name)
    assert second.history.dtype == HISTORY_DTYPE
    for name in HISTORY_DTYPE.names:
        np.testing.assert_array_equal(second.history[name], first.history[name])
    assert len(second.candidates) == len(first.candidates)
    for a, b in zip(first.candidates, second.candidates, strict=True):
        assert type(a) is type(b)
        np.testing.assert_array_equal(a, b, strict=True)
    np.testing.assert_array_equal(second.trajectory.weights, first.trajectory.weights)
    if first.labels is None:
        assert second.labels is None
    else:
        np.testing.assert_array_equal(second.labels, first.labels, strict=True)


EVERY_KIND = [word_result, weight_result, unscored_result, stopped_result, infinite_result]


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
    result = word_result(ops)
    d = result.to_dict()
    back = SearchResult.from_dict(d, ops)
    d["settings"]["probabilities"][0][0] = 7
    d["candidates"][0][0] = 1
    d["labels"][0] = 2
    for untouched in (result, back):
        assert_same(word_result(ops), untouched)


def test_weights_of_the_answer_keep_their_last_digits(ops):
    # Rescaled rows differ from the candidate in the last digit; both must come back as they were.
    result = weight_result(ops)
    shifted = result.candidates[result.best] * (1 + 1e-10)
    result.candidates[result.best] = shifted
    back = SearchResult.from_dict(result.to_dict(), ops)
    np.testing.assert_array_equal(back.candidates[back.best], shifted)
    np.testing.assert_array_equal(back.trajectory.weights, result.trajectory.weights)
    assert not np.array_equal(back.trajectory.weights, shifted)


def test_results_pickle(ops):
    assert_same(word_result(ops), pickle.loads(pickle.dumps(word_result(ops))))


def test_a_result_is_frozen(ops):
    with pytest.raises(AttributeError):
        word_result(ops).score = 1.0


def test_repr(ops):
    text = repr(word_result(ops, stopped="max_evaluations"))
    assert text == (
        "SearchResult(strategy='beam', score=7.5, trajectory=1-0-0, 8 evaluations, stopped='max_evaluations')"
    )
    assert "stopped" not in repr(word_result(ops))
    assert "trajectory=weights of 3 steps, 5 evaluations" in repr(weight_result(ops))
    assert "score=nan, trajectory=0-1-1, 1 evaluation)" in repr(unscored_result(ops))


class TestSave:
    def test_what_json_cannot_hold_leaves_the_file_alone(self, ops, tmp_path):
        path = tmp_path / "result.json"
        word_result(ops).save(path)
        before = path.read_bytes()
        with pytest.raises(TypeError):
            word_result(ops, settings={"quality": print}).save(path)
        with pytest.raises(ValueError, match="not JSON compliant"):
            word_result(ops, settings={"tol": float("nan")}).save(path)
        assert path.read_bytes() == before
        assert len(list(tmp_path.iterdir())) == 1

    def test_a_move_that_fails_leaves_nothing_behind(self, ops, tmp_path):
        (tmp_path / "taken").mkdir()
        with pytest.raises(OSError, match="taken"):
            word_result(ops).save(tmp_path / "taken")
        assert [entry.name for entry in tmp_path.iterdir()] == ["taken"]

    def test_a_missing_folder_is_an_os_error(self, ops, tmp_path):
        with pytest.raises(FileNotFoundError):
            word_result(ops).save(tmp_path / "absent" / "result.json")


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

    def test_truncated(self, ops, tmp_path):
        path = tmp_path / "half.json"
        word_result(ops).save(path)
        path.write_bytes(path.read_bytes()[:-20])
        with pytest.raises(ValueError, match=r"half\.json: expected a saved SearchResult"):
            SearchResult.load(path, ops)

    @pytest.mark.parametrize(
        ("content", "message"),
        [("[1, 2]", "result: expected a dict .* got list"), ('{"a": 1}', "format: expected .* got None")],
    )
    def test_other_json(self, ops, tmp_path, content, message):
        path = tmp_path / "other.json"
        path.write_text(content)
        with pytest.raises(ValueError, match=rf"other\.json: {message}"):
            SearchResult.load(path, ops)


def change(*keys, to):
    def apply(d):
        for key in keys[:-1]:
            d = d[key]
        d[keys[-1]] = to

    return apply


def remove(*keys):
    def apply(d):
        for key in keys[:-1]:
            d = d[key]
        del d[keys[-1]]

    return apply


REFUSED_WORDS = [
    (change("format", to="other"), r"format: expected 'mdt_fast.SearchResult', got 'other'"),
    (remove("format"), r"format: expected 'mdt_fast.SearchResult', got None"),
    (change("version", to=2), "version: expected 1, got 2"),
    (remove("version"), "version: expected 1, got None"),
    (remove("labels"), "result: expected the keys .* got none for labels"),
    (remove("history"), "got none for history"),
    (change("members", to=["view 0", "other"]), r"ops: expected the members \['view 0', 'other'\].* got \['view 0'"),
    (change("members", to="view 0"), "members: expected a list, got 'view 0'"),
    (change("n_samples", to=41), "ops: expected 41 samples, those that were searched, got 40"),
    (change("n_samples", to="40"), "n_samples: expected an integer from 1 .* got '40'"),
    (change("candidates", to={}), "candidates: expected a list, got {}"),
    (change("candidates", to=[]), "candidates: expected at least one, got none"),
    (change("candidates", 3, to=[]), r"candidates\[3\]: expected at least one step, got none"),
    (change("candidates", 3, to=[0, 2]), r"candidates\[3\], member of a word: expected an integer from 0 to 1, got 2"),
    (change("candidates", 3, to=[0, -1]), r"candidates\[3\], member of a word: .* got -1"),
    (change("candidates", 3, to=[0, "view 1"]), r"candidates\[3\], member of a word: .* got 'view 1'"),
    (change("candidates", 3, to=[0, True]), r"candidates\[3\], member of a word: .* got True"),
    (change("candidates", 3, to=[0, 0.5]), r"candidates\[3\], member of a word: .* got 0.5"),
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
    (change("labels", 7, to=2**31), r"labels\[7\]: expected an integer from 0 to 2147483647"),
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
    (change("candidates", 2, to=[[0.5, 0.5], 1]), r"candidates\[2\], member of a word: .* got \[0.5, 0.5\]"),
    (change("candidates", 2, to=[[0.5, 0.5]]), r"history\['depth'\]\[2\]: expected 1, .* got 3"),
    (change("trajectory", to=[[0.5, 0.5]] * 3), "trajectory: expected the candidate in row best"),
]


class TestFromDict:
    @pytest.mark.parametrize(("damage", "message"), REFUSED_WORDS, ids=lambda value: str(value)[:50])
    def test_damaged_words(self, ops, damage, message):
        self.check_refusal(word_result(ops), ops, damage, message)

    @pytest.mark.parametrize(("damage", "message"), REFUSED_WEIGHTS, ids=lambda value: str(value)[:50])
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
        with pytest.raises(ValueError, match=f"result: expected a dict .* got {type(given).__name__}"):
            SearchResult.from_dict(given, ops)

    def test_other_operators(self, ops, rng):
        d = word_result(ops).to_dict()
        with pytest.raises(ValueError, match=r"ops: expected the members .* got \['view 0', 'view 1', 'identity'\]"):
            SearchResult.from_dict(d, ops.with_identity())
        fewer = mdt.build_operators([rng.normal(size=(39, 3)), rng.normal(size=(39, 2))])
        with pytest.raises(ValueError, match="ops: expected 40 samples, those that were searched, got 39"):
            SearchResult.from_dict(d, fewer)
        with pytest.raises(TypeError, match="ops: expected an OperatorSet, got list"):
            SearchResult.from_dict(d, [])


class TestFrame:
    def test_words(self, ops):
        result = word_result(ops)
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
        with pytest.raises(ImportError, match="to_frame needs pandas: pip install pandas"):
            word_result(ops).to_frame()


@pytest.fixture
def plt():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    yield plt
    plt.close("all")


def artist(ax, name):
    (found,) = [c for c in ax.collections if c.get_gid() == name]
    return found


def node_positions(ax):
    return np.asarray(artist(ax, "nodes").get_offsets())


def nearest_distances(at):
    distances = np.linalg.norm(at[:, np.newaxis] - at, axis=2)
    np.fill_diagonal(distances, np.inf)
    return distances.min(axis=1)


class TestTree:
    def test_radius_is_depth(self, ops, plt):
        result = word_result(ops)
        at = node_positions(result.plot_tree())
        np.testing.assert_allclose(np.hypot(*at.T), result.history["depth"])

    def test_edges_join_parents_and_children(self, ops, plt):
        result = word_result(ops)
        ax = result.plot_tree()
        at = node_positions(ax)
        curves = artist(ax, "edges").get_segments()
        assert len(curves) == result.n_evaluations
        for node, curve in enumerate(curves):
            parent = result.history["parent"][node]
            np.testing.assert_allclose(curve[0], at[parent] if parent >= 0 else [0, 0], atol=1e-12)
            np.testing.assert_allclose(curve[-1], at[node], atol=1e-12)
            # Between the two rings all along.
            assert (np.diff(np.hypot(*curve.T)) > 0).all()

    def test_the_path_leads_from_the_middle_to_the_answer(self, ops, plt):
        result = word_result(ops)
        ax = result.plot_tree(path_color="blue")
        at = node_positions(ax)
        path, edges = artist(ax, "path"), artist(ax, "edges")
        ends = [curve[-1] for curve in path.get_segments()]
        np.testing.assert_allclose(ends, at[[6, 4, 1]], atol=1e-12)
        np.testing.assert_allclose(path.get_segments()[-1][0], [0, 0])
        assert path.get_linewidths()[0] > edges.get_linewidths()[0]
        assert edges.get_zorder() < path.get_zorder() < artist(ax, "nodes").get_zorder()
        np.testing.assert_allclose(path.get_colors()[0], [0, 0, 1, 1])
        np.testing.assert_allclose(artist(ax, "answer").get_offsets(), at[[6]])
        assert "1-0-0" in ax.get_title()
        assert "7.5" in ax.get_title()

    def test_colours_follow_scores_and_others_are_grey(self, ops, plt):
        scores = np.array([3.0, np.nan, -1.0, np.inf, 1.0])
        result = make_result(ops, [(0,), (1,), (0, 0), (0, 1), (1, 0)], scores, [-1, -1, 0, 0, 1], best=0)
        ax = result.plot_tree(cmap="magma")
        nodes = artist(ax, "nodes")
        nodes.update_scalarmappable()
        colors = nodes.get_facecolors()
        magma = plt.get_cmap("magma")
        np.testing.assert_allclose(colors[[0, 2, 4]], magma([1.0, 0.0, 0.5]))
        for grey in colors[[1, 3]]:
            assert grey[0] == grey[1] == grey[2]
        assert nodes.get_clim() == (-1.0, 3.0)

    @pytest.mark.parametrize(
        ("quality", "label"), [("silhouette", "silhouette"), ("davies_bouldin", "minus davies_bouldin")]
    )
    def test_the_colour_bar_names_the_quality(self, ops, plt, quality, label):
        ax = word_result(ops, quality=quality).plot_tree()
        (bar,) = [other for other in ax.figure.axes if other is not ax]
        assert bar.get_ylabel() == label
        np.testing.assert_allclose(bar.get_ylim(), (0.1, 7.5))
        ax = word_result(ops, quality=quality).plot_tree(colorbar=False)
        assert ax.figure.axes == [ax]

    def test_given_axes_are_used(self, ops, plt):
        figure, (left, right) = plt.subplots(1, 2)
        assert word_result(ops).plot_tree(right) is right
        assert plt.get_fignums() == [figure.number]
        assert not left.collections
        assert right.get_aspect() == 1
        assert not right.axison
        figure.canvas.draw()
        own = word_result(ops).plot_tree()
        assert own.figure is not figure

    def test_siblings_are_in_the_order_of_their_letters(self, ops, plt):
        words = list(itertools.chain.from_iterable(itertools.product(range(2), repeat=d) for d in (1, 2, 3)))
        index = {word: i for i, word in enumerate(words)}
        parents = [index.get(word[:-1], -1) for word in words]
        ax = make_result(ops, words, np.arange(14.0), parents).plot_tree()
        at = node_positions(ax)
        angles = np.arctan2(at[:, 0], at[:, 1])
        outer = angles[-8:]
        # A complete tree is divided evenly, clockwise, and a parent is in the middle of its children.
        np.testing.assert_allclose(np.diff(outer), 2 * np.pi / 8)
        np.testing.assert_allclose(angles[2:6], (outer[::2] + outer[1::2]) / 2)

    def test_random_words_are_joined_to_the_middle_at_their_depth(self, ops, plt):
        words = [tuple(word) for word in np.random.default_rng(3).integers(2, size=(12, 4)).tolist()]
        ax = make_result(ops, words, np.arange(12.0), strategy="random").plot_tree()
        at = node_positions(ax)
        np.testing.assert_allclose(np.hypot(*at.T), 4)
        # Also words that were drawn twice are apart.
        assert nearest_distances(at).min() > 1
        for curve in artist(ax, "edges").get_segments():
            np.testing.assert_allclose(curve[0], 0, atol=1e-12)

    def test_spokes_to_deeper_words_pass_between_nodes(self, ops, plt):
        rng = np.random.default_rng(6)
        words = [(0,), (1,), (0, 0), (0, 1), (1, 0), (1, 1), *(tuple(w) for w in rng.integers(2, size=(9, 5)).tolist())]
        result = make_result(ops, words, np.arange(15.0), [-1, -1, 0, 0, 1, 1] + 9 * [-1])
        ax = result.plot_tree()
        at = node_positions(ax)
        for curve in artist(ax, "edges").get_segments()[6:]:
            direction = curve[-1] / 5
            apart = np.abs(direction[0] * at[:6, 1] - direction[1] * at[:6, 0])
            before = at[:6] @ direction > 0
            assert (apart[before] > 0.2).all()

    def test_nodes_of_a_beam_do_not_coincide(self, plt, rng):
        ops = mdt.build_operators([rng.normal(size=(N_SAMPLES, 3)) for _ in range(6)])
        words, parents = deep_words(6, 22, 2)
        assert len(words) == 6 + 21 * 12
        result = make_result(ops, words, np.arange(float(len(words))), parents)
        at = node_positions(result.plot_tree())
        np.testing.assert_allclose(np.hypot(*at.T), result.history["depth"])
        assert nearest_distances(at).min() > 0.3

    def test_edges_of_a_beam_do_not_cross(self, plt, rng):
        ops = mdt.build_operators([rng.normal(size=(N_SAMPLES, 3)) for _ in range(4)])
        words, parents = deep_words(4, 9, 3)
        result = make_result(ops, words, np.arange(float(len(words))), parents)
        ax = result.plot_tree()
        curves = np.array(artist(ax, "edges").get_segments())
        for depth in range(2, 10):
            # At equal distances from the middle, the order around the circle stays from the inner ring to the outer.
            ring = curves[result.history["depth"] == depth][:, 1:]
            angles = np.unwrap(np.arctan2(ring[..., 0], ring[..., 1]), axis=1)
            order = np.argsort(angles[:, 0])
            angles = angles[order]
            assert (np.diff(angles, axis=0) > 0).all()
            assert (angles[-1] - angles[0] < 2 * np.pi).all()

    @pytest.mark.parametrize("shape", ["complete", "random"])
    def test_hundreds_of_nodes(self, ops, plt, shape):
        if shape == "complete":
            words = list(itertools.chain.from_iterable(itertools.product(range(2), repeat=d) for d in range(1, 9)))
            words += list(itertools.product(range(2), repeat=9))[:90]
            index = {word: i for i, word in enumerate(words)}
            parents = [index.get(word[:-1], -1) for word in words]
        else:
            words = [tuple(word) for word in np.random.default_rng(4).integers(2, size=(600, 6)).tolist()]
            parents = None
        assert len(words) == 600
        scores = np.random.default_rng(5).normal(size=600)
        result = make_result(ops, words, scores, parents)
        ax = result.plot_tree()
        ax.figure.canvas.draw()
        at = node_positions(ax)
        np.testing.assert_allclose(np.hypot(*at.T), result.history["depth"])
        assert len(np.unique(at.round(9), axis=0)) == 600
        few = artist(word_result(ops).plot_tree(), "nodes").get_sizes()[0]
        assert artist(ax, "nodes").get_sizes()[0] < few / 4

    def test_size_of_the_nodes_can_be_given(self, ops, plt):
        ax = word_result(ops).plot_tree(node_size=7)
        assert artist(ax, "nodes").get_sizes()[0] == 49

    def test_unscored(self, ops, plt):
        ax = unscored_result(ops).plot_tree()
        ax.figure.canvas.draw()
        # No scores, no colour bar.
        assert ax.figure.axes == [ax]
        np.testing.assert_allclose(np.hypot(*node_positions(ax).T), 3)

    def test_equal_scores(self, ops, plt):
        ax = make_result(ops, [(0,), (1,)], [2.0, 2.0], best=0).plot_tree()
        ax.figure.canvas.draw()

    def test_long_words(self, ops, plt):
        word = tuple([0, 1] * 100)
        ax = make_result(ops, [word], [1.0]).plot_tree()
        ax.figure.canvas.draw()
        assert max(map(len, ax.get_title().splitlines())) <= 60
        assert "depth 200" in ax.get_title()
        assert len(ax.texts) <= 10

    def test_depths_are_written(self, ops, plt):
        ax = word_result(ops).plot_tree()
        assert [text.get_text() for text in ax.texts] == ["1", "2", "3"]
        radii = [np.hypot(*text.get_position()) for text in ax.texts]
        np.testing.assert_allclose(radii, [1, 2, 3])
        assert sorted(circle.radius for circle in ax.patches) == [1, 2, 3]

    def test_weights_have_no_tree(self, ops, plt):
        with pytest.raises(ValueError, match=r"expected words, which a tree needs, got weights .*plot\.weights"):
            weight_result(ops).plot_tree()
        assert not plt.get_fignums()

    def test_without_matplotlib(self, ops, monkeypatch):
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        with pytest.raises(ImportError, match=r"plot_tree needs matplotlib: pip install 'mdt_fast\[plot\]'"):
            word_result(ops).plot_tree()
