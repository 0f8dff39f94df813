"""Assignment of all rows: results in memory and on disk, faults, and second calls that go on."""

from __future__ import annotations

import errno
import json
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest

import mdt_fast as mdt
from helpers.landmarks import N
from helpers.sources import STORES, blocks_of
from mdt_fast._assignment import writers
from mdt_fast._assignment.assigner import Assigner

RESULTS = ("labels", "embedding", "confidence")
KINDS = ["consensus", "k-means", "communities", "coordinates"]
OUTS = ["result", "result.zarr", "result.parquet"]


def read_out(path: Path) -> dict[str, np.ndarray]:
    """Read what was written with the tools of the format."""
    if path.suffix == ".zarr":
        zarr = pytest.importorskip("zarr")
        group = zarr.open_group(path, mode="r")
        return {name: group[name][:] for name in group.array_keys()}
    if path.suffix == ".parquet":
        import pandas as pd

        frame = pd.read_parquet(path)
        assert frame["sample"].tolist() == list(range(len(frame)))
        found = {"embedding": frame.filter(like="coordinate").to_numpy()}
        return found | {f"{name}s" if name == "label" else name: frame[name].to_numpy()
                        for name in ("label", "confidence") if name in frame}  # fmt: skip
    return {file.stem: np.load(file) for file in path.glob("*.npy")}


def assert_same(found, expected):
    for name in RESULTS:
        values = found.get(name) if isinstance(found, dict) else getattr(found, name)
        if getattr(expected, name) is None:
            assert values is None
        else:
            np.testing.assert_array_equal(values, getattr(expected, name))
            assert values.dtype == getattr(expected, name).dtype


@pytest.fixture(scope="module")
def expected(fitted, planted):
    return {kind: model.assign(planted[0]) for kind, model in fitted.items()}


@pytest.fixture
def counted(monkeypatch):
    """Count the blocks that are assigned; after `counted.fail_at` of them there is an error."""

    class Count:
        n, fail_at, error = 0, None, KeyboardInterrupt

    assign = Assigner.assign

    def counting(self, X, n_jobs=None):
        if Count.n == Count.fail_at:
            raise Count.error
        Count.n += 1
        return assign(self, X, n_jobs)

    monkeypatch.setattr(Assigner, "assign", counting)
    return Count


@pytest.mark.parametrize("kind", KINDS)
def test_results_are_those_of_predict_and_transform(kind, fitted, planted, expected):
    model, (views, _) = fitted[kind], planted
    found = expected[kind]
    assert found.embedding.dtype == np.float32
    np.testing.assert_array_equal(found.embedding, model.geometry_.transform(views))
    if kind == "coordinates":
        assert found.labels is None
        assert found.confidence is None
    else:
        np.testing.assert_array_equal(found.labels, model.predict(views))
        assert found.confidence.shape == (N,)
    others = np.setdiff1d(np.arange(N), model.landmark_indices_)
    np.testing.assert_array_equal(found.embedding[others], model.embedding_[others])


@pytest.mark.parametrize("rows", [1, 13, 256, N, 5000])
def test_blocks_do_not_change_a_bit(rows, fitted, planted, expected):
    views = [view[:100] for view in planted[0]] if rows == 1 else planted[0]
    for kind in KINDS:
        found, whole = fitted[kind].assign(views, block_rows=rows), expected[kind]
        for name in RESULTS:
            if getattr(whole, name) is not None:
                np.testing.assert_array_equal(getattr(found, name), getattr(whole, name)[: len(views[0])])


@pytest.mark.parametrize("out", OUTS)
@pytest.mark.parametrize("kind", KINDS)
def test_results_on_disk(kind, out, fitted, planted, expected, tmp_path):
    path = tmp_path / out
    found = fitted[kind].assign(planted[0], path, block_rows=100)
    assert found.path == path
    assert_same(read_out(path), expected[kind])
    if out.endswith("parquet"):
        assert found.labels is None
    else:
        assert_same(
            {name: getattr(found, name)[:] for name in RESULTS if getattr(found, name) is not None}, expected[kind]
        )
    assert str(path) in repr(found)
    assert [each.name for each in tmp_path.iterdir() if each.name not in (out, f"{out}.manifest.json")] == []


