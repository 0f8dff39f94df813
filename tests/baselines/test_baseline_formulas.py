"""Baselines against dense NumPy versions of their formulas."""

from __future__ import annotations

import numpy as np
import pytest
from kneed import KneeLocator
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse.linalg import LinearOperator, svds

import mdt_fast as mdt
from helpers import oracle
from helpers.baselines import (
    N_COMPONENTS,
    NAMES,
    THREADS,
    TIMES,
    TOLERANCE,
    assert_same_up_to_sign,
    dense_graphs,
    fit,
    make_views,
    singular,
)
from mdt_fast.baselines import _trajectories

GRAPHS = [
    {},
    {"preset": "published"},
    {"kernel": "laplacian"},
    {"kernel": "correlation"},
    {"kernel": "adaptive", "symmetrize": "max"},
    {"kernel": "binary"},
]
PRECISIONS = [*[(graph, "float64") for graph in GRAPHS], *[(graph, "float32") for graph in GRAPHS[:3]]]
# A name, parameters for a number of views, and the coordinates from dense affinities and walks.
CASES = {
    "DM": ("DM", lambda V: {"view": 1}, lambda Ks, Ps: oracle.eigen_coordinates(Ps[1], N_COMPONENTS)[0]),
    "DM, t=3": ("DM", lambda V: {"t": 3}, lambda Ks, Ps: oracle.eigen_coordinates(Ps[0], N_COMPONENTS, t=3)[0]),
    "DM, stationary": (
        "DM",
        lambda V: {"t": 2, "weighting": "stationary"},
        lambda Ks, Ps: oracle.diffusion_map(Ps[0], N_COMPONENTS, t=2)[0],
    ),
    "AD": ("AD", lambda V: {}, lambda Ks, Ps: singular(oracle.integrated_product(Ps, [1] * len(Ps)))),
    "p-AD": (
        "p-AD",
        lambda V: {"t": 2},
        lambda Ks, Ps: singular(np.linalg.matrix_power(oracle.integrated_product(Ps, [1] * len(Ps)), 2)),
    ),
    "ID": (
        "ID",
        lambda V: {"t": TIMES[:V]},
        lambda Ks, Ps: singular(oracle.integrated_product(Ps, TIMES[: len(Ps)])),
    ),
    "mean": (
        "mean",
        lambda V: {"t": 2},
        lambda Ks, Ps: singular(np.linalg.matrix_power(np.mean(Ps, axis=0), 2)),
    ),
    "AA": ("AA", lambda V: {}, lambda Ks, Ps: singular(oracle.transition(sum(Ks)))),
    "AA, t=2": (
        "AA",
        lambda V: {"t": 2},
        lambda Ks, Ps: singular(np.linalg.matrix_power(oracle.transition(sum(Ks)), 2)),
    ),
    "MVD": (
        "MVD",
        lambda V: {},
        lambda Ks, Ps: oracle.eigen_coordinates(oracle.multiview_walk(Ks), N_COMPONENTS)[0][: len(Ks[0])],
    ),
    # After few steps: after many the smaller values are rounding errors in single precision.
    "CrD": ("CrD", lambda V: {"n_steps": 3}, lambda Ks, Ps: singular(oracle.cross_diffusion(Ps, 3))),
}


@pytest.mark.parametrize(("graph", "dtype"), PRECISIONS, ids=str)
@pytest.mark.parametrize(("n_samples", "n_views"), [(150, 2), (70, 3)])
@pytest.mark.parametrize("case", CASES)
def test_equals_the_dense_version(case, n_samples, n_views, graph, dtype):
    name, parameters, dense = CASES[case]
    Xs = make_views(n_samples, n_views)
    found = fit(name, Xs, n_components=N_COMPONENTS, tol=1e-10, dtype=dtype, **parameters(n_views), **graph)
    assert found.embedding_.dtype == dtype
    assert_same_up_to_sign(found.embedding_, dense(*dense_graphs(n_samples, n_views, **graph)), TOLERANCE[dtype])


