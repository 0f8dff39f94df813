"""The door to all searches for the trajectory with the best geometry."""

from __future__ import annotations

import math
import os
import sys
from dataclasses import replace
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .._clusters.labels import score_labels
from .._clusters.n_clusters import select_n_clusters
from .._geometry.time import check_time, select_time
from .._operators.operator_set import OperatorSet
from .._operators.trajectory import Trajectory
from .._support.arguments import RandomStateLike, check_choice, check_integer, check_number
from .._support.memory import candidates_at_once, plan_candidates
from .._support.seed import check_seed
from .._support.threads import n_threads
from ..quality._contrastive import same_steps
from ..quality._scores import stay_of, weights_of
from . import weights as _search_weights
from .checkpoint import Candidate, Checkpoint, Evaluation, fingerprint
from .consensus import MEMBER_STARTS, N_MEMBERS, consensus
from .progress import ProgressLike, Reporter
from .result import SearchResult
from .run import SearchRun, Stop
from .scoring import QualityLike, ScoringPlan

STRATEGIES = (
    "random", "beam", "greedy", "epsilon-greedy", "mcts", "exhaustive",
    "convex", "direct", "cma", "contrastive", "mean", "consensus", "auto",
)  # fmt: skip

# Strategies that grow one level after the other.
_LEVELS = ("beam", "greedy", "epsilon-greedy")
# Strategies that look further than t, and at short trajectories too.
_DEEP = (*_LEVELS, "mcts")
# Words that an exhaustive search looks at without being told how many.
_MANY = 100_000
# Members of the consensus that view weights are read from.
_WEIGHING_MEMBERS = N_MEMBERS // 2
# What the core counts with.
_LARGEST = 2**32 - 1


