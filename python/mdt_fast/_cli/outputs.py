"""Result files: all of them appear together at the end, or none does."""

from __future__ import annotations

import csv
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray


class OutputError(OSError):
    """A place where results cannot be written; the message names it."""


class Outputs:
    """Files under way: written to a hidden folder inside `folder`, moved into place by `publish`."""

    def __init__(self, folder: Path, staging: Path) -> None:
        self.folder = folder
        self.files: list[str] = []
        self._staging = staging

    def path(self, name: str) -> Path:
        """Return where to write a file that will be called `name`."""
        self.files.append(name)
        return self._staging / name

    def table(self, name: str, header: Sequence[str], columns: Sequence[Sequence[Any] | NDArray[Any]]) -> None:
        """Write columns as CSV."""
        with self.path(f"{name}.csv").open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(header)
            writer.writerows(zip(*columns, strict=True))

    def publish(self) -> list[Path]:
        """Move the files into place, over earlier ones of the same names; return where they are."""
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
            # Back to how it was, as far as that goes.
            for target in moved:
                target.unlink(missing_ok=True)
            for earlier in old.iterdir():
                earlier.replace(self.folder / earlier.name)
            raise
        return placed


@contextmanager
def open_outputs(folder: Path) -> Iterator[Outputs]:
    """Make sure at the start that results can be written to `folder`; leave no trace of a run that fails."""
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
        for made in missing:
            with suppress(OSError):
                # Refuses if there is something in it: the results.
                made.rmdir()


def named_rows(sample_names: list[str] | None, n_samples: int) -> Sequence[Any]:
    """Return what stands in the first column of a table: the names of the samples, or their numbers."""
    return np.arange(n_samples).tolist() if sample_names is None else sample_names
