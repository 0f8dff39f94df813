"""Scikit-learn's own checks of estimators, on everything that accepts one view."""

from __future__ import annotations

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import mdt_fast as mdt

ESTIMATORS = [
    mdt.MDT(),
    mdt.MDT(strategy="mean"),
    mdt.MDTClustering(),
    mdt.MDTClustering(strategy="mean"),
    *(mdt.baselines.make(name) for name in ("DM", "AD", "p-AD", "ID", "mean", "AA")),
]


# The checks hand over clusters far apart, copies of one sample and noise without structure, and these warn of such.
@pytest.mark.filterwarnings("ignore::mdt_fast.OperatorWarning")
@pytest.mark.filterwarnings("ignore::mdt_fast.TimeSelectionWarning")
@pytest.mark.filterwarnings("ignore::mdt_fast.ConvergenceWarning")
@parametrize_with_checks(ESTIMATORS)
def test_check(estimator, check):
    check(estimator)
