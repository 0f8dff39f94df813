"""The axes of a plot."""

from typing import Any

from .._support.extras import require


def axes_for(name: str, ax: Any, size: tuple[float, float], *, solid: bool = False) -> Any:
    """Return `ax` after a check of its projection, or, if it is None, axes of a new figure."""
    require("matplotlib", name)
    from matplotlib.axes import Axes

    projection = "3d" if solid else "rectilinear"
    if ax is None:
        import matplotlib.pyplot as plt

        ax = plt.figure(figsize=size, layout="constrained").add_subplot(projection=projection)
    elif not isinstance(ax, Axes):
        raise TypeError(f"ax: expected matplotlib Axes or None, got {type(ax).__name__}")
    elif ax.name != projection:
        raise ValueError(f"ax: expected axes with the projection {projection!r}, got {ax.name!r}")
    if not solid:
        ax.spines[["top", "right"]].set_visible(False)
    return ax


def check_cmap(cmap: Any) -> Any:
    """Return a colour map of matplotlib, given by name or as an object."""
    from matplotlib import colormaps

    try:
        return colormaps.get_cmap(cmap)
    except (TypeError, ValueError):
        raise ValueError(f"cmap: expected a colour map of matplotlib, or its name, got {cmap!r}") from None


def size_in_points(ax: Any) -> tuple[float, float]:
    """Return width and height of the axes in points, before a layout is computed."""
    box = ax.get_window_extent()
    return box.width * 72 / ax.figure.dpi, box.height * 72 / ax.figure.dpi


def whole_ticks(axis: Any) -> None:
    """Put the ticks of an axis at integers, with at least one tick."""
    from matplotlib.ticker import MaxNLocator

    axis.set_major_locator(MaxNLocator("auto", integer=True, min_n_ticks=1, steps=(1, 2, 5, 10)))


def shortened(name: object, limit: int = 28) -> str:
    """Return a name of at most `limit` characters."""
    text = str(name)
    return text if len(text) <= limit else text[: limit - 1] + "…"
