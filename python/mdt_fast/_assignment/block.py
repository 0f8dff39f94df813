"""One block of an assignment: its results, its warnings, and the errors that name what is kept."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from numpy.typing import NDArray

from .._support.monitor import Monitor
from .._support.warnings import OperatorWarning, RemoteSamplesWarning, noting, warn_user
from .assigner import Assigner
from .manifest import Manifest
from .writers import Writer


def assign_block(
    assigner: Assigner, X: Any, seen: list[str], n_jobs: int | None, number: int, start: int
) -> Mapping[str, NDArray[Any]]:
    """Return the results of a block, of which `start` is the first row.

    Its warnings are added to `seen`, because their rows are those of the block. Errors name the row of the store.
    """
    with (
        naming_rows(lambda row: f"row {start + row} (block {number})"),
        noting(seen, RemoteSamplesWarning, OperatorWarning),
    ):
        return assigner.assign(X, n_jobs)


@contextmanager
def naming_rows(name: Callable[[int], str]) -> Iterator[None]:
    """Replace the row of a part in the message of a ValueError by its name among all rows."""
    try:
        yield
    except ValueError as error:
        found = re.search(r"\brow (\d+)\b", str(error))
        if found is None:
            raise
        raise ValueError(str(error)[: found.start()] + name(int(found[1])) + str(error)[found.end() :]) from error


def warn_of_blocks(seen: list[str]) -> None:
    """Warn once of what several blocks warned of."""
    if n := seen.count(RemoteSamplesWarning.__name__):
        warn_user(
            f"{n} blocks have samples that are far from all training samples, and what is predicted for these means "
            "little; see remoteness",
            RemoteSamplesWarning,
        )
    if n := seen.count(OperatorWarning.__name__):
        warn_user(
            f"{n} blocks have samples without affinity to any training sample; each moves to the nearest one",
            OperatorWarning,
        )


def check_time(monitor: Monitor, manifest: Manifest | None, n_done: int) -> None:
    """Raise TimeoutError after the time limit."""
    if monitor.seconds_left > 0:
        return
    kept = "" if manifest is None else f"; blocks written: {len(manifest.done)}, and a second call goes on from them"
    raise TimeoutError(f"time_limit: expected an end within {monitor.time_limit:g} s; blocks done: {n_done}{kept}")


@contextmanager
def naming_out(writer: Writer, manifest: Manifest | None, block: int | None = None) -> Iterator[None]:
    """Name the argument, and what is kept, in an error of the file system."""
    try:
        yield
    except OSError as error:
        if manifest is None:
            raise
        where = "" if block is None else f" while block {block} was written"
        raise type(error)(
            error.errno,
            f"out: expected to write to {str(writer.path)!r}, got {error.strerror or error}{where}; "
            f"{len(manifest.done)} blocks are kept, and a second call goes on from them",
        ) from error
