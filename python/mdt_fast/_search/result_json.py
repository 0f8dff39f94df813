"""Search results as JSON values, and their checks when they are read."""

from __future__ import annotations

import copy
import reprlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._clusters.agreement import Agreement
from .._operators.operator_set import OperatorSet
from .._operators.trajectory import Trajectory
from .evaluation import HISTORY_DTYPE, Candidate
from .json_values import from_float, to_float, to_integer, to_kind, to_list, to_numbers, to_steps

if TYPE_CHECKING:
    from .result import SearchResult

_FORMAT = "mdt_fast.SearchResult"
_VERSION = 2
_KEYS = (
    "n_samples", "members", "trajectory", "score", "labels", "history", "candidates", "best", "strategy", "quality",
    "t", "stopped", "converged", "settings",
)  # fmt: skip
# The largest confidence is a mean of shares, which rounding may raise above 1.
_SURE = 1 + 1e-9
_REASONS = (None, "time_limit", "max_evaluations")


def to_json(result: SearchResult) -> dict[str, Any]:
    """Return a result as JSON values."""
    answer = result.candidates[result.best]
    steps: Any = None
    if result.trajectory is not None:
        # Beside the candidate: the rows of its weights may have been rescaled in their last digits.
        steps = list(map(int, answer)) if isinstance(answer, tuple) else result.trajectory.weights.tolist()
    return {
        "format": _FORMAT,
        "version": _VERSION,
        "n_samples": int(result.operators.n_samples),
        "members": list(result.operators.names),
        "strategy": result.strategy,
        "quality": result.quality,
        "score": from_float(result.score),
        "t": None if result.t is None else int(result.t),
        "stopped": result.stopped,
        "converged": None if result.converged is None else bool(result.converged),
        "settings": copy.deepcopy(result.settings),
        "best": int(result.best),
        "trajectory": steps,
        "agreement": None if result.agreement is None else _from_agreement(result.agreement),
        "labels": None if result.labels is None else result.labels.tolist(),
        "history": {
            "parent": result.history["parent"].tolist(),
            "depth": result.history["depth"].tolist(),
            "score": list(map(from_float, result.history["score"])),
            "seconds": list(map(from_float, result.history["seconds"])),
        },
        "candidates": [list(map(int, c)) if isinstance(c, tuple) else c.tolist() for c in result.candidates],
    }


def from_json(d: Any, ops: OperatorSet) -> dict[str, Any]:
    """Return the attributes of a result from the values that :func:`to_json` made."""
    if not isinstance(ops, OperatorSet):
        raise TypeError(f"ops: expected an OperatorSet, got {type(ops).__name__}")
    _check_format(d)
    _check_operators(d, ops)
    candidates = [
        to_steps(f"candidates[{i}]", steps, ops) for i, steps in enumerate(to_list("candidates", d["candidates"]))
    ]
    if not candidates:
        raise ValueError("candidates: expected at least one, got none")
    history = _to_history(d["history"], candidates)
    best = to_integer("best", d["best"], 0, len(candidates) - 1)
    score = to_float("score", d["score"])
    labels = _to_labels(d["labels"], ops.n_samples)
    agreement = _to_agreement(d.get("agreement"), labels, candidates, ops)
    if agreement is None and not np.array_equal(score, history["score"][best], equal_nan=True):
        raise ValueError(f"score: expected that of row {best}, {history['score'][best]}, got {score}")
    return {
        "trajectory": None if agreement is not None else _to_trajectory(d["trajectory"], candidates[best], ops),
        "score": score,
        "labels": labels,
        "history": history,
        "candidates": candidates,
        "best": best,
        "strategy": str(to_kind("strategy", d["strategy"], (str,), "a string")),
        "quality": None if d["quality"] is None else str(to_kind("quality", d["quality"], (str,), "a string or None")),
        "t": None if d["t"] is None else to_integer("t", d["t"], 1),
        "stopped": _to_reason(d["stopped"]),
        "converged": to_kind("converged", d["converged"], (bool, type(None)), "True, False or None"),
        "settings": copy.deepcopy(to_kind("settings", d["settings"], (dict,), "a dict")),
        "agreement": agreement,
    }


def _to_reason(value: Any) -> str | None:
    if value is not None and value not in _REASONS:
        raise ValueError(f"stopped: expected one of {', '.join(map(repr, _REASONS))}, got {reprlib.repr(value)}")
    return None if value is None else str(value)


