"""Plot of coordinates."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._geometry.embedding import Embedding
from .._graphs.readable import read_array
from .._support.arguments import check_integer
from ._canvas import axes_for
from ._key import CONTINUOUS, MISSING_COLOR, PALETTE, class_colors, draw_class_bar, draw_color_bar, draw_legend

# Figure sizes in inches for one, two and three coordinates.
_SIZES = ((6.4, 2.6), (6.4, 4.8), (6.4, 5.2))
# Markers of the first ten classes and of the next ten, which repeat the colours.
_SHAPES = ("o", "^")
# Diameter of markers in points: of one sample, decay exponent in the number of samples, limits.
_DIAMETER, _SHRINKAGE, _DIAMETERS = 20.0, 0.27, (0.8, 6.5)
# A larger number of markers makes a vector file slow to open, and markers overlap.
_MANY = 2000
# Arguments of scatter that may have a value for each sample.
_PER_SAMPLE = ("s", "c", "alpha", "linewidths")


def embedding(
    coordinates: Any,
    labels: Any = None,
    *,
    dimensions: Sequence[int] = (0, 1),
    legend: bool | str | None = None,
    title: str | None = None,
    ax: Any = None,
    **scatter: Any,
) -> Any:
    """Draw the coordinates of samples as a scatter plot.

    Samples are drawn in a fixed random order, so that no class covers another systematically.
    Markers are smaller if there are many samples. More than 2,000 samples are rasterised in a
    vector file.

    Parameters
    ----------
    coordinates : (N, n_components) array, Embedding or fitted estimator
        The coordinates. Of an estimator, `embedding_` is drawn, and `labels_` are used if `labels`
        is None.
    labels : (N,) array, default=None
        Integers, strings or bools are classes. Up to ten classes have different colours. In two
        dimensions, the next ten repeat the colours with triangles as markers. More classes have
        colours of a continuous scale. Floats are values on a continuous scale; values that are not
        finite are grey.
    dimensions : sequence of one to three int, default=(0, 1)
        The components to draw. Three components give a 3-D plot. One component gives a strip, in
        which heights are random and only keep markers apart; the default gives a strip if there is
        only one component.
    legend : bool or str, default=None
        Whether to draw a legend, or a colour bar for values and for more classes than can be
        listed. A string is its title. None draws it if there are labels.
    title : str, default=None
        Title of the axes.
    ax : matplotlib.axes.Axes, default=None
        Axes to draw on, with 3-D projection for three dimensions. None makes a new figure.
    **scatter
        Further arguments of `Axes.scatter`, such as ``s`` or ``cmap``. Values for each sample are
        in the order of the samples.

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
    >>> import mdt_fast as mdt
    >>> from mdt_fast import plot
    >>> digits = mdt.datasets.load_multiview_digits(noise=0.3)
    >>> ops = mdt.build_operators(digits.views)
    >>> emb = mdt.embed(ops.trajectory([0, 1, 0, 1]), n_components=3)
    >>> ax = plot.embedding(emb, digits.target, legend="digit")
    >>> ax.get_xlabel(), len(ax.get_legend().get_texts())
    ('coordinate 1', 10)
    >>> plot.embedding(emb, dimensions=(0, 1, 2)).name
    '3d'
    """
    points, labels = _read(coordinates, labels)
    columns = _check_dimensions(dimensions, points.shape[1])
    ax = draw_points("plot.embedding", points[:, columns], labels, legend, title, ax, scatter)
    _name_axes(ax, columns)
    return ax


def draw_points(
    name: str, points: NDArray[Any], labels: Any, legend: bool | str | None, title: str | None, ax: Any,
    scatter: dict[str, Any],
) -> Any:  # fmt: skip
    """Draw points of one to three dimensions for the function `name`; the other arguments are those of `embedding`."""
    unusable = np.count_nonzero(~np.isfinite(points).all(axis=1))
    if unusable:
        raise ValueError(f"coordinates: expected finite values, got others in {unusable} of {len(points)} rows")
    if labels is not None:
        labels = _check_labels(labels, len(points))
        given = sorted({"c", "color"} & scatter.keys())
        if given:
            raise ValueError(f"{given[0]}: expected none beside labels, got {scatter[given[0]]!r}")
    if legend is not None and not isinstance(legend, (bool, np.bool_, str)):
        raise TypeError(
            f"legend: expected True, False, a title or None, got {legend!r} of type {type(legend).__name__}"
        )
    n_columns = points.shape[1]
    ax = axes_for(name, ax, _SIZES[n_columns - 1], solid=n_columns == 3)

    order = np.random.default_rng(0).permutation(len(points))
    options = _point_style(len(points), scatter)
    options |= {name: np.asarray(options[name])[order] for name in _PER_SAMPLE if _is_long(options, name, len(points))}
    key = legend if isinstance(legend, str) else None
    show = labels is not None and legend is not False
    at = points[order]
    if n_columns == 1:
        at = np.column_stack([at, np.random.default_rng(1).uniform(-0.5, 0.5, len(at))])
    if labels is None:
        if not {"c", "color"} & options.keys():
            options["color"] = PALETTE[0]
        ax.scatter(*at.T, **options)
    elif labels.dtype.kind == "f":
        _draw_values(ax, at, labels[order], options, show, key)
    else:
        _draw_classes(ax, at, labels, order, options, show, key)
    if title is not None:
        ax.set_title(title)
    return ax


def _read(coordinates: Any, labels: Any) -> tuple[NDArray[Any], Any]:
    """Return the array of coordinates and its labels."""
    source = coordinates
    if hasattr(source, "embedding_"):
        labels = getattr(source, "labels_", None) if labels is None else labels
        source = source.embedding_
    if isinstance(source, Embedding):
        source = source.coordinates
    expected = "an array (samples, coordinates) of numbers, an Embedding or a fitted estimator with embedding_"
    points = read_array(source, "coordinates")
    if points.dtype.kind not in "biuf":
        raise TypeError(f"coordinates: expected {expected}, got {type(coordinates).__name__}")
    if points.ndim == 1:
        points = points[:, np.newaxis]
    if points.ndim != 2 or 0 in points.shape:
        raise ValueError(f"coordinates: expected {expected}, got the shape {points.shape}")
    return points, labels


def _check_dimensions(dimensions: Sequence[int], n_columns: int) -> list[int]:
    if isinstance(dimensions, str) or read_array(dimensions, "dimensions").shape not in ((1,), (2,), (3,)):
        raise ValueError(f"dimensions: expected one, two or three columns, got {dimensions!r}")
    if n_columns == 1 and tuple(dimensions) == (0, 1):
        return [0]
    return [check_integer("dimensions", column, minimum=0, maximum=n_columns - 1) for column in dimensions]


def _check_labels(labels: Any, n_samples: int) -> NDArray[Any]:
    values = read_array(labels, "labels")
    if values.shape != (n_samples,):
        raise ValueError(f"labels: expected {n_samples} values, one for each sample, got the shape {values.shape}")
    if values.dtype.kind not in "biufOUT":
        raise TypeError(f"labels: expected integers, strings, bools or floats, got {values.dtype}")
    return values


def _point_style(n_samples: int, scatter: dict[str, Any]) -> dict[str, Any]:
    """Return the given options of scatter, and defaults for this number of samples."""
    diameter = min(max(_DIAMETER * n_samples**-_SHRINKAGE, _DIAMETERS[0]), _DIAMETERS[1])
    many = n_samples > _MANY
    options = {"s": diameter**2, "alpha": 0.7 if many else 0.9, "rasterized": many}
    # Markers such as "x" consist of lines only.
    if not {"marker", "linewidth", "linewidths", "lw"} & scatter.keys():
        options["linewidths"] = 0
    return options | scatter


def _is_long(options: dict[str, Any], name: str, n_samples: int) -> bool:
    return name in options and np.ndim(options[name]) > 0 and len(options[name]) == n_samples


def _draw_values(
    ax: Any, at: NDArray[Any], values: NDArray[Any], options: dict[str, Any], show: bool, key: str | None
) -> None:
    from matplotlib import colormaps

    cmap = colormaps.get_cmap(options.pop("cmap", CONTINUOUS)).with_extremes(bad=MISSING_COLOR)
    values = np.where(np.isfinite(values), values, np.nan)
    points = ax.scatter(*at.T, c=values, cmap=cmap, plotnonfinite=True, **options)
    if show and np.isfinite(values).any():
        draw_color_bar(ax, points.norm, cmap, key)


def _draw_classes(
    ax: Any,
    at: NDArray[Any],
    labels: NDArray[Any],
    order: NDArray[np.int64],
    options: dict[str, Any],
    show: bool,
    key: str | None,
) -> None:
    from matplotlib import colormaps
    from matplotlib.lines import Line2D
    from matplotlib.markers import MarkerStyle

    names, codes = classes_of(labels)
    # In 3-D, matplotlib sorts markers by depth without their shapes.
    shapes = _SHAPES if at.shape[1] == 2 and "marker" not in options else (options.get("marker", _SHAPES[0]),)
    limit = len(PALETTE) * len(shapes)
    colors = class_colors(len(names), limit)
    if "cmap" in options:
        colors = colormaps.get_cmap(options.pop("cmap"))(np.linspace(0.0, 1.0, len(names)))
    points = ax.scatter(*at.T, c=colors[codes[order]], **options)
    listed = len(names) <= limit
    shape_of = np.arange(len(names)) // len(PALETTE) if listed else np.zeros(len(names), dtype=int)
    if shape_of.any():
        styles = [MarkerStyle(shape) for shape in shapes]
        paths = [style.get_path().transformed(style.get_transform()) for style in styles]
        points.set_paths([paths[i] for i in shape_of[codes[order]]])
    if show and listed:
        handles = [
            Line2D([], [], linestyle="", marker=shapes[shape], color=color, markersize=6)
            for shape, color in zip(shape_of, colors, strict=True)
        ]
        draw_legend(ax, handles, names.tolist(), key)
    elif show:
        draw_class_bar(ax, names.tolist(), colors, key)


def classes_of(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return the sorted classes, and the number of the class of each sample."""
    try:
        names, codes = np.unique(labels, return_inverse=True)
    except TypeError:
        # Strings cannot be compared with None or nan.
        names, codes = np.unique(labels.astype(str), return_inverse=True)
    return names, codes


def _name_axes(ax: Any, columns: list[int]) -> None:
    names = [f"coordinate {column + 1}" for column in columns]
    ax.set_xlabel(names[0])
    if len(names) == 1:
        ax.set(yticks=[], ylim=(-0.75, 0.75))
        ax.spines["left"].set_visible(False)
        return
    ax.set_ylabel(names[1])
    if len(names) == 3:
        ax.set_zlabel(names[2])
        ax.locator_params(nbins=4)
        for axis in (ax.xaxis, ax.yaxis, ax.zaxis):
            axis.labelpad = 9
        # The default zoom cuts off the label of the third axis.
        ax.set_box_aspect(None, zoom=0.85)
