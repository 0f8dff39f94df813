"""Plot of a map of the samples."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._fusion.fused_graph import FusedGraph
from .._fusion.layout import layout
from .._graphs.readable import read_array
from .._support.arguments import RandomStateLike, check_flag
from .._support.extras import require
from ._canvas import shortened
from ._embedding import classes_of, draw_points

# More classes, or longer names, would cover the samples.
_MAX_NAMES, _NAME_LENGTH = 40, 14


def map(
    source: Any,
    labels: Any = None,
    *,
    method: str = "auto",
    random_state: RandomStateLike = 0,
    names: bool = True,
    legend: bool | str | None = None,
    title: str | None = None,
    ax: Any = None,
    **scatter: Any,
) -> Any:
    """Draw a map of the samples: the fused graph laid out in the plane.

    Neighbours of the graph are close in the map. Distances between groups, their sizes, and the arrangement
    of separate parts have no meaning; the axes have no values.

    Parameters
    ----------
    source : fitted estimator, FusedGraph or (N, 2) array
        What to draw. An estimator gives its fused graph, and `labels_` if `labels` is None. An array is a
        layout that :func:`mdt_fast.layout` computed, for several pictures of the same map.
    labels : (N,) array, default=None
        Classes or values of the samples, as in :func:`embedding`.
    method : {"auto", "umap", "tsne"}, default="auto"
        As in :func:`mdt_fast.layout`. It has no effect on an array.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the layout.
    names : bool, default=True
        Whether to write the name of each class among its samples, if there are at most 40 classes.
    legend : bool or str, default=None
        Whether to draw a legend, or a colour bar for values and for more classes than can be
        listed. A string is its title. None draws it if there are labels.
    title : str, default=None
        Title of the axes.
    ax : matplotlib.axes.Axes, default=None
        Axes to draw on. None makes a new figure.
    **scatter
        Further arguments of `Axes.scatter`, as in :func:`embedding`.

    Returns
    -------
    matplotlib.axes.Axes
        The axes.

    Raises
    ------
    TypeError, ValueError
        If an argument has a wrong type, shape or value.
    ImportError
        If matplotlib is not installed, or the package of the method.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> from mdt_fast import plot
    >>> blobs = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0)
    >>> model = mdt.MDTClustering(3).fit(blobs.views)
    >>> points = mdt.layout(model.fused_graph(), method="tsne")
    >>> ax = plot.map(points, model.labels_, legend="cluster")
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['0', '1', '2']
    """
    require("matplotlib", "plot.map")
    writes_names = check_flag("names", names)
    points, labels = _read(source, labels, method, random_state)
    ax = draw_points("plot.map", points, labels, legend, title, ax, scatter)
    # One unit is as long in both directions. Limits change instead of the box, so that legends keep their place.
    ax.set_aspect("equal", adjustable="datalim")
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
    if labels is not None and writes_names:
        _write_names(ax, points, read_array(labels, "labels"))
    return ax


def _read(source: Any, labels: Any, method: str, random_state: RandomStateLike) -> tuple[NDArray[Any], Any]:
    """Return the coordinates in the map, and the labels."""
    expected = "a fitted estimator, a FusedGraph or an (N, 2) array"
    if hasattr(source, "fused_graph"):
        graph = source.fused_graph()
        labels = getattr(source, "labels_", None) if labels is None else labels
        return layout(graph, method=method, random_state=random_state), labels
    if isinstance(source, FusedGraph):
        return layout(source, method=method, random_state=random_state), labels
    points = read_array(source, "source")
    if points.dtype.kind not in "biuf":
        raise TypeError(f"source: expected {expected}, got {type(source).__name__}")
    if points.ndim != 2 or points.shape[1] != 2 or not len(points):
        raise ValueError(f"source: expected {expected}, got the shape {points.shape}")
    return points, labels


def _write_names(ax: Any, points: NDArray[Any], labels: NDArray[Any]) -> None:
    """Write the name of each class at that of its samples which is nearest to their median."""
    from matplotlib.patheffects import withStroke

    if labels.dtype.kind == "f":
        return
    names, codes = classes_of(labels)
    if len(names) > _MAX_NAMES or max(len(str(name)) for name in names) > _NAME_LENGTH:
        return
    for code, name in enumerate(names.tolist()):
        own = points[codes == code]
        middle = own[np.square(own - np.median(own, axis=0)).sum(axis=1).argmin()]
        text = ax.annotate(
            shortened(name), middle, ha="center", va="center", fontsize="small", fontweight="bold", color="0.1",
            annotation_clip=False, path_effects=[withStroke(linewidth=2.5, foreground="white", alpha=0.85)],
        )  # fmt: skip
        text.set_parse_math(False)
        # The layout of the figure leaves space for the legend, not for these.
        text.set_in_layout(False)
