"""Operator sets: the operators from which the steps of trajectories are chosen."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterable, Iterator, Sequence
from copy import copy
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from .. import _core
from .._core import Member
from .._graphs.frozen import freeze
from .._graphs.presence import Presence, has_samples
from .._support.arguments import check_flag, check_integer, check_number
from .._support.csr import to_parts, to_scipy
from .._support.threads import n_threads
from .given_matrices import affinity_transitions, check_square, is_single_precision, stochastic_transitions

if TYPE_CHECKING:
    from scipy.sparse.linalg import LinearOperator

    from .._graphs.joint import JointView
    from .._graphs.new_rows import TrainingView
    from .._support.monitor import Monitor
    from .checks import CheckReport
    from .trajectory import Trajectory

# Largest accepted exponent: each power is applied step by step.
MAX_POWER = 2**20

# From this number of samples on, the core keeps the matrices once, in the order that suits the cache, and the matrices
# in the given order are made where they are needed. (10,000,000 samples, two views, 15 neighbours: 4.2 GB less.)
ONE_COPY = 500_000


class OperatorSet:
    """Random-walk operators on the same samples, and further operators made from them.

    Made by :func:`build_operators`, :meth:`from_affinities` or :meth:`from_transitions`. The
    methods ``with_...`` return a larger set that shares the same matrices. The first members are
    the base views. Sets are immutable; they can be pickled and copied.

    Attributes
    ----------
    n_samples : int
        Number of samples N.
    members : tuple of Member
        The members: their kind, and the stored walks of which they consist.
    names : list of str
        Names of the members.
    n_views : int
        Number of base views.
    bandwidths : tuple
        Bandwidth of the kernel of each base view: a number, an array of N numbers, or None if there
        is none.
    n_duplicates : tuple of int or None
        For each base view the number of samples that coincide with a neighbour; None if distances
        are unknown.
    dtype : numpy.dtype
        Element type of the matrices and of all results computed with them.
    n_jobs : int or None
        Number of threads of the trajectories of this set.
    absent : {"borrow", "stay"}
        What a step of a base view does with a sample that the view lacks.
    transitions : tuple
        The stored transition matrices as objects of the compiled core. The row of a sample that a
        base view lacks is empty if it is borrowed.
    native : object
        The set as the compiled core holds it.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> ops = mdt.build_operators(views)
    >>> ops.n_samples, ops.n_views, ops.names
    (150, 2, ['view 0', 'view 1'])
    >>> ops.with_identity().with_mean().names
    ['view 0', 'view 1', 'identity', 'mean']
    >>> ops.trajectory([0, 1]).shape
    (150, 150)
    """

    def __init__(
        self,
        transitions: Sequence[_core.Transition],
        members: Sequence[Member],
        names: Sequence[str],
        *,
        n_views: int,
        bandwidths: Sequence[Any],
        n_duplicates: Sequence[int | None],
        training_views: Sequence[TrainingView | None],
        joint: JointView | None = None,
        presences: Sequence[Presence | None] | None = None,
        absent: str = "borrow",
        n_jobs: int | None,
    ) -> None:
        self.n_samples = transitions[0].n
        self.dtype: np.dtype[Any] = transitions[0].values.dtype
        self.members = tuple(members)
        self._presences = [None] * n_views if presences is None else list(presences)
        self.absent = absent
        self.n_duplicates = tuple(n_duplicates)
        self._training_views = list(training_views)
        self._joint = joint
        self.names = list(names)
        self.n_views = n_views
        self.bandwidths = tuple(bandwidths)
        self.n_jobs = n_jobs
        self.native = self._make_native(transitions)

    def _make_native(self, transitions: Sequence[_core.Transition]) -> _core.OperatorSet:
        walks, members = list(transitions), list(self.members)
        if self.has_absences:
            nothing = np.empty(0, dtype=np.uint32)
            lacking = [nothing if each is None else each.lacking() for each in self._presences]
            lacking += [nothing] * (len(walks) - len(lacking))
            n_lenders = len(self.given_names) if self.absent == "borrow" else 0
            native = _core.OperatorSet(walks, members, lacking, n_lenders)
        else:
            native = _core.OperatorSet(walks, members)
        return native.keep_copy_alone(n_threads(self.n_jobs)) if self.n_samples >= ONE_COPY else native

    @classmethod
    def _of_views(
        cls,
        transitions: Sequence[_core.Transition],
        names: Sequence[str],
        *,
        bandwidths: Sequence[Any] | None = None,
        n_duplicates: Sequence[int | None] | None = None,
        training_views: Sequence[TrainingView | None] | None = None,
        joint: JointView | None = None,
        presences: Sequence[Presence | None] | None = None,
        absent: str = "borrow",
        n_jobs: int | None,
    ) -> OperatorSet:
        nothing = [None] * len(transitions)
        return cls(
            transitions,
            [Member.walk(v) for v in range(len(transitions))],
            names,
            n_views=len(transitions),
            bandwidths=nothing if bandwidths is None else bandwidths,
            n_duplicates=nothing if n_duplicates is None else n_duplicates,
            training_views=nothing if training_views is None else training_views,
            joint=joint,
            presences=presences,
            absent=absent,
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
        """Make the walks ``P = D^-1 K`` of symmetric non-negative affinities.

        Parameters
        ----------
        Ks : list, tuple or dict of (N, N) arrays or sparse matrices
            Affinities of the views: symmetric, non-negative, with a positive sum in every row.
        names : list of str, default=None
            Names of the views; None takes the keys of a dict, or "view 0", "view 1", ...
        anisotropy : float, default=0.0
            Exponent ``alpha`` of ``K_ij / (q_i q_j)^alpha``, with ``q`` the row sums of ``K``.
        dtype : {None, "float32", "float64"}, default=None
            Element type of the operators; None is float32 if every matrix is, else float64.
        n_jobs : int or None, default=None
            Number of threads for this call and for the result; None or -1 uses all.

        Returns
        -------
        OperatorSet
            One member for each affinity.

        Raises
        ------
        ValueError
            If a matrix is not square, symmetric and non-negative, or has a row without affinity.

        Examples
        --------
        >>> import numpy as np
        >>> import mdt_fast as mdt
        >>> K = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 2.0], [0.0, 2.0, 2.0]])
        >>> ops = mdt.OperatorSet.from_affinities({"links": K})
        >>> ops.walk_matrix(0).toarray()
        array([[0.5 , 0.5 , 0.  ],
               [0.25, 0.25, 0.5 ],
               [0.  , 0.5 , 0.5 ]])
        """
        check_number("anisotropy", anisotropy)
        matrices, names = check_square(Ks, "Ks", _check_names(names))
        single_precision = is_single_precision(dtype, [K.dtype for K in matrices])
        transitions = affinity_transitions(matrices, float(anisotropy), single_precision, n_jobs)
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
        """Use row-stochastic matrices as the base views.

        Parameters
        ----------
        Ps : list, tuple or dict of (N, N) arrays or sparse matrices
            Non-negative matrices with rows that sum to 1 (to 1e-8, or 1e-5 in float32; rows are
            then rescaled to sum to 1).
        names : list of str, default=None
            Names of the views; None takes the keys of a dict, or "view 0", "view 1", ...
        dtype : {None, "float32", "float64"}, default=None
            Element type of the operators; None is float32 if every matrix is, else float64.
        n_jobs : int or None, default=None
            Number of threads for this call and for the result; None or -1 uses all.

        Returns
        -------
        OperatorSet
            One member for each matrix.

        Raises
        ------
        ValueError
            If a matrix is not square, non-negative and row-stochastic.

        Examples
        --------
        >>> import numpy as np
        >>> import mdt_fast as mdt
        >>> P = np.array([[0.5, 0.5, 0.0], [0.0, 0.5, 0.5], [0.5, 0.0, 0.5]])
        >>> ops = mdt.OperatorSet.from_transitions([P, P.T], names=["forth", "back"])
        >>> ops.trajectory(["forth", "back"]).toarray()
        array([[0.5 , 0.25, 0.25],
               [0.25, 0.5 , 0.25],
               [0.25, 0.25, 0.5 ]])
        """
        matrices, names = check_square(Ps, "Ps", _check_names(names))
        single_precision = is_single_precision(dtype, [P.dtype for P in matrices])
        return cls._of_views(stochastic_transitions(matrices, single_precision, n_jobs), names, n_jobs=n_jobs)

    def __len__(self) -> int:
        """Return the number of members."""
        return len(self.members)

    def __getitem__(self, member: int | str) -> sparse.csr_array | LinearOperator:
        """Return a member by index or name: a CSR matrix if stored, else a linear operator."""
        if isinstance(member, str):
            if member not in self.names:
                raise KeyError(f"member: expected one of {self.names}, got {member!r}")
            member = self.names.index(member)
        index = check_integer("member", member, minimum=-sys.maxsize)
        if not -len(self) <= index < len(self):
            raise IndexError(f"member: expected an index below {len(self)}, got {index}")
        index %= len(self)
        if self.members[index].kind == "walk":
            return self.walk_matrix(self.members[index].bases[0])
        return self.trajectory([index])

    def __iter__(self) -> Iterator[Any]:
        """Iterate over the members."""
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        """Return size, members and element type."""
        return f"OperatorSet({self.n_samples} samples, members: {', '.join(self.names)}; {self.dtype})"

    def __copy__(self) -> OperatorSet:
        """Return a set with the same matrices, which nothing changes."""
        made = object.__new__(type(self))
        made.__dict__.update(self.__dict__)
        return made

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes and the transitions, from which the native set is made again."""
        state = {key: value for key, value in self.__dict__.items() if key != "native"}
        return {**state, "transitions": self.transitions}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the attributes and make the native set."""
        # Sets of earlier versions have all samples in every view.
        state = {"_presences": [None] * state.get("n_views", 0), "absent": "borrow", **state}
        transitions = state.pop("transitions")
        self.__dict__.update(state)
        self.native = self._make_native(transitions)

    @property
    def transitions(self) -> tuple[_core.Transition, ...]:
        """The stored transition matrices as objects of the compiled core."""
        return tuple(map(self._transition, range(self.native.n_transitions)))

    def _transition(self, index: int) -> _core.Transition:
        """Return a stored matrix; a large set makes it at each call."""
        return self.native.transition(index, n_threads(self.n_jobs))

    @property
    def joint(self) -> int | None:
        """Index of the joint view, the last base view; None if the set has none."""
        return None if self._joint is None else self.n_views - 1

    @property
    def given_names(self) -> list[str]:
        """Names of the base views that were given: all but the joint view."""
        return self.names[: self.n_views if self._joint is None else self.n_views - 1]

    @property
    def has_absences(self) -> bool:
        """Whether some base view lacks samples."""
        return any(presence is not None for presence in self._presences)

    @property
    def present(self) -> NDArray[np.bool_]:
        """Which samples each base view has, an (N, n_views) array; the joint view has all."""
        return np.column_stack([has_samples(presence, self.n_samples) for presence in self._presences])

    @property
    def metrics(self) -> tuple[str | None, ...]:
        """The metric of each base view; None for a view that was given as a matrix or graph."""
        return tuple(None if each is None else each.metric for each in self._training_views)

    @property
    def scales(self) -> tuple[str | None, ...]:
        """How the features of each base view were scaled; None if they were not."""
        scalings = [None if each is None else each.scaling for each in self._training_views]
        return tuple(None if each is None else each.name for each in scalings)

    @property
    def views(self) -> tuple[sparse.csr_array, ...]:
        """The base views, read-only CSR matrices.

        They share memory with the set, except those of views that lack samples and borrow rows, and those of sets of
        500,000 samples or more. These are made at each access.
        """
        lent = self._lent_rows() if any(map(self._borrows, range(self.n_views))) else None
        return tuple(self._walk_matrix(v, lent) for v in range(self.n_views))

    @property
    def affinities(self) -> tuple[sparse.csr_array, ...]:
        """The symmetric affinities ``K = D P`` of the base views, made at each access.

        Views that were given as transition matrices (:meth:`from_transitions`) have none. The row of a sample
        that a view lacks is empty if it is borrowed.
        """
        for view, name in enumerate(self.names[: self.n_views]):
            if self.native.transition_in_any_order(view).degrees is None:
                raise ValueError(f"ops: expected views with symmetric affinities, got {name!r}, which is a walk only")
        walks = map(self._transition, range(self.n_views))
        return tuple(
            sparse.csr_array(sparse.diags_array(np.asarray(P.degrees)) @ to_scipy(P, self.n_samples)) for P in walks
        )

    def walk_matrix(self, index: int) -> sparse.csr_array:
        """Return a stored walk as a read-only CSR matrix that shares memory with the set.

        For a base view that lacks samples and borrows rows, and for a set of 500,000 samples or more, the matrix is
        made at each call.

        Parameters
        ----------
        index : int
            Index in `transitions`: the base views first, then the matrices of
            :meth:`with_transitions`.

        Returns
        -------
        scipy.sparse.csr_array
            The (N, N) transition matrix.

        Examples
        --------
        >>> import mdt_fast as mdt
        >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
        >>> ops = mdt.build_operators(views)
        >>> P = ops.walk_matrix(0)
        >>> P.shape, bool(abs(P.sum(axis=1) - 1).max() < 1e-12)
        ((150, 150), True)
        """
        index = check_integer("index", index, minimum=-self.native.n_transitions, maximum=self.native.n_transitions - 1)
        index %= self.native.n_transitions
        return self._walk_matrix(index, self._lent_rows() if self._borrows(index) else None)

    def _walk_matrix(self, index: int, lent: sparse.csr_array | None) -> sparse.csr_array:
        """Return a stored walk; `lent` are the rows that it may borrow, None if no walk does."""
        from .._graphs.absence import borrow_in

        stored = to_scipy(self._transition(index), self.n_samples)
        if lent is None or not self._borrows(index):
            return stored
        return freeze(borrow_in(stored, self._presences[index], lent).astype(self.dtype))

    def _view_rows(self) -> Iterator[_core.Transition | _core.CsrParts]:
        """Yield the rows of each base view for the core: the stored walk, or a copy if it borrows rows."""
        lent = self._lent_rows() if any(map(self._borrows, range(self.n_views))) else None
        for view in range(self.n_views):
            yield to_parts(self._walk_matrix(view, lent)) if self._borrows(view) else self._transition(view)

    def _lent_rows(self) -> sparse.csr_array:
        """Return the rows that the given views lend to a view that lacks a sample."""
        from .._graphs.absence import lent_rows

        n_given = len(self.given_names)
        lenders = [to_scipy(self._transition(view), self.n_samples) for view in range(n_given)]
        return lent_rows(lenders, self._presences[:n_given])

    def _borrows(self, index: int) -> bool:
        """Return whether a stored walk borrows rows of others."""
        return self.absent == "borrow" and index < self.n_views and self._presences[index] is not None

    def _is_reversible(self, index: int) -> bool:
        """Return whether a stored walk has a symmetric affinity; one that borrows rows has none."""
        return not self._borrows(index) and self.native.transition_in_any_order(index).degrees is not None

    def _present_transition(self, view: int, *, in_any_order: bool = False) -> _core.Transition:
        """Return the walk of a base view among the samples that it has, in their order unless any will do."""
        presence = self._presences[view]
        if presence is None and in_any_order:
            return self.native.transition_in_any_order(view)
        stored = self._transition(view)
        if presence is None:
            return stored
        own = to_scipy(stored, self.n_samples)[presence.samples][:, presence.samples]
        degrees = None if stored.degrees is None else np.ascontiguousarray(stored.degrees[presence.samples])
        return _core.Transition.restore(own.indptr.astype(np.int64), own.indices.astype(np.int32), own.data, degrees)

    def stored_walks(self, indices: Iterable[int]) -> list[int]:
        """Return the stored walks of which some members consist.

        Parameters
        ----------
        indices : iterable of int
            Indices of members.

        Returns
        -------
        list of int
            Ascending indices in `transitions`.

        Examples
        --------
        >>> import mdt_fast as mdt
        >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
        >>> ops = mdt.build_operators(views)
        >>> ops.with_mean().names
        ['view 0', 'view 1', 'mean']
        >>> ops.with_mean().stored_walks([2])
        [0, 1]
        """
        # An array of no dimensions has the method, but no items.
        if not isinstance(indices, Iterable) or getattr(indices, "ndim", 1) == 0:
            raise TypeError(f"indices: expected indices of members, got {indices!r}")
        chosen = [check_integer("indices", i, minimum=-len(self), maximum=len(self) - 1) for i in indices]
        return sorted({base for i in chosen for base in self.members[i].bases})

    def _with(
        self, members: Sequence[Member], names: Sequence[str], transitions: Sequence[_core.Transition] = ()
    ) -> OperatorSet:
        # A second identity is allowed; its name tells it from the first.
        taken = list(self.names)
        for name in names:
            count = sum(t == name or t.startswith(f"{name} (") for t in taken)
            taken.append(f"{name} ({count + 1})" if count else name)
        made = copy(self)
        made.members, made.names = (*self.members, *members), taken
        made.native = self.native.extended(list(transitions), list(made.members), n_threads(self.n_jobs))
        return made

    def with_mean(self) -> OperatorSet:
        """Add the mean of the base views, ``(P_0 + ... + P_(V-1)) / V``, which is never formed.

        The last step of a sequence of views is one view, and samples that this view cannot separate
        stay together. A sequence that ends in the mean has no such limit.

        Returns
        -------
        OperatorSet
            The set with the additional member "mean".

        Examples
        --------
        >>> import mdt_fast as mdt
        >>> data = mdt.datasets.make_multiview_blobs(500, random_state=0)
        >>> ops = mdt.build_operators(data.views).with_mean()
        >>> ops.trajectory([0, "mean"])
        Trajectory(mean @ view 0; 500 samples)
        """
        return self._with([Member.mean(self.n_views)], ["mean"])

    def with_identity(self) -> OperatorSet:
        """Add the identity, the step that stays where it is.

        Returns
        -------
        OperatorSet
            The set with the additional member "identity".

        Examples
        --------
        >>> import mdt_fast as mdt
        >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
        >>> ops = mdt.build_operators(views)
        >>> ops.with_identity().names
        ['view 0', 'view 1', 'identity']
        """
        return self._with([Member.identity()], ["identity"])

    def with_uniform(self) -> OperatorSet:
        """Add the jump to any sample with equal probability, ``11^T / N``, which is never formed.

        Returns
        -------
        OperatorSet
            The set with the additional member "uniform".

        Examples
        --------
        >>> import mdt_fast as mdt
        >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
        >>> ops = mdt.build_operators(views)
        >>> ops.with_uniform().names
        ['view 0', 'view 1', 'uniform']
        >>> ops.with_uniform().trajectory(["uniform"]).toarray()[0, :2].round(4)
        array([0.0067, 0.0067])
        """
        return self._with([Member.uniform()], ["uniform"])

    def with_teleport(self, alpha: float = 0.85, to: str | int = "uniform") -> OperatorSet:
        """Add ``alpha P_v + (1 - alpha) L`` for each base view.

        Parameters
        ----------
        alpha : float, default=0.85
            Probability of an ordinary step, between 0 and 1.
        to : "uniform" or int, default="uniform"
            Distribution L of the other steps: "uniform" is a jump to any sample, an integer s >= 2
            is ``P_v^s``, s steps of the same view.

        Returns
        -------
        OperatorSet
            The set with one additional member for each base view.

        Examples
        --------
        >>> import mdt_fast as mdt
        >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
        >>> ops = mdt.build_operators(views)
        >>> ops.with_teleport(0.9).names
        ['view 0', 'view 1', 'teleport(view 0, 0.9, uniform)', 'teleport(view 1, 0.9, uniform)']
        """
        alpha = check_number("alpha", alpha, maximum=1.0)
        exponent = None
        if not isinstance(to, str):
            exponent = check_integer("to", to, minimum=2, maximum=MAX_POWER)
        elif to != "uniform":
            raise ValueError(f"to: expected 'uniform' or an integer >= 2, got {to!r}")
        landing = "uniform" if exponent is None else f"^{exponent}"
        members = [Member.teleport(v, alpha, exponent) for v in range(self.n_views)]
        return self._with(members, [f"teleport({name}, {alpha:g}, {landing})" for name in self.names[: self.n_views]])

    def with_powers(self, powers: Sequence[int]) -> OperatorSet:
        """Add ``P_v^s`` for each exponent s and each base view, applied as s steps.

        Parameters
        ----------
        powers : sequence of int
            The exponents, at least 1.

        Returns
        -------
        OperatorSet
            The set with ``len(powers) * n_views`` additional members.

        Examples
        --------
        >>> import mdt_fast as mdt
        >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
        >>> ops = mdt.build_operators(views)
        >>> ops.with_powers([2, 4]).names
        ['view 0', 'view 1', 'view 0^2', 'view 1^2', 'view 0^4', 'view 1^4']
        """
        if not isinstance(powers, (Sequence, np.ndarray)) or getattr(powers, "ndim", 1) == 0:
            raise TypeError(f"powers: expected a sequence of integers, got {powers!r}")
        exponents = [check_integer("powers", s, minimum=1, maximum=MAX_POWER) for s in powers]
        if not exponents:
            raise ValueError("powers: expected at least one exponent, got none")
        members = [Member.power(v, s) for s in exponents for v in range(self.n_views)]
        return self._with(members, [f"{name}^{s}" for s in exponents for name in self.names[: self.n_views]])

    def with_transitions(self, Ps: Any, *, names: Sequence[str] | None = None) -> OperatorSet:
        """Add row-stochastic matrices as members.

        They are not base views: qualities do not use them.

        Parameters
        ----------
        Ps : list, tuple or dict of (N, N) arrays or sparse matrices
            Matrices as in :meth:`from_transitions`.
        names : list of str, default=None
            Names of the members; None takes the keys of a dict, or "given 0", "given 1", ...

        Returns
        -------
        OperatorSet
            The set with one additional member for each matrix.

        Examples
        --------
        >>> import numpy as np
        >>> import mdt_fast as mdt
        >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
        >>> ops = mdt.build_operators(views)
        >>> ops.with_transitions({"shuffle": np.eye(150)[::-1]}).names
        ['view 0', 'view 1', 'shuffle']
        """
        first = self.native.n_transitions
        matrices, names = check_square(Ps, "Ps", _check_names(names), default="given", start=first - self.n_views)
        if matrices[0].shape[0] != self.n_samples:
            got = matrices[0].shape
            raise ValueError(f"Ps: expected matrices of shape {(self.n_samples, self.n_samples)}, got {got}")
        transitions = stochastic_transitions(matrices, self.dtype == np.float32, self.n_jobs)
        return self._with([Member.walk(first + i) for i in range(len(transitions))], names, transitions)

    def trajectory(self, steps: Any) -> Trajectory:
        """Return the product ``W_t ... W_1`` of a sequence or of weights.

        Parameters
        ----------
        steps : sequence of int or str, or (t, len(self)) array
            A sequence: the member at each step, the first step first, by index or by name. Or
            weights: one row on the simplex for each step.

        Returns
        -------
        Trajectory
            The product, which is never formed.

        Raises
        ------
        TypeError, ValueError
            If `steps` is neither a sequence of members nor weights on the simplex.

        Examples
        --------
        >>> import numpy as np
        >>> import mdt_fast as mdt
        >>> ops = mdt.build_operators(np.random.default_rng(0).normal(size=(2, 100, 5)).tolist())
        >>> ops.trajectory([0, 1, 1])
        Trajectory(view 1 @ view 1 @ view 0; 100 samples)
        """
        from .trajectory import Trajectory, check_steps

        try:
            return Trajectory(self, check_steps(steps, self))
        except (TypeError, ValueError) as error:
            raise type(error)(f"steps: {error}") from None

    def new_rows(
        self, Xs_new: Any = None, *, affinities: Any = None, n_jobs: int | None = None
    ) -> list[sparse.csr_array]:
        """Return the transition rows of new samples to the samples of this set, for each base view.

        A new sample is joined to its ``K + 1`` nearest samples and to the samples that would have
        it among their ``K`` nearest. Affinities are those of the kernel of the view. A sample of
        this set that is given again gets its own row; if several samples coincide, the row of the
        first. A row does not depend on the other new samples.

        Parameters
        ----------
        Xs_new : list, tuple or dict of 2-D arrays, sparse matrices or DataFrames, default=None
            M new samples with the views and features of :func:`build_operators`, without the joint
            view; a dict is matched by the names of the views. A sample may lack views: its row is
            NaN, and a view that all samples lack is None or not in the dict. It then takes the
            mean of its rows in the views that it has.
        affinities : list, tuple or dict of (M, N) matrices, default=None
            Instead of `Xs_new`: non-negative affinities of the new samples to the samples of this
            set, for each base view; each row is divided by its sum. Sets made from given matrices
            or graphs require it.
        n_jobs : int or None, default=None
            Number of threads; None uses the number of the set.

        Returns
        -------
        list of scipy.sparse.csr_array
            For each base view an (M, N) matrix with rows that sum to 1. A sample without affinity
            to any other (possible with ``symmetrize="min"``) steps to its nearest sample, with an
            :class:`OperatorWarning`.

        Raises
        ------
        TypeError
            If both or neither of `Xs_new` and `affinities` are given.
        ValueError
            If the views do not match those of the set.

        Examples
        --------
        >>> import mdt_fast as mdt
        >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
        >>> ops = mdt.build_operators(views)
        >>> rows = ops.new_rows([X[:5] for X in views])
        >>> len(rows), rows[0].shape
        (2, (5, 150))
        >>> bool(abs(rows[0].sum(axis=1) - 1).max() < 1e-12)
        True
        """
        return self._rows_of(Xs_new, "Xs_new", affinities, n_jobs)

    def _rows_of(
        self, Xs_new: Any, argument: str, affinities: Any = None, n_jobs: int | None = None
    ) -> list[sparse.csr_array]:
        """Return :meth:`new_rows`; messages name the `argument` in which the caller got the samples."""
        batches = list(self._batches_of(Xs_new, argument, affinities, n_jobs))
        if len(batches) == 1:
            return batches[0]
        return [sparse.csr_array(sparse.vstack(parts, format="csr")) for parts in zip(*batches, strict=True)]

    def _batches_of(
        self,
        Xs_new: Any,
        argument: str,
        affinities: Any = None,
        n_jobs: int | None = None,
        monitor: Monitor | None = None,
    ) -> Iterator[list[sparse.csr_array]]:
        """Return the rows of :meth:`new_rows` for some new samples at a time, so that not all exist at once."""
        from .._graphs.new_rows import FarSamples, check_training, connect, normalize_affinities, transition_rows

        if (Xs_new is None) == (affinities is None):
            got = "neither" if Xs_new is None else "both"
            raise TypeError(f"{argument}, affinities: expected one of the two, got {got}")
        threads = n_threads(self.n_jobs if n_jobs is None else n_jobs)
        names = self.names[: self.n_views]
        if affinities is not None:
            rows = normalize_affinities(affinities, names, self.n_samples, threads)
            yield [matrix.astype(self.dtype, copy=False) for matrix in rows]
            return
        # Checks that need no samples come first.
        training = check_training(self._training_views, names, argument)
        far = FarSamples()
        for new_views in connect(Xs_new, names, training, self._joint, threads, argument, monitor):
            far.note(new_views)
            rows = transition_rows(new_views, len(self.given_names))
            yield [matrix.astype(self.dtype, copy=False) for matrix in rows]
        far.warn(names)

    def remoteness(self, Xs_new: Any, *, n_jobs: int | None = None) -> NDArray[np.float64]:
        """Return how far new samples are from the samples of this set, in each base view.

        It is the distance to the nearest sample of this set, divided by the distance of that sample
        to the last of its own ``K`` neighbours. A value above 1.5 means that the sample is far from
        all samples of the set, and that its transition row says little.

        Parameters
        ----------
        Xs_new : list, tuple or dict of 2-D arrays, sparse matrices or DataFrames
            M new samples, as in :meth:`new_rows`.
        n_jobs : int or None, default=None
            Number of threads; None uses the number of the set.

        Returns
        -------
        (M, n_views) array
            Values from 0 (a sample of this set) to inf; nan in a view that the sample lacks.

        Raises
        ------
        ValueError
            If the views do not match those of the set, or were made from given matrices or graphs.

        Examples
        --------
        >>> import mdt_fast as mdt
        >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
        >>> ops = mdt.build_operators(views)
        >>> ops.remoteness([X[:2] for X in views])  # samples of the set
        array([[0., 0.],
               [0., 0.]])
        >>> bool(ops.remoteness([X[:2] + 100 for X in views]).min() > 1.5)  # samples far from all others
        True
        """
        from .._graphs.new_rows import check_training, connect

        threads, names = n_threads(self.n_jobs if n_jobs is None else n_jobs), self.names[: self.n_views]
        training = check_training(self._training_views, names, need_rows=False)
        batches = connect(Xs_new, names, training, self._joint, threads)
        return np.concatenate([np.column_stack([each.remoteness() for each in new_views]) for new_views in batches])

    def has_same_members(self, other: OperatorSet) -> bool:
        """Return whether weights mean the same in another set: equal members and matrices.

        Examples
        --------
        >>> import mdt_fast as mdt
        >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
        >>> ops = mdt.build_operators(views)
        >>> ops.has_same_members(mdt.build_operators(views)), ops.has_same_members(ops.with_mean())
        (True, False)
        """
        if self is other:
            return True
        if not isinstance(other, OperatorSet):
            raise TypeError(f"other: expected an OperatorSet, got {type(other).__name__}")
        if (self.n_samples, self.members, self.dtype) != (other.n_samples, other.members, other.dtype):
            return False
        if len(self.given_names) != len(other.given_names) and (self.has_absences or other.has_absences):
            # Borrowed rows are those of the given views.
            return False
        if self.native.shares_matrices(other.native):
            return True
        walks = range(min(self.native.n_transitions, other.native.n_transitions))
        return all(_are_equal(self._transition(i), other._transition(i)) for i in walks)

    def mean(self) -> Trajectory:
        """Return the mean of all members, a trajectory of one step.

        Examples
        --------
        >>> import mdt_fast as mdt
        >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
        >>> ops = mdt.build_operators(views)
        >>> ops.mean().weights
        array([[0.5, 0.5]])
        """
        return self.trajectory(np.full((1, len(self)), 1.0 / len(self)))

    def check(self, *, warn: bool = True) -> CheckReport:
        """Report row sums, self-loops, connectivity, isolated and duplicated samples of members.

        Parameters
        ----------
        warn : bool, default=True
            Also issue each finding as an :class:`OperatorWarning`. Nothing is refused.

        Returns
        -------
        CheckReport
            The findings for each member; ``print(report)`` shows a table.

        Examples
        --------
        >>> import mdt_fast as mdt
        >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
        >>> ops = mdt.build_operators(views)
        >>> print(ops.check(warn=False))
        2 operators on 150 samples
        member  samples  rows sum to 1  self-loops  stays put  parts  isolated  duplicates
        ------  -------  -------------  ----------  ---------  -----  --------  ----------
        view 0      150            yes         all      0.225      3         0           0
        view 1      150            yes         all      0.216      3         0           0
        ! view 0: its graph falls into 3 parts; more neighbours would join them
        ! view 1: its graph falls into 3 parts; more neighbours would join them
        """
        from .checks import check_operators

        return check_operators(self, warn=check_flag("warn", warn))


def _check_names(names: Any) -> list[str] | None:
    if names is None:
        return None
    # A range may have any length, and no name.
    is_list = isinstance(names, Collection) and not isinstance(names, (str, bytes, range))
    is_list = is_list and getattr(names, "ndim", 1) == 1
    if not is_list or any(isinstance(name, (list, tuple, np.ndarray)) for name in names):
        raise TypeError(f"names: expected a list of names, one for each matrix, got {names!r}")
    return [str(name) for name in names]


def _are_equal(a: _core.Transition, b: _core.Transition) -> bool:
    parts = ((a.indptr, b.indptr), (a.indices, b.indices), (a.values, b.values))
    return all(np.array_equal(x, y) for x, y in parts)
