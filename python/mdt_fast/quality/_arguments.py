"""Arguments of the scores: operators, labels, features and view weights."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from .. import _core
from .._graphs.readable import check_readable
from .._graphs.views import Matrix, check_matrix
from .._operators.operator_set import OperatorSet
from .._support.arguments import check_number, first_true
from .._support.csr import to_parts

# The name of a score, a function of (ops, labels, coordinates) that returns a number, or None.
QualityLike: TypeAlias = str | Callable[..., float] | None


def check_operators(ops: object) -> OperatorSet:
    """Return `ops` if it is an operator set."""
    if not isinstance(ops, OperatorSet):
        raise TypeError(f"ops: expected an OperatorSet, got {type(ops).__name__}")
    return ops


def check_labels(labels: ArrayLike, n_samples: int) -> NDArray[np.uint32]:
    """Return labels as codes 0 to k - 1, where k is the number of classes."""
    check_readable(labels, "labels", "one label for each sample")
    try:
        given = np.asarray(labels)
    except ValueError:
        raise ValueError("labels: expected one label for each sample, got lists of different lengths") from None
    if given.shape != (n_samples,):
        raise ValueError(f"labels: expected shape {(n_samples,)}, one label for each sample, got {given.shape}")
    if given.dtype.kind == "f":
        for bad in (~np.isfinite(given), given != np.floor(given)):
            if (where := first_true(bad)) is not None:
                raise ValueError(f"labels: expected integers or strings, got {given[where]} at sample {where}")
    elif given.dtype.kind == "O":
        for where, label in enumerate(given):
            if not isinstance(label, (str, bool, int, np.integer)):
                raise ValueError(f"labels: expected integers or strings, got {label!r} at sample {where}")
    elif given.dtype.kind not in "biuUS":
        raise TypeError(f"labels: expected integers or strings, got dtype {given.dtype}")
    try:
        classes, codes = np.unique(given, return_inverse=True)
    except TypeError:
        raise TypeError("labels: expected all integers or all strings, got both") from None
    if not 2 <= len(classes) < n_samples:
        raise ValueError(
            f"labels: expected between 2 and {n_samples - 1} classes (fewer than samples), got {len(classes)}"
        )
    return codes.astype(np.uint32)


def share_weights(ops: OperatorSet) -> NDArray[np.float64] | None:
    """Return the share of the samples that each base view has, its weight; None if each has all."""
    return ops.present.mean(axis=0) if ops.has_absences else None


def check_normalized_weights(view_weights: ArrayLike | None, n_views: int) -> NDArray[np.float64]:
    """Return view weights divided by their sum, the weights of an average; equal ones for None.

    Raises
    ------
    TypeError, ValueError
        If they are not `n_views` finite non-negative numbers, at least one of them positive.
    """
    if view_weights is None:
        return np.full(n_views, 1.0 / n_views)
    if not isinstance(view_weights, str):
        check_readable(view_weights, "view_weights", f"{n_views} numbers")
    try:
        weights = np.asarray(view_weights, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"view_weights: expected {n_views} numbers, got {view_weights!r}") from None
    if weights.shape != (n_views,):
        raise ValueError(f"view_weights: expected shape {(n_views,)}, one for each base view, got {weights.shape}")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError(f"view_weights: expected finite numbers >= 0, got {weights.tolist()}")
    if not weights.any():
        raise ValueError("view_weights: expected at least one positive number, got only zeros")
    # Division by the largest weight first keeps the sum of huge weights finite.
    weights = weights / weights.max()
    return np.asarray(weights / weights.sum())


def check_raw_weights(view_weights: Any, n_views: int) -> NDArray[np.float64]:
    """Return view weights unchanged, the factors of a sum; ``1 / n_views`` each for None.

    The contrastive loss is a sum over views, linear in its weights, so they need not sum to 1 and
    may all be 0.

    Raises
    ------
    TypeError, ValueError
        If they are not a sequence of `n_views` finite non-negative numbers.
    """
    if view_weights is None:
        return np.full(n_views, 1.0 / n_views)
    if not isinstance(view_weights, (list, tuple, np.ndarray)):
        raise TypeError(f"view_weights: expected {n_views} numbers, one for each view, got {view_weights!r}")
    shape = np.shape(view_weights) if _is_flat(view_weights) else "lists"
    if shape != (n_views,):
        raise ValueError(f"view_weights: expected {n_views} numbers, one for each view, got shape {shape}")
    return np.array([check_number(f"view_weights[{v}]", weight) for v, weight in enumerate(view_weights)])


def _is_flat(values: Any) -> bool:
    return isinstance(values, np.ndarray) or not any(isinstance(value, (list, tuple)) for value in values)


def check_with_joint(
    check: Callable[[Any, int], NDArray[np.float64]], view_weights: Any, ops: OperatorSet
) -> NDArray[np.float64]:
    """Check the weights of the base views; the joint view may be left out and then has their mean."""
    if view_weights is None and check is check_normalized_weights:
        # A view that has few samples must not dominate. (The contrastive loss is a sum over samples.)
        return check(share_weights(ops), ops.n_views)
    is_given = isinstance(view_weights, (list, tuple, np.ndarray)) and _is_flat(view_weights)
    if ops.joint is None or not is_given or np.shape(view_weights) != (ops.n_views - 1,):
        return check(view_weights, ops.n_views)
    given = check(view_weights, ops.n_views - 1)
    return check([*given, given.mean()], ops.n_views)


def check_features(features: Any, ops: OperatorSet) -> list[Any]:
    """Return the features of each base view: an array, or the parts of a sparse matrix."""
    if isinstance(features, dict):
        features = list(features.values())
    if not isinstance(features, Sequence) or isinstance(features, str):
        raise TypeError(f"features: expected a list, tuple or dict of 2-D arrays, got {type(features).__name__}")
    if len(features) != ops.n_views:
        raise ValueError(f"features: expected {ops.n_views} views, one for each base view, got {len(features)}")
    rows = []
    for v, X in enumerate(features):
        matrix: Matrix = check_matrix(X, f"features[{v}]")
        if matrix.shape[0] != ops.n_samples or matrix.shape[1] < 1:
            expected = f"{ops.n_samples} samples and at least 1 feature"
            raise ValueError(f"features[{v}]: expected {expected}, got shape {matrix.shape}")
        rows.append(to_parts(matrix) if sparse.issparse(matrix) else matrix)
    return rows


def double_features(features: Any, ops: OperatorSet) -> list[Any]:
    """Return the features of each base view in double precision, as a scorer of the core takes them; none for None."""
    return [] if features is None else [_double(rows) for rows in check_features(features, ops)]


def _double(rows: Any) -> Any:
    if isinstance(rows, _core.CsrParts):
        return _core.CsrParts(rows.n_cols, rows.indptr, rows.indices, rows.values.astype(np.float64))
    return np.require(rows, np.float64, ["C", "A"])
