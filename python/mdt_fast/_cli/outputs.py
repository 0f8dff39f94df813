"""Result files that appear together.

Files are written to a hidden folder and moved to their places at the end. The moves are several steps,
so a command that is killed between them leaves a mixture. `manifest.json` therefore names the files
that belong together, with their sizes and SHA-256: it is removed before the first move and written
after the last. Without it, or if it does not fit, the files are not the results of one command. It also
names a file that the command wrote to another place.
"""

import csv
import hashlib
import io
import json
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from .._core import __version__
from .._support.files import locked, move_file, remove_parts, replace_file, try_lock
from .._support.reading import read_json
from .._support.text import to_cells

MANIFEST = "manifest.json"
_PREFIX = ".mdt-fast-"


class OutputError(OSError):
    """Error for a folder in which results cannot be written; the message names the folder."""


class Outputs:
    """Result files in a hidden folder inside `folder`; `publish` moves them to `folder`."""

    def __init__(self, folder: Path, staging: Path) -> None:
        self.folder = folder
        self.files: list[str] = []
        # Files of an earlier command in the same folder.
        self.earlier = _listed(folder / MANIFEST)
        self._staging = staging
        self._published: dict[str, dict[str, Any]] = {}
        self._elsewhere: dict[str, dict[str, Any]] = {}

    def path(self, name: str) -> Path:
        """Return the path to which to write the file `name`."""
        self.files.append(name)
        return self._staging / name

    def table(self, name: str, header: Sequence[str], columns: Sequence[Sequence[Any] | NDArray[Any]]) -> None:
        """Write columns to the CSV file `name`.csv; text that looks like a formula gets an apostrophe."""
        text = io.StringIO()
        writer = csv.writer(text)
        writer.writerow(to_cells(header))
        writer.writerows(map(to_cells, zip(*columns, strict=True)))
        # Sample names may have lone surrogates, which UTF-8 lacks.
        self.path(f"{name}.csv").write_bytes(text.getvalue().encode("utf-8", "backslashreplace"))

    def drop(self, name: str) -> None:
        """Forget a file that was not written completely."""
        self.files = [each for each in self.files if each != name]
        (self._staging / name).unlink(missing_ok=True)

    def name_elsewhere(self, path: Path) -> None:
        """Name a complete file of another place in the manifest."""
        self._elsewhere[os.path.realpath(path)] = _entry(path)
        with locked(self.folder / MANIFEST):
            self._write_manifest()

    def _write_manifest(self) -> None:
        manifest: dict[str, Any] = {"mdt_fast": __version__, "files": self._published}
        if self._elsewhere:
            manifest["elsewhere"] = self._elsewhere
        replace_file(self.folder / MANIFEST, json.dumps(manifest, indent=2) + "\n")

    def publish(self, *, obsolete: Sequence[str] = ()) -> list[Path]:
        """Move new files to the folder, over older files of the same names; return their paths, without the manifest.

        Files named in `obsolete`, which described older results, are removed.
        """
        new = [name for name in self.files if name not in self._published]
        placed = [self.folder / name for name in new]
        entries = {name: _entry(self._staging / name) for name in new}
        for target in (*placed, self.folder / MANIFEST):
            _check_target(target)
        changed = [*placed, *(self.folder / name for name in obsolete), self.folder / MANIFEST]
        # Another command with the same folder publishes before or after this one.
        with locked(self.folder / MANIFEST), _kept(self._staging / "old", changed):
            (self.folder / MANIFEST).unlink(missing_ok=True)
            for name in new:
                move_file(self._staging / name, self.folder / name)
            for name in obsolete:
                (self.folder / name).unlink(missing_ok=True)
            self._published |= entries
            self._write_manifest()
        return placed


def _listed(manifest: Path) -> list[str]:
    """Return the names that a manifest lists and that exist beside it; none if it is not ours."""
    try:
        names = list(read_json(manifest)["files"])
    except (OSError, ValueError, KeyError, TypeError):
        return []
    plain = [name for name in names if isinstance(name, str) and name == Path(name).name]
    return [name for name in plain if (manifest.parent / name).is_file()]


def _entry(path: Path) -> dict[str, Any]:
    with path.open("rb+") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
        # On the disk before the manifest that names it.
        os.fsync(file.fileno())
    return {"bytes": path.stat().st_size, "sha256": digest}


@contextmanager
def _kept(place: Path, targets: Sequence[Path]) -> Iterator[None]:
    """Keep copies of files in the folder `place`, and put them back after an error."""
    place.mkdir()
    existing = [target for target in targets if target.exists()]
    for target in existing:
        # Contents and permissions; a rename replaces the file, so a second name of it is a copy.
        try:
            (place / target.name).hardlink_to(target.resolve())
        except OSError:
            shutil.copy2(target, place / target.name)
    try:
        yield
    except BaseException:
        for target in targets:
            if target in existing:
                move_file(place / target.name, target)
            else:
                target.unlink(missing_ok=True)
        raise
    finally:
        shutil.rmtree(place, ignore_errors=True)


@contextmanager
def open_outputs(folder: Path, names: Sequence[str] = ()) -> Iterator[Outputs]:
    """Open `folder` for results; folders that this creates are removed if they stay empty.

    A folder that cannot be written to, or that has something of one of the `names` that cannot be
    replaced, raises OutputError before the computation.
    """
    missing = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with locked(folder / MANIFEST):
            _remove_abandoned(folder)
            remove_parts(folder / MANIFEST)
            staging = folder / f"{_PREFIX}{os.urandom(8).hex()}"
            staging.mkdir()
            lock = _Lock(staging)
    except OSError as error:
        reason = error.strerror or str(error)
        raise OutputError(f"--output: expected a folder that can be written to, got {folder}: {reason}") from None
    try:
        for name in (*names, MANIFEST):
            _check_target(folder / name)
        yield Outputs(folder, staging)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
        lock.close()
        for created in missing:
            # Folders with results are not empty and cannot be removed.
            with suppress(OSError):
                created.rmdir()


def _check_target(target: Path) -> None:
    if target.is_dir():
        raise OutputError(f"--output: expected to write the file {target}, got a folder of that name")
    if target.exists() and not os.access(target, os.W_OK):
        raise OutputError(f"--output: expected to replace the file {target}, got one without permission to write")


class _Lock:
    """The lock by which a command shows that it still uses its hidden folder."""

    def __init__(self, folder: Path) -> None:
        self._descriptor: int | None = None
        self.is_held = False
        # Windows opens no folders.
        with suppress(OSError):
            self._descriptor = os.open(folder, os.O_RDONLY)
            self.is_held = try_lock(self._descriptor) is True

    def close(self) -> None:
        if self._descriptor is not None:
            os.close(self._descriptor)


def _remove_abandoned(folder: Path) -> None:
    """Remove the hidden folders of commands that were killed."""
    for abandoned in folder.glob(f"{_PREFIX}*"):
        lock = _Lock(abandoned)
        if lock.is_held:
            shutil.rmtree(abandoned, ignore_errors=True)
        lock.close()
