"""Random-walk operators of views: neighbours, affinities, transition matrices."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse

from .. import _core
from .._graphs import neighbors as _graph
from .._graphs import new_rows as _recipe
from .._graphs.approximate import check_search, is_search
from .._graphs.kernels import KERNELS, check_bandwidth, shape_kernel
from .._graphs.neighbors import METRICS, NeighborGraph
from .._graphs.views import View, check_views
from .._support.arguments import check_choice, check_integer, check_number
from .._support.seed import check_seed
from .._support.threads import n_threads
from .operator_set import OperatorSet, is_single_precision


def build_operators(
    Xs: Any,
    *,
    n_neighbors: Any = "log",
    kernel: Any = "gaussian",
    bandwidth: Any = "max-min",
    symmetrize: Any = "mean",
    neighbors: Any = "auto",
    metric: Any = "euclidean",
    anisotropy: Any = 0.0,
    preset: str | None = None,
    dtype: DTypeLike | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> OperatorSet:
    """Build the random-walk operators of several views of the same samples.

    For each view: a graph of nearest neighbours, a symmetric affinity ``K`` on its edges, and the
    transition matrix ``P = D^-1 K``. Each argument from `n_neighbors` to `anisotropy` may be given per
    view: as a list with one entry for each view, or as a dict by view name if `Xs` is a dict.

    Parameters
    ----------
    Xs : list, tuple or dict of 2-D arrays, sparse matrices or DataFrames
        The views; rows are the same samples in every view. A single 2-D array is one view. The result
        refers to the views, for rows of new samples, and does not copy contiguous arrays of floats.
    n_neighbors : "log" or int, default="log"
        Number of other samples joined to each sample; "log" is ``ceil(ln N)``, clamped to
        ``[1, N - 1]``. An integer does not count the sample itself, with any preset.
    kernel : {"gaussian", "laplacian", "correlation", "adaptive", "binary"} or callable, default="gaussian"
        Affinity of two samples at distance ``d``: ``exp(-d^2 / (2 sigma^2))``, ``exp(-d / sigma)``,
        ``exp(-d / (2 sigma))`` of the correlation distance, ``exp(-d^2 / (s_i s_j))`` with ``s_i`` the
        distance to the last neighbour of ``i``, 1, or ``kernel(distances)`` for a 1-D array of distances.
    bandwidth : "max-min", float, (N,) array or callable, default="max-min"
        The width ``sigma``; "max-min" is the largest of all distances to a nearest distinct sample. A
        callable takes the directed graph of distances as a CSR matrix and returns a number or an (N,)
        array. With an array, ``sigma^2`` becomes ``sigma_i sigma_j`` (and ``b`` of the published kernel
        ``sqrt(b_i b_j)``).
    symmetrize : {"mean", "max", "min"}, default="mean"
        How the affinities of the two directions are combined; a missing direction counts as 0.
    neighbors : {"auto", "exact", "approx"}, ApproximateNeighbors, (indices, distances), sparse graph of \
