"""Other methods that fuse views, as estimators with the same kernels.

The coordinates are leading singular vectors (or eigenvectors) of an operator. In the table, ``K_v``
is the affinity of view v, ``P_v = D_v^-1 K_v`` its transition matrix, and ``V`` the number of
views.

========  ====================================  =================================================
name      estimator                             operator
========  ====================================  =================================================
DM        :class:`DiffusionMaps`                ``P_v^t`` of one view
AD        :class:`AlternatingDiffusion`         ``P_1 P_2 ... P_V``
p-AD      :class:`PoweredAlternatingDiffusion`  ``(P_1 P_2 ... P_V)^t``
ID        :class:`IntegratedDiffusion`          ``P_1^(t_1) ... P_V^(t_V)``
MVD       :class:`MultiviewDiffusionMaps`       blocks ``K_u K_v``; the diagonal blocks are 0
CrD       :class:`CrossDiffusion`               ``Q_v <- P_v (mean of the other Q_u) P_v^T``
ComD      :class:`CompositeDiffusion`           ``P_2 P_1^T + P_1 P_2^T``, or their difference
mean      :class:`MeanDiffusion`                ``M^t``, M the mean of the ``P_v``
AA        :class:`AffinityAddition`             ``D^-1 (K_1 + ... + K_V)``
========  ====================================  =================================================

>>> import mdt_fast as mdt
>>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
>>> mdt.baselines.make("AD", n_clusters=3).fit_predict(views)[:6]
array([0, 1, 0, 2, 1, 1], dtype=int32)
"""

from ._affinities import AffinityAddition, MultiviewDiffusionMaps
from ._base import Baseline, TrajectoryBaseline
from ._registry import make, names, register
from ._trajectories import (
    AlternatingDiffusion,
    DiffusionMaps,
    IntegratedDiffusion,
    MeanDiffusion,
    PoweredAlternatingDiffusion,
)
from ._transposed import CompositeDiffusion, CrossDiffusion

__all__ = [
    "AffinityAddition", "AlternatingDiffusion", "Baseline", "CompositeDiffusion", "CrossDiffusion", "DiffusionMaps",
    "IntegratedDiffusion", "MeanDiffusion", "MultiviewDiffusionMaps", "PoweredAlternatingDiffusion",
    "TrajectoryBaseline", "make", "names", "register",
]  # fmt: skip
