"""Files from public addresses: whole and checked, or not there at all.

A file is written beside its place as ``.part``, hashed, and renamed only if it is the one that the registry knows.
A ``.part`` that a broken connection left behind is continued by an HTTP range; a server that ignores the range
sends the file from its beginning. Only one download runs in a folder at a time: the others wait, then find the file.
A connection that breaks or stalls is tried again after a pause; one that nobody answers is not, so that a machine
without network is told so at once.

Why urllib and not pooch: pooch has the registry and the hashes, but begins anew after every broken connection, does
not keep two processes apart, and brings requests with it. What it would save is less than what it would cost.
"""

from __future__ import annotations

import hashlib
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen
from zipfile import BadZipFile, ZipFile

if TYPE_CHECKING:
    from ._files import DataFile
if sys.platform != "win32":
    import fcntl

TIMEOUT = 10.0  # seconds without a byte
ATTEMPTS = 3
PAUSE = 1.0  # seconds between two attempts
_BLOCK = 1 << 16


class DownloadError(OSError):
    """Says which file could not be had and why."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(reason)
        self.path = path


def download(files: Sequence[DataFile], folder: Path) -> None:
    """Put those files into the folder that are not there, or raise a DownloadError at the first that fails."""
    for file in files:
        if not file.addresses:
            raise DownloadError(file.path, "no address of the file itself is known")
    file = files[0]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with _alone_in(folder):
            for file in files:
                # Whoever held the lock before may have brought it.
                if not (folder / file.path).is_file():
                    _try_addresses(file, folder)
            # Kept until now for the other members.
            for address in {address for file in files if file.member for address in file.addresses}:
                _archive(address, folder).unlink(missing_ok=True)
    except OSError as error:
        raise DownloadError(file.path, str(error)) from error


@contextmanager
def _alone_in(folder: Path) -> Iterator[None]:
    """Wait until no other download runs in the folder."""
    # The system's lock does not outlive its process. Windows has none: where two downloads spoil each other's part
    # there, the checksum refuses it.
    with (folder / ".download.lock").open("ab") as stream:
        if sys.platform != "win32":
            fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def _try_addresses(file: DataFile, folder: Path) -> None:
    (folder / file.path).parent.mkdir(parents=True, exist_ok=True)
    reasons = []
    for address in file.addresses:
        try:
            _bring(file, address, folder)
            return
        except (OSError, HTTPException, BadZipFile, KeyError) as error:
            reasons.append(f"{address}: {str(error) or type(error).__name__}")
    raise OSError("; ".join(reasons))


def _bring(file: DataFile, address: str, folder: Path) -> None:
    path = folder / file.path
    part = _part(path)
    if file.member is None:
        was_begun = part.is_file()
        _transfer(address, part, file.size)
        if was_begun and _digest(part) != file.sha256:
            # The old part may be of another file: that is no reason to refuse this one.
            part.unlink()
            _transfer(address, part, file.size)
        _check(part, file)
    else:
        archive = _archive(address, folder)
        if not archive.is_file():
            _transfer(address, _part(archive), None)
            _part(archive).replace(archive)
        try:
            with ZipFile(archive) as contents, contents.open(file.member) as stream:
                part.write_bytes(stream.read(file.size + 1))
            _check(part, file)
        except Exception:
            archive.unlink()
            raise
    part.replace(path)


def _transfer(address: str, part: Path, size: int | None) -> None:
    """Write what lies at the address to `part`, in several attempts if need be."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            _continue(address, part, size)
            return
        # Where there was no connection at all urllib raises a URLError, which is none of these.
        except (TimeoutError, ConnectionError, HTTPException):
            if attempt == ATTEMPTS:
                raise
        time.sleep(PAUSE)


def _continue(address: str, part: Path, size: int | None) -> None:
    done = part.stat().st_size if part.is_file() else 0
    if size is not None and done >= size:
        return
    headers = {"User-Agent": "mdt_fast"} | ({"Range": f"bytes={done}-"} if done else {})
    try:
        response = urlopen(Request(address, headers=headers), timeout=TIMEOUT)
    except HTTPError as error:
        error.close()
        if error.code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            part.unlink()
        elif error.code < 500:
            raise
        raise ConnectionError(str(error)) from error
    with response:
        if response.status != HTTPStatus.PARTIAL_CONTENT:
            done = 0
        end = None if response.length is None else done + response.length
        # One byte too many is enough to refuse a file, and no server can fill the disk.
        limit = sys.maxsize if size is None else size + 1
        with part.open("ab" if done else "wb") as stream:
            while block := response.read(min(_BLOCK, limit - done)):
                stream.write(block)
                done += len(block)
                _show(f"\r{part.stem}: {done / 1e6:.1f}" + (f" of {end / 1e6:.1f} MB" if end else " MB"))
        _show("\n")
    if end is not None and done < min(end, limit):
        raise ConnectionError(f"the connection broke off after {done} of {end} bytes")


def _check(part: Path, file: DataFile) -> None:
    size, found = part.stat().st_size, _digest(part)
    if found != file.sha256:
        part.unlink()
        raise OSError(f"expected {file.size} bytes with SHA-256 {file.sha256}, got {size} bytes with {found}")


def _digest(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _part(path: Path) -> Path:
    return path.with_name(path.name + ".part")


def _archive(address: str, folder: Path) -> Path:
    # Hidden, so that an archive which a user put there is not taken for ours and removed.
    return folder / f".{PurePosixPath(urlsplit(address).path).name}"


def _show(text: str) -> None:
    if sys.stderr is not None and sys.stderr.isatty():
        print(text, end="", file=sys.stderr, flush=True)
