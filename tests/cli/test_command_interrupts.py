"""Progress on a terminal, interrupts, and broken pipes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from helpers.commands import CLUSTER, COMMAND, CONSENSUS, EMBED, contents, make_views, names_in

pytest.importorskip("click")


@pytest.fixture
def run_on_terminal(run, monkeypatch):
    """Call the command line with a terminal as stderr; return the exit code and the output."""
    pty = pytest.importorskip("pty")

    def call(*argv):
        near, far = pty.openpty()
        os.set_blocking(near, False)
        with os.fdopen(near, "rb", buffering=0) as seen, os.fdopen(far, "w") as screen, monkeypatch.context() as patch:
            patch.setattr(sys, "stderr", screen)
            code = run(*argv).code
            return code, (seen.read(100_000) or b"").decode()

    return call


@pytest.mark.parametrize("command", [CLUSTER, [*CONSENSUS, "--max-evaluations", 9], EMBED], ids=lambda c: str(c[:4:3]))
def test_progress_bar_on_a_terminal(run_on_terminal, command):
    code, seen = run_on_terminal(*command)
    assert code == 0
    assert seen.startswith("\rreading")
    # The contrastive search of an embedding ends when it has converged.
    bar = r"\rsearch \[#+\.*\] \d+/41 .*left" if command is EMBED else r"\rsearch \[#+\] (\d+)/\1 .*left"
    assert re.search(bar, seen)
    # The line that is left has the seconds of all stages.
    assert re.search(r"\r0:\d\d: reading [0-9.]+ s, views .*, embedding [0-9.]+ s[^\r]*\r\n$", seen)


@pytest.mark.parametrize("option", ["--json", "--quiet"])
def test_no_progress_bar_with_json_or_quiet(run_on_terminal, option):
    assert run_on_terminal(*CLUSTER, option) == (0, "")


@pytest.fixture
def start(folder):
    """Start a long job in another process that handles SIGINT even if the tests ignore it."""
    np.savez("long.npz", **make_views(2000, std=3).views)
    script = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from mdt_fast._cli import main; main()"
    )
    started = []

    def begin(*argv):
        command = [sys.executable, "-c", script, *map(str, argv), "--output", "out"]
        pipe = subprocess.PIPE
        started.append(subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, cwd=folder))
        return started[-1]

    yield begin
    for process in started:
        process.kill()
        process.communicate()


def wait_for_search(process):
    """Wait for the checkpoint, which is written when a search begins."""
    while not Path("known.json").exists():
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.01)
    assert any(name.startswith(".") for name in names_in("out"))


def wait_for_time(process):
    """Wait until views have been read; selecting the time then takes longer than the pause."""
    assert process.stdout.readline().startswith("2,000 samples")
    time.sleep(0.3)


# Takes hours unless it is stopped.
LONG = ["--checkpoint", "known.json", "--strategy", "direct", "--option", f"evaluations={10**6}", "--t", 8]


@pytest.mark.skipif(sys.platform == "win32", reason="SIGINT cannot be sent to one process there")
@pytest.mark.parametrize(
    ("argv", "wait"),
    [
        (["cluster", "long.npz", "-n", 9, *LONG], wait_for_search),
        (["embed", "long.npz", "--checkpoint", "known.json", "--t", 40], wait_for_search),
        (["cluster", "long.npz", "-n", 9], wait_for_time),
    ],
    ids=["search", "gradient", "time"],
)
@pytest.mark.parametrize("has_results", [False, True], ids=["new", "over results"])
def test_an_interrupt_leaves_no_files(request, start, folder, argv, wait, has_results):
    if has_results:
        earlier = request.getfixturevalue("earlier")
    process = start(*argv)
    wait(process)
    process.send_signal(signal.SIGINT)
    _, messages = process.communicate(timeout=2)
    assert (process.returncode, messages) == (130, "mdt-fast: interrupted; nothing was written\n")
    if has_results:
        assert contents(folder / "out") == earlier
        assert names_in("out") == sorted(earlier)
    else:
        assert not Path("out").exists()


# NumPy runs Python code at the first use of its interface and for messages about types of arrays.
@pytest.mark.parametrize(
    ("module", "function"),
    [("numpy.lib", "NumpyVersion"), ("numpy._core._dtype", "__str__")],
    ids=["first array", "type of an array"],
)
def test_an_interrupt_at_the_call_of_the_core(folder, module, function):
    pytest.importorskip(module)
    script = f"""
import {module} as place, mdt_fast._cli.job
def interrupt(*args):
    raise KeyboardInterrupt
place.{function} = interrupt
from mdt_fast._cli import main
main()
"""
    command = [sys.executable, "-c", script, *map(str, CLUSTER)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    # Code 0 is valid too: the function may not be called.
    assert (done.returncode, done.stderr) in [(0, ""), (130, "mdt-fast: interrupted; nothing was written\n")]


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGTERM there")
def test_a_terminated_run_leaves_no_files(start, folder, earlier):
    process = start("cluster", "long.npz", "-n", 9, *LONG)
    wait_for_search(process)
    process.terminate()
    _, messages = process.communicate(timeout=10)
    assert (process.returncode, messages) == (143, "mdt-fast: terminated; nothing was written\n")
    assert contents(folder / "out") == earlier
    assert names_in("out") == sorted(earlier)
    assert sorted(path.name for path in folder.iterdir()) == ["known.json", "long.npz", "out", "views.npz"]


@pytest.mark.skipif(sys.platform == "win32", reason="there is no SIGKILL there")
def test_hidden_files_of_a_killed_run_are_removed_by_the_next(start, run, folder):
    process = start("cluster", "long.npz", "-n", 9, *LONG)
    wait_for_search(process)
    process.kill()
    process.communicate(timeout=10)

    def hidden():
        return [name for name in names_in("out") if name.startswith(".mdt-fast-")]

    (left,) = hidden()
    running = start("cluster", "long.npz", "-n", 9, *LONG)
    while left in hidden() or not hidden():
        assert running.poll() is None, running.stderr.read()
        time.sleep(0.01)
    # That of a command that still runs is kept.
    kept = hidden()
    assert run(*CLUSTER).code == 0
    assert hidden() == kept


@pytest.mark.skipif(sys.platform == "win32", reason="pipes break otherwise there")
def test_a_broken_pipe_is_no_bad_input(folder):
    read_end, write_end = os.pipe()
    os.close(read_end)
    with os.fdopen(write_end, "wb") as broken:
        command = [COMMAND, *map(str, CLUSTER)]
        done = subprocess.run(command, stdout=broken, stderr=subprocess.PIPE, text=True, timeout=60, check=False)
    assert done.returncode != 2
    assert "Errno" not in done.stderr
