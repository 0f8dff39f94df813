"""Rows of every kind of store, in blocks that do not follow its chunks."""

from __future__ import annotations

import pickle
import sys

import numpy as np
import pytest
from scipy import sparse

import mdt_fast as mdt
from helpers.sources import SPARSE_STORES, STORES, blocks_of, hdf5, npy_path, zarr_array
from mdt_fast._sources.views import ViewSources, source_of

N = 200


@pytest.fixture(params=["f4", "f8"], name="X")
def matrix(rng, request):
    return rng.normal(size=(N, 4)).astype(request.param)


def rows_of(views, rows):
    return [np.vstack([np.asarray(block.views[v]) for block in views.blocks(rows)]) for v in range(len(views.sources))]


@pytest.mark.parametrize("rows", [1, 7, 64, N, 1000])
@pytest.mark.parametrize("store", STORES)
def test_blocks_have_the_rows_of_the_matrix(store, rows, X, tmp_path):
    views = ViewSources.of(STORES[store](X, tmp_path))
    (found,) = rows_of(views, rows)
    assert found.dtype == X.dtype
    np.testing.assert_array_equal(found, X)
    if views.n_rows is not None:
        assert [block.n_rows for block in views.blocks(rows)][:-1] == [rows] * (-(-N // rows) - 1)


@pytest.mark.parametrize("store", STORES)
def test_chosen_rows(store, X, rng, tmp_path):
    views = ViewSources.of([STORES[store](X, tmp_path), X]).counted(16)
    chosen = np.sort(rng.permutation(N)[:30])
    for part in views.take(chosen, 16):
        np.testing.assert_array_equal(np.asarray(part), X[chosen])


@pytest.mark.parametrize("store", SPARSE_STORES)
def test_sparse_rows_stay_sparse(store, rng, tmp_path):
    X = sparse.random_array((N, 30), density=0.2, random_state=rng, dtype=np.float32).toarray()
    views = ViewSources.of(SPARSE_STORES[store](X, tmp_path))
    blocks = [block.views[0] for block in views.blocks(33)]
    assert all(sparse.issparse(block) for block in blocks)
    np.testing.assert_array_equal(sparse.vstack(blocks).toarray(), X)
    chosen = np.array([0, 5, 66, 199])
    np.testing.assert_array_equal(views.take(chosen, 33)[0].toarray(), X[chosen])


@pytest.mark.parametrize("store", ["npy_path", "zarr_array", "zarr_path", "hdf5_path", "parquet_path", "anndata_path"])
def test_another_process_opens_files_again(store, X, tmp_path):
    source = source_of(STORES[store](X, tmp_path), "X")
    assert source.is_shared
    content = pickle.dumps(source)
    assert len(content) < X.nbytes
    np.testing.assert_array_equal(np.asarray(pickle.loads(content).checked(3, 50)), X[3:50])


def test_an_iterator_is_read_again_for_every_pass(X, tmp_path):
    views = ViewSources.of([blocks_of(X, tmp_path), blocks_of(X[:, :2], tmp_path)])
    assert views.n_rows is None
    assert views.counted(13).n_rows == N
    first, second = rows_of(views, 13)
    np.testing.assert_array_equal(first, X)
    np.testing.assert_array_equal(second, X[:, :2])


def test_an_iterator_may_use_one_array_for_all_blocks(X):
    def read():
        block = np.empty((8, 4), dtype=X.dtype)
        for start in range(0, N, 8):
            block[:] = X[start : start + 8]
            yield block
            block[:] = 0

    for rows in (3, 8, 30, N):
        np.testing.assert_array_equal(rows_of(ViewSources.of(read), rows)[0], X)


class TestErrors:
    def test_a_mask_is_refused(self, X):
        with pytest.raises(TypeError, match=r"X \(view 1\): expected an array without a mask, got a masked array"):
            ViewSources.of([X, np.ma.masked_array(X, X > 1)])

    def test_views_of_different_sizes(self, X):
        with pytest.raises(
            ValueError, match=r"same number of samples in every view, got X \(a\) has 200, X \(b\) has 1"
        ):
            ViewSources.of({"a": X, "b": X[:199]})

    def test_an_iterator_that_ends_early(self, X, tmp_path):
        views = ViewSources.of([X, blocks_of(X[:150], tmp_path)])
        with pytest.raises(ValueError, match=r"X \(view 1\): expected 200 rows, got an end after row 149"):
            rows_of(views, 64)

    def test_an_iterator_with_more_rows(self, X, tmp_path):
        for size in (64, 150, 200):
            views = ViewSources.of([X[:150], blocks_of(X, tmp_path)])
            with pytest.raises(ValueError, match=r"X \(view 1\): expected 150 rows, got more"):
                rows_of(views, size)

    def test_two_iterators_of_different_lengths(self, X, tmp_path):
        views = ViewSources.of([blocks_of(X, tmp_path), blocks_of(X[:130], tmp_path)])
        with pytest.raises(ValueError, match=r"X \(view 1\): expected as many rows .* got an end after row 129"):
            rows_of(views, 50)

    def test_blocks_of_other_widths(self, X):
        with pytest.raises(ValueError, match=r"block 1 of the iterator: expected 4 columns, as in block 0, got 3"):
            rows_of(ViewSources.of(iter([X[:5], X[5:9, :3]])), 4)

    @pytest.mark.parametrize("value", [np.nan, np.inf])
    def test_a_number_that_is_not_finite_is_named_by_its_row_and_block(self, X, value, tmp_path):
        X[157, 2] = value
        views = ViewSources.of({"a": X[:, :2], "b": zarr_array(X, tmp_path)})
        with pytest.raises(
            ValueError, match=rf"X \(b\): expected finite numbers, got {value} at row 157 \(block 15\), col"
        ):
            rows_of(views, 10)
        with pytest.raises(ValueError, match=r"at row 157 \(block 15\), column 2"):
            views.take(np.array([3, 155, 157, 190]), 10)

    def test_a_sample_without_any_view(self, X):
        other = X.copy()
        X[[20, 33]] = np.nan
        other[33] = np.nan
        with pytest.raises(ValueError, match=r"every sample in at least one view, got none at row 33 \(block 3\)"):
            rows_of(ViewSources.of([X, other]), 10)

    def test_unknown_chunks(self, X):
        da = pytest.importorskip("dask.array")
        unknown = da.from_array(X, chunks=(50, 4))
        with pytest.raises(ValueError, match="known chunk sizes, got chunks of unknown rows"):
            ViewSources.of(unknown[unknown[:, 0] > 0])

    def test_a_truncated_npy_file(self, X, tmp_path):
        path = npy_path(X, tmp_path)
        path.write_bytes(path.read_bytes()[:-100])
        with pytest.raises(ValueError, match=r"X \(view 0\): expected a file that can be read.*X\.npy"):
            ViewSources.of(path)

    def test_a_damaged_zarr_chunk(self, X, tmp_path):
        store = zarr_array(X, tmp_path)
        chunk = next(path for path in sorted((tmp_path / "X.zarr").rglob("*")) if path.parent.name == "2")
        chunk.write_bytes(b"no chunk")
        with pytest.raises(ValueError, match=r"expected 200 rows that can be read, got an error at rows 50 to 99"):
            rows_of(ViewSources.of(store), 50)

    def test_missing_zarr_chunks_are_warned_of(self, X, tmp_path):
        store = zarr_array(X, tmp_path)
        next(path for path in sorted((tmp_path / "X.zarr").rglob("*")) if path.parent.name == "2").unlink()
        with pytest.warns(mdt.ViewWarning, match="1 of 6 chunks of the Zarr array do not exist"):
            ViewSources.of(store)

    def test_a_file_without_the_matrix(self, X, tmp_path):
        h5py = pytest.importorskip("h5py")
        hdf5(X, tmp_path)
        with h5py.File(tmp_path / "X.h5", "a") as file:
            file["other"] = X
        with pytest.raises(ValueError, match=r"one matrix, got \['group/X', 'other'\]"):
            ViewSources.of(tmp_path / "X.h5")

    def test_text_columns(self, tmp_path):
        pd = pytest.importorskip("pandas")
        pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}).to_parquet(tmp_path / "X.parquet")
        with pytest.raises(ValueError, match=r"columns of numbers, got .*string in column 'b'"):
            rows_of(ViewSources.of(tmp_path / "X.parquet"), 2)

    @pytest.mark.parametrize(("name", "extra"), [("zarr", "zarr"), ("h5py", "hdf5"), ("pyarrow.parquet", "parquet")])
    def test_a_missing_extra_is_named(self, name, extra, X, tmp_path, monkeypatch):
        store = {"zarr": "zarr_path", "h5py": "hdf5_path", "pyarrow.parquet": "parquet_path"}[name]
        path = STORES[store](X, tmp_path)
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(ImportError, match=rf"X \(view 0\) needs .* pip install 'mdt_fast\[{extra}\]'"):
            ViewSources.of(path)

    def test_what_is_no_source(self):
        with pytest.raises(TypeError, match=r"X \(view 1\): expected an array, a file, a Dask array, or an iterator"):
            ViewSources.of([np.ones((3, 2)), 5])
        with pytest.raises(ValueError, match="a file with the ending"):
            ViewSources.of("rows.txt")
        with pytest.raises(FileNotFoundError, match="expected a file, got none"):
            ViewSources.of("no-such-file.npy")
        with pytest.raises(ValueError, match="2-D array"):
            ViewSources.of(np.ones(3))
