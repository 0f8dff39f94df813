"""What the neighbours of a call depend on, besides the rows."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Settings:
    """The arguments of a call.

    Attributes
    ----------
    n_neighbors : int
        Number of neighbours.
    metric : str
        Distance of two samples.
    recall : float
        Share of the nearest neighbours to be found.
    cell_rows : int
        Largest number of samples of a cell.
    seed : int
        Seed of the cells and of the approximate search.
    """

    n_neighbors: int
    metric: str
    recall: float
    cell_rows: int
    seed: int

    @property
    def share(self) -> float:
        """Share of the neighbours that have a common cell, and of those that the search of a cell finds.

        Half of the neighbours that may be missed are in no common cell.
        """
        return 1 - (1 - self.recall) / 2
