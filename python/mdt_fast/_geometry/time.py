"""The diffusion time: the knee of the entropy of singular values over time."""

import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._operators.operator_set import OperatorSet
from .._operators.trajectory import Trajectory
from .._support import memory as _memory
from .._support.arguments import LARGEST_STEPS, RandomStateLike, check_choice, check_integer
from .._support.monitor import Monitor, OutOfTimeError, ProgressLike, watch
from .._support.plotting import draw
from .._support.seed import check_seed
from .._support.threads import n_threads
from .._support.warnings import TimeSelectionWarning, warn_user
from .spectrum import eigenvalues, singular_values

METHODS = ("auto", "exact", "spectral", "stochastic")

# Fifty singular value decompositions of this size take about three seconds on two cores; at twice
# the size, twenty.
_EXACT_SAMPLES = 500
# Bytes of the dense matrices and of the decomposition, for each entry.
_BYTES_PER_ENTRY = 80

# Settings of the estimator: number of singular values computed explicitly, largest number of
# Lanczos steps of each vector, and the relative change of the sum at which they stop.
_DEFLATED = 64
_MAX_STEPS = 16
_TOLERANCE = 0.001
# Number of random vectors times number of samples, by default.
_VECTORS_TIMES_SAMPLES = 2**18
# Ratio of successive times of the first grid.
_GRID_RATIO = 1.5
# Largest number of refinements around the knee; one or two suffice.
_MAX_REFINEMENTS = 6
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
        Entropy at each time; nan at those that a time limit left out.
    method : {"exact", "spectral", "stochastic"}
        The method that was used.
    error : (max_t,) array
        Standard error of each entropy; zeros unless the method is "stochastic".
    has_knee : bool
        Whether the curve has a knee.
    evaluated : (m,) array of int
        The times at which the entropy was computed; it is interpolated at the others.
    n_column_steps : int
        Number of products of one vector with one step in the estimator; 0 for the other methods.
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
        curve = f"entropy {self.entropies[0]:.4g} at 1, {self.entropies[self.t - 1]:.4g} at {self.t}"
        return (
            f"TimeSelection(t={self.t}{knee}, method={self.method!r}, {curve}, "
            f"{self.entropies[-1]:.4g} at {self.times[-1]})"
        )

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
        one dense decomposition; for one reversible walk. "stochastic": a matrix-free estimate at
        about fifteen times, for any N, with its error. "auto": "exact" up to N = 500 (a few
        seconds), else "stochastic".
    view : int or None, default=None
        Member of the set that is used as M instead of the mean.
    n_vectors : int or None, default=None
        Number of random vectors of the estimator, from 2 to N (or 1,024). The error is proportional to
        ``1 / sqrt(n_vectors N)``; None is 32 up to about 8,000 samples, ``2^18 / N`` beyond, and 8
        from 32,000 samples on.
    random_state : int, Generator, RandomState or None, default=0
        Seed of the estimator; one seed gives one result with any number of threads.
    n_jobs : int or None, default=None
        Number of threads of the estimator; None uses the number of the set. Dense
        decompositions do not use it.
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
        n_vectors = min(max(_VECTORS_TIMES_SAMPLES // W.shape[0], 8), 32)
    n_vectors = check_integer("n_vectors", n_vectors, minimum=2, limit=max(W.shape[0], _MOST_VECTORS))
    if method == "auto":
        method = "exact" if W.shape[0] <= _EXACT_SAMPLES else "stochastic"
    threads = n_threads(W.operators.n_jobs if n_jobs is None else n_jobs)
    # Drawn with every method, so that a given generator advances alike.
    seed = check_seed(random_state)
    if method == "stochastic":
        check_integer("max_t", max_t, minimum=3, limit=max(LARGEST_STEPS // len(W), 3))
    with watch(progress, time_limit) as monitor, monitor.stage("diffusion time"):
        if method == "stochastic":
            return _stochastic(W, max_t, n_vectors, seed, threads, monitor)
        entropies = _spectral(W, max_t) if method == "spectral" else _exact(W, max_t, monitor)
    times, n_known = np.arange(1, max_t + 1), len(entropies)
    t, has_knee = _knee_of_part(entropies, max_t) if n_known < max_t else find_knee(entropies, stacklevel=3)
    curve = np.append(entropies, np.full(max_t - n_known, np.nan))
    return TimeSelection(t, times, curve, method, np.zeros(max_t), has_knee, times[:n_known], 0)


def singular_entropy(singular_values: NDArray[Any]) -> float:
    """Return ``-sum s log s`` of the values divided by their Euclidean norm; zeros contribute 0."""
    s = np.abs(np.asarray(singular_values, dtype=np.float64))
    s = s / np.linalg.norm(s)
    s = s[s > 0]
    # A single value gives -1 log 1, a negative zero.
    return float(max(0.0, -(s * np.log(s)).sum()))


def find_knee(entropies: NDArray[np.float64], *, stacklevel: int = 2) -> tuple[int, bool]:
    """Return the knee of a curve over 1, 2, ... and True; without a knee warn, return 1 and False."""
    knee = _knee(entropies)
    if knee is not None:
        return knee, True
    warnings.warn(
        f"the entropy over t = 1..{len(entropies)} has no knee; t = 1 is taken",
        TimeSelectionWarning,
        stacklevel=stacklevel + 1,
    )
    return 1, False


def _knee_of_part(entropies: NDArray[np.float64], max_t: int) -> tuple[int, bool]:
    """Return the knee of the times that a limit left, and True; `_UNKNOWN_TIME` and False if they are too few."""
    knee = _knee(entropies) if len(entropies) >= 3 else None
    t = min(_UNKNOWN_TIME, max_t) if knee is None else knee
    warn_user(
        f"time_limit: it ended the choice of the diffusion time after {len(entropies)} of {max_t} times; t = {t} is "
        "taken",
        TimeSelectionWarning,
    )
    return t, knee is not None


def _knee(entropies: NDArray[np.float64]) -> int | None:
    # kneed divides by the range, which is 0 up to rounding for an identity or a rank-one walk.
    spread = np.ptp(entropies)
    if not spread > 1e-9 * max(1.0, np.abs(entropies).max()):
        return None
    from kneed import KneeLocator

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="No knee/elbow found")
        times = np.arange(1, len(entropies) + 1)
        knee = KneeLocator(times, entropies, curve="convex", direction="decreasing").knee
    return None if knee is None else int(knee)


def _walk(ops: OperatorSet | Trajectory, view: int | None) -> Trajectory:
    """Return the trajectory M."""
    if view is None:
        return ops.mean() if isinstance(ops, OperatorSet) else ops
    if not isinstance(ops, OperatorSet):
        raise ValueError(f"view: expected None for a trajectory, got {view!r}")
    return ops.trajectory([check_integer("view", view, minimum=0, maximum=len(ops) - 1)])


def _exact(W: Trajectory, max_t: int, monitor: Monitor) -> NDArray[np.float64]:
    """Return the entropies of the dense powers at every time, or at the first ones before the limit."""
    n = W.shape[0]
    _memory.require(_BYTES_PER_ENTRY * n * n, f"method='exact' on {n} samples")
    power = np.eye(n, dtype=W.dtype)
    entropies: list[float] = []
    with suppress(OutOfTimeError), monitor.stopping():
        while len(entropies) < max_t:
            power = W @ power
            entropies.append(singular_entropy(singular_values(np.asarray(power, dtype=np.float64))))
            monitor.note(n_done=len(entropies), n_total=max_t)
    return np.array(entropies)


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
    degrees = np.sqrt(np.asarray(ops.transitions[base].degrees, dtype=np.float64))
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


def _stochastic(W: Trajectory, max_t: int, n_vectors: int, seed: int, threads: int, monitor: Monitor) -> TimeSelection:
    """Estimate on a geometric grid, interpolate, and refine around the knee until it stays."""
    known: dict[int, tuple[float, float]] = {}
    column_steps = 0

    def evaluate(wanted: Sequence[int]) -> None:
        nonlocal column_steps
        estimates = W.operators.native.singular_entropy(
            W.weights, list(wanted), n_vectors=n_vectors, n_deflated=_DEFLATED, max_steps=_MAX_STEPS,
            tolerance=_TOLERANCE, seed=seed, n_threads=threads,
        )  # fmt: skip
        known.update({each.time: (each.entropy, each.error) for each in estimates})
        column_steps += sum(each.n_column_steps for each in estimates)
        monitor.note(n_done=len(known))

    try:
        with monitor.stopping():
            evaluate(_grid(max_t))
            for _ in range(_MAX_REFINEMENTS):
                knee = _knee(_interpolate(known, max_t)[0])
                around = [] if knee is None else range(max(knee - 1, 1), min(knee + 1, max_t) + 1)
                if not (unknown := [t for t in around if t not in known]):
                    break
                evaluate(unknown)
    except OutOfTimeError:
        if not known:
            t, _ = _knee_of_part(np.empty(0), max_t)
            nothing = np.full(max_t, np.nan)
            evaluated = np.empty(0, dtype=np.int64)
            return TimeSelection(t, np.arange(1, max_t + 1), nothing, "stochastic", nothing, False, evaluated, 0)
    entropies, error = _interpolate(known, max_t)
    t, has_knee = find_knee(entropies, stacklevel=4)
    evaluated = np.array(sorted(known))
    return TimeSelection(t, np.arange(1, max_t + 1), entropies, "stochastic", error, has_knee, evaluated, column_steps)


def _grid(max_t: int) -> list[int]:
    """Return times from 1 to `max_t`, each `_GRID_RATIO` times the one before, or one more."""
    times = [1]
    while times[-1] < max_t:
        following = max(times[-1] + 1, round(times[-1] * _GRID_RATIO))
        # A time just before the last would cost as much and add nothing.
        times.append(following if following * _GRID_RATIO <= max_t * 1.2 else max_t)
    return times


def _interpolate(known: dict[int, tuple[float, float]], max_t: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Interpolate entropies and errors at 1, ..., max_t, monotonically in the logarithm of time."""
    from scipy.interpolate import PchipInterpolator

    at = np.array(sorted(known))
    values, errors = np.array([known[t] for t in at]).T
    logs = np.log(np.arange(1, max_t + 1))
    return PchipInterpolator(np.log(at), values)(logs), np.interp(logs, np.log(at), errors)
