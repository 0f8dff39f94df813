"""Manifold learning: every method on Helix-A, Helix-B and Deformed-Plane, and how well it shows the hidden manifold.

The manifold is known, so an embedding is compared with it; four numbers, each 1 at best:

trustworthiness     whether neighbours in the embedding are neighbours on the manifold.
continuity          whether neighbours on the manifold are neighbours in the embedding.
distances           Spearman's correlation of distances on the manifold with those in the embedding, over pairs.
parameter           whether the order of the coordinates tells the angle, or the two parameters of the plane.

The first two are about 0.5 at random, the last two about 0.
"""

from __future__ import annotations

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
from ..._support.seed import check_seed
from .._cases import Case
from .._methods import find_method, observe
from .._tables import markdown_table
from ._published import published_time

KINDS = ("circle", "plane")
VARIANTS = ("published", "paper")
METHODS = (
    "DM(view 1)", "DM(view 2)", "MVD", "AD", "p-AD", "ID", "CrD", "ComD", "AA", "mean", "MDT-Rand", "MDT-Cvx-Rand",
    "MDT-CST",
)  # fmt: skip
MEASURES = ("trustworthiness", "continuity", "distances", "parameter")
N_COMPONENTS = 2
# Of methods that draw at random.
N_DRAWS = 4
N_NEIGHBORS = 15
# Of coordinates. Singular values of a walk along a curve differ by as little as 1e-5: with the usual tolerance, which
# is right for clusters, their vectors are mixed, and the curve looks tangled.
_TOLERANCE = 1e-6
# Most pairs whose distances are compared, and the seed that they are drawn with.
_N_PAIRS, _PAIR_SEED = 200_000, 0


@dataclass(frozen=True)
class Manifold:
    """A manifold seen in two views.

    Attributes
    ----------
    name : str
        As in the paper.
    make : callable
        Returns a Bunch with views and target.
    kind : {"circle", "plane"}
        The target is an angle, or two parameters.
    times : tuple of int
        Lengths that the contrastive strategy is run with besides the diffusion time.
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
        What was run.
    draw : int
        Number of the draw, 0 for a method that does not depend on chance.
    t, length : int
        Diffusion time of the data, steps of the trajectory (0 where there is none).
    seconds : float
        Of finding the coordinates.
    converged : bool
        Whether everything reached its tolerance.
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
        What was embedded.
    variant : str
        Of its views.
    rows : list of ManifoldRow
        In the order of METHODS.
    coordinates : dict of (method, draw) to (N, 2) arrays
        The embeddings.
    bunch : Bunch
        The data.
    """

    manifold: Manifold
    variant: str
    rows: list[ManifoldRow] = field(repr=False)
    coordinates: dict[tuple[str, int], NDArray[Any]] = field(repr=False)
    bunch: Any = field(repr=False)


def prepare_manifold(
    name: str, variant: str = "published", n_samples: int | None = None, n_jobs: int | None = None
) -> tuple[Case, Bunch]:
    """Make a manifold's views and operators; the points are the same at every call.

    Parameters
    ----------
    name : str
        One of MANIFOLDS.
    variant : {"published", "paper"}
        "published": views, graphs and diffusion time behind the published figures. "paper": all as the text says.
    n_samples : int, optional
        Number of points; as in the paper by default.
    n_jobs : int or None
        Threads.
    """
    manifold = MANIFOLDS[check_choice("name", name, list(MANIFOLDS))]
    preset = "published" if check_choice("variant", variant, VARIANTS) == "published" else None
    size = {}
    if n_samples is not None:
        # With fewer, trustworthiness is not defined.
        size["n_samples"] = check_integer("n_samples", n_samples, minimum=2 * N_NEIGHBORS + 1)
    bunch = manifold.make(**size, variant=variant)
    ops = build_operators(bunch.views, preset=preset, n_jobs=n_jobs)
    time = published_time(name) if preset else None
    return Case(ops, N_COMPONENTS, preset=preset, tol=_TOLERANCE, published_t=time), bunch


