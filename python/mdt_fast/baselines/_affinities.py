"""Baselines on the affinities themselves: their sum, and the walk that changes view at every step."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from .._geometry.embedding import embed
from .._geometry.multiview import embed_multiview
from .._geometry.spectrum import column_signs
from .._operators.operator_set import OperatorSet
from .._support.arguments import check_integer
from ._base import Baseline


@dataclass(eq=False, repr=False, kw_only=True)
class AffinityAddition(Baseline):
    """The walk on the sum of the views' affinities, ``D^-1 (K_1 + ... + K_V)``.

    Parameters
    ----------
    n_components, n_clusters, n_init, and those of the graphs
        As of :class:`Baseline`.
    t : int
        Number of steps.

    Attributes
    ----------
    embedding_, labels_, score_, operators_
        As of :class:`Baseline`.
    trajectory_, geometry_
        The walk, over an operator set of its own, and its embedding.
    """

    t: int = 1

    def _coordinates(self, ops: OperatorSet, n_components: int) -> NDArray[Any]:
        steps = check_integer("t", self.t, minimum=1)
        affinities = ops.affinities
        total = OperatorSet.from_affinities([sum(affinities[1:], affinities[0])], dtype=ops.dtype, n_jobs=ops.n_jobs)
        self.trajectory_ = total.trajectory([0] * steps)
        self.geometry_ = embed(self.trajectory_, n_components, tol=self.tol, random_state=self.random_state)
        return self.geometry_.coordinates


@dataclass(eq=False, repr=False, kw_only=True)
class MultiviewDiffusionMaps(Baseline):
    """Multi-view diffusion maps (MVD): eigenvectors of a walk on V N states that changes view at every step.

    The affinity of sample i in view u and sample j in another view v is entry (i, j) of ``K_u K_v``. The block matrix
    is never formed.

    Parameters
    ----------
    n_components, n_clusters, n_init, and those of the graphs
        As of :class:`Baseline`.
    view : int
        The states whose coordinates represent the samples: those of this view.
    t : int
        Power of the eigenvalues.

    Attributes
    ----------
    embedding_, labels_, score_, operators_
        As of :class:`Baseline`.
    view_embeddings_ : (V, n_samples, n_components) array
        Coordinates of the samples as each view sees them.
    eigenvalues_ : (n_components,) array
        Of the walk.
    """

    view: int = 0
    t: int = 1

    _n_views = (2, math.inf)

    def _coordinates(self, ops: OperatorSet, n_components: int) -> NDArray[Any]:
        view = check_integer("view", self.view, minimum=0, maximum=ops.n_views - 1)
        steps = check_integer("t", self.t, minimum=1)
        found = embed_multiview(ops, n_components, tol=self.tol, random_state=self.random_state)
        self.eigenvalues_ = found.eigenvalues
        powers = (found.eigenvalues ** (steps - 1)).astype(ops.dtype)
        # Signs are those of the states that stand for the samples.
        signs = column_signs(found.coordinates[view])
        self.view_embeddings_: NDArray[Any] = found.coordinates * (powers * signs)
        coordinates: NDArray[Any] = self.view_embeddings_[view]
        return coordinates
