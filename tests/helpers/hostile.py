"""Views that break careless code, and hypothesis strategies that draw them."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st


def _gaussian(rng, n):
    return rng.normal(size=(n, 3))


def _duplicates(rng, n):
    X = rng.integers(0, 2, size=(n, 2)).astype(float)
    X[0], X[-1] = 0, 1  # at least two distinct points
    return X


def _grid(rng, n):
    X = rng.integers(0, 4, size=(n, 2)).astype(float)
    X[0], X[-1] = 0, 3
    return X


def _far_clusters(rng, n):
    X = rng.normal(size=(n, 2))
    X[n // 2 :] += 1e8
    return X


def _one_far_point(rng, n):
    X = rng.normal(size=(n, 3))
    X[-1] += 1e6
    return X


def _constant_feature(rng, n):
    X = rng.normal(size=(n, 3))
    X[:, 1] = 7.0
    return X


def _star(rng, n):
    """A centre and n - 1 points that are all equally far from each other."""
    return np.vstack([np.zeros(n - 1), np.eye(n - 1)])


def _line(rng, n):
    return np.arange(n, dtype=float)[:, None]


# Distances in every view are either exact in floating point or differ by far more than rounding, so that
# neighbours by (distance, index) are the same however the sums are ordered.
VIEWS = {
    "gaussian": _gaussian,
    "duplicates": _duplicates,
    "grid": _grid,
    "far clusters": _far_clusters,
    "one far point": _one_far_point,
    "constant feature": _constant_feature,
    "star": _star,
    "line": _line,
    "tiny": lambda rng, n: 1e-300 * _gaussian(rng, n),
    "huge": lambda rng, n: 1e300 * _gaussian(rng, n),
    "float32": lambda rng, n: _gaussian(rng, n).astype(np.float32),
    "float32 tiny": lambda rng, n: (1e-30 * _gaussian(rng, n)).astype(np.float32),
    "float32 huge": lambda rng, n: (1e30 * _gaussian(rng, n)).astype(np.float32),
}
EXACT = ["duplicates", "grid", "star", "line"]
UNSCALED = [kind for kind in VIEWS if "tiny" not in kind and "huge" not in kind and "float32" not in kind]


@st.composite
def view_sets(draw, kinds=tuple(VIEWS), max_views=3, max_samples=20):
    """A list of views of the same points and a number of neighbours, up to N - 1."""
    n = draw(st.integers(2, max_samples), label="n_samples")
    chosen = draw(st.lists(st.sampled_from(kinds), min_size=1, max_size=max_views), label="kinds")
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1), label="seed"))
    n_neighbors = draw(st.one_of(st.just("log"), st.just(n - 1), st.integers(1, n - 1)), label="n_neighbors")
    return [VIEWS[kind](rng, n) for kind in chosen], n_neighbors


def sequences(n_members, max_length=6):
    return st.lists(st.integers(0, n_members - 1), min_size=1, max_size=max_length)


@st.composite
def simplex_rows(draw, n_members, max_length=6):
    """A weight matrix whose rows lie on the simplex, some of them on its corners and edges."""
    t = draw(st.integers(1, max_length), label="t")
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1), label="weights seed"))
    weights = rng.dirichlet(np.ones(n_members), size=t)
    if n_members > 1:
        weights[::2, 0] = 0.0
    return weights / weights.sum(axis=1, keepdims=True)
