"""The contrastive loss of a trajectory and its gradient with respect to the weights."""

from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .._operators.operator_set import OperatorSet
from .._operators.trajectory import Trajectory, check_rows
from .._support.arguments import check_flag
from .._support.threads import n_threads
from ._arguments import check_operators, check_raw_weights


@overload
def contrastive_loss(
    ops: OperatorSet, W: Any, *, view_weights: Any = ..., rows: Any = ..., gradient: Literal[False] = ...,
    include_self: bool = ..., n_jobs: int | None = ...,
) -> float: ...  # fmt: skip
@overload
def contrastive_loss(
    ops: OperatorSet, W: Any, *, view_weights: Any = ..., rows: Any = ..., gradient: Literal[True],
    include_self: bool = ..., n_jobs: int | None = ...,
) -> tuple[float, NDArray[np.float64]]: ...  # fmt: skip
def contrastive_loss(
    ops: OperatorSet, W: Any, *, view_weights: Any = None, rows: Any = None, gradient: bool = False,
    include_self: bool = False, n_jobs: int | None = None,
) -> float | tuple[float, NDArray[np.float64]]:  # fmt: skip
    """Return the contrastive loss of a trajectory; smaller is better.

    Parameters
    ----------
    ops : OperatorSet
        Operators. The base views define the neighbours.
    W : Trajectory, sequence of int or str, or (t, len(ops)) array
        A trajectory of `ops`, or an argument of :meth:`OperatorSet.trajectory`.
    view_weights : sequence of V numbers, default=None
        Non-negative weights of the base views, used as they are; None for ``1 / V`` each.
    rows : sequence of int, default=None
        Distinct samples i of the sum; None for all. Losses and gradients of a partition of the
        samples add up to those of all samples.
    gradient : bool, default=False
        Also return the gradient.
    include_self : bool, default=False
        Count a sample among its own neighbours if its row of ``P_v`` does, as in the published
        figures.
    n_jobs : int, default=None
        Number of threads; None for that of `ops`. The result does not depend on it.

    Returns
    -------
    loss : float
        The loss.
    gradient : (t, len(ops)) array
        Derivatives with respect to ``W.weights``, not projected onto the simplex. Only if
        `gradient` is true.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as described, or `W` is a trajectory of another operator set.

    Notes
    -----
    ``Q = sum_v w_v sum_i sum_(j in N_v(i)) [log sum_(k != i) exp(W_ik) - W_ij]``, where ``N_v(i)``
    are the neighbours of sample i in base view v. Rows of ``W`` are computed in blocks; ``W`` is
    not formed.

    References
    ----------
    "Multi-view diffusion geometry using intertwined diffusion trajectories", arXiv:2512.01484.

    Examples
    --------
    >>> import numpy as np
    >>> import mdt_fast as mdt
    >>> ops = mdt.build_operators(np.random.default_rng(0).normal(size=(2, 100, 5)).tolist())
    >>> loss, slope = mdt.quality.contrastive_loss(ops, [0, 1], gradient=True)
    >>> slope.shape
    (2, 2)
    """
    ops = check_operators(ops)
    if not isinstance(W, Trajectory):
        try:
            W = ops.trajectory(W)
        except (TypeError, ValueError) as error:
            raise type(error)(f"W: {str(error).removeprefix('steps: ')}") from None
    elif not W.operators.has_same_members(ops):
        raise ValueError(f"W: expected a trajectory of {ops!r}, got one of {W.operators!r}")
    if ops.n_samples < 2:
        raise ValueError(f"ops: expected at least 2 samples, got {ops.n_samples}")
    gradient = check_flag("gradient", gradient)
    found = _core.contrastive(
        ops.native,
        W.weights,
        check_raw_weights(view_weights, ops.n_views),
        None if rows is None else _check_distinct(check_rows(rows, ops.n_samples)),
        include_self=check_flag("include_self", include_self),
        gradient=gradient,
        n_threads=n_threads(ops.n_jobs if n_jobs is None else n_jobs),
    )
    return (found.loss, found.gradient) if gradient else found.loss


def _check_distinct(rows: list[int]) -> list[int]:
    values, counts = np.unique(np.asarray(rows, dtype=np.int64), return_counts=True)
    if (counts > 1).any():
        raise ValueError(f"rows: expected distinct samples, got {values[counts > 1][0]} more than once")
    return rows
