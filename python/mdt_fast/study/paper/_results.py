"""results.md: the published study as a document, with its tables and figures."""

from __future__ import annotations

from collections.abc import Iterable
from importlib import resources
from pathlib import Path
from string import Template

import numpy as np

from ..._core import __version__
from ..._support.files import replace_file
from .._rows import MEASURES
from .._study import Study
from .._tables import TITLES, markdown_table
from ._comparison import compare, dataset_table, differences, summary
from ._manifold import manifold_table
from ._pictures import draw_all, manifold_name
from ._published import published_entropy, published_time
from ._runs import PaperStudy, Profile

IMAGES = "images/study"
_DPI = 90
_CHOICES = {"published": "published choices", None: "choices of the paper's text"}


def write_results(study: PaperStudy, folder: Path, command: str) -> list[Path]:
    """Write results.md, its pictures, and the tables in Markdown and LaTeX; return the paths."""
    import matplotlib.pyplot as plt

    (folder / IMAGES).mkdir(parents=True, exist_ok=True)
    written, pictures = [], {}
    for name, figure in draw_all(study):
        path = folder / IMAGES / f"{name}.png"
        figure.savefig(path, dpi=_DPI)
        plt.close(figure)
        pictures[name] = f"![{name}]({IMAGES}/{name}.png)"
        written.append(path)
    for preset, table in study.tables.items():
        written += table.save_tables(folder / "tables" / (preset or "text"))
    written.append(folder / "results.md")
    replace_file(written[-1], _document(study, pictures, command))
    return written


def _document(study: PaperStudy, pictures: dict[str, str], command: str) -> str:
    """Fill in the template; a part for which there are no data says so."""
    table = study.tables["published"]
    cells = list(compare(table))
    compared = [name for name in table.datasets if any(cell.dataset == name for cell in cells)]
    parts = {
        "command": command,
        "version": __version__,
        "amount": _amount(study.profile),
        "missing": f"Not at hand, and therefore left out: {', '.join(study.missing) or 'nothing'}.",
        "summary": summary(cells),
        "differences": differences(cells),
        "comparison": _join(f"### {name}\n\n{dataset_table(name, cells)}" for name in compared),
        "tables": _join(_tables(preset, each) for preset, each in study.tables.items()),
        "prr": pictures["prr"],
        "views": _join(pictures[name] for name in pictures if name.startswith("views")),
        "noise": _join(
            f"### {name}\n\n{_noise_text(curves)}\n\n{pictures[f'noise-{name}']}"
            for name, curves in study.noise.items()
        ),
        "times": _join([_time_table(study), pictures["entropy"]]),
        "lengths": _join(pictures[name] for name in pictures if name == "lengths"),
        "tree": _join(pictures[name] for name in pictures if name == "tree"),
        "manifolds": _join(
            f"{manifold_table([result])}\n\n{pictures[manifold_name(result)]}" for result in study.manifolds
        ),
        "seconds": _seconds(table),
    }
    template = resources.files(__package__).joinpath("results_template.md").read_text(encoding="utf-8")
    return Template(template).substitute(parts)


def _join(parts: Iterable[str]) -> str:
    return "\n\n".join(parts) or "No data at hand."


def _tables(preset: str | None, table: Study) -> str:
    return _join(
        [
            f"## Tables: {_CHOICES[preset]}",
            "The best fusion of each data set in bold, the second best in italics; single views (DM) and the true "
            "labels do not compete. PRR is AMI relative to MDT-Rand, averaged over data sets.",
            *(f"### {TITLES[measure]}\n\n{table.to_markdown(measure)}" for measure in MEASURES),
        ]
    )


def _amount(profile: Profile) -> str:
    searches = f"{profile.n_searches} searches" if profile.n_searches > 1 else "one search"
    return (
        f"A cell of the tables is {profile.n_runs} clusterings: as many draws of random trajectories, {searches} with "
        f"{profile.n_runs // profile.n_searches} starts of k-means each, or as many starts on a baseline's one "
        f"embedding. Along the noise curves there are {profile.noise_draws} draws, one search, and "
        f"{profile.noise_runs} starts."
    )


def _noise_text(curves: Study) -> str:
    cells = [cell for cell in compare(curves) if cell.measure == "ami"]
    agreeing = sum(cell.agrees for cell in cells)
    worst = max(cells, key=lambda cell: abs(cell.difference))
    return (
        f"AMI of {agreeing} of {len(cells)} published points is within two standard deviations; the mean difference is "
        f"{100 * np.mean([cell.difference for cell in cells]):+.2f} points, the largest {100 * worst.difference:+.2f} "
        f"({worst.method} at {worst.dataset})."
    )


def _time_table(study: PaperStudy) -> str:
    rows = []
    for name, selection in study.times.items():
        curve = published_entropy(name)
        apart = "—"
        if curve is not None:
            n = min(len(curve), len(selection.entropies))
            apart = f"{100 * np.max(np.abs(selection.entropies[:n] / np.array(curve[:n]) - 1)):.2g} %"
        rows.append([name, selection.method, str(selection.t), str(published_time(name) or "—"), apart])
    return markdown_table(["data set", "entropies", "knee", "published", "largest difference of the entropies"], rows)


def _seconds(table: Study) -> str:
    """Candidates and seconds of the table, by data set."""
    rows, total = [], np.zeros(2)
    for dataset in table.datasets:
        searches = {(row.key, row.search): row for row in table.rows if row.dataset == dataset}.values()
        sums = np.array([sum(row.n_evaluations for row in searches), sum(row.seconds for row in searches)])
        total += sums
        rows.append([dataset, f"{sums[0]:,.0f}", f"{sums[1]:,.0f}"])
    rows.append(["all", f"{total[0]:,.0f}", f"{total[1]:,.0f}"])
    return markdown_table(["data set", "trajectories", "seconds"], rows)
