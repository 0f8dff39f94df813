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

Predictions warn of samples that are far by two measures, so that the warning is never issued for
ordinary data: their distance exceeds `FAR` times the local radius, which is small within a dense
clump, and `FAR` times the 0.9 quantile of all radii. Of samples that were held out (a fifth of each
of 41 data sets and preparations, three times) none is far, and the largest value of the smaller quotient is 2.3.
"""

from __future__ import annotations

from typing import Final

import numpy as np
from numpy.typing import NDArray

# A sample with a larger value in some view is far from all training samples.
REMOTE: Final = 1.5
# A sample with larger quotients by both measures is so far that its prediction means nothing.
FAR: Final = 5.0


def remoteness(
    distances: NDArray[np.float64], nearest: NDArray[np.int32], radii: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the distance of each sample to its nearest one, over the radius of that one."""
    own = radii[nearest]
    if not own.all():
        # Samples that coincide with all their neighbours have no radius; they take the median.
        positive = radii[radii > 0]
        own = np.where(own > 0, own, np.median(positive) if len(positive) else 0.0)
    # Without any radius: 0 at distance 0 and inf elsewhere.
    where = np.where(distances > 0, np.inf, 0.0)
    return np.asarray(np.divide(distances, own, out=where, where=own > 0))


def usual_radius(radii: NDArray[np.float64]) -> float:
    """Return the 0.9 quantile of the positive radii; infinity if there are none."""
    positive = radii[radii > 0]
    return float(np.quantile(positive, 0.9)) if len(positive) else np.inf


def is_far(
    distances: NDArray[np.float64], nearest: NDArray[np.int32], radii: NDArray[np.float64], usual: float
) -> NDArray[np.bool_]:
    """Return whether each sample is far from its nearest one by both measures."""
    far = distances > FAR * usual
    far[far] = remoteness(distances[far], nearest[far], radii) > FAR
    return far
