"""Views from files: every format there and back, several files together, and what is said of those that do not fit."""

from __future__ import annotations

import gzip
import pickle
import subprocess
import sys
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from mdt_fast._cli.files import FileError, read_views

NAMES = [f"cell {i}" for i in range(6)]


@pytest.fixture(name="X")
def features(rng):
    return rng.normal(size=(6, 3))


@pytest.fixture
def counts(rng):
    return sparse.csr_array(rng.poisson(0.7, size=(6, 4)).astype(np.float32))


@pytest.fixture
def frame(X):
    return pd.DataFrame(X, columns=["a", "b", "c"], index=pd.Index(NAMES, name="barcode", dtype=object))


def refused(path, match, **options):
    """Check that a file is refused with a message that begins with its name."""
    with pytest.raises(FileError, match=match) as caught:
        read_views([path], **options)
    assert str(caught.value).startswith(f"{path}: ")


def test_npy_is_one_view_named_by_the_file(tmp_path, X):
    path = tmp_path / "rna.NPY"
    with path.open("wb") as file:
        np.save(file, X)
    read = read_views([str(path)])
    assert list(read.views) == ["rna"]
    assert_array_equal(read.views["rna"], X)
    assert read.sources == {"rna": str(path)}
    assert read.sample_names is None
    assert read.labels is None


@pytest.mark.parametrize(
    ("dtype", "kept"), [("f4", "f4"), (">f8", "f8"), ("f2", "f4"), ("i4", "f8"), ("?", "f8")], ids=str
)
def test_numbers_become_floats_and_float32_stays(tmp_path, X, dtype, kept):
    path = tmp_path / "rna.npy"
    np.save(path, X.astype(dtype))
    (read,) = read_views([path]).views.values()
    assert read.dtype == np.dtype(kept)
    assert_array_equal(read, X.astype(dtype).astype(kept))


def test_npz_gives_every_matrix_in_order_and_the_labels(tmp_path, X):
    path = tmp_path / "cells.npz"
    np.savez(path, rna=X, protein=X[:, :2].astype(np.float32), y=np.arange(6), cells=np.array(NAMES), n=6)
    read = read_views([path], labels="y")
    assert list(read.views) == ["rna", "protein"]
    assert read.views["protein"].dtype == np.float32
    assert read.sources == {"rna": f"{path}: rna", "protein": f"{path}: protein"}
    assert_array_equal(read.labels, np.arange(6))
    assert_array_equal(read_views([path], labels="cells").labels, NAMES)


def test_labels_may_be_a_single_column(tmp_path, X):
    path = tmp_path / "cells.npz"
    np.savez(path, rna=X, y=np.arange(6)[:, None], square=np.eye(2))
    read = read_views([path], labels="y", select=["rna"])
    assert_array_equal(read.labels, np.arange(6))
    refused(path, r"expected a 1-D array of labels 'square', got 2-D", labels="square", select=["rna"])


def test_selection_reads_nothing_else_and_gives_the_order(tmp_path, X):
    path = tmp_path / "cells.npz"
    np.savez(path, rna=X, protein=X[:, :2], objects=np.array([None]), cube=np.zeros((2, 2, 2)))
    assert list(read_views([path], select=["protein", "cells/rna"]).views) == ["protein", "rna"]
    refused(path, "expected a view of 'rna', 'protein', 'objects', 'cube', got 'atac'", select=["rna", "atac"])
    refused(path, "expected at least one view, got none", select=[])


@pytest.mark.parametrize("layout", ["csr", "csc", "coo"])
def test_sparse_npz_stays_sparse(tmp_path, counts, layout):
    path = tmp_path / "rna.npz"
    sparse.save_npz(path, counts.asformat(layout))
    read = read_views([path]).views["rna"]
    assert isinstance(read, sparse.csr_array)
    assert read.dtype == np.float32
    assert_array_equal(read.toarray(), counts.toarray())


def test_sparse_npz_with_wrong_indices_is_refused(tmp_path, counts):
    path = tmp_path / "rna.npz"
    sparse.save_npz(path, counts)
    with np.load(path) as archive:
        parts = dict(archive)
    np.savez(path, **parts | {"indices": parts["indices"] + 1_000_000})
    refused(path, "expected a sparse matrix, got a damaged or different file")