@pytest.mark.parametrize("out", [None, *OUTS])
def test_an_iterator_of_unknown_length(out, model, planted, expected, tmp_path):
    streams = [iter(list(blocks_of(X, tmp_path)())) for X in planted[0]]
    path = None if out is None else tmp_path / out
    found = model.assign(streams, path, block_rows=64)
    assert_same(found if path is None else read_out(path), expected["consensus"])


@pytest.mark.parametrize("store", ["zarr_array", "hdf5", "parquet_path", "dask_array", "frame", "read_only"])
def test_views_of_different_stores(store, model, planted, expected, tmp_path):
    views = {"view 1": STORES[store](planted[0][1], tmp_path), "view 0": planted[0][0]}
    found = model.assign(views, tmp_path / "result", block_rows=250)
    assert_same(found, expected["consensus"])


class TestSecondCall:
    @pytest.mark.parametrize("out", OUTS)
    def test_it_goes_on_from_the_blocks_that_are_written(self, out, model, planted, expected, counted, tmp_path):
        path = tmp_path / out
        counted.fail_at = 4
        with pytest.raises(KeyboardInterrupt):
            model.assign(planted[0], path, block_rows=100)
        assert json.loads((tmp_path / f"{out}.manifest.json").read_text())["done"] == [[0, 4]]
        counted.fail_at = None
        model.assign(planted[0], path, block_rows=100)
        assert counted.n == 9
        assert_same(read_out(path), expected["consensus"])
        # A third call has nothing to do.
        model.assign(planted[0], path, block_rows=100)
        assert counted.n == 9

    def test_an_iterator_goes_on_too(self, model, planted, expected, counted, tmp_path):
        counted.fail_at = 4
        for fail_at in (4, None):
            counted.fail_at = fail_at
            streams = [iter(list(blocks_of(X, tmp_path)())) for X in planted[0]]
            if fail_at is None:
                model.assign(streams, tmp_path / "result", block_rows=100)
            else:
                with pytest.raises(KeyboardInterrupt):
                    model.assign(streams, tmp_path / "result", block_rows=100)
        assert counted.n == 9
        assert_same(read_out(tmp_path / "result"), expected["consensus"])

    @pytest.mark.parametrize("change", ["model", "rows", "block_rows", "columns"])
    def test_another_call_is_refused(self, change, fitted, planted, tmp_path):
        fitted["consensus"].assign(planted[0], tmp_path / "result", block_rows=100)
        model = fitted["k-means" if change == "model" else "consensus"]
        views = [view[:700] for view in planted[0]] if change == "rows" else planted[0]
        views = [view[:, :4] for view in views] if change == "columns" else views
        name = {"model": "model", "rows": "number of rows", "columns": "numbers of columns"}.get(change, change)
        with pytest.raises(ValueError, match=f"out: expected the results of an earlier call with the same {name}"):
            model.assign(views, tmp_path / "result", block_rows=99 if change == "block_rows" else 100)

    def test_a_place_in_use_is_refused(self, model, planted, tmp_path):
        (tmp_path / "result").mkdir()
        (tmp_path / "result" / "notes.txt").write_text("")
        with pytest.raises(FileExistsError, match="out: expected a new place"):
            model.assign(planted[0], tmp_path / "result")

    @pytest.mark.parametrize("content", ["", "{}", '{"format": "mdt_fast assignment"}', "[1]", "damaged"])
    def test_a_damaged_manifest_is_refused(self, content, model, planted, tmp_path):
        model.assign(planted[0], tmp_path / "result")
        (tmp_path / "result.manifest.json").write_text(content)
        with pytest.raises(ValueError, match="got a damaged or different file"):
            model.assign(planted[0], tmp_path / "result")

    def test_a_changed_manifest_is_refused(self, model, planted, tmp_path):
        model.assign(planted[0], tmp_path / "result", block_rows=100)
        path = tmp_path / "result.manifest.json"
        path.write_text(path.read_text().replace("[0, 9]", "[0, 8]"))
        with pytest.raises(ValueError, match="got a damaged or different file"):
            model.assign(planted[0], tmp_path / "result", block_rows=100)

    def test_results_that_were_removed(self, model, planted, tmp_path):
        model.assign(planted[0], tmp_path / "result.parquet")
        for each in (tmp_path / "result.parquet").iterdir():
            each.unlink()
        (tmp_path / "result.parquet").rmdir()
        with pytest.raises(FileNotFoundError, match=r"expected the results that result\.parquet\.manifest\.json names"):
            model.assign(planted[0], tmp_path / "result.parquet")


