"""The report of each view: its numbers, table and picture, and its weights in a search."""

from __future__ import annotations

import sys
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from sklearn.metrics import adjusted_mutual_info_score

import mdt_fast as mdt
from mdt_fast._clusters.added_information import added_information
from mdt_fast._clusters.k_means import k_means
from mdt_fast._clusters.stability import damped, stability
from mdt_fast.quality import information, persistence
from mdt_fast.quality._view_weights import weights_of
from mdt_fast.strategies import Consensus

HALVES = np.repeat([0, 1], 6)
PARITY = np.tile([0, 1], 6)


def two_blocks(blocks, idle, leaves):
    """A walk on two blocks of 6: idle with one probability; of the moves, a share leaves the block."""
    same = blocks[:, None] == blocks
    P = np.where(same, (1 - leaves) / 5, leaves / 6) * (1 - idle)
    np.fill_diagonal(P, idle)
    return P


@pytest.fixture(scope="module")
def blocks():
    """A good walk, one that hardly moves between other blocks, and one that never leaves a block."""
    walks = {
        "good": two_blocks(HALVES, 0.5, 0.2),
        "idle": two_blocks(PARITY, 0.995, 0.2),
        "split": two_blocks(HALVES, 0.5, 0.0),
    }
    return mdt.OperatorSet.from_transitions(walks)


@pytest.fixture(scope="module")
def blobs():
    return mdt.datasets.make_multiview_blobs(240, n_clusters=4, n_features=3, cluster_std=2.5, random_state=1)


@pytest.fixture(scope="module")
def noisy(blobs):
    """Two views of the clusters, and one of noise."""
    noise = np.random.default_rng(5).normal(size=(240, 4))
    views = {"camera": blobs.views[0], "noise": noise, "scanner": blobs.views[1]}
    return mdt.build_operators(views, n_neighbors=12)


@pytest.fixture(scope="module")
def report(noisy):
    return mdt.view_report(noisy, 4, t=3)


