"""Generators and bundled digits: formulas written out by point, seeds, planted structure, bad arguments."""

from __future__ import annotations

import subprocess
import sys
from itertools import combinations
from math import cos, pi, sin

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_digits

from mdt_fast import datasets


def looped(x):
    return (
        4 * cos(0.9 * x) + 0.3 * cos(20 * x),
        4 * sin(0.9 * x) + 0.3 * sin(20 * x),
        0.63 * x * x - 0.1 * x * x * x,
    )


def turned(x):
    return (4 * cos(5 * x), 4 * sin(5 * x), 4 * x)


def quarter_turn_on(x):
    return x + pi / 2 if x + pi / 2 < 2 * pi else x - 3 * pi / 2


@pytest.mark.parametrize(("make", "curve"), [(datasets.make_helix_a, looped), (datasets.make_helix_b, turned)])
def test_helices_follow_the_paper(make, curve):
    bunch = make(41)
    angles = [2 * pi * i / 41 for i in range(41)]
    assert_allclose(bunch.target, angles, atol=1e-12)
    assert_allclose(bunch.views[0], [curve(x) for x in angles], atol=1e-10)
    assert_allclose(bunch.views[1], [curve(quarter_turn_on(x)) for x in angles], atol=1e-10)


@pytest.mark.parametrize("make", [datasets.make_helix_a, datasets.make_helix_b])
def test_published_helices_close_the_circle(make):
    bunch = make(variant="published")
    assert bunch.views[0].shape == bunch.views[1].shape == (1500, 3)
    assert_allclose(bunch.target[[0, 1, -1]], [0.0, 2 * pi / 1499, 2 * pi])
    assert_allclose(bunch.views[1][0], bunch.views[1][-1], atol=1e-12)
    assert not np.allclose(make().views[1][0], make().views[1][-1], atol=1e-3)


def test_published_helix_a_has_another_height_in_view_2_only():
    bunch = datasets.make_helix_a(30, variant="published")
    shifted = [quarter_turn_on(x) for x in bunch.target]
    assert_allclose(bunch.views[0], [looped(x) for x in bunch.target], atol=1e-10)
    assert_allclose(bunch.views[1][:, :2], [looped(x)[:2] for x in shifted], atol=1e-10)
    assert_allclose(bunch.views[1][:, 2], [0.63 * x - 0.1 * x * x for x in shifted], atol=1e-10)


def test_published_helix_b_keeps_the_formula():
    bunch = datasets.make_helix_b(30, variant="published")
    assert_allclose(bunch.views[1], [turned(quarter_turn_on(x)) for x in bunch.target], atol=1e-10)


def test_deformed_plane_follows_the_paper():
    bunch = datasets.make_deformed_plane(500, random_state=3)
    first = [(x * cos(0.65 * x), 0.2 * y + 0.3 * sin(x), x * cos(x)) for x, y in bunch.target]
    second = [(y + sin(2 * x) + 0.4 * cos(y), x + sin(y) + 0.3 * cos(2 * x), sin(x) + cos(y)) for x, y in bunch.target]
    assert_allclose(bunch.views[0], first, atol=1e-10)
    assert_allclose(bunch.views[1], second, atol=1e-10)
    # Uniform over the rectangle: near its borders, and nowhere outside.
    assert_allclose(bunch.target.min(axis=0), [0.0, 0.0], atol=0.5)
    assert_allclose(bunch.target.max(axis=0), [1.5 * pi, 21.0], atol=0.5)
    assert (bunch.target >= 0.0).all()
    assert (bunch.target <= [1.5 * pi, 21.0]).all()


def test_published_plane_is_one_fixed_draw():
    bunch = datasets.make_deformed_plane(variant="published")
    uniforms = np.random.RandomState(42).random_sample(6000)
    assert_allclose(bunch.target[:, 0], 1.5 * pi + 3 * pi * uniforms[:3000])
    assert_allclose(bunch.target[:, 1], 21 * uniforms[3000:])
    x, y = bunch.target.T
    assert_allclose(bunch.views[0][:, 2], x * np.sin(x), atol=1e-10)
    assert_allclose(bunch.views[1][:, 0], y + np.sin(2 * x) + 0.3 * np.cos(y), atol=1e-10)
    assert_allclose(bunch.views[1][:, 1], x + np.sin(y) + 0.3 * np.cos(2 * x), atol=1e-10)
    again = datasets.make_deformed_plane(variant="published", random_state=7)
    assert_array_equal(again.target, bunch.target)


def test_blobs_are_balanced_and_of_the_given_shape():
    bunch = datasets.make_multiview_blobs(
        103, n_views=3, n_clusters=5, n_features=[2, 3, 4], cluster_std=[1.0, 2.0, 3.0], random_state=0
    )
    assert [view.shape for view in bunch.views] == [(103, 2), (103, 3), (103, 4)]
    assert sorted(np.bincount(bunch.target)) == [20, 20, 21, 21, 21]
    assert bunch.view_names == ["view 0", "view 1", "view 2"]


