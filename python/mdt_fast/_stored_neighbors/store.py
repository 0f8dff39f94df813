"""The nearest neighbours of samples that memory does not hold."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

import numpy as np

from .._assignment.manifest import Manifest
from .._assignment.writers import writer_for
from .._graphs.nearest import METRICS
from .._graphs.stored import StoredNeighbors
from .._graphs.views import float_type
from .._sources.source import RangeSource, RowSource
from .._sources.views import ViewSources
from .._support.arguments import check_choice, check_integer, check_number, check_path
from .._support.monitor import ProgressLike, watch
from .._support.seed import check_seed
from .._support.threads import n_threads
from .build import Build
from .place import Place
from .run import Runner, dense
from .settings import Settings

# Samples are numbered by int32.
_LARGEST = 2**31 - 1


def store_neighbors(
    X: Any,
    n_neighbors: int,
    out: str | os.PathLike[str],
    *,
    metric: str = "euclidean",
    recall: float = 0.95,
    cell_rows: int = 200_000,
    block_rows: int = 32_768,
    client: Any = None,
    random_state: Any = None,
    n_jobs: int | None = None,
    progress: ProgressLike = False,
) -> StoredNeighbors:
    """Find the nearest neighbours of every sample of a view that memory does not hold.

    The samples are divided into cells that overlap, neighbours are found in each cell, and the nearest of what
    the cells of a sample give are its neighbours. The table is written a block at a time. After an interruption the
    same call goes on from what is written. It refuses samples of another shape or precision, but does not compare their
    values.

    Parameters
    ----------
    X : path, array, Zarr or Dask array, or function
        The samples, which are dense rows: all that ``MDTClustering(landmarks=...)`` reads. A function that returns an
        iterator of row blocks is called five times.
    n_neighbors : int
        Number of neighbours, from 1 to N - 1.
    out : path
        A new place for the table: a Zarr group if it ends with .zarr, otherwise a folder of .npy files. Intermediate
        results are in the folder `<out>.work` beside it, which needs about twice the memory of the view for each cell
        of a sample, and is removed at the end.
    metric : {"euclidean", "cosine", "correlation", "manhattan"}, default="euclidean"
        Distance of two samples.
    recall : float, default=0.95
        Share of the nearest neighbours to be found.
    cell_rows : int, default=200000
        Largest number of samples of a cell, which a worker has in memory. Larger cells find more neighbours.
    block_rows : int, default=32768
        Samples that are read at a time.
    client : distributed.Client, default=None
        Its workers do the work, with one thread for each cell. They have to see the same files.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the cells and of the approximate search; None for 0.
    n_jobs : int or None, default=None
        Number of threads without a client; None or -1 for all. The result depends neither on it nor on the workers.
    progress : bool, callable or None, default=False
        As in :func:`build_operators`.

    Returns
    -------
    StoredNeighbors
        Indices and distances on disk, and the measured recall; an argument `neighbors` of :func:`build_operators`.

    Raises
    ------
    TypeError, ValueError
        If an argument is not as described, or if a number is not finite: the message names the row and the block.
    OSError
        If the table cannot be written.

    Warns
    -----
    ViewWarning
        If the recall is not reached.

    See Also
    --------
    nearest_neighbors : The same in memory.

    Notes
    -----
    512 samples are compared with all others. Their neighbours decide in how many cells each sample is (at most 8),
    and at the end they measure the recall. Distances are exact.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> import mdt_fast as mdt
    >>> X = np.random.default_rng(0).normal(size=(3000, 3))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     found = mdt.store_neighbors(X, 10, Path(folder) / "graph", cell_rows=1000)
    ...     ops = mdt.build_operators([X], neighbors=found)
    >>> found.recall > 0.95
    True
    """
    views = ViewSources.of([X])
    if not views.is_repeatable:
        raise ValueError("X: expected rows that can be read more than once, got an iterator; give a function of it")
    check_choice("metric", metric, METRICS[:-1])
    check_number("recall", recall, maximum=1.0)
    rows = check_integer("block_rows", block_rows, minimum=1)
    place = check_path("out", out).absolute()
    if place.suffix.lower() == ".parquet":
        raise ValueError(f"out: expected a path that ends with .zarr, or one without ending, got {str(place)!r}")
    seed, threads = check_seed(0 if random_state is None else random_state), n_threads(n_jobs)
    views = views.counted(rows)
    n = views.n_rows
    assert n is not None
    if not 2 <= n <= _LARGEST:
        raise ValueError(f"X: expected from 2 to {_LARGEST:,} samples, got {n:,}")
    source = views.sources[0]
    if not source.n_columns:
        raise ValueError(f"{source.label}: expected at least 1 feature, got 0 features")
    k = check_integer("n_neighbors", n_neighbors, minimum=1, maximum=n - 1)
    size = check_integer("cell_rows", cell_rows, minimum=4 * (k + 1))
    writer = writer_for(place, {"indices": ((k,), np.dtype("i4")), "distances": ((k,), np.dtype("f8"))}, n, rows)
    settings = Settings(k, metric, float(recall), size, seed)
    identity = {
        "number of rows": n, "number of columns": source.n_columns, "precision": _precision(source), "block_rows": rows,
        **asdict(settings),
    }  # fmt: skip
    manifest = Manifest(place, identity, "neighbours")
    if manifest.n_rows is None:
        work = Place(place.with_name(f"{place.name}.work"))
        if work.path.exists() and not manifest.path.exists():
            raise FileExistsError(f"out: expected a new place, got one with a folder of another call: {work.path}")
        with watch(progress) as monitor, manifest.kept(), _naming(work):
            run = Runner(views, work, rows, client, monitor, threads)
            Build(run, work, writer, manifest, settings, monitor, threads).run()
    arrays = writer.finish(n)
    return StoredNeighbors(arrays["indices"], arrays["distances"], **manifest.measured, path=place)


def _precision(source: RowSource) -> str:
    """Return the type of the rows that are read, on which distances depend."""
    if source.dtype is not None:
        return str(np.dtype(float_type(source.dtype)))
    # Some files and data frames have one type for each column.
    assert isinstance(source, RangeSource)
    return str(dense(source.checked(0, 1), source.label).dtype)


@contextmanager
def _naming(place: Place) -> Iterator[None]:
    """Say in an error of the file system what is kept."""
    try:
        yield
    except OSError as error:
        if str(error).find("out: ") >= 0 or error.errno is None:
            raise
        raise type(error)(
            error.errno,
            f"out: expected to write to {str(place.path)!r}, got {error.strerror or error}; what is written is kept, "
            "and a second call goes on from there",
        ) from error
