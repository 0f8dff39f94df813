"""Strategies as objects: immutable, registered by name, and equal to their names."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import FrozenInstanceError, dataclass

import numpy as np
import pytest

import mdt_fast as mdt
from helpers import consensus
from helpers.searches import SEARCHES, assert_same, composed, fresh, search, skip_without_package, tiny
from mdt_fast import strategies
from mdt_fast._search.strategies import BY_NAME, make_strategy
from mdt_fast.strategies import (
    CMA,
    MCTS,
    Beam,
    Consensus,
    Contrastive,
    Direct,
    EpsilonGreedy,
    Exhaustive,
    Given,
    Greedy,
    Mean,
    RandomSequences,
    RandomWeights,
)

# Every name, its class, and the default options.
REGISTERED = {
    "random": (RandomSequences, {"n": 1, "probabilities": None}),
    "beam": (Beam, {"width": 2, "max_steps": None, "answer": "any", "grow": "left"}),
    "greedy": (Greedy, {"max_steps": None, "answer": "any", "grow": "left"}),
    "epsilon-greedy": (EpsilonGreedy, {"epsilon": 0.1, "max_steps": None, "answer": "any", "grow": "left"}),
    "mcts": (MCTS, {"playouts": 100, "exploration": 0.5, "max_steps": None}),
    "exhaustive": (Exhaustive, {"max_steps": None}),
    "convex": (RandomWeights, {"n": 1}),
    "direct": (Direct, {"evaluations": 100}),
    "cma": (CMA, {"evaluations": 100}),
    "contrastive": (Contrastive, {"learning_rate": 0.8, "steps": 40, "batch_size": "auto", "tol": 1e-4}),
    "mean": (Mean, {}),
    "consensus": (Consensus, {"trajectories": 128, "kept": 0.25}),
    "auto": (Consensus, {"trajectories": 128, "kept": 0.25}),
}
registered = pytest.mark.parametrize("name", REGISTERED)
made = pytest.mark.parametrize("strategy", [*(make() for make, _ in REGISTERED.values()), Given((0, 1))], ids=str)


class TestRegistration:
    def test_names(self):
        assert list(BY_NAME) == list(REGISTERED)
        public = {getattr(strategies, name) for name in strategies.__all__}
        assert public == {*BY_NAME.values(), Given, strategies.Strategy}
        assert mdt.strategies is strategies

    @registered
    def test_a_name_is_the_strategy_with_default_options(self, name):
        make, options = REGISTERED[name]
        strategy = make_strategy(name)
        assert type(strategy) is make
        assert strategy.get_params() == options
        assert strategy.settings() == {"name": make.name, **options}
        # The name of every strategy is a shorthand for it.
        assert BY_NAME[make.name] is make

    def test_an_object_is_used_as_it_is(self):
        strategy = Beam(width=3)
        assert make_strategy(strategy) is strategy

    @registered
    def test_name_and_object_give_the_same_result(self, name):
        skip_without_package(name)
        make, options = REGISTERED[name]
        ops = tiny(1, 30)
        by_name, by_object, by_options = (
            search(ops, strategy=strategy, t=2, random_state=3) for strategy in (name, make(), make(**options))
        )
        for found in (by_object, by_options):
            assert_same(by_name, found, fields=("strategy", "quality", "t", "stopped", "converged", "settings"))
        assert by_name.strategy == make.name
        assert by_name.settings["strategy"] == {"name": make.name, **options}
        if by_name.agreement is not None:
            consensus.assert_same(by_name, by_object)


class TestObjects:
    @made
    def test_frozen(self, strategy):
        for name in [*strategy.get_params(), "name", "other"]:
            with pytest.raises(FrozenInstanceError):
                setattr(strategy, name, 3)

    @made
    @pytest.mark.parametrize(
        "copied", [lambda s: pickle.loads(pickle.dumps(s)), copy.deepcopy, copy.copy], ids=["pickle", "deep", "shallow"]
    )
    def test_copies(self, strategy, copied):
        other = copied(strategy)
        assert type(other) is type(strategy)
        assert other.get_params() == strategy.get_params()

    def test_equality(self):
        assert Beam(width=3) == Beam(3)
        assert Beam(width=3) != Beam(width=2)
        assert Greedy() != Beam(width=1)
        assert len({Beam(), Beam(width=2), Greedy(), Greedy(max_steps=3)}) == 3

    def test_repr(self):
        text = repr(Beam(width=3, grow="right"))
        assert text.startswith("Beam(")
        assert "width=3" in text
        assert "grow='right'" in text
        assert eval(text, {"Beam": Beam}) == Beam(width=3, grow="right")

    def test_replace(self):
        first = Beam(width=3, max_steps=4)
        second = first.replace(width=5, answer="last")
        assert second == Beam(width=5, max_steps=4, answer="last")
        assert first == Beam(width=3, max_steps=4)

    def test_the_base_class_has_no_instances(self):
        with pytest.raises(TypeError, match="abstract"):
            strategies.Strategy()

    @pytest.mark.parametrize(
        ("strategy", "plain"),
        [
            (Beam(width=np.int64(3), max_steps=np.int32(2)), Beam(width=3, max_steps=2)),
            (EpsilonGreedy(epsilon=np.float32(0.5), max_steps=2), EpsilonGreedy(epsilon=0.5, max_steps=2)),
            (RandomSequences(n=np.int64(4)), RandomSequences(n=4)),
            (RandomWeights(n=np.uint8(4)), RandomWeights(n=4)),
            (Direct(evaluations=np.int64(5)), Direct(evaluations=5)),
            (Contrastive(steps=np.int64(3), batch_size=np.int64(8)), Contrastive(steps=3, batch_size=8)),
            (Consensus(trajectories=np.int64(4)), Consensus(trajectories=4)),
        ],
        ids=str,
    )
    def test_numbers_of_numpy(self, strategy, plain, tmp_path):
        found = search(tiny(), strategy=strategy, t=2, checkpoint=tmp_path / "search.json")
        expected = search(tiny(), strategy=plain, t=2)
        assert_same(expected, found)
        assert json.loads(json.dumps(found.settings)) == expected.settings

    @pytest.mark.parametrize("wrap", [list, tuple, np.array, lambda p: list(map(np.array, p))], ids=range(4))
    @pytest.mark.parametrize("probabilities", [[0.25, 0.75], [[0.25, 0.75], [1.0, 0.0]]], ids=str)
    def test_forms_of_probabilities(self, wrap, probabilities, tmp_path):
        plain = search(tiny(), strategy=RandomSequences(n=4, probabilities=probabilities), t=2)
        strategy = RandomSequences(n=4, probabilities=wrap(probabilities))
        found = search(tiny(), strategy=strategy, t=2, checkpoint=tmp_path / "search.json")
        assert_same(plain, found)
        assert found.settings == json.loads(json.dumps(plain.settings))

    @pytest.mark.parametrize("steps", [[0, 1, 1], (0, 1, 1), np.array([0, 1, 1]), [[0.5, 0.5]], ["view 1"]], ids=str)
    def test_settings_of_given_steps_are_json_values(self, steps):
        ops = tiny()
        found = search(ops, strategy=steps)
        assert found.settings == json.loads(json.dumps(found.settings))
        back = mdt.SearchResult.from_dict(json.loads(json.dumps(found.to_dict())), ops)
        assert back.settings == found.settings


class TestSearched:
    @pytest.mark.parametrize("name", SEARCHES)
    def test_settings(self, name):
        strategy = SEARCHES[name]["strategy"]
        found = search(tiny(), **SEARCHES[name])
        assert found.settings["strategy"] == {"name": name, **strategy.get_params()}
        assert found.strategy == name
        json.dumps(found.settings, allow_nan=False)

    @pytest.mark.parametrize("name", SEARCHES)
    @pytest.mark.parametrize("limit", [None, 5])
    def test_labels_are_those_of_the_answer_clustered_anew(self, name, limit, tmp_path):
        ops, path = fresh(2, 40), tmp_path / "search.json"
        options = {**SEARCHES[name], "random_state": 4, "max_evaluations": limit}
        found, again, resumed = (
            search(ops, **options),
            search(ops, **options, checkpoint=path),
            # All scores are in the file, which has no labels.
            search(ops, **options, checkpoint=path),
        )
        anew = search(ops, strategy=found.trajectory, quality=mdt.Scoring(None), random_state=4).labels
        for labels in (found.labels, again.labels, resumed.labels, composed(ops, found.trajectory, seed=4)[1]):
            np.testing.assert_array_equal(labels, anew)

    @pytest.mark.parametrize("answer", ["any", "last"])
    @pytest.mark.parametrize("quality", ["calinski_harabasz", lambda ops, labels, X: -abs(float(X[0, 0]))], ids=str)
    def test_labels_of_either_answer(self, answer, quality):
        ops = fresh(2, 40)
        found = search(ops, strategy=Beam(max_steps=4, answer=answer), quality=quality)
        np.testing.assert_array_equal(found.labels, composed(ops, found.trajectory)[1])

    def test_labels_of_a_contrastive_search_for_clusters(self):
        ops = fresh(2, 40)
        found = search(ops, 4, strategy=Beam(max_steps=2), quality="contrastive")
        np.testing.assert_array_equal(found.labels, composed(ops, found.trajectory, 4)[1])

    def test_max_steps_replaces_the_time(self):
        found = search(tiny(), strategy=Beam(max_steps=3))
        assert found.t is None
        assert found.history["depth"].max() == 3
        assert search(tiny(), strategy=Beam(max_steps=3), t=2).t == 2


@dataclass(frozen=True)
class Own(strategies.Strategy):
    """A strategy of a user: the candidates of each call."""

    name = "own"

    calls: tuple = ()

    def run(self, run):
        for candidates in self.calls:
            run.score(candidates)


class TestOwn:
    def test_the_best_candidate_is_the_answer(self):
        candidates = [(0,), (0, 1), (1, 1)]
        found = search(tiny(), strategy=Own((candidates[:1], candidates[1:])))
        alone = [search(tiny(), strategy=each).score for each in candidates]
        assert found.score == max(alone)
        assert found.trajectory.sequence == candidates[int(np.argmax(alone))]
        assert found.stopped is None

    def test_a_strategy_that_scores_nothing(self):
        with pytest.raises(ValueError, match="strategy: expected candidates that are scored, got none"):
            search(tiny(), strategy=Own())

    def test_a_strategy_that_repeats_itself_ends(self):
        @dataclass(frozen=True)
        class Endless(strategies.Strategy):
            name = "endless"

            def run(self, run):
                while True:
                    run.score([(0,)])

        found = search(tiny(), strategy=Endless())
        assert (found.n_evaluations, found.stopped) == (1, None)

    def test_some_repetitions(self):
        calls = ([(0,)],) * 9_000 + ([(1,)],) * 9_000
        assert search(tiny(), strategy=Own(calls)).n_evaluations == 2

    def test_direct_with_one_member(self):
        ops = mdt.build_operators([np.random.default_rng(0).normal(size=(30, 2))])
        assert search(ops, strategy=Direct(20_000)).n_evaluations == 1
