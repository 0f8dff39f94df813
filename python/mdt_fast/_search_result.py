"""What a search found: its answer, everything that it evaluated, their tree as a picture, and JSON there and back."""

from __future__ import annotations

import copy
import json
import math
import os
import reprlib
import secrets
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ._operators import OperatorSet
from ._trajectory import Trajectory, check_steps

HISTORY_DTYPE = np.dtype([("parent", "<i8"), ("depth", "<i4"), ("score", "<f8"), ("seconds", "<f8")])

Steps: TypeAlias = tuple[int, ...] | NDArray[np.float64]

_FORMAT = "mdt_fast.SearchResult"
_VERSION = 1
_KEYS = (
    "n_samples", "members", "trajectory", "score", "labels", "history", "candidates", "best", "strategy", "quality",
    "t", "stopped", "converged", "settings",
)  # fmt: skip
_REASONS = (None, "time_limit", "max_evaluations")
# Scores that are turned round so that higher is better.
_NEGATED = ("davies_bouldin", "contrastive")

_RING_COLOR = "0.88"
_EDGE_COLOR = "0.7"
_UNSCORED_COLOR = "0.62"
# Points on the curve of an edge.
_CURVE = 20
# Diameters of nodes in points: below, colours cannot be told apart; above, ten nodes look clumsy.
_NODE_DIAMETERS = (3.0, 12.0)
# Letters of a word that a title has room for, in lines of about sixty characters.
_TITLE_LETTERS = 90


