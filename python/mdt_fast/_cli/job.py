"""The commands `mdt-fast cluster` and `mdt-fast embed`."""

import json
import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, fields, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._clusters.confidence import neighbor_support
from .._clusters.n_clusters import ClusterSelection
from .._estimators.graphs import view_parameters
from .._estimators.pipeline import Fit, FitSettings, fit_operators
from .._fusion.base_weights import weights_of_trajectories
from .._fusion.fused_graph import sample_weights
from .._geometry.time import TimeSelection
from .._operators.build import build_operators
from .._operators.checks import CheckReport
from .._operators.operator_set import OperatorSet
from .._search.result import SearchResult
from .._support.arguments import check_integer
from .._support.files import locked, remove_parts, replacing
from .._support.monitor import watch
from .console import Console
from .files import ViewFiles, read_views
from .outputs import MANIFEST, Outputs, open_outputs
from .pictures import figures_closed, prepare_pictures
from .write_back import WriteBack

_REPORT = "report.html"
_FILES = ("labels.csv", "coordinates.csv", "search.json", "trajectory.json", _REPORT)


@dataclass(frozen=True)
class Job:
    """Arguments of a command.

    `reading` and `building` are the arguments of :func:`read_views` and :func:`build_operators`;
    `fitting` contains the settings of the pipeline.
    """

    files: list[Path]
    output: Path
    reading: Mapping[str, Any]
    building: Mapping[str, Any]
    fitting: FitSettings
    command: str
    with_report: bool
    progress: bool
    # Where to write a copy of the input with the results; None for nowhere.
    write: WriteBack | None = None

    def parameters(self) -> dict[str, Any]:
        """Return all settings by name, for the report."""
        fitting = {field.name: getattr(self.fitting, field.name) for field in fields(self.fitting)}
        return {"files": ", ".join(map(str, self.files)), **self.reading, **self.building, **fitting}


@dataclass(frozen=True)
class Outcome:
    """Results of a job; `ami` is the agreement with the given classes, None if there are none.

    `building` has the arguments of :func:`build_operators` with the values that "auto" stands for. `resolution`
    is that of the communities of the fused graph, None if clusters are found otherwise.
    """

    data: ViewFiles
    ops: OperatorSet
    checked: CheckReport
    building: dict[str, Any]
    fit: Fit
    resolution: float | None
    ami: float | None
    seconds: dict[str, float]

    @property
    def labels(self) -> NDArray[np.int32] | None:
        """The clusters; None if the job computes only coordinates."""
        return None if self.fit.labelling is None else self.fit.labelling.labels

    @cached_property
    def confidence(self) -> NDArray[np.float64] | None:
        """How clearly each sample belongs to its cluster; None for clusters of k-means."""
        if self.fit.result.agreement is not None:
            return self.fit.result.agreement.confidence
        if self.resolution is None or self.labels is None:
            return None
        return neighbor_support(self.labels, self.ops)

    @property
    def n_ignored(self) -> int:
        """Number of samples whose class does not count."""
        return 0 if self.data.is_scored is None else int((~self.data.is_scored).sum())

    @cached_property
    def sample_weights(self) -> NDArray[np.float64]:
        """Weight of each given view at each sample, an (n_samples, V) array."""
        return sample_weights(self.ops, weights_of_trajectories(self.fit.result.trajectories))

    def agreement_with_classes(self, labels: NDArray[Any]) -> float:
        """Return the adjusted mutual information of labels with the given classes that count."""
        from sklearn.metrics import adjusted_mutual_info_score

        assert self.data.labels is not None
        chosen = self.data.is_scored
        return float(adjusted_mutual_info_score(self.data.labels[chosen], labels[chosen]))


