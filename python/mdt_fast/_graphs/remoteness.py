"""How far new samples are from the training samples: a distance relative to that of neighbours.

The remoteness of a new sample in a view is ``d(x, j) / r_j``: j is its nearest training sample and
``r_j`` the distance of j to the last of its own K neighbours. The scale is local, so that samples
outside a dense cluster are remote even if other clusters are sparse, and a few outliers among the
training samples do not change it.

A sample is called remote if the largest value over the views exceeds `REMOTE`. Share of samples
that are remote, mean over 16 data sets from which a fifth was held out. "Spread" are the held out
samples at three times their distance to the mean. On 15 other sets the limit 1.5 gives 0.014, 0.988
and 1.000; the largest share of held out samples is 0.068 (Cora).

=======================  ========  ======  ===========
limit                    held out  spread  added noise
=======================  ========  ======  ===========
1                        0.155     0.999   1.000
1.5                      0.007     0.986   0.998
2                        0.002     0.947   0.992
1.5, one radius for all  0.000     0.875   0.998
=======================  ========  ======  ===========

"One radius for all" is the 0.99 quantile of ``r``. With 3 % outliers among the training samples it
finds 4 % of the spread samples; the local radius finds all.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .joint import JointView
from .new_rows import TrainingView, check_new_views, find_edges

# A sample with a larger value in some view is far from all training samples.
REMOTE: Final = 1.5


def remoteness(
    Xs_new: Any,
    names: Sequence[str],
    training: Sequence[TrainingView | None],
    joint: JointView | None,
    n_threads: int,
) -> NDArray[np.float64]:
    """Return the remoteness of M new samples in each of V views, an (M, V) array."""
    known = [_check_training(each, name) for each, name in zip(training, names, strict=True)]
    views = check_new_views(Xs_new, names, known, joint)
    columns = []
    for old, view in zip(known, views, strict=True):
        found = find_edges(old, view, n_threads)
        # Every new sample has an edge to its nearest training sample.
        distances = np.minimum.reduceat(found.edges.values, found.edges.indptr[:-1])
        columns.append(_ratio(distances, _positive(old.radii)[found.nearest]))
    return np.column_stack(columns)


def _check_training(training: TrainingView | None, name: str) -> TrainingView:
    if training is None:
        raise ValueError(
            f"Xs_new ({name}): expected a view built from features by a neighbour search, got one made from a given "
            "matrix or graph, which has no distances"
        )
    return training


def _positive(radii: NDArray[np.float64]) -> NDArray[np.float64]:
    """Replace the radius 0 of samples that coincide with all neighbours by the median radius."""
    positive = radii[radii > 0]
    return np.where(radii > 0, radii, np.median(positive) if len(positive) else 0.0)


def _ratio(distances: NDArray[np.float64], radii: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the quotient; for a radius 0 it is 0 at distance 0 and inf elsewhere."""
    where = np.where(distances > 0, np.inf, 0.0)
    return np.asarray(np.divide(distances, radii, out=where, where=radii > 0))
