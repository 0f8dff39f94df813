"""The rows of a study: which, from which seeds, their content, and refused arguments."""

from __future__ import annotations

import math
from itertools import permutations

import joblib
import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score, normalized_mutual_info_score

import mdt_fast as mdt
from mdt_fast.study._cases import check_datasets, find_dataset
from mdt_fast.study._grid import make_tasks
from mdt_fast.study._methods import check_methods, find_method
from mdt_fast.study.paper._published import published

N_RUNS, N_SEARCHES = 5, 2
DRAWN = ["MDT-Rand", "MDT-Cvx-Rand", "MDT-Cvx-Rand(t=5)"]
SEARCHED = ["MDT-Direct", "MDT-BSC", "MDT-BSC (as coded)"]
EMBEDDED = ["DM(view 1)", "DM(view 2)", "CrD", "ComD", "AD", "MVD", "ID", "p-AD", "AA", "mean", "MDT-CST", "MDT-Mean"]
# One quick method of each kind.
FEW = ["AD", "MDT-Cvx-Rand", "MDT-BSC"]
MANIFOLDS = ["Helix-A", "Helix-B", "Deformed-Plane"]


class GivenLabels(BaseEstimator):
    """Return the labels of the constructor."""

    def __init__(self, labels=()):
        self.labels = labels

    def fit(self, X, y=None):
        self.labels_ = np.asarray(self.labels)
        return self


class ConcatenatedAffinities(BaseEstimator):
    """scikit-learn's k-means on the concatenated affinities of all views."""

    def __init__(self, n_clusters=50, random_state=None):
        self.n_clusters = n_clusters
        self.random_state = random_state

    def fit(self, X, y=None):
        sides = np.hstack([K.toarray() for K in X.affinities])
        kmeans = KMeans(self.n_clusters, n_init=1, init="random", random_state=self.random_state)
        self.labels_ = kmeans.fit_predict(sides)
        return self


class WithoutFit(BaseEstimator):
    """Has parameters, but cannot be fitted."""


def three_views(data):
    return [*data.views, data.views[0] + data.views[1]], data.target


def of_method(study, method):
    return [row for row in study.rows if row.method == method]


@pytest.fixture(scope="module")
def everything(blobs):
    """Every method on one data set."""
    names = [*mdt.study.method_names(), "MDT-Cvx-Rand(t=5)"]
    return mdt.study.run({"blobs": blobs}, names, N_RUNS, n_searches=N_SEARCHES)


@pytest.fixture(scope="module")
def alone(blobs):
    return mdt.study.run({"blobs": blobs}, FEW, n_runs=3, n_searches=2, n_jobs=1)


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_workers_do_not_change_rows(blobs, content, alone, backend):
    with joblib.parallel_config(backend=backend):
        found = mdt.study.run({"blobs": blobs}, FEW, n_runs=3, n_searches=2, n_jobs=2)
    assert content(found.rows) == content(alone.rows)


def test_rows_do_not_depend_on_earlier_rows(blobs, others, content, alone):
    """Neither on other rows of the same study, nor on an earlier study."""
    mdt.study.run({"blobs": others}, FEW, n_runs=1, n_searches=1)
    found = mdt.study.run({"others": others, "blobs": blobs}, FEW[::-1], n_runs=3, n_searches=2)
    for method in FEW:
        mine = [row for row in of_method(found, method) if row.dataset == "blobs"]
        assert content(mine) == content(of_method(alone, method))


def test_more_runs_and_searches_keep_the_first_ones(blobs, content, alone):
    found = mdt.study.run({"blobs": blobs}, FEW, n_runs=9, n_searches=3)
    rows = content(found.rows)
    assert all(row in rows for row in content(alone.rows))


@pytest.mark.parametrize("method", FEW)
def test_another_seed_gives_other_scores(blobs, alone, method):
    found = mdt.study.run({"blobs": blobs}, [method], n_runs=3, n_searches=2, random_state=1)
    assert found.scores("blobs", method) != alone.scores("blobs", method)


def test_a_generator_is_a_seed(blobs, content):
    rng = np.random.default_rng(3)
    seeds = (np.random.default_rng(3), rng, rng)
    studies = [mdt.study.run({"blobs": blobs}, ["AD"], n_runs=2, random_state=seed) for seed in seeds]
    first, again, next_one = (content(study.rows) for study in studies)
    assert first == again
    assert first != next_one


