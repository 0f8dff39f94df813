"""Choice of landmarks: samples on which a model is fitted in place of all.

Each row has the key ``E / w`` with E from the standard exponential distribution and w its weight; the rows with
the smallest keys are the landmarks. This is a draw without replacement with probabilities proportional to the
weights, in one pass over the rows, and the result does not depend on the chunks of the store. Weights are 1
("uniform"), or follow from distances to a few rows that a uniform draw gives, the pilots:

- "spread": a half of the weight is even, the other half is proportional to the squared distance to the nearest
  pilot, as a draw of k-means++ after the pilots (the mixture is that of Bachem et al.).
- "density": the distance to the tenth nearest pilot, so that sparse regions have more landmarks than their share.

Cost: ``O(N)`` for "uniform", ``O(N p d)`` for p pilots otherwise.

References
----------
P. S. Efraimidis and P. G. Spirakis, "Weighted random sampling with a reservoir", Information Processing Letters 97
(2006) 181-185. O. Bachem et al., "Fast and provably good seedings for k-means", NIPS 2016.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._graphs.views import read_matrix
from .._sources.views import Block, ViewSources
from .._support.monitor import Monitor
from .._support.one_thread import one_thread

CHOICES = ("uniform", "spread", "density")
# Rows of a block. Keys and distances are computed in these blocks whatever the chunks of the store are.
ROWS = 32_768
_PILOTS = 1024
_NEAR_PILOT = 10


def choose_landmarks(
    views: ViewSources, n: int, choice: str, generator: np.random.Generator, monitor: Monitor
) -> NDArray[np.intp]:
    """Return the numbers of `n` rows in ascending order.

    Parameters
    ----------
    views : ViewSources
        The views, with a known number of rows.
    n : int
        Number of landmarks, at most the number of rows.
    choice : {"uniform", "spread", "density"}
        How they are chosen, see the head of this module.
    generator : Generator
        Source of the random numbers.
    monitor : Monitor
        Receives the number of rows that were read.
    """
    assert views.n_rows is not None
    smallest = _Smallest(n)
    if choice == "uniform":
        for start in range(0, views.n_rows, ROWS):
            smallest.add(start, generator.standard_exponential(min(ROWS, views.n_rows - start)))
        return smallest.rows()
    pilots = choose_landmarks(views, min(_PILOTS, n), "uniform", generator, monitor)
    near = _Pilots([read_matrix(part, "X") for part in views.take(pilots, ROWS)])
    # The mean weight is needed before the draw.
    weights = np.empty(views.n_rows, dtype=np.float32)
    for block in views.blocks(ROWS):
        weights[block.start : block.start + block.n_rows] = near.weights(block, choice)
        monitor.note(n_done=block.start + block.n_rows, n_total=views.n_rows)
    if choice == "spread":
        mean = float(weights.mean(dtype=np.float64))
        weights += np.float32(mean if mean > 0 else 1.0)
    for start in range(0, views.n_rows, ROWS):
        w = weights[start : start + ROWS]
        keys = generator.standard_exponential(len(w))
        smallest.add(start, np.divide(keys, w, out=np.full(len(w), math.inf), where=w > 0))
    return smallest.rows()


class _Smallest:
    """The rows with the n smallest keys so far."""

    def __init__(self, n: int) -> None:
        self._n = n
        self._keys, self._rows = np.empty(0), np.empty(0, dtype=np.intp)
        self._waiting: list[tuple[int, NDArray[np.float64]]] = []
        self._n_waiting = 0

    def add(self, start: int, keys: NDArray[np.float64]) -> None:
        """Add the keys of the rows from `start` on."""
        self._waiting.append((start, keys))
        self._n_waiting += len(keys)
        if self._n_waiting >= max(self._n, ROWS):
            self._merge()

    def _merge(self) -> None:
        keys = np.concatenate([self._keys, *(keys for _, keys in self._waiting)])
        rows = np.concatenate([self._rows, *(start + np.arange(len(keys)) for start, keys in self._waiting)])
        self._waiting, self._n_waiting = [], 0
        # Stable, so that rows of equal keys do not depend on the merges.
        kept = np.argsort(keys, kind="stable")[: self._n]
        self._keys, self._rows = keys[kept], rows[kept]

    def rows(self) -> NDArray[np.intp]:
        """Return the numbers of the rows in ascending order."""
        self._merge()
        return np.sort(self._rows)


class _Pilots:
    """A few rows of all views, and the distances to them."""

    def __init__(self, parts: list[Any]) -> None:
        self._parts = [_dense(part) for part in parts]
        self._norms = [np.einsum("ij,ij->i", part, part) for part in self._parts]
        # Each view counts by its mean squared distance between pilots.
        self._scales = []
        for part, norms in zip(self._parts, self._norms, strict=True):
            known = part[np.isfinite(part).all(axis=1)]
            scale = 2 * float(known.var(axis=0, dtype=np.float64).sum()) if len(known) else 0.0
            self._scales.append(1 / scale if scale > 0 else 0.0)
            norms[~np.isfinite(norms)] = np.inf

    def weights(self, block: Block, choice: str) -> NDArray[np.float32]:
        """Return the weight of each row of a block."""
        assert block.views is not None
        total = np.zeros((block.n_rows, len(self._norms[0])), dtype=np.float32)
        with one_thread():
            for view, pilots, norms, scale in zip(block.views, self._parts, self._norms, self._scales, strict=True):
                rows = _dense(read_matrix(view, "X"))
                squares = np.einsum("ij,ij->i", rows, rows)[:, np.newaxis] + norms - 2 * (rows @ pilots.T)
                total += np.where(np.isfinite(squares), np.maximum(squares, 0) * scale, 0)
        if choice == "spread":
            return np.asarray(total.min(axis=1))
        place = min(_NEAR_PILOT, total.shape[1] - 1)
        return np.asarray(np.sqrt(np.partition(total, place, axis=1)[:, place]))


def _dense(X: Any) -> NDArray[Any]:
    rows = X.toarray() if sparse.issparse(X) else X
    return np.asarray(rows, dtype=np.float32)
