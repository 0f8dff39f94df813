"""Baselines against dense NumPy versions of their formulas, and as estimators."""

from __future__ import annotations

import functools
import pickle
import re
from dataclasses import dataclass

import numpy as np
import pytest
from kneed import KneeLocator
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse.linalg import LinearOperator, svds
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

import mdt_fast as mdt
import oracle
from mdt_fast._clusters.labels import choose_labels
from mdt_fast._geometry.chains import Chain, embed_chains
from mdt_fast._support import memory as _memory
from mdt_fast.baselines import _registry, _trajectories

NAMES = ("DM", "AD", "p-AD", "ID", "MVD", "CrD", "ComD", "mean", "AA")
WITH_TRANSFORM = ("DM", "AD", "p-AD", "ID", "mean")
N_COMPONENTS = 3
# Largest error of a coordinate, as a share of the largest in its column.
TOLERANCE = {"float64": 1e-7, "float32": 1e-4}
# Steps of each view; all different, so that a wrong order is seen.
TIMES = [3, 1, 2]
GRAPHS = [
    {},
    {"preset": "published"},
    {"kernel": "laplacian"},
    {"kernel": "correlation"},
    {"kernel": "adaptive", "symmetrize": "max"},
    {"kernel": "binary"},
]
PRECISIONS = [*[(graph, "float64") for graph in GRAPHS], *[(graph, "float32") for graph in GRAPHS[:3]]]


def make_views(n_samples=100, n_views=2):
    """A rectangle, whose sides give well separated singular values, under noise of each view's own."""
    rng = np.random.default_rng(0)
    sides = rng.uniform(size=(n_samples, 2)) * [6, 2.5]
    return [
        np.c_[sides + 0.3 * rng.normal(size=sides.shape), 0.5 * rng.normal(size=(n_samples, 2 + v))]
        for v in range(n_views)
    ]


def fit(name, Xs=None, **parameters):
    """Fit on graphs dense enough to hang together."""
    return mdt.baselines.make(name, **{"n_neighbors": 10, **parameters}).fit(make_views() if Xs is None else Xs)


@functools.cache
def dense_graphs(n_samples=100, n_views=2, **graph):
    """Affinities and walks of `make_views`."""
    Ks = [oracle.affinity(X, n_neighbors=10, **graph) for X in make_views(n_samples, n_views)]
    return Ks, [oracle.transition(K) for K in Ks]


def assert_same_up_to_sign(got, expected, tolerance):
    signs = np.sign(np.sum(got * expected, axis=0))
    assert_allclose(got / np.abs(expected).max(axis=0), signs * expected / np.abs(expected).max(axis=0), atol=tolerance)


def singular(A, **options):
    return oracle.singular_coordinates(A, N_COMPONENTS, **options)[0]


# A name, parameters for a number of views, and the same from dense affinities and walks.
CASES = {
    "DM": ("DM", lambda V: {"view": 1}, lambda Ks, Ps: oracle.eigen_coordinates(Ps[1], N_COMPONENTS)[0]),
    "DM, t=3": ("DM", lambda V: {"t": 3}, lambda Ks, Ps: oracle.eigen_coordinates(Ps[0], N_COMPONENTS, t=3)[0]),
    "DM, stationary": (
        "DM",
        lambda V: {"t": 2, "weighting": "stationary"},
        lambda Ks, Ps: oracle.diffusion_map(Ps[0], N_COMPONENTS, t=2)[0],
    ),
    "AD": ("AD", lambda V: {}, lambda Ks, Ps: singular(oracle.integrated_product(Ps, [1] * len(Ps)))),
    "p-AD": (
        "p-AD",
        lambda V: {"t": 2},
        lambda Ks, Ps: singular(np.linalg.matrix_power(oracle.integrated_product(Ps, [1] * len(Ps)), 2)),
    ),
    "ID": (
        "ID",
        lambda V: {"t": TIMES[:V]},
        lambda Ks, Ps: singular(oracle.integrated_product(Ps, TIMES[: len(Ps)])),
    ),
    "mean": (
        "mean",
        lambda V: {"t": 2},
        lambda Ks, Ps: singular(np.linalg.matrix_power(np.mean(Ps, axis=0), 2)),
    ),
    "AA": ("AA", lambda V: {}, lambda Ks, Ps: singular(oracle.transition(sum(Ks)))),
    "AA, t=2": (
        "AA",
        lambda V: {"t": 2},
        lambda Ks, Ps: singular(np.linalg.matrix_power(oracle.transition(sum(Ks)), 2)),
    ),
    "MVD": (
        "MVD",
        lambda V: {},
        lambda Ks, Ps: oracle.eigen_coordinates(oracle.multiview_walk(Ks), N_COMPONENTS)[0][: len(Ks[0])],
    ),
    # After few steps, because single precision cannot tell the smaller values from rounding after many.
    "CrD": ("CrD", lambda V: {"n_steps": 3}, lambda Ks, Ps: singular(oracle.cross_diffusion(Ps, 3))),
}