def search(
    ops: OperatorSet,
    n_clusters: int | str | None = None,
    *,
    strategy: Any = "beam",
    t: int | str = "auto",
    max_steps: int | None = None,
    beam_width: int = 2,
    quality: QualityLike = "auto",
    view_weights: Any = None,
    features: Any = None,
    n_samples: int | None = None,
    probabilities: Any = None,
    epsilon: float = 0.1,
    n_playouts: int = 100,
    exploration: float = 0.5,
    learning_rate: float = 0.8,
    max_iter: int = 40,
    batch_size: int | None = None,
    n_components: int | None = None,
    n_init: int | None = None,
    tol: float = 1e-3,
    answer: str = "any",
    grow: str = "left",
    max_evaluations: int | None = None,
    time_limit: float | None = None,
    memory_budget: int = 2**30,
    memory_limit: int | None = None,
    random_state: RandomStateLike = 0,
    n_jobs: int | None = None,
    progress: ProgressLike = None,
    checkpoint: str | os.PathLike[str] | None = None,
) -> SearchResult:
    """Search for the trajectory whose geometry is best.

    A candidate is embedded in `n_components` dimensions, clustered, and its labels are scored on every view. Its score
    depends on the trajectory and `random_state` alone: `embed`, `k_means` and `quality` with the same numbers give it.

    Parameters
    ----------
    ops : OperatorSet
        The steps to choose from.
    n_clusters : int, "auto" or None
        Number of clusters; needed unless the contrastive loss is the quality. "auto": :func:`select_n_clusters`.
    strategy : str, word, weights or Trajectory
        Over words: "random" (`n_samples` words of t steps), "beam" (the best `beam_width` words of each length are
        extended), "greedy" (one word), "epsilon-greedy" (with probability `epsilon` by a random step), "mcts" (tree
        search with upper confidence bounds), "exhaustive" (all words). Over weights: "convex" (random), "direct" and
        "cma" (optimisers of SciPy and of the package `cma`), "contrastive" (gradient descent on the contrastive loss),
        "mean" (equal weights). Or a trajectory, which is evaluated as it is. "consensus" is no single trajectory: it
        draws up to `n_samples` random convex ones of up to t steps, each with the same weights at every step, and
        combines the clusters of the better half. "auto" is "consensus": see the guide to choosing.
    t : int or "auto"
        The diffusion time; "auto": :func:`select_time`.
    max_steps : int, optional
        Longest word of "beam", "greedy", "epsilon-greedy" and "mcts" (2 t by default) and of "exhaustive" (t). These
        answer with the best word of any length; the shorter of equals, then the first in the order of the members.
    beam_width : int
        Words of one length that "beam" extends.
    quality : str, callable or None
        "calinski_harabasz", "davies_bouldin", "silhouette", "persistence", "contrastive", or a function of (ops,
        labels, coordinates) that returns a number, higher is better. Scores that are minimised are negated. "auto":
        "persistence" for a consensus, else "calinski_harabasz". None: nothing is scored, for strategies with a single
        candidate.
    view_weights : (V,) array, "auto" or None
        How much each base view counts in the score, as in :mod:`mdt_fast.quality`. "auto": the weights of
        :func:`view_report` for the labels of a consensus with equal ones, which is run first, whatever
        `max_evaluations` and `time_limit`; needs `n_clusters`.
    features
        As in :mod:`mdt_fast.quality`.
    n_samples : int, optional
        Candidates of "random" and "convex", 1 by default, or of "consensus", 64; it stops at 32 if they agree with the
        first 16 already.
    probabilities : array, optional
        Of the members, for "random": (members,) or (t, members); uniform by default.
    epsilon : float
        Probability of a random step, for "epsilon-greedy".
    n_playouts, exploration
        Playouts of "mcts", and how much it is drawn to what it knows little of.
    learning_rate, max_iter, batch_size
        Of "contrastive"; `batch_size` samples an iteration, all by default.
    n_components : int, optional
        Coordinates that are clustered; `n_clusters` by default.
    n_init : int, optional
        Starts of k-means for each candidate; 1 by default, 5 for "consensus".
    tol : float
        Error of distances between the embedded samples, relative to the largest singular value of a coordinate. (That
        is what labels depend on; `tol` of :func:`embed` also holds for coordinates that are too small to matter.)
    answer : {"any", "last"}
        Whether the best word of any length is the answer or the best of the longest ones ("beam" and the greedy ones).
    grow : {"left", "right"}
        On which side of the product one more step is multiplied ("beam" and the greedy ones).
    max_evaluations : int, optional
        Candidates at most; 100 for "direct" and "cma" by default. The best so far is returned.
    time_limit : float, optional
        Seconds after which the best so far is returned.
    memory_budget : int
        Bytes that may be kept to make longer words cheaper. Changes the time, never the result.
    memory_limit : int, optional
        Bytes that the search may take beside the operators. If scoring takes more (one candidate for each thread, or
        one at a time beyond 32,768 samples), as far as can be told, it is refused before anything is done, with a plan;
        otherwise `memory_budget` is at most what is left.
    random_state : int, RandomState, Generator or None
        One seed gives one result and one history, at any number of threads.
    n_jobs : int or None
        Threads; None: as for the operators.
    progress : bool, callable or None
        None: a bar if the standard error is a terminal. A callable gets a :class:`SearchProgress` several times a
        second.
    checkpoint : path, optional
        File from which a search that was broken off goes on when it is called again with the same arguments. Written
        every few seconds.

    Returns
    -------
    SearchResult

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> ops = mdt.build_operators(views)
    >>> res = mdt.search(ops, 3, t=3)
    >>> len(res.labels), res.n_evaluations
    (150, 22)
    """
    if not isinstance(ops, OperatorSet):
        raise TypeError(f"ops: expected an OperatorSet, got {type(ops).__name__}")
    name, given = _check_strategy(strategy, ops)
    if isinstance(n_clusters, str):
        n_clusters = _count_clusters(n_clusters, ops, t, random_state, n_jobs)
    is_consensus = name == "consensus"
    if name == "contrastive":
        quality = "contrastive"
    elif isinstance(quality, str) and quality == "auto":
        quality = "persistence" if is_consensus else "calinski_harabasz"
    if n_samples is None:
        n_samples = N_MEMBERS if is_consensus else 1
    if n_init is None:
        n_init = MEMBER_STARTS if is_consensus else 1
    samples = check_integer("n_samples", n_samples, minimum=1, maximum=_LARGEST)
    if is_consensus and (quality == "contrastive" or n_clusters is None):
        got = "quality='contrastive'" if quality == "contrastive" else "n_clusters=None"
        raise ValueError(f"strategy: expected n_clusters and a quality of labels for a consensus, got {got}")
    if quality is None and not (given is not None or name == "mean" or (name in ("random", "convex") and samples == 1)):
        raise ValueError(f"quality: expected one, because strategy={name!r} compares candidates, got None")
    is_weighing = isinstance(view_weights, str) and view_weights == "auto"
    if is_weighing and n_clusters is None:
        raise ValueError("view_weights: expected numbers, because 'auto' needs n_clusters, got n_clusters=None")
    known_weights = None if is_weighing else view_weights
    plan = ScoringPlan.check(ops, quality, n_clusters, n_components, n_init, tol, known_weights, features)
    seed = check_seed(random_state)
    settings: dict[str, Any] = {
        "strategy": name,
        "t": check_time(t),
        "max_steps": None if max_steps is None else check_integer("max_steps", max_steps, minimum=1),
        "beam_width": check_integer("beam_width", beam_width, minimum=1, maximum=_LARGEST),
        **plan.settings(),
        "n_samples": samples,
        "probabilities": None if probabilities is None else np.asarray(probabilities).tolist(),
        "epsilon": check_number("epsilon", epsilon, maximum=1.0),
        "n_playouts": check_integer("n_playouts", n_playouts, minimum=1, maximum=_LARGEST),
        "exploration": check_number("exploration", exploration),
        "learning_rate": check_number("learning_rate", learning_rate),
        "max_iter": check_integer("max_iter", max_iter, minimum=1),
        "batch_size": None if batch_size is None else check_integer("batch_size", batch_size, minimum=1),
        "answer": check_choice("answer", answer, ("any", "last")),
        "grow": check_choice("grow", grow, ("left", "right")),
        "random_state": seed,
    }
    for argument, usual in (("answer", "any"), ("grow", "left")):
        if name not in _LEVELS and settings[argument] != usual:
            got = settings[argument]
            raise ValueError(f"{argument}: expected {usual!r} with strategy={name!r}, got {got!r}")
    jobs = ops.n_jobs if n_jobs is None else n_jobs
    budget = check_integer("memory_budget", memory_budget, minimum=0, maximum=sys.maxsize)
    if memory_limit is not None:
        spare = check_integer("memory_limit", memory_limit, minimum=0, maximum=sys.maxsize)
        budget = min(budget, _left_over(spare, ops, plan, n_threads(jobs)))
    limit = None if time_limit is None else check_number("time_limit", time_limit)
    count = None if max_evaluations is None else check_integer("max_evaluations", max_evaluations, minimum=1)
    if count is None and name in ("direct", "cma"):
        count = _search_weights.DEFAULT_BUDGET
    if name == "cma" and find_spec("cma") is None:
        raise ImportError("strategy='cma' needs the package cma: pip install 'mdt_fast[cma]'")
    if checkpoint is not None and not isinstance(checkpoint, (str, os.PathLike)):
        raise TypeError(f"checkpoint: expected a path or None, got {checkpoint!r}")
    selected = None
    if is_weighing:
        # Whatever the limits: weights that depend on the time left would keep a checkpoint from being taken up again.
        agreed = search(
            ops,
            n_clusters,
            strategy="consensus",
            t=settings["t"],
            n_samples=_WEIGHING_MEMBERS,
            memory_budget=budget,
            memory_limit=memory_limit,
            random_state=seed,
            n_jobs=n_jobs,
            progress=progress,
        )
        assert agreed.labels is not None
        plan = replace(plan, view_weights=weights_of(stay_of(ops, agreed.labels)))
        settings.update(plan.settings())
        selected = agreed.t
    scorer = plan.make(ops, seed, budget, n_threads(jobs))
    known = Checkpoint(checkpoint, {
        "version": _core.__version__,
        **settings,
        "given": None if given is None else np.asarray(given).tolist(),
        "data": None if checkpoint is None else fingerprint(ops, plan.features),
    })  # fmt: skip
    time, depth = _lengths(name, given, settings, ops, n_jobs, selected)
    words = _word_strategy(name, depth, settings, ops)
    n_total = _n_total(ops, name, words, settings, count)
    if name == "exhaustive" and count is None and n_total is not None and n_total > _MANY:
        raise ValueError(
            f"max_steps: expected at most {_MANY:,} words for an exhaustive search, got {n_total:,} "
            f"({len(ops)} members, up to {depth} steps); max_evaluations allows more"
        )
    reporter = Reporter(progress, n_total)
    run = SearchRun(ops, scorer, known, reporter, max_evaluations=count, time_limit=limit)
    agreement = None
    try:
        if given is not None or name == "mean":
            candidate = _search_weights.uniform(ops, depth) if given is None else given
            best = _single(run, candidate, is_scored=quality is not None)
        elif quality is None:
            best = _single(run, _draw(depth, words, ops, seed), is_scored=False)
        elif words is not None:
            best = run.explore(words, answer=answer)
        elif is_consensus:
            assert plan.n_clusters is not None
            agreement = consensus(run, depth, plan.n_clusters, n_members=samples, seed=seed, n_jobs=jobs)
            best = run.best()
        else:
            best = _over_weights(run, name, depth, settings, plan, jobs)
    except Stop as stop:
        # The usual end of a strategy that could go on for ever is no interruption.
        is_usual = stop.reason == "max_evaluations" and max_evaluations is None
        run.stopped = None if is_usual else stop.reason
        best = run.best()
    finally:
        # Also after Ctrl-C: what is known is worth keeping.
        known.write()
        reporter.close()
    run.warn_of_unconverged()
    history = run.history
    if agreement is None:
        trajectory = ops.trajectory(run.candidates[best])
        clustered = scorer.cluster(trajectory.weights)
        labels = None if clustered is None else clustered.labels
        score = float(history["score"][best])
    else:
        trajectory, labels = None, agreement.labels
        how = {"quality": quality, "view_weights": plan.view_weights, "features": features}
        score = score_labels(ops, labels, agreement.embedding, **how)
    return SearchResult(
        trajectory=trajectory,
        score=score,
        labels=labels,
        history=history,
        candidates=run.candidates,
        best=best,
        strategy=name,
        quality=plan.name,
        t=time,
        stopped=run.stopped,
        converged=run.converged,
        settings=settings,
        agreement=agreement,
    )


