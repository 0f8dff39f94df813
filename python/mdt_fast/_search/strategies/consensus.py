"""The consensus of many random trajectories.

Candidates are random convex trajectories with the same weights at each step and a length up to the
diffusion time. A single one is noisy, and some have large weights on an uninformative view. The
best quarter, by score, is combined. ``docs/choosing.md`` compares alternatives.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import islice
from typing import TYPE_CHECKING, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..._clusters.agreement import Agreement, CombinedLabels, agree
from ..._clusters.confidence import confidence
from ..._operators.draw import draw_repeated
from ..._support.arguments import check_number
from ...quality._arguments import QualityLike
from ..problem import Answer, Problem
from ..stop import Stop
from .base import Strategy, check_count

if TYPE_CHECKING:
    from ..run import SearchRun

# Trajectories that are drawn at a time.
_BATCH = 16
# Trajectories of the first round; each round doubles their number.
_FIRST_ROUND = 16
# Adjusted mutual information of the labels of two rounds from which no further round follows.
_SETTLED = 0.99


@dataclass(frozen=True)
class Consensus(Strategy):
    """Combine the clusters of the best quarter of many random trajectories.

    Rounds of 16, 32, 64, ... trajectories follow each other until the combined clusters of two
    rounds agree (adjusted mutual information of at least 0.99). The answer is no single trajectory.

    Parameters
    ----------
    trajectories : int, default=128
        Number of trajectories that are drawn at most.
    kept : float, default=0.25
        Share of the trajectories, the best by score, whose clusters are combined.

    References
    ----------
    A. Strehl and J. Ghosh, "Cluster ensembles: a knowledge reuse framework for combining multiple
    partitions", Journal of Machine Learning Research 3:583-617, 2002.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> ops = mdt.build_operators(views)
    >>> strategy = mdt.strategies.Consensus(trajectories=32)
    >>> found = mdt.search(ops, 3, strategy=strategy, t=2)
    >>> found.labels.shape, found.agreement.confidence.shape
    ((150,), (150,))
    """

    name: ClassVar[str] = "consensus"
    quality: ClassVar[str] = "information"
    n_init: ClassVar[int] = 5
    damped: ClassVar[bool] = True
    kernel: ClassVar[str] = "adaptive"
    anisotropy: ClassVar[float] = 1.0
    joint: ClassVar[bool] = True
    neighbors_by_size: ClassVar[bool] = True
    finds_trajectory: ClassVar[bool] = False

    trajectories: int = 128
    kept: float = 0.25

    def __post_init__(self) -> None:
        """Check the options."""
        check_count("trajectories", self.trajectories)
        if not 0 < check_number("kept", self.kept) <= 1:
            raise ValueError(f"kept: expected a share above 0 and at most 1, got {self.kept!r}")

    def choose_quality(self, given: QualityLike, n_clusters: int | None) -> QualityLike:
        """Return the quality; raise if it does not score labels."""
        quality = super().choose_quality(given, n_clusters)
        if quality == "contrastive" or n_clusters is None:
            got = "quality='contrastive'" if quality == "contrastive" else "n_clusters=None"
            raise ValueError(f"strategy: expected n_clusters and a quality of labels for a consensus, got {got}")
        return quality

    def n_candidates(self, problem: Problem, limit: int | None) -> int:
        """Return the number of trajectories."""
        return self.trajectories

    def run(self, run: SearchRun) -> Answer:
        """Score rounds of trajectories; when a limit stops the run, combine what is there."""
        problem, n_clusters = run.problem, run.problem.n_clusters
        # Checked by `choose_quality`.
        assert n_clusters is not None
        draws = draw_repeated(problem.ops, problem.n_steps, self.trajectories, problem.generator())
        found, size, drawn = None, min(_FIRST_ROUND, self.trajectories), 0
        while True:
            try:
                while drawn < size:
                    batch = list(islice(draws, min(_BATCH, size - drawn)))
                    drawn += len(batch)
                    run.score(batch, keep_labels=True)
            except Stop as stop:
                run.stopped = stop.reason
            labels, rows = _labels(run), self._best_rows(run)
            before, found = found, agree(labels[rows], n_clusters, seed=problem.seed, n_jobs=problem.n_jobs)
            if run.stopped is not None or size == self.trajectories or _is_settled(before, found):
                trajectories = [problem.ops.trajectory(run.candidates[row]) for row in rows]
                sure = confidence(labels, run.history["score"], found.labels, problem.ops)
                return Answer(run.best(), Agreement.of(trajectories, rows, found, sure))
            size = min(2 * size, self.trajectories)

    def _best_rows(self, run: SearchRun) -> NDArray[np.intp]:
        """Return the rows of the trajectories to combine; among equals, those drawn first."""
        scores = run.history["score"]
        return np.sort(np.argsort(-scores, kind="stable")[: math.ceil(self.kept * len(scores))])


def _labels(run: SearchRun) -> NDArray[np.int32]:
    """Return the labels of all scored trajectories, a row for each."""
    known = [run.find(candidate) for candidate in run.candidates]
    return np.stack([each.labels for each in known if each is not None and each.labels is not None])


def _is_settled(before: CombinedLabels | None, now: CombinedLabels) -> bool:
    if before is None:
        return False
    from sklearn.metrics import adjusted_mutual_info_score

    return bool(adjusted_mutual_info_score(before.labels, now.labels) >= _SETTLED)
