"""BLAS and OpenMP on one thread.

Their threads wait for each other: with busy cores, a fit of 178 samples took 1 to 13 s instead of 0.05 s of processor
time. The number of their threads also changes the last digits. Dense decompositions run in the core. Other code that
calls NumPy or scikit-learn on large arrays runs inside `one_thread`.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_lock = threading.Lock()
# Number of users of `one_thread`, and the limit of BLAS that the first of them set.
_inside = 0
_limit: Any = None


@contextmanager
def one_thread() -> Iterator[None]:
    """Hold BLAS, in the whole process, and OpenMP, in this thread, to one thread.

    A limit of threadpoolctl restores what it found. If two threads limit BLAS and the first leaves first, the second
    would restore the limit of the first for ever. So only the first user sets that limit, and the last one ends it.
    """
    # Imported here, because importing mdt_fast must be fast.
    from threadpoolctl import ThreadpoolController

    global _inside, _limit
    # Searched anew (1 ms): any import may load a library. A limit restores all libraries that were selected.
    libraries = ThreadpoolController()
    with _lock:
        if _inside == 0:
            _limit = libraries.select(user_api="blas").limit(limits=1)
        _inside += 1
    try:
        with libraries.select(user_api="openmp").limit(limits=1):
            yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                _limit.restore_original_limits()
                # A limit also restores when it is deleted, which must not happen inside the next one.
                _limit = None
