"""Operators of views that lack samples, against walks built from the present samples alone."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse.csgraph import connected_components

import mdt_fast as mdt
from mdt_fast import OperatorWarning


def random_views(seed, *, n=None, n_views=None, share=0.7):
    """Return views, and which samples each has: at least four each, and each sample in some view."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(12, 60)) if n is None else n
    n_views = int(rng.integers(2, 5)) if n_views is None else n_views
    has = rng.random((n, n_views)) < share
    has[np.arange(n), rng.integers(n_views, size=n)] = True
    has[:4] = True
    return [rng.normal(size=(n, int(rng.integers(1, 5)))) for _ in range(n_views)], has


def with_nan(views, has):
    return [np.where(mask[:, np.newaxis], X, np.nan) for X, mask in zip(views, has.T, strict=True)]


def explicit(views, has, absent, **how):
    """Return the step of each view as a dense matrix, by definition."""
    n = len(has)
    own = np.zeros((len(views), n, n))
    for v, X in enumerate(views):
        samples = np.flatnonzero(has[:, v])
        own[v][np.ix_(samples, samples)] = mdt.build_operators([X[samples]], **how)[0].toarray()
    steps = own.copy()
    for v, i in np.argwhere(~has.T):
        steps[v, i] = own[has[i], i].mean(axis=0) if absent == "borrow" else np.eye(n)[i]
    return steps


@given(seed=st.integers(0, 10**6), share=st.sampled_from([0.3, 0.6, 0.9]), absent=st.sampled_from(["borrow", "stay"]))
def test_steps_are_those_of_the_definition(seed, share, absent):
    views, has = random_views(seed, share=share)
    ops = mdt.build_operators(with_nan(views, has), absent=absent, n_neighbors=3)
    expected = explicit(views, has, absent, n_neighbors=3)
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(len(has), 4))
    for v, step in enumerate(expected):
        np.testing.assert_allclose(ops[v].toarray(), step, atol=1e-13)
        np.testing.assert_allclose(ops.trajectory([v]) @ F, step @ F, atol=1e-12)
        np.testing.assert_allclose(ops.trajectory([v]).T @ F, step.T @ F, atol=1e-12)
        assert (np.diagonal(step) > 0).all()
    weights = rng.dirichlet(np.ones(len(views)), size=3)
    W = np.linalg.multi_dot([np.tensordot(row, expected, axes=1) for row in weights[::-1]])
    found = ops.trajectory(weights)
    np.testing.assert_allclose(W.sum(axis=1), 1.0)
    np.testing.assert_allclose(found @ F, W @ F, atol=1e-12)
    np.testing.assert_allclose(found.T @ F, W.T @ F, atol=1e-12)
    np.testing.assert_allclose(found.tosparse().toarray(), W, atol=1e-12)
    np.testing.assert_array_equal(ops.present, has)


@given(seed=st.integers(0, 10**6))
def test_a_sample_that_is_given_again_gets_its_own_rows(seed):
    views, has = random_views(seed)
    given_views = with_nan(views, has)
    ops = mdt.build_operators(given_views, n_neighbors=3, joint=True)
    for found, stored in zip(ops.new_rows(given_views), ops.views, strict=True):
        np.testing.assert_allclose(found.toarray(), stored.toarray(), atol=1e-12)


@pytest.mark.parametrize("absent", ["borrow", "stay"])
def test_with_nothing_missing_no_bit_changes(views, absent):
    expected = mdt.build_operators(views, joint=True)
    ops = mdt.build_operators(views, joint=True, absent=absent, present=np.ones((40, 3), dtype=bool))
    assert not ops.has_absences
    for stored, plain in zip(ops.views, expected.views, strict=True):
        np.testing.assert_array_equal(stored.data, plain.data)
        np.testing.assert_array_equal(stored.indices, plain.indices)