@pytest.mark.parametrize("case", ["AA", "MVD"])
def test_anisotropic_affinities_keep_their_size(case):
    """A factor of one view's affinities changes no walk, but changes combinations of affinities."""
    name, _, dense = CASES[case]
    graph = {"anisotropy": 1.0}
    found = fit(name, make_views(70, 3), n_components=N_COMPONENTS, tol=1e-10, **graph)
    assert_same_up_to_sign(found.embedding_, dense(*dense_graphs(70, 3, **graph)), TOLERANCE["float64"])


@pytest.mark.parametrize(("graph", "dtype"), PRECISIONS, ids=str)
def test_composite_similarity_equals_the_dense_version(graph, dtype):
    found = fit("ComD", n_components=N_COMPONENTS, tol=1e-10, dtype=dtype, **graph)
    A = oracle.composite_diffusion(*dense_graphs(**graph)[1])
    expected, values = oracle.singular_coordinates(A, N_COMPONENTS)
    assert found.embedding_.dtype == dtype
    assert_allclose(found.singular_values_, values, rtol=TOLERANCE[dtype])
    assert_same_up_to_sign(found.embedding_, expected, TOLERANCE[dtype])


@pytest.mark.parametrize(("graph", "dtype"), PRECISIONS, ids=str)
def test_composite_difference_equals_the_dense_version(graph, dtype):
    """Its values come in pairs, with vectors up to a rotation: inner products are compared."""
    found = fit("ComD", n_components=4, operator="difference", tol=1e-10, dtype=dtype, **graph)
    A = oracle.composite_diffusion(*dense_graphs(**graph)[1], sign=-1)
    expected, values = oracle.singular_coordinates(A, 4, drop_first=False)
    assert_allclose(found.singular_values_, values, rtol=TOLERANCE[dtype])
    assert_allclose(found.singular_values_[::2], found.singular_values_[1::2], rtol=TOLERANCE[dtype])
    products = expected @ expected.T
    assert_allclose(found.embedding_ @ found.embedding_.T, products, atol=TOLERANCE[dtype] * np.abs(products).max())


@pytest.mark.parametrize("n_views", [2, 3])
@pytest.mark.parametrize(("options", "n_steps"), [({}, 20), ({"preset": "published"}, 25), ({"n_steps": 1}, 1)])
def test_number_of_steps_of_cross_diffusion(options, n_steps, n_views):
    found = fit("CrD", make_views(n_views=n_views), n_components=N_COMPONENTS, tol=1e-10, **options)
    graph = {key: value for key, value in options.items() if key == "preset"}
    A = oracle.cross_diffusion(dense_graphs(n_views=n_views, **graph)[1], n_steps)
    expected, values = oracle.singular_coordinates(A, N_COMPONENTS)
    assert_allclose(found.singular_values_, values, rtol=TOLERANCE["float64"])
    assert_same_up_to_sign(found.embedding_, expected, TOLERANCE["float64"])


def test_cross_diffusion_of_three_views_does_not_depend_on_threads():
    one, three = (fit("CrD", make_views(500, 3), n_components=4, n_jobs=jobs) for jobs in (1, 3))
    np.testing.assert_array_equal(one.embedding_, three.embedding_)


@pytest.mark.parametrize("n_views", [2, 3])
def test_cross_diffusion_of_many_steps(n_views):
    """All values but the first are rounding errors, without a warning."""
    found = fit("CrD", make_views(n_views=n_views), n_steps=1000)
    assert (found.singular_values_ < 1e-12).all()
    assert np.isfinite(found.embedding_).all()


@pytest.mark.parametrize("n_views", [2, 3])
@pytest.mark.parametrize("t", [1, 3])
def test_multiview_diffusion_of_each_view(n_views, t):
    Xs = make_views(n_views=n_views)
    found = fit("MVD", Xs, n_components=N_COMPONENTS, view=1, t=t, tol=1e-10)
    expected, powers = oracle.eigen_coordinates(
        oracle.multiview_walk(dense_graphs(n_views=n_views)[0]), N_COMPONENTS, t=t
    )
    assert_allclose(found.eigenvalues_**t, powers, rtol=1e-9)
    assert found.view_embeddings_.shape == (n_views, len(Xs[0]), N_COMPONENTS)
    assert_same_up_to_sign(found.view_embeddings_.reshape(-1, N_COMPONENTS), expected, TOLERANCE["float64"])
    assert_array_equal(found.embedding_, found.view_embeddings_[1])


