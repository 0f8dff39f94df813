"""Pictures of embeddings."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import mdt_fast as mdt
from helpers.axes import assert_inside, legend_texts, other_axes, tick_labels
from mdt_fast import plot


def offsets(ax):
    return np.asarray(ax.collections[0].get_offsets())


def assert_same_points(found, expected):
    np.testing.assert_array_equal(found[np.lexsort(found.T)], expected[np.lexsort(expected.T)])


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

    def test_strings_are_shown_verbatim(self, rng):
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

    def test_arguments_of_scatter_follow_their_samples(self, rng):
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

    def test_position_of_the_legend_follows_the_layout(self, rng, plt):
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
