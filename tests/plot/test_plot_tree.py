"""The tree of a search: positions, edges, colours, and refusals."""

from __future__ import annotations

import itertools
import sys

import numpy as np
import pytest

import mdt_fast as mdt
from helpers.axes import other_axes
from helpers.results import N_SAMPLES, make_result, sequence_result, unscored_result, weight_result
from mdt_fast import plot


def deep_sequences(n_members, n_levels, width):
    """Sequences and parents of a beam: at each level the children of some of the level before."""
    sequences, parents, survivors = [], [], [-1]
    rng = np.random.default_rng(2)
    for _ in range(n_levels):
        level = [(p, m) for p in survivors for m in range(n_members)]
        first = len(sequences)
        sequences += [(*(sequences[p] if p >= 0 else ()), m) for p, m in level]
        parents += [p for p, _ in level]
        survivors = sorted(first + rng.choice(len(level), size=min(width, len(level)), replace=False))
    return sequences, [int(p) for p in parents]


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
        result = sequence_result(ops)
        at = node_positions(result.plot_tree())
        np.testing.assert_allclose(np.hypot(*at.T), result.history["depth"])

    def test_edges_join_parents_and_children(self, ops, plt):
        result = sequence_result(ops)
        ax = result.plot_tree()
        at = node_positions(ax)
        curves = artist(ax, "edges").get_segments()
        assert len(curves) == result.n_evaluations
        for node, curve in enumerate(curves):
            parent = result.history["parent"][node]
            np.testing.assert_allclose(curve[0], at[parent] if parent >= 0 else [0, 0], atol=1e-12)
            np.testing.assert_allclose(curve[-1], at[node], atol=1e-12)
            # The radius grows along the edge.
            assert (np.diff(np.hypot(*curve.T)) > 0).all()

    def test_path_from_the_centre_to_the_answer(self, ops, plt):
        result = sequence_result(ops)
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
        ax = sequence_result(ops, quality=quality).plot_tree()
        (bar,) = [other for other in ax.figure.axes if other is not ax]
        assert bar.get_ylabel() == label
        np.testing.assert_allclose(bar.get_ylim(), (0.1, 7.5))
        ax = sequence_result(ops, quality=quality).plot_tree(colorbar=False)
        assert ax.figure.axes == [ax]

    def test_given_axes_are_used(self, ops, plt):
        figure, (left, right) = plt.subplots(1, 2)
        assert sequence_result(ops).plot_tree(right) is right
        assert plt.get_fignums() == [figure.number]
        assert not left.collections
        assert right.get_aspect() == 1
        assert not right.axison
        figure.canvas.draw()
        own = sequence_result(ops).plot_tree()
        assert own.figure is not figure

    def test_siblings_are_in_the_order_of_their_members(self, ops, plt):
        sequences = list(itertools.chain.from_iterable(itertools.product(range(2), repeat=d) for d in (1, 2, 3)))
        index = {sequence: i for i, sequence in enumerate(sequences)}
        parents = [index.get(sequence[:-1], -1) for sequence in sequences]
        ax = make_result(ops, sequences, np.arange(14.0), parents).plot_tree()
        at = node_positions(ax)
        angles = np.arctan2(at[:, 0], at[:, 1])
        outer = angles[-8:]
        # A complete tree is divided evenly, clockwise, and a parent is in the middle of its children.
        np.testing.assert_allclose(np.diff(outer), 2 * np.pi / 8)
        np.testing.assert_allclose(angles[2:6], (outer[::2] + outer[1::2]) / 2)

    def test_random_sequences_are_joined_to_the_centre(self, ops, plt):
        sequences = [tuple(sequence) for sequence in np.random.default_rng(3).integers(2, size=(12, 4)).tolist()]
        ax = make_result(ops, sequences, np.arange(12.0), strategy="random").plot_tree()
        at = node_positions(ax)
        np.testing.assert_allclose(np.hypot(*at.T), 4)
        # Repeated sequences have separate nodes too.
        assert nearest_distances(at).min() > 1
        for curve in artist(ax, "edges").get_segments():
            np.testing.assert_allclose(curve[0], 0, atol=1e-12)

    def test_long_edges_pass_between_nodes(self, ops, plt):
        rng = np.random.default_rng(6)
        sequences = [
            (0,),
            (1,),
            (0, 0),
            (0, 1),
            (1, 0),
            (1, 1),
            *(tuple(w) for w in rng.integers(2, size=(9, 5)).tolist()),
        ]
        result = make_result(ops, sequences, np.arange(15.0), [-1, -1, 0, 0, 1, 1] + 9 * [-1])
        ax = result.plot_tree()
        at = node_positions(ax)
        for curve in artist(ax, "edges").get_segments()[6:]:
            direction = curve[-1] / 5
            apart = np.abs(direction[0] * at[:6, 1] - direction[1] * at[:6, 0])
            before = at[:6] @ direction > 0
            assert (apart[before] > 0.2).all()

    def test_nodes_of_a_beam_do_not_coincide(self, plt, rng):
        ops = mdt.build_operators([rng.normal(size=(N_SAMPLES, 3)) for _ in range(6)])
        sequences, parents = deep_sequences(6, 22, 2)
        assert len(sequences) == 6 + 21 * 12
        result = make_result(ops, sequences, np.arange(float(len(sequences))), parents)
        at = node_positions(result.plot_tree())
        np.testing.assert_allclose(np.hypot(*at.T), result.history["depth"])
        assert nearest_distances(at).min() > 0.3

    def test_edges_of_a_beam_do_not_cross(self, plt, rng):
        ops = mdt.build_operators([rng.normal(size=(N_SAMPLES, 3)) for _ in range(4)])
        sequences, parents = deep_sequences(4, 9, 3)
        result = make_result(ops, sequences, np.arange(float(len(sequences))), parents)
        ax = result.plot_tree()
        curves = np.array(artist(ax, "edges").get_segments())
        for depth in range(2, 10):
            # The order around the circle is the same at all radii between two rings.
            ring = curves[result.history["depth"] == depth][:, 1:]
            angles = np.unwrap(np.arctan2(ring[..., 0], ring[..., 1]), axis=1)
            order = np.argsort(angles[:, 0])
            angles = angles[order]
            assert (np.diff(angles, axis=0) > 0).all()
            assert (angles[-1] - angles[0] < 2 * np.pi).all()

    @pytest.mark.parametrize("shape", ["complete", "random"])
    def test_hundreds_of_nodes(self, ops, plt, shape):
        if shape == "complete":
            sequences = list(itertools.chain.from_iterable(itertools.product(range(2), repeat=d) for d in range(1, 9)))
            sequences += list(itertools.product(range(2), repeat=9))[:90]
            index = {sequence: i for i, sequence in enumerate(sequences)}
            parents = [index.get(sequence[:-1], -1) for sequence in sequences]
        else:
            sequences = [tuple(sequence) for sequence in np.random.default_rng(4).integers(2, size=(600, 6)).tolist()]
            parents = None
        assert len(sequences) == 600
        scores = np.random.default_rng(5).normal(size=600)
        result = make_result(ops, sequences, scores, parents)
        ax = result.plot_tree()
        ax.figure.canvas.draw()
        at = node_positions(ax)
        np.testing.assert_allclose(np.hypot(*at.T), result.history["depth"])
        assert len(np.unique(at.round(9), axis=0)) == 600
        few = artist(sequence_result(ops).plot_tree(), "nodes").get_sizes()[0]
        assert artist(ax, "nodes").get_sizes()[0] < few / 4

    def test_size_of_the_nodes_can_be_given(self, ops, plt):
        ax = sequence_result(ops).plot_tree(node_size=7)
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

    def test_long_sequences(self, ops, plt):
        sequence = tuple([0, 1] * 100)
        ax = make_result(ops, [sequence], [1.0]).plot_tree()
        ax.figure.canvas.draw()
        assert max(map(len, ax.get_title().splitlines())) <= 60
        assert "depth 200" in ax.get_title()
        assert len(ax.texts) <= 10

    def test_depths_are_written(self, ops, plt):
        ax = sequence_result(ops).plot_tree()
        assert [text.get_text() for text in ax.texts] == ["1", "2", "3"]
        radii = [np.hypot(*text.get_position()) for text in ax.texts]
        np.testing.assert_allclose(radii, [1, 2, 3])
        assert sorted(circle.radius for circle in ax.patches) == [1, 2, 3]

    def test_weights_have_no_tree(self, ops, plt):
        with pytest.raises(ValueError, match=r"expected sequences, which a tree needs, got weights .*plot\.weights"):
            weight_result(ops).plot_tree()
        assert not plt.get_fignums()

    def test_without_matplotlib(self, ops, monkeypatch):
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        with pytest.raises(ImportError, match=r"plot_tree needs matplotlib: pip install 'mdt_fast\[plot\]'"):
            sequence_result(ops).plot_tree()


class TestTreeFunction:
    def test_nodes_are_the_evaluated_sequences(self, ops):
        result = mdt.search(ops, n_clusters=2, t=3)
        ax = plot.tree(result, colorbar=False)
        (nodes,) = [artist for artist in ax.collections if artist.get_gid() == "nodes"]
        np.testing.assert_allclose(np.hypot(*nodes.get_offsets().T), result.history["depth"])
        assert not other_axes(ax)

    def test_bad_arguments(self, ops, plt):
        with pytest.raises(TypeError, match="result: expected a SearchResult, got Trajectory"):
            plot.tree(ops.trajectory([0]))
        with pytest.raises(
            ValueError, match=r"result: expected sequences, .* got weights .*'mean'.* plot\.weights draws"
        ):
            plot.tree(mdt.search(ops, n_clusters=2, strategy="mean", t=2))
        assert not plt.get_fignums()
