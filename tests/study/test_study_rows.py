"""The file of rows: append-only, without repeated work, and resumed after an interruption."""

from __future__ import annotations

import csv
import io
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
from sklearn.base import BaseEstimator

import mdt_fast as mdt
from mdt_fast.study._grid import Task
from mdt_fast.study._rows import read_rows

METHODS = ["AD", "MDT-Cvx-Rand", "MDT-BSC"]
SIZES = {"n_runs": 4, "n_searches": 2}
# One embedding, four draws, two searches.
N_TASKS, N_ROWS = 7, 12
# A study that kills itself after a number of tasks.
KILLED = """
import os, signal, sys
import joblib
import mdt_fast as mdt

def die(done, total):
    if done == int(sys.argv[3]):
        os.kill(os.getpid(), signal.SIGKILL)

mdt.study.run(**joblib.load(sys.argv[1]), rows=sys.argv[2], progress=die)
"""


class Halves(BaseEstimator):
    """Two halves of the samples."""

    def __init__(self, at=30):
        self.at = at

    def fit(self, X, y=None):
        self.labels_ = (np.arange(X.n_samples) < self.at).astype(int)
        return self


@pytest.fixture
def arguments(blobs):
    return {"datasets": {"blobs": blobs}, "methods": METHODS, **SIZES}


@pytest.fixture(scope="module")
def expected(blobs, content):
    """The rows of the study without a file and without an interruption."""
    return content(mdt.study.run({"blobs": blobs}, METHODS, **SIZES).rows)


@pytest.fixture
def rows(tmp_path):
    return tmp_path / "rows.csv"


@pytest.fixture
def finished(arguments, rows):
    """A file that holds the study."""
    mdt.study.run(**arguments, rows=rows)
    return rows


@pytest.fixture
def performed(monkeypatch):
    """The clusterings that are computed while the test runs."""
    done = []
    perform = Task.perform

    def note(task, n_jobs):
        done.extend((task.dataset.name, task.method.name, task.search, run) for run in task.runs)
        return perform(task, n_jobs)

    monkeypatch.setattr(Task, "perform", note)
    return done


def test_the_file_has_the_rows_of_the_study(arguments, tmp_path, expected, content):
    rows = tmp_path / "new" / "folder" / "rows.csv"
    found = mdt.study.run(**arguments, rows=rows)
    assert len(found.rows) == N_ROWS
    assert content(found.rows) == expected
    assert read_rows(rows) == found.rows
    lines = rows.read_text().splitlines()
    assert lines[0].startswith("dataset,method,preset,random_state,search,run,key,")
    assert len(lines) == 1 + N_ROWS


def test_names_of_any_kind_survive_the_file(blobs, rows):
    names = ['a, "b"', "naïve ☂", "two\nlines", "=cmd|' /C calc'!A0", "-x", "'@x", "-1"]
    found = mdt.study.run(dict.fromkeys(names, blobs), ["AD"], n_runs=1, rows=rows)
    assert [row.dataset for row in found.rows] == names
    assert read_rows(rows) == found.rows
    cells = [line[0] for line in csv.reader(io.StringIO(rows.read_text()))][1:]
    assert cells == [*names[:3], "'=cmd|' /C calc'!A0", "'-x", "''@x", "-1"]
    whole = rows.read_bytes()
    lines = whole.decode().splitlines(keepends=True)
    for length in range(len(whole) - len(lines[-1].encode()), len(whole)):
        rows.write_bytes(whole[:length])
        assert read_rows(rows) == found.rows[:-1]


def test_a_line_that_breaks_inside_a_name_is_removed(blobs, rows):
    found = mdt.study.run({"two\nlines": blobs}, ["AD"], n_runs=2, rows=rows)
    whole = rows.read_bytes()
    last = whole.rfind(b'"two')
    for length in (last + 1, last + 5, last + 8):
        rows.write_bytes(whole[:length])
        assert read_rows(rows) == found.rows[:1]
    assert mdt.study.run({"two\nlines": blobs}, ["AD"], n_runs=2, rows=rows).rows[:1] == found.rows[:1]
    assert len(read_rows(rows)) == 2


def test_the_same_study_again_computes_nothing(arguments, finished, performed):
    before = finished.read_bytes()
    reported = []
    found = mdt.study.run(**arguments, rows=finished, progress=lambda *now: reported.append(now))
    assert performed == reported == []
    assert finished.read_bytes() == before
    assert found.rows == read_rows(finished)


def test_a_smaller_study_computes_nothing(arguments, finished, performed, expected, content):
    """Only the requested rows are returned."""
    found = mdt.study.run(**{**arguments, "methods": ["MDT-Cvx-Rand"], "n_runs": 2}, rows=finished)
    assert performed == []
    assert content(found.rows) == [row for row in expected if row.method == "MDT-Cvx-Rand" and row.search < 2]


