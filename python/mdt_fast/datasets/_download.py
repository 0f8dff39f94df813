"""Download files from public addresses.

A file is written to ``<name>.part``, and renamed only if its checksum is that of the registry. A
``.part`` file that an interrupted connection left is continued by an HTTP range request; a server
that ignores the range sends the file from its beginning. One download at a time runs in a folder:
others wait and then find the file. A connection that breaks or stalls is retried after a pause. A
connection that is refused is not retried, so that a machine without network gets an error at once.

Why urllib and not pooch: pooch has a registry and hashes, but it restarts from the beginning after
a broken connection, does not lock the folder, and depends on requests.
"""

import hashlib
import sys
import time
from collections.abc import Sequence
from http import HTTPStatus
from http.client import HTTPException
from pathlib import Path, PurePosixPath
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile

from .._support.files import locked, move_file
from .._support.reading import LIMIT_VARIABLE, max_bytes
from ._registry import DataFile

TIMEOUT = 10.0  # seconds without data
ATTEMPTS = 3
PAUSE = 1.0  # seconds between two attempts
_BLOCK = 1 << 16


class DownloadError(OSError):
    """A file could not be downloaded; `path` is its path in the data folder."""

    def __init__(self, path: str, reason: str) -> None:
        super().__init__(reason)
        self.path = path


def download(files: Sequence[DataFile], folder: Path) -> None:
    """Download the files that are not in the folder; raise DownloadError at the first failure."""
    for file in files:
        if not file.addresses:
            raise DownloadError(file.path, "no address of the file itself is known")
    file = files[0]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # Others wait, and then find the file.
        with locked(folder / "download"):
            for file in files:
                # Another process may have downloaded it while this one waited for the lock.
                if not (folder / file.path).is_file():
                    _try_addresses(file, folder)
            # Archives are kept until all their files are extracted.
            for address in {address for file in files if file.archived_name for address in file.addresses}:
                _archive(address, folder).unlink(missing_ok=True)
    except OSError as error:
        raise DownloadError(file.path, str(error)) from error


def _try_addresses(file: DataFile, folder: Path) -> None:
    (folder / file.path).parent.mkdir(parents=True, exist_ok=True)
    reasons = []
    for address in file.addresses:
        try:
            _download_from(address, file, folder)
            return
        except (OSError, HTTPException, BadZipFile, KeyError) as error:
            reasons.append(f"{address}: {str(error) or type(error).__name__}")
    raise OSError("; ".join(reasons))


def _download_from(address: str, file: DataFile, folder: Path) -> None:
    path = folder / file.path
    part = _part(path)
    if file.archived_name is None:
        was_begun = part.is_file()
        _transfer(address, part, file.size)
        if was_begun and _digest(part) != file.sha256:
            # The old part may belong to another file. Start again without it.
            part.unlink()
            _transfer(address, part, file.size)
        _check(part, file)
    else:
        archive = _archive(address, folder)
        if not archive.is_file():
            _transfer(address, _part(archive), None)
            move_file(_part(archive), archive)
        try:
            with ZipFile(archive) as contents, contents.open(file.archived_name) as stream:
                if contents.getinfo(file.archived_name).compress_type not in (ZIP_STORED, ZIP_DEFLATED):
                    # zipfile limits what it unpacks at a time only for these.
                    raise BadZipFile(f"expected {file.archived_name} stored or deflated, got another compression")
                part.write_bytes(stream.read(file.size + 1))
            _check(part, file)
        except Exception:
            archive.unlink()
            raise
    move_file(part, path)


def _transfer(address: str, part: Path, size: int | None) -> None:
    """Write the content of the address to `part`, in several attempts if necessary."""
    for attempt in range(1, ATTEMPTS + 1):
        try:
            _continue(address, part, size)
            return
        # A refused connection raises URLError, which is not caught here.
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
        # One byte more than expected suffices to refuse a file. No server can fill the disk.
        most = max_bytes() if size is None else size
        limit = most + 1
        with part.open("ab" if done else "wb") as stream:
            while block := response.read(min(_BLOCK, limit - done)):
                stream.write(block)
                done += len(block)
                _show(f"\r{part.stem}: {done / 1e6:.1f}" + (f" of {end / 1e6:.1f} MB" if end else " MB"))
        _show("\n")
    if size is None and done > most:
        part.unlink()
        raise OSError(f"expected at most {most:,} bytes, which {LIMIT_VARIABLE} or the memory sets, got more")
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
    # A hidden file, so that an archive of the user with the same name is not removed.
    return folder / f".{PurePosixPath(urlsplit(address).path).name}"


def _show(text: str) -> None:
    if sys.stderr is not None and sys.stderr.isatty():
        print(text, end="", file=sys.stderr, flush=True)
