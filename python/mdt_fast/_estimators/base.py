"""The base classes of all estimators: parameters of graphs, coordinates, and new samples."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted

from .._graphs.row_labels import has_index
from .._graphs.views import Holes, View, check_views_like, is_named, sample_labels
from .._operators.build import build_operators
from .._operators.operator_set import OperatorSet
from .._support.monitor import ProgressLike
from .inputs import columns_of, given_views, one_matrix, read_views, split_matrix


# A dataclass has the constructor that scikit-learn needs: it only assigns named parameters.
@dataclass(eq=False, repr=False, kw_only=True)
class MultiViewEstimator(BaseEstimator):  # type: ignore[misc]
    """An estimator that builds the operators of several views.

    Parameters
    ----------
    n_neighbors, kernel, bandwidth, symmetrize, neighbors, metric, anisotropy, scale, preset, dtype
        Parameters of the graphs, as in :func:`build_operators`; the first eight may be given per
        view.
    absent, zero_rows, align
        What is done with samples that views lack, as in :func:`build_operators`.
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
    metrics_, scales_ : dict
        Metric of each view, and how its features were scaled (None if they were not).
    """

    n_neighbors: Any = "log"
    kernel: Any = "gaussian"
    bandwidth: Any = "max-min"
    symmetrize: Any = "mean"
    neighbors: Any = "auto"
    metric: Any = "euclidean"
    anisotropy: Any = 0.0
    scale: Any = None
    absent: Any = "borrow"
    zero_rows: Any = "absent"
    align: Any = None
    preset: Any = None
    dtype: Any = None
    view_slices: Any = None
    tol: float = 1e-3
    random_state: Any = 0
    n_jobs: Any = None
    verbose: Any = False

    # Smallest and largest number of views.
    _n_views: ClassVar[tuple[int, float]] = (1, math.inf)

    @property
    def _shown(self) -> Any:
        """Where progress is shown: a flag or a callable."""
        is_flag = isinstance(self.verbose, (bool, np.bool_))
        if not is_flag and not callable(self.verbose):
            raise TypeError(f"verbose: expected True, False or a callable, got {self.verbose!r}")
        return bool(self.verbose) if is_flag else self.verbose

    def __sklearn_tags__(self) -> Tags:
        """Return the tags by which scikit-learn chooses its checks."""
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        if tags.transformer_tags is not None:
            tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _build(self, X: Any, present: Any = None, batches: Any = None, progress: ProgressLike = False) -> OperatorSet:
        """Read the views and build their operators; return an OperatorSet as it is."""
        if isinstance(X, OperatorSet):
            if present is not None:
                raise ValueError("present: expected None beside an OperatorSet, which knows the samples of its views")
            if batches is not None:
                raise ValueError("batches: expected None beside an OperatorSet, whose graphs exist already")
            self._note_views(X.given_names, None)
            ops = X
        else:
            name, one = one_matrix(X)
            views = read_views(self, X, present) if one is None else split_matrix(self, one, name, present)
            self._note_views(list(views), [int(view.data.shape[1]) for view in views.values()])
            ops = build_operators(
                views,
                **self._graph_parameters(next(iter(views.values())).n_total),
                bandwidth=self.bandwidth,
                symmetrize=self.symmetrize,
                neighbors=self.neighbors,
                absent=self.absent,
                zero_rows=self.zero_rows,
                batches=batches,
                preset=self.preset,
                dtype=self.dtype,
                random_state=self.random_state,
                n_jobs=self.n_jobs,
                progress=progress,
            )
        names = ops.given_names
        self.metrics_ = dict(zip(names, ops.metrics, strict=False))
        self.scales_ = dict(zip(names, ops.scales, strict=False))
        return ops

    def _graph_parameters(self, n_samples: int) -> dict[str, Any]:
        """Return the parameters of the graphs that may depend on other parameters."""
        names = ("n_neighbors", "kernel", "anisotropy", "metric", "scale")
        return {name: getattr(self, name) for name in names}

    def _note_views(self, names: list[str], widths: list[int] | None) -> None:
        """Store names and widths of the views; raise if their number does not fit."""
        self.view_names_, self.n_views_in_, self._widths = names, len(names), widths
        least, most = self._n_views
        if not least <= self.n_views_in_ <= most:
            expected = f"{least} views" if most == least else f"at least {least} views"
            raise ValueError(f"X: expected {expected} for {type(self).__name__}, got {self.n_views_in_}")

    def _new_views(self, X: Any, present: Any = None) -> dict[str, View]:
        """Read new samples in the views that the estimator was fitted on."""
        check_is_fitted(self)
        if self._widths is None:
            # Fitted on an operator set, which knows the number of features.
            return {view.name: view for view in check_views_like(X, self.view_names_, "X", Holes(present))}
        name, one = one_matrix(X)
        if one is not None and (self.n_views_in_ == 1 or self.view_slices is not None):
            return split_matrix(self, one, self.view_names_[0] if name is None else name, present, is_new=True)
        by_name = given_views(X, self.view_names_)
        # Arrays of new samples have no labels to align.
        is_labelled = any(has_index(view) for view in by_name.values())
        found = check_views_like(X, self.view_names_, "X", Holes(present, self.align if is_labelled else None))
        for view, width in zip(found, self._widths, strict=True):
            if view.n_samples and view.data.shape[1] != width:
                raise ValueError(f"X ({view.name}): expected {width} features, got {view.data.shape[1]}")
            columns, expected = columns_of(by_name.get(view.name)), self._columns.get(view.name)
            if columns is not None and expected is not None and columns != expected:
                wrong = next(c for c, e in zip(columns, expected, strict=True) if c != e)
                raise ValueError(
                    f"X ({view.name}): expected the columns of fit in their order, got {wrong!r} elsewhere"
                )
        return {view.name: view for view in found}


@dataclass(eq=False, repr=False, kw_only=True)
class Embedder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, MultiViewEstimator):  # type: ignore[misc]
    """An estimator whose `fit` sets the coordinates `embedding_`."""

    def fit_transform(self, X: Any, y: Any = None, *, present: Any = None, batches: Any = None) -> NDArray[Any]:
        """Fit and return the coordinates of the training samples."""
        return self._with_labels(self.fit(X, y, present=present, batches=batches).embedding_, X)

    def _with_labels(self, coordinates: NDArray[Any], X: Any) -> NDArray[Any]:
        """Return coordinates as a data frame with the row labels of several views, if pandas output is set.

        scikit-learn sets the names of the columns, and labels the rows if X is one data frame.
        """
        if _get_output_config("transform", self)["dense"] != "pandas" or isinstance(X, OperatorSet):
            return coordinates
        if is_named(X):
            # Rows of aligned frames are in the order of the views of the model.
            by_name = {str(name): view for name, view in X.items()}
            X = {name: by_name[name] for name in self.view_names_ if name in by_name}
        index = sample_labels(X, self.align)
        if index is None:
            return coordinates
        from pandas import DataFrame

        labelled: Any = DataFrame(coordinates, index=index)
        return labelled  # type: ignore[no-any-return]

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])


@dataclass(eq=False, repr=False, kw_only=True)
class InductiveEmbedder(Embedder):
    """An embedder whose `fit` also sets `geometry_`, an :class:`Embedding` for new samples."""

    def transform(self, X: Any, *, present: Any = None) -> NDArray[Any]:
        """Return the coordinates of new samples; `assign` reads rows that do not fit into memory.

        They do not depend on the other new samples. A training sample gets its own coordinates.

        Parameters
        ----------
        X : as for :meth:`fit`
            The new samples in the same views, or in some of them: a dict may lack views, and a view
            in a list may be None.
        present : as for :func:`build_operators`, default=None
            Which samples each view has.

        Returns
        -------
        (n_new, n_components) array

        Examples
        --------
        >>> import mdt_fast as mdt
        >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
        >>> model = mdt.MDT(strategy="mean").fit(views)
        >>> model.transform([X[:5] for X in views]).shape
        (5, 2)
        """
        views = self._new_views(X, present)
        coordinates = self.geometry_.transform(views, n_jobs=self.n_jobs, progress=self._shown)
        return self._with_labels(coordinates, X)
