"""The HTML report of a job: its results and figures, then its settings."""

from __future__ import annotations

import math
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import plot
from .._clusters.agreement import Agreement
from .._fusion.view_weights import cluster_means
from .._search.search import search
from .._search.view_report import ViewReport, view_report
from .html_report import HtmlReport
from .job_map import MOST_PANELS, SampleMap, draw_weights, map_of

if TYPE_CHECKING:
    from .job import Job, Outcome

_METHODS = {"umap": "UMAP", "tsne": "t-SNE"}
# Lower bounds of the intervals in the table of confidences.
_FIFTHS = (0.0, 0.2, 0.4, 0.6, 0.8)
# A longer table of clusters is folded, so that the map is not far below it.
_MOST_CLUSTERS = 30


def write_report(job: Job, outcome: Outcome, warnings: list[str], path: Path) -> None:
    """Write the report of a job as one HTML file: what came out first, the parameters last."""
    result, selection, labels = outcome.fit.result, outcome.fit.selection, outcome.labels
    kind = "Clusters" if labels is not None else "Embedding"
    report = HtmlReport(
        f"{kind} of {outcome.ops.n_samples:,} samples in {len(outcome.data.views)} views",
        subtitle=_subtitle(outcome),
    )
    # A single cluster says nothing about the views, nor do clusters of one sample each.
    n_clusters = 0 if labels is None else int(labels.max()) + 1
    has_clusters = 1 < n_clusters < outcome.ops.n_samples
    views = _report_on_views(job, outcome) if has_clusters else None
    report.warnings([*warnings, *([] if views is None else views.findings)])
    placed = map_of(outcome, job.fitting.random_state)
    if labels is not None:
        report.section("Clusters")
        _add_clusters(report, outcome, labels)
    report.section("Map")
    _add_map(report, outcome, placed)
    if labels is None:
        report.section("Coordinates")
        coordinates, classes = outcome.fit.geometry.coordinates, outcome.data.labels
        caption = "The first coordinates" + ("." if classes is None else ", coloured by the given classes.")
        report.figure(plot.embedding(coordinates, classes), caption)
    if views is not None or outcome.sample_weights.shape[1] > 1:
        report.section("Which views matter")
        _add_weights(report, outcome, placed)
        if views is not None:
            _add_views(report, views)
        if result.agreement is not None:
            _add_members(report, outcome, result.agreement)
    if labels is not None:
        report.section("How sure the clusters are")
        _add_confidence(report, outcome, placed)
    if has_clusters:
        report.section("Each view alone, and together")
        _add_comparison(report, job, outcome)
    if result.agreement is None:
        report.section("Trajectory")
        _add_trajectory(report, outcome)
    if selection is not None:
        report.section("Diffusion time")
        caption = "Entropy of the singular values over time; the knee is the diffusion time."
        report.figure(plot.entropy(selection), caption)
    report.section("What was run")
    _add_run(report, job, outcome)
    report.save(path)


def _subtitle(outcome: Outcome) -> str:
    result, labels = outcome.fit.result, outcome.labels
    if outcome.resolution is not None and labels is not None:
        return f"{labels.max() + 1} communities of the fused graph at resolution {outcome.resolution:g}."
    if result.trajectory is None:
        found = f"the consensus of {len(result.trajectories)} of {result.n_evaluations} random trajectories"
    else:
        found = f"the trajectory {result.trajectory!r}, found by strategy {result.strategy!r}"
    if labels is None:
        return f"Coordinates along {found}."
    sizes = np.bincount(labels)
    count = "1 cluster" if len(sizes) == 1 else f"{len(sizes)} clusters of {sizes.min():,} to {sizes.max():,} samples"
    return f"{count}, from {found}."


def _report_on_views(job: Job, outcome: Outcome) -> ViewReport:
    result, settings = outcome.fit.result, job.fitting
    return view_report(
        outcome.ops,
        labels=outcome.labels,
        t=result.t or len(result.trajectories[0]),
        random_state=settings.random_state,
        n_jobs=settings.n_jobs,
    )


def _add_clusters(report: HtmlReport, outcome: Outcome, labels: NDArray[np.int32]) -> None:
    """Add the sizes of the clusters, the mean weights of the views in them, and their mean confidence."""
    names, sizes = outcome.ops.given_names, np.bincount(labels)
    columns: dict[str, list[Any]] = {"cluster": [str(c) for c in range(len(sizes))], "samples": sizes.tolist()}
    meanings = ["Samples of each cluster."]
    if outcome.confidence is not None:
        columns["confidence"] = (np.bincount(labels, weights=outcome.confidence) / np.maximum(sizes, 1)).tolist()
        meanings.append("The confidence is the mean over the samples.")
    if len(names) > 1:
        means = cluster_means(outcome.sample_weights, labels)
        columns |= {f"weight of {name}": means[:, view].tolist() for view, name in enumerate(names)}
        meanings.append("The mean weight of a view is low where the view is noise for a cluster.")
    rows = [list(row) for row in zip(*columns.values(), strict=True)]
    with report.folded(f"All {len(sizes)} clusters") if len(sizes) > _MOST_CLUSTERS else nullcontext():
        report.table(list(columns), rows, caption=" ".join(meanings))