@pytest.mark.parametrize(("method", "run"), [("AD", 2), ("MDT-Cvx-Rand", 0), ("MDT-Cvx-Rand(t=5)", 0), ("MDT-BSC", 1)])
def test_a_row_can_be_computed_by_hand(blobs, everything, method, run):
    tasks = make_tasks(check_datasets({"blobs": blobs}), check_methods([method], 2), None, 0, N_RUNS, N_SEARCHES)
    task = tasks[-1]
    ops = mdt.build_operators(blobs.views)
    t = 5 if method.endswith("(t=5)") else mdt.select_time(ops).t
    how = {"random_state": task.seed(), "progress": False}
    if method == "AD":
        coordinates = mdt.baselines.make("AD", n_components=3, random_state=task.seed()).fit(ops).embedding_
    else:
        strategy = {"strategy": "beam"} if method == "MDT-BSC" else {"strategy": "convex", "quality": None}
        n_clusters = 3 if method == "MDT-BSC" else None
        trajectory = mdt.search(ops, n_clusters, t=t, **strategy, **how).trajectory
        coordinates = mdt.embed(trajectory, 3, random_state=task.seed()).coordinates
    labels = mdt.k_means(coordinates, 3, n_init=1, random_state=task.seed(run)).labels
    (row,) = (row for row in of_method(everything, method) if (row.search, row.run) == (task.search, run))
    assert row.ami == adjusted_mutual_info_score(blobs.target, labels)
    assert row.ch == mdt.quality.calinski_harabasz(ops, labels)


@pytest.mark.parametrize(
    ("methods", "n_searches", "n_runs"),
    [
        (DRAWN, N_RUNS, 1),
        (SEARCHED, N_SEARCHES, math.ceil(N_RUNS / N_SEARCHES)),
        (EMBEDDED, 1, N_RUNS),
        (["MDTClustering"], N_SEARCHES, 1),
        (["True labels"], 1, 1),
    ],
    ids=["drawn", "searched", "embedded", "default", "true labels"],
)
def test_how_often_methods_run(everything, methods, n_searches, n_runs):
    expected = [(search, run) for search in range(n_searches) for run in range(n_runs)]
    for method in methods:
        assert [(row.search, row.run) for row in of_method(everything, method)] == expected, method


def test_every_method_was_counted(everything):
    assert sorted(everything.methods) == sorted([*DRAWN, *SEARCHED, *EMBEDDED, "MDTClustering", "True labels"])


def test_more_searches_than_runs(blobs):
    """Every search is clustered at least once."""
    found = mdt.study.run({"blobs": blobs}, ["MDT-BSC"], n_runs=2, n_searches=3)
    assert [(row.search, row.run) for row in found.rows] == [(0, 0), (1, 0), (2, 0)]


def test_rows_describe_the_problem(blobs, everything):
    t = mdt.select_time(mdt.build_operators(blobs.views)).t
    for row in everything.rows:
        assert (row.dataset, row.preset, row.random_state) == ("blobs", "", 0)
        assert (row.n_samples, row.n_clusters, row.t, row.converged) == (90, 3, t, True)
        assert row.seconds > 0
    assert t != 5
    assert {row.length for row in of_method(everything, "MDT-Cvx-Rand(t=5)")} == {5}
    for method in ("MDT-Cvx-Rand", "MDT-Rand", "MDT-Direct", "MDT-CST", "MDT-Mean"):
        assert {row.length for row in of_method(everything, method)} == {t}
    assert {row.length for row in everything.rows if row.method in ("ComD", "True labels")} == {0}
    assert {row.n_evaluations for row in of_method(everything, "MDT-Rand")} == {1}
    assert min(row.n_evaluations for row in of_method(everything, "MDT-BSC")) > 1


def test_true_labels_are_perfect(blobs, everything):
    (row,) = of_method(everything, "True labels")
    assert (row.ami, row.ari, row.nmi, row.acc) == (1, 1, 1, 1)
    assert row.ch == mdt.quality.calinski_harabasz(mdt.build_operators(blobs.views), blobs.target)


def test_default_makes_its_own_graphs(blobs, everything):
    (dataset,), (method,) = check_datasets({"blobs": blobs}), check_methods(["MDTClustering"], 2)
    for task in make_tasks([dataset], [method], None, 0, N_RUNS, N_SEARCHES):
        labels = mdt.MDTClustering(3, random_state=task.seed() % 2**32).fit_predict(blobs.views)
        (row,) = (row for row in of_method(everything, "MDTClustering") if row.search == task.search)
        assert row.ami == adjusted_mutual_info_score(blobs.target, labels)


def test_methods_depend_on_the_number_of_views(blobs):
    both = {"two": blobs, "three": three_views(blobs)}
    found = mdt.study.run(both, ["DM", "ComD", "AD"], n_runs=1)
    assert found.methods == ["DM(view 1)", "DM(view 2)", "DM(view 3)", "ComD", "AD"]
    assert [(row.dataset, row.method) for row in found.rows] == [
        *(("two", method) for method in ("DM(view 1)", "DM(view 2)", "ComD", "AD")),
        *(("three", method) for method in ("DM(view 1)", "DM(view 2)", "DM(view 3)", "AD")),
    ]


