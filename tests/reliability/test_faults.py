"""Faults of the machine: kills, full disks, folders that cannot be written, several processes on one file.

MDT_FAST_KILLS is the number of kills of each slow test.
"""

from __future__ import annotations

import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from contextlib import redirect_stderr
from pathlib import Path

import pytest

pytest.importorskip("click")
if sys.platform == "win32":
    pytest.skip("there is no SIGKILL", allow_module_level=True)

import multiprocessing
import resource

from kills import JOBS, check_manifest, kill_loop, run_once, start

N_KILLS = int(os.environ.get("MDT_FAST_KILLS", "100"))


class Told:
    """A job that sends how it ended, as another user if `user` is given."""

    def __init__(self, job, connection, user=None):
        self._job, self._connection, self._user = job, connection, user

    def run(self, folder):
        if self._user is not None:
            os.setgid(self._user)
            os.setuid(self._user)
        errors = io.StringIO()
        try:
            with redirect_stderr(errors):
                self._job.run(folder)
            end = "finished"
        except SystemExit as stop:
            end = "finished" if not stop.code else f"exit {stop.code}: {errors.getvalue()}"
        except Exception as error:
            end = f"{type(error).__name__}: {error}"
        self._connection.send(end)


def how_it_ends(job, folder, *, limits=(), user=None):
    receiver, sender = multiprocessing.Pipe(duplex=False)
    process = start(Told(job, sender, user), folder, limits=limits)
    sender.close()
    try:
        return receiver.recv()
    finally:
        process.join()
        receiver.close()


def hidden_in(folder):
    return [path.name for path in folder.rglob(".*")]


def unfailing(counts, n_kills):
    assert (counts.failures, counts.details) == (0, [])
    assert counts.kills == n_kills


@pytest.mark.parametrize(
    ("name", "moments", "n_kills"),
    [
        ("beam", "time", 3),
        ("beam", "file", 10),
        ("consensus", "file", 10),
        # All operations on files from the beginning to the end of the command.
        ("command", "file", 45),
        ("study", "file", 6),
    ],
)
def test_kills(name, moments, n_kills, tmp_path):
    unfailing(kill_loop(JOBS[name](), tmp_path, n_kills, moments=moments), n_kills)


@pytest.mark.slow
@pytest.mark.parametrize("moments", ["time", "file"])
@pytest.mark.parametrize("name", JOBS)
def test_many_kills(name, moments, tmp_path):
    unfailing(kill_loop(JOBS[name](), tmp_path, N_KILLS, moments=moments, seed=1), N_KILLS)


# How a job ends if it cannot write, with and without space.
FULL = {
    "beam": r"OSError: .*checkpoint: expected a file that can be written, got .*search\.json: (File too|No space)",
    "command": r"exit 1: mdt-fast: (File too|No space)",
    "study": r"OSError: .*(File too|No space)",
}


@pytest.fixture(scope="module", params=FULL)
def finished(request, tmp_path_factory):
    """A job and the folder of its results."""
    job, folder = JOBS[request.param](), tmp_path_factory.mktemp("finished")
    job.prepare(folder)
    assert run_once(job, folder) == 0
    return request.param, job, folder


def check_full_disk(finished, folder, end):
    """What was there is complete, and the job finishes when there is space."""
    name, job, reference = finished
    assert_matches(FULL[name], end)
    job.check(folder)
    assert hidden_in(folder) == []

    def finish():
        assert how_it_ends(job, folder) == "finished"
        assert job.results(folder) == job.results(reference)

    return finish


def assert_matches(pattern, text):
    assert re.match(pattern, text), text


def test_a_limit_of_the_size_of_files(finished, tmp_path):
    name, job, _ = finished
    job.prepare(tmp_path)
    size = {"beam": 1500, "command": 3000, "study": 800}[name]
    end = how_it_ends(job, tmp_path, limits=[(resource.RLIMIT_FSIZE, size)])
    check_full_disk(finished, tmp_path, end)()


def test_a_full_disk(finished, tmp_path):
    _, job, _ = finished
    place = tmp_path / "disk"
    place.mkdir()
    options = ["-t", "tmpfs", "-o", "size=512k", "tmpfs", str(place)]
    if subprocess.run(["mount", *options], capture_output=True, check=False).returncode:
        pytest.skip("a file system cannot be mounted")
    try:
        job.prepare(place)
        # All blocks are taken.
        with (place / "filler").open("wb", buffering=0) as filler:
            while filler.write(bytes(4096)) == 4096 and shutil.disk_usage(place).free:
                pass
        end = how_it_ends(job, place)
        finish = check_full_disk(finished, place, end)
        (place / "filler").unlink()
        finish()
    finally:
        subprocess.run(["umount", "-l", str(place)], check=True)


@pytest.mark.parametrize(
    ("name", "pattern"),
    [
        ("beam", "PermissionError: .*checkpoint: expected a file that can be written, got .*: Permission denied"),
        ("command", "exit 2: mdt-fast: --output: expected a folder that can be written to, got out: Permission denied"),
        ("study", "PermissionError: .*Permission denied"),
    ],
)
def test_a_folder_that_cannot_be_written(name, pattern):
    # Below the folder of temporary files, because other users cannot enter that of pytest.
    folder = Path(tempfile.mkdtemp())
    try:
        job = JOBS[name]()
        job.prepare(folder)
        shutil.rmtree(folder / "out", ignore_errors=True)
        folder.chmod(0o555)
        # Root may write anywhere.
        end = how_it_ends(job, folder, user=65534 if os.geteuid() == 0 else None)
        assert_matches(pattern, end)
        assert hidden_in(folder) == []
    finally:
        folder.chmod(0o755)
        shutil.rmtree(folder)


@pytest.mark.parametrize("name", ["beam", "consensus", "study"])
def test_several_processes_on_one_file(name, tmp_path):
    job, reference, shared = JOBS[name](), tmp_path / "reference", tmp_path / "shared"
    for place in (reference, shared):
        place.mkdir()
    assert run_once(job, reference) == 0
    processes = [start(job, shared) for _ in range(3)]
    for process in processes:
        process.join(120)
    assert [process.exitcode for process in processes] == [0, 0, 0]
    if name == "study":
        # Studies that begin together compute the same rows.
        unique = {json.dumps(row): row for row in job.results(shared)}
        assert list(unique.values()) == job.results(reference)
    else:
        assert job.results(shared) == job.results(reference)
    job.check(shared)
    assert hidden_in(shared) == []


def test_several_processes_on_one_output_folder(tmp_path):
    job = JOBS["command"]()
    job.prepare(tmp_path)
    processes = [start(each, tmp_path) for each in (job, job.other, job, job.other)]
    for process in processes:
        process.join(120)
    assert [process.exitcode for process in processes] == [0, 0, 0, 0]
    # All files are those of one of the commands.
    assert check_manifest(tmp_path / "out")
    job.check(tmp_path)
    found = job.results(tmp_path)
    assert run_once(job, tmp_path) == 0
    first = job.results(tmp_path)
    assert run_once(job.other, tmp_path) == 0
    assert found in (first, job.results(tmp_path))
    assert hidden_in(tmp_path) == []
