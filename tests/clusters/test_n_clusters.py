"""The number of clusters: its score against a direct one, and easy, hard and unusual inputs."""

import numpy as np
import pytest
from sklearn.cluster import KMeans

import mdt_fast as mdt
from mdt_fast._clusters.n_clusters import _counts, _most, _near_best, _Point, _rival, _score, _walks


@pytest.fixture(scope="module")
def blobs():
    return mdt.datasets.make_multiview_blobs(240, n_clusters=4, random_state=0).views


def with_joint(views):
    named = {f"view {i}": X for i, X in enumerate(views)}
    return named | {"joint": np.hstack([X / np.sqrt(X.var(axis=0).sum()) for X in views])}


def test_score_equals_the_dense_one(blobs):
    ops = mdt.build_operators(blobs, kernel="adaptive")
    P = sum(view.toarray() for view in ops.views) / ops.n_views
    U = np.linalg.svd(P @ P)[0][:, :4]
    rows = U / np.linalg.norm(U, axis=1, keepdims=True)
    within = KMeans(4, n_init=10, random_state=0).fit(rows).inertia_ / len(rows)
    chosen = mdt.select_n_clusters(ops, max_clusters=6)
    at = chosen.counts.tolist().index(4)
    assert chosen.variance[at] == pytest.approx(rows.var(axis=0).sum(), abs=1e-4)
    assert chosen.within[at] == pytest.approx(within, abs=1e-4)
    np.testing.assert_allclose(chosen.scores, chosen.variance - 4 * chosen.within)


def test_score_of_perfect_clusters():
    labels = np.repeat(np.arange(3), [5, 10, 15])
    point = _score(np.eye(3)[labels] / np.sqrt([5, 10, 15]), 3, None)
    shares = np.array([5, 10, 15]) / 30
    assert point.within == pytest.approx(0, abs=1e-12)
    assert point.score == pytest.approx(1 - np.sum(shares**2))
    assert _score(np.ones((5, 2)), 2, None) is None


def test_candidate_counts():
    assert _counts(2) == [2]
    assert _counts(30) == list(range(2, 31))
    many = _counts(125)
    assert many[-1] == 125
    assert (np.diff(many) > 0).all()
    points = {k: _Point(score, 0.0) for k, score in {30: 0.1, 33: 0.2, 36: 0.3, 39: 0.1}.items()}
    assert list(_near_best(points)) == [33, 34, 35, 36, 37, 38]


def test_default_of_the_largest_count():
    assert [_most(n, None) for n in (3, 25, 400, 1600, 10**6)] == [2, 5, 60, 120, 120]
    assert [_most(n, 50) for n in (3, 100, 1000)] == [2, 20, 50]


def test_walks(blobs):
    ops = mdt.build_operators(with_joint(blobs)).with_identity()
    mean, joint = _walks(ops)
    np.testing.assert_allclose(mean, [*[1 / ops.n_views] * ops.n_views, 0])
    assert ops.names[np.argmax(joint)] == "joint"
    assert len(_walks(mdt.build_operators(blobs))) == 1
    assert len(_walks(mdt.build_operators({"joint": blobs[0]}))) == 1


@pytest.mark.parametrize(("n_clusters", "dtype"), [(3, "float32"), (6, "float64"), (20, "float64")])
@pytest.mark.parametrize("has_joint", [False, True])
def test_separate_clusters(n_clusters, dtype, has_joint):
    views = mdt.datasets.make_multiview_blobs(600, n_clusters=n_clusters, n_views=2, random_state=1).views
    ops = mdt.build_operators(with_joint(views) if has_joint else views, kernel="adaptive", dtype=dtype)
    chosen = mdt.select_n_clusters(ops)
    assert chosen.n_clusters == n_clusters
    assert chosen.clear
    assert len(chosen.counts) == len(chosen.scores)
    assert repr(chosen) == f"ClusterSelection(n_clusters={n_clusters}, of 2 to 74)"


def test_clusters_of_unequal_sizes():
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(3), [500, 60, 40])
    views = [5 * rng.standard_normal((3, 4))[labels] + rng.standard_normal((600, 4)) for _ in range(2)]
    assert mdt.select_n_clusters(mdt.build_operators(with_joint(views), kernel="adaptive")).n_clusters == 3