def _add_map(report: HtmlReport, outcome: Outcome, found: SampleMap) -> None:
    """Add the map of the samples, coloured by clusters and classes."""
    of_which = "." if found.is_complete else f", of {len(found.samples):,} samples drawn at random."
    meaning = (
        f"Neighbours in the graph of all views are close ({_METHODS[found.method]}). Distances between groups and "
        "their sizes have no meaning."
    )
    colorings: dict[str, Any] = {}
    if outcome.labels is not None:
        colorings["clusters"] = outcome.labels
    if outcome.data.labels is not None:
        colorings["given classes"] = outcome.data.labels
    for name, labels in colorings.items():
        ax = plot.map(found.points, labels[found.samples], title=f"coloured by {name}")
        report.figure(ax, f"Map of the samples, coloured by {name}{of_which} {meaning}")
        meaning = ""
    if not colorings:
        report.figure(plot.map(found.points), f"Map of the samples{of_which} {meaning}")


def _add_weights(report: HtmlReport, outcome: Outcome, found: SampleMap) -> None:
    """Add the map of the samples, coloured by the weight of each view."""
    weights, names = outcome.sample_weights, outcome.ops.given_names
    if len(names) == 1:
        return
    left_out = "" if len(names) <= MOST_PANELS else f" The first {MOST_PANELS} of {len(names)} views are shown."
    report.figure(
        draw_weights(found.points, weights[found.samples], names),
        "Weight of each view at each sample: how well it describes the neighbourhood. A view has a low weight "
        f"where samples lie farther apart than is usual in it; equal weights are {1 / len(names):.2f}.{left_out}",
    )


def _add_views(report: HtmlReport, found: ViewReport) -> None:
    columns = [found.stay, found.alone, found.own, found.adds, found.scores, found.weights]
    numbers = np.column_stack(columns).tolist()
    report.table(
        ["view", "stay", "alone", "own", "adds", "score", "weight", "own clusters", "remark"],
        [
            [name, *(None if math.isnan(value) else value for value in row), int(n_own), remark]
            for name, row, n_own, remark in zip(found.names, numbers, found.n_own, found.remark, strict=True)
        ],
        caption="Each view and the clusters. stay: probability above chance that a moving step stays in its cluster; "
        "alone: AMI of the clusters of this view alone with the clusters; own: stability of its own clusters, whatever "
        "the clusters are; adds: share of the information about the clusters that the other views lack; score: "
        f"information of its own clusters on all views (the clusters: {found.score:.4f}); weight: suggested weight of "
        "the view; own clusters: their number for which own is given.",
    )
    report.figure(plot.views(found), "The same numbers for each view.")


def _add_members(report: HtmlReport, outcome: Outcome, agreement: Agreement) -> None:
    names = outcome.ops.names
    shares = np.mean([trajectory.weights[0] for trajectory in agreement.trajectories], axis=0)
    before = "all members have equal mean weights"
    if outcome.ops.joint is not None:
        before = "the joint view has the mean weight 0.5 and the others have equal parts of the rest"
    report.table(
        ["member", "mean weight"],
        [[name, float(share)] for name, share in zip(names, shares, strict=True)],
        caption=f"Mean over the combined trajectories; before the selection {before}.",
    )


def _add_confidence(report: HtmlReport, outcome: Outcome, found: SampleMap) -> None:
    confidence = outcome.confidence
    if confidence is None:
        report.text(
            "The clusters of a single trajectory have no confidence. Those of a consensus (the default strategy) and "
            "communities have one."
        )
        return
    ax = plot.map(found.points, confidence[found.samples], title="coloured by confidence", vmin=0, vmax=1)
    supporters = "views" if outcome.resolution is not None else "trajectories and the views"
    report.figure(
        ax,
        f"Confidence of each sample: how clearly the {supporters} support its cluster, from 0 to 1. It is not the "
        "probability of a class.",
    )
    report.table(
        ["confidence", "samples"],
        [
            [f"{low:.1f} to {low + 0.2:.1f}", int(((confidence > low) & (confidence <= low + 0.2)).sum())]
            for low in _FIFTHS
        ],
    )