@dataclass(frozen=True, eq=False)
class SearchResult:
    """The trajectory that a search found, and all that it looked at.

    Attributes
    ----------
    trajectory : Trajectory
        The answer.
    score : float
        Its score, higher is better; nan if nothing was scored.
    labels : (N,) array of int32 or None
        Its clusters.
    history : structured array
        A row for each evaluated node, in the order of the strategy: `parent` (its row, -1: none), `depth`, `score` and
        `seconds`.
    candidates : list
        The trajectory of each row: a tuple of ints for a word, a (t, members) array for weights.
    best : int
        Row of the answer.
    strategy : str
        How it was searched.
    quality : str or None
        What was scored.
    t : int or None
        The diffusion time.
    stopped : {None, "time_limit", "max_evaluations"}
        What ended the search early.
    converged : bool or None
        Whether an optimisation settled.
    settings : dict
        The arguments, as plain JSON values.
    """

    trajectory: Trajectory
    score: float
    labels: NDArray[np.int32] | None
    history: NDArray[Any]
    candidates: list[Steps]
    best: int
    strategy: str
    quality: str | None
    t: int | None
    stopped: str | None
    converged: bool | None
    settings: dict[str, Any]

    def __repr__(self) -> str:
        """Return the strategy, the answer and its score, and how many trajectories were evaluated."""
        answer = self.candidates[self.best]
        steps = _word_text(answer) if isinstance(answer, tuple) else f"weights of {_count(len(answer), 'step')}"
        stopped = "" if self.stopped is None else f", stopped={self.stopped!r}"
        return (
            f"SearchResult(strategy={self.strategy!r}, score={self.score:.6g}, trajectory={steps}, "
            f"{_count(self.n_evaluations, 'evaluation')}{stopped})"
        )

    @property
    def n_evaluations(self) -> int:
        """Number of trajectories that were evaluated."""
        return len(self.history)

    def to_frame(self) -> Any:
        """Return the history as a pandas DataFrame.

        Returns
        -------
        pandas.DataFrame
            With columns node, parent, depth, score, seconds and trajectory: "0-1-1" for a word, "weights" for others.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_frame needs pandas: pip install pandas") from error
        columns: dict[str, Any] = {"node": np.arange(self.n_evaluations)}
        columns.update((str(name), self.history[name]) for name in HISTORY_DTYPE.names or ())
        columns["trajectory"] = [_word_text(c) if isinstance(c, tuple) else "weights" for c in self.candidates]
        return pd.DataFrame(columns)

    def plot_tree(
        self,
        ax: Any = None,
        cmap: Any = "viridis",
        *,
        colorbar: bool = True,
        node_size: float | None = None,
        path_color: Any = "crimson",
    ) -> Any:
        """Draw the evaluated words as a circular tree; needs matplotlib (``pip install mdt_fast[plot]``).

        The empty word is in the middle, each word on the circle of its length, next to those with the same beginning.
        A word whose parent was not evaluated is joined to the middle.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.
        cmap : str or matplotlib.colors.Colormap
            Colours of the scores; words without a finite one are grey.
        colorbar : bool
            Whether to add a colour bar.
        node_size : float, optional
            Diameter of the nodes in points; by default as large as there is room for.
        path_color : matplotlib colour
            Colour of the path to the answer and of the star at its end.

        Returns
        -------
        matplotlib.axes.Axes
            Nodes, edges, path and answer can be found in it by these words (``artist.get_gid()``); the nodes are in
            the order of `history`.
        """
        words = [c for c in self.candidates if isinstance(c, tuple)]
        if len(words) < len(self.candidates):
            raise ValueError(
                f"plot_tree: expected words, which a tree needs, got weights (strategy {self.strategy!r}); "
                "look at trajectory.weights instead"
            )
        try:
            from matplotlib import colormaps
            from matplotlib.cm import ScalarMappable
            from matplotlib.collections import LineCollection
            from matplotlib.colors import Normalize
        except ImportError as error:
            raise ImportError("plot_tree needs matplotlib: pip install mdt_fast[plot]") from error
        if ax is None:
            import matplotlib.pyplot as plt

            ax = plt.subplots(figsize=(7.0, 6.2), layout="constrained")[1]
        parents, depths = self.history["parent"], self.history["depth"]
        angles = _tree_angles(words, parents, depths)
        at = _to_plane(depths, angles)
        n_rings = int(depths.max())
        limit = n_rings + max(0.35, 0.04 * n_rings)
        ax.set(xlim=(-limit, limit), ylim=(-limit, limit))
        ax.set_aspect("equal")
        ax.axis("off")

        scores = self.history["score"]
        finite = scores[np.isfinite(scores)]
        norm = Normalize(*((finite.min(), finite.max()) if len(finite) else (0.0, 1.0)))
        colors = colormaps.get_cmap(cmap).with_extremes(bad=_UNSCORED_COLOR)
        if colorbar and len(finite):
            minus = "minus " if self.quality in _NEGATED else ""
            label = "score" if self.quality is None else minus + self.quality
            scale = ScalarMappable(norm, colors)
            bar = ax.figure.colorbar(scale, ax=ax, label=label, shrink=0.75, aspect=28, pad=0.03)
            bar.outline.set_visible(False)
        # Measured after the colour bar has taken its part of the axes.
        box = ax.get_window_extent()
        points_per_ring = min(box.width, box.height) * 72 / ax.figure.dpi / (2 * limit)
        diameter = _node_diameter(at, points_per_ring) if node_size is None else node_size
        thin = min(max(0.14 * diameter, 0.35), 1.1)

        _draw_rings(ax, n_rings, at)
        curves = _edge_curves(parents, depths, angles)
        # Hundreds of spokes would cover the middle: they fade instead.
        alpha = min(1.0, max(0.25, 150 / np.count_nonzero(parents < 0)))
        edges = LineCollection(list(curves), colors=_EDGE_COLOR, linewidths=thin, alpha=alpha, zorder=1, gid="edges")
        ax.add_collection(edges, autolim=False)
        path = _ancestry(self.best, parents)
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
            at[[self.best], 0], at[[self.best], 1], s=max(2.1 * diameter, 11.0) ** 2, marker="*", c=[path_color],
            edgecolors="white", linewidths=0.8, zorder=5, gid="answer", clip_on=False,
        )  # fmt: skip
        ax.set_title(_title(self.strategy, self.score, words[self.best]), fontsize="medium")
        return ax

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain JSON values; nan becomes None, an infinity "inf" or "-inf"."""
        answer = self.candidates[self.best]
        return {
            "format": _FORMAT,
            "version": _VERSION,
            "n_samples": int(self.trajectory.operators.n_samples),
            "members": list(self.trajectory.operators.names),
            "strategy": self.strategy,
            "quality": self.quality,
            "score": _from_float(self.score),
            "t": None if self.t is None else int(self.t),
            "stopped": self.stopped,
            "converged": None if self.converged is None else bool(self.converged),
            "settings": copy.deepcopy(self.settings),
            "best": int(self.best),
            # Beside the candidate: rows of its weights may have been rescaled in their last digits.
            "trajectory": list(map(int, answer)) if isinstance(answer, tuple) else self.trajectory.weights.tolist(),
            "labels": None if self.labels is None else self.labels.tolist(),
            "history": {
                "parent": self.history["parent"].tolist(),
                "depth": self.history["depth"].tolist(),
                "score": list(map(_from_float, self.history["score"])),
                "seconds": list(map(_from_float, self.history["seconds"])),
            },
            "candidates": [list(map(int, c)) if isinstance(c, tuple) else c.tolist() for c in self.candidates],
        }

    @classmethod
    def from_dict(cls, d: dict[str, Any], ops: OperatorSet) -> SearchResult:
        """Return the result that :meth:`to_dict` made `d` from.

        Parameters
        ----------
        d : dict
            As made by :meth:`to_dict`; ValueError if it is not.
        ops : OperatorSet
            The set that was searched, or one with the same members and number of samples; ValueError for others.
        """
        if not isinstance(ops, OperatorSet):
            raise TypeError(f"ops: expected an OperatorSet, got {type(ops).__name__}")
        _check_format(d)
        _check_operators(d, ops)
        candidates = [
            _to_steps(f"candidates[{i}]", steps, ops) for i, steps in enumerate(_to_list("candidates", d["candidates"]))
        ]
        if not candidates:
            raise ValueError("candidates: expected at least one, got none")
        history = _to_history(d["history"], candidates)
        best = _to_integer("best", d["best"], 0, len(candidates) - 1)
        score = _to_float("score", d["score"])
        if not np.array_equal(score, history["score"][best], equal_nan=True):
            raise ValueError(f"score: expected that of row {best}, {history['score'][best]}, got {score}")
        return cls(
            trajectory=_to_trajectory(d["trajectory"], candidates[best], ops),
            score=score,
            labels=_to_labels(d["labels"], ops.n_samples),
            history=history,
            candidates=candidates,
            best=best,
            strategy=_to_kind("strategy", d["strategy"], (str,), "a string"),
            quality=_to_kind("quality", d["quality"], (str, type(None)), "a string or None"),
            t=None if d["t"] is None else _to_integer("t", d["t"], 1),
            stopped=_to_reason(d["stopped"]),
            converged=_to_kind("converged", d["converged"], (bool, type(None)), "True, False or None"),
            settings=copy.deepcopy(_to_kind("settings", d["settings"], (dict,), "a dict")),
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the result to a JSON file; an existing one is replaced at once or, if that fails, left as it was."""
        # Turned into text first: what JSON cannot hold must not cost the file that is there.
        text = json.dumps(self.to_dict(), allow_nan=False)
        target = Path(path)
        # Beside the target, since files are only moved at once within one file system.
        temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
        try:
            with temporary.open("x", encoding="utf-8") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(target)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise

    @classmethod
    def load(cls, path: str | os.PathLike[str], ops: OperatorSet) -> SearchResult:
        """Read a result that :meth:`save` wrote.

        Parameters
        ----------
        path : path
            The file; ValueError if it holds something else.
        ops : OperatorSet
            As for :meth:`from_dict`.
        """
        try:
            d = json.loads(Path(path).read_bytes())
        except (ValueError, RecursionError) as error:
            raise ValueError(f"{os.fspath(path)}: expected a saved SearchResult, got no JSON ({error})") from None
        try:
            return cls.from_dict(d, ops)
        except ValueError as error:
            raise ValueError(f"{os.fspath(path)}: {error}") from None


def _word_text(word: tuple[int, ...]) -> str:
    return "-".join(map(str, word))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _title(strategy: str, score: float, word: tuple[int, ...]) -> str:
    text = _word_text(word[:_TITLE_LETTERS]) + ("..." if len(word) > _TITLE_LETTERS else "")
    lines = textwrap.wrap(text, 60, break_on_hyphens=True)
    return "\n".join([f"{strategy}: score {score:.4g} at depth {len(word)}", *lines])


def _tree_angles(
    words: Sequence[tuple[int, ...]], parents: NDArray[np.int64], depths: NDArray[np.int32]
) -> NDArray[np.float64]:
    """Angle of each node, clockwise from the top; not reduced to one turn, so that edges know which way to go.

    Subtrees stand as near to each other as the least distance between nodes of a ring allows, a parent before the
    middle of what is below it (the tidy tree of Reingold and Tilford, on a circle); the fullest ring takes a whole
    turn. So room is given where there are nodes. Were each subtree given a sector by its leaves instead, those that a
    beam leaves behind on every ring would divide the turn between them, and cover each other on the inner rings.
    """
    root = -1
    children: dict[int, list[int]] = {}
    for node in sorted(range(len(words)), key=lambda i: (words[i], i)):
        children.setdefault(int(parents[node]), []).append(node)
    # Between equal angles, which crowd the inner rings, and equal lengths, which leave the outer ones empty.
    apart = np.arange(1.0, int(depths.max()) + 1) ** -0.5
    offsets = np.zeros(len(words))
    sizes = np.ones(len(words))
    # The least and the largest position of a subtree on each ring outside its parent's, seen from its top.
    outlines: dict[int, tuple[NDArray[np.float64], NDArray[np.float64]]] = {}
    for node in [*(int(i) for i in np.argsort(-depths, kind="stable")), root]:
        below = children.get(node, [])
        left = right = np.zeros(0)
        if below:
            lefts, rights = zip(*(outlines.pop(child) for child in below), strict=True)
            packed = _pack(lefts, rights, apart[0 if node == root else depths[node] :])
            # Nearer to the larger subtrees, so that long branches are straight.
            packed -= np.average(packed, weights=sizes[below])
            offsets[below] = packed
            right = _cover([edge + x for edge, x in zip(rights, packed, strict=True)])
            left = _cover([edge + x for edge, x in zip(lefts[::-1], packed[::-1], strict=True)])
        if node != root:
            sizes[node] += sizes[below].sum()
            # An edge from further in than the ring before keeps its way free.
            above = depths[parents[node]] if parents[node] >= 0 else 0
            way = np.zeros(depths[node] - above)
            left, right = np.concatenate([way, left]), np.concatenate([way, right])
        outlines[node] = (left, right)
    left, right = outlines[root]
    unit = 2 * np.pi / float((right - left + apart).max())
    positions = np.zeros(len(words))
    for node in np.argsort(depths, kind="stable"):
        positions[node] = offsets[node] + (positions[parents[node]] if parents[node] >= 0 else 0.0)
    angles: NDArray[np.float64] = unit * positions
    return angles


def _pack(
    lefts: Sequence[NDArray[np.float64]], rights: Sequence[NDArray[np.float64]], apart: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Positions of subtrees side by side, the first at 0, with nodes on each ring `apart`."""
    # Each as far left as it can be, and each as far right: the mean also keeps the distances, and spreads small
    # subtrees between large ones evenly.
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
    """Return the last of the edges that has each ring."""
    covered = edges[0]
    for edge in edges[1:]:
        covered = np.concatenate([edge, covered[len(edge) :]])
    return covered


def _to_plane(radii: NDArray[Any], angles: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.stack([radii * np.sin(angles), radii * np.cos(angles)], axis=-1)


def _edge_curves(
    parents: NDArray[np.int64], depths: NDArray[np.int32], angles: NDArray[np.float64]
) -> NDArray[np.float64]:
    """(nodes, _CURVE, 2) curves from parents, which stay between the two rings and do not cross."""
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
    """Diameter in points at which most nodes do not touch."""
    from scipy.spatial import KDTree

    everything = np.vstack([at, np.zeros((1, 2))])
    apart = KDTree(everything).query(everything, k=2)[0][:, 1]
    room = 0.6 * float(np.quantile(apart, 0.25)) * points_per_ring
    return min(max(room, _NODE_DIAMETERS[0]), _NODE_DIAMETERS[1])


def _draw_rings(ax: Any, n_rings: int, at: NDArray[np.float64]) -> None:
    """Draw a thin circle for each depth and write some depths where no nodes are near."""
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


def _from_float(value: Any) -> float | str | None:
    number = float(value)
    if math.isnan(number):
        return None
    return number if math.isfinite(number) else str(number)


def _to_float(name: str, value: Any) -> float:
    if value is None:
        return math.nan
    if value in ("inf", "-inf") or (isinstance(value, (int, float)) and not isinstance(value, bool)):
        try:
            return float(value)
        except OverflowError:
            pass
    raise ValueError(f"{name}: expected a number, None for nan, 'inf' or '-inf', got {reprlib.repr(value)}")


def _to_kind(name: str, value: Any, kinds: tuple[type, ...], expected: str) -> Any:
    if not isinstance(value, kinds):
        raise ValueError(f"{name}: expected {expected}, got {reprlib.repr(value)}")
    return value


def _to_list(name: str, value: Any, length: int | None = None) -> list[Any]:
    values: list[Any] = _to_kind(name, value, (list, tuple), "a list")
    if length is not None and len(values) != length:
        raise ValueError(f"{name}: expected {length} values, got {len(values)}")
    return values


def _to_integer(name: str, value: Any, minimum: int, maximum: int = 2**31 - 1) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or not minimum <= value <= maximum:
        raise ValueError(f"{name}: expected an integer from {minimum} to {maximum}, got {reprlib.repr(value)}")
    return value


def _to_reason(value: Any) -> str | None:
    if value is not None and value not in _REASONS:
        raise ValueError(f"stopped: expected one of {', '.join(map(repr, _REASONS))}, got {reprlib.repr(value)}")
    return None if value is None else str(value)


def _check_format(d: Any) -> None:
    if not isinstance(d, dict):
        raise ValueError(f"result: expected a dict made by SearchResult.to_dict, got {type(d).__name__}")
    if d.get("format") != _FORMAT:
        raise ValueError(f"format: expected {_FORMAT!r}, got {reprlib.repr(d.get('format'))}")
    if d.get("version") != _VERSION:
        raise ValueError(f"version: expected {_VERSION}, got {reprlib.repr(d.get('version'))}")
    missing = [key for key in _KEYS if key not in d]
    if missing:
        raise ValueError(f"result: expected the keys {', '.join(_KEYS)}, got none for {', '.join(missing)}")


def _check_operators(d: dict[str, Any], ops: OperatorSet) -> None:
    members = list(_to_list("members", d["members"]))
    if members != ops.names:
        raise ValueError(f"ops: expected the members {members}, which were searched, got {ops.names}")
    n_samples = _to_integer("n_samples", d["n_samples"], 1, 2**63 - 1)
    if n_samples != ops.n_samples:
        raise ValueError(f"ops: expected {n_samples} samples, those that were searched, got {ops.n_samples}")


def _to_steps(name: str, value: Any, ops: OperatorSet) -> Steps:
    steps = _to_list(name, value)
    if not steps or not all(isinstance(row, (list, tuple)) for row in steps):
        word = tuple(_to_integer(f"{name}, member of a word", letter, 0, len(ops) - 1) for letter in steps)
        if not word:
            raise ValueError(f"{name}: expected at least one step, got none")
        return word
    try:
        check_steps(steps, ops)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}: {error}") from None
    # As they were written: what the check returns has been divided by the sums once more.
    return np.array(steps, dtype=np.float64)


def _to_trajectory(value: Any, answer: Steps, ops: OperatorSet) -> Trajectory:
    steps = _to_steps("trajectory", value, ops)
    if isinstance(steps, tuple) and isinstance(answer, tuple):
        same = steps == answer
    else:
        both = np.asarray(steps), np.asarray(answer)
        same = both[0].shape == both[1].shape and np.allclose(*both)
    if not same:
        raise ValueError(
            f"trajectory: expected the candidate in row best, {reprlib.repr(answer)}, got {reprlib.repr(steps)}"
        )
    return Trajectory(ops, np.eye(len(ops))[list(steps)] if isinstance(steps, tuple) else steps)


def _to_labels(value: Any, n_samples: int) -> NDArray[np.int32] | None:
    if value is None:
        return None
    labels = _to_list("labels", value, n_samples)
    return np.array([_to_integer(f"labels[{i}]", label, 0) for i, label in enumerate(labels)], dtype=np.int32)


def _to_history(value: Any, candidates: Sequence[Steps]) -> NDArray[Any]:
    rows: dict[str, Any] = _to_kind("history", value, (dict,), "a dict")
    n = len(candidates)
    for name in HISTORY_DTYPE.names or ():
        if name not in rows:
            raise ValueError(f"history: expected {', '.join(HISTORY_DTYPE.names or ())}, got no {name}")
        _to_list(f"history[{name!r}]", rows[name], n)
    history = np.empty(n, dtype=HISTORY_DTYPE)
    for i, steps in enumerate(candidates):
        depth = rows["depth"][i]
        if depth != len(steps):
            raise ValueError(
                f"history['depth'][{i}]: expected {len(steps)}, the steps of its candidate, got {reprlib.repr(depth)}"
            )
        parent = _to_integer(f"history['parent'][{i}]", rows["parent"][i], -1, n - 1)
        # A parent is a shorter word; this also rules out that nodes descend from themselves.
        if parent >= 0 and isinstance(steps, tuple) and len(candidates[parent]) >= len(steps):
            got = f"row {parent} of depth {len(candidates[parent])}"
            raise ValueError(f"history['parent'][{i}]: expected a row of depth below {len(steps)}, got {got}")
        score = _to_float(f"history['score'][{i}]", rows["score"][i])
        history[i] = (parent, len(steps), score, _to_float(f"history['seconds'][{i}]", rows["seconds"][i]))
    return history
