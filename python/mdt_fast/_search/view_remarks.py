"""The remarks of a view report: what its numbers mean for each view, and for the labels as a whole.

Thresholds were chosen on the half "choose" of benches/quality_sets.py.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from .view_report import ViewReport

# Below this value of `stay` a view is no better than chance for the labels.
_BY_CHANCE = 0.05
# Views whose own clusters have at least this adjusted mutual information are redundant.
_REDUNDANT = 0.95
# Share of the information about the labels from which a view is decisive. Complementary views of six
# clusters have 0.38 and 0.59; most views of real data have less than 0.1.
_DECISIVE = 0.25
# Stability from which a view has clusters of its own. Noise in two or more columns stays below.
_STABLE = 0.8
# Factor by which own clusters must score higher. Where the labels are good, the joint view has up to 1.01.
_HIGHER = 1.02

DECISIVE = "decisive for these clusters"


def remark_of(report: ViewReport, view: int, *, near_identity: bool) -> str:
    """Return what to know about a view; empty if there is nothing."""
    is_joint, chance = view == report.joint, bool(report.stay[view] < _BY_CHANCE)
    twin = _twin(report, view)
    if report.own[view] >= _STABLE:
        by_chance = f"no better than chance for these clusters, but has {report.n_own[view]} stable clusters of its own"
    else:
        by_chance = "no better than chance for these clusters"
    remarks = {
        "hardly moves": near_identity,
        f"in {report.n_components[view]} parts": report.n_components[view] > 1,
        by_chance: chance,
        f"{'' if is_joint else 'redundant: '}says the same as {twin}": twin is not None,
        DECISIVE: not is_joint and not chance and twin is None and report.adds[view] >= _DECISIVE,
    }
    return ", ".join(remark for remark, applies in remarks.items() if applies)


def findings_of(report: ViewReport, *, degenerate: bool) -> list[str]:
    """Return what is wrong with the labels as a whole; empty if nothing is."""
    found = []
    if degenerate:
        share = np.unique(report.labels, return_counts=True)[1].max() / len(report.labels)
        found.append(
            f"one cluster holds {100 * share:.0f} % of the samples, although the walks of the views support a more "
            "even division"
        )
    best = int(np.argmax(report.scores))
    if report.scores[best] > _HIGHER * report.score:
        found.append(
            f"the clusters of {_called(report, best)} alone score higher: "
            f"{report.scores[best]:.2f} against {report.score:.2f}"
        )
    found += [
        f"{_called(report, view)} has {report.n_own[view]} stable clusters of its own, which these clusters ignore"
        for view in range(len(report.names))
        if report.stay[view] < _BY_CHANCE and report.own[view] >= _STABLE
    ]
    return found


def _twin(report: ViewReport, view: int) -> str | None:
    """Return the name of the given view with the same own clusters, if there is one."""
    others = [other for other in range(len(report.names)) if other not in (view, report.joint)]
    # nan for views that have too few common samples to be compared.
    agreement = np.nan_to_num(report.agreement[view], nan=-1.0)
    nearest = max(others, key=lambda other: agreement[other], default=None)
    if nearest is None or agreement[nearest] < _REDUNDANT:
        return None
    return report.names[nearest]


def _called(report: ViewReport, view: int) -> str:
    return "the joint view" if view == report.joint else report.names[view]
