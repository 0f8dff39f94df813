"""The DIRECT algorithm over weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from ..problem import Answer
from .logits import LogitStrategy, weights_of

if TYPE_CHECKING:
    from ..run import SearchRun

# Largest limit that SciPy accepts.
_LARGEST_LIMIT = 2**31 - 1
# At this value DIRECT ends. What the objective raises must not pass through SciPy before 1.17.1, which makes it a
# SystemError after a time that grows with the square of the limit: 6 seconds for 90,000 evaluations.
_OPTIMUM = -1e300
# Upper bound of a logit.
_LARGEST_LOGIT = 20.0


@dataclass(frozen=True)
class Direct(LogitStrategy):
    """Divide rectangles of logits by SciPy's DIRECT (MDT-Direct in the paper).

    The weights of a step are the softmax of its logits. The first candidate has equal weights.

    Parameters
    ----------
    evaluations : int, default=100
        Number of evaluations.

    References
    ----------
    D. R. Jones, C. D. Perttunen and B. E. Stuckman, "Lipschitzian optimization without the
    Lipschitz constant", 1993, doi:10.1007/BF00941892.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> ops = mdt.build_operators(views)
    >>> strategy = mdt.strategies.Direct(evaluations=20)
    >>> found = mdt.search(ops, 3, strategy=strategy, t=2)
    >>> found.trajectory.weights.shape
    (2, 2)
    """

    name: ClassVar[str] = "direct"

    def run(self, run: SearchRun) -> Answer:
        """Minimise the negative score."""
        # Imported here because the import takes longer than that of the whole package.
        from scipy.optimize import direct

        ended: list[BaseException] = []

        def objective(logits: Any) -> float:
            if not ended:
                try:
                    return -run.score([weights_of(run.problem, logits)])[0]
                except BaseException as error:
                    ended.append(error)
            return _OPTIMUM

        # The run stops at the budget. DIRECT tests its own limit only once in an iteration.
        limit = min(max(2 * self.evaluations, 1000), _LARGEST_LIMIT)
        bounds = [(0.0, _LARGEST_LOGIT)] * (run.problem.n_steps * len(run.problem.ops))
        direct(objective, bounds, f_min=_OPTIMUM, vol_tol=0.0, len_tol=0.0, maxfun=limit, maxiter=limit)
        if ended:
            raise ended.pop()
        return Answer(run.best())
