"""Run the published study on the data sets that can be loaded."""

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from ..._geometry.time import TimeSelection, select_time
from ..._search.result import SearchResult
from ..._search.search import search
from .._cases import find_dataset, with_noise
from .._grid import prepared
from .._study import REFERENCE, Study, run
from ._manifold import MANIFOLDS, ManifoldResult, run_manifold

# Data sets in the order of the paper's tables.
DATASETS = (
    "K-MvMNIST", "L-MvMNIST", "Olivetti", "Yale", "100Leaves", "L-Isolet", "L-Isolet (as coded)", "MSRC-v5",
    "Multi-Feat", "Caltech101-7",
)  # fmt: skip
_SINGLE = ("True labels", "DM")
_FUSED = ("CrD", "ComD", "AD", "MVD", "ID", "p-AD", "AA", "mean", "MDT-Mean")
_SEARCHED = ("MDT-Direct", "MDT-BSC", "MDT-BSC (as coded)")
_DRAWN = (REFERENCE, "MDT-Cvx-Rand")
# Published for data sets of up to 2,000 samples only. On larger ones its loss, a sum over all
# pairs, takes minutes.
_CONTRASTIVE = "MDT-CST"
# The default of the package makes graphs of its own, which no preset changes. It is compared with
# the methods on the graphs of the text.
_DEFAULT = "MDTClustering"
# Larger data sets whose noise level is a parameter.
NOISY = ("K-MvMNIST", "L-MvMNIST")
# Data sets of the paper's figure of quality against length.
_LENGTH_DATASETS = ("100Leaves", "MSRC-v5", "Yale", "Multi-Feat", "L-Isolet", "Caltech101-7")
# Number of times at which an entropy was published.
_DEFAULT_TIMES, _MORE_TIMES = 50, {"Multi-Feat": 120}
_TREE_DATASETS = ("MSRC-v5", "Multi-Feat", "Olivetti", "100Leaves")


@dataclass(frozen=True)
class Profile:
    """The amount of work of a study.

    Parameters
    ----------
    n_runs, n_searches : int
        Numbers of clusterings and searches of the tables, see :func:`mdt_fast.study.run`.
    presets : tuple of {"published", None}
        Presets of the tables: the choices of the published code, and of the paper's text (None).
    noise : tuple of float
        Noise levels of the MNIST sets.
    noise_runs, noise_draws : int
        Number of clusterings of a method, and of random trajectories, at each noise level.
    lengths : tuple of int
        Lengths of random trajectories.
    length_draws : int
        Number of random trajectories of each length.
    variants : tuple of {"published", "paper"}
        Variants of the manifolds.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> mdt.study.paper.WHOLE.n_runs, mdt.study.paper.QUICK.n_runs
    (100, 20)
    >>> import dataclasses
    >>> dataclasses.replace(mdt.study.paper.QUICK, n_runs=5).n_runs
    5
    """

    n_runs: int
    n_searches: int
    presets: tuple[str | None, ...]
    noise: tuple[float, ...]
    noise_runs: int
    noise_draws: int
    lengths: tuple[int, ...]
    length_draws: int
    variants: tuple[str, ...]


_LEVELS = tuple(round(0.05 * step, 2) for step in range(1, 20))
WHOLE = Profile(
    n_runs=100,
    n_searches=5,
    presets=("published", None),
    noise=_LEVELS,
    noise_runs=20,
    noise_draws=100,
    lengths=(*range(1, 17), 20, 25, 30),
    length_draws=100,
    variants=("published", "paper"),
)
QUICK = Profile(
    n_runs=20,
    n_searches=1,
    presets=("published",),
    noise=_LEVELS[::6],
    noise_runs=5,
    noise_draws=5,
    lengths=(1, 2, 4, 8, 16),
    length_draws=10,
    variants=("published",),
)


@dataclass(frozen=True)
class TreeSearch:
    """A beam search, and the name of its data set."""

    dataset: str
    result: SearchResult


@dataclass
class PaperStudy:
    """The results behind the published tables and figures.

    Attributes
    ----------
    profile : Profile
        Amount of work.
    missing : dict of str to str
        Data sets that could not be loaded, with the reason.
    tables : dict of preset to Study
        Clustering tables.
    noise : dict of str to Study
        For each MNIST set, a study with one data set for each noise level.
    lengths : Study or None
        A study with one method for each length of trajectories.
    times : dict of str to TimeSelection
        Entropies of the mean operator of each data set.
    tree : TreeSearch or None
        A beam search.
    manifolds : list of ManifoldResult
        Helices and plane, in each variant.
    """

    profile: Profile
    missing: dict[str, str]
    tables: dict[str | None, Study] = field(default_factory=dict)
    noise: dict[str, Study] = field(default_factory=dict)
    lengths: Study | None = None
    times: dict[str, TimeSelection] = field(default_factory=dict)
    tree: TreeSearch | None = None
    manifolds: list[ManifoldResult] = field(default_factory=list)


