"""Plot of scores of several methods."""

from collections.abc import Mapping
from typing import Any

from .._support.arguments import check_number
from ._bars import bars_size, draw_bars, runs_by_name
from ._canvas import axes_for
from ._key import PALETTE, class_colors, draw_legend
from ._numbers import check_finite, check_names


def scores(
    values: Mapping[Any, Any],
    *,
    spread: Mapping[Any, float] | None = None,
    groups: Mapping[Any, Any] | None = None,
    reference: float | tuple[str, float] | None = None,
    label: str = "AMI",
    ax: Any = None,
) -> Any:
    """Draw the scores of several methods as horizontal bars.

    Parameters
    ----------
    values : mapping of names to numbers or sequences of numbers
        A number, or one number for each run. A bar ends at the mean, and dots show the runs (more
        than 40: an error bar of one standard deviation). nan means no value. Bars are in this
        order, the first at the top.
    spread : mapping of names to numbers, default=None
        Half the length of an error bar, which replaces the dots of the runs.
    groups : mapping of names to groups, default=None
        Group of each name, such as "single view" or "trajectory". Bars of a group have one colour,
        named in a legend.
    reference : float or (str, float), default=None
        Value, or name and value, of a dashed line.
    label : str, default="AMI"
        Name of the score.
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
    >>> ax = plot.scores(
    ...     {"camera": 0.61, "scanner": 0.58, "beam": [0.83, 0.86, 0.84]},
    ...     groups={"camera": "single view", "scanner": "single view", "beam": "trajectory"},
    ... )
    >>> [text.get_text() for text in ax.texts]
    ['0.610', '0.580', '0.843']
    """
    runs = runs_by_name(values, "numbers")
    half = {}
    if spread is not None:
        check_names("spread", spread, runs)
        half = {name: check_number(f"spread[{name!r}]", value) for name, value in spread.items()}
    if groups is not None:
        check_names("groups", groups, runs, all_of_them=True)
    line = None if reference is None else _check_reference(reference)
    ax = axes_for("plot.scores", ax, bars_size(len(runs)))
    from matplotlib.patches import Patch

    kinds = list(dict.fromkeys(groups[name] for name in runs)) if groups is not None else []
    palette = class_colors(max(len(kinds), 1), len(PALETTE))
    colors = [palette[kinds.index(groups[name])] if groups is not None else palette[0] for name in runs]
    draw_bars(ax, runs, base=0.0, colors=colors, label=label, spread=half)
    handles: list[Any] = [Patch(color=color) for color in palette[: len(kinds)]]
    if line is not None:
        handles.append(ax.axvline(line[1], linestyle="--", color="0.2", linewidth=1.2, zorder=4))
    if handles:
        draw_legend(ax, handles, kinds + ([] if line is None else [line[0]]))
    return ax


def _check_reference(reference: Any) -> tuple[str, float]:
    name, value = reference if isinstance(reference, tuple) and len(reference) == 2 else ("reference", reference)
    if not isinstance(name, str):
        raise TypeError(f"reference: expected a number, or a name and a number, got {reference!r}")
    number = check_finite("reference", value)
    return f"{name}: {number:.3g}", number
