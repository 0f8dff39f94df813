"""Folders of files, messages for missing or damaged files, and formats, on tiny files."""

from __future__ import annotations

import gzip
import pickle
import struct
import sys
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.io import savemat
from scipy.sparse import csr_array

from mdt_fast import datasets
from mdt_fast.datasets._mnist import read_idx
from mdt_fast.datasets._prepare import (
    centered_log_ratio,
    most_variable_columns,
    normalize_counts,
    principal_components,
    scale_columns,
    scale_rows,
)
from mdt_fast.datasets._registry import REGISTRY
from mdt_fast.datasets._single_cell import read_strings

FETCHERS = {
    datasets.fetch_msrc: "msrc",
    datasets.fetch_leaves: "leaves",
    datasets.fetch_yale: "yale",
    datasets.fetch_caltech7: "caltech7",
    datasets.fetch_multi_feat: "multi_feat",
    datasets.fetch_olivetti: "olivetti",
    datasets.fetch_l_isolet: "isolet",
    datasets.fetch_k_mvmnist: "mnist",
    datasets.fetch_l_mvmnist: "mnist",
    datasets.fetch_citeseq_pbmc: "citeseq_pbmc",
    datasets.fetch_snareseq_cellmix: "snareseq_cellmix",
}


@pytest.mark.parametrize("fetch", FETCHERS, ids=lambda fetch: fetch.__name__)
def test_missing_file_is_named_with_its_folder_origin_and_remedy(fetch, tmp_path):
    files = REGISTRY[FETCHERS[fetch]]
    with pytest.raises(FileNotFoundError) as caught:
        fetch(data_home=tmp_path)
    message = str(caught.value)
    for part in (files.paths[0], str(tmp_path), files.origin, "data_home=", "MDT_FAST_DATA"):
        assert part in message


def test_only_the_absent_file_of_several_is_named(tmp_path):
    for path in REGISTRY["mnist"].paths[:1]:
        (tmp_path / path).parent.mkdir()
        (tmp_path / path).touch()
    with pytest.raises(FileNotFoundError, match=r"^mnist/train-labels-idx1-ubyte\.gz is not in"):
        datasets.fetch_k_mvmnist(data_home=tmp_path)


