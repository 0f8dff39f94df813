"""How many clusters there are: where finer ones stop telling more about the walks.

Two things are asked of clusters. Different trajectories should agree on them (stability), and where a walk is now
should tell where it will be in a few steps (information). Stability alone likes few clusters, information alone likes
many; their product rises while clusters are real and then flattens. The knee of that curve over the logarithm of the
number is the answer: a hint, not a law. How often it is right is told in ``docs/choosing.md``.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._geometry.embedding import embed
from .._geometry.time import check_time, select_time
from .._operators.draw import draw_repeated
from .._operators.operator_set import OperatorSet
from .._support.arguments import RandomStateLike, check_integer
from .._support.plotting import draw
from .._support.seed import check_seed
from .._support.warnings import OperatorWarning
from .agreement import agree
from .k_means import k_means

# Trajectories that have to agree, and starts of k-means for each.
_MEMBERS = 8
_STARTS = 3
# Steps over which a walk is asked where it is.
_STEPS = 4
# Samples a cluster has at least, on average.
_LEAST_SIZE = 5
# Above this many clusters only some numbers are tried, each by this factor more than the last.
_ALL_UP_TO = 30
_RATIO = 1.12


@dataclass(frozen=True, eq=False)
class ClusterSelection:
    """A number of clusters and the curve that it was read from.

    Attributes
    ----------
    n_clusters : int
        The knee of `scores` over the logarithm of `counts`.
    counts : (m,) array of int
        Numbers of clusters that were tried.
    scores : (m,) array
        Stability times information.
    stability : (m,) array
        Agreement (adjusted mutual information) of trajectories with what they agree on.
    information : (m,) array
        Mutual information, in nats, of the clusters of a walk now and after four steps that move, averaged over the
        views.
    """

    n_clusters: int
    counts: NDArray[np.int64]
    scores: NDArray[np.float64]
    stability: NDArray[np.float64]
    information: NDArray[np.float64]

    def __repr__(self) -> str:
        """Return the number and what was tried."""
        return f"ClusterSelection(n_clusters={self.n_clusters}, of {self.counts[0]} to {self.counts[-1]})"

    def plot(self, ax: Any = None) -> Any:
        """Draw the curves and the choice; needs matplotlib (``pip install mdt_fast[plot]``).

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib.axes.Axes
        """
        curves = {
            "stability x information": self.scores,
            "stability": self.stability,
            "information, nats": self.information,
        }
        how = {"selected": self.n_clusters, "label": "score", "xlabel": "number of clusters", "ax": ax}
        return draw("quality", self.counts, curves, needed_by="ClusterSelection.plot", **how)


def select_n_clusters(
    ops: OperatorSet,
    *,
    max_clusters: int = 30,
    t: int | str = "auto",
    random_state: RandomStateLike = 0,
    n_jobs: int | None = None,
) -> ClusterSelection:
    """Choose the number of clusters of samples seen in several views.

    On real data the answer is within one of the number of classes about two times in three: look at the curve.

    Parameters
    ----------
    ops : OperatorSet
        The walks.
    max_clusters : int
        Most clusters that are tried; never more than a fifth of the samples. Above 30 not every number is tried.
    t : int or "auto"
        Longest trajectory; "auto": :func:`select_time`.
    random_state : int, RandomState, Generator or None
        One seed gives one answer at any number of threads.
    n_jobs : int or None
        Threads; None: as for the operators.

    Returns
    -------
    ClusterSelection

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> views = mdt.datasets.make_multiview_blobs(300, n_clusters=4, random_state=0).views
    >>> mdt.select_n_clusters(mdt.build_operators(views), max_clusters=12)
    ClusterSelection(n_clusters=4, of 2 to 12)
    """
    if not isinstance(ops, OperatorSet):
        raise TypeError(f"ops: expected an OperatorSet, got {type(ops).__name__}")
    most = min(check_integer("max_clusters", max_clusters, minimum=2), max(ops.n_samples // _LEAST_SIZE, 2))
    if ops.n_samples <= most:
        raise ValueError(f"ops: expected at least {most + 1} samples for {most} clusters, got {ops.n_samples}")
    time, seed = check_time(t), check_seed(random_state)
    steps = select_time(ops, n_jobs=n_jobs).t if isinstance(time, str) else time
    generator = np.random.default_rng(seed)
    members = draw_repeated(ops, steps, _MEMBERS, generator)
    with warnings.catch_warnings():
        # Clusters may well be parts that do not touch.
        warnings.simplefilter("ignore", OperatorWarning)
        coordinates = [embed(ops.trajectory(each), most, random_state=seed).coordinates for each in members]
    # Samples that are the same cannot be told apart.
    distinct = min(len(np.unique(member, axis=0)) for member in coordinates)
    if distinct < 2:
        raise ValueError("ops: expected samples that differ, got only equal ones")
    moves = [_moving(view) for view in ops.views]
    jobs = ops.n_jobs if n_jobs is None else n_jobs
    counts = _counts(min(most, distinct))
    curves = [_judge(coordinates, moves, int(k), seed, jobs) for k in counts]
    stability, information = (np.array(curve) for curve in zip(*curves, strict=True))
    scores = stability * information
    return ClusterSelection(int(counts[_knee(np.log(counts), scores)]), counts, scores, stability, information)


def _counts(most: int) -> NDArray[np.int64]:
    counts = list(range(2, min(most, _ALL_UP_TO) + 1))
    while counts[-1] < most:
        counts.append(min(most, round(counts[-1] * _RATIO)))
    return np.array(counts, dtype=np.int64)


def _judge(
    coordinates: list[NDArray[Any]], moves: list[sparse.csr_array], k: int, seed: int, n_jobs: int | None
) -> tuple[float, float]:
    """Return stability and information of k clusters."""
    from sklearn.metrics import adjusted_mutual_info_score

    options: dict[str, Any] = {"n_init": _STARTS, "random_state": seed, "n_jobs": n_jobs}
    labels = [k_means(np.ascontiguousarray(member[:, :k]), k, **options).labels for member in coordinates]
    clusters, _, _ = agree(np.stack(labels), k, seed=seed, n_jobs=n_jobs)
    stability = float(np.mean([adjusted_mutual_info_score(each, clusters) for each in labels]))
    return stability, float(np.mean([_information(view, clusters) for view in moves]))


def _moving(view: sparse.csr_array) -> sparse.csr_array:
    """Return a walk without its idle steps; a sample that never moves stays."""
    idle = view.diagonal()
    moving = (view - sparse.diags_array(idle)).tocsr()
    share = 1.0 - idle
    stuck = share <= np.finfo(view.dtype).eps
    scaled = sparse.diags_array(np.where(stuck, 0.0, 1.0 / np.where(stuck, 1.0, share))) @ moving
    return sparse.csr_array(scaled + sparse.diags_array(stuck.astype(np.float64)))


def _information(moves: sparse.csr_array, labels: NDArray[np.int32]) -> float:
    """Return the mutual information of the clusters of a walk now and some steps later, begun anywhere."""
    now = np.eye(int(labels.max()) + 1)[labels]
    later = now
    for _ in range(_STEPS):
        later = moves @ later
    # Sparse: added in order, whatever the number of threads.
    joint = sparse.csr_array(now).T @ later / len(labels)
    independent = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    seen = joint > 0
    return float(np.sum(joint[seen] * np.log(joint[seen] / independent[seen])))


def _knee(x: NDArray[np.float64], y: NDArray[np.float64]) -> int:
    """Return where a rising curve is furthest above the straight line from its lowest to its highest value."""
    if len(x) == 1 or np.ptp(y) == 0:
        return 0
    return int(np.argmax((y - y.min()) / np.ptp(y) - (x - x[0]) / np.ptp(x)))