def _check_format(d: Any) -> None:
    if not isinstance(d, dict):
        raise ValueError(f"d: expected a dict made by SearchResult.to_dict, got {type(d).__name__}")
    if d.get("format") != _FORMAT:
        raise ValueError(f"d: format: expected {_FORMAT!r}, got {reprlib.repr(d.get('format'))}")
    if d.get("version") != _VERSION:
        raise ValueError(f"d: version: expected {_VERSION}, got {reprlib.repr(d.get('version'))}")
    missing = [key for key in _KEYS if key not in d]
    if missing:
        raise ValueError(f"d: expected the keys {', '.join(_KEYS)}, got none for {', '.join(missing)}")


def _check_operators(d: dict[str, Any], ops: OperatorSet) -> None:
    members = list(to_list("members", d["members"]))
    if members != ops.names:
        raise ValueError(f"ops: expected the members {members}, which were searched, got {ops.names}")
    n_samples = to_integer("n_samples", d["n_samples"], 1, 2**63 - 1)
    if n_samples != ops.n_samples:
        raise ValueError(f"ops: expected {n_samples} samples, those that were searched, got {ops.n_samples}")


def _to_trajectory(value: Any, answer: Candidate, ops: OperatorSet) -> Trajectory:
    steps = to_steps("trajectory", value, ops)
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
    labels = to_list("labels", value, n_samples)
    last = n_samples - 1
    return np.array([to_integer(f"labels[{i}]", label, 0, last) for i, label in enumerate(labels)], dtype=np.int32)


def _from_agreement(agreement: Agreement) -> dict[str, Any]:
    return {
        "rows": agreement.rows.tolist(),
        "embedding": agreement.embedding.tolist(),
        "confidence": agreement.confidence.tolist(),
    }


def _to_agreement(
    value: Any, labels: NDArray[np.int32] | None, candidates: Sequence[Candidate], ops: OperatorSet
) -> Agreement | None:
    if value is None:
        return None
    parts: dict[str, Any] = to_kind("agreement", value, (dict,), "a dict")
    missing = [key for key in ("rows", "embedding", "confidence") if key not in parts]
    if missing:
        raise ValueError(f"agreement: expected rows, embedding and confidence, got no {', '.join(missing)}")
    if labels is None:
        raise ValueError("labels: expected those of the consensus, got None")
    last = len(candidates) - 1
    rows = [to_integer("agreement['rows']", row, 0, last) for row in to_list("agreement['rows']", parts["rows"])]
    if not rows:
        raise ValueError("agreement['rows']: expected at least one trajectory, got none")
    trajectories = [ops.trajectory(candidates[row]) for row in rows]
    embedding = to_numbers("agreement['embedding']", parts["embedding"], ops.n_samples, 2)
    confidence = to_numbers("agreement['confidence']", parts["confidence"], ops.n_samples, 1)
    if confidence.min() < 0 or confidence.max() > _SURE:
        got = f"{confidence.min()} to {confidence.max()}"
        raise ValueError(f"agreement['confidence']: expected numbers from 0 to 1, got {got}")
    return Agreement(labels, embedding, confidence, trajectories, np.array(rows, dtype=np.intp))


def _to_history(value: Any, candidates: Sequence[Candidate]) -> NDArray[Any]:
    rows: dict[str, Any] = to_kind("history", value, (dict,), "a dict")
    n = len(candidates)
    for name in HISTORY_DTYPE.names or ():
        if name not in rows:
            raise ValueError(f"history: expected {', '.join(HISTORY_DTYPE.names or ())}, got no {name}")
        to_list(f"history[{name!r}]", rows[name], n)
    history = np.empty(n, dtype=HISTORY_DTYPE)
    for i, steps in enumerate(candidates):
        depth = rows["depth"][i]
        if depth != len(steps):
            raise ValueError(
                f"history['depth'][{i}]: expected {len(steps)}, the steps of its candidate, got {reprlib.repr(depth)}"
            )
        parent = to_integer(f"history['parent'][{i}]", rows["parent"][i], -1, n - 1)
        # A parent is a shorter sequence, which also rules out cycles.
        if parent >= 0 and isinstance(steps, tuple) and len(candidates[parent]) >= len(steps):
            got = f"row {parent} of depth {len(candidates[parent])}"
            raise ValueError(f"history['parent'][{i}]: expected a row of depth below {len(steps)}, got {got}")
        score = to_float(f"history['score'][{i}]", rows["score"][i])
        history[i] = (parent, len(steps), score, to_float(f"history['seconds'][{i}]", rows["seconds"][i]))
    return history
