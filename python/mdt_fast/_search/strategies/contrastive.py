"""Gradient descent on the contrastive loss over weights."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..._operators.draw import on_simplex
from ..._support.arguments import check_integer, check_number
from ...quality import contrastive_loss
from ...quality._arguments import QualityLike
from ..evaluation import Evaluation
from ..problem import Answer, Problem
from .base import Strategy, check_count
from .logits import softmax

if TYPE_CHECKING:
    from ..run import SearchRun

# Decay rates of Adam and the constant that avoids division by zero.
_BETA1, _BETA2, _EPSILON = 0.9, 0.999, 1e-8
# The optimisation has converged when its last tenth improves the loss by less than this share of
# the whole improvement, or when the linear bound of the improvement falls below this share.
_CONVERGED = 0.01


@dataclass(frozen=True)
class Contrastive(Strategy):
    """Minimise the contrastive loss over the weights by Adam (MDT-CST in the paper).

    The weights of a step are the softmax of its logits, which start at zero. The learning rate
    falls to zero along a cosine. The answer is the iterate with the smallest loss; with
    mini-batches, whose losses are not comparable, it is the last iterate.

    Parameters
    ----------
    learning_rate : float, default=0.8
        Initial learning rate.
    steps : int, default=40
        Number of gradient steps.
    batch_size : int or None, default=None
        Number of samples for each gradient; None is all.

    References
    ----------
    D. P. Kingma and J. Ba, "Adam: a method for stochastic optimization", arXiv:1412.6980.
    """

    name: ClassVar[str] = "contrastive"
    quality: ClassVar[str] = "contrastive"

    learning_rate: float = 0.8
    steps: int = 40
    batch_size: int | None = None

    def __post_init__(self) -> None:
        """Check the options."""
        check_number("learning_rate", self.learning_rate)
        check_count("steps", self.steps)
        if self.batch_size is not None:
            check_integer("batch_size", self.batch_size, minimum=1)

    def choose_quality(self, given: QualityLike, n_clusters: int | None) -> QualityLike:
        """Return "contrastive", whatever is given."""
        return self.quality

    def n_candidates(self, problem: Problem, limit: int | None) -> int:
        """Return the number of iterates."""
        return self.steps + 1

    def run(self, run: SearchRun) -> Answer:
        """Follow the gradient."""
        problem, descent = run.problem, _Adam(self.learning_rate, self.steps)
        n_samples, generator = problem.ops.n_samples, problem.generator()
        is_sampled = self.batch_size is not None and self.batch_size < n_samples
        logits = np.zeros((problem.n_steps, len(problem.ops)))
        gaps, losses = [], []
        for k in range(self.steps + 1):
            weights = on_simplex(problem.ops, softmax(logits))
            rows = None
            if is_sampled and k < self.steps:
                rows = np.sort(generator.choice(n_samples, self.batch_size, replace=False))
            evaluation = _evaluate(run, weights, rows)
            run.note(evaluation)
            gradient = evaluation.gradient
            assert gradient is not None
            losses.append(-evaluation.score)
            # Improvement that the linear model promises at the best corner of each simplex.
            gaps.append(float(np.sum(np.sum(weights * gradient, axis=1) - gradient.min(axis=1))))
            slope = weights * (gradient - np.sum(weights * gradient, axis=1, keepdims=True))
            logits = logits - descent.step(slope, k)
        best = len(run.candidates) - 1 if is_sampled else run.best()
        return Answer(best, converged=_has_converged(gaps, losses))


class _Adam:
    """Adam with a learning rate that falls to zero along a cosine."""

    def __init__(self, learning_rate: float, n_steps: int) -> None:
        self._rate, self._n_steps = learning_rate, n_steps
        self._first: Any = 0.0
        self._second: Any = 0.0

    def step(self, slope: NDArray[np.float64], k: int) -> NDArray[np.float64]:
        """Return the change of the parameters in step `k`, to be subtracted."""
        self._first = _BETA1 * self._first + (1 - _BETA1) * slope
        self._second = _BETA2 * self._second + (1 - _BETA2) * slope**2
        rate = self._rate * 0.5 * (1 + np.cos(np.pi * k / self._n_steps))
        scale = np.sqrt(self._second / (1 - _BETA2 ** (k + 1))) + _EPSILON
        return np.asarray(rate * (self._first / (1 - _BETA1 ** (k + 1)) / scale))


def _evaluate(run: SearchRun, weights: NDArray[np.float64], rows: Any) -> Evaluation:
    known = run.find(weights)
    if known is not None and known.gradient is not None:
        return known
    problem, began = run.problem, time.perf_counter()
    loss, gradient = contrastive_loss(
        problem.ops, weights, view_weights=problem.view_weights, rows=rows, gradient=True, n_jobs=problem.n_jobs
    )
    if rows is not None:
        share = problem.ops.n_samples / len(rows)
        loss, gradient = loss * share, gradient * share
    return Evaluation(weights, -loss, time.perf_counter() - began, gradient)


def _has_converged(gaps: list[float], losses: list[float]) -> bool:
    if min(gaps) <= _CONVERGED * gaps[0]:
        return True
    best = np.minimum.accumulate(losses)
    tenth, total = len(best) // 10, best[0] - best[-1]
    return bool(tenth > 0 and best[-1 - tenth] - best[-1] <= _CONVERGED * total)
