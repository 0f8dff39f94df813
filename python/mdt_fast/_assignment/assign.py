"""Assignment of all rows of some views, a block at a time, in this process or on the workers of a Dask cluster."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any

from .._sources.dask_array import DaskSource
from .._sources.views import ViewSources
from .._support.arguments import check_integer, check_path
from .._support.monitor import Monitor
from .assigner import Assigner
from .block import assign_block, check_time, naming_out, warn_of_blocks
from .manifest import Manifest
from .result import Assignment
from .writers import Writer, writer_for

# Rows of a block. (Views of 2 x 50 columns: 26 MB in single precision, and as much again for each of a few copies.)
BLOCK_ROWS = 32_768


def assign_rows(
    assigner: Assigner,
    views: ViewSources,
    monitor: Monitor,
    *,
    out: str | os.PathLike[str] | None = None,
    block_rows: int = BLOCK_ROWS,
    client: Any = None,
    n_jobs: int | None = None,
    is_limited: bool = True,
    is_lazy: bool = True,
) -> Assignment:
    """Assign all rows.

    Parameters
    ----------
    assigner : Assigner
        The model.
    views : ViewSources
        The rows.
    monitor : Monitor
        Progress and time limit.
    out : path or None
        Where the results are written; None keeps them in memory.
    block_rows : int
        Rows of a block.
    client : distributed.Client or None
        Its workers assign the blocks.
    n_jobs : int or None
        Number of threads in this process.
    is_limited : bool
        Whether the time limit of the monitor ends the assignment.
    is_lazy : bool
        Whether the results of Dask arrays that are not written are Dask arrays.

    Returns
    -------
    Assignment
    """
    rows = check_integer("block_rows", block_rows, minimum=1)
    path = None if out is None else check_path("out", out).absolute()
    if is_lazy and path is None and client is None and all(isinstance(source, DaskSource) for source in views.sources):
        from .dask_blocks import lazy_assignment

        return lazy_assignment(assigner, views)
    writer = writer_for(path, assigner.columns, views.n_rows, rows)
    manifest = None if path is None else Manifest(path, _identity(assigner, views, rows))
    if manifest is not None and manifest.n_rows is not None:
        return Assignment(**writer.finish(manifest.n_rows), path=path)
    with nullcontext() if manifest is None else manifest.kept():
        with naming_out(writer, manifest):
            writer.begin()
        run: Callable[..., int] = _assign_here
        how: dict[str, Any] = {"n_jobs": n_jobs, "is_limited": is_limited}
        if client is not None:
            from .dask_blocks import assign_on_workers

            run, how = assign_on_workers, {"client": client, "is_limited": is_limited}
        n_blocks = None if views.n_rows is None else math.ceil(views.n_rows / rows)
        with monitor.stage("assignment", n_total=n_blocks):
            n_rows = run(assigner, views, writer, manifest, monitor, rows, **how)
        with naming_out(writer, manifest):
            found = writer.finish(n_rows)
            if manifest is not None:
                manifest.write(n_rows)
    return Assignment(**found, path=path)


def _assign_here(
    assigner: Assigner,
    views: ViewSources,
    writer: Writer,
    manifest: Manifest | None,
    monitor: Monitor,
    rows: int,
    *,
    n_jobs: int | None,
    is_limited: bool,
) -> int:
    """Assign the blocks that are not written yet, in their order; return the number of rows."""
    done = set() if manifest is None else manifest.done
    n_rows = 0
    seen: list[str] = []
    for block in views.blocks(rows, lambda number: number not in done):
        n_rows += block.n_rows
        if block.views is not None:
            found = assign_block(assigner, views.as_given(block.views), seen, n_jobs, block.number, block.start)
            with naming_out(writer, manifest, block.number):
                writer.write(block.start, found)
                if manifest is not None:
                    manifest.add(block.number)
        monitor.note(n_done=block.number + 1)
        if is_limited:
            check_time(monitor, manifest, block.number + 1)
    warn_of_blocks(seen)
    return n_rows


def _identity(assigner: Assigner, views: ViewSources, rows: int) -> dict[str, Any]:
    """Return what results depend on, except the values of the rows."""
    return {
        "model": assigner.digest(),
        "number of rows": views.n_rows,
        "names of views": views.names,
        "numbers of columns": [None if s.n_columns is None else int(s.n_columns) for s in views.sources],
        "block_rows": rows,
    }
