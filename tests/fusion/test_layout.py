"""Layouts of the fused graph: neighbours stay together, parts stay apart, and the seed decides everything."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest
from scipy import sparse

import mdt_fast as mdt
from helpers.data import overlapping_clusters
from helpers.hostile import VIEWS
from mdt_fast._fusion.arrangement import arrange, on_a_grid
from mdt_fast._fusion.layout_methods import _with_distant_pairs
from mdt_fast._fusion.thinning import thin

METHODS = ["umap", "tsne"]


def graph_of(views, n_neighbors=10, **how):
    return mdt.fused_graph(mdt.build_operators(views, n_neighbors=n_neighbors, kernel="adaptive", **how))


def graph_of_matrix(affinity):
    """A fused graph with given connectivities."""
    C = sparse.csr_array(np.asarray(affinity, dtype=float))
    D = C.copy()
    D.data = np.sqrt(np.log(C.data.max(initial=0.0) / C.data) + 0.1)
    return mdt.FusedGraph(C, D, np.ones((C.shape[0], 1)), ["only"])


def accuracy(points, classes):
    """Share of samples whose class most of their five nearest samples have."""
    neighbors = mdt.nearest_neighbors(points.astype(float), 5)[0]
    return np.mean([np.bincount(near).argmax() == own for near, own in zip(classes[neighbors], classes, strict=True)])


@pytest.fixture(scope="module")
def clusters():
    views, classes = overlapping_clusters(300)
    return graph_of(views, joint=True), classes


@pytest.mark.parametrize("method", METHODS)
class TestMethods:
    def test_neighbours_are_close(self, clusters, method):
        graph, classes = clusters
        points = mdt.layout(graph, method=method)
        assert points.shape == (300, 2)
        assert points.dtype == np.float32
        own = graph.nearest(6)[0][:, 1:]
        by_graph = np.mean([np.bincount(each).argmax() for each in classes[own]] == classes)
        assert accuracy(points, classes) > by_graph - 0.05
        # Most neighbours in the graph are among the nearest tenth of the map.
        near = mdt.nearest_neighbors(points.astype(float), 30)[0]
        assert np.mean([np.isin(each, others).mean() for each, others in zip(own, near, strict=True)]) > 0.7

    def test_the_seed_decides(self, clusters, method):
        first, again, other = (mdt.layout(clusters[0], method=method, random_state=seed) for seed in (3, 3, 4))
        assert first.tobytes() == again.tobytes()
        assert first.tobytes() != other.tobytes() or method == "tsne"
        large = mdt.layout(clusters[0], method=method, random_state=2**63)
        assert np.isfinite(large).all()

    @pytest.mark.parametrize("n", [2, 3, 4, 5, 7])
    def test_few_samples(self, n, method):
        points = mdt.layout(graph_of([VIEWS["gaussian"](np.random.default_rng(n), n)], n - 1), method=method)
        assert points.shape == (n, 2)
        assert len(np.unique(points, axis=0)) == n

    @pytest.mark.parametrize("kind", sorted(VIEWS))
    @pytest.mark.parametrize("n_neighbors", [1, 5])
    def test_hostile_views(self, kind, n_neighbors, method):
        graph = graph_of([VIEWS[kind](np.random.default_rng(0), 40)], n_neighbors)
        points = mdt.layout(graph, method=method)
        assert points.shape == (40, 2)
        assert np.isfinite(points).all()

    def test_separate_parts_do_not_overlap(self, method):
        rng = np.random.default_rng(0)
        sizes = [60, 40, 25, 3, 2, 1, 1]
        part = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
        X = rng.normal(size=(len(part), 3))
        D = ((X[:, None] - X[None]) ** 2).sum(axis=-1)
        affinity = np.where((part[:, None] == part[None]) & ~np.eye(len(part), dtype=bool), np.exp(-D / 4), 0)
        points = mdt.layout(graph_of_matrix(affinity), method=method)
        # Samples without an edge share a box.
        part = np.minimum(part, 5)
        boxes = [(points[part == p].min(axis=0), points[part == p].max(axis=0)) for p in range(6)]
        for a, (low, high) in enumerate(boxes):
            for other_low, other_high in boxes[:a]:
                assert (low > other_high).any() or (high < other_low).any()
        assert len(np.unique(points, axis=0)) == len(points)

    def test_no_edges(self, method):
        points = mdt.layout(graph_of_matrix(np.zeros((10, 10))), method=method)
        assert len(np.unique(points, axis=0)) == 10

    def test_a_chain_and_a_star(self, method):
        chain = np.eye(50, k=1) + np.eye(50, k=-1)
        points = mdt.layout(graph_of_matrix(chain), method=method)
        steps = np.linalg.norm(np.diff(points, axis=0), axis=1)
        assert np.median(steps) < 0.3 * np.linalg.norm(points - points.mean(axis=0), axis=1).max()
        star = np.zeros((50, 50))
        star[0, 1:] = star[1:, 0] = 1
        assert np.isfinite(mdt.layout(graph_of_matrix(star), method=method)).all()


def test_float32_graph(clusters):
    views, _ = overlapping_clusters(100)
    graph = graph_of([view.astype(np.float32) for view in views], dtype="float32")
    assert graph.distances.dtype == np.float32
    assert np.isfinite(mdt.layout(graph)).all()


def test_auto_is_umap_if_installed(clusters, monkeypatch):
    graph = clusters[0]
    assert mdt.layout(graph).tobytes() == mdt.layout(graph, method="umap").tobytes()
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert mdt.layout(graph).tobytes() == mdt.layout(graph, method="tsne").tobytes()
    with pytest.raises(ImportError, match=r"method='umap' needs umap-learn: pip install 'mdt_fast\[umap\]'"):
        mdt.layout(graph, method="umap")


def test_wrong_arguments(clusters):
    with pytest.raises(TypeError, match="graph: expected a FusedGraph, got csr_array"):
        mdt.layout(clusters[0].connectivities)
    with pytest.raises(ValueError, match="method: expected one of 'auto', 'umap', 'tsne', got 'pca'"):
        mdt.layout(clusters[0], method="pca")
    with pytest.raises(ValueError, match="random_state"):
        mdt.layout(clusters[0], random_state=-1)


def test_same_bits_at_any_number_of_threads():
    script = """
