"""Random-walk operators of views: neighbours, affinities, transition matrices."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

from .. import _core
from .._graphs.absence import ZERO_ROWS, fillers, without_zero_rows
from .._graphs.batches import Codes, check_batches, find_balanced
from .._graphs.joint import JointView, can_join, joint_settings
from .._graphs.kernels import shape_kernel
from .._graphs.new_rows import TrainingView
from .._graphs.scaling import ViewScaling, find_scaling
from .._graphs.settings import ViewSettings, check_settings
from .._graphs.views import Holes, View, check_views
from .._support.arguments import check_choice, check_flag, check_integer
from .._support.memory import MANY_SAMPLES, release_pages, return_free_memory
from .._support.monitor import Monitor, ProgressLike, watch
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
    scale: Any = None,
    joint: bool | str = False,
    present: Any = None,
    absent: str = "borrow",
    zero_rows: str = "absent",
    align: str | None = None,
    batches: Any = None,
    preset: str | None = None,
    dtype: DTypeLike | None = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: ProgressLike = False,
) -> OperatorSet:
    """Build the random-walk operators of several views of the same samples.

    For each view: a graph of nearest neighbours, a symmetric affinity ``K`` on its edges, and the
    transition matrix ``P = D^-1 K``. Each argument from `n_neighbors` to `scale` may be given
    per view: as a list with one entry for each view, or as a dict by view name if `Xs` is a dict.

    Parameters
    ----------
    Xs : list, tuple or dict of 2-D arrays, sparse matrices or DataFrames; or MuData
        The views; rows are the same samples in every view. A single 2-D array is one view. The
        result holds a copy of them for new samples. A read-only array, such as a memory map in mode
        "r", is not copied, and its file must not change. A view may lack samples: their rows are
        NaN or None, or see `present` and `align`. Each sample must be in some view. The views of a
        MuData are its modalities, by ``.obsm["X_pca"]`` or else ``.X``.
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
        Source of the neighbours. "auto" searches approximately if that is expected to take half the
        time of an exact search: from ``N = 34,000 (d + 150) / (d + 50)`` on, if ``d > 6``. A given graph is used
        whole: `n_neighbors` does not apply to it, and "max-min" uses its edges only.
    metric : {"euclidean", "cosine", "correlation", "manhattan", "precomputed", "auto"}, \
