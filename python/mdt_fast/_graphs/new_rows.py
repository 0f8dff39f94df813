"""Transition rows of new samples, from their features or from given affinities.

The row of a new sample is computed as that of a training sample: distances to the training samples,
the kernel, both directions combined, division by the sum. A TrainingView stores what this needs:
the training samples, which nobody can change, and a few numbers for each of them.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .. import _core
from .._support.csr import check_arrays, to_parts, to_scipy
from .._support.monitor import Monitor
from .._support.warnings import OperatorWarning, RemoteSamplesWarning, warn_user
from .absence import borrow, fill_from, lent_rows, placed, without_zero_rows
from .approximate import find_effort, is_search
from .cross import cross_search
from .frozen import immutable
from .joint import JointView
from .kernels import Bandwidth, KernelShape, call_kernel
from .nearest import scale_distances
from .neighbors import NeighborGraph
from .presence import Presence
from .remoteness import is_far, remoteness, usual_radius
from .scaling import ViewScaling
from .settings import ViewSettings
from .views import Holes, Matrix, View, check_views_like

# The value of `sides` for an edge whose samples are neighbours of each other.
_BOTH_SIDES = 3
# New samples whose edges exist at a time. An index groups them by cells, and few samples in a cell share the cost of
# gathering its points: groups of 32,768 samples took a sixth longer than of 65,536 (200,000 training samples).
_SAMPLES_PER_BATCH = 131_072


@dataclass(frozen=True)
class TrainingView:
    """One view of the training samples, its graph and its kernel.

    Distances and widths are in units of ``2**exponent``.
    """

    data: Matrix
    metric: str
    n_neighbors: int
    # Distance and index of the last neighbour of each sample.
    radii: NDArray[np.float64]
    last: NDArray[np.int32]
    exponent: int
    shape: str
    widths: Bandwidth
    # Width of a new sample that coincides with all its neighbours; for the adaptive kernel.
    fallback_width: float | None
    # A callable kernel; None after unpickling if it could not be pickled.
    kernel: Callable[..., Any] | None
    symmetrize: str
    densities: NDArray[np.float64] | None
    # The 0.9 quantile of the radii, and the number of samples that are far from all others.
    usual_radius: float
    n_far: int
    # The samples of which `data` has rows; None for all.
    presence: Presence | None = None
    # What a row of zeros means, see build_operators, and how features were scaled.
    zero_rows: str = "keep"
    scaling: ViewScaling | None = None
    # The number of the batch of each sample of all views; None for a single batch.
    batches: NDArray[np.intp] | None = None
    # The share of the edges of new samples to be found; None for all of them.
    recall: float | None = None
    # Mean size of a cell of the index and the largest share of comparisons for which it is used; None for those of
    # the core. For tests.
    index_limits: tuple[int | None, float | None] = (None, None)

    @classmethod
    def of(
        cls,
        view: View,
        settings: ViewSettings,
        graph: NeighborGraph,
        shape: KernelShape,
        how: Mapping[str, Any],
        zero_rows: str,
        scaling: ViewScaling | None,
    ) -> TrainingView | None:
        """Return the training view of a view, or None if its graph was given by the user.

        `how` are the arguments of the core for the affinities of the graph.
        """
        # A new sample is not in a batch: its edges and widths are those of the graph without edges across batches.
        graph = graph if graph.within is None else graph.within
        if graph.last is None or not is_search(settings.neighbors) or settings.metric == "precomputed":
            return None
        positive = graph.nearest_positive[np.isfinite(graph.nearest_positive)]
        radii, nearest, distances = graph.farthest(), *graph.nearest()
        n_neighbors = int(np.diff(graph.indptr).max())
        usual = usual_radius(radii)
        effort = find_effort(settings.neighbors, view, settings.metric)
        return cls(
            data=immutable(view.data), metric=settings.metric, n_neighbors=n_neighbors, radii=radii,
            last=graph.last, exponent=graph.exponent, shape=shape.shape, widths=shape.widths,
            fallback_width=float(positive.max()) if settings.kernel == "adaptive" else None,
            kernel=settings.kernel if callable(settings.kernel) else None, symmetrize=settings.symmetrize,
            densities=_core.density_factors(**how) if settings.anisotropy else None, usual_radius=usual,
            n_far=int(np.count_nonzero(is_far(distances, nearest, radii, usual))),
            presence=view.presence, zero_rows=zero_rows, scaling=scaling,
            recall=None if effort is None else effort.recall,
        )  # fmt: skip

    @property
    def n_features(self) -> int:
        """Number of features of a sample, as the user gives it."""
        return int(self.data.shape[1]) if self.scaling is None else self.scaling.n_features

    @property
    def is_adaptive(self) -> bool:
        """Whether the kernel is the adaptive one."""
        return self.fallback_width is not None

    def index(self, n_threads: int) -> _core.CrossIndex | None:
        """Return the index for approximate edges of new samples, or None if their edges are exact.

        It is made at the first call, also after unpickling: it takes less time than a tenth of the search of the graph,
        and would double the size of a pickle.
        """
        if self.recall is None:
            return None
        if "_index" not in self.__dict__:
            points_per_cell, largest_share = self.index_limits
            self.__dict__["_index"] = _core.cross_index(
                self.data, radii=self.radii, k=self.n_neighbors, metric=self.metric, recall=self.recall,
                points_per_cell=points_per_cell, largest_share=largest_share, n_threads=n_threads,
            )  # fmt: skip
        made: _core.CrossIndex | None = self.__dict__["_index"]
        return made

    def __copy__(self) -> TrainingView:
        """Return the same object, which is immutable."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> TrainingView:
        """Return the same object, which is immutable."""
        return self

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the index, and functions that cannot be pickled, such as a lambda."""
        state = {name: value for name, value in self.__dict__.items() if name != "_index"}
        if not _can_be_pickled(self.kernel):
            state["kernel"] = None
        if self.scaling is not None and not _can_be_pickled(self.scaling.function):
            state["scaling"] = replace(self.scaling, function=lost_function)
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore with aligned arrays, which the core needs; those of a pickle may not be."""
        for name, value in state.items():
            if sparse.issparse(value):
                check_arrays(value, f"{type(self).__name__}.{name}")
            is_array = isinstance(value, np.ndarray)
            self.__dict__[name] = np.require(value, requirements=["C", "A"]) if is_array else value


