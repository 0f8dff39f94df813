"""Recipes: what a view's walk was made of, kept to give new samples their transition rows.

A new sample's row is made the way a training row was: distances to the training samples, the kernel, both directions
combined, the sum divided out. The core does the work (`neighbours/cross.rs`, `cross_walk.rs`); a recipe holds the
training samples by reference, and of everything else a few numbers for each.
"""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .. import _core
from .._support.csr import to_parts, to_scipy, without_empty_columns
from .._support.memory import require
from .._support.warnings import OperatorWarning
from .approximate import is_search
from .kernels import Bandwidth, KernelShape, call_kernel
from .neighbors import NeighborGraph
from .views import Matrix, View, check_views_like

# Who chose whom along an edge, as the core says it.
_BOTH_SIDES = 3


@dataclass(frozen=True)
class Recipe:
    """How one view's walk was made. Distances and widths are in units of 2**exponent."""

    data: Matrix
    metric: str
    n_neighbors: int
    # Distance and index of the last neighbour of each sample: whom it would have chosen.
    radii: NDArray[np.float64]
    last: NDArray[np.int32]
    exponent: int
    shape: str
    widths: Bandwidth
    # Width of a new sample that has only coinciding samples around it; None unless the kernel is adaptive.
    fallback_width: float | None
    # A kernel of the user's; None after unpickling where it could not be pickled.
    kernel: Callable[..., Any] | None
    symmetrize: str
    densities: NDArray[np.float64] | None

    def __copy__(self) -> Recipe:
        """Return the recipe itself, which nothing changes."""
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Recipe:
        """Return the recipe itself, which nothing changes."""
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Leave a kernel behind that does not pickle, a lambda say: a set must pickle whatever its kernel."""
        state = dict(self.__dict__)
        try:
            pickle.dumps(self.kernel)
        except Exception:  # what pickle raises depends on the object
            state["kernel"] = None
        return _restore, (state,)


def _restore(state: dict[str, Any]) -> Recipe:
    # Buffers of a pickle may begin anywhere, but the core wants numbers at multiples of their size.
    aligned: dict[str, Any] = {
        name: np.require(value, requirements=["C", "A"]) if isinstance(value, np.ndarray) else value
        for name, value in state.items()
    }
    return Recipe(**aligned)


def record(
    view: View, setting: dict[str, Any], graph: NeighborGraph, shape: KernelShape, n_threads: int
) -> Recipe | None:
    """Return the recipe of a view, or None where its graph came from outside."""
    if graph.last is None or not is_search(setting["neighbors"]) or setting["metric"] == "precomputed":
        return None
    anisotropy = float(setting["anisotropy"])
    densities = None
    if anisotropy:
        densities = _core.density_factors(
            _core.CsrParts(graph.n_samples, graph.indptr, graph.indices, shape.values),
            kernel=shape.shape,
            widths=shape.widths,
            diagonal=shape.diagonal,
            symmetrize=setting["symmetrize"],
            anisotropy=anisotropy,
            n_threads=n_threads,
        )
    positive = graph.nearest_positive[np.isfinite(graph.nearest_positive)]
    return Recipe(
        data=view.data,
        metric=setting["metric"],
        n_neighbors=int(graph.indptr[1]),
        radii=graph.farthest(),
        last=graph.last,
        exponent=graph.exponent,
        shape=shape.shape,
        widths=shape.widths,
        fallback_width=float(positive.max()) if setting["kernel"] == "adaptive" else None,
        kernel=setting["kernel"] if callable(setting["kernel"]) else None,
        symmetrize=setting["symmetrize"],
        densities=densities,
    )


def follow_recipes(
    Xs_new: Any, names: Sequence[str], recipes: Sequence[Recipe | None], n_threads: int
) -> list[sparse.csr_array]:
    """Return the rows of new samples for each view."""
    # Refusals that need no samples come first.
    known = [_check_recipe(recipe, name) for recipe, name in zip(recipes, names, strict=True)]
    views = check_views_like(Xs_new, names, "Xs_new")
    for view, recipe in zip(views, known, strict=True):
        expected, got = recipe.data.shape[1], view.data.shape[1]
        if got != expected:
            raise ValueError(f"Xs_new ({view.name}): expected {expected} features, as in training, got {got}")
    return [_follow(recipe, view, n_threads) for recipe, view in zip(known, views, strict=True)]


def normalize_affinities(
    affinities: Any, names: Sequence[str], n_samples: int, n_threads: int
) -> list[sparse.csr_array]:
    """Return cross-affinities of new samples as rows that sum to 1."""
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


def _check_recipe(recipe: Recipe | None, name: str) -> Recipe:
    """Refuse a view that new samples cannot be joined to, and say what can be done instead."""
    instead = "use new_rows(affinities=[...]) with an (M, N) matrix of cross-affinities for each view"
    if recipe is None:
        raise ValueError(
            f"Xs_new ({name}): expected a view built from features with our own neighbour search, got one made from a "
            f"given matrix or graph; {instead}"
        )
    if isinstance(recipe.widths, np.ndarray) and recipe.fallback_width is None:
        raise ValueError(
            f"Xs_new ({name}): expected a view whose bandwidth is one number or adaptive, got one bandwidth for each "
            f"training sample, and none is known for new ones; {instead}"
        )
    if recipe.shape == "given" and recipe.kernel is None:
        raise ValueError(
            f"Xs_new ({name}): expected a kernel that can be pickled (a function of a module), got a set that lost its "
            f"kernel when it was pickled; {instead}"
        )
    return recipe


def _follow(recipe: Recipe, view: View, n_threads: int) -> sparse.csr_array:
    try:
        found = _find_edges(recipe, view, n_threads)
    except ValueError as error:
        raise ValueError(f"Xs_new ({view.name}): {error}") from None
    edges = found.edges if recipe.kernel is None else _kernel_by_rows(recipe, found.edges, view.name)
    own_widths: Bandwidth = recipe.widths
    if recipe.fallback_width is not None:
        own_widths = np.where(np.isfinite(found.scales), found.scales, recipe.fallback_width)
    made = _core.cross_rows(
        edges, found.sides, found.nearest, kernel=recipe.shape, widths=recipe.widths, own_widths=own_widths,
        symmetrize=recipe.symmetrize, densities=recipe.densities, n_threads=n_threads,
    )  # fmt: skip
    lonely = made.without_affinity
    if len(lonely):
        warnings.warn(
            f"{view.name}: {len(lonely)} new samples have no affinity to any training sample (the first is row "
            f"{lonely[0]}); each goes to its nearest",
            OperatorWarning,
            stacklevel=4,
        )
    return to_scipy(made.rows, len(recipe.radii))


def _find_edges(recipe: Recipe, view: View, n_threads: int) -> _core.CrossTable:
    """Return the edges from new samples to the training samples."""
    X: Any = recipe.data
    new: Any = view.data
    how: dict[str, Any] = {"radii": recipe.radii, "last": recipe.last, "k": recipe.n_neighbors}
    how.update(metric=recipe.metric, n_threads=n_threads)
    if sparse.issparse(X) and recipe.metric == "correlation":
        require(8 * X.shape[0] * X.shape[1], f"Xs_new ({view.name}): the correlation distance of a sparse view")
        X = X.toarray()
    if sparse.issparse(X):
        return _core.cross_knn_sparse(*without_empty_columns(X, sparse.csr_array(new)), **how)
    if sparse.issparse(new):
        require(8 * new.shape[0] * new.shape[1], f"Xs_new ({view.name}): sparse samples beside a dense view")
        new = new.toarray()
    return _core.cross_knn(X, np.require(new, np.float64, ["C", "A"]), **how)


def _kernel_by_rows(recipe: Recipe, edges: _core.CsrParts, name: str) -> _core.CsrParts:
    """Return the affinities of a kernel of the user's, called row by row, so that no row can depend on another."""
    assert recipe.kernel is not None
    distances = np.ldexp(edges.values, recipe.exponent) if recipe.exponent else edges.values
    rows = [distances[start:end] for start, end in pairwise(edges.indptr)]
    values = np.concatenate([np.empty(0), *(call_kernel(recipe.kernel, row, name) for row in rows)])
    return _core.CsrParts(edges.n_cols, edges.indptr, edges.indices, values)
