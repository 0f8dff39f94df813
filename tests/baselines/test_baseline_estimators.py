"""Baselines as estimators: clusters, new samples, the registry, and refusals."""

from __future__ import annotations

import pickle
import re
from dataclasses import dataclass

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import mdt_fast as mdt
from helpers.baselines import NAMES, THREADS, fit, make_views
from mdt_fast._clusters.labels import choose_labels
from mdt_fast._support import memory as _memory
from mdt_fast.baselines import _registry

WITH_TRANSFORM = ("DM", "AD", "p-AD", "ID", "mean")
TRANSFORMED = [*[(name, {}) for name in WITH_TRANSFORM], ("DM", {"view": 1, "t": 2, "weighting": "stationary"})]


@pytest.mark.parametrize(("name", "parameters"), TRANSFORMED)
def test_training_samples_get_their_own_coordinates(name, parameters):
    Xs = make_views(200)
    found = fit(name, Xs, n_components=4, **parameters)
    assert_allclose(found.transform(Xs), found.embedding_, atol=1e-9 * np.abs(found.embedding_).max())
    few = slice(5, 8)
    assert_array_equal(found.transform([X[few] for X in Xs]), found.transform(Xs)[few])


def test_only_trajectories_have_coordinates_of_new_samples():
    assert [name for name in NAMES if hasattr(mdt.baselines.make(name), "transform")] == list(WITH_TRANSFORM)


@pytest.mark.parametrize("name", NAMES)
def test_clusters(name):
    Xs = make_views()
    baseline = mdt.baselines.make(name, n_clusters=3, n_init=4, random_state=5, n_neighbors=10)
    labels = baseline.fit_predict(Xs)
    assert baseline.embedding_.shape == (100, 3)
    expected = choose_labels(baseline.operators_, baseline.embedding_, 3, n_init=4, random_state=5)
    assert_array_equal(labels, expected.labels)
    assert_array_equal(baseline.labels_, labels)
    assert_array_equal(baseline.cluster_centers_, expected.centers)
    assert baseline.score_ == mdt.quality.calinski_harabasz(baseline.operators_, labels)
    assert fit(name, Xs, n_clusters=3, n_components=5).embedding_.shape == (100, 5)


def test_one_cluster_has_no_score():
    found = fit("AD", n_clusters=1)
    assert not found.labels_.any()
    assert np.isnan(found.score_)


@pytest.mark.parametrize("name", NAMES)
def test_no_clusters_without_n_clusters(name):
    found = fit(name)
    assert found.embedding_.shape == (100, 2)
    assert_array_equal(clone(found).fit_transform(make_views()), found.embedding_)
    for attribute in ("fit_predict", "labels_", "score_", "cluster_centers_"):
        assert not hasattr(found, attribute)


def test_refitting_removes_clusters():
    found = fit("AD", n_clusters=3).set_params(n_clusters=None).fit(make_views())
    assert [name for name in ("labels_", "score_", "cluster_centers_") if hasattr(found, name)] == []


@pytest.mark.parametrize("name", ["AD", "MVD"])
def test_views_by_name_and_in_one_array(name):
    Xs = make_views()
    found = fit(name, Xs)
    named = fit(name, {"camera": Xs[0], "scanner": Xs[1]})
    slices = fit(name, np.hstack(Xs), view_slices=[(0, 4), (4, 9)])
    assert named.view_names_ == ["camera", "scanner"]
    for other in (named, slices):
        assert_array_equal(other.embedding_, found.embedding_)
        assert (other.n_views_in_, other.n_features_in_) == (2, 9)


def test_diffusion_maps_of_a_view_by_name():
    Xs = make_views()
    by_name = fit("DM", {"camera": Xs[0], "scanner": Xs[1]}, view="scanner")
    assert_array_equal(by_name.embedding_, fit("DM", Xs, view=1).embedding_)


@pytest.mark.parametrize("name", ["AD", "MVD"])
def test_scikit_learn_conventions(name):
    Xs = make_views()
    baseline = mdt.baselines.make(name, n_components=3, n_clusters=4, n_neighbors=10)
    again = clone(baseline)
    assert again is not baseline
    assert again.get_params() == baseline.get_params()
    with pytest.raises(NotFittedError):
        baseline.get_feature_names_out()
    baseline.fit(Xs)
    assert_array_equal(again.fit(Xs).embedding_, baseline.embedding_)
    loaded = pickle.loads(pickle.dumps(baseline))
    assert_array_equal(loaded.embedding_, baseline.embedding_)
    assert_array_equal(loaded.labels_, baseline.labels_)
    columns = [f"{type(baseline).__name__.lower()}{i}" for i in range(3)]
    assert list(baseline.get_feature_names_out()) == columns
    frame = clone(baseline).set_output(transform="pandas").fit_transform(Xs)
    assert list(frame.columns) == columns
    assert_array_equal(frame.to_numpy(), baseline.embedding_)


