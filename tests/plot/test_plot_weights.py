"""Pictures of the weights of a trajectory."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import mdt_fast as mdt
from helpers.axes import assert_inside, other_axes, tick_labels
from mdt_fast import plot


class TestWeights:
    W = np.array([[0.25, 0.75], [1.0, 0.0], [0.002, 0.998]])

    def test_cells(self, ops):
        ax = plot.weights(ops.trajectory(self.W))
        mesh = ax.collections[0]
        np.testing.assert_allclose(np.asarray(mesh.get_array()).reshape(2, 3), self.W.T)
        assert mesh.get_clim() == (0, 1)
        assert [(text.get_position(), text.get_text()) for text in ax.texts] == [
            ((1, 0), "0.25"), ((2, 0), "1"), ((3, 0), "<.01"), ((1, 1), "0.75"), ((2, 1), "0"), ((3, 1), "1.00"),
        ]  # fmt: skip
        assert tick_labels(ax.yaxis) == ["RNA", "protein"]
        assert ax.get_ylim() == (1.5, -0.5)
        assert ax.get_xlim() == (0.5, 3.5)
        np.testing.assert_array_equal([x for x in ax.get_xticks() if 0.5 < x < 3.5], [1, 2, 3])
        (bar,) = other_axes(ax)
        assert bar.get_ylim() == (0, 1)
        assert bar.get_ylabel() == "weight"

    def test_values_are_readable(self):
        ax = plot.weights(self.W)
        assert {text.get_text(): text.get_color() for text in ax.texts if text.get_text() in "01"} == {
            "0": "0.15",
            "1": "white",
        }
        assert_inside(ax, ax.texts)

    def test_sources_of_a_trajectory(self, ops):
        W = ops.trajectory([1, 0, 1])
        result = mdt.search(ops, n_clusters=2, strategy=[1, 0, 1], t=3)
        estimator = SimpleNamespace(trajectory_=W)
        for source in (W, result, estimator, (1, 0, 1), np.eye(2)[[1, 0, 1]]):
            ax = plot.weights(source, names=["a", "b"])
            np.testing.assert_array_equal(np.asarray(ax.collections[0].get_array()).ravel(), [0, 1, 0, 1, 0, 1])
            assert tick_labels(ax.yaxis) == ["a", "b"]
        assert tick_labels(plot.weights([0, 2]).yaxis) == ["0", "1", "2"]

    def test_many_cells_have_no_values(self, plt):
        ax = plot.weights(np.full((100, 100), 0.01))
        assert not ax.texts
        assert_inside(ax, [label for label in ax.get_yticklabels() if label.get_text()])
        ax = plt.subplots(4, 4)[1][0, 0]
        plot.weights(np.full((5, 60), 1 / 60), ax=ax)
        assert not ax.texts
        assert len(ax.get_yticks()) < 20

    @pytest.mark.parametrize(
        ("trajectory", "names", "error", "message"),
        [
            ([[0.5, 2.0]], None, ValueError, "trajectory: expected weights from 0 to 1, got 0.5 to 2.0"),
            ([[0.5, np.nan]], None, ValueError, "trajectory: expected weights from 0 to 1, got nan"),
            ("abc", None, TypeError, "trajectory: expected a Trajectory, .* got str"),
            ([], None, ValueError, r"trajectory: expected .* got the shape \(0,\)"),
            ([0.5, 0.5], None, ValueError, r"trajectory: expected .* got the shape \(2,\)"),
            (np.eye(2), ["a"], ValueError, "names: expected 2, one for each member, got 1"),
            ([0, 1, 2], ["a", "b"], ValueError, "names: expected at least 3, as in the sequence, got 2"),
        ],
    )
    def test_bad_arguments(self, plt, trajectory, names, error, message):
        with pytest.raises(error, match=message):
            plot.weights(trajectory, names=names)
        assert not plt.get_fignums()
