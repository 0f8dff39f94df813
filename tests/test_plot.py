"""Pictures: what is on the axes, what is left alone, and what is refused."""

from __future__ import annotations

import doctest
import subprocess
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import mdt_fast as mdt
from mdt_fast import plot
from mdt_fast.plot._key import PALETTE


@pytest.fixture(scope="module")
def ops():
    rng = np.random.default_rng(0)
    views = {"RNA": rng.normal(size=(40, 3)), "protein": rng.normal(size=(40, 2))}
    return mdt.build_operators(views)


@pytest.fixture(autouse=True)
def plt():
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    settings = dict(matplotlib.rcParams)
    yield plt
    plt.close("all")
    assert dict(matplotlib.rcParams) == settings


def draw_embedding(ops, **options):
    return plot.embedding(np.arange(20.0).reshape(10, 2) ** 2, np.arange(10) % 3, **options)


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


EVERY = [draw_embedding, draw_entropy, draw_tree, draw_views, draw_weights, draw_scores, draw_quality, draw_prr]


def legend_texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def tick_labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def other_axes(ax):
    return [other for other in ax.figure.axes if other is not ax]


def offsets(ax):
    return np.asarray(ax.collections[0].get_offsets())


def assert_same_points(found, expected):
    np.testing.assert_array_equal(found[np.lexsort(found.T)], expected[np.lexsort(expected.T)])


def assert_inside(ax, artists):
    """Check that everything is on the page, where it can be read, and that nothing overlaps."""
    ax.figure.canvas.draw()
    page = ax.figure.bbox
    boxes = [artist.get_window_extent() for artist in artists]
    for i, box in enumerate(boxes):
        assert page.x0 <= box.x0 <= box.x1 <= page.x1 + 1
        assert page.y0 <= box.y0 <= box.y1 <= page.y1 + 1
        assert not any(box.overlaps(other) for other in boxes[:i])


def test_every_function_is_tested():
    assert [f"draw_{name}" for name in sorted(plot.__all__)] == sorted(draw.__name__ for draw in EVERY)


@pytest.mark.parametrize("name", plot.__all__)
def test_docstring_examples(name):
    (example,) = doctest.DocTestFinder(recurse=False).find(getattr(plot, name), name, globs={})
    assert example.examples
    assert doctest.DocTestRunner(verbose=False).run(example).failed == 0


def test_import_leaves_matplotlib_alone():
    script = "import sys, mdt_fast.plot; print('matplotlib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


@pytest.mark.parametrize("draw", EVERY)
class TestAxes:
    def test_given_ones_are_used(self, ops, plt, draw):
        from matplotlib.figure import Figure

        figure = Figure()
        left, right = figure.subplots(1, 2)
        assert draw(ops, ax=right) is right
        assert not plt.get_fignums()
        assert not left.has_data()
        figure.canvas.draw()

    def test_new_ones_have_a_figure_that_draws(self, ops, plt, draw):
        ax = draw(ops)
        assert plt.get_fignums() == [ax.figure.number]
        assert "Constrained" in type(ax.figure.get_layout_engine()).__name__
        ax.figure.canvas.draw()
        if ax.axison:
            assert not ax.spines["top"].get_visible()
            assert not ax.spines["right"].get_visible()

    def test_wrong_ones_are_refused(self, ops, plt, draw):
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


