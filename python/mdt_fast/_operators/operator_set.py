"""Operator sets: the steps that trajectories are made of."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from .. import _core
from .._graphs.views import check_matrix, check_names
from .._support.arguments import check_integer, check_number
from .._support.threads import n_threads

if TYPE_CHECKING:
    from scipy.sparse.linalg import LinearOperator

    from .._graphs.new_rows import TrainingView
    from .checks import CheckReport
    from .trajectory import Trajectory

# Rows of a given transition matrix may be off by this much before they are taken for a mistake.
_STOCHASTIC_TOLERANCE = {np.float32: 1e-5, np.float64: 1e-8}
# Two entries that should be equal by symmetry may differ by this fraction of the larger.
_SYMMETRY_TOLERANCE = {np.float32: 1e-5, np.float64: 1e-10}

# Beyond this a power is a mistake, or wants another method.
_MAX_POWER = 2**20


class OperatorSet:
    """Random-walk operators on the same samples, and further steps made from them.

    Made by :func:`build_operators`, :meth:`from_affinities` or :meth:`from_transitions`; `with_...` methods return a
    larger set that shares the same matrices. The first members are the base views. Sets are immutable; they pickle and
    copy.

    Attributes
    ----------
    n_samples : int
        Number of samples N.
    names : list of str
        Names of the members.
    n_views : int
        Number of base views.
    bandwidths : tuple
        Bandwidth of each base view's kernel: a number, an array of one per sample, or None where there is none.
    dtype : numpy.dtype
        Element type of the matrices and of everything computed with them.
    n_jobs : int or None
        Threads used by trajectories of this set.
    """

    def __init__(
        self,
        transitions: Sequence[_core.Transition],
        members: Sequence[tuple[Any, ...]],
        names: Sequence[str],
        *,
        n_views: int,
        bandwidths: Sequence[Any],
        n_duplicates: Sequence[int | None],
        training_views: Sequence[TrainingView | None],
        n_jobs: int | None,
    ) -> None:
        self._transitions = list(transitions)
        self._members = list(members)
        self._core = _core.OperatorSet(self._transitions, self._members)
        self._n_duplicates = list(n_duplicates)
        self._training_views = list(training_views)
        self.n_samples = self._transitions[0].n
        self.names = list(names)
        self.n_views = n_views
        self.bandwidths = tuple(bandwidths)
        self.dtype: np.dtype[Any] = self._transitions[0].values.dtype
        self.n_jobs = n_jobs

    @classmethod
    def _of_views(
        cls,
        transitions: Sequence[_core.Transition],
        names: Sequence[str],
        *,
        bandwidths: Sequence[Any] | None = None,
        n_duplicates: Sequence[int | None] | None = None,
        training_views: Sequence[TrainingView | None] | None = None,
        n_jobs: int | None,
    ) -> OperatorSet:
        nothing = [None] * len(transitions)
        return cls(
            transitions,
            [("walk", v) for v in range(len(transitions))],
            names,
            n_views=len(transitions),
            bandwidths=nothing if bandwidths is None else bandwidths,
            n_duplicates=nothing if n_duplicates is None else n_duplicates,
            training_views=nothing if training_views is None else training_views,
            n_jobs=n_jobs,
        )

    @classmethod
    def from_affinities(
        cls,
        Ks: Any,
        *,
        names: Sequence[str] | None = None,
        anisotropy: float = 0.0,
        dtype: DTypeLike | None = None,
        n_jobs: int | None = None,
    ) -> OperatorSet:
        """Make the walks ``P = D^-1 K`` of symmetric non-negative affinities, dense or sparse.

        Parameters
        ----------
        Ks : list, tuple or dict of (N, N) matrices
            Symmetric, non-negative, every row with a positive sum.
        names : list of str, optional
            Names of the views; the keys of a dict by default.
        anisotropy : float
            ``alpha`` of ``K_ij / (q_i q_j)^alpha``, ``q`` the row sums.
        dtype, n_jobs
            As for :func:`build_operators`.
        """
        check_number("anisotropy", anisotropy)
        matrices, names = _check_square(Ks, "Ks", names)
        single = is_single(dtype, [K.dtype for K in matrices])
        transitions = []
        for v, K in enumerate(matrices):
            tolerance = _SYMMETRY_TOLERANCE[K.dtype.type]
            K = _symmetric(K.astype(np.float64), tolerance, f"Ks[{v}]")
            _refuse_negative(K, f"Ks[{v}]")
            transitions.append(
                _named(f"Ks[{v}]", _core.Transition.from_affinity, K, anisotropy=float(anisotropy),
                       single=single, n_threads=n_threads(n_jobs))
            )  # fmt: skip
        return cls._of_views(transitions, names, n_jobs=n_jobs)

    @classmethod
    def from_transitions(
        cls,
        Ps: Any,
        *,
        names: Sequence[str] | None = None,
        dtype: DTypeLike | None = None,
        n_jobs: int | None = None,
    ) -> OperatorSet:
        """Take row-stochastic matrices, dense or sparse, as the base views.

        Parameters
        ----------
        Ps : list, tuple or dict of (N, N) matrices
            Non-negative with rows that sum to 1 (to 1e-8, or 1e-5 in float32; they are then rescaled to 1).
        names, dtype, n_jobs
            As for :meth:`from_affinities`.
        """
        matrices, names = _check_square(Ps, "Ps", names)
        single = is_single(dtype, [P.dtype for P in matrices])
        return cls._of_views(_stochastic(matrices, single, n_jobs), names, n_jobs=n_jobs)

    def __len__(self) -> int:
        """Return the number of members."""
        return len(self._members)

    def __getitem__(self, member: int | str) -> sparse.csr_array | LinearOperator:
        """Return a member by index or name: a read-only CSR matrix if it is stored, else a linear operator."""
        if isinstance(member, str):
            if member not in self.names:
                raise KeyError(f"member: expected one of {self.names}, got {member!r}")
            member = self.names.index(member)
        index = check_integer("member", member, minimum=-sys.maxsize)
        if not -len(self) <= index < len(self):
            raise IndexError(f"member: expected an index below {len(self)}, got {index}")
        index %= len(self)
        if self._members[index][0] == "walk":
            return self._matrix(self._members[index][1])
        return self.trajectory([index])

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the members."""
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        """Return size, members and element type."""
        return f"OperatorSet({self.n_samples} samples, members: {', '.join(self.names)}; {self.dtype})"

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what is made anew from the rest."""
        return {key: value for key, value in self.__dict__.items() if key != "_core"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the set from its matrices and members."""
        self.__dict__.update(state)
        self._core = _core.OperatorSet(self._transitions, self._members)

    @property
    def views(self) -> tuple[sparse.csr_array, ...]:
        """The base views, read-only CSR matrices that share memory with the set."""
        return tuple(self._matrix(v) for v in range(self.n_views))

    @property
    def affinities(self) -> tuple[sparse.csr_array, ...]:
        """The symmetric affinities ``K = D P`` of the base views, made anew at each call.

        Views that were given as walks (:meth:`from_transitions`) have none.
        """
        degrees = [self._transitions[v].degrees for v in range(self.n_views)]
        for name, each in zip(self.names, degrees, strict=False):
            if each is None:
                raise ValueError(f"ops: expected views with symmetric affinities, got {name!r}, which is a walk only")
        return tuple(
            sparse.csr_array(sparse.diags_array(np.asarray(each)) @ P)
            for each, P in zip(degrees, self.views, strict=True)
        )

    def _matrix(self, base: int) -> sparse.csr_array:
        transition = self._transitions[base]
        values, indices = transition.values, transition.indices
        indptr: NDArray[Any] = transition.indptr
        # SciPy wants both index arrays of one type and would copy the long one.
        if len(indices) <= np.iinfo(np.int32).max:
            indptr = indptr.astype(np.int32)
        shape = (self.n_samples, self.n_samples)
        matrix = sparse.csr_array((values, indices, indptr), shape=shape, copy=False)
        matrix.has_canonical_format = True
        return matrix

    def _bases(self, indices: Iterable[int]) -> list[int]:
        """Return the stored matrices that these members are made of."""
        bases: set[int] = set()
        for kind, *rest in (self._members[i] for i in indices):
            if kind == "mean":
                bases.update(range(rest[0]))
            elif rest:
                bases.add(rest[0])
        return sorted(bases)

    def _with(
        self,
        members: Sequence[tuple[Any, ...]],
        names: Sequence[str],
        transitions: Sequence[_core.Transition] = (),
    ) -> OperatorSet:
        # A second identity is allowed; its name tells it from the first.
        taken = list(self.names)
        for name in names:
            count = sum(t == name or t.startswith(f"{name} (") for t in taken)
            taken.append(f"{name} ({count + 1})" if count else name)
        return OperatorSet(
            [*self._transitions, *transitions],
            [*self._members, *members],
            taken,
            n_views=self.n_views,
            bandwidths=self.bandwidths,
            n_duplicates=self._n_duplicates,
            training_views=self._training_views,
            n_jobs=self.n_jobs,
        )

    def with_mean(self) -> OperatorSet:
        """Add the mean of the base views, ``(P_0 + ... + P_(V-1)) / V``; never formed.

        A word ends in one view, and what that view confuses stays confused; a word that ends in the mean has no such
        limit.

        Examples
        --------
        >>> import mdt_fast as mdt
        >>> data = mdt.datasets.make_multiview_blobs(500, random_state=0)
        >>> ops = mdt.build_operators(data.views).with_mean()
        >>> ops.trajectory([0, "mean"])
        Trajectory(mean @ view 0; 500 samples)
        """
        return self._with([("mean", self.n_views)], ["mean"])

    def with_identity(self) -> OperatorSet:
        """Add the idle step I."""
        return self._with([("identity",)], ["identity"])

    def with_uniform(self) -> OperatorSet:
        """Add the jump to any sample with equal probability, ``11^T / N``; never formed."""
        return self._with([("uniform",)], ["uniform"])

    def with_teleport(self, alpha: float = 0.85, to: str | int = "uniform") -> OperatorSet:
        """Add ``alpha P_v + (1 - alpha) Xi`` for each base view.

        Parameters
        ----------
        alpha : float
            Probability of an ordinary step, between 0 and 1.
        to : "uniform" or int
            Where the other steps go: to any sample, or where that many steps (at least 2) of the same view lead.
        """
        alpha = check_number("alpha", alpha, maximum=1.0)
        if isinstance(to, str):
            if to != "uniform":
                raise ValueError(f"to: expected 'uniform' or an integer >= 2, got {to!r}")
            exponent, landing = 0, "uniform"
        else:
            exponent = check_integer("to", to, minimum=2, maximum=_MAX_POWER)
            landing = f"^{exponent}"
        members = [("teleport", v, alpha, exponent) for v in range(self.n_views)]
        return self._with(members, [f"teleport({name}, {alpha:g}, {landing})" for name in self.names[: self.n_views]])

    def with_powers(self, powers: Sequence[int]) -> OperatorSet:
        """Add ``P_v^s`` for each s in `powers` and each base view, applied as s steps."""
        if not isinstance(powers, (Sequence, np.ndarray)):
            raise TypeError(f"powers: expected a sequence of integers, got {powers!r}")
        exponents = [check_integer("powers", s, minimum=1, maximum=_MAX_POWER) for s in powers]
        if not exponents:
            raise ValueError("powers: expected at least one exponent, got none")
        members = [("power", v, s) for s in exponents for v in range(self.n_views)]
        return self._with(members, [f"{name}^{s}" for s in exponents for name in self.names[: self.n_views]])

    def with_transitions(self, Ps: Any, *, names: Sequence[str] | None = None) -> OperatorSet:
        """Add row-stochastic matrices as members; they are not base views, so quality does not look at them."""
        first = len(self._transitions)
        matrices, names = _check_square(Ps, "Ps", names, default="given", start=first - self.n_views)
        if matrices[0].shape[0] != self.n_samples:
            got = matrices[0].shape
            raise ValueError(f"Ps: expected matrices of shape {(self.n_samples, self.n_samples)}, got {got}")
        transitions = _stochastic(matrices, self.dtype == np.float32, self.n_jobs)
        return self._with([("walk", first + i) for i in range(len(transitions))], names, transitions)

    def trajectory(self, steps: Any) -> Trajectory:
        """Return the product ``W_t ... W_1`` of a word or of weights.

        Parameters
        ----------
        steps : sequence of int or str, or (t, len(self)) array
            A word: the member taken at each step, the first step first, by index or by name. Or weights: a row on the
            simplex for each step.

        Examples
        --------
        >>> import numpy as np
        >>> import mdt_fast as mdt
        >>> ops = mdt.build_operators(np.random.default_rng(0).normal(size=(2, 100, 5)).tolist())
        >>> ops.trajectory([0, 1, 1])
        Trajectory(view 1 @ view 1 @ view 0; 100 samples)
        """
        from .trajectory import Trajectory, check_steps

        return Trajectory(self, check_steps(steps, self))

    def new_rows(
        self, Xs_new: Any = None, *, affinities: Any = None, n_jobs: int | None = None
    ) -> list[sparse.csr_array]:
        """Return the transition rows of new samples to the samples of this set, for each base view.

        A new sample is joined to its ``K + 1`` nearest samples and to those that would have it among their ``K``
        nearest; affinities are those of the view's kernel. A sample of this set, given again, gets its own row; where
        several coincide, the row of the first. A row does not depend on the other new samples.

        Parameters
        ----------
        Xs_new : list, tuple or dict of 2-D arrays, sparse matrices or DataFrames
            M new samples, with the views and features of :func:`build_operators`; a dict is matched by view name. The
            arrays given there must not have changed since.
        affinities : list, tuple or dict of (M, N) matrices
            In place of `Xs_new`: non-negative affinities of new samples with the samples of this set, for each base
            view, which are only divided by their row sums. Sets made from matrices or from graphs that were given
            have no other way.
        n_jobs : int or None
            Threads; None: those of the set.

        Returns
        -------
        list of scipy.sparse.csr_array
            An (M, N) matrix with rows that sum to 1 for each base view. A sample without affinity to any other
            (``symmetrize="min"`` can do that) goes to its nearest, with an :class:`OperatorWarning`.
        """
        from .._graphs.new_rows import normalize_affinities, transition_rows

        if (Xs_new is None) == (affinities is None):
            got = "neither" if Xs_new is None else "both"
            raise TypeError(f"Xs_new, affinities: expected one of the two, got {got}")
        threads = n_threads(self.n_jobs if n_jobs is None else n_jobs)
        names = self.names[: self.n_views]
        if affinities is not None:
            rows = normalize_affinities(affinities, names, self.n_samples, threads)
        else:
            rows = transition_rows(Xs_new, names, self._training_views, threads)
        return [matrix.astype(self.dtype, copy=False) for matrix in rows]

    def mean(self) -> Trajectory:
        """Return the mean of all members, a trajectory of one step."""
        return self.trajectory(np.full((1, len(self)), 1.0 / len(self)))

    def check(self, *, warn: bool = True) -> CheckReport:
        """Report what could spoil a walk: stochasticity, self-loops, connectivity, isolated or duplicated points.

        Parameters
        ----------
        warn : bool
            Also issue each finding as an :class:`OperatorWarning`. Nothing is ever refused.
        """
        from .checks import check_operators

        return check_operators(self, warn=warn)


