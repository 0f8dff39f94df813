"""Objects that are no matrices are refused before they are read, and so are columns that hold no numbers."""

from __future__ import annotations

import datetime
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import mdt_fast as mdt
from helpers.data import N_SAMPLES, good_view
from helpers.estimators import Wrapped


class Annotated:
    """A table with items and a length, as AnnData is, of which every item is such a table."""

    def __init__(self):
        self.obsm, self.X, self.reads = {"X_pca": good_view()}, good_view(), 0

    def __len__(self):
        return N_SAMPLES

    def __getitem__(self, item):
        self.reads += 1
        return Annotated()

    @property
    def shape(self):
        return (N_SAMPLES, 5)


# Every way to the views of the package: name of the argument, and the function.
READERS = {
    "build_operators": ("Xs", lambda X: mdt.build_operators(X)),
    "build_operators, list": ("Xs", lambda X: mdt.build_operators([good_view(), X])),
    "build_operators, dict": ("Xs", lambda X: mdt.build_operators({"a": good_view(), "b": X})),
    "nearest_neighbors": ("X", lambda X: mdt.nearest_neighbors(X, 2)),
    "k_means": ("X", lambda X: mdt.k_means(X, 2)),
    "MDT": ("X", lambda X: mdt.MDT().fit(X)),
    "MDT, list": ("X", lambda X: mdt.MDT().fit([X])),
    "MDTClustering": ("X", lambda X: mdt.MDTClustering(2).fit(X)),
    "MDTClustering, dict": ("X", lambda X: mdt.MDTClustering(2).fit({"a": good_view(), "b": X})),
    "baseline": ("X", lambda X: mdt.baselines.make("mean").fit(X)),
    "new_rows": ("Xs_new", lambda X: mdt.build_operators([good_view()]).new_rows([X])),
    "predict": ("X", lambda X: mdt.MDTClustering(2, strategy=[0]).fit(good_view()).predict(X)),
    "from_affinities": ("Ks", lambda X: mdt.OperatorSet.from_affinities([X])),
}
readers = pytest.mark.parametrize(("argument", "read"), READERS.values(), ids=READERS)
KINDS = {
    "str": ("cells.npy", "str 'cells.npy'; a file has to be read first"),
    "Path": (Path("cells.npy"), "'cells.npy'; a file has to be read first"),
    "set": ({1, 2}, "set"),
    "generator": ((x for x in (1, 2)), "generator, which can be read only once"),
    "class": (np.ndarray, "type"),
    "number": (3.5, "float"),
}


@readers
@pytest.mark.parametrize(("given", "message"), KINDS.values(), ids=KINDS)
def test_kinds(argument, read, given, message):
    with pytest.raises(TypeError, match=rf"^{argument}\b.*: expected .*, got .*{message}"):
        read(given)


@readers
@pytest.mark.parametrize("wrap", [lambda X: X, lambda X: [[X, X]]], ids=["it", "nested"])
def test_tables_with_items_are_not_read(argument, read, wrap):
    table = Annotated()
    with pytest.raises(TypeError, match=rf"^{argument}\b.*Annotated.*obsm\['X_pca'\]"):
        read(wrap(table))
    assert table.reads == 0


@pytest.mark.filterwarnings("ignore::FutureWarning:mudata")
def test_anndata_and_mudata():
    anndata, mudata = pytest.importorskip("anndata"), pytest.importorskip("mudata")
    table = anndata.AnnData(good_view())
    table.obsm["X_pca"] = good_view()
    with mudata.set_options(pull_on_update=False):
        several = mudata.MuData({"rna": table})
    for given in (table, {"rna": table}, [table]):
        with pytest.raises(TypeError, match=r"^X\b.*(AnnData|MuData); give its matrices, such as .*obsm\['X_pca'\]"):
            mdt.MDTClustering(2).fit(given)
    assert mdt.build_operators(table.obsm).names == ["X_pca"]
    assert mdt.build_operators(several).names == ["rna"]


@readers
def test_ragged_lists(argument, read):
    rows = good_view().tolist()
    rows[3] = rows[3][:2]
    with pytest.raises(ValueError, match=rf"^{argument}\b.*rows of one length, got {len(rows[0])} .* and 2 in row 3"):
        read([rows] if read is READERS["build_operators"][1] else rows)


@readers
def test_three_dimensions(argument, read):
    with pytest.raises(ValueError, match=rf"^(Found array|{argument}\b).*(dim 3|3-D)"):
        read(np.ones((N_SAMPLES, 2, 2)))