@pytest.mark.parametrize(
    ("change", "added"),
    [
        (
            {"n_runs": 6},
            [
                *(("AD", 0, run) for run in (4, 5)),
                *(("MDT-BSC", search, 2) for search in (0, 1)),
                *(("MDT-Cvx-Rand", search, 0) for search in (4, 5)),
            ],
        ),
        ({"n_searches": 3}, [("MDT-BSC", 2, 0), ("MDT-BSC", 2, 1)]),
        ({"methods": ["MDT-Rand", *METHODS[::-1]]}, [("MDT-Rand", search, 0) for search in range(4)]),
    ],
    ids=["runs", "searches", "methods"],
)
def test_a_larger_study_adds_what_is_missing(arguments, finished, performed, content, change, added):
    before = finished.read_bytes()
    found = mdt.study.run(**{**arguments, **change}, rows=finished)
    assert sorted(performed) == sorted(("blobs", *which) for which in added)
    after = finished.read_bytes()
    assert after.startswith(before)
    assert after.count(b"\n") == before.count(b"\n") + len(added)
    assert content(found.rows) == content(mdt.study.run(**{**arguments, **change}).rows)


@pytest.mark.parametrize(
    "change",
    [
        lambda blobs, others: {"datasets": {"others": blobs}},
        lambda blobs, others: {"datasets": {"blobs": others}},
        lambda blobs, others: {"datasets": {"blobs": (blobs.views[::-1], blobs.target)}},
        lambda blobs, others: {"datasets": {"blobs": (blobs.views, np.roll(blobs.target, 1))}},
        lambda blobs, others: {"random_state": 1},
        lambda blobs, others: {"preset": "published"},
    ],
    ids=["name", "contents", "order of views", "classes", "seed", "preset"],
)
def test_another_study_reuses_no_row(arguments, finished, performed, content, blobs, others, change):
    """The two studies share only the file."""
    before = finished.read_bytes()
    other = {**arguments, **change(blobs, others)}
    found = mdt.study.run(**other, rows=finished)
    assert len(performed) == len(found.rows) == N_ROWS
    assert finished.read_bytes().startswith(before)
    assert content(found.rows) == content(mdt.study.run(**other).rows)
    performed.clear()
    assert mdt.study.run(**arguments, rows=finished).rows == read_rows(finished)[:N_ROWS]
    assert performed == []


def test_an_estimator_with_other_parameters_reuses_no_row(blobs, rows, performed):
    scores = []
    for at in (30, 45, 30):
        (row,) = mdt.study.run({"blobs": blobs}, {"halves": Halves(at)}, n_searches=1, rows=rows).rows
        scores.append(row.ch)
    assert len(performed) == 2
    assert scores[0] == scores[2] != scores[1]


@pytest.mark.parametrize("kept", [0, 1, 20, -1], ids=["nothing", "a character", "some values", "all but the end"])
def test_a_truncated_line_is_removed(arguments, finished, performed, expected, content, kept):
    *whole, last = finished.read_bytes().splitlines(keepends=True)
    finished.write_bytes(b"".join(whole) + last[:kept])
    found = mdt.study.run(**arguments, rows=finished)
    assert len(performed) == 1
    assert content(found.rows) == expected
    assert finished.read_bytes().startswith(b"".join(whole))
    assert read_rows(finished) == found.rows


@pytest.mark.parametrize("kept", [0, 1, 30, -1])
def test_a_truncated_first_line_is_removed(arguments, finished, expected, content, kept):
    finished.write_bytes(finished.read_bytes().splitlines(keepends=True)[0][:kept])
    assert content(mdt.study.run(**arguments, rows=finished).rows) == expected
    assert content(read_rows(finished)) == expected


@pytest.mark.parametrize(
    "foreign",
    [b"name,age\nAda,36\n", b"dear diary", b"\x93NUMPY\x01\x00\xff\xfe\n\x00\x80\n"],
    ids=["table", "text", "binary"],
)
def test_a_file_of_another_format_is_refused(arguments, rows, foreign):
    rows.write_bytes(foreign)
    with pytest.raises(ValueError, match=r"^rows: expected .*rows\.csv"):
        mdt.study.run(**arguments, rows=rows)
    assert rows.read_bytes() == foreign


def test_a_folder_is_refused(arguments, tmp_path):
    with pytest.raises(OSError, match="rows: expected"):
        mdt.study.run(**arguments, rows=tmp_path)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (",90,3,", ",90,"),
        (",90,3,", ",90,three,"),
        (",90,3,", f",90,{10**30},"),
        (",90,3,", f",90,{'9' * 5000},"),
        (",90,3,", ",-90,3,"),
        (",True,", ",True,inf,"),
        (",True,", ",Tr#e,"),
        ("blobs,AD,", "blobs,AD,,"),
    ],
    ids=["lost", "no number", "large", "many digits", "negative", "infinite", "neither true nor false", "too many"],
)
def test_a_damaged_line_is_refused_with_its_number(arguments, finished, old, new):
    lines = finished.read_text().splitlines(keepends=True)
    lines[2] = lines[2].replace(old, new, 1)
    finished.write_text("".join(lines))
    before = finished.read_bytes()
    with pytest.raises(ValueError, match=r"^rows: expected .* line 3 of .*rows\.csv"):
        mdt.study.run(**arguments, rows=finished)
    assert finished.read_bytes() == before


