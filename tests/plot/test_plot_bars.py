"""Bars of scores and of ratios."""

from __future__ import annotations

import numpy as np
import pytest

from helpers.axes import assert_inside, legend_texts, tick_labels
from mdt_fast import plot
from mdt_fast.plot._key import PALETTE


def bars(ax):
    return [(bar.get_x(), bar.get_width()) for bar in ax.containers[0].patches]


def dots(ax):
    return [line.get_xdata() for line in ax.lines if line.get_marker() == "o"]


class TestScores:
    def test_bars_in_the_order_given(self):
        ax = plot.scores({"c": 0.25, "a": [0.5, 1.0], "b": -0.125}, label="NMI")
        assert bars(ax) == [(0, 0.25), (0, 0.75), (0, -0.125)]
        assert tick_labels(ax.yaxis) == ["c", "a", "b"]
        assert ax.get_ylim() == (2.5, -0.5)
        assert ax.get_xlabel() == "NMI"
        assert [text.get_text() for text in ax.texts] == ["0.250", "0.750", "\N{MINUS SIGN}0.125"]
        np.testing.assert_array_equal(dots(ax), [[0.5, 1.0]])
        assert ax.get_legend() is None
        # Beyond the last dot; on the left side of a negative bar.
        assert [text.xy[0] for text in ax.texts] == [0.25, 1.0, -0.125]
        assert_inside(ax, ax.texts)

    def test_groups_and_reference(self):
        groups = {"c": "fusion", "a": "single", "b": "single"}
        ax = plot.scores({"a": 1, "b": 2, "c": 3}, groups=groups, reference=("chance", 0.5))
        assert legend_texts(ax) == ["single", "fusion", "chance: 0.5"]
        colors = [bar.get_facecolor() for bar in ax.containers[0].patches]
        assert colors[0] == colors[1] != colors[2]
        handles = ax.get_legend().legend_handles
        assert [handle.get_facecolor() for handle in handles[:2]] == [colors[0], colors[2]]
        (line,) = [line for line in ax.lines if line.get_linestyle() == "--"]
        assert list(line.get_xdata()) == [0.5, 0.5]
        assert_inside(ax, [*ax.texts, ax.get_legend()])
        assert legend_texts(plot.scores({"a": 1}, reference=0.25)) == ["reference: 0.25"]

    def test_more_groups_than_colours(self):
        values = dict.fromkeys(range(len(PALETTE) + 5), 1.0)
        ax = plot.scores(values, groups={i: f"group {i}" for i in values})
        assert len({bar.get_facecolor() for bar in ax.containers[0].patches}) == len(values)

    def test_spread(self):
        runs = np.linspace(0.0, 1.0, 101)
        ax = plot.scores({"a": 0.5, "b": [0.1, 0.3], "many": runs}, spread={"a": 0.1, "b": 0.0})
        reaches = [c.get_segments()[0][:, 0] for c in ax.collections]
        np.testing.assert_allclose(reaches, [[0.4, 0.6], [0.2, 0.2], [0.5 - runs.std(), 0.5 + runs.std()]], atol=1e-12)
        assert not dots(ax)

    def test_nan_is_shown_as_no_value(self):
        ax = plot.scores({"a": np.nan, "b": [0.5, np.nan, 0.25], "c": None, "d": [np.nan, np.nan]})
        assert [text.get_text() for text in ax.texts] == ["no value", "0.375", "no value", "no value"]
        assert bars(ax) == [(0, 0), (0, 0.375), (0, 0), (0, 0)]
        np.testing.assert_array_equal(dots(ax), [[0.5, 0.25]])
        ax.figure.canvas.draw()

    @pytest.mark.parametrize(
        ("value", "text"),
        [(0.0, "0.00"), (1.0, "1.00"), (0.91234, "0.912"), (1234.6, "1235"), (1e-5, "1.00e−05"), (1e7, "1.00e+07")],  # noqa: RUF001
    )
    def test_written_values(self, value, text):
        assert [found.get_text() for found in plot.scores({"a": value}).texts] == [text]

    def test_frames(self, rng):
        pd = pytest.importorskip("pandas")
        frame = pd.DataFrame(rng.uniform(size=(5, 3)), columns=["x", "y", "z"])
        for values in (frame, frame.mean()):
            np.testing.assert_allclose([width for _, width in bars(plot.scores(values))], frame.mean())

    @pytest.mark.parametrize("n", [2, 100])
    def test_names_and_values_are_readable(self, rng, n):
        ax = plot.scores({f"a rather long name of a way, the {i}th": rng.uniform() for i in range(n)})
        assert len(ax.containers[0].patches) == n
        assert_inside(ax, [*ax.texts, *ax.get_yticklabels()])

    @pytest.mark.parametrize(
        ("values", "options", "error", "message"),
        [
            ({}, {}, ValueError, "values: expected at least one name, got none"),
            ([1.0], {}, TypeError, "values: expected a mapping of names to numbers .* got list"),
            ({"a": "x"}, {}, TypeError, r"values\['a'\]: expected numbers or sequences of numbers, got 'x'"),
            ({"a": []}, {}, ValueError, r"values\['a'\]: expected .* got the shape \(0,\)"),
            ({"a": [[1.0]]}, {}, ValueError, r"values\['a'\]: expected .* got the shape \(1, 1\)"),
            ({"a": np.inf}, {}, ValueError, r"values\['a'\]: expected finite numbers, or nan .* got an infinity"),
            ({"a": 1}, {"groups": {"b": 1, "a": 1}}, ValueError, r"groups: expected .*\['a'\], got unknown \['b'\]"),
            ({"a": 1, "b": 1}, {"groups": {"b": 1}}, ValueError, r"groups: expected .* got none for \['a'\]"),
            ({"a": 1}, {"groups": ["x"]}, TypeError, "groups: expected a mapping, got list"),
            ({"a": 1}, {"spread": {"b": 1}}, ValueError, r"spread: expected .* got unknown \['b'\]"),
            ({"a": 1}, {"spread": {"a": -1}}, ValueError, r"spread\['a'\]: expected a finite number >= 0, got -1"),
            ({"a": 1}, {"reference": np.nan}, ValueError, "reference: expected a finite number, got nan"),
            ({"a": 1}, {"reference": (1, 2)}, TypeError, r"reference: expected .* a name and a number, got \(1, 2\)"),
        ],
    )
    def test_bad_arguments(self, plt, values, options, error, message):
        with pytest.raises(error, match=message):
            plot.scores(values, **options)
        assert not plt.get_fignums()