DATES = pd.date_range("2025-12-01", periods=N_SAMPLES)
# Columns that hold no numbers, and what the message calls them.
COLUMNS = {
    "datetime": (DATES, r"datetime64\[ns\]"),
    "datetime with a zone": (DATES.tz_localize("UTC"), r"datetime64\[ns, UTC\]"),
    "timedelta": (DATES - DATES[0], r"timedelta64\[ns\]"),
    "period": (DATES.to_period("D"), "period"),
    "dates as objects": ([date.date() for date in DATES], "date"),
    "timestamps as objects": (pd.Series(DATES, dtype=object), "Timestamp"),
    "strings": ([f"{i}.5" for i in range(N_SAMPLES)], "str"),
    "categories of strings": (pd.Categorical(list("ab") * (N_SAMPLES // 2)), "category"),
    "complex": (np.ones(N_SAMPLES) * 1j, "complex128"),
}


def frame_with(column):
    return pd.DataFrame(good_view()[:, :2], columns=["a", "b"]).assign(when=column)


FRAMES = {name: reader for name, reader in READERS.items() if name not in ("from_affinities", "predict")}


@pytest.mark.parametrize(("argument", "read"), FRAMES.values(), ids=FRAMES)
@pytest.mark.parametrize(("column", "kind"), COLUMNS.values(), ids=COLUMNS)
def test_columns(argument, read, column, kind):
    with pytest.raises(
        TypeError, match=rf"^{argument}\b.*expected columns of numbers, got {kind}.* in column 'when'; "
    ):
        read(frame_with(column))


@pytest.mark.parametrize(("argument", "read"), FRAMES.values(), ids=FRAMES)
def test_polars_columns(argument, read):
    polars = pytest.importorskip("polars")
    days = [datetime.date(2025, 12, 1)] * N_SAMPLES
    for column in (days, [datetime.timedelta(1)] * N_SAMPLES, ["1.5"] * N_SAMPLES):
        with pytest.raises(
            TypeError, match=rf"^{argument}\b.*got (Date|Duration.*|String) in column 'when'; leave the"
        ):
            read(polars.DataFrame({"a": np.arange(float(N_SAMPLES)), "when": column}))


ARRAYS = {
    "datetime64": np.tile(DATES.to_numpy(), (3, 1)).T,
    "timedelta64": np.tile((DATES - DATES[0]).to_numpy(), (3, 1)).T,
    "strings of digits": good_view().astype(str),
    "strings of digits as objects": good_view().astype(str).astype(object),
    "dates as objects": np.tile(np.array(DATES.date, dtype=object), (3, 1)).T,
}


@readers
@pytest.mark.parametrize("wrap", [np.asarray, Wrapped], ids=["array", "__array__"])
@pytest.mark.parametrize("X", ARRAYS.values(), ids=ARRAYS)
def test_arrays(argument, read, X, wrap):
    with pytest.raises(TypeError, match=rf"^{argument}\b.*expected real numbers, got "):
        read(wrap(X))


# Columns of numbers in other forms.
NUMBERS = {
    "bool": np.arange(N_SAMPLES) % 3 == 0,
    "int8": np.arange(N_SAMPLES, dtype=np.int8),
    "uint8": np.arange(N_SAMPLES, dtype=np.uint8),
    "nullable": pd.array(range(N_SAMPLES), dtype="Int64"),
    "nullable bool": pd.array(np.arange(N_SAMPLES) % 2 == 0, dtype="boolean"),
    "objects": pd.Series(list(range(N_SAMPLES)), dtype=object),
    "decimals": [Decimal(i) for i in range(N_SAMPLES)],
    "fractions": [Fraction(i, 2) for i in range(N_SAMPLES)],
    "sparse": pd.arrays.SparseArray(np.arange(N_SAMPLES, dtype=float)),
    "categories of numbers": pd.Categorical(np.arange(N_SAMPLES)),
}


@pytest.mark.filterwarnings("ignore:pandas.DataFrame with sparse columns:UserWarning")
@pytest.mark.parametrize("column", NUMBERS.values(), ids=NUMBERS)
def test_numbers_in_other_forms(column):
    frame = frame_with(column)
    expected = np.column_stack([good_view()[:, :2], np.asarray(column).astype(float)])
    for given in (frame, [frame, good_view()]):
        found = mdt.MDT(strategy=[0]).fit(given).operators_.views[0]
        np.testing.assert_array_equal(found.data, mdt.build_operators(expected).views[0].data)


def test_missing_values_name_the_column():
    frame = frame_with(np.arange(float(N_SAMPLES)))
    frame.loc[4, "when"] = np.nan
    with pytest.raises(
        ValueError, match=r"^Xs \(view 0\): expected finite numbers, got nan at row 4, column 2 \('when'\)"
    ):
        mdt.build_operators([frame])
