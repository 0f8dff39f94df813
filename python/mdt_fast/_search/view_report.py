"""A report on each view: what it knows alone, what it knows of the clusters, and what only it knows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._clusters.added_information import added_information
from .._clusters.stability import stability
from .._fusion.fused_graph import sample_weights
from .._fusion.view_weights import cluster_means
from .._geometry.time import check_time, select_time
from .._operators.operator_set import OperatorSet
from .._support.arguments import RandomStateLike
from .._support.extras import require
from .._support.plotting import draw
from .._support.seed import check_seed
from .._support.tables import aligned
from ..quality import information
from ..quality._arguments import check_labels
from ..quality._view_weights import stay_of, weights_of
from .degenerate import is_degenerate
from .own_clusters import own_clusters
from .search import search
from .view_remarks import DECISIVE, findings_of, remark_of

# A view is weak in a cluster if its mean weight there is below this share of an equal one.
_WEAK = 0.5


@dataclass(frozen=True, eq=False)
class ViewReport:
    """What each base view knows, alone and of the clusters; `print(report)` shows a table.

    The base views are the given views and, if the operator set has one, the joint view.

    Attributes
    ----------
    names : list of str
        Names of the views; the joint view is the last.
    stay : (V,) array
        Excess probability, over chance, that a moving step of the view's walk stays in its cluster:
        0 is chance, 1 is always; it may be negative. nan if all samples that the view has are in one
        cluster.
    alone : (V,) array
        Adjusted mutual information of the view's own clusters with the labels.
    own : (V,) array
        Stability of the view's own clusters, which does not depend on the labels: the adjusted mutual
        information of the clusters of two random halves of its edges. 0 is chance, 1 is certain.
        Noise in few columns has up to 0.8.
    n_own : (V,) array of int
        The number of own clusters for `own`, the most informative one up to the number of labels.
    adds : (V,) array
        Share of the information about the labels that the view's own clusters have and the clusters
        of the mean of the other given views have not; 0 is nothing beyond chance. For the joint view
        the others are all given views. nan without others.
    scores : (V,) array
        :func:`mdt_fast.quality.information` of the view's own clusters, averaged over all base views.
    score : float
        The same for the labels.
    weights : (V,) array
        The odds ``stay / (1 - stay)``, scaled to sum to 1: `view_weights` for :func:`search`.
    self_probability : (V,) array
        Mean probability that a step does not move.
    n_components, n_isolated, n_present : (V,) arrays of int
        Number of connected parts of the view's graph, of samples that no step leaves, and of samples
        that the view has. A view is compared with the labels by the samples that it has.
    remark : list of str
        What to know about the view; empty if there is nothing.
    findings : list of str
        What is wrong with the labels as a whole: they are degenerate, a view alone has clusters with a
        higher score, or they ignore stable clusters of a view.
    agreement : (V, V) array
        Adjusted mutual information between the views' own clusters; nan for views with too few common
        samples.
    labels : (N,) array
        Labels with which the views were compared.
    sample_weights : (N, V_given) array
        Weight of each given view at each sample, which does not depend on the labels, see
        :class:`FusedGraph`; rows sum to 1.
    t : int
        Number of steps of the walks from which a view's own clusters were computed.
    joint : int or None
        Index of the joint view.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> ops = mdt.build_operators(views)
    >>> report = mdt.view_report(ops, 3)
    >>> report
    ViewReport(2 views of 150 samples, 3 clusters, t=7, 2 views with a remark)
    >>> report.to_frame().columns.tolist()[:3]
    ['view', 'stay', 'alone']
    """

    names: list[str]
    stay: NDArray[np.float64]
    alone: NDArray[np.float64]
    own: NDArray[np.float64]
    n_own: NDArray[np.intp]
    adds: NDArray[np.float64]
    scores: NDArray[np.float64]
    score: float
    weights: NDArray[np.float64]
    self_probability: NDArray[np.float64]
    n_components: NDArray[np.intp]
    n_isolated: NDArray[np.intp]
    n_present: NDArray[np.intp]
    remark: list[str]
    findings: list[str]
    agreement: NDArray[np.float64]
    labels: NDArray[Any]
    sample_weights: NDArray[np.float64]
    t: int
    joint: int | None

    @property
    def cluster_weights(self) -> NDArray[np.float64]:
        """Mean of the sample weights over each cluster, an (n_clusters, V_given) array; rows sum to 1.

        The mean of a view is over the samples that it has.
        """
        return cluster_means(self.sample_weights, self.labels)

    def __repr__(self) -> str:
        """Return the numbers of views, samples, clusters, remarks and findings."""
        n_remarks = sum(map(bool, self.remark))
        found = f", {_count(len(self.findings), 'finding')}" if self.findings else ""
        return f"ViewReport({self._extent()}, {_count(n_remarks, 'view')} with a remark{found})"

    def __str__(self) -> str:
        """Return a table of the views and the findings."""
        header: tuple[str, ...] = ("view", "stay", "alone", "own", "adds", "score", "weight", "remark")
        columns = (self.stay, self.alone, self.own, self.adds, self.scores, self.weights)
        rows: list[tuple[str, ...]] = [header]
        for name, n_own, remark, values in zip(
            self.names, self.n_own, self.remark, zip(*columns, strict=True), strict=True
        ):
            cells = ["-" if np.isnan(value) else f"{value:z.3f}" for value in values]
            cells[2] += f" at {n_own}"
            rows.append((name, *cells, remark))
        if (self.n_present < len(self.labels)).any():
            counts = ("samples", *map(str, self.n_present))
            rows = [(row[0], count, *row[1:]) for row, count in zip(rows, counts, strict=True)]
            header = rows[0]
        lines = [f"{self._extent()}, score {self.score:.3f}"]
        lines += aligned(rows, [name in ("view", "remark") for name in header])
        lines += self._weak_views()
        lines += [f"! {finding}" for finding in self.findings]
        is_fine = not self.findings and all(remark in ("", DECISIVE) for remark in self.remark)
        return "\n".join([*lines, "nothing to worry about"] if is_fine else lines)

    def _weak_views(self) -> list[str]:
        """Return a line for each cluster in which some view has less than half of an equal weight."""
        names, weights = self.names[: self.sample_weights.shape[1]], self.cluster_weights
        weak = np.flatnonzero(weights.min(axis=1) < _WEAK / len(names))
        texts = [", ".join(f"{name} {w:.2f}" for name, w in zip(names, weights[c], strict=True)) for c in weak]
        labels = np.unique(self.labels)[weak]
        return [f"weights of the views in cluster {label}: {text}" for label, text in zip(labels, texts, strict=True)]

    def _extent(self) -> str:
        n_clusters, n_given = len(np.unique(self.labels)), len(self.names) - (self.joint is not None)
        views = _count(n_given, "view") + ("" if self.joint is None else " and the joint view")
        return f"{views} of {len(self.labels)} samples, {n_clusters} clusters, t={self.t}"

    def to_frame(self) -> Any:
        """Return the report as a pandas DataFrame, a row for each view.

        Returns
        -------
        pandas.DataFrame
            With columns view, stay, alone, own, n_own, adds, score, weight, self_probability,
            n_components, n_isolated, n_present and remark.

        Examples
        --------
        >>> import mdt_fast as mdt
        >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
        >>> ops = mdt.build_operators(views)
        >>> mdt.view_report(ops, 3).to_frame().shape[0]
        2
        """
        pd = require("pandas", "to_frame")
        return pd.DataFrame({
            "view": self.names,
            "stay": self.stay,
            "alone": self.alone,
            "own": self.own,
            "n_own": self.n_own,
            "adds": self.adds,
            "score": self.scores,
            "weight": self.weights,
            "self_probability": self.self_probability,
            "n_components": self.n_components,
            "n_isolated": self.n_isolated,
            "n_present": self.n_present,
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

        Examples
        --------
        >>> import mdt_fast as mdt
        >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
        >>> ops = mdt.build_operators(views)
        >>> ax = mdt.view_report(ops, 3).plot()
        >>> type(ax).__name__
        'Axes'
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
    """Report what each base view knows: alone, of the clusters, and beyond the other views.

    Clusters may ignore a view. So each view is also judged by its own clusters, and by the information
    about the labels that no other view has. Beside the search for labels, each view is embedded four
    times: its walk, the mean of the other views, and two halves of its edges.

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
    >>> report.remark[0], report.remark[2]
    ('decisive for these clusters', 'no better than chance for these clusters')
    >>> int(report.weights.argmin()), report.findings
    (2, [])
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
    codes = check_labels(labels, ops.n_samples).astype(np.int64)
    steps = select_time(ops, n_jobs=n_jobs).t if isinstance(time, str) else time
    everything, k = range(ops.n_views), int(codes.max()) + 1
    how: dict[str, Any] = {"steps": steps, "seed": seed, "n_jobs": n_jobs}
    given = range(len(ops.given_names))
    others = {view: tuple(other for other in given if other != view) for view in everything}
    # With two given views, the others of one are the other alone, which is clustered once.
    groups = list(dict.fromkeys([*((view,) for view in everything), *filter(None, others.values())]))
    clusters = dict(zip(groups, own_clusters(ops, groups, k, **how), strict=True))
    own = [clusters[view,] for view in everything]
    # A view is judged by the samples that it has.
    has = ops.present.T
    adds = [
        added_information(codes[has[view]], own[view][has[view]], clusters[others[view]][has[view]], seed=seed)
        if others[view]
        else np.nan
        for view in everything
    ]
    stable = [stability(ops, view, k, **how) for view in everything]
    agreement = np.eye(ops.n_views)
    for view in everything:
        for other in range(view):
            both = has[view] & has[other]
            if both.sum() < min(2 * k, len(codes)):
                # Too few common samples to be compared.
                agreement[view, other] = agreement[other, view] = np.nan
                continue
            agreement[view, other] = agreement[other, view] = _agreement(own[view][both], own[other][both])
    stay, members = stay_of(ops, codes), ops.check(warn=False).members[: ops.n_views]
    report = ViewReport(
        names=ops.names[: ops.n_views],
        stay=stay,
        alone=np.array([_agreement(codes[has[view]], each[has[view]]) for view, each in enumerate(own)]),
        own=np.array([value for value, _ in stable]),
        n_own=np.array([number for _, number in stable]),
        adds=np.array(adds),
        scores=np.array([information(ops, each) for each in own]),
        score=information(ops, codes),
        weights=weights_of(stay),
        self_probability=np.array([m.mean_self_probability for m in members]),
        n_components=np.array([m.n_components for m in members]),
        n_isolated=np.array([m.n_isolated for m in members]),
        n_present=has.sum(axis=1),
        remark=[],
        findings=[],
        agreement=agreement,
        labels=np.asarray(labels),
        sample_weights=sample_weights(ops),
        t=steps,
        joint=ops.joint,
    )
    return replace(
        report,
        remark=[remark_of(report, v, near_identity=member.near_identity) for v, member in enumerate(members)],
        findings=findings_of(report, degenerate=is_degenerate(ops, codes, own=own)),
    )


def _agreement(a: NDArray[Any], b: NDArray[Any]) -> float:
    from sklearn.metrics import adjusted_mutual_info_score

    if not len(a):
        return float("nan")
    return float(adjusted_mutual_info_score(a, b))


def _count(n: int, noun: str) -> str:
    return f"{n} {noun}" if n == 1 else f"{n} {noun}s"