default="euclidean"
        Distance of two samples. With "precomputed" the view is an (N, N) matrix of distances; a
        sparse one is a graph that is used whole. "auto" is "cosine" for a sparse view and for counts
        or term weights (at least 20 columns, no negative number, three quarters of them 0), and
        "euclidean" otherwise. If a row of zeros has no other view, the rows are scaled to unit
        length instead.
    anisotropy : float, default=0.0
        Exponent ``alpha`` of ``K_ij / (q_i q_j)^alpha``, with ``q`` the row sums of ``K``. With 1
        the result does not depend on the sampling density; 0 changes nothing.
    scale : {None, "auto", "standard", "unit"}, callable or transformer, default=None
        What is done with the features first, and with those of new samples: "standard" subtracts
        means and divides columns by their standard deviation (sparse views are divided only),
        "unit" divides rows by their length. A callable gets a matrix of samples and returns one of
        as many rows; a transformer of scikit-learn is fitted to the view. "auto" is "standard" if a
        few columns in other units hold 99 % of the variance, and None otherwise.
    joint : bool or "auto", default=False
        Whether the last base view, named "joint", has the columns of all views, each view divided
        by its total standard deviation. "auto" adds it if there are several views of features with
        the same settings. Samples are then neighbours in it only if all views together say so. New
        samples need the given views only. For a sample that a view lacks, the columns of the view
        are a mean over the samples that one step reaches.
    present : (N, V) array, or list, tuple or dict of (N,) arrays of bool, default=None
        True for the samples that each view has; None for all, except rows of NaN. What a view
        holds in other rows has no effect.
    absent : {"borrow", "stay"}, default="borrow"
        What a step of a view does with a sample that the view lacks: "borrow" takes it along its
        rows in the views that have it, in equal parts; with "stay" it stays where it is.
    zero_rows : {"absent", "error", "keep"}, default="absent"
        What a row of zeros means in a sparse view and in one with the cosine metric: "absent" is a
        sample that the view lacks, if another view has it.
    align : {None, "outer"}, default=None
        "outer" joins data frames of different samples by their row labels: the samples are those of
        the first frame, followed by the other ones of the next.
    batches : (N,) array of int or str, default=None
        The batch of each sample, such as a donor or a plate. Each sample is then joined to its
        nearest samples of its own batch, and to those of every other batch of which it is
        one of the nearest as well; distances across batches do not count the shift between them
        (``docs/batches.md``). A new sample has no batch and is joined to its nearest samples.
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
    progress : bool, callable or None, default=False
        Whether a line on the standard error shows the view, the stage and the time; None shows it on a
        terminal. A callable receives a :class:`Progress` several times a second.

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
    with watch(progress) as monitor:
        with monitor.stage("views"):
            views = check_views(Xs, holes=Holes(present, align))
            check_choice("absent", absent, ("borrow", "stay"))
            check_choice("zero_rows", zero_rows, ZERO_ROWS)
            if preset is not None:
                check_choice("preset", preset, ("published",))
            published = preset == "published"
            single_precision = is_single_precision(dtype, [view.data.dtype for view in views])
            threads = n_threads(n_jobs)
            seed = check_seed(0 if random_state is None else random_state)
            settings = check_settings(
                views, zero_rows, n_neighbors=n_neighbors, kernel=kernel, bandwidth=bandwidth, symmetrize=symmetrize,
                neighbors=neighbors, metric=metric, anisotropy=anisotropy, scale=scale,
            )  # fmt: skip
            codes = check_batches(batches, views, settings)
            views = without_zero_rows(views, [each.metric for each in settings], zero_rows, least=2)
            scalings = [find_scaling(each.scale, view, each.metric) for view, each in zip(views, settings, strict=True)]
            views = [view if each is None else each.apply(view) for view, each in zip(views, scalings, strict=True)]
            if isinstance(joint, str):
                check_choice("joint", joint, ("auto",))
            is_joined = (
                (can_join(views, settings) and not published) if isinstance(joint, str) else check_flag("joint", joint)
            )
            setting_of_joint = joint_settings(views, settings) if is_joined else None
        how: dict[str, Any] = {
            "codes": codes,
            "published": published,
            "single_precision": single_precision,
            "seed": seed,
            "n_threads": threads,
            "monitor": monitor,
            "n_views": len(views) + is_joined,
        }
        built = [
            _build_view(view, setting, zero_rows, scaling, number=v, **how)
            for v, (view, setting, scaling) in enumerate(zip(views, settings, scalings, strict=True))
        ]
        recipe = None
        if setting_of_joint is not None:
            with monitor.stage("views", detail="joint"):
                recipe = JointView.of(views, [each.metric for each in settings])
                joined = recipe.join(views, fillers(views, [each.transition for each in built]))
            built.append(_build_view(joined, setting_of_joint, "keep", None, number=len(views), **how))
            views = [*views, joined]
        with monitor.stage("operators", n_total=len(views), n_done=len(views)):
            return _assemble(built, views, joint=recipe, absent=absent, n_jobs=n_jobs)


def with_neighbors(ops: OperatorSet, n_neighbors: int) -> OperatorSet:
    """Return the base views of a set with another number of neighbours, the adaptive kernel and anisotropy 1.

    The set itself is returned if its views have these graphs already.

    Raises
    ------
    ValueError
        If a view was given as a matrix or graph, so that its neighbours cannot be searched.
    """
    training = ops._training_views
    if lacking := [name for name, each in zip(ops.names, training, strict=False) if each is None]:
        raise ValueError(
            f"n_neighbors: expected None for a view that was given as a matrix or graph ({lacking[0]!r}), got "
            f"{n_neighbors}"
        )
    known = [each for each in training if each is not None]
    n = ops.n_samples
    count = check_integer("n_neighbors", n_neighbors, minimum=1, maximum=n - 1)
    if all(each.is_adaptive and each.n_neighbors == min(count, len(each.radii) - 1) for each in known):
        return ops
    views = [View(name, each.data, "X", each.presence) for name, each in zip(ops.names, known, strict=False)]
    settings = [
        ViewSettings(count, "adaptive", "max-min", "mean", "auto", each.metric, anisotropy=1.0) for each in known
    ]
    how: dict[str, Any] = {"published": False, "single_precision": ops.dtype == np.float32, "seed": 0}
    how |= {"codes": known[0].batches, "monitor": Monitor(False), "n_views": len(views)}
    built = [
        _build_view(view, setting, each.zero_rows, each.scaling, number=v, n_threads=n_threads(ops.n_jobs), **how)
        for v, (view, setting, each) in enumerate(zip(views, settings, known, strict=True))
    ]
    return _assemble(built, views, joint=ops._joint, absent=ops.absent, n_jobs=ops.n_jobs)


