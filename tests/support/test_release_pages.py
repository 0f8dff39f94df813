"""Pages of read-only memory maps are given back to the system; nothing else is touched."""

import re
import sys
from pathlib import Path

import numpy as np
import pytest

from mdt_fast._support.memory import release_pages

ROWS, COLUMNS = 50_000, 50


@pytest.fixture
def path(tmp_path: Path) -> Path:
    values = np.arange(ROWS * COLUMNS, dtype=np.float32).reshape(ROWS, COLUMNS)
    np.save(tmp_path / "view.npy", values)
    return tmp_path / "view.npy"


def resident_pages_of_files() -> int:
    """Return the bytes of pages of files that this process has mapped."""
    status = Path("/proc/self/status").read_text()
    found = re.search(r"RssFile:\s+(\d+)", status)
    assert found is not None
    return 1024 * int(found[1])


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_pages_of_a_memory_map_are_dropped_and_read_again(path: Path) -> None:
    mapped = np.load(path, mmap_mode="r")
    total = mapped.sum(dtype=np.float64)
    before = resident_pages_of_files()
    # A view of a part, as a base class: the map is found through it.
    release_pages(np.asarray(mapped)[10:])
    assert before - resident_pages_of_files() > 0.9 * mapped.nbytes
    assert mapped.sum(dtype=np.float64) == total


@pytest.mark.parametrize("mode", ["c", "r+"])
def test_changes_of_other_maps_are_kept(path: Path, mode: str) -> None:
    mapped = np.load(path, mmap_mode=mode)
    mapped[7, 3] = -5
    release_pages(mapped)
    assert mapped[7, 3] == -5


def test_other_arrays_are_left_alone() -> None:
    for array in (np.ones((3, 2)), np.ones((4, 4))[::2], None):
        release_pages(array)
