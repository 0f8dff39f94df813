"""How long to diffuse: the knee of the entropy of singular values over time."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .._operators.operator_set import OperatorSet
from .._operators.trajectory import Trajectory
from .._support import memory as _memory
from .._support.arguments import RandomStateLike, check_choice, check_integer
from .._support.plotting import draw
from .._support.seed import check_seed
from .._support.threads import n_threads
from .._support.warnings import TimeSelectionWarning

if TYPE_CHECKING:
    from collections.abc import Sequence

METHODS = ("auto", "exact", "spectral", "stochastic")

# Fifty singular value decompositions of this size take about three seconds on two cores; at twice the size, twenty.
_EXACT_SAMPLES = 500

# The estimator's effort: values computed one by one, steps of each vector, and the share
# of the sum at which it stops earlier.
_DEFLATED = 64
_MAX_STEPS = 16
_TOLERANCE = 0.001
# Random vectors times samples, by default.
_VECTORS_TIMES_SAMPLES = 2**18
# Ratio of the estimator's successive times, before it looks closer at the knee.
_GRID_RATIO = 1.5
# How often it looks closer: the knee has settled after one or two.
_MAX_REFINEMENTS = 6


@dataclass(frozen=True, eq=False)
class TimeSelection:
    """A diffusion time and the curve that it was read from.

    Attributes
    ----------
    t : int
        The knee of `entropies`; 1 where there is none.
    times : (max_t,) array of int
        1, 2, ..., max_t.
    entropies : (max_t,) array
        Entropy at each time.
    method : {"exact", "spectral", "stochastic"}
        How it was computed.
    error : (max_t,) array
        Standard error of each entropy; zeros unless the method is "stochastic".
    has_knee : bool
        Whether there was a knee.
    evaluated : (m,) array of int
        The times at which the entropy was computed; the others were interpolated.
    n_column_steps : int
        Products of one vector with one step that the estimator made; 0 for the other methods.
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
        """Draw the curve with its error and the knee; needs matplotlib (``pip install mdt_fast[plot]``).

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a new figure by default.

        Returns
        -------
        matplotlib.axes.Axes
        """
        return draw("entropy", self, needed_by="TimeSelection.plot", ax=ax)


def check_time(t: int | str) -> int | str:
    """Return a diffusion time, or "auto"."""
    if isinstance(t, str):
        if t == "auto":
            return t
        raise ValueError(f"t: expected 'auto' or an integer >= 1, got {t!r}")
    return check_integer("t", t, minimum=1)


