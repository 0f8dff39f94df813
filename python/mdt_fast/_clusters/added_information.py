"""What a view adds: the information about labels that the clusters of the other views lack.

For the labels L, the own clusters C of a view and the clusters Z of the other views, it is the conditional
mutual information ``I(L; C | Z) = H(L, Z) + H(C, Z) - H(L, C, Z) - H(Z)``, as a share of ``H(L)``. Few
samples in many clusters have information by chance. Its mean over permutations of C within the clusters
of Z is subtracted. Cost: O(N log N) for each permutation.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .stability import entropy

# Permutations; the deviation of a single one is at most 0.01 on the data sets of benches/quality_sets.py.
_PERMUTATIONS = 5


def added_information(labels: NDArray[Any], own: NDArray[Any], others: NDArray[Any], *, seed: int) -> float:
    """Return the share of the information about `labels` that `own` has and `others` has not.

    Parameters
    ----------
    labels, own, others : (N,) arrays of int
        The labels, the own clusters of the view, and the clusters of the other views, from 0.
    seed : int
        Seed of the permutations.

    Returns
    -------
    float
        From 0 (nothing beyond chance) to 1 (everything); it may be slightly negative. nan for labels of one class.
    """
    labels, own, others = (each.astype(np.int64) for each in (labels, own, others))
    if not (information := entropy(labels)) > 0:
        return float("nan")
    generator = np.random.default_rng(seed)
    in_order = np.argsort(others, kind="stable")
    by_chance = []
    for _ in range(_PERMUTATIONS):
        mixed = np.empty_like(own)
        mixed[in_order] = own[np.lexsort((generator.random(len(own)), others))]
        by_chance.append(_conditional(labels, mixed, others))
    return float((_conditional(labels, own, others) - np.mean(by_chance)) / information)


def _conditional(a: NDArray[np.int64], b: NDArray[np.int64], given: NDArray[np.int64]) -> float:
    """Return the mutual information of a and b, given a third labelling."""
    a_given, b_given = _pairs(a, given), _pairs(b, given)
    return entropy(a_given) + entropy(b_given) - entropy(_pairs(a_given, b)) - entropy(given)


def _pairs(a: NDArray[np.int64], b: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return one code for each pair of codes."""
    return np.unique(a * (b.max() + 1) + b, return_inverse=True)[1].ravel()
