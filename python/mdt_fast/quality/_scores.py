"""Scores of labels on each base view, averaged over the views."""

from collections.abc import Callable
from functools import partial
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import _core
from .._operators.operator_set import OperatorSet
from .._support.arguments import RandomStateLike, check_flag, check_integer
from .._support.seed import check_seed
from .._support.threads import n_threads
from ._arguments import check_features, check_labels, check_normalized_weights, check_operators, share_weights


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
    ops: OperatorSet, labels: ArrayLike, *, view_weights: ArrayLike | None = None, features: Any = None,
    per_view: bool = False,
) -> float | NDArray[np.float64]:  # fmt: skip
    """Return the Calinski-Harabasz score of labels; larger is better.

    Parameters
    ----------
    ops : OperatorSet
        Operators. Only the base views are scored.
    labels : (N,) array of int or str
        Class of each sample, in any coding; at least 2 classes and fewer than samples.
    view_weights : (V,) array, default=None
        Non-negative weights of the base views, divided by their sum; None weights each by the share
        of the samples that it has.
    features : list, tuple or dict of (N, d_v) arrays or sparse matrices, default=None
        One matrix for each base view, scored in place of the rows of ``P_v``.
    per_view : bool, default=False
        Return the score of each base view instead of their average.

    Returns
    -------
    float or (V,) array
        The average, or the scores of the base views if `per_view` is true. nan for a view whose own
        samples are all in one cluster, which does not count in the average.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as described.

    Notes
    -----
    For samples ``x_i``, ``k`` clusters of ``n_c`` samples with means ``m_c``, and the mean ``m`` of
    all samples, ``CH = (sum_c n_c |m_c - m|^2 / (k - 1)) / (sum_i |x_i - m_c(i)|^2 / (N - k))``,
    and 1 if the denominator is 0. The cost is proportional to the number of stored entries.

    References
    ----------
    T. Calinski and J. Harabasz, "A dendrite method for cluster analysis", Communications in
    Statistics 3 (1974) 1-27, doi:10.1080/03610927408827101.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> blobs = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0)
    >>> round(mdt.quality.calinski_harabasz(mdt.build_operators(blobs.views), blobs.target), 2)
    9.99
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
    ops: OperatorSet, labels: ArrayLike, *, view_weights: ArrayLike | None = None, features: Any = None,
    per_view: bool = False,
) -> float | NDArray[np.float64]:  # fmt: skip
    """Return the Davies-Bouldin score of labels; smaller is better.

    Parameters
    ----------
    ops : OperatorSet
        Operators. Only the base views are scored.
    labels : (N,) array of int or str
        Class of each sample, in any coding; at least 2 classes and fewer than samples.
    view_weights : (V,) array, default=None
        Non-negative weights of the base views, divided by their sum; None weights each by the share
        of the samples that it has.
    features : list, tuple or dict of (N, d_v) arrays or sparse matrices, default=None
        One matrix for each base view, scored in place of the rows of ``P_v``.
    per_view : bool, default=False
        Return the score of each base view instead of their average.

    Returns
    -------
    float or (V,) array
        The average, or the scores of the base views if `per_view` is true. nan for a view whose own
        samples are all in one cluster, which does not count in the average.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as described.

    Notes
    -----
    For clusters with means ``m_c`` and mean distances ``s_c`` of their samples to ``m_c``, ``DB``
    is the mean over ``c`` of ``max_(c' != c) (s_c + s_c') / |m_c - m_c'|``. The score is that of
    scikit-learn, except for the threshold below which all distances count as 0: 1e-8 is relative to
    the largest coordinate, so the score does not depend on the unit of the data.

    References
    ----------
    D. L. Davies and D. W. Bouldin, "A cluster separation measure", IEEE Transactions on Pattern
    Analysis and Machine Intelligence 1 (1979) 224-227, doi:10.1109/TPAMI.1979.4766909.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> blobs = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0)
    >>> round(mdt.quality.davies_bouldin(mdt.build_operators(blobs.views), blobs.target), 2)
    3.09
    """
    return _average(partial(_core.score_labels, "davies_bouldin"), ops, labels, view_weights, features, per_view)


@overload
def information(
    ops: OperatorSet, labels: ArrayLike, *, view_weights: ArrayLike | None = ..., per_view: Literal[False] = ...
) -> float: ...
@overload
def information(
    ops: OperatorSet, labels: ArrayLike, *, view_weights: ArrayLike | None = ..., per_view: Literal[True]
) -> NDArray[np.float64]: ...
def information(
    ops: OperatorSet, labels: ArrayLike, *, view_weights: ArrayLike | None = None, per_view: bool = False
) -> float | NDArray[np.float64]:
    """Return the information that labels keep when the walk moves; larger is better.

    Parameters
    ----------
    ops : OperatorSet
        Operators. Only the base views are scored.
    labels : (N,) array of int or str
        Class of each sample, in any coding; at least 2 classes and fewer than samples.
    view_weights : (V,) array, default=None
        Non-negative weights of the base views, divided by their sum; None weights each by the share
        of the samples that it has.
    per_view : bool, default=False
        Return the score of each base view instead of their average.

    Returns
    -------
    float or (V,) array
        The average, or the scores of the base views if `per_view` is true. nan for a view whose own
        samples are all in one cluster, which does not count in the average.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as described.

    Notes
    -----
    The score of a view is ``I / sqrt(H)``. ``I`` is the mutual information, in nats, of the cluster
    of a random sample and of the cluster after one step of the view's walk to another sample. ``H``
    is the entropy of the cluster sizes. The square of the score is ``I``, the information, times
    ``I / H``, the share of the information that the step keeps. Labels that are independent of the
    view have score 0, and the largest score is ``sqrt(H)``. Unlike :func:`persistence`, the score
    does not favour one large cluster beside a few small ones. The cost is proportional to the
    number of stored entries.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> blobs = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0)
    >>> round(mdt.quality.information(mdt.build_operators(blobs.views), blobs.target), 2)
    1.05
    """
    return _average(partial(_core.score_labels, "information"), ops, labels, view_weights, None, per_view)


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
    """Return the persistence of labels: how rarely walks leave a cluster; larger is better.

    Parameters
    ----------
    ops : OperatorSet
        Operators. Only the base views are scored.
    labels : (N,) array of int or str
        Class of each sample, in any coding; at least 2 classes and fewer than samples.
    view_weights : (V,) array, default=None
        Non-negative weights of the base views, divided by their sum; None weights each by the share
        of the samples that it has.
    per_view : bool, default=False
        Return the score of each base view instead of their average.

    Returns
    -------
    float or (V,) array
        The average, or the scores of the base views if `per_view` is true. nan for a view whose own
        samples are all in one cluster, which does not count in the average.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as described.

    Notes
    -----
    The persistence of a view is ``-log((1 - stay) / (1 - chance))``. `stay` is the mean over the
    samples of the probability that a step of the view's walk to another sample ends in the same
    cluster. `chance` is ``sum_c (n_c / N)^2``, the probability that a jump to any sample does.
    Labels that are independent of the view have persistence 0, and 1 is added each time the
    probability of leaving decreases by a factor e. Unlike the other scores, persistence does not
    favour round clusters or clusters of equal size. The cost is proportional to the number of
    stored entries.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> blobs = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0)
    >>> round(mdt.quality.persistence(mdt.build_operators(blobs.views), blobs.target), 2)
    5.01
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
    ops: OperatorSet, labels: ArrayLike, *, view_weights: ArrayLike | None = None, features: Any = None,
    sample_size: int | None = None, random_state: RandomStateLike = None, per_view: bool = False,
) -> float | NDArray[np.float64]:  # fmt: skip
    """Return the mean silhouette of labels; larger is better.

    Parameters
    ----------
    ops : OperatorSet
        Operators. Only the base views are scored.
    labels : (N,) array of int or str
        Class of each sample, in any coding; at least 2 classes and fewer than samples.
    view_weights : (V,) array, default=None
        Non-negative weights of the base views, divided by their sum; None weights each by the share
        of the samples that it has.
    features : list, tuple or dict of (N, d_v) arrays or sparse matrices, default=None
        One matrix for each base view, scored in place of the rows of ``P_v``.
    sample_size : int, default=None
        Number of samples, drawn at random and the same in every view, within which the silhouette
        is computed; None for all. The drawn samples must have at least 2 classes and fewer than
        samples.
    random_state : int, Generator, RandomState or None, default=None
        Seed of the draw.
    per_view : bool, default=False
        Return the score of each base view instead of their average.

    Returns
    -------
    float or (V,) array
        The average, or the scores of the base views if `per_view` is true. nan for a view whose own
        samples are all in one cluster, which does not count in the average.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as described.

    Notes
    -----
    The mean of ``(b_i - a_i) / max(a_i, b_i)`` over the samples, where ``a_i`` is the mean distance
    of sample i to the other samples of its cluster and ``b_i`` the smallest mean distance to the
    samples of another cluster. The time is quadratic in the number of samples, the memory is
    linear.

    References
    ----------
    P. J. Rousseeuw, "Silhouettes: a graphical aid to the interpretation and validation of cluster
    analysis", Journal of Computational and Applied Mathematics 20 (1987) 53-65,
    doi:10.1016/0377-0427(87)90125-7.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> blobs = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0)
    >>> round(mdt.quality.silhouette(mdt.build_operators(blobs.views), blobs.target), 2)
    0.09
    """
    n = check_operators(ops).n_samples
    size = None if sample_size is None else check_integer("sample_size", sample_size, minimum=3, maximum=n)
    # Without a sample nothing is drawn from the caller's generator.
    seed = 0 if size is None else check_seed(random_state)
    score = partial(_core.score_labels, "silhouette", sample_size=size, seed=seed)
    return _average(score, ops, labels, view_weights, features, per_view)


