"""Result files, which are written all together at the end of a command or not at all."""

import csv
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from numpy.typing import NDArray


class OutputError(OSError):
    """Error for a folder in which results cannot be written; the message names the folder."""


class Outputs:
    """Result files in a hidden folder inside `folder`; `publish` moves them to `folder`."""

    def __init__(self, folder: Path, staging: Path) -> None:
        self.folder = folder
        self.files: list[str] = []
        self._staging = staging

    def path(self, name: str) -> Path:
        """Return the path to which to write the file `name`."""
        self.files.append(name)
        return self._staging / name

    def table(self, name: str, header: Sequence[str], columns: Sequence[Sequence[Any] | NDArray[Any]]) -> None:
        """Write columns to the CSV file `name`.csv."""
        with self.path(f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(header)
            writer.writerows(zip(*columns, strict=True))

    def publish(self) -> list[Path]:
        """Move the files to the folder, over older files of the same names; return their paths."""
        placed = [self.folder / name for name in self.files]
        old = self._staging / "old"
        old.mkdir()
        moved: list[Path] = []
        try:
            for target in placed:
                if target.is_dir():
                    raise OutputError(f"--output: expected to write the file {target}, got a folder of that name")
                if target.exists():
                    target.replace(old / target.name)
                moved.append(target)
                (self._staging / target.name).replace(target)
        except BaseException:
            # Restore the older files.
            for target in moved:
                target.unlink(missing_ok=True)
            for older in old.iterdir():
                older.replace(self.folder / older.name)
            raise
        return placed


@contextmanager
def open_outputs(folder: Path) -> Iterator[Outputs]:
    """Open `folder` for results; folders that this creates are removed if they stay empty.

    A folder that cannot be written to raises OutputError before the computation.
    """
    missing = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    try:
        folder.mkdir(parents=True, exist_ok=True)
        staging = Path(tempfile.mkdtemp(prefix=".mdt-fast-", dir=folder))
    except OSError as error:
        reason = error.strerror or str(error)
        raise OutputError(f"--output: expected a folder that can be written to, got {folder}: {reason}") from None
    try:
        yield Outputs(folder, staging)
    finally:
        shutil.rmtree(staging, ignore_errors=True)
        for created in missing:
            # Folders with results are not empty and cannot be removed.
            with suppress(OSError):
                created.rmdir()
