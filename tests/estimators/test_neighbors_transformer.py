"""NeighborsTransformer against scikit-learn's KNeighborsTransformer and against direct formulas."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
import sklearn
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.neighbors import KNeighborsRegressor, KNeighborsTransformer
from sklearn.pipeline import make_pipeline

import mdt_fast as mdt
from helpers import oracle
from helpers.hostile import EXACT, VIEWS
from mdt_fast._graphs import cross

METRICS = ["euclidean", "manhattan", "cosine", "correlation"]
MODES = ["distance", "connectivity"]


def rows_of(graph):
    """Indices and values of a graph whose rows have equally many entries."""
    m = graph.shape[0]
    assert len(set(np.diff(graph.indptr))) == 1
    return graph.indices.reshape(m, -1), graph.data.reshape(m, -1)


def theirs(n_neighbors, metric="euclidean", mode="distance"):
    return KNeighborsTransformer(n_neighbors=n_neighbors, metric=metric, mode=mode, algorithm="brute")


def assert_same_graph(graph, expected, **tolerance):
    """The same entries in the same order; scikit-learn rounds the distance of a sample to itself."""
    assert graph.shape == expected.shape
    assert type(graph) is type(expected)
    np.testing.assert_array_equal(graph.indptr, expected.indptr)
    np.testing.assert_array_equal(graph.indices, expected.indices)
    np.testing.assert_allclose(graph.data, expected.data, **{"rtol": 1e-6, "atol": 1e-6, **tolerance})


def assert_same_bits(graph, other):
    assert (graph.dtype, graph.shape) == (other.dtype, other.shape)
    for name in ("indptr", "indices", "data"):
        np.testing.assert_array_equal(getattr(graph, name), getattr(other, name))


class TestAgainstScikitLearn:
    @pytest.mark.parametrize("mode", MODES)
    @pytest.mark.parametrize("metric", METRICS)
    @pytest.mark.parametrize(("n", "d", "k"), [(40, 3, 1), (300, 8, 15), (120, 30, 119)])
    def test_training_samples(self, rng, n, d, k, metric, mode):
        X = rng.normal(size=(n, d))
        found = mdt.NeighborsTransformer(k, metric=metric, mode=mode).fit_transform(X)
        assert_same_graph(found, theirs(k, metric, mode).fit_transform(X))

    @pytest.mark.parametrize("mode", MODES)
    @pytest.mark.parametrize("metric", METRICS)
    @pytest.mark.parametrize(("n", "d", "k"), [(40, 3, 1), (300, 8, 15), (120, 30, 119)])
    def test_new_samples(self, rng, n, d, k, metric, mode):
        X, new = rng.normal(size=(n, d)), rng.normal(size=(50, d))
        found = mdt.NeighborsTransformer(k, metric=metric, mode=mode).fit(X).transform(new)
        assert_same_graph(found, theirs(k, metric, mode).fit(X).transform(new))

    @pytest.mark.parametrize("mode", MODES)
    @pytest.mark.parametrize("metric", METRICS)
    def test_training_samples_again(self, rng, metric, mode):
        X = rng.normal(size=(200, 6))
        transformer = mdt.NeighborsTransformer(10, metric=metric, mode=mode)
        found = transformer.fit_transform(X)
        assert_same_bits(transformer.transform(X), found)
        assert_same_bits(clone(transformer).fit(X).transform(X), found)

    @pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
    def test_sparse_samples(self, rng, metric):
        X = sparse.random_array((150, 40), density=0.3, random_state=rng, format="csr")
        new = sparse.random_array((20, 40), density=0.3, random_state=rng, format="csc")
        ours, expected = mdt.NeighborsTransformer(7, metric=metric), theirs(7, metric)
        # Exact ties of sparse rows are broken by index here and by chance there: none in these data.
        assert_same_graph(ours.fit_transform(X), expected.fit_transform(X))
        assert_same_graph(ours.transform(new), expected.transform(new))
        assert_same_graph(ours.transform(new.toarray()), expected.transform(new))
        assert_same_graph(ours.fit(X.toarray()).transform(new), expected.transform(new))

    def test_sparse_samples_by_correlation(self, rng):
        X = sparse.random_array((60, 20), density=0.3, random_state=rng, format="csr")
        ours, expected = mdt.NeighborsTransformer(7, metric="correlation"), theirs(7, "correlation")
        assert_same_graph(ours.fit_transform(X), expected.fit_transform(X.toarray()))
        assert_same_graph(ours.transform(X[:9]), expected.transform(X[:9].toarray()))

    def test_names_and_sizes(self, rng):
        X = rng.normal(size=(12, 3))
        transformer = mdt.NeighborsTransformer(3).fit(X)
        assert (transformer.n_samples_fit_, transformer.n_features_in_) == (12, 3)
        names = transformer.get_feature_names_out()
        assert names[[0, -1]].tolist() == ["neighborstransformer0", "neighborstransformer11"]
        assert len(names) == len(theirs(3).fit(X).get_feature_names_out())

    @pytest.mark.skipif("sparse_interface" not in sklearn.get_config(), reason="scikit-learn has no such option")
    @pytest.mark.parametrize(("interface", "kind"), [("sparray", sparse.csr_array), ("spmatrix", sparse.csr_matrix)])
    def test_sparse_interface(self, rng, interface, kind):
        X = rng.normal(size=(12, 3))
        with sklearn.config_context(sparse_interface=interface):
            assert type(mdt.NeighborsTransformer(3).fit_transform(X)) is kind
            assert type(mdt.NeighborsTransformer(3).fit(X).transform(X)) is kind


class TestTies:
    @pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
    @given(kind=st.sampled_from(EXACT), n=st.integers(2, 40), seed=st.integers(0, 2**32 - 1), data=st.data())
    def test_ties_go_to_the_sample_itself_then_to_the_smaller_index(self, metric, kind, n, seed, data):
        X = VIEWS[kind](np.random.default_rng(seed), n)
        k = data.draw(st.integers(1, n - 1), label="n_neighbors")
        transformer = mdt.NeighborsTransformer(k, metric=metric)
        D = oracle.pairwise_distances(X, metric)
        indices, distances = rows_of(transformer.fit_transform(X))
        np.testing.assert_array_equal(indices[:, 0], np.arange(n))
        np.testing.assert_array_equal(indices[:, 1:], oracle.knn(D, k)[0])
        np.testing.assert_allclose(distances, np.take_along_axis(D, indices, axis=1), rtol=1e-15)
        # A sample given again is one of those that coincide with it.
        indices, distances = rows_of(transformer.transform(X))
        np.testing.assert_allclose(distances, np.sort(D, axis=1)[:, : k + 1], rtol=1e-15)
        np.testing.assert_allclose(distances, np.take_along_axis(D, indices, axis=1), rtol=1e-15)
        assert all(len(set(row)) == k + 1 for row in indices)

    @pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine"])
    @pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
    def test_all_samples_coincide(self, metric, make):
        X = make(np.ones((30, 4)))
        transformer = mdt.NeighborsTransformer(3, metric=metric)
        indices, distances = rows_of(transformer.fit_transform(X))
        assert (distances == 0).all()
        np.testing.assert_array_equal(indices[:, 0], np.arange(30))
        np.testing.assert_array_equal(indices[5, 1:], [0, 1, 2])
        indices, distances = rows_of(transformer.transform(X))
        assert (distances == 0).all()
        np.testing.assert_array_equal(indices, np.tile([0, 1, 2, 3], (30, 1)))

    def test_equal_distances_of_new_samples_go_to_the_smaller_index(self):
        X = np.array([[3.0], [1.0], [-1.0], [-3.0], [1.0]])
        graph = mdt.NeighborsTransformer(2).fit(X).transform([[0.0]])
        assert graph.indices.tolist() == [1, 2, 4]
        assert graph.data.tolist() == [1.0, 1.0, 1.0]


class TestSizes:
    @pytest.mark.parametrize("n", [2, 3, 5])
    def test_all_other_samples(self, n):
        X = np.arange(n, dtype=float)[:, None] ** 2
        graph = mdt.NeighborsTransformer(n - 1).fit_transform(X)
        np.testing.assert_array_equal(graph.toarray(), abs(X - X.T))
        assert graph.nnz == n * n

    @pytest.mark.parametrize("n", [2, 3, 5])
    def test_all_samples_with_connectivities(self, n):
        X = np.arange(n, dtype=float)[:, None]
        transformer = mdt.NeighborsTransformer(n, mode="connectivity")
        np.testing.assert_array_equal(transformer.fit_transform(X).toarray(), np.ones((n, n)))
        np.testing.assert_array_equal(transformer.transform(X[:1]).toarray(), np.ones((1, n)))

    def test_one_connectivity_is_that_of_the_sample_itself(self):
        X = np.arange(4.0)[:, None]
        transformer = mdt.NeighborsTransformer(1, mode="connectivity")
        np.testing.assert_array_equal(transformer.fit_transform(X).toarray(), np.eye(4))
        np.testing.assert_array_equal(transformer.transform(X + 0.1).toarray(), np.eye(4))

    def test_more_samples_than_one_call_of_the_core_gets(self, rng, monkeypatch):
        X, new = rng.normal(size=(90, 5)), rng.normal(size=(70, 5))
        transformer = mdt.NeighborsTransformer(4).fit(X)
        whole = transformer.transform(new)
        monkeypatch.setattr(cross, "_ROWS_PER_CALL", 32)
        assert_same_bits(transformer.transform(new), whole)
        new[40] = 1e200
        with pytest.raises(ValueError, match=r"X\[32:64\] \(view 0\): row 8 is so far from the training samples"):
            transformer.transform(new)

    def test_the_graph_is_not_copied(self, rng, monkeypatch):
        tables = []
        made = sparse.csr_matrix

        def remember(parts, **options):
            tables.append(parts)
            return made(parts, **options)

        monkeypatch.setattr(sparse, "csr_matrix", remember)
        graph = mdt.NeighborsTransformer(4).fit_transform(rng.normal(size=(90, 5)))
        values, indices, _ = tables[0]
        assert np.shares_memory(graph.data, values)
        assert np.shares_memory(graph.indices, indices)


class TestElementTypes:
    @pytest.mark.parametrize("mode", MODES)
    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    def test_type_is_kept(self, rng, dtype, mode):
        X = rng.normal(size=(50, 4)).astype(dtype)
        transformer = mdt.NeighborsTransformer(5, mode=mode)
        graph = transformer.fit_transform(X)
        assert (graph.dtype, graph.indices.dtype, graph.indptr.dtype) == (dtype, np.int32, np.int32)
        assert transformer.transform(X).dtype == dtype
        assert transformer.fit(X.astype(np.float64)).transform(X).dtype == dtype

    def test_single_precision_is_that_of_double_rounded(self, rng):
        X = rng.normal(size=(200, 12)).astype(np.float32)
        single = mdt.NeighborsTransformer(9).fit_transform(X)
        double = mdt.NeighborsTransformer(9).fit_transform(X.astype(np.float64))
        np.testing.assert_array_equal(single.indices, double.indices)
        np.testing.assert_array_equal(single.data, double.data.astype(np.float32))

    def test_integers_are_read_as_numbers(self):
        graph = mdt.NeighborsTransformer(1).fit_transform(np.array([[0], [1], [5]]))
        assert graph.dtype == np.float64
        assert graph.data.tolist() == [0.0, 1.0, 0.0, 1.0, 0.0, 4.0]

    def test_memory_layouts(self, rng):
        X = rng.normal(size=(60, 6))
        expected = mdt.NeighborsTransformer(5).fit_transform(X)
        read_only = X.copy()
        read_only.flags.writeable = False
        wide = np.repeat(X, 2, axis=1)
        for given_X in (np.asfortranarray(X), read_only, wide[:, ::2], X.tolist()):
            transformer = mdt.NeighborsTransformer(5)
            assert_same_bits(transformer.fit_transform(given_X), expected)
            assert_same_bits(transformer.transform(given_X), expected)

    @pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
    @pytest.mark.parametrize("metric", ["euclidean", "manhattan"])
    @pytest.mark.parametrize("exponent", [-1000, -700, 700, 1000])
    def test_extreme_scales(self, rng, exponent, metric, make):
        X = rng.normal(size=(40, 3))
        transformer = mdt.NeighborsTransformer(4, metric=metric)
        expected = transformer.fit_transform(make(X))
        # Powers of two, which round nothing.
        X = np.ldexp(X, exponent)
        for graph in (transformer.fit_transform(make(X)), transformer.transform(make(X))):
            np.testing.assert_array_equal(graph.indices, expected.indices)
            np.testing.assert_allclose(graph.data, np.ldexp(expected.data, exponent), rtol=1e-12)

    def test_distances_that_single_precision_cannot_hold(self):
        X = np.array([[3e38, 3e38], [-3e38, -3e38], [0, 0]], dtype=np.float32)
        expected = "X: expected numbers whose distances do not exceed the range of float32"
        with pytest.raises(ValueError, match=expected):
            mdt.NeighborsTransformer(1).fit_transform(X)
        with pytest.raises(ValueError, match=expected):
            mdt.NeighborsTransformer(1).fit(X).transform(X)
        assert np.isfinite(mdt.NeighborsTransformer(1).fit_transform(X.astype(np.float64)).data).all()

    def test_distances_that_double_precision_cannot_hold(self):
        X = np.array([[1.7e308], [-1.7e308]])
        with pytest.raises(ValueError, match="X: expected numbers whose distances do not exceed the range of float64"):
            mdt.NeighborsTransformer(1).fit_transform(X)


class TestApproximateSearch:
    @pytest.mark.parametrize("method", ["approx", mdt.ApproximateNeighbors(recall=0.9)])
    def test_recall(self, rng, method):
        X = rng.normal(size=(3000, 12)).astype(np.float32)
        transformer = mdt.NeighborsTransformer(15, method=method)
        found, distances = rows_of(transformer.fit_transform(X))
        exact, _ = rows_of(mdt.NeighborsTransformer(15, method="exact").fit_transform(X))
        share = np.mean([len(set(a[1:]) & set(b[1:])) / 15 for a, b in zip(found, exact, strict=True)])
        recall = 0.95 if method == "approx" else method.recall
        assert recall < share < 1.0
        np.testing.assert_array_equal(found[:, 0], np.arange(3000))
        assert (np.diff(distances, axis=1) >= 0).all()
        assert transformer.method_ == mdt.ApproximateNeighbors(recall)

    def test_is_that_of_the_function(self, rng):
        X = rng.normal(size=(2500, 10))
        indices, distances = rows_of(mdt.NeighborsTransformer(8, method="approx", random_state=3).fit_transform(X))
        expected = mdt.nearest_neighbors(X, 8, method="approx", random_state=3)
        np.testing.assert_array_equal(indices[:, 1:], expected[0])
        np.testing.assert_array_equal(distances[:, 1:], expected[1])

    def test_new_samples_have_exact_neighbours(self, rng):
        X = rng.normal(size=(2500, 10))
        approximate = mdt.NeighborsTransformer(8, method="approx").fit(X)
        exact = mdt.NeighborsTransformer(8, method="exact").fit(X)
        assert_same_bits(approximate.transform(X[:200]), exact.transform(X[:200]))

    def test_the_search_is_recorded(self, rng, monkeypatch):
        X = rng.normal(size=(300, 10))
        assert mdt.NeighborsTransformer(8).fit(X).method_ == "exact"
        monkeypatch.setattr("mdt_fast._graphs.approximate._TIMES_FASTER", 0.0)
        assert mdt.NeighborsTransformer(8).fit(X).method_ == mdt.ApproximateNeighbors(0.95)
        assert mdt.NeighborsTransformer(8, method="exact").fit(X).method_ == "exact"
        assert mdt.NeighborsTransformer(8).fit(sparse.csr_array(X)).method_ == "exact"

    @pytest.mark.parametrize("method", ["exact", "approx"])
    def test_same_bits_at_any_number_of_threads(self, rng, method):
        X = rng.normal(size=(4000, 20)).astype(np.float32)
        graphs = [mdt.NeighborsTransformer(10, method=method, n_jobs=jobs).fit_transform(X) for jobs in (1, 2, 3, None)]
        for graph in graphs[1:]:
            assert_same_bits(graph, graphs[0])
        new = [mdt.NeighborsTransformer(10, n_jobs=jobs).fit(X).transform(X[:300]) for jobs in (1, 3)]
        assert_same_bits(*new)


class TestFitted:
    def test_overwritten_samples_do_not_matter(self, rng):
        X = rng.normal(size=(40, 3))
        new = X[:5].copy()
        transformer = mdt.NeighborsTransformer(3).fit(X)
        before = transformer.transform(new)
        X[...] = 0
        assert_same_bits(transformer.transform(new), before)

    def test_read_only_samples_are_not_copied(self, rng):
        X = rng.normal(size=(40, 3))
        X.flags.writeable = False
        assert mdt.NeighborsTransformer(3).fit(X)._training is X

    @pytest.mark.parametrize("make", [np.asarray, sparse.csr_array])
    def test_pickle(self, rng, make):
        X = make(rng.normal(size=(40, 3)))
        transformer = mdt.NeighborsTransformer(3, method=mdt.ApproximateNeighbors(0.9)).fit(X)
        again = pickle.loads(pickle.dumps(transformer))
        assert_same_bits(again.transform(X), transformer.transform(X))
        assert again.method_ == transformer.method_

    def test_parameters_set_later_apply(self, rng):
        X = rng.normal(size=(40, 3))
        transformer = mdt.NeighborsTransformer(3).fit(X)
        transformer.set_params(n_neighbors=5, mode="connectivity")
        assert_same_bits(transformer.transform(X), mdt.NeighborsTransformer(5, mode="connectivity").fit(X).transform(X))

    def test_frames(self, rng):
        pandas = pytest.importorskip("pandas")
        X = pandas.DataFrame(rng.normal(size=(20, 2)), columns=["a", "b"])
        transformer = mdt.NeighborsTransformer(3)
        graph = transformer.fit_transform(X)
        assert transformer.feature_names_in_.tolist() == ["a", "b"]
        assert_same_bits(transformer.transform(X), graph)
        with pytest.raises(ValueError, match="feature names"):
            transformer.transform(X[["b", "a"]])


class TestWrongArguments:
    @pytest.mark.parametrize(
        ("parameters", "error", "match"),
        [
            ({"n_neighbors": 12}, ValueError, "n_neighbors: expected an integer >= 1 and <= 11, got 12"),
            (
                {"n_neighbors": 13, "mode": "connectivity"},
                ValueError,
                "n_neighbors: expected an integer >= 1 and <= 12, got 13",
            ),
            ({"n_neighbors": 0}, ValueError, "n_neighbors: expected an integer >= 1 and <= 11, got 0"),
            ({"n_neighbors": 2.0}, TypeError, "n_neighbors: expected an integer"),
            ({"metric": "l2"}, ValueError, "metric: expected one of 'euclidean', .*, got 'l2'"),
            ({"metric": "precomputed"}, ValueError, "metric: expected one of .*, got 'precomputed'"),
            ({"mode": "weights"}, ValueError, "mode: expected one of 'distance', 'connectivity', got 'weights'"),
            ({"method": "brute"}, ValueError, "method: expected one of 'auto', 'exact', 'approx', got 'brute'"),
            ({"method": 3}, TypeError, "method: expected 'auto', 'exact', 'approx' or ApproximateNeighbors, got 3"),
            ({"method": "approx", "metric": "manhattan"}, ValueError, "expected 'auto' or 'exact' for metric='manhatt"),
            ({"random_state": -1}, ValueError, "random_state: expected an integer >= 0"),
            ({"n_jobs": 0}, ValueError, "n_jobs: expected a number of threads"),
        ],
    )
    def test_parameters(self, rng, parameters, error, match):
        X = rng.normal(size=(12, 3))
        transformer = mdt.NeighborsTransformer(**{"n_neighbors": 3, **parameters})
        with pytest.raises(error, match=match):
            transformer.fit(X)
        with pytest.raises(error, match=match):
            transformer.fit_transform(X)

    def test_new_samples(self, rng):
        transformer = mdt.NeighborsTransformer(3).fit(rng.normal(size=(12, 3)))
        with pytest.raises(ValueError, match="X has 2 features, but NeighborsTransformer is expecting 3 features"):
            transformer.transform(np.zeros((4, 2)))
        with pytest.raises(ValueError, match="NaN"):
            transformer.transform(np.full((4, 3), np.nan))
        with pytest.raises(ValueError, match="n_neighbors: expected an integer >= 1 and <= 11, got 20"):
            transformer.set_params(n_neighbors=20).transform(np.zeros((4, 3)))

    def test_undefined_distances(self, rng):
        X = rng.normal(size=(12, 3))
        transformer = mdt.NeighborsTransformer(3, metric="cosine").fit(X)
        with pytest.raises(ValueError, match=r"X \(view 0\): row 1 is all zeros: its cosine distance is undefined"):
            transformer.transform([X[0], np.zeros(3)])
        X[7] = 0
        with pytest.raises(ValueError, match="row 7 is all zeros"):
            transformer.fit_transform(X)

    def test_a_failed_fit_transform_sets_no_graph(self):
        transformer = mdt.NeighborsTransformer(1, metric="cosine")
        with pytest.raises(ValueError, match="row 0 is all zeros"):
            transformer.fit_transform(np.zeros((3, 2)))
        assert not hasattr(transformer, "n_samples_fit_")

    def test_targets_of_several_columns_are_ignored(self, rng):
        X, Y = rng.normal(size=(30, 3)), rng.normal(size=(30, 2))
        regression = KNeighborsRegressor(4, metric="precomputed")
        found = make_pipeline(mdt.NeighborsTransformer(4), regression).fit(X, Y).predict(X[:5])
        np.testing.assert_allclose(found, KNeighborsRegressor(4).fit(X, Y).predict(X[:5]))
