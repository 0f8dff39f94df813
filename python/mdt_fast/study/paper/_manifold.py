"""Manifold learning: embed Helix-A, Helix-B and Deformed-Plane, and compare with the manifold.

Four measures compare an embedding with the known manifold. Each is 1 at best:

trustworthiness     less for neighbours in the embedding that are far apart on the manifold.
continuity          less for neighbours on the manifold that are far apart in the embedding.
distances           Spearman's correlation of distances on the manifold and in the embedding.
parameter           rank correlation of the angle, or the parameters of the plane, with coordinates.

A random embedding has about 0.5 in the first two and about 0 in the last two.

References
----------
J. Venna and S. Kaski (2001), Neighborhood preservation in nonlinear projection methods,
doi:10.1007/3-540-44668-0_68 (trustworthiness; continuity swaps the two spaces).
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata
from sklearn.manifold import trustworthiness
from sklearn.utils import Bunch

from ... import datasets
from ..._operators.build import build_operators
from ..._support.arguments import RandomStateLike, check_choice, check_integer
from ..._support.one_thread import one_thread
from ..._support.seed import check_seed
from .._cases import Case
from .._methods import find_method
from .._tables import markdown_table
from .._times import published_time

KINDS = ("circle", "plane")
VARIANTS = ("published", "paper")
METHODS = (
    "DM(view 1)", "DM(view 2)", "MVD", "AD", "p-AD", "ID", "CrD", "ComD", "AA", "mean", "MDT-Rand", "MDT-Cvx-Rand",
    "MDT-CST",
)  # fmt: skip
MEASURES = ("trustworthiness", "continuity", "distances", "parameter")
N_COMPONENTS = 2
# Number of runs of methods that draw trajectories at random.
N_DRAWS = 4
N_NEIGHBORS = 15
# Tolerance of coordinates. Singular values of a walk along a curve differ by only 1e-5. The default
# tolerance, which suffices for clusters, mixes their vectors, and the curve crosses itself.
_TOLERANCE = 1e-6
# Maximum number of pairs whose distances are compared, and the seed of their draw.
_N_PAIRS, _PAIR_SEED = 200_000, 0


@dataclass(frozen=True)
class Manifold:
    """A manifold with two views.

    Parameters
    ----------
    name : str
        Name in the paper.
    make : callable
        Returns a Bunch with `views` and `target`.
    kind : {"circle", "plane"}
        The target is an angle ("circle") or two parameters ("plane").
    times : tuple of int, default=()
        Numbers of steps of the contrastive strategy besides the diffusion time.
    """

    name: str
    make: Callable[..., Any]
    kind: str
    times: tuple[int, ...] = ()


MANIFOLDS = {
    each.name: each
    for each in (
        Manifold("Helix-A", datasets.make_helix_a, "circle"),
        Manifold("Helix-B", datasets.make_helix_b, "circle"),
        Manifold("Deformed-Plane", datasets.make_deformed_plane, "plane", times=(1, 8)),
    )
}


@dataclass(frozen=True)
class ManifoldRow:
    """One embedding of one manifold.

    Attributes
    ----------
    manifold, method : str
        Names.
    draw : int
        Number of the draw, 0 for a method that is not random.
    t, length : int
        Diffusion time of the data, steps of the trajectory (0 without one).
    seconds : float
        Duration of the embedding.
    converged : bool
        Whether every result is within its tolerance.
    trustworthiness, continuity, distances, parameter : float
        See :func:`measure`.
    """

    manifold: str
    method: str
    draw: int
    t: int
    length: int
    seconds: float
    converged: bool
    trustworthiness: float
    continuity: float
    distances: float
    parameter: float


@dataclass(frozen=True)
class ManifoldResult:
    """Every embedding of one manifold.

    Attributes
    ----------
    manifold : Manifold
        The manifold.
    variant : {"published", "paper"}
        Variant of its views and graphs.
    rows : list of ManifoldRow
        One row for each embedding, in the order of METHODS.
    coordinates : dict of (method, draw) to (N, 2) arrays
        The embeddings.
    bunch : Bunch
        The views and the target.
    """

    manifold: Manifold
    variant: str
    rows: list[ManifoldRow] = field(repr=False)
    coordinates: dict[tuple[str, int], NDArray[Any]] = field(repr=False)
    bunch: Any = field(repr=False)


def prepare_manifold(
    name: str, variant: str = "published", n_samples: int | None = None, n_jobs: int | None = None
) -> tuple[Case, Bunch]:
    """Make the views and operators of a manifold; the points are the same at every call.

    Parameters
    ----------
    name : str
        One of MANIFOLDS.
    variant : {"published", "paper"}, default="published"
        "published": views, graphs and diffusion time of the published figures. "paper": those of
        the paper's text.
    n_samples : int, default=None
        Number of points. None means the number in the paper.
    n_jobs : int or None, default=None
        Number of threads.

    Returns
    -------
    Case
        The operators.
    Bunch
        The views and the target.
    """
    manifold = MANIFOLDS[check_choice("name", name, list(MANIFOLDS))]
    preset = "published" if check_choice("variant", variant, VARIANTS) == "published" else None
    size = {}
    if n_samples is not None:
        # Trustworthiness is undefined for fewer points.
        size["n_samples"] = check_integer("n_samples", n_samples, minimum=2 * N_NEIGHBORS + 1)
    bunch = manifold.make(**size, variant=variant)
    ops = build_operators(bunch.views, preset=preset, n_jobs=n_jobs)
    time = published_time(name) if preset else None
    return Case(ops, N_COMPONENTS, preset=preset, tol=_TOLERANCE, published_t=time), bunch


def measure(coordinates: Any, target: Any, kind: str) -> dict[str, float]:
    """Return the four measures of an embedding of a known manifold.

    Parameters
    ----------
    coordinates : (N, 2) array
        The embedding.
    target : (N,) or (N, 2) array
        Angles of a circle, or parameters of a plane. Parameters are scaled to unit variance;
        otherwise an embedding of the longer side alone would score well.
    kind : {"circle", "plane"}
        Type of the target.

    Returns
    -------
    dict
        "trustworthiness" and "continuity" with 15 neighbours. "distances": rank correlation over a
        fixed random set of pairs; distances are arc lengths on the circle and Euclidean on the
        plane. "parameter": for a circle, the circular rank correlation of the angle with the angle
        of the embedding about its mean, in the better direction; for a plane, the mean over the
        parameters of the largest rank correlation with a coordinate. Constant coordinates have
        correlation 0.
    """
    found, truth = np.asarray(coordinates, dtype=float), np.asarray(target, dtype=float)
    circular = check_choice("kind", kind, KINDS) == "circle"
    expected = (len(found),) if circular else (len(found), 2)
    if truth.shape != expected:
        raise ValueError(f"target: expected an array of shape {expected}, got {truth.shape}")
    places = np.column_stack([np.cos(truth), np.sin(truth)]) if circular else truth / truth.std(axis=0)
    n_pairs = min(_N_PAIRS, math.comb(len(found), 2))
    i, j = np.random.default_rng(_PAIR_SEED).integers(0, len(found), size=(2, n_pairs))
    chosen = i != j
    i, j = i[chosen], j[chosen]
    apart = _arcs(truth[i] - truth[j]) if circular else np.linalg.norm(places[i] - places[j], axis=1)
    with one_thread():
        return {
            "trustworthiness": float(trustworthiness(places, found, n_neighbors=N_NEIGHBORS)),
            "continuity": float(trustworthiness(found, places, n_neighbors=N_NEIGHBORS)),
            "distances": _rank_correlation(apart, np.linalg.norm(found[i] - found[j], axis=1)),
            "parameter": _circular_correlation(truth, found) if circular else _plane_correlation(truth, found),
        }


def run_manifold(
    name: str,
    *,
    variant: str = "published",
    n_samples: int | None = None,
    random_state: RandomStateLike = 0,
    n_jobs: int | None = None,
) -> ManifoldResult:
    """Embed a manifold by every method.

    Parameters
    ----------
    name, variant, n_samples, n_jobs
        See :func:`prepare_manifold`.
    random_state : int, RandomState, Generator or None, default=0
        Seed. Draw k of every method uses the first number of ``SeedSequence((seed, k))``.

    Returns
    -------
    ManifoldResult
    """
    seed = check_seed(random_state)
    case, bunch = prepare_manifold(name, variant, n_samples, n_jobs)
    manifold = MANIFOLDS[name]
    rows, coordinates = [], {}
    names = (*METHODS, *(f"MDT-CST(t={t})" for t in manifold.times if t != case.t))
    for method in map(find_method, names):
        for draw in range(method.repeats(N_DRAWS, 1).searches):
            own_seed = int(np.random.SeedSequence((seed, draw)).generate_state(1)[0])
            found = method.observe(case, own_seed, n_jobs)
            length = 0 if found.trajectory is None else len(found.trajectory)
            numbers = measure(found.coordinates, bunch.target, manifold.kind)
            rows.append(ManifoldRow(name, method.name, draw, case.t, length, found.seconds, found.converged, **numbers))
            coordinates[method.name, draw] = np.asarray(found.coordinates)
    return ManifoldResult(manifold, variant, rows, coordinates, bunch)


def manifold_table(results: Sequence[ManifoldResult]) -> str:
    """Return a Markdown table for each manifold; rows are methods, columns are means over draws."""
    return "\n\n".join(map(_one_table, results))


def _one_table(result: ManifoldResult) -> str:
    of_method: dict[str, list[ManifoldRow]] = {}
    for row in result.rows:
        of_method.setdefault(row.method, []).append(row)
    means = {
        method: [np.mean([asdict(row)[name] for row in rows]) for name in MEASURES]
        for method, rows in of_method.items()
    }
    body = [[method, *(f"{value:.3f}" for value in values)] for method, values in means.items()]
    title = f"**{result.manifold.name}** ({result.variant}, t = {result.rows[0].t})"
    return f"{title}\n\n{markdown_table(['method', *MEASURES], body)}"


def _arcs(turns: NDArray[Any]) -> NDArray[Any]:
    """Return the lengths of the shorter arcs for differences of angles."""
    turns = np.abs(turns) % (2 * np.pi)
    return np.asarray(np.minimum(turns, 2 * np.pi - turns))


def _rank_correlation(x: NDArray[Any], y: NDArray[Any]) -> float:
    """Return Spearman's correlation, 0 for a constant argument (SciPy warns and returns nan)."""
    a, b = (ranks - ranks.mean() for ranks in (rankdata(x), rankdata(y)))
    norm = np.sqrt((a @ a) * (b @ b))
    return float(a @ b / norm) if norm > 0 else 0.0


def _circular_correlation(angle: NDArray[Any], points: NDArray[Any]) -> float:
    x, y = (points - points.mean(axis=0)).T
    a, b = (2 * np.pi * rankdata(angles) / len(angles) for angles in (angle, np.arctan2(y, x)))
    return float(max(abs(np.exp(1j * (a - b)).mean()), abs(np.exp(1j * (a + b)).mean())))


def _plane_correlation(parameters: NDArray[Any], points: NDArray[Any]) -> float:
    return float(np.mean([max(abs(_rank_correlation(p, c)) for c in points.T) for p in parameters.T]))
