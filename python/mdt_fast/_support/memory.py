"""Available memory, and checks of requests against it."""

import os
from contextlib import suppress
from pathlib import Path


def available_bytes() -> int:
    """Return the number of bytes that can be allocated without swapping."""
    limits = [_system_bytes()]
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        # The limit of a container; "max" means that there is none.
        try:
            limits.append(int(Path("/sys/fs/cgroup", name).read_text()))
        except (OSError, ValueError):
            continue
    return min(limits)


def _system_bytes() -> int:
    with suppress(OSError):
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        # Unknown: the allocation itself may fail.
        return 2**62


def require(needed: int, what: str) -> None:
    """Raise MemoryError if `what` needs more bytes than are available."""
    available = available_bytes()
    if needed > available:
        raise MemoryError(f"{what} needs {needed / 1e9:.3g} GB, but {available / 1e9:.3g} GB are available")


# Entries of a walk's row for each neighbour: an edge that only one of its ends chose gains a way back.
_ENTRIES_PER_NEIGHBOR = 1.6
# From this many samples on, the solver works on a copy of the operators in another order.
_TWIN_SAMPLES = 2**14
# Up to this many samples every thread has a candidate of its own.
_SIDE_BY_SIDE = 2**15


def plan_search(
    n_samples: int, n_views: int, n_neighbors: int, n_clusters: int, item_size: int = 8, n_threads: int = 1
) -> dict[str, int]:
    """Estimate the bytes that a beam search (width 2, depth 12) takes, stage by stage; the last entry is the total.

    The views themselves are not counted. `item_size` is that of the operators' elements.
    """
    entries = n_samples * (1 + _ENTRIES_PER_NEIGHBOR * n_neighbors)
    # A graph of indices, distances and row starts is there while the walk of its view is made.
    graph = n_samples * (12 * n_neighbors + 8) + entries * 12
    operators = n_views * (entries * (4 + item_size) + n_samples * (8 + item_size))
    # The product of every word with the starting block, within the default of `memory_budget`.
    kept = min(2**30, 2 * 12 * n_views * n_samples * _block(n_clusters) * item_size)
    plan = {
        "graphs, while building": int(graph),
        "operators": int(operators),
        **plan_candidates(n_samples, int(operators), n_clusters, item_size, n_threads),
        "kept for longer words": int(kept),
    }
    return {**plan, "total": sum(plan.values())}


def plan_candidates(
    n_samples: int, operators: int, n_components: int, item_size: int, n_threads: int = 1
) -> dict[str, int]:
    """Estimate the bytes that scoring trajectories takes beside the operators, stage by stage."""
    rank, block = n_components + 1, _block(n_components)
    at_once = candidates_at_once(n_samples, n_threads)
    return {
        "operators in the solver's order": operators if n_samples >= _TWIN_SAMPLES else 0,
        # Two bases, and three blocks on the way through the factors.
        "solver": at_once * n_samples * item_size * (2 * (2 * rank + 8 * block) + 3 * block),
        "coordinates and labels": at_once * n_samples * (2 * rank * item_size + 8 * rank + 16),
        "starting block": n_samples * item_size * block,
    }


def candidates_at_once(n_samples: int, n_threads: int) -> int:
    """Trajectories that are scored side by side."""
    return n_threads if n_samples <= _SIDE_BY_SIDE else 1


def _block(n_components: int) -> int:
    """Columns that the solver works on at a time."""
    return min(-(-(n_components + 4) // 4) * 4, 32)
