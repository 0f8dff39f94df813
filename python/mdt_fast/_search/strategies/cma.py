"""The evolution strategy CMA-ES over weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from ..._operators.draw import uniform
from ..._support.extras import require_installed
from ..._support.one_thread import one_thread
from ..problem import Answer
from .logits import LogitStrategy, weights_of

if TYPE_CHECKING:
    from ..._operators.operator_set import OperatorSet
    from ..run import SearchRun

# Standard deviation of the first generation of logits.
_INITIAL_STEP = 1.0


@dataclass(frozen=True)
class CMA(LogitStrategy):
    """Evolve logits with an adapted covariance matrix (CMA-ES, package `cma`).

    The weights of a step are the softmax of its logits. The first candidate has equal weights.

    Parameters
    ----------
    evaluations : int, default=100
        Number of evaluations.

    References
    ----------
    N. Hansen, "The CMA evolution strategy: a tutorial", arXiv:1604.00772.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> ops = mdt.build_operators(views)
    >>> strategy = mdt.strategies.CMA(evaluations=12)
    >>> found = mdt.search(ops, 3, strategy=strategy, t=2)
    >>> found.n_evaluations, found.trajectory.weights.shape
    (12, (2, 2))
    """

    name: ClassVar[str] = "cma"

    def bind(self, ops: OperatorSet) -> Self:
        """Raise ImportError if the package `cma` is missing."""
        require_installed("cma", "strategy='cma'")
        return self

    def run(self, run: SearchRun) -> Answer:
        """Restart the evolution until the budget is spent or nothing new is found."""
        from cma import CMAEvolutionStrategy

        problem = run.problem
        generator = problem.generator()
        run.score([uniform(problem.ops, problem.n_steps)])
        options = {
            "verbose": -9,
            "verb_log": 0,
            # NumPy's global generator is neither seeded nor used.
            "seed": np.nan,
            "randn": lambda *shape: generator.standard_normal(shape),
        }
        seen = 0
        while len(run.candidates) > seen:
            seen = len(run.candidates)
            evolution = CMAEvolutionStrategy(np.zeros(problem.n_steps * len(problem.ops)), _INITIAL_STEP, options)
            while not evolution.stop():
                # Not around the scores: a quality may be a function of the user.
                with one_thread():
                    logits = evolution.ask()
                scores = run.score([weights_of(problem, x) for x in logits])
                with one_thread():
                    evolution.tell(logits, [-score for score in scores])
        return Answer(run.best())
