"""What a search found: its answer, everything that it evaluated, their tree as a picture, and JSON there and back."""

from __future__ import annotations

import copy
import json
import math
import os
import reprlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .._clusters.agreement import Agreement
from .._operators.operator_set import OperatorSet
from .._operators.trajectory import Trajectory, check_steps
from .._support.files import replace_file
from .._support.plotting import draw

HISTORY_DTYPE = np.dtype([("parent", "<i8"), ("depth", "<i4"), ("score", "<f8"), ("seconds", "<f8")])

Steps: TypeAlias = tuple[int, ...] | NDArray[np.float64]

_FORMAT = "mdt_fast.SearchResult"
_VERSION = 1
_KEYS = (
    "n_samples", "members", "trajectory", "score", "labels", "history", "candidates", "best", "strategy", "quality",
    "t", "stopped", "converged", "settings",
)  # fmt: skip
_REASONS = (None, "time_limit", "max_evaluations")


@dataclass(frozen=True, eq=False)
class SearchResult:
    """The trajectory that a search found, and all that it looked at.

    Attributes
    ----------
    trajectory : Trajectory or None
        The answer; None for a consensus, which has :attr:`members` instead.
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
        Row of the answer; of the best member of a consensus.
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
    agreement : Agreement or None
        Of a consensus: `trajectories`, their `rows` in the history, and for each sample `labels`, `embedding` and
        `confidence`.
    """

    trajectory: Trajectory | None
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
    agreement: Agreement | None = None

    def __repr__(self) -> str:
        """Return the strategy, the answer and its score, and how many trajectories were evaluated."""
        answer = self.candidates[self.best]
        steps = word_text(answer) if isinstance(answer, tuple) else f"weights of {_count(len(answer), 'step')}"
        what = f"trajectory={steps}" if self.trajectory is not None else f"{len(self.members)} members"
        stopped = "" if self.stopped is None else f", stopped={self.stopped!r}"
        return (
            f"SearchResult(strategy={self.strategy!r}, score={self.score:.6g}, {what}, "
            f"{_count(self.n_evaluations, 'evaluation')}{stopped})"
        )

    @property
    def members(self) -> list[Trajectory]:
        """The trajectories that the answer is made of: one, or those of a consensus."""
        if self.agreement is not None:
            return self.agreement.trajectories
        assert self.trajectory is not None
        return [self.trajectory]

    @property
    def operators(self) -> OperatorSet:
        """The steps that were searched."""
        return self.members[0].operators

    @property
    def n_evaluations(self) -> int:
        """Number of trajectories that were evaluated."""
        return len(self.history)

    def consensus(self, n_members: int = 16, *, n_jobs: int | None = None) -> SearchResult:
        """Return what the best trajectories of the history agree on, in place of the one best.

        Parameters
        ----------
        n_members : int
            How many; all, if there are fewer.
        n_jobs : int or None
            Threads; None: as for the operators.

        Returns
        -------
        SearchResult
            With the same history, and :attr:`agreement`.

        Examples
        --------
        >>> import mdt_fast as mdt
        >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
        >>> mdt.search(mdt.build_operators(views), 3, t=3).consensus(8)
        SearchResult(strategy='consensus', score=5.01064, 8 members, 22 evaluations)
        """
        from .consensus import consensus_of

        return consensus_of(self, n_members, n_jobs)

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
        columns["trajectory"] = [word_text(c) if isinstance(c, tuple) else "weights" for c in self.candidates]
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
        look = {"cmap": cmap, "colorbar": colorbar, "node_size": node_size, "path_color": path_color}
        return draw("tree", self, needed_by="plot_tree", ax=ax, **look)

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain JSON values; nan becomes None, an infinity "inf" or "-inf"."""
        answer = self.candidates[self.best]
        steps: Any = None
        if self.trajectory is not None:
            # Beside the candidate: rows of its weights may have been rescaled in their last digits.
            steps = list(map(int, answer)) if isinstance(answer, tuple) else self.trajectory.weights.tolist()
        return {
            "format": _FORMAT,
            "version": _VERSION,
            "n_samples": int(self.operators.n_samples),
            "members": list(self.operators.names),
            "strategy": self.strategy,
            "quality": self.quality,
            "score": _from_float(self.score),
            "t": None if self.t is None else int(self.t),
            "stopped": self.stopped,
            "converged": None if self.converged is None else bool(self.converged),
            "settings": copy.deepcopy(self.settings),
            "best": int(self.best),
            "trajectory": steps,
            "agreement": None if self.agreement is None else _from_agreement(self.agreement),
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
        labels = _to_labels(d["labels"], ops.n_samples)
        agreement = _to_agreement(d.get("agreement"), labels, candidates, ops)
        is_one = agreement is None
        if is_one and not np.array_equal(score, history["score"][best], equal_nan=True):
            raise ValueError(f"score: expected that of row {best}, {history['score'][best]}, got {score}")
        return cls(
            trajectory=_to_trajectory(d["trajectory"], candidates[best], ops) if is_one else None,
            score=score,
            labels=labels,
            history=history,
            candidates=candidates,
            best=best,
            strategy=_to_kind("strategy", d["strategy"], (str,), "a string"),
            quality=_to_kind("quality", d["quality"], (str, type(None)), "a string or None"),
            t=None if d["t"] is None else _to_integer("t", d["t"], 1),
            stopped=_to_reason(d["stopped"]),
            converged=_to_kind("converged", d["converged"], (bool, type(None)), "True, False or None"),
            settings=copy.deepcopy(_to_kind("settings", d["settings"], (dict,), "a dict")),
            agreement=agreement,
        )

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the result to a JSON file; an existing one is replaced at once or, if that fails, left as it was."""
        # Turned into text first: what JSON cannot hold must not cost the file that is there.
        text = json.dumps(self.to_dict(), allow_nan=False)
        replace_file(Path(path), text)

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