def test_pickled_arrays_are_refused_unread(tmp_path):
    objects = np.array([[{}, {}]])
    for path, save in ((tmp_path / "a.npy", np.save), (tmp_path / "a.npz", np.savez)):
        save(path, objects, allow_pickle=True)
        refused(path, "got a damaged or different file .*; a pickle can run any code when it is read; save .* np.savez")
    path.write_bytes(pickle.dumps(objects))
    refused(path, "expected arrays saved by np.save or np.savez, got an empty file or one of another kind")


@pytest.mark.parametrize("shape", [(6,), (2, 3, 1)], ids=["1-D", "3-D"])
def test_arrays_that_are_no_matrix(tmp_path, shape):
    array = np.zeros(shape)
    path = tmp_path / "a.npy"
    np.save(path, array)
    refused(path, rf"expected a 2-D array \(samples, features\), got {array.ndim}-D")
    path = tmp_path / "a.npz"
    np.savez(path, key=array)
    if array.ndim == 1:
        refused(path, "expected at least one 2-D matrix of numbers, got none among 'key'")
    refused(path, rf"key: expected a 2-D array .*, got {array.ndim}-D", select=["key"])


def test_arrays_without_rows_or_of_text(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, np.zeros((0, 3)))
    refused(path, "expected rows and columns, got 0 rows and 3 columns")
    np.save(path, np.array([["x"]]))
    refused(path, "expected real numbers, got dtype <U1")


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_not_finite_is_named_by_row_and_column(tmp_path, X, counts, bad):
    X[4, 1] = bad
    path = tmp_path / "a.npz"
    np.savez(path, rna=X)
    refused(path, f"rna: expected finite numbers, got {bad} at row 4, column 1")
    counts[2, 3] = bad
    sparse.save_npz(path, counts)
    refused(path, f"expected finite numbers, got {bad} at row 2, column 3")


@pytest.mark.parametrize(("suffix", "separator"), [(".csv", ","), (".tsv", "\t"), (".csv.gz", ","), (".TSV.gz", "\t")])
def test_table_there_and_back(tmp_path, frame, suffix, separator):
    path = tmp_path / f"rna{suffix}"
    frame.to_csv(path, sep=separator)
    read = read_views([path])
    assert list(read.views) == ["rna"]
    # Before version 3.1 pandas does not read the last digits.
    assert_allclose(read.views["rna"], frame, rtol=1e-12)
    assert read.sample_names == NAMES
    assert read.sources == {"rna": str(path)}


