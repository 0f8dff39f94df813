"""What the benchmark knows about a peer method."""

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np

Views = list[np.ndarray]
Labels = np.ndarray


@dataclass(frozen=True)
class Peer:
    """A clustering method and the conditions under which it runs.

    Attributes
    ----------
    run : callable
        ``(views, n_clusters, seed) -> labels``. An oracle returns one row of labels for each
        view, from which the benchmark takes the best by the classes.
    random : bool
        False for a method whose result does not depend on the seed; it runs with one seed.
    max_samples : int or None
        The method is skipped on larger sets.
    oracle : bool
        True for a method that uses the classes. Ranks and the best peer leave it out.
    needs : tuple of str
        Optional packages; the method is left out where one is absent.
    """

    run: Callable[[Views, int, int], Labels]
    random: bool = True
    max_samples: int | None = None
    oracle: bool = False
    needs: tuple[str, ...] = ()

    def missing(self) -> list[str]:
        """Return the packages that are not installed."""
        return [name for name in self.needs if find_spec(name) is None]