def test_an_open_quote_before_other_rows_is_refused(arguments, finished):
    """The rows after it are there, and must not be removed as one that was cut off."""
    lines = finished.read_text().splitlines(keepends=True)
    for place in (0, 3, len(lines) - 2):
        damaged = [*lines[:place], lines[place].replace(",", '",', 1), *lines[place + 1 :]]
        finished.write_text("".join(damaged))
        with pytest.raises(ValueError, match=r"rows: expected .*quotes in pairs|rows: expected a file"):
            mdt.study.run(**arguments, rows=finished)
        assert finished.read_text() == "".join(damaged)


def test_reading_does_not_change_the_file(finished):
    finished.write_bytes(finished.read_bytes()[:-3])
    before = finished.read_bytes()
    assert len(read_rows(finished)) == N_ROWS - 1
    assert finished.read_bytes() == before


def test_a_file_above_the_limit_is_refused(finished, monkeypatch):
    monkeypatch.setenv("MDT_FAST_MAX_BYTES", "100")
    with pytest.raises(ValueError, match=r"rows: .*rows\.csv: expected at most 100 bytes .* MDT_FAST_MAX_BYTES"):
        read_rows(finished)


def test_threads_share_a_file(blobs, rows):
    """Every line is complete, also if several studies append and begin at the same time."""
    names = [f"set {i}" for i in range(6)]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda name: mdt.study.run({name: blobs}, ["AD"], n_runs=3, rows=rows), names))
    assert sorted(row.dataset for row in read_rows(rows)) == sorted(3 * names)
    assert rows.read_text().count("dataset,method") == 1
    assert [path.name for path in rows.parent.iterdir()] == ["rows.csv"]


def test_repeated_rows_count_once(arguments, finished, performed):
    """Two concurrent studies may both have written them."""
    once = mdt.study.run(**arguments, rows=finished)
    header, *lines = finished.read_text().splitlines(keepends=True)
    finished.write_text("".join([header, *lines, *lines]))
    assert mdt.study.run(**arguments, rows=finished).rows == once.rows
    assert performed == []


def resumed(arguments, rows, performed, n_done):
    """Check that complete tasks are in the file, and resume."""
    before = rows.read_bytes()
    # The embedding is one task with four rows.
    assert len(read_rows(rows)) == 3 + n_done
    performed.clear()
    found = mdt.study.run(**arguments, rows=rows)
    assert len(performed) == N_ROWS - 3 - n_done
    assert rows.read_bytes().startswith(before)
    return found


@pytest.mark.parametrize("error", [KeyboardInterrupt, MemoryError])
def test_a_method_that_is_interrupted(monkeypatch, arguments, rows, expected, content, performed, error):
    perform = Task.perform

    def interrupted(task, n_jobs):
        if len(performed) == 3 + 3:
            raise error
        return perform(task, n_jobs)

    with monkeypatch.context() as patch:
        patch.setattr(Task, "perform", interrupted)
        with pytest.raises(error):
            mdt.study.run(**arguments, rows=rows)
    assert content(resumed(arguments, rows, performed, 3).rows) == expected


# joblib prints that it stops its workers.
@pytest.mark.filterwarnings("ignore:.*tasks which were still being processed by the workers:UserWarning")
def test_workers_that_are_interrupted(arguments, rows, expected, content, performed):
    def interrupt(done, total):
        assert total == N_TASKS
        if done == 2:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        mdt.study.run(**arguments, rows=rows, progress=interrupt, n_jobs=2)
    assert content(resumed(arguments, rows, performed, 2).rows) == expected


@pytest.mark.skipif(os.name != "posix", reason="no signal that cannot be caught")
def test_a_study_that_is_killed(arguments, tmp_path, rows, expected, content, performed):
    joblib.dump(arguments, tmp_path / "arguments")
    call = [sys.executable, "-c", KILLED, tmp_path / "arguments", rows, "4"]
    assert subprocess.run(call, timeout=60).returncode == -signal.SIGKILL
    assert content(resumed(arguments, rows, performed, 4).rows) == expected


def test_rows_of_another_version_are_not_reused(blobs, content, tmp_path, monkeypatch):
    rows = tmp_path / "rows.csv"
    first = mdt.study.run({"blobs": blobs}, ["AD"], n_runs=2, rows=rows)
    before = rows.read_bytes()
    monkeypatch.setattr("mdt_fast.study._grid.__version__", "another")
    again = mdt.study.run({"blobs": blobs}, ["AD"], n_runs=2, rows=rows)
    assert rows.read_bytes().startswith(before)
    assert len(read_rows(rows)) == 4
    assert {row.version for row in again.rows} == {"another"}
    assert [row.ami for row in again.rows] == [row.ami for row in first.rows]
