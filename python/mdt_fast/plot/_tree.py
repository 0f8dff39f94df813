"""Plot of the sequences of a search as a circular tree."""

import textwrap
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._search.evaluation import sequence_text
from .._search.result import SearchResult
from .._support.arguments import check_flag, check_number
from ._canvas import axes_for, check_cmap, size_in_points
from ._key import CONTINUOUS, draw_color_bar

# Qualities whose scores are negated, so that higher is better.
_NEGATED = ("davies_bouldin", "contrastive")

_RING_COLOR = "0.88"
_EDGE_COLOR = "0.7"
_UNSCORED_COLOR = "0.62"
# Number of points on the curve of an edge.
_CURVE = 20
# Smallest diameter of a node in points at which colours are distinct, and the largest one.
_NODE_DIAMETERS = (3.0, 12.0)
# Maximum number of steps in the title, in lines of about sixty characters.
_TITLE_STEPS = 90


def tree(
    result: SearchResult,
    *,
    ax: Any = None,
    cmap: Any = CONTINUOUS,
    colorbar: bool = True,
    node_size: float | None = None,
    path_color: Any = "crimson",
) -> Any:
    """Draw the sequences that a search evaluated as a circular tree.

    The empty sequence is at the centre. Each sequence is on the circle of its length, beside those
    with the same first steps. A sequence whose parent was not evaluated is joined to the centre.

    Parameters
    ----------
    result : SearchResult
        Result of a search over sequences.
    ax : matplotlib.axes.Axes, default=None
        Axes to draw on. None makes a new figure.
    cmap : str or matplotlib.colors.Colormap, default="viridis"
        Colour map of the scores. Sequences without a finite score are grey.
    colorbar : bool, default=True
        Whether to add a colour bar.
    node_size : float, default=None
        Diameter of the nodes in points. None chooses it so that most nodes do not touch.
    path_color : matplotlib colour, default="crimson"
        Colour of the path to the answer and of the star at its end.

    Returns
    -------
    matplotlib.axes.Axes
        The axes. Their artists have the group ids (``artist.get_gid()``) "nodes", "edges", "path"
        and "answer". Nodes are in the order of `history`.

    Raises
    ------
    TypeError
        If `result` is not a SearchResult.
    ValueError
        If its candidates are weights.
    ImportError
        If matplotlib is not installed.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> from mdt_fast import plot
    >>> ops = mdt.build_operators(mdt.datasets.make_helix_b(200).views)
    >>> result = mdt.search(ops, n_clusters=3, t=3)
    >>> ax = plot.tree(result)
    >>> (nodes,) = [artist for artist in ax.collections if artist.get_gid() == "nodes"]
    >>> len(nodes.get_offsets()) == result.n_evaluations
    True
    """
    if not isinstance(result, SearchResult):
        raise TypeError(f"result: expected a SearchResult, got {type(result).__name__}")
    sequences = [c for c in result.candidates if isinstance(c, tuple)]
    if len(sequences) < len(result.candidates):
        raise ValueError(
            f"result: expected sequences, which a tree needs, got weights (strategy {result.strategy!r}); "
            "its candidates have the weights, which plot.weights draws"
        )
    check_flag("colorbar", colorbar)
    if node_size is not None:
        check_number("node_size", node_size)
    ax = axes_for("plot.tree", ax, (7.0, 6.2))
    from matplotlib.collections import LineCollection
    from matplotlib.colors import Normalize, is_color_like

    try:
        is_color = is_color_like(path_color)
    except TypeError:  # of matplotlib before 3.9, for objects without a length
        is_color = False
    if not is_color:
        raise ValueError(f"path_color: expected a colour of matplotlib, got {path_color!r}")

    history, best = result.history, result.best
    parents, depths = history["parent"], history["depth"]
    angles = _tree_angles(sequences, parents, depths)
    at = _to_plane(depths, angles)
    n_rings = int(depths.max())
    limit = n_rings + max(0.35, 0.04 * n_rings)
    ax.set(xlim=(-limit, limit), ylim=(-limit, limit))
    ax.set_aspect("equal")
    ax.axis("off")

    scores = history["score"]
    finite = scores[np.isfinite(scores)]
    norm = Normalize(*((finite.min(), finite.max()) if len(finite) else (0.0, 1.0)))
    colors = check_cmap(cmap).with_extremes(bad=_UNSCORED_COLOR)
    if colorbar and len(finite):
        minus = "minus " if result.quality in _NEGATED else ""
        label = "score" if result.quality is None else minus + result.quality
        draw_color_bar(ax, norm, colors, label, shrink=0.75)
    # Measured after the colour bar has reduced the axes.
    points_per_ring = min(size_in_points(ax)) / (2 * limit)
    diameter = _node_diameter(at, points_per_ring) if node_size is None else node_size
    thin = min(max(0.14 * diameter, 0.35), 1.1)

    _draw_rings(ax, n_rings, at)
    curves = _edge_curves(parents, depths, angles)
    # Hundreds of edges would cover the centre, so that they are made translucent.
    alpha = min(1.0, max(0.25, 150 / np.count_nonzero(parents < 0)))
    edges = LineCollection(list(curves), colors=_EDGE_COLOR, linewidths=thin, alpha=alpha, zorder=1, gid="edges")
    ax.add_collection(edges, autolim=False)
    path = _ancestry(best, parents)
    ax.add_collection(
        LineCollection(
            list(curves[path]), colors=[path_color], linewidths=max(3 * thin, 1.6), capstyle="round", zorder=2,
            gid="path",
        ),
        autolim=False,
    )  # fmt: skip
    ax.scatter([0], [0], s=(1.1 * diameter) ** 2, c="white", edgecolors="0.35", linewidths=1.0, zorder=3)
    ax.scatter(
        at[:, 0], at[:, 1], s=diameter**2, c=np.where(np.isfinite(scores), scores, np.nan), cmap=colors, norm=norm,
        plotnonfinite=True, linewidths=0, zorder=4, gid="nodes",
    )  # fmt: skip
    ax.scatter(
        at[[best], 0], at[[best], 1], s=max(2.1 * diameter, 11.0) ** 2, marker="*", c=[path_color],
        edgecolors="white", linewidths=0.8, zorder=5, gid="answer", clip_on=False,
    )  # fmt: skip
    title = f"{result.strategy}: score {result.score:.4g} at depth {len(sequences[best])}"
    ax.set_title(f"{title}\n{_shortened(sequences[best])}", fontsize="medium")
    return ax


