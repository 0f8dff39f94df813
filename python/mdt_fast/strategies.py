"""Strategies of :func:`mdt_fast.search`: frozen classes with their options.

A name such as ``"beam"`` stands for the strategy with its default options, ``Beam()``. Options of
the strategy of an estimator are set as ``set_params(strategy__width=3)``.
"""

from ._search.strategies import (
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
    Strategy,
)

__all__ = [
    "CMA",
    "MCTS",
    "Beam",
    "Consensus",
    "Contrastive",
    "Direct",
    "EpsilonGreedy",
    "Exhaustive",
    "Given",
    "Greedy",
    "Mean",
    "RandomSequences",
    "RandomWeights",
    "Strategy",
]
