"""A map: coordinates of the samples in the plane, in which neighbours of the fused graph are close.

Each connected part of the graph is laid out by UMAP or t-SNE and starts from the ranks of the first two
diffusion coordinates of its walk. The parts are then arranged side by side: no edge says where they belong. Samples
without an edge form a part of their own.

Share of samples whose class is that of most of their 10 nearest samples (``benches/bench_layout.py``):

============================  =================  =========  ==========  =========  =========
coordinates                   digits, noise 0.3  K-MvMNIST  Multi-Feat  SNARE-seq  100Leaves
============================  =================  =========  ==========  =========  =========
two singular vectors          0.820              0.600      0.959       0.968      0.601
UMAP of all columns           0.948              0.890      0.981       0.978      0.944
layout, UMAP                  0.954              0.911      0.981       0.975      0.974
layout, t-SNE                 0.959              0.939      0.981       0.981      0.980
the graph itself, nearest 10  0.960              0.950      0.985       0.982      0.979
============================  =================  =========  ==========  =========  =========

Cost: some hundred passes over the edges, on one thread; t-SNE takes four to nine times as long as UMAP.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from .._geometry.embedding import embed
from .._operators.operator_set import OperatorSet
from .._support.arguments import RandomStateLike, check_choice
from .._support.extras import is_installed, require_installed
from .._support.seed import check_seed
from .._support.warnings import ConvergenceWarning, OperatorWarning
from .arrangement import arrange, on_a_grid
from .fused_graph import FusedGraph
from .layout_methods import by_tsne, by_umap

Points: TypeAlias = NDArray[np.float32]
# Distances of a connected part, its start and a seed to its coordinates.
Method: TypeAlias = Callable[[sparse.csr_array, NDArray[np.float64], int], Points]

_METHODS: dict[str, Method] = {"umap": by_umap, "tsne": by_tsne}
# Steps of the walk whose coordinates are the start: more steps converge faster and smooth details.
_STEPS = 8
# Accuracy of the start.
_TOLERANCE = 1e-2
# A part of this size or less is drawn as a regular figure; its walk has too few coordinates.
_TINY = 3


def layout(graph: FusedGraph, *, method: str = "auto", random_state: RandomStateLike = 0) -> Points:
    """Lay out a fused graph in the plane, for a map of the samples.

    Distances in the map have no meaning beyond the nearest samples. Neither have the sizes of groups, the
    distances between them, and the arrangement of parts that no edge joins. Use the map to look, and the graph
    or diffusion coordinates to compute.

    Parameters
    ----------
    graph : FusedGraph
        The graph, from :func:`fused_graph` or the method `fused_graph` of an estimator.
    method : {"auto", "umap", "tsne"}, default="auto"
        "umap" needs ``pip install 'mdt_fast[umap]'``. "tsne" is that of scikit-learn; it is several times
        slower. "auto" is "umap" if it is installed, else "tsne".
    random_state : int, RandomState, Generator or None, default=0
        Seed. The same seed gives the same map, whatever the number of threads.

    Returns
    -------
    (N, 2) array of float32
        Coordinates of the samples.

    Raises
    ------
    ImportError
        If `method` is "umap" and umap-learn is not installed.
    TypeError, ValueError
        If an argument is not as described.

    See Also
    --------
    mdt_fast.plot.map : Draw the map of a graph or a fitted estimator.

    Notes
    -----
    The first call of UMAP in a process compiles its code; a Ctrl-C in these seconds may be lost.

    References
    ----------
    L. McInnes, J. Healy and J. Melville, "UMAP: uniform manifold approximation and projection for dimension
    reduction", arXiv:1802.03426.

    L. van der Maaten and G. Hinton, "Visualizing data using t-SNE", Journal of Machine Learning Research 9,
    2008.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> graph = mdt.MDTClustering(3).fit(views).fused_graph()
    >>> mdt.layout(graph, method="tsne").shape
    (150, 2)
    """
    if not isinstance(graph, FusedGraph):
        raise TypeError(f"graph: expected a FusedGraph, got {type(graph).__name__}")
    lay_out = _METHODS[resolve_method(method)]
    seed = check_seed(random_state)
    count, part = connected_components(graph.connectivities, directed=False)
    if count == 1:
        return _lay_out_part(graph, None, lay_out, seed)
    sizes = np.bincount(part)
    alone = np.flatnonzero(sizes[part] == 1)
    samples = [alone] if len(alone) else []
    points = [on_a_grid(len(alone))] if len(alone) else []
    order = np.argsort(part, kind="stable")
    ends = np.cumsum(sizes)
    for end, size in zip(ends, sizes, strict=True):
        if size > 1:
            samples.append(order[end - size : end])
            points.append(_lay_out_part(graph, samples[-1], lay_out, seed))
    placed = np.empty((graph.n_samples, 2), dtype=np.float32)
    for members, at in zip(samples, arrange(points), strict=True):
        placed[members] = at
    return placed


def resolve_method(method: str) -> str:
    """Return the method that "auto" stands for; raise ImportError if it is not installed."""
    check_choice("method", method, ["auto", *_METHODS])
    if method == "auto":
        return "umap" if is_installed("umap") else "tsne"
    if method == "umap":
        require_installed("umap", "layout with method='umap'")
    return method


def _lay_out_part(graph: FusedGraph, samples: NDArray[np.intp] | None, lay_out: Method, seed: int) -> Points:
    """Return the coordinates of a connected part, all samples if `samples` is None."""
    connectivities, distances = graph.connectivities, graph.distances
    if samples is not None:
        connectivities, distances = (matrix[samples][:, samples] for matrix in (connectivities, distances))
    n = connectivities.shape[0]
    if n <= _TINY:
        return on_a_grid(n)
    return lay_out(distances, _diffusion_ranks(connectivities, seed), seed)


def _diffusion_ranks(connectivities: sparse.csr_array, seed: int) -> NDArray[np.float64]:
    """Return the ranks of the first two coordinates of the walk on a connected graph, from -1 to 1.

    In the coordinates themselves a few remote samples would leave little space for the others.
    """
    # The walk stays with probability 1/2; coordinates with alternating signs would come first otherwise.
    degrees = np.asarray(connectivities.sum(axis=1)).ravel()
    affinity = sparse.csr_array(connectivities + sparse.diags_array(degrees))
    with warnings.catch_warnings():
        # Neither accuracy nor parts that are almost separate matter for a start.
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", OperatorWarning)
        walk = OperatorSet.from_affinities([affinity]).trajectory([0] * _STEPS)
        coordinates = embed(walk, 2, tol=_TOLERANCE, random_state=seed).coordinates
    ranks = coordinates.argsort(axis=0, kind="stable").argsort(axis=0, kind="stable")
    return np.asarray(2.0 * ranks / (len(ranks) - 1) - 1.0)
