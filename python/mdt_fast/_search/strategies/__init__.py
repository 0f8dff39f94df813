"""Strategies: the ways to search for a trajectory.

A new strategy is one file in this folder and one entry in the list below.
"""

from typing import Any

import numpy as np

from ..._operators.trajectory import Trajectory
from ..._support.arguments import check_choice
from .base import Strategy
from .beam import Beam, Greedy
from .cma import CMA
from .consensus import Consensus
from .contrastive import Contrastive
from .direct import Direct
from .epsilon_greedy import EpsilonGreedy
from .exhaustive import Exhaustive
from .fixed import Given, Mean
from .mcts import MCTS
from .random_sequences import RandomSequences
from .random_weights import RandomWeights

__all__ = [
    "CMA", "MCTS", "Beam", "Consensus", "Contrastive", "Direct", "EpsilonGreedy", "Exhaustive", "Given", "Greedy",
    "Mean", "RandomSequences", "RandomWeights", "Strategy",
]  # fmt: skip

_REGISTERED: tuple[type[Strategy], ...] = (
    RandomSequences, Beam, Greedy, EpsilonGreedy, MCTS, Exhaustive,
    RandomWeights, Direct, CMA, Contrastive, Mean, Consensus,
)  # fmt: skip

# Shorthands of strategies with their default options.
BY_NAME: dict[str, type[Strategy]] = {**{each.name: each for each in _REGISTERED}, "auto": Consensus}


def make_strategy(strategy: Any) -> Strategy:
    """Return a strategy from an object, a name, or a trajectory given by hand."""
    if isinstance(strategy, Strategy):
        return strategy
    if isinstance(strategy, str):
        return BY_NAME[check_choice("strategy", strategy, list(BY_NAME))]()
    if isinstance(strategy, (Trajectory, list, tuple, np.ndarray)):
        return Given(strategy)
    names = ", ".join(map(repr, BY_NAME))
    raise TypeError(
        f"strategy: expected one of {names}, a Strategy, a sequence, weights or a Trajectory, got {strategy!r}"
    )
