"""Data sets of the paper with published scores."""

from __future__ import annotations

import pytest

import mdt_fast as mdt

LOADERS = {"MSRC-v5": "msrc", "Olivetti": "olivetti", "100Leaves": "leaves", "Multi-Feat": "multi_feat"}


def fetch(loader):
    """Read a data set, or skip the test where its files are missing."""
    try:
        return getattr(mdt.datasets, f"fetch_{loader}")()
    except FileNotFoundError as missing:
        pytest.skip(f"{loader} is missing: {missing}")
