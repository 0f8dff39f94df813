"""Views from arrays, several files together, and files that are refused."""

from __future__ import annotations

import io
import pickle
import subprocess
import sys
import zipfile

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from helpers.files import NAMES, refused
from mdt_fast._cli.files import FileError, read_views


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


def test_selection_reads_only_the_given_views_in_order(tmp_path, X):
    path = tmp_path / "cells.npz"
    np.savez(path, rna=X, protein=X[:, :2], objects=np.array([None]), cube=np.zeros((2, 2, 2)))
    assert list(read_views([path], select=["protein", "cells/rna"]).views) == ["protein", "rna"]
    refused(path, "expected a view among 'rna', 'protein', 'objects', 'cube', got 'atac'", select=["rna", "atac"])
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


def test_pickled_arrays_are_refused(tmp_path):
    objects = np.array([[{}, {}]])
    for path, save in ((tmp_path / "a.npy", np.save), (tmp_path / "a.npz", np.savez)):
        save(path, objects, allow_pickle=True)
        refused(path, "got a damaged or different file .*; a pickle can run any code when it is read; save .* np.savez")
    path.write_bytes(pickle.dumps(objects))
    refused(path, "expected arrays saved by np.save or np.savez, got an empty file or one of another kind")


@pytest.mark.parametrize("shape", [(6,), (2, 3, 1)], ids=["1-D", "3-D"])
def test_arrays_of_other_dimensions(tmp_path, shape):
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


def test_mixed_formats_make_one_set(tmp_path, frame, X, counts):
    frame.to_csv(tmp_path / "rna.csv")
    sparse.save_npz(tmp_path / "atac.npz", counts)
    np.savez(tmp_path / "more.npz", image=X.astype(np.float32), y=np.arange(6))
    read = read_views([tmp_path / "rna.csv", tmp_path / "atac.npz", tmp_path / "more.npz"], labels="y")
    assert list(read.views) == ["rna", "atac", "image"]
    assert read.sample_names == NAMES
    assert_array_equal(read.labels, np.arange(6))


def test_a_file_with_labels_only(tmp_path, frame, X):
    np.save(tmp_path / "rna.npy", X)
    pd.DataFrame({"id": NAMES, "kind": list("xxyyzz")}).to_csv(tmp_path / "kinds.csv", index=False)
    read = read_views([tmp_path / "rna.npy", tmp_path / "kinds.csv"], labels="kind")
    assert list(read.views) == ["rna"]
    assert read.sample_names == NAMES
    assert_array_equal(read.labels, list("xxyyzz"))


def test_rows_follow_the_first_file_with_names(tmp_path, frame, X):
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
        read_views([first, second], missing="error")
    with pytest.raises(FileError, match="got 6: 2 are not among them, such as 'cell 4'"):
        read_views([second, first], missing="error")


def test_samples_that_differ_are_joined(tmp_path, frame, X):
    first, second = tmp_path / "first.csv", tmp_path / "second.csv"
    frame.iloc[[4, 1, 0]].to_csv(first)
    frame.iloc[[0, 3, 4]].to_csv(second)
    read = read_views([first, second])
    assert read.sample_names == [NAMES[i] for i in (4, 1, 0, 3)]
    assert read.n_samples == 4
    assert {name: each.samples.tolist() for name, each in read.presences.items()} == {
        "first": [0, 1, 2],
        "second": [0, 2, 3],
    }
    assert_allclose(read.views["second"], X[[4, 0, 3]], rtol=1e-12)
    dropped = read_views([first, second], missing="drop")
    assert dropped.sample_names == [NAMES[4], NAMES[0]]
    assert dropped.presences == {}
    assert_allclose(dropped.views["first"], X[[4, 0]], rtol=1e-12)
    assert dropped.warnings == ["2 of 4 samples are left out, because a view lacks them"]