def test_labels_and_dropped_columns_leave_a_table(tmp_path, frame, X):
    path = tmp_path / "rna.csv"
    frame.assign(kind=list("xxyyzz"), batch=["left"] * 6, plate=7).to_csv(path)
    read = read_views([path], labels="kind", drop_columns=["batch", "plate"])
    assert_allclose(read.views["rna"], X, rtol=1e-12)
    assert_array_equal(read.labels, list("xxyyzz"))
    refused(path, r"in column 'kind', got 'x' at row 0; leave the column out with --drop-columns 'kind'")
    drop = ["kind", "batch"]
    refused(path, "expected labels of 'barcode', 'a', .*, 'plate', got 'type'", labels="type", drop_columns=drop)
    refused(path, "expected a column to leave out of 'barcode', .*, got 'bach'", drop_columns=[*drop, "bach"])


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("ID,a,b\n007,1,2\n008,3,4\n", ["007", "008"]),
        ("a,b,cell\n1,2,x\n3,4,y\n", ["x", "y"]),
        (",a,b\n10,1,2\n11,3,4\n", ["10", "11"]),
        ("gene,a,b\nx,1,2\ny,3,4\n", ["x", "y"]),
        ("a,b\nx,1,2\ny,3,4\n", ["x", "y"]),
        ("a,b\n1,2\n3,4\n", None),
        ("0,1\n1,2\n3,4\n", None),
        ('a,b\r\n1,"2"\r\n3,4\r\n', None),
        ("\ufeffid,Länge,幅\nÅsa,1,2\nЖюли,3,4\n", ["Åsa", "Жюли"]),
    ],
    ids=["id", "last", "unnamed", "text", "R", "none", "numbered", "windows", "utf-8"],
)
def test_where_sample_names_come_from(tmp_path, text, names):
    path = tmp_path / "данные.csv"
    path.write_bytes(text.encode())
    read = read_views([path])
    assert_array_equal(read.views["данные"], [[1, 2], [3, 4]])
    assert read.sample_names == names


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("a;b\n1,5;2\n", "expected columns separated by ',', got ';' in the header; .* commas .* or tabs"),
        ("a\tb\n1\t2\n", r"expected columns separated by ',', got '\\t' in the header"),
        ("0.5,1\n2,3\n", "expected a header row of column names, got numbers: '0.5', '1'"),
        ("x,0.5,1.5\ny,2,3\n", "expected a header row of column names, got numbers: '0.5', '1.5'"),
        ("a,b\n1,2\nx,3\n", "expected finite numbers in column 'a', got 'x' at row 1; .* --drop-columns 'a'"),
        ("a,b\n1,2\n3,\n", "expected finite numbers in column 'b', got nan at row 1"),
        ("a,b\n1,-inf\n3,4\n", "expected finite numbers in column 'b', got -inf at row 0"),
        ("a,b\n1,2,3,4\n1,2,3,5\n", "expected one name in a row, got 2 fields without a header"),
        ("a,b\n1,2\n1,2,3,4,5\n", "expected a table .*, got a damaged or different file .*Expected 2 fields"),
        ("id,a\nx,1\nx,2\n", "expected unique sample names in column 'id', got 'x' twice; .* --labels 'id'"),
        ("id,a\nx,1\n,2\n", "expected a sample name in every row of column 'id', got none at row 1"),
        ("a,b\n", "expected rows and columns, got 0 rows and 2 columns"),
        ("id\nx\ny\n", "expected at least one 2-D matrix of numbers, got none among 'id'"),
        ("", "expected a table .*, got a damaged or different file"),
    ],
)
def test_tables_that_are_refused(tmp_path, text, match):
    path = tmp_path / "rna.csv"
    path.write_text(text, encoding="utf-8")
    refused(path, match)


def test_tables_in_other_encodings_and_damaged(tmp_path, frame):
    path = tmp_path / "rna.csv"
    path.write_bytes("Länge\n1\n".encode("latin-1"))
    refused(path, "expected a table of UTF-8 text .*, got a damaged or different file")
    path = tmp_path / "rna.tsv"
    path.write_text("a,b\n1,2\n")
    refused(path, r"expected columns separated by '\\t', got ',' in the header")
    path = tmp_path / "rna.csv.gz"
    whole = gzip.compress(frame.to_csv().encode())
    for damaged in (whole[:-20], b"no gzip", whole[:30] + b"!!!!" + whole[34:]):
        path.write_bytes(damaged)
        refused(path, "expected a table of UTF-8 text .*, got a damaged or different file")


def test_labels_with_gaps_are_refused(tmp_path, frame, X):
    path = tmp_path / "rna.csv"
    frame.assign(kind=["x", None, *"yyzz"]).to_csv(path)
    refused(path, "expected a class for every sample in 'kind', got none at row 1", labels="kind")
    path = tmp_path / "rna.npz"
    np.savez(path, rna=X, y=[0, 1, np.nan, 2, 2, 2])
    refused(path, "expected a class for every sample in 'y', got none at row 2", labels="y")


def test_parquet_there_and_back(tmp_path, frame, X):
    pytest.importorskip("pyarrow")
    path = tmp_path / "rna.parquet"
    frame.astype(np.float32).assign(kind=pd.Categorical(list("xxyyzz"))).to_parquet(path)
    read = read_views([path], labels="kind")
    assert read.views["rna"].dtype == np.float32
    assert_array_equal(read.views["rna"], X.astype(np.float32))
    assert read.sample_names == NAMES
    assert_array_equal(read.labels, list("xxyyzz"))
    refused(path, "expected finite numbers in column 'kind', got 'x' at row 0")
    frame.reset_index(drop=True).to_parquet(path)
    assert read_views([path]).sample_names is None
    frame.rename_axis("who").reset_index().to_parquet(path)
    assert read_views([path]).sample_names == NAMES