import hashlib, numpy as np, mdt_fast as mdt
views = mdt.datasets.make_multiview_blobs(400, n_clusters=3, random_state=0).views
graph = mdt.fused_graph(mdt.build_operators(views, n_neighbors=15, kernel="adaptive"))
for method in ("umap", "tsne"):
    print(hashlib.sha256(mdt.layout(graph, method=method).tobytes()).hexdigest())
"""
    found = set()
    for threads in ("1", "3"):
        names = ("OMP_NUM_THREADS", "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS")
        environment = {**os.environ, **dict.fromkeys(names, threads)}
        done = subprocess.run(
            [sys.executable, "-c", script], capture_output=True, text=True, env=environment, check=True
        )
        found.add(done.stdout)
    assert len(found) == 1


def test_import_of_the_package_imports_no_layout_package():
    script = "import sys, mdt_fast; print([m for m in ('umap', 'numba', 'sklearn.manifold') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_distant_pairs_fill_short_rows():
    rng = np.random.default_rng(0)
    dense = np.triu((rng.random((30, 30)) < 0.2) * rng.random((30, 30)), 1)
    D = sparse.csr_array(dense + dense.T)
    filled = _with_distant_pairs(D, 12)
    assert (np.diff(filled.indptr) >= 13).all()
    entries = filled.tocoo()
    is_edge = (dense + dense.T)[entries.row, entries.col] > 0
    assert is_edge.sum() == D.nnz
    np.testing.assert_array_equal(entries.data[is_edge], (dense + dense.T)[entries.row, entries.col][is_edge])
    others = entries.data[~is_edge]
    assert set(others[entries.row[~is_edge] == entries.col[~is_edge]]) == {0.0}
    assert (others[entries.row[~is_edge] != entries.col[~is_edge]] >= 1e3).all()


def test_arrangement_keeps_shapes():
    rng = np.random.default_rng(1)
    parts = [rng.normal(size=(n, 2), scale=n).astype(np.float32) for n in (5, 30, 1, 8)]
    for part, moved in zip(parts, arrange(parts), strict=True):
        np.testing.assert_allclose(moved - moved[0], part - part[0], atol=1e-3)
    grid = on_a_grid(10)
    assert len(np.unique(grid, axis=0)) == 10
    assert np.ptp(grid, axis=0).max() <= 2.0


class TestThinning:
    def test_is_walks_of_one_and_two_steps(self, clusters):
        graph = clusters[0]
        samples = np.sort(np.random.default_rng(0).choice(300, 40, replace=False))
        found = thin(graph, samples)
        R = graph.connectivities.toarray()
        R /= R.sum(axis=1, keepdims=True)
        A = (R + R @ R)[np.ix_(samples, samples)]
        np.fill_diagonal(A, 0)
        # The 20 largest entries of each row.
        least = np.sort(A, axis=1)[:, -20:-19]
        A[least > A] = 0
        np.testing.assert_allclose(found.connectivities.toarray(), (A + A.T) / 2, rtol=1e-12)
        np.testing.assert_array_equal(found.view_weights, graph.view_weights[samples])
        assert (found.distances != found.distances.T).nnz == 0
        assert found.distances.nnz == found.connectivities.nnz

    def test_layout_of_a_part(self, clusters):
        graph, classes = clusters
        samples = np.arange(0, 300, 4)
        points = mdt.layout(thin(graph, samples))
        assert accuracy(points, classes[samples]) > 0.6

    def test_samples_that_nothing_reaches(self):
        chain = np.eye(50, k=1) + np.eye(50, k=-1)
        found = thin(graph_of_matrix(chain), np.array([0, 1, 10, 20, 40, 42]))
        assert np.diff(found.connectivities.indptr).tolist() == [1, 1, 0, 0, 1, 1]
        assert np.isfinite(mdt.layout(found)).all()
