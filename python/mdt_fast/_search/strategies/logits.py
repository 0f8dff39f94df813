"""Weights as logits, for strategies that optimise over all real numbers."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._operators.draw import on_simplex
from ..evaluation import Candidate
from ..problem import Problem
from .base import Strategy, check_count


@dataclass(frozen=True)
class LogitStrategy(Strategy):
    """An optimiser over logits, which ends after a number of evaluations."""

    evaluations: int = 100

    def __post_init__(self) -> None:
        """Check the options."""
        check_count("evaluations", self.evaluations)

    @property
    def budget(self) -> int:
        """The option `evaluations`."""
        return self.evaluations


def softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the softmax of each row."""
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def weights_of(problem: Problem, logits: NDArray[Any]) -> Candidate:
    """Return the weights of a flat array of logits."""
    return on_simplex(problem.ops, softmax(logits.reshape(problem.n_steps, len(problem.ops))))
