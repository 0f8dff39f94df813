"""Invariants of operators and their products over random and hostile views."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import mdt_fast as mdt
from helpers import oracle
from helpers.hostile import UNSCALED, VIEWS, sequences, simplex_rows, view_sets

KERNELS = ["gaussian", "laplacian", "adaptive", "binary"]
PRESETS = [None, "published"]


def row_tolerance(ops):
    return 1e-12 if ops.dtype == np.float64 else 1e-5


def assert_stochastic(W, tolerance):
    assert np.isfinite(W).all()
    assert (W >= 0).all()
    np.testing.assert_allclose(W.sum(axis=1, dtype=np.float64), 1.0, rtol=0, atol=tolerance)


def all_members(ops):
    return ops.with_identity().with_uniform().with_teleport(0.5).with_powers((2,))


@given(drawn=view_sets(), kernel=st.sampled_from(KERNELS), preset=st.sampled_from(PRESETS))
def test_operators_of_hostile_views_equal_the_oracle(drawn, kernel, preset):
    Xs, n_neighbors = drawn
    options = {"n_neighbors": n_neighbors, "kernel": kernel, "preset": preset}
    ops = mdt.build_operators(Xs, dtype="float64", **options)
    for P, X in zip(ops.views, Xs, strict=True):
        np.testing.assert_allclose(P.toarray(), oracle.operator(X, **options), rtol=0, atol=1e-11)


# Each kind of view alone, so that every kind is tested.
@pytest.mark.parametrize("kind", VIEWS)
@pytest.mark.parametrize("n_samples", [2, 3, 30])
@pytest.mark.parametrize("preset", PRESETS)
def test_every_hostile_view(kind, n_samples, preset):
    X = VIEWS[kind](np.random.default_rng(11), n_samples)
    for n_neighbors in ("log", 1, n_samples - 1):
        options = {"n_neighbors": n_neighbors, "preset": preset}
        P = mdt.build_operators(X, dtype="float64", **options).views[0].toarray()
        np.testing.assert_allclose(P, oracle.operator(X, **options), rtol=0, atol=1e-11)
        assert_stochastic(P, 1e-12)


def test_values_of_both_extremes_in_one_view():
    X = np.array([[1e-300], [3e-300], [1e300], [1.0], [2.0]])
    ops = mdt.build_operators(X, n_neighbors=2)
    assert_stochastic(ops.views[0].toarray(), 1e-12)


@given(drawn=view_sets(), data=st.data())
def test_any_product_of_sequences_is_stochastic_and_keeps_its_diagonal(drawn, data):
    Xs, n_neighbors = drawn
    ops = all_members(mdt.build_operators(Xs, n_neighbors=n_neighbors))
    sequence = data.draw(sequences(len(ops)), label="sequence")
    W = ops.trajectory(sequence)
    tolerance = row_tolerance(ops)
    assert_stochastic(W.toarray(), tolerance)
    assert_stochastic(W.tosparse().toarray(), tolerance)
    np.testing.assert_allclose(W @ np.ones(ops.n_samples), 1.0, rtol=0, atol=tolerance)
    assert (np.diag(W.toarray()) > 0).all()


@given(drawn=view_sets(), data=st.data())
def test_any_convex_product_is_stochastic(drawn, data):
    Xs, n_neighbors = drawn
    ops = all_members(mdt.build_operators(Xs, n_neighbors=n_neighbors))
    W = ops.trajectory(data.draw(simplex_rows(len(ops)), label="weights"))
    assert_stochastic(W.toarray(), row_tolerance(ops))
    assert (np.diag(W.toarray()) > 0).all()


@given(drawn=view_sets(), data=st.data())
def test_sequence_is_the_product_and_one_hot_weights_are_the_sequence(drawn, data):
    Xs, n_neighbors = drawn
    ops = all_members(mdt.build_operators(Xs, n_neighbors=n_neighbors, dtype="float64"))
    sequence = data.draw(sequences(len(ops)), label="sequence")
    W = ops.trajectory(sequence).toarray()
    members = [np.asarray(member @ np.eye(ops.n_samples)) for member in ops]
    np.testing.assert_allclose(W, oracle.sequence_product(members, sequence), rtol=0, atol=1e-12)
    np.testing.assert_array_equal(ops.trajectory(np.eye(len(ops))[sequence]).toarray(), W)


@given(drawn=view_sets(), data=st.data())
def test_support_contains_that_of_each_factor(drawn, data):
    Xs, n_neighbors = drawn
    ops = mdt.build_operators(Xs, n_neighbors=n_neighbors, dtype="float64")
    sequence = data.draw(sequences(len(ops), max_length=4), label="sequence")
    W = ops.trajectory(sequence).toarray()
    factors = [ops.views[step].toarray() for step in sequence]
    for s, factor in enumerate(factors):
        # Wait at j during the earlier steps, go from i to j in step s, wait at i during the later ones. This
        # bound says more than the supports, and covers underflow by itself.
        wait_before = np.prod([np.diag(P) for P in factors[:s]], axis=0) * np.ones(ops.n_samples)
        wait_after = np.prod([np.diag(P) for P in factors[s + 1 :]], axis=0) * np.ones(ops.n_samples)
        path = wait_after[:, None] * factor * wait_before[None, :]
        assert (path * (1 - 1e-12) <= W).all()


@given(drawn=view_sets(), data=st.data())
def test_pruned_products_are_stochastic(drawn, data):
    Xs, n_neighbors = drawn
    ops = mdt.build_operators(Xs, n_neighbors=n_neighbors)
    sequence = data.draw(sequences(len(ops), max_length=5), label="sequence")
    top = data.draw(st.one_of(st.none(), st.integers(1, ops.n_samples)), label="top")
    options = {
        "top": top,
        "prune_below": data.draw(st.sampled_from([0.0, 1e-8, 0.01, 0.3, 1.5]), label="prune_below"),
        "prune_each_step": data.draw(st.booleans(), label="prune_each_step"),
    }
    W = ops.trajectory(sequence).tosparse(**options)
    assert_stochastic(W.toarray(), row_tolerance(ops))
    stored = np.diff(W.indptr)
    assert stored.min() >= 1
    assert stored.max() <= (top or ops.n_samples)


@given(drawn=view_sets(max_samples=12), data=st.data(), weighting=st.sampled_from(["stationary", "uniform"]))
def test_diffusion_distances_are_a_metric(drawn, data, weighting):
    Xs, n_neighbors = drawn
    # Teleporting makes the stationary distribution unique for any graph.
    ops = mdt.build_operators(Xs, n_neighbors=n_neighbors, dtype="float64").with_teleport(0.8)
    sequence = [len(Xs) + step for step in data.draw(sequences(len(Xs), max_length=4), label="sequence")]
    W = ops.trajectory(sequence)
    rows = range(ops.n_samples)
    D = W.diffusion_distances(rows, weighting=weighting)
    np.testing.assert_allclose(D, oracle.diffusion_distances(W.toarray(), rows, weighting), rtol=0, atol=1e-8)
    np.testing.assert_array_equal(D, D.T)
    np.testing.assert_array_equal(np.diag(D), 0.0)
    assert (D >= 0).all()
    assert (D[:, :, None] + D[None, :, :] >= D[:, None, :] - 1e-9).all()


@given(
    drawn=view_sets(kinds=tuple(UNSCALED)),
    exponent=st.integers(-900, 900),
    kernel=st.sampled_from(KERNELS),
    metric=st.sampled_from(["euclidean", "manhattan"]),
)
def test_scale_by_a_power_of_two_changes_no_bit(drawn, exponent, kernel, metric):
    Xs, n_neighbors = drawn
    options = {"n_neighbors": n_neighbors, "kernel": kernel, "metric": metric}
    scaled = mdt.build_operators([np.ldexp(X, exponent) for X in Xs], **options)
    for P, Q in zip(mdt.build_operators(Xs, **options).views, scaled.views, strict=True):
        np.testing.assert_array_equal(P.indptr, Q.indptr)
        np.testing.assert_array_equal(P.indices, Q.indices)
        assert P.data.tobytes() == Q.data.tobytes()


@given(drawn=view_sets(kinds=tuple(UNSCALED), max_views=1), data=st.data())
def test_permuting_points_permutes_the_operator(drawn, data):
    (X,), _ = drawn
    # All neighbours: ties are broken by index, so a smaller K is not equivariant where distances tie.
    n_samples = len(X)
    order = np.array(data.draw(st.permutations(range(n_samples)), label="order"))
    P = mdt.build_operators(X, n_neighbors=n_samples - 1).views[0].toarray()
    Q = mdt.build_operators(X[order], n_neighbors=n_samples - 1).views[0].toarray()
    np.testing.assert_allclose(Q, P[np.ix_(order, order)], rtol=0, atol=1e-13)


def connected_affinity(rng, n_samples):
    """A ring with self-loops and a few random chords, all of comparable weight."""
    K = np.eye(n_samples) + np.roll(np.eye(n_samples), 1, axis=1) + np.roll(np.eye(n_samples), -1, axis=1)
    chords = np.triu(rng.random((n_samples, n_samples)) < 0.1, 1)
    K[chords | chords.T] = 1.0
    return K


@given(seed=st.integers(0, 2**32 - 1), n_samples=st.integers(3, 16))
def test_long_products_of_connected_members_become_rank_one(seed, n_samples):
    rng = np.random.default_rng(seed)
    ops = mdt.OperatorSet.from_affinities([connected_affinity(rng, n_samples) for _ in range(3)])
    sequence = rng.integers(0, 3, size=2000)
    ranges = [np.ptp(ops.trajectory(sequence[:t]).toarray(), axis=0) for t in (1, 2, 5, 20, 100, 2000)]
    # A step on the left averages rows, so no column's range can grow ...
    for shorter, longer in itertools.pairwise(ranges):
        assert (longer <= shorter + 1e-14).all()
    # ... and on a ring of 16 points the slowest mode loses more than 1 - 2 (1 - cos(2 pi / 16)) / 3 a step.
    assert ranges[-1].max() < 1e-9


class TestMeanOfRandomTrajectories:
    N_STEPS = 3

    @pytest.fixture
    def ops(self, rng):
        return mdt.build_operators([rng.normal(size=(12, 2)) for _ in range(2)], n_neighbors=3).with_identity()

    @pytest.fixture
    def expected(self, ops):
        members = [np.asarray(member @ np.eye(12)) for member in ops]
        return np.linalg.matrix_power(np.mean(members, axis=0), self.N_STEPS)

    def test_all_sequences_average_to_the_power_of_the_mean(self, ops, expected):
        every = itertools.product(range(len(ops)), repeat=self.N_STEPS)
        average = np.mean([ops.trajectory(sequence).toarray() for sequence in every], axis=0)
        np.testing.assert_allclose(average, expected, rtol=0, atol=1e-13)
        np.testing.assert_allclose(
            ops.trajectory(np.full((self.N_STEPS, len(ops)), 1 / len(ops))).toarray(),
            expected,
            rtol=0,
            atol=1e-13,
        )

    @pytest.mark.parametrize("draw", ["sequences", "weights"])
    def test_monte_carlo(self, rng, ops, expected, draw):
        n_draws = 3000
        total, squares = np.zeros((12, 12)), np.zeros((12, 12))
        for _ in range(n_draws):
            if draw == "sequences":
                W = ops.trajectory(rng.integers(0, len(ops), size=self.N_STEPS)).toarray()
            else:
                W = ops.trajectory(rng.dirichlet(np.ones(len(ops)), size=self.N_STEPS)).toarray()
            total += W
            squares += W**2
        mean = total / n_draws
        standard_error = np.sqrt(np.maximum(squares / n_draws - mean**2, 0) / n_draws)
        # There are 27 sequences, each drawn about 111 times, so the sample variance is sound and the mean of 3000
        # bounded terms is normal to good approximation: 6 standard errors fail once in 5e8 entries.
        assert (np.abs(mean - expected) <= 6 * standard_error + 1e-12).all()
        assert standard_error.max() < 0.01  # so that the line above can tell one product from another
