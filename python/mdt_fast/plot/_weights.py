"""Plot of the weights of a trajectory."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._graphs.readable import read_array
from .._operators.trajectory import Trajectory
from ._canvas import axes_for, check_cmap, shortened, size_in_points, whole_ticks
from ._key import draw_color_bar

# Width in points of a written value, and height of a line of text.
_VALUE_WIDTH, _LINE_HEIGHT = 26.0, 11.0
# Tolerance for weights outside of [0, 1] by rounding.
_ROUNDING = 1e-6
# For more cells along an axis, lines between cells would cover them.
_DENSE = 60


def weights(trajectory: Any, *, names: Sequence[object] | None = None, cmap: Any = "Blues", ax: Any = None) -> Any:
    """Draw the weight of each member in each step of a trajectory as a heat map.

    Values are written into the cells if there is enough space.

    Parameters
    ----------
    trajectory : Trajectory, SearchResult, Embedding, fitted estimator or array
        A trajectory, an object with an attribute `trajectory` or `trajectory_`, a (t, members)
        array of weights in [0, 1], or a sequence (t member indices).
    names : sequence of str, default=None
        Names of the members. None means those of the trajectory, or numbers.
    cmap : str or matplotlib.colors.Colormap, default="Blues"
        Colour map of the weights.
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
    >>> ax = plot.weights([[0.2, 0.8], [1.0, 0.0], [0.5, 0.5]], names=["camera", "scanner"])
    >>> [label.get_text() for label in ax.get_yticklabels()]
    ['camera', 'scanner']
    >>> [text.get_text() for text in ax.texts]
    ['0.20', '1', '0.50', '0.80', '0', '0.50']
    """
    values, names = _read(trajectory, names)
    n_steps, n_members = values.shape
    size = (min(max(2.4 + 0.55 * n_steps, 4.5), 12.0), min(max(1.0 + 0.4 * n_members, 2.2), 12.0))
    ax = axes_for("plot.weights", ax, size)
    cmap = check_cmap(cmap)
    lines = 1.5 if max(n_steps, n_members) <= _DENSE else 0.0
    mesh = ax.pcolormesh(
        np.arange(n_steps + 1) + 0.5, np.arange(n_members + 1) - 0.5, values.T, cmap=cmap, vmin=0.0, vmax=1.0,
        edgecolors="white" if lines else "none", linewidth=lines, rasterized=not lines,
    )  # fmt: skip
    draw_color_bar(ax, mesh.norm, mesh.cmap, "weight", shrink=1.0, ticks=[0.0, 0.5, 1.0])
    ax.set(xlim=(0.5, n_steps + 0.5), ylim=(n_members - 0.5, -0.5), xlabel="step")
    whole_ticks(ax.xaxis)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    width, height = size_in_points(ax)
    shown = range(0, n_members, math.ceil(_LINE_HEIGHT * n_members / height))
    ax.set_yticks(shown, labels=[shortened(names[i]) for i in shown], parse_math=False)
    if width >= _VALUE_WIDTH * n_steps and height >= _LINE_HEIGHT * n_members:
        _write(ax, values, mesh.cmap(mesh.norm(values)))
    return ax


def _read(trajectory: Any, names: Sequence[object] | None) -> tuple[NDArray[np.float64], Sequence[object]]:
    """Return (t, members) weights and the names of the members."""
    if names is not None and not _is_list(names):
        raise TypeError(f"names: expected a sequence, one name for each member, got {names!r}")
    source = getattr(trajectory, "trajectory_", getattr(trajectory, "trajectory", trajectory))
    if isinstance(source, Trajectory):
        values = source.weights
        names = source.operators.names if names is None else names
    else:
        values = _check_weights(trajectory, source, None if names is None else len(names))
    if names is None:
        names = range(values.shape[1])
    if len(names) != values.shape[1]:
        raise ValueError(f"names: expected {values.shape[1]}, one for each member, got {len(names)}")
    return values, names


def _is_list(names: Any) -> bool:
    is_other = isinstance(names, (str, bytes, Mapping)) or not hasattr(names, "__getitem__") or isinstance(names, type)
    return not is_other and getattr(names, "ndim", 1) == 1


def _check_weights(given: Any, source: Any, n_members: int | None) -> NDArray[np.float64]:
    expected = "a Trajectory, something that has one, a (t, members) array of weights or a sequence"
    values = read_array(source, "trajectory")
    if values.dtype.kind not in "biuf":
        raise TypeError(f"trajectory: expected {expected}, got {type(given).__name__}")
    if values.ndim == 1 and values.size and values.dtype.kind in "iu" and values.min() >= 0:
        if n_members is not None and values.max() >= n_members:
            raise ValueError(f"names: expected at least {values.max() + 1}, as in the sequence, got {n_members}")
        values = np.eye(n_members or int(values.max()) + 1)[values]
    if values.ndim != 2 or 0 in values.shape:
        raise ValueError(f"trajectory: expected {expected}, got the shape {values.shape}")
    if not ((values >= -_ROUNDING) & (values <= 1 + _ROUNDING)).all():
        raise ValueError(f"trajectory: expected weights from 0 to 1, got {values.min()} to {values.max()}")
    return values.astype(np.float64)


def _write(ax: Any, values: NDArray[np.float64], colors: NDArray[np.float64]) -> None:
    """Write values into cells, in a colour that contrasts with the cell."""
    brightness = colors[..., :3] @ [0.299, 0.587, 0.114]
    for member in range(values.shape[1]):
        for step in range(values.shape[0]):
            color = "0.15" if brightness[step, member] > 0.5 else "white"
            text = _weight_text(values[step, member])
            ax.text(step + 1, member, text, color=color, ha="center", va="center", fontsize="small")


def _weight_text(value: float) -> str:
    if value in (0.0, 1.0):
        return f"{value:.0f}"
    # Rounding to 0.00 would look like no weight.
    return "<.01" if 0 < value < 0.005 else f"{value:.2f}"
