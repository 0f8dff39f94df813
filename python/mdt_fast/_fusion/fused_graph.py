"""The fused graph: one sparse graph of all views, for tools that read neighbour graphs.

A step of the fused walk is ``R = sum_v a_v P_v`` with the weights ``a_v`` of the base views. Then

    connectivity  C_ij = (R_ij + R_ji) / 2
    distance      d_ij = sqrt(log(sqrt(c_i c_j) / C_ij)),  c_i = max_j C_ij, j = i included.

A connectivity is the probability of a step between two samples. For one view with the adaptive kernel
``exp(-d^2 / (s_i s_j))`` the distance is close to ``d / sqrt(s_i s_j)``, so it has no unit, and the
distances of different views are comparable. ``docs/graphs.md`` compares other definitions by the
clusters that the Leiden algorithm finds in them; weights of views that differ between samples are among
those that are worse.

Cost: one pass over the edges of all views; the result has at most their union, in both directions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from .._operators.operator_set import OperatorSet
from .._support.arguments import check_integer
from .base_weights import default_weights, walk_of_views
from .view_weights import view_weights


@dataclass(frozen=True, eq=False)
class FusedGraph:
    """One graph of all views, symmetric and without self-loops.

    Attributes
    ----------
    connectivities : (N, N) scipy.sparse.csr_array
        Probability of a step of the fused walk between two samples, the mean of both directions.
    distances : (N, N) scipy.sparse.csr_array
        Distances of the same pairs, without a unit: neighbours have about 1. The distance of samples that
        coincide may be an explicit 0.
    view_weights : (N, V) array
        Weight of each given view at each sample; rows sum to 1. A view has a low weight where the
        neighbours of a sample and of the samples around it are farther apart than is usual in the view.
        The weights describe the views; connectivities do not depend on them.
    view_names : list of str
        Names of the given views.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> ops = mdt.build_operators(views)
    >>> graph = mdt.fused_graph(ops)
    >>> graph.connectivities.shape, graph.view_weights.shape, graph.view_names
    ((150, 150), (150, 2), ['view 0', 'view 1'])
    """

    connectivities: sparse.csr_array
    distances: sparse.csr_array
    view_weights: NDArray[np.float64]
    view_names: list[str]

    def __repr__(self) -> str:
        """Return the numbers of samples and edges, and the views."""
        n, n_edges = self.n_samples, self.connectivities.nnz // 2
        return f"FusedGraph({n} samples, {n_edges} edges; views: {', '.join(self.view_names)})"

    @property
    def n_samples(self) -> int:
        """Number of samples."""
        return int(self.connectivities.shape[0])

    @property
    def fewest_neighbors(self) -> int:
        """Number of neighbours of the sample with the fewest."""
        return int(np.diff(self.distances.indptr).min())

    def nearest(self, n_neighbors: int) -> tuple[NDArray[np.int32], NDArray[Any]]:
        """Return the nearest samples of each sample, itself first, as ``precomputed_knn`` of UMAP takes them.

        Parameters
        ----------
        n_neighbors : int
            Number of samples in a row, the sample itself included, as UMAP counts them.

        Returns
        -------
        indices : (N, n_neighbors) array of int32
            Samples by ascending distance; equal ones by number.
        distances : (N, n_neighbors) array
            Their distances; the first column is 0.

        Raises
        ------
        ValueError
            If some sample has fewer neighbours.

        Examples
        --------
        >>> import mdt_fast as mdt
        >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
        >>> ops = mdt.build_operators(views)
        >>> graph = mdt.fused_graph(ops)
        >>> neighbors, distances = graph.nearest(3)
        >>> neighbors.shape, distances.shape
        ((150, 3), (150, 3))
        """
        count = check_integer("n_neighbors", n_neighbors, minimum=1)
        if count - 1 > self.fewest_neighbors:
            raise ValueError(
                f"n_neighbors: expected at most {self.fewest_neighbors + 1} for this graph, in which some sample has "
                f"{self.fewest_neighbors} neighbours, got {count}; build it with more neighbours"
            )
        D = self.distances
        lengths = np.diff(D.indptr)
        rows = np.repeat(np.arange(self.n_samples), lengths)
        order = np.lexsort((D.indices, D.data, rows))
        places = np.asarray(D.indptr[:-1])[:, np.newaxis] + np.arange(count - 1)
        chosen = order[places]
        itself = np.arange(self.n_samples, dtype=np.int32)[:, np.newaxis]
        indices = np.hstack([itself, D.indices[chosen].astype(np.int32)])
        return indices, np.hstack([np.zeros_like(D.data, shape=itself.shape), D.data[chosen]])


def fused_graph(ops: OperatorSet, *, weights: ArrayLike | None = None) -> FusedGraph:
    """Fuse the neighbour graphs of all views into one graph.

    Parameters
    ----------
    ops : OperatorSet
        The views. Each sample is joined to its neighbours in every base view, so the number of neighbours
        is that of :func:`build_operators`. With ``kernel="adaptive"`` distances have no unit; a joint view
        (``joint=True``) adds the neighbours by all views together.
    weights : (n_views,) array or None, default=None
        Weight of each base view in a step; None gives the joint view a half and the others equal parts of the
        rest.

    Returns
    -------
    FusedGraph

    Raises
    ------
    TypeError, ValueError
        If an argument is not as described.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> ops = mdt.build_operators(views, n_neighbors=15, kernel="adaptive", joint=True)
    >>> graph = mdt.fused_graph(ops)
    >>> graph.view_weights.shape, graph.fewest_neighbors >= 15
    ((150, 2), True)
    """
    if not isinstance(ops, OperatorSet):
        raise TypeError(f"ops: expected an OperatorSet, got {type(ops).__name__}")
    shares = default_weights(ops) if weights is None else _check_weights(weights, ops)
    step = walk_of_views(ops, shares)
    walk = step.tosparse()
    connectivities = sparse.csr_array((walk + walk.T) * 0.5)
    connectivities.sort_indices()
    strongest = np.asarray(connectivities.max(axis=1).toarray()).ravel()
    connectivities = without_diagonal(connectivities)
    distances = distances_of(connectivities, strongest)
    return FusedGraph(connectivities, distances, view_weights(ops, step), ops.given_names)


def sample_weights(ops: OperatorSet, weights: NDArray[np.float64] | None = None) -> NDArray[np.float64]:
    """Return the weight of each given view at each sample; `weights` are those of :func:`fused_graph`."""
    return view_weights(ops, walk_of_views(ops, default_weights(ops) if weights is None else weights))


def _check_weights(weights: ArrayLike, ops: OperatorSet) -> NDArray[np.float64]:
    shares = np.asarray(weights)
    if shares.shape != (ops.n_views,) or shares.dtype.kind not in "biuf":
        raise ValueError(
            f"weights: expected {ops.n_views} numbers, one for each base view ({', '.join(ops.names[: ops.n_views])}), "
            f"got {weights!r}"
        )
    shares = shares.astype(np.float64)
    if not (np.isfinite(shares) & (shares >= 0)).all() or shares.sum() <= 0:
        raise ValueError(f"weights: expected finite non-negative numbers with a positive sum, got {weights!r}")
    return np.asarray(shares / shares.sum())


def without_diagonal(matrix: sparse.csr_array) -> sparse.csr_array:
    """Return a matrix without the entries of its diagonal."""
    rows = np.repeat(np.arange(matrix.shape[0], dtype=matrix.indices.dtype), np.diff(matrix.indptr))
    kept = matrix.indices != rows
    counts = np.bincount(rows[kept], minlength=matrix.shape[0])
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(matrix.indptr.dtype)
    return sparse.csr_array((matrix.data[kept], matrix.indices[kept], indptr), shape=matrix.shape)


def distances_of(connectivities: sparse.csr_array, strongest: NDArray[Any]) -> sparse.csr_array:
    """Return the distances of connectivities without a diagonal; `strongest` are the largest of each row, with it."""
    logs = np.log(strongest.astype(np.float64))
    lengths = np.diff(connectivities.indptr)
    squares = 0.5 * (np.repeat(logs, lengths) + logs[connectivities.indices]) - np.log(
        connectivities.data.astype(np.float64)
    )
    values = np.sqrt(np.maximum(squares, 0.0)).astype(connectivities.dtype)
    return sparse.csr_array(
        (values, connectivities.indices.copy(), connectivities.indptr.copy()), shape=connectivities.shape
    )
