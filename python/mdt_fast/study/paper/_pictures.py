"""Figures of the published study."""

import math
import re
from collections.abc import Iterator
from typing import Any

import numpy as np

from ... import plot
from .._cases import with_noise
from .._study import Study
from .._tables import TITLES, competes
from .._times import AS_CODED
from ._manifold import ManifoldResult
from ._manifold_picture import draw_manifold
from ._published import published_entropy, published_score
from ._runs import PaperStudy, TreeSearch

_PANEL = (3.4, 2.7)
_COLUMNS = 4


def draw_all(study: PaperStudy) -> Iterator[tuple[str, Any]]:
    """Yield the name of every figure and the figure."""
    table = study.tables["published"]
    yield "prr", _draw_prr(table)
    yield "views", _draw_views(table)
    for name, curves in study.noise.items():
        yield f"noise-{name}", _draw_noise(name, study.profile.noise, curves)
        yield f"views-{name}", _draw_noisy_views(study.profile.noise, curves, name)
    yield "entropy", _draw_entropies(study)
    if study.lengths is not None:
        yield "lengths", _draw_lengths(study.lengths)
    if study.tree is not None:
        yield "tree", _draw_tree(study.tree)
    for result in study.manifolds:
        yield manifold_name(result), draw_manifold(result)


def manifold_name(result: ManifoldResult) -> str:
    """Return the name of the figure of a manifold."""
    return f"{result.manifold.name}-{result.variant}"


def _figure(width: float, height: float) -> Any:
    import matplotlib.pyplot as plt

    return plt.figure(figsize=(width, height), layout="constrained")


def _grid(rows: int, columns: int) -> tuple[Any, Any]:
    """Return a figure and its grid of axes."""
    figure = _figure(_PANEL[0] * columns, _PANEL[1] * rows)
    return figure, figure.subplots(rows, columns, squeeze=False)


def _panels(count: int) -> tuple[Any, Any]:
    """Return a figure and `count` axes, row by row."""
    columns = min(_COLUMNS, count)
    figure, axes = _grid(math.ceil(count / columns), columns)
    for ax in axes.ravel()[count:]:
        ax.remove()
    return figure, axes.ravel()[:count]


def _fusions(study: Study) -> list[str]:
    return [name for name in study.methods if competes(name)]


def _draw_prr(table: Study) -> Any:
    ratios = table.prr()
    shown = {name: list(ratios[name].values()) for name in _fusions(table) if name in ratios}
    return plot.prr(shown).figure


def _draw_views(table: Study) -> Any:
    figure, axes = _panels(len(table.datasets))
    for ax, name in zip(axes, table.datasets, strict=True):
        views = [method for method in table.methods if method.startswith("DM(")]
        scores = {method: cell for method in views if (cell := table.cell(name, method)) is not None}
        spread = {method: cell.std for method, cell in scores.items()}
        plot.scores({method: cell.mean for method, cell in scores.items()}, spread=spread, ax=ax)
        ax.set_title(name, fontsize=10)
    return figure


def _draw_noise(name: str, levels: tuple[float, ...], curves: Study) -> Any:
    """Draw our curves to the left and the published ones to the right, on one scale."""
    figure = _figure(11.0, 4.6)
    left, right = figure.subplots(1, 2, sharey=True)
    methods = _fusions(curves)
    theirs = {
        m: values
        for m in methods
        if not m.endswith(AS_CODED)
        and not np.isnan(values := [_published_mean(with_noise(name, s), m) for s in levels]).all()
    }
    # Published methods come first, so that they have the same colours in both panels.
    ordered = [*theirs, *(m for m in methods if m not in theirs)]
    ours = {m: [_mean(curves, with_noise(name, s), m) for s in levels] for m in ordered}
    plot.quality(levels, ours, xlabel="noise s", ax=left)
    if theirs:
        plot.quality(levels, theirs, xlabel="noise s", ax=right)
    left.set_title(f"{name}, ours")
    right.set_title("published (up to s = 0.7)")
    return figure


def _draw_noisy_views(levels: tuple[float, ...], curves: Study, name: str) -> Any:
    views = [method for method in curves.methods if method.startswith("DM(")]
    values = {method: [_mean(curves, with_noise(name, s), method) for s in levels] for method in views}
    ax = plot.quality(levels, values, xlabel="noise s")
    ax.set_title(f"{name}, each view alone")
    return ax.figure


def _draw_entropies(study: PaperStudy) -> Any:
    figure, axes = _panels(len(study.times))
    for ax, (name, selection) in zip(axes, study.times.items(), strict=True):
        plot.entropy(selection, ax=ax)
        curve = published_entropy(name)
        if curve is not None:
            times = range(1, len(curve) + 1)
            ax.plot(times, curve, ":", color="0.2", linewidth=1.4, label="published", zorder=5)
        ax.legend(frameon=False, fontsize=7)
        ax.set_title(name, fontsize=10)
    return figure


def _draw_lengths(lengths: Study) -> Any:
    """Draw AMI (above) and CH (below) against the length of random trajectories."""
    figure, axes = _grid(2, len(lengths.datasets))
    times = [int(re.findall(r"t=(\d+)", method)[0]) for method in lengths.methods]
    for column, name in enumerate(lengths.datasets):
        chosen = next(row.t for row in lengths.rows if row.dataset == name)
        for ax, measure in zip(axes[:, column], ("ami", "ch"), strict=True):
            runs = [[s for each in lengths.scores(name, m, measure).values() for s in each] for m in lengths.methods]
            plot.quality(times, {name: np.array(runs).T}, selected=chosen, label=TITLES[measure], ax=ax)
            ax.get_legend().remove()
        axes[0, column].set_title(f"{name} (t = {chosen})", fontsize=10)
    return figure


def _draw_tree(tree: TreeSearch) -> Any:
    ax = plot.tree(tree.result)
    ax.set_title(f"Beam search on {tree.dataset}: {tree.result.n_evaluations} sequences")
    return ax.figure


def _mean(study: Study, dataset: str, method: str) -> float:
    cell = study.cell(dataset, method)
    return math.nan if cell is None else cell.mean


def _published_mean(dataset: str, method: str) -> float:
    score = published_score(dataset, method, "ami")
    return math.nan if score is None else score.mean
