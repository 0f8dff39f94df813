"""The real files: sizes, classes and preparation. Skipped where a file is missing."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import issparse

from mdt_fast import datasets
from mdt_fast.datasets._files import locate
from mdt_fast.datasets._mnist import _read_digits, read_idx

pytestmark = pytest.mark.real_data

# fetcher, key of the registry, samples, widths prepared, widths raw, sizes of the classes
SETS = [
    (datasets.fetch_msrc, "msrc", 210, [24, 100, 100, 100, 100], [24, 576, 512, 256, 254], [30] * 7),
    (datasets.fetch_yale, "yale", 165, [100] * 3, None, [11] * 15),
    (datasets.fetch_leaves, "leaves", 1600, [64] * 3, [64] * 3, [16] * 100),
    (datasets.fetch_caltech7, "caltech7", 1474, None, None, None),
    (
        datasets.fetch_multi_feat,
        "multi_feat",
        2000,
        [216, 64, 47, 6, 240, 76],
        [216, 64, 47, 6, 240, 76],
        [200] * 10,
    ),
    (datasets.fetch_olivetti, "olivetti", 400, [150, 150], [4096, 324], [10] * 40),
    (datasets.fetch_l_isolet, "isolet", 1560, [617] * 3, [617] * 3, [60] * 26),
    (
        datasets.fetch_citeseq_pbmc,
        "citeseq_pbmc",
        1372,
        [50, 10],
        [16793, 10],
        [69, 99, 7, 571, 223, 213, 190],
    ),
    (datasets.fetch_snareseq_cellmix, "snareseq_cellmix", 1047, [19, 10], [19, 10], [379, 324, 201, 143]),
    (datasets.fetch_k_mvmnist, "mnist", 6000, [100, 100], [784, 784], None),
    (datasets.fetch_l_mvmnist, "mnist", 6000, [100, 100], [784, 784], None),
]
N_CLASSES = {"caltech7": 7, "mnist": 10}
N_VIEWS = {"caltech7": 6, "yale": 3}


@pytest.mark.parametrize("prepared", [True, False])
@pytest.mark.parametrize(
    ("fetch", "key", "n_samples", "widths", "raw_widths", "sizes"),
    SETS,
    ids=[row[0].__name__ for row in SETS],
)
def test_sizes_classes_and_names(real_folder, fetch, key, n_samples, widths, raw_widths, sizes, prepared):
    if fetch is datasets.fetch_olivetti:
        pytest.importorskip("skimage")
    bunch = fetch(data_home=real_folder(key), prepared=prepared)
    expected = widths if prepared else raw_widths
    if expected is not None:
        assert [view.shape[1] for view in bunch.views] == expected
    assert len(bunch.views) == len(bunch.view_names) == N_VIEWS.get(key, len(expected or bunch.views))
    assert len(set(bunch.view_names)) == len(bunch.view_names)
    for view in bunch.views:
        assert view.shape[0] == n_samples
        assert view.dtype == np.float64
        assert np.isfinite(view.data if issparse(view) else view).all()
    assert bunch.target.shape == (n_samples,)
    assert bunch.target.dtype == np.intp
    counts = np.bincount(bunch.target)
    assert counts.min() > 0
    assert len(counts) == N_CLASSES.get(key, len(sizes or counts))
    if sizes is not None:
        assert counts.tolist() == sizes
    if "target_names" in bunch:
        assert len(bunch.target_names) == len(counts)
    assert str(n_samples) in bunch.DESCR


@pytest.mark.parametrize(
    ("fetch", "key"),
    [
        (datasets.fetch_msrc, "msrc"),
        (datasets.fetch_yale, "yale"),
        (datasets.fetch_olivetti, "olivetti"),
        (datasets.fetch_k_mvmnist, "mnist"),
        (datasets.fetch_l_mvmnist, "mnist"),
        (datasets.fetch_snareseq_cellmix, "snareseq_cellmix"),
    ],
)
def test_prepared_rows_have_unit_length(real_folder, fetch, key):
    if key == "olivetti":
        pytest.importorskip("skimage")
    for view in fetch(data_home=real_folder(key)).views:
        assert_allclose(np.linalg.norm(view, axis=1), 1.0, rtol=1e-12)


def test_msrc_leaves_narrow_views_their_direction(real_folder):
    raw = datasets.fetch_msrc(data_home=real_folder("msrc"), prepared=False)
    prepared = datasets.fetch_msrc(data_home=real_folder("msrc"))
    colors = raw.views[0]
    assert_allclose(prepared.views[0], colors / np.sqrt((colors**2).sum(axis=1))[:, None])
    assert prepared.view_names == raw.view_names == ["color moments", "HOG", "GIST", "LBP", "CENTRIST"]


def test_multi_feat_columns_fill_the_unit_range(real_folder):
    folder = real_folder("multi_feat")
    bunch = datasets.fetch_multi_feat(data_home=folder)
    assert bunch.view_names == ["fac", "kar", "zer", "mor", "pix", "fou"]
    for view in bunch.views:
        assert_array_equal(view.min(axis=0), 0.0)
        assert_allclose(view.max(axis=0), 1.0)
    raw = datasets.fetch_multi_feat(data_home=folder, prepared=False)
    assert raw.views[3].max() > 10000.0
    # Pixel averages of one digit are similar: the labels match the rows.
    means = np.array([raw.views[4][raw.target == digit].mean(axis=0) for digit in range(10)])
    nearest = ((raw.views[4][:, None, :] - means) ** 2).sum(axis=2).argmin(axis=1)
    assert (nearest == raw.target).mean() > 0.85


def test_isolet_is_one_feature_set_under_three_kernels(real_folder):
    bunch = datasets.fetch_l_isolet(data_home=real_folder("isolet"))
    assert bunch.views[0] is bunch.views[1] is bunch.views[2]
    assert bunch.view_names == ["gaussian", "laplacian", "correlation"]
    assert bunch.target_names[0] == "A"
    assert bunch.target_names[25] == "Z"
    assert "1600" in bunch.DESCR


def test_olivetti_images_are_its_pixels(real_folder):
    pytest.importorskip("skimage")
    bunch = datasets.fetch_olivetti(data_home=real_folder("olivetti"), prepared=False)
    assert_array_equal(bunch.images.reshape(400, -1), bunch.views[0])


def test_noise_of_mnist_grows_with_s(real_folder):
    folder = real_folder("mnist")
    clean = datasets.fetch_l_mvmnist(data_home=folder, prepared=False, n_samples=500, s=0.0)
    assert_array_equal(clean.views[0], clean.views[1])
    assert clean.target[:10].tolist() == [5, 0, 4, 1, 9, 2, 1, 3, 1, 4]
    lit = clean.views[1] > 0.0
    spoilt = datasets.fetch_l_mvmnist(data_home=folder, prepared=False, n_samples=500, s=0.25)
    assert (spoilt.views[1] == 0.0)[lit].mean() == pytest.approx(0.25, abs=0.01)
    assert not (spoilt.views[1] > 0.0)[~lit].any()


def test_citeseq_counts_and_types(real_folder):
    bunch = datasets.fetch_citeseq_pbmc(data_home=real_folder("citeseq_pbmc"), prepared=False)
    rna, protein = bunch.views
    assert issparse(rna)
    assert rna.format == "csr"
    assert_array_equal(rna.data, np.round(rna.data))
    assert rna.data.min() == 1.0
    assert (len(bunch.genes), len(bunch.proteins), len(bunch.cells)) == (16793, 10, 1372)
    assert bunch.target_names[-1] == "unknown"
    assert_array_equal(np.array(bunch.target_names)[bunch.target], bunch.cell_type)
    # The markers match the annotation: no cell is shifted.
    marker = [name.split("-")[0] for name in bunch.proteins]
    for cell_type, protein_name in (
        ("B cells", "CD19"),
        ("CD14+ monocytes", "CD14"),
        ("CD8+ T cells", "CD8a"),
    ):
        levels = protein[:, marker.index(protein_name)]
        inside = bunch.cell_type == cell_type
        assert np.median(levels[inside]) > 3 * np.median(levels[~inside])


def test_citeseq_preparation(real_folder):
    bunch = datasets.fetch_citeseq_pbmc(data_home=real_folder("citeseq_pbmc"))
    rna, protein = bunch.views
    assert_allclose(rna.mean(axis=0), 0.0, atol=1e-9)
    assert (np.diff(rna.var(axis=0)) <= 0.0).all()
    assert_allclose(protein.sum(axis=1), 0.0, atol=1e-9)


def test_citeseq_without_unknown(real_folder):
    folder = real_folder("citeseq_pbmc")
    known = datasets.fetch_citeseq_pbmc(data_home=folder, drop_unknown=True)
    whole = datasets.fetch_citeseq_pbmc(data_home=folder)
    kept = whole.cell_type != "unknown"
    assert [view.shape for view in known.views] == [(1182, 50), (1182, 10)]
    assert "unknown" not in known.target_names
    assert known.target.max() == 5
    assert_array_equal(known.cells, whole.cells[kept])
    assert_allclose(known.views[1], whole.views[1][kept])
    with pytest.raises(TypeError, match="drop_unknown: expected True or False"):
        datasets.fetch_citeseq_pbmc(data_home=folder, drop_unknown="yes")


def test_variable_names_the_folder(real_folder):
    real_folder("leaves")
    assert datasets.fetch_leaves().target.size == 1600


def test_test_images_of_mnist_follow_the_training_images():
    try:
        images, labels = _read_digits(60_003, None, False)
        paths = locate("mnist_test", None, False)
    except FileNotFoundError as missing:
        pytest.skip(f"MNIST is missing: {missing}")
    assert images.shape == (60_003, 28, 28)
    assert_array_equal(images[60_000:], read_idx(paths[0], 3))
    assert_array_equal(labels[60_000:], read_idx(paths[1], 3))
    assert_array_equal(images[:5], _read_digits(5, None, False)[0])