@dataclass(frozen=True)
class NewView:
    """New samples in one view: their edges to the training samples, with distances."""

    view: View
    training: TrainingView
    found: _core.CrossTable | None
    n_threads: int

    @classmethod
    def of(cls, view: View, training: TrainingView, n_threads: int) -> NewView:
        """Search the edges of the new samples that the view has."""
        if not view.n_samples:
            return cls(view, training, None, n_threads)
        found = cross_search(
            training.data, view, radii=training.radii, last=training.last, k=training.n_neighbors,
            metric=training.metric, n_threads=n_threads, index=training.index(n_threads),
        )  # fmt: skip
        return cls(view, training, found, n_threads)

    @cached_property
    def rows(self) -> sparse.csr_array:
        """The transition rows of all new samples; empty for those that the view lacks."""
        n = len(self.training.radii)
        if self.found is None:
            made = sparse.csr_array((0, n))
        else:
            made = _rows_of_view(self.training, self.view, self.found, self.n_threads)
        return placed(made, self.view.presence, self.training.presence)

    def distances(self) -> NDArray[np.float64]:
        """Return the distance of each new sample to the nearest training sample, to which it has an edge."""
        assert self.found is not None
        edges = self.found.edges
        return np.asarray(np.minimum.reduceat(edges.values, edges.indptr[:-1]))

    def remoteness(self) -> NDArray[np.float64]:
        """Return the remoteness of each new sample; nan for those that the view lacks."""
        if self.found is None:
            return np.full(self.view.n_total, np.nan)
        return self._of_all(remoteness(self.distances(), self.found.nearest, self.training.radii), np.nan)

    def is_far(self) -> NDArray[np.bool_]:
        """Return whether each new sample is far from all training samples."""
        if self.found is None:
            return np.zeros(self.view.n_total, dtype=bool)
        far = is_far(self.distances(), self.found.nearest, self.training.radii, self.training.usual_radius)
        return self._of_all(far, False)

    def _of_all(self, values: NDArray[Any], other: Any) -> NDArray[Any]:
        if self.view.presence is None:
            return values
        found = np.full(self.view.n_total, other, dtype=values.dtype)
        found[self.view.presence.samples] = values
        return found


