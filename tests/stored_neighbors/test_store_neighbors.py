"""Neighbours of samples that memory does not hold, in this process."""

from __future__ import annotations

import errno
import os
import signal
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse

import mdt_fast as mdt
from helpers.sources import STORES, sparse_matrix
from helpers.stored_neighbors import CELL, K, N, assert_same, store
from mdt_fast._assignment import writers
from mdt_fast._stored_neighbors import build, search
from mdt_fast._stored_neighbors.place import Place


def assert_is_table(found, X, metric="euclidean"):
    """Distances are exact, neighbours are distinct and ascend, and the measured recall is that of all samples."""
    indices, distances = np.asarray(found.indices[:]), np.asarray(found.distances[:])
    n, k = indices.shape
    exact = mdt.nearest_neighbors(X, k, metric=metric)[1]
    every, all_distances = mdt.nearest_neighbors(X, n - 1, metric=metric)
    whole = np.zeros((n, n))
    np.put_along_axis(whole, every.astype(np.intp), all_distances, axis=1)
    np.testing.assert_allclose(distances, np.take_along_axis(whole, indices.astype(np.intp), axis=1), rtol=1e-6)
    assert all(len(set(row)) == k and i not in row for i, row in enumerate(indices.tolist()))
    pairs = list(zip(distances.tolist(), indices.tolist(), strict=True))
    assert all(list(zip(*pair, strict=True)) == sorted(zip(*pair, strict=True)) for pair in pairs)
    recall = (distances <= exact[:, -1:] * (1 + 1e-9)).mean()
    assert abs(recall - found.recall) <= max(5 * found.recall_error, 0.005)


@pytest.mark.parametrize("metric", ["euclidean", "cosine", "correlation", "manhattan"])
def test_neighbours_are_those_of_the_search_in_memory(metric, points, tmp_path):
    found = store(points, tmp_path / "graph", metric=metric)
    assert found.n_cells > 3
    assert found.recall > 0.95
    assert_is_table(found, points, metric)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["graph", "graph.manifest.json"]


def test_one_cell_gives_the_same_bits(points, tmp_path):
    found = store(points, tmp_path / "graph", cell_rows=N)
    indices, distances = mdt.nearest_neighbors(points, K)
    np.testing.assert_array_equal(found.indices, indices)
    np.testing.assert_array_equal(found.distances, distances)
    assert (found.n_cells, found.cells_per_sample, found.recall) == (1, 1, 1.0)


@pytest.mark.parametrize("kind", STORES)
def test_every_store(kind, points, expected, tmp_path):
    assert_same(store(STORES[kind](points, tmp_path), tmp_path / "graph"), expected)


@pytest.mark.parametrize("how", [{"block_rows": 7}, {"block_rows": 5000}, {"n_jobs": 1}, {"n_jobs": 3}])
def test_neither_blocks_nor_threads_change_a_bit(how, points, expected, tmp_path):
    assert_same(store(points, tmp_path / "graph", **how), expected)


def test_a_zarr_group(points, expected, tmp_path):
    zarr = pytest.importorskip("zarr")
    assert_same(store(points, tmp_path / "graph.zarr"), expected)
    np.testing.assert_array_equal(zarr.open_group(tmp_path / "graph.zarr", mode="r")["indices"][:], expected.indices)


def test_double_precision_and_extreme_scales(points, tmp_path):
    for scale in (1.0, 1e-200, 1e150):
        X = points.astype(np.float64) * scale
        assert_is_table(store(X, tmp_path / f"graph {scale:g}"), X)


def test_round_clusters_of_many_dimensions_need_more_cells(tmp_path):
    X = np.random.default_rng(0).normal(size=(3000, 12))
    found = mdt.store_neighbors(X, 5, tmp_path / "graph", cell_rows=1000)
    assert found.cells_per_sample > 1
    assert found.recall >= 0.95
    assert_is_table(found, X)


def test_a_recall_that_is_not_reached_is_a_warning(tmp_path):
    X = np.random.default_rng(0).normal(size=(3000, 60))
    with pytest.warns(
        mdt.ViewWarning, match=r"recall: expected at least 0\.99, got 0\.\d+ with each sample in 8 cells"
    ):
        found = mdt.store_neighbors(X, 5, tmp_path / "graph", cell_rows=100, recall=0.99)
    assert_is_table(found, X)