@pytest.mark.parametrize("name", [name for name in NAMES if name != "MVD"])
def test_the_largest_entry_of_a_column_is_positive(name):
    Psi = fit(name, n_components=5).embedding_
    assert (Psi.max(axis=0) >= -Psi.min(axis=0)).all()


def test_the_largest_entry_of_a_multiview_column_is_positive():
    """The sign of a column is common to all views."""
    Psi = fit("MVD", n_components=5).view_embeddings_.reshape(-1, 5)
    assert (Psi.max(axis=0) >= -Psi.min(axis=0)).all()


def test_distances_of_a_stationary_diffusion_map_are_diffusion_distances():
    X = make_views(60)[0]
    found = fit("DM", [X], n_components=59, t=2, weighting="stationary", tol=1e-10)
    P = oracle.operator(X, n_neighbors=10)
    expected = oracle.diffusion_distances(P @ P, range(60))
    got = np.linalg.norm(found.embedding_[:, None] - found.embedding_[None], axis=2)
    assert_allclose(got, expected, atol=1e-9 * expected.max())


# Sequences of three views, first step first.
SEQUENCES = [
    ("AD", {}, [2, 1, 0]),
    ("p-AD", {"t": 2}, [2, 1, 0, 2, 1, 0]),
    ("ID", {"t": TIMES}, [2, 2, 1, 0, 0, 0]),
    ("ID", {"t": 2}, [2, 2, 1, 1, 0, 0]),
    ("mean", {}, np.full((1, 3), 1 / 3)),
    ("mean", {"t": 3}, np.full((3, 3), 1 / 3)),
]


@pytest.mark.parametrize(("name", "parameters", "sequence"), SEQUENCES)
def test_baselines_are_trajectories(name, parameters, sequence):
    Xs = make_views(n_views=3)
    found = fit(name, Xs, n_components=4, tol=1e-5, random_state=7, **parameters)
    W = mdt.build_operators(Xs, n_neighbors=10).trajectory(sequence)
    assert_array_equal(found.embedding_, mdt.embed(W, 4, tol=1e-5, random_state=7).coordinates)
    assert_array_equal(found.trajectory_.weights, W.weights)
    assert found.geometry_.trajectory is found.trajectory_


def test_first_power_of_alternating_diffusion():
    assert_array_equal(fit("p-AD", t=1).embedding_, fit("AD").embedding_)


@pytest.mark.parametrize(("name", "parameters"), [("AD", {}), ("ID", {"t": 1}), ("mean", {}), ("AA", {})])
def test_one_view_gives_its_walk(name, parameters):
    X = make_views()[0]
    found = fit(name, [X], n_components=N_COMPONENTS, tol=1e-10, **parameters)
    assert_same_up_to_sign(found.embedding_, singular(oracle.operator(X, n_neighbors=10)), TOLERANCE["float64"])


def dense_knee(values_at):
    """The knee of the entropy of values over the times 1, ..., 24."""
    times, entropies = np.arange(1, 25), []
    for t in times:
        s = values_at(int(t))
        s = s[s > 0] / np.linalg.norm(s)
        entropies.append(-np.sum(s * np.log(s)))
    return KneeLocator(times, entropies, curve="convex", direction="decreasing").knee


@pytest.mark.parametrize("n_views", [2, 3])
def test_time_of_powered_alternating_diffusion(n_views):
    Xs = make_views(n_views=n_views)
    found = fit("p-AD", Xs)
    W = oracle.integrated_product(dense_graphs(n_views=n_views)[1], [1] * n_views)
    assert found.t_ == dense_knee(lambda t: np.linalg.svd(np.linalg.matrix_power(W, t), compute_uv=False))
    once = found.operators_.trajectory(range(n_views)[::-1])
    assert found.t_ == mdt.select_time(once, max_t=24).t
    assert len(found.trajectory_) == n_views * found.t_


