"""One search in progress: its history, its limits, its checkpoint and its progress reports."""

import math
import sys
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .._support.monitor import Monitor
from .._support.threads import n_threads
from .._support.warnings import ConvergenceWarning, warn_user
from .checkpoint import Checkpoint
from .evaluation import HISTORY_DTYPE, Candidate, Evaluation, key_of
from .problem import Problem
from .progress import Reporter
from .scoring import ScoringPlan
from .stop import Stop

# Candidates that are scored in one call: enough for all threads, few enough to stop soon. With a
# checkpoint or a time limit the first calls score fewer: a search that is killed soon gets on, and one that is
# stopped soon has a candidate.
_BATCH = 16

# Calls in a row with known candidates alone after which a search ends: they spend no budget.
_MOST_REPETITIONS = 10_000

# Names of the limits by which the core stops.
_REASONS = {None: None, "budget": "max_evaluations", "stopped": "time_limit"}


class SearchRun:
    """Score candidates for a strategy, each once, and keep the history.

    Strategies over sequences run in the core (:meth:`explore`). Strategies over weights call
    :meth:`score`, or :meth:`note` if they compute scores themselves. What the checkpoint contains
    is not computed again, so all strategies resume in the same way.
    """

    def __init__(
        self,
        problem: Problem,
        plan: ScoringPlan,
        scorer: _core.Scorer,
        checkpoint: Checkpoint,
        reporter: Reporter,
        monitor: Monitor,
        *,
        max_evaluations: int | None,
    ) -> None:
        self.problem = problem
        self.candidates: list[Candidate] = []
        self.stopped: str | None = None
        self._plan = plan
        self._scorer = scorer
        self._checkpoint = checkpoint
        self._reporter = reporter
        self._max_evaluations = max_evaluations
        self._monitor = monitor
        # Seconds of the slowest candidate, by which the time of what follows the search is estimated.
        self._slowest = 0.0
        self._rows_by_key: dict[object, int] = {}
        self._rows: list[tuple[int, int, float, float]] = []
        self._n_unconverged = 0
        self._n_repetitions = 0
        is_cautious = checkpoint.is_written or monitor.seconds_left < math.inf
        self._batch = min(_BATCH, n_threads(problem.n_jobs)) if is_cautious else _BATCH
        # Labels of the best candidate so far: the winner is not solved again for them.
        self._best: Evaluation | None = None

    @property
    def history(self) -> NDArray[Any]:
        """The evaluated candidates as a structured array."""
        return np.array(self._rows, dtype=HISTORY_DTYPE)

    def best(self) -> int:
        """Return the row of the best score, the first among equals."""
        if not self._rows:
            raise ValueError("strategy: expected candidates that are scored, got none")
        return int(np.argmax(self.history["score"]))

    def batch_sizes(self, total: int) -> Iterator[int]:
        """Yield the sizes of batches that make up `total` candidates."""
        for start in range(0, total, _BATCH):
            yield min(_BATCH, total - start)

    def explore(self, strategy: _core.Strategy, *, answer: str = "any") -> int:
        """Run a strategy over sequences in the core; return the row of the answer."""
        known = self._checkpoint.sequences()
        for entry in known:
            self._reporter.add(len(entry.sequence), entry.score, is_new=False)
        found = self._scorer.search(
            strategy, known=known, max_evaluations=self._max_evaluations, seconds=self._seconds_left(), answer=answer,
            watch=self._watch,
        )  # fmt: skip
        self._n_unconverged += found.n_unconverged
        rows = zip(found.sequences, found.parents.tolist(), found.scores.tolist(), found.seconds.tolist(), strict=True)
        for sequence, parent, score, seconds in rows:
            evaluation = Evaluation(tuple(sequence), score, seconds)
            self._checkpoint.add(evaluation)
            self._append(evaluation, parent)
        self.stopped = _REASONS[found.stopped]
        if found.labels is not None:
            winner = self.candidates[found.best]
            self._best = Evaluation(winner, float(found.scores[found.best]), 0.0, labels=found.labels)
        return int(found.best)

    def score(self, candidates: Sequence[Candidate], *, keep_labels: bool = False) -> list[float]:
        """Return the scores of candidates; `keep_labels` lets :meth:`find` return labels."""
        start, n_before = 0, len(self._rows)
        while start < len(candidates):
            new = candidates[start : start + self._batch]
            start += len(new)
            batch = {key_of(c): c for c in new if key_of(c) not in self._rows_by_key}
            reached = dict(list(batch.items())[: self._evaluations_left()])
            unknown = [c for c in reached.values() if self.find(c) is None]
            computed = self._compute(unknown, keep_labels) if unknown else {}
            self._batch = min(_BATCH, 2 * self._batch) if unknown else self._batch
            found = [self.find(c) or computed.get(key) for key, c in reached.items()]
            is_late = False
            for evaluation in found:
                is_late |= evaluation is None or self._record(evaluation)
            if is_late:
                raise Stop("time_limit")
            if len(reached) < len(batch):
                raise Stop("max_evaluations")
        self._n_repetitions = 0 if len(self._rows) > n_before else self._n_repetitions + 1
        if self._n_repetitions >= _MOST_REPETITIONS:
            raise Stop(None)
        return [self._rows[self._rows_by_key[key_of(c)]][2] for c in candidates]

    def find(self, candidate: Candidate) -> Evaluation | None:
        """Return the evaluation of a candidate by this run or an earlier one."""
        return self._checkpoint.find(candidate)

    def note(self, evaluation: Evaluation) -> None:
        """Add an evaluation to the history, once; raise Stop when a limit is reached."""
        if evaluation.key in self._rows_by_key:
            return
        if not self._evaluations_left():
            raise Stop("max_evaluations")
        if self._record(evaluation):
            raise Stop("time_limit")

    def labels_of(self, row: int, *, compute: bool) -> NDArray[np.int32] | None:
        """Return the labels of a candidate, kept or, if wanted, computed; None without a number of clusters."""
        candidate = self.candidates[row]
        if self._best is not None and self._best.key == key_of(candidate):
            return self._best.labels
        if not compute:
            return None
        return self._scorer.cluster(self.problem.ops.trajectory(candidate).weights)

    def warn_of_unconverged(self) -> None:
        """Warn if the embedding of some candidates did not reach the tolerance."""
        if self._n_unconverged:
            warn_user(
                f"search: the embeddings of {self._n_unconverged} of {len(self._rows)} candidates did not reach tol; "
                "their scores belong to the accuracy that was reached",
                ConvergenceWarning,
            )

    def _evaluations_left(self) -> int:
        return sys.maxsize if self._max_evaluations is None else self._max_evaluations - len(self._rows)

    def _compute(self, candidates: Sequence[Candidate], keep_labels: bool) -> dict[object, Evaluation]:
        batch = self._scorer.score(
            [self.problem.ops.trajectory(c).weights for c in candidates],
            with_labels=self._plan.scores_labels,
            seconds=self._seconds_left(),
            watch=self._watch,
        )
        self._n_unconverged += batch.n_unconverged
        evaluations = {}
        for candidate, found in zip(candidates, batch.candidates, strict=True):
            if found is None:
                continue
            if found.labels is not None and (self._best is None or found.score > self._best.score):
                self._best = Evaluation(candidate, found.score, found.seconds, labels=found.labels)
            labels = found.labels if keep_labels else None
            evaluations[key_of(candidate)] = Evaluation(candidate, found.score, found.seconds, labels=labels)
        return evaluations

    def _record(self, evaluation: Evaluation) -> bool:
        """Add an evaluation; return whether the time limit is reached."""
        is_new = self.find(evaluation.candidate) is None
        self._checkpoint.add(evaluation)
        self._append(evaluation, -1)
        self._slowest = max(self._slowest, evaluation.seconds if is_new else 0.0)
        self._reporter.add(len(evaluation.candidate), evaluation.score, is_new=is_new)
        return self._watch([])

    def _seconds_left(self) -> float | None:
        """Return the time left for the search, if it is limited: that of the call less what follows the search."""
        left = self._monitor.seconds_left
        return None if left == math.inf else left - self._monitor.reserve * self._slowest

    def _append(self, evaluation: Evaluation, parent: int) -> None:
        self._rows_by_key[evaluation.key] = len(self._rows)
        self.candidates.append(evaluation.candidate)
        self._rows.append((parent, len(evaluation.candidate), evaluation.score, evaluation.seconds))

    def _watch(self, entries: Sequence[_core.ScoredSequence]) -> bool:
        """Record what the core has scored, save and report it; return whether the time is up."""
        for entry in entries:
            self._checkpoint.add(Evaluation(tuple(entry.sequence), entry.score, entry.seconds))
            self._reporter.add(len(entry.sequence), entry.score, is_new=True)
            self._slowest = max(self._slowest, entry.seconds)
        self._checkpoint.write_if_due()
        self._reporter.report()
        left = self._seconds_left()
        # At least one candidate is scored: without one there is no answer.
        return left is not None and self._reporter.n_evaluations > 0 and left <= 0
