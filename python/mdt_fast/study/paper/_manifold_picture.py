"""Figure of a manifold: its views, and the embedding of every method, coloured by the target."""

import math
from typing import Any

from ..._support.extras import require
from ...plot._embedding import embedding
from ._manifold import ManifoldResult

_N_COLUMNS = 5
# Inches.
_WIDTH, _ROW_HEIGHT = 11.0, 2.1
# Small points keep the strands of a curve apart. Blended colours would double the size of a file.
_POINTS: dict[str, Any] = {"s": 1.4, "alpha": 1.0, "antialiased": False}
# Colour map and name of the target. "hsv" is cyclic and, unlike cyclic maps of even lightness,
# nowhere white.
_COLORS = {"circle": ("hsv", "angle"), "plane": ("viridis", "$x_1$")}
# Method of which every draw is shown, in separate rows. Of other methods the first draw is shown.
_EVERY_DRAW = "MDT-Rand"


def draw_manifold(result: ManifoldResult) -> Any:
    """Draw the views of a manifold in 3-D and its embeddings in 2-D.

    Parameters
    ----------
    result : ManifoldResult
        Result of :func:`run_manifold`.

    Returns
    -------
    matplotlib.figure.Figure
    """
    require("matplotlib", "draw_manifold")
    import matplotlib.pyplot as plt

    cmap, meaning = _COLORS[result.manifold.kind]
    target = result.bunch.target
    colors = target if target.ndim == 1 else target[:, 0]
    views = [(f"view {v}", X) for v, X in enumerate(result.bunch.views, start=1)]
    once = [(name, X) for (name, draw), X in result.coordinates.items() if name != _EVERY_DRAW and draw == 0]
    draws = [(f"{name}, draw {draw + 1}", X) for (name, draw), X in result.coordinates.items() if name == _EVERY_DRAW]
    groups = [views + once, draws]
    n_rows = sum(math.ceil(len(group) / _N_COLUMNS) for group in groups)
    fig = plt.figure(figsize=(_WIDTH, _ROW_HEIGHT * n_rows), layout="constrained")
    cell = 0
    for group in groups:
        for title, X in group:
            cell += 1
            solid = X.shape[1] == 3
            ax = fig.add_subplot(n_rows, _N_COLUMNS, cell, projection="3d" if solid else "rectilinear")
            embedding(X, colors, dimensions=range(X.shape[1]), legend=False, ax=ax, cmap=cmap, **_POINTS)
            _strip(ax, title, solid)
        cell = _N_COLUMNS * math.ceil(cell / _N_COLUMNS)
    points = fig.axes[0].collections[0]
    bar = fig.colorbar(points, ax=fig.axes, location="bottom", shrink=0.3, aspect=40, pad=0.01)
    bar.set_label(meaning, fontsize="small")
    bar.ax.tick_params(labelsize="small")
    bar.outline.set_visible(False)
    return fig


def _strip(ax: Any, title: str, solid: bool) -> None:
    ax.set_title(title, fontsize="small")
    ax.set(xlabel="", ylabel="", xticks=[], yticks=[])
    if solid:
        ax.set(zlabel="", zticks=[])
        ax.set_box_aspect(None, zoom=1.1)
    else:
        ax.set_aspect("equal", adjustable="datalim")
        ax.spines[:].set_visible(True)
        ax.spines[:].set_color("0.8")
