"""Trajectories: products applied, formed, pruned; stationary distributions and diffusion distances."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import scipy.sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator, eigs, svds

import mdt_fast as mdt
from helpers import oracle

N_SAMPLES = 40
SEQUENCES = [(0,), (0, 1), (1, 0), (0, 1, 1, 2), (3, 0, 4, 1), (2, 2), (5, 6, 7), (8, 0), (3, 3), (4, 4, 4)]


@pytest.fixture
def ops(views):
    """All kinds of member: views 0 to 2, identity, uniform, teleports 5 to 7, squares 8 to 10."""
    return mdt.build_operators(views, n_neighbors=5).with_identity().with_uniform().with_teleport(0.6).with_powers((2,))


@pytest.fixture
def members(views):
    Ps = [oracle.operator(X, n_neighbors=5) for X in views]
    return [
        *Ps,
        oracle.identity(N_SAMPLES),
        oracle.uniform(N_SAMPLES),
        *(oracle.teleport(P, 0.6) for P in Ps),
        *(P @ P for P in Ps),
    ]


@pytest.fixture
def weights(rng, members):
    weights = rng.dirichlet(np.ones(len(members)), size=4)
    weights[1] = np.eye(len(members))[2]  # a corner of the simplex
    weights[2, 4:] = 0.0  # no uniform, no implicit member
    return weights / weights.sum(axis=1, keepdims=True)


def one_hot(sequence, n_members):
    return np.eye(n_members)[list(sequence)]


class TestProduct:
    @pytest.mark.parametrize("sequence", SEQUENCES)
    def test_sequence_is_the_explicit_product(self, ops, members, sequence):
        W = ops.trajectory(sequence)
        expected = oracle.sequence_product(members, sequence)
        np.testing.assert_allclose(W.toarray(), expected, rtol=0, atol=1e-13)
        np.testing.assert_allclose(W.tosparse().toarray(), expected, rtol=0, atol=1e-13)
        np.testing.assert_allclose(W @ np.eye(N_SAMPLES), expected, rtol=0, atol=1e-13)

    def test_first_member_acts_first(self, ops):
        P, Q = (ops[v].toarray() for v in (0, 1))
        assert np.abs(P @ Q - Q @ P).max() > 1e-3
        np.testing.assert_allclose(ops.trajectory([0, 1]).toarray(), Q @ P, rtol=0, atol=1e-13)

    @pytest.mark.parametrize("sequence", SEQUENCES)
    def test_one_hot_weights_are_the_sequence(self, ops, sequence):
        by_sequence, by_weights = ops.trajectory(sequence), ops.trajectory(one_hot(sequence, len(ops)))
        assert by_weights.sequence == by_sequence.sequence == sequence
        np.testing.assert_array_equal(by_weights.toarray(), by_sequence.toarray())

    def test_convex_steps(self, ops, members, weights):
        W = ops.trajectory(weights)
        assert W.sequence is None
        expected = oracle.weights_product(members, weights)
        np.testing.assert_allclose(W.toarray(), expected, rtol=0, atol=1e-13)
        np.testing.assert_allclose(W.tosparse().toarray(), expected, rtol=0, atol=1e-13)

    def test_alternating_diffusion(self, ops, members):
        expected = members[0] @ members[1] @ members[2]
        np.testing.assert_allclose(ops.trajectory([2, 1, 0]).toarray(), expected, rtol=0, atol=1e-13)

    @pytest.mark.parametrize("times", [(1, 1, 1), (3, 1, 2), (2, 4, 1)])
    def test_integrated_diffusion(self, ops, members, times):
        sequence = [v for v in (2, 1, 0) for _ in range(times[v])]
        expected = np.linalg.multi_dot([np.linalg.matrix_power(P, t) for P, t in zip(members[:3], times, strict=True)])
        np.testing.assert_allclose(ops.trajectory(sequence).toarray(), expected, rtol=0, atol=1e-13)

    @pytest.mark.parametrize("t", [1, 2, 7, 64])
    def test_one_view_is_a_matrix_power(self, views, t):
        W = mdt.build_operators(views[0]).trajectory([0] * t)
        expected = np.linalg.matrix_power(oracle.operator(views[0]), t)
        np.testing.assert_allclose(W.toarray(), expected, rtol=0, atol=1e-12)
        np.testing.assert_allclose(W @ np.ones(N_SAMPLES), 1.0, rtol=0, atol=1e-12)

    def test_convex_weights_of_a_view_and_uniform_are_pagerank(self, views):
        P = oracle.operator(views[0])
        ops = mdt.build_operators(views[0]).with_uniform()
        expected = np.linalg.matrix_power(oracle.teleport(P, 0.85), 3)
        np.testing.assert_allclose(ops.trajectory([[0.85, 0.15]] * 3).toarray(), expected, rtol=0, atol=1e-13)

    def test_float32(self, views, members):
        W = mdt.build_operators(views, n_neighbors=5, dtype="float32").trajectory([0, 1, 2, 0])
        assert W.dtype == np.float32
        np.testing.assert_allclose(W.toarray(), oracle.sequence_product(members, [0, 1, 2, 0]), rtol=0, atol=1e-4)

    @pytest.mark.parametrize("form", [list, tuple, np.array, lambda w: np.array(w, dtype=np.uint8)])
    def test_forms_of_a_sequence(self, ops, form):
        W = ops.trajectory(form([0, 2, 1]))
        assert W.sequence == (0, 2, 1)
        assert all(type(step) is int for step in W.sequence)

    def test_sequence_of_names(self, views):
        ops = mdt.build_operators({"sight": views[0], "sound": views[1]})
        assert ops.trajectory(["sound", "sight", "sound"]).sequence == (1, 0, 1)

    def test_attributes(self, ops, weights):
        W = ops.trajectory(weights)
        assert len(W) == 4
        assert W.shape == (N_SAMPLES, N_SAMPLES)
        assert W.dtype == np.float64
        assert W.operators is ops
        np.testing.assert_allclose(W.weights, weights, rtol=0, atol=1e-15)
        with pytest.raises(ValueError, match="read-only"):
            W.weights[0, 0] = 1.0

    def test_weights_of_a_sequence(self, ops):
        np.testing.assert_array_equal(ops.trajectory([1, 0]).weights, one_hot([1, 0], len(ops)))

    def test_given_weights_are_copied(self, ops, weights):
        W = ops.trajectory(weights)
        before = W.toarray()
        weights[:] = 0.0
        np.testing.assert_array_equal(W.toarray(), before)


class TestExtend:
    def test_one_more_step_multiplies_on_the_left(self, ops, members):
        W = ops.trajectory([0])
        longer = W.extend(1)
        assert (W.sequence, longer.sequence) == ((0,), (0, 1))
        np.testing.assert_allclose(longer.toarray(), members[1] @ members[0], rtol=0, atol=1e-13)

    @pytest.mark.parametrize("step", [4, np.int64(4), "name"])
    def test_forms_of_a_step(self, ops, step):
        longer = ops.trajectory([0, 1]).extend(ops.names[4] if step == "name" else step)
        assert longer.sequence == (0, 1, 4)

    def test_weight_row(self, ops, members, weights):
        longer = ops.trajectory(weights[:3]).extend(weights[3])
        assert longer.sequence is None
        np.testing.assert_allclose(longer.weights, weights, rtol=0, atol=1e-15)
        np.testing.assert_array_equal(longer.toarray(), ops.trajectory(weights).toarray())

    def test_one_hot_row_keeps_the_sequence(self, ops):
        assert ops.trajectory([1]).extend(np.eye(len(ops))[3]).sequence == (1, 3)


class TestLinearOperator:
    @pytest.fixture(params=["sequence", "weights"])
    def pair(self, request, ops, members, weights):
        if request.param == "sequence":
            sequence = [0, 5, 2, 9, 1]
            return ops.trajectory(sequence), oracle.sequence_product(members, sequence)
        return ops.trajectory(weights), oracle.weights_product(members, weights)

    # Widths around the number of columns that a kernel processes at a time.
    @pytest.mark.parametrize("width", [0, 1, 3, 8, 32, 33, 70])
    def test_blocks(self, rng, pair, width):
        W, dense = pair
        B = rng.normal(size=(N_SAMPLES, width))
        for product, expected in [
            (W @ B, dense @ B),
            (W.matmat(B), dense @ B),
            (W.T @ B, dense.T @ B),
            (W.H @ B, dense.T @ B),
            (W.rmatmat(B), dense.T @ B),
            (W.T.rmatmat(B), dense @ B),
        ]:
            assert product.shape == (N_SAMPLES, width)
            np.testing.assert_allclose(product, expected, rtol=0, atol=1e-12)

    def test_vectors(self, rng, pair):
        W, dense = pair
        b = rng.normal(size=N_SAMPLES)
        for product, expected in [
            (W @ b, dense @ b),
            (W.matvec(b), dense @ b),
            (W.T @ b, dense.T @ b),
            (W.rmatvec(b), dense.T @ b),
            (b @ W, b @ dense),
        ]:
            assert product.shape == (N_SAMPLES,)
            np.testing.assert_allclose(product, expected, rtol=0, atol=1e-12)

    @pytest.mark.parametrize(
        "form",
        [
            np.asfortranarray,
            lambda B: np.repeat(B, 2, axis=1)[:, ::2],
            lambda B: B[::-1].copy()[::-1],
            lambda B: np.rint(10 * B).astype(int),
            lambda B: B.astype(np.float32),
        ],
        ids=["Fortran", "strided", "reversed", "integers", "float32"],
    )
    def test_forms_of_a_block(self, rng, pair, form):
        W, dense = pair
        B = form(rng.normal(size=(N_SAMPLES, 5)))
        B.flags.writeable = False
        before = B.copy()
        np.testing.assert_allclose(W @ B, dense @ B, rtol=0, atol=1e-12)
        np.testing.assert_allclose(W.T @ B, dense.T @ B, rtol=0, atol=1e-12)
        np.testing.assert_array_equal(B, before)

    def test_columns_do_not_depend_on_each_other(self, rng, pair):
        W, _ = pair
        B = rng.normal(size=(N_SAMPLES, 37))
        whole = W @ B
        for columns in ([0], [36], [5, 6, 7, 8, 9]):
            np.testing.assert_allclose(W @ B[:, columns], whole[:, columns], rtol=0, atol=1e-14)

    def test_transpose_of_the_transpose(self, rng, pair):
        W, _ = pair
        b = rng.normal(size=N_SAMPLES)
        np.testing.assert_array_equal(W.T.T @ b, W @ b)
        np.testing.assert_array_equal(W.T.H @ b, W @ b)

    def test_transposed_products_keep_mass(self, pair):
        W, _ = pair
        start = np.zeros(N_SAMPLES)
        start[3] = 1.0
        spread = W.T @ start
        assert (spread >= 0).all()
        assert spread.sum() == pytest.approx(1.0, abs=1e-12)
        np.testing.assert_allclose(spread, W.toarray()[3], rtol=0, atol=1e-13)

    def test_is_a_linear_operator(self, pair):
        W, dense = pair
        assert isinstance(W, LinearOperator)
        assert isinstance(W.T, LinearOperator)
        assert aslinearoperator(W) is W
        combined = 2 * W + W @ W.T
        np.testing.assert_allclose(combined @ np.eye(N_SAMPLES), 2 * dense + dense @ dense.T, rtol=0, atol=1e-12)

    @pytest.mark.parametrize("solver", ["arpack", "propack"])
    def test_svds(self, rng, pair, solver):
        W, dense = pair
        values = svds(W, k=4, return_singular_vectors=False, v0=rng.normal(size=N_SAMPLES), solver=solver)
        expected = np.linalg.svd(dense, compute_uv=False)[:4]
        np.testing.assert_allclose(np.sort(values)[::-1], expected, rtol=1e-8)

    def test_eigs(self, rng, pair):
        W, _ = pair
        (value,) = eigs(W, k=1, v0=rng.normal(size=N_SAMPLES), return_eigenvectors=False)
        assert value == pytest.approx(1.0, abs=1e-10)


class TestPruning:
    @pytest.fixture(name="W")
    def trajectory(self, ops):
        return ops.trajectory([0, 1, 2, 1])

    @pytest.fixture
    def dense(self, members):
        return oracle.sequence_product(members, [0, 1, 2, 1])

    @pytest.mark.parametrize("prune_below", [0.0, 1e-6, 1e-3, 0.05, 2.0])
    @pytest.mark.parametrize("top", [None, 1, 4, 1000])
    def test_equals_oracle(self, W, dense, prune_below, top):
        pruned = W.tosparse(prune_below=prune_below, top=top)
        assert isinstance(pruned, scipy.sparse.csr_array)
        expected = oracle.prune(dense, prune_below, top)
        np.testing.assert_allclose(pruned.toarray(), expected, rtol=0, atol=1e-12)
        np.testing.assert_array_equal(np.diff(pruned.indptr), (expected > 0).sum(axis=1))

    def test_exact_product_has_no_dense_storage(self, rng):
        # A walk on a line reaches 2 t + 1 points in t steps.
        n, t = 5000, 4
        P = scipy.sparse.diags_array([0.25, 0.5, 0.25], offsets=[-1, 0, 1], shape=(n, n), format="csr")
        P = scipy.sparse.csr_array(P / P.sum(axis=1)[:, None])
        W = mdt.OperatorSet.from_transitions([P]).trajectory([0] * t).tosparse()
        assert W.nnz <= n * (2 * t + 1)
        assert abs(W - P @ P @ P @ P).max() <= 1e-15

    def test_ties_go_to_the_smaller_column(self):
        # Dyadic entries: the product is exact, and its ties are real.
        P = np.full((8, 8), 0.125)
        W = mdt.OperatorSet.from_transitions([P]).trajectory([0, 0])
        expected = np.zeros((8, 8))
        expected[:, :2] = 0.5
        np.testing.assert_array_equal(W.tosparse(top=2).toarray(), expected)

    def test_an_entry_at_the_threshold_is_kept(self):
        P = np.array([[0.5, 0.25, 0.25], [0.25, 0.5, 0.25], [0.5, 0.5, 0.0]])
        W = mdt.OperatorSet.from_transitions([P]).trajectory([0])
        np.testing.assert_array_equal(W.tosparse(prune_below=0.25).toarray(), P)
        np.testing.assert_array_equal(W.tosparse(prune_below=0.26).toarray(), [[1, 0, 0], [0, 1, 0], [0.5, 0.5, 0]])

    def test_pruning_each_step_bounds_rows_and_keeps_them_stochastic(self, W):
        pruned = W.tosparse(prune_below=1e-3, top=6, prune_each_step=True)
        assert np.diff(pruned.indptr).max() <= 6
        assert (pruned.data > 0).all()
        np.testing.assert_allclose(pruned.sum(axis=1), 1.0, rtol=0, atol=1e-12)

    def test_pruning_one_step_is_pruning_at_the_end(self, ops, W):
        one = ops.trajectory([1])
        for trajectory, options in [(one, {"top": 3}), (one, {"prune_below": 0.05}), (W, {"top": N_SAMPLES})]:
            np.testing.assert_allclose(
                trajectory.tosparse(**options, prune_each_step=True).toarray(),
                trajectory.tosparse(**options).toarray(),
                rtol=0,
                atol=1e-13,
            )


class TestStationaryDistribution:
    def test_one_view_is_its_degrees(self, views):
        K = oracle.affinity(views[0], n_neighbors=8)
        pi = mdt.build_operators(views[0], n_neighbors=8).trajectory([0]).stationary_distribution()
        np.testing.assert_allclose(pi, K.sum(axis=1) / K.sum(), rtol=0, atol=1e-9)

    @pytest.mark.parametrize("sequence", [(0, 1), (1, 0, 2), (5, 4), (8, 9, 10)])
    def test_sequence(self, ops, members, sequence):
        W = ops.trajectory(sequence)
        pi = W.stationary_distribution()
        assert pi.shape == (N_SAMPLES,)
        assert pi.sum() == pytest.approx(1.0, abs=1e-12)
        assert (pi > 0).all()
        np.testing.assert_allclose(W.T @ pi, pi, rtol=0, atol=1e-11)
        expected = oracle.stationary_distribution(oracle.sequence_product(members, sequence))
        np.testing.assert_allclose(pi, expected, rtol=0, atol=1e-9)

    def test_weights(self, ops, members, weights):
        expected = oracle.stationary_distribution(oracle.weights_product(members, weights))
        pi = ops.trajectory(weights).stationary_distribution()
        np.testing.assert_allclose(pi, expected, rtol=0, atol=1e-9)

    def test_not_unique(self, rng):
        X = rng.normal(size=(30, 2))
        X[15:] += 1e6
        W = mdt.build_operators(X, n_neighbors=14, kernel="binary").trajectory([0, 0])
        with pytest.warns(mdt.OperatorWarning, match="unique"):
            pi = W.stationary_distribution()
        assert pi.sum() == pytest.approx(1.0, abs=1e-12)

    def test_not_converged(self, ops):
        with pytest.warns(mdt.ConvergenceWarning, match="max_iter|2 iterations"):
            pi = ops.trajectory([0]).stationary_distribution(max_iter=2)
        assert pi.sum() == pytest.approx(1.0, abs=1e-12)


class TestDiffusionDistances:
    @pytest.mark.parametrize("weighting", ["stationary", "uniform"])
    @pytest.mark.parametrize("sequence", [(0,), (0, 1), (5, 4, 2), (3, 0), (8, 1)])
    def test_sequence(self, ops, members, sequence, weighting):
        rows = [3, 0, 39, 17, 3]
        D = ops.trajectory(sequence).diffusion_distances(rows, weighting=weighting)
        expected = oracle.diffusion_distances(oracle.sequence_product(members, sequence), rows, weighting)
        np.testing.assert_allclose(D, expected, rtol=0, atol=1e-9)

    def test_weights(self, ops, members, weights):
        rows = np.arange(N_SAMPLES)
        D = ops.trajectory(weights).diffusion_distances(rows)
        expected = oracle.diffusion_distances(oracle.weights_product(members, weights), rows)
        np.testing.assert_allclose(D, expected, rtol=0, atol=1e-9)

    def test_stationary_is_the_default(self, ops):
        W = ops.trajectory([0, 1])
        np.testing.assert_array_equal(
            W.diffusion_distances([1, 2, 3]), W.diffusion_distances([1, 2, 3], weighting="stationary")
        )

    @pytest.mark.parametrize("weighting", ["stationary", "uniform"])
    def test_is_a_metric(self, ops, weighting):
        D = ops.trajectory([0, 1, 2]).diffusion_distances(range(N_SAMPLES), weighting=weighting)
        np.testing.assert_array_equal(D, D.T)
        np.testing.assert_array_equal(np.diag(D), 0.0)
        assert (D + np.eye(N_SAMPLES) > 0).all()
        assert (D[:, :, None] + D[None, :, :] >= D[:, None, :] - 1e-12).all()

    def test_uniform_is_the_distance_of_the_svd_map(self, ops, members):
        U, s, _ = np.linalg.svd(oracle.sequence_product(members, [0, 1, 2]))
        D = ops.trajectory([0, 1, 2]).diffusion_distances(range(N_SAMPLES), weighting="uniform")
        np.testing.assert_allclose(D, oracle.pairwise_distances(U * s), rtol=0, atol=1e-10)

    def test_chosen_rows_of_a_product_too_large_to_form(self):
        n = 50_000  # the dense product would take 20 GB
        ring = scipy.sparse.diags_array([0.5, 0.25, 0.25], offsets=[0, 1, -1], shape=(n, n)).tolil()
        ring[0, n - 1] = ring[n - 1, 0] = 0.25
        W = mdt.OperatorSet.from_transitions([ring.tocsr()]).trajectory([0] * 3)
        D = W.diffusion_distances([0, 1, 25_000], weighting="uniform")
        steps = np.array([1, 6, 15, 20, 15, 6, 1]) / 64  # (1 + x)^6: three lazy steps
        neighbours = np.linalg.norm(np.append(steps, 0) - np.append(0, steps))
        apart = np.sqrt(2) * np.linalg.norm(steps)
        expected = [[0, neighbours, apart], [neighbours, 0, apart], [apart, apart, 0]]
        np.testing.assert_allclose(D, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "duplicate",
    [copy.copy, copy.deepcopy, lambda W: pickle.loads(pickle.dumps(W))],
    ids=["copy", "deepcopy", "pickle"],
)
def test_copies_are_equal(rng, ops, weights, duplicate):
    B = rng.normal(size=(N_SAMPLES, 3))
    for W in (ops.trajectory([0, 5, 1]), ops.trajectory(weights), ops.mean()):
        again = duplicate(W)
        assert again.sequence == W.sequence
        np.testing.assert_array_equal(again.weights, W.weights)
        np.testing.assert_array_equal(again @ B, W @ B)
        np.testing.assert_array_equal(again.T @ B, W.T @ B)


def test_high_powers_equal_repeated_steps(rng):
    ops = mdt.build_operators(rng.normal(size=(30, 3)), n_neighbors=4).with_powers((2, 5, 6))
    weights = np.array([[0.1, 0.2, 0.3, 0.4]])
    P = ops[0].toarray()
    expected = sum(w * np.linalg.matrix_power(P, s) for w, s in zip(weights[0], (1, 2, 5, 6), strict=True))
    B = rng.normal(size=(30, 5))
    np.testing.assert_allclose(ops.trajectory(weights) @ B, expected @ B, rtol=0, atol=1e-13)
    np.testing.assert_allclose(ops.trajectory(weights).T @ B, expected.T @ B, rtol=0, atol=1e-13)


def test_float32_weights_need_only_be_as_good_as_float32(rng):
    ops = mdt.build_operators([rng.normal(size=(20, 3)) for _ in range(3)])
    raw = rng.random((4, 3)).astype(np.float32)
    weights = raw / raw.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(ops.trajectory(weights).weights.sum(axis=1), 1.0, rtol=0, atol=1e-15)


def test_transient_parts_keep_the_stationary_distribution_unique():
    W = mdt.OperatorSet.from_transitions([np.array([[1.0, 0.0], [0.5, 0.5]])]).trajectory([0])
    # Warnings are errors here: none may be issued.
    np.testing.assert_allclose(W.stationary_distribution(), [1.0, 0.0], rtol=0, atol=1e-11)


def test_no_rows_no_distances(rng):
    W = mdt.build_operators(rng.normal(size=(20, 3))).trajectory([0])
    assert W.diffusion_distances([], weighting="uniform").shape == (0, 0)


@pytest.mark.parametrize("members", ["with_uniform", "with_identity"])
def test_blocks_without_columns(rng, members):
    ops = getattr(mdt.build_operators(rng.normal(size=(20, 3))), members)()
    assert (ops.trajectory([0, 1, 1]) @ np.empty((20, 0))).shape == (20, 0)


@pytest.mark.parametrize(
    ("method", "argument", "error", "message"),
    [
        ("matvec", np.ones(3), ValueError, r"x: expected shape \(40,\), got \(3,\)"),
        ("matvec", np.ones((40, 2)), ValueError, r"x: expected shape \(40,\), got \(40, 2\)"),
        ("rmatvec", ["a"] * 40, TypeError, "x: expected numbers, got dtype <U1"),
        ("matmat", np.ones(40), ValueError, r"X: expected shape \(40, k\), got \(40,\)"),
        ("matmat", [[1.0], [1.0, 2.0]], ValueError, "X: expected rows of one length"),
        ("rmatmat", scipy.sparse.eye_array(40), TypeError, "X: expected a dense array, got a sparse matrix"),
        ("rmatmat", "views.npy", TypeError, "X: expected a dense array, got the str 'views.npy'"),
    ],
)
def test_refused_vectors_are_named(ops, method, argument, error, message):
    with pytest.raises(error, match=message):
        getattr(ops.trajectory([0, 1]), method)(argument)
