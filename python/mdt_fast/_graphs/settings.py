"""Settings of a view: the arguments of build_operators that may differ between views."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse

from .._support.arguments import check_choice, check_integer, check_number
from .approximate import check_search, is_search
from .kernels import KERNELS, check_bandwidth
from .metric_choice import compares_directions, has_lone_zeros
from .nearest import METRICS
from .scaling import check_scale
from .views import View


@dataclass(frozen=True)
class ViewSettings:
    """Settings of the neighbour graph and the kernel of one view, see :func:`build_operators`."""

    n_neighbors: int | str
    kernel: str | Callable[..., Any]
    bandwidth: Any
    symmetrize: str
    neighbors: Any
    metric: str
    anisotropy: float
    scale: Any = None

    def check(self, view: View, views: Sequence[View], zero_rows: str) -> "ViewSettings":
        """Return the settings for one of the `views`, or raise before any distance of it is computed."""
        if not callable(self.kernel):
            check_choice("kernel", self.kernel, KERNELS)
        check_choice("symmetrize", self.symmetrize, ("mean", "max", "min"))
        metric = check_choice("metric", self.metric, ("auto", *METRICS))
        scale = check_scale(self.scale, view.name)
        if metric == "auto":
            # A graph that was given has its distances, and the correlation kernel its metric.
            is_free = is_search(self.neighbors) and self.kernel != "correlation"
            metric = "cosine" if is_free and compares_directions(view) else "euclidean"
            if metric == "cosine" and has_lone_zeros(view, views, zero_rows):
                # Distances of rows of unit length order samples as the cosine does, and rows of zeros have some.
                metric, scale = "euclidean", "unit" if isinstance(scale, str) and scale == "auto" else scale
        anisotropy = check_number("anisotropy", self.anisotropy)
        check_bandwidth(self.bandwidth, view.n_total, view.name)
        if isinstance(self.n_neighbors, str):
            check_choice("n_neighbors", self.n_neighbors, ("log",))
        else:
            check_integer("n_neighbors", self.n_neighbors, minimum=1, maximum=view.n_total - 1)
        if view.presence is not None and (not is_search(self.neighbors) or metric == "precomputed"):
            got = "metric='precomputed'" if is_search(self.neighbors) else "a given graph"
            raise ValueError(
                f"{view.label}: expected features with searched neighbours in a view that lacks samples, got {got}"
            )
        if self.kernel == "correlation" and metric == "euclidean":
            metric = "correlation"
        if self.kernel == "correlation" and metric not in ("correlation", "precomputed"):
            raise ValueError(
                f"metric: expected 'correlation' or 'precomputed' for kernel='correlation', got {metric!r}"
            )
        if is_search(self.neighbors):
            check_search("neighbors", self.neighbors, view, metric)
        return replace(
            self, metric=metric, anisotropy=anisotropy, scale=scale,
            bandwidth=self._bandwidth_of(view),
        )  # fmt: skip

    def _bandwidth_of(self, view: View) -> Any:
        """Return the bandwidth; one for each sample only of the samples that the view has."""
        is_array = not isinstance(self.bandwidth, str) and not callable(self.bandwidth) and np.ndim(self.bandwidth) > 0
        return np.asarray(self.bandwidth)[view.presence.samples] if is_array and view.presence else self.bandwidth

    def count_neighbors(self, n_samples: int, published: bool) -> int:
        """Return the number of neighbours of each sample, from 1 to `n_samples` - 1."""
        if not isinstance(self.n_neighbors, str):
            # A view that lacks samples may have fewer than the others.
            return min(self.n_neighbors, n_samples - 1)
        log = math.log(n_samples)
        return min(max(math.floor(log) - 1 if published else math.ceil(log), 1), n_samples - 1)


def check_settings(views: Sequence[View], zero_rows: str, **arguments: Any) -> list[ViewSettings]:
    """Return the settings of each view; an argument has one value, or one for each view."""
    names = [view.name for view in views]
    settings = [
        ViewSettings(**{name: _of_view(name, value, v, names) for name, value in arguments.items()})
        for v in range(len(views))
    ]
    return [each.check(view, views, zero_rows) for each, view in zip(settings, views, strict=True)]


def _of_view(name: str, value: Any, v: int, names: list[str]) -> Any:
    """Return the value of an argument for view `v`."""
    if isinstance(value, np.ndarray) and name not in ("bandwidth", "neighbors"):
        # One value, or one for each view; an array of widths or of neighbours is a single value.
        value = value.tolist()
    # A tuple also has one value for each view, unless it is a single value: a pair of arrays.
    is_pair = name == "neighbors" and isinstance(value, tuple) and len(value) == 2
    is_sequence = isinstance(value, list) or (isinstance(value, tuple) and (not is_pair or _holds_graphs(value)))
    if is_sequence:
        if len(value) != len(names):
            raise ValueError(f"{name}: expected one value or one for each of {len(names)} views, got {len(value)}")
        return value[v]
    if isinstance(value, Mapping):
        by_name = {str(key): entry for key, entry in value.items()}
        if set(by_name) != set(names):
            raise ValueError(f"{name}: expected a value for each of {names}, got one for each of {list(by_name)}")
        return by_name[names[v]]
    if is_pair and len(names) > 1:
        raise ValueError(f"{name}: expected a list with one graph for each of {len(names)} views, got one pair")
    return value


def _holds_graphs(pair: tuple[Any, ...]) -> bool:
    return all(isinstance(g, (tuple, str)) or sparse.issparse(g) or hasattr(g, "fit_transform") for g in pair)
