"""Plot of performance relative to random."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from ._bars import bars_size, draw_bars, mean_of, runs_by_name
from ._canvas import axes_for
from ._key import PALETTE


def prr(values: Mapping[Any, Any], *, ax: Any = None) -> Any:
    """Draw performance relative to random trajectories as bars from 1, the best at the top.

    Parameters
    ----------
    values : mapping of names to numbers or sequences of numbers
        A ratio, or one ratio for each data set. A bar ends at the mean, and dots show the data sets
        (more than 40: an error bar of one standard deviation). nan means no value and comes last.
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
    >>> ax = plot.prr({"mean": 0.97, "beam": [1.2, 1.1], "direct": 1.08})
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['beam', 'direct', 'mean']
    """
    runs = runs_by_name(values, "ratios")
    means = {name: mean_of(ratios) for name, ratios in runs.items()}
    names = sorted(runs, key=lambda name: (np.isnan(means[name]), -means[name]))
    ax = axes_for("plot.prr", ax, bars_size(len(runs)))
    bars = draw_bars(
        ax,
        {name: runs[name] for name in names},
        base=1.0,
        colors=[PALETTE[0] if means[name] >= 1 else PALETTE[1] for name in names],
        label="performance relative to random (above 1: better)",
        spread={},
    )
    # Without this, the axes end at 1 if all bars are on one side of it.
    for bar in bars:
        bar.sticky_edges.x.clear()
    return ax