class TestHostileRows:
    @pytest.fixture(autouse=True)
    def limit(self, monkeypatch):
        """No search has more rows than a cell may have."""
        search_table = search.search_table

        def limited(view, *args):
            assert view.n_samples <= CELL
            return search_table(view, *args)

        monkeypatch.setattr(search, "search_table", limited)

    @pytest.mark.parametrize("n_distinct", [1, 2, 40])
    def test_duplicates(self, n_distinct, tmp_path):
        X = np.random.default_rng(0).normal(size=(n_distinct, 3))[np.arange(N) % n_distinct]
        found = store(X, tmp_path / "graph")
        assert found.recall == 1.0
        assert not np.asarray(found.distances).any() or n_distinct > N // K
        assert_is_table(found, X)

    def test_most_samples_coincide(self, tmp_path):
        X = np.random.default_rng(0).normal(size=(N, 3))
        X[50:1000] = 0.0
        found = store(X, tmp_path / "graph")
        assert_is_table(found, X)
        assert_same(store(X, tmp_path / "again", n_jobs=1), found)

    def test_clusters_of_few_samples(self, tmp_path, monkeypatch):
        """Cells of one to six samples, which have too few neighbours."""
        lone = []
        lone_rows = build.lone_rows
        monkeypatch.setattr(build, "lone_rows", lambda *args: lone.append(lone_rows(*args)) or lone[0])
        rng = np.random.default_rng(0)
        X = rng.normal(size=(N, 3))
        X[::40] = 1e4 * rng.normal(size=(N // 40, 3))
        found = store(X, tmp_path / "graph")
        exact = mdt.nearest_neighbors(X, K)
        assert len(lone[0])
        np.testing.assert_array_equal(found.distances[lone[0]], exact[1][lone[0]])
        assert_is_table(found, X)

    def test_one_column_and_two_samples(self, tmp_path):
        X = np.sin(np.arange(N))[:, None]
        assert_is_table(store(X, tmp_path / "column"), X)
        found = mdt.store_neighbors([[0.0], [2.0]], 1, tmp_path / "two", block_rows=1)
        np.testing.assert_array_equal(found.indices, [[1], [0]])
        np.testing.assert_array_equal(found.distances, [[2.0], [2.0]])

    @pytest.mark.parametrize("value", [1e20, -1e100])
    def test_one_row_is_far_from_all_others(self, value, tmp_path):
        """The others have no differences beside such a row, for example a code of missing values."""
        X = np.random.default_rng(0).normal(size=(N, 3))
        X[700] = value
        assert_is_table(store(X, tmp_path / "graph"), X)

    @pytest.mark.parametrize(("metric", "dtype", "largest"), [
        ("correlation", np.float32, 1e38), ("correlation", np.float64, 1e307), ("manhattan", np.float64, 1e306),
    ])  # fmt: skip
    def test_sums_that_overflow(self, metric, dtype, largest, tmp_path):
        X = np.random.default_rng(0).normal(size=(N, 4))
        X[:500] = X[0] + 1e-3 * X[:500]
        X = (X * (largest / np.abs(X).max())).astype(dtype)
        found = store(X, tmp_path / "graph", metric=metric)
        exact = mdt.nearest_neighbors(X, K, metric=metric)[1]
        assert (found.distances <= exact[:, -1:] * (1 + 1e-9)).mean() > 0.95


class TestUse:
    def test_operators_are_those_of_the_pair(self, points, expected):
        how = {"kernel": "adaptive"}
        found = mdt.build_operators([points], neighbors=expected, **how)
        pair = mdt.build_operators([points], neighbors=(expected.indices, expected.distances), **how)
        np.testing.assert_array_equal(found[0].toarray(), pair[0].toarray())

    @pytest.mark.filterwarnings("ignore::mdt_fast.OperatorWarning")
    def test_an_estimator(self, points, expected):
        model = mdt.MDTClustering(5, strategy="mean", t=3, neighbors=expected, scale=None).fit(points)
        assert len(np.unique(model.labels_)) == 5

    def test_repr(self, expected):
        text = f"StoredNeighbors({N} samples, {K} neighbours; recall {expected.recall:.3f}; {expected.path})"
        assert repr(expected) == text

    def test_other_samples_are_refused(self, points, expected):
        with pytest.raises(ValueError, match=r"neighbors \(view 0\): expected the neighbours of 1100 samples"):
            mdt.build_operators([points[:1100]], neighbors=expected)

    @pytest.mark.parametrize(("name", "value"), [
        ("indices", -1), ("indices", N), ("indices", 17), ("indices", None), ("distances", np.nan), ("distances", -1.0),
        ("distances", np.inf),
    ])  # fmt: skip
    def test_a_damaged_table_is_refused(self, name, value, points, tmp_path):
        found = store(points, tmp_path / "graph")
        table = np.load(tmp_path / "graph" / f"{name}.npy", mmap_mode="r+")
        table[17, -1] = table[17, 0] if value is None else value
        table.flush()
        with pytest.raises(ValueError, match=r"neighbors \(view 0\): expected a table of neighbours, .*: row 17"):
            mdt.build_operators([points], neighbors=found)

    def test_progress(self, points, tmp_path):
        reports = []
        store(points, tmp_path / "graph", progress=reports.append)
        assert {report.stage for report in reports} == {"neighbours"}
        details = list(dict.fromkeys(report.detail for report in reports))
        assert details == [
            "exact neighbours of some rows", "cells", "rows of each cell", "neighbours in each cell", "merge"
        ]  # fmt: skip
        merged = [report for report in reports if report.detail == "merge"]
        assert (merged[-1].n_done, merged[-1].n_total) == (8, 8)


def interrupt(*args):
    raise KeyboardInterrupt


# A function that is called for each part of a step, where it is looked up, and the number of its calls in all.
STEPS = {
    "exact": (build, "nearest_in_block", 8),
    "rows": (build, "write_block", 8),
    "cells": (search, "search_table", None),
    "merge": (writers.NpyWriter, "write", 8),
}


class TestFaults:
    @pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
    @pytest.mark.parametrize("step", STEPS)
    def test_a_second_call_goes_on(self, step, error, points, expected, tmp_path, monkeypatch):
        owner, name, total = STEPS[step]
        function, n = getattr(owner, name), 0

        def counted(*args, **how):
            nonlocal n
            n += 1
            if n == fail_at:
                raise error
            return function(*args, **how)

        monkeypatch.setattr(owner, name, counted)
        fail_at = 4
        with pytest.raises(error):
            store(points, tmp_path / "graph")
        fail_at = None
        assert_same(store(points, tmp_path / "graph"), expected)
        assert n == (expected.n_cells if total is None else total) + 1
        # A third call has nothing to do.
        assert_same(store(points, tmp_path / "graph"), expected)
        assert n == (expected.n_cells if total is None else total) + 1

    def test_a_number_that_is_not_finite(self, points, expected, tmp_path):
        X = points.copy()
        X[731, 2] = np.nan
        message = r"X \(view 0\): expected finite numbers, got nan at row 731 \(block 4\), column 2"
        with pytest.raises(ValueError, match=message):
            store(X, tmp_path / "graph")
        X[731] = points[731]
        assert_same(store(X, tmp_path / "graph"), expected)

    @pytest.mark.parametrize(("metric", "what"), [("cosine", "all zeros"), ("correlation", "constant")])
    @pytest.mark.parametrize("row", [2, 731])
    def test_a_row_without_direction(self, metric, what, row, points, tmp_path):
        """The message has its number, also if it is one of the rows that measure the recall, such as row 2."""
        X = points.copy()
        X[row] = 0.0
        message = rf"^X \(view 0\): row {row} \(block {row // 170}\) is {what}: its {metric} distance is undefined"
        with pytest.raises(ValueError, match=message):
            store(X, tmp_path / "graph", metric=metric)
        assert store(points, tmp_path / "graph", metric=metric).recall > 0.95

    @pytest.mark.parametrize("row", [2, 5, 731])
    def test_a_row_whose_distances_overflow(self, row, points, tmp_path):
        X = points.astype(np.float64)
        X[row] = 1e300
        with pytest.raises(ValueError, match=rf"^X \(view 0\): row {row}\b.* is so far from the training samples"):
            store(X, tmp_path / "graph")

    @pytest.mark.parametrize("is_complete", [False, True])
    def test_other_rows_are_refused(self, is_complete, points, expected, tmp_path, monkeypatch):
        if is_complete:
            store(points, tmp_path / "graph")
        else:
            with monkeypatch.context() as patch:
                patch.setattr(build, "search_run", interrupt)
                with pytest.raises(KeyboardInterrupt):
                    store(points, tmp_path / "graph")
        same = "out: expected the results of an earlier call with the same"
        with pytest.raises(ValueError, match=f"{same} number of columns"):
            store(points[:, :3], tmp_path / "graph")
        with pytest.raises(ValueError, match=f"{same} precision"):
            store(points.astype(np.float64), tmp_path / "graph")
        # Neither the kind of the store nor an exact conversion matters.
        assert_same(store(STORES["frame"](points, tmp_path), tmp_path / "graph"), expected)

    def test_a_full_disk(self, points, expected, tmp_path, monkeypatch):
        write_array = search.write_array
        n = 0

        def until_full(path, values):
            nonlocal n
            n += 1
            if n > 3:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            write_array(path, values)

        with monkeypatch.context() as patch:
            patch.setattr(search, "write_array", until_full)
            with pytest.raises(
                OSError, match=r"out: .*graph\.work', got No space left .* goes on from there"
            ) as caught:
                store(points, tmp_path / "graph")
        assert caught.value.errno == errno.ENOSPC
        assert_same(store(points, tmp_path / "graph"), expected)

    @pytest.mark.skipif(sys.platform == "win32", reason="limits of POSIX")
    @pytest.mark.parametrize("limit", [500, 3000, 60_000])
    def test_a_limit_of_the_file_size(self, limit, points, expected, tmp_path):
        """The system refuses a write of the first files, of the rows of a block, and of the table."""
        import resource

        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
            with pytest.raises(OSError, match=r"out: .* File too large"):
                store(points, tmp_path / "graph")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
            signal.signal(signal.SIGXFSZ, handler)
        assert_same(store(points, tmp_path / "graph"), expected)

    def test_blocks_that_end_early(self, points, tmp_path):
        calls = iter([points, points, points[:800]])
        with pytest.raises(ValueError, match=r"X \(view 0\): expected 1,200 rows, got an end after row 799"):
            store(lambda: iter([next(calls)]), tmp_path / "graph")


class TestArguments:
    @pytest.mark.parametrize(("how", "error"), [
        ({"cell_rows": 31}, "cell_rows: expected an integer >= 32, got 31"),
        ({"block_rows": 0}, "block_rows: expected an integer >= 1, got 0"),
        ({"n_neighbors": N}, f"n_neighbors: expected an integer >= 1 and <= {N - 1}, got {N}"),
        ({"recall": 1.1}, "recall: expected a finite number >= 0 and <= 1, got 1.1"),
        ({"metric": "precomputed"}, "metric: expected one of 'euclidean', 'cosine', 'correlation', 'manhattan'"),
        ({"out": "graph.parquet"}, r"out: expected a path that ends with \.zarr, or one without ending"),
        ({"out": "graph.csv"}, r"out: expected a path that ends with"),
        ({"X": iter([np.ones((5, 2))])}, "X: expected rows that can be read more than once, got an iterator"),
        ({"X": np.ones((9, 0)), "n_neighbors": 2}, r"X \(view 0\): expected at least 1 feature, got 0 features"),
        ({"X": np.ones((1, 2))}, "X: expected from 2 to 2,147,483,647 samples, got 1"),
    ])  # fmt: skip
    def test_values(self, how, error, points, tmp_path):
        given = {"X": points, "n_neighbors": K, "out": tmp_path / "graph", "cell_rows": CELL, **how}
        with pytest.raises(ValueError, match=error):
            mdt.store_neighbors(**given)
        assert not any(tmp_path.iterdir())

    def test_sparse_rows_are_refused(self, points, tmp_path):
        with pytest.raises(TypeError, match=r"X \(view 0\): expected dense rows, got a sparse matrix"):
            store(sparse_matrix(points, tmp_path), tmp_path / "graph")
        with pytest.raises(TypeError, match=r"X \(view 0\): expected dense rows, got a sparse matrix"):
            store(sparse.coo_matrix(points).tocsc(), tmp_path / "other")

    def test_a_client_that_is_none(self, points, tmp_path):
        pytest.importorskip("distributed")
        with pytest.raises(TypeError, match=r"client: expected a distributed\.Client, got str"):
            store(points, tmp_path / "graph", client="tcp://127.0.0.1:8786")

    @pytest.mark.parametrize("how", [{"metric": "cosine"}, {"cell_rows": 299}, {"random_state": 1}, {"recall": 0.9}])
    def test_another_call_is_refused(self, how, points, tmp_path):
        store(points, tmp_path / "graph")
        name = {"random_state": "seed"}.get(next(iter(how)), next(iter(how)))
        with pytest.raises(ValueError, match=f"out: expected the results of an earlier call with the same {name}"):
            store(points, tmp_path / "graph", **how)

    def test_a_place_in_use_is_refused(self, points, tmp_path):
        (tmp_path / "graph").mkdir()
        (tmp_path / "graph" / "notes.txt").write_text("")
        with pytest.raises(FileExistsError, match="out: expected a new place"):
            store(points, tmp_path / "graph")
        (tmp_path / "other.work").mkdir()
        with pytest.raises(FileExistsError, match="out: expected a new place, got one with a folder of another call"):
            store(points, tmp_path / "other")
        assert Place(Path(tmp_path / "other.work")).path.exists()