def test_the_joint_view_shows_what_no_view_shows():
    rng = np.random.default_rng(0)
    labels = np.arange(600) % 6
    views = [
        np.column_stack([10.0 * part, *rng.standard_normal((2, 600))]) + 0.5 * rng.standard_normal((600, 3))
        for part in (labels // 2, labels % 2)
    ]
    ops = mdt.build_operators(with_joint(views), kernel="adaptive", anisotropy=1.0, n_neighbors=10)
    assert mdt.select_n_clusters(ops).n_clusters == 6


def test_one_cluster_is_in_doubt():
    views = list(np.random.default_rng(0).standard_normal((2, 300, 5)))
    ops = mdt.build_operators(with_joint(views), kernel="adaptive")
    with pytest.warns(mdt.ClusterSelectionWarning, match="2, is in doubt: the samples have no clear clusters"):
        chosen = mdt.select_n_clusters(ops)
    assert not chosen.clear
    assert "in doubt: the samples have no clear clusters" in repr(chosen)


def test_rivals():
    counts = np.arange(2, 9)
    scores = np.array([0.1, 0.5, 0.4, 0.4, 0.49, 0.2, 0.1])
    assert _rival(counts, scores, 3, 8) == "6 clusters fit nearly as well"
    assert _rival(counts, scores, 5, 5) == "3 clusters fit nearly as well"
    assert _rival(counts[:3], np.array([0.1, 0.2, 0.5]), 4, 4) == "4 is the largest number that was tried"
    assert _rival(counts[:3], np.array([0.1, 0.5, 0.2]), 3, 4) is None


def test_same_at_any_seed_time_and_number_of_threads(blobs):
    ops = mdt.build_operators(blobs)
    first, *others = (
        mdt.select_n_clusters(ops, t=t, random_state=seed, n_jobs=n_jobs)
        for t, seed, n_jobs in (("auto", 0, 1), (3, 1, 3), (9, None, 2))
    )
    for other in others:
        np.testing.assert_array_equal(first.scores, other.scores)
        assert first.n_clusters == other.n_clusters


@pytest.mark.filterwarnings("ignore::mdt_fast.ClusterSelectionWarning", "ignore::mdt_fast.OperatorWarning")
def test_search_and_estimator_take_auto(blobs):
    ops = mdt.build_operators(blobs, kernel="adaptive")
    expected = mdt.select_n_clusters(ops, t=3).n_clusters
    found = mdt.search(ops, "auto", strategy="mean", t=3)
    assert found.settings["n_clusters"] == expected
    model = mdt.MDTClustering("auto", t=3).fit(blobs)
    assert model.n_clusters_ == expected == len(np.unique(model.labels_))
    assert mdt.MDTClustering("auto", strategy="beam", kernel="adaptive", t=3).fit(blobs).n_clusters_ == expected


@pytest.mark.filterwarnings("ignore::mdt_fast.ClusterSelectionWarning", "ignore::mdt_fast.OperatorWarning")
def test_few_and_equal_samples():
    X = np.repeat([[0.0, 0.0], [0.0, 1.0], [5.0, 5.0]], 20, axis=0)
    chosen = mdt.select_n_clusters(mdt.build_operators([X, X], n_neighbors=25), t=2)
    assert np.isfinite(chosen.scores).all()
    tiny = mdt.build_operators([np.arange(4.0)[:, None]], n_neighbors=2)
    assert mdt.select_n_clusters(tiny, t=1).n_clusters == 2
    same = mdt.OperatorSet.from_transitions([np.full((12, 12), 1 / 12)])
    with pytest.raises(ValueError, match="ops: expected samples that differ, got only equal ones"):
        mdt.select_n_clusters(same)


def test_separate_components():
    P = np.kron(np.eye(3), np.full((10, 10), 0.1))
    chosen = mdt.select_n_clusters(mdt.OperatorSet.from_transitions([P]))
    assert chosen.n_clusters == 3
    assert chosen.scores.max() == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_clusters": 1}, "max_clusters: expected an integer >= 2, got 1"),
        ({"t": 0}, "t: expected"),
        ({"t": "long"}, "t: expected 'auto' or an integer"),
    ],
)
def test_bad_input(blobs, options, message):
    with pytest.raises(ValueError, match=message):
        mdt.select_n_clusters(mdt.build_operators(blobs), **options)
    with pytest.raises(TypeError, match="ops: expected an OperatorSet, got list"):
        mdt.select_n_clusters(blobs)


def test_other_strings_than_auto_are_refused(blobs):
    with pytest.raises(ValueError, match="n_clusters: expected an integer, 'auto' or None, got 'many'"):
        mdt.search(mdt.build_operators(blobs), "many")


def test_plot(blobs):
    pytest.importorskip("matplotlib").use("Agg")
    chosen = mdt.select_n_clusters(mdt.build_operators(blobs), max_clusters=6, t=2)
    ax = chosen.plot()
    assert ax.get_xlabel() == "number of clusters"
    assert len(ax.get_lines()) >= 3
