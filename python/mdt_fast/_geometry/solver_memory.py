"""Check that the solver's memory is available before it starts."""

from .. import _core
from .._support import memory as _memory

# Smaller requests are left to the allocation itself.
_LARGE = 2**26


def check_components(name: str, n_components: int, n: int, item_size: int, *, extra: int = 0) -> None:
    """Raise MemoryError if the leading pairs of an (n, n) matrix do not fit into the memory.

    Parameters
    ----------
    name : str
        The argument that gives the number of pairs.
    n_components : int
        Its value.
    n : int
        Number of rows of the matrix.
    item_size : int
        Bytes of a number.
    extra : int, default=0
        Number of pairs that are computed beside `n_components`.
    """

    def needed(count: int) -> int:
        # The coordinates and the functions that carry them to new samples.
        return _core.solver_bytes(n, count + extra, item_size) + 2 * n * (count + extra) * item_size

    if needed(n_components) < _LARGE:
        return
    available = _memory.available_bytes()
    if needed(n_components) <= available:
        return
    fits, too_many = 0, n_components
    while too_many - fits > 1:
        middle = (fits + too_many) // 2
        fits, too_many = (middle, too_many) if needed(middle) <= available else (fits, middle)
    raise MemoryError(
        f"{name}: {n_components} of {n} samples need {needed(n_components) / 1e9:.3g} GB, but "
        f"{available / 1e9:.3g} GB are available" + (f": expected at most {fits}" if fits else "")
    )
