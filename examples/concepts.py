"""Draw the pictures of the pages "Get started" and "Concepts" of the documentation.

Run: ``python examples/concepts.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection

import mdt_fast as mdt

FOLDER = Path(__file__).parents[1] / "docs" / "images" / "concepts"
COLORS = np.array(["#0072b2", "#e69f00", "#009e73"])


def draw_digits(digits: Any, model: mdt.MDTClustering) -> Any:
    """Draw the clusters of the digits on a map, and their confidence on the same map."""
    figure, axes = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
    places = mdt.layout(model.fused_graph(), method="tsne")
    mdt.plot.map(places, model.labels_, ax=axes[0], legend=False, title="clusters")
    mdt.plot.map(places, model.confidence_, ax=axes[1], legend="confidence", title="confidence")
    return figure


def draw_walks(n: int = 40) -> Any:
    """Draw the neighbour graphs of two views that confuse different groups, and the map of both."""
    rng = np.random.default_rng(1)
    groups = np.repeat(np.arange(3), n)
    # The first view cannot tell the second group from the third, the second view not the first from the second.
    views = [
        rng.normal(size=(3 * n, 2)) + 7.0 * np.column_stack([groups >= 1, np.zeros(3 * n)]),
        rng.normal(size=(3 * n, 2)) + 7.0 * np.column_stack([np.zeros(3 * n), groups >= 2]),
    ]
    model = mdt.MDTClustering(3, joint=True).fit(views)
    both = mdt.layout(model.fused_graph(), method="tsne")
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.6), layout="constrained")
    titles = ("view 1: neighbours", "view 2: neighbours", "both views: a map of the fused graph")
    for view, X in enumerate(views):
        rows, columns = model.operators_.walk_matrix(view).nonzero()
        lines = np.stack([X[rows], X[columns]], axis=1)
        axes[view].add_collection(LineCollection(lines, colors="0.75", linewidths=0.4, zorder=0))
    for ax, points, title in zip(axes, [*views, both], titles, strict=True):
        ax.scatter(*points.T, c=COLORS[groups], s=14)
        ax.set(title=title, xticks=[], yticks=[])
    return figure


def draw_mass(n: int = 300, steps: int = 600) -> Any:
    """Draw where walks from one sample of a circle end, with one view and with both."""
    helix = mdt.datasets.make_helix_b(n)
    angle = np.asarray(helix.target, dtype=float)
    ops = mdt.build_operators(helix.views)
    # The first view cuts the circle at the angle 0, the second view at 3 pi / 2.
    start = int(np.argmin(np.abs(angle - np.pi / 8)))
    walks = {
        "view 1 alone": ops.trajectory([0] * steps),
        "views 1 and 2 in turns": ops.trajectory([0, 1] * (steps // 2)),
    }
    figure, axes = plt.subplots(1, 2, figsize=(8.6, 3.9), layout="constrained")
    for ax, (title, walk) in zip(axes, walks.items(), strict=True):
        mass = walk.T @ np.eye(n)[start]
        points = ax.scatter(np.cos(angle), np.sin(angle), c=mass * n, cmap="magma_r", s=12, vmin=0)
        ax.plot(np.cos(angle[start]), np.sin(angle[start]), "x", color="#0072b2", markersize=10, markeredgewidth=2.5)
        ax.set(title=f"{title}: {steps} steps", xticks=[], yticks=[], aspect="equal")
        figure.colorbar(points, ax=ax, label="probability x N")
    return figure


def draw_time(ops: mdt.OperatorSet) -> Any:
    """Draw the entropy curve of the digits with its knee."""
    figure, ax = plt.subplots(figsize=(5, 3.2), layout="constrained")
    mdt.select_time(ops).plot(ax=ax)
    return figure


def draw_tree(ops: mdt.OperatorSet) -> Any:
    """Draw the sequences that a beam search evaluates."""
    figure, ax = plt.subplots(figsize=(5.4, 4.4), layout="constrained")
    beam = mdt.strategies.Beam(width=2, max_steps=5)
    mdt.search(ops, 10, t=4, strategy=beam).plot_tree(ax=ax)
    return figure


def main(folder: Path = FOLDER) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    digits = mdt.datasets.load_multiview_digits(kind="features")
    views = dict(zip(digits.view_names, digits.views, strict=True))
    ops = mdt.build_operators(views)
    pictures: dict[str, Callable[[], Any]] = {
        "digits": lambda: draw_digits(digits, mdt.MDTClustering(n_clusters=10).fit(views)),
        "walks": draw_walks,
        "mass": draw_mass,
        "time": lambda: draw_time(ops),
        "tree": lambda: draw_tree(ops),
    }
    for name, draw in pictures.items():
        draw().savefig(folder / f"{name}.png", dpi=110)
    plt.close("all")


if __name__ == "__main__":
    main()
