"""Files that are replaced in one step, and their locks."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from mdt_fast._support.files import locked, move_file, remove_parts, replace_file, replacing

posix = pytest.mark.skipif(sys.platform == "win32", reason="there are no such permissions and links")


def names_in(folder):
    return sorted(path.name for path in folder.iterdir())


def mode_of(path):
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.parametrize("content", ["text é", b"\x00bytes"], ids=["text", "bytes"])
def test_new_and_old_files(tmp_path, content):
    path = tmp_path / "file"
    expected = content.encode() if isinstance(content, str) else content
    for before in (None, b"old"):
        if before is not None:
            path.write_bytes(before)
        replace_file(path, content)
        assert path.read_bytes() == expected
        assert names_in(tmp_path) == ["file"]


@pytest.mark.parametrize("before", [None, "old"])
def test_large_files_are_written_beside_and_moved(tmp_path, before):
    path = tmp_path / "file"
    if before is not None:
        path.write_text(before)
    with replacing(path) as part:
        part.write_text("new")
        assert part.parent == tmp_path
        assert path.exists() == (before is not None)
    assert path.read_text() == "new"
    assert names_in(tmp_path) == ["file"]


def test_an_error_while_a_large_file_is_written(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")

    def fail():
        with replacing(path) as part:
            part.write_text("half")
            raise RuntimeError

    with pytest.raises(RuntimeError):
        fail()
    assert path.read_text() == "old"
    assert names_in(tmp_path) == ["file"]
    with replacing(path) as part:
        # What a killed process leaves is found by its name.
        part.write_text("new")
        remove_parts(path)
        assert not part.exists()
        part.write_text("new")
    assert path.read_text() == "new"


def test_threads_never_tear_a_file(tmp_path):
    """Several threads of one process write and read one file."""
    path = tmp_path / "file"
    texts = [str(i) * 50_000 for i in range(4)]
    replace_file(path, texts[0])
    failures, ended = [], time.monotonic() + 0.5

    def work(text):
        try:
            while time.monotonic() < ended:
                replace_file(path, text)
                if path.read_text() not in texts:
                    failures.append("torn")
        except OSError as error:
            failures.append(str(error))

    threads = [threading.Thread(target=work, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert names_in(tmp_path) == ["file"]


@posix
@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002], ids=oct)
def test_a_new_file_has_the_permissions_of_the_umask(tmp_path, umask):
    before = os.umask(umask)
    try:
        replace_file(tmp_path / "file", "new")
    finally:
        os.umask(before)
    assert mode_of(tmp_path / "file") == 0o666 & ~umask


@posix
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o755], ids=oct)
def test_an_old_file_keeps_its_permissions(tmp_path, mode):
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(mode)
    replace_file(path, "new")
    assert (mode_of(path), path.read_text()) == (mode, "new")


@posix
@pytest.mark.skipif(hasattr(os, "geteuid") and os.geteuid() == 0, reason="root may write every file")
def test_a_file_without_permission_is_refused(tmp_path):
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(0o444)
    with pytest.raises(PermissionError):
        replace_file(path, "new")
    assert path.read_text() == "old"
    assert names_in(tmp_path) == ["file"]


@posix
def test_links_are_followed(tmp_path):
    (tmp_path / "target").write_text("old")
    (tmp_path / "target").chmod(0o640)
    (tmp_path / "link").symlink_to("target")
    (tmp_path / "second").symlink_to("link")
    (tmp_path / "to nothing").symlink_to(tmp_path / "made")
    replace_file(tmp_path / "second", "new")
    replace_file(tmp_path / "to nothing", "new")
    assert (tmp_path / "second").is_symlink()
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == (tmp_path / "made").read_text() == "new"
    assert mode_of(tmp_path / "target") == 0o640
    (tmp_path / "source").write_text("moved")
    move_file(tmp_path / "source", tmp_path / "link")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "target").read_text() == "moved"
    assert names_in(tmp_path) == ["link", "made", "second", "target", "to nothing"]


@posix
def test_a_device_is_not_replaced():
    replace_file("/dev/null", "text")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_long_names(tmp_path):
    path = tmp_path / ("é" * 127)
    replace_file(path, "text")
    with locked(path):
        pass
    assert names_in(tmp_path) == [path.name]


def test_errors_name_the_file(tmp_path):
    (tmp_path / "folder").mkdir()
    for place, error in (("folder", IsADirectoryError), ("missing/file", FileNotFoundError)):
        with pytest.raises(error, match=f"{place}'$"):
            replace_file(tmp_path / place, "text")
    assert names_in(tmp_path) == ["folder"]


def test_parts_of_killed_processes_are_removed(tmp_path):
    others = [".a1.0123456789abcdef.part", "a[1]", "a[1].part"]
    for name in (".a[1].0123456789abcdef.part", *others):
        (tmp_path / name).touch()
    remove_parts(tmp_path / "a[1]")
    assert names_in(tmp_path) == others


@posix
class TestLock:
    def test_one_thread_at_a_time(self, tmp_path):
        inside, most, counter = [], [], tmp_path / "counter"
        counter.write_text("0")

        def work():
            for _ in range(50):
                with locked(counter):
                    inside.append(1)
                    most.append(len(inside))
                    counter.write_text(str(int(counter.read_text()) + 1))
                    inside.pop()

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert (counter.read_text(), max(most)) == ("200", 1)
        assert names_in(tmp_path) == ["counter"]

    def test_waiting_ends(self, tmp_path):
        path = tmp_path / "file"
        with (
            locked(path),
            pytest.raises(TimeoutError, match=r"file: expected a file that no other process uses, got one .* 0\.05 s"),
            locked(path, 0.05),
        ):
            pass
        with locked(path, 0):
            pass

    def test_links_share_the_lock_of_their_target(self, tmp_path):
        (tmp_path / "link").symlink_to("file")
        with locked(tmp_path / "file"), pytest.raises(TimeoutError), locked(tmp_path / "link", 0):
            pass

    def test_errors_in_the_block_pass(self, tmp_path):
        with pytest.raises(FileNotFoundError, match="inner"), locked(tmp_path / "file"):
            raise FileNotFoundError("inner")
        assert names_in(tmp_path) == []


def test_parts_of_files_with_longer_names_are_left(tmp_path):
    """Another process may be writing them."""
    own, other = (tmp_path / f".{name}.0123456789abcdef.part" for name in ("ck", "ck.json"))
    own.touch()
    other.touch()
    remove_parts(tmp_path / "ck")
    assert names_in(tmp_path) == [other.name]


@posix
def test_a_pipe_is_written_directly():
    code = "from mdt_fast._support.files import replace_file; replace_file('/dev/stdout', 'text')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "text"
