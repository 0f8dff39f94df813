"""What `OperatorSet.check()` finds and how it is shown."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse.csgraph import connected_components

from .._support.warnings import OperatorWarning

if TYPE_CHECKING:
    from scipy import sparse

    from .operator_set import OperatorSet

# A walk that stays where it is with at least this mean probability mixes nothing.
_NEAR_IDENTITY = 0.99
_ROW_TOLERANCE = {np.dtype(np.float32): 1e-5, np.dtype(np.float64): 1e-12}


@dataclass(frozen=True)
class MemberReport:
    """What was found about one member.

    `max_row_error` is the largest distance of a row sum from 1; `mean_self_probability` the mean of the diagonal;
    `n_components` counts strongly connected parts; `n_isolated` points that no step leaves; `n_duplicates` points with
    another at distance 0 (None where distances are unknown).
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


@dataclass(frozen=True)
class CheckReport:
    """Findings on all members of a set; `print(report)` shows a table."""

    n_samples: int
    members: list[MemberReport]
    warnings: list[str]

    def __str__(self) -> str:
        """Return a table of the members, and the warnings under it."""
        header = ("member", "rows sum to 1", "self-loops", "stays put", "parts", "isolated", "duplicates")
        rows = [header] + [
            (
                m.name,
                "yes" if m.stochastic else f"off by {m.max_row_error:.1e}",
                "all" if m.positive_diagonal else "missing",
                f"{m.mean_self_probability:.3f}",
                str(m.n_components),
                str(m.n_isolated),
                "-" if m.n_duplicates is None else str(m.n_duplicates),
            )
            for m in self.members
        ]
        widths = [max(len(row[c]) for row in rows) for c in range(len(header))]
        lines = [f"{len(self.members)} operators on {self.n_samples} samples"]
        for row in rows:
            cells = [
                cell.ljust(w) if c == 0 else cell.rjust(w) for c, (cell, w) in enumerate(zip(row, widths, strict=True))
            ]
            lines.append("  ".join(cells).rstrip())
        lines.insert(2, "  ".join("-" * w for w in widths))
        lines += [f"! {warning}" for warning in self.warnings] or ["nothing to worry about"]
        return "\n".join(lines)


def check_operators(operators: OperatorSet, *, warn: bool) -> CheckReport:
    """Look at every member of a set."""
    walks: dict[int, MemberReport] = {}
    members = [_report_member(operators, i, walks) for i in range(len(operators))]
    found = [warning for member in members for warning in _warnings_of(member, operators.n_samples)]
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
        near_identity=stays >= _NEAR_IDENTITY,
        n_duplicates=n_duplicates,
    )


def _report_member(operators: OperatorSet, index: int, walks: dict[int, MemberReport]) -> MemberReport:
    """Report a stored walk by looking at it, and an implicit member by what it is made of."""
    n, name, member = operators.n_samples, operators.names[index], operators._members[index]
    kind = member[0]
    if kind in ("identity", "uniform"):
        idle = kind == "identity"
        return _implicit(name, kind, stays=1.0 if idle else 1.0 / n, parts=n if idle else 1, isolated=n if idle else 0)
    if kind == "mean":
        views = operators.views
        return _report_matrix(sum(views[1:], start=views[0]) / len(views), name, kind, None)
    base = member[1]
    if base not in walks:
        duplicates = operators._n_duplicates[base] if base < operators.n_views else None
        walks[base] = _report_matrix(operators._matrix(base), name, "walk", duplicates)
    walk = walks[base]
    if kind == "walk":
        return walk
    jumps = kind == "teleport" and member[3] == 0 and member[2] < 1
    stays = float(_mean_diagonal(operators, index))
    parts, isolated = (1, 0) if jumps else (walk.n_components, walk.n_isolated)
    return _implicit(name, kind, stays, parts, isolated, positive_diagonal=walk.positive_diagonal or jumps)


def _implicit(
    name: str, kind: str, stays: float, parts: int, isolated: int, *, positive_diagonal: bool = True
) -> MemberReport:
    # Exact by construction: convex combinations and products of stochastic matrices.
    return MemberReport(
        name=name,
        kind=kind,
        stochastic=True,
        max_row_error=0.0,
        positive_diagonal=positive_diagonal,
        mean_self_probability=stays,
        n_components=parts,
        n_isolated=isolated,
        near_identity=stays >= _NEAR_IDENTITY,
        n_duplicates=None,
    )


def _mean_diagonal(operators: OperatorSet, index: int, n_probes: int = 64) -> Any:
    """Mean self-probability of an implicit member from evenly spaced samples."""
    n = operators.n_samples
    probes = np.unique(np.linspace(0, n - 1, min(n, n_probes)).astype(int))
    unit = np.zeros((n, len(probes)), dtype=operators.dtype)
    unit[probes, np.arange(len(probes))] = 1
    return (operators.trajectory([index]) @ unit)[probes, np.arange(len(probes))].mean()


def _warnings_of(m: MemberReport, n_samples: int) -> list[str]:
    found = []
    if not m.stochastic:
        found.append(f"{m.name}: rows miss a sum of 1 by up to {m.max_row_error:.1e}")
    if not m.positive_diagonal:
        found.append(f"{m.name}: its diagonal has zeros (samples without a self-loop): products may become periodic")
    if m.kind == "identity":
        return found
    if m.near_identity:
        found.append(
            f"{m.name}: a step stays where it is with probability {m.mean_self_probability:.3f}; it is close to the "
            "identity because the kernel all but vanished: a larger bandwidth or kernel='adaptive' may help"
        )
    if m.n_components > 1:
        found.append(f"{m.name}: its graph falls into {m.n_components} parts; more neighbours would join them")
    if m.n_isolated:
        found.append(f"{m.name}: {m.n_isolated} of {n_samples} samples are isolated")
    if m.n_duplicates:
        found.append(f"{m.name}: {m.n_duplicates} of {n_samples} samples coincide with another")
    return found
