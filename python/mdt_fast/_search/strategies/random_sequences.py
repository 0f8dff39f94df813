"""Random sequences."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ... import _core
from ..._graphs.readable import check_readable
from ..evaluation import Candidate
from ..problem import Problem
from .base import SequenceStrategy, check_count


@dataclass(frozen=True, eq=False)
class RandomSequences(SequenceStrategy):
    """Evaluate random sequences of t steps (MDT-Rand in the paper).

    Parameters
    ----------
    n : int, default=1
        Number of sequences.
    probabilities : (members,) or (t, members) array or None, default=None
        Probability of each member, for all steps or for each; None is uniform.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> ops = mdt.build_operators(views)
    >>> strategy = mdt.strategies.RandomSequences(n=5)
    >>> found = mdt.search(ops, 3, strategy=strategy, t=3)
    >>> found.n_evaluations, len(found.trajectory.sequence)  # equal sequences are scored once
    (3, 3)
    """

    name: ClassVar[str] = "random"

    n: int = 1
    probabilities: Any = None

    def __post_init__(self) -> None:
        """Check the options."""
        check_count("n", self.n)

    @property
    def compares(self) -> bool:
        """Whether there is more than one sequence."""
        return self.n > 1

    def native(self, problem: Problem) -> _core.RandomSequences:
        """Return the strategy as an object of the core."""
        rows = _check_probabilities(self.probabilities, problem.n_steps, len(problem.ops))
        return _core.RandomSequences(n=self.n, probabilities=np.ascontiguousarray(rows), seed=problem.seed)

    def only_candidate(self, problem: Problem) -> Candidate:
        """Return the first sequence."""
        return tuple(self.native(problem).first(len(problem.ops)))


def _check_probabilities(given: Any, t: int, n_members: int) -> NDArray[np.float64]:
    if given is None:
        return np.full((t, n_members), 1.0 / n_members)
    check_readable(given, "probabilities", "numbers")
    try:
        rows = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"probabilities: expected numbers, got {given!r}") from None
    if rows.shape not in ((n_members,), (t, n_members)):
        expected = f"shape ({n_members},) or ({t}, {n_members})"
        raise ValueError(f"probabilities: expected {expected}, one for each member, got {rows.shape}")
    if not np.isfinite(rows).all() or (rows < 0).any() or (abs(rows.sum(axis=-1) - 1) > 1e-8).any():
        sums = np.atleast_1d(rows.sum(axis=-1)).tolist()
        raise ValueError(
            f"probabilities: expected numbers >= 0 that sum to 1 in each row, got {rows.tolist()} with sums {sums}"
        )
    return np.broadcast_to(rows, (t, n_members))
