"""Baselines that are trajectories: one view alone, views one after the other, the mean of the views."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._geometry.embedding import Embedding, embed
from .._geometry.time import select_time
from .._operators.operator_set import OperatorSet
from .._operators.trajectory import Trajectory
from .._support.arguments import check_choice, check_integer, check_per_view
from ._base import TrajectoryBaseline

# Times looked at for a knee.
_MAX_T = 24
# Up to here all eigenvalues of one walk are computed; beyond, its singular values are estimated without a dense matrix.
_SPECTRAL_SAMPLES = 2500


def _check_time(name: str, t: object) -> int | None:
    """Return a time, None for "auto"."""
    if isinstance(t, str):
        check_choice(name, t, ("auto",))
        return None
    return check_integer(name, t, minimum=1)


@dataclass(eq=False, repr=False, kw_only=True)
class DiffusionMaps(TrajectoryBaseline):
    """Diffusion maps of one view: right eigenvectors of its walk times eigenvalues to the power t.

    Parameters
    ----------
    n_components, n_clusters, n_init, and those of the graphs
        As of :class:`Baseline`.
    view : int or str
        Which view.
    t : int
        Number of steps.
    weighting : {"uniform", "stationary"}
        Length of the eigenvectors: 1 as vectors, or 1 under the stationary distribution, which is the classical
        diffusion map, whose distances are diffusion distances.

    Attributes
    ----------
    embedding_, labels_, score_, operators_
        As of :class:`Baseline`.
    trajectory_, geometry_
        The walk and its embedding.
    """

    view: Any = 0
    t: int = 1
    weighting: str = "uniform"

    def _trajectory(self, ops: OperatorSet) -> Trajectory:
        if isinstance(self.view, str):
            view = ops.names.index(check_choice("view", self.view, ops.names))
        else:
            view = check_integer("view", self.view, minimum=0, maximum=ops.n_views - 1)
        return ops.trajectory([view] * check_integer("t", self.t, minimum=1))

    def _embed(self, W: Trajectory, n_components: int) -> Embedding:
        how = {"weighting": self.weighting, "tol": self.tol, "random_state": self.random_state}
        return embed(W, n_components, decomposition="eigen", **how)


@dataclass(eq=False, repr=False, kw_only=True)
class AlternatingDiffusion(TrajectoryBaseline):
    """Alternating diffusion (AD): one step of each view, the product ``P_1 P_2 ... P_V``.

    Parameters
    ----------
    n_components, n_clusters, n_init, and those of the graphs
        As of :class:`Baseline`.

    Attributes
    ----------
    embedding_, labels_, score_, operators_
        As of :class:`Baseline`.
    trajectory_, geometry_
        The product and its embedding.
    """

    def _trajectory(self, ops: OperatorSet) -> Trajectory:
        return ops.trajectory(range(ops.n_views)[::-1])


@dataclass(eq=False, repr=False, kw_only=True)
class PoweredAlternatingDiffusion(TrajectoryBaseline):
    """Powered alternating diffusion (p-AD): ``(P_1 P_2 ... P_V)^t``.

    Parameters
    ----------
    n_components, n_clusters, n_init, and those of the graphs
        As of :class:`Baseline`.
    t : int or "auto"
        How often; "auto": the knee of the singular entropy among 1, ..., 24.

    Attributes
    ----------
    embedding_, labels_, score_, operators_
        As of :class:`Baseline`.
    trajectory_, geometry_
        The product and its embedding.
    t_ : int
        How often.
    """

    t: Any = "auto"

    def _trajectory(self, ops: OperatorSet) -> Trajectory:
        t = _check_time("t", self.t)
        word = list(range(ops.n_views))[::-1]
        self.t_ = select_time(ops.trajectory(word), max_t=_MAX_T).t if t is None else t
        return ops.trajectory(word * self.t_)


@dataclass(eq=False, repr=False, kw_only=True)
class IntegratedDiffusion(TrajectoryBaseline):
    """Integrated diffusion (ID): ``P_1^(t_1) ... P_V^(t_V)``, each view smoothed for a time of its own.

    Parameters
    ----------
    n_components, n_clusters, n_init, and those of the graphs
        As of :class:`Baseline`.
    t : int, list of int (one for each view) or "auto"
        Steps of each view; "auto": the knee of its spectral entropy among 1, ..., 24 (above 2,500 samples, of the
        estimated singular entropy).

    Attributes
    ----------
    embedding_, labels_, score_, operators_
        As of :class:`Baseline`.
    trajectory_, geometry_
        The product and its embedding.
    t_ : list of int
        Steps of each view.
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
    """Diffusion on the mean of the views: ``M^t``, M the mean of the walks.

    Parameters
    ----------
    n_components, n_clusters, n_init, and those of the graphs
        As of :class:`Baseline`.
    t : int or "auto"
        Number of steps; "auto": :func:`select_time`.

    Attributes
    ----------
    embedding_, labels_, score_, operators_
        As of :class:`Baseline`.
    trajectory_, geometry_
        The product and its embedding.
    t_ : int
        Number of steps.
    """

    t: Any = 1

    def _trajectory(self, ops: OperatorSet) -> Trajectory:
        t = _check_time("t", self.t)
        self.t_ = select_time(ops).t if t is None else t
        return ops.trajectory([[1.0 / ops.n_views] * ops.n_views] * self.t_)
