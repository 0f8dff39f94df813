"""The contrastive loss of a trajectory, and how it changes with the trajectory's weights."""

from __future__ import annotations

from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .._operators.operator_set import OperatorSet
from .._operators.trajectory import Trajectory, check_rows
from .._support.arguments import check_flag, check_number
from .._support.threads import n_threads


@overload
def contrastive_loss(
    ops: OperatorSet,
    W: Any,
    *,
    view_weights: Any = ...,
    rows: Any = ...,
    gradient: Literal[False] = ...,
    include_self: bool = ...,
    n_jobs: int | None = ...,
) -> float: ...
@overload
def contrastive_loss(
    ops: OperatorSet,
    W: Any,
    *,
    view_weights: Any = ...,
    rows: Any = ...,
    gradient: Literal[True],
    include_self: bool = ...,
    n_jobs: int | None = ...,
) -> tuple[float, NDArray[np.float64]]: ...
def contrastive_loss(
    ops: OperatorSet,
    W: Any,
    *,
    view_weights: Any = None,
    rows: Any = None,
    gradient: bool = False,
    include_self: bool = False,
    n_jobs: int | None = None,
) -> float | tuple[float, NDArray[np.float64]]:
    """Return how badly a trajectory keeps neighbours together; smaller is better.

    ``Q = sum_v w_v sum_i sum_(j in N_v(i)) [log sum_(k != i) exp(W_ik) - W_ij]``, where N_v(i) are the neighbours of
    sample i in base view v. W is not formed: its rows go through the factors in blocks.

    Parameters
    ----------
    ops : OperatorSet
        The set whose base views say who is whose neighbour.
    W : Trajectory, word or weights
        A trajectory of `ops`, or what :meth:`OperatorSet.trajectory` takes.
    view_weights : sequence of n_views numbers, optional
        Weight of each base view, non-negative; ``1 / n_views`` by default.
    rows : sequence of int, optional
        Samples i to sum over, each once; all by default. Losses and gradients of a partition add up to the whole.
    gradient : bool
        Return the gradient too.
    include_self : bool
        Count a sample among its own neighbours where its row holds it, as in the published figures.
    n_jobs : int, optional
        Number of threads; that of `ops` by default. It does not change the result.

    Returns
    -------
    loss : float
    gradient : (t, len(ops)) array
        Derivatives by ``W.weights`` as plain numbers, without regard to the simplex; only with ``gradient=True``.

    Examples
    --------
    >>> import numpy as np
    >>> import mdt_fast as mdt
    >>> ops = mdt.build_operators(np.random.default_rng(0).normal(size=(2, 100, 5)).tolist())
    >>> loss, slope = mdt.quality.contrastive_loss(ops, [0, 1], gradient=True)
    >>> slope.shape
    (2, 2)
    """
    if not isinstance(ops, OperatorSet):
        raise TypeError(f"ops: expected an OperatorSet, got {type(ops).__name__}")
    if not isinstance(W, Trajectory):
        W = ops.trajectory(W)
    elif not same_steps(W.operators, ops):
        raise ValueError(f"W: expected a trajectory of {ops!r}, got one of {W.operators!r}")
    if ops.n_samples < 2:
        raise ValueError(f"ops: expected at least 2 samples, got {ops.n_samples}")
    gradient = check_flag("gradient", gradient)
    found = _core.contrastive(
        ops.native,
        W.weights,
        check_view_weights(view_weights, ops.n_views),
        None if rows is None else _check_distinct(check_rows(rows, ops.n_samples)),
        include_self=check_flag("include_self", include_self),
        gradient=gradient,
        n_threads=n_threads(ops.n_jobs if n_jobs is None else n_jobs),
    )
    return (found.loss, found.gradient) if gradient else found.loss


def same_steps(first: OperatorSet, second: OperatorSet) -> bool:
    """Do weights mean the same in both sets? Sets made from one another share matrices; copies hold equal ones."""
    if first is second:
        return True
    if first.n_samples != second.n_samples or first.members != second.members or first.dtype != second.dtype:
        return False
    pairs = zip(first.transitions, second.transitions, strict=False)
    return all(a is b or _equal(a, b) for a, b in pairs)


def _equal(a: _core.Transition, b: _core.Transition) -> bool:
    parts = ((a.indptr, b.indptr), (a.indices, b.indices), (a.values, b.values))
    return all(np.array_equal(x, y) for x, y in parts)


def check_view_weights(given: Any, n_views: int) -> NDArray[np.float64]:
    """Return weights of the views, as they are given."""
    if given is None:
        return np.full(n_views, 1.0 / n_views)
    if not isinstance(given, (list, tuple, np.ndarray)):
        raise TypeError(f"view_weights: expected {n_views} numbers, one for each view, got {given!r}")
    if np.shape(given) != (n_views,):
        raise ValueError(f"view_weights: expected {n_views} numbers, one for each view, got shape {np.shape(given)}")
    return np.array([check_number(f"view_weights[{v}]", weight) for v, weight in enumerate(given)])


def _check_distinct(rows: list[int]) -> list[int]:
    values, counts = np.unique(np.asarray(rows, dtype=np.int64), return_counts=True)
    if (counts > 1).any():
        raise ValueError(f"rows: expected distinct samples, got {values[counts > 1][0]} more than once")
    return rows
