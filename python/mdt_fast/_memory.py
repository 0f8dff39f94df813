"""How much memory a request may take."""

import os
from pathlib import Path


def available_bytes() -> int:
    """Memory that can be allocated now without swapping, as far as the system tells."""
    limits = [_system_bytes()]
    for name in ("memory.max", "memory/memory.limit_in_bytes"):
        # A container's own limit, where there is one ("max" says there is none).
        try:
            limits.append(int(Path("/sys/fs/cgroup", name).read_text()))
        except (OSError, ValueError):
            continue
    return min(limits)


def _system_bytes() -> int:
    try:
        for line in Path("/proc/meminfo").read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        # Nothing is known: let the allocation itself decide.
        return 2**62


def require(needed: int, what: str) -> None:
    """Raise MemoryError, saying how much `what` needs, unless that much is available."""
    available = available_bytes()
    if needed > available:
        raise MemoryError(f"{what} needs {needed / 1e9:.3g} GB, but {available / 1e9:.3g} GB are available")
