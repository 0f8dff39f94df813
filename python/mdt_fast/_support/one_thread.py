"""BLAS and OpenMP on one thread.

Their threads wait for each other: with busy cores, a fit of 178 samples took 1 to 13 s instead of 0.05 s of processor
time. The number of their threads also changes the last digits. Dense decompositions run in the core. Other code that
calls NumPy or scikit-learn on large arrays runs inside `one_thread`.
"""

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def one_thread() -> Iterator[None]:
    """Hold BLAS and OpenMP to one thread.

    If several threads of the caller are inside at the same time, threadpoolctl decides which of them limits BLAS.
    """
    # Imported here, because importing mdt_fast must be fast.
    from threadpoolctl import ThreadpoolController

    # Searched anew (1 ms): any import may load a library.
    with ThreadpoolController().limit(limits=1):
        yield
