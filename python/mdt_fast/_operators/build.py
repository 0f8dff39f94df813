"""Random-walk operators of views: neighbours, affinities, transition matrices."""

from typing import Any

from numpy.typing import DTypeLike

from .. import _core
from .._graphs.joint import JointView, can_join, joint_settings
from .._graphs.kernels import shape_kernel
from .._graphs.neighbors import find_neighbors
from .._graphs.new_rows import TrainingView
from .._graphs.settings import check_settings
from .._graphs.views import check_views
from .._support.arguments import check_choice, check_flag
from .._support.seed import check_seed
from .._support.threads import n_threads
from .given_matrices import is_single_precision
from .operator_set import OperatorSet


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
    joint: bool | str = False,
    preset: str | None = None,
    dtype: DTypeLike | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> OperatorSet:
    """Build the random-walk operators of several views of the same samples.

    For each view: a graph of nearest neighbours, a symmetric affinity ``K`` on its edges, and the
    transition matrix ``P = D^-1 K``. Each argument from `n_neighbors` to `anisotropy` may be given
    per view: as a list with one entry for each view, or as a dict by view name if `Xs` is a dict.

    Parameters
    ----------
    Xs : list, tuple or dict of 2-D arrays, sparse matrices or DataFrames
        The views; rows are the same samples in every view. A single 2-D array is one view. The
        result holds a copy of them for new samples. A read-only array, such as a memory map in mode
        "r", is not copied, and its file must not change.
    n_neighbors : "log" or int, default="log"
        Number of other samples joined to each sample; "log" is ``ceil(ln N)``, clamped to
        ``[1, N - 1]``. An integer does not count the sample itself, with any preset.
    kernel : {"gaussian", "laplacian", "correlation", "adaptive", "binary"} or callable, \
default="gaussian"
        Affinity of two samples at distance ``d``: ``exp(-d^2 / (2 sigma^2))``, ``exp(-d / sigma)``,
        ``exp(-d / (2 sigma))`` of the correlation distance, ``exp(-d^2 / (s_i s_j))`` with ``s_i``
        the distance to the last neighbour of ``i``, 1, or ``kernel(distances)`` for a 1-D array of
        distances.
    bandwidth : "max-min", float, (N,) array or callable, default="max-min"
        The width ``sigma``; "max-min" is the largest of all distances to a nearest distinct sample.
        A callable takes the directed graph of distances as a CSR matrix and returns a number or an
        (N,) array. With an array, ``sigma^2`` becomes ``sigma_i sigma_j`` (and ``b`` of the
        published kernel ``sqrt(b_i b_j)``).
    symmetrize : {"mean", "max", "min"}, default="mean"
        How the affinities of the two directions are combined; a missing direction counts as 0.
    neighbors : {"auto", "exact", "approx"}, ApproximateNeighbors, (indices, distances), \
sparse graph of distances, or KNeighborsTransformer, default="auto"
        Source of the neighbours. "auto" searches approximately if an exact search would take more
        than about half a minute: from ``N^2 d = 2e12`` on, if ``d > 6``. A given graph is used
        whole: `n_neighbors` does not apply to it, and "max-min" uses its edges only.
    metric : {"euclidean", "cosine", "correlation", "manhattan", "precomputed"}, default="euclidean"
        Distance of two samples. With "precomputed" the view is an (N, N) matrix of distances; a
        sparse one is a graph that is used whole.
    anisotropy : float, default=0.0
        Exponent ``alpha`` of ``K_ij / (q_i q_j)^alpha``, with ``q`` the row sums of ``K``. With 1
        the result does not depend on the sampling density; 0 changes nothing.
    joint : bool or "auto", default=False
        Whether the last base view, named "joint", has the columns of all views, each view divided
        by its total standard deviation. "auto" adds it if there are several views of features with
        the same settings. Samples are then neighbours in it only if all views together say so. New
        samples need the given views only.
    preset : {None, "published"}, default=None
        "published" follows the code behind the published figures instead of the text of the paper:
        the kernel is ``exp(-d^2 / b)`` with ``b`` the bandwidth, "log" is ``floor(ln N)`` including
        the sample itself, and the correlation kernel divides by ``2 sigma^2``.
    dtype : {None, "float32", "float64"}, default=None
        Element type of the operators; None is float32 if every view is, else float64.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the approximate search; None is 0. An exact search draws no random numbers.
    n_jobs : int or None, default=None
        Number of threads for this call and for all uses of the result; None or -1 uses all. The
        result does not depend on it.

    Returns
    -------
    OperatorSet
        One member for each view.

    Raises
    ------
    TypeError, ValueError
        If a view or an argument is not as described; every argument is checked before the first
        search.

    References
    ----------
    .. [1] "Multi-view diffusion geometry using intertwined diffusion trajectories",
       arXiv:2512.01484.

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
    seed = check_seed(0 if random_state is None else random_state)
    settings = check_settings(
        views, n_neighbors=n_neighbors, kernel=kernel, bandwidth=bandwidth, symmetrize=symmetrize,
        neighbors=neighbors, metric=metric, anisotropy=anisotropy,
    )  # fmt: skip
    recipe = None
    if isinstance(joint, str):
        check_choice("joint", joint, ("auto",))
    if (can_join(views, settings) and not published) if isinstance(joint, str) else check_flag("joint", joint):
        settings = [*settings, joint_settings(views, settings)]
        recipe = JointView.of(views, settings[0].metric)
        views = [*views, recipe.join(views)]
    transitions, bandwidths, duplicates, training = [], [], [], []
    for view, setting in zip(views, settings, strict=True):
        n_others = setting.count_neighbors(view.n_samples, published)
        graph = find_neighbors(view, n_others, setting.metric, setting.neighbors, seed, threads)
        shape = shape_kernel(setting.kernel, setting.bandwidth, graph, published, view)
        edges = _core.CsrParts(graph.n_samples, graph.indptr, graph.indices, shape.values)
        how: dict[str, Any] = {"graph": edges, "kernel": shape.shape, "widths": shape.widths}
        how |= {"diagonal": shape.diagonal, "symmetrize": setting.symmetrize, "anisotropy": setting.anisotropy}
        how["n_threads"] = threads
        try:
            transitions.append(_core.Transition.from_graph(single_precision=single_precision, **how))
        except ValueError as error:
            argument = "kernel" if callable(setting.kernel) else "anisotropy" if setting.anisotropy else view.argument
            cause = f"{argument} ({view.name})"
            raise ValueError(f"{cause}: {error}") from None
        bandwidths.append(shape.bandwidth)
        duplicates.append(graph.n_duplicates())
        training.append(TrainingView.of(view, setting, graph, shape, how))
    return OperatorSet._of_views(
        transitions,
        [view.name for view in views],
        bandwidths=bandwidths,
        n_duplicates=duplicates,
        training_views=training,
        joint=recipe,
        n_jobs=n_jobs,
    )
