"""Baselines that are trajectories: one view alone, products of the views, the mean of the views."""

from dataclasses import dataclass
from typing import Any

from .._geometry.embedding import Embedding, embed
from .._geometry.time import select_time
from .._operators.operator_set import OperatorSet
from .._operators.trajectory import Trajectory
from .._support.arguments import LARGEST_STEPS, check_choice, check_integer, check_per_view
from ._base import TrajectoryBaseline

# Largest time of the entropy curves.
_MAX_T = 24
# Up to this number of samples all eigenvalues of a transition matrix are computed. Beyond, the
# entropy of its singular values is estimated without a dense matrix.
_SPECTRAL_SAMPLES = 2500


def _check_time(name: str, t: object) -> int | None:
    """Return a time, or None for "auto"."""
    if isinstance(t, str):
        check_choice(name, t, ("auto",))
        return None
    return check_integer(name, t, minimum=1, limit=LARGEST_STEPS)


@dataclass(eq=False, repr=False, kw_only=True)
class DiffusionMaps(TrajectoryBaseline):
    """Embed the samples of one view by diffusion maps (DM).

    The coordinates are right eigenvectors of the transition matrix ``P_v``, times eigenvalues to
    the power t.

    Parameters
    ----------
    n_components, n_clusters, n_init, ...
        See :class:`Baseline`, also for the parameters of the graphs.
    view : int or str, default=0
        Number or name of the view.
    t : int, default=1
        Number of steps.
    weighting : {"uniform", "stationary"}, default="uniform"
        Norm in which eigenvectors have length 1: the Euclidean norm, or that weighted by the
        stationary distribution. The latter gives the classical diffusion map, in which Euclidean
        distances are diffusion distances.

    Attributes
    ----------
    embedding_, labels_, score_, cluster_centers_, operators_
        See :class:`Baseline`.
    trajectory_, geometry_
        See :class:`TrajectoryBaseline`.

    References
    ----------
    R. R. Coifman and S. Lafon (2006), Diffusion maps, Appl. Comput. Harmon. Anal. 21(1),
    doi:10.1016/j.acha.2006.04.006.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> mdt.baselines.DiffusionMaps(2).fit_transform(views).shape
    (150, 2)
    """

    view: Any = 0
    t: int = 1
    weighting: str = "uniform"

    def _trajectory(self, ops: OperatorSet) -> Trajectory:
        if isinstance(self.view, str):
            view = ops.names.index(check_choice("view", self.view, ops.names))
        else:
            view = check_integer("view", self.view, minimum=0, maximum=ops.n_views - 1)
        return ops.trajectory([view] * check_integer("t", self.t, minimum=1, limit=LARGEST_STEPS))

    def _embed(self, W: Trajectory, n_components: int) -> Embedding:
        how = {"weighting": self.weighting, "tol": self.tol, "random_state": self.random_state}
        return embed(W, n_components, decomposition="eigen", **how)


@dataclass(eq=False, repr=False, kw_only=True)
class AlternatingDiffusion(TrajectoryBaseline):
    """Embed samples by alternating diffusion (AD).

    The operator is ``P_1 P_2 ... P_V``: one step of each view.

    Parameters
    ----------
    n_components, n_clusters, n_init, ...
        See :class:`Baseline`, also for the parameters of the graphs.

    Attributes
    ----------
    embedding_, labels_, score_, cluster_centers_, operators_
        See :class:`Baseline`.
    trajectory_, geometry_
        See :class:`TrajectoryBaseline`.

    References
    ----------
    R. R. Lederman and R. Talmon (2018), Learning the geometry of common latent variables using
    alternating-diffusion, Appl. Comput. Harmon. Anal. 44(3), doi:10.1016/j.acha.2015.09.002.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> mdt.baselines.AlternatingDiffusion(2).fit_transform(views).shape
    (150, 2)
    """

    def _trajectory(self, ops: OperatorSet) -> Trajectory:
        return ops.trajectory(range(ops.n_views)[::-1])


