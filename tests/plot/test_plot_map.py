"""Pictures of maps."""

from __future__ import annotations

import numpy as np
import pytest

import mdt_fast as mdt
from helpers.axes import assert_inside, legend_texts, other_axes
from mdt_fast import plot


@pytest.fixture(scope="module")
def model():
    views = mdt.datasets.make_multiview_blobs(60, n_clusters=3, random_state=0).views
    return mdt.MDTClustering(3).fit(views)


def offsets(ax):
    return np.asarray(ax.collections[0].get_offsets())


def assert_same_points(found, expected):
    np.testing.assert_array_equal(found[np.lexsort(found.T)], expected[np.lexsort(expected.T)])


def test_a_model_is_drawn_with_its_clusters(model):
    ax = plot.map(model, title="blobs")
    assert_same_points(offsets(ax), mdt.layout(model.fused_graph()))
    assert legend_texts(ax) == ["0", "1", "2"]
    assert ax.get_title() == "blobs"
    assert [text.get_text() for text in ax.texts] == ["0", "1", "2"]
    assert_inside(ax, [ax.get_legend(), ax.title])


def test_a_graph_has_no_labels_of_its_own(model):
    graph = model.fused_graph()
    ax = plot.map(graph, method="tsne", random_state=1)
    assert_same_points(offsets(ax), mdt.layout(graph, method="tsne", random_state=1))
    assert ax.get_legend() is None
    assert not ax.texts
    assert legend_texts(plot.map(graph, model.labels_ > 0)) == ["False", "True"]


def test_axes_have_no_values(model):
    ax = plot.map(model)
    assert not ax.get_xticks().size
    assert not ax.get_yticks().size
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("", "")
    assert not any(spine.get_visible() for spine in ax.spines.values())
    assert ax.get_aspect() == 1


def test_names_are_at_samples_of_their_class(rng):
    points = rng.normal(size=(90, 2))
    classes = np.array(["a", "b", "$c$"])[np.arange(90) % 3]
    ax = plot.map(points, classes)
    assert sorted(text.get_text() for text in ax.texts) == ["$c$", "a", "b"]
    for text in ax.texts:
        assert tuple(text.xy) in set(map(tuple, points[classes == text.get_text()]))
        assert not text.get_parse_math()
    assert not plot.map(points, classes, names=False).texts
    assert not plot.map(points, np.arange(90.0)).texts
    assert not plot.map(points, np.arange(90)).texts
    assert not plot.map(points, np.where(classes == "a", "a name that covers samples", classes)).texts


def test_values_have_a_colour_bar(rng):
    ax = plot.map(rng.normal(size=(30, 2)), rng.random(30), legend="confidence")
    (bar,) = other_axes(ax)
    assert bar.get_ylabel() == "confidence"


def test_wrong_arguments(model, rng):
    with pytest.raises(ValueError, match=r"source: expected a fitted estimator.*got the shape \(5, 3\)"):
        plot.map(rng.normal(size=(5, 3)))
    with pytest.raises(TypeError, match=r"source: expected a fitted estimator, a FusedGraph or .*got str"):
        plot.map("model")
    with pytest.raises(ValueError, match="labels: expected 60 values, one for each sample"):
        plot.map(model, [0, 1])
    with pytest.raises(TypeError, match="names: expected"):
        plot.map(model, names="yes")
    with pytest.raises(ValueError, match="method: expected one of"):
        plot.map(model, method="pca")
    with pytest.raises(ValueError, match="coordinates: expected finite values"):
        plot.map([[0.0, np.nan], [1.0, 2.0]])
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError):
        plot.map(mdt.MDTClustering(3))