@dataclass(frozen=True)
class _BuiltView:
    """The walk of one view among the samples that it has, and what is kept of its graph."""

    transition: _core.Transition
    bandwidth: Any
    n_duplicates: int
    training: TrainingView | None

    def among(self, view: View, n: int, *, stay: bool) -> _core.Transition:
        """Return the walk among all samples."""
        return self.transition if view.presence is None else self.transition.among(view.presence.samples, n, stay)


def _assemble(
    built: list[_BuiltView], views: list[View], *, joint: JointView | None, absent: str, n_jobs: int | None
) -> OperatorSet:
    """Return the operator set of built views; the last one is the joint view if there is a recipe of it."""
    n = views[0].n_total
    return OperatorSet._of_views(
        [each.among(view, n, stay=absent == "stay") for each, view in zip(built, views, strict=True)],
        [view.name for view in views],
        bandwidths=[_of_all(each.bandwidth, view) for each, view in zip(built, views, strict=True)],
        n_duplicates=[each.n_duplicates for each in built],
        training_views=[each.training for each in built],
        joint=joint,
        presences=[view.presence for view in views],
        absent=absent,
        n_jobs=n_jobs,
    )


def _build_view(
    view: View, setting: ViewSettings, zero_rows: str, scaling: ViewScaling | None, **how: Any
) -> _BuiltView:
    built = _walk_of_view(view, setting, zero_rows, scaling, **how)
    # The graph of the view was freed when the function above returned.
    if view.n_samples >= MANY_SAMPLES:
        return_free_memory()
        release_pages(view.data)
    return built


def _walk_of_view(
    view: View, setting: ViewSettings, zero_rows: str, scaling: ViewScaling | None, *, number: int, n_views: int,
    codes: Codes | None, published: bool, single_precision: bool, seed: int, n_threads: int, monitor: Monitor,
) -> _BuiltView:  # fmt: skip
    n_others = setting.count_neighbors(view.n_samples, published)
    part: dict[str, Any] = {"detail": view.name, "n_done": number, "n_total": n_views}
    with monitor.stage("neighbours", **part):
        graph = find_balanced(view, codes, n_others, setting.metric, setting.neighbors, seed, n_threads)
    with monitor.stage("operators", **part):
        shape = shape_kernel(setting.kernel, setting.bandwidth, graph, published, view)
        edges = _core.CsrParts(graph.n_samples, graph.indptr, graph.indices, shape.values)
        how: dict[str, Any] = {"graph": edges, "kernel": shape.shape, "widths": shape.widths}
        how |= {"diagonal": shape.diagonal, "symmetrize": setting.symmetrize, "anisotropy": setting.anisotropy}
        how["n_threads"] = n_threads
        try:
            transition = _core.Transition.from_graph(single_precision=single_precision, **how)
        except ValueError as error:
            argument = "kernel" if callable(setting.kernel) else "anisotropy" if setting.anisotropy else view.argument
            cause = f"{argument} ({view.name})"
            raise ValueError(f"{cause}: {error}") from None
        training = TrainingView.of(view, setting, graph, shape, how, zero_rows, scaling)
        if training is not None and codes is not None:
            training = replace(training, batches=codes)
        return _BuiltView(transition, shape.bandwidth, graph.n_duplicates(), training)


def _of_all(bandwidth: Any, view: View) -> Any:
    """Return a bandwidth for all samples: nan for those that the view lacks."""
    if view.presence is None or not isinstance(bandwidth, np.ndarray):
        return bandwidth
    widths = np.full(view.n_total, np.nan)
    widths[view.presence.samples] = bandwidth
    return widths
