"""Checks of the views behind an operator set that are cheap enough for every fit.

Each is a property of the data that spoils the distances of a view without an error:

- a walk that hardly moves, because the kernel all but vanished;
- samples that coincide with all their neighbours, which only identical samples can reach, as after
  missing rows were replaced by the mean;
- samples far from all others (`_graphs/remoteness.py`);
- one to three columns, at most a tenth of them, that hold 99 % of the variance, as columns in very
  different units do. Views that were centred are exempt: principal components differ so by nature.

The cost is one pass over the features and the diagonal of the walk. Of 41 data sets and preparations
three have a finding, all of columns in different units: the sets wine and breast cancer of
scikit-learn and the morphological features of UCI Multiple Features, as they are published.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._support.warnings import ViewWarning, warn_user

if TYPE_CHECKING:
    from .operator_set import OperatorSet

# A walk whose mean self-probability is at least this large hardly moves.
NEAR_IDENTITY: Final = 0.99
# Fewer samples that coincide with all their neighbours are no finding.
_COINCIDING_SHARE = 0.02
_LEADING_VARIANCE = 0.99
_MOST_LEADING = 3
# A mean that is smaller than this share of the deviation counts as 0.
_CENTRED = 0.1
# Values of which sums are computed at a time, to bound temporary copies.
_BLOCK = 2**20


def warn_of_data(operators: OperatorSet) -> None:
    """Issue all findings on the views as one warning."""
    found = []
    for view in range(operators.n_views):
        found += stays_put(operators.names[view], float(operators.walk_matrix(view).diagonal().mean()))
        found += data_findings(operators, view)
    if found:
        warn_user("; ".join(found), ViewWarning)


def stays_put(name: str, self_probability: float) -> list[str]:
    """Return a finding on a walk that hardly moves, if it does."""
    if self_probability < NEAR_IDENTITY:
        return []
    return [
        f"{name}: a step stays where it is with probability {self_probability:.3f}; it is close to the identity "
        "because the kernel all but vanished: a larger bandwidth or kernel='adaptive' may help"
    ]


def data_findings(operators: OperatorSet, view: int) -> list[str]:
    """Return findings on the features of a base view; none if it was made from a given matrix or graph."""
    name, n, training = operators.names[view], operators.n_samples, operators._training_views[view]
    if training is None:
        return []
    found = []
    coinciding = int(np.count_nonzero(training.radii == 0))
    if coinciding > _COINCIDING_SHARE * n:
        found.append(
            f"{name}: {coinciding} of {n} samples coincide with all their neighbours, as after missing values were "
            "replaced by one value"
        )
    if training.n_far:
        found.append(f"{name}: {training.n_far} of {n} samples are far from all others, and their clusters mean little")
    if view != operators.joint and (leading := leading_columns(training.data)) is not None:
        columns = ", ".join(map(str, leading))
        many = f"columns {columns} hold" if len(leading) > 1 else f"column {columns} holds"
        found.append(
            f"{name}: {many} 99 % of the variance of {training.data.shape[1]} columns; if their units differ, scale "
            "them (StandardScaler)"
        )
    return found


def leading_columns(X: Any) -> list[int] | None:
    """Return the few columns that hold almost all variance; None if they are not few."""
    d = X.shape[1]
    if d < 2:
        return None
    columns, means, variances = _moments(X)
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
def _moments(X: Any) -> tuple[NDArray[np.intp], NDArray[np.float64], NDArray[np.float64]]:
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
