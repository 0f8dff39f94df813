"""Kernels and bandwidths: from the distances of a neighbour graph to affinities.

The core computes kernels of two shapes, "squared" ``exp(-(d / h_i) (d / h_j))`` and "linear"
``exp(-d / sqrt(h_i h_j))``. This module finds the shape of a kernel and the widths ``h`` for its
bandwidth. The adaptive kernel has ``h_i`` equal to the distance of sample i to its last neighbour.

References
----------
R. R. Coifman and S. Lafon, "Diffusion maps", Applied and Computational Harmonic Analysis 21 (2006)
5-30, doi:10.1016/j.acha.2006.04.006.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .neighbors import NeighborGraph
from .readable import check_readable
from .views import View

KERNELS = ("gaussian", "laplacian", "correlation", "adaptive", "binary")

Bandwidth = float | NDArray[np.float64]


@dataclass(frozen=True)
class KernelShape:
    """A kernel as the core takes it, and its bandwidth in the unit of the data.

    `values` are the distances, or the affinities if the shape is "given" (a callable kernel).
    """

    shape: str
    widths: Bandwidth
    values: NDArray[np.float64]
    diagonal: float = 1.0
    bandwidth: Bandwidth | None = None


# Distances in the unit of extreme data may leave the range of double precision; the limits 0 and
# infinity are then correct.
@np.errstate(over="ignore", under="ignore")
def shape_kernel(kernel: Any, bandwidth: Any, graph: NeighborGraph, published: bool, view: View) -> KernelShape:
    """Return the shape and the widths of a kernel on a graph."""
    name = view.name
    finite = graph.nearest_positive[np.isfinite(graph.nearest_positive)]
    if not len(finite):
        raise ValueError(f"{view.label}: expected some distinct samples, got no positive distance at all")
    if callable(kernel):
        return _given_shape(kernel, graph, name)
    if kernel == "binary":
        return KernelShape("binary", 1.0, graph.distances)
    if kernel == "adaptive":
        scales = graph.scales()
        return KernelShape("squared", scales, graph.distances, bandwidth=np.ldexp(scales, graph.exponent))
    sigma, scaled = _resolve_bandwidth(bandwidth, graph, float(finite.max()), name)
    widths: Any
    if kernel == "gaussian":
        # The published exp(-d^2 / b) depends on the unit of d, so the power of two does not cancel.
        widths = np.sqrt(np.ldexp(scaled, -graph.exponent)) if published else math.sqrt(2.0) * scaled
    elif kernel == "laplacian":
        widths = scaled
    else:
        widths = 2.0 * np.square(scaled) if published else 2.0 * scaled
    if not np.all(widths > 0):
        raise ValueError(f"bandwidth ({name}): {sigma} is too extreme for the distances of this view")
    widths = widths if isinstance(scaled, np.ndarray) else float(widths)
    return KernelShape("squared" if kernel == "gaussian" else "linear", widths, graph.distances, bandwidth=sigma)


def call_kernel(kernel: Callable[..., Any], distances: NDArray[np.float64], name: str) -> NDArray[np.float64]:
    """Return the affinities of a callable kernel, which gets a copy of the distances."""
    try:
        values = np.asarray(kernel(distances.copy()), dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"kernel ({name}): expected a function of distances that returns numbers, got: {error}"
        ) from error
    if values.shape != distances.shape:
        raise ValueError(
            f"kernel ({name}): expected affinities of the shape {distances.shape} of the distances, got {values.shape}"
        )
    bad = ~(np.isfinite(values) & (values >= 0))
    if bad.any():
        raise ValueError(f"kernel ({name}): expected finite non-negative affinities, got {values[bad][0]}")
    return values


def _given_shape(kernel: Callable[..., Any], graph: NeighborGraph, name: str) -> KernelShape:
    values = call_kernel(kernel, graph.true_distances(), name)
    diagonal = call_kernel(kernel, np.zeros(1), name)
    if not diagonal[0] > 0:
        raise ValueError(f"kernel ({name}): expected a positive affinity at distance 0, got {diagonal[0]}")
    return KernelShape("given", 1.0, values, diagonal=float(diagonal[0]))


def _resolve_bandwidth(bandwidth: Any, graph: NeighborGraph, max_min: float, name: str) -> tuple[Bandwidth, Bandwidth]:
    """Return the bandwidth in the unit of the data and in the unit of the graph."""
    if isinstance(bandwidth, str):
        return float(np.ldexp(max_min, graph.exponent)), max_min
    if callable(bandwidth):
        try:
            bandwidth = bandwidth(graph.to_csr())
        except (TypeError, ValueError) as error:
            raise ValueError(f"bandwidth ({name}): expected a function of a graph, got: {error}") from error
    sigma = _check_positive(bandwidth, graph.n_samples, name)
    scaled = np.ldexp(sigma, -graph.exponent)
    return (sigma, scaled) if sigma.ndim else (float(sigma), float(scaled))


def check_bandwidth(bandwidth: Any, n_samples: int, name: str) -> None:
    """Check a bandwidth as far as possible without distances."""
    if isinstance(bandwidth, str):
        if bandwidth != "max-min":
            raise ValueError(
                f"bandwidth ({name}): expected 'max-min', a number, an array of one per sample or a callable, "
                f"got {bandwidth!r}"
            )
    elif not callable(bandwidth):
        _check_positive(bandwidth, n_samples, name)


def _check_positive(bandwidth: Any, n_samples: int, name: str) -> NDArray[np.float64]:
    """Return one positive number, or one for each sample, as an array."""
    if not isinstance(bandwidth, (Real, np.generic)):
        check_readable(bandwidth, f"bandwidth ({name})", "a number or an array of one per sample")
    try:
        found = np.asarray(bandwidth)
    except ValueError:
        raise ValueError(f"bandwidth ({name}): expected a number or one per sample, got {bandwidth!r}") from None
    if found.dtype.kind not in "iuf":
        raise TypeError(f"bandwidth ({name}): expected a number or an array of one per sample, got {bandwidth!r}")
    if found.shape not in ((), (n_samples,)):
        raise ValueError(f"bandwidth ({name}): expected a number or an array of {n_samples}, got shape {found.shape}")
    sigma = found.astype(np.float64)
    bad = ~(np.isfinite(sigma) & (sigma > 0))
    if bad.any():
        raise ValueError(f"bandwidth ({name}): expected positive finite numbers, got {float(sigma[bad][0])}")
    return sigma