def test_new_samples_after_pickling_and_as_a_frame():
    Xs = make_views()
    found = fit("AD", Xs).set_output(transform="pandas")
    frame = pickle.loads(pickle.dumps(found)).transform(Xs)
    assert list(frame.columns) == list(found.get_feature_names_out())
    assert_allclose(frame.to_numpy(), found.embedding_, atol=1e-9)
    with pytest.raises(NotFittedError):
        mdt.baselines.make("AD").transform(Xs)


@pytest.fixture
def registry(monkeypatch):
    """Restore the registry after the test."""
    monkeypatch.setattr(_registry, "_MAKERS", dict(_registry._MAKERS))


def test_names():
    assert mdt.baselines.names() == list(NAMES)
    with pytest.raises(ValueError, match=f"name: expected one of {', '.join(map(repr, NAMES))}, got 'PCA'"):
        mdt.baselines.make("PCA")
    with pytest.raises(TypeError, match="depth"):
        mdt.baselines.make("AD", depth=3)


@dataclass(eq=False, repr=False, kw_only=True)
class Palindrome(mdt.baselines.TrajectoryBaseline):
    """All views in order, then in reverse order."""

    turns: int = 1

    def _trajectory(self, ops):
        sequence = list(range(ops.n_views))
        return ops.trajectory((sequence + sequence[::-1]) * self.turns)


@pytest.mark.usefixtures("registry")
def test_register_a_class():
    mdt.baselines.register("palindrome", Palindrome)
    assert mdt.baselines.names() == [*NAMES, "palindrome"]
    Xs = make_views()
    found = fit("palindrome", Xs, turns=2, n_clusters=3)
    assert found.trajectory_.sequence == (0, 1, 1, 0) * 2
    assert_allclose(found.transform(Xs), found.embedding_, atol=1e-9)
    assert clone(found).turns == 2
    assert len(np.unique(found.labels_)) == 3


