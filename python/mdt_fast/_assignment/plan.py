"""Workers, memory and time of an assignment of many samples, from rates that are measured on this machine.

A worker holds the model and a few copies of one block. The time is that of the rows, because nothing is exchanged
between workers. Rates are measured with few landmarks. The time of a row is taken to grow in proportion to the
landmarks, which is an upper bound: a search with an index grows less.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from .assign import BLOCK_ROWS

# Landmarks and rows of the measurement, and the columns of its views.
_LANDMARKS, _ROWS, _COLUMNS = 10_000, 8_192, 50
# Copies of a block in a worker: as read, checked, in double precision, and of the search.
_COPIES = 4
# Entries of a row of a walk, and bytes of an entry with its index.
_ENTRIES, _ENTRY_BYTES = 26, 12
# A worker without a model takes this much: Python, NumPy, SciPy, Dask.
_BASE_BYTES = 3e8


@dataclass(frozen=True)
class AssignmentPlan:
    """The plan for some samples.

    Attributes
    ----------
    n_landmarks : int
        Number of landmarks.
    rows_per_second : float
        Rows that one thread assigns in a second.
    model_bytes, worker_bytes, result_bytes : int
        Size of the model, memory of a worker with one thread, and size of all results.
    hours : dict of int to float
        Hours by the number of workers with one thread.
    """

    n_landmarks: int
    rows_per_second: float
    model_bytes: int
    worker_bytes: int
    result_bytes: int
    hours: dict[int, float]


def plan_assignment(
    n_samples: int, n_views: int, n_landmarks: int, n_clusters: int, item_size: int, seconds_per_row: float
) -> AssignmentPlan:
    """Return the plan; `seconds_per_row` is that of :func:`measure_row`."""
    per_row = seconds_per_row * n_landmarks / _LANDMARKS
    # The joint view has all columns again.
    n_walks, n_columns = n_views + 1, 2 * n_views * _COLUMNS
    known = 8 * (3 * n_clusters + n_walks)
    model = n_landmarks * (n_columns * item_size + n_walks * _ENTRIES * _ENTRY_BYTES + known)
    block = BLOCK_ROWS * (_COPIES * n_columns * 8 + n_walks * _ENTRIES * _ENTRY_BYTES)
    hours = {workers: n_samples * per_row / workers / 3600 for workers in (1, 16, 64, 256)}
    results = n_samples * (4 + 8 + n_clusters * item_size)
    return AssignmentPlan(n_landmarks, 1 / per_row, model, int(_BASE_BYTES + model + block), results, hours)


def measure_row(fit: Any, n_views: int, dtype: str) -> float:
    """Return the seconds that one thread takes to assign a row with 10,000 landmarks.

    `fit` returns the assigner of a model that is fitted on some views.
    """
    rng = np.random.default_rng(0)
    centers = 3 * rng.normal(size=(n_views, 10, _COLUMNS))
    rows = [
        (own[rng.integers(10, size=_LANDMARKS + _ROWS)] + 4 * rng.normal(size=(_LANDMARKS + _ROWS, _COLUMNS))).astype(
            dtype
        )
        for own in centers
    ]
    assigner = fit([each[:_LANDMARKS] for each in rows])
    began = time.perf_counter()
    assigner.assign([each[_LANDMARKS:] for each in rows], 1)
    return (time.perf_counter() - began) / _ROWS
