"""`mdt-fast cluster` and `mdt-fast embed`: views in, labels and coordinates out, with a report of how."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._clusters.labels import choose_labels
from .._clusters.n_clusters import select_n_clusters
from .._geometry.embedding import embed
from .._geometry.time import TimeSelection, select_time
from .._operators.build import build_operators
from .._operators.checks import CheckReport
from .._operators.operator_set import OperatorSet
from .._search.consensus import kernel_for
from .._search.result import SearchResult
from .._search.search import search
from .._support.arguments import check_integer
from .console import Console
from .files import ViewFiles, read_views
from .outputs import Outputs, named_rows, open_outputs
from .pictures import figures_closed, prepare_pictures

# Starts of k-means for the final labels.
_N_INIT = 10


@dataclass(frozen=True)
class Job:
    """What was asked for: the arguments of the functions that do it, by function."""

    files: list[Path]
    output: Path
    n_clusters: int | str | None
    n_components: int | None
    reading: Mapping[str, Any]
    building: Mapping[str, Any]
    searching: Mapping[str, Any]
    seed: int
    n_jobs: int | None
    command: str
    with_report: bool

    def parameters(self) -> dict[str, Any]:
        """Return all of them by name, for the report."""
        own = {"n_clusters": self.n_clusters, "n_components": self.n_components, "random_state": self.seed}
        return {"files": ", ".join(map(str, self.files)), **own, **self.reading, **self.building, **self.searching}


@dataclass
class Outcome:
    """What was found on the way."""

    data: ViewFiles
    ops: OperatorSet
    checked: CheckReport
    selection: TimeSelection | None
    result: SearchResult
    coordinates: NDArray[Any]
    labels: NDArray[np.int32] | None
    agreement: float | None
    seconds: dict[str, float]


def run(job: Job, console: Console) -> None:
    """Do the job; all files appear at the end."""
    with console.exit_codes(), open_outputs(job.output) as outputs:
        if job.with_report:
            prepare_pictures("--report")
        with console.collect_warnings():
            outcome = _compute(job, console)
        _write(job, outcome, outputs)
        if job.with_report:
            from .job_report import write_report

            with _timed(outcome.seconds, "report"), console.collect_warnings(), figures_closed():
                write_report(job, outcome, console.warnings, outputs.path("report.html"))
        placed = outputs.publish()
        console.say()
        for path in placed:
            console.say(f"wrote {path}")
        console.document(_summary(outcome, console.warnings, placed))


@contextmanager
def _timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    seconds[stage] = time.perf_counter() - start


def _compute(job: Job, console: Console) -> Outcome:
    seconds: dict[str, float] = {}
    with _timed(seconds, "reading"):
        data = read_views(job.files, **job.reading)
    shapes = ", ".join(f"{name} ({view.shape[1]} columns)" for name, view in data.views.items())
    console.say(f"{next(iter(data.views.values())).shape[0]:,} samples: {shapes}")
    with _timed(seconds, "operators"):
        building = dict(job.building)
        if building["kernel"] == "auto":
            building["kernel"] = kernel_for(job.searching["strategy"], building["preset"])
        ops = build_operators(data.views, n_jobs=job.n_jobs, random_state=job.seed, **building)
    checked = ops.check()
    if job.n_components is not None:
        # Before the search, which does not look at it.
        check_integer("n_components", job.n_components, minimum=1, maximum=ops.n_samples - 1)
    options = dict(job.searching)
    selection = None
    if options["t"] == "auto" and options.get("max_steps") is None:
        with _timed(seconds, "diffusion time"):
            selection = select_time(ops)
        options["t"] = selection.t
        console.say(f"diffusion time {selection.t}, the knee of the entropy")
    n_clusters = job.n_clusters
    if isinstance(n_clusters, str):
        with _timed(seconds, "number of clusters"):
            n_clusters = select_n_clusters(ops, t=options["t"], random_state=job.seed, n_jobs=job.n_jobs).n_clusters
        console.say(f"{n_clusters} clusters, where finer ones stop telling more")
    with _timed(seconds, "search"):
        result = search(
            ops, n_clusters, random_state=job.seed, n_jobs=job.n_jobs, progress=console.shows_progress, **options
        )
    stopped = f", stopped by {result.stopped}" if result.stopped else ""
    score = f": score {result.score:.6g}, the best of {result.n_evaluations}" if math.isfinite(result.score) else ""
    labels = agreement = None
    if result.agreement is not None:
        console.say(f"consensus of {len(result.members)} of {result.n_evaluations} trajectories{stopped}")
        coordinates, labels = result.agreement.embedding, result.agreement.labels
    else:
        assert result.trajectory is not None
        console.say(f"{result.trajectory!r}{score}{stopped}")
        with _timed(seconds, "embedding"):
            n_components = job.n_components if n_clusters is None else n_clusters
            coordinates = embed(result.trajectory, n_components or 2, random_state=job.seed).coordinates
    if n_clusters is not None:
        if labels is None:
            with _timed(seconds, "labels"):
                labels = choose_labels(
                    ops,
                    coordinates,
                    n_clusters,
                    n_init=_N_INIT,
                    quality=job.searching["quality"],
                    random_state=job.seed,
                    n_jobs=job.n_jobs,
                ).labels
        console.say(f"clusters of {', '.join(map(str, sorted(np.bincount(labels), reverse=True)))} samples")
        if data.labels is not None:
            from sklearn.metrics import adjusted_mutual_info_score

            agreement = float(adjusted_mutual_info_score(data.labels, labels))
            console.say(f"adjusted mutual information with the given classes: {agreement:.3f}")
    return Outcome(data, ops, checked, selection, result, coordinates, labels, agreement, seconds)


def _write(job: Job, outcome: Outcome, outputs: Outputs) -> None:
    rows = named_rows(outcome.data.sample_names, len(outcome.coordinates))
    if outcome.labels is not None:
        columns = {"sample": rows, "label": outcome.labels.tolist()}
        if outcome.result.agreement is not None:
            columns["confidence"] = outcome.result.agreement.confidence.tolist()
        outputs.table("labels", list(columns), list(columns.values()))
    names = [f"coordinate {c + 1}" for c in range(outcome.coordinates.shape[1])]
    outputs.table("coordinates", ["sample", *names], [rows, *outcome.coordinates.T.tolist()])
    outcome.result.save(outputs.path("search.json"))
    steps = {"members": outcome.ops.names, **_steps(outcome.result)}
    outputs.path("trajectory.json").write_text(json.dumps(steps, indent=2), encoding="utf-8")


def _steps(result: SearchResult) -> dict[str, Any]:
    """Return the answer as plain values: a word and weights, or the weights of each member of a consensus."""
    if result.trajectory is None:
        return {"word": None, "weights": None, "consensus": [member.weights.tolist() for member in result.members]}
    word = result.trajectory.sequence
    return {"word": None if word is None else list(word), "weights": result.trajectory.weights.tolist()}


def _summary(outcome: Outcome, warnings: list[str], placed: list[Path]) -> dict[str, Any]:
    result = outcome.result
    steps = _steps(result)
    return {
        "n_samples": outcome.ops.n_samples,
        "views": outcome.data.sources,
        "t": result.t,
        "trajectory": steps["word"],
        "weights": steps["weights"],
        "n_members": len(result.members),
        "score": result.score if math.isfinite(result.score) else None,
        "n_evaluations": result.n_evaluations,
        "stopped": result.stopped,
        "cluster_sizes": None if outcome.labels is None else np.bincount(outcome.labels).tolist(),
        "ami": outcome.agreement,
        "seconds": outcome.seconds,
        "warnings": warnings,
        "files": [str(path) for path in placed],
    }
