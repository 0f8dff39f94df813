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
from .._support.memory import require
from .._support.warnings import OperatorWarning
from .approximate import is_search
from .kernels import Bandwidth, KernelShape, call_kernel
from .neighbors import NeighborGraph
from .views import Matrix, View, check_views_like

_Rows = tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.float64]]

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
            graph.indptr,
            graph.indices,
            shape.values,
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
        parts = _parts(given.indptr, given.indices, given.data)
        made, lonely = _make_rows(
            n_samples, parts, sides, nearest, kernel="given", widths=1.0, own_widths=1.0,
            symmetrize="max", densities=None, n_threads=n_threads,
        )  # fmt: skip
        if len(lonely):
            raise ValueError(f"{argument}: expected rows with a positive sum, got row {lonely[0]} that sums to 0")
        rows.append(made)
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
        edges, sides, nearest, scales = _find_edges(recipe, view, n_threads)
    except ValueError as error:
        raise ValueError(f"Xs_new ({view.name}): {error}") from None
    if recipe.kernel is not None:
        edges = (*edges[:2], _kernel_by_rows(recipe, edges, view.name))
    own_widths: Bandwidth = recipe.widths
    if recipe.fallback_width is not None:
        own_widths = np.where(np.isfinite(scales), scales, recipe.fallback_width)
    made, lonely = _make_rows(
        len(recipe.radii), edges, sides, nearest, kernel=recipe.shape, widths=recipe.widths, own_widths=own_widths,
        symmetrize=recipe.symmetrize, densities=recipe.densities, n_threads=n_threads,
    )  # fmt: skip
    if len(lonely):
        warnings.warn(
            f"{view.name}: {len(lonely)} new samples have no affinity to any training sample (the first is row "
            f"{lonely[0]}); each goes to its nearest",
            OperatorWarning,
            stacklevel=4,
        )
    return made


def _find_edges(
    recipe: Recipe, view: View, n_threads: int
) -> tuple[_Rows, NDArray[np.uint8], NDArray[np.int32], NDArray[np.float64]]:
    """Return edges to the training samples, who chose whom, nearest samples and scales."""
    X: Any = recipe.data
    new: Any = view.data
    how = ((recipe.radii, recipe.last), recipe.n_neighbors, recipe.metric, n_threads)
    if sparse.issparse(X) and recipe.metric == "correlation":
        require(8 * X.shape[0] * X.shape[1], f"Xs_new ({view.name}): the correlation distance of a sparse view")
        X = X.toarray()
    if sparse.issparse(X):
        new = sparse.csr_array(new)
        # Only columns that are used count, as in training; their order, and so every sum, stays the same.
        used, columns = np.unique(np.concatenate([X.indices, new.indices]), return_inverse=True)
        of_x, of_new = np.split(columns.astype(np.int32), [X.nnz])
        old_rows, new_rows = _parts(X.indptr, of_x, X.data), _parts(new.indptr, of_new, new.data)
        return _core.cross_knn_sparse(max(len(used), 1), old_rows, new_rows, *how)
    if sparse.issparse(new):
        require(8 * new.shape[0] * new.shape[1], f"Xs_new ({view.name}): sparse samples beside a dense view")
        new = new.toarray()
    return _core.cross_knn(X, np.require(new, np.float64, ["C", "A"]), *how)


def _kernel_by_rows(recipe: Recipe, edges: _Rows, name: str) -> NDArray[np.float64]:
    """Ask the user's kernel row by row, so that no row can depend on another."""
    assert recipe.kernel is not None
    indptr, _, distances = edges
    distances = np.ldexp(distances, recipe.exponent) if recipe.exponent else distances
    rows = [distances[start:end] for start, end in pairwise(indptr)]
    return np.concatenate([np.empty(0), *(call_kernel(recipe.kernel, row, name) for row in rows)])


def _make_rows(
    n_samples: int, edges: _Rows, sides: NDArray[np.uint8], nearest: NDArray[np.int32], **how: Any
) -> tuple[sparse.csr_array, NDArray[np.int32]]:
    indptr, indices, values, lonely = _core.cross_rows(n_samples, edges, sides, nearest, **how)
    pointers: NDArray[Any] = indptr
    if len(indices) <= np.iinfo(np.int32).max:
        # SciPy wants both index arrays of one type.
        pointers = indptr.astype(np.int32)
    made = sparse.csr_array((values, indices, pointers), shape=(len(indptr) - 1, n_samples))
    made.has_canonical_format = True
    return made, lonely


def _parts(indptr: Any, indices: Any, values: Any) -> _Rows:
    return np.asarray(indptr, np.int64), np.asarray(indices, np.int32), np.asarray(values, np.float64)
