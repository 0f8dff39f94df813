"""Views of four clusters, and models that were fitted on landmarks of them."""

from __future__ import annotations

import numpy as np
import pytest

import mdt_fast as mdt
from helpers.landmarks import LANDMARKS, MODELS, N


@pytest.fixture(scope="session")
def planted():
    """Views in single and in double precision, and the clusters, which overlap a little."""
    data = mdt.datasets.make_multiview_blobs(N, n_features=5, n_clusters=4, cluster_std=4.5, random_state=0)
    return [data.views[0].astype(np.float32), data.views[1].astype(np.float32)], data.target


@pytest.fixture(scope="session")
def fitted(planted):
    """One fit of each kind of model, on landmarks."""
    return {name: make(landmarks=LANDMARKS).fit(planted[0]) for name, make in MODELS.items()}


@pytest.fixture(scope="session")
def model(fitted):
    return fitted["consensus"]
