"""Candidates of a search and what is known of them."""

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

# A sequence of members, or (t, members) weights.
Candidate: TypeAlias = tuple[int, ...] | NDArray[np.float64]

# One row for each evaluated candidate.
HISTORY_DTYPE = np.dtype([("parent", "<i8"), ("depth", "<i4"), ("score", "<f8"), ("seconds", "<f8")])


@dataclass(frozen=True)
class Evaluation:
    """The score of a candidate, the seconds it took, and what the strategy keeps beside it."""

    candidate: Candidate
    score: float
    seconds: float
    gradient: NDArray[np.float64] | None = None
    labels: NDArray[np.int32] | None = None

    @property
    def key(self) -> object:
        """The key of the candidate."""
        return key_of(self.candidate)


def key_of(candidate: Candidate) -> object:
    """Return a hashable key: the sequence, or the bytes of the weights."""
    return candidate if isinstance(candidate, tuple) else candidate.tobytes()


def sequence_text(sequence: tuple[int, ...]) -> str:
    """Return a sequence as text, for example ``"0-1-1"``."""
    return "-".join(map(str, sequence))
