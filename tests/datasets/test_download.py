"""Downloads from a local server: complete, resumed, refused, and the messages of failures."""

from __future__ import annotations

import hashlib
import io
import os
import socket
import subprocess
import sys
import threading
import time
import zipfile
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import numpy as np
import pytest
import sklearn.datasets
from numpy.testing import assert_array_equal
from scipy.io import savemat

from mdt_fast import datasets
from mdt_fast.datasets import _download, _files
from mdt_fast.datasets._download import DownloadError, download
from mdt_fast.datasets._files import locate
from mdt_fast.datasets._registry import REGISTRY, DataFile, DataFiles

CONTENT = np.random.default_rng(0).bytes(300_000)


class Handler(BaseHTTPRequestHandler):
    """Serve `server.files` with the faults of the test, and record every request."""

    def do_GET(self):
        server = self.server
        start = int(self.headers.get("Range", "bytes=0-")[6:-1])
        with server.lock:
            server.requests.append((self.path, start))
            broken, server.n_broken = server.n_broken > 0, server.n_broken - 1
        if server.stalls:
            server.released.wait(10)
            return
        time.sleep(server.delay)
        content = server.files.get(self.path)
        status = 404 if content is None else server.status or 200
        if status == 200 and start and server.knows_ranges:
            status = 206 if start < len(content) else 416
        if status not in (200, 206):
            self.send_error(status)
            return
        body = content[start:] if status == 206 else content
        self.send_response(status)
        if status == 206:
            self.send_header("Content-Range", f"bytes {start}-{len(content) - 1}/{len(content)}")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body[: len(body) // 2] if broken else body)

    def log_message(self, *args):
        pass


@pytest.fixture
def server(monkeypatch):
    monkeypatch.delenv("MDT_FAST_OFFLINE")
    monkeypatch.setenv("no_proxy", "*")
    monkeypatch.setattr(_download, "PAUSE", 0.01)
    monkeypatch.setattr(_download, "TIMEOUT", 5.0)
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.address = f"http://127.0.0.1:{server.server_address[1]}"
    server.files, server.requests, server.lock = {"/a.bin": CONTENT}, [], threading.Lock()
    server.n_broken, server.knows_ranges, server.stalls, server.status = 0, True, False, None
    server.delay, server.released = 0.0, threading.Event()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield server
    server.released.set()
    server.shutdown()
    thread.join()
    server.server_close()


def digest(content):
    return hashlib.sha256(content).hexdigest()


def entry(*addresses, content=CONTENT, path="set/a.bin", member=None):
    return DataFile(path, addresses, digest(content), len(content), member)


def names(folder):
    """Return the files below a folder, without the lock."""
    return sorted(
        str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock"
    )


def leave_part(folder, content):
    (folder / "set").mkdir()
    (folder / "set" / "a.bin.part").write_bytes(content)


def test_a_file_is_downloaded_once(server, tmp_path):
    file = entry(f"{server.address}/a.bin")
    for _ in range(2):
        download([file], tmp_path / "new")
    assert (tmp_path / "new" / file.path).read_bytes() == CONTENT
    assert server.requests == [("/a.bin", 0)]
    assert names(tmp_path) == ["new/set/a.bin"]


def test_an_existing_file_is_not_checked(server, tmp_path):
    (tmp_path / "a.bin").write_bytes(b"the user's own")
    download([entry(f"{server.address}/a.bin", path="a.bin")], tmp_path)
    assert (tmp_path / "a.bin").read_bytes() == b"the user's own"
    assert server.requests == []


def test_partial_download_is_resumed(server, tmp_path):
    leave_part(tmp_path, CONTENT[:100_000])
    download([entry(f"{server.address}/a.bin")], tmp_path)
    assert (tmp_path / "set" / "a.bin").read_bytes() == CONTENT
    assert server.requests == [("/a.bin", 100_000)]
    assert names(tmp_path) == ["set/a.bin"]


def test_server_without_ranges_sends_all_again(server, tmp_path):
    server.knows_ranges = False
    leave_part(tmp_path, CONTENT[:100_000])
    download([entry(f"{server.address}/a.bin")], tmp_path)
    assert (tmp_path / "set" / "a.bin").read_bytes() == CONTENT
    assert len(server.requests) == 1


def test_complete_part_needs_no_request(server, tmp_path):
    leave_part(tmp_path, CONTENT)
    download([entry(f"{server.address}/a.bin")], tmp_path)
    assert names(tmp_path) == ["set/a.bin"]
    assert server.requests == []


@pytest.mark.parametrize("part", [b"of another file", CONTENT + b"longer"])
def test_part_of_another_file_is_discarded(server, tmp_path, part):
    leave_part(tmp_path, part)
    download([entry(f"{server.address}/a.bin")], tmp_path)
    assert (tmp_path / "set" / "a.bin").read_bytes() == CONTENT
    assert server.requests[-1] == ("/a.bin", 0)


def test_broken_connection_is_resumed(server, tmp_path):
    server.n_broken = 2
    download([entry(f"{server.address}/a.bin")], tmp_path)
    assert (tmp_path / "set" / "a.bin").read_bytes() == CONTENT
    assert server.requests == [("/a.bin", 0), ("/a.bin", 150_000), ("/a.bin", 225_000)]


def test_failed_download_keeps_its_part(server, tmp_path):
    server.n_broken = _download.ATTEMPTS
    file = entry(f"{server.address}/a.bin")
    with pytest.raises(DownloadError, match=r"a\.bin: the connection broke off after 262500 of 300000 bytes"):
        download([file], tmp_path)
    assert names(tmp_path) == ["set/a.bin.part"]
    download([file], tmp_path)
    assert server.requests[-1] == ("/a.bin", 262_500)
    assert names(tmp_path) == ["set/a.bin"]


@pytest.mark.parametrize(
    "served",
    [CONTENT[:-1], CONTENT + b"x" * 100_000, CONTENT[:-1] + b"x", b""],
    ids=["truncated", "too long", "tampered", "empty"],
)
def test_another_file_is_refused_with_both_checksums(server, tmp_path, served):
    server.files["/a.bin"] = served
    with pytest.raises(DownloadError) as caught:
        download([entry(f"{server.address}/a.bin")], tmp_path)
    # One byte more than expected is read of a file that is too long.
    found = served[: len(CONTENT) + 1]
    expected = f"expected 300000 bytes with SHA-256 {digest(CONTENT)}, got {len(found)} bytes with {digest(found)}"
    assert expected in str(caught.value)
    assert caught.value.path == "set/a.bin"
    assert names(tmp_path) == []


@pytest.mark.parametrize(("status", "n_requests"), [(404, 1), (403, 1), (503, _download.ATTEMPTS)])
def test_only_temporary_errors_are_retried(server, tmp_path, status, n_requests):
    server.status = status
    with pytest.raises(DownloadError, match=rf"/a\.bin: HTTP Error {status}"):
        download([entry(f"{server.address}/a.bin")], tmp_path)
    assert len(server.requests) == n_requests
    assert names(tmp_path) == []


def test_next_address_is_tried(server, tmp_path):
    server.files["/tampered"] = CONTENT[::-1]
    addresses = [f"{server.address}/{name}" for name in ("absent", "tampered", "a.bin")]
    download([entry(*addresses)], tmp_path)
    assert (tmp_path / "set" / "a.bin").read_bytes() == CONTENT
    with pytest.raises(DownloadError, match=r"absent: HTTP Error 404.*; .*tampered: expected 300000 bytes"):
        download([entry(*addresses[:2], path="b.bin")], tmp_path)


def closed_address():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{unused.getsockname()[1]}/a.bin"


def test_refused_connection_fails_at_once(server, tmp_path, monkeypatch):
    monkeypatch.setattr(_download, "PAUSE", 60.0)
    address = closed_address()
    with pytest.raises(DownloadError, match=rf"^{address}: .*refused"):
        download([entry(address)], tmp_path)


def test_stalled_server_times_out(server, tmp_path, monkeypatch):
    server.stalls = True
    monkeypatch.setattr(_download, "TIMEOUT", 0.1)
    began = time.monotonic()
    with pytest.raises(DownloadError, match="timed out"):
        download([entry(f"{server.address}/a.bin")], tmp_path)
    assert time.monotonic() - began < 5.0
    assert len(server.requests) == _download.ATTEMPTS


def zipped(**members):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


def test_files_come_from_one_archive(server, tmp_path):
    server.files["/two+files.zip"] = zipped(one=b"first", two=b"second", other=b"-")
    address = f"{server.address}/two+files.zip"
    files = [
        entry(address, content=content, path=f"set/{name}", member=name)
        for name, content in (("one", b"first"), ("two", b"second"))
    ]
    (tmp_path / "two+files.zip").write_bytes(b"the user's own")
    download(files, tmp_path)
    assert [(tmp_path / file.path).read_bytes() for file in files] == [b"first", b"second"]
    assert server.requests == [("/two+files.zip", 0)]
    assert names(tmp_path) == ["set/one", "set/two", "two+files.zip"]


@pytest.mark.parametrize(
    ("archive", "message"),
    [
        (zipped(one=b"other"), "expected 5 bytes with SHA-256 .*, got 5 bytes with"),
        (zipped(one=b"firstly"), "expected 5 bytes with SHA-256 .*, got 6 bytes with"),
        (zipped(two=b"first"), "no item named 'one' in the archive"),
        (b"<html>", "not a zip file"),
    ],
    ids=["tampered", "too long", "without the member", "no archive"],
)
def test_wrong_archive_is_refused_and_downloaded_again(server, tmp_path, archive, message):
    server.files["/a.zip"] = archive
    file = entry(f"{server.address}/a.zip", content=b"first", path="one", member="one")
    with pytest.raises(DownloadError, match=message):
        download([file], tmp_path)
    assert names(tmp_path) == []
    server.files["/a.zip"] = zipped(one=b"first")
    download([file], tmp_path)
    assert (tmp_path / "one").read_bytes() == b"first"


def test_an_endless_archive_is_refused(server, tmp_path, monkeypatch):
    server.files["/a.zip"] = bytes(300_000)
    monkeypatch.setenv("MDT_FAST_MAX_BYTES", "100000")
    file = entry(f"{server.address}/a.zip", content=b"first", path="one", member="one")
    with pytest.raises(DownloadError, match=r"expected at most 100,000 bytes, which MDT_FAST_MAX_BYTES .*, got more"):
        download([file], tmp_path)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_an_archive_of_another_compression_is_refused(server, tmp_path):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_BZIP2) as archive:
        archive.writestr("one", b"first")
    server.files["/a.zip"] = stream.getvalue()
    file = entry(f"{server.address}/a.zip", content=b"first", path="one", member="one")
    with pytest.raises(DownloadError, match="expected one stored or deflated, got another compression"):
        download([file], tmp_path)


