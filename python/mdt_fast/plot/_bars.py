"""Horizontal bars with their values written at their ends."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._canvas import shortened, size_in_points
from ._numbers import numbers_by_name

# A larger number of runs is shown by its standard deviation instead of dots.
_MAX_DOTS = 40
# Smallest and largest font size in points, and its share of the height of a bar.
_FONT_SIZES, _SHARE = (5.0, 10.0), 0.6
# Range of the largest value in which values are written without a power of ten.
_PLAIN = (1e-3, 1e6)
# Average width of a character, as a share of the font size.
_CHARACTER_WIDTH = 0.62


def runs_by_name(values: Any, kind: str) -> dict[Any, NDArray[Any]]:
    """Return the runs of each name, without nan."""
    numbers = numbers_by_name("values", values, f"{kind} or sequences of {kind}", (0, 1))
    return {name: runs[~np.isnan(runs)] for name, runs in numbers.items()}


def mean_of(runs: NDArray[Any]) -> float:
    """Return the mean, or nan if there is no run."""
    return float(runs.mean()) if len(runs) else math.nan


def bars_size(n_bars: int) -> tuple[float, float]:
    """Return width and height in inches of a figure with this number of bars."""
    return 6.4, min(max(1.0 + 0.32 * n_bars, 2.0), 30.0)


def draw_bars(
    ax: Any,
    runs: Mapping[Any, NDArray[Any]],
    *,
    base: float,
    colors: Sequence[Any],
    label: str,
    spread: Mapping[Any, float],
) -> Any:
    """Draw a bar from `base` to the mean of the runs of each name, the first name at the top.

    `spread` gives half the length of the error bars. Names that are not in it show their runs.
    Return the container of the bars.
    """
    means = np.array([mean_of(values) for values in runs.values()])
    ends = np.where(np.isnan(means), base, means)
    rows = np.arange(len(runs))
    bars = ax.barh(rows, ends - base, left=base, color=list(colors), height=0.72, zorder=2)
    reaches = [_draw_runs(ax, row, values, spread.get(name)) for row, (name, values) in enumerate(runs.items())]
    ax.axvline(base, color="0.3", linewidth=0.8, zorder=4)
    ax.set(xlabel=label, ylim=(len(runs) - 0.5, -0.5))
    ax.spines["left"].set_visible(False)
    width, height = size_in_points(ax)
    font_size = min(max(_SHARE * height / len(runs), _FONT_SIZES[0]), _FONT_SIZES[1])
    ax.set_yticks(rows, labels=[shortened(name, 36) for name in runs], fontsize=font_size, parse_math=False)
    ax.tick_params(axis="y", length=0)

    texts = _value_texts(means)
    for row, (text, end, reach) in enumerate(zip(texts, ends, reaches, strict=True)):
        below = end < base
        ax.annotate(
            text, (min(end, *reach) if below else max(end, *reach, base), row), xytext=(-4 if below else 4, 0),
            textcoords="offset points", ha="right" if below else "left", va="center",
            color="0.5" if np.isnan(means[row]) else "0.2", fontsize=0.9 * font_size, annotation_clip=False, zorder=5,
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 0.6},
        )  # fmt: skip
    # A margin for the longest text after the longest bar.
    text_share = min((max(map(len, texts)) * _CHARACTER_WIDTH * font_size + 8) / width, 0.4)
    ax.margins(x=text_share / (1 - text_share))
    ax.locator_params(axis="x", nbins=6)
    return bars


def _draw_runs(ax: Any, row: int, runs: NDArray[Any], half: float | None) -> tuple[float, ...]:
    """Draw an error bar, or a dot for each run; return the positions that were drawn."""
    if half is None and len(runs) > _MAX_DOTS:
        half = float(runs.std())
    if len(runs) and half is not None:
        mean = mean_of(runs)
        ax.errorbar(mean, row, xerr=half, color="0.2", linewidth=1.2, capsize=2.5, zorder=3)
        return mean - half, mean + half
    if len(runs) > 1:
        ax.plot(
            runs, row + _apart(len(runs)), "o", color="0.2", alpha=0.8, markersize=4, markeredgecolor="white",
            markeredgewidth=0.5, zorder=3,
        )  # fmt: skip
    return tuple(runs)


def _apart(n: int) -> NDArray[np.float64]:
    """Return vertical offsets that keep dots of equal value apart."""
    return np.random.default_rng(0).permutation(min(0.04 * n, 0.22) * np.linspace(-1.0, 1.0, n))


def _value_texts(values: NDArray[np.float64]) -> list[str]:
    """Format values with the number of decimals that gives the largest value three digits."""
    largest = np.abs(values[~np.isnan(values)]).max(initial=0.0)
    form = ".2f" if largest == 0 else f".{max(2 - math.floor(math.log10(largest)), 0)}f"
    if largest and not _PLAIN[0] <= largest < _PLAIN[1]:
        form = ".2e"
    return ["no value" if math.isnan(value) else f"{value:{form}}".replace("-", "\N{MINUS SIGN}") for value in values]
