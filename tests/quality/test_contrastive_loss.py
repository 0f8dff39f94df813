"""The contrastive loss and its gradient."""

from __future__ import annotations

import copy
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

import mdt_fast as mdt
from helpers import oracle
from mdt_fast import _core
from mdt_fast.quality._contrastive import contrastive_loss

N_SAMPLES = 40
TOLERANCE = {"float64": 1e-7, "float32": 2e-5}


def dense(ops):
    """The members of a set as full matrices: their products with the unit vectors."""
    return [ops.trajectory([m]).toarray().astype(np.float64) for m in range(len(ops))]


def assert_agrees(ops, weights, **options):
    """Loss and gradient equal those of the oracle."""
    members, Ps = dense(ops), [P.toarray() for P in ops.views]
    loss, gradient = contrastive_loss(ops, ops.trajectory(weights), gradient=True, **options)
    tolerance = TOLERANCE[ops.dtype.name]
    expected = oracle.contrastive_loss(oracle.weights_product(members, weights), Ps, **options)
    assert loss == pytest.approx(expected, rel=min(tolerance, 1e-6), abs=1e-12)
    slopes = oracle.contrastive_gradient(members, weights, Ps, **options)
    np.testing.assert_allclose(gradient, slopes, rtol=0, atol=tolerance * max(1.0, np.abs(slopes).max()))
    assert contrastive_loss(ops, ops.trajectory(weights), **options) == loss


@pytest.fixture
def ops(views):
    return mdt.build_operators(views, n_neighbors=5)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize(
    "extend",
    [
        lambda ops: ops,
        lambda ops: ops.with_mean(),
        lambda ops: ops.with_identity(),
        lambda ops: ops.with_uniform(),
        lambda ops: ops.with_teleport(0.6),
        lambda ops: ops.with_teleport(0.3, to=3),
        lambda ops: ops.with_powers((2, 4)),
        lambda ops: ops.with_transitions(np.roll(np.eye(N_SAMPLES), 1, axis=1)),
        lambda ops: ops.with_identity().with_uniform().with_teleport(0.5).with_powers((3,)).with_mean(),
    ],
    ids=["views", "mean", "identity", "uniform", "teleport", "teleport to power", "powers", "given", "all"],
)
def test_every_kind_of_member(views, rng, extend, dtype):
    ops = extend(mdt.build_operators(views, n_neighbors=5, dtype=dtype))
    assert_agrees(ops, rng.dirichlet(np.ones(len(ops)), size=2))


@pytest.mark.parametrize("sequence", [[0], [1, 1], [2, 0, 1], [3, 0], [4, 4]])
def test_gradients_for_members_outside_the_sequence(ops, sequence):
    ops = ops.with_identity().with_uniform()
    assert_agrees(ops, np.eye(len(ops))[sequence])
    assert contrastive_loss(ops, sequence) == contrastive_loss(ops, ops.trajectory(sequence))


def test_asymmetric_walks(rng):
    Ps = [rng.dirichlet(np.ones(N_SAMPLES), size=N_SAMPLES) * (rng.random((N_SAMPLES, N_SAMPLES)) < 0.2) for _ in "ab"]
    Ps = [(P + 0.01 * np.eye(N_SAMPLES)) / (P.sum(axis=1, keepdims=True) + 0.01) for P in Ps]
    ops = mdt.OperatorSet.from_transitions(Ps)
    assert_agrees(ops, rng.dirichlet(np.ones(2), size=3), include_self=True)