def test_repeated_names_are_computed_once(blobs, content):
    once = mdt.study.run({"blobs": blobs}, ["DM", "AD"], n_runs=2)
    twice = mdt.study.run({"blobs": blobs}, ["DM", "DM(view 2)", "AD", "DM", "AD"], n_runs=2)
    assert (twice.methods, content(twice.rows)) == (once.methods, content(once.rows))


def test_one_set_has_one_name():
    """The default noise and trailing zeros may be omitted."""
    names = ["K-MvMNIST", "K-MvMNIST(s=0.5)", "K-MvMNIST(s=0.50)", "K-MvMNIST(s=0.25)"]
    assert [each.name for each in check_datasets(names)] == ["K-MvMNIST(s=0.50)", "K-MvMNIST(s=0.25)"]


def test_sets_of_different_noise_have_different_names():
    names = [find_dataset(f"K-MvMNIST(s={s})").name for s in ("0.25", "0.252")]
    assert len(set(names)) == 2


def test_progress_counts_tasks(blobs):
    reported = []
    mdt.study.run({"blobs": blobs}, ["AD", "MDT-Rand"], n_runs=3, progress=lambda *now: reported.append(now))
    assert reported == [(1, 4), (2, 4), (3, 4), (4, 4)]


def test_an_estimator_gets_the_number_of_clusters_and_a_seed(blobs, content):
    mine = ConcatenatedAffinities()
    found = mdt.study.run({"blobs": blobs}, {"mine": mine}, n_runs=7, n_searches=4)
    assert [(row.search, row.run, row.method) for row in found.rows] == [(s, 0, "mine") for s in range(4)]
    assert len({row.ch for row in found.rows}) > 1
    # Its default of fifty clusters would leave few samples in each class.
    assert min(row.acc for row in found.rows) > 0.4
    again = mdt.study.run({"blobs": blobs}, {"mine": ConcatenatedAffinities()}, n_runs=7, n_searches=4)
    assert content(found.rows) == content(again.rows)
    assert mine.get_params() == ConcatenatedAffinities().get_params()
    assert not hasattr(mine, "labels_")


def test_our_estimators_are_estimators(blobs):
    found = mdt.study.run(
        {"blobs": blobs}, {"ours": mdt.MDTClustering(n_clusters=7, strategy="random", t=2)}, n_searches=1
    )
    (row,) = found.rows
    assert row.length == 2
    assert row.acc > 0.5


def test_the_name_in_a_mapping_is_the_name_in_the_tables(blobs):
    found = mdt.study.run({"blobs": blobs}, {"alternating": "AD"}, n_runs=1)
    assert found.methods == ["alternating"]
    assert [row.method for row in found.rows] == ["alternating"]


def matched_by_hand(target, labels):
    n = max(target.max(), labels.max()) + 1
    return max(np.mean(np.asarray(match)[labels] == target) for match in permutations(range(n)))


@pytest.mark.parametrize("n_found", [2, 3, 5])
@pytest.mark.parametrize("share", [0.3, 0.8])
def test_measures(blobs, rng, n_found, share):
    """With fewer, as many and more clusters than classes, and some samples in wrong clusters."""
    guessed = rng.integers(n_found, size=90)
    labels = np.where(rng.random(90) < share, (blobs.target + 1) % n_found, guessed)
    (row,) = mdt.study.run({"blobs": blobs}, {"given": GivenLabels(labels)}, n_searches=1).rows
    assert row.ami == adjusted_mutual_info_score(blobs.target, labels)
    assert row.ari == adjusted_rand_score(blobs.target, labels)
    assert row.nmi == normalized_mutual_info_score(blobs.target, labels)
    assert_allclose(row.acc, matched_by_hand(blobs.target, labels), rtol=1e-12)
    assert row.ch == mdt.quality.calinski_harabasz(mdt.build_operators(blobs.views), labels)