class TestPrr:
    def test_the_best_is_first_and_bars_start_at_one(self):
        ax = plot.prr({"none": np.nan, "worse": 0.75, "best": [1.25, 1.75], "even": 1.0})
        assert tick_labels(ax.yaxis) == ["best", "even", "worse", "none"]
        assert bars(ax) == [(1, 0.5), (1, 0), (1, -0.25), (1, 0)]
        assert [text.get_text() for text in ax.texts] == ["1.50", "1.00", "0.75", "no value"]
        assert [text.get_ha() for text in ax.texts[:3]] == ["left", "left", "right"]
        np.testing.assert_array_equal(dots(ax), [[1.25, 1.75]])
        colors = [bar.get_facecolor() for bar in ax.containers[0].patches]
        assert colors[0] == colors[1] != colors[2]

    @pytest.mark.parametrize("ratio", [0.5, 1.5])
    def test_both_sides_of_the_line_are_shown(self, ratio):
        ax = plot.prr({"a": ratio})
        assert ax.get_xlim()[0] < 1 < ax.get_xlim()[1]

    def test_bad_arguments(self):
        with pytest.raises(ValueError, match="values: expected at least one name, got none"):
            plot.prr({})
        with pytest.raises(TypeError, match=r"values\['a'\]: expected ratios or sequences of ratios, got 'x'"):
            plot.prr({"a": "x"})
