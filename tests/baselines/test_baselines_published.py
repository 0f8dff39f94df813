"""Baselines on the paper's data sets against the published scores.

Published are mean and deviation over 100 runs of k-means on one embedding: of adjusted mutual information (AMI)
with the true classes, and of Calinski-Harabasz on the operators (CH). A mean AMI may differ by two published standard
deviations, or by two points where that is larger; a mean CH by 3 %.
"""

from __future__ import annotations

import re

import numpy as np
import pytest
from sklearn.metrics import adjusted_mutual_info_score

import mdt_fast as mdt
from helpers.published import LOADERS, fetch
from mdt_fast.study.paper._published import published

pytestmark = [
    pytest.mark.real_data,
    # Some published graphs are disconnected.
    pytest.mark.filterwarnings("ignore::mdt_fast.OperatorWarning"),
]

N_RUNS = 20
# These take a minute each.
SLOW = ("100Leaves", "Multi-Feat")


def make(method, n_components):
    """The baseline of a published name, whose views are counted from 1."""
    of_view = re.fullmatch(r"DM\(view (\d+)\)", method)
    if of_view:
        return mdt.baselines.make("DM", view=int(of_view[1]) - 1, n_components=n_components, preset="published")
    return mdt.baselines.make(method, n_components=n_components, preset="published")


def scores(method, data):
    """AMI and CH of each of several runs of k-means on one embedding."""
    k = len(np.unique(data.target))
    found = make(method, k).fit(data.views)
    runs = [mdt.k_means(found.embedding_, k, n_init=1, random_state=seed).labels for seed in range(N_RUNS)]
    ami = [adjusted_mutual_info_score(data.target, labels) for labels in runs]
    return np.array(ami), np.array([mdt.quality.calinski_harabasz(found.operators_, labels) for labels in runs])


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n in SLOW else n for n in LOADERS])
def test_scores_equal_the_published_scores(name):
    data = fetch(LOADERS[name])
    off = []
    print(f"\n{name:18} {'AMI':14} {'published':14} {'CH':12} published")
    for method, figures in published()[name]["methods"].items():
        if method.startswith(("MDT-", "True labels")):
            continue
        ami, ch = scores(method, data)
        of_ami, of_ch = (dict(zip(("mean", "std"), figures[measure], strict=True)) for measure in ("ami", "ch"))
        print(
            f"{method:18} {100 * ami.mean():5.2f} ({ami.std() * 100:4.2f})   "
            f"{100 * of_ami['mean']:5.2f} ({100 * of_ami['std']:4.2f})   "
            f"{ch.mean():.2f} ({ch.std():.2f})  {of_ch['mean']:.2f} ({of_ch['std']:.2f})"
        )
        if abs(ami.mean() - of_ami["mean"]) > max(2 * of_ami["std"], 0.02):
            off.append(f"AMI of {method}")
        if abs(ch.mean() / of_ch["mean"] - 1) > 0.03:
            off.append(f"CH of {method}")
    assert off == []
