"""The command `mdt-fast demo`: a comparison of methods on the digits of scikit-learn."""

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import plot
from .._estimators.mdt import MDTClustering
from .._fusion.layout import layout
from .._geometry.time import TimeSelection, select_time
from .._operators.build import build_operators
from .._operators.checks import CheckReport
from .._operators.operator_set import OperatorSet
from .._search.view_report import view_report
from ..baselines import make
from ..datasets import load_multiview_digits
from ..quality import calinski_harabasz
from .console import Console
from .html_report import HtmlReport
from .outputs import MANIFEST, Outputs, open_outputs
from .pictures import figures_closed, prepare_pictures

N_CLUSTERS = 10
# Number of random trajectories; their mean AMI is the reference of the PRR.
N_RANDOM = 10
_HEADER = ("method", "kind", "AMI", "CH", "PRR", "seconds")
_MEASURES = (
    "AMI: adjusted mutual information with the true digits, which no method uses (1 is perfect). "
    "CH: Calinski-Harabasz score of the clusters on the views. "
    f"PRR: AMI divided by the mean AMI of {N_RANDOM} random trajectories."
)
_BASELINES = ("AD", "p-AD", "ID", "MVD", "CrD", "mean", "AA")
_STRATEGIES = ("convex", "beam", "direct")


@dataclass(frozen=True)
class Row:
    """The result of one method."""

    method: str
    group: str
    ami: float
    ch: float
    seconds: float
    estimator: Any


@dataclass(frozen=True)
class Comparison:
    """The data and the results of all methods."""

    views: dict[str, NDArray[Any]]
    target: NDArray[Any]
    checked: CheckReport
    selection: TimeSelection
    rows: list[Row]

    def row(self, method: str) -> Row:
        """Return the result of a method."""
        return next(row for row in self.rows if row.method == method)

    def table(self) -> list[list[Any]]:
        """Return the rows of the table with the columns `_HEADER`."""
        reference = self.row("random").ami
        return [[row.method, row.group, row.ami, row.ch, row.ami / reference, row.seconds] for row in self.rows]


def run(output: Path, seed: int, n_jobs: int | None, command: str, console: Console) -> None:
    """Run the demonstration; write the figures and the report at the end."""
    with console.exit_codes(), open_outputs(output) as outputs:
        prepare_pictures("mdt-fast demo")
        digits = load_multiview_digits(kind="features")
        views = dict(zip(digits.view_names, digits.views, strict=True))
        console.print(f"{digits.DESCR}\n")
        with console.collect_warnings():
            ops = build_operators(views, n_jobs=n_jobs)
            checked = ops.check(warn=False)
            console.print(f"{checked}\n")
            selection = select_time(ops)
            console.print(f"Diffusion time: {selection!r}\n")
            rows = _evaluate(views, digits.target, ops, selection.t, seed, n_jobs, console)
        comparison = Comparison(views, digits.target, checked, selection, rows)
        console.print()
        console.table(_HEADER, comparison.table())
        console.print(f"\n{_MEASURES}")
        beam = comparison.row("beam").estimator
        console.print(
            f"\nThe best of {beam.search_result_.n_evaluations} sequences of the beam search: {beam.trajectory_!r}"
        )
        with figures_closed():
            _write_report(comparison, outputs, console.warnings, command)
        placed = [*outputs.publish(), output / MANIFEST]
        pictures = ", ".join(str(path) for path in placed if path.suffix == ".png")
        console.print(f"\nReport: {output / 'report.html'}\nPictures: {pictures}")
        console.document(
            {
                "t": selection.t,
                "trajectory": list(beam.trajectory_.sequence),
                "methods": [dict(zip(_HEADER, row, strict=True)) for row in comparison.table()],
                "files": [str(path) for path in placed],
            }
        )


