"""MDT and MDTClustering, against the functions that they put together, dense formulas and scikit-learn's habits."""

from __future__ import annotations

import copy
import functools
import inspect
import io
import pickle

import joblib
import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import sklearn
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import mdt_fast as mdt
from mdt_fast._clusters.labels import choose_labels
from mdt_fast._search.search import STRATEGIES

N, K, WIDTHS = 120, 3, (4, 3)
SLICES = [(0, 4), (4, 7)]
COLUMNS = [["a", "b", "c", "d"], ["e", "f", "g"]]
LABELS = [f"sample {i}" for i in range(N)]
# So many that no graph falls into parts.
GRAPH = {"n_neighbors": 40}
# Searches of a few candidates.
SMALL = {
    "random": {"t": 3, "search_options": {"n_samples": 4}},
    "beam": {"max_steps": 2},
    "greedy": {"max_steps": 3},
    "epsilon-greedy": {"max_steps": 3, "search_options": {"epsilon": 0.5}},
    "mcts": {"max_steps": 3, "search_options": {"n_playouts": 6}},
    "exhaustive": {"t": 2},
    "convex": {"t": 2, "search_options": {"n_samples": 4}},
    "direct": {"t": 2, "max_evaluations": 8},
    "cma": {"t": 2, "max_evaluations": 8},
    "contrastive": {"t": 2, "search_options": {"max_iter": 3}},
    "mean": {"t": 2},
}
# Those that find one trajectory.
SINGLE = [name for name in STRATEGIES if name not in ("consensus", "auto")]
both = pytest.mark.parametrize("make", [mdt.MDT, mdt.MDTClustering], ids=["MDT", "MDTClustering"])


@functools.cache
def loose(n=N, seed=0):
    """Two read-only views of three clusters that overlap, and the clusters."""
    rng = np.random.default_rng(seed)
    target = np.arange(n) % K
    views = [2 * rng.normal(size=(K, d))[target] + rng.normal(size=(n, d)) for d in WIDTHS]
    for view in views:
        view.flags.writeable = False
    return views, target


def views():
    return list(loose()[0])


def frames(index=None, columns=COLUMNS):
    return [pd.DataFrame(X, columns=names, index=index) for X, names in zip(views(), columns, strict=True)]


def whole():
    return np.hstack(views())


def whole_frame(index=None):
    return pd.concat(frames(index), axis=1)


def quick(make, **parameters):
    """An estimator of few candidates."""
    few = {"strategy": [0, 1]} if make is mdt.MDT else {"strategy": "beam", "n_clusters": K, "t": 1}
    return make(**{**GRAPH, **few, **parameters})


def carried(estimator, X):
    """What an estimator says of new samples."""
    return estimator.transform(X) if isinstance(estimator, mdt.MDT) else estimator.predict(X)


def of_training(estimator):
    return estimator.embedding_ if isinstance(estimator, mdt.MDT) else estimator.labels_


def assert_same_fit(estimator, other):
    np.testing.assert_array_equal(estimator.embedding_, other.embedding_, strict=True)
    np.testing.assert_array_equal(estimator.trajectory_.weights, other.trajectory_.weights)
    np.testing.assert_array_equal(of_training(estimator), of_training(other))


def composed(Xs, n_clusters=K, *, build=(), widen=None, search=(), embed=(), cluster=()):
    """Operators, search, embedding and clusters, by the functions."""
    ops = mdt.build_operators(Xs, **{**GRAPH, **dict(build)})
    ops = ops if widen is None else widen(ops)
    found = mdt.search(ops, n_clusters, **{"progress": False, **dict(search)})
    geometry = mdt.embed(found.trajectory, **{"n_components": n_clusters, **dict(embed)})
    if n_clusters is None:
        return ops, found, geometry, None
    judging = {name: value for name, value in dict(search).items() if name in ("quality", "view_weights")}
    how = {"n_init": 10, "random_state": 0, **judging, **dict(cluster)}
    return ops, found, geometry, choose_labels(ops, geometry.coordinates, n_clusters, **how)


def assert_composed(fitted, ops, found, geometry, clusters):
    """The same bits, save for the seconds that candidates took."""
    assert fitted.operators_.names == ops.names
    for name in ("parent", "depth", "score"):
        np.testing.assert_array_equal(fitted.search_history_[name], found.history[name])
    np.testing.assert_array_equal(fitted.trajectory_.weights, found.trajectory.weights)
    np.testing.assert_array_equal(fitted.search_result_.score, found.score)
    is_clustering = isinstance(fitted, mdt.MDTClustering)
    np.testing.assert_array_equal(fitted.score_, clusters.score if is_clustering else found.score)
    np.testing.assert_array_equal(fitted.embedding_, geometry.coordinates, strict=True)
    np.testing.assert_array_equal(fitted.singular_values_, geometry.singular_values)
    if is_clustering:
        np.testing.assert_array_equal(fitted.labels_, clusters.labels, strict=True)
        np.testing.assert_array_equal(fitted.cluster_centers_, clusters.centers, strict=True)


def as_arguments(parameters):
    """Parameters of an estimator as arguments of search."""
    rest = {name: value for name, value in parameters.items() if name != "search_options"}
    return {**rest, **parameters.get("search_options", {})}


def up_to_sign(coordinates, expected):
    """The same columns with the signs of others."""
    return coordinates * np.sign((coordinates * expected).sum(axis=0))


class Wrapped:
    """Something that NumPy can read and nothing else can."""

    def __init__(self, array):
        self._array = array

    def __array__(self, dtype=None, copy=None):
        return np.array(self._array, dtype=dtype)


def polars_frames():
    polars = pytest.importorskip("polars")
    return [polars.DataFrame(X, schema=names) for X, names in zip(views(), COLUMNS, strict=True)]


