"""Commands and options of `mdt-fast`. A command imports its module when it runs."""

import shlex
import sys
from ast import literal_eval
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from .._assignment.landmarks import CHOICES
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
  mdt-fast cluster cells.h5mu --n-clusters none --resolution 1.2 --write cells_mdt.h5mu
  mdt-fast embed sensors.csv camera.parquet --n-components 3 --strategy mean
  mdt-fast study --quick
  mdt-fast doctor --samples 1000000 --views 2

\b
Shell completion for bash (zsh_source and fish_source for other shells):
  eval "$(_MDT_FAST_COMPLETE=bash_source mdt-fast)"
"""


class _KeywordOrInt(click.ParamType):  # type: ignore[type-arg]
    """Type of an option that is a keyword, such as "auto", or an integer."""

    def __init__(self, *keywords: str) -> None:
        self._keywords = keywords
        self.name = "|".join([*keywords, "INTEGER"])

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the keyword or the integer."""
        if value in self._keywords or isinstance(value, int):
            return value
        try:
            return int(value)
        except ValueError:
            expected = " or ".join([*map(repr, self._keywords), "an integer"])
            self.fail(f"expected {expected}, got {value!r}", param, ctx)


_INPUT = [
    click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path)),
    click.option("--select", "-s", multiple=True, metavar="VIEW", help="Read only this view (repeat for several)."),
    click.option(
        "--drop-columns", multiple=True, metavar="COLUMN", help="Ignore this column of a table (repeat for several)."
    ),
    click.option(
        "--labels",
        metavar="COLUMN",
        help="Known classes, to compare with the clusters: a column, or an array of an .npz file.",
    ),
    click.option(
        "--ignore-label",
        multiple=True,
        metavar="CLASS",
        help="Leave the samples of this class out of the comparison (repeat for several); nan: those without a class.",
    ),
    click.option(
        "--missing",
        type=click.Choice(["borrow", "stay", "drop", "error"]),
        default="borrow",
        help="Samples that a view lacks: step along the other views, stay in place, leave out, or refuse.",
    ),
]
_GRAPH = [
    click.option(
        "--n-neighbors", "-k", type=_KeywordOrInt("auto", "log"), default="auto", help="Number of neighbours."
    ),
    click.option("--kernel", type=click.Choice(["auto", *KERNELS]), default="auto", help="Kernel of the affinities."),
    click.option(
        "--metric",
        type=click.Choice(["auto", "euclidean", "cosine", "correlation", "manhattan"]),
        default="auto",
        help="Distance between samples; auto: cosine for sparse views, counts and term weights, else euclidean.",
    ),
    click.option(
        "--scale",
        type=click.Choice(["auto", "standard", "unit", "none"]),
        default="auto",
        help="Scaling of features; auto: standard if a few columns in other units hold almost all variance.",
    ),
    click.option("--preset", type=click.Choice(["published"]), help="Settings of the published results."),
    click.option("--dtype", type=click.Choice(["float32", "float64"]), help="Precision; by default that of the views."),
]
_SEARCH = [
    click.option("--t", type=_KeywordOrInt("auto"), default="auto", help="Diffusion time."),
    click.option(
        "--option",
        "options",
        multiple=True,
        metavar="NAME=VALUE",
        help="An option of the strategy, for example width=3 or max_steps=4 (repeat for several).",
    ),
    click.option("--max-evaluations", type=int, help="Return the best candidate after this number of candidates."),
    click.option(
        "--time-limit",
        type=float,
        metavar="SECONDS",
        help="Time for the whole command; at least one candidate is scored.",
    ),
    click.option(
        "--checkpoint",
        type=click.Path(path_type=Path, dir_okay=False),
        help="File from which an interrupted search resumes.",
    ),
]
_LANDMARKS = [
    click.option(
        "--landmarks",
        type=int,
        metavar="N",
        help="Fit N of the samples and assign all others, for .npy, .zarr, .parquet, .h5 and .h5ad files larger than "
        "the memory; the results are Parquet files.",
    ),
    click.option(
        "--landmark-choice",
        type=click.Choice(CHOICES),
        default="uniform",
        help="How landmarks are drawn: evenly, far from each other, or more in sparse regions.",
    ),
]
_SEED = click.option("--seed", type=click.IntRange(min=0), default=0, help="Seed of the random numbers.")
_JOBS = click.option("--jobs", "-j", type=int, help="Number of threads; by default all.")
_OUTPUT = click.option(
    "--output",
    "-o",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("mdt-fast-output"),
    help="Folder for the results.",
)
_WRITE = click.option(
    "--write",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Also write a copy of the .h5ad or .h5mu input with the results in it, for scanpy and muon.",
)
_REPORT = click.option("--report/--no-report", default=True, help="Write report.html (needs matplotlib).")
_JSON = click.option("--json", "as_json", is_flag=True, help="Print only one JSON document.")
_QUIET = click.option("--quiet", "-q", is_flag=True, help="Print only errors.")
_JOB = [*_SEARCH, *_LANDMARKS, *_GRAPH, _SEED, _JOBS, _OUTPUT, _WRITE, _REPORT, _JSON, _QUIET]


