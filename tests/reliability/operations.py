"""Public functions that can run long, at sizes where they run for seconds; for interrupts and memory limits.

`QUICK` names the public functions that end at once at any size that fits in memory. A test checks that every public
function is in one of the two.
"""

from __future__ import annotations

import functools
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import mdt_fast as mdt


@dataclass(frozen=True)
class Operation:
    """One call of a public function.

    Attributes
    ----------
    target : str
        Name of the function, as in `tests.fuzz.targets`.
    size : str
        The size and the options that matter.
    prepare : callable
        Makes what the call needs; not timed.
    call : callable
        Takes what `prepare` made.
    """

    target: str
    size: str
    prepare: Callable[[], Any]
    call: Callable[[Any], Any]

    @property
    def name(self) -> str:
        """Name of the function and the size."""
        return f"{self.target}, {self.size}"


@functools.cache
def views(n: int, d: int = 10) -> list[Any]:
    """Return two views of ten clusters that overlap."""
    rng = np.random.default_rng(0)
    target = np.arange(n) % 10
    return [3.0 * rng.normal(size=(10, d))[target] + rng.normal(size=(n, d)) for _ in range(2)]


@functools.cache
def views_with_holes(n: int, d: int = 10) -> list[Any]:
    """Return two views of which each lacks a fifth of the samples, none of them the same."""
    first, second = (X.copy() for X in views(n, d))
    first[::5] = np.nan
    second[1::5] = np.nan
    return [first, second]


@functools.cache
def operators_with_holes(n: int) -> mdt.OperatorSet:
    """Return the operators of two views that lack samples."""
    return mdt.build_operators(views_with_holes(n), n_jobs=1)


@functools.cache
def operators(n: int) -> mdt.OperatorSet:
    """Return the operators of two views."""
    return mdt.build_operators(views(n), n_jobs=1)


def trajectory(n: int, steps: tuple[int, ...] = (0, 1, 0)) -> mdt.Trajectory:
    """Return a trajectory of the operators of two views."""
    return operators(n).trajectory(list(steps))


def labels(n: int) -> Any:
    """Return the clusters of the views."""
    return np.arange(n) % 10


def _clustering(n: int, **options: Any) -> Any:
    return mdt.MDTClustering(10, t=3, n_jobs=1, strategy=mdt.strategies.Consensus(8), **options).fit(views(n))


def _embedder(n: int) -> Any:
    return mdt.MDT(2, strategy=[0, 1], n_jobs=1).fit(views(n))


def _embedder_with_holes(n: int, d: int) -> Any:
    views_of_model = [views_with_holes(n)[0], views_with_holes(n, d)[1]]
    return mdt.MDT(2, strategy=[0, 1] * 20, n_jobs=1).fit(views_of_model)


def _searches() -> list[Operation]:
    s = mdt.strategies
    long: dict[str, tuple[int, Any]] = {
        "Beam(3)": (5000, s.Beam(3, max_steps=8)),
        "MCTS(500)": (5000, s.MCTS(500)),
        "EpsilonGreedy": (5000, s.EpsilonGreedy(max_steps=30)),
        "Exhaustive": (3000, s.Exhaustive(max_steps=9)),
        "RandomSequences(500)": (5000, s.RandomSequences(500)),
        "RandomSequences(2 * 10**7)": (500, s.RandomSequences(2 * 10**7)),
        "RandomWeights(500)": (5000, s.RandomWeights(500)),
        "Consensus(128)": (5000, s.Consensus(128)),
        "Contrastive": (3000, s.Contrastive(steps=400, batch_size=None, tol=0.0)),
        "Direct(1000)": (3000, s.Direct(1000)),
        "CMA(1000)": (3000, s.CMA(1000)),
    }
    return [
        Operation("search", f"{name}, N = {n}", functools.partial(operators, n), functools.partial(_search, strategy))
        for name, (n, strategy) in long.items()
    ]


def _search(strategy: Any, ops: mdt.OperatorSet) -> Any:
    return mdt.search(ops, 10, strategy=strategy, t=4, n_jobs=1)


