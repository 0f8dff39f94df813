"""The entropy of the singular values of ``M^t`` over t, estimated at as few times as the knee needs.

A time costs as many steps as it is long, and the curve is close to its end soon after the knee. So estimates go from
short times to long ones, in rounds, and stop once the knee is the same for every decreasing continuation. At a million
samples in ten clusters that is the case at t = 9; times up to 50 took four times as long.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from .._operators.trajectory import Trajectory
from .._support.monitor import Monitor
from .knee import first_knee

# Largest number of Lanczos steps of each vector, and the change of the entropy, as a share of that at t = 1, at which
# they stop. The knee depends on such shares.
_MAX_STEPS = 16
_TOLERANCE = 0.01
# Number of singular values computed explicitly, times number of samples; fewest and most of them.
_DEFLATED_TIMES_SAMPLES = 2**21
_FEWEST_DEFLATED, _MOST_DEFLATED = 32, 64
# An increase of the entropy, as a share of that at t = 1, that shows more large singular values than are computed
# explicitly. Their number is then multiplied by this factor, up to a largest number and a largest basis in bytes.
_INCREASE = 0.002
_GROWTH = 4
_LARGEST_BASIS, _LARGEST_BASIS_BYTES = 512, 2**30
# Times of the first rounds; most knees are among them.
_FIRST_ROUNDS = ((1, 2, 3, 4, 5, 6, 7, 8, 9), (10, 11, 12, 14))
# Ratio of successive times of the following rounds.
_RATIO = 1.3
# Largest number of refinements around the knee; one or two suffice.
_MAX_REFINEMENTS = 6


class EntropyCurve:
    """Estimates of the entropy at some of the times 1, ..., max_t.

    Attributes
    ----------
    known : dict
        Entropy and standard error at each evaluated time.
    n_column_steps : int
        Number of products of one vector with one step.
    """

    def __init__(self, walk: Trajectory, max_t: int, *, n_vectors: int, seed: int, n_threads: int) -> None:
        self._walk, self._max_t = walk, max_t
        self._n_vectors, self._seed, self._n_threads = n_vectors, seed, n_threads
        n_samples = walk.shape[0]
        self._most_deflated = min(_LARGEST_BASIS, max(_LARGEST_BASIS_BYTES // (n_samples * walk.dtype.itemsize), 1))
        wanted = min(max(_DEFLATED_TIMES_SAMPLES // n_samples, _FEWEST_DEFLATED), _MOST_DEFLATED)
        self._n_deflated = min(wanted, self._most_deflated)
        self.known: dict[int, tuple[float, float]] = {}
        self.n_column_steps = 0

    def explore(self, monitor: Monitor) -> None:
        """Estimate at more and more times, until the knee is certain and its neighbours are known."""
        for times in _rounds(self._max_t):
            self._evaluate(times, monitor)
            while self._increases() and self._n_deflated < self._most_deflated:
                self._n_deflated = min(_GROWTH * self._n_deflated, self._most_deflated)
                self._evaluate(sorted(self.known), monitor)
            if self._is_certain():
                break
        for _ in range(_MAX_REFINEMENTS):
            knee = self.knee()
            around = [] if knee is None else range(max(knee - 1, 1), min(knee + 1, self._max_t) + 1)
            if not (unknown := [t for t in around if t not in self.known]):
                break
            self._evaluate(unknown, monitor)

    def knee(self, at_end: float = 0.0) -> int | None:
        """Return the knee if the curve continues to `at_end`, unless its end is known; None if there is none."""
        curve, _ = interpolate({self._max_t: (at_end, 0.0)} | self.known, self._max_t)
        index = first_knee(curve)
        return None if index is None else index + 1

    def values(self) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Return entropies and errors at 1, ..., max_t, with nan beyond the last evaluated time."""
        n_left = self._max_t - max(self.known)
        entropies, errors = interpolate(self.known, max(self.known))
        return np.append(entropies, np.full(n_left, np.nan)), np.append(errors, np.full(n_left, np.nan))

    def _evaluate(self, times: Sequence[int], monitor: Monitor) -> None:
        scale = self.known[1][0] if 1 in self.known else None
        estimates = self._walk.operators.native.singular_entropy(
            self._walk.weights, list(times), n_vectors=self._n_vectors, n_deflated=self._n_deflated,
            max_steps=_MAX_STEPS, tolerance=_TOLERANCE, scale=scale, seed=self._seed, n_threads=self._n_threads,
        )  # fmt: skip
        self.known.update({each.time: (each.entropy, each.error) for each in estimates})
        self.n_column_steps += sum(each.n_column_steps for each in estimates)
        monitor.note(n_done=len(self.known))

    def _increases(self) -> bool:
        entropies = np.array([self.known[t][0] for t in sorted(self.known)])
        return bool((np.diff(entropies) > _INCREASE * entropies[0]).any())

    def _is_certain(self) -> bool:
        """Return whether the knee is the same for all decreasing continuations of the curve."""
        last = max(self.known)
        # The position of the knee grows with the value at the end, which lies between these two.
        knees = {self.knee(0.0), self.knee(self.known[last][0])}
        knee = knees.pop()
        return last == self._max_t or (not knees and knee is not None and knee < last)


def interpolate(known: dict[int, tuple[float, float]], last: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Interpolate entropies and errors at 1, ..., last, monotonically in the logarithm of time."""
    from scipy.interpolate import PchipInterpolator

    at = np.array(sorted(known))
    values, errors = np.array([known[t] for t in at]).T
    logs = np.log(np.arange(1, last + 1))
    return PchipInterpolator(np.log(at), values)(logs), np.interp(logs, np.log(at), errors)


def _rounds(max_t: int) -> Iterator[list[int]]:
    """Yield the times of each round of estimates, the last of which ends at `max_t`."""
    last = 0
    for times in _FIRST_ROUNDS:
        if last < max_t:
            yield [t for t in times if t < max_t] + ([max_t] if times[-1] >= max_t else [])
        last = times[-1]
    while last < max_t:
        pair: list[int] = []
        while len(pair) < 2 and last < max_t:
            following = round(last * _RATIO)
            # A time just before the last would cost as much and add nothing.
            last = following if following * _RATIO <= max_t * 1.2 else max_t
            pair.append(last)
        yield pair
