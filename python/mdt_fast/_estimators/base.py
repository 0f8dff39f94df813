"""The base classes of all estimators: parameters of graphs, and views in scikit-learn's forms."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from .._graphs.views import Matrix, check_names, check_views, check_views_like, is_named, refuse_mask
from .._operators.build import build_operators
from .._operators.operator_set import OperatorSet


# A dataclass has the constructor that scikit-learn needs: it only assigns named parameters.
@dataclass(eq=False, repr=False, kw_only=True)
class MultiViewEstimator(BaseEstimator):  # type: ignore[misc]
    """An estimator that builds the operators of several views.

    Parameters
    ----------
    n_neighbors, kernel, bandwidth, symmetrize, neighbors, metric, anisotropy, preset, dtype
        Parameters of the graphs, as in :func:`build_operators`; the first seven may be given per
        view.
    view_slices : list or dict of slices, (start, stop) pairs or lists of columns, default=None
        Columns of each view in a single 2-D array. Without it such an array is one view.
    tol : float, default=1e-3
        Accuracy of the embedding, see :func:`embed`.
    random_state : int, RandomState, Generator or None, default=0
        Seed. One seed gives one result at any number of threads.
    n_jobs : int or None, default=None
        Number of threads; None or -1 is all.
    verbose : bool, default=False
        Whether long work shows its progress.

    Attributes
    ----------
    operators_ : OperatorSet
        Operators of the views.
    n_views_in_, n_features_in_ : int
        Number of views, and number of columns of all views.
    view_names_ : list of str
        Names of the views.
    feature_names_in_ : array of str
        Names of the columns; only if fitted on one data frame.
    """

    n_neighbors: Any = "log"
    kernel: Any = "gaussian"
    bandwidth: Any = "max-min"
    symmetrize: Any = "mean"
    neighbors: Any = "auto"
    metric: Any = "euclidean"
    anisotropy: Any = 0.0
    preset: Any = None
    dtype: Any = None
    view_slices: Any = None
    tol: float = 1e-3
    random_state: Any = 0
    n_jobs: Any = None
    verbose: Any = False

    # Smallest and largest number of views.
    _n_views: ClassVar[tuple[int, float]] = (1, math.inf)

    def __sklearn_tags__(self) -> Tags:
        """Return the tags by which scikit-learn chooses its checks."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        if tags.transformer_tags is not None:
            tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _build(self, X: Any) -> OperatorSet:
        """Read the views and build their operators; return an OperatorSet as it is."""
        if isinstance(X, OperatorSet):
            self._note_views(X.given_names, None)
            return X
        name, one = _one_matrix(X)
        views = _read(self, X) if one is None else _split(self, one, name)
        self._note_views(list(views), [int(view.shape[1]) for view in views.values()])
        return build_operators(
            views,
            **self._graph_parameters(next(iter(views.values())).shape[0]),
            bandwidth=self.bandwidth,
            symmetrize=self.symmetrize,
            neighbors=self.neighbors,
            metric=self.metric,
            preset=self.preset,
            dtype=self.dtype,
            random_state=self.random_state,
            n_jobs=self.n_jobs,
        )

    def _graph_parameters(self, n_samples: int) -> dict[str, Any]:
        """Return the parameters of the graphs that may depend on other parameters."""
        return {"n_neighbors": self.n_neighbors, "kernel": self.kernel, "anisotropy": self.anisotropy}

    def _note_views(self, names: list[str], widths: list[int] | None) -> None:
        """Store names and widths of the views; raise if their number does not fit."""
        self.view_names_, self.n_views_in_, self._widths = names, len(names), widths
        least, most = self._n_views
        if not least <= self.n_views_in_ <= most:
            expected = f"{least} views" if most == least else f"at least {least} views"
            raise ValueError(f"X: expected {expected} for {type(self).__name__}, got {self.n_views_in_}")

    def _new_views(self, X: Any) -> dict[str, Matrix]:
        """Read new samples in the views that the estimator was fitted on."""
        check_is_fitted(self)
        if self._widths is None:
            # Fitted on an operator set, which checks the views itself.
            return X  # type: ignore[no-any-return]
        name, one = _one_matrix(X)
        if one is not None and (self.n_views_in_ == 1 or self.view_slices is not None):
            return _split(self, one, self.view_names_[0] if name is None else name, is_new=True)
        given = check_views_like(X, self.view_names_, "X")
        by_name = (
            {str(key): view for key, view in X.items()} if is_named(X) else dict(zip(self.view_names_, X, strict=True))
        )
        for view, width in zip(given, self._widths, strict=True):
            if view.data.shape[1] != width:
                raise ValueError(f"X ({view.name}): expected {width} features, got {view.data.shape[1]}")
            columns, expected = _columns(by_name[view.name]), self._columns.get(view.name)
            if columns is not None and expected is not None and columns != expected:
                wrong = next(c for c, e in zip(columns, expected, strict=True) if c != e)
                raise ValueError(
                    f"X ({view.name}): expected the columns of fit in their order, got {wrong!r} elsewhere"
                )
        return {view.name: view.data for view in given}