def test_classes_may_have_any_names(blobs):
    """Correct clusters score 1 under any names."""
    named = (blobs.views, np.array(["oak", "elm", "ash"])[blobs.target])
    (row,) = mdt.study.run({"blobs": named}, {"given": GivenLabels((blobs.target + 1) % 3)}, n_searches=1).rows
    assert (row.ami, row.ari, row.nmi, row.acc) == (1, 1, 1, 1)


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        ({"datasets": ["Atlantis"]}, ValueError, r"^datasets: expected .*MSRC-v5.*, got 'Atlantis'"),
        ({"datasets": ["K-MvMNIST(s=0.1.2)"]}, ValueError, r"^datasets: expected .*, got 'K-MvMNIST\(s=0.1.2\)'"),
        ({"datasets": {}}, ValueError, "^datasets: expected at least one"),
        ({"datasets": []}, ValueError, "^datasets: expected at least one"),
        ({"datasets": 3}, TypeError, "^datasets: expected .*, got 3"),
        ({"datasets": {"one": 3}}, TypeError, r"^datasets\['one'\]: expected .*, got int"),
        ({"methods": ["Magic"]}, ValueError, r"^methods: expected .*MDT-Rand.*, got 'Magic'"),
        ({"methods": ["AD(t=5)"]}, ValueError, r"^methods: expected .*, got 'AD\(t=5\)'"),
        ({"methods": ["MDT-Rand(t=0)"]}, ValueError, r"^methods: expected .*, got 'MDT-Rand\(t=0\)'"),
        ({"methods": ["DM(view 0)"]}, ValueError, r"^methods: expected .*, got 'DM\(view 0\)'"),
        ({"methods": []}, ValueError, "^methods: expected at least one"),
        ({"methods": 3}, TypeError, "^methods: expected .*, got 3"),
        ({"methods": {"mine": WithoutFit()}}, TypeError, r"^methods\['mine'\]: expected .*, got WithoutFit"),
        ({"methods": {"mine": GivenLabels}}, TypeError, r"^methods\['mine'\]: expected .*, got .*GivenLabels"),
        ({"preset": "guessed"}, ValueError, "^preset: expected .*'published', got 'guessed'"),
        ({"n_runs": 0}, ValueError, "^n_runs: expected .*, got 0"),
        ({"n_runs": 1.5}, TypeError, "^n_runs: expected .*, got 1.5"),
        ({"n_searches": 0}, ValueError, "^n_searches: expected .*, got 0"),
        ({"random_state": -1}, ValueError, "^random_state: expected .*, got -1"),
        ({"progress": "loud"}, TypeError, "^progress: expected .*, got 'loud'"),
    ],
)
def test_refused_arguments(blobs, tmp_path, change, error, match):
    """Before anything is computed or written."""
    rows = tmp_path / "rows.csv"
    with pytest.raises(error, match=match):
        mdt.study.run(**{"datasets": {"blobs": blobs}, "methods": ["AD"], "n_runs": 1, "rows": rows, **change})
    assert not rows.exists()


@pytest.mark.parametrize(
    ("spoil", "match"),
    [
        (lambda target: target[:-1], r"expected a target of 90 classes, got an array of shape \(89,\)"),
        (lambda target: np.column_stack([target, target]), r"expected a target of 90 classes, got .*\(90, 2\)"),
        (np.zeros_like, "expected between 2 and 89 classes, got 1"),
        (lambda target: np.arange(len(target)), "expected between 2 and 89 classes, got 90"),
    ],
)
def test_refused_targets(blobs, spoil, match):
    with pytest.raises(ValueError, match=rf"^datasets\['blobs'\]: {match}"):
        mdt.study.run({"blobs": (blobs.views, spoil(blobs.target))}, ["AD"], n_runs=1)


def test_refused_views(blobs):
    with pytest.raises(ValueError, match=r"^datasets\['blobs'\]: views"):
        mdt.study.run({"blobs": ([blobs.views[0], blobs.views[1][1:]], blobs.target)}, ["AD"], n_runs=1)


def test_published_figures():
    score = mdt.study.paper.published_score("MSRC-v5", "MDT-Direct", "ami")
    assert (score.mean, score.std) == (0.7618, 0.0264)
    assert mdt.study.paper.published_time("Multi-Feat") == 11
    for nowhere in (("Atlantis", "AD", "ami"), ("MSRC-v5", "Magic", "ami"), ("MSRC-v5", "AD", "acc")):
        assert mdt.study.paper.published_score(*nowhere) is None
    assert mdt.study.paper.published_time("Atlantis") is None


def test_published_methods_can_be_run():
    for dataset, entry in published().items():
        if dataset not in MANIFOLDS:
            assert find_dataset(dataset).name == dataset
        for method in entry.get("methods", ()):
            assert find_method(method).name == method
    assert set(MANIFOLDS) <= set(published())


@pytest.mark.real_data
def test_msrc_equals_the_published_scores():
    try:
        found = mdt.study.run(["MSRC-v5"], ["AD", "MDT-Cvx-Rand"], n_runs=20, preset="published")
    except FileNotFoundError as missing:
        pytest.skip(f"MSRC-v5 is missing: {missing}")
    assert {row.t for row in found.rows} == {mdt.study.paper.published_time("MSRC-v5")}
    for method in found.methods:
        theirs = mdt.study.paper.published_score("MSRC-v5", method, "ami")
        ours = found.table().cells["MSRC-v5", method]
        assert ours.n_runs == 20
        assert abs(ours.mean - theirs.mean) <= max(2 * theirs.std, 0.02), method