def run(job: Job, console: Console) -> None:
    """Run the job; write its results, then the report."""
    with console.exit_codes(), open_outputs(job.output, _FILES) as outputs:
        if job.with_report:
            prepare_pictures("--report")
        with console.collect_warnings():
            outcome = _compute(job, console)
        _write(outcome, outputs)
        # A report takes long and may fail. Results are in their places before it.
        obsolete = [_REPORT] if job.with_report or _REPORT in outputs.earlier else []
        placed = _publish(job, outcome, outputs, obsolete)
        for name in outputs.earlier:
            if name not in outputs.files and name != _REPORT:
                console.warn(f"{job.output / name} is of an earlier command; {MANIFEST} lists the files of this one")
        console.written = "the results were written, the report was not"
        if job.with_report:
            placed += _report(job, outcome, outputs, console)
        placed.append(job.output / MANIFEST)
        console.print()
        for path in placed:
            console.print(f"wrote {path}")
        console.document(_summary(outcome, console.warnings, placed))


def _publish(job: Job, outcome: Outcome, outputs: Outputs, obsolete: list[str]) -> list[Path]:
    """Move the results to their places; return their paths."""
    if job.write is None:
        return outputs.publish(obsolete=obsolete)
    target = job.write.target
    with _timed(outcome.seconds, "copy of the input"), locked(target):
        remove_parts(target)
        with replacing(target) as part:
            # Complete before anything is moved.
            job.write.write(part, job, outcome)
            placed = outputs.publish(obsolete=obsolete)
    outputs.name_elsewhere(target)
    return [*placed, target]


def _report(job: Job, outcome: Outcome, outputs: Outputs, console: Console) -> list[Path]:
    """Write the report and return its path; one that fails is a warning."""
    from .job_report import write_report

    try:
        with _timed(outcome.seconds, "report"), console.collect_warnings(), figures_closed():
            write_report(job, outcome, console.warnings, outputs.path(_REPORT))
        return outputs.publish()
    except Exception as error:
        outputs.drop(_REPORT)
        console.warn(f"{_REPORT} was not written: {type(error).__name__}: {error}")
        return []


