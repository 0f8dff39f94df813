"""Wrong arguments of the search are refused by name before anything is evaluated."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import mdt_fast as mdt
from helpers.messages import EITHER, mentions, number
from mdt_fast import _core, strategies
from mdt_fast.strategies import CMA, MCTS, Beam, Exhaustive, Greedy, RandomSequences, RandomWeights

N_SAMPLES = 16
STRATEGIES = [
    "random",
    "beam",
    "greedy",
    "epsilon-greedy",
    "mcts",
    "exhaustive",
    "convex",
    "direct",
    "cma",
    "contrastive",
    "mean",
    "consensus",
    "auto",
]
QUALITIES = ["calinski_harabasz", "davies_bouldin", "silhouette", "contrastive"]


@pytest.fixture(scope="module")
def ops():
    rng = np.random.default_rng(5)
    views = [rng.normal(size=(N_SAMPLES, 2)), rng.normal(size=(N_SAMPLES, 3))]
    return mdt.build_operators(views, n_neighbors=N_SAMPLES // 2)


@pytest.fixture(scope="module")
def larger():
    """Enough samples that vectors are kept for children."""
    rng = np.random.default_rng(5)
    return mdt.build_operators([rng.normal(size=(200, 2)), rng.normal(size=(200, 3))], n_neighbors=20)


def search(ops, n_clusters=3, **options):
    return mdt.search(ops, n_clusters, **{"strategy": Beam(max_steps=2), "t": 2, "progress": False, **options})


# Strategy, argument of the search, value, exception, fragments of the message.
WRONG = [
    ("beam", "t", 0, ValueError, [number(0)]),
    ("beam", "t", -2, ValueError, [number(-2)]),
    ("beam", "t", 2.5, EITHER, [r"2\.5"]),
    ("beam", "t", "knee", EITHER, ["knee", "auto"]),
    ("beam", "t", None, EITHER, ["None"]),
    ("random", "t", 0, ValueError, [number(0)]),
    ("contrastive", "t", 0, ValueError, [number(0)]),
    ("beam", "n_clusters", 0, ValueError, [number(0)]),
    ("beam", "n_clusters", -1, ValueError, [number(-1)]),
    ("beam", "n_clusters", 2.5, EITHER, [r"2\.5"]),
    ("beam", "n_clusters", "three", EITHER, ["three"]),
    ("beam", "n_clusters", N_SAMPLES + 1, ValueError, [number(N_SAMPLES + 1)]),
    ("beam", "max_evaluations", 0, ValueError, [number(0)]),
    ("direct", "max_evaluations", 0, ValueError, [number(0)]),
    ("random", "max_evaluations", 2.5, EITHER, [r"2\.5"]),
    ("beam", "time_limit", -1.0, ValueError, [number(-1)]),
    ("beam", "time_limit", np.nan, ValueError, ["nan"]),
    ("beam", "time_limit", "hour", EITHER, ["hour"]),
    ("beam", "n_jobs", 0, ValueError, [number(0)]),
    ("beam", "random_state", -1, ValueError, [number(-1)]),
    ("beam", "random_state", "x", EITHER, ["x"]),
    ("beam", "progress", 3, EITHER, [number(3)]),
    ("beam", "progress", "bar", EITHER, ["bar"]),
    ("beam", "checkpoint", 3, EITHER, [number(3)]),
    ("beam", "view_weights", [1.0], ValueError, [number(2)]),
    ("beam", "view_weights", [1.0, -1.0], ValueError, [number(-1)]),
    ("beam", "view_weights", [0.0, 0.0], ValueError, ["zero|positive"]),
]
# Option of a scoring, value, exception, fragments of the message.
WRONG_SCORING = [
    ("n_components", 0, ValueError, [number(0)]),
    ("n_components", N_SAMPLES, ValueError, [number(N_SAMPLES), number(N_SAMPLES - 1)]),
    ("n_init", 0, ValueError, [number(0)]),
    ("tol", -1.0, ValueError, [number(-1)]),
    ("tol", np.nan, ValueError, ["nan"]),
    ("features", [np.ones((N_SAMPLES, 2))], ValueError, [number(2), number(1)]),
    ("features", [np.ones((N_SAMPLES, 2)), np.ones((5, 2))], ValueError, [number(5)]),
    ("features", 3, EITHER, ["int|3"]),
]
# Strategy, option, value, exception, fragments of the message; refused when the strategy is made.
WRONG_OPTIONS = [
    ("Beam", "max_steps", 0, ValueError, [number(0)]),
    ("Beam", "max_steps", -1, ValueError, [number(-1)]),
    ("Beam", "max_steps", 1.5, EITHER, [r"1\.5"]),
    ("Greedy", "max_steps", 0, ValueError, [number(0)]),
    ("EpsilonGreedy", "max_steps", 0, ValueError, [number(0)]),
    ("MCTS", "max_steps", 0, ValueError, [number(0)]),
    ("Exhaustive", "max_steps", 0, ValueError, [number(0)]),
    ("Beam", "width", 0, ValueError, [number(0)]),
    ("Beam", "width", -3, ValueError, [number(-3)]),
    ("Beam", "width", 2.0, EITHER, [r"2\.0"]),
    ("Beam", "width", 2**32, ValueError, [number(2**32)]),
    ("Beam", "answer", "best", ValueError, ["best", "any", "last"]),
    ("Beam", "grow", "up", ValueError, ["up", "left", "right"]),
    ("Greedy", "answer", "best", ValueError, ["best", "any", "last"]),
    ("Greedy", "grow", "up", ValueError, ["up", "left", "right"]),
    ("EpsilonGreedy", "answer", "best", ValueError, ["best", "any", "last"]),
    ("EpsilonGreedy", "grow", "up", ValueError, ["up", "left", "right"]),
    ("RandomSequences", "n", 0, ValueError, [number(0)]),
    ("RandomWeights", "n", -1, ValueError, [number(-1)]),
    ("Consensus", "trajectories", 0, ValueError, [number(0)]),
    ("Direct", "evaluations", 0, ValueError, [number(0)]),
    ("CMA", "evaluations", 2.5, EITHER, [r"2\.5"]),
    ("MCTS", "playouts", 0, ValueError, [number(0)]),
    ("MCTS", "exploration", -0.5, ValueError, [r"-0\.5"]),
    ("MCTS", "exploration", np.nan, ValueError, ["nan"]),
    ("EpsilonGreedy", "epsilon", -0.1, ValueError, [r"-0\.1"]),
    ("EpsilonGreedy", "epsilon", 1.5, ValueError, [r"1\.5"]),
    ("EpsilonGreedy", "epsilon", np.nan, ValueError, ["nan"]),
    ("Contrastive", "learning_rate", -1.0, ValueError, [number(-1)]),
    ("Contrastive", "learning_rate", np.inf, ValueError, ["inf"]),
    ("Contrastive", "steps", 0, ValueError, [number(0)]),
    ("Contrastive", "batch_size", 0, ValueError, [number(0)]),
    ("Contrastive", "batch_size", "all", ValueError, ["an integer, 'auto' or None", "'all'"]),
    ("Contrastive", "tol", -1.0, ValueError, [number(-1)]),
]
# Probabilities of two members at two steps, exception, fragments of the message.
WRONG_PROBABILITIES = [
    ([0.5, 0.25, 0.25], ValueError, [number(2), number(3)]),
    ([[0.5, 0.5]] * 3, ValueError, [number(2), number(3)]),
    ([0.5, 0.4], ValueError, ["sum", r"0\.9|0\.4"]),
    ([1.5, -0.5], ValueError, [r"-0\.5|negative"]),
    ([np.nan, 0.5], ValueError, ["nan"]),
    ([[0.5, 0.5], [0.5, 0.25]], ValueError, ["sum", r"0\.75|0\.25"]),
    ("uniform", EITHER, ["uniform|str"]),
]


@pytest.mark.parametrize(
    ("strategy", "argument", "value", "error", "fragments"),
    WRONG,
    ids=[f"{strategy}-{argument}={value!s:.20}" for strategy, argument, value, _, _ in WRONG],
)
def test_arguments(ops, strategy, argument, value, error, fragments):
    with pytest.raises(error, match=mentions(rf"\b{argument}\b", *fragments)):
        search(ops, **{"strategy": strategy, argument: value})


@pytest.mark.parametrize(
    ("option", "value", "error", "fragments"),
    WRONG_SCORING,
    ids=[f"{option}={value!s:.20}" for option, value, _, _ in WRONG_SCORING],
)
def test_scoring(ops, option, value, error, fragments):
    with pytest.raises(error, match=mentions(rf"\b{option}\b", *fragments)):
        search(ops, quality=mdt.Scoring(**{option: value}))


@pytest.mark.parametrize(
    ("strategy", "option", "value", "error", "fragments"),
    WRONG_OPTIONS,
    ids=[f"{strategy}-{option}={value!s:.20}" for strategy, option, value, _, _ in WRONG_OPTIONS],
)
def test_options_of_strategies(strategy, option, value, error, fragments):
    make = getattr(strategies, strategy)
    with pytest.raises(error, match=mentions(rf"\b{option}: expected", *fragments)):
        make(**{option: value})
    with pytest.raises(error, match=mentions(rf"\b{option}: expected", *fragments)):
        make().replace(**{option: value})


@pytest.mark.parametrize(("probabilities", "error", "fragments"), WRONG_PROBABILITIES, ids=str)
@pytest.mark.parametrize("quality", ["auto", None], ids=["scored", "unscored"])
def test_probabilities(ops, probabilities, error, fragments, quality):
    with pytest.raises(error, match=mentions(r"\bprobabilities\b", *fragments)):
        search(ops, strategy=RandomSequences(probabilities=probabilities), quality=quality)


@pytest.mark.parametrize("strategy", [name for name in strategies.__all__ if name not in ("Given", "Strategy")])
def test_unknown_options(strategy):
    make = getattr(strategies, strategy)
    with pytest.raises(TypeError, match="'foo'"):
        make(foo=1)
    with pytest.raises(ValueError, match=mentions(repr(make.name), "'foo'", *map(repr, make().get_params()))):
        make().replace(foo=1)


def test_options_of_another_strategy():
    for make, option in ((Greedy, "width"), (MCTS, "grow"), (Exhaustive, "answer"), (strategies.Consensus, "answer")):
        with pytest.raises(TypeError, match=f"'{option}'"):
            make(**{option: 1})


@pytest.mark.parametrize("strategy", ["beams", "Beam", ""])
def test_unknown_strategy_lists_the_known(ops, strategy):
    with pytest.raises(ValueError, match=mentions("strategy", repr(strategy), *map(repr, STRATEGIES))):
        search(ops, strategy=strategy)


@pytest.mark.parametrize("quality", ["calinski", "Silhouette", ""])
def test_unknown_quality_lists_the_known(ops, quality):
    with pytest.raises(ValueError, match=mentions("quality", repr(quality), *map(repr, QUALITIES))):
        search(ops, quality=quality)


@pytest.mark.parametrize("quality", [3, ["silhouette"], True])
def test_quality_of_another_kind(ops, quality):
    with pytest.raises(EITHER, match=mentions("quality", r"int|\[|list|bool|3|True")):
        search(ops, quality=quality)


@pytest.mark.parametrize("given", [None, 3, 2.5, {"sequence": [0]}, Beam], ids=str)
def test_strategy_of_another_kind(ops, given):
    with pytest.raises(EITHER, match=mentions("strategy|steps")):
        search(ops, strategy=given)


@pytest.mark.parametrize(
    ("steps", "error", "fragments"),
    [
        ([], ValueError, ["step"]),
        ([0, 2], ValueError, [number(2)]),
        ([0, -1], ValueError, [number(-1)]),
        (["view 0", "smell"], ValueError, ["smell"]),
        ([0.5, 1.0], EITHER, [r"0\.5|float"]),
        ([[0.5, 0.4]], ValueError, [r"0\.9"]),
        (np.array([[1.5, -0.5]]), ValueError, [r"-0\.5|negative"]),
        (np.full((2, 3), 1 / 3), ValueError, [number(2), number(3)]),
        (np.full((2, 2), np.nan), ValueError, ["nan"]),
    ],
)
def test_steps_by_hand(ops, steps, error, fragments):
    with pytest.raises(error, match=mentions(*fragments)):
        search(ops, strategy=steps)


def test_a_trajectory_of_another_set(ops):
    rng = np.random.default_rng(6)
    other = mdt.build_operators([rng.normal(size=(N_SAMPLES, 2))] * 2, n_neighbors=8)
    for stranger in (other, ops.with_identity()):
        with pytest.raises(ValueError, match=mentions("strategy|trajectory", "OperatorSet|ops|operators")):
            search(ops, strategy=stranger.trajectory([0, 1]))


@pytest.mark.parametrize("ops", [None, [np.eye(4)], "ops"], ids=["None", "list", "str"])
def test_not_operators(ops):
    with pytest.raises(TypeError, match=mentions(r"\bops\b", "OperatorSet")):
        search(ops)


def test_options_are_keyword_only(ops):
    with pytest.raises(TypeError, match="positional"):
        mdt.search(ops, 3, "beam")
    for argument in ("width", "beam_width", "max_steps", "n_samples", "n_init", "features"):
        with pytest.raises(TypeError, match=f"'{argument}'"):
            mdt.search(ops, 3, **{argument: 2})


class TestMissing:
    @pytest.mark.parametrize("strategy", [name for name in STRATEGIES if name not in ("cma", "contrastive")])
    @pytest.mark.parametrize("quality", QUALITIES[:3])
    def test_n_clusters(self, ops, strategy, quality):
        with pytest.raises(ValueError, match=mentions("n_clusters")):
            search(ops, None, strategy=strategy, quality=quality)

    def test_n_clusters_for_a_trajectory_by_hand(self, ops):
        with pytest.raises(ValueError, match=mentions("n_clusters")):
            mdt.search(ops, strategy=[0, 1])

    @pytest.mark.parametrize("strategy", ["beam", "greedy", "epsilon-greedy", "mcts", "exhaustive", "direct"])
    def test_quality_of_a_strategy_that_compares(self, ops, strategy):
        with pytest.raises(ValueError, match=mentions("quality", "None")):
            search(ops, strategy=strategy, quality=None)

    @pytest.mark.parametrize("strategy", [RandomSequences(n=2), RandomWeights(n=2)], ids=repr)
    def test_quality_of_several_trajectories(self, ops, strategy):
        with pytest.raises(ValueError, match=mentions("quality", "None")):
            search(ops, strategy=strategy, quality=None)

    def test_the_cma_package(self, ops, monkeypatch):
        monkeypatch.setitem(sys.modules, "cma", None)
        with pytest.raises(ImportError, match=r"mdt_fast\[cma\]"):
            search(ops, strategy="cma")
        # A strategy may be made without the package that it needs.
        assert CMA().evaluations == 100


class TestTooLarge:
    @pytest.mark.parametrize(("max_steps", "count"), [(16, "131,?_?070"), (40, "2,?_?199,?_?023,?_?255,?_?550")])
    def test_exhaustive_states_the_count(self, ops, max_steps, count):
        with pytest.raises(ValueError, match=mentions("exhaustive", count, "max_evaluations")):
            search(ops, strategy=Exhaustive(max_steps=max_steps))

    def test_exhaustive_beyond_any_integer(self, ops):
        with pytest.raises(ValueError, match=mentions("exhaustive", "max_evaluations")):
            search(ops, strategy=Exhaustive(max_steps=5000))
        assert search(ops, strategy=Exhaustive(max_steps=5000), max_evaluations=3).n_evaluations == 3

    def test_exhaustive_of_the_time(self, ops):
        with pytest.raises(ValueError, match=mentions("exhaustive", "131,?_?070")):
            search(ops, strategy=Exhaustive(), t=16)


def test_nothing_is_evaluated_before_a_refusal(larger, tmp_path):
    calls = []

    def quality(*_):
        calls.append(1)
        return 1.0

    for wrong in ({"time_limit": -1}, {"checkpoint": tmp_path / "no" / "file"}):
        with pytest.raises((ValueError, OSError)):
            search(larger, quality=quality, **wrong)
    with pytest.raises(ValueError, match="n_init"):
        search(larger, quality=mdt.Scoring(quality, n_init=0))
    assert not calls


def test_given_arrays_are_not_changed(ops):
    weights, features = np.array([2.0, 1.0]), [np.eye(N_SAMPLES), np.eye(N_SAMPLES)]
    probabilities = np.array([0.5, 0.5])
    copies = weights.copy(), [X.copy() for X in features], probabilities.copy()
    strategy = RandomSequences(n=3, probabilities=probabilities)
    search(ops, strategy=strategy, view_weights=weights, quality=mdt.Scoring(features=features))
    np.testing.assert_array_equal(weights, copies[0])
    np.testing.assert_array_equal(features, copies[1])
    np.testing.assert_array_equal(probabilities, copies[2])


def test_memory_limit_is_checked_before_the_search():
    ops = mdt.build_operators(list(np.random.default_rng(0).normal(size=(2, 20_000, 3))), n_neighbors=4)
    with pytest.raises(MemoryError, match=r"memory_limit: expected at least [\d.]+ GB for 20,000 samples, 3 candidate"):
        mdt.search(ops, 3, t=2, memory_limit=1_000_000, n_jobs=3)
    with pytest.raises(TypeError, match="memory_limit: expected an integer"):
        mdt.search(ops, 3, t=2, memory_limit="2 GB")


def test_memory_limit_does_not_change_the_result():
    ops = mdt.build_operators(list(np.random.default_rng(0).normal(size=(2, 300, 3))))
    plain = mdt.search(ops, 3, t=3, progress=False)
    # Enough for one candidate, with almost no memory left for vectors.
    plan = _core.plan_candidates(300, 0, 3, 8, 1)
    least = plan.reordered_operators + plan.solver + plan.coordinates_and_labels + plan.starting_blocks
    limited = mdt.search(ops, 3, t=3, progress=False, memory_limit=least + 1000, n_jobs=1)
    np.testing.assert_array_equal(plain.history["score"], limited.history["score"])
    assert plain.trajectory.sequence == limited.trajectory.sequence