def _baselines() -> list[Operation]:
    # The product of transposed walks and the multi-view maps take more memory and time.
    return [
        Operation(
            f"baselines.{cls.__name__}.fit",
            "N = 6000",
            functools.partial(views, 6000),
            lambda Xs, cls=cls: cls(50, n_jobs=1, tol=1e-9).fit(Xs),
        )
        for cls in (
            mdt.baselines.AffinityAddition, mdt.baselines.AlternatingDiffusion, mdt.baselines.CompositeDiffusion,
            mdt.baselines.CrossDiffusion, mdt.baselines.DiffusionMaps, mdt.baselines.IntegratedDiffusion,
            mdt.baselines.MeanDiffusion, mdt.baselines.MultiviewDiffusionMaps,
            mdt.baselines.PoweredAlternatingDiffusion,
        )
    ]  # fmt: skip


def _qualities() -> list[Operation]:
    scores = ("calinski_harabasz", "davies_bouldin", "information", "persistence", "silhouette")
    return [
        Operation(
            f"quality.{name}",
            "N = 20000",
            functools.partial(operators, 20000),
            lambda ops, name=name: getattr(mdt.quality, name)(ops, labels(20000)),
        )
        for name in scores
    ]


def _after_a_layout(graph: Any) -> Any:
    """Return a graph after UMAP has been compiled, during which an interrupt may be lost."""
    mdt.layout(mdt.fused_graph(operators(200)), method="umap")
    return graph


def _store_neighbors(X: Any) -> None:
    with tempfile.TemporaryDirectory() as folder:
        mdt.store_neighbors(X, 15, Path(folder) / "graph", cell_rows=10_000, n_jobs=1)


