"""The roles of views in a report: complementary, noise, duplicated, joint; labels that ignore or miss clusters."""

from __future__ import annotations

import numpy as np
import pytest

import mdt_fast as mdt
from mdt_fast._clusters.stability import stability
from mdt_fast._search.degenerate import is_degenerate

DECISIVE = "decisive for these clusters"
BY_CHANCE = "no better than chance for these clusters"
CLASSES = np.arange(600) % 6


def groups_apart(classes, seed, distance=10.0):
    """Gaussian groups on a circle, beside three columns of noise."""
    rng = np.random.default_rng(seed)
    n = classes.max() + 1
    angles = 2 * np.pi * np.arange(n) / n
    centres = np.column_stack([np.cos(angles), np.sin(angles)]) * distance / (2 * np.sin(np.pi / n))
    return np.hstack([centres[classes] + rng.normal(size=(len(classes), 2)), rng.normal(size=(len(classes), 3))])


def operators(views, **options):
    return mdt.build_operators(views, kernel="adaptive", anisotropy=1.0, n_neighbors=10, **options)


@pytest.fixture(scope="module")
def grid():
    """Six clusters: the first view shows three groups, the second shows two."""
    views = {"three": groups_apart(CLASSES // 2, 1), "two": groups_apart(CLASSES % 2, 2)}
    return operators(views, joint=True)


@pytest.fixture(scope="module")
def report(grid):
    return mdt.view_report(grid, labels=CLASSES, t=8)


class TestComplementaryViews:
    def test_grid(self, report):
        assert report.names == ["three", "two", "joint"]
        assert report.joint == 2
        assert all(DECISIVE in remark for remark in report.remark[:2])
        assert not any(word in remark for word in ("chance", "redundant") for remark in report.remark)
        # The first view has log 3 of log 6, and the second log 2.
        np.testing.assert_allclose(report.adds[:2], np.log([3, 2]) / np.log(6), atol=0.05)
        assert report.n_own.tolist() == [3, 2, 6]
        assert report.own.min() > 0.95
        assert report.findings == []

    def test_pairs(self):
        views = [groups_apart(CLASSES // 2, 3), groups_apart((CLASSES + 1) % 6 // 2, 4)]
        found = mdt.view_report(operators(views, joint=True), labels=CLASSES, t=8)
        assert all(DECISIVE in remark for remark in found.remark[:2])
        # Each view has log 3 of log 6, so log 2 is what the other lacks.
        np.testing.assert_allclose(found.adds[:2], np.log(2) / np.log(6), atol=0.05)
        assert found.n_own[:2].tolist() == [3, 3]
        assert found.findings == []

    def test_without_a_joint_view(self):
        views = {"three": groups_apart(CLASSES // 2, 1), "two": groups_apart(CLASSES % 2, 2)}
        found = mdt.view_report(operators(views), labels=CLASSES, t=8)
        assert found.names == ["three", "two"]
        assert found.joint is None
        assert all(DECISIVE in remark for remark in found.remark)
        assert str(found).startswith("2 views of 600 samples")

    def test_labels_that_ignore_a_view(self, grid):
        found = mdt.view_report(grid, labels=CLASSES // 2, t=8)
        assert f"{BY_CHANCE}, but has 2 stable clusters of its own" in found.remark[1]
        assert "two has 2 stable clusters of its own, which these clusters ignore" in found.findings
        assert "nothing to worry about" not in str(found)

    def test_same_at_any_number_of_threads(self, grid, report):
        for n_jobs in (1, 3):
            found = mdt.view_report(grid, labels=CLASSES, t=8, n_jobs=n_jobs)
            for name in ("own", "n_own", "adds", "scores", "alone"):
                np.testing.assert_array_equal(getattr(found, name), getattr(report, name))


class TestJointView:
    def test_shown(self, report):
        text = str(report).splitlines()
        assert text[0].startswith("2 views and the joint view of 600 samples, 6 clusters, t=8, score ")
        assert sum(line.startswith("joint ") for line in text) == 1

    def test_frame(self, report):
        pytest.importorskip("pandas")
        assert report.to_frame()["view"].tolist() == ["three", "two", "joint"]

    @pytest.mark.usefixtures("plt")
    def test_picture(self, report):
        assert [label.get_text() for label in report.plot().get_yticklabels()] == ["three", "two", "joint"]

    def test_higher_score_of_the_joint_view(self, grid):
        """Six clusters of the first view alone miss the groups of the second."""
        labels = CLASSES // 2 * 2 + np.random.default_rng(0).integers(2, size=600)
        found = mdt.view_report(grid, labels=labels, t=8)
        expected = f"the clusters of the joint view alone score higher: {found.scores[2]:.2f} against {found.score:.2f}"
        assert expected in found.findings
        assert f"! {expected}" in str(found)
        assert repr(found).endswith(f"with a remark, {len(found.findings)} findings)")

    def test_higher_score_of_a_view(self):
        classes = np.arange(400) % 4
        views = {"good": groups_apart(classes, 5), "noise": np.random.default_rng(6).normal(size=(400, 4))}
        labels = np.where(np.random.default_rng(7).uniform(size=400) < 0.5, classes, 0)
        found = mdt.view_report(operators(views), labels=labels, t=4)
        assert found.findings[-1].startswith("the clusters of good alone score higher: ")


class TestNoiseAndCopies:
    def test_noise(self):
        classes = np.arange(500) % 5
        views = {"good": groups_apart(classes, 8, 5.0), "noise": np.random.default_rng(9).normal(size=(500, 5))}
        found = mdt.view_report(operators(views, joint=True), 5, t=6)
        assert found.remark[:2] == [DECISIVE, BY_CHANCE]
        assert found.own[1] < 0.6 < 0.9 < found.own[0]
        assert found.findings == []

    def test_a_copy_is_redundant(self):
        classes = np.arange(500) % 5
        good, poor = groups_apart(classes, 10, 5.0), groups_apart(classes, 11, 2.5)
        ops = operators({"good": good, "poor": poor, "copy": poor.copy()}, joint=True)
        found = mdt.view_report(ops, labels=classes, t=6)
        assert "redundant: says the same as copy" in found.remark[1]
        assert "redundant: says the same as poor" in found.remark[2]
        assert found.remark[0] == DECISIVE
        assert not any("joint" in remark for remark in found.remark)


@pytest.fixture(scope="module")
def giant():
    """One cluster of nearly all samples, and five of four samples each."""
    labels = np.zeros(600, dtype=int)
    for cluster in range(1, 6):
        labels[np.flatnonzero(cluster - 1 == CLASSES)[:4]] = cluster
    return labels


class TestDegenerateLabels:
    def test_found(self, grid, giant):
        assert is_degenerate(grid, giant, t=8)
        found = mdt.view_report(grid, labels=giant, t=8)
        assert found.findings[0] == (
            "one cluster holds 97 % of the samples, although the walks of the views support a more even division"
        )
        assert "nothing to worry about" not in str(found)

    def test_cliques_with_a_high_score(self):
        """Five isolated cliques have I = H; a normalised score alone would prefer them."""
        classes = np.repeat(np.arange(9), [100] * 4 + [12] * 5)
        ops = operators([groups_apart(np.minimum(classes, 3), 12, 6.0) for _ in range(2)])
        labels = np.maximum(classes - 3, 0)
        assert np.bincount(labels).max() > 0.8 * len(labels)
        assert is_degenerate(ops, labels, t=6)

    def test_even_labels_need_no_clustering(self, grid, monkeypatch):
        monkeypatch.setattr("mdt_fast._search.degenerate.own_clusters", None)
        assert not is_degenerate(grid, CLASSES)

    def test_a_large_cluster_that_the_views_confirm(self):
        classes = np.repeat(np.arange(4), [420, 60, 60, 60])
        ops = operators([groups_apart(classes, seed, 8.0) for seed in (13, 14)], joint=True)
        assert not is_degenerate(ops, classes, t=6)

    def test_given_clusters_of_the_views(self, grid, giant):
        assert is_degenerate(grid, giant, own=[CLASSES])
        assert not is_degenerate(grid, giant, own=[giant])

    def test_refusals(self, grid):
        with pytest.raises(TypeError, match="ops: expected an OperatorSet, got list"):
            is_degenerate([], CLASSES)
        with pytest.raises(ValueError, match=r"labels: expected shape \(600,\)"):
            is_degenerate(grid, CLASSES[1:])
        with pytest.raises(ValueError, match="t: expected an integer >= 1, got 0"):
            is_degenerate(grid, CLASSES, t=0)


def test_one_given_view_with_identity():
    classes = np.arange(300) % 3
    ops = operators([groups_apart(classes, 15)]).with_identity()
    found = mdt.view_report(ops, labels=classes, t=4)
    assert np.isnan(found.adds).all()
    assert found.n_own.tolist() == [3]
    assert stability(ops, 0, 3, steps=4, seed=0, n_jobs=2) == (found.own[0], 3)
