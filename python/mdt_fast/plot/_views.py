"""Plot of a view report."""

import math
from typing import Any

import numpy as np

from .._search.view_report import ViewReport
from ._canvas import axes_for, shortened, size_in_points
from ._key import PALETTE, draw_legend

# Share of the height of a view that its bars fill.
_FILLED = 0.8
# Height and font size in points of a written value.
_LINE_HEIGHT, _FONT_SIZE = 8.0, 7.0
# Height in points of a name.
_NAME_HEIGHT = 11.0


def views(report: ViewReport, ax: Any = None) -> Any:
    """Draw a view report as bars: `stay`, `alone`, `own`, `adds` and the weight of each view.

    Values are written at the ends of the bars if there is enough space.

    Parameters
    ----------
    report : ViewReport
        Result of :func:`mdt_fast.view_report`.
    ax : matplotlib.axes.Axes, default=None
        Axes to draw on. None makes a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    TypeError
        If `report` is not a ViewReport.
    ImportError
        If matplotlib is not installed.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> from mdt_fast import plot
    >>> blobs = mdt.datasets.make_multiview_blobs(120, n_clusters=3, random_state=0)
    >>> ops = mdt.build_operators(dict(zip(["camera", "scanner"], blobs.views)), n_neighbors=40)
    >>> ax = plot.views(mdt.view_report(ops, labels=blobs.target, t=2))
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['stay', 'alone', 'own', 'adds', 'weight']
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['camera', 'scanner']
    """
    if not isinstance(report, ViewReport):
        raise TypeError(f"report: expected a ViewReport, got {type(report).__name__}")
    kinds = {
        "stay": report.stay, "alone": report.alone, "own": report.own, "adds": report.adds, "weight": report.weights,
    }  # fmt: skip
    n_views = len(report.names)
    ax = axes_for("plot.views", ax, (6.4, min(max(1.0 + 0.9 * n_views, 2.6), 30.0)))
    height = _FILLED / len(kinds)
    bars = []
    for place, (values, color) in enumerate(zip(kinds.values(), PALETTE, strict=False)):
        rows = np.arange(n_views) - _FILLED / 2 + (place + 0.5) * height
        bars.append(ax.barh(rows, np.nan_to_num(values), height=0.9 * height, color=color, zorder=2))
        if size_in_points(ax)[1] * height / n_views >= _LINE_HEIGHT:
            _write(ax, rows, values)
    ax.axvline(0.0, color="0.3", linewidth=0.8, zorder=4)
    least = min(0.0, *(float(np.nanmin(values, initial=0.0)) for values in kinds.values()))
    # A margin for a written value on either side.
    margin = 0.12 * (1 - least)
    ax.set(xlim=(least - margin if least < 0 else 0.0, 1 + margin), ylim=(n_views - 0.5, -0.5))
    ax.set_xlabel("from 0 (chance, or nothing) to 1 (everything)")
    shown = range(0, n_views, math.ceil(_NAME_HEIGHT * n_views / size_in_points(ax)[1]))
    ax.set_yticks(shown, labels=[shortened(report.names[i]) for i in shown], parse_math=False)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    draw_legend(ax, bars, list(kinds))
    return ax


def _write(ax: Any, rows: Any, values: Any) -> None:
    for row, value in zip(rows, values, strict=True):
        is_missing, below = math.isnan(value), value < 0
        ax.annotate(
            "no value" if is_missing else f"{value:z.2f}".replace("-", "\N{MINUS SIGN}"),
            (0.0 if is_missing else value, row), xytext=(-3 if below else 3, 0), textcoords="offset points",
            ha="right" if below else "left", va="center", fontsize=_FONT_SIZE, color="0.5" if is_missing else "0.2",
            annotation_clip=False, zorder=5,
        )  # fmt: skip