def test_parquet_with_gaps_text_or_damage(tmp_path, frame):
    pytest.importorskip("pyarrow")
    path = tmp_path / "rna.parquet"
    whole_numbers = frame.assign(n=pd.array([1, 2, 3, 4, 5, 6], dtype="Int64"))
    whole_numbers.to_parquet(path)
    assert_array_equal(read_views([path]).views["rna"][:, 3], [1, 2, 3, 4, 5, 6])
    whole_numbers.assign(n=pd.array([1, 2, None, 4, 5, 6], dtype="Int64")).to_parquet(path)
    refused(path, "expected finite numbers in column 'n', got <NA> at row 2")
    whole_numbers.assign(n=list("123456")).to_parquet(path)
    refused(path, "expected finite numbers in column 'n', got '1' at row 0")
    path.write_bytes(path.read_bytes()[:-9])
    refused(path, "expected a Parquet table, got a damaged or different file")


@pytest.fixture
def make_anndata(rng):
    anndata = pytest.importorskip("anndata")

    def make(names, X):
        obs = pd.DataFrame({"kind": pd.Categorical([name[-1] for name in names])}, index=pd.Index(names, dtype=object))
        made = anndata.AnnData(X, obs=obs)
        made.obsm["X_pca"] = rng.normal(size=(len(names), 2)).astype(np.float32)
        made.obsm["protein"] = pd.DataFrame({"CD3": np.arange(len(names)), "CD4": 0.5}, index=obs.index)
        made.layers["counts"] = sparse.csc_matrix(X)
        return made

    # With pandas 3 every text is of a kind that anndata writes only if told to.
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

    read = read_views([path], select=["obsm/X_pca", "X", "cells/layers/counts", "obsm/protein"])
    assert list(read.views) == ["obsm/X_pca", "X", "layers/counts", "obsm/protein"]
    assert_array_equal(read.views["obsm/X_pca"], data.obsm["X_pca"])
    assert_array_equal(read.views["layers/counts"].toarray(), counts.toarray())
    assert_array_equal(read.views["obsm/protein"], data.obsm["protein"])

    refused(path, "expected a view of 'X', 'layers/counts', 'obsm/X_pca', 'obsm/protein', got 'pca'", select=["pca"])
    refused(path, "expected labels of 'kind', got 'type'", labels="type")


def test_h5ad_without_the_default_view(tmp_path, make_anndata, counts):
    path = tmp_path / "cells.h5ad"
    data = make_anndata(NAMES, counts.toarray())
    data.X = None
    data.write_h5ad(path)
    match = "expected at least one 2-D matrix of numbers, got none among 'layers/counts', 'obsm/X_pca'"
    refused(path, match)
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "r+") as file:
        file.require_dataset("X", shape=None, dtype="f4").attrs["encoding-type"] = "null"
    refused(path, match)


def test_hdf5_that_is_damaged_or_of_another_kind(tmp_path, make_anndata, counts):
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "cells.h5ad"
    make_anndata(NAMES, counts.toarray()).write_h5ad(path)
    with h5py.File(path, "r+") as file:
        del file["X"]
        pytest.importorskip("anndata.io").write_elem(file, "X", np.zeros((5, 4)))
    refused(path, "X: expected 6 rows, as obs has, got 5")
    with h5py.File(path, "r+") as file:
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
            mudata.MuData({name: make_anndata(*of) for name, of in modalities.items()}).write(path)
        return path

    return write