def select_time(
    ops: OperatorSet | Trajectory,
    *,
    max_t: int = 50,
    method: str = "auto",
    view: int | None = None,
    n_vectors: int | None = None,
    random_state: RandomStateLike = 0,
    n_jobs: int | None = None,
) -> TimeSelection:
    """Choose the diffusion time: the knee of the entropy of the singular values over time.

    With ``M`` the mean of the set and ``s`` the singular values of ``M^t`` divided by their Euclidean norm, the entropy
    is ``S(t) = -sum s log s``. It falls while steps remove noise and flattens when only structure is left; the knee of
    the curve over ``t = 1, ..., max_t`` is the time (found by `kneed`).

    Parameters
    ----------
    ops : OperatorSet or Trajectory
        A set, whose mean is taken, or a trajectory W, whose powers ``W^t`` are looked at.
    max_t : int
        Longest time looked at, at least 3.
    method : {"auto", "exact", "spectral", "stochastic"}
        "exact": all singular values of the dense ``M^t`` by LAPACK; N^2 memory and N^3 work for each t.
        "spectral": absolute eigenvalues of one reversible walk instead of singular values, all t from one dense
        decomposition; for a set of one view, or with `view`. "stochastic": a matrix-free estimate at about
        fifteen times, for any N; its error is stated. "auto": "exact" up to N = 500 (a few seconds), else
        "stochastic".
    view : int, optional
        Look at this member alone instead of the mean (a stored walk or an implicit member).
    n_vectors : int or None
        Random vectors of the estimator, at least 2. Its error falls with the square root of their number times N; so
        None is 32 up to some 8,000 samples, 8 from 32,000 on, and between these in between.
    random_state : int, Generator, RandomState or None
        Seed of the estimator. Same seed, same result, at any number of threads.
    n_jobs : int or None
        Threads of the estimator; None is what the set was made with. LAPACK has settings of its own.

    Returns
    -------
    TimeSelection
        With `t`, `times`, `entropies`, `error`, `method` and `plot()`.

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
    max_t = check_integer("max_t", max_t, minimum=3)
    method = check_choice("method", method, METHODS)
    W = _walk(ops, view)
    if n_vectors is None:
        n_vectors = min(max(_VECTORS_TIMES_SAMPLES // W.shape[0], 8), 32)
    n_vectors = check_integer("n_vectors", n_vectors, minimum=2)
    if method == "auto":
        method = "exact" if W.shape[0] <= _EXACT_SAMPLES else "stochastic"
    threads = n_threads(W.operators.n_jobs if n_jobs is None else n_jobs)
    # Drawn whatever the method, so that a generator handed in moves on alike.
    seed = check_seed(random_state)
    if method == "stochastic":
        return _stochastic(W, max_t, n_vectors, seed, threads)
    entropies = _spectral(W, max_t) if method == "spectral" else _exact(W, max_t)
    times = np.arange(1, max_t + 1)
    t, has_knee = find_knee(entropies, stacklevel=3)
    return TimeSelection(t, times, entropies, method, np.zeros(max_t), has_knee, times, 0)


def singular_entropy(singular_values: NDArray[Any]) -> float:
    """Return ``-sum s log s`` for values divided by their Euclidean norm; zeros count nothing."""
    s = np.abs(np.asarray(singular_values, dtype=np.float64))
    s = s / np.linalg.norm(s)
    s = s[s > 0]
    # One value alone gives -1 log 1, which is a negative zero.
    return float(max(0.0, -(s * np.log(s)).sum()))


def find_knee(entropies: NDArray[np.float64], *, stacklevel: int = 2) -> tuple[int, bool]:
    """Return the knee of a curve over 1, 2, ... and True; or 1 and False, with a warning, where there is none."""
    knee = _knee(entropies)
    if knee is not None:
        return knee, True
    warnings.warn(
        f"the entropy over t = 1..{len(entropies)} has no knee; t = 1 is taken",
        TimeSelectionWarning,
        stacklevel=stacklevel + 1,
    )
    return 1, False


def _knee(entropies: NDArray[np.float64]) -> int | None:
    # Up to rounding the curve may be flat (an identity, a rank-one walk): kneed would divide by its range.
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
    """Return the trajectory whose powers are looked at."""
    if view is None:
        return ops.mean() if isinstance(ops, OperatorSet) else ops
    if not isinstance(ops, OperatorSet):
        raise ValueError(f"view: expected None for a trajectory, got {view!r}")
    return ops.trajectory([check_integer("view", view, minimum=0, maximum=len(ops) - 1)])


def _exact(W: Trajectory, max_t: int) -> NDArray[np.float64]:
    """Entropy of the dense powers at every time."""
    from scipy.linalg import svdvals

    n = W.shape[0]
    # The power, the next one, LAPACK's copy, and the block on its way through the factors.
    _memory.require(4 * n * n * 8, f"method='exact' on {n} samples")
    power = np.eye(n, dtype=W.dtype)
    entropies = np.empty(max_t)
    for i in range(max_t):
        power = W @ power
        entropies[i] = singular_entropy(svdvals(np.asarray(power, dtype=np.float64), check_finite=False))
    return entropies


def _spectral(W: Trajectory, max_t: int) -> NDArray[np.float64]:
    """Entropy of |eigenvalues|^t of one reversible walk."""
    from scipy.linalg import eigvalsh

    ops, n = W.operators, W.shape[0]
    kinds = "one view of an affinity, or a power of it, an identity or teleport of it"
    shares = np.flatnonzero(W.weights[0])
    bases = ops._bases(shares)
    uniform = any(
        ops._members[i][0] == "uniform" or (ops._members[i][0] == "teleport" and ops._members[i][3] == 0)
        for i in shares
    )
    if len(W) > 1 or len(bases) != 1 or uniform or ops._transitions[bases[0]].degrees is None:
        raise ValueError(f"method='spectral': expected {kinds}, which is a reversible walk; got {W!r}")
    base = bases[0]
    degrees = np.sqrt(np.asarray(ops._transitions[base].degrees, dtype=np.float64))
    _memory.require(3 * n * n * 8, f"method='spectral' on {n} samples")
    symmetric = ops._matrix(base).toarray().astype(np.float64)
    symmetric *= degrees[:, None]
    symmetric /= degrees[None, :]
    # The step is a polynomial of the walk: so are its eigenvalues of the walk's.
    values = eigvalsh((symmetric + symmetric.T) / 2, overwrite_a=True, check_finite=False)
    values = np.abs(_polynomial(ops, W.weights[0], values))
    # Powers of the logarithm: small values vanish instead of leaving the range of floats one after another.
    with np.errstate(divide="ignore"):
        logs = np.log(values / values.max())
    return np.array([singular_entropy(np.exp(t * logs)) for t in range(1, max_t + 1)])


def _polynomial(ops: OperatorSet, weights: NDArray[np.float64], values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Eigenvalues of a step from those of the one walk that it is made of."""
    total = np.zeros_like(values)
    for weight, member in zip(weights, ops._members, strict=True):
        if weight == 0:
            continue
        if member[0] == "identity":
            total += weight
        elif member[0] == "teleport":
            total += weight * (member[2] * values + (1 - member[2]) * values ** member[3])
        else:
            total += weight * values ** (member[2] if member[0] == "power" else 1)
    return total