def _check_strategy(strategy: Any, ops: OperatorSet) -> tuple[str, Candidate | None]:
    """Return the name of the strategy and, for a trajectory given by hand, its word or weights."""
    if isinstance(strategy, str):
        name = check_choice("strategy", strategy, STRATEGIES)
        return "consensus" if name == "auto" else name, None
    if isinstance(strategy, Trajectory):
        if not same_steps(strategy.operators, ops):
            raise ValueError(f"strategy: expected a trajectory of {ops!r}, got one of {strategy.operators!r}")
        given = strategy
    elif isinstance(strategy, (list, tuple, np.ndarray)):
        try:
            given = ops.trajectory(strategy)
        except (TypeError, ValueError) as error:
            raise type(error)(f"strategy: {error}") from None
    else:
        known = ", ".join(map(repr, STRATEGIES))
        raise TypeError(f"strategy: expected one of {known}, a word, weights or a Trajectory, got {strategy!r}")
    return "given", given.weights if given.sequence is None else given.sequence


def _left_over(limit: int, ops: OperatorSet, plan: ScoringPlan, threads: int) -> int:
    """Return the bytes of a limit that scoring leaves, with the starting block; refuse if it needs more."""
    operators = sum(P.data.nbytes + P.indices.nbytes + 8 * ops.n_samples for P in ops.views)
    stages = plan_candidates(ops.n_samples, operators, plan.n_components or 1, ops.dtype.itemsize, threads)
    left = limit - sum(stages.values())
    if left < 0:
        parts = ", ".join(f"{name} {size / 1e9:.3g} GB" for name, size in stages.items() if size)
        raise MemoryError(
            f"memory_limit: expected at least {sum(stages.values()) / 1e9:.3g} GB for {ops.n_samples:,} samples, "
            f"{candidates_at_once(ops.n_samples, threads)} candidate(s) at a time ({parts}), got {limit / 1e9:.3g} GB"
        )
    return left + stages["starting block"]


