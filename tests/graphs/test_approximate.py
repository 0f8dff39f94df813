"""Approximate neighbours: recall, exact distances, full rows, same bits for any number of threads."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

import mdt_fast as mdt
from helpers import oracle
from helpers.hostile import VIEWS
from mdt_fast._graphs import approximate as _approximate

METRICS = ["euclidean", "cosine", "correlation"]


def recall(found, exact):
    return np.mean([len(set(a) & set(b)) / len(a) for a, b in zip(found, exact, strict=True)])


def assert_sound(X, indices, distances, metric):
    """Every row has distinct other samples, nearest first, at their exact distances."""
    n, k = indices.shape
    assert not (indices == np.arange(n)[:, None]).any()
    assert all(len(set(row)) == k for row in indices.tolist())
    rows = np.arange(0, n, max(1, n // 50))
    between = oracle.pairwise_distances(np.asarray(X, dtype=np.float64), metric) if n <= 3000 else None
    if between is not None:
        expected = np.take_along_axis(between[rows], indices[rows].astype(int), axis=1)
        np.testing.assert_allclose(distances[rows], expected, rtol=1e-9, atol=1e-12)
    order = np.lexsort((indices, distances), axis=1)
    np.testing.assert_array_equal(order, np.broadcast_to(np.arange(k), (n, k)))


def hard(n, d=24, seed=0):
    """Points without structure: neighbours of neighbours are hardly closer than other points."""
    return np.random.default_rng(seed).normal(size=(n, d))


def curled(n, seed=0):
    """A surface in many dimensions."""
    rng = np.random.default_rng(seed)
    return np.tanh(rng.normal(size=(n, 3)) @ rng.normal(size=(3, 40))) @ rng.normal(size=(40, 60))


def long(n, seed=0):
    """Many columns that vary in few directions."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 12)) @ rng.normal(size=(12, 300)) + 0.1 * rng.normal(size=(n, 300))


def sheets(n, seed=0):
    """One cloud on four sheets that overlap along the directions of most variance."""
    step = 0.5 * (np.arange(n)[:, None] % 4 == np.arange(4))
    return np.hstack([long(n, seed), np.tile(step, 25)])


def marks(n, seed=0):
    """Zeros and ones: many distances are equal."""
    rng = np.random.default_rng(seed)
    return ((rng.random((20, 400)) < 0.3)[rng.integers(20, size=n)] ^ (rng.random((n, 400)) < 0.02)).astype(float)


def lone(n, seed=0):
    """One column holds all variance, and one sample is far away."""
    X = np.ones((n, 300))
    X[:, 7] = np.random.default_rng(seed).normal(size=n)
    X[0, 8] = 1e4
    return X


@pytest.mark.parametrize("metric", METRICS)
@pytest.mark.parametrize("make", [hard, curled, long])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_enough_neighbours_are_found(make, metric, dtype):
    X = make(6000).astype(dtype)
    indices, distances = mdt.nearest_neighbors(X, 15, metric=metric, method="approx")
    assert (indices.dtype, indices.shape, distances.dtype) == (np.int32, (6000, 15), np.float64)
    exact, _ = mdt.nearest_neighbors(X, 15, metric=metric)
    assert recall(indices, exact) >= 0.95
    assert_sound(X, indices, distances, metric)


@pytest.mark.parametrize("make", [hard, long])
@pytest.mark.parametrize("wanted", [0.8, 0.99, 1.0])
def test_recall_is_reached(make, wanted):
    X = make(5000)
    found, _ = mdt.nearest_neighbors(X, 10, method=mdt.ApproximateNeighbors(recall=wanted))
    # The recall is estimated from some samples, with an error.
    assert recall(found, mdt.nearest_neighbors(X, 10)[0]) >= wanted - 0.005


@pytest.mark.parametrize("wanted", [0.95, 0.99])
@pytest.mark.parametrize("make", [sheets, marks, lone])
def test_reduced_columns_find_the_same_neighbours(make, wanted):
    X = make(6000)
    _, distances = mdt.nearest_neighbors(X, 15, method=mdt.ApproximateNeighbors(recall=wanted))
    _, exact = mdt.nearest_neighbors(X, 15)
    # Among points at equal distance others may be chosen.
    assert np.mean(distances <= exact[:, -1:]) >= wanted - 0.005


