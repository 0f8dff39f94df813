"""Checks of the views behind an operator set that are cheap enough for every fit.

Each is a property of the data that spoils the distances of a view without an error:

- a walk that hardly moves, because the kernel all but vanished;
- samples that coincide with all their neighbours, which only identical samples can reach, as after
  missing rows were replaced by the mean;
- samples far from all others (`_graphs/remoteness.py`);
- columns in very different units (`_graphs/column_units.py`).

The cost is one pass over the features and the diagonal of the walk.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

import numpy as np

from .._graphs.column_units import leading_columns
from .._support.csr import to_scipy
from .._support.memory import MANY_SAMPLES, release_pages
from .._support.warnings import ViewWarning, warn_user

if TYPE_CHECKING:
    from .operator_set import OperatorSet

# A walk whose mean self-probability is at least this large hardly moves.
NEAR_IDENTITY: Final = 0.99
# A view that has a smaller share of the samples may be a mistake.
_FEW_SAMPLES = 0.05
# Fewer samples that coincide with all their neighbours are no finding.
_COINCIDING_SHARE = 0.02


def warn_of_data(operators: OperatorSet) -> None:
    """Issue all findings on the views as one warning."""
    found = []
    for view in range(operators.n_views):
        own = operators._present_transition(view, in_any_order=True)
        found += stays_put(operators.names[view], float(to_scipy(own, own.n).diagonal().mean()))
        found += data_findings(operators, view)
        if operators.n_samples >= MANY_SAMPLES and (training := operators._training_views[view]) is not None:
            release_pages(training.data)
    if found:
        warn_user("; ".join(found), ViewWarning)


def stays_put(name: str, self_probability: float) -> list[str]:
    """Return a finding on a walk that hardly moves, if it does."""
    if self_probability < NEAR_IDENTITY:
        return []
    return [
        f"{name}: a step stays where it is with probability {self_probability:.3f}; it is close to the identity "
        "because the kernel all but vanished: a larger bandwidth or kernel='adaptive' may help"
    ]


def data_findings(operators: OperatorSet, view: int) -> list[str]:
    """Return findings on the features of a base view; none if it was made from a given matrix or graph."""
    name, training = operators.names[view], operators._training_views[view]
    if training is None:
        return []
    n = training.data.shape[0]
    found = _few_samples(operators, view)
    coinciding = int(np.count_nonzero(training.radii == 0))
    if coinciding > _COINCIDING_SHARE * n:
        found.append(
            f"{name}: {coinciding} of {n} samples coincide with all their neighbours: identical rows, as of missing "
            "values that were replaced by one value"
        )
    if training.n_far:
        found.append(f"{name}: {training.n_far} of {n} samples are far from all others, and their clusters mean little")
    scaling = training.scaling
    if scaling is not None and scaling.leading:
        found.append(
            f"{name}: {_share(scaling.leading, training.n_features)}, so all columns were divided by their standard "
            "deviations; scale=None keeps them as they are"
        )
    elif view != operators.joint and scaling is None and training.metric != "cosine":
        leading = leading_columns(training.data)
        if leading is not None:
            share = _share(leading, training.data.shape[1])
            found.append(f"{name}: {share}; if their units differ, scale them (scale='standard')")
    return found


def _few_samples(operators: OperatorSet, view: int) -> list[str]:
    """Return a finding on a view that has hardly any sample, or none that another given view has."""
    present = operators.present[:, : len(operators.given_names)]
    name, n = operators.names[view], operators.n_samples
    if view == operators.joint or present[:, view].all():
        return []
    count = int(present[:, view].sum())
    if count < _FEW_SAMPLES * n:
        return [f"{name}: it has only {count} of {n} samples; masks are True for samples that a view has"]
    if present[present[:, view]].sum() == count:
        return [f"{name}: none of its {count} samples is in another view, so nothing connects them with the others"]
    return []


def _share(leading: Sequence[int], n_columns: int) -> str:
    columns = ", ".join(map(str, leading))
    many = f"columns {columns} hold" if len(leading) > 1 else f"column {columns} holds"
    return f"{many} 99 % of the variance of {n_columns} columns"
