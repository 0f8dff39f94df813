"""Plot a circle in two views, each cut at another angle, and its embeddings, for the README.

Run: ``python examples/overview.py``.
"""

from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

import mdt_fast as mdt

PICTURE = Path(__file__).parents[1] / "docs" / "images" / "overview.png"
STEPS = 300


def main(picture: Path = PICTURE) -> None:
    helix = mdt.datasets.make_helix_b(1500)
    angle = np.asarray(helix.target, dtype=float)
    both = mdt.MDT(n_components=2, strategy="mean", t=STEPS).fit(helix.views)
    alone = mdt.MDT(n_components=2, strategy=[0] * STEPS).fit(helix.views)

    figure = plt.figure(figsize=(12, 3.6), layout="constrained")
    places = figure.add_gridspec(1, 4, width_ratios=[1, 1, 1.15, 1.15])
    for view, X in enumerate(helix.views):
        ax = figure.add_subplot(places[view], projection="3d")
        ax.scatter(*X.T, c=angle, cmap="twilight", s=3)
        ax.set(title=f"view {view + 1}", xticks=[], yticks=[], zticks=[])
    for place, model, title in ((2, alone, "view 1 alone: cut open"), (3, both, "both views: a circle")):
        ax = figure.add_subplot(places[place])
        mdt.plot.embedding(model.embedding_, angle, ax=ax, legend=False, cmap="twilight", title=title)
        ax.set_aspect("equal", "datalim")
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    main()
