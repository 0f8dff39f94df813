"""How much memory a search takes, estimated before it starts."""

from .. import _core
from .._geometry.solver_memory import check_components
from .._operators.operator_set import ONE_COPY, OperatorSet
from .scoring import Scoring, ScoringPlan

# Entries of a row of a walk for each neighbour: a neighbour relation that holds in one direction
# only adds an entry to both rows.
_ENTRIES_PER_NEIGHBOR = 1.6


def plan_search(
    n_samples: int, n_views: int, n_neighbors: int, n_clusters: int, item_size: int = 8, n_threads: int = 1
) -> dict[str, int]:
    """Estimate the bytes of a search, stage by stage, and the total.

    The views themselves are not counted. `item_size` is the size of an element of the operators.
    """
    entries = n_samples * (1 + _ENTRIES_PER_NEIGHBOR * n_neighbors)
    # Indices, distances and row starts of a graph exist while the walk of its view is made.
    graph = n_samples * (12 * n_neighbors + 8) + entries * 12
    operators = n_views * (entries * (4 + item_size) + n_samples * (8 + item_size))
    candidates = _core.plan_candidates(n_samples, _copied(n_samples, int(operators)), n_clusters, item_size, n_threads)
    plan = {"graphs, while building": int(graph), "operators": int(operators), **_stages(candidates)}
    # A large set has its matrices in both orders while it is made.
    both_orders = 2 * int(operators) if n_samples >= ONE_COPY else 0
    return {**plan, "total": max(sum(plan.values()), both_orders)}


def check_solver_memory(ops: OperatorSet, plan: ScoringPlan, scoring: Scoring) -> None:
    """Raise MemoryError if the embedding of one candidate does not fit into the memory."""
    if plan.n_components is not None:
        name = "n_clusters" if scoring.n_components is None else "n_components"
        check_components(name, plan.n_components, ops.n_samples, ops.dtype.itemsize, extra=1)


def check_memory(limit: int, ops: OperatorSet, plan: ScoringPlan, threads: int) -> None:
    """Raise MemoryError if scoring takes more than a limit in bytes."""
    walks = map(ops.native.transition_in_any_order, range(ops.n_views))
    operators = sum(P.values.nbytes + P.indices.nbytes + 8 * ops.n_samples for P in walks)
    copied = _copied(ops.n_samples, operators)
    candidates = _core.plan_candidates(ops.n_samples, copied, plan.n_components or 1, ops.dtype.itemsize, threads)
    stages = _stages(candidates)
    if sum(stages.values()) > limit:
        parts = ", ".join(f"{name} {size / 1e9:.3g} GB" for name, size in stages.items() if size)
        raise MemoryError(
            f"memory_limit: expected at least {sum(stages.values()) / 1e9:.3g} GB for {ops.n_samples:,} samples, "
            f"{candidates.at_once} candidate(s) at a time ({parts}), got {limit / 1e9:.3g} GB"
        )


def _copied(n_samples: int, operators: int) -> int:
    """Return the bytes of the operators of which a search makes a reordered copy."""
    return 0 if n_samples >= ONE_COPY else operators


def _stages(plan: _core.CandidatePlan) -> dict[str, int]:
    return {
        "reordered operators": plan.reordered_operators,
        "solver": plan.solver,
        "coordinates and labels": plan.coordinates_and_labels,
        "starting blocks": plan.starting_blocks,
    }