def test_times_of_integrated_diffusion():
    Xs = [make_views()[0], np.random.default_rng(1).normal(size=(100, 8))]
    found = fit("ID", Xs)
    magnitudes = [np.abs(np.linalg.eigvals(oracle.operator(X, n_neighbors=10))) for X in Xs]
    assert found.t_ == [dense_knee(lambda t, s=s: s**t) for s in magnitudes]
    assert found.t_[0] != found.t_[1]
    assert found.trajectory_.sequence == (1,) * found.t_[1] + (0,) * found.t_[0]
    assert fit("ID", Xs, t=["auto", 2]).t_ == [found.t_[0], 2]


def test_estimated_times_are_near_the_exact_times(monkeypatch):
    Xs = mdt.datasets.make_multiview_blobs(1000, n_views=3, n_features=[4, 10, 30], random_state=0, cluster_std=4).views
    methods = []

    def record(*arguments, method, **options):
        methods.append(method)
        return mdt.select_time(*arguments, method=method, **options)

    monkeypatch.setattr(_trajectories, "select_time", record)
    exact = fit("ID", Xs).t_
    monkeypatch.setattr(_trajectories, "_SPECTRAL_SAMPLES", 999)
    estimated = fit("ID", Xs).t_
    assert methods == ["spectral"] * 3 + ["stochastic"] * 3
    assert np.abs(np.subtract(exact, estimated)).max() <= 1


def test_time_of_the_mean():
    found = fit("mean", t="auto")
    assert found.t_ == mdt.select_time(found.operators_).t == len(found.trajectory_)


def cross_step(Ps, middle, view, n_steps, B):
    """Q_view B after some steps of two views, from Q = `middle`."""
    if n_steps == 0:
        return middle[view] @ B
    return Ps[view] @ cross_step(Ps, middle, 1 - view, n_steps - 1, Ps[view].T @ B)


def cross_mean(Ps, middle):
    return lambda B: (cross_step(Ps, middle, 0, 3, B) + cross_step(Ps, middle, 1, 3, B)) / 2


def composite(Ps, sign):
    return lambda B: Ps[1] @ (Ps[0].T @ B) + sign * (Ps[0] @ (Ps[1].T @ B))


# Parameters, and products with the operator and its transpose, from sparse walks.
LARGE = {
    "similarity": ("ComD", {}, lambda Ps: composite(Ps, 1), lambda Ps: composite(Ps, 1)),
    "difference": (
        "ComD",
        {"operator": "difference"},
        lambda Ps: composite(Ps, -1),
        lambda Ps: lambda B: -composite(Ps, -1)(B),
    ),
    "cross": ("CrD", {"n_steps": 3}, lambda Ps: cross_mean(Ps, Ps), lambda Ps: cross_mean(Ps, [P.T for P in Ps])),
}


@pytest.mark.parametrize("case", LARGE)
def test_large_sets_keep_the_order_of_samples(case):
    """From 16,384 points the core permutes the points."""
    name, parameters, product, transposed = LARGE[case]
    n, tol = 17_000, 1e-6
    Xs = mdt.datasets.make_multiview_blobs(n, n_features=3, cluster_std=3, random_state=0).views
    fits = [fit(name, Xs, n_components=4, tol=tol, n_jobs=n_jobs, **parameters) for n_jobs in THREADS]
    assert len({found.embedding_.tobytes() for found in fits}) == 1
    found = fits[0]
    Ps = found.operators_.views
    A, A_transposed = product(Ps), transposed(Ps)
    U = found.embedding_ / found.singular_values_
    assert_allclose(U.T @ U, np.eye(4), atol=1e-9)
    both = LinearOperator((n, n), matvec=A, rmatvec=A_transposed, dtype=float)
    largest = np.sort(svds(both, k=5, v0=np.ones(n), return_singular_vectors=False))[::-1]
    first = 0 if case == "difference" else 1
    assert_allclose(found.singular_values_, largest[first : first + 4], rtol=10 * tol)
    assert_allclose(A(A_transposed(U)), U * found.singular_values_**2, atol=10 * tol * largest[0] ** 2)