SEVERAL = {
    "list": views,
    "tuple": lambda: tuple(views()),
    "frames": frames,
    "polars": polars_frames,
    "nested lists": lambda: [X.tolist() for X in views()],
    "__array__": lambda: [Wrapped(X) for X in views()],
    "mixed": lambda: [frames()[0], np.asfortranarray(views()[1])],
}
ONE = {
    "array": whole,
    "rows": lambda: whole().tolist(),
    "tuple of rows": lambda: tuple(map(tuple, whole())),
    "frame": whole_frame,
    "polars": lambda: pytest.importorskip("polars").concat(polars_frames(), how="horizontal"),
    "__array__": lambda: Wrapped(whole()),
}
CUTS = {
    "pairs": SLICES,
    "slices": (slice(0, 4), slice(4, None)),
    "column numbers": [[0, 1, 2, 3], np.array([4, 5, 6])],
    "mixed": [slice(-7, -3), range(4, 7)],
}


@both
class TestForms:
    @pytest.mark.parametrize("form", SEVERAL.values(), ids=SEVERAL)
    def test_several_views(self, make, form):
        fitted = quick(make).fit(form())
        assert_same_fit(fitted, quick(make).fit(views()))
        assert fitted.view_names_ == ["view 0", "view 1"]
        np.testing.assert_allclose(carried(fitted, form()), of_training(fitted), atol=1e-8)

    def test_names(self, make):
        fitted = quick(make).fit(dict(zip(["sound", "sight"], views(), strict=True)))
        assert fitted.view_names_ == fitted.operators_.names == ["sound", "sight"]
        assert_same_fit(fitted, quick(make).fit(views()))
        # By name, whatever the order; without names in the order of fit.
        X1, X2 = views()
        for new in ({"sight": X2, "sound": X1}, [X1, X2]):
            np.testing.assert_allclose(carried(fitted, new), of_training(fitted), atol=1e-8)

    def test_names_that_are_numbers(self, make):
        X = dict(enumerate(views()))
        fitted = quick(make).fit(X)
        np.testing.assert_allclose(carried(fitted, X), of_training(fitted), atol=1e-8)

    @pytest.mark.parametrize("kind", ["csr_array", "csr_matrix", "csc_array", "coo_matrix", "dok_array"])
    @pytest.mark.parametrize("is_whole", [False, True], ids=["views", "whole"])
    def test_sparse(self, make, kind, is_whole):
        wrap = getattr(scipy.sparse, kind)
        X = wrap(whole()) if is_whole else [wrap(X) for X in views()]
        fitted = quick(make, view_slices=SLICES if is_whole else None, tol=1e-10).fit(X)
        expected = quick(make, tol=1e-10).fit(views())
        np.testing.assert_allclose(fitted.embedding_, expected.embedding_, atol=1e-6)
        np.testing.assert_allclose(carried(fitted, X), of_training(fitted), atol=1e-8)

    @pytest.mark.parametrize("form", ONE.values(), ids=ONE)
    @pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)
    def test_views_in_one_array(self, make, form, cut):
        fitted = quick(make, view_slices=cut).fit(form())
        assert_same_fit(fitted, quick(make).fit(views()))
        assert (fitted.n_views_in_, fitted.n_features_in_) == (2, 7)
        np.testing.assert_allclose(carried(fitted, form()), of_training(fitted), atol=1e-8)

    def test_named_slices(self, make):
        fitted = quick(make, view_slices={"sight": slice(4, 7), "sound": (0, 4)}).fit(whole())
        assert fitted.view_names_ == ["sight", "sound"]
        assert_same_fit(fitted, quick(make).fit(views()[::-1]))
        X1, X2 = views()
        np.testing.assert_allclose(carried(fitted, {"sound": X1, "sight": X2}), of_training(fitted), atol=1e-8)

    @pytest.mark.parametrize("form", ONE.values(), ids=ONE)
    def test_one_array_is_one_view(self, make, form):
        fitted = quick(make, strategy=[0, 0]).fit(form())
        assert (fitted.n_views_in_, fitted.n_features_in_, fitted.view_names_) == (1, 7, ["view 0"])
        assert_same_fit(fitted, quick(make, strategy=[0, 0]).fit([whole()]))
        np.testing.assert_allclose(carried(fitted, form()), of_training(fitted), atol=1e-8)

    @pytest.mark.parametrize(
        "given", [whole, lambda: [whole()], lambda: {"sight": whole()}], ids=["it", "list", "dict"]
    )
    @pytest.mark.parametrize("new", [whole, lambda: [whole()]], ids=["it", "list"])
    def test_one_view_in_another_form(self, make, given, new):
        fitted = quick(make, strategy=[0, 0]).fit(given())
        np.testing.assert_allclose(carried(fitted, new()), of_training(fitted), atol=1e-8)


def backwards(index):
    return pd.Index(index)[::-1]


