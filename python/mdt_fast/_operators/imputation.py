"""Expected features of samples that a view lacks: means over the samples at which a trajectory ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from .._support.arguments import check_integer
from .._support.memory import require
from .trajectory import Trajectory

# Columns that are carried along the trajectory at a time.
_COLUMNS = 64


@dataclass(frozen=True)
class Imputation:
    """Expected features of the samples that a view lacks.

    Attributes
    ----------
    values : (m, d) array
        A row for each of them; nan if no walk from it ends at a sample that has the view.
    samples : (m,) array of int
        Their numbers, ascending.
    mass : (m,) array
        Probability that the walk from the sample ends at one that has the view, from 0 to 1.
    """

    values: NDArray[Any]
    samples: NDArray[np.intp]
    mass: NDArray[np.float64]


def impute(W: Trajectory, view: int | str) -> Imputation:
    """Return ``W X`` over the samples that a view has, divided by their share of W, for the others.

    Parameters
    ----------
    W : Trajectory
        A trajectory of operators that were built from views.
    view : int or str
        Number or name of a given view.

    Returns
    -------
    Imputation
        Features in the unit in which they were given, except after a scaling that cannot be undone.

    Raises
    ------
    ValueError
        If there is no such view, or it was given as a matrix or graph.
    """
    ops = W.operators
    names = ops.given_names
    if isinstance(view, str):
        if view not in names:
            raise ValueError(f"view: expected one of {names}, got {view!r}")
        index = names.index(view)
    else:
        index = check_integer("view", view, minimum=0, maximum=len(names) - 1)
    training = ops._training_views[index]
    if training is None:
        raise ValueError(f"view: expected one built from features, got {names[index]!r}, a given matrix or graph")
    if training.presence is None:
        return Imputation(np.empty((0, training.data.shape[1])), np.empty(0, dtype=np.intp), np.empty(0))
    lacking = training.presence.lacking().astype(np.intp)
    values, mass = expected_features(W, training.data, training.presence.mask(), lacking)
    return Imputation(values if training.scaling is None else training.scaling.invert(values), lacking, mass)


def expected_features(
    W: Trajectory,
    X: Any,
    has: NDArray[np.bool_],
    rows: NDArray[np.intp],
    *,
    dtype: DTypeLike = np.float64,
    name: str = "impute",
) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return ``W X`` over the samples that have a view, divided by their share of W, for some samples.

    Parameters
    ----------
    W : Trajectory
        The trajectory.
    X : (n, d) array or sparse matrix
        Features of the samples that have the view.
    has : (N,) array of bool
        Which samples these are.
    rows : (m,) array of int
        Samples for which the features are computed.
    dtype : dtype, default=float64
        Type of the result.
    name : str, default="impute"
        The function, for a message.

    Returns
    -------
    values : (m, d) array
        Rows of nan if no walk from the sample ends at one that has the view.
    mass : (m,) array
        Probability that the walk ends at a sample that has the view.
    """
    n, d = len(has), X.shape[1]
    require(np.dtype(dtype).itemsize * len(rows) * d, f"{name}: {len(rows)} samples of {d} features")
    mass = np.asarray(W @ has.astype(W.dtype), dtype=np.float64)[rows]
    divisor = np.where(mass > 0, mass, np.nan)[:, np.newaxis]
    values = np.empty((len(rows), d), dtype=dtype)
    # Each block of columns of a matrix that is stored by rows would read all of it.
    columns: Any = sparse.csc_array(X) if sparse.issparse(X) else X
    for start in range(0, d, _COLUMNS):
        block: Any = columns[:, start : start + _COLUMNS]
        padded = np.zeros((n, block.shape[1]), dtype=W.dtype)
        padded[has] = block.toarray() if sparse.issparse(block) else block
        values[:, start : start + _COLUMNS] = np.asarray(W @ padded)[rows] / divisor
    return values, mass
