"""The HTML report of a job: settings, results and figures."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import plot
from .._clusters.agreement import Agreement
from .._fusion.view_weights import cluster_means
from .._search.search import search
from .._search.view_report import view_report
from .html_report import HtmlReport
from .job_map import MOST_PANELS, draw_weights, map_of

if TYPE_CHECKING:
    from .job import Job, Outcome

_METHODS = {"umap": "UMAP", "tsne": "t-SNE"}
# Lower bounds of the intervals in the table of confidences.
_FIFTHS = (0.0, 0.2, 0.4, 0.6, 0.8)


def write_report(job: Job, outcome: Outcome, warnings: list[str], path: Path) -> None:
    """Write the report of a job as one HTML file."""
    result, data, selection = outcome.fit.result, outcome.data, outcome.fit.selection
    kind = "Clusters" if outcome.labels is not None else "Embedding"
    report = HtmlReport(
        f"{kind} of {outcome.ops.n_samples:,} samples in {len(data.views)} views",
        subtitle=_subtitle(outcome),
    )
    report.section("Map")
    _add_map(report, job, outcome)
    report.section("What was run")
    report.code(job.command)
    chosen = {} if selection is None else {"t": f"auto: {selection.t}"}
    if outcome.resolution is not None:
        chosen["n_clusters"] = "none"
    report.parameters({**job.parameters(), **chosen})
    report.table(["stage", "seconds"], [[stage, seconds] for stage, seconds in outcome.seconds.items()])
    report.section("Views")
    made = zip(outcome.ops.metrics, outcome.ops.scales, outcome.ops.present.sum(axis=0), strict=True)
    views = [
        (name, data.sources[name], int(view.shape[1]), int(n_present), metric, "no" if scale is None else scale)
        for (name, view), (metric, scale, n_present) in zip(data.views.items(), made, strict=False)
    ]
    report.table(["view", "source", "columns", "samples", "metric", "scaled"], views)
    for note in data.notes:
        report.text(note)
    if data.sample_counts:
        report.table(
            ["modality", "samples", "used", "left out"],
            [[name, n.n_samples, n.n_used, n.n_left_out] for name, n in data.sample_counts.items()],
            caption="Samples of each modality, and how many of them are used.",
        )
    report.table(
        ["member", "stays put", "parts", "isolated", "duplicates"],
        [
            [m.name, m.mean_self_probability, m.n_components, m.n_isolated, m.n_duplicates]
            for m in outcome.checked.members
        ],
        caption="The random walk of each member of the operator set.",
    )
    # A single cluster says nothing about the views, nor do clusters of one sample each.
    n_clusters = 0 if outcome.labels is None else int(outcome.labels.max()) + 1
    has_clusters = 1 < n_clusters < outcome.ops.n_samples
    findings = _add_views(report, job, outcome) if has_clusters else []
    report.warnings([*warnings, *findings])
    if selection is not None:
        report.section("Diffusion time")
        caption = "Entropy of the singular values over time; the knee is the diffusion time."
        report.figure(plot.entropy(selection), caption)
    if result.agreement is not None:
        report.section("Consensus")
        _add_consensus(report, outcome, result.agreement)
    else:
        report.section("Trajectory")
        _add_trajectory(report, outcome)
    if outcome.labels is not None:
        report.section("Clusters")
        _add_clusters(report, outcome, outcome.labels)
    else:
        report.section("Coordinates")
        coordinates, classes = outcome.fit.geometry.coordinates, outcome.data.labels
        caption = "The first coordinates" + ("." if classes is None else ", coloured by the given classes.")
        report.figure(plot.embedding(coordinates, classes), caption)
    if has_clusters:
        _add_comparison(report, job, outcome)
    report.save(path)


def _subtitle(outcome: Outcome) -> str:
    result = outcome.fit.result
    if outcome.resolution is not None and outcome.labels is not None:
        return f"{outcome.labels.max() + 1} communities of the fused graph at resolution {outcome.resolution:g}."
    if result.trajectory is None:
        return f"The consensus of {len(result.trajectories)} of {result.n_evaluations} random trajectories."
    return f"The trajectory {result.trajectory!r} was found by strategy {result.strategy!r}."


def _add_views(report: HtmlReport, job: Job, outcome: Outcome) -> list[str]:
    """Add the report on the views and return its findings."""
    result, settings = outcome.fit.result, job.fitting
    found = view_report(
        outcome.ops,
        labels=outcome.labels,
        t=result.t or len(result.trajectories[0]),
        random_state=settings.random_state,
        n_jobs=settings.n_jobs,
    )
    columns = [found.stay, found.alone, found.own, found.adds, found.scores, found.weights]
    numbers = np.column_stack(columns).tolist()
    report.table(
        ["view", "stay", "alone", "own", "adds", "score", "weight", "own clusters", "remark"],
        [
            [name, *(None if math.isnan(value) else value for value in row), int(n_own), remark]
            for name, row, n_own, remark in zip(found.names, numbers, found.n_own, found.remark, strict=True)
        ],
        caption="What each view knows. stay: probability above chance that a moving step stays in its cluster; alone: "
        "AMI of the clusters of this view alone with the clusters; own: stability of its own clusters, whatever the "
        "clusters are; adds: share of the information about the clusters that the other views lack; score: information "
        f"of its own clusters on all views (the clusters: {found.score:.4f}); weight: suggested weight of the view; "
        "own clusters: their number for which own is given.",
    )
    report.figure(plot.views(found), "The same numbers for each view.")
    return found.findings


def _add_consensus(report: HtmlReport, outcome: Outcome, agreement: Agreement) -> None:
    names = outcome.ops.names
    shares = np.mean([trajectory.weights[0] for trajectory in agreement.trajectories], axis=0)
    report.table(
        ["member", "mean weight"],
        [[name, float(share)] for name, share in zip(names, shares, strict=True)],
        caption="Mean over the combined trajectories; before the selection all members have equal mean weights.",
    )
    confidence = agreement.confidence
    report.table(
        ["confidence", "samples"],
        [
            [f"{low:.1f} to {low + 0.2:.1f}", int(((confidence > low) & (confidence <= low + 0.2)).sum())]
            for low in _FIFTHS
        ],
        caption="The confidence of a sample is the share of its cluster that a trajectory assigns to the same cluster "
        "as the sample, averaged over the trajectories.",
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


def _add_map(report: HtmlReport, job: Job, outcome: Outcome) -> None:
    """Add the map of the samples, coloured by clusters and classes, and by the weights of the views."""
    found = map_of(outcome, job.fitting.random_state)
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
    weights = outcome.sample_weights
    if weights.shape[1] > 1:
        names = outcome.ops.given_names
        picture = draw_weights(found.points, weights[found.samples], names)
        left_out = "" if len(names) <= MOST_PANELS else f" The first {MOST_PANELS} of {len(names)} views are shown."
        report.figure(
            picture,
            "Weight of each view at each sample: how well it describes the neighbourhood. A view has a low weight "
            f"where samples lie farther apart than is usual in it; equal weights are {1 / len(names):.2f}.{left_out}",
        )


def _add_clusters(report: HtmlReport, outcome: Outcome, labels: NDArray[np.int32]) -> None:
    """Add the sizes of the clusters and the mean weights of the views in them."""
    names, sizes = outcome.ops.given_names, np.bincount(labels)
    if len(names) == 1:
        report.table(["cluster", "samples"], [[str(c), int(size)] for c, size in enumerate(sizes)])
        return
    means = cluster_means(outcome.sample_weights, labels)
    report.table(
        ["cluster", "samples", *(f"weight of {name}" for name in names)],
        [[str(c), int(size), *map(float, weights)] for c, (size, weights) in enumerate(zip(sizes, means, strict=True))],
        caption="Samples of each cluster, and the mean weights of the views at them. A view that is noise for a "
        "cluster has a low weight there.",
    )


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
    report.section("Each view alone, and together")
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
