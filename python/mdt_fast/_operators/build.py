"""From views to operators: neighbours, affinities, random walks."""

from typing import Any

from numpy.typing import DTypeLike

from .. import _core
from .._graphs.kernels import shape_kernel
from .._graphs.neighbors import find_neighbors
from .._graphs.new_rows import TrainingView
from .._graphs.settings import check_settings
from .._graphs.views import check_views
from .._support.arguments import check_choice
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
    seed = check_seed(0 if random_state is None else random_state)
    settings = check_settings(
        views, n_neighbors=n_neighbors, kernel=kernel, bandwidth=bandwidth, symmetrize=symmetrize,
        neighbors=neighbors, metric=metric, anisotropy=anisotropy,
    )  # fmt: skip
    transitions, bandwidths, duplicates, training = [], [], [], []
    for view, setting in zip(views, settings, strict=True):
        n_others = setting.count_neighbors(view.n_samples, published)
        graph = find_neighbors(view, n_others, setting.metric, setting.neighbors, seed, threads)
        shape = shape_kernel(setting.kernel, setting.bandwidth, graph, published, view.name)
        transitions.append(
            _core.Transition.from_graph(
                graph.indptr,
                graph.indices,
                shape.values,
                kernel=shape.shape,
                widths=shape.widths,
                diagonal=shape.diagonal,
                symmetrize=setting.symmetrize,
                anisotropy=setting.anisotropy,
                single=single,
                n_threads=threads,
            )
        )
        bandwidths.append(shape.bandwidth)
        duplicates.append(graph.n_duplicates())
        training.append(TrainingView.of(view, setting, graph, shape, threads))
    return OperatorSet._of_views(
        transitions,
        [view.name for view in views],
        bandwidths=bandwidths,
        n_duplicates=duplicates,
        training_views=training,
        n_jobs=n_jobs,
    )
