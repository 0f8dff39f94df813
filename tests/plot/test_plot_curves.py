"""Curves over the diffusion time: entropy and quality."""

from __future__ import annotations

import numpy as np
import pytest

import mdt_fast as mdt
from helpers.axes import assert_inside, legend_texts, other_axes
from mdt_fast import plot


class TestEntropy:
    @pytest.mark.parametrize("method", ["exact", "stochastic"])
    def test_the_curve_and_its_knee(self, ops, method):
        selected = mdt.select_time(ops, method=method, max_t=20)
        ax = plot.entropy(selected)
        curve, knee = ax.lines[0], ax.lines[-1]
        np.testing.assert_array_equal(curve.get_xydata(), np.column_stack([selected.times, selected.entropies]))
        np.testing.assert_array_equal(knee.get_xydata(), [[selected.t, selected.entropies[selected.t - 1]]])
        assert (legend_texts(ax)[0], legend_texts(ax)[-1]) == (f"entropy ({method})", f"t = {selected.t}")
        assert len(ax.collections) == (method == "stochastic")

    def test_bad_arguments(self):
        with pytest.raises(TypeError, match="selection: expected a TimeSelection, got int"):
            plot.entropy(8)


class TestQuality:
    T = (1, 2, 4)

    def test_curves(self):
        ax = plot.quality(self.T, {"low": [1, 2, 3], "high": [3.0, np.nan, 5.0]}, selected=2, label="NMI")
        np.testing.assert_array_equal(ax.lines[0].get_xydata(), [[1, 1], [2, 2], [4, 3]])
        np.testing.assert_array_equal(ax.lines[1].get_xydata(), [[1, 3], [2, np.nan], [4, 5]])
        assert list(ax.lines[2].get_xdata()) == [2, 2]
        assert legend_texts(ax) == ["high", "low", "t = 2"]
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("diffusion time t", "NMI")
        assert not ax.collections
        assert_inside(ax, [ax.get_legend(), ax.xaxis.label])

    def test_bands(self):
        runs = np.array([[0.0, 1.0, np.nan], [2.0, 1.0, 5.0]])
        ax = plot.quality(self.T, {"runs": runs, "given": [0.0, 0.0, 0.0]}, spread={"given": [1.0, 2.0, 3.0]})
        np.testing.assert_array_equal(ax.lines[0].get_ydata(), [1, 1, 5])
        for band, low, high in zip(ax.collections, ([0, 1, 5], [-1, -2, -3]), ([2, 1, 5], [1, 2, 3]), strict=True):
            corners = {tuple(corner) for corner in band.get_paths()[0].vertices}
            assert corners == {*zip(self.T, low, strict=True), *zip(self.T, high, strict=True)}

    def test_up_to_twenty_curves_look_different(self, rng):
        ax = plot.quality(self.T, {i: rng.uniform(size=3) for i in range(20)})
        assert len({(tuple(line.get_color()), line.get_linestyle()) for line in ax.lines}) == 20
        assert len(legend_texts(ax)) == 20
        ends = [ax.lines[int(name)].get_ydata()[-1] for name in legend_texts(ax)]
        assert ends == sorted(ends, reverse=True)
        assert_inside(ax, [ax.get_legend()])

    def test_more_curves_have_a_colour_bar(self, rng):
        ax = plot.quality(self.T, {i: rng.uniform(size=3) for i in range(60)}, selected=2)
        assert legend_texts(ax) == ["t = 2"]
        assert len(other_axes(ax)) == 1
        assert len({tuple(line.get_color()) for line in ax.lines[:60]}) == 60

    def test_ticks_are_whole_times(self):
        for times in ([3], range(1, 5), range(1, 101)):
            ax = plot.quality(times, {"a": np.ones(len(times))})
            assert ax.get_xticks().size
            np.testing.assert_array_equal(ax.get_xticks() % 1, 0)

    @pytest.mark.parametrize(
        ("times", "curves", "options", "error", "message"),
        [
            ([], {"a": []}, {}, ValueError, r"times: expected a sequence of numbers, got \[\]"),
            ([2, 1], {"a": [1, 2]}, {}, ValueError, r"times: expected finite increasing numbers, got \[2, 1\]"),
            ([1, np.nan], {"a": [1, 2]}, {}, ValueError, "times: expected finite increasing numbers"),
            ([1, 2], {}, {}, ValueError, "curves: expected at least one name, got none"),
            ([1, 2], {"a": [1]}, {}, ValueError, r"curves\['a'\]: expected .* for 2 times, got the shape \(1,\)"),
            ([1, 2], {"a": 1}, {}, ValueError, r"curves\['a'\]: expected .* got the shape \(\)"),
            ([1], {"a": [1]}, {"selected": "x"}, ValueError, "selected: expected a finite number, got 'x'"),
            ([1], {"a": [1]}, {"spread": {"b": [1]}}, ValueError, r"spread: expected .* got unknown \['b'\]"),
            ([1], {"a": [1]}, {"spread": {"a": [1, 2]}}, ValueError, r"spread\['a'\]: expected 1 numbers >= 0"),
            ([1], {"a": [1]}, {"spread": {"a": [-1]}}, ValueError, r"spread\['a'\]: expected 1 numbers >= 0"),
        ],
    )
    def test_bad_arguments(self, plt, times, curves, options, error, message):
        with pytest.raises(error, match=message):
            plot.quality(times, curves, **options)
        assert not plt.get_fignums()