class TestEmbedding:
    def test_every_sample_is_at_its_coordinates(self, rng):
        X = rng.normal(size=(50, 4))
        ax = plot.embedding(X)
        assert_same_points(offsets(ax), X[:, :2])
        assert (ax.get_xlabel(), ax.get_ylabel()) == ("coordinate 1", "coordinate 2")
        assert ax.get_legend() is None
        assert not other_axes(ax)
        ax = plot.embedding(X, dimensions=(3, 1), title="there")
        assert_same_points(offsets(ax), X[:, [3, 1]])
        assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title()) == ("coordinate 4", "coordinate 2", "there")
        for column, limits in zip((3, 1), (ax.get_xlim(), ax.get_ylim()), strict=True):
            assert limits[0] < X[:, column].min() < X[:, column].max() < limits[1]

    def test_three_dimensions(self, rng, plt):
        X = rng.normal(size=(50, 3))
        ax = plot.embedding(X, np.arange(50) % 4, dimensions=(0, 1, 2))
        assert_same_points(np.column_stack(ax.collections[0]._offsets3d), X)
        assert ax.get_zlabel() == "coordinate 3"
        assert len(legend_texts(ax)) == 4
        assert_inside(ax, [ax.get_legend(), ax.xaxis.label, ax.yaxis.label, ax.zaxis.label])
        with pytest.raises(ValueError, match="ax: expected axes with the projection '3d', got 'rectilinear'"):
            plot.embedding(X, dimensions=(0, 1, 2), ax=plt.subplots()[1])

    @pytest.mark.parametrize("shape", [(30,), (30, 1)])
    def test_one_coordinate_is_a_strip(self, rng, shape):
        x = rng.normal(size=shape)
        ax = plot.embedding(x, np.arange(30) % 2)
        np.testing.assert_array_equal(np.sort(offsets(ax)[:, 0]), np.sort(x.ravel()))
        assert len(np.unique(offsets(ax)[:, 1])) == 30
        assert not ax.get_yticks().size
        assert len(legend_texts(ax)) == 2

    def test_one_of_several_coordinates(self, rng):
        X = rng.normal(size=(30, 3))
        ax = plot.embedding(X, dimensions=[2])
        np.testing.assert_array_equal(np.sort(offsets(ax)[:, 0]), np.sort(X[:, 2]))
        assert ax.get_xlabel() == "coordinate 3"

    def test_embeddings_and_estimators(self, ops):
        emb = mdt.embed(ops.trajectory([0, 1]), n_components=2)
        assert_same_points(offsets(plot.embedding(emb)), emb.coordinates)
        for inner in (emb, emb.coordinates):
            estimator = SimpleNamespace(embedding_=inner, labels_=np.arange(40) % 5)
            ax = plot.embedding(estimator)
            assert_same_points(offsets(ax), emb.coordinates)
            assert legend_texts(ax) == ["0", "1", "2", "3", "4"]
            assert legend_texts(plot.embedding(estimator, np.arange(40) > 7)) == ["False", "True"]

    @pytest.mark.parametrize("n_classes", [2, 10, 11, 20])
    def test_classes_look_different(self, rng, n_classes):
        X, labels = rng.normal(size=(200, 2)), np.arange(200) % n_classes
        ax = plot.embedding(X, labels, legend="kind")
        points = ax.collections[0]
        paths = points.get_paths()
        looks = {}
        for i, (at, color) in enumerate(zip(points.get_offsets(), points.get_facecolors(), strict=True)):
            label = labels[(at == X).all(axis=1)].item()
            looks.setdefault(label, set()).add((tuple(color), len(paths[i % len(paths)])))
        assert all(len(look) == 1 for look in looks.values())
        assert len(set.union(*looks.values())) == n_classes
        assert legend_texts(ax) == [str(i) for i in range(n_classes)]
        assert ax.get_legend().get_title().get_text() == "kind"
        assert_inside(ax, [ax.get_legend(), ax.xaxis.label])
        for handle, (color, _) in zip(
            ax.get_legend().legend_handles, (next(iter(looks[i])) for i in range(n_classes)), strict=True
        ):
            np.testing.assert_allclose(handle.get_color()[:3], color[:3])

    @pytest.mark.parametrize(("dimensions", "n_classes"), [((0, 1), 21), ((0, 1), 100), ((0, 1, 2), 11)])
    def test_many_classes_have_a_colour_bar(self, rng, dimensions, n_classes):
        ax = plot.embedding(
            rng.normal(size=(300, 3)), np.arange(300) % n_classes, dimensions=dimensions, legend="cluster"
        )
        assert ax.get_legend() is None
        (bar,) = other_axes(ax)
        assert bar.get_ylabel() == "cluster"
        named = tick_labels(bar.yaxis)
        assert 5 < len(named) <= 12
        assert named[0] == "0"
        assert len(np.unique(ax.collections[0].get_facecolors(), axis=0)) == n_classes

    def test_strings_are_shown_as_they_are(self, rng):
        names = np.array(["_hidden", r"$\nonsense$", "x" * 60])
        ax = plot.embedding(rng.normal(size=(9, 2)), np.tile(names, 3))
        assert legend_texts(ax)[:2] == [r"$\nonsense$", "_hidden"]
        assert len(legend_texts(ax)[2]) < 30
        ax.figure.canvas.draw()

    def test_labels_without_an_order(self, rng):
        ax = plot.embedding(rng.normal(size=(4, 2)), np.array(["a", None, "a", float("nan")], dtype=object))
        assert legend_texts(ax) == ["None", "a", "nan"]

    def test_floats_are_values(self, rng):
        X, values = rng.normal(size=(40, 2)), rng.uniform(size=40)
        values[3] = np.nan
        ax = plot.embedding(X, values, legend="age")
        assert ax.get_legend() is None
        (bar,) = other_axes(ax)
        assert bar.get_ylabel() == "age"
        np.testing.assert_allclose(bar.get_ylim(), (np.nanmin(values), np.nanmax(values)))
        points = ax.collections[0]
        points.update_scalarmappable()
        (grey,) = points.get_facecolors()[(points.get_offsets() == X[3]).all(axis=1)]
        assert grey[0] == grey[1] == grey[2]
        assert not other_axes(plot.embedding(X, np.full(40, np.nan)))

    def test_legend_can_be_left_out(self, rng):
        X = rng.normal(size=(40, 2))
        for labels in (np.arange(40) % 3, np.arange(40), X[:, 0]):
            ax = plot.embedding(X, labels, legend=False)
            assert ax.get_legend() is None
            assert not other_axes(ax)

    def test_no_class_is_on_top(self, rng):
        X, labels = rng.normal(size=(1000, 2)), np.repeat([0, 1], 500)
        ax = plot.embedding(X, labels)
        upper = ax.collections[0].get_facecolors()[500:, 0]
        assert 200 < np.count_nonzero(upper == upper[0]) < 300
        np.testing.assert_array_equal(offsets(ax), offsets(plot.embedding(X, labels)))

    def test_arguments_of_scatter_keep_to_their_samples(self, rng):
        X, sizes = rng.normal(size=(25, 2)), np.arange(25.0)
        points = plot.embedding(X, np.arange(25) % 2, s=sizes, lw=2, zorder=7).collections[0]
        for at, size in zip(points.get_offsets(), points.get_sizes(), strict=True):
            assert sizes[(at == X).all(axis=1)] == size
        assert points.get_linewidths()[0] == 2
        assert points.get_zorder() == 7
        points = plot.embedding(X, c=X[:, 0], cmap="magma").collections[0]
        np.testing.assert_array_equal(points.get_array(), points.get_offsets()[:, 0])
        assert points.get_cmap().name == "magma"

    def test_more_points_are_smaller(self, rng):
        few, many = (plot.embedding(rng.normal(size=(n, 2))).collections[0] for n in (50, 100_000))
        assert many.get_sizes()[0] < few.get_sizes()[0] / 10
        assert many.get_rasterized()
        assert not few.get_rasterized()

    def test_a_layout_decides_where_the_legend_is(self, rng, plt):
        for layout, beside in (("constrained", True), (None, False)):
            ax = plt.subplots(layout=layout)[1]
            plot.embedding(rng.normal(size=(40, 2)), np.arange(40) % 3, ax=ax)
            ax.figure.canvas.draw()
            assert (ax.get_legend().get_window_extent().x0 > ax.get_window_extent().x1) == beside

    @pytest.mark.parametrize(
        ("arguments", "options", "error", "message"),
        [
            (("abc",), {}, TypeError, "coordinates: expected an array .* with embedding_, got str"),
            ((np.empty((0, 2)),), {}, ValueError, r"coordinates: expected .* got the shape \(0, 2\)"),
            ((np.ones((2, 2, 2)),), {}, ValueError, r"coordinates: expected .* got the shape \(2, 2, 2\)"),
            (([[1, np.nan], [1, 2]],), {}, ValueError, "coordinates: expected finite values, got others in 1 of 2"),
            ((np.eye(3), [0, 1]), {}, ValueError, r"labels: expected 3 values, .* got the shape \(2,\)"),
            ((np.eye(3), [1j, 0, 0]), {}, TypeError, "labels: expected integers, .* got complex128"),
            ((np.eye(3),), {"dimensions": (0, 3)}, ValueError, "dimensions: expected an integer .* <= 2, got 3"),
            ((np.eye(3),), {"dimensions": ()}, ValueError, r"dimensions: expected one, two or three .* got \(\)"),
            ((np.eye(3),), {"dimensions": 2}, ValueError, "dimensions: expected one, two or three columns, got 2"),
            ((np.eye(3),), {"legend": 3}, TypeError, "legend: expected True, False, a title or None, got 3"),
            ((np.eye(3), [0, 1, 2]), {"color": "k"}, ValueError, "color: expected none beside labels, got 'k'"),
        ],
    )
    def test_bad_arguments(self, plt, arguments, options, error, message):
        with pytest.raises(error, match=message):
            plot.embedding(*arguments, **options)
        assert not plt.get_fignums()


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


