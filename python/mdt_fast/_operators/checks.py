"""Checks of the members of an operator set: :meth:`OperatorSet.check` and its report."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from scipy.sparse.csgraph import connected_components

from .._support.csr import to_scipy
from .._support.tables import aligned
from .._support.warnings import OperatorWarning
from .data_checks import NEAR_IDENTITY, data_findings, stays_put

if TYPE_CHECKING:
    from scipy import sparse

    from .operator_set import OperatorSet

_ROW_TOLERANCE = {np.dtype(np.float32): 1e-5, np.dtype(np.float64): 1e-12}


@dataclass(frozen=True)
class MemberReport:
    """Findings on one member of an operator set.

    Attributes
    ----------
    name, kind : str
        Name of the member, and its kind: "walk", "mean", "identity", "uniform", "power" or
        "teleport".
    stochastic : bool
        Whether all rows sum to 1 within rounding.
    max_row_error : float
        Largest deviation of a row sum from 1.
    positive_diagonal : bool
        Whether every sample has a self-loop.
    mean_self_probability : float
        Mean of the diagonal; estimated from 64 samples for powers and teleports.
    n_components : int
        Number of strongly connected components.
    n_isolated : int
        Number of samples that no step leaves.
    near_identity : bool
        Whether the mean self-probability is at least 0.99.
    n_duplicates : int or None
        Number of samples that coincide with another; None if distances are unknown.
    n_present : int or None
        Number of samples that a base view has; None for other members. Parts, isolated samples and
        self-probability of a base view are those of the walk among these samples.
    n_zero : int
        Number of samples that the view lacks because their rows hold only zeros.
    """

    name: str
    kind: str
    stochastic: bool
    max_row_error: float
    positive_diagonal: bool
    mean_self_probability: float
    n_components: int
    n_isolated: int
    near_identity: bool
    n_duplicates: int | None
    n_present: int | None = None
    n_zero: int = 0


@dataclass(frozen=True)
class CheckReport:
    """Findings on all members of an operator set; ``print(report)`` shows a table.

    Attributes
    ----------
    n_samples : int
        Number of samples.
    members : list of MemberReport
        One report for each member.
    warnings : list of str
        What a user should know.
    """

    n_samples: int
    members: list[MemberReport]
    warnings: list[str]

    def __str__(self) -> str:
        """Return a table of the members, followed by the warnings."""
        header = ("member", "samples", "rows sum to 1", "self-loops", "stays put", "parts", "isolated", "duplicates")
        rows = [header] + [
            (
                m.name,
                str(self.n_samples if m.n_present is None else m.n_present),
                "yes" if m.stochastic else f"off by {m.max_row_error:.1e}",
                "all" if m.positive_diagonal else "missing",
                f"{m.mean_self_probability:.3f}",
                str(m.n_components),
                str(m.n_isolated),
                "-" if m.n_duplicates is None else str(m.n_duplicates),
            )
            for m in self.members
        ]
        lines = aligned(rows, [c == 0 for c in range(len(header))])
        notes = [f"! {warning}" for warning in self.warnings] or ["nothing to worry about"]
        return "\n".join([f"{len(self.members)} operators on {self.n_samples} samples", *lines, *notes])


def check_operators(operators: OperatorSet, *, warn: bool) -> CheckReport:
    """Check every member of a set."""
    walks: dict[int, MemberReport] = {}
    members = [_report_member(operators, i, walks) for i in range(len(operators))]
    found = []
    for index, member in enumerate(members):
        found += _warnings_of(member, operators.n_samples)
        found += data_findings(operators, index) if index < operators.n_views else []
    if warn:
        for warning in found:
            warnings.warn(warning, OperatorWarning, stacklevel=3)
    return CheckReport(operators.n_samples, members, found)


def _report_matrix(P: sparse.csr_array, name: str, kind: str, n_duplicates: int | None) -> MemberReport:
    diagonal = P.diagonal()
    row_error = float(np.abs(P.sum(axis=1, dtype=np.float64) - 1).max())
    off_diagonal = np.diff(P.indptr) - (diagonal > 0)
    stays = float(diagonal.mean())
    return MemberReport(
        name=name,
        kind=kind,
        stochastic=row_error <= _ROW_TOLERANCE[P.dtype],
        max_row_error=row_error,
        positive_diagonal=bool((diagonal > 0).all()),
        mean_self_probability=stays,
        n_components=int(connected_components(P, directed=True, connection="strong", return_labels=False)),
        n_isolated=int(np.count_nonzero(off_diagonal == 0)),
        near_identity=stays >= NEAR_IDENTITY,
        n_duplicates=n_duplicates,
    )


def _with_presence(report: MemberReport, operators: OperatorSet, view: int) -> MemberReport:
    """Return the report of a base view, whose parts are those of the samples that it has."""
    presence = operators._presences[view]
    if presence is None:
        return replace(report, n_present=operators.n_samples)
    own = operators._present_transition(view)
    among = _report_matrix(to_scipy(own, own.n), report.name, report.kind, report.n_duplicates)
    return replace(
        report,
        n_present=own.n,
        n_zero=presence.n_zero,
        mean_self_probability=among.mean_self_probability,
        near_identity=among.near_identity,
        n_components=among.n_components,
        n_isolated=among.n_isolated,
    )


def _report_member(operators: OperatorSet, index: int, walks: dict[int, MemberReport]) -> MemberReport:
    """Report a walk or a mean from its matrix, any other member from the walk it consists of."""
    n, name, member = operators.n_samples, operators.names[index], operators.members[index]
    jumps = member.uniform_share > 0
    if not member.bases:
        stays = member.identity_share + member.uniform_share / n
        return _implicit(name, member.kind, stays, *((1, 0) if jumps else (n, n)))
    if len(member.bases) > 1:
        matrices = [operators.walk_matrix(base) for base in member.bases]
        return _report_matrix(sum(matrices[1:], start=matrices[0]) / len(matrices), name, member.kind, None)
    (base,) = member.bases
    if base not in walks:
        duplicates = operators.n_duplicates[base] if base < operators.n_views else None
        walks[base] = _report_matrix(operators.walk_matrix(base), name, "walk", duplicates)
        if base < operators.n_views:
            walks[base] = _with_presence(walks[base], operators, base)
    walk = walks[base]
    if member.kind == "walk":
        return walk
    if member.kind == "mean":
        return replace(walk, name=name, kind=member.kind, n_duplicates=None, n_present=None, n_zero=0)
    parts, isolated = (1, 0) if jumps else (walk.n_components, walk.n_isolated)
    stays = _mean_diagonal(operators, index)
    return _implicit(name, member.kind, stays, parts, isolated, positive_diagonal=walk.positive_diagonal or jumps)


def _implicit(
    name: str, kind: str, stays: float, parts: int, isolated: int, *, positive_diagonal: bool = True
) -> MemberReport:
    # Row sums are exact by construction: convex combinations and products of stochastic matrices.
    return MemberReport(
        name=name,
        kind=kind,
        stochastic=True,
        max_row_error=0.0,
        positive_diagonal=positive_diagonal,
        mean_self_probability=stays,
        n_components=parts,
        n_isolated=isolated,
        near_identity=stays >= NEAR_IDENTITY,
        n_duplicates=None,
    )


def _mean_diagonal(operators: OperatorSet, index: int, n_probes: int = 64) -> float:
    """Return the mean self-probability of a member, estimated from evenly spaced samples."""
    n = operators.n_samples
    probes = np.unique(np.linspace(0, n - 1, min(n, n_probes)).astype(int))
    unit = np.zeros((n, len(probes)), dtype=operators.dtype)
    unit[probes, np.arange(len(probes))] = 1
    return float((operators.trajectory([index]) @ unit)[probes, np.arange(len(probes))].mean())


def _warnings_of(m: MemberReport, n_samples: int) -> list[str]:
    found = []
    if not m.stochastic:
        found.append(f"{m.name}: rows miss a sum of 1 by up to {m.max_row_error:.1e}")
    if not m.positive_diagonal:
        found.append(f"{m.name}: its diagonal has zeros (samples without a self-loop): products may become periodic")
    if m.kind == "identity":
        return found
    found += stays_put(m.name, m.mean_self_probability)
    if m.n_components > 1:
        found.append(f"{m.name}: its graph falls into {m.n_components} parts; more neighbours would join them")
    if m.n_isolated:
        found.append(f"{m.name}: {m.n_isolated} of {m.n_present or n_samples} samples are isolated")
    if m.n_zero:
        found.append(
            f"{m.name}: {m.n_zero} of {n_samples} samples have only zeros, and the view lacks them (zero_rows)"
        )
    if m.n_duplicates:
        found.append(f"{m.name}: {m.n_duplicates} of {m.n_present or n_samples} samples coincide with another")
    return found
