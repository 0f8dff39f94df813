"""Draw the pictures of docs/gallery.md, from data that scikit-learn contains.

Run: ``python examples/gallery.py`` for all pictures, or name some of them: ``python examples/gallery.py digits``.
"""

import argparse
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import adjusted_mutual_info_score

import mdt_fast as mdt

PICTURES = Path(__file__).parents[1] / "docs" / "images" / "gallery"
N_CLUSTERS = 10
N_DIGITS = 1797


def digits(n: int) -> tuple[dict[str, Any], Any]:
    """Return three views of the first n digits, and the digits."""
    bunch = mdt.datasets.load_multiview_digits(kind="features")
    return {name: X[:n] for name, X in zip(bunch.view_names, bunch.views, strict=True)}, bunch.target[:n]


def views_and_together(n: int) -> Any:
    """Draw a map of each view alone and of all views, coloured by the true digit, which no method uses."""
    views, target = digits(n)
    figure, axes = plt.subplots(1, 4, figsize=(13, 3.9), layout="constrained", width_ratios=[1, 1, 1, 1.5])
    for ax, (name, used) in zip(axes, [*((name, {name: X}) for name, X in views.items()), ("", views)], strict=True):
        model = mdt.MDTClustering(N_CLUSTERS).fit(used)
        agreement = adjusted_mutual_info_score(target, model.labels_)
        mdt.plot.map(mdt.layout(model.fused_graph()), target, ax=ax, legend=False, s=5)
        ax.set_title(f"{name + ' alone' if name else 'all three views'}: AMI {agreement:.2f}", fontsize=11)
    return figure


def certainty(n: int) -> Any:
    """Draw a map by confidence, and by the weight of each view at each sample."""
    views, _ = digits(n)
    model = mdt.MDTClustering(N_CLUSTERS).fit(views)
    graph = model.fused_graph()
    points = mdt.layout(graph)
    figure, axes = plt.subplots(1, 4, figsize=(13, 3.4), layout="constrained")
    mdt.plot.map(points, model.confidence_, ax=axes[0], legend=False, s=5, cmap="cividis", vmin=0, vmax=1)
    axes[0].set_title("confidence of the cluster", fontsize=11)
    figure.colorbar(axes[0].collections[0], ax=axes[0], shrink=0.7, pad=0.01)
    low, high = np.quantile(graph.view_weights, [0.01, 0.99])
    for ax, name, weights in zip(axes[1:], views, graph.view_weights.T, strict=True):
        mdt.plot.map(points, weights, ax=ax, legend=False, s=5, vmin=low, vmax=high)
        ax.set_title(f"weight of {name}", fontsize=11)
    figure.colorbar(axes[-1].collections[0], ax=axes[-1], shrink=0.7, pad=0.01)
    return figure


def noise_view(n: int) -> Any:
    """Draw the report on four views, one of which is noise."""
    views, _ = digits(n)
    views["noise"] = np.random.default_rng(0).normal(size=(len(views["fourier"]), 16))
    model = mdt.MDTClustering(N_CLUSTERS).fit(views)
    ax = mdt.view_report(model.operators_, labels=model.labels_).plot()
    ax.figure.set_size_inches(8, 4.6)
    return ax.figure


def search(n: int) -> Any:
    """Draw the sequences of a beam search, and the weights that DIRECT finds."""
    views, _ = digits(n)
    ops = mdt.build_operators(views)
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 5), layout="constrained", width_ratios=[1.2, 1])
    beam = mdt.search(ops, N_CLUSTERS, strategy=mdt.strategies.Beam(width=3, max_steps=8), t=4, progress=False)
    beam.plot_tree(ax=left)
    left.set_title("all sequences of a beam search; the radius is the length", fontsize=11)
    direct = mdt.search(ops, N_CLUSTERS, strategy="direct", t=4, progress=False)
    mdt.plot.weights(direct, ax=right)
    right.set_title("weights of the views at each step, by DIRECT", fontsize=11)
    return figure


def complementary(n: int) -> Any:
    """Draw six groups of which one view shows three and the other two."""
    rng = np.random.default_rng(0)
    groups = np.arange(n) % 6
    shape, colour = (5 * np.eye(6)[part] + rng.normal(size=(n, 6)) for part in (groups // 2, groups % 2))
    panels = {
        "view 1 alone: three groups": [shape],
        "view 2 alone: two groups": [colour],
        "both views: six groups": [shape, colour],
    }
    figure, axes = plt.subplots(1, 3, figsize=(11, 3.8), layout="constrained")
    for ax, (title, views) in zip(axes, panels.items(), strict=True):
        model = mdt.MDTClustering(6).fit(views)
        # Names of groups in the same place would cover each other.
        mdt.plot.map(mdt.layout(model.fused_graph()), groups, ax=ax, legend=False, s=6, names=len(views) == 2)
        agreement = adjusted_mutual_info_score(groups, model.labels_)
        ax.set_title(f"{title}\nAMI of six clusters {agreement:.2f}", fontsize=11)
    return figure


DRAWN: dict[str, Callable[[int], Any]] = {
    "digits": views_and_together,
    "complementary": complementary,
    "certainty": certainty,
    "noise-view": noise_view,
    "search": search,
}


def main(names: list[str] | None = None, folder: Path = PICTURES, n: int = N_DIGITS) -> None:
    # A view alone may have parts, and the clusters of one view may be degenerate: that is what is shown.
    for kind in (mdt.OperatorWarning, mdt.ViewWarning, mdt.DegenerateClustersWarning):
        warnings.simplefilter("ignore", kind)
    folder.mkdir(parents=True, exist_ok=True)
    for name in names or DRAWN:
        figure = DRAWN[name](n)
        figure.savefig(folder / f"{name}.png", dpi=80)
        plt.close(figure)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"pictures: {', '.join(DRAWN)}")
    parser.add_argument("--folder", type=Path, default=PICTURES)
    given = parser.parse_args()
    main(given.names, given.folder)