@pytest.mark.parametrize(("graph", "dtype"), PRECISIONS, ids=str)
@pytest.mark.parametrize(("n_samples", "n_views"), [(150, 2), (70, 3)])
@pytest.mark.parametrize("case", CASES)
def test_equal_the_dense_version(case, n_samples, n_views, graph, dtype):
    name, parameters, dense = CASES[case]
    Xs = make_views(n_samples, n_views)
    found = fit(name, Xs, n_components=N_COMPONENTS, tol=1e-10, dtype=dtype, **parameters(n_views), **graph)
    assert found.embedding_.dtype == dtype
    assert_same_up_to_sign(found.embedding_, dense(*dense_graphs(n_samples, n_views, **graph)), TOLERANCE[dtype])


@pytest.mark.parametrize("case", ["AA", "MVD"])
def test_anisotropic_affinities_keep_their_size(case):
    """A factor of one view's affinities changes no walk, but it changes what is made of several views' affinities."""
    name, _, dense = CASES[case]
    graph = {"anisotropy": 1.0}
    found = fit(name, make_views(70, 3), n_components=N_COMPONENTS, tol=1e-10, **graph)
    assert_same_up_to_sign(found.embedding_, dense(*dense_graphs(70, 3, **graph)), TOLERANCE["float64"])


@pytest.mark.parametrize(("graph", "dtype"), PRECISIONS, ids=str)
def test_composite_similarity_equals_the_dense_version(graph, dtype):
    found = fit("ComD", n_components=N_COMPONENTS, tol=1e-10, dtype=dtype, **graph)
    A = oracle.composite_diffusion(*dense_graphs(**graph)[1])
    expected, values = oracle.singular_coordinates(A, N_COMPONENTS)
    assert found.embedding_.dtype == dtype
    assert_allclose(found.singular_values_, values, rtol=TOLERANCE[dtype])
    assert_same_up_to_sign(found.embedding_, expected, TOLERANCE[dtype])


@pytest.mark.parametrize(("graph", "dtype"), PRECISIONS, ids=str)
def test_composite_difference_equals_the_dense_version(graph, dtype):
    """Its values come in pairs, whose vectors are known up to a rotation: inner products are compared."""
    found = fit("ComD", n_components=4, operator="difference", tol=1e-10, dtype=dtype, **graph)
    A = oracle.composite_diffusion(*dense_graphs(**graph)[1], sign=-1)
    expected, values = oracle.singular_coordinates(A, 4, drop_first=False)
    assert_allclose(found.singular_values_, values, rtol=TOLERANCE[dtype])
    assert_allclose(found.singular_values_[::2], found.singular_values_[1::2], rtol=TOLERANCE[dtype])
    products = expected @ expected.T
    assert_allclose(found.embedding_ @ found.embedding_.T, products, atol=TOLERANCE[dtype] * np.abs(products).max())


@pytest.mark.parametrize("n_views", [2, 3])
@pytest.mark.parametrize(("options", "n_steps"), [({}, 20), ({"preset": "published"}, 25), ({"n_steps": 1}, 1)])
def test_cross_diffusion_goes_its_number_of_steps(options, n_steps, n_views):
    found = fit("CrD", make_views(n_views=n_views), n_components=N_COMPONENTS, tol=1e-10, **options)
    graph = {key: value for key, value in options.items() if key == "preset"}
    A = oracle.cross_diffusion(dense_graphs(n_views=n_views, **graph)[1], n_steps)
    expected, values = oracle.singular_coordinates(A, N_COMPONENTS)
    assert_allclose(found.singular_values_, values, rtol=TOLERANCE["float64"])
    assert_same_up_to_sign(found.embedding_, expected, TOLERANCE["float64"])


