"""The folder of the real data sets, for tests that read it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from mdt_fast.datasets._registry import REGISTRY


@pytest.fixture
def real_folder():
    """Return a function that gives the data folder, or skips if files of a data set are missing."""
    folder = os.environ.get("MDT_FAST_DATA")

    def require(name):
        if folder is None:
            pytest.skip("MDT_FAST_DATA is not set")
        absent = [path for path in REGISTRY[name].paths if not (Path(folder) / path).is_file()]
        if absent:
            pytest.skip(f"{', '.join(absent)} not in MDT_FAST_DATA")
        return folder

    return require