def _add_trajectory(report: HtmlReport, outcome: Outcome) -> None:
    result = outcome.fit.result
    report.figure(plot.weights(result), "Weight of each member at each step; the first step is on the left.")
    if result.n_evaluations > 1 and all(isinstance(candidate, tuple) for candidate in result.candidates):
        report.figure(plot.tree(result), "All evaluated sequences; the radius is the length.")
        depths = np.unique(result.history["depth"])
        best = [result.history["score"][result.history["depth"] == depth].max() for depth in depths]
        if len(depths) > 1 and np.isfinite(best).all():
            selected = len(result.trajectories[0])
            picture = plot.quality(depths, {"best sequence": best}, selected=selected, label="score")
            report.figure(picture, "The best score among the sequences of each length.")


def _add_comparison(report: HtmlReport, job: Job, outcome: Outcome) -> None:
    """Compare the result with each view alone and the mean of all views, at the same length."""
    ops, result, settings = outcome.ops, outcome.fit.result, job.fitting
    steps = result.t or 1 if result.trajectory is None else len(result.trajectory)
    names = ops.names[: ops.n_views]
    trajectories: dict[str, Any] = {name: [view] * steps for view, name in enumerate(names)}
    trajectories["mean of the views"] = np.full((steps, len(ops)), 1 / len(ops))
    if result.trajectory is not None and outcome.resolution is None:
        trajectories["found"] = result.trajectory
    # The result has the name of the quality that "auto" stands for. Communities are scored by their information.
    is_graph = outcome.resolution is not None
    options = {"quality": "information" if is_graph else result.quality, "view_weights": settings.view_weights}
    n_clusters = result.settings["n_clusters"]
    if is_graph and outcome.labels is not None:
        n_clusters = int(outcome.labels.max()) + 1
    scores, agreements = {}, {}
    for name, trajectory in trajectories.items():
        found = search(
            ops, n_clusters, strategy=trajectory, progress=False, random_state=settings.random_state, **options
        )
        scores[name] = found.score
        if outcome.data.labels is not None and found.labels is not None:
            agreements[name] = outcome.agreement_with_classes(found.labels)
    name = "communities" if is_graph else "consensus"
    if result.trajectory is None or is_graph:
        assert outcome.fit.labelling is not None
        scores[name] = outcome.fit.labelling.score
        if outcome.ami is not None:
            agreements[name] = outcome.ami
    groups = {name: "one view" if name in ops.given_names else "fusion" for name in scores}
    report.figure(
        plot.scores(scores, groups=groups, label="score"),
        f"Scores, on all views, of the clusters of each view alone and of fusions (number of steps: {steps}).",
    )
    if agreements:
        report.figure(
            plot.scores(agreements, groups=groups, label="AMI"),
            "Adjusted mutual information of the same clusters with the given classes"
            + (f", without {outcome.n_ignored:,} samples of ignored classes." if outcome.n_ignored else "."),
        )


def _add_run(report: HtmlReport, job: Job, outcome: Outcome) -> None:
    """Add the command, and what only few readers need: the parameters, the views as they were read, the times."""
    data, selection = outcome.data, outcome.fit.selection
    report.code(job.command)
    for note in data.notes:
        report.text(note)
    if data.sample_counts:
        report.table(
            ["modality", "samples", "used", "left out"],
            [[name, n.n_samples, n.n_used, n.n_left_out] for name, n in data.sample_counts.items()],
            caption="Samples of each modality, and how many of them are used.",
        )
    chosen = {} if selection is None else {"t": f"auto: {selection.t}"}
    if outcome.resolution is not None:
        chosen["n_clusters"] = "none"
    with report.folded("Parameters"):
        report.parameters({**job.parameters(), **chosen})
    with report.folded("Views and their random walks"):
        made = zip(outcome.ops.metrics, outcome.ops.scales, outcome.ops.present.sum(axis=0), strict=True)
        views = [
            (name, data.sources[name], int(view.shape[1]), int(n_present), metric, "no" if scale is None else scale)
            for (name, view), (metric, scale, n_present) in zip(data.views.items(), made, strict=False)
        ]
        report.table(["view", "source", "columns", "samples", "metric", "scaled"], views)
        report.table(
            ["member", "stays put", "parts", "isolated", "duplicates"],
            [
                [m.name, m.mean_self_probability, m.n_components, m.n_isolated, m.n_duplicates]
                for m in outcome.checked.members
            ],
            caption="The random walk of each member of the operator set.",
        )
    with report.folded("Seconds of each stage"):
        report.table(["stage", "seconds"], [[stage, seconds] for stage, seconds in outcome.seconds.items()])