OPERATIONS: tuple[Operation, ...] = (
    Operation("build_operators", "exact, N = 30000", lambda: views(30000), lambda Xs: mdt.build_operators(Xs,
    n_jobs=1)),
    Operation("build_operators", "approx, N = 30000", lambda: views(30000),
              lambda Xs: mdt.build_operators(Xs, neighbors="approx", random_state=0, n_jobs=1)),
    Operation("build_operators", "joint, manhattan, N = 8000", lambda: views(8000),
              lambda Xs: mdt.build_operators(Xs, joint=True, metric="manhattan", n_jobs=1)),
    Operation("build_operators", "missing samples, joint, N = 20000", lambda: views_with_holes(20000),
              lambda Xs: mdt.build_operators(Xs, joint=True, n_jobs=1)),
    Operation("nearest_neighbors", "exact, N = 40000, d = 50", lambda: views(40000, 50)[0],
              lambda X: mdt.nearest_neighbors(X, 15, n_jobs=1)),
    Operation("nearest_neighbors", "approx, N = 40000, d = 50", lambda: views(40000, 50)[0],
              lambda X: mdt.nearest_neighbors(X, 15, method="approx", random_state=0, n_jobs=1)),
    Operation("store_neighbors", "N = 40000, d = 50", lambda: views(40000, 50)[0], _store_neighbors),
    Operation("NeighborsTransformer.fit_transform", "approx, N = 40000, d = 50", lambda: views(40000, 50)[0],
              lambda X: mdt.NeighborsTransformer(15, method="approx", n_jobs=1).fit_transform(X)),
    Operation("NeighborsTransformer.transform", "N = M = 40000, d = 50",
              lambda: mdt.NeighborsTransformer(15, n_jobs=1).fit(views(40000, 50)[0]),
              lambda transformer: transformer.transform(views(40000, 50)[1])),
    Operation("build_operators", "eight batches, N = 30000", lambda: views(30000),
              lambda Xs: mdt.build_operators(Xs, batches=np.arange(30000) % 8, n_jobs=1)),
    Operation("fused_graph", "N = 100000", lambda: operators(100000), mdt.fused_graph),
    Operation("leiden", "N = 30000", lambda: mdt.fused_graph(operators(30000)), mdt.leiden),
    Operation("layout", "UMAP, compiled, N = 20000", lambda: _after_a_layout(mdt.fused_graph(operators(20000))),
              lambda graph: mdt.layout(graph, method="umap")),
    Operation("layout", "t-SNE, N = 5000", lambda: mdt.fused_graph(operators(5000)),
              lambda graph: mdt.layout(graph, method="tsne")),
    Operation("k_means", "N = 100000, k = 50", lambda: views(100000)[0],
              lambda X: mdt.k_means(X, 50, n_init=50, random_state=0, n_jobs=1)),
    Operation("embed", "50 components, N = 20000", lambda: trajectory(20000), lambda W: mdt.embed(W, 50, tol=1e-12)),
    Operation("embed", "exact, N = 3000", lambda: trajectory(3000), lambda W: mdt.embed(W, 10, solver="exact")),
    Operation("embed", "eigen, N = 10000", lambda: trajectory(10000, (0, 0, 0)), lambda W: mdt.embed(W, 30,
    decomposition="eigen",
    tol=1e-12)),
    Operation("embed", "560 components, N = 2500", lambda: trajectory(2500), lambda W: mdt.embed(W, 560)),
    Operation("select_time", "exact, N = 2000", lambda: operators(2000), lambda ops: mdt.select_time(ops,
    method="exact", n_jobs=1)),
    Operation("select_time", "spectral, N = 2000", lambda: operators(2000), lambda ops: mdt.select_time(ops,
    method="spectral", view=0, n_jobs=1)),
    Operation("select_time", "stochastic, N = 30000", lambda: operators(30000),
              lambda ops: mdt.select_time(ops, method="stochastic", n_vectors=200, n_jobs=1)),
    Operation("select_n_clusters", "N = 10000", lambda: operators(10000), lambda ops: mdt.select_n_clusters(ops, t=3,
    n_jobs=1)),
    Operation("view_report", "N = 10000", lambda: operators(10000), lambda ops: mdt.view_report(ops, 10, t=3,
    n_jobs=1)),
    *_searches(),
    Operation("search", "missing samples, Beam(3), N = 5000", lambda: operators_with_holes(5000),
              functools.partial(_search, mdt.strategies.Beam(3, max_steps=8))),
    *_qualities(),
    Operation("quality.contrastive_loss", "gradient, N = 6000", lambda: trajectory(6000, (0, 1, 0, 1)),
              lambda W: mdt.quality.contrastive_loss(W.operators, W, gradient=True, n_jobs=1)),
    Operation("Trajectory.toarray", "N = 6000", lambda: trajectory(6000), lambda W: W.toarray()),
    Operation("Trajectory.tosparse", "N = 20000", lambda: trajectory(20000), lambda W: W.tosparse()),
    Operation("Trajectory.matmat", "N = 20000, 500 columns", lambda: (trajectory(20000, (0, 1) * 20), np.ones((20000,
    500))), lambda given: given[0].matmat(given[1])),
    Operation("Trajectory.rmatmat", "N = 20000, 500 columns", lambda: (trajectory(20000, (0, 1) * 20), np.ones((20000,
    500))), lambda given: given[0].rmatmat(given[1])),
    Operation("Trajectory.diffusion_distances", "500 rows, N = 20000", lambda: trajectory(20000),
    lambda W: W.diffusion_distances(np.arange(500))),
    Operation("Trajectory.stationary_distribution", "tol = 0, N = 20000", lambda: trajectory(20000),
    lambda W: W.stationary_distribution(0.0, 10**6)),
    Operation("OperatorSet.check", "powers, N = 20000", lambda: operators(20000).with_powers([64, 256]),
    lambda ops: ops.check(warn=False)),
    Operation("OperatorSet.new_rows", "N = M = 20000", lambda: operators(20000),
    lambda ops: ops.new_rows([X + 0.01 for X in views(20000)], n_jobs=1)),
    Operation("OperatorSet.remoteness", "N = M = 20000", lambda: operators(20000),
    lambda ops: ops.remoteness([X + 0.01 for X in views(20000)], n_jobs=1)),
    Operation("OperatorSet.new_rows", "missing samples, N = M = 20000", lambda: operators_with_holes(20000),
    lambda ops: ops.new_rows([X + 0.01 for X in views_with_holes(20000)], n_jobs=1)),
    Operation("OperatorSet.views", "borrowed rows, N = 50000", lambda: operators_with_holes(50000),
    lambda ops: ops.views),
    Operation("OperatorSet.from_affinities", "dense, N = 4000", lambda: _dense(4000),
    lambda K: mdt.OperatorSet.from_affinities([K], n_jobs=1)),
    Operation("OperatorSet.from_transitions", "dense, N = 4000", lambda: _stochastic(4000),
    lambda P: mdt.OperatorSet.from_transitions([P], n_jobs=1)),
    Operation("SearchResult.consensus", "50 trajectories, N = 10000", lambda: mdt.search(operators(10000), 10,
    strategy=mdt.strategies.RandomSequences(50), t=3),
              lambda found: found.consensus(50, n_jobs=1)),
    Operation("Embedding.transform", "N = M = 20000", lambda: mdt.embed(trajectory(20000), 10),
    lambda found: found.transform([X + 0.01 for X in views(20000)], n_jobs=1)),
    Operation("MDT.fit", "N = 3000", lambda: views(3000), lambda Xs: mdt.MDT(2, n_jobs=1).fit(Xs)),
    Operation("MDT.transform", "N = M = 20000", lambda: _embedder(20000),
    lambda model: model.transform([X + 0.01 for X in views(20000)])),
    Operation("MDT.impute", "500 features, N = 20000", lambda: _embedder_with_holes(20000, 500),
    lambda model: model.impute(1)),
    Operation("MDTClustering.fit", "N = 5000", lambda: views(5000), lambda Xs: mdt.MDTClustering(10, n_jobs=1).fit(Xs)),
    Operation("MDTClustering.predict", "N = M = 20000", lambda: _clustering(20000),
    lambda model: model.predict([X + 0.01 for X in views(20000)])),
    Operation("MDTClustering.assign", "N = M = 20000", lambda: _clustering(20000),
    lambda model: model.assign([X + 0.01 for X in views(20000)])),
    Operation("MDT.assign", "N = M = 20000", lambda: _embedder(20000),
    lambda model: model.assign([X + 0.01 for X in views(20000)])),
    Operation("MDTClustering.memberships", "N = M = 20000", lambda: _clustering(20000),
    lambda model: model.memberships([X + 0.01 for X in views(20000)])),
    *_baselines(),
    Operation("baselines.CrossDiffusion.fit", "three views, N = 3000", lambda: [*views(3000), views(3000, 9)[0]],
    lambda Xs: mdt.baselines.CrossDiffusion(5, n_jobs=1).fit(Xs)),
    Operation("study.run", "N = 1000", lambda: {"blobs": (views(1000), labels(1000))},
              lambda data: mdt.study.run(data, ["AD", "MDT-Rand", "MDT-BSC"], n_runs=20, n_jobs=1, progress=False)),
    Operation("datasets.make_multiview_blobs", "N = 300000", lambda: None,
    lambda _: mdt.datasets.make_multiview_blobs(300000)),
)  # fmt: skip


