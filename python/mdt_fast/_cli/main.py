"""The commands and their options."""

from __future__ import annotations

import shlex
import sys
from ast import literal_eval
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from .._core import __version__
from .._estimators.pipeline import FitSettings
from .._graphs.kernels import KERNELS
from .._search.scoring import QUALITIES
from .._search.strategies import BY_NAME, make_strategy
from .console import FAILED, Console

F = TypeVar("F", bound=Callable[..., Any])

_EXAMPLES = """\b
Examples:
  mdt-fast demo
  mdt-fast cluster image.npy text.npy --n-clusters 10
  mdt-fast cluster cells.h5mu --n-clusters 12 --labels cell_type --output result
  mdt-fast embed sensors.csv camera.parquet --n-components 3 --strategy mean
  mdt-fast study --quick
  mdt-fast doctor --samples 1000000 --views 2

\b
Completion of commands and options, for bash (zsh and fish alike):
  eval "$(_MDT_FAST_COMPLETE=bash_source mdt-fast)"
"""


class _AutoOr(click.ParamType):  # type: ignore[type-arg]
    """A word such as "auto", or a positive number."""

    def __init__(self, word: str) -> None:
        self._word = word
        self.name = f"{word}|INTEGER"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the word or the number."""
        if value == self._word or isinstance(value, int):
            return value
        try:
            return int(value)
        except ValueError:
            self.fail(f"expected {self._word!r} or an integer, got {value!r}", param, ctx)


_IN = [
    click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path)),
    click.option("--select", "-s", multiple=True, metavar="VIEW", help="Read only this view (repeat for several)."),
    click.option(
        "--drop-columns", multiple=True, metavar="COLUMN", help="Leave out a column of a table (repeat for several)."
    ),
    click.option(
        "--labels",
        metavar="COLUMN",
        help="The true classes, to compare with: a column, or an array of an .npz.",
    ),
]
_GRAPH = [
    click.option(
        "--n-neighbors", "-k", type=_AutoOr("log"), default="log", show_default=True, help="Neighbours of a sample."
    ),
    click.option(
        "--kernel",
        type=click.Choice(["auto", *KERNELS]),
        default="auto",
        show_default=True,
        help="Affinity of neighbours.",
    ),
    click.option(
        "--metric",
        type=click.Choice(["euclidean", "cosine", "correlation", "manhattan"]),
        default="euclidean",
        show_default=True,
        help="Distance of samples.",
    ),
    click.option("--preset", type=click.Choice(["published"]), help="The choices behind the published figures."),
    click.option("--dtype", type=click.Choice(["float32", "float64"]), help="Precision; that of the views by default."),
]
_SEARCH = [
    click.option("--t", type=_AutoOr("auto"), default="auto", show_default=True, help="Diffusion time."),
    click.option(
        "--option",
        "options",
        multiple=True,
        metavar="NAME=VALUE",
        help="An option of the strategy, for example width=3 or max_steps=4 (repeat for several).",
    ),
    click.option("--max-evaluations", type=int, help="Number of candidates after which the best one is returned."),
    click.option("--time-limit", type=float, metavar="SECONDS", help="Time after which the best candidate is returned."),
    click.option(
        "--checkpoint",
        type=click.Path(path_type=Path, dir_okay=False),
        help="File from which an interrupted search resumes.",
    ),
]
_OUT = [
    click.option("--seed", type=click.IntRange(min=0), default=0, show_default=True, help="One seed, one result."),
    click.option("--jobs", "-j", type=int, help="Threads; all by default."),
    click.option(
        "--output",
        "-o",
        type=click.Path(path_type=Path, file_okay=False),
        default=Path("mdt-fast-output"),
        show_default=True,
        help="Folder for the results.",
    ),
    click.option("--report/--no-report", default=True, show_default=True, help="Write report.html (needs matplotlib)."),
    click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else."),
    click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors."),
]


def _options(*groups: list[Callable[[Any], Any]]) -> Callable[[F], F]:
    """Give a command the options of several groups, in their order."""

    def decorate(command: F) -> F:
        for option in [option for group in groups for option in group][::-1]:
            command = option(command)
        return command

    return decorate


class _Commands(click.Group):
    """Commands that answer wrong usage with a document too, if one is asked for."""

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> Any:
        """Run a command."""
        self._as_json = "--json" in (sys.argv[1:] if args is None else args)
        return super().main(args, *rest, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Find the command and its options, and call it."""
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            Console(as_json=self._as_json).document({"error": error.format_message()})
            raise


