"""Degenerate clusters: one that holds most samples beside a few small ones, against the views.

Persistent cliques and remote samples can take all clusters but one. Labels are suspicious if one cluster
holds more than half of the samples. They are degenerate if the own clusters of some base view are much
more even, and the walks keep more information about them. The score ``I / sqrt(H)`` alone does not tell:
cliques that a walk hardly leaves have ``I`` close to ``H``. (A beam search on Reuters-1200 puts 90 % of the
samples in one cluster with score 0.57; the own clusters of a view have 0.54, but 0.6 nats instead of 0.4.)
The score of the own clusters must not be much lower either: a view of noise also has even clusters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._clusters.stability import entropy
from .._geometry.time import check_time, select_time
from .._operators.operator_set import OperatorSet
from .._support.arguments import RandomStateLike
from .._support.seed import check_seed
from ..quality import information
from ..quality._arguments import check_labels, check_operators
from .own_clusters import own_clusters

# Share of the samples above which a cluster is suspicious.
_MOST = 0.5
# Factor by which the effective number of clusters, exp(entropy), must be larger in a view.
_MORE_EVEN = 1.5
# Least score of the own clusters of a view, relative to that of the labels.
_NEARLY_AS_GOOD = 0.9


def is_degenerate(
    ops: OperatorSet,
    labels: ArrayLike,
    *,
    own: Sequence[NDArray[Any]] | None = None,
    t: int | str = "auto",
    random_state: RandomStateLike = 0,
    n_jobs: int | None = None,
) -> bool:
    """Return whether one cluster holds most samples although the views support an even division.

    The sizes are looked at first. Only if one cluster holds more than half of the samples, the views
    are clustered, once each.

    Parameters
    ----------
    ops : OperatorSet
        Operators.
    labels : (N,) array of int or str
        The clusters.
    own : sequence of (N,) arrays or None, default=None
        Own clusters of the base views, as many as `labels` has; None computes them if needed.
    t : int or "auto", default="auto"
        Number of steps of the walks that are clustered; "auto" calls :func:`select_time`.
    random_state : int, RandomState, Generator or None, default=0
        Seed.
    n_jobs : int or None, default=None
        Number of threads; None is that of the operators.

    Returns
    -------
    bool
        True if some base view has own clusters with an effective number (the exponential of the
        entropy of the sizes) at least 1.5 times larger, about which the walks keep more information
        ``I``, and whose score ``I / sqrt(H)`` is at least 0.9 times that of the labels; see
        :func:`information`.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> from mdt_fast._search.degenerate import is_degenerate
    >>> blobs = mdt.datasets.make_multiview_blobs(200, n_clusters=4, random_state=0)
    >>> ops = mdt.build_operators(blobs.views)
    >>> giant = [0, 1, 2] + [3] * 197
    >>> is_degenerate(ops, blobs.target, t=3), is_degenerate(ops, giant, t=3)
    (False, True)
    """
    ops, time = check_operators(ops), check_time(t)
    codes, seed = check_labels(labels, ops.n_samples), check_seed(random_state)
    if np.bincount(codes).max() <= _MOST * len(codes):
        return False
    if own is None:
        steps = select_time(ops, n_jobs=n_jobs).t if isinstance(time, str) else time
        groups = [[view] for view in range(ops.n_views)]
        own = own_clusters(ops, groups, int(codes.max()) + 1, steps=steps, seed=seed, n_jobs=n_jobs)
    even, score = entropy(codes), information(ops, codes)
    return any(_is_better(entropy(each), information(ops, each), even, score) for each in own)


def _is_better(own_entropy: float, own_score: float, even: float, score: float) -> bool:
    """Compare the entropies of the sizes and the scores of own clusters and of labels."""
    return (
        own_entropy >= even + np.log(_MORE_EVEN)
        and own_score * np.sqrt(own_entropy) > score * np.sqrt(even)
        and own_score >= _NEARLY_AS_GOOD * score
    )
