"""Edges of new samples by an index, against those of a comparison with all training samples."""

import copy
import pickle
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse

import mdt_fast as mdt
from helpers.matrices import assert_same_bits
from mdt_fast._clusters.new_samples import labels_at, memberships_at, memberships_of
from mdt_fast._graphs import new_rows
from mdt_fast._operators.new_samples import functions_at

N, M = 3000, 400


@pytest.fixture(scope="module")
def data():
    bunch = mdt.datasets.make_multiview_blobs(N + M, n_features=6, n_clusters=5, cluster_std=4.0, random_state=0)
    views = [view.astype(np.float32) for view in bunch.views]
    return [X[:N] for X in views], [X[N:] for X in views]


def forced(ops):
    """Return operators whose index has small cells and is used at any number of comparisons."""
    ops._training_views = [replace(each, index_limits=(32, np.inf)) for each in ops._training_views]
    return ops


@pytest.fixture(scope="module")
def ops(data):
    made = forced(mdt.build_operators(data[0], neighbors=mdt.ApproximateNeighbors(recall=0.9), n_neighbors=8))
    assert all(view.index(1) is not None for view in made._training_views)
    return made


def exact(ops):
    other = copy.copy(ops)
    other._training_views = [replace(each, recall=None) for each in ops._training_views]
    return other


def share_of_edges(found, expected):
    return (found.astype(bool).multiply(expected.astype(bool))).nnz / expected.nnz


class TestRecall:
    def test_most_edges_are_found(self, ops, data):
        for found, expected in zip(ops.new_rows(data[1]), exact(ops).new_rows(data[1]), strict=True):
            assert 0.9 <= share_of_edges(found, expected) < 1
            np.testing.assert_allclose(found.sum(axis=1), 1, rtol=1e-6)

    def test_the_estimate_exceeds_the_target(self, ops):
        for view in ops._training_views:
            index = view.index(1)
            assert index.recall >= 0.9
            assert 0 < index.share < 1

    @pytest.mark.parametrize("metric", ["cosine", "correlation"])
    def test_directions(self, data, metric):
        made = forced(mdt.build_operators(data[0][:1], neighbors="approx", metric=metric))
        (found,), (expected,) = made.new_rows(data[1][:1]), exact(made).new_rows(data[1][:1])
        assert share_of_edges(found, expected) >= 0.95


class TestChoice:
    @pytest.mark.parametrize("neighbors", ["exact", "auto"])
    def test_exact_graphs_have_exact_new_samples(self, data, neighbors):
        made = forced(mdt.build_operators(data[0], neighbors=neighbors))
        assert all(view.index(1) is None for view in made._training_views)

    def test_few_samples_need_no_index(self, data):
        made = mdt.build_operators([X[:500] for X in data[0]], neighbors="approx")
        assert all(view.index(1) is None for view in made._training_views)

    def test_manhattan_and_sparse_views_are_exact(self, data):
        made = forced(mdt.build_operators(data[0][0], metric="manhattan"))
        assert made._training_views[0].index(1) is None
        given = scipy.sparse.csr_array(data[0][0])
        made = forced(mdt.build_operators(given, neighbors="approx", metric="euclidean"))
        assert made._training_views[0].index(1) is None


class TestSameBits:
    def test_any_batches_and_threads(self, ops, data, monkeypatch):
        expected = ops.new_rows(data[1], n_jobs=1)
        remoteness = ops.remoteness(data[1])
        for size in (1, 37, 399):
            monkeypatch.setattr(new_rows, "_SAMPLES_PER_BATCH", size)
            for found, one in zip(ops.new_rows(data[1], n_jobs=2), expected, strict=True):
                assert_same_bits(found, one)
            np.testing.assert_array_equal(ops.remoteness(data[1]), remoteness)

    def test_samples_that_lack_views(self, ops, data, monkeypatch):
        holes = [X.copy() for X in data[1]]
        holes[0][::3] = np.nan
        holes[1][1::3] = np.nan
        expected = ops.new_rows(holes)
        monkeypatch.setattr(new_rows, "_SAMPLES_PER_BATCH", 50)
        for found, one in zip(ops.new_rows(holes), expected, strict=True):
            assert_same_bits(found, one)

    def test_far_samples_are_counted_over_batches(self, ops, data, monkeypatch):
        monkeypatch.setattr(new_rows, "_SAMPLES_PER_BATCH", 50)
        far = [X.copy() for X in data[1]]
        far[1][120:123] += 1e4
        with pytest.warns(mdt.RemoteSamplesWarning, match=r"3 of 400 .*the first is row 120, in "):
            ops.new_rows(far)

    def test_pickles_make_their_index_again(self, ops, data):
        expected = ops.new_rows(data[1])
        for other in (pickle.loads(pickle.dumps(ops)), copy.deepcopy(ops), copy.copy(ops)):
            for found, one in zip(other.new_rows(data[1]), expected, strict=True):
                assert_same_bits(found, one)
        assert copy.deepcopy(ops)._training_views[0] is ops._training_views[0]
        assert "_index" not in pickle.loads(pickle.dumps(ops._training_views[0])).__dict__


class TestTrainingSamples:
    def test_exact_graph_lands_on_its_coordinates(self, data):
        made = mdt.build_operators(data[0], neighbors="exact")
        geometry = mdt.embed(made.trajectory([0, 1, 0]), 4)
        found = geometry.transform([X[:200] for X in data[0]])
        np.testing.assert_allclose(found, geometry.coordinates[:200], rtol=1e-4, atol=1e-5)

    def test_index_lands_next_to_its_coordinates(self, ops, data):
        geometry = mdt.embed(ops.trajectory([0, 1, 0]), 4)
        found = geometry.transform([X[:200] for X in data[0]])
        errors = np.linalg.norm(found - geometry.coordinates[:200], axis=1)
        between = np.linalg.norm(geometry.coordinates - geometry.coordinates.mean(axis=0), axis=1)
        assert np.median(errors) < 0.05 * np.median(between)


class TestFunctions:
    def test_batches_have_the_values_of_all_rows(self, ops, data, monkeypatch):
        W = ops.with_identity().with_powers([2]).trajectory([0, 1, 3, 0, 2])
        geometry = mdt.embed(W, 3)
        expected = functions_at(ops.new_rows(data[1]), W, geometry.functions)
        monkeypatch.setattr(new_rows, "_SAMPLES_PER_BATCH", 90)
        np.testing.assert_array_equal(geometry.transform(data[1]), expected)

    def test_memberships_and_labels(self, ops, data, monkeypatch):
        trajectories = [ops.trajectory([0, 1]), ops.trajectory([1, 1, 0])]
        labels = np.arange(N, dtype=np.int32) % 5
        expected = memberships_at(ops.new_rows(data[1]), trajectories, labels)
        monkeypatch.setattr(new_rows, "_SAMPLES_PER_BATCH", 90)
        np.testing.assert_array_equal(memberships_of(data[1], trajectories, labels), expected)
        np.testing.assert_array_equal(labels_at(data[1], trajectories, labels), expected.argmax(axis=1))

    def test_estimator(self, data, monkeypatch):
        model = mdt.MDTClustering(5, neighbors="approx", random_state=0).fit(data[0])
        forced(model.operators_)
        labels, remoteness = model.predict(data[1]), model.remoteness(data[1])
        monkeypatch.setattr(new_rows, "_SAMPLES_PER_BATCH", 77)
        np.testing.assert_array_equal(model.predict(data[1]), labels)
        np.testing.assert_array_equal(model.remoteness(data[1]), remoteness)
