"""From `n_jobs` to a number of threads."""

import operator

from .. import _core


def n_threads(n_jobs: int | None) -> int:
    """Return the number of threads: None or -1 for all, -2 for all but one, and so on.

    More threads than the machine can use are not started; no result depends on their number.
    """
    if n_jobs is None:
        return _core.available_threads()
    try:
        jobs = operator.index(n_jobs)
    except TypeError:
        raise TypeError(f"n_jobs: expected None or an int, got {n_jobs!r}") from None
    if jobs == 0:
        raise ValueError("n_jobs: expected a number of threads, or a negative number counting from all, got 0")
    return min(jobs, _core.most_threads()) if jobs > 0 else max(1, _core.available_threads() + 1 + jobs)
