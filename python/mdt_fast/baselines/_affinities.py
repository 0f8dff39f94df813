"""Baselines on affinities: their sum, and the walk that changes view at every step."""

import math
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from .._geometry.embedding import embed
from .._geometry.multiview import embed_multiview
from .._geometry.spectrum import column_signs
from .._operators.operator_set import OperatorSet
from .._support.arguments import LARGEST_STEPS, check_integer
from ._base import Baseline


@dataclass(eq=False, repr=False, kw_only=True)
class AffinityAddition(Baseline):
    """Embed samples by the walk on the sum of the affinities of the views (AA).

    The operator is ``(D^-1 (K_1 + ... + K_V))^t``, with ``D`` the row sums of the sum.

    Parameters
    ----------
    n_components, n_clusters, n_init, ...
        See :class:`Baseline`, also for the parameters of the graphs.
    t : int, default=1
        Number of steps.

    Attributes
    ----------
    embedding_, labels_, score_, cluster_centers_, operators_
        See :class:`Baseline`.
    trajectory_ : Trajectory
        Trajectory of a new operator set, whose one member is the walk on the sum.
    geometry_ : Embedding
        Embedding of the trajectory.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> mdt.baselines.AffinityAddition(2).fit_transform(views).shape
    (150, 2)
    """

    t: int = 1

    def _coordinates(self, ops: OperatorSet, n_components: int) -> NDArray[Any]:
        steps = check_integer("t", self.t, minimum=1, limit=LARGEST_STEPS)
        affinities = ops.affinities
        total = OperatorSet.from_affinities([sum(affinities[1:], affinities[0])], dtype=ops.dtype, n_jobs=ops.n_jobs)
        self.trajectory_ = total.trajectory([0] * steps)
        self.geometry_ = embed(self.trajectory_, n_components, tol=self.tol, random_state=self.random_state)
        return self.geometry_.coordinates


@dataclass(eq=False, repr=False, kw_only=True)
class MultiviewDiffusionMaps(Baseline):
    """Embed samples by multi-view diffusion maps (MVD).

    The states of the walk are the pairs of a view and a sample. The affinity of sample i in view u
    and sample j in another view v is entry (i, j) of ``K_u K_v``; it is 0 within a view. The
    coordinates are right eigenvectors of the walk times eigenvalues to the power t. The block
    matrix is never formed.

    Parameters
    ----------
    n_components, n_clusters, n_init, ...
        See :class:`Baseline`, also for the parameters of the graphs.
    view : int, default=0
        The view whose states give the coordinates of the samples.
    t : int, default=1
        Power of the eigenvalues.

    Attributes
    ----------
    embedding_, labels_, score_, cluster_centers_, operators_
        See :class:`Baseline`.
    view_embeddings_ : (V, n_samples, n_components) array
        Coordinates of the samples in each view.
    eigenvalues_ : (n_components,) array
        Eigenvalues of the walk, without the first.

    References
    ----------
    O. Lindenbaum, A. Yeredor, M. Salhov and A. Averbuch (2020), Multi-view diffusion maps,
    Information Fusion 55, doi:10.1016/j.inffus.2019.08.005.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> mdt.baselines.MultiviewDiffusionMaps(2).fit_transform(views).shape
    (150, 2)
    """

    view: int = 0
    t: int = 1

    _n_views = (2, math.inf)

    def _coordinates(self, ops: OperatorSet, n_components: int) -> NDArray[Any]:
        if ops.has_absences:
            name = next(name for name, has in zip(ops.names, ops.present.T, strict=False) if not has.all())
            raise ValueError(
                f"X: expected views that have all samples for {type(self).__name__}, got {name!r}, which lacks some"
            )
        view = check_integer("view", self.view, minimum=0, maximum=ops.n_views - 1)
        steps = check_integer("t", self.t, minimum=1, limit=LARGEST_STEPS)
        found = embed_multiview(ops, n_components, tol=self.tol, random_state=self.random_state)
        self.eigenvalues_ = found.eigenvalues
        powers = (found.eigenvalues ** (steps - 1)).astype(ops.dtype)
        # The signs are fixed on the states of `view`.
        signs = column_signs(found.coordinates[view])
        self.view_embeddings_: NDArray[Any] = found.coordinates * (powers * signs)
        coordinates: NDArray[Any] = self.view_embeddings_[view]
        return coordinates