@pytest.mark.parametrize("n_views", [2, 3])
def test_cross_diffusion_until_nothing_is_left(n_views):
    """All but the first value are rounding; they are said to be, without complaint."""
    found = fit("CrD", make_views(n_views=n_views), n_steps=1000)
    assert (found.singular_values_ < 1e-12).all()
    assert np.isfinite(found.embedding_).all()


@pytest.mark.parametrize("n_views", [2, 3])
@pytest.mark.parametrize("t", [1, 3])
def test_multiview_diffusion_as_each_view_sees_the_samples(n_views, t):
    Xs = make_views(n_views=n_views)
    found = fit("MVD", Xs, n_components=N_COMPONENTS, view=1, t=t, tol=1e-10)
    expected, powers = oracle.eigen_coordinates(
        oracle.multiview_walk(dense_graphs(n_views=n_views)[0]), N_COMPONENTS, t=t
    )
    assert_allclose(found.eigenvalues_**t, powers, rtol=1e-9)
    assert found.view_embeddings_.shape == (n_views, len(Xs[0]), N_COMPONENTS)
    assert_same_up_to_sign(found.view_embeddings_.reshape(-1, N_COMPONENTS), expected, TOLERANCE["float64"])
    assert_array_equal(found.embedding_, found.view_embeddings_[1])


@pytest.mark.parametrize("name", [name for name in NAMES if name != "MVD"])
def test_the_largest_entry_of_a_column_is_positive(name):
    Psi = fit(name, n_components=5).embedding_
    assert (Psi.max(axis=0) >= -Psi.min(axis=0)).all()


def test_the_largest_entry_of_a_multiview_column_is_positive():
    """Signs are those of all views together."""
    Psi = fit("MVD", n_components=5).view_embeddings_.reshape(-1, 5)
    assert (Psi.max(axis=0) >= -Psi.min(axis=0)).all()


def test_distances_of_a_stationary_diffusion_map_are_diffusion_distances():
    X = make_views(60)[0]
    found = fit("DM", [X], n_components=59, t=2, weighting="stationary", tol=1e-10)
    P = oracle.operator(X, n_neighbors=10)
    expected = oracle.diffusion_distances(P @ P, range(60))
    got = np.linalg.norm(found.embedding_[:, None] - found.embedding_[None], axis=2)
    assert_allclose(got, expected, atol=1e-9 * expected.max())


# Words, the first step first, of three views.
WORDS = [
    ("AD", {}, [2, 1, 0]),
    ("p-AD", {"t": 2}, [2, 1, 0, 2, 1, 0]),
    ("ID", {"t": TIMES}, [2, 2, 1, 0, 0, 0]),
    ("ID", {"t": 2}, [2, 2, 1, 1, 0, 0]),
    ("mean", {}, np.full((1, 3), 1 / 3)),
    ("mean", {"t": 3}, np.full((3, 3), 1 / 3)),
]


@pytest.mark.parametrize(("name", "parameters", "word"), WORDS)
def test_are_trajectories(name, parameters, word):
    Xs = make_views(n_views=3)
    found = fit(name, Xs, n_components=4, tol=1e-5, random_state=7, **parameters)
    W = mdt.build_operators(Xs, n_neighbors=10).trajectory(word)
    assert_array_equal(found.embedding_, mdt.embed(W, 4, tol=1e-5, random_state=7).coordinates)
    assert_array_equal(found.trajectory_.weights, W.weights)
    assert found.geometry_.trajectory is found.trajectory_


def test_powered_alternating_diffusion_once_is_alternating_diffusion():
    assert_array_equal(fit("p-AD", t=1).embedding_, fit("AD").embedding_)


@pytest.mark.parametrize(("name", "parameters"), [("AD", {}), ("ID", {"t": 1}), ("mean", {}), ("AA", {})])
def test_with_one_view_all_are_its_walk(name, parameters):
    X = make_views()[0]
    found = fit(name, [X], n_components=N_COMPONENTS, tol=1e-10, **parameters)
    assert_same_up_to_sign(found.embedding_, singular(oracle.operator(X, n_neighbors=10)), TOLERANCE["float64"])