def _count_clusters(
    n_clusters: str, ops: OperatorSet, t: int | str, random_state: RandomStateLike, n_jobs: int | None
) -> int:
    if n_clusters != "auto":
        raise ValueError(f"n_clusters: expected an integer, 'auto' or None, got {n_clusters!r}")
    return select_n_clusters(ops, t=t, random_state=random_state, n_jobs=n_jobs).n_clusters


def _lengths(
    name: str,
    given: Candidate | None,
    settings: dict[str, Any],
    ops: OperatorSet,
    n_jobs: int | None,
    selected: int | None,
) -> tuple[int | None, int]:
    """Return the diffusion time, None where nothing depends on it, and the length of the longest trajectory.

    `selected` is what :func:`select_time` has found already.
    """
    if given is not None:
        return None, len(given)
    most = settings["max_steps"] if name in (*_DEEP, "exhaustive") else None
    if settings["t"] != "auto":
        time = settings["t"]
    elif most is not None:
        return None, most
    else:
        time = select_time(ops, n_jobs=n_jobs).t if selected is None else selected
    return time, most or (2 * time if name in _DEEP else time)


def _word_strategy(name: str, depth: int, settings: dict[str, Any], ops: OperatorSet) -> _core.Strategy | None:
    """Return a strategy over words as the core takes it, None for the others."""
    seed, side = settings["random_state"], settings["grow"]
    if name == "random":
        chances = _check_probabilities(settings["probabilities"], depth, len(ops))
        return _core.RandomSequences(n=settings["n_samples"], probabilities=chances, seed=seed)
    if name in ("beam", "greedy"):
        return _core.Beam(width=settings["beam_width"] if name == "beam" else 1, depth=depth, side=side)
    if name == "epsilon-greedy":
        return _core.EpsilonGreedy(epsilon=settings["epsilon"], depth=depth, side=side, seed=seed)
    if name == "mcts":
        how = {"playouts": settings["n_playouts"], "exploration": settings["exploration"]}
        return _core.Mcts(depth=depth, seed=seed, **how)
    return _core.Exhaustive(depth=depth) if name == "exhaustive" else None