def is_single(dtype: DTypeLike | None, given: Sequence[Any]) -> bool:
    """Are the operators to be float32? By default only if everything given is."""
    if dtype is None:
        return all(d in (np.float32, np.float16) for d in given)
    try:
        wanted = np.dtype(dtype)
    except TypeError:
        raise TypeError(f"dtype: expected 'float32' or 'float64', got {dtype!r}") from None
    if wanted not in (np.float32, np.float64):
        raise ValueError(f"dtype: expected 'float32' or 'float64', got {dtype!r}")
    return bool(wanted == np.float32)


def _check_square(
    given: Any, argument: str, names: Sequence[str] | None, *, default: str = "view", start: int = 0
) -> tuple[list[sparse.csr_array], list[str]]:
    """Return square finite CSR matrices of one size and their names."""
    if isinstance(given, dict):
        names = list(map(str, given)) if names is None else names
        given = list(given.values())
    if sparse.issparse(given) or (isinstance(given, np.ndarray) and given.ndim == 2):
        given = [given]
    if not isinstance(given, (list, tuple, np.ndarray)):
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
            # Stored zeros would count as edges. On a copy: the matrix is the caller's.
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
    """Return K made exactly symmetric; refuse it if it is not nearly so."""
    difference = abs(K - K.T).tocoo()
    if difference.nnz:
        # Of a pair only one entry may be stored; the larger of the two is what the difference is measured by.
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


def _stochastic(matrices: Sequence[sparse.csr_array], single: bool, n_jobs: int | None) -> list[_core.Transition]:
    transitions = []
    for v, P in enumerate(matrices):
        _refuse_negative(P, f"Ps[{v}]")
        tolerance = _STOCHASTIC_TOLERANCE[np.float32 if single or P.dtype == np.float32 else np.float64]
        transitions.append(
            _named(f"Ps[{v}]", _core.Transition.from_stochastic, P, tolerance=tolerance, single=single,
                   n_threads=n_threads(n_jobs))
        )  # fmt: skip
    return transitions


def _named(name: str, make: Any, matrix: sparse.csr_array, **settings: Any) -> _core.Transition:
    """Call a constructor of the core on a matrix; errors name the argument."""
    parts: tuple[NDArray[Any], ...] = (
        matrix.indptr.astype(np.int64),
        matrix.indices.astype(np.int32),
        matrix.data.astype(np.float64),
    )
    try:
        made: _core.Transition = make(*parts, **settings)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None
    return made