def dense_knee(values_at):
    """The knee of the entropy of values over the times 1, ..., 24."""
    times, entropies = np.arange(1, 25), []
    for t in times:
        s = values_at(int(t))
        s = s[s > 0] / np.linalg.norm(s)
        entropies.append(-np.sum(s * np.log(s)))
    return KneeLocator(times, entropies, curve="convex", direction="decreasing").knee


@pytest.mark.parametrize("n_views", [2, 3])
def test_time_of_powered_alternating_diffusion(n_views):
    Xs = make_views(n_views=n_views)
    found = fit("p-AD", Xs)
    W = oracle.integrated_product(dense_graphs(n_views=n_views)[1], [1] * n_views)
    assert found.t_ == dense_knee(lambda t: np.linalg.svd(np.linalg.matrix_power(W, t), compute_uv=False))
    once = found.operators_.trajectory(range(n_views)[::-1])
    assert found.t_ == mdt.select_time(once, max_t=24).t
    assert len(found.trajectory_) == n_views * found.t_


def test_times_of_integrated_diffusion():
    Xs = [make_views()[0], np.random.default_rng(1).normal(size=(100, 8))]
    found = fit("ID", Xs)
    magnitudes = [np.abs(np.linalg.eigvals(oracle.operator(X, n_neighbors=10))) for X in Xs]
    assert found.t_ == [dense_knee(lambda t, s=s: s**t) for s in magnitudes]
    assert found.t_[0] != found.t_[1]
    assert found.trajectory_.word == (1,) * found.t_[1] + (0,) * found.t_[0]
    assert fit("ID", Xs, t=["auto", 2]).t_ == [found.t_[0], 2]


def test_estimated_times_of_integrated_diffusion_are_near_the_exact_ones(monkeypatch):
    Xs = mdt.datasets.make_multiview_blobs(1000, n_views=3, n_features=[4, 10, 30], random_state=0, cluster_std=4).views
    methods = []

    def record(*arguments, method, **options):
        methods.append(method)
        return mdt.select_time(*arguments, method=method, **options)

    monkeypatch.setattr(_trajectories, "select_time", record)
    exact = fit("ID", Xs).t_
    monkeypatch.setattr(_trajectories, "_SPECTRAL_SAMPLES", 999)
    estimated = fit("ID", Xs).t_
    assert methods == ["spectral"] * 3 + ["stochastic"] * 3
    assert np.abs(np.subtract(exact, estimated)).max() <= 1


def test_time_of_the_mean():
    found = fit("mean", t="auto")
    assert found.t_ == mdt.select_time(found.operators_).t == len(found.trajectory_)


TRANSFORMED = [*[(name, {}) for name in WITH_TRANSFORM], ("DM", {"view": 1, "t": 2, "weighting": "stationary"})]


@pytest.mark.parametrize(("name", "parameters"), TRANSFORMED)
def test_training_samples_land_on_their_own_coordinates(name, parameters):
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
def test_without_a_number_of_clusters_there_are_none(name):
    found = fit(name)
    assert found.embedding_.shape == (100, 2)
    assert_array_equal(clone(found).fit_transform(make_views()), found.embedding_)
    for attribute in ("fit_predict", "labels_", "score_", "cluster_centers_"):
        assert not hasattr(found, attribute)


def test_clusters_of_an_earlier_fit_are_forgotten():
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
def test_as_scikit_learn_wants_them(name):
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
    """Let what a test registers be forgotten after it."""
    monkeypatch.setattr(_registry, "_MAKERS", dict(_registry._MAKERS))


def test_names():
    assert mdt.baselines.names() == list(NAMES)
    with pytest.raises(ValueError, match=f"name: expected one of {', '.join(map(repr, NAMES))}, got 'PCA'"):
        mdt.baselines.make("PCA")
    with pytest.raises(TypeError, match="depth"):
        mdt.baselines.make("AD", depth=3)