@dataclass(eq=False, repr=False, kw_only=True)
class PoweredAlternatingDiffusion(TrajectoryBaseline):
    """Embed samples by powered alternating diffusion (p-AD).

    The operator is ``(P_1 P_2 ... P_V)^t``.

    Parameters
    ----------
    n_components, n_clusters, n_init, ...
        See :class:`Baseline`, also for the parameters of the graphs.
    t : int or "auto", default="auto"
        Number of repetitions. "auto" means the knee of the singular entropy among 1, ..., 24.

    Attributes
    ----------
    embedding_, labels_, score_, cluster_centers_, operators_
        See :class:`Baseline`.
    trajectory_, geometry_
        See :class:`TrajectoryBaseline`.
    t_ : int
        Number of repetitions.

    References
    ----------
    "Multi-view diffusion geometry using intertwined diffusion trajectories", arXiv:2512.01484.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> mdt.baselines.PoweredAlternatingDiffusion(2).fit_transform(views).shape
    (150, 2)
    """

    t: Any = "auto"

    def _trajectory(self, ops: OperatorSet) -> Trajectory:
        t = _check_time("t", self.t)
        sequence = list(range(ops.n_views))[::-1]
        self.t_ = select_time(ops.trajectory(sequence), max_t=_MAX_T).t if t is None else t
        return ops.trajectory(sequence * self.t_)


@dataclass(eq=False, repr=False, kw_only=True)
class IntegratedDiffusion(TrajectoryBaseline):
    """Embed samples by integrated diffusion (ID).

    The operator is ``P_1^(t_1) ... P_V^(t_V)``: each view has its own number of steps.

    Parameters
    ----------
    n_components, n_clusters, n_init, ...
        See :class:`Baseline`, also for the parameters of the graphs.
    t : int, list of int (one for each view) or "auto", default="auto"
        Number of steps of each view. "auto" means the knee of its spectral entropy among 1, ..., 24
        (above 2,500 samples, the knee of its estimated singular entropy).

    Attributes
    ----------
    embedding_, labels_, score_, cluster_centers_, operators_
        See :class:`Baseline`.
    trajectory_, geometry_
        See :class:`TrajectoryBaseline`.
    t_ : list of int
        Number of steps of each view.

    References
    ----------
    M. Kuchroo, A. Godavarthi, A. Tong, G. Wolf and S. Krishnaswamy (2022), Multimodal data
    visualization and denoising with integrated diffusion, arXiv:2102.06757.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> mdt.baselines.IntegratedDiffusion(2).fit_transform(views).shape
    (150, 2)
    """

    t: Any = "auto"

    def _trajectory(self, ops: OperatorSet) -> Trajectory:
        given = check_per_view("t", self.t, ops.n_views, _check_time)
        method = "spectral" if ops.n_samples <= _SPECTRAL_SAMPLES else "stochastic"
        self.t_ = [
            select_time(ops, view=v, max_t=_MAX_T, method=method).t if t is None else t for v, t in enumerate(given)
        ]
        return ops.trajectory([v for v in reversed(range(ops.n_views)) for _ in range(self.t_[v])])


@dataclass(eq=False, repr=False, kw_only=True)
class MeanDiffusion(TrajectoryBaseline):
    """Embed samples by diffusion on the mean of the views.

    The operator is ``M^t``, with ``M = (P_1 + ... + P_V) / V``.

    Parameters
    ----------
    n_components, n_clusters, n_init, ...
        See :class:`Baseline`, also for the parameters of the graphs.
    t : int or "auto", default=1
        Number of steps. "auto" means that of :func:`select_time`.

    Attributes
    ----------
    embedding_, labels_, score_, cluster_centers_, operators_
        See :class:`Baseline`.
    trajectory_, geometry_
        See :class:`TrajectoryBaseline`.
    t_ : int
        Number of steps.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> mdt.baselines.MeanDiffusion(2).fit_transform(views).shape
    (150, 2)
    """

    t: Any = 1

    def _trajectory(self, ops: OperatorSet) -> Trajectory:
        t = _check_time("t", self.t)
        self.t_ = select_time(ops).t if t is None else t
        return ops.trajectory([[1.0 / ops.n_views] * ops.n_views] * self.t_)