def word_text(word: tuple[int, ...]) -> str:
    """Return a word as letters in a row."""
    return "-".join(map(str, word))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


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


def _from_agreement(agreement: Agreement) -> dict[str, Any]:
    return {
        "rows": agreement.rows.tolist(),
        "embedding": agreement.embedding.tolist(),
        "confidence": agreement.confidence.tolist(),
    }


def _to_agreement(
    value: Any, labels: NDArray[np.int32] | None, candidates: Sequence[Steps], ops: OperatorSet
) -> Agreement | None:
    if value is None:
        return None
    parts: dict[str, Any] = _to_kind("agreement", value, (dict,), "a dict")
    missing = [key for key in ("rows", "embedding", "confidence") if key not in parts]
    if missing:
        raise ValueError(f"agreement: expected rows, embedding and confidence, got no {', '.join(missing)}")
    if labels is None:
        raise ValueError("labels: expected those of the consensus, got None")
    last = len(candidates) - 1
    rows = [_to_integer("agreement['rows']", row, 0, last) for row in _to_list("agreement['rows']", parts["rows"])]
    if not rows:
        raise ValueError("agreement['rows']: expected at least one member, got none")
    trajectories = [ops.trajectory(candidates[row]) for row in rows]
    embedding = _to_numbers("agreement['embedding']", parts["embedding"], ops.n_samples, 2)
    sureness = _to_numbers("agreement['confidence']", parts["confidence"], ops.n_samples, 1)
    return Agreement(labels, embedding, sureness, trajectories, np.array(rows, dtype=np.intp))


def _to_numbers(name: str, value: Any, n_rows: int, n_dimensions: int) -> NDArray[np.float64]:
    try:
        numbers = np.array(_to_list(name, value, n_rows), dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.empty(0)
    if numbers.ndim != n_dimensions or len(numbers) != n_rows or not np.isfinite(numbers).all():
        raise ValueError(f"{name}: expected finite numbers for each of {n_rows} samples, got {reprlib.repr(value)}")
    return numbers


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
