"""The strategy "consensus": what many trajectories agree on.

Members are random convex trajectories, each with one weight for each view and a length up to the diffusion time. Single
ones are noisy, and some listen to a view that knows little; the better half by the score of the search is combined.
What was compared, and what did not work, is told in ``docs/choosing.md``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import quality
from .._clusters.agreement import Agreement, agree
from .._operators.operator_set import OperatorSet
from .._support.arguments import check_integer
from .._support.threads import n_threads
from .result import SearchResult
from .run import SearchRun, Stop
from .scoring import ScoringPlan

# Members that are drawn at most, and in the first round; each round doubles them.
N_MEMBERS = 64
_FIRST_ROUND = 16
# Starts of k-means for each member.
MEMBER_STARTS = 5
# Adjusted mutual information of the labels of two rounds from which on more members are not worth their time.
_SETTLED = 0.99


def kernel_for(strategy: Any, preset: str | None) -> str:
    """Return the kernel that suits a strategy: the adaptive one for a consensus, unless a preset says what to do."""
    is_consensus = isinstance(strategy, str) and strategy in ("consensus", "auto")
    return "adaptive" if is_consensus and preset is None else "gaussian"


def draw_members(ops: OperatorSet, t: int, count: int, generator: np.random.Generator) -> list[NDArray[np.float64]]:
    """Return random members: weights uniform on the simplex, the same at each of 1 to t steps."""
    members = []
    for _ in range(count):
        steps = int(generator.integers(1, t, endpoint=True))
        # A single weight is 1, which the generator may miss by its last digit.
        weights = generator.dirichlet(np.ones(len(ops))) if len(ops) > 1 else np.ones(1)
        members.append(ops.trajectory(np.tile(weights, (steps, 1))).weights)
    return members


def consensus(run: SearchRun, t: int, n_clusters: int, *, n_members: int, seed: int, n_jobs: int | None) -> Agreement:
    """Draw members, round after round, until what they agree on no longer changes or `n_members` are there.

    A limit of the run ends it early; what there is by then is combined.
    """
    members = draw_members(run.ops, t, n_members, np.random.default_rng(seed))
    found, size = None, min(_FIRST_ROUND, n_members)
    while True:
        try:
            run.score(members[:size], with_labels=True)
        except Stop as stop:
            run.stopped = stop.reason
        before, found = found, _combine(run, n_clusters, seed, n_jobs)
        if run.stopped is not None or size == n_members or _is_settled(before, found):
            return found
        size = min(2 * size, n_members)


def _combine(run: SearchRun, n_clusters: int, seed: int, n_jobs: int | None) -> Agreement:
    """Combine the better half of what the run has scored."""
    scores = run.history["score"]
    # The first of equals, in the order in which they were drawn.
    better = np.argsort(-scores, kind="stable")[: (len(scores) + 1) // 2]
    rows = np.sort(better)
    known = [run.find(run.candidates[row]) for row in rows]
    labels = np.stack([each.labels for each in known if each is not None and each.labels is not None])
    members = [run.ops.trajectory(run.candidates[row]) for row in rows]
    return Agreement(members, rows, *agree(labels, n_clusters, seed=seed, n_jobs=n_jobs))


def consensus_of(result: SearchResult, n_members: int, n_jobs: int | None) -> SearchResult:
    """Combine the best trajectories that a search has evaluated, the first of equals."""
    count = check_integer("n_members", n_members, minimum=1)
    settings, ops = result.settings, result.operators
    if settings["n_clusters"] is None:
        raise ValueError("result: expected a search for clusters, got one without n_clusters")
    if not np.isfinite(result.history["score"]).all():
        raise ValueError("result: expected a search that compared candidates, got scores that are not finite")
    plan = ScoringPlan.check(
        ops,
        "persistence",
        settings["n_clusters"],
        settings["n_components"],
        settings["n_init"],
        settings["tol"],
        settings["view_weights"],
        None,
    )
    jobs = ops.n_jobs if n_jobs is None else n_jobs
    seed = settings["random_state"]
    rows = np.sort(np.argsort(-result.history["score"], kind="stable")[:count])
    members = [ops.trajectory(result.candidates[row]) for row in rows]
    scorer = plan.make(ops, seed, 2**30, n_threads(jobs))
    weights = [member.weights for member in members]
    found = scorer.score(weights, with_labels=True, seconds=None, watch=lambda _: False).candidates
    labels = np.stack([each.labels for each in found if each is not None and each.labels is not None])
    agreement = Agreement(members, rows, *agree(labels, settings["n_clusters"], seed=seed, n_jobs=jobs))
    score = quality.persistence(ops, agreement.labels, view_weights=settings["view_weights"])
    return replace(
        result,
        trajectory=None,
        score=score,
        labels=agreement.labels,
        strategy="consensus",
        quality="persistence",
        agreement=agreement,
    )


def _is_settled(before: Agreement | None, now: Agreement) -> bool:
    if before is None:
        return False
    from sklearn.metrics import adjusted_mutual_info_score

    return bool(adjusted_mutual_info_score(before.labels, now.labels) >= _SETTLED)