def test_folder_is_argument_then_variable_then_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("MDT_FAST_DATA", str(tmp_path / "variable"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    assert datasets.get_data_home(tmp_path / "argument") == tmp_path / "argument"
    assert datasets.get_data_home("~/argument") == Path.home() / "argument"
    assert datasets.get_data_home() == tmp_path / "variable"
    monkeypatch.delenv("MDT_FAST_DATA")
    assert datasets.get_data_home() == tmp_path / "cache" / "mdt_fast"
    monkeypatch.delenv("XDG_CACHE_HOME")
    assert datasets.get_data_home() == Path.home() / ".cache" / "mdt_fast"
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("fetch", FETCHERS, ids=lambda fetch: fetch.__name__)
def test_bad_data_home_and_prepared_are_named(fetch):
    with pytest.raises(TypeError, match="data_home: expected a path or None, got 3 of type int"):
        fetch(data_home=3)
    with pytest.raises(TypeError, match="prepared: expected True or False, got 'no' of type str"):
        fetch(prepared="no")


def write_idx(path, array, *, header=None):
    path.parent.mkdir(parents=True, exist_ok=True)
    if header is None:
        header = bytes((0, 0, 8, array.ndim)) + struct.pack(f">{array.ndim}I", *array.shape)
    with gzip.open(path, "wb") as stream:
        stream.write(header + array.tobytes())
    return path


def test_idx_reader_gives_the_first_items(tmp_path):
    array = np.arange(5 * 2 * 3, dtype=np.uint8).reshape(5, 2, 3)
    path = write_idx(tmp_path / "images.gz", array)
    assert_array_equal(read_idx(path, 5), array)
    assert_array_equal(read_idx(path, 2), array[:2])


def test_idx_reader_refuses_what_is_not_idx(tmp_path):
    array = np.arange(6, dtype=np.uint8)
    path = tmp_path / "a.gz"
    with pytest.raises(ValueError, match=r"a\.gz: .* unsigned bytes, got the magic number 00000d01"):
        read_idx(write_idx(path, array, header=bytes((0, 0, 13, 1)) + struct.pack(">I", 6)), 1)
    with pytest.raises(ValueError, match=r"a\.gz: expected 2 dimensions in the header, got 1"):
        read_idx(write_idx(path, array[:0], header=bytes((0, 0, 8, 2)) + struct.pack(">I", 6)), 1)
    with pytest.raises(ValueError, match=r"a\.gz: expected 7 bytes of content, got 6"):
        read_idx(write_idx(path, array, header=bytes((0, 0, 8, 1)) + struct.pack(">I", 9)), 7)
    with pytest.raises(ValueError, match=r"n_samples: expected at most 6, the items in a\.gz, got 7"):
        read_idx(write_idx(path, array), 7)


@pytest.fixture
def tiny_mnist(tmp_path):
    images = np.random.default_rng(0).integers(0, 256, (30, 4, 5), dtype=np.uint8)
    images[:, 0, 0] = 7
    labels = (np.arange(30) % 10).astype(np.uint8)
    image_path, label_path = (tmp_path / path for path in REGISTRY["mnist"].paths)
    write_idx(image_path, images)
    write_idx(label_path, labels)
    return tmp_path, images[:20].reshape(20, 20).astype(float), labels[:20]


def test_noisy_mnist_draws_from_the_published_seeds(tiny_mnist):
    folder, pixels, labels = tiny_mnist
    span = np.ptp(pixels, axis=0)
    clean = (pixels - pixels.min(axis=0)) / np.where(span == 0, 1, span)
    assert (clean[:, 0] == 0.0).all()

    k = datasets.fetch_k_mvmnist(data_home=folder, prepared=False, n_samples=20, s=0.2)
    for view, std, seed in zip(k.views, (0.3, 0.2), (3333, 3335), strict=True):
        noisy = clean + std * np.random.RandomState(seed).standard_normal((20, 20))
        assert_allclose(view, np.minimum(np.maximum(noisy, 0.0), 1.0), atol=1e-12)

    drop = datasets.fetch_l_mvmnist(data_home=folder, prepared=False, n_samples=20, s=0.4)
    noisy = clean + 0.4 * np.random.RandomState(333).standard_normal((20, 20))
    assert_allclose(drop.views[0], np.minimum(np.maximum(noisy, 0.0), 1.0), atol=1e-12)
    kept = np.random.RandomState(334).random_sample((20, 20)) >= 0.4
    assert_allclose(drop.views[1], clean * kept)
    for bunch in (k, drop):
        assert_array_equal(bunch.target, labels)
        assert bunch.target.dtype == np.intp


def test_noisy_mnist_takes_other_seeds_and_few_samples(tiny_mnist):
    folder, *_ = tiny_mnist
    one = datasets.fetch_k_mvmnist(data_home=folder, n_samples=20)
    other = datasets.fetch_k_mvmnist(data_home=folder, n_samples=20, seeds=(3333, 1))
    assert one.views[0].shape == (20, 20)
    assert_array_equal(one.views[0], other.views[0])
    assert not np.allclose(one.views[1], other.views[1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_samples": 31}, "n_samples: expected at most 30"),
        ({"n_samples": 0}, "n_samples: .* got 0"),
        ({"s": -0.5}, "s: .* got -0.5"),
        ({"seeds": (1,)}, r"seeds: expected two integers, got \(1,\)"),
        ({"seeds": (1, -1)}, "seeds: .* got -1"),
    ],
)
@pytest.mark.parametrize("fetch", [datasets.fetch_k_mvmnist, datasets.fetch_l_mvmnist])
def test_noisy_mnist_names_bad_arguments(tiny_mnist, fetch, arguments, message):
    with pytest.raises(ValueError, match=message):
        fetch(data_home=tiny_mnist[0], **arguments)


def test_dropping_needs_a_probability(tiny_mnist):
    with pytest.raises(ValueError, match=r"s: .* <= 1, got 1\.5"):
        datasets.fetch_l_mvmnist(data_home=tiny_mnist[0], s=1.5)
    datasets.fetch_k_mvmnist(data_home=tiny_mnist[0], n_samples=20, s=1.5)


def write_mat(path, widths, labels, **variables):
    rng = np.random.default_rng(1)
    cell = np.empty((len(widths), 1), dtype=object)
    for index, width in enumerate(widths):
        cell[index, 0] = rng.integers(1, 100, (len(labels), width)).astype(np.uint16)
    savemat(path, {"X": cell, "y": np.array(labels, dtype=np.uint8)[:, None], **variables})
    return [view.astype(float) for view in cell[:, 0]]


def test_yale_and_caltech_name_views_by_width(tmp_path):
    yale = write_mat(tmp_path / "Yale.mat", (6750, 4096, 3304), [3, 1, 1, 3])
    raw = datasets.fetch_yale(data_home=tmp_path, prepared=False)
    assert raw.view_names == ["Gabor", "intensity", "LBP"]
    for got, expected in zip(raw.views, yale, strict=True):
        assert got.dtype == np.float64
        assert_array_equal(got, expected)
    assert raw.target.tolist() == [1, 0, 0, 1]
    prepared = datasets.fetch_yale(data_home=tmp_path)
    assert [view.shape for view in prepared.views] == [(4, 4)] * 3
    assert_allclose([np.linalg.norm(view, axis=1) for view in prepared.views], 1.0)

    caltech = write_mat(tmp_path / "Caltech101-7.mat", (48, 40, 254, 1984, 512, 928, 9), [1, 2, 3])
    bunch = datasets.fetch_caltech7(data_home=tmp_path)
    assert bunch.view_names == ["Gabor", "wavelet moments", "CENTRIST", "HOG", "GIST", "LBP", "view 6"]
    assert_array_equal(bunch.views[5], caltech[5])


def test_mat_files_of_another_layout_are_refused(tmp_path):
    savemat(tmp_path / "100Leaves.mat", {"data": np.eye(2)})
    with pytest.raises(ValueError, match=r"100Leaves\.mat: expected the variables X and y, got data"):
        datasets.fetch_leaves(data_home=tmp_path)
    cell = np.empty((1, 1), dtype=object)
    cell[0, 0] = np.ones((5, 3))
    savemat(tmp_path / "100Leaves.mat", {"X": cell, "y": np.arange(3)})
    with pytest.raises(ValueError, match=r"view 0 to have one row for each of 3 labels, got shape \(5, 3\)"):
        datasets.fetch_leaves(data_home=tmp_path)


def test_short_mfeat_file_is_refused(tmp_path):
    (tmp_path / "mfeat").mkdir()
    for path in REGISTRY["multi_feat"].paths:
        np.savetxt(tmp_path / path, np.ones((2000 if "zer" not in path else 7, 2)))
    with pytest.raises(ValueError, match="mfeat-zer: expected 2000 rows, got 7"):
        datasets.fetch_multi_feat(data_home=tmp_path)


@pytest.mark.parametrize("dtype", [object, np.str_])
def test_strings_are_read_with_and_without_pickle(tmp_path, dtype):
    values = np.array(["B cells", "unknown"], dtype=dtype)
    np.savez(tmp_path / "a.npz", names=values)
    read = read_strings(tmp_path / "a.npz", "names")
    assert read.dtype.kind == "U"
    assert read.tolist() == ["B cells", "unknown"]


class Harmful:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return Path.touch, (self.path,)


def test_pickled_code_in_a_data_file_is_not_run(tmp_path):
    np.savez(tmp_path / "a.npz", names=np.array([Harmful(tmp_path / "touched")], dtype=object))
    with pytest.raises(pickle.UnpicklingError, match="expected an array of strings"):
        read_strings(tmp_path / "a.npz", "names")
    assert not (tmp_path / "touched").exists()


def test_hog_without_scikit_image_names_the_extra(tmp_path, monkeypatch):
    np.savez(tmp_path / "olivetti.npz", X1=np.ones((1, 4)), X2=np.ones((1, 2, 2)), Y=np.zeros(1, dtype=int))
    monkeypatch.setitem(sys.modules, "skimage.feature", None)
    with pytest.raises(ImportError, match=r"mdt_fast\[datasets\]"):
        datasets.fetch_olivetti(data_home=tmp_path)


def test_scalings_survive_constant_columns_and_zero_rows():
    assert_array_equal(scale_columns([[1, 5], [3, 5], [2, 5]]), [[0, 0], [1, 0], [0.5, 0]])
    assert_array_equal(scale_rows([[3, 4], [0, 0]]), [[0.6, 0.8], [0, 0]])


def test_principal_components_are_the_centred_singular_vectors():
    X = np.random.default_rng(2).normal(size=(12, 600))
    scores = principal_components(X, 100)
    U, s, _ = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)
    assert scores.shape == (12, 12)
    assert_allclose(np.abs(scores[:, :11]), np.abs(U * s)[:, :11], atol=1e-9)
    assert_array_equal(scores, principal_components(X, 100))


def test_single_cell_steps():
    counts = csr_array(np.array([[1.0, 3.0, 0.0], [0.0, 0.0, 0.0], [2.0, 0.0, 2.0]]))
    before = counts.toarray()
    logs = normalize_counts(counts, total=8.0)
    assert_allclose(logs.toarray(), np.log([[3, 7, 1], [1, 1, 1], [5, 1, 5]]))
    assert_array_equal(counts.toarray(), before)
    X = csr_array(np.array([[0.0, 5.0, 1.0, 1.0], [9.0, 5.0, 0.0, 2.0]]))
    assert_array_equal(most_variable_columns(X, 2), [[0.0, 1.0], [9.0, 0.0]])
    clr = centered_log_ratio([[0, 3], [1, 1]])
    assert_allclose(clr, [[-np.log(2), np.log(2)], [0, 0]])
