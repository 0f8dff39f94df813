"""Embeddings against dense decompositions, and their geometry."""

from __future__ import annotations

import pickle
import warnings

import numpy as np
import pytest
import scipy.linalg
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse.linalg import aslinearoperator, eigs, svds
from scipy.spatial.distance import pdist, squareform

import mdt_fast as mdt

SOLVERS = ["auto", "exact"]


def make_operators(n=300, n_views=2, seed=0, **settings):
    views = mdt.datasets.make_multiview_blobs(n, n_views=n_views, n_clusters=4, random_state=seed).views
    return mdt.build_operators(views, n_neighbors=8, **settings)


def connected(n=300, seed=0, **settings):
    """Operators of connected graphs."""
    rng = np.random.default_rng(seed)
    return mdt.build_operators([rng.normal(size=(n, 3)), rng.normal(size=(n, 4))], n_neighbors=12, **settings)


def dense_coordinates(W, n_components, weighting):
    A = W.toarray().astype(float)
    roots = np.sqrt(W.stationary_distribution()) if weighting == "stationary" else np.ones(len(A))
    U, s, _ = np.linalg.svd(roots[:, None] * A / roots)
    psi = (U * s / roots[:, None])[:, 1 : n_components + 1]
    return psi * np.where(psi[np.abs(psi).argmax(axis=0), np.arange(n_components)] < 0, -1, 1), s


@pytest.mark.parametrize("weighting", ["uniform", "stationary"])
@pytest.mark.parametrize("solver", SOLVERS)
def test_equals_the_dense_decomposition(solver, weighting):
    W = connected().trajectory([0, 1, 1, 0])
    emb = mdt.embed(W, 5, solver=solver, weighting=weighting, tol=1e-10)
    expected, s = dense_coordinates(W, 5, weighting)
    np.testing.assert_allclose(emb.singular_values, s[1:6], rtol=1e-8)
    assert emb.first_value == pytest.approx(s[0], rel=1e-8)
    np.testing.assert_allclose(emb.coordinates, expected, atol=1e-6 * np.abs(expected).max())
    np.testing.assert_allclose(W @ emb.functions, emb.coordinates, atol=1e-10)
    assert emb.converged
    assert emb.solver == solver


@pytest.mark.parametrize("t", [1, 2, 3, 20])
@pytest.mark.parametrize("name", ["msrc", "leaves", "olivetti", "multi_feat"])
@pytest.mark.real_data
def test_singular_values_are_within_tol_where_the_spectrum_is_crowded(name, t):
    data = getattr(mdt.datasets, f"fetch_{name}")()
    k = len(np.unique(data.target))
    ops = mdt.build_operators(data.views, preset="published")
    W = ops.trajectory([s % len(ops) for s in range(t)])
    exact = scipy.linalg.svdvals(W.toarray())[: k + 1]
    for tol in (1e-3, 1e-8):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", mdt.OperatorWarning)
            emb = mdt.embed(W, k, tol=tol)
        got = np.array([emb.first_value, *emb.singular_values])
        # Singular values at the rounding error of the largest have no relative accuracy.
        assert (np.abs(got - exact) <= tol * exact + 1e-14).all()
        assert emb.converged


@pytest.mark.parametrize("weighting", ["uniform", "stationary"])
@given(seed=st.integers(0, 10**6), n=st.integers(4, 60), t=st.integers(1, 5))
@settings(max_examples=25, deadline=None)
def test_all_components_preserve_diffusion_distances(weighting, seed, n, t):
    rng = np.random.default_rng(seed)
    Xs = [rng.normal(size=(n, 2)), rng.normal(size=(n, 3))]
    ops = mdt.build_operators(Xs, n_neighbors=min(6, n - 1), symmetrize="max").with_teleport(0.9)
    W = ops.trajectory(rng.integers(0, len(ops), t).tolist()).extend(2)
    emb = mdt.embed(W, n - 1, weighting=weighting, drop_first=weighting == "stationary", tol=1e-10)
    got = squareform(pdist(emb.coordinates))
    expected = W.diffusion_distances(range(n), weighting=weighting)
    # With uniform weights nothing may be dropped: the last pair, which n - 1 components leave out, is the smallest.
    slack = 0.0 if weighting == "stationary" else 2 * scipy.linalg.svdvals(W.toarray())[-1]
    np.testing.assert_allclose(got, expected, atol=slack + 1e-9 * expected.max())