class TestTree:
    def test_nodes_are_the_evaluated_words(self, ops):
        result = mdt.search(ops, n_clusters=2, t=3)
        ax = plot.tree(result, colorbar=False)
        (nodes,) = [artist for artist in ax.collections if artist.get_gid() == "nodes"]
        np.testing.assert_allclose(np.hypot(*nodes.get_offsets().T), result.history["depth"])
        assert not other_axes(ax)

    def test_bad_arguments(self, ops, plt):
        with pytest.raises(TypeError, match="result: expected a SearchResult, got Trajectory"):
            plot.tree(ops.trajectory([0]))
        refusal = r"result: expected sequences, .* got weights .*'mean'.* plot\.weights draws"
        with pytest.raises(ValueError, match=refusal):
            plot.tree(mdt.search(ops, n_clusters=2, strategy="mean", t=2))
        assert not plt.get_fignums()


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

    def test_values_can_be_read_on_their_cells(self):
        ax = plot.weights(self.W)
        assert {text.get_text(): text.get_color() for text in ax.texts if text.get_text() in "01"} == {
            "0": "0.15",
            "1": "white",
        }
        assert_inside(ax, ax.texts)

    def test_what_has_a_trajectory(self, ops):
        word = ops.trajectory([1, 0, 1])
        result = mdt.search(ops, n_clusters=2, strategy=[1, 0, 1], t=3)
        estimator = SimpleNamespace(trajectory_=word)
        for source in (word, result, estimator, (1, 0, 1), np.eye(2)[[1, 0, 1]]):
            ax = plot.weights(source, names=["a", "b"])
            np.testing.assert_array_equal(np.asarray(ax.collections[0].get_array()).ravel(), [0, 1, 0, 1, 0, 1])
            assert tick_labels(ax.yaxis) == ["a", "b"]
        assert tick_labels(plot.weights([0, 2]).yaxis) == ["0", "1", "2"]

    def test_many_cells_are_not_written_in(self, plt):
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
        # Beyond the last dot, and on the other side of a bar to the left.
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

    def test_nan_is_no_value(self):
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
    def test_names_and_values_can_be_read(self, rng, n):
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