@dataclass(eq=False, repr=False, kw_only=True)
class Embedder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, MultiViewEstimator):  # type: ignore[misc]
    """An estimator whose `fit` sets the coordinates `embedding_`."""

    def fit_transform(self, X: Any, y: Any = None) -> NDArray[Any]:
        """Fit and return the coordinates of the training samples."""
        coordinates: NDArray[Any] = self.fit(X).embedding_
        return coordinates

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])


@dataclass(eq=False, repr=False, kw_only=True)
class InductiveEmbedder(Embedder):
    """An embedder whose `fit` also sets `geometry_`, an :class:`Embedding` for new samples."""

    def transform(self, X: Any) -> NDArray[Any]:
        """Return the coordinates of new samples.

        They do not depend on the other new samples. A training sample gets its own coordinates.

        Parameters
        ----------
        X : as for :meth:`fit`
            The new samples in the same views.

        Returns
        -------
        (n_new, n_components) array
        """
        views = self._new_views(X)
        coordinates: NDArray[Any] = self.geometry_.transform(views, n_jobs=self.n_jobs)
        return coordinates


def _one_matrix(X: Any) -> tuple[str | None, Any]:
    """Return name, if any, and array of a single view, or (None, None) for several."""
    if is_named(X):
        return next(((str(name), view) for name, view in X.items()), (None, None)) if len(X) == 1 else (None, None)
    if not isinstance(X, (list, tuple)):
        return None, X
    # A list of lists of numbers is one array; a list of arrays is a list of views.
    if X and all(isinstance(row, (list, tuple)) and np.ndim(row[:1]) == 1 for row in X):
        return None, X
    return None, X[0] if len(X) == 1 else None


def _read(estimator: MultiViewEstimator, X: Any) -> dict[str, Matrix]:
    """Return several views, checked."""
    views = {view.name: view.data for view in check_views(X, "X")}
    columns = zip(views, map(_columns, X.values() if is_named(X) else X), strict=True)
    estimator._columns = {name: names for name, names in columns if names is not None}
    estimator.n_features_in_ = sum(int(view.shape[1]) for view in views.values())
    if hasattr(estimator, "feature_names_in_"):
        # Set by an earlier fit on a data frame.
        del estimator.feature_names_in_
    return views


def _split(estimator: MultiViewEstimator, X: Any, name: str | None, *, is_new: bool = False) -> dict[str, Matrix]:
    """Return the views of one 2-D array, checked by scikit-learn's rules."""
    refuse_mask(X, "X")
    whole = validate_data(
        estimator,
        X,
        reset=not is_new,
        accept_sparse="csr",
        dtype=(np.float64, np.float32),
        ensure_min_samples=1 if is_new else 2,
    )
    if sparse.issparse(whole):
        whole = sparse.csr_array(whole)
    slices = estimator.view_slices
    if slices is None:
        slices = {name or "view 0": slice(None)}
    elif not isinstance(slices, (Mapping, list, tuple)) or not len(slices):
        raise TypeError(f"view_slices: expected a list or dict of slices, got {slices!r}")
    named = slices if isinstance(slices, Mapping) else {f"view {v}": columns for v, columns in enumerate(slices)}
    check_names([str(name) for name in named], "view_slices")
    chosen = {str(name): _column_numbers(columns, whole.shape[1], str(name)) for name, columns in named.items()}
    if not is_new:
        names = getattr(estimator, "feature_names_in_", None)
        estimator._columns = (
            {} if names is None else {name: names[columns].tolist() for name, columns in chosen.items()}
        )
    return {name: whole[:, columns] for name, columns in chosen.items()}


def _column_numbers(columns: Any, d: int, name: str) -> Any:
    """Return a slice, or an array of column numbers, that selects at least one of `d` columns."""
    expected = f"view_slices ({name}): expected a slice, a (start, stop) pair or a list of numbers below {d}"
    if isinstance(columns, tuple) and len(columns) == 2:
        columns = slice(*columns)
    try:
        selected = np.arange(d)[columns]
    except (IndexError, TypeError, ValueError):
        raise ValueError(f"{expected}, got {columns!r}") from None
    # NumPy clips slices at the ends; a view that is shorter than intended would go unnoticed.
    ends = (columns.start or 0, columns.stop or 0) if isinstance(columns, slice) else (0,)
    if np.ndim(selected) != 1 or not len(selected) or max(ends) > d or min(ends) < -d:
        raise ValueError(f"{expected}, got {columns!r}")
    return columns if isinstance(columns, slice) else selected


def _columns(view: Any) -> list[str] | None:
    """Return the names of the columns of a data frame."""
    columns = getattr(view, "columns", None)
    return None if columns is None else [str(column) for column in columns]
