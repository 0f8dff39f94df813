"""Files that are replaced in one step, and locks between processes and threads.

New content is written to a hidden file beside the old one, `.<name>.<random>.part`, and renamed over
it. Readers see the old or the new content, never a part. A link stays a link: its target is replaced.
An existing file keeps its permissions, a new one gets those of the umask. A file without permission to
write is refused, although a rename would replace it. Devices and pipes are written directly.
"""

import errno
import math
import os
import stat
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from glob import escape
from pathlib import Path

if sys.platform != "win32":
    import fcntl

# Bytes of a name that a hidden name beside it repeats. File systems limit names to 255 bytes.
_NAME_BYTES = 200
_RANDOM_BYTES = 8  # of the name of a hidden file
_POLL = 0.01  # seconds between two attempts to lock
# Errors of file systems without locks, such as some network file systems.
_NO_LOCKS = {getattr(errno, name, None) for name in ("ENOLCK", "ENOTSUP", "EOPNOTSUPP", "ENOSYS", "EINVAL")}


def replace_file(path: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a file so that readers see either the old or the new content, never a part."""
    target = _resolve(path)
    data = content.encode() if isinstance(content, str) else content
    # Of the path itself: the target of /dev/stdout may be a pipe, which has no path.
    status = _status(Path(path))
    if status is not None and not stat.S_ISREG(status.st_mode) and not stat.S_ISDIR(status.st_mode):
        Path(path).write_bytes(data)
        return
    part = _beside(target, f"{os.urandom(_RANDOM_BYTES).hex()}.part")
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        # Never readable by more users than the file that it replaces.
        descriptor = os.open(part, flags, 0o666 if status is None else stat.S_IMODE(status.st_mode) | stat.S_IWUSR)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(descriptor)
        move_file(part, target)
    except OSError as error:
        # The name of the hidden file means nothing to the user.
        raise type(error)(error.errno, error.strerror, os.fspath(path)) from None
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Give a hidden path beside `path` to write to, and move that file over `path` at the end.

    After an error the hidden file is removed, and `path` is as it was. For files that are too large for
    :func:`replace_file`.
    """
    target = _resolve(path)
    part = _beside(target, f"{os.urandom(_RANDOM_BYTES).hex()}.part")
    try:
        yield part
        with part.open("rb+") as file:
            os.fsync(file.fileno())
        move_file(part, target)
    finally:
        with suppress(OSError):
            part.unlink(missing_ok=True)


def move_file(source: Path, path: str | os.PathLike[str]) -> None:
    """Move a file over `path` in one step; a link at `path` and the permissions of its target are kept."""
    target = _resolve(path)
    status = _status(target)
    if status is not None:
        if stat.S_ISDIR(status.st_mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), os.fspath(path))
        if not os.access(target, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), os.fspath(path))
        source.chmod(stat.S_IMODE(status.st_mode))
        if hasattr(os, "chown"):
            # Only root may give a file to another user.
            with suppress(OSError):
                os.chown(source, status.st_uid, status.st_gid)
    try:
        source.replace(target)
    except OSError as error:
        if error.errno != errno.EXDEV:
            raise
        # A link to another file system.
        replace_file(target, source.read_bytes())
        source.unlink()


def remove_parts(path: str | os.PathLike[str]) -> None:
    """Remove what killed processes left of :func:`replace_file`; the caller is the only writer."""
    target = _resolve(path)
    # Exactly the names that `replace_file` chooses: those of `a.json` begin like those of `a`.
    for part in target.parent.glob(escape(_beside(target, "").name) + "[0-9a-f]" * (2 * _RANDOM_BYTES) + ".part"):
        part.unlink(missing_ok=True)


@contextmanager
def locked(path: str | os.PathLike[str], seconds: float = math.inf) -> Iterator[None]:
    """Hold the lock of a path, among processes and threads, during a ``with`` block.

    The lock is that of the system on the hidden file `.<name>.lock`, so it ends with its process. On
    Windows, and on file systems without locks, there is none.

    Raises
    ------
    TimeoutError
        If another process holds the lock for `seconds`.
    """
    lock = _beside(_resolve(path), "lock")
    descriptor = _acquire(lock, os.fspath(path), seconds)
    try:
        yield
    finally:
        # Removed while it is locked: whoever waits for it notices, and opens a new one.
        with suppress(OSError):
            lock.unlink()
        os.close(descriptor)


def try_lock(descriptor: int) -> bool | None:
    """Lock an open file or folder until it is closed.

    Returns whether nobody else has the lock, or None if there are no locks.
    """
    if sys.platform == "win32":
        return None
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _NO_LOCKS:
            return None
        if error.errno not in (errno.EWOULDBLOCK, errno.EACCES):
            raise
        return False
    return True


def _acquire(lock: Path, path: str, seconds: float) -> int:
    """Return the descriptor of the locked file `lock`."""
    latest = time.monotonic() + seconds
    while True:
        try:
            descriptor = os.open(lock, os.O_RDWR | os.O_CREAT, 0o666)
        except PermissionError:
            if not lock.exists():
                raise
            # That of another user who was killed.
            descriptor = os.open(lock, os.O_RDONLY)
        try:
            while try_lock(descriptor) is False:
                if time.monotonic() > latest:
                    reason = f"expected a file that no other process uses, got one that is locked for {seconds:g} s"
                    raise TimeoutError(errno.ETIMEDOUT, f"{path}: {reason}")
                time.sleep(_POLL)
            # The former owner may have removed the file. The lock of a removed file excludes nobody.
            with suppress(FileNotFoundError):
                if os.path.samestat(os.fstat(descriptor), lock.stat()):
                    return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _resolve(path: str | os.PathLike[str]) -> Path:
    return Path(os.path.realpath(path))


def _status(path: Path) -> os.stat_result | None:
    try:
        return path.stat()
    except FileNotFoundError:
        return None


def _beside(path: Path, ending: str) -> Path:
    """Return a hidden path beside `path` whose name contains that of `path`."""
    name = os.fsdecode(os.fsencode(path.name)[:_NAME_BYTES])
    return path.with_name(f".{name}.{ending}")
