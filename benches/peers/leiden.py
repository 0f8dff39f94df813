"""Leiden communities of the views' KNN graphs as layers of one multiplex graph.

Traag, Waltman, van Eck: "From Louvain to Leiden: guaranteeing well-connected communities",
Scientific Reports 2019. The quality is the sum over the layers of the modularity with a resolution
(Reichardt, Bornholdt 2006).
"""

from typing import Any

import numpy as np
import scipy.sparse as sp

from .base import Labels, Views
from .graphs import neighbour_graph

# Resolutions of one community and of more communities than any set has classes.
LOWEST, HIGHEST = 1e-3, 1e3
STEPS = 25


def _layer(view: np.ndarray) -> Any:
    import igraph

    upper = sp.triu(neighbour_graph(view), k=1).tocoo()
    return igraph.Graph(n=len(view), edges=np.column_stack([upper.row, upper.col]).tolist())


def multiplex_leiden(views: Views, n_clusters: int, seed: int) -> Labels:
    """Bisect the resolution until there are `n_clusters` communities, or return the closest number."""
    import leidenalg

    layers = [_layer(view) for view in views]
    low, high = np.log(LOWEST), np.log(HIGHEST)
    best: Labels | None = None
    missed = np.inf
    for _ in range(STEPS):
        middle = (low + high) / 2
        membership, _ = leidenalg.find_partition_multiplex(
            layers,
            leidenalg.RBConfigurationVertexPartition,
            seed=seed,
            resolution_parameter=float(np.exp(middle)),
        )
        count = len(set(membership))
        if abs(count - n_clusters) < missed:
            best, missed = np.asarray(membership), abs(count - n_clusters)
        if count == n_clusters:
            break
        if count < n_clusters:
            low = middle
        else:
            high = middle
    assert best is not None
    return best
