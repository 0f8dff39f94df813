"""Operators to draw, and matplotlib without a display."""

from __future__ import annotations

import numpy as np
import pytest

import mdt_fast as mdt


@pytest.fixture(scope="module")
def ops():
    rng = np.random.default_rng(0)
    views = {"RNA": rng.normal(size=(40, 3)), "protein": rng.normal(size=(40, 2))}
    return mdt.build_operators(views)


@pytest.fixture(autouse=True)
def _no_display(plt):
    """Require matplotlib, and close all figures after each test."""