HALVES = ["p"] * (N // 2) + ["q"] * (N // 2)
# Row labels of the views, None for a default range.
REFUSED = {
    "another order": [LABELS, backwards(LABELS)],
    "another order than a default range": [None, backwards(range(N))],
    "other labels": [LABELS, [f"other {i}" for i in range(N)]],
    "one other label": [LABELS, [*LABELS[:-1], "other"]],
    "repeated labels, as many of others": [HALVES, ["p"] * N],
    "repeated labels": [HALVES, [*HALVES[:-1], "r"]],
    "another order after a default range": [None, LABELS, backwards(LABELS)],
    "other ranges": [range(5, N + 5), range(9, N + 9)],
}
ACCEPTED = {
    "equal": [LABELS, LABELS],
    "default": [None, None],
    "default, labels": [None, LABELS],
    "labels, default": [LABELS, None],
    "equal ranges": [range(5, N + 5), list(range(5, N + 5))],
    "repeated labels": [HALVES, HALVES],
}


def labelled(indices):
    Xs = [*views(), views()[0]][: len(indices)]
    return [pd.DataFrame(X, index=index) for X, index in zip(Xs, indices, strict=True)]


READERS = {
    "build_operators": lambda Xs: mdt.build_operators(Xs, **GRAPH),
    "MDT": lambda Xs: quick(mdt.MDT).fit(Xs),
    "MDTClustering": lambda Xs: quick(mdt.MDTClustering).fit(dict(enumerate(Xs))),
    "transform": lambda Xs: quick(mdt.MDT).fit([np.asarray(X) for X in Xs]).transform(Xs),
}


@pytest.mark.parametrize("read", READERS.values(), ids=READERS)
class TestRowOrder:
    @pytest.mark.parametrize("indices", REFUSED.values(), ids=REFUSED)
    def test_refused(self, read, indices):
        with pytest.raises(ValueError, match=r"^Xs?: expected .*(order|labels)"):
            read(labelled(indices))

    @pytest.mark.parametrize("indices", ACCEPTED.values(), ids=ACCEPTED)
    def test_accepted(self, read, indices):
        read(labelled(indices))

    def test_arrays_have_no_labels(self, read):
        frame, array = frames(LABELS)[0], views()[1]
        read([frame, array, frame])
        with pytest.raises(ValueError, match="order"):
            read([frame, array, frame[::-1]])


# Parameters, and the functions that take them.
PASSED_ON = {
    "quality": ({"quality": "silhouette"}, "search"),
    "callable quality": ({"quality": lambda ops, labels, coordinates: -coordinates.std()}, "search"),
    "view_weights": ({"view_weights": [0.9, 0.1]}, "search"),
    "beam_width": ({"beam_width": 1}, "search"),
    "max_evaluations": ({"max_evaluations": 3}, "search"),
    "n_components": ({"n_components": 5}, "search embed"),
    "tol": ({"tol": 1e-9}, "search embed"),
    "random_state": ({"random_state": 7}, "search embed cluster"),
    "weighting": ({"weighting": "stationary"}, "embed"),
    "n_init": ({"n_init": 1}, "cluster"),
    "n_neighbors": ({"n_neighbors": [30, 45]}, "build"),
    "kernel": ({"kernel": ["gaussian", "adaptive"]}, "build"),
    "bandwidth": ({"bandwidth": [4.0, "max-min"]}, "build"),
    "symmetrize": ({"symmetrize": ["max", "mean"]}, "build"),
    "neighbors": ({"neighbors": "exact"}, "build"),
    "metric": ({"metric": ["manhattan", "cosine"]}, "build"),
    "anisotropy": ({"anisotropy": [0.0, 1.0]}, "build"),
    "preset": ({"preset": "published"}, "build"),
    "dtype": ({"dtype": "float32"}, "build"),
}


class TestComposition:
    @pytest.mark.parametrize("strategy", SINGLE)
    def test_clusters_of_every_strategy(self, strategy):
        if strategy == "cma":
            pytest.importorskip("cma")
        options = SMALL[strategy]
        fitted = mdt.MDTClustering(K, strategy=strategy, **GRAPH, **options).fit(views())
        assert_composed(fitted, *composed(views(), search={"strategy": strategy, **as_arguments(options)}))

    @pytest.mark.parametrize("strategy", SINGLE)
    @pytest.mark.parametrize("n_clusters", [None, K])
    def test_coordinates_of_every_strategy(self, strategy, n_clusters):
        if strategy == "cma":
            pytest.importorskip("cma")
        options = SMALL[strategy]
        fitted = mdt.MDT(2, strategy=strategy, n_clusters=n_clusters, **GRAPH, **options).fit(views())
        quality = "calinski_harabasz" if n_clusters else "contrastive" if strategy != "mean" else None
        search = {"strategy": strategy, "quality": quality, "n_components": 2, **as_arguments(options)}
        assert_composed(fitted, *composed(views(), n_clusters, search=search, embed={"n_components": 2, "tol": 1e-6}))
        assert np.isnan(fitted.score_) == (quality is None)

    def test_default_strategies(self):
        assert mdt.MDT(**GRAPH, t=1).fit(views()).search_result_.strategy == "contrastive"
        found = mdt.MDTClustering(K, **GRAPH, t=1).fit(views()).search_result_
        assert (found.strategy, found.quality) == ("consensus", "persistence")

    @pytest.mark.parametrize(("parameters", "takers"), PASSED_ON.values(), ids=PASSED_ON)
    def test_parameters_are_passed_on(self, parameters, takers):
        fitted = mdt.MDTClustering(K, **{**GRAPH, "strategy": "beam", "t": 1, **parameters}).fit(views())
        search = {"t": 1, **(parameters if "search" in takers else {})}
        given = {taker: parameters for taker in takers.split() if taker != "search"}
        assert_composed(fitted, *composed(views(), search=search, **given))

    def test_parameters_by_name_of_view(self):
        named = {"n_neighbors": {"sight": 30, "sound": 45}, "kernel": {"sound": "adaptive", "sight": "gaussian"}}
        listed = quick(mdt.MDT, n_neighbors=[30, 45], kernel=["gaussian", "adaptive"]).fit(views())
        slices = dict(zip(["sight", "sound"], SLICES, strict=True))
        by_name = dict(zip(["sight", "sound"], views(), strict=True))
        assert_same_fit(quick(mdt.MDT, **named).fit(by_name), listed)
        assert_same_fit(quick(mdt.MDT, **named, view_slices=slices).fit(whole()), listed)

    @pytest.mark.parametrize("strategy", [[0, 1, 1], ["view 0", "view 1", "view 1"], [[0.3, 0.7], [1.0, 0.0]]], ids=str)
    @pytest.mark.parametrize(
        "wrap", [list, np.array, lambda steps: mdt.build_operators(views(), **GRAPH).trajectory(steps)]
    )
    def test_a_word_weights_or_a_trajectory(self, strategy, wrap):
        fitted = mdt.MDTClustering(K, strategy=wrap(strategy), **GRAPH).fit(views())
        assert_composed(fitted, *composed(views(), search={"strategy": strategy}))
        assert fitted.t_ == len(strategy)

    @both
    def test_automatic_time(self, make):
        fitted = quick(make, strategy="mean", t="auto").fit(views())
        expected = mdt.select_time(mdt.build_operators(views(), **GRAPH)).t
        assert fitted.t_ == len(fitted.trajectory_) == expected

    @pytest.mark.parametrize(
        "strategy",
        ["beam", ["view 1^2", "identity", "view 0"], np.full((2, 8), 1 / 8)],
        ids=["beam", "word", "weights"],
    )
    def test_members(self, strategy):
        members = ["identity", "uniform", "teleport", 2]
        fitted = mdt.MDTClustering(K, strategy=strategy, members=members, max_steps=2, **GRAPH).fit(views())
        expected = composed(
            views(),
            widen=lambda ops: ops.with_identity().with_uniform().with_teleport().with_powers([2]),
            search={"strategy": strategy, "max_steps": 2},
        )
        assert_composed(fitted, *expected)
        assert len(fitted.operators_) == 8

    def test_mean_as_a_member(self):
        fitted = mdt.MDTClustering(K, strategy="beam", members=["mean"], max_steps=2, **GRAPH).fit(views())
        expected = composed(views(), widen=lambda ops: ops.with_mean(), search={"strategy": "beam", "max_steps": 2})
        assert_composed(fitted, *expected)
        assert fitted.operators_.names[-1] == "mean"

    @pytest.mark.parametrize("random_state", [np.random.RandomState, np.random.default_rng])
    def test_generators(self, random_state):
        fitted = mdt.MDTClustering(K, strategy="beam", t=1, random_state=random_state(5), **GRAPH).fit(views())
        state = {"random_state": random_state(5)}
        search = {"t": 1, **state}
        assert_composed(fitted, *composed(views(), build=state, search=search, embed=state, cluster=state))

    def test_seeds_of_the_system(self):
        made = [mdt.MDT(strategy="convex", t=2, random_state=None, **GRAPH).fit(views()) for _ in range(2)]
        assert (made[0].trajectory_.weights != made[1].trajectory_.weights).any()

    def test_a_broken_search_goes_on(self, tmp_path):
        there = {"checkpoint": tmp_path / "search.json", "strategy": "beam", "max_steps": 3}
        quick(mdt.MDTClustering, **there, max_evaluations=4).fit(views())
        before = (tmp_path / "search.json").read_bytes()
        fitted = quick(mdt.MDTClustering, **there).fit(views())
        assert_same_fit(fitted, quick(mdt.MDTClustering, strategy="beam", max_steps=3).fit(views()))
        assert before != (tmp_path / "search.json").read_bytes()

    def test_a_limit_of_time(self):
        fitted = quick(mdt.MDTClustering, strategy="beam", max_steps=50, time_limit=0.0).fit(views())
        assert fitted.search_result_.stopped == "time_limit"

    @both
    def test_one_cluster(self, make):
        fitted = quick(make, strategy="beam", n_clusters=1).fit(views())
        assert fitted.search_result_.quality == "contrastive"
        assert np.isfinite(fitted.search_result_.score)


class TestFormulas:
    @pytest.mark.parametrize("t", [1, 3])
    def test_one_view_is_the_diffusion_map(self, t):
        # Hardly anybody stays where they are, so that there are negative eigenvalues among the largest.
        hop = {"kernel": lambda d: np.where(d > 0, np.exp(-d), 1e-6), "n_neighbors": 5}
        n_components = 40
        parameters = {"strategy": [0] * t, "weighting": "stationary", "tol": 1e-12, **hop}
        fitted = mdt.MDT(n_components, **parameters).fit(views()[0])
        P = fitted.operators_.views[0].toarray()
        pi = fitted.trajectory_.stationary_distribution()
        np.testing.assert_allclose(pi @ P, pi, rtol=1e-9)
        root = np.sqrt(pi)
        values, vectors = np.linalg.eigh(root[:, None] * P / root)
        order = np.argsort(-np.abs(values), kind="stable")[1 : n_components + 1]
        assert (values[order] < 0).any()
        expected = vectors[:, order] / root[:, None] * values[order] ** t
        np.testing.assert_allclose(fitted.singular_values_, np.abs(values[order]) ** t, rtol=1e-9)
        np.testing.assert_allclose(up_to_sign(fitted.embedding_, expected), expected, atol=1e-6)

    @pytest.mark.parametrize("t", [1, 2])
    def test_page_rank(self, t):
        how = {"n_components": 4, "tol": 1e-12, **GRAPH}
        word = mdt.MDT(strategy=[1] * t, members=["teleport"], **how).fit(views()[0])
        convex = mdt.MDT(strategy=[[0.85, 0.15]] * t, members=["uniform"], **how).fit(views()[0])
        G = 0.85 * mdt.build_operators(views()[0], **GRAPH).views[0].toarray() + 0.15 / N
        U, S, _ = np.linalg.svd(np.linalg.matrix_power(G, t))
        expected = (U * S)[:, 1:5]
        for fitted in (word, convex):
            np.testing.assert_allclose(fitted.singular_values_, S[1:5], rtol=1e-9)
            np.testing.assert_allclose(up_to_sign(fitted.embedding_, expected), expected, atol=1e-7)
        np.testing.assert_allclose(word.embedding_, convex.embedding_, atol=1e-7)


class TestFitted:
    @both
    def test_attributes(self, make):
        fitted = quick(make, strategy="beam", n_clusters=K, n_components=4, t=2).fit(views())
        assert fitted.embedding_.shape == (N, 4)
        assert isinstance(fitted.trajectory_, mdt.Trajectory)
        assert fitted.trajectory_ is fitted.search_result_.trajectory
        assert isinstance(fitted.t_, int)
        assert fitted.t_ == 2
        assert isinstance(fitted.score_, float)
        assert fitted.score_ == fitted.search_history_["score"].max()
        assert isinstance(fitted.search_result_, mdt.SearchResult)
        assert len(fitted.search_history_) == fitted.search_result_.n_evaluations > 1
        assert isinstance(fitted.geometry_, mdt.Embedding)
        np.testing.assert_array_equal(fitted.geometry_.coordinates, fitted.embedding_)
        assert fitted.singular_values_.shape == (4,)
        assert isinstance(fitted.operators_, mdt.OperatorSet)
        assert (fitted.n_views_in_, fitted.n_features_in_) == (2, sum(WIDTHS))
        assert fitted.view_names_ == ["view 0", "view 1"]
        assert not hasattr(fitted, "feature_names_in_")

    @pytest.mark.parametrize("strategy", ["beam", "auto"])
    def test_clusters(self, strategy):
        fitted = mdt.MDTClustering(K, strategy=strategy, t=1, **GRAPH)
        np.testing.assert_array_equal(fitted.fit_predict(views()), fitted.labels_)
        assert fitted.labels_.dtype == np.int32
        # Numbered in the order of their first sample.
        assert list(dict.fromkeys(fitted.labels_.tolist())) == list(range(K))
        means = [fitted.embedding_[fitted.labels_ == k].mean(axis=0) for k in range(K)]
        np.testing.assert_allclose(fitted.cluster_centers_, means, atol=1e-12)

    def test_time_of_a_search_without_one(self):
        fitted = mdt.MDTClustering(K, strategy="greedy", max_steps=3, **GRAPH).fit(views())
        assert fitted.t_ == len(fitted.trajectory_)

    @both
    @pytest.mark.parametrize("form", ["frame", "polars"])
    def test_names_of_columns(self, make, form):
        fitted = quick(make, view_slices=SLICES).fit(ONE[form]())
        assert fitted.feature_names_in_.tolist() == [*COLUMNS[0], *COLUMNS[1]]
        assert not hasattr(quick(make).fit(frames()), "feature_names_in_")

    @both
    @pytest.mark.parametrize(
        ("before", "after"),
        [
            ((whole_frame, SLICES), (views, None)),
            ((whole_frame, SLICES), (lambda: whole()[:, :5], [(0, 2), (2, 5)])),
            ((frames, None), (lambda: views()[::-1], None)),
            ((lambda: {"sight": frames()[0], "sound": views()[1]}, None), (whole_frame, {"x": (0, 4), "y": (4, 7)})),
            ((lambda: [*views(), whole()], None), (lambda: [X[:90] for X in views()], None)),
        ],
        ids=["frame to views", "frame to array", "frames to arrays", "dict to frame", "fewer views and samples"],
    )
    def test_refitting_forgets(self, make, before, after):
        fitted = quick(make, view_slices=before[1]).fit(before[0]())
        fitted.set_params(view_slices=after[1]).fit(after[0]())
        fresh = quick(make, view_slices=after[1]).fit(after[0]())
        assert_same_fit(fitted, fresh)
        assert vars(fitted).keys() == vars(fresh).keys()
        for name in ("n_views_in_", "n_features_in_", "view_names_"):
            assert getattr(fitted, name) == getattr(fresh, name)
        np.testing.assert_allclose(carried(fitted, after[0]()), of_training(fitted), atol=1e-8)

    @both
    def test_input_and_parameters_stay_as_they_are(self, make):
        unsorted = scipy.sparse.csr_array(views()[1])
        unsorted.indices[:3], unsorted.data[:3] = unsorted.indices[2::-1].copy(), unsorted.data[2::-1].copy()
        unsorted.has_sorted_indices = False
        # The arrays of views() are read-only.
        X = {"array": views()[0], "frame": frames(LABELS)[0], "sparse": unsorted}
        parameters = {
            "members": ["identity", 2],
            "search_options": {"n_init": 2},
            "n_neighbors": dict.fromkeys(X, 40),
        }
        before = copy.deepcopy((X, parameters))
        carried(quick(make, **parameters).fit(X), X)
        assert (list(X), parameters) == (list(before[0]), before[1])
        pd.testing.assert_frame_equal(X["frame"], before[0]["frame"])
        for part in ("data", "indices", "indptr"):
            np.testing.assert_array_equal(getattr(X["sparse"], part), getattr(before[0]["sparse"], part))

    @both
    @pytest.mark.parametrize("n", [N, 300])
    def test_same_bits_at_any_number_of_threads(self, make, n):
        Xs = loose(n)[0]
        one, two = (quick(make, t=2, n_jobs=n_jobs).fit(Xs) for n_jobs in (1, 2))
        assert_same_fit(one, two)
        np.testing.assert_array_equal(carried(one, Xs), carried(two, Xs))

    @both
    def test_verbose(self, make, capfd):
        quick(make, strategy="beam", t=1).fit(views())
        assert capfd.readouterr() == ("", "")
        quick(make, strategy="beam", t=1, verbose=True).fit(views())
        out, err = capfd.readouterr()
        assert not out
        assert "search [####" in err


class TestNewSamples:
    @pytest.mark.parametrize("weighting", ["uniform", "stationary"])
    @pytest.mark.parametrize("seed", range(3))
    @pytest.mark.parametrize(
        "parameters",
        [{}, {"members": ["uniform", "teleport", 2]}, {"strategy": "convex"}, {"kernel": "adaptive"}],
        ids=str,
    )
    def test_training_samples(self, seed, weighting, parameters):
        Xs = loose(seed=seed)[0]
        how = {"t": 2, "weighting": weighting, "random_state": seed, **GRAPH}
        fitted = mdt.MDT(3, **{"strategy": "mean", **how, **parameters}).fit(Xs)
        np.testing.assert_allclose(fitted.transform(Xs), fitted.embedding_, atol=1e-8)
        fitted = mdt.MDTClustering(5, **{"strategy": "beam", "max_evaluations": 5, **how, **parameters}).fit(Xs)
        np.testing.assert_array_equal(fitted.predict(Xs), fitted.labels_, strict=True)

    @both
    def test_rows_do_not_depend_on_each_other(self, make):
        fitted = quick(make).fit(views())
        new = [X[:9] for X in loose(seed=1)[0]]
        together = carried(fitted, new)
        assert together.shape[0] == 9
        for i in range(9):
            np.testing.assert_array_equal(carried(fitted, [X[i : i + 1] for X in new])[0], together[i])
        np.testing.assert_array_equal(carried(fitted, [X[::-1] for X in new]), together[::-1])

    # The graphs of clusters far apart are in parts.
    @pytest.mark.filterwarnings("ignore::mdt_fast.OperatorWarning")
    @pytest.mark.parametrize("seed", [0, 1])
    @pytest.mark.parametrize(
        "parameters",
        [
            {},
            {"n_neighbors": 60},
            {"n_neighbors": 60, "dtype": "float32"},
            {"n_components": 3},
        ],
        ids=str,
    )
    @pytest.mark.parametrize("strategy", ["beam", "auto"])
    def test_blobs(self, parameters, seed, strategy):
        blobs = mdt.datasets.make_multiview_blobs(300, n_clusters=4, n_features=6, random_state=seed)
        known, new = [X[:200] for X in blobs.views], [X[200:] for X in blobs.views]
        fitted = mdt.MDTClustering(4, strategy=strategy, t=2, **parameters).fit(known)
        found = np.concatenate([fitted.labels_, fitted.predict(new)])
        assert adjusted_rand_score(blobs.target, found) == 1.0

    @both
    def test_in_single_precision(self, make):
        Xs = [X.astype(np.float32) for X in views()]
        fitted = quick(make).fit(Xs)
        assert fitted.embedding_.dtype == np.float32
        np.testing.assert_allclose(carried(fitted, Xs), of_training(fitted), atol=1e-5)


def through_joblib(estimator):
    file = io.BytesIO()
    joblib.dump(estimator, file)
    file.seek(0)
    return joblib.load(file)


COPIES = {
    "pickle": lambda estimator: pickle.loads(pickle.dumps(estimator)),
    "deepcopy": copy.deepcopy,
    "joblib": through_joblib,
}


def agreement(estimator, X, y):
    """A score as scikit-learn calls it."""
    return adjusted_rand_score(y, estimator.predict(X))


class TestConventions:
    @both
    def test_the_constructor_only_assigns(self, make):
        given = {name: object() for name in inspect.signature(make).parameters}
        made = make(**given)
        assert vars(made) == given
        assert made.get_params(deep=False) == given

    def test_first_arguments(self):
        assert mdt.MDT(5).n_components == 5
        assert mdt.MDTClustering(5).n_clusters == 5
        for make in (mdt.MDT, mdt.MDTClustering):
            with pytest.raises(TypeError, match="positional"):
                make(5, "beam")

    def test_repr(self):
        assert repr(mdt.MDT()) == "MDT()"
        assert repr(mdt.MDTClustering(3, t=2)) == "MDTClustering(n_clusters=3, t=2)"

    @both
    def test_parameters(self, make):
        made = quick(make, view_slices=SLICES, members=["identity"])
        other = make().set_params(**made.get_params())
        assert other.get_params() == made.get_params()
        assert_same_fit(other.fit(whole()), made.fit(whole()))
        with pytest.raises(ValueError, match="n_neighbours"):
            made.set_params(n_neighbours=3)

    @both
    @pytest.mark.parametrize("random_state", [0, np.random.RandomState(3)], ids=["int", "RandomState"])
    def test_clone(self, make, random_state):
        made = quick(make, strategy=np.full((2, 2), 0.5), random_state=random_state)
        copied = clone(made)
        fitted = made.fit(views())
        assert not hasattr(clone(fitted), "embedding_")
        assert_same_fit(copied.fit(views()), fitted)

    @both
    @pytest.mark.parametrize("copied", COPIES.values(), ids=COPIES)
    def test_copies(self, make, copied):
        made = quick(make, members=["teleport"])
        assert copied(made).get_params() == made.get_params()
        fitted = made.fit(frames(LABELS))
        other = copied(fitted)
        assert_same_fit(other, fitted)
        new = [X[:5] for X in loose(seed=1)[0]]
        np.testing.assert_array_equal(carried(other, new), carried(fitted, new))
        with pytest.raises(ValueError, match=r"X .*order"):
            carried(other, frames(columns=[COLUMNS[0][::-1], COLUMNS[1]]))

    def test_names_out(self):
        fitted = mdt.MDT(3, strategy=[0], **GRAPH).fit(views())
        assert fitted.get_feature_names_out().tolist() == ["mdt0", "mdt1", "mdt2"]

    @pytest.mark.parametrize("library", ["pandas", "polars"])
    @pytest.mark.parametrize("form", [views, whole, frames], ids=["views", "array", "frames"])
    def test_output_of_a_library(self, library, form):
        frame = pytest.importorskip(library).DataFrame
        made = quick(mdt.MDT, strategy=[0]).set_output(transform=library)
        for out in (made.fit_transform(form()), made.transform(form())):
            assert isinstance(out, frame)
            assert list(out.columns) == ["mdt0", "mdt1"]
            np.testing.assert_allclose(out.to_numpy(), made.embedding_, atol=1e-8)

    def test_output_keeps_the_index(self):
        made = quick(mdt.MDT, view_slices=SLICES).set_output(transform="pandas")
        assert made.fit_transform(whole_frame(LABELS)).index.tolist() == LABELS
        assert made.transform(whole_frame(LABELS)[5:8]).index.tolist() == LABELS[5:8]

    def test_pipeline(self):
        pipeline = make_pipeline(StandardScaler(), quick(mdt.MDTClustering, view_slices=SLICES))
        expected = quick(mdt.MDTClustering).fit([StandardScaler().fit_transform(X) for X in views()])
        np.testing.assert_array_equal(pipeline.fit_predict(whole()), expected.labels_)
        np.testing.assert_array_equal(pipeline.predict(whole()), expected.labels_)
        pipeline.set_output(transform="pandas").fit(whole_frame())
        np.testing.assert_array_equal(pipeline.predict(whole_frame()), expected.labels_)
        assert pipeline[-1].feature_names_in_.tolist() == [*COLUMNS[0], *COLUMNS[1]]

    def test_column_transformer(self):
        left, right = COLUMNS
        scale = ColumnTransformer([("left", StandardScaler(), left), ("right", "passthrough", right)])
        expected = quick(mdt.MDTClustering).fit([StandardScaler().fit_transform(views()[0]), views()[1]])
        pipeline = make_pipeline(scale, quick(mdt.MDTClustering, view_slices=SLICES))
        np.testing.assert_array_equal(pipeline.fit_predict(whole_frame()), expected.labels_)
        beside = ColumnTransformer(
            [("geometry", quick(mdt.MDT, strategy=[0]), right), ("as it is", "passthrough", left)]
        )
        made = beside.fit_transform(whole_frame())
        np.testing.assert_array_equal(made[:, :2], quick(mdt.MDT, strategy=[0]).fit_transform(views()[1]))
        np.testing.assert_allclose(beside.transform(whole_frame()), made, atol=1e-8)
        assert beside.get_feature_names_out().tolist()[:2] == ["geometry__mdt0", "geometry__mdt1"]

    @pytest.mark.parametrize("grid", [{"t": [1, 2]}, {"n_neighbors": [30, 45]}], ids=str)
    @pytest.mark.parametrize("is_routed", [False, True])
    def test_grid_search(self, grid, is_routed):
        made = quick(mdt.MDTClustering, strategy="mean", view_slices=SLICES)
        (name, choices), (_, target) = *grid.items(), loose()
        with sklearn.config_context(enable_metadata_routing=is_routed):
            found = GridSearchCV(made, grid, scoring=agreement, cv=3, error_score="raise").fit(whole(), target)
        for choice, score in zip(choices, found.cv_results_["mean_test_score"], strict=True):
            expected = cross_val_score(
                clone(made).set_params(**{name: choice}), whole(), target, scoring=agreement, cv=3
            )
            assert score == expected.mean()
        assert found.best_estimator_.get_params()[name] == found.best_params_[name]
        np.testing.assert_array_equal(found.predict(whole()), found.best_estimator_.labels_)

    @both
    def test_metadata_routing(self, make):
        plain = quick(make, view_slices=SLICES).fit(whole())
        with sklearn.config_context(enable_metadata_routing=True):
            routed = make_pipeline(StandardScaler(with_mean=False, with_std=False), clone(plain)).fit(whole())
            assert_same_fit(routed[-1], plain)
            first = clone(plain)
            once = first.fit_transform(whole()) if make is mdt.MDT else first.fit_predict(whole())
        np.testing.assert_array_equal(once, of_training(plain))


def holed(X):
    X = np.array(X)
    X[5, 1] = np.nan
    return X


def masked():
    return np.ma.masked_greater(whole(), 2.0)


# Parameters, views, the error, and the argument that it names.
BAD = {
    "rows": ({}, lambda: [views()[0], views()[1][:-1]], ValueError, r"X: .*same number of samples.*120.*119"),
    "1-D view": ({}, lambda: [views()[0], views()[1][:, 0]], ValueError, r"X \(view 1\): expected a 2-D array.*1-D"),
    "NaN in a view": ({}, lambda: [views()[0], holed(views()[1])], ValueError, r"X \(view 1\).*nan at row 5, column 1"),
    "NaN in an array": ({}, lambda: holed(whole()), ValueError, "X contains NaN"),
    "empty list": ({}, list, ValueError, "X: expected at least one view, got none"),
    "no view": ({}, dict, ValueError, "X: expected at least one view, got none"),
    "not a view": ({}, lambda: [views()[0], None], TypeError, r"X \(view 1\): .*NoneType"),
    "no columns": ({}, lambda: [views()[0], views()[1][:, :0]], ValueError, r"X \(view 1\): .*at least 1 feature"),
    "mask in a view": ({"strategy": [0]}, lambda: [views()[1], masked()], TypeError, r"X \(view 1\): .*mask"),
    "mask": ({"strategy": [0]}, masked, TypeError, "X.*mask"),
    "strategy": ({"strategy": "beams"}, views, ValueError, "strategy: .*'beams'"),
    "word": ({"strategy": [0, 2]}, views, ValueError, "strategy: .*got 2"),
    "weights": ({"strategy": [[0.5, 0.6]]}, views, ValueError, "strategy: .*1.1"),
    "no strategy": ({"strategy": None}, views, TypeError, "strategy: .*None"),
    "t": ({"t": 0, "strategy": "mean"}, views, ValueError, "t: .*got 0"),
    "quality": ({"quality": "best"}, views, ValueError, "quality: .*'best'"),
    "weighting": ({"weighting": "heavy"}, views, ValueError, "weighting: .*'heavy'"),
    "n_neighbors": ({"n_neighbors": [3, 4, 5]}, views, ValueError, "n_neighbors: .*got 3"),
    "verbose": ({"verbose": 2}, views, TypeError, "verbose: expected True or False, got 2"),
    "random_state": ({"random_state": -1}, views, ValueError, "random_state: .*-1"),
    "many clusters": ({"n_clusters": N + 1}, views, ValueError, "n_clusters: .*121"),
    "no clusters": ({"n_clusters": 0}, views, ValueError, "n_clusters: .*got 0"),
    "half a cluster": ({"n_clusters": 2.5}, views, TypeError, "n_clusters: .*2.5"),
    "many components": ({"n_components": N}, views, ValueError, "n_components: .*119, got 120"),
    "no components": ({"n_components": 0}, views, ValueError, "n_components: .*got 0"),
    "members": ({"members": ["jump"]}, views, ValueError, "members: .*'jump'"),
    "members as str": ({"members": "uniform"}, views, TypeError, "members: expected a list, got 'uniform'"),
    "power 0": ({"members": [0]}, views, ValueError, "members: .*got 0"),
    "power True": ({"members": [True]}, views, (TypeError, ValueError), "members: .*True"),
    "powers": ({"members": [[2, 3]]}, views, (TypeError, ValueError), r"members: .*\[2, 3\]"),
    "search_options": ({"search_options": [1]}, views, TypeError, r"search_options: expected a dict.*\[1\]"),
    "unknown option": ({"search_options": {"epsilons": 1}}, views, (TypeError, ValueError), "search_options.*epsilons"),
    "option given twice": ({"search_options": {"tol": 1}}, views, (TypeError, ValueError), "search_options.*tol"),
}
BAD_SLICES = {
    "out of range": [(0, 4), (4, 8)],
    "column out of range": [[0, 1], [2, 7]],
    "empty": [(0, 4), (4, 4)],
    "backwards": [(4, 0)],
    "no column": [[]],
    "beyond the end": [(0, 7), (7, 9)],
    "before the start": [slice(-20, 4)],
    "no views": [],
    "fractions": [[0.0, 1.0]],
    "three numbers": [(0, 1, 2)],
    "a number": [3],
    "not a list": slice(0, 4),
    "one name twice": {1: (0, 4), "1": (4, 7)},
}
# Columns of frames in another order than in fit: what was fitted, `view_slices`, what came.
SHUFFLED = [["c", "a", "b", "d"], COLUMNS[1]]
NEW_FRAMES = {
    "list": (frames, None, lambda: frames(columns=SHUFFLED)),
    "dict": (
        lambda: dict(zip("xy", frames(), strict=True)),
        None,
        lambda: dict(zip("yx", frames(columns=SHUFFLED)[::-1], strict=True)),
    ),
    "polars": (polars_frames, None, lambda: [polars_frames()[0].select(SHUFFLED[0]), polars_frames()[1]]),
    "one frame": (whole_frame, SLICES, lambda: whole_frame()[list("bacdefg")]),
    "one frame, then in a list": (lambda: frames()[0], None, lambda: frames(columns=SHUFFLED)[:1]),
    "cut frame, then frames": (whole_frame, SLICES, lambda: frames(columns=SHUFFLED)),
    "frame in a list, then by itself": (lambda: frames()[:1], None, lambda: frames(columns=SHUFFLED)[0]),
}
NEW = {
    "fewer views": (lambda: views()[:1], "X: expected 2 views, got 1"),
    "more views": (lambda: [*views(), whole()], "X: expected 2 views, got 3"),
    "one array": (whole, "X: expected 2 views, got 1"),
    "fewer columns": (lambda: [views()[0][:, :3], views()[1]], r"X \(view 0\): expected 4 features, got 3"),
    "more columns": (lambda: [views()[0], whole()], r"X \(view 1\): expected 3 features, got 7"),
    "other names": (lambda: {"view 0": views()[0], "sound": views()[1]}, "X: expected a view for each of .*'sound'"),
    "rows": (lambda: [views()[0], views()[1][:7]], "X: .*same number of samples"),
    "NaN": (lambda: [holed(views()[0]), views()[1]], r"X \(view 0\): .*nan at row 5"),
}


@both
class TestBadInput:
    @pytest.mark.parametrize(("parameters", "X", "error", "message"), BAD.values(), ids=BAD)
    def test_fit(self, make, parameters, X, error, message):
        with pytest.raises(error, match=message):
            quick(make, **parameters).fit(X())

    @pytest.mark.parametrize("slices", BAD_SLICES.values(), ids=BAD_SLICES)
    def test_slices(self, make, slices):
        with pytest.raises((TypeError, ValueError), match=r"^view_slices"):
            quick(make, strategy=[0], view_slices=slices).fit(whole())

    @pytest.mark.parametrize(("X", "message"), NEW.values(), ids=NEW)
    def test_new_samples(self, make, X, message):
        fitted = quick(make).fit(views())
        with pytest.raises(ValueError, match=message):
            carried(fitted, X())

    def test_other_number_of_columns_in_one_array(self, make):
        fitted = quick(make, view_slices=SLICES).fit(whole())
        with pytest.raises(ValueError, match=r"X has 6 features, but .* is expecting 7"):
            carried(fitted, whole()[:, :6])

    @pytest.mark.parametrize(("X", "slices", "new"), NEW_FRAMES.values(), ids=NEW_FRAMES)
    def test_columns_in_another_order(self, make, X, slices, new):
        fitted = quick(make, strategy=[0], view_slices=slices).fit(X())
        with pytest.raises(ValueError, match="order"):
            carried(fitted, new())

    def test_looking_at_new_samples_changes_nothing(self, make):
        fitted = quick(make, strategy=[0]).fit(frames()[:1])
        with pytest.warns(UserWarning, match="feature names"):
            carried(fitted, views()[0])
        with pytest.raises(ValueError, match="order"):
            carried(fitted, frames(columns=SHUFFLED)[:1])

    def test_before_fit(self, make):
        with pytest.raises(NotFittedError, match=make.__name__):
            carried(quick(make), views())


def test_coordinates_must_be_counted():
    with pytest.raises(TypeError, match=r"n_components: .*None"):
        quick(mdt.MDT, n_components=None).fit(views())


def test_names_out_before_fit():
    with pytest.raises(NotFittedError, match="MDT"):
        mdt.MDT().get_feature_names_out()


@pytest.mark.parametrize(
    "estimator",
    [
        mdt.MDT(strategy="mean", t=2),
        mdt.MDTClustering(3, strategy="beam", t=2),
        mdt.MDTClustering(3, kernel="gaussian", t=2),
        *(mdt.baselines.make(n, n_clusters=3) for n in ("AD", "MVD")),
    ],
)
def test_operators_in_place_of_views(estimator):
    views = list(np.random.default_rng(0).normal(size=(2, 60, 3)))
    ops = mdt.build_operators(views)
    from_views, from_operators = clone(estimator).fit(views), clone(estimator).fit(ops)
    np.testing.assert_array_equal(from_operators.embedding_, from_views.embedding_)
    assert from_operators.operators_.n_views == from_operators.n_views_in_ == 2
    assert from_operators.view_names_ == ["view 0", "view 1"]
    if hasattr(estimator, "transform"):
        np.testing.assert_array_equal(from_operators.transform(views), from_views.transform(views))


def test_too_few_operators():
    ops = mdt.build_operators(mdt.datasets.make_multiview_blobs(60, random_state=0).views[:1])
    with pytest.raises(ValueError, match="X: expected at least 2 views for MultiviewDiffusionMaps, got 1"):
        mdt.baselines.make("MVD").fit(ops)
