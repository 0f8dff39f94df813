"""`mdt-fast demo`: the main job on digits that scikit-learn bundles, compared with every other way to fuse views."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import plot
from .._estimators.mdt import MDTClustering
from .._geometry.time import TimeSelection, select_time
from .._operators.build import build_operators
from .._operators.operator_set import OperatorSet
from ..baselines import make
from ..datasets import load_multiview_digits
from ..quality._scores import calinski_harabasz
from .console import Console
from .html_report import HtmlReport
from .outputs import Outputs, open_outputs
from .pictures import figures_closed, prepare_pictures

N_CLUSTERS = 10
# Random trajectories that others are measured against.
N_RANDOM = 10
_MEASURES = (
    "AMI: agreement with the true digits, which no method saw (1 is perfect). CH: fit of the clusters to the views. "
    f"PRR: AMI relative to the mean of {N_RANDOM} random trajectories."
)
_BASELINES = ("AD", "p-AD", "ID", "MVD", "CrD", "mean", "AA")
_STRATEGIES = ("convex", "beam", "direct")


@dataclass(frozen=True)
class Row:
    """How one method did."""

    method: str
    group: str
    ami: float
    ch: float
    seconds: float
    estimator: Any


def run(output: Path, seed: int, n_jobs: int | None, command: str, console: Console) -> None:
    """Do the demonstration; pictures and the report appear at the end."""
    with console.exit_codes(), open_outputs(output) as outputs:
        prepare_pictures("mdt-fast demo")
        digits = load_multiview_digits(kind="features")
        views = dict(zip(digits.view_names, digits.views, strict=True))
        console.say(f"{digits.DESCR}\n")
        with console.collect_warnings():
            ops = build_operators(views, n_jobs=n_jobs)
            checked = ops.check(warn=False)
            console.say(f"{checked}\n")
            selection = select_time(ops)
            console.say(f"How long to walk: {selection!r}\n")
            rows = _compare(views, digits.target, ops, selection, seed, n_jobs, console)
        baseline = next(row.ami for row in rows if row.method == "random")
        console.say()
        header = ["method", "kind", "AMI", "CH", "PRR", "seconds"]
        table = [[row.method, row.group, row.ami, row.ch, row.ami / baseline, row.seconds] for row in rows]
        console.table(header, table)
        console.say(f"\n{_MEASURES}")
        beam = next(row.estimator for row in rows if row.method == "beam")
        console.say(f"\nThe best of {beam.search_result_.n_evaluations} words of the beam search: {beam.trajectory_!r}")
        with figures_closed():
            _draw(outputs, views, digits.target, selection, rows, header, table, checked, console.warnings, command)
        placed = outputs.publish()
        pictures = ", ".join(str(path) for path in placed if path.suffix == ".png")
        console.say(f"\nReport: {output / 'report.html'}\nPictures: {pictures}")
        console.document(
            {
                "t": selection.t,
                "trajectory": list(beam.trajectory_.sequence),
                "methods": [dict(zip(header, row, strict=True)) for row in table],
                "files": [str(path) for path in placed],
            }
        )


def _compare(
    views: dict[str, NDArray[Any]],
    target: NDArray[Any],
    ops: OperatorSet,
    selection: TimeSelection,
    seed: int,
    n_jobs: int | None,
    console: Console,
) -> list[Row]:
    """Fit every method and judge its clusters."""
    how: dict[str, Any] = {"n_clusters": N_CLUSTERS, "random_state": seed, "n_jobs": n_jobs}

    def searched(strategy: str, **options: Any) -> Any:
        return MDTClustering(strategy=strategy, t=selection.t, **{**how, **options})

    def judge(name: str, group: str, estimator: Any) -> Row:
        return _judge(name, group, estimator, views, target)

    drawn = [judge("random", "trajectory", searched("random", random_state=seed + draw)) for draw in range(N_RANDOM)]
    agreed = judge("consensus", "trajectory", MDTClustering(**how, verbose=console.shows_progress))
    ami, ch, seconds = (np.mean([getattr(row, name) for row in drawn]) for name in ("ami", "ch", "seconds"))
    return [
        *(judge(name, "one view", make("DM", view=name, **how)) for name in views),
        *(judge(name, "baseline", make(name, **how)) for name in _BASELINES),
        Row("random", "trajectory", float(ami), float(ch), float(seconds), drawn[0].estimator),
        *(judge(name, "trajectory", searched(name, verbose=console.shows_progress)) for name in _STRATEGIES),
        # The default, with a kernel and a score of its own: fit to the views is measured as for the others.
        replace(agreed, ch=calinski_harabasz(ops, agreed.estimator.labels_)),
    ]


def _judge(name: str, group: str, estimator: Any, views: dict[str, NDArray[Any]], target: NDArray[Any]) -> Row:
    from sklearn.metrics import adjusted_mutual_info_score

    start = time.perf_counter()
    labels = estimator.fit_predict(views)
    seconds = time.perf_counter() - start
    agreement = float(adjusted_mutual_info_score(target, labels))
    return Row(name, group, agreement, estimator.score_, seconds, estimator)


def _draw(
    outputs: Outputs,
    views: dict[str, NDArray[Any]],
    target: NDArray[Any],
    selection: TimeSelection,
    rows: list[Row],
    header: list[str],
    table: list[list[Any]],
    checked: Any,
    warnings: list[str],
    command: str,
) -> None:
    """Draw the pictures, and bind them with the tables into the report."""
    by_name = {row.method: row.estimator for row in rows}
    beam = by_name["beam"]
    groups = {row.method: row.group for row in rows}
    coordinates = beam.embedding_
    report = HtmlReport(
        "Handwritten digits, seen in three ways",
        subtitle=f"{len(target):,} digits in {len(views)} views; {N_CLUSTERS} clusters, found without their names.",
    )
    report.section("What was run")
    report.code(command)
    report.parameters({"views": ", ".join(views), **beam.get_params()})
    report.warnings([*checked.warnings, *(w for w in warnings if w not in checked.warnings)])
    report.section("How every method did")
    report.table(
        header,
        table,
        caption=_MEASURES,
        best={"AMI": "max", "CH": "max", "PRR": "max"},
    )

    def add(name: str, ax: Any, caption: str) -> None:
        ax.figure.savefig(outputs.path(f"{name}.png"), dpi=150)
        report.figure(ax, caption)

    agreement = {row.method: row.ami for row in rows}
    add("scores", plot.scores(agreement, groups=groups, label="AMI"), "Each view alone, and each fusion.")
    ratios = {row[0]: row[4] for row in table if row[0] != "random"}
    add("prr", plot.prr(ratios), "The same relative to random trajectories.")
    report.section("How long to walk")
    add("time", plot.entropy(selection), "Entropy of the singular values over time; the knee is the diffusion time.")
    report.section("Which way")
    add("tree", plot.tree(beam.search_result_), "Every trajectory of the beam search, from the middle outwards.")
    add(
        "weights",
        plot.weights(by_name["direct"]),
        "The weights that DIRECT found: the share of each view at each step.",
    )
    report.section("What comes out")
    title = "coloured by the true digit"
    add("digits", plot.embedding(coordinates, target, title=title), "The first two coordinates of the beam trajectory.")
    title = "coloured by cluster"
    add("clusters", plot.embedding(coordinates, beam.labels_, title=title), "The same, by the clusters found.")
    report.save(outputs.path("report.html"))