def _stochastic(W: Trajectory, max_t: int, n_vectors: int, seed: int, threads: int) -> TimeSelection:
    """Estimate on a geometric grid, interpolate, and look closer around the knee until it stays."""
    known: dict[int, tuple[float, float]] = {}
    column_steps = 0

    def evaluate(wanted: Sequence[int]) -> None:
        nonlocal column_steps
        values, errors, steps = W.operators._core.singular_entropy(
            W.weights,
            list(wanted),
            n_vectors=n_vectors,
            n_deflated=_DEFLATED,
            max_steps=_MAX_STEPS,
            tolerance=_TOLERANCE,
            seed=seed,
            n_threads=threads,
        )
        known.update(zip(wanted, zip(values, errors, strict=True), strict=True))
        column_steps += sum(steps)

    evaluate(_grid(max_t))
    entropies, error = _interpolate(known, max_t)
    for _ in range(_MAX_REFINEMENTS):
        knee = _knee(entropies)
        around = [] if knee is None else [t for t in range(knee - 1, knee + 2) if 1 <= t <= max_t and t not in known]
        if not around:
            break
        evaluate(around)
        entropies, error = _interpolate(known, max_t)
    t, has_knee = find_knee(entropies, stacklevel=4)
    evaluated = np.array(sorted(known))
    return TimeSelection(t, np.arange(1, max_t + 1), entropies, "stochastic", error, has_knee, evaluated, column_steps)


def _grid(max_t: int) -> list[int]:
    """Return times from 1 to `max_t`, each `_GRID_RATIO` times the one before, or one more."""
    times = [1]
    while times[-1] < max_t:
        following = max(times[-1] + 1, round(times[-1] * _GRID_RATIO))
        # One just before the last would cost as much and tell nothing.
        times.append(following if following * _GRID_RATIO <= max_t * 1.2 else max_t)
    return times


def _interpolate(known: dict[int, tuple[float, float]], max_t: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Entropies and errors at 1, ..., max_t: monotone between the known times, in the logarithm of time."""
    from scipy.interpolate import PchipInterpolator

    at = np.array(sorted(known))
    values, errors = np.array([known[t] for t in at]).T
    logs = np.log(np.arange(1, max_t + 1))
    return PchipInterpolator(np.log(at), values)(logs), np.interp(logs, np.log(at), errors)
