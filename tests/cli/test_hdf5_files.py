"""Views from HDF5 files of anndata and mudata."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from helpers.files import NAMES, refused
from mdt_fast._cli.files import FileError, read_views


@pytest.fixture
def make_anndata(rng):
    anndata = pytest.importorskip("anndata")

    def make(names, X, *, with_pca=False):
        obs = pd.DataFrame({"kind": pd.Categorical([name[-1] for name in names])}, index=pd.Index(names, dtype=object))
        made = anndata.AnnData(X, obs=obs)
        place = "X_pca" if with_pca else "X_umap"
        made.obsm[place] = rng.normal(size=(len(names), 2)).astype(np.float32)
        made.obsm["protein"] = pd.DataFrame({"CD3": np.arange(len(names)), "CD4": 0.5}, index=obs.index)
        made.layers["counts"] = sparse.csc_matrix(X)
        return made

    # With pandas 3 anndata writes strings only with this setting.
    if hasattr(anndata.settings, "allow_write_nullable_strings"):
        with anndata.settings.override(allow_write_nullable_strings=True):
            yield make
    else:
        yield make


def test_h5ad_gives_one_view_and_more_by_selection(tmp_path, make_anndata, counts):
    path = tmp_path / "cells.h5ad"
    data = make_anndata(NAMES, sparse.csr_matrix(counts))
    data.write_h5ad(path)
    read = read_views([path], labels="kind")
    assert list(read.views) == ["X"]
    assert isinstance(read.views["X"], sparse.csr_array)
    assert read.views["X"].dtype == np.float32
    assert_array_equal(read.views["X"].toarray(), counts.toarray())
    assert read.sample_names == NAMES
    assert_array_equal(read.labels, list("012345"))
    assert read.sources == {"X": f"{path}: X"}

    read = read_views([path], select=["obsm/X_umap", "X", "cells/layers/counts", "obsm/protein"])
    assert list(read.views) == ["obsm/X_umap", "X", "layers/counts", "obsm/protein"]
    assert_array_equal(read.views["obsm/X_umap"], data.obsm["X_umap"])
    assert_array_equal(read.views["layers/counts"].toarray(), counts.toarray())
    assert_array_equal(read.views["obsm/protein"], data.obsm["protein"])

    refused(
        path, "expected a view among 'X', 'layers/counts', 'obsm/X_umap', 'obsm/protein', got 'pca'", select=["pca"]
    )
    refused(path, "expected labels among 'kind', got 'type'", labels="type")


def test_h5ad_without_the_default_view(tmp_path, make_anndata, counts):
    path = tmp_path / "cells.h5ad"
    data = make_anndata(NAMES, counts.toarray())
    data.X = None
    data.write_h5ad(path)
    match = "expected at least one 2-D matrix of numbers, got none among 'layers/counts', 'obsm/X_umap'"
    refused(path, match)
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "r+") as file:
        file.require_dataset("X", shape=None, dtype="f4").attrs["encoding-type"] = "null"
    refused(path, match)


def test_damaged_hdf5_files(tmp_path, make_anndata, counts):
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "cells.h5ad"
    make_anndata(NAMES, counts.toarray()).write_h5ad(path)
    with h5py.File(path, "r+") as file:
        del file["X"]
        pytest.importorskip("anndata.io").write_elem(file, "X", np.zeros((5, 4)))
    refused(path, "X: expected 6 rows, as obs has, got 5")
    with h5py.File(path, "r+") as file:
        del file["X"]
        pytest.importorskip("anndata.io").write_elem(file, "X", np.zeros((6, 4)))
        file["X"].attrs["encoding-version"] = "99"
    refused(path, r"expected an HDF5 file written by anndata .* \(No read method registered")
    with h5py.File(path, "r+") as file:
        file["obs"].attrs["encoding-type"] = "old"
    refused(path, "expected a file of anndata 0.7 or later")
    with h5py.File(path, "w") as file:
        file["data"] = np.zeros((2, 2))
    refused(path, "expected an HDF5 file written by anndata or mudata, got a damaged or different file")
    path.write_bytes(path.read_bytes()[:100])
    refused(path, "expected an HDF5 file written by anndata or mudata, got a damaged or different file")


@pytest.fixture
def write_mudata(tmp_path, make_anndata):
    mudata = pytest.importorskip("mudata")

    def write(**modalities):
        path = tmp_path / "cells.h5mu"
        with mudata.set_options(pull_on_update=False), warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="The inplace keyword", category=DeprecationWarning)
            for repeated in (".*names are not unique", "Duplicated obs_names"):
                warnings.filterwarnings("ignore", message=repeated, category=UserWarning)
            made = {name: make_anndata(*of[:2], with_pca=len(of) > 2) for name, of in modalities.items()}
            mudata.MuData(made).write(path)
        return path

    return write


def test_h5mu_gives_the_cells_of_all_modalities(write_mudata, counts, X):
    path = write_mudata(rna=(NAMES, counts.toarray()), prot=([*NAMES[:1:-1], "other"], X[:5]))
    whole = read_views([path], labels="kind")
    assert whole.sample_names == [*NAMES, "other"]
    assert whole.presences["rna"].samples.tolist() == list(range(6))
    assert whole.presences["prot"].samples.tolist() == list(range(2, 7))
    assert_array_equal(whole.views["prot"], X[[3, 2, 1, 0, 4]])
    read = read_views([path], labels="kind", missing="drop")
    assert list(read.views) == ["rna", "prot"]
    assert read.sample_names == NAMES[2:]
    assert_array_equal(read.views["rna"], counts.toarray()[2:])
    assert_array_equal(read.views["prot"], X[3::-1])
    assert_array_equal(read.labels, list("2345"))

    read = read_views([path], select=["prot/obsm/protein", "prot"])
    assert list(read.views) == ["prot/obsm/protein", "prot"]
    assert read.sample_names == [*NAMES[:1:-1], "other"]
    assert_array_equal(read.views["prot/obsm/protein"][:, 0], range(5))
    refused(path, "expected a view among 'rna', 'rna/layers/counts', .*, got 'rna/X_pca'", select=["rna/X_pca"])
    refused(path, "expected labels among 'kind', got 'type'", labels="type")


def test_h5mu_labels_of_all_cells_come_first(write_mudata, counts, X):
    h5py = pytest.importorskip("h5py")
    write_elem = pytest.importorskip("anndata.io").write_elem
    path = write_mudata(rna=(NAMES, counts.toarray()), prot=(NAMES[::-1], X))
    with h5py.File(path, "r+") as file:
        obs = pd.DataFrame({"kind": [1, 2, 3, 4, 5, 6]}, index=pd.Index(NAMES[::-1], dtype=object))
        write_elem(file, "obs", obs)
    assert_array_equal(read_views([path], labels="kind").labels, [6, 5, 4, 3, 2, 1])


def test_h5mu_without_common_cells_or_with_repeated_ones(write_mudata, counts, X):
    path = write_mudata(rna=(NAMES, counts.toarray()), prot=([f"other {i}" for i in range(6)], X))
    refused(path, "expected cells that are in each of 'rna', 'prot', got none", missing="drop")
    refused(path, "expected the same cells in each of 'rna', 'prot', got 12 in all and 6 in 'rna'", missing="error")
    path = write_mudata(rna=([*NAMES[:5], NAMES[0]], counts.toarray()), prot=(NAMES, X))
    refused(path, "expected unique cell names in 'rna', got 'cell 0' twice")


def test_repeated_names_are_kept_but_never_matched(tmp_path, make_anndata, counts):
    names = ["x", "x", "y", "z", "u", "v"]
    paths = [tmp_path / "first.h5ad", tmp_path / "second.h5ad"]
    for path, rows in zip(paths, (names, names[::-1]), strict=True):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=".*names are not unique", category=UserWarning)
            make_anndata(rows, counts.toarray()).write_h5ad(path)
    assert read_views(paths[:1]).sample_names == names
    with pytest.raises(FileError, match="in another order, in which they cannot be matched because some occur twice"):
        read_views(paths)


def test_read_only_files_are_read(tmp_path, make_anndata, counts):
    path = tmp_path / "cells.h5ad"
    make_anndata(NAMES, counts.toarray()).write_h5ad(path)
    path.chmod(0o444)
    before = path.read_bytes()
    assert_array_equal(read_views([path]).views["X"], counts.toarray())
    assert path.read_bytes() == before


def test_h5ad_with_principal_components(tmp_path, make_anndata, counts):
    path = tmp_path / "cells.h5ad"
    data = make_anndata(NAMES, counts.toarray(), with_pca=True)
    data.write_h5ad(path)
    read = read_views([path])
    assert list(read.views) == ["obsm/X_pca"]
    assert_array_equal(read.views["obsm/X_pca"], data.obsm["X_pca"])
    assert read.notes == [f"{path}: obsm/X_pca is read instead of the 4 columns of X; --select X reads these"]
    read = read_views([path], select=["X"])
    assert (list(read.views), read.notes) == (["X"], [])
    data.X = None
    data.write_h5ad(path)
    assert read_views([path]).notes == [f"{path}: obsm/X_pca is read"]


def test_h5ad_with_many_raw_columns(tmp_path, make_anndata, rng):
    path = tmp_path / "cells.h5ad"
    make_anndata(NAMES, rng.normal(size=(6, 1200))).write_h5ad(path)
    (note,) = read_views([path]).notes
    assert "all 1,200 columns of X are read, because there is no obsm/X_pca; principal components" in note


def test_h5mu_says_what_is_used_and_left_out(write_mudata, counts, X):
    path = write_mudata(rna=(NAMES, counts.toarray(), "pca"), prot=([*NAMES[:1:-1], "other"], X[:5]))
    assert read_views([path]).warnings == []
    read = read_views([path], missing="drop")
    assert list(read.views) == ["rna/obsm/X_pca", "prot"]
    assert {name: (n.n_samples, n.n_used, n.n_left_out) for name, n in read.sample_counts.items()} == {
        "rna": (6, 4, 2),
        "prot": (5, 4, 1),
    }
    assert read.notes == [
        f"{path}: rna/obsm/X_pca is read instead of the 4 columns of X; --select rna reads these",
    ]
    assert read.warnings == [
        f"{path}: {n} cells of {name!r} are left out, because not all of 'rna', 'prot' have them"
        for n, name in (("2 of the 6", "rna"), ("1 of the 5", "prot"))
    ]
    assert read_views([path], select=["rna"]).warnings == []


@pytest.mark.parametrize(
    "lie",
    [
        lambda h5py, file: file.create_dataset("X", (6, 10**12), "f4", chunks=(1, 1000)),
        lambda h5py, file: file.create_dataset("X", (6, 10**12), "f4", chunks=(1, 1000), compression="gzip"),
        lambda h5py, file: file.create_dataset("X", (10**12, 6), "f4", chunks=(1000, 1)),
    ],
    ids=["wide", "compressed", "long"],
)
def test_shapes_that_lie_are_refused_before_reading(tmp_path, make_anndata, counts, lie):
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "cells.h5ad"
    make_anndata(NAMES, counts.toarray()).write_h5ad(path)
    with h5py.File(path, "r+") as file:
        attributes = dict(file["X"].attrs)
        del file["X"]
        lie(h5py, file).attrs.update(attributes)
    assert path.stat().st_size < 10**6
    refused(path, "X: expected (at most .* bytes in memory, got 24,000,000,000,000; .*MDT_FAST_MAX_BYTES|6 rows)")


def test_sparse_shapes_that_lie_are_refused_before_reading(tmp_path, make_anndata, counts):
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "cells.h5ad"
    make_anndata(NAMES, sparse.csc_matrix(counts)).write_h5ad(path)
    with h5py.File(path, "r+") as file:
        file["X"].attrs["shape"] = [10**12, 4]
    refused(path, "X: expected 6 rows, as obs has, got 1000000000000")
    with h5py.File(path, "r+") as file:
        file["X"].attrs["shape"] = [6, 4]
        del file["X/data"]
        file["X"].create_dataset("data", (10**13,), "f4", chunks=(1000,))
    refused(path, "X: expected at most .* bytes in memory, got 40,000,000,")


def test_the_limit_can_be_raised(tmp_path, make_anndata, counts, monkeypatch):
    path = tmp_path / "cells.h5ad"
    make_anndata(NAMES, counts.toarray()).write_h5ad(path)
    monkeypatch.setenv("MDT_FAST_MAX_BYTES", "95")
    refused(path, "expected at most 95 bytes in memory, got .*; the environment variable MDT_FAST_MAX_BYTES sets")
    monkeypatch.setenv("MDT_FAST_MAX_BYTES", "1000")
    assert_array_equal(read_views([path]).views["X"], counts.toarray())
    monkeypatch.setenv("MDT_FAST_MAX_BYTES", "many")
    refused(path, "MDT_FAST_MAX_BYTES: expected a number of bytes >= 1, got 'many'")


def link_group(h5py, file, other):
    del file["obs"]
    file["obs"] = h5py.ExternalLink(other, "obs")


def link_matrix(h5py, file, other):
    del file["X"]
    file["X"] = h5py.ExternalLink(other, "X")


def virtual_matrix(h5py, file, other):
    attributes = dict(file["X"].attrs)
    del file["X"]
    layout = h5py.VirtualLayout((6, 4), "f4")
    layout[:] = h5py.VirtualSource(other, "X", (6, 4))
    file.create_virtual_dataset("X", layout).attrs.update(attributes)


@pytest.mark.parametrize("refer", [link_group, link_matrix, virtual_matrix], ids=["obs", "link", "virtual"])
def test_references_to_other_files_are_refused(tmp_path, make_anndata, counts, refer):
    h5py = pytest.importorskip("h5py")
    path, other = tmp_path / "cells.h5ad", tmp_path / "secret.h5ad"
    for each in (path, other):
        make_anndata(NAMES, counts.toarray()).write_h5ad(each)
    with h5py.File(path, "r+") as file:
        refer(h5py, file, str(other))
    refused(path, "expected data in the file itself, got '/(obs|X)' in another file")


def test_a_dataset_in_place_of_a_group_is_not_read(tmp_path, make_anndata, counts):
    """It may have any number of rows without taking space."""
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "cells.h5ad"
    make_anndata(NAMES, counts.toarray()).write_h5ad(path)
    with h5py.File(path, "a") as file:
        del file["layers"]
        file.create_dataset("layers", shape=(10**12,), chunks=(1024,), dtype="f8")
    assert list(read_views([path]).views) == ["X"]
    refused(path, "expected a view among 'X', 'obsm/X_umap', 'obsm/protein'", select=["layers/counts"])
