"""Gradient descent on the contrastive loss over weights."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..._operators.draw import on_simplex
from ..._support.arguments import check_integer, check_number
from ...quality import contrastive_loss
from ...quality._arguments import QualityLike
from ...quality._contrastive_estimate import ContrastiveEstimate, mean_reach
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
# Columns of signs of an estimate times samples: the error is about 1 / sqrt(columns * samples), so
# it does not grow with the samples. Columns come in tiles of the sparse kernel.
_SIGNS, _TILE = 2**19, 32

# Returns the loss and the gradient of weights in a gradient step.
_Objective: TypeAlias = Callable[[NDArray[np.float64], int], tuple[float, NDArray[np.float64]]]


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
        Largest number of gradient steps.
    batch_size : int, "auto" or None, default="auto"
        Number of samples for each gradient; None is all. "auto" also takes all samples, but
        estimates their loss and gradient if this is faster, in a time that is linear in the number
        of samples. See Notes.
    tol : float, default=0.0001
        The search ends when the gradient promises an improvement of less than this share of the
        improvement so far. 0 takes all steps. Mini-batches always take all steps.

    Notes
    -----
    The published study uses ``Contrastive(batch_size=None, tol=0.0)``.

    For "auto", the loss is replaced by its linear part in ``W``, a trace. A basis of 32 columns gives
    the largest part of the trace, random signs give an estimate of the rest. There are
    ``2**19 / N`` columns of signs, rounded up to a multiple of 32. All columns are the same in all
    steps, so losses are comparable. `score` is then the estimate. Losses are exact if walks of the
    diffusion time reach no more samples than there are columns of signs, which holds for up to 736
    samples.

    References
    ----------
    D. P. Kingma and J. Ba, "Adam: a method for stochastic optimization", arXiv:1412.6980.

    M. F. Hutchinson, "A stochastic estimator of the trace of the influence matrix for Laplacian
    smoothing splines", doi:10.1080/03610918908812806.

    R. A. Meyer, C. Musco, C. Musco and D. P. Woodruff, "Hutch++: optimal stochastic trace
    estimation", arXiv:2010.09649.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> ops = mdt.build_operators(views)
    >>> strategy = mdt.strategies.Contrastive(steps=10)
    >>> found = mdt.search(ops, strategy=strategy, t=2)
    >>> found.trajectory.weights.shape
    (2, 2)
    """

    name: ClassVar[str] = "contrastive"
    quality: ClassVar[str] = "contrastive"

    learning_rate: float = 0.8
    steps: int = 40
    batch_size: int | str | None = "auto"
    tol: float = 1e-4

    def __post_init__(self) -> None:
        """Check the options."""
        check_number("learning_rate", self.learning_rate)
        check_count("steps", self.steps)
        check_number("tol", self.tol, minimum=0)
        if isinstance(self.batch_size, str):
            if self.batch_size != "auto":
                raise ValueError(f"batch_size: expected an integer, 'auto' or None, got {self.batch_size!r}")
        elif self.batch_size is not None:
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
        given, n_samples = self.batch_size, problem.ops.n_samples
        size = n_samples if given is None or isinstance(given, str) else given
        is_sampled = size < n_samples
        objective = self._of_batches(problem, size) if is_sampled else self._of_all(problem)
        logits = np.zeros((problem.n_steps, len(problem.ops)))
        gaps: list[float] = []
        losses: list[float] = []
        for k in range(self.steps + 1):
            weights = on_simplex(problem.ops, softmax(logits))
            evaluation = _evaluate(run, weights, k, objective)
            run.note(evaluation)
            gradient = evaluation.gradient
            assert gradient is not None
            losses.append(-evaluation.score)
            # Improvement that the linear model promises at the best corner of each simplex.
            gaps.append(float(np.sum(np.sum(weights * gradient, axis=1) - gradient.min(axis=1))))
            if not is_sampled and self.tol > 0 and gaps[-1] <= self.tol * max(losses[0] - losses[-1], 0.0):
                return Answer(run.best(), converged=True)
            slope = weights * (gradient - np.sum(weights * gradient, axis=1, keepdims=True))
            logits = logits - descent.step(slope, k)
        best = len(run.candidates) - 1 if is_sampled else run.best()
        return Answer(best, converged=_has_converged(gaps, losses))

    def _of_all(self, problem: Problem) -> _Objective:
        """Return the loss of all samples, exact or estimated."""
        ops = problem.ops
        options: dict[str, Any] = {"view_weights": problem.view_weights, "n_jobs": problem.n_jobs}
        n_signs = math.ceil(_SIGNS / (_TILE * ops.n_samples)) * _TILE
        is_exact = self.batch_size is None or ops.n_samples <= n_signs
        if is_exact or mean_reach(ops, problem.n_steps) <= n_signs:
            return lambda weights, _: contrastive_loss(ops, weights, gradient=True, **options)
        estimate = ContrastiveEstimate(ops, problem.n_steps, n_signs=n_signs, seed=problem.seed, **options)
        return lambda weights, _: estimate(weights)

    def _of_batches(self, problem: Problem, size: int) -> _Objective:
        """Return the loss of a mini-batch, scaled to all samples; the last iterate has that of all samples."""
        ops = problem.ops
        options: dict[str, Any] = {"view_weights": problem.view_weights, "n_jobs": problem.n_jobs}

        def objective(weights: NDArray[np.float64], k: int) -> tuple[float, NDArray[np.float64]]:
            if k == self.steps:
                return self._of_all(problem)(weights, k)
            # A generator of its own for each step: a search that resumes skips some.
            generator = np.random.default_rng((problem.seed, k))
            rows = np.sort(generator.choice(ops.n_samples, size, replace=False))
            loss, gradient = contrastive_loss(ops, weights, rows=rows, gradient=True, **options)
            share = ops.n_samples / size
            return share * loss, share * gradient

        return objective


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


def _evaluate(run: SearchRun, weights: NDArray[np.float64], k: int, objective: _Objective) -> Evaluation:
    known = run.find(weights)
    if known is not None and known.gradient is not None:
        return known
    began = time.perf_counter()
    loss, gradient = objective(weights, k)
    return Evaluation(weights, -loss, time.perf_counter() - began, gradient)


def _has_converged(gaps: list[float], losses: list[float]) -> bool:
    if min(gaps) <= _CONVERGED * gaps[0]:
        return True
    best = np.minimum.accumulate(losses)
    tenth, total = len(best) // 10, best[0] - best[-1]
    return bool(tenth > 0 and best[-1 - tenth] - best[-1] <= _CONVERGED * total)
