"""scikit-learn's checks of estimators, on all estimators that accept one view."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import mdt_fast as mdt

ESTIMATORS = [
    mdt.MDT(),
    mdt.MDT(strategy="mean"),
    mdt.MDTClustering(),
    mdt.MDTClustering(strategy="mean"),
    mdt.NeighborsTransformer(n_neighbors=5),
    mdt.NeighborsTransformer(n_neighbors=5, mode="connectivity", metric="manhattan"),
    *(mdt.baselines.make(name) for name in ("DM", "AD", "p-AD", "ID", "mean", "AA")),
]


# The checks use distant clusters, copies of one sample and noise, of which these warnings warn.
@pytest.mark.filterwarnings("ignore::mdt_fast.OperatorWarning")
@pytest.mark.filterwarnings("ignore::mdt_fast.ViewWarning")
@pytest.mark.filterwarnings("ignore::mdt_fast.TimeSelectionWarning")
@pytest.mark.filterwarnings("ignore::mdt_fast.ConvergenceWarning")
@parametrize_with_checks(ESTIMATORS)
def test_check(estimator, check):
    check(estimator)
