"""The fused graph against dense matrices by definition, its invariants, and the weights of views at samples."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.metrics import roc_auc_score

import mdt_fast as mdt
from helpers.data import overlapping_clusters
from helpers.hostile import VIEWS

ADAPTIVE = {"kernel": "adaptive", "anisotropy": 1.0}


def log_over_median(values):
    logs = np.log(values)
    return np.clip(logs, *np.quantile(logs, [0.01, 0.99])) - np.median(logs)


def dense_graph(ops, radii, shares):
    """Connectivities, distances and weights by their definitions, from dense matrices."""
    walks = [P.toarray() for P in ops.views]
    R = sum(share * P for share, P in zip(shares, walks, strict=True))
    tight = np.column_stack([-log_over_median(r) for r in radii])
    tight = np.linalg.matrix_power(R, 3) @ tight
    weights = np.exp(2 * tight) / np.exp(2 * tight).sum(axis=1, keepdims=True)
    C = (R + R.T) / 2
    strongest = C.max(axis=1)
    off = ~np.eye(len(C), dtype=bool) & (C > 0)
    D = np.zeros_like(C)
    D[off] = np.sqrt(np.maximum(np.log(np.sqrt(np.outer(strongest, strongest))[off] / C[off]), 0))
    return np.where(off, C, 0), D, weights, off


@pytest.mark.parametrize("joint", [False, True])
@pytest.mark.parametrize("weights", [None, (0.6, 0.4, 0.0)])
def test_is_that_of_dense_matrices(joint, weights):
    views, _ = overlapping_clusters(60)
    ops = mdt.build_operators(views, n_neighbors=7, joint=joint, **ADAPTIVE)
    shares = np.array([0.25, 0.25, 0.5] if joint else [0.5, 0.5])
    if weights is not None:
        weights = weights[: ops.n_views]
        shares = np.array(weights)
    graph = mdt.fused_graph(ops, weights=weights)
    radii = [mdt.nearest_neighbors(X, 7)[1][:, -1] for X in views]
    C, D, w, pattern = dense_graph(ops, radii, shares)
    np.testing.assert_allclose(graph.view_weights, w, rtol=1e-10)
    np.testing.assert_allclose(graph.connectivities.toarray(), C, rtol=1e-10)
    np.testing.assert_allclose(graph.distances.toarray(), D, atol=1e-7)
    assert (graph.distances.tocoo().toarray() != 0).sum() <= pattern.sum()
    assert graph.connectivities.nnz == graph.distances.nnz == pattern.sum()


@given(
    kinds=st.lists(st.sampled_from(sorted(VIEWS)), min_size=1, max_size=3),
    n=st.integers(6, 30),
    k=st.integers(1, 5),
    kernel=st.sampled_from(["adaptive", "gaussian", "binary"]),
    dtype=st.sampled_from(["float32", "float64"]),
)
def test_invariants(kinds, n, k, kernel, dtype):
    rng = np.random.default_rng(n)
    views = [VIEWS[kind](rng, n) for kind in kinds]
    ops = mdt.build_operators(views, n_neighbors=k, kernel=kernel, joint="auto", dtype=dtype)
    graph = mdt.fused_graph(ops)
    C, D = graph.connectivities, graph.distances
    assert C.format == D.format == "csr"
    assert C.dtype == D.dtype == np.dtype(dtype)
    for matrix in (C, D):
        assert (matrix != matrix.T).nnz == 0
        assert not matrix.diagonal().any()
        assert np.isfinite(matrix.data).all()
        # The other kernels may vanish for a distant neighbour.
        assert kernel != "binary" or (np.diff(matrix.indptr) >= k).all()
    assert (C.data > 0).all()
    assert (C.data <= 1).all()
    assert (D.data >= 0).all()
    assert graph.view_weights.shape == (n, len(views))
    np.testing.assert_allclose(graph.view_weights.sum(axis=1), 1)
    assert (graph.view_weights >= 0).all()


def test_one_view_has_the_distances_of_its_kernel():
    X = np.random.default_rng(0).normal(size=(200, 3))
    ops = mdt.build_operators([X], n_neighbors=15, kernel="adaptive")
    graph = mdt.fused_graph(ops)
    radius = mdt.nearest_neighbors(X, 15)[1][:, -1]
    entries = graph.distances.tocoo()
    expected = np.linalg.norm(X[entries.row] - X[entries.col], axis=1) / np.sqrt(
        radius[entries.row] * radius[entries.col]
    )
    assert np.corrcoef(expected, entries.data)[0, 1] > 0.95
    np.testing.assert_array_equal(graph.view_weights, 1.0)


def test_extreme_units_do_not_matter():
    views, _ = overlapping_clusters(80)
    how = {"n_neighbors": 10, "joint": True, **ADAPTIVE}
    plain = mdt.fused_graph(mdt.build_operators(views, **how))
    scaled = mdt.fused_graph(mdt.build_operators([views[0] * 2.0**300, views[1] * 2.0**-300], **how))
    np.testing.assert_allclose(plain.connectivities.toarray(), scaled.connectivities.toarray(), rtol=1e-12)
    np.testing.assert_allclose(plain.view_weights, scaled.view_weights, rtol=1e-12)


@pytest.mark.parametrize("n_jobs", [1, 2, 5])
def test_same_bits_at_any_number_of_threads(n_jobs):
    views, _ = overlapping_clusters(3000, widths=(8, 5))
    one, other = (mdt.fused_graph(mdt.build_operators(views, joint=True, n_jobs=n, **ADAPTIVE)) for n in (1, n_jobs))
    assert one.connectivities.data.tobytes() == other.connectivities.data.tobytes()
    assert one.distances.data.tobytes() == other.distances.data.tobytes()


def planted(seed, kind, distance=6.0, n=600, k=5, d=10):
    """Two views of clusters; the second is noise for the samples of cluster 0."""
    rng = np.random.default_rng(seed)
    target = np.arange(n) % k
    first, second = (
        (rng.normal(size=(k, d)) * distance / np.sqrt(2 * d))[target] + rng.normal(size=(n, d)) for _ in range(2)
    )
    bad = target == 0
    spread = np.sqrt(1 + distance**2 / (2 * d))
    second[bad] = {
        "normal": lambda: rng.normal(size=(bad.sum(), d)) * spread,
        "uniform": lambda: rng.uniform(-distance, distance, size=(bad.sum(), d)),
        "wide": lambda: rng.normal(size=(bad.sum(), d)) * 2 * spread,
    }[kind]()
    return [first, second], bad


@pytest.mark.parametrize("kind", ["normal", "uniform", "wide"])
@pytest.mark.parametrize("seed", range(3))
def test_weights_find_a_view_that_is_noise_for_one_cluster(kind, seed):
    views, bad = planted(seed, kind)
    ops = mdt.build_operators(views, n_neighbors=15, joint=True, **ADAPTIVE)
    weights = mdt.fused_graph(ops).view_weights
    assert roc_auc_score(bad, weights[:, 0]) >= 0.9
    assert weights[bad, 0].mean() > 0.5
    report = mdt.view_report(ops, labels=np.arange(600) % 5, t=3)
    np.testing.assert_array_equal(report.sample_weights, weights)
    assert report.cluster_weights[:, 1].argmin() == 0
    np.testing.assert_allclose(report.cluster_weights.sum(axis=1), 1)


def test_report_names_a_cluster_in_which_a_view_is_weak():
    views, _ = planted(0, "uniform")
    ops = mdt.build_operators(views, n_neighbors=15, joint=True, **ADAPTIVE)
    text = str(mdt.view_report(ops, labels=np.arange(600) % 5, t=3))
    assert "weights of the views in cluster 0: view 0 0." in text


def test_views_that_are_alike_have_equal_weights():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 4))
    graph = mdt.fused_graph(mdt.build_operators([X, X], n_neighbors=10, **ADAPTIVE))
    np.testing.assert_allclose(graph.view_weights, 0.5)


def test_a_view_has_no_weight_where_it_lacks_samples():
    views, _ = overlapping_clusters(90)
    present = np.ones((90, 2), dtype=bool)
    present[:30, 1] = False
    ops = mdt.build_operators(views, present=present, n_neighbors=8, joint=True, **ADAPTIVE)
    graph = mdt.fused_graph(ops)
    np.testing.assert_array_equal(graph.view_weights[:30, 1], 0.0)
    assert (graph.view_weights[30:, 1] > 0).all()
    assert graph.fewest_neighbors >= 8
    # A step of a view takes a sample that it lacks along the other view.
    alone = mdt.fused_graph(ops, weights=[0, 1, 0])
    assert alone.fewest_neighbors >= 8


def test_of_given_matrices():
    X = np.random.default_rng(1).normal(size=(40, 2))
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    for ops in (
        mdt.OperatorSet.from_affinities([K, K**2]),
        mdt.OperatorSet.from_transitions([K / K.sum(axis=1, keepdims=True)]),
        mdt.OperatorSet.from_transitions([np.roll(np.eye(40), 1, axis=1)]),
    ):
        graph = mdt.fused_graph(ops)
        assert (graph.connectivities != graph.connectivities.T).nnz == 0
        np.testing.assert_allclose(graph.view_weights.sum(axis=1), 1)


def test_nearest():
    views, _ = overlapping_clusters(50)
    graph = mdt.fused_graph(mdt.build_operators(views, n_neighbors=9, **ADAPTIVE))
    indices, distances = graph.nearest(8)
    assert indices.shape == distances.shape == (50, 8)
    np.testing.assert_array_equal(indices[:, 0], np.arange(50))
    dense = np.where(graph.distances.toarray() > 0, graph.distances.toarray(), np.inf)
    np.testing.assert_array_equal(distances[:, 1:], np.sort(dense, axis=1)[:, :7])
    with pytest.raises(ValueError, match=r"n_neighbors: expected at most \d+ for this graph"):
        graph.nearest(50)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0], r"weights: expected 2 numbers, one for each base view \(view 0, view 1\)"),
        ([0.0, 0.0], "weights: expected finite non-negative numbers with a positive sum"),
        ([np.nan, 1.0], "weights: expected finite non-negative"),
        (["a", "b"], "weights: expected 2 numbers"),
    ],
)
def test_bad_weights(weights, message):
    ops = mdt.build_operators(overlapping_clusters(20)[0])
    with pytest.raises(ValueError, match=message):
        mdt.fused_graph(ops, weights=weights)


def test_bad_operators():
    with pytest.raises(TypeError, match="ops: expected an OperatorSet, got list"):
        mdt.fused_graph([1])


def test_members_beside_views_have_no_edges():
    ops = mdt.build_operators(overlapping_clusters(30)[0]).with_identity().with_uniform()
    assert mdt.fused_graph(ops).connectivities.nnz < 30 * 29


def test_repr():
    text = repr(mdt.fused_graph(mdt.build_operators({"rna": np.eye(5) * 3 + np.arange(5), "prot": np.eye(5)})))
    assert text.startswith("FusedGraph(5 samples, ")
    assert text.endswith("views: rna, prot)")


def test_is_a_plain_scipy_matrix_that_can_be_changed():
    graph = mdt.fused_graph(mdt.build_operators(overlapping_clusters(30)[0]))
    assert isinstance(graph.connectivities, sparse.csr_array)
    graph.connectivities.data[0] = 2.0
