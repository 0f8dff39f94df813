"""The joint view: the columns of all views, each view divided by its total standard deviation.

The squared distance of two samples in the joint view is the sum of their squared distances in the
views, each relative to its mean over all pairs of samples. Two samples are neighbours only if they
are close in the views together. Steps of the views' own walks follow an edge of any view, so
clusters that no single view separates are mixed by them; the joint walk keeps such clusters apart
(``docs/choosing.md``).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._support.memory import require
from .approximate import is_search
from .frozen import freeze
from .presence import Presence
from .settings import ViewSettings
from .views import Matrix, View

# Name of the joint view among the base views.
JOINT = "joint"
# Columns whose variance is computed at a time, to bound the memory of temporary copies.
_COLUMNS = 16


@dataclass(frozen=True)
class _Scale:
    """Divide a view by ``2**exponent`` and then by `deviation`; the first keeps squares finite.

    The element type is that of training, so that a training sample that is given again with another
    type gets the same numbers.
    """

    exponent: int
    deviation: float
    dtype: np.dtype[Any]

    @classmethod
    def of(cls, X: Matrix) -> _Scale:
        """Return the scale that makes the column variances sum to 1; a constant view becomes 0."""
        values = X.data if sparse.issparse(X) else X
        exponent = int(np.frexp(float(np.abs(values).max(initial=0.0)))[1])
        deviation = float(np.sqrt(_total_variance(X, exponent)))
        return cls(exponent, deviation if deviation > 0 else np.inf, X.dtype)

    def apply(self, X: Matrix) -> Matrix:
        """Return the scaled view."""
        if sparse.issparse(X):
            return sparse.csr_array((self.apply(X.data), X.indices, X.indptr), shape=X.shape)
        return np.ldexp(X.astype(self.dtype, copy=False), -self.exponent) / self.dtype.type(self.deviation)


@dataclass(frozen=True)
class JointView:
    """How the joint view is made from the views, for training samples and for new ones."""

    metrics: tuple[str, ...]
    scales: tuple[_Scale, ...]

    @classmethod
    def of(cls, views: Sequence[View], metrics: Sequence[str]) -> JointView:
        """Return the recipe for some views and their metrics."""
        pairs = zip(views, metrics, strict=True)
        return cls(tuple(metrics), tuple(_Scale.of(directions(view.data, metric)) for view, metric in pairs))

    def join(self, views: Sequence[View], fillers: Sequence[Filler | None] | None = None) -> View:
        """Return the joint view of samples; fillers are needed for views that lack some of them."""
        given = [None] * len(views) if fillers is None else fillers
        parts = [self._block(v, view, filler) for v, (view, filler) in enumerate(zip(views, given, strict=True))]
        if any(sparse.issparse(part) for part in parts):
            joined: Any = sparse.csr_array(sparse.hstack([sparse.csr_array(part) for part in parts], format="csr"))
            joined.sort_indices()
        else:
            joined = np.hstack(parts)
        return View(JOINT, freeze(joined), views[0].argument)

    def _block(self, v: int, view: View, filler: Filler | None) -> Matrix:
        """Return the columns of one view for all samples."""
        if view.presence is None:
            return self.scales[v].apply(directions(view.data, self.metrics[v]))
        assert filler is not None
        return filler.fill(
            self.scales[v].apply(directions(view.data, self.metrics[v])) if view.n_samples else None,
            self.scales[v].apply(directions(filler.data, self.metrics[v])),
            view.presence,
        )


@dataclass(frozen=True)
class Filler:
    """Features in place of those that samples lack: the mean over the samples that one step reaches.

    Attributes
    ----------
    steps : (m, n) csr_array
        For each sample that the view lacks, in ascending order, the probabilities of a step along
        the views that it has, to the samples of `data`; their sum is at most 1.
    data : (n, d) matrix
        Features of the training samples that the view has.
    """

    steps: sparse.csr_array
    data: Matrix

    def fill(self, own: Matrix | None, known: Matrix, presence: Presence) -> Matrix:
        """Return rows for all samples: `own` for those that the view has, means of `known` for the others.

        A sample from which no step reaches one with features gets the mean of all, and zeros in a
        sparse view, where a mean would not be sparse.
        """
        mass = self.steps.sum(axis=1)
        reached = sparse.diags_array(1.0 / np.where(mass > 0, mass, 1.0)) @ self.steps
        lacking, has = presence.lacking(), presence.samples
        order = np.empty(presence.n_total, dtype=np.intp)
        order[has], order[lacking] = np.arange(len(has)), len(has) + np.arange(len(lacking))
        if sparse.issparse(known):
            filled = sparse.csr_array(reached @ known).astype(known.dtype)
            blocks = [filled] if own is None else [sparse.csr_array(own), filled]
            return sparse.csr_array(sparse.vstack(blocks, format="csr"))[order]
        filled = np.asarray(reached @ known)
        filled[mass <= 0] = known.mean(axis=0)
        blocks = [filled] if own is None else [own.toarray() if sparse.issparse(own) else own, filled]
        return np.vstack(blocks).astype(known.dtype)[order]


def joint_settings(views: Sequence[View], settings: Sequence[ViewSettings]) -> ViewSettings:
    """Return the settings of the joint view; raise ValueError if the views cannot be joined."""
    first = settings[0]
    if len(views) < 2:
        raise ValueError("joint: expected at least 2 views to join, got 1")
    if JOINT in [view.name for view in views]:
        raise ValueError(f"joint: expected views with other names, got one named {JOINT!r}")
    for name in ("n_neighbors", "kernel", "bandwidth", "symmetrize", "neighbors", "anisotropy"):
        if any(not _are_same(getattr(first, name), getattr(each, name)) for each in settings):
            raise ValueError(f"joint: expected one {name} for all views, got different ones")
    metrics = {each.metric for each in settings}
    if "manhattan" in metrics and len(metrics) > 1:
        raise ValueError("joint: expected one metric for all views beside 'manhattan', got different ones")
    if not is_search(first.neighbors) or "precomputed" in metrics:
        raise ValueError("joint: expected views of features with searched neighbours, got given graphs or distances")
    if callable(first.kernel) or not isinstance(first.bandwidth, str):
        got = "a kernel function" if callable(first.kernel) else "a bandwidth"
        raise ValueError(f"joint: expected a kernel without a unit, got {got} in the unit of the views")
    if first.kernel == "correlation":
        raise ValueError("joint: expected a kernel of Euclidean distances, got 'correlation'")
    return replace(first, metric="manhattan" if first.metric == "manhattan" else "euclidean", scale=None)


def can_join(views: Sequence[View], settings: Sequence[ViewSettings]) -> bool:
    """Return whether the views can be joined."""
    try:
        joint_settings(views, settings)
    except ValueError:
        return False
    return True


def _are_same(a: object, b: object) -> bool:
    return a is b or (isinstance(a, (str, int, float)) and isinstance(b, (str, int, float)) and a == b)


def directions(X: Matrix, metric: str) -> Matrix:
    """Return rows whose Euclidean distances order samples as the metric does."""
    if metric == "correlation":
        if sparse.issparse(X):
            require(8 * X.shape[0] * X.shape[1], "joint: the correlation distance of a sparse view")
            X = X.toarray()
        X = _moderate_rows(X)
        X = X - X.mean(axis=1, keepdims=True)
    if metric not in ("cosine", "correlation"):
        return X
    # Imported here: the import of the package must not take the time of scikit-learn.
    from sklearn.preprocessing import normalize

    return normalize(_moderate_rows(X))


def _moderate_rows(X: Matrix) -> Matrix:
    """Divide each row by a power of two near its largest value, so that no square overflows."""
    if not sparse.issparse(X):
        return np.ldexp(X, -np.frexp(np.abs(X).max(axis=1, keepdims=True))[1])
    largest = np.asarray(abs(X).max(axis=1).todense()).ravel()
    exponents = np.repeat(np.frexp(largest)[1], np.diff(X.indptr))
    return sparse.csr_array((np.ldexp(X.data, -exponents), X.indices, X.indptr), shape=X.shape)


def _total_variance(X: Matrix, exponent: int) -> float:
    """Return the sum of the variances of the columns of ``X / 2**exponent``, in double precision."""
    if sparse.issparse(X):
        n, d = X.shape
        values = np.ldexp(X.data.astype(np.float64), -exponent)
        means: NDArray[np.float64] = np.bincount(X.indices, weights=values, minlength=d) / n
        n_zeros = n - np.bincount(X.indices, minlength=d)
        # Differences from the mean do not cancel, as the mean square and the square of the mean would.
        return float((((values - means[X.indices]) ** 2).sum() + (n_zeros * means**2).sum()) / n)
    return sum(
        float(np.var(np.ldexp(X[:, start : start + _COLUMNS], -exponent), axis=0, dtype=np.float64).sum())
        for start in range(0, X.shape[1], _COLUMNS)
    )