def test_blobs_have_the_given_spread_and_box():
    stds = [0.5, 3.0]
    bunch = datasets.make_multiview_blobs(
        6000, n_clusters=3, n_features=4, cluster_std=stds, center_box=(40.0, 50.0), random_state=1
    )
    for view, std in zip(bunch.views, stds, strict=True):
        for cluster in range(3):
            points = view[bunch.target == cluster]
            assert_allclose(points.std(axis=0), std, rtol=0.06)
            assert (points.mean(axis=0) > 39.0).all()
            assert (points.mean(axis=0) < 51.0).all()


def test_one_seed_has_the_same_centres_at_any_number_of_samples():
    few, many = (datasets.make_multiview_blobs(n, n_clusters=5, cluster_std=0.0, random_state=3) for n in (20, 300))
    for view, larger in zip(few.views, many.views, strict=True):
        for cluster in range(5):
            assert_array_equal(view[few.target == cluster][0], larger[many.target == cluster][0])


@pytest.mark.parametrize("n_clusters", [3, 4, 5, 6, 7, 10])
@pytest.mark.parametrize("n_views", [2, 3, 5])
def test_merged_views_are_complementary(n_clusters, n_views):
    pairs = n_clusters // 2
    bunch = datasets.make_multiview_blobs(
        n_clusters, n_views=n_views, n_clusters=n_clusters, n_features=1, n_merged=pairs, random_state=0
    )
    assert bunch.cluster_groups.shape == (n_views, n_clusters)
    for groups in bunch.cluster_groups:
        assert len(set(groups)) == n_clusters - pairs
        assert np.bincount(groups).max() == 2
    # No pair of clusters is merged in every view, so the views together separate all.
    assert len(set(map(tuple, bunch.cluster_groups.T))) == n_clusters


def test_views_merge_each_pair_once_in_a_whole_tournament():
    bunch = datasets.make_multiview_blobs(6, n_views=5, n_clusters=6, n_features=1, n_merged=3, random_state=0)
    merged = [(i, j) for groups in bunch.cluster_groups for i, j in combinations(range(6), 2) if groups[i] == groups[j]]
    assert sorted(merged) == list(combinations(range(6), 2))


def test_merged_clusters_share_their_centre():
    bunch = datasets.make_multiview_blobs(
        40, n_clusters=4, n_features=3, n_merged=[1, 0], cluster_std=0.0, random_state=0
    )
    centres = [np.array([view[bunch.target == c][0] for c in range(4)]) for view in bunch.views]
    assert len(np.unique(centres[0], axis=0)) == 3
    assert len(np.unique(centres[1], axis=0)) == 4
    first, second = np.flatnonzero(bunch.cluster_groups[0] == 0)
    assert_array_equal(centres[0][first], centres[0][second])


def test_noise_misplaces_the_given_share_of_samples_in_its_view_only():
    bunch = datasets.make_multiview_blobs(
        4000, n_clusters=4, n_features=3, cluster_std=0.0, noise=[0.4, 0.0], random_state=5
    )
    wrong = []
    for view in bunch.views:
        _, shown = np.unique(view, axis=0, return_inverse=True)
        table = np.zeros((4, 4))
        np.add.at(table, (shown.ravel(), bunch.target), 1)
        wrong.append(1.0 - table.max(axis=0).sum() / 4000)
    # A quarter of the draws is a sample's own cluster.
    assert wrong[0] == pytest.approx(0.4 * 0.75, abs=0.03)
    assert wrong[1] == 0.0


@pytest.mark.parametrize("kind", ["gaussian", "dropout"])
def test_digits_have_two_views_in_the_unit_range(kind):
    bunch = datasets.load_multiview_digits(kind=kind)
    assert [view.shape for view in bunch.views] == [(1797, 64)] * 2
    assert all(view.min() >= 0.0 and view.max() <= 1.0 for view in bunch.views)
    assert_array_equal(bunch.target, load_digits().target)
    assert bunch.target_names == [str(digit) for digit in range(10)]


def test_digit_noise_has_the_given_strength():
    clean = load_digits().data / 16.0
    mid = np.abs(clean - 0.5) < 0.01
    gaussian = datasets.load_multiview_digits(kind="gaussian", noise=0.1)
    # Clipping changes hardly any pixel at 0.5 under noise of 0.1, and a tenth of them at 0.3.
    assert (gaussian.views[1] - clean)[mid].std() == pytest.approx(0.1, rel=0.05)
    assert (gaussian.views[0] - clean)[mid].std() == pytest.approx(0.28, rel=0.07)
    dropout = datasets.load_multiview_digits(kind="dropout", noise=0.1)
    lost = dropout.views[1] != clean
    assert (dropout.views[1][lost] == 0.0).all()
    assert lost[clean > 0.0].mean() == pytest.approx(0.1, abs=0.01)
    assert (dropout.views[0] - clean)[mid].std() == pytest.approx(0.1, rel=0.05)


