"""Manifold learning: the four numbers where the answer is known, and whole runs on few points."""

from __future__ import annotations

import functools
from dataclasses import replace

import numpy as np
import pytest

import mdt_fast as mdt
from mdt_fast.study.paper import _manifold

N_SAMPLES = 60
ANGLE = np.linspace(0, 2 * np.pi, 400, endpoint=False)
DRAWN = ("MDT-Rand", "MDT-Cvx-Rand")

manifolds = pytest.mark.parametrize("name", list(_manifold.MANIFOLDS))


@functools.cache
def ran(name):
    return _manifold.run_manifold(name, n_samples=N_SAMPLES)


def circle(angle):
    return np.column_stack([np.cos(angle), np.sin(angle)])


@pytest.mark.parametrize(
    "coordinates",
    [circle(ANGLE), 1e-3 * circle(ANGLE + 2) + 5, circle(-ANGLE)],
    ids=["as it is", "turned, small, elsewhere", "mirrored"],
)
def test_a_circle_is_perfect(coordinates):
    found = _manifold.measure(coordinates, ANGLE, "circle")
    assert list(found) == list(_manifold.MEASURES)
    assert list(found.values()) == pytest.approx([1] * 4, abs=1e-4)


def test_a_circle_cut_open_keeps_the_order_but_parts_neighbours():
    # The first two eigenfunctions of a segment.
    found = _manifold.measure(np.column_stack([np.cos(ANGLE / 2), np.cos(ANGLE)]), ANGLE, "circle")
    assert found["parameter"] == pytest.approx(1, abs=1e-3)
    assert found["trustworthiness"] > 0.999
    assert found["continuity"] < 0.995
    assert found["distances"] < 0.8


def test_a_circle_run_through_twice_has_another_angle():
    found = _manifold.measure(circle(2 * ANGLE), ANGLE, "circle")
    assert found["parameter"] < 0.1
    assert found["trustworthiness"] < 0.9


def test_a_plane_is_perfect_in_any_order_and_unit(rng):
    plane = rng.uniform(size=(300, 2)) * [1.0, 50.0]
    found = _manifold.measure(plane[:, ::-1] / [-50.0, 1.0], plane, "plane")
    assert list(found.values()) == pytest.approx([1] * 4, abs=1e-2)
    # A plane without its second parameter is half of it.
    strip = _manifold.measure(plane * [1.0, 0.0], plane, "plane")
    assert strip["parameter"] == pytest.approx(0.5, abs=0.1)
    assert strip["distances"] < 0.9


@pytest.mark.parametrize("kind", _manifold.KINDS)
def test_noise_and_constants_show_nothing(rng, kind):
    target = rng.uniform(0, 2 * np.pi, 400) if kind == "circle" else rng.uniform(size=(400, 2))
    noise = _manifold.measure(rng.normal(size=(400, 2)), target, kind)
    constant = _manifold.measure(np.full((400, 2), 0.1), target, kind)
    for found, tolerance in ((noise, 0.12), (constant, 1e-12)):
        assert found["trustworthiness"] == pytest.approx(0.5, abs=0.06)
        assert found["continuity"] == pytest.approx(0.5, abs=0.06)
        assert found["distances"] == pytest.approx(0, abs=tolerance)
        assert found["parameter"] == pytest.approx(0, abs=tolerance)


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match=r"name: expected one of 'Helix-A'.* got 'Helix-C'"):
        _manifold.prepare_manifold("Helix-C")
    with pytest.raises(ValueError, match="variant: expected one of 'published', 'paper', got 'text'"):
        _manifold.prepare_manifold("Helix-A", "text")
    with pytest.raises(ValueError, match="n_samples: expected an integer >= 31, got 30"):
        _manifold.prepare_manifold("Helix-A", n_samples=30)
    with pytest.raises(ValueError, match="kind: expected one of 'circle', 'plane', got 'ball'"):
        _manifold.measure(circle(ANGLE), ANGLE, "ball")
    with pytest.raises(ValueError, match=r"target: expected an array of shape \(400, 2\), got \(400,\)"):
        _manifold.measure(circle(ANGLE), ANGLE, "plane")


def test_variants_differ_in_points_graphs_and_time():
    published, data = _manifold.prepare_manifold("Helix-A", n_samples=N_SAMPLES)
    paper, other = _manifold.prepare_manifold("Helix-A", "paper", N_SAMPLES)
    assert (published.preset, published.t, paper.preset, paper.published_t) == ("published", 7, None, None)
    assert data.target[-1] == pytest.approx(2 * np.pi)
    assert other.target[-1] < 2 * np.pi
    assert published.n_components == paper.n_components == 2
    assert published.ops.n_samples == N_SAMPLES