def _shortened(sequence: tuple[int, ...]) -> str:
    text = sequence_text(sequence[:_TITLE_STEPS]) + ("..." if len(sequence) > _TITLE_STEPS else "")
    return "\n".join(textwrap.wrap(text, 60, break_on_hyphens=True))


def _tree_angles(
    sequences: Sequence[tuple[int, ...]], parents: NDArray[np.int64], depths: NDArray[np.int32]
) -> NDArray[np.float64]:
    """Return the angle of each node, clockwise from the top and not modulo a turn.

    Edges need the angle without modulo, to turn in the right direction. The layout is the tidy tree
    of Reingold and Tilford (1981, doi:10.1109/TSE.1981.234519) on a circle: subtrees are as close
    as the smallest distance of nodes on a ring allows, a parent is at the middle of its children,
    and the fullest ring takes a whole turn. A sector for each subtree, proportional to its leaves,
    would be worse: a beam has leaves on every ring, and those on the inner rings would overlap.
    """
    root = -1
    children: dict[int, list[int]] = {}
    for node in sorted(range(len(sequences)), key=lambda i: (sequences[i], i)):
        children.setdefault(int(parents[node]), []).append(node)
    # A compromise between equal angles, which crowd the inner rings, and equal arc lengths, which
    # leave the outer rings empty.
    apart = np.arange(1.0, int(depths.max()) + 1) ** -0.5
    offsets = np.zeros(len(sequences))
    sizes = np.ones(len(sequences))
    # Smallest and largest position, relative to its top, of a subtree on each ring outside that of
    # its parent.
    outlines: dict[int, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
    for node in [*(int(i) for i in np.argsort(-depths, kind="stable")), root]:
        below = children.get(node, [])
        left = right = np.zeros(0)
        if below:
            lefts, rights = zip(*(outlines.pop(child) for child in below), strict=True)
            packed = _pack(lefts, rights, apart[0 if node == root else depths[node] :])
            # The parent is closer to the larger subtrees, so that long branches are straight.
            packed -= np.average(packed, weights=sizes[below])
            offsets[below] = packed
            right = _cover([edge + x for edge, x in zip(rights, packed, strict=True)])
            left = _cover([edge + x for edge, x in zip(lefts[::-1], packed[::-1], strict=True)])
        if node != root:
            sizes[node] += sizes[below].sum()
            # An edge that crosses several rings reserves its position on each of them.
            above = depths[parents[node]] if parents[node] >= 0 else 0
            crossed = np.zeros(depths[node] - above)
            left, right = np.concatenate([crossed, left]), np.concatenate([crossed, right])
        outlines[node] = (left, right)
    left, right = outlines[root]
    unit = 2 * np.pi / float((right - left + apart).max())
    positions = np.zeros(len(sequences))
    for node in np.argsort(depths, kind="stable"):
        positions[node] = offsets[node] + (positions[parents[node]] if parents[node] >= 0 else 0.0)
    angles: NDArray[np.float64] = unit * positions
    return angles


def _pack(
    lefts: Sequence[NDArray[np.float64]], rights: Sequence[NDArray[np.float64]], apart: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return positions of adjacent subtrees, the first at 0, at distances `apart` on each ring."""
    # The mean of the leftmost and the rightmost packing also keeps the distances, and it spreads
    # small subtrees evenly between large ones.
    first = _pack_left(lefts, rights, apart)
    last = -_pack_left([-edge for edge in rights[::-1]], [-edge for edge in lefts[::-1]], apart)[::-1]
    middle: NDArray[np.float64] = (first + last - last[0]) / 2
    return middle


def _pack_left(
    lefts: Sequence[NDArray[np.float64]], rights: Sequence[NDArray[np.float64]], apart: NDArray[np.float64]
) -> NDArray[np.float64]:
    positions = np.zeros(len(lefts))
    edge = rights[0]
    for i in range(1, len(lefts)):
        shared = min(len(edge), len(lefts[i]))
        positions[i] = (edge[:shared] - lefts[i][:shared] + apart[:shared]).max()
        edge = _cover([edge, rights[i] + positions[i]])
    return positions


def _cover(edges: Sequence[NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return for each ring the value of the last edge that reaches it."""
    covered = edges[0]
    for edge in edges[1:]:
        covered = np.concatenate([edge, covered[len(edge) :]])
    return covered


def _to_plane(radii: NDArray[Any], angles: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.stack([radii * np.sin(angles), radii * np.cos(angles)], axis=-1)


def _edge_curves(
    parents: NDArray[np.int64], depths: NDArray[np.int32], angles: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return (nodes, _CURVE, 2) curves from parents, between two rings and without crossings."""
    inner = np.where(parents >= 0, depths[parents], 0)[:, np.newaxis]
    start = np.where(parents >= 0, angles[parents], angles)[:, np.newaxis]
    along = np.linspace(0.0, 1.0, _CURVE)
    turn = along**2 * (3 - 2 * along)
    radii = inner + (depths[:, np.newaxis] - inner) * along
    return _to_plane(radii, start + (angles[:, np.newaxis] - start) * turn)


def _ancestry(node: int, parents: NDArray[np.int64]) -> list[int]:
    path = []
    while node >= 0:
        path.append(node)
        node = int(parents[node])
    return path


def _node_diameter(at: NDArray[np.float64], points_per_ring: float) -> float:
    """Return the diameter in points at which most nodes do not touch."""
    from scipy.spatial import KDTree

    everything = np.vstack([at, np.zeros((1, 2))])
    apart = KDTree(everything).query(everything, k=2)[0][:, 1]
    diameter = 0.6 * float(np.quantile(apart, 0.25)) * points_per_ring
    return min(max(diameter, _NODE_DIAMETERS[0]), _NODE_DIAMETERS[1])


def _draw_rings(ax: Any, n_rings: int, at: NDArray[np.float64]) -> None:
    """Draw a thin circle for each depth, and write some depths far from nodes."""
    from matplotlib.patches import Circle
    from scipy.spatial import KDTree

    for depth in range(1, n_rings + 1):
        ax.add_patch(Circle((0, 0), depth, fill=False, color=_RING_COLOR, linewidth=0.4, zorder=0))
    step = next(step for step in (1, 2, 5, 10, 20, 50, n_rings) if n_rings <= 8 * step)
    labelled = range(step, n_rings + 1, step)
    directions = np.linspace(0, 2 * np.pi, 180, endpoint=False)
    places = _to_plane(np.array(labelled), directions[:, np.newaxis])
    free = KDTree(at).query(places)[0].min(axis=1)
    for depth, (x, y) in zip(labelled, places[int(free.argmax())], strict=True):
        ax.text(
            x, y, str(depth), color="0.55", fontsize=6.5, ha="center", va="center", zorder=1.5,
            bbox={"boxstyle": "round,pad=0.15", "facecolor": "white", "edgecolor": "none"},
        )  # fmt: skip