@given(kind=st.sampled_from(sorted(VIEWS)), n=st.integers(2, 60), seed=st.integers(0, 2**32 - 1), data=st.data())
def test_few_points_have_exact_neighbours(kind, n, seed, data):
    X = VIEWS[kind](np.random.default_rng(seed), n)
    k = data.draw(st.integers(1, n - 1), label="n_neighbors")
    indices, distances = mdt.nearest_neighbors(X, k, method="approx")
    assert_sound(X, indices, distances, "euclidean")
    # Among points at equal distance others may be chosen.
    np.testing.assert_allclose(distances, mdt.nearest_neighbors(X, k)[1], rtol=1e-6)


@pytest.mark.parametrize("n", [20, 500, 1000])
@pytest.mark.parametrize("make", [hard, long, lone, marks])
def test_all_neighbours(make, n):
    X = make(n)
    for k in (1, 2, 15):
        _, distances = mdt.nearest_neighbors(X, k, method=mdt.ApproximateNeighbors(recall=1.0))
        np.testing.assert_allclose(distances, mdt.nearest_neighbors(X, k)[1], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("k", [1, 2, 100])
def test_few_and_many_neighbours_of_long_samples(k):
    X = long(4000)
    _, distances = mdt.nearest_neighbors(X, k, method="approx")
    assert np.mean(distances <= mdt.nearest_neighbors(X, k)[1][:, -1:]) >= 0.945


@pytest.mark.parametrize("make", [partial(hard, d=8), long])
@pytest.mark.parametrize("n_copies", [3, 40, 2000])
def test_duplicates(make, n_copies):
    X = np.repeat(make(6000 // n_copies), n_copies, axis=0)
    indices, distances = mdt.nearest_neighbors(X, 15, method="approx")
    assert_sound(X, indices, distances, "euclidean")
    zeros = min(n_copies - 1, 15)
    assert np.mean(distances[:, :zeros] == 0) > 0.95


@pytest.mark.parametrize("make", [hard, curled, long])
def test_same_bits_at_any_number_of_threads(make):
    X = make(5000)
    reference = mdt.nearest_neighbors(X, 12, method="approx", n_jobs=1)
    for jobs in (2, 3, 8):
        found = mdt.nearest_neighbors(X, 12, method="approx", n_jobs=jobs)
        for one, other in zip(reference, found, strict=True):
            np.testing.assert_array_equal(one, other)


def test_seed():
    X = hard(5000)
    quick = mdt.ApproximateNeighbors(recall=0.5)
    default, zero, one = (mdt.nearest_neighbors(X, 12, method=quick, random_state=seed)[0] for seed in (None, 0, 1))
    np.testing.assert_array_equal(default, zero)
    assert (zero != one).any()


@pytest.mark.parametrize("layout", ["fortran", "strided", "read-only", "unaligned"])
def test_layout_does_not_matter(layout):
    X = hard(1500, 10)
    reference = mdt.nearest_neighbors(X, 5, method="approx")[0]
    if layout == "fortran":
        given = np.asfortranarray(X)
    elif layout == "strided":
        given = np.repeat(X, 2, axis=0)[::2]
    elif layout == "unaligned":
        given = np.frombuffer(b"x" + X.tobytes(), dtype=np.float64, offset=1).reshape(X.shape)
        assert not given.flags.aligned
    else:
        given = X.copy()
        given.flags.writeable = False
    np.testing.assert_array_equal(mdt.nearest_neighbors(given, 5, method="approx")[0], reference)


def test_extreme_scales():
    X = hard(2000, 8)
    reference = mdt.nearest_neighbors(X, 5, method="approx")
    for exponent in (-900, 900):
        indices, distances = mdt.nearest_neighbors(np.ldexp(X, exponent), 5, method="approx")
        np.testing.assert_array_equal(indices, reference[0])
        np.testing.assert_allclose(np.ldexp(distances, -exponent), reference[1], rtol=1e-12)


def test_operators_on_approximate_neighbours():
    views = [curled(3000, seed) for seed in (0, 1)]
    ops = mdt.build_operators(views, neighbors=["approx", mdt.ApproximateNeighbors(recall=0.99)], random_state=3)
    for P in ops.views:
        np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-12)
    again = mdt.build_operators(views, neighbors="approx", random_state=3, n_jobs=1)
    assert (again[0] != ops[0]).nnz == 0


@pytest.mark.parametrize(("columns", "limit"), [(10, 91_100), (50, 68_300), (200, 47_800)])
def test_auto_is_exact_up_to_a_size(columns, limit):
    for n, is_exact in ((limit - 100, True), (limit + 100, False)):
        view = SimpleNamespace(data=np.broadcast_to(0.0, (n, columns)))
        assert (_approximate.find_effort("auto", view, "euclidean") is None) == is_exact


def test_auto_chooses_approximate_neighbours_for_large_views(monkeypatch):
    X, few = hard(3000), hard(3000, 4)
    exact = mdt.nearest_neighbors(X, 5)[0]

    def differs():
        return (mdt.build_operators([X], n_neighbors=5)[0] != reference[0]).nnz > 0

    reference = mdt.build_operators([X], n_neighbors=5, neighbors="exact")
    assert not differs()
    np.testing.assert_array_equal(mdt.nearest_neighbors(X, 5, method="auto")[0], exact)
    calls = []
    monkeypatch.setattr(_approximate, "_TIMES_FASTER", 0.0)
    monkeypatch.setattr(
        "mdt_fast._core.knn_approximate",
        lambda *given, original=mdt._core.knn_approximate: calls.append(given) or original(*given),
    )
    mdt.nearest_neighbors(X, 5, method="auto")
    assert len(calls) == 1
    # A tree is used in few dimensions; sparse views and other metrics have exact neighbours only.
    mdt.nearest_neighbors(few, 5, method="auto")
    mdt.nearest_neighbors(scipy.sparse.csr_array(X), 5, method="auto")
    mdt.nearest_neighbors(X[:500], 5, method="auto", metric="manhattan")
    mdt.nearest_neighbors(X, 5)
    assert len(calls) == 1


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"method": "fast"}, ValueError, "method: expected one of 'auto', 'exact', 'approx', got 'fast'"),
        ({"method": 3}, TypeError, "method: expected 'exact', 'approx', 'auto' or ApproximateNeighbors, got 3"),
        ({"method": "approx", "metric": "manhattan"}, ValueError, "expected 'auto' or 'exact' for metric='manhattan'"),
        ({"method": "approx", "random_state": -1}, ValueError, "random_state"),
    ],
)
def test_refusals(arguments, error, message):
    with pytest.raises(error, match=message):
        mdt.nearest_neighbors(hard(50), 5, **arguments)


