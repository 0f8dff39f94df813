"""The estimate of the contrastive loss by probes."""

from __future__ import annotations

import numpy as np
import pytest

import mdt_fast as mdt
from helpers import oracle
from mdt_fast import _core
from mdt_fast.quality._contrastive_estimate import ContrastiveEstimate, mean_reach

N_SAMPLES = 40
TOLERANCE = {"float64": 1e-10, "float32": 2e-5}


def dense(ops):
    """The members of a set as full matrices."""
    return [ops.trajectory([m]).toarray().astype(np.float64) for m in range(len(ops))]


def evaluate(ops, weights, probes, view_weights, n_threads=1):
    found = _core.estimate_contrastive(ops.native, weights, np.asarray(view_weights), probes, n_threads=n_threads)
    return found.loss, found.gradient


def differences(function, weights):
    """Central differences of a function that is linear in each row of the weights."""
    gradient = np.empty_like(weights)
    for place in np.ndindex(weights.shape):
        shift = np.zeros_like(weights)
        shift[place] = 0.5
        gradient[place] = function(weights + shift) - function(weights - shift)
    return gradient


@pytest.fixture
def ops(views):
    return mdt.build_operators(views, n_neighbors=5)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    "extend",
    [
        lambda ops: ops,
        lambda ops: ops.with_mean(),
        lambda ops: ops.with_identity().with_uniform().with_teleport(0.5).with_powers((3,)),
        lambda ops: ops.with_transitions(np.roll(np.eye(N_SAMPLES), 1, axis=1)),
    ],
    ids=["views", "mean", "all", "given"],
)
@pytest.mark.parametrize("n_columns", [1, 7, 70])
def test_equals_the_definition(views, rng, extend, dtype, n_columns):
    ops = extend(mdt.build_operators(views, n_neighbors=5, dtype=dtype))
    members, Ps = dense(ops), [P.toarray() for P in ops.views]
    probes, view_weights = rng.normal(size=(N_SAMPLES, n_columns)).astype(dtype), [0.5, 0.2, 0.3]
    for t in (1, 2, 4):
        weights = rng.dirichlet(np.ones(len(ops)), size=t)

        def expected(weights):
            W = oracle.weights_product(members, weights)
            return oracle.contrastive_estimate(W, Ps, probes, view_weights)

        loss, gradient = evaluate(ops, weights, probes, view_weights, n_threads=2)
        slopes, tolerance = differences(expected, weights), TOLERANCE[dtype]
        assert loss == pytest.approx(expected(weights), rel=tolerance)
        np.testing.assert_allclose(gradient, slopes, rtol=0, atol=tolerance * max(1.0, np.abs(slopes).max()))


def test_samples_that_views_lack(rng):
    X = rng.normal(size=(60, 3))
    Y = X + 0.2 * rng.normal(size=X.shape)
    Y[rng.permutation(60)[:15]] = np.nan
    ops = mdt.build_operators([X, Y], n_neighbors=5)
    weights, probes = rng.dirichlet(np.ones(2), size=3), rng.normal(size=(60, 5))
    # A sample has no neighbours in a view that lacks it.
    Ps = [P.toarray() * has[:, np.newaxis] for P, has in zip(ops.views, ops.present.T, strict=True)]

    def expected(weights):
        return oracle.contrastive_estimate(oracle.weights_product(dense(ops), weights), Ps, probes)

    loss, gradient = evaluate(ops, weights, probes, [0.5, 0.5])
    assert loss == pytest.approx(expected(weights), rel=1e-10)
    np.testing.assert_allclose(gradient, differences(expected, weights), atol=1e-8)


def test_unit_vectors_give_the_loss_up_to_the_remainder(rng):
    """The remainder is within its bound. After some steps it is too small to change the descent."""
    X = rng.normal(size=(400, 3))
    ops = mdt.build_operators([X, X + 0.3 * rng.normal(size=X.shape)])
    Ps = [P.toarray() for P in ops.views]
    for t in (1, 3, 6):
        weights = rng.dirichlet(np.ones(2), size=t)
        loss, gradient = evaluate(ops, weights, np.eye(400), [0.5, 0.5])
        exact, slopes = mdt.quality.contrastive_loss(ops, weights, gradient=True)
        assert abs(loss - exact) <= oracle.contrastive_remainder(ops.trajectory(weights).toarray(), Ps)
        # Only differences between members matter on the simplex.
        found, wanted = (g - g.mean(axis=1, keepdims=True) for g in (gradient, slopes))
        if t > 1:
            np.testing.assert_allclose(found, wanted, atol=0.01 * np.abs(wanted).max())