@st.composite
def problems(draw):
    n = draw(st.integers(2, 25), label="n_samples")
    n_views = draw(st.integers(1, 4), label="n_views")
    t = draw(st.integers(1, 6), label="t")
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1), label="seed"))
    density = draw(st.sampled_from([0.0, 0.05, 0.3, 1.0]), label="density")
    Ks = []
    for _ in range(n_views):
        K = rng.random((n, n)) * (rng.random((n, n)) < density)
        Ks.append(K + K.T + np.eye(n))
    ops = mdt.OperatorSet.from_affinities(Ks, dtype=draw(st.sampled_from(["float64", "float32"]), label="dtype"))
    if draw(st.booleans(), label="implicit members"):
        ops = ops.with_identity().with_teleport(0.8).with_powers((2,))
    options = {
        "view_weights": draw(st.sampled_from([None, list(rng.random(n_views)), [0.0] * n_views]), label="weights"),
        "rows": draw(st.sampled_from([None, list(rng.permutation(n)[: n // 2])]), label="rows"),
        "include_self": draw(st.booleans(), label="include_self"),
    }
    return ops, rng.dirichlet(np.ones(len(ops)), size=t), options


@given(problems())
def test_random_graphs(problem):
    ops, weights, options = problem
    assert_agrees(ops, weights, **options)


def test_disconnected_walks(rng):
    """Distant parts with more points than the walks of a block can reach."""
    X = np.repeat(np.arange(40.0) * 100, 15)[:, np.newaxis] + rng.random((600, 1))
    ops = mdt.build_operators([X, X[:, ::-1] + 0.1 * rng.random((600, 1))], n_neighbors=3).with_powers((2,))
    weights, rows = rng.dirichlet(np.ones(len(ops)), size=2), rng.permutation(600)[:70]
    loss, gradient = contrastive_loss(ops, weights, rows=rows, gradient=True)
    Ps = [P.toarray() for P in ops.views]
    W = ops.trajectory(weights).toarray()
    assert loss == pytest.approx(oracle.contrastive_loss(W, Ps, rows=rows), rel=1e-12)
    slopes = oracle.contrastive_gradient(dense(ops), weights, Ps, rows=rows)
    np.testing.assert_allclose(gradient, slopes, rtol=1e-6)


def test_two_samples_have_zero_loss():
    ops = mdt.OperatorSet.from_transitions([[[0.9, 0.1], [0.4, 0.6]]])
    loss, gradient = contrastive_loss(ops, [0, 0], gradient=True)
    assert loss == pytest.approx(0.0, abs=1e-15)
    np.testing.assert_allclose(gradient, 0.0, atol=1e-15)


@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_rows_of_a_partition_add_up(views, rng, dtype):
    ops = mdt.build_operators(views, dtype=dtype).with_uniform()
    weights = rng.dirichlet(np.ones(len(ops)), size=3)
    parts = np.array_split(rng.permutation(N_SAMPLES), 4)
    found = [contrastive_loss(ops, weights, rows=rows, gradient=True) for rows in parts]
    loss, gradient = contrastive_loss(ops, weights, gradient=True)
    assert sum(part[0] for part in found) == pytest.approx(loss, rel=1e-12 if dtype == "float64" else 1e-7)
    np.testing.assert_allclose(sum(part[1] for part in found), gradient, rtol=1e-12 if dtype == "float64" else 1e-5)
    nothing, slopes = contrastive_loss(ops, weights, rows=[], gradient=True)
    assert nothing == 0.0
    assert slopes.shape == weights.shape
    assert not slopes.any()


@pytest.mark.parametrize("uniform", [False, True])
def test_threads_do_not_change_a_bit(rng, uniform):
    X = rng.normal(size=(1500, 2))
    ops = mdt.build_operators([X, X + 0.1 * rng.normal(size=X.shape)])
    ops = ops.with_uniform() if uniform else ops
    weights, rows = rng.dirichlet(np.ones(len(ops)), size=3), rng.permutation(1500)[:200]
    results = set()
    for n_jobs in [1, 2, 3, 8]:
        loss, gradient = contrastive_loss(ops, weights, rows=rows, gradient=True, n_jobs=n_jobs)
        results.add((loss, gradient.tobytes()))
    assert len(results) == 1


def test_the_core_takes_weights_off_the_simplex(ops, rng):
    members, Ps = dense(ops), [P.toarray() for P in ops.views]
    for weights in (rng.random((3, 3)), rng.normal(size=(2, 3)), np.full((2, 3), 20.0)):
        found = _core.contrastive(
            ops.native, weights, np.full(3, 1 / 3), None, include_self=True, gradient=True, n_threads=1
        )
        expected = oracle.contrastive_loss(oracle.weights_product(members, weights), Ps, include_self=True)
        assert found.loss == pytest.approx(expected, rel=1e-12)
        slopes = oracle.contrastive_gradient(members, weights, Ps, include_self=True)
        np.testing.assert_allclose(found.gradient, slopes, rtol=1e-5, atol=1e-6 * np.abs(slopes).max())
    with pytest.raises(ValueError, match="weights are too large"):
        _core.contrastive(
            ops.native, np.full((2, 3), 1e200), np.ones(3), None, include_self=True, gradient=True, n_threads=1
        )


class TestRefusals:
    @pytest.mark.parametrize(
        ("rows", "error", "message"),
        [
            ([0, N_SAMPLES], ValueError, "rows: expected samples from 0 to 39, got 40"),
            ([-1], ValueError, "rows: expected samples from 0 to 39, got -1"),
            ([3, 5, 3], ValueError, "rows: expected distinct samples, got 3 more than once"),
            ([0.5], TypeError, "rows: expected a sequence of integers"),
        ],
    )
    def test_rows(self, ops, rows, error, message):
        with pytest.raises(error, match=message):
            contrastive_loss(ops, [0], rows=rows)

    @pytest.mark.parametrize(
        ("weights", "error", "message"),
        [
            (0.5, TypeError, "view_weights: expected 3 numbers, one for each view, got 0.5"),
            ([1.0], ValueError, r"view_weights: expected 3 numbers, one for each view, got shape \(1,\)"),
            ([1, -1, 0], ValueError, r"view_weights\[1\]: expected a finite number >= 0, got -1"),
            ([1, 0, np.nan], ValueError, r"view_weights\[2\]: expected a finite number"),
            (["a", 1, 1], TypeError, r"view_weights\[0\]: expected a finite number"),
        ],
    )
    def test_view_weights(self, ops, weights, error, message):
        with pytest.raises(error, match=message):
            contrastive_loss(ops, [0], view_weights=weights)

    def test_trajectory_of_another_set(self, ops, views):
        assert contrastive_loss(copy.deepcopy(ops), ops.trajectory([0])) == contrastive_loss(ops, [0])
        others = [ops.with_identity(), mdt.build_operators(views, n_neighbors=4), mdt.build_operators([views[0][:9]])]
        for other in others:
            with pytest.raises(ValueError, match="W: expected a trajectory of OperatorSet"):
                contrastive_loss(ops, other.trajectory([0]))

    def test_other_arguments(self, ops):
        with pytest.raises(TypeError, match="ops: expected an OperatorSet, got list"):
            contrastive_loss([ops], [0])
        with pytest.raises(TypeError, match="gradient: expected True or False"):
            contrastive_loss(ops, [0], gradient=1)
        with pytest.raises(TypeError, match="include_self: expected True or False"):
            contrastive_loss(ops, [0], include_self="yes")
        with pytest.raises(ValueError, match="n_jobs: expected"):
            contrastive_loss(ops, [0], n_jobs=0)
        alone = mdt.OperatorSet.from_transitions([scipy.sparse.eye_array(1)])
        with pytest.raises(ValueError, match="ops: expected at least 2 samples, got 1"):
            contrastive_loss(alone, [0])


@pytest.mark.skipif(sys.platform != "linux", reason="reads peak memory as Linux reports it")
def test_memory_is_bounded():
    """At N = 20,000 one dense W would be 3,200 MB and five of them 16,000; the blocks may take 256 MB."""
    script = """
        import resource
        import numpy as np
        import mdt_fast as mdt
        from mdt_fast.quality._contrastive import contrastive_loss

        rng = np.random.default_rng(0)
        Xs = [rng.normal(size=(20_000, 2)) for _ in range(2)]
        ops = mdt.build_operators(Xs, n_jobs=2).with_uniform()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        contrastive_loss(ops, np.full((5, 3), 1 / 3), rows=np.arange(96), gradient=True, n_jobs=8)
        growth = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        assert growth < 320, f"{growth} MB"
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(script)], check=True, timeout=300)