@pytest.mark.usefixtures("registry")
def test_register_refuses_names():
    for name in ("AD", 3):
        with pytest.raises(ValueError, match=f"name: expected a name other than 'DM', .*, got {name!r}"):
            mdt.baselines.register(name, Palindrome)
    with pytest.raises(TypeError, match="estimator: expected a class or a function, got 3"):
        mdt.baselines.register("three", 3)
    assert mdt.baselines.names() == list(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_same_bits_at_any_number_of_threads(name):
    Xs = make_views(3000)
    # The times of ID take long, and are selected as that of p-AD is.
    parameters = {"t": 2} if name == "ID" else {}
    fits = [fit(name, Xs, n_clusters=4, n_jobs=n_jobs, **parameters) for n_jobs in THREADS]
    assert len({found.embedding_.tobytes() + found.labels_.tobytes() for found in fits}) == 1


@pytest.mark.parametrize(
    ("name", "n_views", "message"),
    [
        ("MVD", 1, "X: expected at least 2 views for MultiviewDiffusionMaps, got 1"),
        ("CrD", 1, "X: expected at least 2 views for CrossDiffusion, got 1"),
        ("ComD", 1, "X: expected 2 views for CompositeDiffusion, got 1"),
        ("ComD", 3, "X: expected 2 views for CompositeDiffusion, got 3"),
    ],
)
def test_wrong_number_of_views(name, n_views, message):
    with pytest.raises(ValueError, match=message):
        fit(name, make_views(n_views=n_views))


@pytest.mark.parametrize(
    ("name", "parameters", "error", "message"),
    [
        ("DM", {"view": 2}, ValueError, "view: expected an integer >= 0 and <= 1, got 2"),
        ("DM", {"view": -1}, ValueError, "view: expected an integer >= 0 and <= 1, got -1"),
        ("DM", {"view": "lidar"}, ValueError, "view: expected one of 'view 0', 'view 1', got 'lidar'"),
        ("DM", {"view": 0.5}, TypeError, "view: expected an integer >= 0 and <= 1, got 0.5"),
        ("DM", {"weighting": "pi"}, ValueError, "weighting: expected one of 'uniform', 'stationary', got 'pi'"),
        ("MVD", {"view": 2}, ValueError, "view: expected an integer >= 0 and <= 1, got 2"),
        *[
            (name, {"t": 0}, ValueError, "t: expected an integer >= 1, got 0")
            for name in ("DM", "p-AD", "ID", "MVD", "mean", "AA")
        ],
        ("p-AD", {"t": 1.5}, TypeError, "t: expected an integer >= 1, got 1.5"),
        ("p-AD", {"t": "knee"}, ValueError, "t: expected one of 'auto', got 'knee'"),
        ("ID", {"t": [1, 2, 3]}, ValueError, "t: expected one value or 2, one for each view, got 3"),
        ("ID", {"t": [1, 0]}, ValueError, "expected an integer >= 1, got 0"),
        ("CrD", {"n_steps": 0}, ValueError, "n_steps: expected an integer >= 1, got 0"),
        ("ComD", {"operator": "sum"}, ValueError, "operator: expected one of 'similarity', 'difference', got 'sum'"),
        *[
            (name, {"n_components": 100}, ValueError, "n_components: expected an integer >= 1 and <= 99, got 100")
            for name in ("DM", "AD", "CrD", "ComD", "mean", "AA")
        ],
        # One less than the number of states.
        ("MVD", {"n_components": 200}, ValueError, "n_components: expected an integer >= 1 and <= 199, got 200"),
        ("AD", {"n_components": 0}, ValueError, "n_components: expected an integer >= 1"),
        ("AD", {"n_components": 2.5}, TypeError, "n_components: expected an integer >= 1"),
        ("AD", {"n_clusters": 0}, ValueError, "n_clusters: expected an integer >= 1, got 0"),
        ("AD", {"n_clusters": 101, "n_components": 2}, ValueError, "n_clusters: expected .* <= 100, got 101"),
    ],
)
def test_bad_parameters(name, parameters, error, message):
    with pytest.raises(error, match=message):
        fit(name, **parameters)


def test_cross_diffusion_of_three_views_states_its_memory(monkeypatch):
    Xs = make_views(n_views=3)
    with pytest.raises(MemoryError, match=r"needs .* GB, but memory_budget is 1e-06 GB") as refusal:
        fit("CrD", Xs, memory_budget=1000)
    needed = 1e9 * float(re.search(r"needs (\S+) GB", str(refusal.value))[1])
    assert needed >= 3 * 100**2 * 8
    assert fit("CrD", Xs, memory_budget=1.01 * needed).embedding_.shape == (100, 2)
    with pytest.raises(TypeError, match="memory_budget: expected a finite number >= 0, got '1 GB'"):
        fit("CrD", Xs, memory_budget="1 GB")
    monkeypatch.setattr(_memory, "available_bytes", lambda: 1000)
    with pytest.raises(MemoryError, match=r"needs .* GB, but 1e-06 GB are available"):
        fit("CrD", Xs)


def test_cross_diffusion_of_three_views_checks_tol():
    with pytest.raises(ValueError, match="tol: expected a finite number >= 0, got -1"):
        fit("CrD", make_views(n_views=3), tol=-1)


@pytest.mark.parametrize("n_samples", [2, 3, 10])
@pytest.mark.parametrize(("name", "n_views"), [*[(name, 2) for name in NAMES], ("MVD", 3), ("CrD", 3)])
def test_all_components(name, n_views, n_samples):
    found = fit(name, make_views(n_samples, n_views), n_components=n_samples - 1, n_neighbors=n_samples - 1)
    assert found.embedding_.shape == (n_samples, n_samples - 1)
    assert np.isfinite(found.embedding_).all()


def test_too_few_operators():
    ops = mdt.build_operators(mdt.datasets.make_multiview_blobs(60, random_state=0).views[:1])
    with pytest.raises(ValueError, match="X: expected at least 2 views for MultiviewDiffusionMaps, got 1"):
        mdt.baselines.make("MVD").fit(ops)


def test_multiview_diffusion_maps_need_all_samples():
    X, Y = np.random.default_rng(0).normal(size=(2, 20, 2))
    Y[3] = np.nan
    with pytest.raises(
        ValueError, match="X: expected views that have all samples for MultiviewDiffusionMaps, got 'view 1'"
    ):
        mdt.baselines.MultiviewDiffusionMaps(2).fit([X, Y])