def _dense(n: int) -> Any:
    X = views(n)[0]
    squares = (X**2).sum(axis=1)
    return np.exp(-np.abs(squares[:, np.newaxis] + squares - 2 * X @ X.T) / 50.0)


def _stochastic(n: int) -> Any:
    K = _dense(n)
    return K / K.sum(axis=1, keepdims=True)


# Name prefixes of public functions that only read or make small objects, and of methods that are functions named above.
QUICK = (
    "ApproximateNeighbors", "ClusterSelection.", "Scoring", "strategies.", "plot.", "datasets.", "study.",
    "baselines.make", "baselines.names",
    "OperatorSet.__", "OperatorSet.affinities", "OperatorSet.given_names", "OperatorSet.has_absences",
    "OperatorSet.has_same_members", "OperatorSet.joint", "OperatorSet.mean", "OperatorSet.metrics",
    "OperatorSet.present", "OperatorSet.scales",
    "OperatorSet.stored_walks", "OperatorSet.trajectory", "OperatorSet.transitions", "OperatorSet.walk_matrix",
    "OperatorSet.with_", "SearchResult.from_dict",
    "SearchResult.load", "SearchResult.n_evaluations", "SearchResult.operators", "SearchResult.save",
    "SearchResult.to_", "SearchResult.trajectories",
    "Trajectory.H", "Trajectory.T", "Trajectory.__", "Trajectory.extend", "Trajectory.n_unconnected_parts",
    "Trajectory.sequence", "ViewReport.",
    "Trajectory.matvec", "Trajectory.rmatvec", "MDT.set_params", "MDTClustering.set_params",
    "NeighborsTransformer.fit", "FusedGraph.", "MDT.fused_graph", "MDTClustering.fused_graph",
    # `fit` and then an attribute, or one of the functions above on the fitted model.
    "MDT.fit_transform", "MDTClustering.fit_predict", "MDTClustering.remoteness", "MDTClustering.impute",
)  # fmt: skip


def is_covered(target: str) -> bool:
    """Return whether a public function is in the table, or is quick."""
    timed = {operation.target for operation in OPERATIONS}
    if target.startswith("baselines.") and target.endswith(("fit_transform", "transform")):
        return True
    return target in timed or target.startswith(QUICK)
