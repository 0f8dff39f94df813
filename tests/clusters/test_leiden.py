"""Leiden communities of fused graphs and of given matrices, and clusters without a number."""

from __future__ import annotations

import random

import igraph
import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_mutual_info_score

import mdt_fast as mdt
from helpers.data import overlapping_clusters


def two_cliques(n=10):
    A = np.kron(np.eye(2), np.ones((n, n))) - np.eye(2 * n)
    A[0, n] = A[n, 0] = 0.1
    return sparse.csr_array(A)


def modularity(A, labels, resolution=1.0):
    A = A.toarray()
    k = A.sum(axis=1)
    same = labels[:, None] == labels[None]
    return ((A - resolution * np.outer(k, k) / A.sum()) * same).sum() / A.sum()


def test_cliques():
    labels = mdt.leiden(two_cliques())
    np.testing.assert_array_equal(labels, np.repeat([0, 1], 10))
    assert labels.dtype == np.int32


def test_is_a_better_partition_than_classes_or_chance():
    views, target = overlapping_clusters(300)
    graph = mdt.fused_graph(mdt.build_operators(views, n_neighbors=15, kernel="adaptive"))
    labels = mdt.leiden(graph)
    A = graph.connectivities
    found = modularity(A, labels)
    assert found >= modularity(A, target)
    assert found == pytest.approx(_igraph(A).modularity(labels.tolist(), weights="weight"))


def _igraph(A):
    upper = sparse.triu(A, k=1).tocoo()
    network = igraph.Graph(n=A.shape[0], edges=np.column_stack([upper.row, upper.col]).tolist())
    network.es["weight"] = upper.data
    return network


def test_resolution_changes_the_number_of_clusters():
    views, _ = overlapping_clusters(300)
    graph = mdt.fused_graph(mdt.build_operators(views, n_neighbors=15, kernel="adaptive"))
    counts = [mdt.leiden(graph, resolution=r).max() + 1 for r in (0.01, 1.0, 20.0)]
    assert counts[0] <= counts[1] < counts[2]
    for k in (2, 3, 7):
        assert mdt.leiden(graph, n_clusters=k).max() + 1 == k


def test_unconnected_parts_are_the_least_number():
    A = sparse.block_diag([np.ones((4, 4))] * 3, format="csr")
    assert mdt.leiden(A, n_clusters=1).max() + 1 == 3
    assert mdt.leiden(sparse.csr_array((5, 5)), resolution=1.0).tolist() == [0, 1, 2, 3, 4]


def test_one_seed_one_answer_and_no_global_state():
    views, _ = overlapping_clusters(200)
    graph = mdt.fused_graph(mdt.build_operators(views, kernel="adaptive"))
    random.seed(1)
    state = random.getstate()
    first = mdt.leiden(graph, random_state=3, resolution=5.0)
    assert random.getstate() == state
    random.seed(2)
    np.testing.assert_array_equal(mdt.leiden(graph, random_state=3, resolution=5.0), first)
    # Numbered in the order of their first samples.
    assert np.array_equal(np.unique(first, return_index=True)[1], np.sort(np.unique(first, return_index=True)[1]))


@pytest.mark.parametrize(
    ("graph", "error", "message"),
    [
        (np.eye(3), TypeError, "graph: expected a FusedGraph or a sparse matrix, got ndarray"),
        (sparse.csr_array((2, 3)), ValueError, r"graph: expected a square matrix, got the shape \(2, 3\)"),
        (sparse.csr_array([[0, 1], [0, 0]]), ValueError, "graph: expected a symmetric matrix"),
        (sparse.csr_array([[0, -1], [-1, 0]]), ValueError, "graph: expected finite non-negative"),
        (sparse.csr_array([[0, 1j], [1j, 0]]), TypeError, "graph: expected real numbers"),
    ],
)
def test_bad_graphs(graph, error, message):
    with pytest.raises(error, match=message):
        mdt.leiden(graph)


def test_bad_arguments():
    with pytest.raises(ValueError, match="resolution: expected a finite number >= 0"):
        mdt.leiden(two_cliques(), resolution=-1)
    with pytest.raises(ValueError, match="n_clusters: expected an integer >= 1 and <= 20"):
        mdt.leiden(two_cliques(), n_clusters=21)
    with pytest.raises(ValueError, match="resolution: expected a finite number >= 0"):
        mdt.MDTClustering(None, resolution=-1).fit(overlapping_clusters(30)[0])