def connect(
    Xs_new: Any,
    names: Sequence[str],
    training: Sequence[TrainingView],
    joint: JointView | None,
    n_threads: int,
    argument: str = "Xs_new",
    monitor: Monitor | None = None,
) -> Iterator[list[NewView]]:
    """Search the edges of new samples in each view, the joint view included, batch by batch.

    Arguments are checked at the first batch. Rows do not depend on the batches. The monitor receives the number of
    samples that are done.
    """
    given = training if joint is None else training[:-1]
    views = check_views_like(Xs_new, names[: len(given)], argument, Holes())
    for view, old in zip(views, given, strict=True):
        expected, got = old.n_features, view.data.shape[1]
        if view.n_samples and got != expected:
            raise ValueError(f"{view.label}: expected {expected} features, as in training, got {got}")
    if any(old.zero_rows == "absent" for old in given):
        views = without_zero_rows(views, [old.metric for old in given], "absent")
    views = [view if old.scaling is None else old.scaling.apply(view) for view, old in zip(views, given, strict=True)]
    n = views[0].n_total
    for start in range(0, max(n, 1), _SAMPLES_PER_BATCH):
        stop = min(start + _SAMPLES_PER_BATCH, n)
        if monitor is not None:
            monitor.note(n_done=start, n_total=n)
        parts = views if stop - start == n else [view.part(start, stop) for view in views]
        yield _connect(parts, training, joint, n_threads)
    if monitor is not None:
        monitor.note(n_done=n)


def _connect(
    views: list[View], training: Sequence[TrainingView], joint: JointView | None, n_threads: int
) -> list[NewView]:
    given = training if joint is None else training[:-1]
    found = [NewView.of(view, old, n_threads) for view, old in zip(views, given, strict=True)]
    if joint is None:
        return found
    presences = [view.presence for view in views]
    fill: list[Any] = [None] * len(views)
    if any(presence is not None for presence in presences):
        lent = lent_rows([each.rows for each in found], presences)
        fill = fill_from(lent, presences, [(old.data, old.presence) for old in given])
    return [*found, NewView.of(joint.join(views, fill), training[-1], n_threads)]


def transition_rows(new_views: Sequence[NewView], n_given: int) -> list[sparse.csr_array]:
    """Return the transition rows of new samples in each view.

    A new sample that a given view lacks has the mean of its rows in the other given views.
    """
    given = new_views[:n_given]
    rows = borrow([each.rows for each in given], [each.view.presence for each in given])
    return [*rows, *(each.rows for each in new_views[n_given:])]


class FarSamples:
    """New samples that are far from all training samples, batch by batch."""

    def __init__(self) -> None:
        self._far: list[NDArray[np.bool_]] = []

    def note(self, new_views: Sequence[NewView]) -> None:
        """Note the next batch."""
        self._far.append(np.column_stack([each.is_far() for each in new_views]))

    def warn(self, names: Sequence[str]) -> None:
        """Warn once if there are any, because their predictions mean nothing."""
        far = np.concatenate(self._far)
        rows = np.flatnonzero(far.any(axis=1))
        if len(rows):
            view = names[int(far[rows[0]].argmax())]
            warn_user(
                f"{len(rows)} of {len(far)} new samples are far from all training samples, and what is predicted for "
                f"them means little (the first is row {rows[0]}, in {view}); see remoteness",
                RemoteSamplesWarning,
            )


def check_training(
    training: Sequence[TrainingView | None], names: Sequence[str], argument: str = "Xs_new", *, need_rows: bool = True
) -> list[TrainingView]:
    """Return the training views if new samples have distances to all, and transition rows on demand."""
    return [
        _check_training(each, f"{argument} ({name})", need_rows) for each, name in zip(training, names, strict=True)
    ]


