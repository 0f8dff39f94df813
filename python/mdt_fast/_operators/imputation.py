"""Expected features of samples that a view lacks: means over the samples at which a trajectory ends."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
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
    X, has = training.data, training.presence.samples
    lacking = training.presence.lacking().astype(np.intp)
    n, d = ops.n_samples, X.shape[1]
    require(8 * len(lacking) * d, f"impute: {len(lacking)} samples of {d} features")
    mass = np.asarray(W @ training.presence.mask().astype(ops.dtype), dtype=np.float64)[lacking]
    values = np.empty((len(lacking), d), dtype=ops.dtype)
    for start in range(0, d, _COLUMNS):
        block: Any = X[:, start : start + _COLUMNS]
        padded = np.zeros((n, block.shape[1]), dtype=ops.dtype)
        padded[has] = block.toarray() if sparse.issparse(block) else block
        values[:, start : start + _COLUMNS] = np.asarray(W @ padded)[lacking]
    with np.errstate(invalid="ignore", divide="ignore"):
        values = np.where(mass[:, np.newaxis] > 0, values / mass[:, np.newaxis], np.nan)
    return Imputation(values if training.scaling is None else training.scaling.invert(values), lacking, mass)
