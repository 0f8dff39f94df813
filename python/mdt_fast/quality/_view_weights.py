"""View weights from persistence: a view counts for more if its walk stays in the clusters."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._operators.operator_set import OperatorSet
from ._scores import persistence

# Bounds of the corrected probability of staying: no weight is 0 and no weight is unbounded.
_LEAST, _MOST = 0.01, 0.99


def stay_of(ops: OperatorSet, labels: ArrayLike) -> NDArray[np.float64]:
    """Return for each base view the probability of staying in a cluster, corrected for chance.

    ``(stay - chance) / (1 - chance) = 1 - exp(-persistence)``: 0 by chance, 1 if every step stays,
    negative if labels separate samples that the view connects. :func:`persistence` defines `stay`
    and `chance`.
    """
    return -np.expm1(-persistence(ops, labels, per_view=True))


def weights_of(stay: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return view weights that sum to 1, proportional to the odds of staying.

    The odds are ``max(s, 0.01) / (1 - min(s, 0.99))`` for the result ``s`` of :func:`stay_of`.
    """
    # nan for a view whose samples are all in one cluster, which says nothing.
    stay = np.minimum(np.nan_to_num(stay), _MOST)
    odds = np.maximum(stay, _LEAST) / (1 - stay)
    return np.asarray(odds / odds.sum())
