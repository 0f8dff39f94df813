"""Cases that crash, hang and exit, to test the pool of workers."""

from __future__ import annotations

import ctypes
import os
import time

from .workers import Announce, Report


def run_case(case: int, announce: Announce) -> Report:
    """Break the process in a way that depends on the case."""
    announce(f"case {case}")
    if case == 1:
        ctypes.string_at(0)
    elif case == 2:
        while True:
            pass
    elif case == 3:
        time.sleep(60)
    elif case == 4:
        os._exit(3)
    return Report(case, "nothing", "answered")
