"""One search on its way: what it has scored, its limits, its checkpoint, and whom it tells."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .._operators.operator_set import OperatorSet
from .._support.warnings import ConvergenceWarning
from .checkpoint import Candidate, Checkpoint, Evaluation, key_of
from .progress import Reporter
from .result import HISTORY_DTYPE

# Candidates that are scored at a time: enough to keep threads busy, few enough that little is lost by a stop.
BATCH = 16


class Stop(Exception):  # noqa: N818  (the end of a search is no error)
    """Raised through a strategy when a limit is reached; `reason` names the argument."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class SearchRun:
    """Scores candidates for strategies, each once, and keeps the history.

    Strategies over words run in the core (:meth:`explore`); those over weights call :meth:`score`, or :meth:`note` if
    they compute scores themselves. All of them resume the same way: what the checkpoint knows is not computed again.
    """

    def __init__(
        self,
        ops: OperatorSet,
        scorer: _core.Scorer,
        checkpoint: Checkpoint,
        reporter: Reporter,
        *,
        max_evaluations: int | None,
        time_limit: float | None,
    ) -> None:
        self.ops = ops
        self._scorer = scorer
        self._checkpoint = checkpoint
        self._reporter = reporter
        self.max_evaluations = max_evaluations
        self._time_limit = time_limit
        self._places: dict[object, int] = {}
        self._rows: list[tuple[int, int, float, float]] = []
        self._n_unconverged = 0
        self.candidates: list[Candidate] = []
        self.stopped: str | None = None
        self.converged: bool | None = None

    @property
    def history(self) -> NDArray[Any]:
        """The scored candidates as a structured array."""
        return np.array(self._rows, dtype=HISTORY_DTYPE)

    def best(self) -> int:
        """Return the place of the first of the best scores."""
        return int(np.argmax(self.history["score"]))

    def explore(self, strategy: _core.Strategy, *, answer: str) -> int:
        """Run a strategy over words; return the place of the answer."""
        known = self._checkpoint.words()
        for each in known:
            self._reporter.add(len(each.sequence), each.score, is_new=False)
        found = self._scorer.search(
            strategy,
            known=known,
            max_evaluations=self.max_evaluations,
            seconds=self._seconds_left(),
            answer=answer,
            watch=self._watch,
        )
        self._n_unconverged += found.n_unconverged
        columns = (found.parents.tolist(), found.scores.tolist(), found.seconds.tolist())
        for sequence, parent, score, took in zip(found.sequences, *columns, strict=True):
            evaluation = Evaluation(tuple(sequence), score, took)
            self._checkpoint.add(evaluation)
            self._append(evaluation, parent)
        self.stopped = {None: None, "budget": "max_evaluations", "stopped": "time_limit"}[found.stopped]
        return found.best

    def score(self, candidates: Sequence[Candidate], *, with_labels: bool = False) -> list[float]:
        """Return the scores of words or weights; `find` then knows the labels too, if they are asked for."""
        for start in range(0, len(candidates), BATCH):
            batch = {key_of(c): c for c in candidates[start : start + BATCH] if key_of(c) not in self._places}
            reached = dict(list(batch.items())[: self._room()])
            unknown = [c for c in reached.values() if self.find(c) is None]
            computed = self._compute(unknown, with_labels) if unknown else {}
            found = [self.find(c) or computed.get(key) for key, c in reached.items()]
            is_late = False
            for evaluation in found:
                is_late |= evaluation is None or self._record(evaluation)
            if is_late:
                raise Stop("time_limit")
            if len(reached) < len(batch):
                raise Stop("max_evaluations")
        return [self._rows[self._places[key_of(c)]][2] for c in candidates]

    def find(self, candidate: Candidate) -> Evaluation | None:
        """Return what is known of a candidate, by this run or an earlier one."""
        return self._checkpoint.find(candidate)

    def note(self, evaluation: Evaluation) -> None:
        """Take an evaluation into the history, unless it is there; stop the strategy where a limit is reached."""
        if evaluation.key in self._places:
            return
        if not self._room():
            raise Stop("max_evaluations")
        if self._record(evaluation):
            raise Stop("time_limit")

    def warn_of_unconverged(self) -> None:
        """Say how many candidates were judged by coordinates that are not within the tolerance."""
        if self._n_unconverged:
            warnings.warn(
                f"search: the embeddings of {self._n_unconverged} of {len(self._rows)} candidates did not reach tol; "
                "their scores belong to what was reached",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _room(self) -> int:
        return sys.maxsize if self.max_evaluations is None else self.max_evaluations - len(self._rows)

    def _compute(self, candidates: Sequence[Candidate], with_labels: bool) -> dict[object, Evaluation]:
        weights = [self.ops.trajectory(c).weights for c in candidates]
        seconds = self._seconds_left()
        found = self._scorer.score(weights, with_labels=with_labels, seconds=seconds, watch=self._watch)
        self._n_unconverged += found.n_unconverged
        evaluations = {}
        for candidate, each in zip(candidates, found.candidates, strict=True):
            if each is not None:
                evaluations[key_of(candidate)] = Evaluation(candidate, each.score, each.seconds, labels=each.labels)
        return evaluations

    def _record(self, evaluation: Evaluation) -> bool:
        """Take in an evaluation; return whether the time is up."""
        is_new = self.find(evaluation.candidate) is None
        self._checkpoint.add(evaluation)
        self._append(evaluation, -1)
        self._reporter.add(len(evaluation.candidate), evaluation.score, is_new=is_new)
        return self._watch([])

    def _seconds_left(self) -> float | None:
        return None if self._time_limit is None else self._time_limit - self._reporter.seconds

    def _append(self, evaluation: Evaluation, parent: int) -> None:
        self._places[evaluation.key] = len(self._rows)
        self.candidates.append(evaluation.candidate)
        self._rows.append((parent, len(evaluation.candidate), evaluation.score, evaluation.seconds))

    def _watch(self, entries: Sequence[_core.ScoredSequence]) -> bool:
        """Take in what the core has scored, write and tell; return whether the time is up."""
        for each in entries:
            self._checkpoint.add(Evaluation(tuple(each.sequence), each.score, each.seconds))
            self._reporter.add(len(each.sequence), each.score, is_new=True)
        self._checkpoint.write_if_due()
        self._reporter.tell()
        limit, reporter = self._time_limit, self._reporter
        # One candidate is always waited for: there is no answer without any.
        return limit is not None and reporter.n_evaluations > 0 and reporter.seconds >= limit
