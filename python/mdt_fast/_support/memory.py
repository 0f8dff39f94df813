"""Available memory, and checks of requests against it."""

import ctypes
import mmap
import os
from typing import Any

from .. import _core

# From here on, memory that a stage has freed is returned to the system (0.2 GB for a view of a million samples, 0.1 GB
# after the choice of the diffusion time), and so are the pages of memory-mapped views.
MANY_SAMPLES = 100_000


def available_bytes() -> int:
    """Return the number of bytes that can be allocated without swapping.

    On Linux this is the smallest of the available memory of the machine, of what the limits of the
    process leave (``ulimit -v``, ``ulimit -d``) and of what its control groups leave.
    """
    found = _core.available_memory()
    if found is not None:
        return found
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


def return_free_memory() -> None:
    """Return memory that was freed in small pieces to the system, where the C library keeps it (glibc)."""
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        # Another C library or system.
        return
    trim(0)


def release_pages(array: Any) -> None:
    """Let the system drop the pages of a read-only memory map, which are read from the file again at the next use.

    Other arrays, also maps that were opened for copies on write, are left alone.
    """
    owner = array
    while owner is not None and not isinstance(owner, mmap.mmap):
        owner = getattr(owner, "base", None)
    if owner is not None and hasattr(owner, "madvise") and memoryview(owner).readonly:
        owner.madvise(mmap.MADV_DONTNEED)
