"""Colours of classes, legends and colour bars."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._canvas import shortened, size_in_points

# Ten colours that remain distinct with colour vision deficiencies (M. A. Petroff, 2021,
# arXiv:2107.02270). Greys, which look like "no value", and the second orange are last.
PALETTE = (
    "#3f90da", "#ffa90e", "#bd1f01", "#832db6", "#92dadd", "#a96b59", "#b9ac70", "#e76300", "#717581", "#94a4a2",
)  # fmt: skip
MISSING_COLOR = "0.75"
CONTINUOUS = "viridis"
# Distance of two lines of a legend in points.
_LINE_HEIGHT = 13.5
# Maximum number of class names at a colour bar.
_BAR_NAMES = 12


def class_colors(n_classes: int, limit: int) -> NDArray[np.float64]:
    """Return (n_classes, 4) colours: the repeated palette, or a scale beyond `limit` classes."""
    from matplotlib import colormaps
    from matplotlib.colors import to_rgba_array

    if n_classes > limit:
        scale: NDArray[np.float64] = colormaps[CONTINUOUS](np.linspace(0.0, 1.0, n_classes))
        return scale
    return np.asarray(to_rgba_array([PALETTE[i % len(PALETTE)] for i in range(n_classes)]))


def draw_legend(
    ax: Any, handles: Sequence[Any], names: Sequence[object], title: str | None = None, *, beside: bool = True
) -> None:
    """Add a legend beside the axes if the figure has a layout engine, else inside."""
    beside = beside and ax.figure.get_layout_engine() is not None
    rows = max(1, int(size_in_points(ax)[1] / _LINE_HEIGHT))
    place = {"loc": "center left", "bbox_to_anchor": (1.0, 0.5)} if beside else {"loc": "best"}
    legend = ax.legend(
        handles=list(handles), labels=[""] * len(names), title=title, fontsize="small", title_fontsize="small",
        alignment="left", frameon=not beside, ncols=math.ceil(len(names) / rows), columnspacing=1.2, **place,
    )  # fmt: skip
    # Texts are set afterwards, because matplotlib omits labels that begin with an underscore.
    for text, name in zip(legend.get_texts(), names, strict=True):
        text.set(text=shortened(name), parse_math=False)


def draw_color_bar(ax: Any, norm: Any, cmap: Any, title: str | None = None, **options: Any) -> Any:
    """Add a colour bar beside the axes."""
    from matplotlib.cm import ScalarMappable

    # A separate mappable, because that of the markers may be translucent.
    options = {"shrink": 0.8, "aspect": 28, "pad": 0.03, **options}
    bar = ax.figure.colorbar(ScalarMappable(norm, cmap), ax=ax, label=title or "", **options)
    bar.outline.set_visible(False)
    return bar


def draw_class_bar(ax: Any, names: Sequence[object], colors: NDArray[np.float64], title: str | None = None) -> None:
    """Add a colour bar with a field for each class, and names of some classes."""
    from matplotlib.colors import BoundaryNorm, ListedColormap

    n = len(names)
    bar = draw_color_bar(ax, BoundaryNorm(np.arange(n + 1) - 0.5, n), ListedColormap(colors), title)
    at = range(0, n, math.ceil(n / _BAR_NAMES))
    bar.set_ticks(at, labels=[shortened(names[i]) for i in at], parse_math=False)
    bar.ax.minorticks_off()
    bar.ax.tick_params(length=0, labelsize="small")
