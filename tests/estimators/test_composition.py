"""MDT and MDTClustering against the functions that they compose, and against dense formulas."""

from __future__ import annotations

import numpy as np
import pytest

import mdt_fast as mdt
from helpers.estimators import GRAPH, SLICES, K, N, assert_same_fit, both, quick, views, whole
from mdt_fast._clusters.labels import choose_labels
from mdt_fast._search.search import STRATEGIES

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
# Strategies that find one trajectory.
SINGLE = [name for name in STRATEGIES if name not in ("consensus", "auto")]


def composed(Xs, n_clusters=K, *, build=(), widen=None, search=(), embed=(), cluster=()):
    """Operators, search, embedding and clusters from the functions."""
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
    """The same bits, except for the seconds that candidates took."""
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
    def test_given_sequence_weights_or_trajectory(self, strategy, wrap):
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
        ids=["beam", "sequence", "weights"],
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

    def test_random_state_none(self):
        made = [mdt.MDT(strategy="convex", t=2, random_state=None, **GRAPH).fit(views()) for _ in range(2)]
        assert (made[0].trajectory_.weights != made[1].trajectory_.weights).any()

    def test_search_resumes_from_a_checkpoint(self, tmp_path):
        there = {"checkpoint": tmp_path / "search.json", "strategy": "beam", "max_steps": 3}
        quick(mdt.MDTClustering, **there, max_evaluations=4).fit(views())
        before = (tmp_path / "search.json").read_bytes()
        fitted = quick(mdt.MDTClustering, **there).fit(views())
        assert_same_fit(fitted, quick(mdt.MDTClustering, strategy="beam", max_steps=3).fit(views()))
        assert before != (tmp_path / "search.json").read_bytes()

    def test_time_limit(self):
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
        # Samples rarely stay, so that negative eigenvalues are among the largest.
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
        by_sequence = mdt.MDT(strategy=[1] * t, members=["teleport"], **how).fit(views()[0])
        convex = mdt.MDT(strategy=[[0.85, 0.15]] * t, members=["uniform"], **how).fit(views()[0])
        G = 0.85 * mdt.build_operators(views()[0], **GRAPH).views[0].toarray() + 0.15 / N
        U, S, _ = np.linalg.svd(np.linalg.matrix_power(G, t))
        expected = (U * S)[:, 1:5]
        for fitted in (by_sequence, convex):
            np.testing.assert_allclose(fitted.singular_values_, S[1:5], rtol=1e-9)
            np.testing.assert_allclose(up_to_sign(fitted.embedding_, expected), expected, atol=1e-7)
        np.testing.assert_allclose(by_sequence.embedding_, convex.embedding_, atol=1e-7)
