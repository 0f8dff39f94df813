"""The number of clusters: its curves against dense ones, and easy and hard inputs."""

import numpy as np
import pytest

import mdt_fast as mdt
from mdt_fast._clusters.n_clusters import _counts, _information, _knee, _moving


@pytest.fixture(scope="module")
def blobs():
    return mdt.datasets.make_multiview_blobs(240, n_clusters=4, random_state=0).views


def test_information_equals_the_dense_walk(blobs):
    view = mdt.build_operators(blobs).views[0]
    labels = np.random.default_rng(0).integers(0, 3, view.shape[0]).astype(np.int32)
    dense = view.toarray()
    np.fill_diagonal(dense, 0)
    dense /= dense.sum(axis=1, keepdims=True)
    one_hot = np.eye(3)[labels]
    joint = one_hot.T @ np.linalg.matrix_power(dense, 4) @ one_hot / len(labels)
    entropies = [-np.sum(p * np.log(p)) for p in (joint.sum(axis=0), joint.sum(axis=1), joint)]
    assert _information(_moving(view), labels) == pytest.approx(entropies[0] + entropies[1] - entropies[2])


def test_absorbing_sample():
    P = np.array([[1.0, 0.0, 0.0], [0.0, 0.5, 0.5], [0.0, 0.25, 0.75]])
    ops = mdt.OperatorSet.from_transitions([P])
    np.testing.assert_allclose(_moving(ops.views[0]).toarray(), [[1, 0, 0], [0, 0, 1], [0, 1, 0]])


def test_candidate_counts():
    assert _counts(2).tolist() == [2]
    assert _counts(30).tolist() == list(range(2, 31))
    many = _counts(125)
    assert many[-1] == 125
    assert (np.diff(many) > 0).all()


def test_the_knee_is_where_the_curve_bends():
    x = np.log(np.arange(2, 12))
    assert _knee(x, np.minimum(x, x[4])) == 4
    assert _knee(x, np.zeros(10)) == 0
    assert _knee(x[:1], np.ones(1)) == 0


@pytest.mark.parametrize(("n_clusters", "dtype"), [(3, "float32"), (6, "float64")])
def test_separate_clusters(n_clusters, dtype):
    views = mdt.datasets.make_multiview_blobs(300, n_clusters=n_clusters, n_views=2, random_state=1).views
    ops = mdt.build_operators(views, kernel="adaptive", dtype=dtype)
    chosen = mdt.select_n_clusters(ops, max_clusters=12)
    assert chosen.n_clusters == n_clusters
    assert len(chosen.counts) == len(chosen.scores) == 11
    np.testing.assert_allclose(chosen.scores, chosen.stability * chosen.information)
    assert repr(chosen) == f"ClusterSelection(n_clusters={n_clusters}, of 2 to 12)"


def test_same_at_any_number_of_threads(blobs):
    ops = mdt.build_operators(blobs)
    first, second = (mdt.select_n_clusters(ops, max_clusters=8, t=3, n_jobs=n_jobs) for n_jobs in (1, 3))
    np.testing.assert_array_equal(first.scores, second.scores)
    assert first.n_clusters == second.n_clusters


@pytest.mark.filterwarnings("ignore::mdt_fast.OperatorWarning")
def test_search_and_estimator_take_auto(blobs):
    ops = mdt.build_operators(blobs, kernel="adaptive")
    expected = mdt.select_n_clusters(ops, t=3).n_clusters
    found = mdt.search(ops, "auto", strategy="mean", t=3)
    assert found.settings["n_clusters"] == expected
    model = mdt.MDTClustering("auto", t=3).fit(blobs)
    assert model.n_clusters_ == expected == len(np.unique(model.labels_))
    assert mdt.MDTClustering("auto", strategy="beam", kernel="adaptive", t=3).fit(blobs).n_clusters_ == expected


def test_few_and_equal_samples():
    X = np.repeat([[0.0, 0.0], [0.0, 1.0], [5.0, 5.0]], 20, axis=0)
    chosen = mdt.select_n_clusters(mdt.build_operators([X, X], n_neighbors=25), t=2)
    assert np.isfinite(chosen.scores).all()
    tiny = mdt.build_operators([np.arange(4.0)[:, None]], n_neighbors=2)
    assert mdt.select_n_clusters(tiny, t=1).n_clusters == 2


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
