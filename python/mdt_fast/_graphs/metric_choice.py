"""The metric that "auto" stands for: cosine for sparse views, counts and term weights, else Euclidean.

Rows of counts or term weights differ in their sums, the lengths of texts or the depths of sequencing,
which say little about the samples. The cosine compares directions only.
"""

from __future__ import annotations

import numpy as np
from scipy import sparse

from .views import View

# Least share of zeros of a dense view of counts or term weights.
_ZEROS = 0.5
# Rows that are looked at.
_ROWS = 2000


def choose_metric(view: View) -> str:
    """Return "cosine" or "euclidean"."""
    if sparse.issparse(view.data):
        return "cosine"
    return "cosine" if _is_counts(view) else "euclidean"


def _is_counts(view: View) -> bool:
    X = view.data
    n, d = X.shape
    if d < 2:
        return False
    rows = X if n <= _ROWS else X[np.linspace(0, n - 1, _ROWS).astype(int)]
    return bool((rows >= 0).all()) and bool(np.count_nonzero(rows) <= (1 - _ZEROS) * rows.size)
