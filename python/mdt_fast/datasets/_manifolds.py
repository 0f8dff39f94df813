"""Two curves and a surface, each deformed in two ways: Helix-A, Helix-B, Deformed-Plane.

In one view alone, points that are far apart on the manifold are close (a helix passes close to
itself, a folded plane touches itself). The two views together determine the circle or the plane.
``variant="paper"`` follows the printed formulas. ``variant="published"`` follows the code behind
the published figures; each function lists the differences.
"""

from typing import Any

import numpy as np

from .._support.arguments import LARGEST_SAMPLES, RandomStateLike, check_choice, check_generator, check_integer
from ._bunch import make_bunch
from ._types import FloatArray

VARIANTS = ("paper", "published")
VIEW_NAMES = ("deformation 1", "deformation 2")
PUBLISHED_PLANE_SEED = 42


def make_helix_a(n_samples: int = 1500, *, variant: str = "paper") -> Any:
    """Make Helix-A: a circle deformed into two curves with fine loops.

    With angles ``a`` and ``b = (a + pi / 2) mod 2 pi``, view 1 is::

        (4 cos(0.9 a) + 0.3 cos(20 a), 4 sin(0.9 a) + 0.3 sin(20 a), 0.1 (6.3 a^2 - a^3))

    and view 2 is the same curve at ``b``.

    Parameters
    ----------
    n_samples : int, default=1500
        Number of points, at least 2.
    variant : {"paper", "published"}, default="paper"
        "paper": angles evenly spread in [0, 2 pi). "published": angles from 0 to 2 pi with both
        ends, so that the first and the last point of view 2 coincide, and ``0.1 (6.3 b - b^2)`` as
        third coordinate of view 2.

    Returns
    -------
    sklearn.utils.Bunch
        views (two arrays of shape (n_samples, 3)), target (the angle ``a``), view_names, DESCR.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> [view.shape for view in mdt.datasets.make_helix_a(200).views]
    [(200, 3), (200, 3)]
    """
    a, b = _angles(n_samples, variant)
    view_1, view_2 = _looped_curve(a), _looped_curve(b)
    if variant == "published":
        view_2[:, 2] = 0.1 * (6.3 * b - b**2)
    description = f"Helix-A ({variant} variant): {a.size} points of a circle in two views. Target: the angle."
    return make_bunch((view_1, view_2), a, VIEW_NAMES, description)


def make_helix_b(n_samples: int = 1500, *, variant: str = "paper") -> Any:
    """Make Helix-B: a circle deformed into two helices of five turns, cut at different angles.

    With angles ``a`` and ``b = (a + pi / 2) mod 2 pi``, view 1 is ``4 (cos(5 a), sin(5 a), a)`` and
    view 2 is the same curve at ``b``.

    Parameters
    ----------
    n_samples : int, default=1500
        Number of points, at least 2.
    variant : {"paper", "published"}, default="paper"
        "paper": angles evenly spread in [0, 2 pi). "published": angles from 0 to 2 pi with both
        ends, so that the first and the last point of view 2 coincide.

    Returns
    -------
    sklearn.utils.Bunch
        views (two arrays of shape (n_samples, 3)), target (the angle ``a``), view_names, DESCR.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> [view.shape for view in mdt.datasets.make_helix_b(200).views]
    [(200, 3), (200, 3)]
    """
    a, b = _angles(n_samples, variant)
    description = f"Helix-B ({variant} variant): {a.size} points of a circle in two views. Target: the angle."
    return make_bunch((_five_turns(a), _five_turns(b)), a, VIEW_NAMES, description)


def make_deformed_plane(n_samples: int = 3000, *, variant: str = "paper", random_state: RandomStateLike = 0) -> Any:
    """Make Deformed-Plane: a rectangle folded in two ways that are not one-to-one.

    With ``x1 ~ U(0, 3 pi / 2)`` and ``x2 ~ U(0, 21)``, the views are::

        (x1 cos(0.65 x1), 0.2 x2 + 0.3 sin(x1), x1 cos(x1))
        (x2 + sin(2 x1) + 0.4 cos(x2), x1 + sin(x2) + 0.3 cos(2 x1), sin(x1) + cos(x2))

    Parameters
    ----------
    n_samples : int, default=3000
        Number of points, at least 2.
    variant : {"paper", "published"}, default="paper"
        "paper": the formulas above. "published": ``x1 ~ U(1.5 pi, 4.5 pi)``, ``x1 sin(x1)`` as
        third coordinate of view 1, ``0.3 cos(x2)`` for ``0.4 cos(x2)`` in view 2, and one fixed
        draw.
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None, default=0
        Seed of the "paper" variant. The "published" points are those of NumPy's legacy generator
        with seed 42.

    Returns
    -------
    sklearn.utils.Bunch
        views (two arrays of shape (n_samples, 3)), target (shape (n_samples, 2), the pairs
        (x1, x2)), view_names, DESCR.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> mdt.datasets.make_deformed_plane(200).target.shape
    (200, 2)
    """
    n = check_integer("n_samples", n_samples, minimum=2, limit=LARGEST_SAMPLES)
    published = check_choice("variant", variant, VARIANTS) == "published"
    if published:
        legacy = np.random.RandomState(PUBLISHED_PLANE_SEED)
        x1 = 1.5 * np.pi * (1.0 + 2.0 * legacy.random_sample(n))
        x2 = 21.0 * legacy.random_sample(n)
    else:
        rng = check_generator(random_state)
        x1 = rng.uniform(0.0, 1.5 * np.pi, n)
        x2 = rng.uniform(0.0, 21.0, n)
    height = x1 * np.sin(x1) if published else x1 * np.cos(x1)
    ripple = (0.3 if published else 0.4) * np.cos(x2)
    view_1 = np.column_stack((x1 * np.cos(0.65 * x1), 0.2 * x2 + 0.3 * np.sin(x1), height))
    view_2 = np.column_stack(
        (x2 + np.sin(2.0 * x1) + ripple, x1 + np.sin(x2) + 0.3 * np.cos(2.0 * x1), np.sin(x1) + np.cos(x2))
    )
    description = f"Deformed-Plane ({variant} variant): {n} points of a plane in two views. Target: (x1, x2)."
    return make_bunch((view_1, view_2), np.column_stack((x1, x2)), VIEW_NAMES, description)


def _angles(n_samples: int, variant: str) -> tuple[FloatArray, FloatArray]:
    n = check_integer("n_samples", n_samples, minimum=2, limit=LARGEST_SAMPLES)
    both_ends = check_choice("variant", variant, VARIANTS) == "published"
    a = np.linspace(0.0, 2.0 * np.pi, n, endpoint=both_ends)
    return a, np.mod(a + np.pi / 2.0, 2.0 * np.pi)


def _looped_curve(x: FloatArray) -> FloatArray:
    return np.column_stack(
        (
            4.0 * np.cos(0.9 * x) + 0.3 * np.cos(20.0 * x),
            4.0 * np.sin(0.9 * x) + 0.3 * np.sin(20.0 * x),
            0.1 * (6.3 * x**2 - x**3),
        )
    )


def _five_turns(x: FloatArray) -> FloatArray:
    return 4.0 * np.column_stack((np.cos(5.0 * x), np.sin(5.0 * x), x))
