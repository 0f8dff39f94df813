"""Embeddings of sums of chains of walks and their transposes."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose

import mdt_fast as mdt
from helpers import oracle
from helpers.baselines import TOLERANCE, assert_same_up_to_sign, make_views
from mdt_fast._geometry.chains import Chain, Factor, embed_chains


def chain(*factors, weight=1.0):
    """A chain of walks by number; ``~v`` is the transpose of walk v."""
    return Chain([Factor(v if v >= 0 else ~v, transposed=v < 0) for v in factors], weight=weight)


def make_walks(n_samples=80, dtype="float64"):
    """Walks without a symmetric affinity, so that their transposes are stored."""
    rng = np.random.default_rng(0)
    Ps = [oracle.transition(rng.uniform(size=(n_samples, n_samples)) ** 9) for _ in range(3)]
    return mdt.OperatorSet.from_transitions(Ps, dtype=dtype), Ps


@pytest.mark.parametrize("drop_first", [True, False])
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_chains_equal_their_dense_sum(dtype, drop_first):
    ops, (P, Q, R) = make_walks(dtype=dtype)
    chains = [chain(0, ~2, 1, weight=-0.5), chain(~1, weight=2.0), chain(2, 2)]
    A = -0.5 * Q @ R.T @ P + 2 * Q.T + R @ R
    expected, values = oracle.singular_coordinates(A, 4, drop_first)
    found = embed_chains(ops.with_identity(), chains, 4, drop_first=drop_first, tol=1e-10)
    assert found.coordinates.dtype == dtype
    assert found.converged
    assert len(found.values) == len(found.residuals) == 4 + drop_first
    assert_allclose(found.values[int(drop_first) :], values, rtol=TOLERANCE[dtype])
    assert_same_up_to_sign(found.coordinates, expected, TOLERANCE[dtype])


def test_a_chain_of_walks_is_a_trajectory():
    ops = mdt.build_operators(make_views(), n_neighbors=10)
    found = embed_chains(ops, [chain(0, 1, 1)], 3, tol=1e-10)
    expected = mdt.embed(ops.trajectory([0, 1, 1]), 3, tol=1e-10)
    assert_allclose(found.values[1:], expected.singular_values, rtol=1e-9)
    assert_allclose(found.coordinates, expected.coordinates, atol=1e-8)


def test_chains_that_do_not_converge_are_reported():
    ops = mdt.build_operators(make_views(600), n_neighbors=10)
    with pytest.warns(mdt.ConvergenceWarning, match="after 1 iterations"):
        embed_chains(ops, [chain(~0, 1)], 5, max_iter=1, tol=1e-10)


@pytest.mark.parametrize(
    ("chains", "arguments", "message"),
    [
        ([], {}, "at least one chain"),
        ([chain()], {}, "at least one factor"),
        ([chain(3)], {}, "expected factors below 3, got 3"),
        ([chain(0)], {"n_components": 80}, "n_components: expected an integer >= 1 and <= 79, got 80"),
        ([chain(0)], {"tol": -1}, "tol: expected a finite number >= 0, got -1"),
        ([chain(0)], {"max_iter": 0}, "max_iter: expected an integer >= 1, got 0"),
    ],
)
def test_bad_chains(chains, arguments, message):
    ops, _ = make_walks()
    with pytest.raises(ValueError, match=message):
        embed_chains(ops, chains, **{"n_components": 2, **arguments})