def test_without_igraph(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "igraph", None)
    with pytest.raises(ImportError, match=r"leiden needs igraph: pip install 'mdt_fast\[leiden\]'"):
        mdt.leiden(two_cliques())
    with pytest.raises(ImportError, match=r"n_clusters=None needs igraph"):
        mdt.MDTClustering(None).fit(overlapping_clusters(30)[0])


@pytest.fixture(scope="module")
def fitted():
    blobs = mdt.datasets.make_multiview_blobs(300, n_clusters=4, random_state=1)
    return mdt.MDTClustering(n_clusters=None).fit(blobs.views), blobs


def test_clusters_without_a_number(fitted):
    model, blobs = fitted
    assert adjusted_mutual_info_score(blobs.target, model.labels_) > 0.9
    assert model.n_clusters_ == model.labels_.max() + 1 == model.embedding_.shape[1] == len(model.cluster_centers_)
    assert model.graph_parameters_["n_neighbors"] == 15
    assert model.confidence_.min() >= 0
    assert model.confidence_.max() <= 1
    np.testing.assert_array_equal(mdt.leiden(model.fused_graph()), model.labels_)
    assert model.score_ == pytest.approx(mdt.quality.information(model.operators_, model.labels_))


def test_new_samples_of_clusters_without_a_number(fitted):
    model, blobs = fitted
    new = [X[:50] for X in blobs.views]
    assert (model.predict(new) == model.labels_[:50]).mean() > 0.95
    shares = model.memberships(new)
    assert shares.shape == (50, model.n_clusters_)
    np.testing.assert_array_equal(shares.argmax(axis=1), model.predict(new))


@pytest.mark.parametrize("strategy", ["mean", "beam", "contrastive", [0, 1, 1]])
def test_clusters_without_a_number_along_a_trajectory(strategy):
    blobs = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=1)
    model = mdt.MDTClustering(n_clusters=None, strategy=strategy, kernel="adaptive", n_neighbors=15).fit(blobs.views)
    assert adjusted_mutual_info_score(blobs.target, model.labels_) > 0.9


def test_resolution_of_the_estimator():
    views, _ = overlapping_clusters(300)
    few, many = (mdt.MDTClustering(None, resolution=r).fit(views).n_clusters_ for r in (0.2, 5.0))
    assert few < many


@pytest.mark.parametrize("strategy", ["consensus", "beam", "mean", "contrastive", "random", "greedy"])
def test_every_strategy_has_a_fused_graph(strategy):
    views, _ = overlapping_clusters(80)
    model = mdt.MDTClustering(3, strategy=strategy).fit(views)
    graph = model.fused_graph()
    assert graph.n_samples == 80
    more = model.fused_graph(n_neighbors=30)
    assert more.fewest_neighbors >= 30
    assert more.view_names == ["view 0", "view 1"]
    with pytest.raises(ValueError, match="n_neighbors: expected an integer >= 1 and <= 79, got 80"):
        model.fused_graph(80)


def test_another_number_of_neighbors_keeps_the_batches():
    views, _ = overlapping_clusters(90)
    batches = np.arange(90) % 2
    shifted = [X + 30.0 * batches[:, None] for X in views]
    model = mdt.MDTClustering(3, n_neighbors=5, strategy="mean").fit(shifted, batches=batches)
    edges = model.fused_graph(n_neighbors=8).connectivities.tocoo()
    assert (batches[edges.row] != batches[edges.col]).any()


def test_fused_graph_of_an_embedding():
    views, _ = overlapping_clusters(80)
    assert mdt.MDT(2, strategy="mean").fit(views).fused_graph(12).fewest_neighbors >= 12


def test_fused_graph_of_given_affinities():
    X = overlapping_clusters(40)[0][0]
    K = np.exp(-((X[:, None] - X[None]) ** 2).sum(axis=2))
    model = mdt.MDTClustering(3, strategy="mean").fit(mdt.OperatorSet.from_affinities([K]))
    assert model.fused_graph().connectivities.nnz
    with pytest.raises(ValueError, match=r"n_neighbors: expected None for a view that was given as a matrix or graph"):
        model.fused_graph(5)