def test_rows_of_nan_are_samples_that_a_view_lacks(tmp_path, X):
    Y = X.copy()
    Y[2] = np.nan
    np.savez(tmp_path / "views.npz", a=X, b=Y)
    read = read_views([tmp_path / "views.npz"])
    assert read.presences["b"].samples.tolist() == [0, 1, 3, 4, 5]
    assert_array_equal(read.views["b"], X[[0, 1, 3, 4, 5]])
    assert read_views([tmp_path / "views.npz"], missing="drop").n_samples == 5
    with pytest.raises(FileError, match="expected finite numbers, got nan at row 2"):
        read_views([tmp_path / "views.npz"], missing="error")
    np.savez(tmp_path / "views.npz", b=Y)
    with pytest.raises(FileError, match="expected every sample in at least one view, got 1 in none, such as row 2"):
        read_views([tmp_path / "views.npz"])


def test_rows_that_differ_are_listed(tmp_path, X):
    np.save(tmp_path / "a.npy", X)
    np.savez(tmp_path / "b.npz", short=X[:5], y=np.arange(4))
    with pytest.raises(FileError, match=r"expected the same number of rows .* got .*a\.npy: 6, .*b\.npz: short: 5"):
        read_views([tmp_path / "a.npy", tmp_path / "b.npz"])
    with pytest.raises(FileError, match=r"a\.npy: 6, .*b\.npz: labels: 4"):
        read_views([tmp_path / "a.npy", tmp_path / "b.npz"], select=["a"], labels="y")


def test_equal_names_get_the_stem_as_prefix(tmp_path, X):
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


def test_paths_without_a_file(tmp_path):
    refused(tmp_path / "none.npy", "expected a file, got a path that does not exist")
    refused(tmp_path, "expected a file, got a directory")
    refused(tmp_path / ("long" * 1000), "expected a path that can be accessed, got a damaged or different file")
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
def test_unsupported_files(tmp_path, name, match):
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


@pytest.mark.parametrize(
    ("suffix", "module", "package", "extra"),
    [
        (".csv", "pandas", "pandas", "pandas"),
        (".parquet", "pyarrow", "pyarrow", "parquet"),
        (".h5ad", "anndata.io", "anndata", "scverse"),
        (".h5mu", "anndata.io", "anndata", "scverse"),
    ],
)
def test_missing_packages_are_named(tmp_path, monkeypatch, suffix, module, package, extra):
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


def save_lying(path, shape, archive=False):
    """Write an array of 100 zeros whose header states another shape."""
    content = io.BytesIO()
    np.lib.format.write_array_header_1_0(content, {"descr": "<f8", "fortran_order": False, "shape": shape})
    content.write(bytes(800))
    if not archive:
        path.write_bytes(content.getvalue())
        return
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("rna.npy", content.getvalue())


@pytest.mark.parametrize("suffix", [".npy", ".npz"])
def test_headers_that_lie_are_refused_before_reading(tmp_path, suffix):
    path = tmp_path / f"a{suffix}"
    for shape in ((10**6, 10**6), (10**30, 2), (101, 1)):
        save_lying(path, shape, suffix == ".npz")
        refused(path, r"expected arrays saved .* expected .* bytes for an array of shape \(.*, got 800")
    save_lying(path, (50, 2), suffix == ".npz")
    assert next(iter(read_views([path]).views.values())).shape == (50, 2)


def test_archives_that_expand_are_refused_before_reading(tmp_path, monkeypatch):
    path = tmp_path / "a.npz"
    np.savez_compressed(path, rna=np.zeros((1000, 1000)), small=np.zeros((1000, 10)))
    assert path.stat().st_size < 20_000
    monkeypatch.setenv("MDT_FAST_MAX_BYTES", "1000000")
    refused(
        path, "rna: expected at most 1,000,000 bytes in memory, got 8,000,128; .* MDT_FAST_MAX_BYTES sets the limit"
    )
    assert list(read_views([path], select=["small"]).views) == ["small"]
    np.savez_compressed(path, **{f"view {i}": np.zeros((100, 100)) for i in range(20)})
    refused(path, "view 12: expected at most 1,000,000 bytes in memory, got 1,04")


