"""Workers, memory and time of an assignment of many samples, from rates that are measured on this machine.

A worker holds the model and a few copies of one block. The time is that of the rows, because nothing is exchanged
between workers. Rates are measured with few landmarks, by the search that the planned number of landmarks has. The
time of a row is taken to grow in proportion to the landmarks if a row is compared with all of them, and with a power
of their number if an index is used (``benches/RESULTS.md``).
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._graphs.approximate import find_effort
from .._graphs.views import View
from .assign import BLOCK_ROWS

# Landmarks and rows of the measurement, and the columns of its views.
_LANDMARKS, _ROWS, _COLUMNS = 10_000, 8_192, 50
# Growth of the time of a row with the number of landmarks, without and with an index.
_GROWTH, _GROWTH_OF_INDEX = 1.0, 0.5
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
    growth = _GROWTH_OF_INDEX if has_index(n_landmarks) else _GROWTH
    per_row = seconds_per_row * (n_landmarks / _LANDMARKS) ** growth
    # The joint view has all columns again.
    n_walks, n_columns = n_views + 1, 2 * n_views * _COLUMNS
    known = 8 * (3 * n_clusters + n_walks)
    model = n_landmarks * (n_columns * item_size + n_walks * _ENTRIES * _ENTRY_BYTES + known)
    block = BLOCK_ROWS * (_COPIES * n_columns * 8 + n_walks * _ENTRIES * _ENTRY_BYTES)
    hours = {workers: n_samples * per_row / workers / 3600 for workers in (1, 16, 64, 256)}
    results = n_samples * (4 + 8 + n_clusters * item_size)
    return AssignmentPlan(n_landmarks, 1 / per_row, model, int(_BASE_BYTES + model + block), results, hours)


def has_index(n_landmarks: int) -> bool:
    """Return whether the neighbours of new samples are found by an index."""
    # Only the shape matters, and this array takes no memory.
    rows = np.broadcast_to(np.float32(0), (n_landmarks, _COLUMNS))
    return find_effort("auto", View("view 0", rows), "euclidean") is not None


def measure_row(fit: Any, n_views: int, dtype: str, n_landmarks: int = _LANDMARKS, n_rows: int = _ROWS) -> float:
    """Return the seconds that one thread takes to assign a row.

    `fit` returns the assigner of a model that is fitted on some views.
    """
    n = n_landmarks + n_rows
    rng = np.random.default_rng(0)
    centers = 3 * rng.normal(size=(n_views, 10, _COLUMNS))
    rows = [(own[rng.integers(10, size=n)] + 4 * rng.normal(size=(n, _COLUMNS))).astype(dtype) for own in centers]
    assigner = fit([each[:n_landmarks] for each in rows])
    # An index is made at the first call.
    assigner.assign([each[-1:] for each in rows], 1)
    began = time.process_time()
    assigner.assign([each[n_landmarks:] for each in rows], 1)
    return (time.process_time() - began) / n_rows
