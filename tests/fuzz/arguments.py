"""Arguments by the name of their parameter: valid values and the bounds of their range, and wrong ones of any type.

A parameter without a generator is an error of the fuzzer: `missing_generators` names it, and a test fails.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from scipy import sparse

import mdt_fast as mdt

from . import objects
from .draw import Draw
from .holes import any_views, masks, new_views, wrong_masks
from .targets import Target, all_targets
from .views import broken_matrix, broken_square, broken_views, frame, matrix, numbers, square, walk

OMITTED = object()
Generator = Callable[[Draw], Any]


def halved(distances: Any) -> Any:
    """Return a kernel that a user could give."""
    return 1.0 / (1.0 + distances)


def largest(graph: Any) -> float:
    """Return a bandwidth that a user could give."""
    return float(graph.max()) or 1.0


def doubled(X: Any) -> Any:
    """Return a scaling that a user could give."""
    return X * 2.0


def first_rows(X: Any) -> Any:
    """Return fewer samples than were given."""
    return X[:1]


def without_numbers(X: Any) -> Any:
    """Return a matrix of NaN."""
    return np.full(X.shape, np.nan)


def _scale(draw: Draw) -> Any:
    from sklearn.preprocessing import MaxAbsScaler, StandardScaler

    wrong = () if draw.is_clean else (first_rows, without_numbers)
    return draw.choose(None, "auto", "auto", "standard", "unit", doubled, StandardScaler(with_mean=False),
                       MaxAbsScaler(), *wrong)  # fmt: skip


def _align(draw: Draw) -> Any:
    return "outer" if draw.wants_alignment or draw.chance(0.1) else None


def _batches(draw: Draw) -> Any:
    """Return the batch of each sample, or None."""
    codes = draw.rng.integers(draw.choose(1, 2, 2, 3, 20), size=draw.n_rows)
    names = np.array(["a", "b b", "", *map(str, range(3, 20))])[codes]
    return draw.choose(None, codes, codes.tolist(), codes.astype(np.uint8), names, names.tolist(), names.astype(object))


def _package_list(draw: Draw) -> Any:
    """Return the path of a list of packages, or None."""
    if draw.chance(0.4):
        return None
    fields = ("Package: p{i}", "Section: {s}", "Description: some word{s} of text", "Depends: p0, p1 (>= 2) | p{s}",
              "Tag: role::program, use::{s}", " more", "no colon", "", "Section:", "Tag: ,")  # fmt: skip
    chosen = [fields[:5] if draw.is_clean or draw.chance(0.7) else tuple(draw.rng.permutation(fields))] * 12
    text = "\n\n".join("\n".join(each).format(i=i, s=i % 2) for i, each in enumerate(chosen))
    path = draw.folder / f"packages {draw.integer(0, 10**12)}"
    path.write_bytes(text.encode() + draw.choose(b"", b"\n", b"\xff\x00"))
    return draw.choose(path, str(path), draw.folder / "nothing here")


def balance(ops: Any, labels: Any, coordinates: Any) -> float:
    """Return a quality that a user could give."""
    return -float(np.bincount(labels).max())


def ignore(*values: Any) -> None:
    """Take a progress report."""


def picks(*options: Any) -> Generator:
    """Return a generator of one of the options."""
    return lambda draw: draw.choose(*options)


def counts(low: int, high: int, *others: Any) -> Generator:
    """Return a generator of integers, in Python's type and in NumPy's, and of other values."""

    def generate(draw: Draw) -> Any:
        if others and draw.chance(0.3):
            return draw.choose(*others)
        return draw.choose(int, int, np.int64, np.uint16)(draw.integer(low, high))

    return generate


def per_view(generator: Generator) -> Generator:
    """Return a generator of one value, or sometimes of a list with one for each view."""

    def generate(draw: Draw) -> Any:
        return [generator(draw) for _ in range(draw.n_views)] if draw.chance(0.15) else generator(draw)

    return generate


def listed(generator: Generator) -> Generator:
    """Return a generator of a list with one value for each view."""
    return lambda draw: [generator(draw) for _ in range(draw.n_views)]


def _labels(draw: Draw) -> Any:
    labels = draw.rng.integers(0, draw.n_clusters, draw.n)
    labels[: draw.n_clusters] = np.arange(draw.n_clusters)[: draw.n]
    return draw.choose(np.asarray, np.asarray, list, np.int32, lambda x: x.astype(str), lambda x: x * 10 - 5)(labels)


def _neighbors(draw: Draw) -> Any:
    kind = draw.choose("auto", "exact", "approx", "approx", "object", "arrays", "graph", "broken graph")
    if kind in ("auto", "exact", "approx"):
        return kind
    if kind == "object":
        return mdt.ApproximateNeighbors(draw.choose(0.5, 0.9, 0.99, 1.0))
    k = draw.integer(1, max(1, min(5, draw.n - 1)))
    X = draw.rng.normal(size=(draw.n, 2))
    distances = np.sqrt(((X[:, np.newaxis] - X) ** 2).sum(axis=2))
    indices = np.argsort(distances + np.diag(np.full(draw.n, -1.0)), axis=1)[:, 1 : k + 1]
    if kind == "arrays":
        pair = indices, np.take_along_axis(distances, indices, axis=1)
        bad = draw.choose(0, 0, 0, 10**8, -1, draw.n) if not draw.is_clean else 0
        indices[-1, -1] = bad or indices[-1, -1]
        return pair
    if kind == "broken graph" and not draw.is_clean:
        return broken_square(draw)
    rows = np.repeat(np.arange(draw.n), k)
    entries = (np.take_along_axis(distances, indices, axis=1).ravel(), (rows, indices.ravel()))
    return draw.choose(sparse.csr_array, sparse.coo_array)(entries, shape=(draw.n, draw.n))


def _hostile_strategy(draw: Draw) -> Any:
    """Return a strategy with numbers at and beyond the bounds of its options."""
    names = [name for name in mdt.strategies.__all__ if name not in ("Strategy", "Given", "Mean")]
    strategy = getattr(mdt.strategies, draw.choose(*names))
    draw.is_endless = True
    options = {}
    for field in dataclasses.fields(strategy):
        draw.view_names.append(field.name)
        if draw.chance(0.6):
            options[field.name] = draw.choose(
                0, 1, 2, 1.0, 0.5, 10**4, 2 * 10**7, 2**32 - 1, 10**9, 10**12, math.nan, math.inf, None, "last", "right"
            )
    return strategy(**options)


def _strategy(draw: Draw) -> Any:
    if not draw.is_clean and draw.chance(0.4):
        return _hostile_strategy(draw)
    s = mdt.strategies
    options: tuple[Callable[[], Any], ...] = (
        lambda: "beam", lambda: "greedy", lambda: "mean", lambda: s.MCTS(draw.integer(1, 12)),
        lambda: s.Beam(draw.integer(1, 3), max_steps=draw.integer(1, 4)), lambda: s.Consensus(draw.integer(1, 10)),
        lambda: s.RandomSequences(draw.integer(1, 5)), lambda: s.RandomWeights(draw.integer(1, 5)),
        lambda: s.Contrastive(steps=draw.integer(1, 4)), lambda: s.Direct(draw.integer(1, 8)),
        lambda: s.CMA(draw.integer(1, 8)), lambda: s.EpsilonGreedy(max_steps=2), lambda: s.Exhaustive(max_steps=2),
        lambda: s.Given(objects.steps(draw, draw.n_views)), lambda: objects.steps(draw, draw.n_views),
    )  # fmt: skip
    return draw.choose(*options)()


def _quality(draw: Draw) -> Any:
    names = ("auto", "calinski_harabasz", "davies_bouldin", "silhouette", "persistence", "information", "contrastive")
    kind = draw.choose(*names, *names, "callable", "scoring", None)
    if kind == "callable":
        return balance
    if kind == "scoring":
        return mdt.Scoring(draw.choose(*names), n_init=draw.integer(1, 3), n_components=draw.integer(1, 4))
    return kind


def _rows(draw: Draw) -> Any:
    rows = draw.rng.integers(0, draw.n, draw.integer(1, 5))
    return draw.choose(np.asarray, list, lambda x: int(x[0]), np.uint32)(rows)


def _block(draw: Draw) -> Any:
    return matrix(draw, draw.n, draw.integer(1, 4))


def _vector(draw: Draw) -> Any:
    return draw.choose(np.ravel, np.ravel, list, np.asarray)(numbers(draw, draw.n, 1)[:, 0])


def _graph(draw: Draw) -> Any:
    """Return a fused graph, or a symmetric sparse matrix."""
    if draw.chance(0.6):
        return objects.fused_graph(draw)
    dense = np.abs(draw.rng.normal(size=(draw.n, draw.n))) * (draw.rng.random((draw.n, draw.n)) < 0.4)
    return draw.choose(sparse.csr_array, sparse.csr_matrix, sparse.coo_array)(dense + dense.T)


def _view_weights(draw: Draw) -> Any:
    weights = draw.rng.random(draw.n_views)
    return draw.choose(None, "auto", weights, weights.tolist(), np.ones(draw.n_views), np.eye(draw.n_views)[0])


def _view_slices(draw: Draw) -> Any:
    return draw.choose(None, None, [(0, 1)], [slice(0, 1), slice(1, 2)], {"camera": [0], "scanner": (0, 1)})


def _time_limit(draw: Draw) -> Any:
    limit = draw.choose(None, None, 0.01, 0, 1e-9, 5, 1e9)
    draw.repeatable &= limit is None
    return limit


def _given_operators(draw: Draw) -> Any:
    ops = objects.operators(draw)
    draw.n_views, draw.n = ops.n_views, ops.n_samples
    return ops


def _axes(draw: Draw) -> Any:
    from matplotlib.figure import Figure

    return draw.choose(None, Figure().add_subplot())


def _map_coordinates(draw: Draw) -> Any:
    return np.nan_to_num(numbers(draw, draw.n, 2))


def _curves(draw: Draw) -> Any:
    return {"one": draw.rng.random(5), "two": draw.rng.random((3, 5))}


def _json_result(draw: Draw) -> Any:
    found = objects.result(draw).to_dict()
    draw.view_names += list(found)
    if not draw.is_clean:
        key = draw.choose(*found)
        found[key] = wrong_value(draw)
    return found


def _path(name: str) -> Generator:
    return lambda draw: draw.choose(str, lambda path: path)(draw.folder / f"{name} {draw.integer(0, 10**12)}")


def _study_data(draw: Draw) -> Any:
    Xs = objects.plain_views(draw)
    return {"blobs": (Xs, np.arange(draw.n) % draw.n_clusters)}


def _new_rows(draw: Draw) -> Any:
    """Return new samples of a single view, with as many columns as it has."""
    return matrix(draw, draw.choose(1, 2, 5, 12), draw.widths[0] if draw.chance(0.9) else draw.integer(1, 4))


_unit = picks(0.0, 0.5, 0.85, 1.0, 1, np.float32(0.25), 1e-300)
_positive = picks(1e-12, 1e-6, 1e-3, 0.5, 1, 0, np.float32(0.01), 1e300)
_flag = picks(True, False, np.True_)

GENERATORS: dict[str, Generator] = {
    "Ks": listed(square), "Ps": listed(walk), "W": objects.trajectory, "X": any_views, "Xs": any_views,
    "Xs_new": new_views, "absent": picks("borrow", "borrow", "stay"),
    "affinities": lambda draw: [np.abs(numbers(draw, 3, draw.n)) for _ in range(draw.n_views)],
    "align": _align, "alpha": _unit, "available": _package_list,
    "anisotropy": per_view(picks(0.0, 0.5, 1.0, 1, 3.0, 1e-300)), "answer": picks("any", "last"), "ax": _axes,
    "block_rows": counts(1, 40), "client": picks(None),
    "bandwidth": per_view(picks("max-min", "max-min", 1.0, 1e-3, 1e3, 1e-300, 1e300, largest)),
    "batch_size": counts(1, 20, None, "auto"), "batches": _batches,
    "by_search": picks({0: [0.5, 0.6], 1: [0.7]}, {0: [0.1]}, {0: [1, 2, 3]}),
    "cell_rows": counts(8, 60), "cells": picks({}),
    "center_box": picks((-10.0, 10.0), (0, 1), (0.0, 0.0), [-1, 1]), "checkpoint": picks(None),
    "cluster_std": picks(1.0, 0.0, [1.0, 2.0], 1e300), "cmap": picks("Blues", "viridis"), "colorbar": _flag,
    "coordinates": _block, "curves": _curves, "d": _json_result, "data_home": _path("data"),
    "dataset": picks("blobs", "other"), "datasets": _study_data, "decomposition": picks("svd", "svd", "eigen"),
    "dimensions": picks((0, 1), [0], (0,), (1, 0), (0, 1, 2)), "download_if_missing": _flag, "drop_first": _flag,
    "drop_unknown": _flag, "dtype": picks(None, "float32", "float64", np.float32, np.float64, "f4"), "epsilon": _unit,
    "evaluations": counts(1, 20), "exploration": _positive, "features": picks(None), "folder": _path("folder"),
    "gradient": _flag, "graph": _graph, "groups": picks(None, {"one": "a", "two": "b"}), "grow": picks("left", "right"),
    "include_self": _flag, "index": counts(0, 2), "indices": picks([0], [0, 0], (), np.array([0])),
    "joint": picks(False, True, "auto"), "landmark_choice": picks("uniform", "spread", "density"),
    "landmarks": lambda draw: draw.choose(None, None, None, None, None, draw.n // 2, draw.n, 10 * draw.n),
    "kept": picks(0.25, 1.0, 1e-9, 0.5, 1),
    "kernel": per_view(picks("gaussian", "laplacian", "adaptive", "binary", "correlation", halved)),
    "kind": picks("gaussian", "dropout", "features"), "label": picks("AMI", "", "$x$"), "labels": _labels,
    "learning_rate": _positive, "legend": picks(None, True, False, "auto"), "max_clusters": counts(2, 8, None),
    "max_evaluations": counts(1, 20, None), "max_iter": counts(1, 300), "max_steps": counts(1, 5, None),
    "max_t": counts(1, 30), "measure": picks("ami", "ari", "nmi", "acc", "ch"),
    "member": picks(0, -1, "view 0", np.int64(0), 1, "mean"),
    "members": picks(None, ["mean"], ["identity", "uniform"], [2, "teleport"]),
    "memory_budget": picks(2**30, 10**6), "memory_limit": picks(None, 2**30, 2**34), "method": picks("exact"),
    "methods": picks(["AD"], ["MDT-Rand", "AD"], ["MDT-BSC"]), "mode": picks("distance", "distance", "connectivity"),
    "metric": per_view(picks("euclidean", "euclidean", "cosine", "correlation", "manhattan", "precomputed",
    "auto", "auto")),
    "n": counts(1, 6), "n_clusters": lambda draw: draw.choose(*(draw.n_clusters,) * 5, 2, 1, draw.n - 1, draw.n,
    "auto", None),
    "n_components": counts(1, 6, None), "n_features": picks(3, 1, [2, 3], (4, 4)), "n_init": counts(1, 4),
    "n_jobs": lambda draw: draw.jobs, "n_merged": picks(0, 1, [0, 1]),
    "n_neighbors": per_view(lambda draw: draw.choose("log", "log", 1, 2, 5, max(1, draw.n - 1), draw.n, np.int64(3))),
    "n_runs": counts(1, 3), "n_samples": counts(2, 60), "n_searches": counts(1, 2), "n_steps": counts(1, 6),
    "n_trajectories": counts(1, 5), "n_vectors": counts(1, 40, None), "n_views": counts(1, 3),
    "name": picks(*mdt.baselines.names()), "names": lambda draw: [f"name {v}" for v in range(draw.n_views)],
    "neighbors": per_view(_neighbors), "node_size": picks(None, 3.0, 0), "noise": picks(0.0, 0.5, [0.1, 0.2], 1),
    "operator": picks("similarity", "difference"), "ops": _given_operators, "other": objects.operators,
    "out": picks(None),
    "path": _path("result"), "path_color": picks("crimson", "k"), "per_view": _flag, "playouts": counts(1, 30),
    "powers": picks([1], [2, 3], (1, 1), np.array([2]), range(1, 3)), "prepared": _flag,
    "present": masks,
    "preset": picks(None, None, "published"), "probabilities": lambda draw: draw.choose(None, np.full(draw.n_views,
    1 / draw.n_views)),
    "progress": picks(None, False, ignore), "prr": picks({}), "prune_below": picks(0.0, 1e-3, 0.5, 1.0),
    "prune_each_step": _flag, "quality": _quality, "random_state": Draw.random_state, "recall": picks(0.5, 0.9, 0.99,
    1.0, 1e-9),
    "reference": picks("AD", "MDT-Rand"), "report": objects.view_report,
    "resolution": picks(1.0, 0.0, 0.1, 5, 1e6), "result": objects.result, "rows": _rows,
    "s": _unit, "scale": per_view(_scale),
    "sample_size": counts(2, 50, None), "seeds": picks((1, 2)), "selected": picks(None, 2, 2.5),
    "selection": objects.time_selection, "solver": picks("auto", "auto", "exact"),
    "spread": picks(None), "start": lambda draw: draw.choose(None, numbers(draw, draw.n, draw.integer(1, 4))),
    "step": counts(0, 2, "view 0"),
    "steps": lambda draw: objects.steps(draw, draw.n_views),
    "strategy": _strategy, "symmetrize": per_view(picks("mean", "max", "min")), "t": counts(1, 6, "auto"),
    "time_limit": _time_limit, "times": picks(range(5), np.arange(5)), "title": picks(None, "title"),
    "to": picks("uniform", 2, 3), "tol": picks(1e-3, 1e-6, 1e-12, 0.1, 0, 1), "top": counts(1, 8, None),
    "trajectories": counts(1, 12), "trajectory": objects.trajectory, "values": picks({"one": 0.5, "two": [0.1, 0.9]}),
    "variant": picks("paper", "published"), "verbose": picks(False), "view": counts(0, 2, None),
    "view_slices": _view_slices,
    "view_weights": _view_weights, "warn": _flag, "weighting": picks("uniform", "stationary"), "width": counts(1, 4),
    "x": _vector, "xlabel": picks("t"), "y": picks(None),
    "zero_rows": picks("absent", "absent", "keep", "error"),
}  # fmt: skip

# The searches in one view.
_SEARCHES = ("nearest_neighbors", "NeighborsTransformer.fit", "NeighborsTransformer.fit_transform")
_OF_SEARCHES: dict[str, Generator] = {
    "X": matrix,
    "n_neighbors": lambda draw: draw.choose(1, 1, 2, 5, max(1, draw.n - 1), draw.n),
    "method": picks("exact", "exact", "auto", "approx", mdt.ApproximateNeighbors(0.9)),
    "metric": picks("euclidean", "cosine", "correlation", "manhattan"),
}
# Generators that differ from those of the same name elsewhere.
SPECIAL: dict[str, Generator] = {
    "MDT.impute.view": picks(0, 0, 1, 2, "view 0", "view 1", np.int64(0), "joint"),
    "MDTClustering.impute.view": picks(0, 0, 1, 2, "view 0", "view 1", np.int64(0), "joint"),
    "k_means.X": matrix,
    "FusedGraph.nearest.n_neighbors": counts(1, 6),
    "leiden.n_clusters": counts(1, 6, None),
    "MDT.fused_graph.n_neighbors": counts(1, 12, None),
    "MDTClustering.fused_graph.n_neighbors": counts(1, 12, None),
    **{f"{name}.{argument}": generator for name in _SEARCHES for argument, generator in _OF_SEARCHES.items()},
    "NeighborsTransformer.transform.X": _new_rows,
    "select_time.method": picks("auto", "exact", "spectral", "stochastic"),
    "select_time.ops": lambda draw: draw.choose(objects.operators, objects.operators, objects.trajectory)(draw),
    "Trajectory.matmat.X": _block,
    "Trajectory.rmatmat.X": _block,
    "store_neighbors.X": matrix,
    "store_neighbors.n_neighbors": _OF_SEARCHES["n_neighbors"],
    "store_neighbors.metric": _OF_SEARCHES["metric"],
    "store_neighbors.out": lambda draw: draw.folder / f"graph {draw.integer(0, 10**12)}{draw.choose('', '.zarr')}",
    "strategies.Contrastive.steps": counts(1, 40),
    "quality.contrastive_loss.W": lambda draw: objects.steps(draw, draw.n_views),
    "study.run.n_jobs": picks(1),
    "study.run.rows": picks(None),
    "study.Study.cell.method": picks("AD", "MDT-Rand"),
    "study.Study.scores.method": picks("AD", "MDT-Rand"),
    "study.Study.joined.other": lambda draw: objects.study(),
    "study.Table.methods": picks(["AD"]),
    "study.Table.datasets": picks(["blobs"]),
    "fused_graph.weights": lambda draw: draw.choose(None, None, np.ones(draw.n_views), [1.0], [0.0, 1.0]),
    "layout.method": picks("auto", "umap", "umap", "tsne"),
    "leiden.graph": lambda draw: draw.choose(objects.fused_graph, square)(draw),
    "plot.map.method": picks("auto", "umap", "umap", "tsne"),
    "plot.map.names": _flag,
    "plot.map.source": lambda draw: draw.choose(objects.fused_graph, _map_coordinates)(draw),
    "plot.weights.names": picks(None),
    "plot.quality.spread": picks(None),
    "plot.embedding.coordinates": lambda draw: np.nan_to_num(numbers(draw, draw.n, 3)),
}


def _generator(target: Target, name: str) -> Generator | None:
    special = SPECIAL.get(f"{target.name}.{name}")
    if special is None and name == "X" and hasattr(target.owner, "fit") and not target.constructs:
        return new_views
    return GENERATORS.get(name) if special is None else special


def missing_generators() -> list[str]:
    """Return the parameters of public functions for which nothing is drawn."""
    return [
        f"{target.name}.{name}"
        for target in all_targets().values()
        for name in target.parameters
        if _generator(target, name) is None
    ]


def draw_arguments(draw: Draw, target: Target) -> dict[str, Any]:
    """Return the keyword arguments of one call."""
    # Operators and views come first: the other arguments have to fit their samples and views.
    order = sorted(target.parameters, key=lambda name: name not in ("ops", "W", "X", "Xs"))
    drawn = {name: _draw_argument(draw, target, name, target.parameters[name]) for name in order}
    if "Xs_new" in drawn and "affinities" in drawn and draw.chance(0.8):
        # One of the two is expected.
        drawn["affinities"] = OMITTED
        drawn["Xs_new"] = new_views(draw) if drawn["Xs_new"] is OMITTED else drawn["Xs_new"]
    if draw.is_endless and "time_limit" in target.parameters:
        drawn["time_limit"], draw.repeatable = 0.5, False
    return {name: drawn[name] for name in target.parameters if drawn[name] is not OMITTED}


def _draw_argument(draw: Draw, target: Target, name: str, parameter: inspect.Parameter) -> Any:
    # Drawn in any case, so that the other arguments do not depend on it.
    omitted = draw.chance(draw.omitted_share) and parameter.default is not inspect.Parameter.empty
    if omitted:
        draw.repeatable &= name != "random_state" or parameter.default is not None
        return OMITTED
    if name == "present" and draw.must_refuse in ("hole", "sparse hole"):
        # A mask may hide the row.
        draw.must_refuse = ""
    if draw.is_wrong():
        return wrong_argument(draw, name, target.name)
    generator = _generator(target, name)
    assert generator is not None, f"no generator for {target.name}.{name}"
    return generator(draw)


def wrong_argument(draw: Draw, name: str, target: str) -> Any:
    """Return a value that a parameter of this name should refuse, or might."""
    draw.broken = ""
    draw.repeatable &= name not in ("random_state", "time_limit")
    if name == "y" and draw.chance(0.5):
        if target not in _IGNORE_TARGETS:
            draw.must_refuse = draw.must_refuse or "a 2-D y"
        return numbers(draw, draw.n, 2)
    if name == "present":
        draw.masks = None
        return draw.choose(wrong_masks, wrong_masks, wrong_value)(draw)
    if name in ("X", "Xs", "Xs_new"):
        draw.known = None
        value = draw.choose(broken_views, broken_views, wrong_value)(draw)
        draw.must_refuse = draw.must_refuse or draw.broken
        return value
    if name in ("Ks", "Ps"):
        return draw.choose(lambda d: [broken_square(d)], lambda d: [square(d), broken_square(d)], wrong_value)(draw)
    if name in _ARRAYS and draw.chance(0.5):
        return draw.choose(broken_matrix, broken_square, broken_views)(draw)
    if name == "n_jobs":
        return draw.choose(None, 0, "two", 1.5, [1], object(), 2000, -1)
    if name in _PATHS:
        # Nothing that could be written to beside the files of the fuzzer.
        return draw.choose(3.5, [1], object(), b"\xff")
    return wrong_value(draw)


_ARRAYS = frozenset({
    "features", "affinities", "labels", "coordinates", "x", "start", "steps", "bandwidth", "neighbors", "rows", "y",
    "W",
})  # fmt: skip
# A pipeline may end in a regression with several targets.
_IGNORE_TARGETS = frozenset({"NeighborsTransformer.fit", "NeighborsTransformer.fit_transform"})
_PATHS = frozenset({"path", "folder", "data_home", "available", "checkpoint", "rows"})


def wrong_value(draw: Draw) -> Any:
    """Return a value of any type."""
    makers: tuple[Callable[[], Any], ...] = (
        *(functools.partial(lambda value: value, value) for value in _WRONG),
        lambda: (i for i in range(3)),
        lambda: np.ma.masked_array([1.0, 2.0], [True, False]),
        lambda: broken_matrix(draw),
        lambda: frame(draw, draw.rng.normal(size=(3, 2))),
        lambda: -draw.integer(1, 10),
        lambda: draw.integer(10**3, 10**5),
        lambda: float(draw.rng.normal() * 10.0 ** draw.integer(-300, 300)),
    )
    return draw.choose(*makers)()


_WRONG: tuple[Any, ...] = (
    None, "", "nonsense", "auto", "log", "3", "\0", "\ud800", b"bytes", True, False, Ellipsis, NotImplemented,
    object(), int, len,
    0, -1, 1, 2**31 - 1, 2**31, 2**32 - 1, 2**32, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 10**9, 10**12, -(2**63), 10**30,
    10**400,
    0.0, -0.0, 1.5, -1.5, 5e-324, 1e-300, 1.7e308, -1.7e308, math.nan, math.inf, -math.inf, 2j,
    Decimal("0.5"), Fraction(1, 3), np.float64("nan"), np.float16(2.0), np.int8(-1), np.uint64(2**64 - 1),
    np.bool_(True),
    np.str_("auto"), np.datetime64("2026-01-01"), np.timedelta64(1, "s"), np.array(3), np.array([]), np.array([1, 2]),
    np.array("a"),
    np.ones((2, 2, 2)), np.array([None]), np.array([[np.nan]]), [], (), {}, set(), [1], [1, 2, 3], ["a", "b"], [[1],
    [1, 2]], [None],
    {"camera": 1}, {1: 2}, {"a": None}, range(3), range(10**12), slice(None), slice(0, 1), memoryview(b"abc"),
    frozenset({1}), Exception("x"),
)  # fmt: skip