def normalize_affinities(
    affinities: Any, names: Sequence[str], n_samples: int, n_threads: int
) -> list[sparse.csr_array]:
    """Return affinities of new samples to the training samples, divided by their row sums."""
    rows = []
    for view in check_views_like(affinities, names, "affinities"):
        argument = f"affinities ({view.name})"
        if view.data.shape[1] != n_samples:
            raise ValueError(f"{argument}: expected shape (M, {n_samples}), got {view.data.shape}")
        given = sparse.csr_array(view.data)
        if given.nnz and given.data.min() < 0:
            where = int(given.data.argmin())
            row = int(np.searchsorted(given.indptr, where, side="right")) - 1
            got = f"{given.data[where]} at ({row}, {given.indices[where]})"
            raise ValueError(f"{argument}: expected non-negative affinities, got {got}")
        sides = np.full(given.nnz, _BOTH_SIDES, dtype=np.uint8)
        nearest = np.zeros(view.n_samples, dtype=np.int32)
        made = _core.cross_rows(
            to_parts(given, np.float64), sides, nearest, kernel="given", widths=1.0, own_widths=1.0,
            symmetrize="max", densities=None, n_threads=n_threads,
        )  # fmt: skip
        if len(made.without_affinity):
            got = f"row {made.without_affinity[0]} that sums to 0"
            raise ValueError(f"{argument}: expected rows with a positive sum, got {got}")
        rows.append(to_scipy(made.rows, n_samples))
    return rows


def lost_function(X: Any) -> Any:
    """Refuse: takes the place of a function that could not be pickled."""
    raise ValueError("scale: expected a function that can be pickled (a function of a module), got a set that lost it")


def _can_be_pickled(value: Any) -> bool:
    try:
        pickle.dumps(value)
    except Exception:  # what pickle raises depends on the object
        return False
    return True


def _check_training(training: TrainingView | None, name: str, need_rows: bool) -> TrainingView:
    instead = "use new_rows(affinities=[...]) with an (M, N) matrix of cross-affinities for each view"
    if training is None:
        expected = "a view built from features by a neighbour search"
        got = "one made from a given matrix or graph, which has no distances"
    elif not need_rows:
        return training
    elif isinstance(training.widths, np.ndarray) and training.fallback_width is None:
        expected = "a view whose bandwidth is one number or adaptive"
        got = "one bandwidth for each training sample, which new samples do not have"
    elif training.shape == "given" and training.kernel is None:
        expected = "a kernel that can be pickled (a function of a module)"
        got = "a set that lost its kernel when it was pickled"
    else:
        return training
    raise ValueError(f"{name}: expected {expected}, got {got}; {instead}")


def _rows_of_view(training: TrainingView, view: View, found: _core.CrossTable, n_threads: int) -> sparse.csr_array:
    edges = found.edges
    if training.kernel is not None:
        affinities = _kernel_by_rows(training, edges, view.name)
        edges = _core.CsrParts(edges.n_cols, edges.indptr, edges.indices, affinities)
    own_widths: Bandwidth = training.widths
    if training.fallback_width is not None:
        own_widths = np.where(np.isfinite(found.scales), found.scales, training.fallback_width)
    made = _core.cross_rows(
        edges, found.sides, found.nearest, kernel=training.shape, widths=training.widths, own_widths=own_widths,
        symmetrize=training.symmetrize, densities=training.densities, n_threads=n_threads,
    )  # fmt: skip
    isolated = made.without_affinity
    if len(isolated):
        warn_user(
            f"{view.name}: {len(isolated)} new samples have no affinity to any training sample (the first is row "
            f"{isolated[0]}); each moves to the nearest one",
            OperatorWarning,
        )
    return to_scipy(made.rows, len(training.radii))


def _kernel_by_rows(training: TrainingView, edges: _core.CsrParts, name: str) -> NDArray[np.float64]:
    """Apply a callable kernel to one row at a time, so that no row depends on another."""
    assert training.kernel is not None
    distances = scale_distances(edges.values, training.exponent)
    rows = [distances[start:end] for start, end in pairwise(edges.indptr)]
    return np.concatenate([np.empty(0), *(call_kernel(training.kernel, row, name) for row in rows)])