def test_h5mu_gives_the_cells_that_every_modality_has(write_mudata, counts, X):
    path = write_mudata(rna=(NAMES, counts.toarray()), prot=([*NAMES[:1:-1], "other"], X[:5]))
    read = read_views([path], labels="kind")
    assert list(read.views) == ["rna", "prot"]
    assert read.sample_names == NAMES[2:]
    assert_array_equal(read.views["rna"], counts.toarray()[2:])
    assert_array_equal(read.views["prot"], X[3::-1])
    assert_array_equal(read.labels, list("2345"))

    read = read_views([path], select=["prot/obsm/protein", "prot"])
    assert list(read.views) == ["prot/obsm/protein", "prot"]
    assert read.sample_names == [*NAMES[:1:-1], "other"]
    assert_array_equal(read.views["prot/obsm/protein"][:, 0], range(5))
    refused(path, "expected a view of 'rna', 'rna/layers/counts', .*, got 'rna/X_pca'", select=["rna/X_pca"])
    refused(path, "expected labels of 'kind', got 'type'", labels="type")


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
    refused(path, "expected cells that are in each of 'rna', 'prot', got none")
    path = write_mudata(rna=([*NAMES[:5], NAMES[0]], counts.toarray()), prot=(NAMES, X))
    refused(path, "expected unique cell names in 'rna', got 'cell 0' twice")


def test_mixed_formats_make_one_set(tmp_path, frame, X, counts):
    frame.to_csv(tmp_path / "rna.csv")
    sparse.save_npz(tmp_path / "atac.npz", counts)
    np.savez(tmp_path / "more.npz", image=X.astype(np.float32), y=np.arange(6))
    read = read_views([tmp_path / "rna.csv", tmp_path / "atac.npz", tmp_path / "more.npz"], labels="y")
    assert list(read.views) == ["rna", "atac", "image"]
    assert read.sample_names == NAMES
    assert_array_equal(read.labels, np.arange(6))


def test_a_file_may_be_there_for_its_labels(tmp_path, frame, X):
    np.save(tmp_path / "rna.npy", X)
    pd.DataFrame({"id": NAMES, "kind": list("xxyyzz")}).to_csv(tmp_path / "kinds.csv", index=False)
    read = read_views([tmp_path / "rna.npy", tmp_path / "kinds.csv"], labels="kind")
    assert list(read.views) == ["rna"]
    assert read.sample_names == NAMES
    assert_array_equal(read.labels, list("xxyyzz"))


def test_rows_are_put_in_the_order_of_the_first_file_with_names(tmp_path, frame, X):
    order = [3, 0, 5, 1, 2, 4]
    np.save(tmp_path / "bare.npy", X)
    frame.to_csv(tmp_path / "first.csv")
    frame.iloc[order].assign(kind=[f"kind {i}" for i in order]).to_csv(tmp_path / "second.csv")
    read = read_views([tmp_path / f for f in ("bare.npy", "first.csv", "second.csv")], labels="kind")
    assert read.sample_names == NAMES
    for view in read.views.values():
        assert_allclose(view, X, rtol=1e-12)
    assert_array_equal(read.labels, [f"kind {i}" for i in range(6)])


def test_samples_that_differ_are_refused(tmp_path, frame):
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    frame.to_csv(first)
    frame.iloc[:4].to_csv(second)
    with pytest.raises(
        FileError, match=r"second\.csv: expected the 6 sample names of .*first\.csv, got 4: 2 .* missing, .* 'cell 4'"
    ):
        read_views([first, second])
    with pytest.raises(FileError, match="got 6: 2 are not among them, such as 'cell 4'"):
        read_views([second, first])


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


def test_rows_that_differ_are_listed(tmp_path, X):
    np.save(tmp_path / "a.npy", X)
    np.savez(tmp_path / "b.npz", short=X[:5], y=np.arange(4))
    with pytest.raises(FileError, match=r"expected the same number of rows .* got .*a\.npy: 6, .*b\.npz: short: 5"):
        read_views([tmp_path / "a.npy", tmp_path / "b.npz"])
    with pytest.raises(FileError, match=r"a\.npy: 6, .*b\.npz: labels: 4"):
        read_views([tmp_path / "a.npy", tmp_path / "b.npz"], select=["a"], labels="y")