@click.group(cls=_Commands, epilog=_EXAMPLES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="mdt-fast")
def cli() -> None:
    """Multi-view diffusion geometry: clusters and coordinates of samples seen in several views."""


def _command_line() -> str:
    return shlex.join(["mdt-fast", *sys.argv[1:]])


def _count(ctx: click.Context, param: click.Parameter, value: str) -> int | str:
    """Return a whole number, or "auto"."""
    if value == "auto":
        return value
    try:
        return int(value)
    except ValueError:
        raise click.BadParameter(f"{value!r} is not a valid integer, nor auto.", ctx, param) from None


def _strategy_with(name: str, options: Sequence[str]) -> Any:
    """Return the strategy with options given as NAME=VALUE."""
    values = {}
    for option in options:
        key, separator, value = option.partition("=")
        if not separator:
            raise click.BadParameter(f"expected NAME=VALUE, got {option!r}.", param_hint="--option")
        try:
            values[key] = literal_eval(value)
        except (ValueError, SyntaxError):
            values[key] = value
    try:
        return make_strategy(name).replace(**values)
    except (TypeError, ValueError) as error:
        raise click.BadParameter(str(error), param_hint="--option") from None


def _job(files: tuple[Path, ...], given: dict[str, Any], **fitting: Any) -> None:
    """Sort the options by the function that takes them, and run."""
    from .job import Job, run

    console = Console(as_json=given.pop("as_json"), quiet=given.pop("quiet"))
    reading = {"select": list(given.pop("select")) or None, "drop_columns": list(given.pop("drop_columns"))}
    reading["labels"] = given.pop("labels")
    job = Job(
        files=list(files),
        output=given.pop("output"),
        reading=reading,
        building={name: given.pop(name) for name in ("n_neighbors", "kernel", "metric", "preset", "dtype")},
        with_report=given.pop("report"),
        fitting=FitSettings(
            strategy=_strategy_with(given.pop("strategy"), given.pop("options")),
            random_state=given.pop("seed"),
            n_jobs=given.pop("jobs"),
            progress=console.shows_progress,
            **given,
            **fitting,
        ),
        command=_command_line(),
    )
    run(job, console)


@cli.command(
    epilog="""\b
Examples:
  mdt-fast cluster image.npy text.npy --n-clusters 10
  mdt-fast cluster views.npz --n-clusters 7 --labels target --strategy direct
  mdt-fast cluster cells.h5mu --n-clusters 12 --select rna/obsm/X_pca --select prot"""
)
@_options(_IN)
@click.option(
    "--n-clusters", "-n", metavar="INTEGER|auto", callback=_count, required=True, help="Number of clusters, or auto."
)
@click.option("--strategy", type=click.Choice([*BY_NAME]), default="auto", show_default=True, help="How to search.")
@click.option(
    "--quality",
    type=click.Choice(["auto", *QUALITIES]),
    default="auto",
    show_default=True,
    help="What a good trajectory is.",
)
@_options(_SEARCH, _GRAPH, _OUT)
def cluster(files: tuple[Path, ...], n_clusters: int | str, **given: Any) -> None:
    """Cluster samples seen in several views.

    FILES hold the views, rows are the same samples: .npy, .npz, .csv, .tsv, .parquet, .h5ad, .h5mu; one file with
    several views or several files. Writes labels.csv, coordinates.csv, trajectory.json, search.json and report.html.
    """
    _job(files, given, n_clusters=n_clusters, n_components=None, with_labels=True)