class TestProbes:
    def test_a_basis_and_signs_beside_it(self, ops):
        probes = _core.contrastive_probes(
            ops.native, np.full((2, 3), 1 / 3), np.ones(3), n_signs=4, seed=3, n_threads=1
        )
        basis, signs = probes[:, :32], probes[:, 32:]
        basis = basis[:, np.linalg.norm(basis, axis=0) > 0]
        np.testing.assert_allclose(basis.T @ basis, np.eye(basis.shape[1]), atol=1e-9)
        np.testing.assert_allclose(basis.T @ signs, 0.0, atol=1e-9)
        assert signs.shape == (N_SAMPLES, 4)
        # Signs of length 1 / sqrt(4), without their part along the basis.
        rest = np.eye(N_SAMPLES) - basis @ basis.T
        assert np.linalg.norm(signs, axis=0) ** 2 == pytest.approx(np.full(4, np.trace(rest) / 4), rel=0.9)

    def test_estimates_are_unbiased(self, rng):
        X = rng.normal(size=(150, 2))
        ops = mdt.build_operators([X, X + 0.3 * rng.normal(size=X.shape)])
        weights, options = rng.dirichlet(np.ones(2), size=4), {"n_signs": 2, "view_weights": np.full(2, 0.5)}
        found = [ContrastiveEstimate(ops, 4, seed=seed, **options)(weights) for seed in range(400)]
        loss, gradient = evaluate(ops, weights, np.eye(150), [0.5, 0.5])
        for values, expected in ((np.array([f[0] for f in found]), loss), (np.array([f[1] for f in found]), gradient)):
            error = values.std(axis=0) / np.sqrt(len(found))
            assert (error > 0).all()
            assert (np.abs(values.mean(axis=0) - expected) < 4.5 * error).all()

    def test_the_basis_reduces_the_error(self):
        views = mdt.datasets.make_multiview_blobs(400, n_clusters=4, random_state=0).views
        ops = mdt.build_operators(views)
        weights, half = np.full((5, 2), 0.5), np.full(2, 0.5)
        _, exact = evaluate(ops, weights, np.eye(400), half)
        errors = {"signs": [], "basis": []}
        for seed in range(10):
            probes = ContrastiveEstimate(ops, 5, n_signs=32, view_weights=half, seed=seed).probes
            signs = np.random.default_rng(seed).choice([-1.0, 1.0], size=(400, 64)) / 8
            for name, columns in (("signs", signs), ("basis", probes)):
                errors[name].append(np.linalg.norm(evaluate(ops, weights, columns, half)[1] - exact))
        assert np.mean(errors["basis"]) < 0.3 * np.mean(errors["signs"])


@pytest.mark.parametrize("n_samples", [700, 17_000])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_threads_do_not_change_a_bit(n_samples, dtype):
    """From 16,384 samples on, the walks are reordered."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_samples, 2))
    ops = mdt.build_operators([X, X + 0.1 * rng.normal(size=X.shape)], dtype=dtype)
    weights, results = rng.dirichlet(np.ones(2), size=3), set()
    for n_jobs in (1, 2, 3):
        estimate = ContrastiveEstimate(ops, 3, n_signs=40, view_weights=np.full(2, 0.5), seed=1, n_jobs=n_jobs)
        loss, gradient = estimate(weights)
        results.add((estimate.probes.tobytes(), loss, gradient.tobytes()))
    assert len(results) == 1


def test_reordered_walks():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(17_000, 2))
    ops = mdt.build_operators([X, X + 0.1 * rng.normal(size=X.shape)])
    weights, probes = rng.dirichlet(np.ones(2), size=2), rng.normal(size=(17_000, 3))
    image, others = ops.trajectory(weights) @ probes, 17_000 - 1
    trace, degrees = 0.0, np.zeros(17_000)
    for P in ops.views:
        neighbours = (P != 0).astype(float)
        neighbours.setdiag(0)
        degrees += np.asarray(neighbours.sum(axis=1)).ravel() / 2
        trace += np.sum((neighbours @ probes) * image) / 2
    trace += np.sum(degrees[:, np.newaxis] / others * probes * image)
    loss = degrees.sum() * (np.log(others) + 1 / others) - trace
    assert evaluate(ops, weights, probes, [0.5, 0.5])[0] == pytest.approx(loss, rel=1e-12)


def test_reach_of_a_ring():
    n = 200
    ring = np.roll(np.eye(n), 1, axis=1)
    ops = mdt.OperatorSet.from_affinities([np.eye(n) + ring + ring.T])
    assert mean_reach(ops, 3) == 7
    assert mean_reach(ops.with_powers((2,)), 3) == 13
    assert mean_reach(ops.with_uniform(), 3) == n


def test_refusals(ops):
    weights, half = np.full((2, 3), 1 / 3), np.ones(3)
    with pytest.raises(ValueError, match="probes: expected 40 rows, one for each sample, got 80"):
        evaluate(ops, weights, np.ones((80, 1)), half)
    with pytest.raises(TypeError, match="probes"):
        evaluate(ops, weights, np.ones((40, 1), dtype=np.float32), half)
    with pytest.raises(ValueError, match="expected at most 3 view weights, got 4"):
        evaluate(ops, weights, np.ones((40, 1)), np.ones(4))
    with pytest.raises(ValueError, match="expected finite view weights, got NaN"):
        evaluate(ops, weights, np.ones((40, 1)), [1.0, np.nan])
    with pytest.raises(ValueError, match="n_signs: expected an integer >= 1 and <= 1024, got 0"):
        _core.contrastive_probes(ops.native, weights, half, n_signs=0, seed=0, n_threads=1)
    alone = mdt.OperatorSet.from_transitions([np.eye(1)])
    with pytest.raises(ValueError, match="expected at least 2 points, got 1"):
        evaluate(alone, np.ones((1, 1)), np.ones((1, 1)), [1.0])
