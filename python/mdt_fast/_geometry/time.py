"""The diffusion time: the knee of the entropy of singular values over time."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._core import power_values
from .._operators.operator_set import OperatorSet
from .._operators.trajectory import Trajectory
from .._support import memory as _memory
from .._support.arguments import LARGEST_STEPS, RandomStateLike, check_choice, check_integer
from .._support.monitor import OutOfTimeError, ProgressLike, watch
from .._support.plotting import draw
from .._support.seed import check_seed
from .._support.threads import n_threads
from .._support.warnings import TimeSelectionWarning, warn_user
from .entropy_curve import EntropyCurve
from .knee import first_knee
from .spectrum import eigenvalues

METHODS = ("auto", "exact", "spectral", "stochastic")

# Fifty powers of this size take half a second of one core; at twice the size, four.
_EXACT_SAMPLES = 500
# Bytes of the dense matrices and of one decomposition, for each entry.
_BYTES_PER_ENTRY, _BYTES_PER_THREAD = 96, 40

# Number of random vectors times number of samples, by default.
_VECTORS_TIMES_SAMPLES = 2**17
# Largest number of random vectors for fewer samples than this.
_MOST_VECTORS = 1024
# The time if a limit ends the choice before anything is known. Knees of the 12 published sets are 7 to 14, the lower
# quartile is 8.
_UNKNOWN_TIME = 8


@dataclass(frozen=True, eq=False)
class TimeSelection:
    """A diffusion time and the entropy curve from which it was chosen, made by :func:`select_time`.

    Attributes
    ----------
    t : int
        The knee of `entropies`; 1 if there is none.
    times : (max_t,) array of int
        1, 2, ..., max_t.
    entropies : (max_t,) array
        Entropy at each time. The estimator stops when the knee is certain, and a time limit may stop any method; nan
        beyond the last evaluated time.
    method : {"exact", "spectral", "stochastic"}
        The method that was used.
    error : (max_t,) array
        Standard error of each entropy; zeros unless the method is "stochastic", and nan where entropies are nan.
    has_knee : bool
        Whether the curve has a knee.
    evaluated : (m,) array of int
        The times at which the entropy was computed; it is interpolated at the others.
    n_column_steps : int
        Number of products of one vector with one step in the estimator; 0 for the other methods.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> ops = mdt.build_operators(views)
    >>> selection = mdt.select_time(ops)
    >>> selection.t, selection.method, selection.has_knee
    (7, 'exact', True)
    """

    t: int
    times: NDArray[np.int64]
    entropies: NDArray[np.float64]
    method: str
    error: NDArray[np.float64]
    has_knee: bool
    evaluated: NDArray[np.int64]
    n_column_steps: int

    def __repr__(self) -> str:
        """Return the time, the method and the ends of the curve."""
        knee = "" if self.has_knee else " (no knee)"
        shown = dict.fromkeys([1, self.t, *self.evaluated[-1:].tolist()])
        curve = ", ".join(f"{self.entropies[time - 1]:.4g} at {time}" for time in shown)
        return f"TimeSelection(t={self.t}{knee}, method={self.method!r}, entropy {curve})"

    def plot(self, ax: Any = None) -> Any:
        """Draw the curve with its error and the knee.

        Needs matplotlib: ``pip install mdt_fast[plot]``.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, default=None
            Axes to draw on; None makes a new figure.

        Returns
        -------
        matplotlib.axes.Axes
            The axes.

        Examples
        --------
        >>> import mdt_fast as mdt
        >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
        >>> ops = mdt.build_operators(views)
        >>> ax = mdt.select_time(ops).plot()
        >>> ax.get_xlabel()
        'diffusion time t'
        """
        return draw("entropy", self, needed_by="TimeSelection.plot", ax=ax)


def check_time(t: int | str) -> int | str:
    """Return a diffusion time, or "auto"."""
    if isinstance(t, str):
        if t == "auto":
            return t
        raise ValueError(f"t: expected 'auto' or an integer >= 1, got {t!r}")
    return check_integer("t", t, minimum=1, limit=LARGEST_STEPS)


def select_time(
    ops: OperatorSet | Trajectory,
    *,
    max_t: int = 50,
    method: str = "auto",
    view: int | None = None,
    n_vectors: int | None = None,
    random_state: RandomStateLike = 0,
    n_jobs: int | None = None,
    time_limit: float | None = None,
    progress: ProgressLike = False,
) -> TimeSelection:
    """Choose the diffusion time: the knee of the entropy of the singular values over time.

    Parameters
    ----------
    ops : OperatorSet or Trajectory
        A set, whose mean M is used, or a trajectory, which is used as M.
    max_t : int, default=50
        Largest time of the curve, at least 3.
    method : {"auto", "exact", "spectral", "stochastic"}, default="auto"
        "exact": all singular values of the dense ``M^t``, with N^2 memory and N^3 work
        for each t. "spectral": magnitudes of eigenvalues instead of singular values, for all t from
        one dense decomposition; for one reversible walk. "stochastic": a matrix-free estimate for any
        N, with its error, from t = 1 on until the knee is certain. "auto": "exact" up to N = 500 (half
        a second), else "stochastic".
    view : int or None, default=None
        Member of the set that is used as M instead of the mean.
    n_vectors : int or None, default=None
        Number of random vectors of the estimator, from 2 to N (or 1,024). The error is proportional to
        ``1 / sqrt(n_vectors N)``; None is 32 up to about 4,000 samples, ``2^17 / N`` beyond, and 2
        from 44,000 samples on.
    random_state : int, Generator, RandomState or None, default=0
        Seed of the estimator; one seed gives one result with any number of threads.
    n_jobs : int or None, default=None
        Number of threads; None uses the number of the set. "spectral" uses one.
    time_limit : float or None, default=None
        Number of seconds after which the knee of the times so far is taken, or 8 if they have none.
    progress : bool, callable or None, default=False
        As in :func:`build_operators`.

    Returns
    -------
    TimeSelection
        The time and the curve.

    Warns
    -----
    TimeSelectionWarning
        If the curve has no knee; the time is then 1. Also if the time limit ended the choice.

    Notes
    -----
    With ``s`` the singular values of ``M^t`` divided by their Euclidean norm, the entropy is
    ``S(t) = -sum s log s``. It falls while steps remove noise and flattens when only structure is
    left. The time is the knee of the convex decreasing curve over ``t = 1, ..., max_t`` [1]_.

    References
    ----------
    .. [1] V. Satopaa, J. Albrecht, D. Irwin, B. Raghavan, "Finding a kneedle in a haystack", ICDCS
       Workshops 2011. doi:10.1109/ICDCSW.2011.20

    Examples
    --------
    >>> import numpy as np
    >>> import mdt_fast as mdt
    >>> ops = mdt.build_operators(mdt.datasets.make_helix_b(200).views)
    >>> mdt.select_time(ops).t
    10
    """
    if not isinstance(ops, (OperatorSet, Trajectory)):
        raise TypeError(f"ops: expected an OperatorSet or a Trajectory, got {type(ops).__name__}")
    max_t = check_integer("max_t", max_t, minimum=3, limit=LARGEST_STEPS)
    method = check_choice("method", method, METHODS)
    W = _walk(ops, view)
    if n_vectors is None:
        n_vectors = min(max(_VECTORS_TIMES_SAMPLES // W.shape[0], 2), 32)
    n_vectors = check_integer("n_vectors", n_vectors, minimum=2, limit=max(W.shape[0], _MOST_VECTORS))
    if method == "auto":
        method = "exact" if W.shape[0] <= _EXACT_SAMPLES else "stochastic"
    threads = n_threads(W.operators.n_jobs if n_jobs is None else n_jobs)
    # Drawn with every method, so that a given generator advances alike.
    seed = check_seed(random_state)
    if method == "stochastic":
        check_integer("max_t", max_t, minimum=3, limit=max(LARGEST_STEPS // len(W), 3))
    times, nothing = np.arange(1, max_t + 1), np.full(max_t, np.nan)
    curve = EntropyCurve(W, max_t, n_vectors=n_vectors, seed=seed, n_threads=threads)
    with watch(progress, time_limit) as monitor, monitor.stage("diffusion time"):
        try:
            with monitor.stopping():
                if method != "stochastic":
                    entropies = _spectral(W, max_t) if method == "spectral" else _exact(W, max_t, threads)
                    monitor.note(n_done=max_t)
                    index = first_knee(entropies)
                    t = _checked(None if index is None else index + 1, max_t)
                    return TimeSelection(t or 1, times, entropies, method, np.zeros(max_t), t is not None, times, 0)
                curve.explore(monitor)
            t = _checked(curve.knee(), max_t)
        except OutOfTimeError:
            t = curve.knee() if len(curve.known) >= 3 else None
            taken = min(_UNKNOWN_TIME, max_t) if t is None else t
            message = (
                f"time_limit: it ended the choice of the diffusion time after {len(curve.known)} times; t = {taken}"
            )
            warn_user(f"{message} is taken", TimeSelectionWarning)
            if not curve.known:
                return TimeSelection(taken, times, nothing, method, nothing, False, times[:0], 0)
    entropies, error = curve.values()
    if W.shape[0] >= _memory.MANY_SAMPLES:
        _memory.return_free_memory()
    evaluated = np.array(sorted(curve.known))
    return TimeSelection(t or 1, times, entropies, method, error, t is not None, evaluated, curve.n_column_steps)


def singular_entropy(singular_values: NDArray[Any]) -> float:
    """Return ``-sum s log s`` of the values divided by their Euclidean norm; zeros contribute 0."""
    s = np.abs(np.asarray(singular_values, dtype=np.float64))
    s = s / np.linalg.norm(s)
    s = s[s > 0]
    # A single value gives -1 log 1, a negative zero.
    return float(max(0.0, -(s * np.log(s)).sum()))


def _checked(knee: int | None, max_t: int) -> int | None:
    """Return a knee; warn if there is none."""
    if knee is None:
        warn_user(f"the entropy over t = 1..{max_t} has no knee; t = 1 is taken", TimeSelectionWarning)
    return knee


def _walk(ops: OperatorSet | Trajectory, view: int | None) -> Trajectory:
    """Return the trajectory M."""
    if view is None:
        return ops.mean() if isinstance(ops, OperatorSet) else ops
    if not isinstance(ops, OperatorSet):
        raise ValueError(f"view: expected None for a trajectory, got {view!r}")
    return ops.trajectory([check_integer("view", view, minimum=0, maximum=len(ops) - 1)])


def _exact(W: Trajectory, max_t: int, threads: int) -> NDArray[np.float64]:
    """Return the entropies of the dense powers at every time."""
    n = W.shape[0]
    _memory.require((_BYTES_PER_ENTRY + _BYTES_PER_THREAD * threads) * n * n, f"method='exact' on {n} samples")
    dense = np.ascontiguousarray(W.toarray(), dtype=np.float64)
    return np.array([singular_entropy(values) for values in power_values(dense, max_t, n_threads=threads)])


def _spectral(W: Trajectory, max_t: int) -> NDArray[np.float64]:
    """Return the entropies of ``|eigenvalues|^t`` of one reversible walk."""
    ops, n = W.operators, W.shape[0]
    kinds = "one view of an affinity, or a power of it, an identity or teleport of it"
    shares = np.flatnonzero(W.weights[0])
    bases = ops.stored_walks(shares)
    jumps = any(ops.members[i].uniform_share > 0 for i in shares)
    if len(W) > 1 or len(bases) != 1 or jumps or not ops._is_reversible(bases[0]):
        raise ValueError(f"method='spectral': expected {kinds}, which is a reversible walk; got {W!r}")
    base = bases[0]
    degrees = np.sqrt(np.asarray(ops._transition(base).degrees, dtype=np.float64))
    _memory.require(_BYTES_PER_ENTRY * n * n, f"method='spectral' on {n} samples")
    symmetric = ops.walk_matrix(base).toarray().astype(np.float64)
    symmetric *= degrees[:, None]
    symmetric /= degrees[None, :]
    # The step is a polynomial of the walk, and its eigenvalues are that polynomial of the walk's
    # eigenvalues.
    values = eigenvalues((symmetric + symmetric.T) / 2)
    values = np.abs(_polynomial(ops, W.weights[0], values))
    # Powers by logarithms: no intermediate power underflows.
    with np.errstate(divide="ignore"):
        logs = np.log(values / values.max())
    return np.array([singular_entropy(np.exp(t * logs)) for t in range(1, max_t + 1)])


def _polynomial(ops: OperatorSet, weights: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the eigenvalues of a step from those of the one walk of which it consists."""
    total = np.zeros_like(values)
    for weight, member in zip(weights, ops.members, strict=True):
        if weight != 0:
            powers = sum(power.weight * values**power.exponent for power in member.powers)
            total += weight * (member.identity_share + powers)
    return total