def test_distances_are_preserved_by_the_iterative_solver_too():
    """The test above uses the dense path of the solver; here only few pairs matter."""
    ops = connected(n=500)
    W = ops.trajectory([0, 1] * 15)
    rows = np.arange(0, 500, 25)
    emb = mdt.embed(W, 60, weighting="stationary", tol=1e-10)
    np.testing.assert_allclose(
        squareform(pdist(emb.coordinates[rows])), W.diffusion_distances(rows), rtol=1e-4, atol=1e-8
    )


def test_one_view_with_stationary_weights_is_the_diffusion_map():
    ops = connected()
    for t in (1, 3):
        W = ops.trajectory([0] * t)
        svd = mdt.embed(W, 4, weighting="stationary", tol=1e-12)
        eigen = mdt.embed(W, 4, weighting="stationary", decomposition="eigen", tol=1e-12)
        exact = mdt.embed(W, 4, weighting="stationary", decomposition="eigen", solver="exact")
        P = ops.views[0].toarray()
        values = np.sort(np.linalg.eigvals(P).real)[::-1][1:5]
        np.testing.assert_allclose(eigen.eigenvalues, values**t, rtol=1e-9)
        np.testing.assert_allclose(svd.singular_values, values**t, rtol=1e-9)
        np.testing.assert_allclose(eigen.coordinates, svd.coordinates, atol=1e-6)
        np.testing.assert_allclose(eigen.coordinates, exact.coordinates, atol=1e-6)


@pytest.mark.parametrize("solver", SOLVERS)
def test_uniform_eigenvectors_have_unit_length(solver):
    ops = connected().with_powers([2])
    W = ops.trajectory([1, "view 1^2"])
    emb = mdt.embed(W, 3, decomposition="eigen", tol=1e-10, solver=solver)
    P = ops.views[1].toarray()
    assert emb.eigenvalues is not None
    np.testing.assert_allclose(np.linalg.norm(emb.functions, axis=0), 1)
    np.testing.assert_allclose(np.linalg.matrix_power(P, 3) @ emb.functions, emb.functions * emb.eigenvalues, atol=1e-8)
    np.testing.assert_allclose(emb.coordinates, emb.functions * emb.eigenvalues, atol=1e-8)


def test_eigenvectors_are_ordered_by_value_not_magnitude():
    """A bipartite graph has the eigenvalue -1, which must come last."""
    K = np.ones((6, 6))
    K[:3, :3] = K[3:, 3:] = 0.01
    ops = mdt.OperatorSet.from_affinities([K])
    emb = mdt.embed(ops.trajectory([0]), 5, decomposition="eigen")
    assert (np.diff(emb.eigenvalues) <= 1e-12).all()
    assert emb.eigenvalues[-1] < -0.9
    assert emb.first_value == pytest.approx(1)


@pytest.mark.parametrize("weighting", ["uniform", "stationary"])
def test_drop_first_and_signs(weighting):
    W = connected().trajectory([0, 1])
    kept = mdt.embed(W, 4, weighting=weighting, drop_first=False, tol=1e-10)
    dropped = mdt.embed(W, 3, weighting=weighting, tol=1e-10)
    assert kept.first_value is None
    np.testing.assert_allclose(kept.coordinates[:, 1:], dropped.coordinates, atol=1e-7)
    largest = kept.coordinates[np.abs(kept.coordinates).argmax(axis=0), np.arange(4)]
    assert (largest > 0).all()
    if weighting == "stationary":
        np.testing.assert_allclose(kept.coordinates[:, 0], kept.coordinates[0, 0], rtol=1e-7)
        assert kept.singular_values[0] == pytest.approx(1, abs=1e-9)


def test_a_start_does_not_change_the_result():
    ops = connected(n=600)
    parent = mdt.embed(ops.trajectory([0, 1]), 5)
    W = ops.trajectory([0, 1, 1])
    cold, warm = (mdt.embed(W, 5, tol=1e-9, start=start) for start in (None, parent.functions))
    np.testing.assert_allclose(warm.singular_values, cold.singular_values, rtol=1e-9)
    np.testing.assert_allclose(warm.coordinates, cold.coordinates, atol=1e-6)


def test_single_precision():
    W = connected(dtype="float32").trajectory([0, 1, 1])
    emb = mdt.embed(W, 4, tol=1e-4)
    assert emb.coordinates.dtype == np.float32
    exact = scipy.linalg.svdvals(W.toarray().astype(float))[1:5]
    np.testing.assert_allclose(emb.singular_values, exact, rtol=1e-5)
    assert emb.converged
    unreachable = mdt.embed(W, 4, tol=1e-12)
    np.testing.assert_allclose(unreachable.singular_values, exact, rtol=1e-5)


