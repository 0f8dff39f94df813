"""Check of the state from which a pickle or a copy restores a search result.

A pickle is trusted, but it may be damaged. NumPy restores a structured type without a check of its
parts, and crashes when it compares or reads one whose parts are no types.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._clusters.agreement import Agreement
from .._operators.trajectory import Trajectory
from .evaluation import HISTORY_DTYPE


def check_state(state: Any, names: Sequence[str]) -> dict[str, Any]:
    """Return the state of a SearchResult with these fields; raise ValueError if it is damaged."""
    if not isinstance(state, dict) or set(state) != set(names):
        raise ValueError(f"SearchResult: expected a state with the fields {list(names)}, got another one")
    history, candidates, best = state["history"], state["candidates"], state["best"]
    is_intact = {
        "history": _is_history(history),
        "candidates": isinstance(candidates, list) and all(map(_is_candidate, candidates)),
        "labels": state["labels"] is None or _is_array(state["labels"], "i", 1),
        "trajectory": isinstance(state["trajectory"], Trajectory | None),
        "agreement": isinstance(state["agreement"], Agreement | None),
        "settings": isinstance(state["settings"], dict),
        "score": isinstance(state["score"], float),
    }
    for name, is_good in is_intact.items():
        if not is_good:
            raise ValueError(
                f"SearchResult: expected the {name} of a result, got a damaged value; the pickle is damaged"
            )
    if len(candidates) != len(history) or not isinstance(best, int) or not 0 <= best < len(history):
        got = f"{len(candidates)} candidates, {len(history)} rows and best={best!r}"
        raise ValueError(f"SearchResult: expected a row for each candidate, got {got}; the pickle is damaged")
    return state


def _is_array(value: Any, kind: str, ndim: int) -> bool:
    """Return whether a value is an array of plain numbers."""
    return (
        isinstance(value, np.ndarray) and value.dtype.fields is None and (value.dtype.kind, value.ndim) == (kind, ndim)
    )


def _is_candidate(value: Any) -> bool:
    if isinstance(value, tuple):
        return all(isinstance(member, int) for member in value)
    return _is_array(value, "f", 2)


def _is_history(value: Any) -> bool:
    if not isinstance(value, np.ndarray) or value.ndim != 1 or value.dtype.fields is None:
        return False
    # Compared part by part: the comparison of whole types crashes if a part is no type.
    parts = {name: tuple(part) for name, part in value.dtype.fields.items()}
    assert HISTORY_DTYPE.fields is not None
    expected = {name: tuple(part) for name, part in HISTORY_DTYPE.fields.items()}
    are_types = all(isinstance(part[0], np.dtype) and part[0].fields is None for part in parts.values())
    return are_types and parts == expected and value.dtype.itemsize == HISTORY_DTYPE.itemsize
