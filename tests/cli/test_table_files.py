"""Views from tables: CSV, TSV and Parquet."""

from __future__ import annotations

import gzip

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from helpers.files import NAMES, refused
from mdt_fast._cli.files import read_views
from mdt_fast._support.text import to_cell


@pytest.mark.parametrize(("suffix", "separator"), [(".csv", ","), (".tsv", "\t"), (".csv.gz", ","), (".TSV.gz", "\t")])
def test_table_round_trip(tmp_path, frame, suffix, separator):
    path = tmp_path / f"rna{suffix}"
    frame.to_csv(path, sep=separator)
    read = read_views([path])
    assert list(read.views) == ["rna"]
    assert_array_equal(read.views["rna"], frame)
    assert read.sample_names == NAMES
    assert read.sources == {"rna": str(path)}


def test_labels_and_dropped_columns_are_no_features(tmp_path, frame, X):
    path = tmp_path / "rna.csv"
    frame.assign(kind=list("xxyyzz"), batch=["left"] * 6, plate=7).to_csv(path)
    read = read_views([path], labels="kind", drop_columns=["batch", "plate"])
    assert_allclose(read.views["rna"], X, rtol=1e-12)
    assert_array_equal(read.labels, list("xxyyzz"))
    refused(path, r"in column 'kind', got 'x' at row 0; leave the column out with --drop-columns 'kind'")
    drop = ["kind", "batch"]
    refused(path, "expected labels among 'barcode', 'a', .*, 'plate', got 'type'", labels="type", drop_columns=drop)
    refused(path, "expected a column to leave out among 'barcode', .*, got 'bach'", drop_columns=[*drop, "bach"])


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
def test_sample_names(tmp_path, text, names):
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
def test_refused_tables(tmp_path, text, match):
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


def test_parquet_round_trip(tmp_path, frame, X):
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


def test_compressed_tables_that_expand_are_refused(tmp_path, monkeypatch):
    path = tmp_path / "rna.csv.gz"
    with gzip.open(path, "wb") as file:
        file.write(b"a,b\n" + b"0,0\n" * 500_000)
    assert path.stat().st_size < 10_000
    monkeypatch.setenv("MDT_FAST_MAX_BYTES", "1000000")
    refused(path, "expected at most 1,000,000 bytes in memory, got .* MDT_FAST_MAX_BYTES sets the limit")


def test_parquet_tables_that_expand_are_refused(tmp_path, monkeypatch):
    pytest.importorskip("pyarrow")
    path = tmp_path / "rna.parquet"
    pd.DataFrame({"a": np.zeros(500_000)}).to_parquet(path)
    assert path.stat().st_size < 10_000
    monkeypatch.setenv("MDT_FAST_MAX_BYTES", "1000000")
    refused(path, "expected at most 1,000,000 bytes in memory, got 4,000,000")


def test_names_that_look_like_formulas_are_restored(tmp_path, X):
    """As the commands write them."""
    names = ["=cmd|' /C calc'!A0", "+a", "-b", "@c", "'=d", "-1"]
    path = tmp_path / "rna.csv"
    frame = pd.DataFrame(X, index=pd.Index(map(to_cell, names), name="sample")).add_prefix("x")
    frame.assign(kind=["'=x", "y"] * 3).to_csv(path)
    read = read_views([path], labels="kind")
    assert read.sample_names == names
    assert read.labels.tolist() == ["=x", "y"] * 3


@pytest.mark.parametrize("suffix", [".csv", ".csv.gz"])
def test_null_bytes_are_refused(tmp_path, suffix):
    """pandas crashes at some of them."""
    path = tmp_path / f"rna{suffix}"
    with (gzip.open if suffix.endswith(".gz") else open)(path, "wb") as file:
        file.write(b",x0,x1\nc0,0.5,0.25\nc1,0.5\x00\xca\x9a;\x00\x00\x00\x00,0.25\n")
    refused(path, "expected a table of UTF-8 text, got a null byte")


def test_numbers_are_read_as_they_were_written(tmp_path, rng):
    """The default parser of pandas is not exact, and crashes at some long exponents."""
    numbers = rng.normal(size=(50, 2)) * 10.0 ** rng.integers(-200, 200, size=(50, 2))
    pd.DataFrame(numbers, columns=["a", "b"]).to_csv(tmp_path / "x.csv", index=False)
    assert_array_equal(read_views([tmp_path / "x.csv"]).views["x"], numbers)
    (tmp_path / "x.csv").write_text("a\n1\n-1.e022091710151105\n")
    refused(tmp_path / "x.csv", "expected finite numbers")