def measure(coordinates: Any, target: Any, kind: str) -> dict[str, float]:
    """Return how well an embedding shows the manifold.

    Parameters
    ----------
    coordinates : (N, 2) array
        The embedding.
    target : (N,) or (N, 2) array
        Angles of a circle, or parameters of a plane. The latter are scaled to unit variance: coordinates have no unit,
        and by the longer side alone a strip would be called a plane.
    kind : {"circle", "plane"}
        What the target is.

    Returns
    -------
    dict
        "trustworthiness" and "continuity" with 15 neighbours. "distances": rank correlation over a fixed random set of
        pairs, arc lengths on the circle and Euclidean on the plane. "parameter": for a circle the circular rank
        correlation of the angle with that of the embedding around its mean, in the better direction; for a plane
        the rank correlation of each parameter with the coordinate that shows it best, averaged. Coordinates that are
        constant have correlation 0.
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
    parameter = _circular_correlation(truth, found) if circular else _plane_correlation(truth, found)
    return {
        "trustworthiness": float(trustworthiness(places, found, n_neighbors=N_NEIGHBORS)),
        "continuity": float(trustworthiness(found, places, n_neighbors=N_NEIGHBORS)),
        "distances": _rank_correlation(apart, np.linalg.norm(found[i] - found[j], axis=1)),
        "parameter": parameter,
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
        As of :func:`prepare_manifold`.
    random_state : int, RandomState, Generator or None
        One seed, one result. Draw k of every method has the first number of ``SeedSequence((seed, k))``.
    """
    seed = check_seed(random_state)
    case, bunch = prepare_manifold(name, variant, n_samples, n_jobs)
    manifold = MANIFOLDS[name]
    rows, coordinates = [], {}
    for method in (*METHODS, *(f"MDT-CST(t={t})" for t in manifold.times if t != case.t)):
        way = find_method(method)
        for draw in range(way.repeats(N_DRAWS, 1)[0]):
            own_seed = int(np.random.SeedSequence((seed, draw)).generate_state(1)[0])
            found, seconds, converged = observe(way, case, own_seed, n_jobs)
            length = 0 if found.trajectory is None else len(found.trajectory)
            numbers = measure(found.coordinates, bunch.target, manifold.kind)
            rows.append(ManifoldRow(name, method, draw, case.t, length, seconds, converged, **numbers))
            coordinates[method, draw] = np.asarray(found.coordinates)
    return ManifoldResult(manifold, variant, rows, coordinates, bunch)


def manifold_table(results: Sequence[ManifoldResult]) -> str:
    """Return a Markdown table for each manifold: methods down, draws averaged, the four numbers across."""
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
    """Return the shorter way round for differences of angles."""
    turns = np.abs(turns) % (2 * np.pi)
    return np.asarray(np.minimum(turns, 2 * np.pi - turns))


def _rank_correlation(x: NDArray[Any], y: NDArray[Any]) -> float:
    """Spearman's; 0 where one does not vary, of which SciPy makes a warning and nan."""
    a, b = (ranks - ranks.mean() for ranks in (rankdata(x), rankdata(y)))
    norm = np.sqrt((a @ a) * (b @ b))
    return float(a @ b / norm) if norm > 0 else 0.0


def _circular_correlation(angle: NDArray[Any], points: NDArray[Any]) -> float:
    x, y = (points - points.mean(axis=0)).T
    a, b = (2 * np.pi * rankdata(angles) / len(angles) for angles in (angle, np.arctan2(y, x)))
    return float(max(abs(np.exp(1j * (a - b)).mean()), abs(np.exp(1j * (a + b)).mean())))


def _plane_correlation(parameters: NDArray[Any], points: NDArray[Any]) -> float:
    return float(np.mean([max(abs(_rank_correlation(p, c)) for c in points.T) for p in parameters.T]))
