"""The random choices of one case: the same number gives the same case, in any process and order."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

T = TypeVar("T")

# Share of cases in which no argument is wrong on purpose, and of wrong arguments in the other cases.
_CLEAN_CASES = 0.45
_WRONG_ARGUMENTS = 0.25


class Draw:
    """A source of random choices.

    Parameters
    ----------
    case : int
        Number of the case.
    jobs : int
        Number of threads wherever the case draws a valid one. It is no random choice: a case runs again with another
        one, and everything else is the same.

    Attributes
    ----------
    n : int
        Number of samples.
    omitted_share : float
        Share of the parameters with a default that are not passed.
    view_names : list of str
        Names of views and columns that were drawn; an error may name one instead of an argument.
    must_refuse : str
        What was drawn that no call may accept; empty if nothing was.
    broken : str
        Kind of the last broken matrix, empty if it may be right somewhere; it has to be refused where it is a view.
    known : list of array or None
        For each of the views that were drawn last, which samples it has; None if it is not known.
    masks : list of array, or None
        Those of `present`, one for each view; empty if there are none, None if they are not known.
    wants_masks : list of array
        Masks that hide rows of the views that are no samples; empty if there are none.
    wants_alignment : bool
        Whether the views are frames of different samples.
    widths : list of int
        Numbers of features of the views from which an object was made.
    n_rows : int
        Number of samples of the views that were drawn last, `n` if there are none.
    repeatable : bool
        Whether a second run has to give the same bits; False after a choice such as ``random_state=None``.
    """

    def __init__(self, case: int, jobs: int = 1) -> None:
        self.rng = np.random.default_rng([20261118, case])
        self.jobs = jobs
        self.is_clean = self.chance(_CLEAN_CASES)
        self.omitted_share = self.choose(0.3, 0.6, 0.85)
        self.n = self.choose(2, 3, 5, 8, 12, 12, 12, 20, 20, 30, 30, 30, 50, 50, 120)
        self.n_clusters = min(int(self.rng.integers(2, 6)), max(2, self.n - 1))
        self.n_views = self.choose(1, 2, 2, 2, 3)
        self.view_names: list[str] = []
        self.must_refuse = ""
        self.broken = ""
        self.known: list[NDArray[np.bool_]] | None = None
        self.masks: list[NDArray[np.bool_]] | None = []
        self.wants_masks: list[NDArray[np.bool_]] = []
        self.wants_alignment = False
        self.widths: list[int] = []
        self.n_rows = self.n
        self.repeatable = True
        # Whether the work has no other limit than one of time.
        self.is_endless = False
        self.folder = Path.cwd()

    def chance(self, probability: float) -> bool:
        """Return True with a probability."""
        return bool(self.rng.random() < probability)

    def choose(self, *options: T) -> T:
        """Return one of the options."""
        return options[int(self.rng.integers(len(options)))]

    def integer(self, low: int, high: int) -> int:
        """Return an integer of the closed range."""
        return int(self.rng.integers(low, max(low, high) + 1))

    def is_wrong(self) -> bool:
        """Return whether the next argument is to be wrong."""
        return self.chance(_WRONG_ARGUMENTS) and not self.is_clean

    def random_state(self) -> Any:
        """Return a seed in one of its forms."""
        seed = self.integer(0, 2**31)
        form = self.choose("int", "int", "int", "numpy", "generator", "legacy", "none")
        if form == "none":
            self.repeatable = False
            return None
        makers: dict[str, Any] = {
            "int": int,
            "numpy": np.int64,
            "generator": np.random.default_rng,
            "legacy": np.random.RandomState,
        }
        return makers[form](seed)