def test_names_that_meet_are_preceded_by_the_stem(tmp_path, X):
    np.savez(tmp_path / "a.npz", rna=X, protein=X)
    np.savez(tmp_path / "b.npz", rna=X + 1)
    read = read_views([tmp_path / "a.npz", tmp_path / "b.npz"])
    assert list(read.views) == ["a/rna", "protein", "b/rna"]
    assert read.sources["b/rna"] == f"{tmp_path / 'b.npz'}: rna"
    assert_array_equal(read.views["b/rna"], X + 1)
    only = read_views([tmp_path / "a.npz", tmp_path / "b.npz"], select=["b/rna"])
    assert only.sources == {"rna": f"{tmp_path / 'b.npz'}: rna"}
    with pytest.raises(FileError, match=r"expected views of different names, got 'a/rna' also from .*; rename a file"):
        read_views([tmp_path / "a.npz", tmp_path / "a.npz"])


def test_paths_that_are_no_file(tmp_path):
    refused(tmp_path / "none.npy", "expected a file, got a path where nothing is")
    refused(tmp_path, "expected a file, got a directory")
    refused(tmp_path / ("long" * 1000), "expected a path that can be looked at, got a damaged or different file")
    with pytest.raises(FileError, match="paths: expected at least one file, got none"):
        read_views([])


@pytest.mark.parametrize(
    ("name", "match"),
    [
        ("a.xlsx", r"expected one of \.npy, \.npz, \.csv, .*, \.h5mu, got \.xlsx$"),
        ("a", "got no suffix"),
        ("a.mat", r"got \.mat; save the arrays as \.npz: scipy\.io\.loadmat\(\.\.\.\), then np\.savez"),
        *((f"a{suffix}", "a pickle can run any code when") for suffix in (".pkl", ".PICKLE", ".joblib", ".pt")),
    ],
)
def test_kinds_of_files_that_are_not_read(tmp_path, name, match):
    (tmp_path / name).touch()
    refused(tmp_path / name, match)


@pytest.mark.parametrize("suffix", [".npy", ".npz", ".parquet", ".h5ad", ".h5mu"])
def test_empty_files(tmp_path, suffix):
    if suffix == ".parquet":
        pytest.importorskip("pyarrow")
    if suffix.startswith(".h5"):
        pytest.importorskip("anndata")
    path = tmp_path / f"a{suffix}"
    path.touch()
    refused(path, "expected .*, got .*(damaged or different|empty) file")


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_truncated_arrays(tmp_path, X, suffix):
    path = tmp_path / f"a{suffix}"
    (np.save if suffix == ".npy" else np.savez)(path, X)
    whole = path.read_bytes()
    for kept in (7, 100, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:kept])
        refused(path, "expected arrays saved by np.save or np.savez, got a damaged or different file")


def test_read_only_files_are_read(tmp_path, make_anndata, counts):
    path = tmp_path / "cells.h5ad"
    make_anndata(NAMES, counts.toarray()).write_h5ad(path)
    path.chmod(0o444)
    before = path.read_bytes()
    assert_array_equal(read_views([path]).views["X"], counts.toarray())
    assert path.read_bytes() == before


@pytest.mark.parametrize(
    ("suffix", "module", "package", "extra"),
    [
        (".csv", "pandas", "pandas", "cli"),
        (".parquet", "pyarrow", "pyarrow", "cli"),
        (".h5ad", "anndata.io", "anndata", "scverse"),
        (".h5mu", "anndata.io", "anndata", "scverse"),
    ],
)
def test_packages_that_are_missing_are_named(tmp_path, monkeypatch, suffix, module, package, extra):
    monkeypatch.setitem(sys.modules, module, None)
    path = tmp_path / f"a{suffix}"
    path.touch()
    refused(path, rf"reading {suffix} needs {package}: pip install 'mdt_fast\[{extra}\]'")


def test_reading_arrays_imports_nothing_more(tmp_path, X):
    np.save(tmp_path / "a.npy", X)
    script = (
        "import sys, mdt_fast; before = set(sys.modules); "
        "from mdt_fast._cli.files import read_views; read_views([sys.argv[1]]); "
        "print({'pandas', 'pyarrow', 'h5py', 'anndata'} & set(sys.modules) - before)"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "a.npy")]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip() == "set()"
