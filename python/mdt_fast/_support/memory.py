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
