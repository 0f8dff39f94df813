"""Strategies over weights: convex combinations of the members at every step."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._operators.draw import draw_convex, on_simplex, uniform
from .._operators.operator_set import OperatorSet
from ..quality._contrastive import contrastive_loss
from .checkpoint import Candidate, Evaluation
from .run import BATCH, SearchRun

# DIRECT looks at logits between 0 and this.
_LARGEST_LOGIT = 20.0
# Spread of CMA-ES's first generation of logits.
_CMA_STEP = 1.0
# Evaluations of strategies that could go on for ever, if the caller names no number.
DEFAULT_BUDGET = 100

# Adam's decay rates and guard against division by zero.
_BETA1, _BETA2, _EPSILON = 0.9, 0.999, 1e-8
# An optimisation has settled when its last tenth brings less than this share of what it has brought in all, or when no
# direction on the simplex promises more than this share of what the first one did.
_SETTLED = 0.01


def convex(run: SearchRun, t: int, n_samples: int, generator: np.random.Generator) -> int:
    """Score random weights."""
    for start in range(0, n_samples, BATCH):
        run.score([draw_convex(run.ops, t, generator) for _ in range(min(BATCH, n_samples - start))])
    return run.best()


def direct(run: SearchRun, t: int) -> int:
    """Divide rectangles of logits (DIRECT); the first point is the uniform mean."""
    # Loaded when it is asked for: it takes longer to load than all of this package.
    from scipy.optimize import direct as scipy_direct

    objective = _objective(run, t)
    # The run itself ends it at the budget: DIRECT's own limit is looked at once an iteration.
    limit = max(2 * (run.max_evaluations or DEFAULT_BUDGET), 1000)
    bounds = [(0.0, _LARGEST_LOGIT)] * (t * len(run.ops))
    scipy_direct(objective, bounds, vol_tol=0.0, len_tol=0.0, maxfun=limit, maxiter=limit)
    return run.best()


def cma(run: SearchRun, t: int, generator: np.random.Generator) -> int:
    """Evolve logits with an adapted covariance (CMA-ES), from the uniform mean."""
    from cma import CMAEvolutionStrategy

    ops = run.ops
    run.score([uniform(ops, t)])
    options = {
        "verbose": -9,
        "verb_log": 0,
        # NumPy's global generator is neither seeded nor drawn from.
        "seed": np.nan,
        "randn": lambda *shape: generator.standard_normal(shape),
    }
    # Where one evolution has nothing more to gain, another one begins. The run ends it at the budget, if there is
    # that much to be seen.
    seen = 0
    while len(run.candidates) > seen:
        seen = len(run.candidates)
        evolution = CMAEvolutionStrategy(np.zeros(t * len(ops)), _CMA_STEP, options)
        while not evolution.stop():
            logits = evolution.ask()
            scores = run.score([_weights(ops, t, x) for x in logits])
            evolution.tell(logits, [-score for score in scores])
    return run.best()


def contrastive(
    run: SearchRun,
    t: int,
    *,
    learning_rate: float,
    max_iter: int,
    batch_size: int | None,
    view_weights: Any,
    n_jobs: int | None,
    generator: np.random.Generator,
) -> int:
    """Follow the gradient of the contrastive loss on logits (Adam, the rate falling to 0 along a cosine).

    The iterate with the smallest loss is the answer; with mini-batches, whose losses are not comparable, the last one.
    """
    ops = run.ops
    is_sampled = batch_size is not None and batch_size < ops.n_samples
    logits = np.zeros((t, len(ops)))
    first, second = np.zeros_like(logits), np.zeros_like(logits)
    gaps, losses = [], []
    for k in range(max_iter + 1):
        weights = on_simplex(ops, _softmax(logits))
        rows = None
        if is_sampled and k < max_iter:
            rows = np.sort(generator.choice(ops.n_samples, batch_size, replace=False))
        evaluation = _contrastive_evaluation(run, weights, rows, view_weights, n_jobs)
        run.note(evaluation)
        gradient = evaluation.gradient
        assert gradient is not None
        losses.append(-evaluation.score)
        # How much a straight way to the best corner of each simplex promises.
        gaps.append(float(np.sum(np.sum(weights * gradient, axis=1) - gradient.min(axis=1))))
        slope = weights * (gradient - np.sum(weights * gradient, axis=1, keepdims=True))
        first = _BETA1 * first + (1 - _BETA1) * slope
        second = _BETA2 * second + (1 - _BETA2) * slope**2
        rate = learning_rate * 0.5 * (1 + np.cos(np.pi * k / max_iter))
        direction = first / (1 - _BETA1 ** (k + 1)) / (np.sqrt(second / (1 - _BETA2 ** (k + 1))) + _EPSILON)
        logits = logits - rate * direction
    run.converged = _has_settled(gaps, losses)
    return len(run.candidates) - 1 if is_sampled else run.best()


def _contrastive_evaluation(
    run: SearchRun, weights: NDArray[np.float64], rows: Any, view_weights: Any, n_jobs: int | None
) -> Evaluation:
    known = run.find(weights)
    if known is not None and known.gradient is not None:
        return known
    began = time.perf_counter()
    loss, gradient = contrastive_loss(
        run.ops, weights, view_weights=view_weights, rows=rows, gradient=True, n_jobs=n_jobs
    )
    if rows is not None:
        share = run.ops.n_samples / len(rows)
        loss, gradient = loss * share, gradient * share
    return Evaluation(weights, -loss, time.perf_counter() - began, gradient)


def _has_settled(gaps: list[float], losses: list[float]) -> bool:
    if min(gaps) <= _SETTLED * gaps[0]:
        return True
    best = np.minimum.accumulate(losses)
    tenth, total = len(best) // 10, best[0] - best[-1]
    return bool(tenth > 0 and best[-1 - tenth] - best[-1] <= _SETTLED * total)


def _softmax(logits: NDArray[np.float64]) -> NDArray[np.float64]:
    powers = np.exp(logits - logits.max(axis=1, keepdims=True))
    return np.asarray(powers / powers.sum(axis=1, keepdims=True))


def _weights(ops: OperatorSet, t: int, logits: NDArray[np.float64]) -> Candidate:
    return on_simplex(ops, _softmax(logits.reshape(t, len(ops))))


def _objective(run: SearchRun, t: int) -> Callable[[NDArray[np.float64]], float]:
    def objective(logits: NDArray[np.float64]) -> float:
        return -run.score([_weights(run.ops, t, logits)])[0]

    return objective