def run_paper(
    profile: Profile,
    *,
    rows: str | os.PathLike[str],
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: bool | None = None,
    say: Callable[[str], object] = lambda text: None,
) -> PaperStudy:
    """Run the published study on the data sets that can be loaded.

    Parameters
    ----------
    profile : Profile
        Amount of work: WHOLE or QUICK.
    rows : path
        CSV file of the rows. Rows that it already has are not computed again.
    random_state : int, default=0
        Seed.
    n_jobs : int or None, default=None
        Number of workers, see :func:`mdt_fast.study.run`.
    progress : bool or None, default=None
        Whether to show a bar; None shows it if the standard error is a terminal.
    say : callable, default=does nothing
        Gets a line of text at the beginning of each part.

    Returns
    -------
    PaperStudy

    Raises
    ------
    FileNotFoundError
        If no data set can be loaded.

    Examples
    --------
    The study takes about ten minutes and needs the files of the data sets.

    >>> import mdt_fast as mdt
    >>> paper = mdt.study.paper.run_paper(mdt.study.paper.QUICK, rows="rows.csv")  # doctest: +SKIP
    """
    names, missing = _loadable()
    for name, reason in missing.items():
        say(f"{name} cannot be loaded: {reason}")
    if not names:
        raise FileNotFoundError(f"expected at least one of {', '.join(DATASETS)}, got none of them")
    study = PaperStudy(profile, missing)
    how: dict[str, Any] = {"random_state": random_state, "rows": rows, "n_jobs": n_jobs, "progress": progress}

    for preset in profile.presets:
        say(f"Clustering tables ({'published choices' if preset else 'choices of the text'})")
        amount: dict[str, Any] = {"n_runs": profile.n_runs, "n_searches": profile.n_searches, "preset": preset}
        table = run(names, [*_SINGLE, *_FUSED, *_SEARCHED, *_DRAWN], **amount, **how)
        small = [name for name in names if name not in NOISY]
        if small:
            table = table.joined(run(small, [_CONTRASTIVE], **amount, **how))
        if preset is None:
            table = table.joined(run(names, [_DEFAULT], **amount, **how))
        study.tables[preset] = table

    for name in (name for name in NOISY if name in names):
        say(f"Noise curves of {name}")
        levels = [with_noise(name, s) for s in profile.noise]
        few: dict[str, Any] = {"n_searches": 1, "preset": "published"}
        curves = run(levels, ["DM", *_FUSED, *_SEARCHED], n_runs=profile.noise_runs, **few, **how)
        study.noise[name] = curves.joined(run(levels, list(_DRAWN), n_runs=profile.noise_draws, **few, **how))

    along = [name for name in _LENGTH_DATASETS if name in names]
    if along:
        say("Quality against length")
        methods = [f"MDT-Cvx-Rand(t={t})" for t in profile.lengths]
        study.lengths = run(along, methods, n_runs=profile.length_draws, preset="published", **how)

    say("Entropies, a search tree, manifolds")
    for dataset in map(find_dataset, names):
        ops = prepared(dataset, "published", None).ops
        study.times[dataset.name] = select_time(ops, max_t=_MORE_TIMES.get(dataset.name, _DEFAULT_TIMES))
    of_tree = next((name for name in _TREE_DATASETS if name in names), None)
    if of_tree is not None:
        case = prepared(find_dataset(of_tree), "published", None)
        found = search(case.ops, case.n_clusters, t=case.t, random_state=random_state, progress=False)
        study.tree = TreeSearch(of_tree, found)
    study.manifolds = [
        run_manifold(name, variant=variant, random_state=random_state)
        for name in MANIFOLDS
        for variant in profile.variants
    ]
    return study


def _loadable() -> tuple[list[str], dict[str, str]]:
    """Return the names of the data sets that can be loaded, and why the others cannot."""
    names, missing = [], {}
    for name in DATASETS:
        try:
            find_dataset(name).load()
        except (FileNotFoundError, ImportError) as error:
            missing[name] = str(error)
        else:
            names.append(name)
    return names, missing
