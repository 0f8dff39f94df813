"""Plot of the entropy curve of a diffusion time."""

from typing import Any

from .._geometry.time import TimeSelection
from ._canvas import axes_for


def entropy(selection: TimeSelection, *, ax: Any = None) -> Any:
    """Draw the entropy of the singular values against time, with its error and the knee.

    Parameters
    ----------
    selection : TimeSelection
        Result of :func:`mdt_fast.select_time`.
    ax : matplotlib.axes.Axes, default=None
        Axes to draw on. None makes a new figure.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    TypeError
        If `selection` is not a TimeSelection.
    ImportError
        If matplotlib is not installed.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> from mdt_fast import plot
    >>> ops = mdt.build_operators(mdt.datasets.make_helix_b(200).views)
    >>> ax = plot.entropy(mdt.select_time(ops))
    >>> ax.get_legend().get_texts()[0].get_text()
    'entropy (exact)'
    """
    if not isinstance(selection, TimeSelection):
        raise TypeError(f"selection: expected a TimeSelection, got {type(selection).__name__}")
    ax = axes_for("plot.entropy", ax, (6.0, 4.0))
    times, entropies = selection.times, selection.entropies
    (curve,) = ax.plot(times, entropies, label=f"entropy ({selection.method})")
    if selection.method == "stochastic":
        low, high = entropies - 2 * selection.error, entropies + 2 * selection.error
        ax.fill_between(times, low, high, alpha=0.2, color=curve.get_color(), linewidth=0, label="two standard errors")
        at = selection.evaluated - 1
        ax.plot(times[at], entropies[at], ".", color=curve.get_color())
    knee = "" if selection.has_knee else " (no knee)"
    ax.axvline(selection.t, linestyle="--", color="0.4", linewidth=1.2, zorder=1, label=f"t = {selection.t}{knee}")
    ax.plot(
        selection.t, entropies[selection.t - 1], "o", color=curve.get_color(), markeredgecolor="white", markersize=8
    )
    ax.set_xlabel("diffusion time t")
    ax.set_ylabel("entropy of the singular values")
    ax.legend(frameon=False)
    return ax
