"""MDT and MDTClustering against the functions that they compose, and against dense formulas."""

from __future__ import annotations

import numpy as np
import pytest

import mdt_fast as mdt
from helpers.estimators import GRAPH, SLICES, K, N, assert_same_fit, both, quick, views, whole
from helpers.searches import skip_without_package
from mdt_fast import _core
from mdt_fast._clusters.labels import choose_labels
from mdt_fast._search.strategies import BY_NAME
from mdt_fast.strategies import (
    CMA,
    MCTS,
    Beam,
    Contrastive,
    Direct,
    EpsilonGreedy,
    Exhaustive,
    Greedy,
    Mean,
    RandomSequences,
    RandomWeights,
)

# Searches of a few candidates, by every strategy that finds one trajectory.
SMALL = {
    "random": {"strategy": RandomSequences(n=4), "t": 3},
    "beam": {"strategy": Beam(max_steps=2)},
    "greedy": {"strategy": Greedy(max_steps=3)},
    "epsilon-greedy": {"strategy": EpsilonGreedy(epsilon=0.5, max_steps=3)},
    "mcts": {"strategy": MCTS(playouts=6, max_steps=3)},
    "exhaustive": {"strategy": Exhaustive(), "t": 2},
    "convex": {"strategy": RandomWeights(n=4), "t": 2},
    "direct": {"strategy": Direct(evaluations=8), "t": 2},
    "cma": {"strategy": CMA(evaluations=8), "t": 2},
    "contrastive": {"strategy": Contrastive(steps=3), "t": 2},
    "mean": {"strategy": Mean(), "t": 2},
}


def composed(Xs, n_clusters=K, *, build=(), widen=None, search=(), embed=(), cluster=()):
    """Operators, search, embedding and clusters from the functions."""
    ops = mdt.build_operators(Xs, **{**GRAPH, **dict(build)})
    ops = ops if widen is None else widen(ops)
    found = mdt.search(ops, n_clusters, **{"progress": False, **dict(search)})
    geometry = mdt.embed(found.trajectory, **{"n_components": n_clusters, **dict(embed)})
    if n_clusters is None:
        return ops, found, geometry, None
    scoring = mdt.Scoring.of(dict(search).get("quality", "auto"))
    given = {"quality": scoring.quality, "features": scoring.features}
    given["view_weights"] = dict(search).get("view_weights")
    how = {"n_init": 10, "random_state": 0, **given, **dict(cluster)}
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


def up_to_sign(coordinates, expected):
    """The same columns with the signs of others."""
    return coordinates * np.sign((coordinates * expected).sum(axis=0))


def as_arguments(parameters):
    """Parameters of an estimator as arguments of a search, some of which are settings of its scoring."""
    own = {name: parameters[name] for name in ("n_components", "tol") if name in parameters}
    rest = {name: value for name, value in parameters.items() if name not in own}
    return {**rest, "quality": mdt.Scoring.of(parameters.get("quality", "auto")).with_defaults(**own)}