def _evaluate(
    views: dict[str, NDArray[Any]],
    target: NDArray[Any],
    ops: OperatorSet,
    t: int,
    seed: int,
    n_jobs: int | None,
    console: Console,
) -> list[Row]:
    """Fit all methods and score their clusters."""
    from sklearn.metrics import adjusted_mutual_info_score

    common: dict[str, Any] = {"n_clusters": N_CLUSTERS, "random_state": seed, "n_jobs": n_jobs}

    def by_search(strategy: str, **options: Any) -> Any:
        return MDTClustering(strategy=strategy, t=t, **{**common, **options})

    def evaluate(name: str, group: str, estimator: Any) -> Row:
        start = time.perf_counter()
        labels = estimator.fit_predict(views)
        seconds = time.perf_counter() - start
        ami = float(adjusted_mutual_info_score(target, labels))
        return Row(name, group, ami, estimator.score_, seconds, estimator)

    drawn = [evaluate("random", "trajectory", by_search("random", random_state=seed + i)) for i in range(N_RANDOM)]
    consensus = evaluate("consensus", "trajectory", MDTClustering(**common, verbose=console.shows_progress))
    ami, ch, seconds = (np.mean([getattr(row, name) for row in drawn]) for name in ("ami", "ch", "seconds"))
    return [
        *(evaluate(name, "one view", make("DM", view=name, **common)) for name in views),
        *(evaluate(name, "baseline", make(name, **common)) for name in _BASELINES),
        Row("random", "trajectory", float(ami), float(ch), float(seconds), drawn[0].estimator),
        *(evaluate(name, "trajectory", by_search(name, verbose=console.shows_progress)) for name in _STRATEGIES),
        # The consensus has another kernel and score. Its CH is computed on the common operators.
        replace(consensus, ch=calinski_harabasz(ops, consensus.estimator.labels_)),
    ]


def _write_report(comparison: Comparison, outputs: Outputs, warnings: list[str], command: str) -> None:
    """Write the figures, and the report with the figures and the tables."""
    rows, target, table = comparison.rows, comparison.target, comparison.table()
    beam = comparison.row("beam").estimator
    consensus = comparison.row("consensus").estimator
    report = HtmlReport(
        f"Handwritten digits in {len(comparison.views)} views",
        subtitle=f"{len(target):,} digits in {N_CLUSTERS} clusters. The clusters of the consensus have an AMI of "
        f"{comparison.row('consensus').ami:.2f} with the true digits, which no method uses.",
    )

    def add(name: str, ax: Any, caption: str) -> None:
        ax.figure.savefig(outputs.path(f"{name}.png"), dpi=150)
        report.figure(ax, caption)

    checks = comparison.checked.warnings
    report.warnings([*checks, *(warning for warning in warnings if warning not in checks)])
    report.section("Map")
    points = layout(consensus.fused_graph(), random_state=consensus.random_state)
    title = "coloured by cluster"
    add(
        "clusters",
        plot.map(points, consensus.labels_, title=title),
        "Map of the fused graph of the consensus, with its clusters. Neighbours in the graph of all views are close.",
    )
    title = "coloured by the true digit"
    add("digits", plot.map(points, target, title=title), "The same map with the true digits.")
    report.section("Comparison of the methods")
    report.table(_HEADER, table, caption=_MEASURES, best={"AMI": "max", "CH": "max", "PRR": "max"})
    scores, groups = {row.method: row.ami for row in rows}, {row.method: row.group for row in rows}
    add("scores", plot.scores(scores, groups=groups, label="AMI"), "AMI of each view alone and of each fusion.")
    ratios = {row[0]: row[4] for row in table if row[0] != "random"}
    add("prr", plot.prr(ratios), "AMI relative to random trajectories.")
    report.section("Which views matter")
    found = view_report(consensus.operators_, labels=consensus.labels_, t=consensus.t_, n_jobs=consensus.n_jobs)
    add(
        "views",
        plot.views(found),
        "Each view and the clusters of the consensus. stay: probability above chance that a step stays in its cluster; "
        "alone: agreement of the clusters of this view alone; own: stability of its own clusters; adds: share of the "
        "information that the other views lack; weight: suggested weight.",
    )
    report.section("How sure the clusters are")
    add(
        "confidence",
        plot.map(points, consensus.confidence_, title="coloured by confidence", vmin=0, vmax=1),
        "Confidence of each sample: how clearly the trajectories and the views support its cluster, from 0 to 1. It is "
        "not the probability of a digit.",
    )
    report.section("Trajectories")
    add("tree", plot.tree(beam.search_result_), "All sequences of the beam search; the radius is the length.")
    add("weights", plot.weights(comparison.row("direct").estimator), "Weights of the views at each step, by DIRECT.")
    report.section("Diffusion time")
    caption = "Entropy of the singular values over time; the knee is the diffusion time."
    add("time", plot.entropy(comparison.selection), caption)
    report.section("What was run")
    report.code(command)
    with report.folded("Parameters of the beam search"):
        report.parameters({"views": ", ".join(comparison.views), **beam.get_params()})
    report.save(outputs.path("report.html"))
