"""Distances along the walk on the fused graph: diffusion distance and pseudotime from one cell.

With ``P = D^-1 C`` the walk on the connectivities C, and its eigenvalues ``1 = l_0 > l_1 >= ...`` and right
eigenvectors ``psi_m`` of unit length in the geometry of the stationary distribution,

    diffusion distance  d_t(i, j)^2 = sum_m l_m^(2t) (psi_m(i) - psi_m(j))^2
    pseudotime          s(i, j)^2   = sum_m (l_m / (1 - l_m))^2 (psi_m(i) - psi_m(j))^2

over the leading eigenvectors without the first. The first is the Euclidean distance of the rows ``(P^t)_i`` and
``(P^t)_j`` weighted by the inverse stationary distribution [1]_; the second that of the sums of these rows over
all times ``t >= 1`` [2]_, so it has no parameter of time. Cells that no path joins to the first have an infinite
distance.

References
----------
.. [1] R. R. Coifman, S. Lafon, "Diffusion maps", Applied and Computational Harmonic Analysis 21 (2006) 5-30.
   doi:10.1016/j.acha.2006.04.006
.. [2] L. Haghverdi et al., "Diffusion pseudotime robustly reconstructs lineage branching", Nature Methods 13
   (2016) 845-848. doi:10.1038/nmeth.3971
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from .._geometry.embedding import embed
from .._graphs.modalities import is_multimodal
from .._operators.operator_set import OperatorSet
from .._support.arguments import check_integer
from ._graph import StoredGraph, stored_graph
from ._objects import check_data, check_key, position, to_change
from ._write import Results

# Eigenvalues of parts of the graph that hardly any edge joins are 1 up to rounding.
_SMALLEST_GAP = 1e-12
# The weight of a coordinate (eigenvector times eigenvalue) in the distance, by its eigenvalue.
Weight: TypeAlias = Callable[[NDArray[np.float64]], NDArray[np.float64]]


def diffusion_distance(
    data: Any,
    cell: int | str,
    *,
    t: int = 10,
    n_components: int = 15,
    neighbors_key: str = "mdt",
    key_added: str = "mdt_distance",
    n_jobs: int | None = None,
    copy: bool = False,
) -> Any:
    """Compute the diffusion distance of all cells to one cell, along the walk on the fused graph.

    Parameters
    ----------
    data : AnnData or MuData
        The cells, with a graph of :func:`pp.neighbors`.
    cell : int or str
        The cell, by its name or its position.
    t : int, default=10
        Number of steps of the walk. More steps compare larger neighbourhoods.
    n_components : int, default=15
        Number of eigenvectors of the walk.
    neighbors_key : str, default="mdt"
        Key of the graph, which may also come from scanpy or muon.
    key_added : str, default="mdt_distance"
        Key of `.obs` and `.uns`.
    n_jobs : int or None, default=None
        Number of threads; None or -1 is all.
    copy : bool, default=False
        Whether to return a changed copy instead of changing `data`.

    Returns
    -------
    None, or AnnData or MuData if `copy`
        Written are ``.obs["mdt_distance"]``, 0 for the cell itself and inf for cells that no path joins to
        it, and ``.uns["mdt_distance"]``.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as described. Nothing is written then.

    Notes
    -----
    ``d(i, j)^2 = sum_m l_m^(2t) (psi_m(i) - psi_m(j))^2`` with the leading eigenvalues and right eigenvectors of
    the walk: the distance of the distributions of two walks after t steps.

    Examples
    --------
    >>> import anndata
    >>> import mdt_fast as mdt
    >>> from mdt_fast import scverse as mv
    >>> rna, protein = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> adata = anndata.AnnData(rna, obsm={"protein": protein})
    >>> mv.pp.neighbors(adata, ["X", "protein"])
    >>> mv.tl.diffusion_distance(adata, 0)
    >>> float(adata.obs["mdt_distance"].iloc[0])
    0.0
    """
    check_data(data)
    steps = check_integer("t", t, minimum=1, limit=2**20)
    run = _Run.of(data, cell, "cell", n_components, neighbors_key, key_added, copy)
    values = run.distances(lambda values: values ** (steps - 1), n_jobs)
    return run.write(values, {"cell": run.cell, "t": steps})


def pseudotime(
    data: Any,
    root: int | str | None = None,
    *,
    n_components: int = 15,
    neighbors_key: str = "mdt",
    key_added: str = "mdt_pseudotime",
    n_jobs: int | None = None,
    copy: bool = False,
) -> Any:
    """Order cells by their distance from a root cell along the walk on the fused graph, summed over all times.

    Parameters
    ----------
    data : AnnData or MuData
        The cells, with a graph of :func:`pp.neighbors`.
    root : int, str or None, default=None
        The first cell, by its name or its position; None is the position ``.uns["iroot"]``, as in scanpy.
    n_components : int, default=15
        Number of eigenvectors of the walk.
    neighbors_key : str, default="mdt"
        Key of the graph, which may also come from scanpy or muon.
    key_added : str, default="mdt_pseudotime"
        Key of `.obs` and `.uns`.
    n_jobs : int or None, default=None
        Number of threads; None or -1 is all.
    copy : bool, default=False
        Whether to return a changed copy instead of changing `data`.

    Returns
    -------
    None, or AnnData or MuData if `copy`
        Written are ``.obs["mdt_pseudotime"]``, from 0 for the root to 1, and inf for cells that no path joins
        to it, and ``.uns["mdt_pseudotime"]``.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as described. Nothing is written then.

    Notes
    -----
    ``s(i, j)^2 = sum_m (l_m / (1 - l_m))^2 (psi_m(i) - psi_m(j))^2`` with the leading eigenvalues and right
    eigenvectors of the walk, divided by its largest finite value: the diffusion pseudotime of Haghverdi et al.
    (2016) on this graph. It is `sc.tl.dpt` without the density normalisation, which the kernel of
    :func:`pp.neighbors` has already.

    Examples
    --------
    >>> import anndata
    >>> import mdt_fast as mdt
    >>> from mdt_fast import scverse as mv
    >>> one, other = mdt.datasets.make_deformed_plane(300).views
    >>> adata = anndata.AnnData(one, obsm={"other": other})
    >>> mv.pp.neighbors(adata, ["X", "other"])
    >>> mv.tl.pseudotime(adata, root=0)
    >>> float(adata.obs["mdt_pseudotime"].min()), float(adata.obs["mdt_pseudotime"].max())
    (0.0, 1.0)
    """
    check_data(data)
    if root is None:
        if "iroot" not in data.uns:
            raise ValueError("root: expected the name or position of a cell, or .uns['iroot'], got None")
        root = int(data.uns["iroot"])
    run = _Run.of(data, root, "root", n_components, neighbors_key, key_added, copy)
    values = run.distances(_over_all_times, n_jobs)
    largest = float(values[np.isfinite(values)].max())
    return run.write(values / (largest or 1.0), {"root": run.cell})


def _over_all_times(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return 1.0 / np.maximum(1.0 - values, _SMALLEST_GAP)


@dataclass(frozen=True)
class _Run:
    """One call: the object, the cell from which distances are measured, and where they are written."""

    data: Any
    cell: int
    n_components: int
    neighbors_key: str
    key_added: str
    copy: bool

    @classmethod
    def of(
        cls, data: Any, cell: Any, argument: str, n_components: int, neighbors_key: str, key_added: str, copy: bool
    ) -> _Run:
        place = position(data, cell, argument)
        count = check_integer("n_components", n_components, minimum=1)
        check_key("key_added", key_added)
        name, data = str(data.obs_names[place]), to_change(data, copy=copy)
        if is_multimodal(data):
            # A copy of a MuData may have another order.
            place = position(data, name, argument)
        return cls(data, place, count, neighbors_key, key_added, copy)

    def distances(self, weight: Weight, n_jobs: int | None) -> NDArray[np.float64]:
        graph = stored_graph(self.data, self.neighbors_key)
        return distances_from(self.cell, graph, weight, self.n_components, n_jobs)

    def write(self, values: NDArray[np.float64], params: dict[str, int]) -> Any:
        stored = {**params, "n_components": self.n_components, "neighbors_key": str(self.neighbors_key)}
        Results(obs={self.key_added: values}, uns={self.key_added: {"params": stored}}).write(self.data)
        return self.data if self.copy else None


def distances_from(
    cell: int, graph: StoredGraph, weight: Weight, n_components: int, n_jobs: int | None
) -> NDArray[np.float64]:
    """Return the distance of each cell to one, inf for cells in other parts of the graph.

    Parameters
    ----------
    cell : int
        The cell.
    graph : StoredGraph
        The graph.
    weight : callable
        The weights of the coordinates, which are eigenvectors times eigenvalues, by their eigenvalues.
    n_components : int
        Number of eigenvectors; fewer if the part of the cell is small.
    n_jobs : int or None
        Number of threads.
    """
    C = graph.connectivities
    _, part = connected_components(C, directed=False)
    members = np.flatnonzero(part == part[cell])
    distances = np.full(C.shape[0], np.inf)
    distances[cell] = 0.0
    if len(members) == 1:
        return distances
    own = sparse.csr_array(C[members][:, members]).astype(np.float64)
    walk = OperatorSet.from_affinities({"fused": own}, n_jobs=n_jobs).trajectory([0])
    found = embed(walk, min(n_components, len(members) - 1), weighting="stationary", decomposition="eigen", tol=1e-6)
    # Coordinates are eigenvectors times eigenvalues.
    scaled = found.coordinates * weight(np.asarray(found.eigenvalues))
    at = int(np.flatnonzero(members == cell)[0])
    distances[members] = np.linalg.norm(scaled - scaled[at], axis=1)
    return distances
