"""Fits on landmarks: a sample of the rows is fitted, and all others are assigned block by block."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._assignment.assign import assign_rows
from .._assignment.assigner import Assigner
from .._assignment.landmarks import CHOICES, ROWS, choose_landmarks
from .._operators.operator_set import OperatorSet
from .._sources.views import ViewSources
from .._support.arguments import check_choice, check_generator, check_integer
from .._support.monitor import Monitor
from .inputs import one_matrix

if TYPE_CHECKING:
    from .mdt import SearchEstimator

# What an estimator needs to read new samples.
_READING = ("view_slices", "align", "view_names_", "n_views_in_", "_widths", "_columns", "n_features_in_",
            "feature_names_in_")  # fmt: skip
# Share of a time limit for the fit of the landmarks; the rest is for the other samples.
_SHARE_OF_FIT = 0.5


@dataclass(frozen=True, eq=False)
class Landmarks:
    """The rows that are fitted.

    Attributes
    ----------
    views : ViewSources
        All rows.
    indices : (n_landmarks,) array
        Numbers of the landmarks in ascending order.
    X : object
        Their rows in the form in which the views were given.
    """

    views: ViewSources
    indices: NDArray[np.intp]
    X: Any

    @classmethod
    def of(cls, estimator: SearchEstimator, X: Any, present: Any, batches: Any, monitor: Monitor) -> Landmarks | None:
        """Choose and read the landmarks; None if the estimator has none."""
        if estimator.landmarks is None:
            return None
        n = check_integer("landmarks", estimator.landmarks, minimum=2)
        choice = check_choice("landmark_choice", estimator.landmark_choice, CHOICES)
        if isinstance(X, OperatorSet):
            raise ValueError("landmarks: expected None for an OperatorSet, whose graphs have all samples already")
        for name, value in (("present", present), ("batches", batches), ("align", estimator.align)):
            if value is not None:
                raise ValueError(f"{name}: expected None with landmarks, got {type(value).__name__}")
        views = sources_of(X)
        if not views.is_repeatable:
            raise ValueError(
                "X: expected rows that can be read more than once, to choose landmarks and to assign the others, got "
                "an iterator; give a function that returns it, such as lambda: read_blocks(path)"
            )
        with monitor.stage("landmarks"):
            views = views.counted(ROWS)
            assert views.n_rows is not None
            if n >= views.n_rows:
                indices = np.arange(views.n_rows)
            else:
                indices = choose_landmarks(views, n, choice, check_generator(estimator.random_state), monitor)
            return cls(views, indices, views.as_given(views.take(indices, ROWS)))

    @staticmethod
    def limit(monitor: Monitor) -> float | None:
        """Return the seconds that the fit of the landmarks may take; None for no limit."""
        return monitor.share(_SHARE_OF_FIT)

    def assign_all(self, assigner: Assigner, monitor: Monitor, n_jobs: int | None) -> dict[str, NDArray[Any]]:
        """Assign all rows; return the arrays, of which those of the landmarks are to be replaced by the fit."""
        # Dask arrays would be assigned lazily.
        found = assign_rows(assigner, self.views, monitor, n_jobs=n_jobs, is_limited=False, is_lazy=False)
        arrays = {"labels": found.labels, "embedding": found.embedding, "confidence": found.confidence}
        return {name: each for name, each in arrays.items() if each is not None}


def sources_of(X: Any) -> ViewSources:
    """Return the sources of views; a list of lists of numbers is one matrix."""
    _, one = one_matrix(X) if isinstance(X, (list, tuple)) else (None, None)
    return ViewSources.of(np.asarray(X) if one is X and X else X)


def reader_of(estimator: SearchEstimator) -> Any:
    """Return the function of an estimator that reads new samples, without what the estimator holds besides."""
    reader = copy.copy(estimator)
    reader.__dict__ = {name: value for name, value in vars(estimator).items() if name in _READING}
    return reader._new_views