distances, or KNeighborsTransformer, default="auto"
        Source of the neighbours. "auto" searches approximately if an exact search would take more than
        about half a minute: from ``N^2 d = 2e12`` on, if ``d > 6``. A given graph is used whole:
        `n_neighbors` does not apply to it, and "max-min" uses its edges only.
    metric : {"euclidean", "cosine", "correlation", "manhattan", "precomputed"}, default="euclidean"
        Distance of two samples. With "precomputed" the view is an (N, N) matrix of distances; a sparse
        one is a graph that is used whole.
    anisotropy : float, default=0.0
        Exponent ``alpha`` of ``K_ij / (q_i q_j)^alpha``, with ``q`` the row sums of ``K``. With 1 the
        result does not depend on the sampling density; 0 changes nothing.
    preset : {None, "published"}, default=None
        "published" follows the code behind the published figures instead of the text of the paper: the
        kernel is ``exp(-d^2 / b)`` with ``b`` the bandwidth, "log" is ``floor(ln N)`` including the sample
        itself, and the correlation kernel divides by ``2 sigma^2``.
    dtype : {None, "float32", "float64"}, default=None
        Element type of the operators; None is float32 if every view is, else float64.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the approximate search; None is 0. An exact search draws no random numbers.
    n_jobs : int or None, default=None
        Number of threads for this call and for all uses of the result; None or -1 uses all. The result
        does not depend on it.

    Returns
    -------
    OperatorSet
        One member for each view.

    Raises
    ------
    TypeError, ValueError
        If a view or an argument is not as described; every argument is checked before the first search.

    References
    ----------
    .. [1] "Multi-view diffusion geometry using intertwined diffusion trajectories", arXiv:2512.01484.

    Examples
    --------
    >>> import numpy as np
    >>> import mdt_fast as mdt
    >>> X1, X2 = np.random.default_rng(0).normal(size=(2, 100, 5))
    >>> mdt.build_operators({"rna": X1, "protein": X2})
    OperatorSet(100 samples, members: rna, protein; float64)
    """
    views = check_views(Xs)
    if preset is not None:
        check_choice("preset", preset, ("published",))
    published = preset == "published"
    single_precision = is_single_precision(dtype, [view.data.dtype for view in views])
    threads = n_threads(n_jobs)
    seed = _check_seed(random_state)
    per_view = {
        "n_neighbors": n_neighbors,
        "kernel": kernel,
        "bandwidth": bandwidth,
        "symmetrize": symmetrize,
        "neighbors": neighbors,
        "metric": metric,
        "anisotropy": anisotropy,
    }
    settings = [
        {name: _of_view(name, value, v, [view.name for view in views]) for name, value in per_view.items()}
        for v in range(len(views))
    ]
    for view, setting in zip(views, settings, strict=True):
        _check_setting(setting, view)
    transitions, bandwidths, duplicates, recipes = [], [], [], []
    for view, setting in zip(views, settings, strict=True):
        graph = _find_neighbors(view, setting, published, seed, threads)
        shape = shape_kernel(setting["kernel"], setting["bandwidth"], graph, published, view.name)
        transitions.append(
            _core.Transition.from_graph(
                _core.CsrParts(graph.n_samples, graph.indptr, graph.indices, shape.values),
                kernel=shape.shape,
                widths=shape.widths,
                diagonal=shape.diagonal,
                symmetrize=setting["symmetrize"],
                anisotropy=float(setting["anisotropy"]),
                single_precision=single_precision,
                n_threads=threads,
            )
        )
        bandwidths.append(shape.bandwidth)
        duplicates.append(graph.n_duplicates())
        recipes.append(_recipe.record(view, setting, graph, shape, threads))
    return OperatorSet._of_views(
        transitions,
        [view.name for view in views],
        bandwidths=bandwidths,
        n_duplicates=duplicates,
        recipes=recipes,
        n_jobs=n_jobs,
    )


def nearest_neighbors(
    X: Any,
    n_neighbors: int,
    *,
    metric: str = "euclidean",
    method: Any = "exact",
    random_state: Any = None,
    n_jobs: int | None = None,
) -> tuple[NDArray[np.int32], NDArray[np.float64]]:
    """Find the nearest neighbours of every sample among the others.

    Parameters
    ----------
    X : (N, d) array or sparse matrix
        The samples.
    n_neighbors : int
        Number of other samples, between 1 and N - 1.
    metric : {"euclidean", "cosine", "correlation", "manhattan"}, default="euclidean"
        Distance of two samples.
    method : {"exact", "approx", "auto"} or ApproximateNeighbors, default="exact"
        Exact or approximate search; "auto" chooses as :func:`build_operators` does.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the approximate search; None is 0.
    n_jobs : int or None, default=None
        Number of threads; None or -1 uses all. The result does not depend on it.

    Returns
    -------
    indices : (N, n_neighbors) int32 array
        Neighbours by ascending (distance, index), without the sample itself.
    distances : (N, n_neighbors) float64 array
        Their distances.
    """
    (view,) = check_views([X])
    check_choice("metric", metric, METRICS[:-1])
    k = check_integer("n_neighbors", n_neighbors, minimum=1, maximum=view.n_samples - 1)
    if not is_search(method):
        raise TypeError(f"method: expected 'exact', 'approx', 'auto' or ApproximateNeighbors, got {method!r}")
    check_search("method", method, view, metric)
    seed = _check_seed(random_state)
    table = _graph.search_table(view, k, metric, method, seed, n_threads(n_jobs))
    return table.indices, np.ldexp(table.distances, table.exponent) if table.exponent else table.distances


def _check_seed(random_state: Any) -> int:
    return 0 if random_state is None else check_seed(random_state)


def _of_view(name: str, value: Any, v: int, names: list[str]) -> Any:
    """Return the entry of a per-view argument for view `v`; anything but a list or dict serves every view."""
    # A tuple holds one entry for each view, unless it is itself a value: a pair of arrays.
    is_pair = name == "neighbors" and isinstance(value, tuple) and len(value) == 2
    is_sequence = isinstance(value, list) or (isinstance(value, tuple) and (not is_pair or _holds_graphs(value)))
    if is_sequence:
        if len(value) != len(names):
            raise ValueError(f"{name}: expected one value or one for each of {len(names)} views, got {len(value)}")
        return value[v]
    if isinstance(value, Mapping):
        by_name = {str(key): entry for key, entry in value.items()}
        if set(by_name) != set(names):
            raise ValueError(f"{name}: expected a value for each of {names}, got one for each of {list(by_name)}")
        return by_name[names[v]]
    if is_pair and len(names) > 1:
        raise ValueError(f"{name}: expected a list with one graph for each of {len(names)} views, got one pair")
    return value


def _holds_graphs(pair: tuple[Any, ...]) -> bool:
    return all(isinstance(g, (tuple, str)) or sparse.issparse(g) or hasattr(g, "fit_transform") for g in pair)


def _check_setting(setting: dict[str, Any], view: View) -> None:
    """Check the arguments of one view, before any search."""
    if not callable(setting["kernel"]):
        check_choice("kernel", setting["kernel"], KERNELS)
    check_choice("symmetrize", setting["symmetrize"], ("mean", "max", "min"))
    check_choice("metric", setting["metric"], METRICS)
    check_number("anisotropy", setting["anisotropy"])
    check_bandwidth(setting["bandwidth"], view.n_samples, view.name)
    if isinstance(setting["n_neighbors"], str):
        check_choice("n_neighbors", setting["n_neighbors"], ("log",))
    else:
        check_integer("n_neighbors", setting["n_neighbors"], minimum=1, maximum=view.n_samples - 1)
    if setting["kernel"] == "correlation" and setting["metric"] == "euclidean":
        setting["metric"] = "correlation"
    if setting["kernel"] == "correlation" and setting["metric"] not in ("correlation", "precomputed"):
        raise ValueError(
            f"metric: expected 'correlation' or 'precomputed' for kernel='correlation', got {setting['metric']!r}"
        )
    if is_search(setting["neighbors"]):
        check_search("neighbors", setting["neighbors"], view, setting["metric"])


def _find_neighbors(view: View, setting: dict[str, Any], published: bool, seed: int, threads: int) -> NeighborGraph:
    if not is_search(setting["neighbors"]):
        return _graph.given(setting["neighbors"], view)
    k = setting["n_neighbors"]
    if k == "log":
        log = math.log(view.n_samples)
        k = min(max(math.floor(log) - 1 if published else math.ceil(log), 1), view.n_samples - 1)
    return _graph.search(view, k, setting["metric"], setting["neighbors"], seed, threads)