def assert_same(first, second):
    arrays = ("stay", "alone", "own", "n_own", "adds", "scores", "weights", "agreement", "labels")
    for name in (*arrays, "n_components", "n_isolated"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
    for name in ("names", "remark", "findings", "score", "t", "joint"):
        assert getattr(first, name) == getattr(second, name)


class TestNumbers:
    def test_by_hand(self, blocks):
        found = mdt.view_report(blocks, labels=HALVES, t=3)
        # Half of the jumps to any sample leave a half. Of 5 others of its parity, 2 are in the half of a sample, and 3
        # of 6 of the other parity. Where no move leaves, 1 in 12 is assumed to.
        leaves = [0.2, 0.8 * 3 / 5 + 0.2 * 3 / 6, 0.5 / 12]
        np.testing.assert_allclose(found.stay, 1 - np.array(leaves) / 0.5, atol=1e-12)
        odds = np.array([0.6 / 0.4, 0.01 / 1.16, 11])
        np.testing.assert_allclose(found.weights, odds / odds.sum(), rtol=1e-10)
        np.testing.assert_allclose(found.self_probability, [0.5, 0.995, 0.5], rtol=1e-12)
        assert found.n_components.tolist() == [1, 1, 2]
        assert found.n_isolated.tolist() == [0, 0, 0]
        np.testing.assert_allclose(found.alone[[0, 2]], 1, atol=1e-12)
        assert found.alone[1] < 0.1
        np.testing.assert_allclose(found.agreement[0, 2], 1, atol=1e-12)
        assert found.remark == [
            "redundant: says the same as split",
            "hardly moves, no better than chance for these clusters",
            "in 2 parts, redundant: says the same as good",
        ]
        assert found.findings == []

    def test_weights_are_bounded_odds(self):
        weights = weights_of(np.array([1.0, 0.995, 0.5, 0.0, -1.0]))
        np.testing.assert_allclose(weights / weights[2], [99, 99, 1, 0.01, 0.005], rtol=1e-12)
        assert weights.sum() == pytest.approx(1)

    def test_a_view_of_noise_gets_little_weight(self, report, blobs):
        assert report.names == ["camera", "noise", "scanner"]
        assert adjusted_mutual_info_score(blobs.target, report.labels) > 0.7
        assert report.weights.argmin() == 1
        assert report.weights[1] < 0.05
        assert abs(report.alone[1]) < 0.1 < 0.5 < report.alone[[0, 2]].min()
        assert report.remark[1] == "no better than chance for these clusters"
        assert report.own[1] < 0.6 < report.own[[0, 2]].min()
        assert abs(report.adds[1]) < 0.03
        assert not any("chance" in report.remark[view] for view in (0, 2))

    def test_a_view_given_twice(self, blobs):
        first, other = blobs.views
        ops = mdt.build_operators({"first": first, "other": other, "again": first}, n_neighbors=12)
        found = mdt.view_report(ops, labels=blobs.target, t=3)
        assert found.agreement[0, 2] == pytest.approx(1)
        assert "redundant: says the same as again" in found.remark[0]
        assert "redundant: says the same as first" in found.remark[2]
        assert found.adds[[0, 2]].max() < 0.1
        assert found.weights[0] == found.weights[2]

    def test_each_number_equals_its_definition(self, noisy, report):
        labels = report.labels
        np.testing.assert_array_equal(labels, mdt.search(noisy, 4, strategy="consensus", t=3, random_state=0).labels)
        np.testing.assert_allclose(
            report.stay, 1 - np.exp(-persistence(noisy, labels, per_view=True)), rtol=0, atol=1e-14
        )

        def cluster(weights):
            coordinates = mdt.embed(noisy.trajectory(weights), 4, tol=1e-6).coordinates
            return k_means(damped(coordinates), 4, n_init=5, random_state=0).labels

        own = [cluster(np.tile(np.eye(3)[view], (3, 1))) for view in range(3)]
        for view in range(3):
            assert report.alone[view] == pytest.approx(adjusted_mutual_info_score(labels, own[view]), abs=0.02)
            assert report.scores[view] == pytest.approx(information(noisy, own[view]), abs=0.02)
            weights = np.full((3, 3), 0.5)
            weights[:, view] = 0
            adds = added_information(labels, own[view], cluster(weights), seed=0)
            assert report.adds[view] == pytest.approx(adds, abs=0.02)
            assert (report.own[view], report.n_own[view]) == stability(noisy, view, 4, steps=3, seed=0, n_jobs=1)
            for other in range(view):
                agreement = adjusted_mutual_info_score(own[view], own[other])
                assert report.agreement[view, other] == report.agreement[other, view]
                assert report.agreement[view, other] == pytest.approx(agreement, abs=0.02)
        assert report.score == information(noisy, labels)
        assert report.joint is None
        assert (np.diag(report.agreement) == 1).all()

    def test_one_view(self, blobs):
        found = mdt.view_report(mdt.build_operators(blobs.views[:1], n_neighbors=12), 4, t=3)
        assert np.isnan(found.adds).tolist() == [True]
        assert found.agreement.tolist() == [[1.0]]
        assert found.weights.tolist() == [1.0]
        assert found.remark == [""]
        assert "  -  " in str(found).splitlines()[-2]
        assert str(found).endswith("nothing to worry about")

    def test_other_members_are_ignored(self, noisy, blobs):
        plain = mdt.view_report(noisy, labels=blobs.target, t=3)
        assert_same(mdt.view_report(noisy.with_identity().with_uniform(), labels=blobs.target, t=3), plain)

    def test_labels_in_any_coding(self, noisy, blobs):
        coded = np.array(["d", "b", "a", "c"])[blobs.target]
        named, plain = (mdt.view_report(noisy, labels=labels, t=3) for labels in (coded, blobs.target))
        np.testing.assert_allclose(named.alone, plain.alone, rtol=1e-12)
        np.testing.assert_allclose(named.weights, plain.weights, rtol=1e-12)
        assert named.labels.tolist() == coded.tolist()

    def test_the_time_is_selected(self, blobs):
        ops = mdt.build_operators([X[:60] for X in blobs.views])
        assert mdt.view_report(ops, labels=blobs.target[:60]).t == mdt.select_time(ops).t

    def test_same_seed_same_report(self, noisy, report):
        for n_jobs in (1, 2, 3):
            assert_same(mdt.view_report(noisy, 4, t=3, n_jobs=n_jobs), report)
        with_generators = [mdt.view_report(noisy, 4, t=3, random_state=np.random.default_rng(3)) for _ in range(2)]
        assert_same(*with_generators)


class TestBadInput:
    def test_operators(self, blobs):
        with pytest.raises(TypeError, match="ops: expected an OperatorSet, got list"):
            mdt.view_report(blobs.views, 4)

    def test_neither_or_both(self, noisy, blobs):
        with pytest.raises(ValueError, match="n_clusters: expected either n_clusters or labels, got neither"):
            mdt.view_report(noisy)
        with pytest.raises(ValueError, match="n_clusters: expected either n_clusters or labels, got both"):
            mdt.view_report(noisy, 4, labels=blobs.target)

    def test_labels(self, noisy, blobs):
        with pytest.raises(ValueError, match=r"labels: expected shape \(240,\).*got \(239,\)"):
            mdt.view_report(noisy, labels=blobs.target[1:])
        with pytest.raises(ValueError, match=r"labels: expected between 2 and 239 classes.*got 1"):
            mdt.view_report(noisy, labels=np.zeros(240, dtype=int))

    def test_numbers(self, noisy):
        with pytest.raises(ValueError, match="n_clusters: expected an integer >= 2"):
            mdt.view_report(noisy, 1)
        with pytest.raises(ValueError, match="t: expected 'auto' or an integer >= 1, got 'long'"):
            mdt.view_report(noisy, 4, t="long")
        with pytest.raises(ValueError, match="t: expected an integer >= 1, got 0"):
            mdt.view_report(noisy, 4, t=0)


class TestShown:
    def test_table(self, blocks):
        found = mdt.view_report(blocks, labels=HALVES, t=3)
        alone, own = f"{found.alone[1]:.3f}", [f"{value:.3f} at 2" for value in found.own]
        scores = [f"{value:.3f}" for value in found.scores]
        assert str(found).splitlines() == [
            f"3 views of 12 samples, 2 clusters, t=3, score {scores[0]}",
            "view     stay   alone         own   adds  score  weight  remark",
            "-----  ------  ------  ----------  -----  -----  ------  " + "-" * 54,
            f"good    0.600   1.000  {own[0]}  0.000  {scores[0]}   0.120  redundant: says the same as split",
            f"idle   -0.160  {alone}  {own[1]}  0.000  {scores[1]}   0.001  {found.remark[1]}",
            f"split   0.917   1.000  {own[2]}  0.000  {scores[2]}   0.879  {found.remark[2]}",
        ]

    def test_one_line(self, blocks):
        found = mdt.view_report(blocks, labels=HALVES, t=3)
        assert repr(found) == "ViewReport(3 views of 12 samples, 2 clusters, t=3, 3 views with a remark)"

    def test_no_remarks(self, blobs):
        found = mdt.view_report(mdt.build_operators(blobs.views, n_neighbors=12), labels=blobs.target, t=3)
        assert set(found.remark) <= {"", "decisive for these clusters"}
        assert found.findings == []
        assert str(found).endswith("nothing to worry about")

    def test_frozen(self, report):
        with pytest.raises(FrozenInstanceError):
            report.t = 4

    def test_frame(self, report, monkeypatch):
        pytest.importorskip("pandas")
        frame = report.to_frame()
        assert list(frame.columns) == [
            "view", "stay", "alone", "own", "n_own", "adds", "score", "weight", "self_probability", "n_components",
            "n_isolated", "n_present", "remark",
        ]  # fmt: skip
        assert frame["view"].tolist() == report.names
        np.testing.assert_array_equal(frame["weight"], report.weights)
        monkeypatch.setitem(sys.modules, "pandas", None)
        with pytest.raises(ImportError, match="to_frame needs pandas"):
            report.to_frame()


@pytest.mark.usefixtures("plt")
class TestPicture:
    def test_bars_end_at_the_numbers(self, report):
        ax = report.plot()
        shown = [[bar.get_width() for bar in bars] for bars in ax.containers]
        np.testing.assert_array_equal(shown, [report.stay, report.alone, report.own, report.adds, report.weights])
        assert [text.get_text() for text in ax.get_legend().get_texts()] == ["stay", "alone", "own", "adds", "weight"]
        assert [label.get_text() for label in ax.get_yticklabels()] == report.names
        assert len(ax.texts) == 15

    def test_all_is_inside(self, blocks):
        ax = mdt.plot.views(mdt.view_report(blocks, labels=HALVES, t=3))
        ax.figure.canvas.draw()
        assert any(text.get_text() == "\N{MINUS SIGN}0.16" for text in ax.texts)
        box = ax.get_window_extent()
        for text in ax.texts:
            place = text.get_window_extent()
            assert box.x0 <= place.x0 <= place.x1 <= box.x1
            assert box.y0 <= place.y0 <= place.y1 <= box.y1

    def test_many_views_have_no_written_values(self, plt, report):
        small = plt.figure(figsize=(3, 1)).add_subplot()
        assert not mdt.plot.views(report, small).texts

    def test_one_view_has_no_value(self, blobs):
        found = mdt.view_report(mdt.build_operators(blobs.views[:1], n_neighbors=12), labels=blobs.target, t=2)
        assert "no value" in [text.get_text() for text in found.plot().texts]

    def test_refusals(self, report, monkeypatch):
        with pytest.raises(TypeError, match="report: expected a ViewReport, got dict"):
            mdt.plot.views({})
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        with pytest.raises(ImportError, match=r"ViewReport\.plot needs matplotlib"):
            report.plot()


class TestViewWeights:
    @pytest.mark.parametrize("strategy", ["consensus", "beam", "mean", "contrastive", [0, 1]])
    def test_auto_is_the_report_of_a_consensus(self, noisy, strategy):
        found = mdt.search(noisy, 4, strategy=strategy, t=2, view_weights="auto", random_state=7)
        agreed = mdt.search(noisy, 4, strategy=Consensus(trajectories=32), t=2, random_state=7)
        expected = mdt.view_report(noisy, labels=agreed.labels, t=2).weights
        np.testing.assert_array_equal(found.settings["view_weights"], expected)
        assert expected[1] < 0.05
        given = mdt.search(noisy, 4, strategy=strategy, t=2, view_weights=expected, random_state=7)
        # Given weights are divided by their sum, which may change the last digit.
        assert found.score == pytest.approx(given.score, rel=1e-9)

    def test_weights_choose_among_the_same_candidates(self, noisy):
        """Weights change the scores of candidates, not the candidates."""
        options = {"strategy": Consensus(trajectories=16), "t": 3}
        equal, given = (mdt.search(noisy, 4, view_weights=w, **options) for w in (None, [1.0, 0.0, 0.0]))
        for first, second in zip(equal.candidates, given.candidates, strict=True):
            np.testing.assert_array_equal(first, second)
        assert not np.array_equal(equal.history["score"], given.history["score"])

    @pytest.mark.parametrize("n_views", [2, 3, 49])
    def test_equal_weights_equal_none(self, n_views):
        X = np.random.default_rng(0).normal(size=(30, 2))
        ops = mdt.build_operators([X] * n_views, n_neighbors=8)
        plain, given = (
            mdt.search(ops, 2, strategy=Consensus(trajectories=8), t=2, view_weights=weights)
            for weights in (None, [0.7] * n_views)
        )
        for first, second in zip(plain.candidates, given.candidates, strict=True):
            np.testing.assert_array_equal(first, second)
        np.testing.assert_array_equal(plain.labels, given.labels)

    def test_same_at_any_number_of_threads(self, noisy):
        first, second = (mdt.search(noisy, 4, t=2, view_weights="auto", n_jobs=n_jobs) for n_jobs in (1, 3))
        assert first.settings == second.settings
        assert first.score == second.score
        np.testing.assert_array_equal(first.labels, second.labels)

    def test_the_time_is_selected_once(self, blobs, monkeypatch):
        ops, selected = mdt.build_operators([X[:60] for X in blobs.views]), []

        def select_time(*given, **options):
            selected.append(mdt.select_time(*given, **options))
            return selected[-1]

        monkeypatch.setattr("mdt_fast._search.search.select_time", select_time)
        found = mdt.search(ops, 4, strategy="mean", view_weights="auto")
        assert [found.t] == [selection.t for selection in selected]
        assert found.settings["t"] == "auto"

    def test_a_checkpoint_is_resumed(self, noisy, tmp_path):
        options = {"t": 2, "view_weights": "auto", "checkpoint": tmp_path / "search.json"}
        mdt.search(noisy, 4, max_evaluations=5, **options)
        whole, resumed = mdt.search(noisy, 4, t=2, view_weights="auto"), mdt.search(noisy, 4, **options)
        np.testing.assert_array_equal(whole.history["score"], resumed.history["score"])

    def test_estimator(self, noisy):
        found = mdt.MDTClustering(4, t=2, view_weights="auto").fit(noisy)
        searched = mdt.search(noisy, 4, strategy="consensus", t=2, view_weights="auto")
        assert found.search_result_.settings["view_weights"] == searched.settings["view_weights"]
        np.testing.assert_array_equal(found.labels_, searched.labels)

    def test_clusters_are_needed(self, noisy):
        with pytest.raises(ValueError, match="view_weights: expected numbers, because 'auto' needs n_clusters"):
            mdt.search(noisy, strategy="contrastive", view_weights="auto")
        with pytest.raises(TypeError, match="view_weights: expected 3 numbers, got 'equal'"):
            mdt.search(noisy, 4, view_weights="equal")


@pytest.mark.real_data
def test_mor_of_multi_feat_has_the_least_weight():
    bunch = mdt.datasets.fetch_multi_feat()
    ops = mdt.build_operators(dict(zip(bunch.view_names, bunch.views, strict=True)), kernel="adaptive")
    found = mdt.view_report(ops, 10)
    assert found.names[int(found.weights.argmin())] == "mor"
