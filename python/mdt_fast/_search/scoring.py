"""How a search scores a candidate: the public settings, and the settings checked for a set."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .._clusters.k_means import MAX_ITER, TOL
from .._operators.operator_set import OperatorSet
from .._support.arguments import LARGEST_COUNT, check_integer, check_number
from ..quality._arguments import (
    QualityLike,
    check_normalized_weights,
    check_raw_weights,
    check_with_joint,
    double_features,
)
from .strategies.base import Strategy

# Qualities of labels; the first three may also be computed from features.
LABEL_QUALITIES = ("calinski_harabasz", "davies_bouldin", "silhouette", "persistence", "information")
QUALITIES = (*LABEL_QUALITIES, "contrastive")
_ON_FEATURES = LABEL_QUALITIES[:3]

# Tolerance of the embedding of a candidate over that of the final embedding, and the former for searches without a
# final embedding. Labels are as good as with equal tolerances; a consensus of 100,000 blobs moves 43 % fewer bytes.
CANDIDATE_TOL = 10.0
_EMBEDDING_TOL = 1e-2
# Largest number of iterations of that embedding.
_EMBEDDING_MAX_ITER = 300


@dataclass(frozen=True, eq=False)
class Scoring:
    """How a search scores its candidates, for the argument `quality` of :func:`search`.

    A candidate is embedded, its coordinates are clustered, and the labels are scored on each base
    view. The name of a quality stands for ``Scoring(name)``.

    Parameters
    ----------
    quality : str, callable or None, default="auto"
        "calinski_harabasz", "davies_bouldin", "silhouette", "persistence", "information",
        "contrastive", or a function of (ops, labels, coordinates) that returns a number, higher is better. Scores that
        are minimised are negated. "auto" is the default of the strategy. None scores nothing and
        is possible for strategies with a single candidate.
    features : list, tuple or dict of (N, d_v) arrays or None, default=None
        Features of each base view on which labels are scored, instead of the rows of the walks.
        Not for "persistence", "information", "contrastive" and callables.
    n_components : int or None, default=None
        Number of coordinates that are clustered; None is the number of clusters.
    n_init : int or None, default=None
        Number of k-means starts for each candidate; None is the default of the strategy.
    tol : float or None, default=None
        Error of distances between embedded samples, relative to the largest singular value of a
        coordinate. None is 1e-2, or ten times `tol` of the estimator. Unlike `tol` of :func:`embed`, it does
        not bound coordinates that are too small to change labels.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> ops = mdt.build_operators(views)
    >>> scoring = mdt.Scoring("silhouette", n_init=3)
    >>> mdt.search(ops, 3, strategy="greedy", t=2, quality=scoring).quality
    'silhouette'
    """

    quality: QualityLike = "auto"
    features: Any = None
    n_components: int | None = None
    n_init: int | None = None
    tol: float | None = None

    @classmethod
    def of(cls, quality: Any) -> Scoring:
        """Return the scoring that the argument `quality` of a search stands for.

        Examples
        --------
        >>> import mdt_fast as mdt
        >>> mdt.Scoring.of("silhouette").quality
        'silhouette'
        """
        return quality if isinstance(quality, cls) else cls(quality)

    def with_defaults(self, **defaults: Any) -> Scoring:
        """Return the scoring with other values for the settings that are None.

        Examples
        --------
        >>> import mdt_fast as mdt
        >>> scoring = mdt.Scoring("silhouette", n_init=3).with_defaults(n_init=1, n_components=5)
        >>> scoring.n_init, scoring.n_components
        (3, 5)
        """
        return replace(self, **{name: value for name, value in defaults.items() if getattr(self, name) is None})


@dataclass(frozen=True)
class ScoringPlan:
    """Checked settings of a score: with the operators and the seed, they determine it."""

    quality: QualityLike
    n_clusters: int | None
    n_components: int | None
    # Whether k-means sees damped rows, see rust/core/src/cluster/damping.rs.
    damped: bool
    n_init: int
    tol: float
    view_weights: NDArray[np.float64]
    features: list[Any]

    @classmethod
    def check(
        cls, scoring: Scoring, strategy: Strategy, ops: OperatorSet, n_clusters: int | None, view_weights: Any
    ) -> ScoringPlan:
        """Check the settings of a scoring for an operator set."""
        is_function = callable(scoring.quality) and not isinstance(scoring.quality, type)
        if not (scoring.quality is None or isinstance(scoring.quality, str) or is_function):
            got = f"{scoring.quality!r} of type {type(scoring.quality).__name__}"
            raise TypeError(f"quality: expected a name, a callable, a Scoring or None, got {got}")
        quality = strategy.choose_quality(scoring.quality, n_clusters)
        if quality is None and strategy.compares:
            raise ValueError(f"quality: expected one, because strategy={strategy.name!r} compares candidates, got None")
        if isinstance(quality, str) and quality not in QUALITIES:
            known = ", ".join(map(repr, QUALITIES))
            raise ValueError(f"quality: expected one of {known}, a callable or None, got {quality!r}")
        n = ops.n_samples
        if n_clusters is not None:
            if n < 3:
                raise ValueError(f"n_clusters: expected at least 3 samples, of which clusters are compared, got {n}")
            n_clusters = check_integer("n_clusters", n_clusters, minimum=2, maximum=n - 1)
        elif quality not in ("contrastive", None):
            raise ValueError(f"n_clusters: expected a number of clusters, which quality={quality!r} needs, got None")
        n_components = scoring.n_components
        if n_components is None:
            n_components = None if n_clusters is None else min(n_clusters, n - 1)
        else:
            n_components = check_integer("n_components", n_components, minimum=1, maximum=max(n - 1, 1))
        if scoring.features is not None and quality not in _ON_FEATURES:
            raise ValueError(f"features: expected None, because quality={quality!r} does not use them")
        check = check_raw_weights if quality == "contrastive" else check_normalized_weights
        n_init = strategy.n_init if scoring.n_init is None else scoring.n_init
        return cls(
            quality=quality,
            n_clusters=n_clusters,
            n_components=n_components,
            damped=strategy.damped,
            n_init=check_integer("n_init", n_init, minimum=1, maximum=LARGEST_COUNT),
            tol=_EMBEDDING_TOL if scoring.tol is None else check_number("tol", scoring.tol),
            view_weights=check_with_joint(check, view_weights, ops),
            features=double_features(scoring.features, ops),
        )

    @property
    def name(self) -> str | None:
        """The name of the quality."""
        if self.quality is None or isinstance(self.quality, str):
            return self.quality
        return getattr(self.quality, "__qualname__", type(self.quality).__qualname__)

    @property
    def scores_labels(self) -> bool:
        """Whether the score is one of labels."""
        return self.n_clusters is not None and self.quality not in ("contrastive", None)

    def settings(self) -> dict[str, Any]:
        """Return the settings as JSON values."""
        own = {name: getattr(self, name) for name in ("n_clusters", "n_components", "damped", "n_init", "tol")}
        return {"quality": self.name, **own, "view_weights": self.view_weights.tolist()}

    def scorer(self, ops: OperatorSet, seed: int, threads: int) -> _core.Scorer:
        """Return the scorer of the core; without a quality it clusters but does not score."""
        clustering = None
        if self.n_clusters is not None and self.n_components is not None:
            clustering = _core.Clustering(
                n_clusters=self.n_clusters, n_components=self.n_components, damped=self.damped, n_init=self.n_init,
                max_iter=MAX_ITER, tol=TOL, embedding_tol=self.tol, embedding_max_iter=_EMBEDDING_MAX_ITER, seed=seed,
            )  # fmt: skip
        quality: Any = self.quality
        if quality is None:
            quality = "contrastive" if clustering is None else "calinski_harabasz"
        elif callable(quality):
            function = quality

            def quality(labels: NDArray[np.int32], coordinates: NDArray[Any]) -> Any:
                return function(ops, labels, coordinates)

        return _core.Scorer(
            ops.native, quality, clustering=clustering, view_weights=self.view_weights.tolist(), features=self.features,
            n_threads=threads,
        )  # fmt: skip
