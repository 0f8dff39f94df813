"""Trajectories: products of operators that are applied without being formed."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.linalg import LinearOperator

from .._graphs.readable import check_readable, read_array
from .._support import memory as _memory
from .._support.arguments import LARGEST_STEPS, check_choice, check_flag, check_integer, check_number
from .._support.csr import to_scipy
from .._support.threads import n_threads
from .._support.warnings import ConvergenceWarning, OperatorWarning

if TYPE_CHECKING:
    from .operator_set import OperatorSet

# Largest accepted deviation of the sum of a step's weights from 1, in double and in single
# precision; the weights are then rescaled.
_SIMPLEX_TOLERANCE = 1e-8
_SIMPLEX_TOLERANCE_SINGLE = 1e-5
# Columns of the identity that toarray multiplies at a time.
_PANEL = 256
# Bytes of the rows of a dense product that are written at a time.
_PIECE_BYTES = 2**24


class _MatrixFree(LinearOperator):  # type: ignore[misc]
    """A linear operator of the core that checks vectors and accepts complex blocks."""

    dtype: np.dtype[Any]
    shape: tuple[int, int]

    def _multiply(self, block: NDArray[Any]) -> NDArray[Any]:
        raise NotImplementedError

    def _matmat(self, X: Any) -> NDArray[Any]:
        if np.iscomplexobj(X):
            real, imaginary = (self._multiply(np.require(part, self.dtype, ["C", "A"])) for part in (X.real, X.imag))
            return real + 1j * imaginary
        return self._multiply(np.require(X, self.dtype, ["C", "A"]))

    def matvec(self, x: Any) -> NDArray[Any]:
        """Multiply a vector."""
        return super().matvec(_check_length("x", x, self.shape[1], 1))  # type: ignore[no-any-return]

    def rmatvec(self, x: Any) -> NDArray[Any]:
        """Multiply a vector by the transpose."""
        return super().rmatvec(_check_length("x", x, self.shape[0], 1))  # type: ignore[no-any-return]

    def matmat(self, X: Any) -> NDArray[Any]:
        """Multiply a block of vectors, one in each column."""
        return super().matmat(_check_length("X", X, self.shape[1], 2))  # type: ignore[no-any-return]

    def rmatmat(self, X: Any) -> NDArray[Any]:
        """Multiply a block of vectors by the transpose."""
        return super().rmatmat(_check_length("X", X, self.shape[0], 2))  # type: ignore[no-any-return]


class Trajectory(_MatrixFree):
    """A product of walks as a SciPy linear operator.

    Made by :meth:`OperatorSet.trajectory`. The product ``W = W_t ... W_1`` is never formed. ``W @ B``
    averages functions over the ends of walks; ``W.T @ B`` moves mass along walks. Both apply the
    factors one by one, in parallel over the rows.

    Attributes
    ----------
    sequence : tuple of int or None
        The member at each step, the first step first; None if some step mixes several members.
    weights : (t, len(operators)) array
        Weights of the members at each step, rows on the simplex. Read-only.
    operators : OperatorSet
        The set whose members the steps combine.
    n_unconnected_parts : int
        Number of parts of the samples that no step joins; 1 for a connected trajectory.

    Examples
    --------
    >>> import numpy as np
    >>> import mdt_fast as mdt
    >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> ops = mdt.build_operators(views)
    >>> W = ops.trajectory([0, 1, 1])
    >>> W
    Trajectory(view 1 @ view 1 @ view 0; 150 samples)
    >>> bool(np.allclose(W @ np.ones(150), 1))  # rows sum to 1
    True
    >>> float((W.T @ np.full(150, 1 / 150)).sum().round(6))  # mass is preserved
    1.0
    """

    def __init__(self, operators: OperatorSet, weights: NDArray[np.float64]) -> None:
        super().__init__(dtype=operators.dtype, shape=(operators.n_samples, operators.n_samples))
        self.operators = operators
        self.weights = np.array(weights, dtype=np.float64)
        self.weights.flags.writeable = False

    @property
    def sequence(self) -> tuple[int, ...] | None:
        """The member at each step, or None if some step mixes several."""
        if not (self.weights.max(axis=1) == 1.0).all():
            return None
        return tuple(int(i) for i in self.weights.argmax(axis=1))

    def __len__(self) -> int:
        """Return the number of steps t."""
        return len(self.weights)

    def __repr__(self) -> str:
        """Return the factors of a sequence, the last step first, or the number of convex steps."""
        sequence = self.sequence
        if sequence is None:
            steps = f"{len(self)} convex step{'s' if len(self) > 1 else ''} over {', '.join(self.operators.names)}"
        else:
            steps = " @ ".join(self.operators.names[i] for i in reversed(sequence))
        return f"Trajectory({steps}; {self.operators.n_samples} samples)"

    def _multiply(self, block: NDArray[Any]) -> NDArray[Any]:
        return self.operators.native.apply(self.weights, block, False, self._threads)

    def _transpose(self) -> LinearOperator:
        return TransposedTrajectory(self)

    # W is real, so the adjoint is the transpose.
    _adjoint = _transpose

    @property
    def _threads(self) -> int:
        return n_threads(self.operators.n_jobs)

    def extend(self, step: Any) -> Trajectory:
        """Return the trajectory with one more step, which multiplies on the left.

        Parameters
        ----------
        step : int, str or (len(operators),) array
            A member, by index or by name, or weights over all members.

        Returns
        -------
        Trajectory
            The product ``W_(t+1) W_t ... W_1``.

        Examples
        --------
        >>> import mdt_fast as mdt
        >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
        >>> ops = mdt.build_operators(views)
        >>> ops.trajectory([0]).extend(1).extend(1).sequence
        (0, 1, 1)
        """
        try:
            row = check_steps([step], self.operators)
        except (TypeError, ValueError) as error:
            raise type(error)(f"step: {error}") from None
        return Trajectory(self.operators, np.vstack([self.weights, row]))

    def toarray(self) -> NDArray[Any]:
        """Return the product as a dense array.

        Returns
        -------
        (N, N) array
            W.

        Raises
        ------
        MemoryError
            If the array does not fit into the available memory.

        Examples
        --------
        >>> import numpy as np
        >>> import mdt_fast as mdt
        >>> ops = mdt.OperatorSet.from_transitions([np.array([[0.5, 0.5], [0.25, 0.75]])])
        >>> ops.trajectory([0, 0]).toarray()
        array([[0.375 , 0.625 ],
               [0.3125, 0.6875]])
        """
        n = self.operators.n_samples
        _memory.require(n * n * self.dtype.itemsize, f"W.toarray() of {n} samples")
        dense = np.empty((n, n), dtype=self.dtype)
        rows = max(1, _PIECE_BYTES // max(1, n * self.dtype.itemsize))
        for start in range(0, n, _PANEL):
            width = min(_PANEL, n - start)
            unit = np.zeros((n, width), dtype=self.dtype)
            unit[np.arange(start, start + width), np.arange(width)] = 1
            product = self._multiply(unit)
            # In pieces: the first write to gigabytes of new memory takes seconds, without a check of
            # signals.
            for row in range(0, n, rows):
                dense[row : row + rows, start : start + width] = product[row : row + rows]
        return dense

    def tosparse(
        self, prune_below: float = 0.0, top: int | None = None, *, prune_each_step: bool = False
    ) -> sparse.csr_array:
        """Return the product as a sparse matrix, exact by default.

        Parameters
        ----------
        prune_below : float, default=0.0
            Drop entries below this number; the largest entry of a row is kept.
        top : int or None, default=None
            Keep at most this many of the largest entries of each row, of equal entries the first.
        prune_each_step : bool, default=False
            Prune after every step instead of once at the end. This makes long trajectories of many
            samples affordable; the error grows with each step.

        Returns
        -------
        scipy.sparse.csr_array
            The (N, N) product. Rows that lost entries are rescaled, so that every row sums to 1.

        Raises
        ------
        MemoryError
            If the result does not fit into the available memory.

        Examples
        --------
        >>> import mdt_fast as mdt
        >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
        >>> ops = mdt.build_operators(views)
        >>> W = ops.trajectory([0, 1, 1])
        >>> W.tosparse().nnz > W.tosparse(top=10).nnz
        True
        >>> W.tosparse(top=10).nnz
        1500
        """
        below = check_number("prune_below", prune_below)
        if top is not None:
            top = check_integer("top", top, minimum=1)
        try:
            parts = self.operators.native.to_sparse(
                self.weights,
                prune_below=below,
                top=top,
                prune_each_step=check_flag("prune_each_step", prune_each_step),
                memory_limit=_memory.available_bytes(),
                n_threads=self._threads,
            )
        except MemoryError as error:
            raise MemoryError(f"W.tosparse(): {error}; top= or prune_below= make it smaller") from None
        return to_scipy(parts, self.shape[1])

    def stationary_distribution(self, tol: float = 1e-12, max_iter: int = 10_000) -> NDArray[np.float64]:
        """Return the stationary distribution ``pi = W^T pi``.

        It is computed by power iteration on the factors from the uniform distribution. A warning is
        issued if the limit depends on that start, because no step joins some parts of the samples,
        and if `tol` is not reached.

        Parameters
        ----------
        tol : float, default=1e-12
            Largest change ``sum_k |(W^T pi - pi)_k|`` of a converged distribution; at least 1e-6 in
            float32.
        max_iter : int, default=10_000
            Largest number of passes of the whole trajectory.

        Returns
        -------
        (N,) array
            Non-negative numbers that sum to 1.

        Raises
        ------
        FloatingPointError
            If the iteration overflows.

        Examples
        --------
        >>> import numpy as np
        >>> import mdt_fast as mdt
        >>> ops = mdt.OperatorSet.from_transitions([np.array([[0.5, 0.5], [0.25, 0.75]])])
        >>> ops.trajectory([0]).stationary_distribution().round(4)
        array([0.3333, 0.6667])
        """
        tolerance = check_number("tol", tol)
        if self.dtype == np.float32:
            tolerance = max(tolerance, 1e-6)
        passes = check_integer("max_iter", max_iter, minimum=1)
        parts = self.n_unconnected_parts
        if parts > 1:
            warnings.warn(
                f"the steps of this trajectory leave {parts} parts of the samples unconnected: its stationary "
                "distribution is not unique, the one reached from the uniform distribution is returned",
                OperatorWarning,
                stacklevel=2,
            )
        found = self.operators.native.stationary_distribution(self.weights, tolerance, passes, self._threads)
        if not np.isfinite(found.distribution).all():
            raise FloatingPointError("stationary_distribution: the power iteration left the range of its numbers")
        if found.residual > tolerance:
            warnings.warn(
                f"the stationary distribution still changes by {found.residual:.2g} after {found.n_iterations} passes "
                f"(tol={tolerance:.2g}); raise max_iter or tol",
                ConvergenceWarning,
                stacklevel=2,
            )
        pi = found.distribution
        if self.operators.has_absences:
            # No walk returns to a sample that all its views lack; the iteration leaves tiny numbers there.
            pi = np.where(pi > np.finfo(np.float64).eps * pi.max(), pi, 0.0)
        return pi

    def diffusion_distances(self, rows: Any, weighting: str = "stationary") -> NDArray[np.float64]:
        """Return the diffusion distances between chosen samples, without forming W.

        Parameters
        ----------
        rows : sequence of m int
            The samples.
        weighting : {"stationary", "uniform"}, default="stationary"
            ``D(i, j)^2 = sum_k (W_ik - W_jk)^2 / pi_k`` with the stationary distribution pi, or
            without the weights ``1 / pi_k``.

        Returns
        -------
        (m, m) array
            Symmetric, 0 on the diagonal.

        Examples
        --------
        >>> import mdt_fast as mdt
        >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
        >>> ops = mdt.build_operators(views)
        >>> D = ops.trajectory([0, 1, 1]).diffusion_distances([0, 1, 2])
        >>> D.shape, bool((D == D.T).all())
        ((3, 3), True)
        """
        chosen = check_rows(rows, self.operators.n_samples)
        check_choice("weighting", weighting, ("stationary", "uniform"))
        n, m = self.operators.n_samples, len(chosen)
        _memory.require(2 * n * m * self.dtype.itemsize, f"diffusion_distances between {m} of {n} samples")
        inverse = None
        if weighting == "stationary":
            pi = self.stationary_distribution()
            # A sample at which no walk ends contributes 0 / 0, which counts as 0; so does one whose inverse overflows.
            inverse = np.divide(1.0, pi, out=np.zeros_like(pi), where=pi > np.finfo(np.float64).tiny)
        return self.operators.native.diffusion_distances(self.weights, chosen, inverse, self._threads)

    @cached_property
    def n_unconnected_parts(self) -> int:
        """Number of parts of the samples that no step joins."""
        return self.operators.native.closed_parts(self.weights, self._threads)


class TransposedTrajectory(_MatrixFree):
    """The transpose ``W^T``, which moves mass along the trajectory."""

    def __init__(self, trajectory: Trajectory) -> None:
        super().__init__(dtype=trajectory.dtype, shape=trajectory.shape)
        self._trajectory = trajectory

    def _multiply(self, block: NDArray[Any]) -> NDArray[Any]:
        W = self._trajectory
        return W.operators.native.apply(W.weights, block, True, W._threads)

    def _transpose(self) -> LinearOperator:
        return self._trajectory

    _adjoint = _transpose


def check_steps(steps: Any, operators: OperatorSet) -> NDArray[np.float64]:
    """Return the (t, members) weights of a sequence of members, or checked weights."""
    if isinstance(steps, (str, bytes)) or not isinstance(steps, (Sequence, np.ndarray)):
        raise TypeError(f"expected a sequence of members or a 2-D array of weights, got {steps!r}")
    if (isinstance(steps, np.ndarray) and steps.ndim == 0) or not len(steps):
        raise ValueError("expected at least one step, got none")
    if len(steps) > LARGEST_STEPS:
        raise ValueError(f"expected at most {LARGEST_STEPS} steps, got {len(steps)}")
    if all(map(_is_member, steps)):
        sequence = [_member_index(step, operators) for step in steps]
        return np.eye(len(operators))[sequence]
    if all(np.ndim(step) == 0 for step in steps):
        bad = next(step for step in steps if not _is_member(step))
        raise TypeError(f"sequence: expected members by index (int) or by name (str), got {bad!r}")
    try:
        weights = np.asarray(steps)
    except ValueError:
        raise ValueError("weights: expected rows of one length, got rows of different lengths") from None
    if weights.dtype.kind not in "biuf":
        raise TypeError(f"weights: expected real numbers, got dtype {weights.dtype}")
    tolerance = _SIMPLEX_TOLERANCE_SINGLE if weights.dtype in (np.float32, np.float16) else _SIMPLEX_TOLERANCE
    weights = weights.astype(np.float64)
    if weights.ndim != 2 or weights.shape[1] != len(operators):
        raise ValueError(
            f"weights: expected shape (t, {len(operators)}), a weight for each member at each step, got {weights.shape}"
        )
    if not (np.isfinite(weights) & (weights >= 0)).all():
        row, member = (int(i) for i in np.argwhere(~(np.isfinite(weights) & (weights >= 0)))[0])
        got = weights[row, member]
        raise ValueError(f"weights: expected finite non-negative numbers, got {got} in row {row}, column {member}")
    sums = weights.sum(axis=1)
    off = np.abs(sums - 1) > tolerance
    if off.any():
        row = int(np.flatnonzero(off)[0])
        raise ValueError(f"weights: expected rows that sum to 1, got {sums[row]} in row {row}")
    # Rows that have been divided by their sum before stay unchanged.
    settled = np.abs(sums - 1) <= len(operators) * np.finfo(np.float64).eps
    normalized: NDArray[np.float64] = weights / np.where(settled, 1.0, sums)[:, np.newaxis]
    return normalized


def check_rows(rows: Any, n_samples: int) -> list[int]:
    """Return indices of samples as a list."""
    check_readable(rows, "rows", "a sequence of integers")
    try:
        chosen = np.asarray(rows)
    except ValueError:
        raise TypeError(f"rows: expected a sequence of integers, got {rows!r}") from None
    if chosen.shape == (0,):
        return []
    if chosen.ndim != 1 or chosen.dtype.kind not in "iu":
        raise TypeError(f"rows: expected a sequence of integers, got {rows!r}")
    outside = (chosen < 0) | (chosen >= n_samples)
    if outside.any():
        raise ValueError(f"rows: expected samples from 0 to {n_samples - 1}, got {chosen[outside][0]}")
    return [int(i) for i in chosen]


def _is_member(step: Any) -> bool:
    return isinstance(step, (int, str, np.integer)) and not isinstance(step, bool)


def _member_index(step: Any, operators: OperatorSet) -> int:
    if isinstance(step, str):
        if operators.names.count(step) != 1:
            raise ValueError(f"sequence: expected one of the members {operators.names}, got {step!r}")
        return operators.names.index(step)
    return check_integer("sequence", step, minimum=0, maximum=len(operators) - 1)


def _check_length(name: str, x: Any, length: int, ndim: int) -> NDArray[Any]:
    if sparse.issparse(x):
        raise TypeError(f"{name}: expected a dense array, got a sparse matrix; give {name}.toarray()")
    check_readable(x, name, "a dense array")
    array = read_array(x, name)
    if array.dtype.kind not in "biufc":
        raise TypeError(f"{name}: expected numbers, got dtype {array.dtype}")
    # A vector may be a block of one column.
    is_block = array.ndim == 2 and (ndim == 2 or array.shape[1] == 1)
    if not (is_block or array.ndim == ndim) or array.shape[0] != length:
        expected = f"({length},)" if ndim == 1 else f"({length}, k)"
        raise ValueError(f"{name}: expected shape {expected}, got {array.shape}")
    return array
