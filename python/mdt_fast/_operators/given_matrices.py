"""Affinities and transition matrices given by the user: checks, and the walks made of them."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike
from scipy import sparse

from .. import _core
from .._graphs.views import check_matrix, check_names
from .._support.csr import to_parts
from .._support.threads import n_threads

# Largest accepted deviation of a row sum of a given transition matrix from 1.
_STOCHASTIC_TOLERANCE = {np.float32: 1e-5, np.float64: 1e-8}
# Largest accepted difference of two entries that are equal by symmetry, as a fraction of the
# larger.
_SYMMETRY_TOLERANCE = {np.float32: 1e-5, np.float64: 1e-10}


def is_single_precision(dtype: DTypeLike | None, given: Sequence[Any]) -> bool:
    """Return whether `dtype` is float32 or, if it is None, whether all of `given` are."""
    if dtype is None:
        return all(d in (np.float32, np.float16) for d in given)
    try:
        wanted = np.dtype(dtype)
    except (TypeError, ValueError):
        raise TypeError(f"dtype: expected 'float32' or 'float64', got {dtype!r}") from None
    if wanted not in (np.float32, np.float64):
        raise ValueError(f"dtype: expected 'float32' or 'float64', got {dtype!r}")
    return bool(wanted == np.float32)


def check_square(
    given: Any, argument: str, names: Sequence[str] | None, *, default: str = "view", start: int = 0
) -> tuple[list[sparse.csr_array], list[str]]:
    """Return square finite CSR matrices of one size and their names."""
    if isinstance(given, dict):
        names = list(map(str, given)) if names is None else names
        given = list(given.values())
    if sparse.issparse(given) or (isinstance(given, np.ndarray) and given.ndim == 2):
        given = [given]
    if not isinstance(given, (list, tuple, np.ndarray)) or getattr(given, "ndim", 1) == 0:
        raise TypeError(f"{argument}: expected a list of square matrices, got {type(given).__name__}")
    if not len(given):
        raise ValueError(f"{argument}: expected at least one matrix, got none")
    matrices = []
    for v, matrix in enumerate(given):
        checked = check_matrix(matrix, f"{argument}[{v}]")
        if checked.shape[0] != checked.shape[1]:
            raise ValueError(f"{argument}[{v}]: expected a square matrix, got shape {checked.shape}")
        if checked.shape[0] < 1:
            raise ValueError(f"{argument}[{v}]: expected at least 1 sample, got 0")
        rows = sparse.csr_array(checked)
        if not rows.data.all():
            # Stored zeros would count as edges. A copy keeps the caller's matrix unchanged.
            rows = rows.copy()
            rows.eliminate_zeros()
        matrices.append(rows)
    shapes = [matrix.shape for matrix in matrices]
    if len(set(shapes)) > 1:
        raise ValueError(f"{argument}: expected matrices of one size, got {shapes}")
    if names is None:
        names = [f"{default} {start + v}" for v in range(len(matrices))]
    if len(names) != len(matrices):
        raise ValueError(f"names: expected {len(matrices)} names, got {len(names)}")
    check_names(names, "names")
    return matrices, [str(name) for name in names]


def _refuse_negative(matrix: sparse.csr_array, name: str) -> None:
    if len(matrix.data) and matrix.data.min() < 0:
        where = int(matrix.data.argmin())
        row = int(np.searchsorted(matrix.indptr, where, side="right")) - 1
        got = matrix.data[where]
        raise ValueError(f"{name}: expected non-negative entries, got {got} at ({row}, {matrix.indices[where]})")


def _symmetric(K: sparse.csr_array, tolerance: float, name: str) -> sparse.csr_array:
    """Return ``(K + K^T) / 2``; refuse a matrix that is not symmetric within the tolerance."""
    difference = abs(K - K.T).tocoo()
    if difference.nnz:
        # Of a pair only one entry may be stored; the difference is relative to the larger of the
        # two.
        larger = sparse.csr_array(abs(K).maximum(abs(K.T)))[difference.row, difference.col]
        excess = difference.data - tolerance * np.asarray(larger).ravel()
        worst = int(excess.argmax())
        if excess[worst] > 0:
            i, j = int(difference.row[worst]), int(difference.col[worst])
            raise ValueError(
                f"{name}: expected a symmetric matrix, got {K[i, j]} at ({i}, {j}) and {K[j, i]} at ({j}, {i})"
            )
    symmetric = sparse.csr_array((K + K.T) / 2)
    symmetric.sum_duplicates()
    return symmetric


def affinity_transitions(
    matrices: Sequence[sparse.csr_array], anisotropy: float, single_precision: bool, n_jobs: int | None
) -> list[_core.Transition]:
    """Return the walks of the affinities `Ks`, which must be symmetric and non-negative."""
    how = {"anisotropy": anisotropy, "single_precision": single_precision, "n_threads": n_threads(n_jobs)}
    transitions = []
    for v, given in enumerate(matrices):
        K = _symmetric(given.astype(np.float64), _SYMMETRY_TOLERANCE[given.dtype.type], f"Ks[{v}]")
        _refuse_negative(K, f"Ks[{v}]")
        transitions.append(_named(f"Ks[{v}]", _core.Transition.from_affinity, K, **how))
    return transitions


def stochastic_transitions(
    matrices: Sequence[sparse.csr_array], single_precision: bool, n_jobs: int | None
) -> list[_core.Transition]:
    """Return the walks of the transition matrices `Ps`, whose rows must sum to 1."""
    how = {"single_precision": single_precision, "n_threads": n_threads(n_jobs)}
    transitions = []
    for v, P in enumerate(matrices):
        _refuse_negative(P, f"Ps[{v}]")
        tolerance = _STOCHASTIC_TOLERANCE[np.float32 if single_precision or P.dtype == np.float32 else np.float64]
        transitions.append(_named(f"Ps[{v}]", _core.Transition.from_stochastic, P, tolerance=tolerance, **how))
    return transitions


def _named(name: str, make: Any, matrix: sparse.csr_array, **settings: Any) -> _core.Transition:
    """Call a constructor of the core; errors name the argument."""
    try:
        made: _core.Transition = make(to_parts(matrix, np.float64), **settings)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    return made
