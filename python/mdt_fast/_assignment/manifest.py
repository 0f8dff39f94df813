"""The file that says which blocks of results are written, from which a second call goes on.

It is beside the results, `<out>.manifest.json`, and is replaced as a whole. It names a block only after the block
is written. It says on what the results depend, such as a digest of the model and the shape of the views, but has no
digest of all rows: the caller gives the same rows again.
"""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from .._support.files import locked, replace_file
from .._support.reading import read_json

FORMAT = "mdt_fast {kind}"
VERSION = 1
# Seconds between two writes.
_INTERVAL = 1.0
# Seconds to wait for another call that writes to the same place.
_PATIENCE = 10.0


class Manifest:
    """The blocks that are written.

    Attributes
    ----------
    path : Path
        The file.
    done : set of int
        Numbers of the blocks.
    n_rows : int or None
        Number of rows of complete results; None before.
    measured : dict
        Numbers that describe complete results.
    """

    def __init__(self, out: Path, identity: Mapping[str, Any], kind: str = "assignment") -> None:
        self.path = out.with_name(f"{out.name}.manifest.json")
        self._format = FORMAT.format(kind=kind)
        self.measured: dict[str, Any] = {}
        self._identity: dict[str, Any] = json.loads(json.dumps(dict(identity)))
        self.done: set[int] = set()
        self.n_rows: int | None = None
        self._written = -math.inf
        if self.path.exists():
            self._read(out)
        elif out.exists() and (not out.is_dir() or any(out.iterdir())):
            raise FileExistsError(
                errno.EEXIST, f"out: expected a new place, or one that an earlier call began, got {str(out)!r}"
            )

    def add(self, block: int) -> None:
        """Note that a block is written."""
        self.done.add(block)
        if time.monotonic() - self._written >= _INTERVAL:
            self.write()

    def write(self, n_rows: int | None = None) -> None:
        """Replace the file; with `n_rows` the results are complete."""
        self.n_rows = n_rows if n_rows is not None else self.n_rows
        content = {
            "format": self._format,
            "version": VERSION,
            "identity": self._identity,
            "n_rows": self.n_rows,
            "measured": self.measured,
            "done": _ranges(self.done),
        }
        replace_file(self.path, json.dumps({**content, "digest": _digest(content)}))
        self._written = time.monotonic()

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Hold the lock of the file, and write it at the end, also after an error."""
        with self._naming():
            self.path.parent.mkdir(parents=True, exist_ok=True)
        with locked(self.path, _PATIENCE):
            try:
                with self._naming():
                    self.write()
                yield
            finally:
                # A full disk has room for the file of before.
                with suppress(OSError):
                    self.write()

    @contextmanager
    def _naming(self) -> Iterator[None]:
        """Name the argument in an error of the file system, before anything is written."""
        try:
            yield
        except OSError as error:
            got = f"out: expected to write to {os.fspath(self.path)!r}, got {error.strerror or error}"
            raise type(error)(error.errno, got) from error

    def _read(self, out: Path) -> None:
        refusal = f"out: expected the manifest of an earlier call, got a damaged or different file: {self.path}"
        try:
            content = read_json(self.path)
            digest = content.pop("digest")
            is_ours = content["format"] == self._format and content["version"] == VERSION and digest == _digest(content)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            is_ours = False
        if not is_ours:
            raise ValueError(f"{refusal}; remove it and {str(out)!r} to start again")
        for name, expected in self._identity.items():
            if content["identity"].get(name) != expected:
                raise ValueError(
                    f"out: expected the results of an earlier call with the same {name}, got those of another in "
                    f"{os.fspath(out)!r}; choose another place, or remove it and {self.path.name}"
                )
        self.n_rows, self.measured = content["n_rows"], content.get("measured", {})
        self.done = {number for first, end in content["done"] for number in range(first, end)}
        if not out.exists() and self.done:
            raise FileNotFoundError(
                errno.ENOENT, f"out: expected the results that {self.path.name} names, got none in {str(out)!r}"
            )


def _digest(content: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def _ranges(numbers: set[int]) -> list[list[int]]:
    """Return a set of numbers as ranges [first, end)."""
    found: list[list[int]] = []
    for number in sorted(numbers):
        if found and found[-1][1] == number:
            found[-1][1] = number + 1
        else:
            found.append([number, number + 1])
    return found
