"""Valid objects of the package, made from drawn views: what methods are called on, and what functions take."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

import mdt_fast as mdt

from .draw import Draw
from .views import square, walk


def plain_views(draw: Draw) -> list[Any]:
    """Return views without hostile numbers, so that the object itself can be made."""
    rng = draw.rng
    target = np.arange(draw.n) % draw.n_clusters
    scale = draw.choose(1.0, 1.0, 1e-6, 1e6)
    kind = draw.choose("f8", "f8", "f8", "f4")
    widths = [draw.choose(1, 2, 3, 5) for _ in range(draw.n_views)]
    draw.view_names += [f"view {v}" for v in range(len(widths))]
    draw.widths = widths
    return [
        (scale * (4.0 * rng.normal(size=(draw.n_clusters, d))[target] + rng.normal(size=(draw.n, d)))).astype(kind)
        for d in widths
    ]


def some_views(draw: Draw) -> list[Any]:
    """Return views without hostile numbers, of which some lack samples in a third of the cases."""
    Xs = plain_views(draw)
    if len(Xs) > 1 and draw.chance(0.35):
        has = draw.rng.random((draw.n, len(Xs))) < draw.choose(0.4, 0.7, 0.9)
        has[np.arange(draw.n), draw.rng.integers(len(Xs), size=draw.n)] = True
        has[draw.rng.permutation(draw.n)[:2]] = True
        for X, mask in zip(Xs, has.T, strict=True):
            X[~mask] = np.nan
    return Xs


def operators(draw: Draw) -> mdt.OperatorSet:
    """Return an operator set of views, affinities or walks, with some further members."""
    source = draw.choose("views", "views", "views", "views", "affinities", "walks")
    if source == "affinities":
        ops = mdt.OperatorSet.from_affinities([square(draw) for _ in range(draw.n_views)], n_jobs=draw.jobs)
    elif source == "walks":
        ops = mdt.OperatorSet.from_transitions([walk(draw) for _ in range(draw.n_views)], n_jobs=draw.jobs)
    else:
        Xs = some_views(draw)
        ops = mdt.build_operators(
            Xs,
            kernel=draw.choose("gaussian", "gaussian", "adaptive", "binary", "laplacian"),
            n_neighbors=draw.choose("log", "log", 1, min(5, _least_samples(Xs) - 1)),
            absent=draw.choose("borrow", "borrow", "stay"),
            scale=draw.choose(None, None, "auto", "standard"),
            symmetrize=draw.choose("mean", "mean", "max", "min"),
            joint=draw.choose(False, False, len(Xs) > 1),
            n_jobs=draw.jobs,
        )
    for _ in range(draw.choose(0, 0, 0, 1, 2)):
        more: list[Callable[[], mdt.OperatorSet]] = [
            ops.with_identity, ops.with_mean, ops.with_uniform, ops.with_teleport,
            functools.partial(ops.with_powers, [draw.integer(1, 4)]),
        ]  # fmt: skip
        ops = draw.choose(*more)()
    draw.view_names += ops.names
    return ops


def _least_samples(Xs: list[Any]) -> int:
    return min(int((~np.isnan(X[:, 0])).sum()) for X in Xs)


def steps(draw: Draw, n_members: int) -> Any:
    """Return a sequence of members, or weights on the simplex."""
    t = draw.choose(1, 1, 2, 3, 5, 9)
    if draw.chance(0.6):
        return draw.rng.integers(0, n_members, t).tolist()
    weights = draw.rng.dirichlet(np.ones(n_members), t)
    return weights if draw.chance(0.7) else np.eye(n_members)[draw.rng.integers(0, n_members, t)]


def trajectory(draw: Draw) -> mdt.Trajectory:
    """Return a trajectory of an operator set."""
    ops = operators(draw)
    return ops.trajectory(steps(draw, len(ops)))


def fused_graph(draw: Draw) -> mdt.FusedGraph:
    """Return the fused graph of an operator set."""
    return mdt.fused_graph(operators(draw))


def result(draw: Draw) -> mdt.SearchResult:
    """Return the result of a short search."""
    draw.n = max(draw.n, 5)
    draw.n_clusters = min(draw.n_clusters, draw.n - 1)
    strategy: Any = draw.choose(
        "beam", "greedy", mdt.strategies.RandomSequences(3), mdt.strategies.RandomWeights(3), "mean",
        mdt.strategies.Consensus(6), mdt.strategies.MCTS(5),
    )  # fmt: skip
    return mdt.search(operators(draw), draw.n_clusters, strategy=strategy, t=2, max_evaluations=12, n_jobs=draw.jobs)


def embedding(draw: Draw) -> mdt.Embedding:
    """Return an embedding of a trajectory."""
    draw.n = max(draw.n, 5)
    return mdt.embed(trajectory(draw), draw.integer(1, 3))


def time_selection(draw: Draw) -> mdt.TimeSelection:
    """Return a choice of the diffusion time."""
    return mdt.select_time(operators(draw), max_t=12, n_jobs=draw.jobs)


def cluster_selection(draw: Draw) -> mdt.ClusterSelection:
    """Return a choice of the number of clusters."""
    draw.n = max(draw.n, 12)
    return mdt.select_n_clusters(operators(draw), t=2, max_clusters=4, n_jobs=draw.jobs)


def view_report(draw: Draw) -> mdt.ViewReport:
    """Return a report on views."""
    draw.n = max(draw.n, 12)
    return mdt.view_report(operators(draw), draw.n_clusters, t=2, n_jobs=draw.jobs)


def fitted(draw: Draw, estimator: type) -> Any:
    """Return an estimator that is fitted on several views."""
    draw.n = max(draw.n, 8)
    draw.n_clusters = min(draw.n_clusters, draw.n - 1)
    options: dict[str, Any] = {"n_jobs": draw.jobs}
    if estimator in (mdt.MDT, mdt.MDTClustering):
        options |= {"t": 2, "strategy": draw.choose("greedy", "mean", mdt.strategies.Consensus(5))}
        options |= {"n_clusters": draw.n_clusters}
        if estimator is mdt.MDTClustering and draw.chance(0.2):
            options |= {"n_clusters": None}
        if estimator is mdt.MDT:
            options |= {"strategy": draw.choose("mean", [0, 0], mdt.strategies.Contrastive(steps=3))}
    else:
        draw.n_views = 2
    if draw.chance(0.3):
        options |= {"absent": draw.choose("borrow", "stay"), "scale": draw.choose(None, "auto", "standard", "unit")}
    return estimator(**options).fit(some_views(draw))


def neighbors_transformer(draw: Draw) -> Any:
    """Return a transformer that is fitted on one view."""
    draw.n_views = 1
    (X,) = plain_views(draw)
    return mdt.NeighborsTransformer(
        draw.integer(1, min(5, draw.n - 1)), metric=draw.choose("euclidean", "euclidean", "manhattan", "cosine"),
        mode=draw.choose("distance", "distance", "connectivity"), method=draw.choose("auto", "exact"),
        n_jobs=draw.jobs,
    ).fit(X if draw.chance(0.8) else sparse.csr_array(X))  # fmt: skip


@functools.cache
def study() -> Any:
    """Return a small study; the same for all cases of a process."""
    rng = np.random.default_rng(0)
    target = np.arange(24) % 3
    Xs = [3.0 * rng.normal(size=(3, 2))[target] + rng.normal(size=(24, 2)) for _ in range(2)]
    return mdt.study.run({"blobs": (Xs, target)}, ["AD", "MDT-Rand"], n_runs=2, n_searches=1, progress=False)


INSTANCES: dict[type, Callable[[Draw], Any]] = {
    mdt.OperatorSet: operators,
    mdt.Trajectory: trajectory,
    mdt.FusedGraph: fused_graph,
    mdt.SearchResult: result,
    mdt.Embedding: embedding,
    mdt.TimeSelection: time_selection,
    mdt.ClusterSelection: cluster_selection,
    mdt.ViewReport: view_report,
    mdt.NeighborsTransformer: neighbors_transformer,
    mdt.Scoring: lambda draw: mdt.Scoring(),
    mdt.study.Study: lambda draw: study(),
    mdt.study.Table: lambda draw: study().table(),
}


def instance(draw: Draw, cls: type) -> Any:
    """Return a valid instance of a public class."""
    return INSTANCES[cls](draw) if cls in INSTANCES else fitted(draw, cls)