def test_neighbours_in_sparse_views_are_exact():
    X = scipy.sparse.random_array((300, 80), density=0.05, random_state=0, format="csr")
    exact = mdt.nearest_neighbors(X, 5)
    for method in ("approx", mdt.ApproximateNeighbors(0.5)):
        found = mdt.nearest_neighbors(X, 5, method=method)
        np.testing.assert_array_equal(found[0], exact[0])
        np.testing.assert_array_equal(found[1], exact[1])


def test_refusals_of_views_and_recall():
    with pytest.raises(ValueError, match="recall: expected"):
        mdt.ApproximateNeighbors(recall=1.5)
    with pytest.raises(TypeError, match="recall: expected"):
        mdt.ApproximateNeighbors(recall="high")
    with pytest.raises(ValueError, match="finite"):
        mdt.nearest_neighbors(np.full((50, 3), np.nan), 5, method="approx")


def test_rows_of_new_samples_sum_to_one():
    """Also where the set was built with another recall than the default."""
    X = curled(3000)
    sets = [mdt.build_operators([X], neighbors=each) for each in ("approx", mdt.ApproximateNeighbors(recall=0.99))]
    for ops in sets:
        rows = ops.new_rows([X[:20] + 1e-3])[0]
        np.testing.assert_allclose(rows.sum(axis=1), 1.0, rtol=1e-12)
