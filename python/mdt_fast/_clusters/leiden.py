"""Communities of a graph by the Leiden algorithm: clusters whose number is not given.

The quality of a partition is the modularity with a resolution r, ``sum_ij (A_ij - r k_i k_j / 2m) [c_i = c_j]``
for a weighted adjacency A with degrees k and 2m their sum. A larger resolution gives more clusters. For a
wanted number of clusters the resolution is bisected.

References
----------
V. A. Traag, L. Waltman and N. J. van Eck, "From Louvain to Leiden: guaranteeing well-connected communities",
Scientific Reports 9:5233, 2019. doi:10.1038/s41598-019-41695-z
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._fusion.fused_graph import FusedGraph
from .._support.arguments import RandomStateLike, check_integer, check_number
from .._support.csr import check_arrays
from .._support.extras import require
from .._support.seed import check_seed

# Iterations of the algorithm; further ones rarely change anything.
_ITERATIONS = 2
# The resolutions between which a wanted number of clusters is searched, the number of bisections, and of
# seeds: with one seed the number of clusters may skip a value.
_LOWEST, _HIGHEST, _BISECTIONS, _SEEDS = 1e-4, 1e4, 16, 5


def leiden(
    graph: Any,
    *,
    resolution: float = 1.0,
    n_clusters: int | None = None,
    random_state: RandomStateLike = 0,
) -> NDArray[np.int32]:
    """Find the communities of a graph by the Leiden algorithm.

    Needs ``pip install 'mdt_fast[leiden]'``.

    Parameters
    ----------
    graph : FusedGraph or (N, N) sparse matrix
        Of a :class:`FusedGraph` the connectivities; a matrix must be symmetric and non-negative.
    resolution : float, default=1.0
        A larger number gives more clusters.
    n_clusters : int or None, default=None
        Wanted number of clusters: the resolution is searched for, and `resolution` has no effect. If no
        resolution gives exactly this number, the result has the nearest number that was found.
    random_state : int, RandomState, Generator or None, default=0
        Seed.

    Returns
    -------
    (N,) array of int32
        Clusters, numbered in the order of their first samples.

    Raises
    ------
    ImportError
        If igraph is not installed.
    TypeError, ValueError
        If an argument is not as described.

    Notes
    -----
    igraph answers Ctrl-C between its own steps, which takes up to 1.6 s for a graph of 100,000 samples.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> ops = mdt.build_operators(views, n_neighbors=15, kernel="adaptive", joint=True)
    >>> mdt.leiden(mdt.fused_graph(ops))[:6]
    array([0, 1, 0, 2, 1, 1], dtype=int32)
    """
    require("igraph", "leiden")
    adjacency = _check_graph(graph)
    density, seed = check_number("resolution", resolution), check_seed(random_state)
    network = _network(adjacency)
    if n_clusters is None:
        return _communities(network, density, seed)
    return _search(network, check_integer("n_clusters", n_clusters, minimum=1, maximum=adjacency.shape[0]), seed)


def _check_graph(graph: Any) -> sparse.csr_array:
    if isinstance(graph, FusedGraph):
        return graph.connectivities
    if not sparse.issparse(graph):
        raise TypeError(f"graph: expected a FusedGraph or a sparse matrix, got {type(graph).__name__}")
    if graph.ndim != 2 or graph.shape[0] != graph.shape[1] or not graph.shape[0]:
        raise ValueError(f"graph: expected a square matrix, got the shape {graph.shape}")
    if graph.dtype.kind not in "biuf":
        raise TypeError(f"graph: expected real numbers, got dtype {graph.dtype}")
    check_arrays(graph, "graph")
    adjacency = sparse.csr_array(graph, dtype=np.float64)
    adjacency.sum_duplicates()
    if not (np.isfinite(adjacency.data) & (adjacency.data >= 0)).all():
        raise ValueError("graph: expected finite non-negative connectivities")
    difference = abs(adjacency - adjacency.T)
    if difference.nnz and difference.max() > 1e-6 * adjacency.max():
        raise ValueError("graph: expected a symmetric matrix; (graph + graph.T) / 2 is one")
    return adjacency


def _network(adjacency: sparse.csr_array) -> Any:
    import igraph

    upper = sparse.triu(adjacency, k=1).tocoo()
    edges = np.column_stack([upper.row, upper.col])
    return igraph.Graph(n=adjacency.shape[0], edges=edges, edge_attrs={"weight": upper.data.astype(np.float64)})


def _search(network: Any, n_clusters: int, seed: int) -> NDArray[np.int32]:
    """Bisect the resolution until there are `n_clusters` communities, or return the closest number."""
    best, least = None, math.inf
    for attempt in range(_SEEDS):
        low, high = math.log(_LOWEST), math.log(_HIGHEST)
        for _ in range(_BISECTIONS):
            middle = (low + high) / 2
            found = _communities(network, math.exp(middle), seed + attempt)
            surplus = int(found.max()) + 1 - n_clusters
            if abs(surplus) < least:
                best, least = found, abs(surplus)
            if surplus == 0:
                return found
            low, high = (middle, high) if surplus < 0 else (low, middle)
    assert best is not None
    return best


def _communities(network: Any, resolution: float, seed: int) -> NDArray[np.int32]:
    import random

    import igraph

    # igraph draws from one generator for the whole process, by default that of the module `random`.
    igraph.set_random_number_generator(random.Random(seed))
    try:
        found = network.community_leiden(
            "modularity", weights="weight", resolution=resolution, n_iterations=_ITERATIONS
        )
    finally:
        igraph.set_random_number_generator(random)
    _, first, codes = np.unique(np.asarray(found.membership), return_index=True, return_inverse=True)
    # Numbers by first appearance, as k-means numbers its clusters.
    rank = np.empty(len(first), dtype=np.int32)
    rank[np.argsort(first)] = np.arange(len(first), dtype=np.int32)
    return np.asarray(rank[codes])
