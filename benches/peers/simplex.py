"""Euclidean projection of rows onto the probability simplex."""

import numpy as np


def project_rows(X: np.ndarray) -> np.ndarray:
    """Return the nearest rows that are non-negative and sum to one.

    With x sorted in descending order, the projection is ``max(x - c, 0)``, where c is
    ``(x_1 + ... + x_r - 1) / r`` for the largest r with ``x_r > c``.
    """
    ordered = -np.sort(-X, axis=1)
    counts = np.arange(1, X.shape[1] + 1)
    shifts = (np.cumsum(ordered, axis=1) - 1.0) / counts
    positive = np.maximum((ordered > shifts).sum(axis=1), 1)
    return np.maximum(X - shifts[np.arange(len(X)), positive - 1][:, None], 0.0)
