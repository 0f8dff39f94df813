"""Data for tests of studies, and the comparison of two studies."""

from __future__ import annotations

from dataclasses import replace

import pytest

import mdt_fast as mdt


@pytest.fixture(scope="session")
def blobs():
    """Two views of clusters that overlap, so that other seeds give other scores."""
    return mdt.datasets.make_multiview_blobs(
        90, n_clusters=3, n_features=4, cluster_std=4.0, center_box=(-5, 5), random_state=0
    )


@pytest.fixture(scope="session")
def others():
    """Other data of the same shape."""
    return mdt.datasets.make_multiview_blobs(
        90, n_clusters=3, n_features=4, cluster_std=4.0, center_box=(-5, 5), random_state=1
    )


@pytest.fixture(scope="session")
def content():
    """Function that returns rows without their times."""
    return lambda rows: [replace(row, seconds=0.0) for row in rows]