@pytest.mark.parametrize("decomposition", ["svd", "eigen"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_same_bits_at_any_number_of_threads(dtype, decomposition):
    views = mdt.datasets.make_multiview_blobs(3000, n_views=2, random_state=0).views
    results = []
    for n_jobs in (1, 2, 3, 8):
        W = mdt.build_operators(views, n_neighbors=10, dtype=dtype, n_jobs=n_jobs).trajectory([0] * 3)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", mdt.OperatorWarning)
            emb = mdt.embed(W, 6, decomposition=decomposition)
        results.append(emb.coordinates.tobytes() + emb.singular_values.tobytes() + emb.functions.tobytes())
    assert len(set(results)) == 1


def test_seeds():
    W = connected(n=500).trajectory([0, 1])
    again = [mdt.embed(W, 3, random_state=7).coordinates for _ in range(2)]
    np.testing.assert_array_equal(*again)
    other = mdt.embed(W, 3, random_state=8)
    assert not np.array_equal(other.coordinates, again[0])
    np.testing.assert_allclose(other.singular_values, mdt.embed(W, 3).singular_values, rtol=1e-3)


@pytest.mark.parametrize("weighting", ["uniform", "stationary"])
def test_disconnected_graphs_work_and_are_reported(weighting):
    K = scipy.linalg.block_diag(*[np.ones((40, 40)) + np.diag(np.arange(40.0)) for _ in range(3)])
    ops = mdt.OperatorSet.from_affinities([K])
    with pytest.warns(mdt.OperatorWarning, match="3 parts of the samples unconnected"):
        emb = mdt.embed(ops.trajectory([0, 0]), 4, weighting=weighting)
    assert (emb.singular_values[:2] > 0.99).all()
    assert emb.singular_values[2] < 0.9
    labels = np.repeat([0, 1, 2], 40)
    centers = np.array([emb.coordinates[labels == c, :2].mean(axis=0) for c in range(3)])
    assert pdist(centers).min() > 0.1 * np.abs(emb.coordinates).max()


@pytest.mark.parametrize("n", [2, 3, 5, 40])
def test_tiny(n):
    rng = np.random.default_rng(n)
    ops = mdt.build_operators([rng.normal(size=(n, 2))] * 2, n_neighbors=n - 1)
    for weighting in ("uniform", "stationary"):
        emb = mdt.embed(ops.trajectory([0, 1]), n - 1, weighting=weighting)
        assert emb.coordinates.shape == (n, n - 1)
        assert np.isfinite(emb.coordinates).all()


def test_a_product_of_rank_one():
    """Every direction of a block but the first is rounding noise; the solver must handle it."""
    W = connected().with_uniform().trajectory([2, 0, 2])
    emb = mdt.embed(W, 5)
    assert (emb.singular_values < 1e-12).all()
    assert emb.first_value == pytest.approx(1, abs=1e-6)
    assert np.isfinite(emb.coordinates).all()


def test_a_long_product():
    W = connected().trajectory([0, 1] * 100)
    emb = mdt.embed(W, 5)
    assert emb.converged
    assert np.isfinite(emb.coordinates).all()


def test_convergence_warning():
    W = make_operators(n=1500).trajectory([0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mdt.OperatorWarning)
        with pytest.warns(mdt.ConvergenceWarning, match=r"relative residual is still .* after 2 iterations"):
            emb = mdt.embed(W, 10, max_iter=2)
    assert not emb.converged
    assert emb.residuals.max() > 1e-3


def test_implicit_members_and_convex_steps():
    ops = connected().with_identity().with_teleport(0.85).with_powers([3])
    rng = np.random.default_rng(0)
    W = ops.trajectory(rng.dirichlet(np.ones(len(ops)), 4))
    emb = mdt.embed(W, 4, tol=1e-9)
    np.testing.assert_allclose(emb.singular_values, scipy.linalg.svdvals(W.toarray())[1:5], rtol=1e-8)


def test_pickle_and_repr():
    emb = mdt.embed(connected(n=120).trajectory([0, 1]), 2)
    again = pickle.loads(pickle.dumps(emb))
    np.testing.assert_array_equal(again.coordinates, emb.coordinates)
    assert "120 samples, 2 components" in repr(emb)
    assert len(repr(emb)) < 300


SAMPLED = {
    "sequence": [0, 1, 1],
    "mean": ["mean", 0, "mean"],
    "powers": ["view 0^3", 1],
    "teleport": [1, "teleport(view 0, 0.9, uniform)"],
    "teleport to a power": ["teleport(view 1, 0.8, ^2)"],
    "idle after": [0, "identity"],
}


@pytest.mark.parametrize("weighting", ["uniform", "stationary"])
@pytest.mark.parametrize("steps", SAMPLED.values(), ids=SAMPLED)
@pytest.mark.parametrize("kernel", ["gaussian", "adaptive"])
def test_training_samples_get_their_own_coordinates(steps, weighting, kernel):
    Xs = mdt.datasets.make_multiview_blobs(300, n_views=2, random_state=3).views
    ops = mdt.build_operators(Xs, n_neighbors=7, kernel=kernel).with_powers([3]).with_identity().with_uniform()
    ops = ops.with_teleport(0.9).with_teleport(0.8, to=2).with_mean()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mdt.OperatorWarning)
        emb = mdt.embed(ops.trajectory(steps), 4, weighting=weighting)
    got = emb.transform(Xs)
    np.testing.assert_allclose(got, emb.coordinates, atol=1e-8 * np.abs(emb.coordinates).max())
    # Each row is independent of the others.
    some = [3, 200, 17]
    np.testing.assert_array_equal(emb.transform([X[some] for X in Xs]), got[some])


def test_convex_trajectories_and_eigenvectors_transform_too():
    Xs = mdt.datasets.make_multiview_blobs(300, n_views=2, random_state=3).views
    ops = mdt.build_operators(Xs, n_neighbors=7).with_identity().with_uniform()
    rng = np.random.default_rng(0)
    weights = rng.dirichlet(np.ones(4), 4)
    weights[1] = [0.5, 0.4, 0.0, 0.1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mdt.OperatorWarning)
        convex = mdt.embed(ops.trajectory(weights), 4)
        eigen = mdt.embed(ops.trajectory([1, 1]), 4, decomposition="eigen")
    for emb in (convex, eigen):
        np.testing.assert_allclose(emb.transform(Xs), emb.coordinates, atol=1e-8 * np.abs(emb.coordinates).max())


def test_new_samples_are_near_their_neighbours():
    views = mdt.datasets.make_multiview_blobs(600, n_views=2, n_clusters=3, random_state=0)
    train, new = slice(0, 500), slice(500, 600)
    ops = mdt.build_operators([X[train] for X in views.views], n_neighbors=10)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", mdt.OperatorWarning)
        emb = mdt.embed(ops.trajectory([0, 1, 0, 1]), 3)
    got = emb.transform([X[new] for X in views.views])
    assert got.shape == (100, 3)
    nearest = ((got[:, None] - emb.coordinates[None]) ** 2).sum(axis=2).argmin(axis=1)
    assert (views.target[train][nearest] == views.target[new]).mean() > 0.95


def test_transform_without_new_rows_is_refused():
    ops = connected(n=80).with_identity()
    idle = mdt.embed(ops.trajectory([[0.5, 0, 0.5], [0, 0.5, 0.5]]), 2)
    rng = np.random.default_rng(1)
    Xs = [rng.normal(size=(2, 3)), rng.normal(size=(2, 4))]
    with pytest.raises(ValueError, match="a new sample has no row of the identity"):
        idle.transform(Xs)
    given = connected(n=80).with_transitions([np.full((80, 80), 1 / 80)])
    with pytest.raises(ValueError, match="expected members that come from views, got 'given 0'"):
        mdt.embed(given.trajectory([0, 2]), 2).transform(Xs)
    ready = mdt.OperatorSet.from_transitions([np.full((80, 80), 1 / 80) / 2 + np.eye(80) / 2])
    emb = mdt.embed(ready.trajectory([0]), 2)
    with pytest.raises(ValueError, match="affinities"):
        emb.transform([Xs[0]])
    K = ready.views[0].toarray()[:5]
    np.testing.assert_allclose(emb.transform(affinities=[K]), emb.coordinates[:5], atol=1e-10)


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"n_components": 0}, ValueError, "n_components: expected an integer >= 1"),
        ({"n_components": 300}, ValueError, "n_components: expected an integer >= 1 and <= 299, got 300"),
        ({"n_components": 2.5}, TypeError, "n_components: expected an integer"),
        ({"solver": "lapack"}, ValueError, "solver: expected one of 'auto', 'exact', got 'lapack'"),
        ({"solver": "arpack"}, ValueError, "solver: expected one of 'auto', 'exact', got 'arpack'"),
        ({"weighting": "pi"}, ValueError, "weighting: expected one of"),
        ({"decomposition": "qr"}, ValueError, "decomposition: expected one of"),
        ({"tol": -1}, ValueError, "tol: expected a finite number >= 0"),
        ({"tol": np.nan}, ValueError, "tol: expected a finite number"),
        ({"drop_first": 1}, TypeError, "drop_first: expected True or False"),
        ({"max_iter": 0}, ValueError, "max_iter: expected an integer >= 1"),
        ({"start": np.ones((3, 2))}, ValueError, r"start: expected an array of shape \(300, m\), got \(3, 2\)"),
        ({"start": np.full((300, 2), np.nan)}, ValueError, "start: expected finite real numbers"),
        ({"random_state": "x"}, TypeError, "random_state: expected an integer"),
    ],
)
def test_bad_arguments(arguments, error, message):
    W = connected().trajectory([0, 1])
    with pytest.raises(error, match=message):
        mdt.embed(W, **arguments)