def _check_probabilities(given: Any, t: int, n_members: int) -> NDArray[np.float64]:
    if given is None:
        return np.full((t, n_members), 1.0 / n_members)
    try:
        chances = np.asarray(given, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"probabilities: expected numbers, got {given!r}") from None
    if chances.shape not in ((n_members,), (t, n_members)):
        expected = f"shape ({n_members},) or ({t}, {n_members})"
        raise ValueError(f"probabilities: expected {expected}, one for each member, got {chances.shape}")
    if not np.isfinite(chances).all() or (chances < 0).any() or (abs(chances.sum(axis=-1) - 1) > 1e-8).any():
        sums = np.atleast_1d(chances.sum(axis=-1)).tolist()
        raise ValueError(
            f"probabilities: expected numbers >= 0 that sum to 1 in each row, got {chances.tolist()} with sums {sums}"
        )
    return np.broadcast_to(chances, (t, n_members))


def _n_total(
    ops: OperatorSet, name: str, words: _core.Strategy | None, settings: dict[str, Any], count: int | None
) -> int | None:
    """Return how many candidates there will be at most."""
    if words is not None:
        total = words.visits(len(ops))
    else:
        samples = settings["n_samples"]
        fixed = {
            "convex": samples,
            "consensus": samples,
            "contrastive": settings["max_iter"] + 1,
            "mean": 1,
            "given": 1,
        }
        total = fixed.get(name, count or _search_weights.DEFAULT_BUDGET)
    return total if count is None else min(total, count)


def _single(run: SearchRun, candidate: Candidate, *, is_scored: bool) -> int:
    """Evaluate the only candidate there is."""
    if is_scored:
        run.score([candidate])
    else:
        run.note(Evaluation(candidate, math.nan, 0.0))
    return 0


def _draw(t: int, words: _core.Strategy | None, ops: OperatorSet, seed: int) -> Candidate:
    """Return the one random trajectory of a search that scores nothing: the first that it would score."""
    if isinstance(words, _core.RandomSequences):
        return tuple(words.first(len(ops)))
    return _search_weights.draw_convex(ops, t, np.random.default_rng(seed))


def _over_weights(
    run: SearchRun, name: str, t: int, settings: dict[str, Any], plan: ScoringPlan, n_jobs: int | None
) -> int:
    """Run a strategy over weights; return the place of the answer."""
    generator = np.random.default_rng(settings["random_state"])
    if name == "convex":
        return _search_weights.convex(run, t, settings["n_samples"], generator)
    if name == "direct":
        return _search_weights.direct(run, t)
    if name == "cma":
        return _search_weights.cma(run, t, generator)
    return _search_weights.contrastive(
        run,
        t,
        learning_rate=settings["learning_rate"],
        max_iter=settings["max_iter"],
        batch_size=settings["batch_size"],
        view_weights=plan.view_weights,
        n_jobs=n_jobs,
        generator=generator,
    )
