"""The number of clusters: the knee of stability times information over the number.

Stability is the agreement of different trajectories on the clusters. Information is the mutual
information of the clusters of a random walk now and after some steps. Stability favours few
clusters and information favours many; their product increases with the number of clusters while
these are distinct, and then levels off. The knee is a hint; ``docs/choosing.md`` has
measured error rates.
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
from ..quality._arguments import check_operators
from .agreement import agree
from .k_means import k_means

# Random trajectories that are compared, and starts of k-means for each.
_TRAJECTORIES = 8
_STARTS = 3
# Steps of the walk between the two times of the mutual information.
_STEPS = 4
# Smallest mean size of a cluster.
_LEAST_SIZE = 5
# Every number up to this one is tried; larger ones increase by the ratio.
_ALL_UP_TO = 30
_RATIO = 1.12


@dataclass(frozen=True, eq=False)
class ClusterSelection:
    """A number of clusters and the curves from which it was chosen.

    Attributes
    ----------
    n_clusters : int
        The knee of `scores` over the logarithm of `counts`.
    counts : (m,) array of int
        Numbers of clusters that were tried.
    scores : (m,) array
        Stability times information.
    stability : (m,) array
        Adjusted mutual information of the clusters of each trajectory and those on which all agree,
        averaged over the trajectories.
    information : (m,) array
        Mutual information, in nats, of the clusters of a walk now and after four steps to other
        samples, averaged over the views.
    """

    n_clusters: int
    counts: NDArray[np.int64]
    scores: NDArray[np.float64]
    stability: NDArray[np.float64]
    information: NDArray[np.float64]

    def __repr__(self) -> str:
        """Return the number of clusters and the range of the numbers that were tried."""
        return f"ClusterSelection(n_clusters={self.n_clusters}, of {self.counts[0]} to {self.counts[-1]})"

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
        """
        curves = {"stability x information": self.scores, "stability": self.stability}
        curves["information, nats"] = self.information
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
    """Choose the number of clusters of samples with several views.

    On real data the result differs by at most one from the number of classes in about two of three
    cases. Inspect the curves (:meth:`ClusterSelection.plot`).

    Parameters
    ----------
    ops : OperatorSet
        Operators.
    max_clusters : int, default=30
        Largest number of clusters, at most a fifth of the number of samples. Above 30 only some
        numbers are tried.
    t : int or "auto", default="auto"
        Largest number of steps of a trajectory; "auto" for the result of :func:`select_time`.
    random_state : int, RandomState, Generator or None, default=0
        Seed. The result does not depend on the number of threads.
    n_jobs : int or None, default=None
        Number of threads; None for that of `ops`.

    Returns
    -------
    ClusterSelection
        The number, the numbers that were tried and their scores.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as described, there are too few samples, or all samples are equal.

    Notes
    -----
    Eight random trajectories are embedded and clustered for each number k. The score ``s_k`` is the
    mean adjusted mutual information of their clusters with those on which they agree (a consensus),
    times the mutual information of the latter before and after four steps of the views' walks. The
    result maximises ``(s_k - min s) / (max s - min s) - log(k / k_1) / log(k_m / k_1)`` over the
    numbers ``k_1`` to ``k_m`` that are tried.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> views = mdt.datasets.make_multiview_blobs(300, n_clusters=4, random_state=0).views
    >>> mdt.select_n_clusters(mdt.build_operators(views), max_clusters=12)
    ClusterSelection(n_clusters=4, of 2 to 12)
    """
    ops = check_operators(ops)
    most = min(check_integer("max_clusters", max_clusters, minimum=2), max(ops.n_samples // _LEAST_SIZE, 2))
    if ops.n_samples <= most:
        raise ValueError(f"ops: expected at least {most + 1} samples for {most} clusters, got {ops.n_samples}")
    time, seed = check_time(t), check_seed(random_state)
    steps = select_time(ops, n_jobs=n_jobs).t if isinstance(time, str) else time
    generator = np.random.default_rng(seed)
    drawn = draw_repeated(ops, steps, _TRAJECTORIES, generator)
    with warnings.catch_warnings():
        # Clusters may be connected components, of which embed warns.
        warnings.simplefilter("ignore", OperatorWarning)
        coordinates = [embed(ops.trajectory(each), most, random_state=seed).coordinates for each in drawn]
    # k-means needs as many distinct samples as clusters.
    distinct = min(len(np.unique(each, axis=0)) for each in coordinates)
    if distinct < 2:
        raise ValueError("ops: expected samples that differ, got only equal ones")
    moves = [_moving(view) for view in ops.views]
    jobs = ops.n_jobs if n_jobs is None else n_jobs
    counts = _counts(min(most, distinct))
    curves = [_score_count(coordinates, moves, int(k), seed, jobs) for k in counts]
    stability, information = (np.array(curve) for curve in zip(*curves, strict=True))
    scores = stability * information
    return ClusterSelection(int(counts[_knee(np.log(counts), scores)]), counts, scores, stability, information)


def _counts(most: int) -> NDArray[np.int64]:
    counts = list(range(2, min(most, _ALL_UP_TO) + 1))
    while counts[-1] < most:
        counts.append(min(most, round(counts[-1] * _RATIO)))
    return np.array(counts, dtype=np.int64)


def _score_count(
    coordinates: list[NDArray[Any]], moves: list[sparse.csr_array], k: int, seed: int, n_jobs: int | None
) -> tuple[float, float]:
    """Return stability and information of k clusters."""
    from sklearn.metrics import adjusted_mutual_info_score

    options: dict[str, Any] = {"n_init": _STARTS, "random_state": seed, "n_jobs": n_jobs}
    labels = [k_means(np.ascontiguousarray(each[:, :k]), k, **options).labels for each in coordinates]
    clusters = agree(np.stack(labels), k, seed=seed, n_jobs=n_jobs).labels
    stability = float(np.mean([adjusted_mutual_info_score(each, clusters) for each in labels]))
    return stability, float(np.mean([_information(view, clusters) for view in moves]))


def _moving(view: sparse.csr_array) -> sparse.csr_array:
    """Return the walk conditioned on moving to another sample; a sample without others stays."""
    idle = view.diagonal()
    moving = (view - sparse.diags_array(idle)).tocsr()
    share = 1.0 - idle
    stuck = share <= np.finfo(view.dtype).eps
    scaled = sparse.diags_array(np.where(stuck, 0.0, 1.0 / np.where(stuck, 1.0, share))) @ moving
    return sparse.csr_array(scaled + sparse.diags_array(stuck.astype(np.float64)))


def _information(moves: sparse.csr_array, labels: NDArray[np.int32]) -> float:
    """Return the mutual information of the clusters of a walk at its uniform start and later."""
    now = np.eye(int(labels.max()) + 1)[labels]
    later = now
    for _ in range(_STEPS):
        later = moves @ later
    # A sparse product adds in a fixed order, whatever the number of threads.
    joint = sparse.csr_array(now).T @ later / len(labels)
    independent = np.outer(joint.sum(axis=1), joint.sum(axis=0))
    seen = joint > 0
    return float(np.sum(joint[seen] * np.log(joint[seen] / independent[seen])))


def _knee(x: NDArray[np.float64], y: NDArray[np.float64]) -> int:
    """Return where a curve is highest above the line from its lowest to its highest value."""
    if len(x) == 1 or np.ptp(y) == 0:
        return 0
    return int(np.argmax((y - y.min()) / np.ptp(y) - (x - x[0]) / np.ptp(x)))