@dataclass(eq=False, repr=False, kw_only=True)
class Palindrome(mdt.baselines.TrajectoryBaseline):
    """All views there and back."""

    turns: int = 1

    def _trajectory(self, ops):
        word = list(range(ops.n_views))
        return ops.trajectory((word + word[::-1]) * self.turns)


@pytest.mark.usefixtures("registry")
def test_a_class_of_ones_own():
    mdt.baselines.register("there and back", Palindrome)
    assert mdt.baselines.names() == [*NAMES, "there and back"]
    Xs = make_views()
    found = fit("there and back", Xs, turns=2, n_clusters=3)
    assert found.trajectory_.word == (0, 1, 1, 0) * 2
    assert_allclose(found.transform(Xs), found.embedding_, atol=1e-9)
    assert clone(found).turns == 2
    assert len(np.unique(found.labels_)) == 3


@pytest.mark.usefixtures("registry")
def test_names_that_cannot_be_registered():
    for name in ("AD", 3):
        with pytest.raises(ValueError, match=f"name: expected a name other than 'DM', .*, got {name!r}"):
            mdt.baselines.register(name, Palindrome)
    with pytest.raises(TypeError, match="estimator: expected a class or a function, got 3"):
        mdt.baselines.register("three", 3)
    assert mdt.baselines.names() == list(NAMES)


THREADS = (1, 2, 5)


@pytest.mark.parametrize("name", NAMES)
def test_same_bits_at_any_number_of_threads(name):
    Xs = make_views(3000)
    # Times of ID take long, and are found as that of p-AD is.
    parameters = {"t": 2} if name == "ID" else {}
    fits = [fit(name, Xs, n_clusters=4, n_jobs=n_jobs, **parameters) for n_jobs in THREADS]
    assert len({found.embedding_.tobytes() + found.labels_.tobytes() for found in fits}) == 1


def cross_step(Ps, middle, view, n_steps, B):
    """Q_view B after some steps of two views, where Q is `middle` at first."""
    if n_steps == 0:
        return middle[view] @ B
    return Ps[view] @ cross_step(Ps, middle, 1 - view, n_steps - 1, Ps[view].T @ B)


def cross_mean(Ps, middle):
    return lambda B: (cross_step(Ps, middle, 0, 3, B) + cross_step(Ps, middle, 1, 3, B)) / 2


def there_and_back(Ps, sign):
    return lambda B: Ps[1] @ (Ps[0].T @ B) + sign * (Ps[0] @ (Ps[1].T @ B))


# Parameters, and products with the operator and its transpose, from sparse walks.
LARGE = {
    "similarity": ("ComD", {}, lambda Ps: there_and_back(Ps, 1), lambda Ps: there_and_back(Ps, 1)),
    "difference": (
        "ComD",
        {"operator": "difference"},
        lambda Ps: there_and_back(Ps, -1),
        lambda Ps: lambda B: -there_and_back(Ps, -1)(B),
    ),
    "cross": ("CrD", {"n_steps": 3}, lambda Ps: cross_mean(Ps, Ps), lambda Ps: cross_mean(Ps, [P.T for P in Ps])),
}


@pytest.mark.parametrize("case", LARGE)
def test_large_sets_are_embedded_in_their_own_order(case):
    """From 16,384 points on the work is done in another order of the points."""
    name, parameters, product, transposed = LARGE[case]
    n, tol = 17_000, 1e-6
    Xs = mdt.datasets.make_multiview_blobs(n, n_features=3, cluster_std=3, random_state=0).views
    fits = [fit(name, Xs, n_components=4, tol=tol, n_jobs=n_jobs, **parameters) for n_jobs in THREADS]
    assert len({found.embedding_.tobytes() for found in fits}) == 1
    found = fits[0]
    Ps = found.operators_.views
    A, A_transposed = product(Ps), transposed(Ps)
    U = found.embedding_ / found.singular_values_
    assert_allclose(U.T @ U, np.eye(4), atol=1e-9)
    both = LinearOperator((n, n), matvec=A, rmatvec=A_transposed, dtype=float)
    largest = np.sort(svds(both, k=5, v0=np.ones(n), return_singular_vectors=False))[::-1]
    first = 0 if case == "difference" else 1
    assert_allclose(found.singular_values_, largest[first : first + 4], rtol=10 * tol)
    assert_allclose(A(A_transposed(U)), U * found.singular_values_**2, atol=10 * tol * largest[0] ** 2)


