"""What all functions of plot share: axes, examples, and the missing package."""

from __future__ import annotations

import doctest
import subprocess
import sys

import numpy as np
import pytest

import mdt_fast as mdt
from mdt_fast import plot


def draw_embedding(ops, **options):
    return plot.embedding(np.arange(20.0).reshape(10, 2) ** 2, np.arange(10) % 3, **options)


def draw_map(ops, **options):
    return plot.map(np.arange(20.0).reshape(10, 2) ** 2, np.arange(10) % 3, **options)


def draw_entropy(ops, **options):
    return plot.entropy(mdt.select_time(ops, max_t=12), **options)


def draw_tree(ops, **options):
    return plot.tree(mdt.search(ops, n_clusters=2, t=2), **options)


def draw_weights(ops, **options):
    return plot.weights(ops.trajectory([0, 1, 1]), **options)


def draw_scores(ops, **options):
    return plot.scores({"a": 0.4, "b": [0.5, 0.6]}, groups={"a": "x", "b": "y"}, reference=0.3, **options)


def draw_quality(ops, **options):
    return plot.quality([1, 2, 4], {"a": [0.1, 0.2, 0.3], "b": np.eye(3)}, selected=2, **options)


def draw_prr(ops, **options):
    return plot.prr({"a": 0.9, "b": [1.1, 1.3]}, **options)


def draw_views(ops, **options):
    return plot.views(mdt.view_report(ops, labels=np.arange(40) % 2, t=2), **options)


EVERY = [
    draw_embedding, draw_entropy, draw_map, draw_tree, draw_views, draw_weights, draw_scores, draw_quality, draw_prr,
]  # fmt: skip


def test_every_function_is_tested():
    assert [f"draw_{name}" for name in sorted(plot.__all__)] == sorted(draw.__name__ for draw in EVERY)


@pytest.mark.parametrize("name", plot.__all__)
def test_docstring_examples(name):
    (example,) = doctest.DocTestFinder(recurse=False).find(getattr(plot, name), name, globs={})
    assert example.examples
    assert doctest.DocTestRunner(verbose=False).run(example).failed == 0


def test_import_does_not_import_matplotlib():
    script = "import sys, mdt_fast.plot; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("draw", EVERY)
class TestAxes:
    def test_given_axes_are_used(self, ops, plt, draw):
        from matplotlib.figure import Figure

        figure = Figure()
        left, right = figure.subplots(1, 2)
        assert draw(ops, ax=right) is right
        assert not plt.get_fignums()
        assert not left.has_data()
        figure.canvas.draw()

    def test_new_axes_have_a_figure(self, ops, plt, draw):
        ax = draw(ops)
        assert plt.get_fignums() == [ax.figure.number]
        assert "Constrained" in type(ax.figure.get_layout_engine()).__name__
        ax.figure.canvas.draw()
        if ax.axison:
            assert not ax.spines["top"].get_visible()
            assert not ax.spines["right"].get_visible()

    def test_wrong_axes_are_refused(self, ops, plt, draw):
        with pytest.raises(TypeError, match="ax: expected matplotlib Axes or None, got str"):
            draw(ops, ax="left")
        solid = plt.figure().add_subplot(projection="3d")
        with pytest.raises(ValueError, match="ax: expected axes with the projection 'rectilinear', got '3d'"):
            draw(ops, ax=solid)

    def test_without_matplotlib(self, ops, monkeypatch, draw):
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        name = draw.__name__.replace("draw_", "plot.")
        with pytest.raises(ImportError, match=rf"{name} needs matplotlib: pip install 'mdt_fast\[plot\]'"):
            draw(ops)


class TestMethods:
    def test_time_selection(self, ops, plt, monkeypatch):
        selected = mdt.select_time(ops, max_t=12)
        ax = plt.subplots()[1]
        assert selected.plot(ax) is ax
        np.testing.assert_array_equal(ax.lines[0].get_ydata(), selected.entropies)
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        with pytest.raises(ImportError, match=r"TimeSelection\.plot needs matplotlib"):
            selected.plot()

    def test_search_result(self, ops):
        result = mdt.search(ops, n_clusters=2, t=2)
        by_method, by_function = result.plot_tree(node_size=5), plot.tree(result, node_size=5)
        assert by_method.get_title() == by_function.get_title()
        for first, second in zip(by_method.collections, by_function.collections, strict=True):
            np.testing.assert_array_equal(first.get_offsets(), second.get_offsets())
