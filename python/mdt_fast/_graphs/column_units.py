"""Columns in very different units: one to three columns, at most a tenth of them, hold 99 % of the variance.

Views that were centred are exempt: principal components differ so by nature. Of 41 data sets and
preparations three have a finding: the sets wine and breast cancer of scikit-learn and the
morphological features of UCI Multiple Features, as they are published.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

_LEADING_VARIANCE = 0.99
_MOST_LEADING = 3
# A mean that is smaller than this share of the deviation counts as 0.
_CENTRED = 0.1
# Values of which sums are computed at a time, to bound temporary copies.
_BLOCK = 2**20


def leading_columns(X: Any) -> list[int] | None:
    """Return the few columns that hold almost all variance; None if they are not few."""
    d = X.shape[1]
    if d < 2:
        return None
    columns, means, variances = moments(X)
    total = variances.sum()
    if not np.isfinite(total) or not total > 0:
        return None
    most = max(1, min(_MOST_LEADING, d // 10))
    order = np.argsort(-variances, kind="stable")[:most]
    held = np.cumsum(variances[order]) / total
    if held[-1] < _LEADING_VARIANCE or bool((means**2 <= _CENTRED**2 * variances).all()):
        return None
    return [int(columns[column]) for column in order[: int(np.searchsorted(held, _LEADING_VARIANCE)) + 1]]


# Huge values overflow to infinite variances, which are no finding.
@np.errstate(over="ignore", invalid="ignore")
def moments(X: Any) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64]]:
    """Return columns with mean and variance, in double precision, without empty columns of a sparse view."""
    n, d = X.shape
    if sparse.issparse(X):
        # Columns without entries, of which there may be many, have mean and variance 0.
        columns, places, counts = np.unique(X.indices, return_inverse=True, return_counts=True)
        means = np.bincount(places, weights=X.data) / n
        squares = np.bincount(places, weights=(X.data - means[places]) ** 2)
        return columns, means, (squares + (n - counts) * means**2) / n
    means = X.mean(axis=0, dtype=np.float64)
    rows = max(1, _BLOCK // d)
    squares = np.zeros(d)
    for start in range(0, n, rows):
        squares += ((X[start : start + rows] - means) ** 2).sum(axis=0)
    return np.arange(d), means, squares / n