def make_walks(n_samples=80, dtype="float64"):
    """Walks that no symmetric affinity gives, so that their transposes are stored."""
    rng = np.random.default_rng(0)
    Ps = [oracle.transition(rng.uniform(size=(n_samples, n_samples)) ** 9) for _ in range(3)]
    return mdt.OperatorSet.from_transitions(Ps, dtype=dtype), Ps


@pytest.mark.parametrize("drop_first", [True, False])
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_chains_equal_their_dense_sum(dtype, drop_first):
    ops, (P, Q, R) = make_walks(dtype=dtype)
    chains = [Chain([(0, False), (2, True), (1, False)], -0.5), Chain([(1, True)], 2.0), Chain([(2, False)] * 2)]
    A = -0.5 * Q @ R.T @ P + 2 * Q.T + R @ R
    expected, values = oracle.singular_coordinates(A, 4, drop_first)
    got, all_values = embed_chains(ops.with_identity(), chains, 4, drop_first=drop_first, tol=1e-10)
    assert got.dtype == dtype
    assert len(all_values) == 4 + drop_first
    assert_allclose(all_values[int(drop_first) :], values, rtol=TOLERANCE[dtype])
    assert_same_up_to_sign(got, expected, TOLERANCE[dtype])


def test_a_chain_of_walks_is_a_trajectory():
    ops = mdt.build_operators(make_views(), n_neighbors=10)
    got, values = embed_chains(ops, [Chain([(0, False), (1, False), (1, False)])], 3, tol=1e-10)
    expected = mdt.embed(ops.trajectory([0, 1, 1]), 3, tol=1e-10)
    assert_allclose(values[1:], expected.singular_values, rtol=1e-9)
    assert_allclose(got, expected.coordinates, atol=1e-8)


def test_chains_that_do_not_converge_are_reported():
    ops = mdt.build_operators(make_views(600), n_neighbors=10)
    with pytest.warns(mdt.ConvergenceWarning, match="after 1 iterations"):
        embed_chains(ops, [Chain([(0, True), (1, False)])], 5, max_iter=1, tol=1e-10)


@pytest.mark.parametrize(
    ("chains", "arguments", "message"),
    [
        ([], {}, "at least one chain"),
        ([Chain([])], {}, "at least one factor"),
        ([Chain([(3, False)])], {}, "expected factors below 3, got 3"),
        ([Chain([(0, False)])], {"n_components": 80}, "n_components: expected an integer >= 1 and <= 79, got 80"),
        ([Chain([(0, False)])], {"tol": -1}, "tol: expected a finite number >= 0, got -1"),
        ([Chain([(0, False)])], {"max_iter": 0}, "max_iter: expected an integer >= 1, got 0"),
    ],
)
def test_bad_chains(chains, arguments, message):
    ops, _ = make_walks()
    with pytest.raises(ValueError, match=message):
        embed_chains(ops, chains, **{"n_components": 2, **arguments})


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
        # One less than the states.
        ("MVD", {"n_components": 200}, ValueError, "n_components: expected an integer >= 1 and <= 199, got 200"),
        ("AD", {"n_components": 0}, ValueError, "n_components: expected an integer >= 1"),
        ("AD", {"n_components": 2.5}, TypeError, "n_components: expected an integer >= 1"),
        ("AD", {"n_clusters": 0}, ValueError, "n_clusters: expected an integer >= 1, got 0"),
        ("AD", {"n_clusters": 101, "n_components": 2}, ValueError, "n_clusters: expected at most 100, .*, got 101"),
    ],
)
def test_bad_parameters(name, parameters, error, message):
    with pytest.raises(error, match=message):
        fit(name, **parameters)


def test_cross_diffusion_of_three_views_says_how_much_memory_it_needs(monkeypatch):
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
def test_as_many_components_as_there_are(name, n_views, n_samples):
    found = fit(name, make_views(n_samples, n_views), n_components=n_samples - 1, n_neighbors=n_samples - 1)
    assert found.embedding_.shape == (n_samples, n_samples - 1)
    assert np.isfinite(found.embedding_).all()