def test_the_union_of_the_graphs_decides_what_is_connected():
    """Two halves that only the first view joins, and a view of one half."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    Y = rng.normal(size=(40, 2))
    Y[20:] = np.nan
    ops = mdt.build_operators([X, Y], n_neighbors=4)
    parts = connected_components(ops[0], directed=True, connection="strong", return_labels=False)
    assert parts == connected_components(ops[0] + ops[1], directed=True, connection="strong", return_labels=False)
    # A step of the view with holes leaves a sample that it lacks along the other view.
    np.testing.assert_allclose(ops[1].toarray()[20:], ops[0].toarray()[20:])


def test_all_samples_but_a_few_are_absent():
    rng = np.random.default_rng(1)
    X, Y = rng.normal(size=(30, 3)), np.full((30, 2), np.nan)
    Y[[3, 17]] = [[0.0, 1.0], [1.0, 0.0]]
    ops = mdt.build_operators([X, Y])
    expected = ops[0].toarray()
    expected[[3, 17]] = 0.0
    expected[np.ix_([3, 17], [3, 17])] = mdt.build_operators([Y[[3, 17]]])[0].toarray()
    np.testing.assert_allclose(ops[1].toarray(), expected)


def test_single_precision_and_sparse_views():
    views, has = random_views(7, n=50, n_views=2)
    first = with_nan([views[0].astype(np.float32)], has[:, :1])[0]
    second = sparse.random_array((50, 30), density=0.2, random_state=0, format="csr", dtype=np.float32)
    ops = mdt.build_operators([first, second], n_neighbors=3, metric=["euclidean", "cosine"])
    assert ops.dtype == np.float32
    zero = np.diff(second.indptr) == 0
    np.testing.assert_array_equal(ops.present[:, 1], ~(zero & has[:, 0]))
    for P in ops.views:
        np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-5)


def test_pickles_and_larger_sets_keep_the_absences():
    views, has = random_views(3)
    ops = mdt.build_operators(with_nan(views, has), n_neighbors=3, joint=True).with_mean().with_powers([2])
    again = pickle.loads(pickle.dumps(ops))
    assert again.has_same_members(ops)
    F = np.random.default_rng(0).normal(size=(len(has), 3))
    weights = np.full((2, len(ops)), 1 / len(ops))
    np.testing.assert_array_equal(again.trajectory(weights) @ F, ops.trajectory(weights) @ F)
    dense = [ops[v].toarray() for v in range(ops.n_views)]
    np.testing.assert_allclose(ops.trajectory(["mean"]) @ F, sum(dense) @ F / len(dense))
    square = ops.trajectory([ops.names.index("view 0^2")])
    np.testing.assert_allclose(square.T @ F, (dense[0] @ dense[0]).T @ F, atol=1e-12)


def test_borrowing_walks_are_not_reversible():
    views, has = random_views(3)
    ops = mdt.build_operators(with_nan(views, has), n_neighbors=3)
    with pytest.raises(ValueError, match="eigenvectors need a trajectory that repeats one reversible walk"):
        mdt.embed(ops.trajectory([0, 0]), 2, decomposition="eigen")
    with pytest.raises(ValueError, match="which is a reversible walk"):
        mdt.select_time(ops.trajectory([0]), method="spectral")
    stays = mdt.build_operators(with_nan(views, has), n_neighbors=3, absent="stay")
    with pytest.warns(OperatorWarning):
        mdt.embed(stays.trajectory([0, 0]), 2, decomposition="eigen")


def test_samples_to_which_no_walk_returns_count_nothing():
    """Repeated steps of a view end among its own samples, whatever the number of passes."""
    views, has = random_views(3, n=30, n_views=2)
    ops = mdt.build_operators(with_nan(views, has), n_neighbors=4)
    W = ops.trajectory([1] * 4)
    np.testing.assert_array_equal(W.stationary_distribution()[~has[:, 1]], 0.0)
    assert np.isfinite(W.diffusion_distances(range(30), weighting="stationary")).all()
    with pytest.raises(ValueError, match="weighting: expected 'uniform', because the stationary distribution is 0"):
        mdt.embed(W, 2, weighting="stationary")


class TestScores:
    def test_each_view_judges_the_samples_that_it_has(self):
        blobs = mdt.datasets.make_multiview_blobs(120, n_clusters=3, random_state=0)
        _, has = random_views(5, n=120, n_views=2)
        ops = mdt.build_operators(with_nan(blobs.views, has))
        for name in ("calinski_harabasz", "persistence", "information", "davies_bouldin", "silhouette"):
            score = getattr(mdt.quality, name)
            expected = [
                score(mdt.build_operators([X[mask]]), blobs.target[mask])
                for X, mask in zip(blobs.views, has.T, strict=True)
            ]
            np.testing.assert_allclose(score(ops, blobs.target, per_view=True), expected, rtol=1e-10)
            shares = has.mean(axis=0) / has.mean(axis=0).sum()
            assert score(ops, blobs.target) == pytest.approx(np.dot(shares, expected))
            assert score(ops, blobs.target, view_weights=[1, 0]) == pytest.approx(expected[0])

    def test_a_search_scores_as_the_functions_do(self):
        blobs = mdt.datasets.make_multiview_blobs(120, n_clusters=3, random_state=0)
        _, has = random_views(6, n=120, n_views=2)
        ops = mdt.build_operators(with_nan(blobs.views, has), joint=True)
        result = mdt.search(ops, 3, strategy=[0, 1], quality="calinski_harabasz")
        assert result.labels is not None
        assert result.score == pytest.approx(mdt.quality.calinski_harabasz(ops, result.labels))

    def test_a_view_whose_samples_are_in_one_cluster_does_not_count(self):
        rng = np.random.default_rng(0)
        X = np.vstack([rng.normal(size=(20, 2)), rng.normal(size=(20, 2)) + 20])
        Y = rng.normal(size=(40, 2))
        Y[20:] = np.nan
        ops = mdt.build_operators([X, Y], n_neighbors=5)
        labels = np.repeat([0, 1], 20)
        scores = mdt.quality.persistence(ops, labels, per_view=True)
        assert np.isnan(scores[1])
        assert mdt.quality.persistence(ops, labels) == pytest.approx(scores[0])


def test_the_contrastive_loss_is_that_of_the_explicit_matrices():
    views, has = random_views(11, n=40, n_views=2)
    ops = mdt.build_operators(with_nan(views, has), n_neighbors=4)
    weights = np.random.default_rng(0).dirichlet(np.ones(2), size=3)
    loss, slope = mdt.quality.contrastive_loss(ops, weights, gradient=True)
    assert loss == pytest.approx(contrastive_by_definition(ops, has, weights))
    width = 1e-6
    for place in np.ndindex(weights.shape):
        ahead, behind = weights.copy(), weights.copy()
        ahead[place] += width
        behind[place] -= width
        difference = contrastive_by_definition(ops, has, ahead) - contrastive_by_definition(ops, has, behind)
        assert slope[place] == pytest.approx(difference / (2 * width), rel=1e-4, abs=1e-4)


def contrastive_by_definition(ops, has, weights):
    """Return the contrastive loss with explicit matrices; a sample has no neighbours in a view that lacks it."""
    steps = [P.toarray() for P in ops.views]
    W = np.linalg.multi_dot([sum(a * P for a, P in zip(row, steps, strict=True)) for row in weights[::-1]])
    others = ~np.eye(len(W), dtype=bool)
    logs = np.log(np.where(others, np.exp(W), 0.0).sum(axis=1, keepdims=True))
    pairs = [(P > 0) & others & mask[:, np.newaxis] for P, mask in zip(steps, has.T, strict=True)]
    return sum(np.sum((logs - W)[each]) for each in pairs) / len(pairs)


class TestCheck:
    def test_counts_samples_and_zero_rows(self):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(30, 3))
        Y = sparse.csr_array(np.where(np.arange(30)[:, np.newaxis] < 25, rng.random((30, 4)) + 0.1, 0.0))
        report = mdt.build_operators([X, Y], n_neighbors=4).check(warn=False)
        assert [member.n_present for member in report.members] == [30, 25]
        assert [member.n_zero for member in report.members] == [0, 5]
        assert any("5 of 30 samples have only zeros" in warning for warning in report.warnings)
        assert "samples" in str(report).splitlines()[1]


class TestZeroRows:
    def views(self):
        rng = np.random.default_rng(0)
        Y = rng.random((20, 4)) + 0.1
        Y[[2, 5]] = 0.0
        return rng.normal(size=(20, 3)), Y

    def test_forms(self):
        X, Y = self.views()
        rows = sparse.csr_array(Y)
        assert mdt.build_operators([X, rows], n_neighbors=3).present.sum(axis=0).tolist() == [20, 18]
        assert not mdt.build_operators([X, rows], n_neighbors=3, zero_rows="keep").has_absences
        with pytest.raises(ValueError, match=r"Xs \(view 1\): expected rows with a number that is not 0, .* at row 2"):
            mdt.build_operators([X, rows], n_neighbors=3, zero_rows="error")
        with pytest.raises(ValueError, match="zero_rows: expected one of"):
            mdt.build_operators([X, rows], zero_rows="drop")

    def test_only_in_sparse_views_and_with_the_cosine(self):
        X, Y = self.views()
        assert not mdt.build_operators([X, Y], n_neighbors=3).has_absences
        ops = mdt.build_operators([X, Y], n_neighbors=3, metric=["euclidean", "cosine"])
        assert ops.present.sum(axis=0).tolist() == [20, 18]

    def test_a_sample_without_another_view_stays(self):
        X, Y = self.views()
        X[2] = np.nan
        ops = mdt.build_operators([X, sparse.csr_array(Y)], n_neighbors=3)
        assert ops.present.sum(axis=0).tolist() == [19, 19]
        assert ops.present[2].tolist() == [False, True]


class TestRefused:
    def test_a_sample_in_no_view(self):
        X = np.random.default_rng(0).normal(size=(10, 2))
        X[3] = np.nan
        with pytest.raises(ValueError, match=r"expected every sample in at least one view, got 1 in none .* row 3"):
            mdt.build_operators([X, X])

    def test_too_few_samples(self):
        X = np.random.default_rng(0).normal(size=(10, 2))
        Y = np.full((10, 2), np.nan)
        Y[0] = 1.0
        with pytest.raises(ValueError, match=r"Xs \(view 1\): expected at least 2 samples, got 1"):
            mdt.build_operators([X, Y])

    def test_part_of_a_row(self):
        X = np.random.default_rng(0).normal(size=(10, 2))
        Y = X.copy()
        Y[2], Y[4, 1] = np.nan, np.nan
        with pytest.raises(ValueError, match=r"got nan at row 4, column 1; .* a row of NaN only is a sample"):
            mdt.build_operators([X, Y])

    def test_graphs_and_distances(self):
        X = np.random.default_rng(0).normal(size=(10, 2))
        D = np.linalg.norm(X[:, np.newaxis] - X, axis=2)
        D[3] = np.nan
        with pytest.raises(ValueError, match="in a view that lacks samples, got metric='precomputed'"):
            mdt.build_operators([X, D], metric=["euclidean", "precomputed"])

    @pytest.mark.parametrize("absent", ["drop", None, 3])
    def test_other_modes(self, absent):
        with pytest.raises((TypeError, ValueError), match="absent: expected"):
            mdt.build_operators(np.random.default_rng(0).normal(size=(10, 2)), absent=absent)