def _average(
    score: Callable[..., float], ops: OperatorSet, labels: ArrayLike, view_weights: Any, features: Any, per_view: bool
) -> float | NDArray[np.float64]:
    ops = check_operators(ops)
    per_view = check_flag("per_view", per_view)
    codes = check_labels(labels, ops.n_samples)
    weights = check_normalized_weights(share_weights(ops) if view_weights is None else view_weights, ops.n_views)
    rows = None if features is None else check_features(features, ops)
    threads = n_threads(ops.n_jobs)
    scores = np.empty(ops.n_views)
    for v, has in enumerate(ops.present.T):
        # A view judges the samples that it has.
        given = ops._present_transition(v) if rows is None else rows[v]
        own = codes if rows is not None or has.all() else np.unique(codes[has], return_inverse=True)[1]
        n_labels = int(own.max()) + 1
        can_judge = 2 <= n_labels < len(own)
        scores[v] = score(given, own.astype(np.uint32), n_labels, n_threads=threads) if can_judge else np.nan
    if per_view:
        return scores
    # A view of weight 0 does not count, even if its score is not finite.
    judged = [(w, s) for w, s in zip(weights, scores, strict=True) if w > 0 and not np.isnan(s)]
    total = sum(w for w, _ in judged)
    if ops.has_absences and total == 0:
        return float("nan")
    return float(sum((w / total if ops.has_absences else w) * s for w, s in judged))
