"""How well labels fit the views: scores on each base view, averaged.

A view is scored on the rows of its walk ``P_v`` (two samples are alike if they walk alike), or on its features if these
are given; :func:`persistence` asks the walk itself. Nothing of size N x N is formed.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from .. import _core
from .._graphs.views import Matrix, check_matrix
from .._operators.operator_set import OperatorSet
from .._support.arguments import RandomStateLike, check_flag, check_integer
from .._support.csr import to_parts
from .._support.seed import check_seed
from .._support.threads import n_threads

# What a view's chance of staying counts for at least, and at most, when views are weighted.
_LEAST, _SUREST = 0.01, 0.99


@overload
def calinski_harabasz(
    ops: OperatorSet, labels: ArrayLike, *, view_weights: ArrayLike | None = ..., features: Any = ...,
    per_view: Literal[False] = ...,
) -> float: ...  # fmt: skip
@overload
def calinski_harabasz(
    ops: OperatorSet, labels: ArrayLike, *, view_weights: ArrayLike | None = ..., features: Any = ...,
    per_view: Literal[True],
) -> NDArray[np.float64]: ...  # fmt: skip
def calinski_harabasz(
    ops: OperatorSet,
    labels: ArrayLike,
    *,
    view_weights: ArrayLike | None = None,
    features: Any = None,
    per_view: bool = False,
) -> float | NDArray[np.float64]:
    """Return the Calinski-Harabasz score: scatter between clusters over scatter within; larger is better.

    Costs a few passes over the entries of the views.

    Parameters
    ----------
    ops : OperatorSet
        Its base views are scored; other members are not looked at.
    labels : (N,) array
        Class of each sample, integers or strings in any coding; at least 2 classes and fewer than samples.
    view_weights : (V,) array, optional
        Non-negative, divided by their sum; equal by default.
    features : list, tuple or dict of (N, d_v) arrays, optional
        Score these instead of the rows of the walks; one for each base view.
    per_view : bool
        Return the scores of the views, not their average.
    """
    return _average(partial(_core.score_labels, "calinski_harabasz"), ops, labels, view_weights, features, per_view)


@overload
def davies_bouldin(
    ops: OperatorSet, labels: ArrayLike, *, view_weights: ArrayLike | None = ..., features: Any = ...,
    per_view: Literal[False] = ...,
) -> float: ...  # fmt: skip
@overload
def davies_bouldin(
    ops: OperatorSet, labels: ArrayLike, *, view_weights: ArrayLike | None = ..., features: Any = ...,
    per_view: Literal[True],
) -> NDArray[np.float64]: ...  # fmt: skip
def davies_bouldin(
    ops: OperatorSet,
    labels: ArrayLike,
    *,
    view_weights: ArrayLike | None = None,
    features: Any = None,
    per_view: bool = False,
) -> float | NDArray[np.float64]:
    """Return the Davies-Bouldin score: widths of clusters over distances of their means; smaller is better.

    Equal to scikit-learn's, save that its threshold for "all distances are 0" (1e-8) is taken in units of the largest
    coordinate here, so that the score does not depend on the unit of the data.

    Parameters
    ----------
    ops, labels, view_weights, features, per_view
        As for :func:`calinski_harabasz`.
    """
    return _average(partial(_core.score_labels, "davies_bouldin"), ops, labels, view_weights, features, per_view)


@overload
def persistence(
    ops: OperatorSet, labels: ArrayLike, *, view_weights: ArrayLike | None = ..., per_view: Literal[False] = ...
) -> float: ...
@overload
def persistence(
    ops: OperatorSet, labels: ArrayLike, *, view_weights: ArrayLike | None = ..., per_view: Literal[True]
) -> NDArray[np.float64]: ...
def persistence(
    ops: OperatorSet, labels: ArrayLike, *, view_weights: ArrayLike | None = None, per_view: bool = False
) -> float | NDArray[np.float64]:
    """Return the persistence: does a walk that moves stay in its cluster? Larger is better.

    ``-log((1 - stay) / (1 - chance))`` with `stay` the probability that a step of the view's walk that moves ends in
    the cluster where it began, averaged over the samples, and `chance` that of a jump to any sample: 0 for labels that
    know nothing of the view, 1 more for each time that the probability of leaving falls by a factor e. Unlike the other
    scores it does not ask clusters to be round or of equal size. Costs one pass over the entries of the views.

    Parameters
    ----------
    ops, labels, view_weights, per_view
        As for :func:`calinski_harabasz`.
    """
    return _average(partial(_core.score_labels, "persistence"), ops, labels, view_weights, None, per_view)


@overload
def silhouette(
    ops: OperatorSet, labels: ArrayLike, *, view_weights: ArrayLike | None = ..., features: Any = ...,
    sample_size: int | None = ..., random_state: RandomStateLike = ..., per_view: Literal[False] = ...,
) -> float: ...  # fmt: skip
@overload
def silhouette(
    ops: OperatorSet, labels: ArrayLike, *, view_weights: ArrayLike | None = ..., features: Any = ...,
    sample_size: int | None = ..., random_state: RandomStateLike = ..., per_view: Literal[True],
) -> NDArray[np.float64]: ...  # fmt: skip
def silhouette(
    ops: OperatorSet,
    labels: ArrayLike,
    *,
    view_weights: ArrayLike | None = None,
    features: Any = None,
    sample_size: int | None = None,
    random_state: RandomStateLike = None,
    per_view: bool = False,
) -> float | NDArray[np.float64]:
    """Return the mean silhouette: is a sample nearer to its own cluster than to the next? Larger is better.

    The time grows with the square of the samples looked at, the memory does not.

    Parameters
    ----------
    ops, labels, view_weights, features, per_view
        As for :func:`calinski_harabasz`.
    sample_size : int, optional
        Look only at so many samples, drawn at random, the same in every view; all by default. The sample must have at
        least 2 classes and fewer than samples.
    random_state : int, Generator, RandomState or None
        Which samples these are.
    """
    n = _check_operators(ops).n_samples
    size = None if sample_size is None else check_integer("sample_size", sample_size, minimum=3, maximum=n)
    # Without a sample nothing is drawn, and the caller's generator is left alone.
    seed = 0 if size is None else check_seed(random_state)

    def score(rows: Any, labels: NDArray[np.uint32], n_labels: int, n_threads: int) -> float:
        return _core.silhouette(rows, labels, n_labels, sample_size=size, seed=seed, n_threads=n_threads)

    return _average(score, ops, labels, view_weights, features, per_view)


def _average(
    score: Callable[[Any, NDArray[np.uint32], int, int], float],
    ops: OperatorSet,
    labels: ArrayLike,
    view_weights: ArrayLike | None,
    features: Any,
    per_view: bool,
) -> float | NDArray[np.float64]:
    ops = _check_operators(ops)
    per_view = check_flag("per_view", per_view)
    codes, n_labels = _check_labels(labels, ops.n_samples)
    weights = check_weights(view_weights, ops.n_views)
    rows = ops.transitions[: ops.n_views] if features is None else check_features(features, ops)
    threads = n_threads(ops.n_jobs)
    scores = np.array([score(view, codes, n_labels, threads) for view in rows])
    if per_view:
        return scores
    # A view without weight has no say, whatever its score.
    return float(sum(w * s for w, s in zip(weights, scores, strict=True) if w > 0))


def _check_operators(ops: object) -> OperatorSet:
    if not isinstance(ops, OperatorSet):
        raise TypeError(f"ops: expected an OperatorSet, got {type(ops).__name__}")
    return ops


def _check_labels(labels: ArrayLike, n_samples: int) -> tuple[NDArray[np.uint32], int]:
    """Return codes 0 .. k - 1 and k."""
    given = np.asarray(labels)
    if given.shape != (n_samples,):
        raise ValueError(f"labels: expected shape {(n_samples,)}, one label for each sample, got {given.shape}")
    if given.dtype.kind == "f":
        if not np.isfinite(given).all():
            where = int(np.flatnonzero(~np.isfinite(given))[0])
            raise ValueError(f"labels: expected integers or strings, got {given[where]} at sample {where}")
        if (given != np.floor(given)).any():
            where = int(np.flatnonzero(given != np.floor(given))[0])
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
    return codes.astype(np.uint32), len(classes)


def check_weights(view_weights: ArrayLike | None, n_views: int) -> NDArray[np.float64]:
    """Return weights of the views that sum to 1."""
    if view_weights is None:
        return np.full(n_views, 1.0 / n_views)
    try:
        weights = np.asarray(view_weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"view_weights: expected {n_views} numbers, got {view_weights!r}") from None
    if weights.shape != (n_views,):
        raise ValueError(f"view_weights: expected shape {(n_views,)}, one for each base view, got {weights.shape}")
    if not np.isfinite(weights).all() or (weights < 0).any():
        raise ValueError(f"view_weights: expected finite numbers >= 0, got {weights.tolist()}")
    if not weights.any():
        raise ValueError("view_weights: expected at least one positive number, got only zeros")
    # The largest first: the sum of huge weights is finite.
    weights = weights / weights.max()
    return np.asarray(weights / weights.sum())


def stay_of(ops: OperatorSet, labels: ArrayLike) -> NDArray[np.float64]:
    """Return for each base view how much more often than by chance a step that moves stays in its cluster.

    ``1 - exp(-persistence)``: 0 by chance, 1 always, negative where labels cut through what the view holds together.
    """
    return -np.expm1(-persistence(ops, labels, per_view=True))


def weights_of(stay: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return view weights that sum to 1, the odds of staying, from the answer of :func:`stay_of`.

    Bounded on both sides: no view is left without a say, and none silences the others.
    """
    stay = np.minimum(stay, _SUREST)
    odds = np.maximum(stay, _LEAST) / (1 - stay)
    return np.asarray(odds / odds.sum())


def check_features(features: Any, ops: OperatorSet) -> list[Any]:
    """Return the features of each base view as the core takes them: an array, or the parts of a sparse matrix."""
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