def test_archives_of_other_compressions_are_refused(tmp_path):
    """zipfile expands these without a limit."""
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as file:
        content = io.BytesIO()
        np.save(content, np.zeros((6, 2)))
        file.writestr("rna.npy", content.getvalue())
    refused(path, "rna: expected an array that is stored or deflated, got another compression")


@pytest.mark.parametrize("layout", ["coo", "csc"])
def test_sparse_shapes_that_lie_are_refused(tmp_path, counts, layout):
    path = tmp_path / "rna.npz"
    sparse.save_npz(path, counts.asformat(layout))
    with np.load(path) as archive:
        parts = dict(archive)
    np.savez(path, **parts | {"shape": np.array([10**13, 4])})
    refused(path, "expected at most .* bytes in memory, got 80,000,000,000,008")


def test_a_file_without_names_beside_one_with_names(tmp_path, frame, X):
    np.save(tmp_path / "bare.npy", X)
    frame.to_csv(tmp_path / "named.csv")
    read = read_views([tmp_path / "bare.npy", tmp_path / "named.csv"])
    bare, named = tmp_path / "bare.npy", tmp_path / "named.csv"
    assert read.warnings == [f"{bare}: its rows have no names; they are taken to be in the order of {named}"]
    assert read_views([bare]).warnings == read_views([named]).warnings == []


def test_names_that_cannot_be_shown_are_escaped(tmp_path, X):
    path = tmp_path / "a.npz"
    np.savez(path, **{"one\x07": X, "two\ufffe": X, "y": np.array(["a\x00b", *"cdefg"])})
    read = read_views([path], labels="y")
    assert list(read.views) == list(read.sources) == [r"one\x07", r"two\ufffe"]
    assert read.labels.tolist() == [r"a\x00b", *"cdefg"]
    assert list(read_views([path], select=["one\x07"]).views) == [r"one\x07"]


class TestIgnoredLabels:
    @pytest.fixture
    def path(self, tmp_path, X):
        path = tmp_path / "cells.npz"
        np.savez(path, rna=X, kind=np.array(["T", "unknown", "B", "NA", "B", "unknown"]), number=np.arange(6) - 1)
        return path

    def test_samples_of_a_class(self, path):
        read = read_views([path], labels="kind", ignore_label=["unknown", "NA"])
        assert_array_equal(read.is_scored, [True, False, True, False, True, False])
        assert read.warnings == []
        assert_array_equal(read_views([path], labels="kind").is_scored, [True] * 6)
        assert_array_equal(read_views([path], labels="number", ignore_label=["-1"]).is_scored, [False] + [True] * 5)

    def test_classes_that_look_missing_are_named(self, path):
        assert read_views([path], labels="kind", ignore_label=["NA"]).warnings == [
            "labels: 2 samples have the class 'unknown', which counts as a class; --ignore-label unknown leaves them "
            "out of the score"
        ]
        assert len(read_views([path], labels="kind").warnings) == 2

    def test_refusals(self, path):
        with pytest.raises(FileError, match=r"--ignore-label: expected a class among 'B', .*'unknown', got 'other'"):
            read_views([path], labels="kind", ignore_label=["other"])
        with pytest.raises(FileError, match="--ignore-label: expected to leave some samples, got all 6 ignored"):
            read_views([path], labels="kind", ignore_label=["T", "B", "NA", "unknown"])
        with pytest.raises(FileError, match="--ignore-label: expected --labels with it, got none"):
            read_views([path], ignore_label=["T"])

    def test_missing_classes(self, tmp_path, frame):
        path = tmp_path / "rna.csv"
        frame.assign(kind=["T", None, "B", "B", "T", None]).to_csv(path)
        refused(path, "expected a class .* got none at row 1; --ignore-label nan leaves such", labels="kind")
        read = read_views([path], labels="kind", ignore_label=["nan"])
        assert_array_equal(read.is_scored, [True, False, True, True, True, False])
        frame.assign(kind=[1, None, 2, 2, 1, None]).to_csv(path)
        read = read_views([path], labels="kind", ignore_label=["nan"])
        assert_array_equal(read.is_scored, [True, False, True, True, True, False])