@cli.command(
    epilog="""\b
Examples:
  mdt-fast embed image.npy text.npy
  mdt-fast embed cells.h5ad --select X --select obsm/protein --n-components 3"""
)
@_options(_IN)
@click.option("--n-components", "-d", type=int, default=2, show_default=True, help="Number of coordinates.")
@click.option(
    "--strategy",
    type=click.Choice(["contrastive", "mean", "random", "convex"]),
    default="contrastive",
    show_default=True,
    help="How to find the trajectory without clusters.",
)
@_options(_SEARCH, _GRAPH, _OUT)
def embed(files: tuple[Path, ...], n_components: int, **given: Any) -> None:
    """Embed samples seen in several views.

    FILES hold the views, rows are the same samples: .npy, .npz, .csv, .tsv, .parquet, .h5ad, .h5mu; one file with
    several views or several files. Writes coordinates.csv, trajectory.json, search.json and report.html.
    """
    quality = "contrastive" if given["strategy"] == "contrastive" else None
    _job(files, given, n_clusters=None, n_components=n_components, with_labels=False, quality=quality)


@cli.command(
    epilog="""\b
Examples:
  mdt-fast demo
  mdt-fast demo --seed 1 --output digits"""
)
@_options([option for option in _OUT if option is not _OUT[3]])
def demo(output: Path, seed: int, jobs: int | None, as_json: bool, quiet: bool) -> None:
    """Cluster bundled digits in every way there is, and show how they compare.

    Three views of 1,797 handwritten digits that scikit-learn brings; no network. Prints a table, writes pictures and
    report.html.
    """
    from .demo import run

    run(output, seed, jobs, _command_line(), Console(as_json=as_json, quiet=quiet))


@cli.command(
    epilog="""\b
Examples:
  mdt-fast study --quick
  mdt-fast study --output results --jobs 8"""
)
@click.option("--quick", is_flag=True, help="Fewer runs and points: ten minutes instead of an hour.")
@_options([option for option in _OUT if option not in (_OUT[1], _OUT[3])])
@click.option("--jobs", "-j", type=int, default=-1, show_default=True, help="Workers; -1 is one for each core.")
def study(output: Path, quick: bool, seed: int, jobs: int, as_json: bool, quiet: bool) -> None:
    """Reproduce the published tables and figures on the data at hand.

    Missing data sets are downloaded where that is possible and left out where not. Every clustering is appended to
    rows.csv in the output folder as soon as it is known; a study that was broken off goes on from there. Writes
    results.md with ours beside the published figures, pictures, and tables in Markdown and LaTeX.
    """
    from .study import run

    run(output, quick, seed, jobs, _command_line(), Console(as_json=as_json, quiet=quiet))


@cli.command(
    epilog="""\b
Examples:
  mdt-fast doctor
  mdt-fast doctor --samples 1000000 --views 3 --dtype float32"""
)
@click.option(
    "--samples",
    type=click.IntRange(min=2),
    default=1_000_000,
    show_default=True,
    help="Plan the memory for so many samples,",
)
@click.option("--views", type=click.IntRange(min=1), default=2, show_default=True, help="in so many views,")
@click.option(
    "--n-neighbors", type=click.IntRange(min=1), default=15, show_default=True, help="with so many neighbours,"
)
@click.option("--n-clusters", type=click.IntRange(min=1), default=10, show_default=True, help="and so many clusters.")
@click.option(
    "--dtype", type=click.Choice(["float32", "float64"]), default="float64", show_default=True, help="Precision."
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON document and nothing else.")
def doctor(samples: int, views: int, n_neighbors: int, n_clusters: int, dtype: str, as_json: bool) -> None:
    """Check the installation, and how much memory a job would take."""
    from .doctor import examine

    console = Console(as_json=as_json)
    with console.exit_codes():
        sys.exit(0 if examine(console, samples, views, n_neighbors, n_clusters, dtype) else FAILED)
