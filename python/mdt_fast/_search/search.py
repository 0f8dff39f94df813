"""The function `search`: find the trajectory with the best score."""

import math
import os
import sys
from dataclasses import replace
from typing import Any

from .. import _core
from .._clusters.labels import score_labels
from .._clusters.n_clusters import select_n_clusters
from .._geometry.time import check_time, select_time
from .._operators.operator_set import OperatorSet
from .._support.arguments import RandomStateLike, check_integer, check_path
from .._support.monitor import Monitor, ProgressLike, watch
from .._support.seed import check_seed
from .._support.threads import n_threads
from ..quality._view_weights import stay_of, weights_of
from .checkpoint import Checkpoint, fingerprint
from .evaluation import Evaluation
from .memory_plan import check_memory, check_solver_memory
from .problem import Answer, Problem
from .progress import Reporter
from .result import SearchResult
from .run import SearchRun
from .scoring import Scoring, ScoringPlan
from .stop import Stop
from .strategies import Strategy, make_strategy
from .strategies.consensus import Consensus

# The consensus from which view weights are computed.
_WEIGHING = Consensus(trajectories=32)


def search(
    ops: OperatorSet,
    n_clusters: int | str | None = None,
    *,
    strategy: Any = "beam",
    t: int | str = "auto",
    quality: Any = "auto",
    view_weights: Any = None,
    max_evaluations: int | None = None,
    time_limit: float | None = None,
    memory_limit: int | None = None,
    random_state: RandomStateLike = 0,
    n_jobs: int | None = None,
    progress: ProgressLike = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> SearchResult:
    """Search for the trajectory with the best score.

    Each candidate is embedded, its coordinates are clustered, and its labels are scored on every
    view. The score is a function of the trajectory and `random_state` alone: :func:`embed`,
    :func:`k_means` and :mod:`mdt_fast.quality` with the same settings reproduce it.

    Parameters
    ----------
    ops : OperatorSet
        The members from which steps are chosen.
    n_clusters : int, "auto" or None, default=None
        Number of clusters; "auto" calls :func:`select_n_clusters`. Only the contrastive loss needs
        no number.
    strategy : str, Strategy, Trajectory, sequence or weights, default="beam"
        How candidates are chosen: a strategy of :mod:`mdt_fast.strategies`, the name of one for its
        default options, or a trajectory that is evaluated as it is. Names over sequences are
        "random", "beam", "greedy", "epsilon-greedy", "mcts" and "exhaustive"; over weights
        "convex", "direct", "cma", "contrastive" and "mean"; "consensus", or "auto", combines the
        clusters of many trajectories.
    t : int or "auto", default="auto"
        Diffusion time; "auto" calls :func:`select_time`.
    quality : str, callable, Scoring or None, default="auto"
        What is scored, see :class:`Scoring`. "auto" is "information" for a consensus and
        "calinski_harabasz" for the other strategies over labels. None scores nothing, for
        strategies with a single candidate.
    view_weights : (V,) array, "auto" or None, default=None
        Weight of each base view in the score; None is equal weights. "auto" first runs a consensus
        with equal weights, and weights the views by its labels as :func:`view_report` does; it needs
        `n_clusters`. A time limit shortens this consensus, unless there is a checkpoint, which could
        not be used with other weights.
    max_evaluations : int or None, default=None
        Number of candidates after which the best one so far is returned.
    time_limit : float or None, default=None
        Number of seconds after which the best candidate so far is returned; at least one is scored.
        The diffusion time, the number of clusters and the view weights may take a third of the time
        that is left when they are chosen.
    memory_limit : int or None, default=None
        Number of bytes that the search may take beside the operators.
    random_state : int, RandomState, Generator or None, default=0
        Seed. One seed gives one result and one history at any number of threads.
    n_jobs : int or None, default=None
        Number of threads; None is that of the operators.
    progress : bool, callable or None, default=None
        Whether a progress bar is shown; None shows it if the standard error is a terminal. A
        callable receives a :class:`Progress` several times a second.
    checkpoint : path or None, default=None
        File from which an interrupted search resumes when it is called again with the same
        arguments. It is written after the first evaluations and then every few seconds. Several
        searches with the same arguments may share it.

    Returns
    -------
    SearchResult
        The answer and everything that was evaluated.

    Raises
    ------
    MemoryError
        If scoring takes more than `memory_limit`, before anything is computed.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> ops = mdt.build_operators(views)
    >>> res = mdt.search(ops, 3, t=3)
    >>> len(res.labels), res.n_evaluations
    (150, 22)
    >>> mdt.search(ops, 3, t=3, strategy=mdt.strategies.Beam(width=3)).n_evaluations
    30
    """
    with watch(progress, time_limit) as monitor:
        return watched_search(
            ops, n_clusters, monitor, strategy=strategy, t=t, quality=quality, view_weights=view_weights,
            max_evaluations=max_evaluations, memory_limit=memory_limit, random_state=random_state, n_jobs=n_jobs,
            checkpoint=checkpoint,
        )  # fmt: skip


def watched_search(
    ops: OperatorSet, n_clusters: Any, monitor: Monitor, *, strategy: Any, t: int | str, quality: Any,
    view_weights: Any, max_evaluations: int | None, memory_limit: int | None, random_state: RandomStateLike,
    n_jobs: int | None, checkpoint: Any, is_labelled_later: bool = False,
) -> SearchResult:  # fmt: skip
    """Search as :func:`search` does.

    With `is_labelled_later` nothing is solved that the caller solves again: the answer has no labels if candidates are
    not clustered to be compared, and an only candidate has no score.
    """
    if not isinstance(ops, OperatorSet):
        raise TypeError(f"ops: expected an OperatorSet, got {type(ops).__name__}")
    chosen = make_strategy(strategy).bind(ops)
    if isinstance(n_clusters, str):
        if n_clusters != "auto":
            raise ValueError(f"n_clusters: expected an integer, 'auto' or None, got {n_clusters!r}")
        how: dict[str, Any] = {"random_state": random_state, "n_jobs": n_jobs, "time_limit": monitor.share()}
        n_clusters = select_n_clusters(ops, t=t, progress=monitor, **how).n_clusters
    scoring = Scoring.of(quality)
    is_weighing = isinstance(view_weights, str) and view_weights == "auto"
    if is_weighing and n_clusters is None:
        raise ValueError("view_weights: expected numbers, because 'auto' needs n_clusters, got n_clusters=None")
    plan = ScoringPlan.check(scoring, chosen, ops, n_clusters, None if is_weighing else view_weights)
    check_solver_memory(ops, plan, scoring)
    seed, requested = check_seed(random_state), check_time(t)
    jobs = ops.n_jobs if n_jobs is None else n_jobs
    if memory_limit is not None:
        limit = check_integer("memory_limit", memory_limit, minimum=0, maximum=sys.maxsize)
        check_memory(limit, ops, plan, n_threads(jobs))
    count = None if max_evaluations is None else check_integer("max_evaluations", max_evaluations, minimum=1)
    if checkpoint is not None:
        checkpoint = check_path("checkpoint", checkpoint, "a path or None")
    selected = None
    if is_weighing:
        # Weights that depend on the time left would make a checkpoint useless.
        seconds = monitor.share() if checkpoint is None else math.inf
        with monitor.stage("view weights"), monitor.limited(seconds):
            weighed = search(
                ops, n_clusters, strategy=_WEIGHING, t=requested, memory_limit=memory_limit,
                random_state=seed, n_jobs=n_jobs, progress=monitor,
            )  # fmt: skip
        assert weighed.labels is not None
        plan, selected = replace(plan, view_weights=weights_of(stay_of(ops, weighed.labels))), weighed.t
    settings = {"strategy": chosen.settings(), "t": requested, **plan.settings(), "random_state": seed}
    scorer = plan.scorer(ops, seed, n_threads(jobs))
    data = None if checkpoint is None else fingerprint(ops, plan.features)
    known = Checkpoint(checkpoint, {"version": _core.__version__, **settings, "data": data}, ops)
    time = _select_time(chosen, requested, selected, ops, n_jobs, monitor)
    n_steps = chosen.fixed_length or chosen.length(time or 1)
    problem = Problem(ops, n_steps, plan.n_clusters, plan.view_weights, seed, jobs)
    # A checkpoint has scores only, also for a later search.
    is_unscored = is_labelled_later and plan.scores_labels and not chosen.compares and checkpoint is None
    most = _least(chosen.budget, count)
    n_total = _least(chosen.n_candidates(problem, count), count)
    with monitor.stage("search", n_total=n_total, n_evaluations=0, depth=0, best_score=-math.inf):
        run = SearchRun(problem, plan, scorer, known, Reporter(monitor, n_total), monitor, max_evaluations=most)
        try:
            if plan.quality is None or is_unscored:
                run.note(Evaluation(chosen.only_candidate(problem), math.nan, 0.0))
                answer = Answer(0)
            else:
                answer = chosen.run(run) or Answer(run.best())
        except Stop as stop:
            # Reaching the budget of the strategy itself is its regular end.
            run.stopped = None if stop.reason == "max_evaluations" and most == chosen.budget else stop.reason
            answer = Answer(run.best())
        finally:
            # Also after Ctrl-C.
            known.write()
    run.warn_of_unconverged()
    history, agreement = run.history, answer.agreement
    if agreement is None:
        trajectory = ops.trajectory(run.candidates[answer.best])
        labels = run.labels_of(answer.best, compute=not is_labelled_later)
        score = float(history["score"][answer.best])
    else:
        trajectory, labels = None, agreement.labels
        how = {"quality": plan.quality, "view_weights": plan.view_weights, "features": scoring.features}
        score = score_labels(ops, labels, agreement.embedding, **how)
    return SearchResult(
        trajectory=trajectory, score=score, labels=labels, history=history, candidates=run.candidates, best=answer.best,
        strategy=chosen.name, quality=plan.name, t=time, stopped=run.stopped, converged=answer.converged,
        settings=settings, agreement=agreement,
    )  # fmt: skip


def _select_time(
    strategy: Strategy, t: int | str, selected: int | None, ops: OperatorSet, n_jobs: int | None, monitor: Monitor
) -> int | None:
    """Return the diffusion time, or None if nothing depends on it."""
    if isinstance(t, int):
        return t if strategy.uses_time else None
    if not strategy.needs_time:
        return None
    if selected is not None:
        return selected
    return select_time(ops, n_jobs=n_jobs, progress=monitor, time_limit=monitor.share()).t


def _least(*bounds: int | None) -> int | None:
    return min((bound for bound in bounds if bound is not None), default=None)
