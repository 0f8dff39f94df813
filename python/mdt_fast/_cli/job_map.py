"""The map of a job: a layout of its fused graph, of a random part of very many samples.

A layout should take less time than the fit. UMAP of 60,000 samples took 14 s on one thread, after a fit of 76
processor seconds; t-SNE of 5,000 samples took 17 s.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import plot
from .._estimators.pipeline import graph_of
from .._fusion.layout import layout, resolve_method
from .._fusion.thinning import thin

if TYPE_CHECKING:
    from .job import Outcome

# Largest number of samples in a map by the method.
_MOST = {"umap": 50_000, "tsne": 5_000}
# Largest number of pictures of the weights of views, and of pictures side by side.
MOST_PANELS = 6
_COLUMNS = 3
# Smallest difference of weights between both ends of the colours.
_LEAST_RANGE = 0.2


@dataclass(frozen=True)
class SampleMap:
    """Coordinates of samples in a map; `samples` are the numbers of those that it has."""

    points: NDArray[np.float32]
    samples: NDArray[np.intp]
    method: str
    is_complete: bool


def map_of(outcome: Outcome, random_state: Any) -> SampleMap:
    """Lay out the fused graph of a job."""
    method = resolve_method("auto")
    graph = graph_of(outcome.ops, outcome.fit.result)
    n = graph.n_samples
    samples = np.arange(n)
    if n > _MOST[method]:
        samples = np.sort(np.random.default_rng(random_state).choice(n, _MOST[method], replace=False))
        graph = thin(graph, samples)
    points = layout(graph, method=method, random_state=random_state)
    return SampleMap(points, samples, method, len(samples) == n)


def draw_weights(points: NDArray[Any], weights: NDArray[np.float64], names: Sequence[str]) -> Any:
    """Return a figure with one small map for each view, coloured by its weight; of many views the first ones."""
    import matplotlib.pyplot as plt

    shown = min(len(names), MOST_PANELS)
    columns = min(shown, _COLUMNS)
    rows = math.ceil(shown / columns)
    figure, axes = plt.subplots(
        rows, columns, figsize=(2.4 * columns + 0.8, 2.3 * rows), layout="constrained", squeeze=False
    )
    low, high = _range(weights)
    for ax in axes.ravel()[shown:]:
        ax.set_axis_off()
    for view, ax in enumerate(axes.ravel()[:shown]):
        # One scale for all views; a view that lacks a sample has no weight there.
        values = np.where(weights[:, view] > 0, weights[:, view], np.nan)
        plot.map(points, values, ax=ax, legend=False, title=names[view], vmin=low, vmax=high, s=3)
        ax.set_title(ax.get_title(), fontsize="small", parse_math=False)
    bar: Any = figure.colorbar(axes[0, 0].collections[0], ax=axes, shrink=0.8, aspect=28, pad=0.02, label="weight")
    bar.outline.set_visible(False)
    bar.solids.set(alpha=1.0)
    return figure


def _range(weights: NDArray[np.float64]) -> tuple[float, float]:
    """Return the limits of the colours: almost all weights, but not so close that noise has strong colours."""
    # Samples of a single view have the weights 0 and 1.
    shared = weights[(weights > 0) & (weights < 1)]
    if not len(shared):
        return 0.0, 1.0
    low, high = np.quantile(shared, [0.01, 0.99])
    missing = max(_LEAST_RANGE - (high - low), 0.0)
    low = max(low - missing / 2, 0.0)
    return float(low), float(min(max(high, low + _LEAST_RANGE), 1.0))
