"""From views to operators: neighbours, affinities, random walks."""

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
from .operator_set import OperatorSet, is_single


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
    """Turn several views of the same samples into random-walk operators.

    Each view gets a graph of nearest neighbours, a symmetric affinity ``K`` on it, and the walk ``P = D^-1 K``. Every
    argument but the last four may be given per view, as a list with one entry for each view, or as a dict by view
    name when `Xs` is a dict.

    Parameters
    ----------
    Xs : list, tuple or dict of 2-D arrays, sparse matrices or DataFrames
        Rows are the same samples in every view. A bare 2-D array is one view. The result refers to them, for rows of
        new samples; it copies no contiguous array of floats.
    n_neighbors : "log" or int
        Number of other points joined to each point; "log" is ``ceil(ln N)``, clamped to ``[1, N - 1]``. An int never
        counts the point itself, whatever the preset.
    kernel : {"gaussian", "laplacian", "correlation", "adaptive", "binary"} or callable
        Affinity of two points at distance ``d``: ``exp(-d^2 / (2 sigma^2))``, ``exp(-d / sigma)``,
        ``exp(-d / (2 sigma))`` on the correlation distance, ``exp(-d^2 / (s_i s_j))`` with ``s_i`` the distance to the
        last neighbour of ``i``, 1, or ``kernel(distances)`` for a 1-D array of distances.
    bandwidth : "max-min", float, array of one per sample, or callable
        ``sigma``; "max-min" is the largest of all distances to a nearest distinct point. A callable gets the
        directed graph of distances as a CSR matrix and returns a number or one for each sample. With one for each
        sample, ``sigma^2`` becomes ``sigma_i sigma_j`` (and ``b`` of the published kernel ``sqrt(b_i b_j)``).
    symmetrize : {"mean", "max", "min"}
        How the affinities of the two directions are combined; one missing direction counts as 0.
    neighbors : {"auto", "exact", "approx"}, ApproximateNeighbors, (indices, distances), sparse graph of distances, or \
KNeighborsTransformer
        Where neighbours come from. "auto" looks for approximate ones where exact ones would take more than half a
        minute or so: from ``N^2 d = 2e12`` on, if ``d > 6``. A graph that is given is used whole: `n_neighbors` does
        not apply to it, and "max-min" looks at its edges only.
    metric : {"euclidean", "cosine", "correlation", "manhattan", "precomputed"}
        Distance of two samples; for "precomputed" the view is an (N, N) matrix of distances (a sparse one is a
        graph, used whole).
    anisotropy : float
        ``alpha`` of ``K_ij / (q_i q_j)^alpha``, ``q`` the row sums of ``K``; 1 removes the influence of the sampling
        density, 0 changes nothing.
    preset : {None, "published"}
        "published" follows the code behind the published figures instead of the paper's text: the kernel is
        ``exp(-d^2 / b)`` with ``b`` the bandwidth, "log" is ``floor(ln N)`` counting the point itself, and the
        correlation kernel divides by ``2 sigma^2``.
    dtype : {None, "float32", "float64"}
        Element type of the operators; None is float32 when every view is, else float64.
    random_state : int, RandomState, Generator or None
        Seed of approximate neighbours; None is 0, so that a graph depends on nothing but the data. Exact search draws
        nothing.
    n_jobs : int or None
        Threads for this call and for everything done with its result. None or -1: all. The result does not
        depend on it.

    Returns
    -------
    OperatorSet

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
    single = is_single(dtype, [view.data.dtype for view in views])
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
                graph.indptr,
                graph.indices,
                shape.values,
                kernel=shape.shape,
                widths=shape.widths,
                diagonal=shape.diagonal,
                symmetrize=setting["symmetrize"],
                anisotropy=float(setting["anisotropy"]),
                single=single,
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
    """Nearest neighbours of every sample among the others.

    Parameters
    ----------
    X : 2-D array or sparse matrix
        The samples.
    n_neighbors : int
        Number of other samples, between 1 and N - 1.
    metric : {"euclidean", "cosine", "correlation", "manhattan"}
        Distance of two samples.
    method : {"exact", "approx", "auto"} or ApproximateNeighbors
        Exact or approximate ones; "auto" as in :func:`build_operators`.
    random_state : int, RandomState, Generator or None
        Seed of approximate ones; None is 0.
    n_jobs : int or None
        Threads; None or -1: all. The result does not depend on it.

    Returns
    -------
    indices : (N, n_neighbors) int32 array
        Neighbours by ascending (distance, index), the sample itself left out.
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
    indices, distances, _, exponent = _graph.search_table(view, k, metric, method, seed, n_threads(n_jobs))
    return indices, np.ldexp(distances, exponent) if exponent else distances


def _check_seed(random_state: Any) -> int:
    return 0 if random_state is None else check_seed(random_state)


def _of_view(name: str, value: Any, v: int, names: list[str]) -> Any:
    """Return the entry of a per-view argument for view `v`; anything but a list or dict serves every view."""
    # Several views may also be given a tuple, except where a tuple is a value of its own: a pair of arrays.
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
    """Refuse what cannot work before any view has been worked on."""
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
