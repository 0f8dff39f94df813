"""Plot of scores against diffusion time or noise."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._graphs.readable import read_array
from ._canvas import axes_for, whole_ticks
from ._key import PALETTE, class_colors, draw_class_bar, draw_legend
from ._numbers import check_finite, check_names, numbers_by_name

# Line styles of the first ten curves and of the next ten, which repeat the colours.
_LINES = ("-", "--")
# Default label of the horizontal axis.
_TIME = "diffusion time t"
# A smaller number of times is marked by dots.
_FEW_TIMES = 30


def quality(
    times: Any,
    curves: Mapping[Any, Any],
    *,
    spread: Mapping[Any, Any] | None = None,
    selected: float | None = None,
    label: str = "AMI",
    xlabel: str = _TIME,
    ax: Any = None,
) -> Any:
    """Draw scores against diffusion time, or another increasing parameter, as one curve per method.

    Up to twenty curves are named in a legend, sorted by their last value. More curves have colours
    of a continuous scale in the given order.

    Parameters
    ----------
    times : (T,) array
        Diffusion times, increasing.
    curves : mapping of names to (T,) or (runs, T) arrays
        Scores at each time. Of several runs the mean is drawn, with a band of one standard
        deviation. nan leaves a gap.
    spread : mapping of names to (T,) arrays, default=None
        Half the width of a band, which replaces the standard deviation of the runs.
    selected : float, default=None
        The selected time, drawn as a dotted line.
    label : str, default="AMI"
        Name of the score.
    xlabel : str, default="diffusion time t"
        Name of `times`.
    ax : matplotlib.axes.Axes, default=None
        Axes to draw on. None makes a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    TypeError, ValueError
        If an argument has a wrong type, shape or value.
    ImportError
        If matplotlib is not installed.

    Examples
    --------
    >>> from mdt_fast import plot
    >>> curves = {"beam": [0.5, 0.7, 0.8, 0.8], "mean": [0.5, 0.6, 0.6, 0.5]}
    >>> ax = plot.quality([1, 2, 4, 8], curves, selected=4)
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['beam', 'mean', 't = 4']
    """
    t = _check_times(times)
    shapes = f"arrays of shape ({len(t)},) or (runs, {len(t)}), for {len(t)} times"
    runs = numbers_by_name("curves", curves, shapes, (1, 2))
    for name, values in runs.items():
        if values.shape[-1] != len(t):
            raise ValueError(f"curves[{name!r}]: expected {shapes}, got the shape {values.shape}")
    bands = {} if spread is None else _check_spread(spread, runs, len(t))
    if selected is not None:
        selected = check_finite("selected", selected)
    ax = axes_for("plot.quality", ax, (6.4, 4.0))

    limit = len(PALETTE) * len(_LINES)
    listed = len(runs) <= limit
    colors = class_colors(len(runs), limit)
    marker = "o" if listed and len(t) < _FEW_TIMES else ""
    lines, ends = [], []
    for i, (name, values) in enumerate(runs.items()):
        mean, deviation = _mean_and_deviation(np.atleast_2d(values))
        style = _LINES[i // len(PALETTE)] if listed else "-"
        lines += ax.plot(
            t, mean, style, color=colors[i], marker=marker, markersize=3.5, linewidth=1.6 if listed else 0.9
        )
        half = bands.get(name, deviation if values.ndim == 2 else None)
        if half is not None:
            ax.fill_between(t, mean - half, mean + half, color=colors[i], alpha=0.18, linewidth=0)
        known = mean[~np.isnan(mean)]
        ends.append(known[-1] if len(known) else -np.inf)
    names: list[Any] = list(runs)
    if listed:
        order = np.argsort(ends, kind="stable")[::-1]
        lines, names = [lines[i] for i in order], [names[i] for i in order]
    else:
        draw_class_bar(ax, names, colors)
        lines, names = [], []
    if selected is not None:
        lines.append(ax.axvline(selected, linestyle=":", color="0.3", linewidth=1.4, zorder=1))
        names.append(f"t = {selected:g}" if xlabel == _TIME else f"chosen: {selected:g}")
    if lines:
        draw_legend(ax, lines, names, beside=listed)
    if (t == np.round(t)).all() and ax.get_xscale() == "linear":
        whole_ticks(ax.xaxis)
    ax.set(xlabel=xlabel, ylabel=label)
    return ax


def _check_times(times: Any) -> NDArray[np.float64]:
    t = read_array(times, "times")
    if t.dtype.kind not in "iuf" or t.ndim != 1 or t.size == 0:
        raise ValueError(f"times: expected a sequence of numbers, got {times!r}")
    t = t.astype(np.float64)
    if not np.isfinite(t).all() or (np.diff(t) <= 0).any():
        raise ValueError(f"times: expected finite increasing numbers, got {times!r}")
    return t


def _check_spread(spread: Any, runs: dict[Any, NDArray[Any]], n_times: int) -> dict[Any, NDArray[Any]]:
    check_names("spread", spread, runs)
    bands = numbers_by_name("spread", spread, f"arrays ({n_times},)", (1,))
    for name, half in bands.items():
        if len(half) != n_times or (half < 0).any():
            raise ValueError(f"spread[{name!r}]: expected {n_times} numbers >= 0, got {half!r}")
    return bands


def _mean_and_deviation(runs: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return mean and standard deviation over the first axis, ignoring nan."""
    known = ~np.isnan(runs)
    count = np.where(known.any(axis=0), known.sum(axis=0), np.nan)
    mean = np.where(known, runs, 0.0).sum(axis=0) / count
    return mean, np.sqrt((np.where(known, runs - mean, 0.0) ** 2).sum(axis=0) / count)
