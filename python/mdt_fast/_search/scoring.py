"""From the arguments of a search to the core's way of scoring a candidate."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .. import _core
from .._clusters.k_means import MAX_ITER, TOL
from .._operators.operator_set import OperatorSet
from .._support.arguments import check_integer, check_number
from ..quality._contrastive import check_view_weights
from ..quality._scores import check_features, check_weights

# Those that look at labels, the first three at features if these are given; and the one that looks at neighbours.
QUALITIES = ("calinski_harabasz", "davies_bouldin", "silhouette", "persistence", "contrastive")

QualityLike: TypeAlias = str | Callable[..., float] | None

# Iterations of the solver, as in `embed`.
_EMBEDDING_MAX_ITER = 300
# What the core counts with.
_LARGEST = 2**32 - 1


@dataclass(frozen=True)
class ScoringPlan:
    """Checked arguments: everything that a candidate's score depends on, besides the operators."""

    quality: QualityLike
    n_clusters: int | None
    n_components: int | None
    n_init: int
    tol: float
    view_weights: NDArray[np.float64]
    features: list[Any]

    @classmethod
    def check(
        cls,
        ops: OperatorSet,
        quality: QualityLike,
        n_clusters: int | None,
        n_components: int | None,
        n_init: int,
        tol: float,
        view_weights: Any,
        features: Any,
    ) -> ScoringPlan:
        """Check the arguments of a search that say how candidates are scored."""
        if isinstance(quality, str):
            if quality not in QUALITIES:
                known = ", ".join(map(repr, QUALITIES))
                raise ValueError(f"quality: expected one of {known}, a callable or None, got {quality!r}")
        elif quality is not None and not callable(quality):
            raise TypeError(f"quality: expected a name, a callable or None, got {quality!r}")
        n = ops.n_samples
        if n_clusters is not None:
            n_clusters = check_integer("n_clusters", n_clusters, minimum=2, maximum=max(n - 1, 2))
        elif quality not in ("contrastive", None):
            raise ValueError(f"n_clusters: expected a number of clusters, which quality={quality!r} needs, got None")
        if n_components is None:
            n_components = None if n_clusters is None else min(n_clusters, n - 1)
        else:
            n_components = check_integer("n_components", n_components, minimum=1, maximum=max(n - 1, 1))
        if features is not None and quality not in QUALITIES[:3]:
            raise ValueError(f"features: expected None, because quality={quality!r} does not look at them")
        is_plain = quality == "contrastive"
        return cls(
            quality,
            n_clusters,
            n_components,
            check_integer("n_init", n_init, minimum=1, maximum=_LARGEST),
            check_number("tol", tol),
            check_view_weights(view_weights, ops.n_views) if is_plain else check_weights(view_weights, ops.n_views),
            [] if features is None else [_double(rows) for rows in check_features(features, ops)],
        )

    @property
    def name(self) -> str | None:
        """The quality in words."""
        if self.quality is None or isinstance(self.quality, str):
            return self.quality
        return getattr(self.quality, "__qualname__", type(self.quality).__qualname__)

    def settings(self) -> dict[str, Any]:
        """Return the plan as plain JSON values."""
        return {
            "quality": self.name,
            "n_clusters": self.n_clusters,
            "n_components": self.n_components,
            "n_init": self.n_init,
            "tol": self.tol,
            "view_weights": self.view_weights.tolist(),
        }

    def make(self, ops: OperatorSet, seed: int, memory_budget: int, threads: int) -> _core.Scorer:
        """Return the scorer; without a quality it can cluster but not score."""
        clustering = None
        if self.n_clusters is not None and self.n_components is not None:
            clustering = _core.Clustering(
                n_clusters=self.n_clusters,
                n_components=self.n_components,
                n_init=self.n_init,
                max_iter=MAX_ITER,
                tol=TOL,
                embedding_tol=self.tol,
                embedding_max_iter=_EMBEDDING_MAX_ITER,
                seed=seed,
            )
        quality: Any = self.quality
        if quality is None:
            quality = "contrastive" if clustering is None else "calinski_harabasz"
        elif callable(quality):
            judge = quality

            def quality(labels: NDArray[np.int32], coordinates: NDArray[Any]) -> Any:
                return judge(ops, labels, coordinates)

        return _core.Scorer(
            ops.native,
            quality,
            clustering=clustering,
            view_weights=self.view_weights.tolist(),
            features=self.features,
            memory_budget=memory_budget,
            n_threads=threads,
        )


def _double(rows: Any) -> Any:
    if isinstance(rows, _core.CsrParts):
        return _core.CsrParts(rows.n_cols, rows.indptr, rows.indices, rows.values.astype(np.float64))
    return np.require(rows, np.float64, ["C", "A"])