# Parameters, and the functions that take them.
PASSED_ON = {
    "quality": ({"quality": "silhouette"}, "search"),
    "callable quality": ({"quality": lambda ops, labels, coordinates: -coordinates.std()}, "search"),
    "view_weights": ({"view_weights": [0.9, 0.1]}, "search"),
    "scoring": ({"quality": mdt.Scoring("silhouette", n_components=2, n_init=3, tol=1e-5)}, "search"),
    "features": ({"quality": mdt.Scoring("davies_bouldin", features=views()[::-1])}, "search"),
    "strategy": ({"strategy": Beam(width=1)}, "search"),
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


class TestSolves:
    """Each fit of one trajectory solves for its answer once, beside the candidates that are compared."""

    @pytest.fixture
    def ops(self):
        blobs = mdt.datasets.make_multiview_blobs(600, n_features=10, n_clusters=5, cluster_std=4, random_state=0)
        return mdt.build_operators(blobs.views)

    @staticmethod
    def bytes_of(work):
        before = _core.bytes_moved()
        found = work()
        return found, _core.bytes_moved() - before

    @pytest.mark.parametrize("strategy", [Mean(), RandomWeights(), RandomSequences(), [0, 1, 1]], ids=repr)
    def test_an_only_candidate_is_solved_once(self, ops, strategy):
        fitted, moved = self.bytes_of(lambda: mdt.MDTClustering(5, strategy=strategy, t=4).fit(ops))
        assert moved == self.bytes_of(lambda: mdt.embed(fitted.trajectory_, 5))[1] > 0
        searched = mdt.search(ops, 5, strategy=strategy, t=4, progress=False)
        found = fitted.search_result_
        np.testing.assert_array_equal(found.trajectory.weights, searched.trajectory.weights)
        np.testing.assert_array_equal(found.labels, fitted.labels_)
        assert found.score == fitted.score_ == fitted.search_history_["score"][0] >= searched.score * (1 - 1e-6)
        assert (found.quality, found.settings) == (searched.quality, searched.settings)
        assert fitted.search_history_["seconds"][0] > 0

    @pytest.mark.parametrize("strategy", [Beam(max_steps=3), RandomWeights(n=4)], ids=repr)
    def test_the_winner_is_solved_once_more(self, ops, strategy):
        fitted, moved = self.bytes_of(lambda: mdt.MDTClustering(5, strategy=strategy, t=3).fit(ops))
        searched, search_moved = self.bytes_of(lambda: mdt.search(ops, 5, strategy=strategy, t=3, progress=False))
        assert moved == search_moved + self.bytes_of(lambda: mdt.embed(fitted.trajectory_, 5))[1]
        np.testing.assert_array_equal(fitted.search_result_.labels, searched.labels)

    def test_labels_of_a_loss(self, ops):
        """The contrastive loss needs no labels; the result has those of the fit."""
        fitted = mdt.MDTClustering(5, strategy=Contrastive(steps=2), t=3).fit(ops)
        np.testing.assert_array_equal(fitted.search_result_.labels, fitted.labels_)
        assert fitted.search_result_.score == fitted.search_history_["score"].max() != fitted.score_

    def test_a_checkpoint_has_scores(self, ops, tmp_path):
        how = {"strategy": Mean(), "t": 3, "checkpoint": tmp_path / "known.json"}
        fitted = mdt.MDTClustering(5, **how, quality=mdt.Scoring(tol=1e-3)).fit(ops)
        found = mdt.search(ops, 5, **how, quality=mdt.Scoring(tol=1e-3), progress=False)
        assert np.isfinite(found.score)
        np.testing.assert_array_equal(found.history["score"], fitted.search_history_["score"])

    @pytest.mark.parametrize("quality", ["good", 3])
    def test_a_wrong_quality_is_refused(self, ops, quality):
        with pytest.raises((TypeError, ValueError), match="quality: expected"):
            mdt.MDTClustering(5, strategy="mean", t=2, quality=quality).fit(ops)


class TestComposition:
    def test_every_strategy_is_tested(self):
        assert {"consensus", "auto", *SMALL} == set(BY_NAME)

    @pytest.mark.parametrize("options", SMALL.values(), ids=SMALL)
    def test_clusters_of_every_strategy(self, options):
        skip_without_package(options["strategy"])
        fitted = mdt.MDTClustering(K, **GRAPH, **options).fit(views())
        assert_composed(fitted, *composed(views(), search=options))

    @pytest.mark.parametrize("strategy", SMALL)
    @pytest.mark.parametrize("n_clusters", [None, K])
    def test_coordinates_of_every_strategy(self, strategy, n_clusters):
        options = SMALL[strategy]
        skip_without_package(options["strategy"])
        fitted = mdt.MDT(2, n_clusters=n_clusters, **GRAPH, **options).fit(views())
        quality = "calinski_harabasz" if n_clusters else "contrastive" if strategy != "mean" else None
        search = {"quality": mdt.Scoring(quality, n_components=2, tol=1e-6), **options}
        assert_composed(fitted, *composed(views(), n_clusters, search=search, embed={"n_components": 2, "tol": 1e-6}))
        assert np.isnan(fitted.score_) == (quality is None)

    @both
    def test_settings_of_a_scoring_precede_those_of_the_estimator(self, make):
        own = {"n_clusters": K, "strategy": Beam(max_steps=2)}
        scoring = mdt.Scoring(tol=1e-9, n_components=4)
        fitted = quick(make, quality=scoring, tol=1e-5, n_components=5, **own).fit(views())
        settings = fitted.search_result_.settings
        assert (settings["tol"], settings["n_components"]) == (1e-9, 4)
        assert fitted.embedding_.shape[1] == 5
        settings = quick(make, tol=1e-5, n_components=5, **own).fit(views()).search_result_.settings
        assert (settings["tol"], settings["n_components"]) == (10 * 1e-5, 5)

    @both
    @pytest.mark.parametrize("strategy", ["mean", Beam(max_steps=2), [0, 1]], ids=str)
    def test_a_scoring_without_a_quality(self, make, strategy):
        """The quality of a scoring is "auto" by default, which depends on the estimator."""
        plain, given = (quick(make, strategy=strategy, t=2, quality=q).fit(views()) for q in ("auto", mdt.Scoring()))
        assert_same_fit(plain, given)
        np.testing.assert_array_equal(plain.score_, given.score_)

    def test_default_strategies(self):
        assert mdt.MDT(**GRAPH, t=1).fit(views()).search_result_.strategy == "contrastive"
        found = mdt.MDTClustering(K, **GRAPH, t=1).fit(views()).search_result_
        assert (found.strategy, found.quality) == ("consensus", "information")

    @pytest.mark.parametrize(("parameters", "takers"), PASSED_ON.values(), ids=PASSED_ON)
    def test_parameters_are_passed_on(self, parameters, takers):
        fitted = mdt.MDTClustering(K, **{**GRAPH, "strategy": "beam", "t": 1, **parameters}).fit(views())
        search = {"t": 1, **(as_arguments(parameters) if "search" in takers else {})}
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

    def test_automatic_number_of_clusters_has_the_time_and_the_seed(self, monkeypatch):
        given = {}

        def choose(ops, **arguments):
            given.update(arguments)
            return mdt.select_n_clusters(ops, **arguments)

        monkeypatch.setattr("mdt_fast._estimators.pipeline.select_n_clusters", choose)
        mdt.MDTClustering("auto", t=2, random_state=5).fit(views())
        assert (given["t"], given["random_state"]) == (2, 5)

    @both
    def test_automatic_time(self, make):
        fitted = quick(make, strategy="mean", t="auto").fit(views())
        expected = mdt.select_time(mdt.build_operators(views(), **GRAPH)).t
        assert fitted.t_ == len(fitted.trajectory_) == expected

    @pytest.mark.parametrize(
        "strategy",
        [Beam(max_steps=2), ["view 1^2", "identity", "view 0"], np.full((2, 8), 1 / 8)],
        ids=["beam", "sequence", "weights"],
    )
    def test_members(self, strategy):
        members = ["identity", "uniform", "teleport", 2]
        fitted = mdt.MDTClustering(K, strategy=strategy, members=members, **GRAPH).fit(views())
        expected = composed(
            views(),
            widen=lambda ops: ops.with_identity().with_uniform().with_teleport().with_powers([2]),
            search={"strategy": strategy},
        )
        assert_composed(fitted, *expected)
        assert len(fitted.operators_) == 8

    def test_mean_as_a_member(self):
        fitted = mdt.MDTClustering(K, strategy=Beam(max_steps=2), members=["mean"], **GRAPH).fit(views())
        expected = composed(views(), widen=lambda ops: ops.with_mean(), search={"strategy": Beam(max_steps=2)})
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
        resumed = {"checkpoint": tmp_path / "search.json", "strategy": Beam(max_steps=3)}
        quick(mdt.MDTClustering, **resumed, max_evaluations=4).fit(views())
        before = (tmp_path / "search.json").read_bytes()
        fitted = quick(mdt.MDTClustering, **resumed).fit(views())
        assert_same_fit(fitted, quick(mdt.MDTClustering, strategy=Beam(max_steps=3)).fit(views()))
        assert before != (tmp_path / "search.json").read_bytes()

    def test_time_limit(self):
        fitted = quick(mdt.MDTClustering, strategy=Beam(max_steps=50), time_limit=0.0).fit(views())
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
