"""Samples that views lack: rows of zeros, and the rows of other views that take the place of theirs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .. import _core
from .._support.arguments import first_true
from .._support.csr import to_scipy
from .joint import Filler
from .presence import Presence, has_samples, is_zero_row
from .views import View

ZERO_ROWS = ("absent", "error", "keep")


def without_zero_rows(views: Sequence[View], metrics: Sequence[str], zero_rows: str, *, least: int = 0) -> list[View]:
    """Return the views without rows of zeros that stand for absent samples.

    These are rows of sparse views and of views with the cosine metric whose samples another view has. A
    view that would have fewer than `least` samples stays as it is.
    """
    zeros = [
        is_zero_row(view.data) if _counts(view, metric) else None for view, metric in zip(views, metrics, strict=True)
    ]
    if zero_rows == "keep":
        for view, metric, rows in zip(views, metrics, zeros, strict=True):
            if metric == "cosine" and rows is not None and rows.any():
                raise ValueError(
                    f"zero_rows ({view.name}): expected 'absent' or 'error' with the cosine metric, because rows of "
                    "zeros have no direction, got 'keep'"
                )
        return list(views)
    if zero_rows == "error":
        for view, rows in zip(views, zeros, strict=True):
            if rows is not None and (row := first_true(rows)) is not None:
                sample = row if view.presence is None else int(view.presence.samples[row])
                raise ValueError(
                    f"{view.label}: expected rows with a number that is not 0, got only zeros at row {sample}"
                )
    n = views[0].n_total
    has = np.array([has_samples(view.presence, n) for view in views])
    for v, rows in enumerate(zeros):
        if rows is not None:
            has[v, np.flatnonzero(has[v])[rows]] = False
    elsewhere = np.asarray(has.any(axis=0))
    found = []
    for view, rows in zip(views, zeros, strict=True):
        lacking = np.zeros(view.n_samples, dtype=bool)
        if rows is not None:
            lacking = rows & elsewhere[has_samples(view.presence, n)]
        is_changed = lacking.any() and np.count_nonzero(~lacking) >= least
        found.append(view.without(lacking, int(lacking.sum())) if is_changed else view)
    return found


def _counts(view: View, metric: str) -> bool:
    return view.n_samples > 0 and metric != "precomputed" and (sparse.issparse(view.data) or metric == "cosine")


def placed(rows: sparse.csr_array, own: Presence | None, known: Presence | None) -> sparse.csr_array:
    """Return rows of one view as rows of all samples.

    `rows` has rows for the samples of `own` and columns for those of `known`; the result has rows and
    columns for all, and empty rows for those that are not in `own`.
    """
    indices, indptr, n_columns = rows.indices, rows.indptr, rows.shape[1]
    if known is not None:
        indices, n_columns = known.samples[rows.indices].astype(np.int32), known.n_total
    if own is not None:
        lengths = np.zeros(own.n_total, dtype=np.int64)
        lengths[own.samples] = np.diff(rows.indptr)
        indptr = np.concatenate([[0], np.cumsum(lengths)])
    return sparse.csr_array((rows.data, indices, indptr), shape=(len(indptr) - 1, n_columns))


def lent_rows(rows: Sequence[sparse.csr_array], presences: Sequence[Presence | None]) -> sparse.csr_array:
    """Return the mean of the rows of a sample in the views that have it; `rows` are placed, empty for the others."""
    counts = np.sum([has_samples(presence, rows[0].shape[0]) for presence in presences], axis=0)
    total = sum(rows[1:], start=rows[0])
    return sparse.csr_array(sparse.diags_array(1.0 / np.maximum(counts, 1)) @ total)


def borrow(rows: Sequence[sparse.csr_array], presences: Sequence[Presence | None]) -> list[sparse.csr_array]:
    """Return placed rows with the mean of the other views' rows in place of empty ones."""
    if all(presence is None for presence in presences):
        return list(rows)
    lent = lent_rows(rows, presences)
    return [borrow_in(own, presence, lent) for own, presence in zip(rows, presences, strict=True)]


def borrow_in(own: sparse.csr_array, presence: Presence | None, lent: sparse.csr_array) -> sparse.csr_array:
    """Return the rows of one view with the lent ones in place of empty ones."""
    if presence is None:
        return own
    found = sparse.csr_array(own + _only(lent, presence.lacking()))
    found.sort_indices()
    return found


def _only(rows: sparse.csr_array, chosen: NDArray[np.uint32]) -> sparse.csr_array:
    """Return a matrix in which all rows but the chosen ones are empty."""
    keep = np.zeros(rows.shape[0])
    keep[chosen] = 1.0
    found = sparse.csr_array(sparse.diags_array(keep) @ rows)
    found.eliminate_zeros()
    return found


def fillers(views: Sequence[View], transitions: Sequence[_core.Transition]) -> list[Filler | None]:
    """Return what fills in the features that training samples lack; `transitions` are among the samples of a view."""
    presences = [view.presence for view in views]
    if all(presence is None for presence in presences):
        return [None] * len(views)
    rows = [
        placed(to_scipy(transition, transition.n), presence, presence)
        for transition, presence in zip(transitions, presences, strict=True)
    ]
    return fill_from(lent_rows(rows, presences), presences, [(view.data, view.presence) for view in views])


def fill_from(
    lent: sparse.csr_array, presences: Sequence[Presence | None], known: Sequence[tuple[Any, Presence | None]]
) -> list[Filler | None]:
    """Return for each view what fills in the features that samples lack.

    Parameters
    ----------
    lent : (m, N) csr_array
        The probabilities of a step of each sample along the views that it has.
    presences : sequence of Presence or None
        Which of the samples each view has.
    known : sequence of pairs
        Features of the training samples in each view, and which of them it has.
    """
    found: list[Filler | None] = []
    for presence, (data, has) in zip(presences, known, strict=True):
        if presence is None:
            found.append(None)
            continue
        steps = lent[presence.lacking()]
        found.append(Filler(sparse.csr_array(steps if has is None else steps[:, has.samples]), data))
    return found