def test_digits_without_noise_are_the_digits():
    bunch = datasets.load_multiview_digits(kind="dropout", noise=0.0)
    assert_array_equal(bunch.views[0], load_digits().data / 16.0)
    assert_array_equal(bunch.views[1], load_digits().data / 16.0)


def some_blobs(seed):
    return datasets.make_multiview_blobs(30, n_clusters=3, noise=0.2, n_merged=1, random_state=seed)


def some_plane(seed):
    return datasets.make_deformed_plane(30, random_state=seed)


def some_digits(seed):
    return datasets.load_multiview_digits(random_state=seed)


@pytest.mark.parametrize("make", [some_blobs, some_plane, some_digits])
def test_seed_determines_the_data_and_leaves_the_global_state(make):
    before = np.random.get_state()[1].copy()  # noqa: NPY002 (the global state is what is tested)
    one, same, other = make(1), make(1), make(2)
    for left, right in zip(one.views, same.views, strict=True):
        assert_array_equal(left, right)
    assert_array_equal(one.target, same.target)
    assert not np.array_equal(one.views[0], other.views[0])
    assert not np.array_equal(one.views[1], other.views[1])
    assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


@pytest.mark.parametrize("make", [some_blobs, some_plane, some_digits])
@pytest.mark.parametrize("kind", [np.random.default_rng, np.random.RandomState])
def test_generators_are_accepted_and_advance(make, kind):
    rng = kind(4)
    first, second = make(rng), make(rng)
    assert not np.array_equal(first.views[0], second.views[0])
    assert_array_equal(make(kind(4)).views[0], first.views[0])


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: datasets.make_helix_a(1), ValueError, "n_samples: expected an integer >= 2, got 1"),
        (
            lambda: datasets.make_helix_b(2.5),
            TypeError,
            "n_samples: expected an integer >= 2, got 2.5 of type float",
        ),
        (lambda: datasets.make_helix_b(True), TypeError, "n_samples: .* got True of type bool"),
        (
            lambda: datasets.make_helix_a(variant="code"),
            ValueError,
            "variant: expected one of 'paper', 'published'",
        ),
        (lambda: datasets.make_deformed_plane(variant=None), ValueError, "variant: .* got None"),
        (lambda: datasets.make_deformed_plane(random_state=-1), ValueError, "random_state: .* got -1"),
        (
            lambda: datasets.make_deformed_plane(random_state="a"),
            TypeError,
            "random_state: .* got 'a' of type str",
        ),
        (lambda: datasets.make_multiview_blobs(3), ValueError, "n_samples: expected an integer >= 10, got 3"),
        (lambda: datasets.make_multiview_blobs(n_views=0), ValueError, "n_views: .* got 0"),
        (
            lambda: datasets.make_multiview_blobs(n_features=[3]),
            ValueError,
            "n_features: .* 2, one for each view, got 1",
        ),
        (lambda: datasets.make_multiview_blobs(n_features=[3, 0]), ValueError, r"n_features\[1\]: .* got 0"),
        (lambda: datasets.make_multiview_blobs(cluster_std=-1.0), ValueError, "cluster_std: .* got -1"),
        (lambda: datasets.make_multiview_blobs(cluster_std=np.nan), ValueError, "cluster_std: .* got nan"),
        (lambda: datasets.make_multiview_blobs(noise=1.5), ValueError, "noise: .* <= 1, got 1.5"),
        (lambda: datasets.make_multiview_blobs(noise="much"), TypeError, "noise: .* got 'much' of type str"),
        (lambda: datasets.make_multiview_blobs(n_merged=6), ValueError, "n_merged: .* <= 5, got 6"),
        (
            lambda: datasets.make_multiview_blobs(n_clusters=2, n_merged=1),
            ValueError,
            "n_merged: .* n_clusters=2",
        ),
        (lambda: datasets.make_multiview_blobs(n_views=1, n_merged=1), ValueError, "n_merged: .* n_views=1"),
        (
            lambda: datasets.make_multiview_blobs(center_box=(1.0, 1.0)),
            ValueError,
            "center_box: expected low < high",
        ),
        (
            lambda: datasets.make_multiview_blobs(center_box=3.0),
            ValueError,
            "center_box: expected two numbers",
        ),
        (lambda: datasets.load_multiview_digits(kind="poisson"), ValueError, "kind: .* got 'poisson'"),
        (lambda: datasets.load_multiview_digits(noise=-0.1), ValueError, "noise: .* got -0.1"),
    ],
)
def test_bad_arguments_are_named(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_importing_does_not_import_scikit_learn():
    code = "import sys, mdt_fast.datasets; sys.exit(bool({'sklearn', 'skimage', 'scipy.io'} & set(sys.modules)))"
    already = subprocess.run([sys.executable, "-c", "import sys, mdt_fast; sys.exit('sklearn' in sys.modules)"])
    if already.returncode:
        pytest.skip("mdt_fast itself imports scikit-learn")
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
