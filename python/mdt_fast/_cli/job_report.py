"""The report of a job: what was run, what was found, and pictures of it."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import plot
from .._clusters.agreement import Agreement
from .._search.result import SearchResult
from .._search.search import search
from .._search.view_report import view_report
from .html_report import HtmlReport

if TYPE_CHECKING:
    from .job import Job, Outcome

# Where the fifths of a confidence begin.
_FIFTHS = (0.0, 0.2, 0.4, 0.6, 0.8)


def write_report(job: Job, outcome: Outcome, warnings: list[str], path: Path) -> None:
    """Write the report of a job as one HTML file."""
    result, data = outcome.result, outcome.data
    kind = "Clusters" if outcome.labels is not None else "Embedding"
    report = HtmlReport(
        f"{kind} of {outcome.ops.n_samples:,} samples in {len(data.views)} views",
        subtitle=_subtitle(result),
    )
    report.section("What was run")
    report.code(job.command)
    chosen = {} if outcome.selection is None else {"t": f"auto: {outcome.selection.t}"}
    report.parameters({**job.parameters(), **chosen})
    report.table(["stage", "seconds"], [[stage, seconds] for stage, seconds in outcome.seconds.items()])
    report.section("Views")
    views = [(name, data.sources[name], int(view.shape[1])) for name, view in data.views.items()]
    report.table(["view", "from", "columns"], views)
    report.table(
        ["member", "stays put", "parts", "isolated", "duplicates"],
        [
            [m.name, m.mean_self_probability, m.n_components, m.n_isolated, m.n_duplicates]
            for m in outcome.checked.members
        ],
        caption="The random walk of each view.",
    )
    if outcome.labels is not None:
        _add_views(report, job, outcome)
    report.warnings(warnings)
    if outcome.selection is not None:
        report.section("Diffusion time")
        report.figure(
            plot.entropy(outcome.selection), "Entropy of the singular values over time; the knee is the time."
        )
    if result.agreement is not None:
        report.section("Consensus")
        _add_consensus(report, outcome, result.agreement)
    else:
        report.section("Trajectory")
        _add_trajectory(report, outcome)
    if outcome.labels is not None:
        report.section("Clusters")
        sizes = np.bincount(outcome.labels)
        report.table(["cluster", "samples"], [[str(c), int(size)] for c, size in enumerate(sizes)])
    else:
        report.section("Coordinates")
    _add_embedding(report, outcome)
    if outcome.labels is not None:
        _add_comparison(report, job, outcome)
    report.save(path)


def _subtitle(result: SearchResult) -> str:
    if result.trajectory is None:
        return f"What {len(result.members)} of {result.n_evaluations} random trajectories agree on."
    return f"The trajectory {result.trajectory!r} was found by strategy {result.strategy!r}."


def _add_views(report: HtmlReport, job: Job, outcome: Outcome) -> None:
    result = outcome.result
    found = view_report(
        outcome.ops,
        labels=outcome.labels,
        t=result.t or len(result.members[0]),
        random_state=job.seed,
        n_jobs=job.n_jobs,
    )
    numbers = np.column_stack([found.stay, found.alone, found.adds, found.weights]).tolist()
    report.table(
        ["view", "stay", "alone", "adds", "weight", "remark"],
        [
            [name, *(None if math.isnan(value) else value for value in row), remark]
            for name, row, remark in zip(found.names, numbers, found.remark, strict=True)
        ],
        caption="What each view says about the clusters. stay: how much more often than by chance a step that moves "
        "stays in its cluster; alone: agreement (AMI) of the clusters of this view alone; adds: how much the clusters "
        "of the mean of all views change without it; weight: how much to trust it.",
    )
    report.figure(plot.views(found), "The same numbers for each view.")


def _add_consensus(report: HtmlReport, outcome: Outcome, agreement: Agreement) -> None:
    names = outcome.ops.names
    shares = np.mean([each.weights[0] for each in agreement.trajectories], axis=0)
    report.table(
        ["member", "mean weight"],
        [[name, float(share)] for name, share in zip(names, shares, strict=True)],
        caption="Among the trajectories that were kept; those that were drawn have equal ones.",
    )
    sureness = agreement.confidence
    report.table(
        ["confidence", "samples"],
        [[f"{low:.1f} to {low + 0.2:.1f}", int(((sureness > low) & (sureness <= low + 0.2)).sum())] for low in _FIFTHS],
        caption="The share of its cluster that members put together with a sample, on average.",
    )


def _add_trajectory(report: HtmlReport, outcome: Outcome) -> None:
    result = outcome.result
    report.figure(plot.weights(result), "The share of each view at each step; the first step is on the left.")
    is_search = result.n_evaluations > 1
    if is_search and all(isinstance(candidate, tuple) for candidate in result.candidates):
        report.figure(plot.tree(result), "Every trajectory that was looked at, from the middle outwards.")
        depths = np.unique(result.history["depth"])
        best = [result.history["score"][result.history["depth"] == depth].max() for depth in depths]
        if len(depths) > 1 and np.isfinite(best).all():
            selected = len(result.members[0])
            picture = plot.quality(depths, {"best word": best}, selected=selected, label="score")
            report.figure(picture, "The best score among words of each length.")


def _add_embedding(report: HtmlReport, outcome: Outcome) -> None:
    coordinates = outcome.coordinates
    colorings: dict[str, Any] = {}
    if outcome.labels is not None:
        colorings["clusters"] = outcome.labels
    if outcome.data.labels is not None:
        colorings["given classes"] = outcome.data.labels
    for name, labels in (colorings or {"": None}).items():
        title = f"coloured by {name}" if name else None
        report.figure(
            plot.embedding(coordinates, labels, title=title),
            f"The first coordinates{', ' if name else ''}{title or ''}.",
        )


def _add_comparison(report: HtmlReport, job: Job, outcome: Outcome) -> None:
    """Each view alone, walked as long, and the mean of all, beside what was found."""
    ops, result = outcome.ops, outcome.result
    steps = result.t or 1 if result.trajectory is None else len(result.trajectory)
    ways: dict[str, Any] = {name: [view] * steps for view, name in enumerate(ops.names[: ops.n_views])}
    ways["mean of the views"] = np.full((steps, len(ops)), 1 / len(ops))
    if result.trajectory is not None:
        ways["found"] = result.trajectory
    names = ops.names[: ops.n_views]
    options = {key: job.searching[key] for key in ("view_weights",) if key in job.searching}
    # What was scored, where "auto" depends on the strategy.
    options["quality"] = result.quality
    scores, agreements = {}, {}
    for name, way in ways.items():
        judged = search(
            ops, result.settings["n_clusters"], strategy=way, random_state=job.seed, progress=False, **options
        )
        scores[name] = judged.score
        if outcome.data.labels is not None:
            from sklearn.metrics import adjusted_mutual_info_score

            agreements[name] = float(adjusted_mutual_info_score(outcome.data.labels, judged.labels))
    if result.trajectory is None:
        scores["consensus"] = result.score
        if outcome.agreement is not None:
            agreements["consensus"] = outcome.agreement
    groups = {name: "one view" if name in names else "fusion" for name in scores}
    report.section("Each view alone, and together")
    report.figure(
        plot.scores(scores, groups=groups, label="score"),
        f"How well the clusters of each view alone, after as many steps ({steps}), and of fusions fit all views.",
    )
    if agreements:
        report.figure(
            plot.scores(agreements, groups=groups, label="AMI"),
            "Agreement of the same clusters with the given classes.",
        )