class TestFaults:
    @pytest.mark.parametrize("out", OUTS)
    def test_a_full_disk(self, out, model, planted, expected, tmp_path, monkeypatch):
        kind = {"": writers.NpyWriter, ".zarr": writers.ZarrWriter, ".parquet": writers.ParquetWriter}[Path(out).suffix]
        write = kind.write

        def until_full(self, start, found):
            if start >= 300:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            write(self, start, found)

        with monkeypatch.context() as patch:
            patch.setattr(kind, "write", until_full)
            with pytest.raises(
                OSError, match=r"out: .* No space left on device while block 3 was written; 3 blocks are"
            ) as caught:
                model.assign(planted[0], tmp_path / out, block_rows=100)
            assert caught.value.errno == errno.ENOSPC
        model.assign(planted[0], tmp_path / out, block_rows=100)
        assert_same(read_out(tmp_path / out), expected["consensus"])

    def test_a_place_that_cannot_be_made(self, model, planted, tmp_path):
        (tmp_path / "file").write_text("")
        with pytest.raises(OSError, match=r"out: expected to write to .*manifest\.json', got .*exist"):
            model.assign(planted[0], tmp_path / "file" / "result")

    @pytest.mark.skipif(sys.platform == "win32", reason="limits of POSIX")
    @pytest.mark.parametrize(("limit", "message"), [(7000, " while block 4 was written; 4 blocks are kept"), (100, "")])
    def test_a_limit_of_the_file_size(self, limit, message, model, planted, expected, tmp_path):
        """The system refuses a write in the middle of a block, and of the manifest."""
        import resource

        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        try:
            resource.setrlimit(resource.RLIMIT_FSIZE, (limit, before[1]))
            with pytest.raises(OSError, match="out: .* File too large" + message):
                model.assign(planted[0], tmp_path / "result", block_rows=100)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)
            signal.signal(signal.SIGXFSZ, handler)
        model.assign(planted[0], tmp_path / "result", block_rows=100)
        assert_same(read_out(tmp_path / "result"), expected["consensus"])

    def test_nan_in_a_later_block(self, model, planted, counted, tmp_path):
        views = [view.copy() for view in planted[0]]
        views[1][731, 2] = np.nan
        with pytest.raises(ValueError, match=r"X \(view 1\): expected finite numbers, got nan at row 731 \(block 73\)"):
            model.assign(views, tmp_path / "result", block_rows=10)
        assert counted.n == 73
        model.assign(planted[0], tmp_path / "result", block_rows=10)
        assert counted.n == 90

    @pytest.mark.parametrize(("value", "error"), [
        (0.0, "row 731 (block 73) is constant: its correlation distance is undefined"),
        (1e308, "row 731 (block 73) is so far from the training samples"),
    ])  # fmt: skip
    def test_a_row_without_distances_is_named(self, value, error, planted):
        """Errors of the search name the row of the store, not that of the block."""
        metric = "euclidean" if value else "correlation"
        model = mdt.MDT(3, strategy="mean", t=3, landmarks=300, metric=metric).fit(planted[0])
        views = [view.astype(float) for view in planted[0]]
        views[1][731] = value
        with pytest.raises(ValueError, match=r"X \(view 1\): " + re.escape(error)):
            model.assign(views, block_rows=10)

    def test_the_end_of_memory(self, model, planted, counted, expected, tmp_path):
        counted.fail_at, counted.error = 5, MemoryError
        with pytest.raises(MemoryError):
            model.assign(planted[0], tmp_path / "result.zarr", block_rows=100)
        counted.fail_at = None
        model.assign(planted[0], tmp_path / "result.zarr", block_rows=100)
        assert counted.n == 9
        assert_same(read_out(tmp_path / "result.zarr"), expected["consensus"])

    def test_other_columns(self, model, planted):
        with pytest.raises(ValueError, match=r"X \(view 1\): expected 5 features, got 4"):
            model.assign([planted[0][0], planted[0][1][:, :4]])

    def test_time_limit(self, model, planted, tmp_path):
        with pytest.raises(
            TimeoutError,
            match=r"time_limit: expected an end within 0.05 s; "
            r"blocks done: \d+; blocks written: \d+",
        ):
            model.assign(planted[0], tmp_path / "result", block_rows=1, time_limit=0.05)

    @pytest.mark.parametrize(("how", "error"), [
        ({"block_rows": 0}, "block_rows: expected an integer >= 1, got 0"),
        ({"out": "result.csv"}, r"out: expected a path that ends with \.zarr or \.parquet"),
    ])  # fmt: skip
    def test_values(self, how, error, model, planted):
        with pytest.raises(ValueError, match=error):
            model.assign(planted[0], **how)

    def test_a_client_that_is_none(self, model, planted):
        pytest.importorskip("distributed")
        with pytest.raises(TypeError, match=r"client: expected a distributed\.Client, got str"):
            model.assign(planted[0], client="tcp://127.0.0.1:8786")

    def test_remote_samples_are_warned_of_once(self, model, planted):
        views = [view.copy() for view in planted[0]]
        views[0][[100, 350, 360]] = 1e4
        with pytest.warns(mdt.RemoteSamplesWarning, match="2 blocks have samples that are far") as caught:
            model.assign(views, block_rows=100)
        assert len(caught) == 1

    @pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
    def test_ctrl_c_ends_within_a_second_and_a_killed_call_goes_on(self, model, planted, expected, tmp_path):
        program = textwrap.dedent("""
            import pickle, sys, time
            from mdt_fast._assignment.assigner import Assigner
            assign = Assigner.assign
            def slow(self, X, n_jobs=None):
                time.sleep(0.02)
                return assign(self, X, n_jobs)
            Assigner.assign = slow
            model, views = pickle.load(open(sys.argv[1], "rb"))
            print("ready", flush=True)
            try:
                model.assign(views, sys.argv[2], block_rows=2)
            except KeyboardInterrupt:
                print(time.monotonic(), flush=True)
        """)
        import pickle

        (tmp_path / "model").write_bytes(pickle.dumps((model, planted[0])))
        command = [sys.executable, "-c", program, str(tmp_path / "model"), str(tmp_path / "result")]
        for number in (signal.SIGINT, signal.SIGKILL):
            with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
                assert process.stdout.readline() == "ready\n"
                time.sleep(1.5)
                began = time.monotonic()
                process.send_signal(number)
                ended, errors = process.communicate()
                # Not the end of the process, which takes seconds on a busy machine.
                assert number == signal.SIGKILL or ended, errors
                assert number == signal.SIGKILL or float(ended) - began < 1
        done = json.loads((tmp_path / "result.manifest.json").read_text())["done"]
        assert 10 < done[0][1] < 450
        model.assign(planted[0], tmp_path / "result", block_rows=2)
        assert_same(read_out(tmp_path / "result"), expected["consensus"])
