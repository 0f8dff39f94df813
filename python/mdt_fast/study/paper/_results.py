"""Write the published study as a document, results.md, with tables and figures."""

import io
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
from .._times import published_time
from ._comparison import compare, dataset_table, differences, summary
from ._manifold import manifold_table
from ._pictures import draw_all, manifold_name
from ._published import published_entropy
from ._runs import PaperStudy, Profile

IMAGES = "images/study"
_DPI = 90
_CHOICES = {"published": "published choices", None: "choices of the paper's text"}


def write_results(study: PaperStudy, folder: Path, command: str) -> list[Path]:
    """Write results.md, its figures, and the tables in Markdown and LaTeX.

    Parameters
    ----------
    study : PaperStudy
        Result of :func:`run_paper`.
    folder : Path
        The folder. It is created if it does not exist.
    command : str
        Command that ran the study, for the text of the document.

    Returns
    -------
    list of Path
        The files.

    Examples
    --------
    The study takes about ten minutes and needs the files of the data sets.

    >>> from pathlib import Path
    >>> import mdt_fast as mdt
    >>> paper = mdt.study.paper.run_paper(mdt.study.paper.QUICK, rows="rows.csv")  # doctest: +SKIP
    >>> files = mdt.study.paper.write_results(paper, Path("results"), "my_study.py")  # doctest: +SKIP
    """
    import matplotlib.pyplot as plt

    (folder / IMAGES).mkdir(parents=True, exist_ok=True)
    written, pictures = [], {}
    for name, figure in draw_all(study):
        path = folder / IMAGES / f"{name}.png"
        image = io.BytesIO()
        figure.savefig(image, format="png", dpi=_DPI)
        replace_file(path, image.getvalue())
        plt.close(figure)
        pictures[name] = f"![{name}]({IMAGES}/{name}.png)"
        written.append(path)
    for preset, table in study.tables.items():
        written += table.save_tables(folder / "tables" / (preset or "text"))
    written.append(folder / "results.md")
    replace_file(written[-1], _document(study, pictures, command))
    return written


def _document(study: PaperStudy, pictures: dict[str, str], command: str) -> str:
    """Fill in the template. A part without data says "No data"."""
    table = study.tables["published"]
    cells = list(compare(table))
    compared = [name for name in table.datasets if any(cell.dataset == name for cell in cells)]
    parts = {
        "command": command,
        "version": __version__,
        "amount": _amount(study.profile),
        "missing": f"Data sets that could not be loaded: {', '.join(study.missing) or 'nothing'}.",
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
    return "\n\n".join(parts) or "No data."


def _tables(preset: str | None, table: Study) -> str:
    return _join(
        [
            f"## Tables: {_CHOICES[preset]}",
            "The best score of each data set is in bold, the second best in italics. Single views (DM) and the true "
            "labels are not ranked. PRR is AMI relative to MDT-Rand, averaged over data sets.",
            *(["MDTClustering is the default of this package. It makes its own graphs."] if preset is None else []),
            *(f"### {TITLES[measure]}\n\n{table.to_markdown(measure)}" for measure in MEASURES),
        ]
    )


def _amount(profile: Profile) -> str:
    searches = f"{profile.n_searches} searches" if profile.n_searches > 1 else "one search"
    return (
        f"A cell of the tables is the mean of {profile.n_runs} clusterings: one for each draw of a random trajectory, "
        f"{searches} with {profile.n_runs // profile.n_searches} starts of k-means each, or one start for each "
        f"clustering of the embedding of a baseline. A point of the noise curves is the mean of "
        f"{profile.noise_draws} draws, or of {profile.noise_runs} starts on one search or embedding."
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
    """Return a table of candidates and seconds, by data set."""
    rows, total = [], np.zeros(2)
    for dataset in table.datasets:
        searches = {(row.key, row.search): row for row in table.rows if row.dataset == dataset}.values()
        sums = np.array([sum(row.n_evaluations for row in searches), sum(row.seconds for row in searches)])
        total += sums
        rows.append([dataset, f"{sums[0]:,.0f}", f"{sums[1]:,.0f}"])
    rows.append(["all", f"{total[0]:,.0f}", f"{total[1]:,.0f}"])
    return markdown_table(["data set", "trajectories", "seconds"], rows)
