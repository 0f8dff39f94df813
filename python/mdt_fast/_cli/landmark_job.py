"""The commands `mdt-fast cluster` and `mdt-fast embed` with `--landmarks`: files that need not fit into memory."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._assignment.assign import assign_rows
from .._assignment.landmarks import ROWS, choose_landmarks
from .._estimators.mdt import MDT, MDTClustering
from .._sources.files import open_file
from .._sources.views import ViewSources
from .._support.arguments import check_generator, check_integer
from .._support.extras import require
from .._support.files import replace_file
from .._support.monitor import watch
from .console import Console

RESULTS = "assignment.parquet"
_SUMMARY = "summary.json"


@dataclass(frozen=True)
class LandmarkJob:
    """Arguments of a command.

    `parameters` are those of the estimator, except the landmarks.
    """

    files: Sequence[Path]
    select: Sequence[str] | None
    output: Path
    landmarks: int
    choice: str
    estimator: type[MDT] | type[MDTClustering]
    parameters: Mapping[str, Any]
    progress: bool


def run(job: LandmarkJob, console: Console) -> None:
    """Fit the landmarks, assign all rows, and write the results as Parquet files.

    A second run of the same command fits the same landmarks again, and goes on from the blocks that are written.
    """
    with console.exit_codes():
        with console.collect_warnings():
            summary = _compute(job, console)
        replace_file(job.output / _SUMMARY, json.dumps(summary, indent=2))
        console.print()
        for name in (RESULTS, _SUMMARY):
            console.print(f"wrote {job.output / name}")
        console.document({**summary, "warnings": console.warnings})


def open_views(files: Sequence[Path], select: Sequence[str] | None) -> ViewSources:
    """Return the rows of files; `select` names arrays inside a single Zarr or HDF5 file."""
    if select is None:
        return ViewSources.of(_named([(path.stem, path, None) for path in files]))
    if len(files) != 1:
        raise ValueError(f"--select: expected one file with --landmarks, got {len(files)}; give the files of the views")
    return ViewSources.of(_named([(name, files[0], name) for name in select]))


def _named(places: Sequence[tuple[str, Path, str | None]]) -> dict[str, Any]:
    names = [name for name, _, _ in places]
    repeated = next((name for name in names if names.count(name) > 1), None)
    if repeated is not None:
        raise ValueError(f"FILES: expected files with different names, got {repeated!r} twice")
    return {name: open_file(path, name, key) for name, path, key in places}


def _compute(job: LandmarkJob, console: Console) -> dict[str, Any]:
    require("pyarrow.parquet", "--landmarks")
    n = check_integer("--landmarks", job.landmarks, minimum=2)
    began = time.perf_counter()
    with watch(job.progress, job.parameters["time_limit"]) as monitor:
        with monitor.stage("landmarks"):
            views = open_views(job.files, job.select)
            assert views.n_rows is not None
            generator = check_generator(job.parameters["random_state"])
            chosen = choose_landmarks(views, min(n, views.n_rows), job.choice, generator, monitor)
            rows = views.as_given(views.take(chosen, ROWS))
        monitor.clear()
        widths = ", ".join(f"{name} ({source.n_columns} columns)" for name, source in _pairs(views))
        console.print(f"{views.n_rows:,} samples: {widths}; {len(chosen):,} landmarks")
        model = job.estimator(**{**job.parameters, "time_limit": monitor.share(0.5)})
        model.fit(rows)
        fitted = time.perf_counter() - began
        labels = getattr(model, "labels_", None)
        if labels is not None:
            console.print(f"clusters of {', '.join(map(str, sorted(np.bincount(labels), reverse=True)))} landmarks")
        job.output.mkdir(parents=True, exist_ok=True)
        out = job.output / RESULTS
        assign_rows(model._assigner(), views, monitor, out=out, n_jobs=job.parameters["n_jobs"])
    return {
        "n_samples": views.n_rows,
        "views": {name: source.n_columns for name, source in _pairs(views)},
        "n_landmarks": len(chosen),
        "t": model.t_,
        "n_clusters": None if labels is None else int(labels.max()) + 1,
        "seconds": {"landmarks and fit": fitted, "assignment": time.perf_counter() - began - fitted},
    }


def _pairs(views: ViewSources) -> list[tuple[str, Any]]:
    return list(zip(views.names or [], views.sources, strict=True))
