"""The number of clusters: how much tighter than pieces of a continuum the best k clusters are.

For k clusters, the k leading singular vectors of a walk have k directions: the rows of a cluster,
scaled to unit length, coincide, and rows of different clusters are orthogonal. With fewer vectors
clusters overlap, and with more the rows of one cluster spread. The score ``T_k - 4 W_k`` compares the
variance T of these rows with the part W that k-means leaves within the clusters. Halves of a uniform
segment leave a quarter, so a score near 0 means that no clusters are seen. ``docs/choosing.md`` has
measured error rates.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._geometry.embedding import embed
from .._geometry.time import check_time
from .._operators.operator_set import OperatorSet
from .._support.arguments import RandomStateLike, check_integer
from .._support.monitor import Monitor, ProgressLike, watch
from .._support.plotting import draw
from .._support.seed import check_seed
from .._support.warnings import ClusterSelectionWarning, OperatorWarning
from ..quality._arguments import check_operators
from .k_means import k_means

# Name of the base view that is made of all views.
_JOINT = "joint"
# Steps of the walks. One to nine steps give nearly the same choices.
_STEPS = 2
# The weight of the variance within clusters. Halves of a uniform segment have a quarter of its variance.
_WITHIN = 4.0
# The choice is the smallest number whose score is at most this far, divided by the best number, below the best.
_TOLERANCE = 0.15
# Starts of k-means, and their seed and that of the eigensolver.
_STARTS = 3
_SEED = 0
# The default of the largest number: this factor times the root of the number of samples, up to a limit.
_ROOT_FACTOR = 3.0
_MOST = 120
# Smallest mean size of a cluster.
_LEAST_SIZE = 5
# Every number up to this one is tried; larger ones increase by the ratio, with all numbers near the best.
_ALL_UP_TO = 30
_RATIO = 1.08
# A larger share of the variance within clusters, or a lower score, is doubtful. Samples of one Gaussian or of a uniform
# density have larger shares, except some with at most 200 samples in two dimensions. A few outliers beside one cluster
# have a small share, but also a low score.
_CLEAR_SHARE = 0.15
_CLEAR_SCORE = 0.1
# A score that is less than this below the best, at a number that differs by more than the factor, is doubtful.
_CLEAR_MARGIN = 0.03
_CLEAR_FACTOR = 1.5


@dataclass(frozen=True, eq=False)
class ClusterSelection:
    """A number of clusters and the curves from which it was chosen.

    Attributes
    ----------
    n_clusters : int
        The smallest number whose score is nearly the best.
    counts : (m,) array of int
        Numbers of clusters that were tried.
    scores : (m,) array
        ``variance - 4 within``, of the walk for which it is larger.
    variance : (m,) array
        Variance of the samples in the coordinates of that walk, at most ``1 - 1 / k``.
    within : (m,) array
        Variance within the clusters.
    doubt : str or None
        Why the number is uncertain; None if it is clear.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> ops = mdt.build_operators(views)
    >>> selection = mdt.select_n_clusters(ops)
    >>> selection.n_clusters, selection.doubt, int(selection.counts[0])
    (3, None, 2)
    """

    n_clusters: int
    counts: NDArray[np.int64]
    scores: NDArray[np.float64]
    variance: NDArray[np.float64]
    within: NDArray[np.float64]
    doubt: str | None = None

    @property
    def clear(self) -> bool:
        """Whether there is no doubt."""
        return self.doubt is None

    def __repr__(self) -> str:
        """Return the number of clusters, the range of the numbers that were tried and the doubt."""
        doubt = "" if self.doubt is None else f"; in doubt: {self.doubt}"
        return f"ClusterSelection(n_clusters={self.n_clusters}, of {self.counts[0]} to {self.counts[-1]}{doubt})"

    def plot(self, ax: Any = None) -> Any:
        """Plot the curves and the chosen number.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; None for those of a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.

        Raises
        ------
        ImportError
            If matplotlib is missing (``pip install mdt_fast[plot]``).

        Examples
        --------
        >>> import mdt_fast as mdt
        >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
        >>> ops = mdt.build_operators(views)
        >>> ax = mdt.select_n_clusters(ops).plot()
        >>> type(ax).__name__
        'Axes'
        """
        curves = {"variance - 4 within": self.scores, "variance": self.variance, "within clusters": self.within}
        how = {"selected": self.n_clusters, "label": "score", "xlabel": "number of clusters", "ax": ax}
        return draw("quality", self.counts, curves, needed_by="ClusterSelection.plot", **how)


@dataclass(frozen=True)
class _Point:
    """The curves at one number of clusters."""

    variance: float
    within: float

    @property
    def score(self) -> float:
        return self.variance - _WITHIN * self.within


def select_n_clusters(
    ops: OperatorSet,
    *,
    max_clusters: int | None = None,
    t: int | str = "auto",
    random_state: RandomStateLike = 0,
    n_jobs: int | None = None,
    time_limit: float | None = None,
    progress: ProgressLike = False,
) -> ClusterSelection:
    """Choose the number of clusters of samples with several views.

    The result does not depend on a seed. It is a hint: on 17 data sets that were not used to choose
    the rule, 10 results differ by at most one from the number of classes.
    `ClusterSelection.doubt` says when the curve (:meth:`ClusterSelection.plot`) has no clear
    maximum; a clear maximum may still differ from the number of classes. A single cluster is never
    the answer; it appears as a doubt, except in some small samples (200 or fewer) of two dimensions.

    Parameters
    ----------
    ops : OperatorSet
        Operators. The choice is best if a base view has the name "joint" and contains the features
        of all views.
    max_clusters : int or None, default=None
        Largest number of clusters, at most a fifth of the number of samples N. None for
        ``3 sqrt(N)``, at most 120. Above 30 only some numbers are tried.
    t : int or "auto", default="auto"
        Not used: the choice does not depend on the diffusion time.
    random_state : int, RandomState, Generator or None, default=0
        Not used: the choice does not depend on a seed.
    n_jobs : int or None, default=None
        Number of threads; None for that of `ops`. The result does not depend on it.
    time_limit : float or None, default=None
        Number of seconds after which no larger number is tried; the choice is then in doubt.
    progress : bool, callable or None, default=False
        As in :func:`build_operators`.

    Returns
    -------
    ClusterSelection
        The number, the numbers that were tried, their scores, and whether the choice is in doubt.

    Warns
    -----
    ClusterSelectionWarning
        If the choice is in doubt.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as described, there are too few samples, or all samples are equal.

    Notes
    -----
    Two walks are tried: the mean of the base views, and the base view with the name "joint" if there
    is one. For each number k, the k leading left singular vectors of two steps are the columns of a
    matrix; its rows are scaled to unit length, as in [1]_, and clustered by k-means. With T the
    variance of these rows and W the variance that remains within the clusters, the score of k is the
    larger ``T - 4 W`` of the two walks. The result is the smallest k whose score is at most
    ``0.15 / b`` below that of the best number b.

    The choice is in doubt if W is more than 0.15 T or the score is below 0.1, if another number, more
    than 1.5 times as large or small, has nearly the best score, or if the choice is the largest number
    that was tried.

    References
    ----------
    .. [1] A. Ng, M. Jordan, Y. Weiss, "On spectral clustering: analysis and an algorithm", Advances
       in Neural Information Processing Systems 14 (2001) 849-856.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> views = mdt.datasets.make_multiview_blobs(300, n_clusters=4, random_state=0).views
    >>> mdt.select_n_clusters(mdt.build_operators(views), max_clusters=12)
    ClusterSelection(n_clusters=4, of 2 to 12)
    """
    ops = check_operators(ops)
    check_time(t)
    check_seed(random_state)
    most = _most(ops.n_samples, max_clusters)
    if ops.n_samples <= most:
        raise ValueError(f"ops: expected at least {most + 1} samples for {most} clusters, got {ops.n_samples}")
    jobs = ops.n_jobs if n_jobs is None else n_jobs
    points: dict[int, _Point] = {}
    with watch(progress, time_limit) as monitor, monitor.stage("number of clusters"):
        walks = [_singular_vectors(ops, weights, most) for weights in _walks(ops)]
        is_complete = _try(points, _counts(most), walks, jobs, monitor)
        if not points:
            raise ValueError("ops: expected samples that differ, got only equal ones")
        is_complete = is_complete and _try(points, _near_best(points), walks, jobs, monitor)
    counts = np.array(sorted(points), dtype=np.int64)
    scores, variance, within = (
        np.array([getattr(points[int(k)], name) for k in counts]) for name in ("score", "variance", "within")
    )
    best = int(np.argmax(scores))
    first = int(np.argmax(scores >= scores[best] - _TOLERANCE / counts[best]))
    chosen = int(counts[first])
    if within[first] > _CLEAR_SHARE * variance[first] or scores[first] < _CLEAR_SCORE:
        doubt: str | None = "the samples have no clear clusters"
    elif not is_complete:
        doubt = f"the time limit ended the choice at {counts[-1]} clusters"
    else:
        doubt = _rival(counts, scores, chosen, most)
    if doubt is not None:
        warnings.warn(f"the number of clusters, {chosen}, is in doubt: {doubt}", ClusterSelectionWarning, stacklevel=2)
    return ClusterSelection(chosen, counts, scores, variance, within, doubt)


def _most(n_samples: int, max_clusters: int | None) -> int:
    if max_clusters is None:
        wanted = min(max(math.ceil(_ROOT_FACTOR * math.sqrt(n_samples)), 2), _MOST)
    else:
        wanted = check_integer("max_clusters", max_clusters, minimum=2)
    return min(wanted, max(n_samples // _LEAST_SIZE, 2))


def _counts(most: int) -> list[int]:
    counts = list(range(2, min(most, _ALL_UP_TO) + 1))
    while counts[-1] < most:
        counts.append(min(most, math.ceil(counts[-1] * _RATIO)))
    return counts


def _near_best(points: dict[int, _Point]) -> range:
    """Return the numbers between the two neighbours of the best."""
    counts = sorted(points)
    best = max(range(len(counts)), key=lambda i: points[counts[i]].score)
    return range(counts[max(best - 1, 0)], counts[min(best + 1, len(counts) - 1)])


def _walks(ops: OperatorSet) -> list[NDArray[np.float64]]:
    """Return the weights of the mean of the base views, and of the joint view if there are others."""
    views = np.eye(len(ops))[: ops.n_views]
    names = ops.names[: ops.n_views]
    joint = [views[names.index(_JOINT)]] if _JOINT in names and len(names) > 1 else []
    return [views.mean(axis=0), *joint]


def _singular_vectors(ops: OperatorSet, weights: NDArray[np.float64], count: int) -> NDArray[np.float64]:
    """Return left singular vectors of a walk, those of singular values that are not 0."""
    trajectory = ops.trajectory(np.tile(weights, (_STEPS, 1)))
    with warnings.catch_warnings():
        # Clusters may be connected components, of which embed warns.
        warnings.simplefilter("ignore", OperatorWarning)
        found = embed(trajectory, count, drop_first=False, random_state=_SEED)
    values = found.singular_values
    seen = values > np.finfo(ops.dtype).eps * ops.n_samples * values[0]
    vectors: NDArray[np.float64] = found.coordinates[:, seen].astype(np.float64) / values[seen]
    return vectors


def _try(
    points: dict[int, _Point], counts: Any, walks: list[NDArray[np.float64]], n_jobs: int | None, monitor: Monitor
) -> bool:
    """Add the points of the counts for which some walk has as many distinct rows; return whether time sufficed."""
    monitor.note(n_total=len({*points, *counts}))
    for k in counts:
        if points and monitor.seconds_left <= 0:
            return False
        found = [_score(vectors, k, n_jobs) for vectors in walks if k <= vectors.shape[1] and k not in points]
        known = [each for each in found if each is not None]
        if known:
            points[k] = max(known, key=lambda point: point.score)
        monitor.note(n_done=len(points))
    return True


def _score(vectors: NDArray[np.float64], k: int, n_jobs: int | None) -> _Point | None:
    rows = vectors[:, :k]
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    rows = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    try:
        within = k_means(rows, k, n_init=_STARTS, random_state=_SEED, n_jobs=n_jobs).inertia / len(rows)
    except ValueError:
        # There are fewer distinct rows than clusters.
        return None
    return _Point(float(rows.var(axis=0).sum()), within)


def _rival(counts: NDArray[np.int64], scores: NDArray[np.float64], chosen: int, most: int) -> str | None:
    """Return which other numbers may be as good, or None."""
    factor = np.maximum(counts / chosen, chosen / counts)
    far = np.where(factor > _CLEAR_FACTOR, scores, -np.inf)
    if far.max() > scores.max() - _CLEAR_MARGIN:
        return f"{counts[np.argmax(far)]} clusters fit nearly as well"
    if 2 < most == chosen:
        return f"{most} is the largest number that was tried"
    return None