def test_concurrent_threads_download_once(server, tmp_path):
    server.delay = 0.2
    file = entry(f"{server.address}/a.bin")
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: download([file], tmp_path), range(4)))
    assert (tmp_path / file.path).read_bytes() == CONTENT
    assert len(server.requests) == 1


def test_concurrent_processes_download_once(server, tmp_path):
    server.delay = 1.0
    file = entry(f"{server.address}/a.bin")
    code = (
        "from pathlib import Path\n"
        "from mdt_fast.datasets._download import download\n"
        "from mdt_fast.datasets._registry import DataFile\n"
        f"download([{file!r}], Path({str(tmp_path)!r}))\n"
    )
    running = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(2)]
    assert [process.wait(60) for process in running] == [0, 0]
    assert (tmp_path / file.path).read_bytes() == CONTENT
    assert len(server.requests) == 1


@pytest.mark.parametrize("blocked", ["home", "home/set"])
def test_file_in_place_of_a_folder_is_named(server, tmp_path, blocked):
    path = tmp_path / blocked
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"")
    with pytest.raises(DownloadError, match=f"exists: '{path}'"):
        download([entry(f"{server.address}/a.bin")], tmp_path / "home")
    assert server.requests == []


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="the superuser may write anywhere")
def test_folder_without_permission_is_named(server, tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(DownloadError, match="Permission denied"):
        download([entry(f"{server.address}/a.bin")], tmp_path)


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_progress_is_for_terminals_only(server, tmp_path, monkeypatch, capsys):
    download([entry(f"{server.address}/a.bin")], tmp_path / "quiet")
    assert capsys.readouterr() == ("", "")
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    download([entry(f"{server.address}/a.bin")], tmp_path / "shown")
    assert terminal.getvalue().endswith("\ra.bin: 0.3 of 0.3 MB\n")


@pytest.fixture
def leaves(server, tmp_path, monkeypatch):
    """Serve a small 100Leaves.mat under the registry's key; return its row."""
    cell = np.empty((3, 1), dtype=object)
    for view in range(3):
        cell[view, 0] = np.full((4, 2), float(view))
    savemat(tmp_path / "source.mat", {"X": cell, "y": np.array([1, 1, 2, 2])})
    content = (tmp_path / "source.mat").read_bytes()
    server.files["/100Leaves.mat"] = content
    file = entry(f"{server.address}/100Leaves.mat", content=content, path="100Leaves.mat")
    monkeypatch.setitem(REGISTRY, "leaves", DataFiles((file,), "a public place"))
    return file


def test_reader_downloads_into_data_home(leaves, tmp_path):
    bunch = datasets.fetch_leaves(data_home=tmp_path / "home")
    assert bunch.target.tolist() == [0, 0, 1, 1]
    assert names(tmp_path / "home") == ["100Leaves.mat"]


def test_reader_searches_both_folders_and_downloads_into_the_cache(leaves, server, tmp_path, monkeypatch):
    monkeypatch.setenv("MDT_FAST_DATA", str(tmp_path / "variable"))
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    for _ in range(2):
        assert locate("leaves", None, True) == [tmp_path / "cache" / "mdt_fast" / "100Leaves.mat"]
    assert len(server.requests) == 1
    assert not (tmp_path / "variable").exists()
    (tmp_path / "variable").mkdir()
    (tmp_path / "variable" / "100Leaves.mat").touch()
    assert locate("leaves", None, True) == [tmp_path / "variable" / "100Leaves.mat"]


@pytest.mark.parametrize("switch", ["argument", "variable"])
def test_no_network_when_offline(leaves, server, tmp_path, monkeypatch, switch):
    if switch == "variable":
        monkeypatch.setenv("MDT_FAST_OFFLINE", "1")
    with pytest.raises(FileNotFoundError, match="switched off by download_if_missing=False or MDT_FAST_OFFLINE"):
        datasets.fetch_leaves(data_home=tmp_path / "home", download_if_missing=switch != "argument")
    assert server.requests == []
    assert not (tmp_path / "home").exists()


def test_offline_message_names_file_address_folder_and_variable(leaves, server, tmp_path, monkeypatch):
    address = closed_address()
    monkeypatch.setitem(REGISTRY, "leaves", DataFiles((entry(address, path="100Leaves.mat"),), "a public place"))
    with pytest.raises(FileNotFoundError) as caught:
        datasets.fetch_leaves(data_home=tmp_path / "home")
    message = str(caught.value)
    assert message.startswith(f"100Leaves.mat is not in the data folder {tmp_path / 'home'}, and was not downloaded: ")
    for part in ("refused", f"a public place, {address}.", "data_home=", "MDT_FAST_DATA"):
        assert part in message


def test_reader_names_the_file_that_failed(server, tmp_path, monkeypatch):
    files = tuple(entry(f"{server.address}/{name}", path=name) for name in ("a.bin", "absent"))
    monkeypatch.setitem(REGISTRY, "mnist", DataFiles(files, "a public place"))
    with pytest.raises(FileNotFoundError, match=r"^absent is not in .*absent: HTTP Error 404"):
        datasets.fetch_k_mvmnist(data_home=tmp_path)
    assert names(tmp_path) == ["a.bin"]


def test_file_without_address_is_not_downloaded(server, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"^Yale\.mat is not in .* no address of the file itself is known"):
        datasets.fetch_yale(data_home=tmp_path / "home")
    assert not (tmp_path / "home").exists()


@pytest.mark.parametrize("name", [name for name in datasets.__all__ if name.startswith("fetch_")])
def test_bad_flag_is_named(name):
    with pytest.raises(TypeError, match="download_if_missing: expected True or False, got 'no' of type str"):
        getattr(datasets, name)(download_if_missing="no")


def test_olivetti_comes_from_scikit_learn(server, tmp_path, monkeypatch):
    pytest.importorskip("skimage")
    images = np.random.default_rng(0).random((3, 64, 64), dtype=np.float32)
    seen = {}

    def fetch_olivetti_faces(**arguments):
        seen.update(arguments)
        return sklearn.utils.Bunch(data=images.reshape(3, -1), images=images, target=np.array([0, 0, 1]))

    monkeypatch.setattr(sklearn.datasets, "fetch_olivetti_faces", fetch_olivetti_faces)
    bunch = datasets.fetch_olivetti(data_home=tmp_path, prepared=False)
    assert_array_equal(bunch.views[0], images.reshape(3, -1))
    assert_array_equal(bunch.images, images)
    assert bunch.target.tolist() == [0, 0, 1]
    assert seen["data_home"] == tmp_path
    assert seen["download_if_missing"]
    datasets.fetch_olivetti(data_home=tmp_path, prepared=False, download_if_missing=False)
    assert not seen["download_if_missing"]


def test_olivetti_passes_on_the_error_of_scikit_learn(server, tmp_path, monkeypatch):
    def fetch_olivetti_faces(**_):
        raise OSError("nobody answers")

    monkeypatch.setattr(sklearn.datasets, "fetch_olivetti_faces", fetch_olivetti_faces)
    with pytest.raises(FileNotFoundError, match=r"^olivetti\.npz is not in .* From scikit-learn: nobody answers"):
        datasets.fetch_olivetti(data_home=tmp_path)


DOWNLOADABLE = {"msrc", "leaves", "multi_feat", "mnist", "mnist_test", "snareseq_cellmix"}


def test_registry_rows_are_complete():
    files = [file for row in REGISTRY.values() for file in row.files]
    assert {name for name, row in REGISTRY.items() if all(file.addresses for file in row.files)} == DOWNLOADABLE
    for file in files:
        assert bool(file.addresses) == bool(file.sha256) == bool(file.size)
        assert all(address.startswith("https://") for address in file.addresses)
    hashes = [file.sha256 for file in files if file.addresses]
    assert all(len(bytes.fromhex(value)) == 32 for value in hashes)
    assert len(set(hashes)) == len(hashes)


# Other local files have the same numbers in other bytes: MNIST compressed again, two mfeat files
# without leading blanks.
@pytest.mark.real_data
@pytest.mark.parametrize("name", ["msrc", "leaves", "snareseq_cellmix"])
def test_registry_has_the_checksums_of_local_files(real_folder, name):
    folder = Path(real_folder(name))
    for file in REGISTRY[name].files:
        content = (folder / file.path).read_bytes()
        assert (digest(content), len(content)) == (file.sha256, file.size)


@pytest.mark.real_data
def test_registry_has_mfeat_with_leading_blanks(real_folder):
    folder = Path(real_folder("multi_feat"))
    for file in REGISTRY["multi_feat"].files:
        lines = (folder / file.path).read_bytes().splitlines()
        content = b"".join(line.rjust(file.size // len(lines) - 1) + b"\n" for line in lines)
        assert (digest(content), len(content)) == (file.sha256, file.size)


def test_tests_are_offline():
    assert not _files.may_download(True)
