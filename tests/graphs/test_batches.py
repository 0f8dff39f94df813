"""Graphs of samples in batches: the rule against a slow one, invariants, arguments, estimators."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.metrics import adjusted_mutual_info_score
from threadpoolctl import threadpool_limits

import mdt_fast as mdt
from helpers import oracle
from helpers.hostile import VIEWS


def nearest(D, k):
    """The k nearest columns of each row, by (distance, index)."""
    return np.argsort(D, axis=1, kind="stable")[:, :k]


def mutual(D, k):
    """Which rows and columns of a matrix of distances chose each other."""
    chose, was_chosen = np.zeros(D.shape, bool), np.zeros(D.shape, bool)
    for i, columns in enumerate(nearest(D, min(k, D.shape[1]))):
        chose[i, columns] = True
    for j, rows in enumerate(nearest(D.T, min(k, D.shape[0]))):
        was_chosen[rows, j] = True
    return chose & was_chosen


def slow_align(X, groups):
    moved = X.copy()
    for b in range(1, len(groups)):
        fixed, own = np.vstack([moved[group] for group in groups[:b]]), X[groups[b]]
        found = []
        for move in (np.zeros(X.shape[1]), own.mean(axis=0) - fixed.mean(axis=0)):
            before = None
            for _ in range(20):
                D = np.linalg.norm((own - move)[:, None] - fixed[None], axis=2)
                pairs = mutual(D, min(5, len(own), len(fixed)))
                if before is not None and (pairs == before).all():
                    break
                move, before = np.mean([own[i] - fixed[j] for i, j in np.argwhere(pairs)], axis=0), pairs
            found.append((np.count_nonzero(pairs), move))
        moved[groups[b]] -= found[1][1] if found[1][0] > found[0][0] else found[0][1]
    return moved


def slow_walk(X, batches, k):
    """The transition matrix by the definition, with dense matrices; adaptive kernel, mean of both directions."""
    n = len(X)
    groups = sorted((np.flatnonzero(batches == b) for b in np.unique(batches)), key=len, reverse=True)
    D = oracle.pairwise_distances(X, "euclidean")
    directed, radius = np.full((n, n), np.inf), np.zeros(n)
    for group in groups:
        own = D[np.ix_(group, group)] + np.diag(np.full(len(group), np.inf))
        for i, columns in zip(group, nearest(own, min(k, len(group) - 1)), strict=True):
            directed[i, group[columns]] = D[i, group[columns]]
            radius[i] = D[i, group[columns[-1]]]
    moved = oracle.pairwise_distances(slow_align(X, groups), "euclidean")
    relative = np.full((n, n), np.inf)
    for b in groups:
        own = min(k, int(np.ceil(8 * k * len(b) / n)), len(b))
        for i in np.setdiff1d(np.arange(n), b):
            chosen = b[nearest(moved[i : i + 1, b], own)[0]]
            relative[i, chosen] = moved[i, chosen] / moved[i, chosen[-1]]
    is_near = moved <= 1.5 * np.maximum(radius[:, None], radius[None, :])
    for i, j in np.argwhere(np.isfinite(relative) & np.isfinite(relative.T) & is_near):
        directed[i, j] = np.sqrt(radius[i] * radius[j] * relative[i, j] * relative[j, i])
    A = np.where(np.isfinite(directed), np.exp(-(directed**2) / np.outer(radius, radius)), 0.0)
    K = (A + A.T) / 2 + np.eye(n)
    return K / K.sum(axis=1, keepdims=True)


def shifted(rng, n=90, n_batches=2, d=5, shift=10.0):
    """Three clusters in each of several batches, which differ by a shift: samples, clusters, batches."""
    clusters, batches = np.arange(n) % 3, rng.integers(n_batches, size=n)
    centers, shifts = 6 * rng.normal(size=(3, d)), shift * rng.normal(size=(n_batches, d))
    return centers[clusters] + shifts[batches] + rng.normal(size=(n, d)), clusters, batches


def walk(X, batches, **how):
    return mdt.build_operators([X], kernel="adaptive", batches=batches, **how)[0]


class TestRule:
    @pytest.mark.parametrize("n_batches", [2, 3, 6])
    @pytest.mark.parametrize("k", [1, 4, 20])
    def test_equals_oracle(self, rng, n_batches, k):
        X, _, batches = shifted(rng, 100, n_batches)
        np.testing.assert_allclose(walk(X, batches, n_neighbors=k).toarray(), slow_walk(X, batches, k), atol=1e-12)

    def test_batch_smaller_than_k(self, rng):
        X, _, _ = shifted(rng)
        batches = np.zeros(90, int)
        batches[[3, 50, 77]] = 1
        np.testing.assert_allclose(walk(X, batches, n_neighbors=8).toarray(), slow_walk(X, batches, 8), atol=1e-12)

    def test_sample_alone_in_its_batch_is_in_the_largest(self, rng):
        X, _, batches = shifted(rng, n_batches=2)
        batches = np.where(np.arange(90) < 60, 0, 1)
        alone = np.where(np.arange(90) == 89, 2, batches)
        merged = np.where(np.arange(90) == 89, 0, batches)
        assert (walk(X, alone) != walk(X, merged)).nnz == 0

    def test_one_batch_has_the_same_bits(self, rng):
        X, _, _ = shifted(rng)
        plain, one = walk(X, None), walk(X, ["a"] * 90)
        np.testing.assert_array_equal(plain.data, one.data)
        np.testing.assert_array_equal(plain.indices, one.indices)

    @pytest.mark.parametrize("shift", [0.0, 3.0, 30.0, 1e6])
    def test_shifts_of_any_size(self, rng, shift):
        X, clusters, batches = shifted(rng, 300, 3, shift=shift)
        P = walk(X, batches).tocoo()
        across = batches[P.row] != batches[P.col]
        assert across.mean() > 0.3
        assert (clusters[P.row] == clusters[P.col])[across].mean() > 0.99

    def test_type_that_a_batch_lacks_stays_apart(self, rng):
        X, clusters, batches = shifted(rng, 300)
        kept = ~((clusters == 2) & (batches == 1))
        X, clusters, batches = X[kept], clusters[kept], batches[kept]
        P = walk(X, batches, n_neighbors=8).tocoo()
        leaves = (clusters[P.row] == 2) & (clusters[P.col] != 2)
        assert P.data[leaves].sum() < 0.05 * np.count_nonzero(clusters == 2)

    def test_types_that_either_batch_lacks_stay_apart(self, rng):
        X, clusters, batches = shifted(rng, 400)
        kept = ~((clusters == 2) & (batches == 1)) & ~((clusters == 1) & (batches == 0))
        P = walk(X[kept], batches[kept], n_neighbors=8).tocoo()
        across = batches[kept][P.row] != batches[kept][P.col]
        assert (clusters[kept][P.row] == clusters[kept][P.col])[across].mean() > 0.99

    @pytest.mark.parametrize("metric", ["euclidean", "manhattan", "cosine", "correlation"])
    @pytest.mark.parametrize("form", [np.asarray, np.float32, scipy.sparse.csr_array])
    def test_metrics_and_forms(self, rng, metric, form):
        X, _, batches = shifted(rng)
        P = walk(form(X), batches, metric=metric)
        np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-6)
        assert P[batches == 0][:, batches == 1].nnz > 20

    def test_sparse_views_are_not_moved(self, rng, monkeypatch):
        X, _, batches = shifted(rng, shift=1.0)
        found = walk(scipy.sparse.csr_array(X), batches)
        monkeypatch.setattr("mdt_fast._graphs.batches._MOVES", 0)
        np.testing.assert_allclose(found.toarray(), walk(X, batches).toarray(), atol=1e-12)

    def test_large_batches_are_aligned_by_some_samples(self, rng, monkeypatch):
        X, clusters, batches = shifted(rng, 600)
        monkeypatch.setattr("mdt_fast._graphs.batches._COMPARED", 100)
        P = walk(X, batches).tocoo()
        across = batches[P.row] != batches[P.col]
        assert across.sum() > 600
        assert (clusters[P.row] == clusters[P.col])[across].mean() > 0.99


class TestInvariants:
    @given(
        kind=st.sampled_from(sorted(VIEWS)),
        n=st.integers(4, 40),
        n_batches=st.integers(1, 5),
        seed=st.integers(0, 2**32 - 1),
        kernel=st.sampled_from(["adaptive", "gaussian", "binary"]),
    )
    def test_walks_are_reversible(self, kind, n, n_batches, seed, kernel):
        rng = np.random.default_rng(seed)
        X, batches = VIEWS[kind](rng, n), rng.integers(n_batches, size=n)
        assume(len(np.unique(batches)) < n)
        assume(any(len(np.unique(X[batches == b], axis=0)) > 1 for b in range(n_batches)))
        ops = mdt.build_operators([X], kernel=kernel, batches=batches)
        P = ops[0].toarray()
        np.testing.assert_allclose(P.sum(axis=1), 1, rtol=1e-6)
        np.testing.assert_array_equal(P > 0, P.T > 0)

    def test_affinity_is_symmetric(self, rng):
        X, _, batches = shifted(rng)
        P = walk(X, batches, anisotropy=0.0).toarray()
        # The diagonal of the affinity is 1, so that its inverse in the walk is the sum of a row.
        K = P / np.diagonal(P)[:, None]
        np.testing.assert_allclose(K, K.T, atol=1e-12)

    def test_every_batch_is_reached(self, rng):
        X, clusters, batches = shifted(rng, 300, 3)
        P = walk(X, batches)
        for a in range(3):
            for b in range(3):
                joined = P[batches == a][:, batches == b]
                assert joined.nnz > 0
                assert (np.diff(joined.indptr) > 0).mean() > 0.8
        rows, columns = P.nonzero()
        assert (clusters[rows] == clusters[columns]).mean() > 0.99

    def test_permuted_samples(self, rng):
        X, _, batches = shifted(rng, 80, 4)
        order = rng.permutation(80)
        expected = walk(X, batches).toarray()[np.ix_(order, order)]
        np.testing.assert_allclose(walk(X[order], batches[order]).toarray(), expected, atol=1e-12)

    def test_names_of_batches_do_not_matter(self, rng):
        X, _, batches = shifted(rng, 80, 3)
        names = np.array(["a", "b", "c"])[batches]
        expected = walk(X, batches)
        for form in (names, names.tolist(), pd.Categorical(names), pd.Series(names), names.astype("S1"), batches + 5):
            np.testing.assert_array_equal(walk(X, form).data, expected.data)

    @pytest.mark.parametrize("n_jobs", [2, 3])
    def test_same_bits_at_any_number_of_threads(self, rng, n_jobs):
        X, _, batches = shifted(rng, 700, 3)
        one = mdt.build_operators([X, X[:, :2]], joint=True, batches=batches, n_jobs=1)
        many = mdt.build_operators([X, X[:, :2]], joint=True, batches=batches, n_jobs=n_jobs)
        for v in range(3):
            np.testing.assert_array_equal(one[v].data, many[v].data)
            np.testing.assert_array_equal(one[v].indices, many[v].indices)

    @pytest.mark.parametrize("unit", [1e-200, 1e200, 1e308])
    def test_extreme_units(self, rng, unit):
        X, _, batches = shifted(rng, shift=1.0)
        X /= np.abs(X).max()
        P = walk(X * unit, batches)
        np.testing.assert_allclose(P.sum(axis=1), 1)
        assert P[batches == 0][:, batches == 1].nnz > 0

    def test_batches_of_copies(self, rng):
        X = np.repeat(rng.normal(size=(10, 3)), 9, axis=0)
        P = walk(X, np.arange(90) % 2, n_neighbors=4)
        assert np.isfinite(P.data).all()
        np.testing.assert_allclose(P.sum(axis=1), 1)


class TestSeveralViews:
    def test_views_that_lack_samples(self, rng):
        X, _, batches = shifted(rng)
        present = np.ones((90, 2), bool)
        present[rng.permutation(90)[:25], 1] = False
        has = present[:, 1]
        how = {"kernel": "adaptive", "n_neighbors": 4, "batches": batches}
        lacking = mdt.build_operators([X, X[:, :3]], present=present, **how)
        alone = mdt.build_operators([X[has][:, :3]], **how | {"batches": batches[has]})
        np.testing.assert_array_equal(lacking[1][has][:, has].toarray(), alone[0].toarray())

    def test_batch_that_a_view_lacks(self, rng):
        X, _, batches = shifted(rng)
        present = np.column_stack([np.ones(90, bool), batches == 0])
        lacking = mdt.build_operators([X, X[:, :3]], present=present, batches=batches, joint=True)
        plain = mdt.build_operators([X[batches == 0, :3]])
        np.testing.assert_array_equal(lacking[1][batches == 0][:, batches == 0].toarray(), plain[0].toarray())

    def test_joint_view_is_balanced(self, rng):
        X, clusters, batches = shifted(rng, 300)
        P = mdt.build_operators([X, X[:, ::-1] + 1.0], joint=True, batches=batches)[2].tocoo()
        assert (batches[P.row] != batches[P.col]).mean() > 0.2
        assert (clusters[P.row] == clusters[P.col]).mean() > 0.99


class TestArguments:
    @pytest.mark.parametrize(
        ("batches", "error", "match"),
        [
            (np.arange(90), ValueError, r"batches: expected several samples in a batch, got 90 batches for 90 samples"),
            (np.zeros(89, int), ValueError, r"batches: expected shape \(90,\), one label for each sample, got \(89,\)"),
            (np.zeros((90, 1), int), ValueError, r"batches: expected shape \(90,\)"),
            (np.zeros(90), TypeError, r"batches: expected integers or strings, got .*0.0.* at row 0"),
            (["a"] * 89 + [None], TypeError, r"batches: expected integers or strings, got None at row 89"),
            (pd.Series(["a", np.nan] * 45), TypeError, r"batches: expected integers or strings, got nan at row 1"),
            ("donor", TypeError, r"batches: expected one label for each sample, got the str 'donor'"),
            (3, (TypeError, ValueError), r"batches: expected"),
            (np.ma.masked_array(np.arange(90) % 2, np.arange(90) == 0), TypeError, r"batches: .*mask"),
        ],
    )
    def test_refused(self, rng, batches, error, match):
        X, _, _ = shifted(rng)
        with pytest.raises(error, match=match):
            mdt.build_operators([X], batches=batches)

    def test_given_graphs_are_refused(self, rng):
        X, _, batches = shifted(rng)
        D = oracle.pairwise_distances(X, "euclidean")
        with pytest.raises(
            ValueError, match=r"batches: expected views of features .* got metric='precomputed' \(view 0\)"
        ):
            mdt.build_operators([D], metric="precomputed", batches=batches)
        with pytest.raises(ValueError, match=r"batches: expected views of features .* got a given graph"):
            mdt.build_operators([X], neighbors=mdt.nearest_neighbors(X, 3), batches=batches)

    def test_batches_of_one_point_are_refused(self):
        X = np.repeat([[0.0, 1.0], [3.0, 4.0]], 5, axis=0)
        with pytest.raises(ValueError, match=r"batches \(view 0\): expected distinct samples in some batch"):
            mdt.build_operators([X], batches=np.repeat([0, 1], 5))

    def test_operator_sets_are_refused(self, rng):
        X, _, batches = shifted(rng)
        with pytest.raises(ValueError, match="batches: expected None beside an OperatorSet"):
            mdt.MDTClustering(3).fit(mdt.build_operators([X]), batches=batches)


class TestEstimators:
    def test_clusters_are_found_across_batches(self, rng):
        X, clusters, batches = shifted(rng, 300, 3)
        views = [X, X[:, ::-1] ** 3]
        plain = mdt.MDTClustering(3).fit_predict(views)
        balanced = mdt.MDTClustering(3).fit_predict(views, batches=batches)
        assert adjusted_mutual_info_score(clusters, plain) < 0.7
        assert adjusted_mutual_info_score(clusters, balanced) > 0.99

    def test_all_estimators_take_batches(self, rng):
        X, _, batches = shifted(rng)
        X *= 0.1  # noise of the size of the distances between clusters, so that the graph is connected
        X += rng.normal(size=X.shape)
        ops = mdt.build_operators([X], batches=batches)
        model = mdt.MDT(2).fit([X], batches=batches)
        np.testing.assert_array_equal(model.operators_[0].data, ops[0].data)
        np.testing.assert_array_equal(mdt.MDT(2).fit_transform([X], batches=batches), model.embedding_)
        baseline = mdt.baselines.DiffusionMaps(2).fit([X], batches=batches)
        np.testing.assert_array_equal(baseline.operators_[0].data, ops[0].data)

    @pytest.mark.filterwarnings("ignore:the steps of this trajectory leave")
    @pytest.mark.parametrize("strategy", ["consensus", "beam"])
    def test_new_samples(self, rng, strategy):
        X, clusters, batches = shifted(rng, 400)
        old, new = np.arange(400) < 300, np.arange(400) >= 300
        model = mdt.MDTClustering(3, strategy=strategy).fit([X[old]], batches=batches[old])
        assert adjusted_mutual_info_score(clusters[new], model.predict([X[new]])) > 0.95
        assert (model.remoteness([X[new]]) < 1.5).mean() > 0.9
        rows = model.operators_.new_rows([X[new]])[0]
        np.testing.assert_allclose(rows.sum(axis=1), 1)

    def test_new_samples_beside_a_small_batch(self, rng):
        X, _, _ = shifted(rng)
        batches = np.where(np.arange(90) < 3, "small", "large")
        rows = mdt.build_operators([X], n_neighbors=8, kernel="adaptive", batches=batches).new_rows([X[:5] + 0.01])[0]
        np.testing.assert_allclose(rows.sum(axis=1), 1)

    def test_harmony_recipe(self, rng):
        harmonypy = pytest.importorskip("harmonypy")
        X, clusters, batches = shifted(rng, 300, d=8, shift=1.0)
        meta = pd.DataFrame({"batch": batches.astype(str)})
        with threadpool_limits(1):
            corrected = harmonypy.run_harmony(X, meta, "batch", verbose=False).Z_corr
        assert corrected.shape == X.shape
        assert adjusted_mutual_info_score(clusters, mdt.MDTClustering(3).fit_predict([corrected])) > 0.9

    def test_n_jobs(self, rng):
        X, _, batches = shifted(rng, 200)
        labels = [mdt.MDTClustering(3, n_jobs=n_jobs).fit_predict([X], batches=batches) for n_jobs in (1, 2)]
        np.testing.assert_array_equal(*labels)
