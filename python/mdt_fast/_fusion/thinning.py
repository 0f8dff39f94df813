"""The fused graph of some of its samples, for maps of very many samples.

A graph without most samples loses most edges: of 60,000 digits, a random twentieth has 541 separate parts. Edges
of the thinned graph are walks of one or two steps, which may pass samples that are left out:

    A = R_SS + (R R)_SS

with the walk R on the connectivities and the chosen samples S. The largest entries of each row are kept.
Accuracy of 10 neighbours in a layout by UMAP of 20,000, 6,000 and 3,000 of the digits: 0.919, 0.904 and 0.869;
with graphs that are built of their features alone 0.938, 0.891 and 0.866.

Cost: a sparse product of the rows and the columns of the chosen samples.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .fused_graph import FusedGraph, distances_of, without_diagonal

# Largest entries of a row that are kept.
_KEPT = 20


def thin(graph: FusedGraph, samples: NDArray[np.intp]) -> FusedGraph:
    """Return the graph of some samples, joined by walks of up to two steps.

    Parameters
    ----------
    graph : FusedGraph
        The graph of all samples.
    samples : (n,) array of int
        Ascending numbers of the samples to keep.
    """
    C = graph.connectivities
    degrees = np.asarray(C.sum(axis=1)).ravel()
    walk = sparse.csr_array(C.multiply(1 / np.where(degrees > 0, degrees, 1.0)[:, np.newaxis]))
    rows, columns = walk[samples], walk[:, samples]
    reached = without_diagonal(sparse.csr_array(rows @ columns + rows[:, samples]))
    kept = _largest(reached)
    connectivities = sparse.csr_array((kept + kept.T) * 0.5)
    connectivities.sort_indices()
    strongest = np.asarray(connectivities.max(axis=1).toarray()).ravel()
    # A sample that no kept sample reaches has no entry.
    distances = distances_of(connectivities, np.where(strongest > 0, strongest, 1.0))
    return FusedGraph(connectivities, distances, graph.view_weights[samples], graph.view_names)


def _largest(matrix: sparse.csr_array) -> sparse.csr_array:
    """Return the largest entries of each row."""
    rows = np.repeat(np.arange(matrix.shape[0]), np.diff(matrix.indptr))
    order = np.lexsort((matrix.indices, -matrix.data, rows))
    kept = order[np.arange(len(order)) - np.asarray(matrix.indptr)[rows] < _KEPT]
    return sparse.csr_array((matrix.data[kept], (rows[kept], matrix.indices[kept])), shape=matrix.shape)
