"""A report on each view: its agreement with the clusters, alone and beside the other views."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._geometry.time import check_time, select_time
from .._operators.checks import MemberReport
from .._operators.operator_set import OperatorSet
from .._support.arguments import RandomStateLike
from .._support.plotting import draw
from .._support.seed import check_seed
from ..quality._view_weights import stay_of, weights_of
from .scoring import Scoring
from .search import search

# Starts of k-means for the clusters of a single view and of a mean of views.
_STARTS = 5
# Below this value of `stay` a view is no better than chance.
_BY_CHANCE = 0.05
# Views whose own clusters have at least this adjusted mutual information are redundant.
_REDUNDANT = 0.95


@dataclass(frozen=True, eq=False)
class ViewReport:
    """How each base view relates to the clusters; `print(report)` shows a table.

    Attributes
    ----------
    names : list of str
        Names of the views.
    stay : (V,) array
        Excess probability, over chance, that a moving step of the view's walk stays in its cluster:
        0 is chance, 1 is always; it may be negative.
    alone : (V,) array
        Adjusted mutual information of the view's own clusters with the labels.
    adds : (V,) array
        Change of the clusters of the mean of all views when the view is left out: 1 minus the
        adjusted mutual information; nan for a single view.
    weights : (V,) array
        The odds ``stay / (1 - stay)``, scaled to sum to 1: `view_weights` for :func:`search`.
    self_probability : (V,) array
        Mean probability that a step does not move.
    n_components, n_isolated : (V,) arrays of int
        Number of connected parts of the view's graph, and of samples that no step leaves.
    remark : list of str
        Problems of the view; empty if there are none.
    agreement : (V, V) array
        Adjusted mutual information between the views' own clusters.
    labels : (N,) array
        Labels with which the views were compared.
    t : int
        Number of steps of the walks from which a view's own clusters were computed.
    """

    names: list[str]
    stay: NDArray[np.float64]
    alone: NDArray[np.float64]
    adds: NDArray[np.float64]
    weights: NDArray[np.float64]
    self_probability: NDArray[np.float64]
    n_components: NDArray[np.intp]
    n_isolated: NDArray[np.intp]
    remark: list[str]
    agreement: NDArray[np.float64]
    labels: NDArray[Any]
    t: int

    def __repr__(self) -> str:
        """Return the numbers of views, samples, clusters and remarks."""
        n_remarks = sum(map(bool, self.remark))
        return f"ViewReport({self._extent()}, {_count(n_remarks, 'view')} with a remark)"

    def __str__(self) -> str:
        """Return a table of the views."""
        header = ("view", "stay", "alone", "adds", "weight", "remark")
        numbers = zip(self.stay, self.alone, self.adds, self.weights, strict=True)
        rows = [header] + [
            (name, *("-" if np.isnan(x) else f"{x:z.3f}" for x in values), remark)
            for name, values, remark in zip(self.names, numbers, self.remark, strict=True)
        ]
        widths = [max(len(row[c]) for row in rows) for c in range(len(header))]
        is_text = [name in ("view", "remark") for name in header]
        lines = [self._extent()]
        for row in rows:
            cells = [
                cell.ljust(w) if text else cell.rjust(w) for cell, w, text in zip(row, widths, is_text, strict=True)
            ]
            lines.append("  ".join(cells).rstrip())
        lines.insert(2, "  ".join("-" * w for w in widths))
        return "\n".join(lines if any(self.remark) else [*lines, "nothing to worry about"])

    def _extent(self) -> str:
        n_clusters = len(np.unique(self.labels))
        return f"{_count(len(self.names), 'view')} of {len(self.labels)} samples, {n_clusters} clusters, t={self.t}"

    def to_frame(self) -> Any:
        """Return the report as a pandas DataFrame, a row for each view.

        Returns
        -------
        pandas.DataFrame
            With columns view, stay, alone, adds, weight, self_probability, n_components,
            n_isolated and remark.
        """
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("to_frame needs pandas: pip install pandas") from error
        return pd.DataFrame({
            "view": self.names,
            "stay": self.stay,
            "alone": self.alone,
            "adds": self.adds,
            "weight": self.weights,
            "self_probability": self.self_probability,
            "n_components": self.n_components,
            "n_isolated": self.n_isolated,
            "remark": self.remark,
        })  # fmt: skip

    def plot(self, ax: Any = None) -> Any:
        """Draw the numbers of each view as bars; needs ``pip install mdt_fast[plot]``.

        Parameters
        ----------
        ax : matplotlib.axes.Axes or None, default=None
            Axes to draw on; None makes a new figure.

        Returns
        -------
        matplotlib.axes.Axes
        """
        return draw("views", self, needed_by="ViewReport.plot", ax=ax)


def view_report(
    ops: OperatorSet,
    n_clusters: int | None = None,
    *,
    labels: ArrayLike | None = None,
    t: int | str = "auto",
    random_state: RandomStateLike = 0,
    n_jobs: int | None = None,
) -> ViewReport:
    """Report how well each base view agrees with the clusters and whether the others replace it.

    Beside the search for labels, 2 V + 1 clusterings are computed: of each view alone, of the mean
    of all views, and of the mean without each view.

    Parameters
    ----------
    ops : OperatorSet
        The base views are compared; other members are used in the search for labels only.
    n_clusters : int or None, default=None
        Number of clusters; the labels are those of a consensus, see :func:`search`.
    labels : (N,) array or None, default=None
        Clusters or classes with which the views are compared, instead of `n_clusters`.
    t : int or "auto", default="auto"
        Diffusion time; "auto" calls :func:`select_time`.
    random_state : int, RandomState, Generator or None, default=0
        Seed. One seed gives one report at any number of threads.
    n_jobs : int or None, default=None
        Number of threads; None is that of the operators.

    Returns
    -------
    ViewReport

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> import numpy as np
    >>> shape = {"n_clusters": 4, "n_features": 3, "cluster_std": 3}
    >>> blobs = mdt.datasets.make_multiview_blobs(200, **shape, random_state=0)
    >>> noise = np.random.default_rng(0).normal(size=(200, 5))
    >>> ops = mdt.build_operators([*blobs.views, noise])
    >>> report = mdt.view_report(ops, labels=blobs.target, t=3)
    >>> report.names, report.remark
    (['view 0', 'view 1', 'view 2'], ['', '', 'no better than chance'])
    >>> int(report.weights.argmin())
    2
    """
    if not isinstance(ops, OperatorSet):
        raise TypeError(f"ops: expected an OperatorSet, got {type(ops).__name__}")
    if (n_clusters is None) == (labels is None):
        got = "neither" if labels is None else "both"
        raise ValueError(f"n_clusters: expected either n_clusters or labels, got {got}")
    time, seed = check_time(t), check_seed(random_state)
    if labels is None:
        found = search(ops, n_clusters, strategy="consensus", t=time, random_state=seed, n_jobs=n_jobs)
        assert found.labels is not None
        assert found.t is not None
        labels, time = found.labels, found.t
    stay = stay_of(ops, labels)
    steps = select_time(ops, n_jobs=n_jobs).t if isinstance(time, str) else time
    labels = np.asarray(labels)
    classes, codes = np.unique(labels, return_inverse=True)

    def clusters_of(views: list[int]) -> NDArray[np.int32]:
        """Cluster by the mean of some views; a single view is a sequence."""
        weights = np.zeros((steps, len(ops)))
        weights[:, views] = 1 / len(views)
        steps_of = views * steps if len(views) == 1 else weights
        scoring = Scoring(None, n_init=_STARTS)
        options: dict[str, Any] = {"random_state": seed, "n_jobs": n_jobs, "progress": False}
        found = search(ops, len(classes), strategy=steps_of, quality=scoring, **options).labels
        assert found is not None
        return found

    everything = list(range(ops.n_views))
    own = [clusters_of([view]) for view in everything]
    adds = np.full(ops.n_views, np.nan)
    if ops.n_views > 1:
        fused = clusters_of(everything)
        for view in everything:
            others = [other for other in everything if other != view]
            # With two views, the clusters without one are those of the other alone.
            without = clusters_of(others) if len(others) > 1 else own[others[0]]
            adds[view] = 1 - _agreement(fused, without)
    agreement = np.eye(ops.n_views)
    for view in everything:
        for other in everything[:view]:
            agreement[view, other] = agreement[other, view] = _agreement(own[view], own[other])
    names, members = ops.names[: ops.n_views], ops.check(warn=False).members[: ops.n_views]
    return ViewReport(
        names=names,
        stay=stay,
        alone=np.array([_agreement(codes, each) for each in own]),
        adds=adds,
        weights=weights_of(stay),
        self_probability=np.array([m.mean_self_probability for m in members]),
        n_components=np.array([m.n_components for m in members]),
        n_isolated=np.array([m.n_isolated for m in members]),
        remark=[_remark(member, stay[v], v, agreement[v], names) for v, member in enumerate(members)],
        agreement=agreement,
        labels=labels,
        t=steps,
    )


def _agreement(a: NDArray[Any], b: NDArray[Any]) -> float:
    from sklearn.metrics import adjusted_mutual_info_score

    return float(adjusted_mutual_info_score(a, b))


def _remark(member: MemberReport, stay: float, view: int, agreement: NDArray[np.float64], names: list[str]) -> str:
    """Return the problems of a view."""
    others = np.where(np.arange(len(names)) == view, -np.inf, agreement)
    nearest = int(np.argmax(others))
    remarks = {
        "hardly moves": member.near_identity,
        f"in {member.n_components} parts": member.n_components > 1,
        "no better than chance": stay < _BY_CHANCE,
        f"says the same as {names[nearest]}": others[nearest] >= _REDUNDANT,
    }
    return ", ".join(remark for remark, applies in remarks.items() if applies)


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