@contextmanager
def _timed(seconds: dict[str, float], stage: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    seconds[stage] = time.perf_counter() - start


def _compute(job: Job, console: Console) -> Outcome:
    settings = job.fitting
    with watch(job.progress, settings.time_limit) as monitor:
        with monitor.stage("reading"):
            data = read_views(job.files, **job.reading)
        monitor.clear()
        _describe_data(data, console)
        resolved = view_parameters(job.building).resolve(
            settings.strategy,
            preset=job.building["preset"],
            n_samples=data.n_samples,
            n_clusters=settings.n_clusters,
            quality=settings.quality,
        )
        building = {**job.building, **resolved}
        how = {"n_jobs": settings.n_jobs, "random_state": settings.random_state, "progress": monitor}
        ops = build_operators(data.checked_views(), **how, **building)
        with monitor.stage("operators"):
            checked = ops.check()
        if settings.n_components is not None:
            # The search does not check n_components, and the embedding checks it only after the search.
            check_integer("n_components", settings.n_components, minimum=1, maximum=ops.n_samples - 1)
        if isinstance(settings.n_clusters, int):
            check_integer("n_clusters", settings.n_clusters, minimum=1, maximum=max(ops.n_samples - 1, 1))

        def observe(result: Any) -> None:
            if (text := _describe(result)) is not None:
                console.print(text)

        fit = fit_operators(ops, settings, monitor, observe)
        monitor.warn_if_late(float(fit.result.history["seconds"].max()))
    seconds = monitor.seconds_of
    resolution = settings.resolution if settings.with_labels and settings.n_clusters is None else None
    outcome = Outcome(data, ops, checked, building, fit, resolution, None, seconds)
    if outcome.labels is None:
        return outcome
    if resolution is not None:
        console.print(f"{outcome.labels.max() + 1} communities of the fused graph at resolution {resolution:g}")
    console.print(f"clusters of {', '.join(map(str, sorted(np.bincount(outcome.labels), reverse=True)))} samples")
    if data.labels is None:
        return outcome
    ami = outcome.agreement_with_classes(outcome.labels)
    n_ignored = outcome.n_ignored
    ignored = f"; {n_ignored:,} of {ops.n_samples:,} samples are left out of it" if n_ignored else ""
    console.print(f"adjusted mutual information with the given classes: {ami:.3f}{ignored}")
    return replace(outcome, ami=ami)


def _describe_data(data: ViewFiles, console: Console) -> None:
    """Print what was read."""
    shapes = ", ".join(f"{name} ({view.shape[1]} columns)" for name, view in data.views.items())
    console.print(f"{data.n_samples:,} samples: {shapes}")
    for name, presence in data.presences.items():
        console.print(f"{name} has {len(presence.samples):,} of the {data.n_samples:,} samples")
    for note in data.notes:
        console.print(note)
    for warning in data.warnings:
        console.warn(warning)


def _describe(result: Any) -> str | None:
    """Return one line about the result of a stage, or None."""
    if isinstance(result, TimeSelection):
        return f"diffusion time {result.t}, the knee of the entropy"
    if isinstance(result, ClusterSelection):
        return f"{result.n_clusters} clusters{'' if result.doubt is None else f', in doubt: {result.doubt}'}"
    if not isinstance(result, SearchResult):
        return None
    stopped = f", stopped by {result.stopped}" if result.stopped else ""
    if result.trajectory is None:
        return f"consensus of {len(result.trajectories)} of {result.n_evaluations} trajectories{stopped}"
    score = f": score {result.score:.6g}, the best of {result.n_evaluations}" if math.isfinite(result.score) else ""
    return f"{result.trajectory!r}{score}{stopped}"


def _write(outcome: Outcome, outputs: Outputs) -> None:
    result, coordinates = outcome.fit.result, outcome.fit.geometry.coordinates
    samples: Sequence[Any] = outcome.data.sample_names or range(len(coordinates))
    if outcome.labels is not None:
        columns = {"sample": samples, "label": outcome.labels.tolist()}
        if outcome.confidence is not None:
            columns["confidence"] = outcome.confidence.tolist()
        outputs.table("labels", list(columns), list(columns.values()))
    names = [f"coordinate {c + 1}" for c in range(coordinates.shape[1])]
    outputs.table("coordinates", ["sample", *names], [samples, *coordinates.T.tolist()])
    result.save(outputs.path("search.json"))
    steps = {"members": outcome.ops.names, **_steps(result)}
    outputs.path("trajectory.json").write_text(json.dumps(steps, indent=2), encoding="utf-8")


def _steps(result: SearchResult) -> dict[str, Any]:
    """Return the JSON values of a trajectory, or of all trajectories of a consensus."""
    if result.trajectory is None:
        return {"sequence": None, "weights": None, "consensus": [W.weights.tolist() for W in result.trajectories]}
    sequence = result.trajectory.sequence
    return {"sequence": None if sequence is None else list(sequence), "weights": result.trajectory.weights.tolist()}


def _summary(outcome: Outcome, warnings: list[str], placed: list[Path]) -> dict[str, Any]:
    result = outcome.fit.result
    steps = _steps(result)
    return {
        "n_samples": outcome.ops.n_samples,
        "views": outcome.data.sources,
        "n_present": dict(zip(outcome.ops.names, outcome.ops.present.sum(axis=0).tolist(), strict=False)),
        "metrics": dict(zip(outcome.ops.given_names, outcome.ops.metrics, strict=False)),
        "scales": dict(zip(outcome.ops.given_names, outcome.ops.scales, strict=False)),
        "notes": outcome.data.notes,
        "modalities": {
            name: {"samples": n.n_samples, "used": n.n_used, "left_out": n.n_left_out}
            for name, n in outcome.data.sample_counts.items()
        },
        "t": result.t,
        "sequence": steps["sequence"],
        "weights": steps["weights"],
        "n_trajectories": len(result.trajectories),
        "score": result.score if math.isfinite(result.score) else None,
        "n_evaluations": result.n_evaluations,
        "stopped": result.stopped,
        "n_clusters": None if outcome.labels is None else int(outcome.labels.max()) + 1,
        "resolution": outcome.resolution,
        "cluster_sizes": None if outcome.labels is None else np.bincount(outcome.labels).tolist(),
        "ami": outcome.ami,
        "n_ignored": outcome.n_ignored,
        "seconds": outcome.seconds,
        "warnings": warnings,
        "files": [str(path) for path in placed],
    }