@manifolds
def test_every_method_is_run(name):
    result = ran(name)
    expected = [(m, d) for m in _manifold.METHODS for d in range(4 if m in DRAWN else 1)]
    if name == "Deformed-Plane":
        # Its diffusion time is 8 already.
        expected.append(("MDT-CST(t=1)", 0))
    assert [(row.method, row.draw) for row in result.rows] == expected == list(result.coordinates)
    for row in result.rows:
        X = result.coordinates[row.method, row.draw]
        numbers = {each: getattr(row, each) for each in _manifold.MEASURES}
        assert X.shape == (N_SAMPLES, 2)
        assert numbers == _manifold.measure(X, result.bunch.target, result.manifold.kind)
        assert row.seconds > 0
        assert row.converged
    lengths = {row.method: row.length for row in result.rows}
    assert lengths["MDT-Rand"] == lengths["MDT-CST"] == result.rows[0].t
    assert lengths["MVD"] == 0
    assert lengths.get("MDT-CST(t=1)", 1) == 1


@manifolds
def test_draws_differ(name):
    for method in DRAWN:
        assert len({ran(name).coordinates[method, draw].tobytes() for draw in range(4)}) > 1


def test_a_seed_repeats_everything():
    first, again = ran("Helix-B"), _manifold.run_manifold("Helix-B", n_samples=N_SAMPLES, n_jobs=2)
    assert [replace(row, seconds=0) for row in first.rows] == [replace(row, seconds=0) for row in again.rows]
    for key, X in first.coordinates.items():
        np.testing.assert_array_equal(X, again.coordinates[key])


def test_coordinates_are_those_of_the_dense_matrix(monkeypatch):
    # Values of a walk along a curve are so close that the default tolerance mixes their vectors.
    monkeypatch.setattr(_manifold, "METHODS", ("AD",))
    result = _manifold.run_manifold("Helix-B", n_samples=150)
    ops = _manifold.prepare_manifold("Helix-B", n_samples=150)[0].ops
    exact = mdt.embed(ops.trajectory([1, 0]), 2, solver="exact").coordinates
    np.testing.assert_allclose(np.abs(result.coordinates["AD", 0]), np.abs(exact), atol=1e-3 * np.abs(exact).max())


def test_other_seeds_draw_other_trajectories(monkeypatch):
    monkeypatch.setattr(_manifold, "METHODS", ("MDT-Cvx-Rand",))
    result = functools.partial(_manifold.run_manifold, "Helix-B", n_samples=N_SAMPLES)
    drawn = [result(random_state=seed).coordinates["MDT-Cvx-Rand", 0] for seed in (0, 1)]
    assert not np.array_equal(*drawn)


def test_tables_have_a_line_for_each_method_and_average_draws():
    results = [ran(name) for name in _manifold.MANIFOLDS]
    blocks = _manifold.manifold_table(results).split("\n\n")
    assert blocks[::2] == [
        "**Helix-A** (published, t = 7)",
        "**Helix-B** (published, t = 9)",
        "**Deformed-Plane** (published, t = 8)",
    ]
    for result, table in zip(results, blocks[1::2], strict=True):
        cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in table.splitlines()]
        assert cells[0] == ["method", *_manifold.MEASURES]
        lines = {line[0]: line[1:] for line in cells[2:]}
        assert list(lines) == list(dict.fromkeys(row.method for row in result.rows))
        mean = np.mean([row.distances for row in result.rows if row.method == "MDT-Rand"])
        assert lines["MDT-Rand"][2] == f"{mean:.3f}"


@manifolds
def test_a_picture_has_a_panel_for_each_embedding(name):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    from mdt_fast.study.paper._manifold_picture import draw_manifold

    fig = draw_manifold(ran(name))
    try:
        fig.canvas.draw()
        titled = {ax.get_title(): ax for ax in fig.axes if ax.get_title()}
        shown = {m for m, _ in ran(name).coordinates} - {"MDT-Rand"}
        draws = {f"MDT-Rand, draw {draw}" for draw in range(1, 5)}
        assert titled.keys() == {"view 1", "view 2"} | shown | draws
        # One more is the colour bar.
        assert len(fig.axes) == len(titled) + 1
        assert [ax.name for ax in titled.values()].count("3d") == 2
        for ax in titled.values():
            assert not len(ax.get_xticks())
            assert len(ax.collections[0].get_offsets()) == N_SAMPLES
    finally:
        plt.close(fig)