def test_bad_trajectories():
    ops = connected(n=80)
    with pytest.raises(TypeError, match="W: expected a Trajectory, got csr_array"):
        mdt.embed(sparse.csr_array(np.eye(3)))
    for steps in ([0, 1], [[0.5, 0.5]]):
        with pytest.raises(ValueError, match="decomposition: expected 'svd', because eigenvectors need"):
            mdt.embed(ops.trajectory(steps), 2, decomposition="eigen")
    walk = mdt.OperatorSet.from_transitions([ops.views[0].toarray()])
    with pytest.raises(ValueError, match="decomposition: expected 'svd'"):
        mdt.embed(walk.trajectory([0]), 2, decomposition="eigen")


LARGE = 17_000  # large enough that points are permuted


@pytest.fixture(scope="module")
def large():
    # A noisy helix and a stretched one: well separated singular values, in a random order of the points.
    rng = np.random.default_rng(0)
    angle = rng.uniform(0, 2 * np.pi, LARGE)
    views = [
        np.c_[np.cos(angle), np.sin(angle), s * np.cos(3 * angle)] + rng.normal(0, 0.3, (LARGE, 3)) for s in (1, 2)
    ]
    return mdt.build_operators(views, n_neighbors=15)


def by_arpack(W, n_components, weighting="uniform", decomposition="svd"):
    """The singular values, or absolute eigenvalues, and the coordinates by SciPy."""
    start = np.random.default_rng(0).normal(size=W.shape[0])
    options = {"k": n_components + 1, "v0": start, "tol": 1e-12}
    if decomposition == "eigen":
        # Eigenvalues of the repeated walk are real, because it is reversible.
        walk = W.operators.trajectory(W.sequence[:1])
        values, vectors = (found.real for found in eigs(walk, which="LR", **options))
        order = np.argsort(-values)[1:]
        values, roots = values[order] ** len(W), 1.0
    else:
        roots = np.sqrt(W.stationary_distribution()) if weighting == "stationary" else np.ones(W.shape[0])
        scaled = [aslinearoperator(sparse.diags_array(scale)) for scale in (roots, 1 / roots)]
        vectors, values, _ = svds(scaled[0] @ W @ scaled[1], **options)
        order = np.argsort(-values)[1:]
        values, roots = values[order], roots[:, None]
    coordinates = vectors[:, order] * values / roots
    largest = coordinates[np.abs(coordinates).argmax(axis=0), np.arange(n_components)]
    return np.abs(values), coordinates * np.sign(largest)


@pytest.mark.parametrize("arguments", [{}, {"weighting": "stationary"}, {"decomposition": "eigen"}])
def test_large_sets_keep_the_order_of_samples(large, arguments):
    W = large.trajectory([0, 0] if "decomposition" in arguments else [0, 1, 0])
    ours = mdt.embed(W, 3, tol=1e-9, **arguments)
    values, coordinates = by_arpack(W, 3, **arguments)
    np.testing.assert_allclose(ours.singular_values, values, rtol=1e-8)
    np.testing.assert_allclose(ours.coordinates, coordinates, atol=1e-5 * np.abs(coordinates).max())
    np.testing.assert_allclose(W @ ours.functions, ours.coordinates, atol=1e-12)


def test_a_start_has_the_order_of_the_samples(large):
    W = large.trajectory([0, 1, 0])
    cold = mdt.embed(W, 4, tol=1e-6, drop_first=False)
    warm = mdt.embed(W, 4, tol=1e-5, drop_first=False, max_iter=1, start=cold.functions)
    assert warm.converged
    np.testing.assert_allclose(warm.singular_values, cold.singular_values, rtol=1e-5)