def _options(*options: Callable[[Any], Any]) -> Callable[[F], F]:
    """Return a decorator that adds options to a command, in their order."""

    def decorate(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


class _Commands(click.Group):
    """Commands that also print a JSON document after wrong usage, if `--json` is given."""

    def main(self, args: Sequence[str] | None = None, *rest: Any, **extra: Any) -> Any:
        """Run a command."""
        self._as_json = "--json" in (sys.argv[1:] if args is None else args)
        return super().main(args, *rest, **extra)

    def invoke(self, ctx: click.Context) -> Any:
        """Parse the options of the command and call it."""
        try:
            return super().invoke(ctx)
        except click.UsageError as error:
            Console(as_json=self._as_json).document({"error": error.format_message()})
            raise


@click.group(
    cls=_Commands, epilog=_EXAMPLES, context_settings={"help_option_names": ["-h", "--help"], "show_default": True}
)
@click.version_option(__version__, prog_name="mdt-fast")
def cli() -> None:
    """Multi-view diffusion geometry: cluster and embed samples that have several views."""


def _command_line() -> str:
    return shlex.join(["mdt-fast", *sys.argv[1:]])


def _strategy_with(name: str, options: Sequence[str]) -> Any:
    """Return a strategy with the options NAME=VALUE."""
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


def _run_job(files: tuple[Path, ...], given: dict[str, Any], **fitting: Any) -> None:
    """Group the options by the function that takes them, and run the job."""
    landmarks, choice = given.pop("landmarks"), given.pop("landmark_choice")
    if landmarks is not None:
        _run_landmarks(files, landmarks, choice, {**given, **fitting})
        return
    from .job import Job, run
    from .write_back import WriteBack

    console = Console(as_json=given.pop("as_json"), quiet=given.pop("quiet"))
    reading = {"select": list(given.pop("select")) or None, "drop_columns": list(given.pop("drop_columns"))}
    reading["labels"], reading["ignore_label"] = given.pop("labels"), list(given.pop("ignore_label"))
    missing = reading["missing"] = given.pop("missing")
    scale, target = given.pop("scale"), given.pop("write")
    with console.exit_codes():
        write = None if target is None else WriteBack.of(files, target)
    job = Job(
        files=list(files),
        output=given.pop("output"),
        reading=reading,
        building={
            **{name: given.pop(name) for name in ("n_neighbors", "kernel", "metric", "preset", "dtype")},
            "scale": None if scale == "none" else scale,
            "absent": "stay" if missing == "stay" else "borrow",
            "anisotropy": "auto",
            "joint": "auto",
        },
        with_report=given.pop("report"),
        write=write,
        fitting=FitSettings(
            strategy=_strategy_with(given.pop("strategy"), given.pop("options")),
            random_state=given.pop("seed"),
            n_jobs=given.pop("jobs"),
            **given,
            **fitting,
        ),
        command=_command_line(),
        progress=console.shows_progress,
    )
    run(job, console)


def _run_landmarks(files: tuple[Path, ...], landmarks: int, choice: str, given: dict[str, Any]) -> None:
    """Run a job on landmarks; options that need all samples in memory are refused."""
    from .._estimators.mdt import MDT, MDTClustering
    from .landmark_job import LandmarkJob, run

    context = click.get_current_context()
    for name in ("labels", "ignore_label", "drop_columns", "missing", "write"):
        if context.get_parameter_source(name) is not ParameterSource.DEFAULT:
            option = "--" + name.replace("_", "-")
            raise click.BadParameter("expected none with --landmarks.", param_hint=option)
    console = Console(as_json=given["as_json"], quiet=given["quiet"])
    is_cluster = given["with_labels"]
    names = ["n_neighbors", "kernel", "metric", "preset", "dtype", "t", "max_evaluations", "time_limit", "checkpoint"]
    parameters = {name: given[name] for name in [*names, "n_clusters", *(["resolution"] if is_cluster else [])]}
    parameters |= {
        "scale": None if given["scale"] == "none" else given["scale"],
        "strategy": _strategy_with(given["strategy"], given["options"]),
        "random_state": given["seed"],
        "n_jobs": given["jobs"],
        "n_components": given["n_components"],
    }
    if is_cluster:
        parameters["quality"] = given["quality"]
    elif given["kernel"] == "auto":
        parameters["kernel"], parameters["n_neighbors"] = "gaussian", "log"
    job = LandmarkJob(
        files=files,
        select=list(given["select"]) or None,
        output=given["output"],
        landmarks=landmarks,
        choice=choice,
        estimator=MDTClustering if is_cluster else MDT,
        parameters=parameters,
        progress=console.shows_progress,
    )
    run(job, console)


@cli.command(
    epilog="""\b
Examples:
  mdt-fast cluster image.npy text.npy --n-clusters 10
  mdt-fast cluster views.npz --n-clusters 7 --labels target --strategy direct
  mdt-fast cluster cells.h5mu --n-clusters 12 --select rna/obsm/X_pca --select prot
  mdt-fast cluster cells.h5mu --n-clusters none --resolution 1.2 --write cells_mdt.h5mu
  mdt-fast cluster image.zarr text.npy --n-clusters 10 --landmarks 200000"""
)
@_options(*_INPUT)
@click.option(
    "--n-clusters",
    "-n",
    type=_KeywordOrInt("auto", "none"),
    required=True,
    help="Number of clusters; auto: a number that is found; none: communities of the fused graph (Leiden).",
)
@click.option(
    "--resolution",
    type=click.FloatRange(min=0, min_open=True),
    default=1.0,
    help="With --n-clusters none: a larger number gives more clusters.",
)
@click.option("--strategy", type=click.Choice([*BY_NAME]), default="auto", help="Search strategy.")
@click.option("--quality", type=click.Choice(["auto", *QUALITIES]), default="auto", help="Score of a trajectory.")
@_options(*_JOB)
def cluster(files: tuple[Path, ...], n_clusters: int | str, resolution: float, **given: Any) -> None:
    """Cluster samples that have several views.

    FILES is one file with several views, or several files (.npy, .npz, .csv, .tsv, .parquet, .h5ad,
    .h5mu). The rows of all views are the same samples. The command writes labels.csv,
    coordinates.csv, trajectory.json, search.json and report.html, and manifest.json last, which
    lists the files that belong together. A report that fails is a warning.

    With --landmarks a sample of the rows is fitted, and all rows are assigned a block at a time. FILES are
    then .npy, .zarr, .parquet, .h5 and .h5ad files; the results are assignment.parquet and summary.json. The
    same command again goes on after an interruption.
    """
    number = None if n_clusters == "none" else n_clusters
    source = click.get_current_context().get_parameter_source("resolution")
    if number is not None and source is not ParameterSource.DEFAULT:
        raise click.BadParameter(f"expected --n-clusters none with it, got {n_clusters}.", param_hint="--resolution")
    _run_job(files, given, n_clusters=number, n_components=None, with_labels=True, resolution=resolution)


@cli.command(
    epilog="""\b
Examples:
  mdt-fast embed image.npy text.npy
  mdt-fast embed cells.h5ad --select X --select obsm/protein --n-components 3"""
)
@_options(*_INPUT)
@click.option("--n-components", "-d", type=int, default=2, help="Number of coordinates.")
@click.option(
    "--strategy",
    type=click.Choice(["contrastive", "mean", "random", "convex"]),
    default="contrastive",
    help="Search strategy; these need no clusters.",
)
@_options(*_JOB)
def embed(files: tuple[Path, ...], n_components: int, **given: Any) -> None:
    """Embed samples that have several views.

    FILES is one file with several views, or several files (.npy, .npz, .csv, .tsv, .parquet, .h5ad,
    .h5mu). The rows of all views are the same samples. The command writes coordinates.csv,
    trajectory.json, search.json and report.html, and manifest.json last, which lists the files that
    belong together. A report that fails is a warning.
    """
    quality = "contrastive" if given["strategy"] == "contrastive" else None
    _run_job(files, given, n_clusters=None, n_components=n_components, with_labels=False, quality=quality)


@cli.command(
    epilog="""\b
Examples:
  mdt-fast demo
  mdt-fast demo --seed 1 --output digits"""
)
@_options(_SEED, _JOBS, _OUTPUT, _JSON, _QUIET)
def demo(output: Path, seed: int, jobs: int | None, as_json: bool, quiet: bool) -> None:
    """Compare all methods on handwritten digits.

    The data are three views of the 1,797 digits that scikit-learn contains; no download is needed.
    The command prints a table and writes pictures and report.html.
    """
    from .demo import run

    run(output, seed, jobs, _command_line(), Console(as_json=as_json, quiet=quiet))


@cli.command(
    epilog="""\b
Examples:
  mdt-fast study --quick
  mdt-fast study --output results --jobs 8"""
)
@click.option("--quick", is_flag=True, help="Use fewer runs and points: ten minutes instead of an hour.")
@_options(_SEED, _OUTPUT, _JSON, _QUIET)
@click.option("--jobs", "-j", type=int, default=-1, help="Number of workers; -1: one per core.")
def study(output: Path, quick: bool, seed: int, jobs: int, as_json: bool, quiet: bool) -> None:
    """Reproduce the published tables and figures.

    Missing data sets are downloaded; data sets that cannot be downloaded are skipped. The result of
    each clustering is appended to rows.csv in the output folder, from which an interrupted study
    resumes. The command writes a comparison with the published results (results.md), pictures, and
    tables in Markdown and LaTeX.
    """
    from .study import run

    run(output, quick, seed, jobs, _command_line(), Console(as_json=as_json, quiet=quiet))


@cli.command(
    epilog="""\b
Examples:
  mdt-fast doctor
  mdt-fast doctor --samples 1000000 --views 3 --dtype float32
  mdt-fast doctor --samples 100000000 --landmarks 200000"""
)
@click.option("--samples", type=click.IntRange(min=2), default=1_000_000, help="Number of samples.")
@click.option("--views", type=click.IntRange(min=1), default=2, help="Number of views.")
@click.option("--n-neighbors", type=click.IntRange(min=1), default=15, help="Number of neighbours.")
@click.option("--n-clusters", type=click.IntRange(min=1), default=10, help="Number of clusters.")
@click.option("--dtype", type=click.Choice(["float32", "float64"]), default="float64", help="Precision.")
@click.option("--landmarks", type=click.IntRange(min=2), default=200_000, help="Landmarks, from 5,000,000 samples on.")
@_JSON
def doctor(
    samples: int, views: int, n_neighbors: int, n_clusters: int, dtype: str, landmarks: int, as_json: bool
) -> None:
    """Check the installation and estimate the memory of a search.

    From 5,000,000 samples on it also plans the assignment of all samples to landmarks: workers, memory and time,
    from a rate that it measures.
    """
    from .doctor import check_installation

    console = Console(as_json=as_json)
    with console.exit_codes():
        passed = check_installation(console, samples, views, n_neighbors, n_clusters, dtype, landmarks)
        sys.exit(0 if passed else FAILED)
