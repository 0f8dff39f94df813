"""The published study: its tables and curves, on the data at hand."""

from __future__ import annotations

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

# In the order of the paper's tables.
DATASETS = (
    "K-MvMNIST", "L-MvMNIST", "Olivetti", "Yale", "100Leaves", "L-Isolet", "L-Isolet (as coded)", "MSRC-v5",
    "Multi-Feat", "Caltech101-7",
)  # fmt: skip
_SINGLE = ("True labels", "DM")
_FUSED = ("CrD", "ComD", "AD", "MVD", "ID", "p-AD", "AA", "mean", "MDT-Mean")
_SEARCHED = ("MDT-Direct", "MDT-BSC", "MDT-BSC (as coded)")
_DRAWN = (REFERENCE, "MDT-Cvx-Rand")
# Published on sets of up to 2,000 samples only, beyond which its loss, which looks at all pairs, takes minutes.
_CONTRASTIVE = "MDT-CST"
# Larger, and with noise as a parameter.
NOISY = ("K-MvMNIST", "L-MvMNIST")
# The sets of the paper's figure of quality against length.
_LENGTH_DATASETS = ("100Leaves", "MSRC-v5", "Yale", "Multi-Feat", "L-Isolet", "Caltech101-7")
# Times that an entropy was published at.
_USUAL_TIMES, _MORE_TIMES = 50, {"Multi-Feat": 120}
_TREE_DATASETS = ("MSRC-v5", "Multi-Feat", "Olivetti", "100Leaves")


@dataclass(frozen=True)
class Profile:
    """How much is run.

    Attributes
    ----------
    n_runs, n_searches : int
        Of the tables, as in :func:`run`.
    presets : tuple
        Of the tables: the published choices, and the paper's text (None).
    noise : tuple of float
        Noise of the MNIST sets along the curves.
    noise_runs, noise_draws : int
        Clusterings of a method, and random trajectories, at each.
    lengths : tuple of int
        Lengths of random trajectories.
    length_draws : int
        How many of each.
    variants : tuple of str
        Of the manifolds: views and graphs of the published figures, and of the paper's text ("paper").
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


@dataclass
class PaperStudy:
    """Everything that the published tables and figures show.

    Attributes
    ----------
    profile : Profile
        How much was run.
    missing : dict
        Data sets that are not at hand, and why.
    tables : dict of preset to Study
        The clustering tables.
    noise : dict of name to Study
        A data set for each noise.
    lengths : Study
        A method for each length.
    times : dict of name to TimeSelection
        Entropies of the mean walk.
    tree : (name, SearchResult) or None
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
    tree: tuple[str, SearchResult] | None = None
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
    """Run the published study on the data at hand; what is in the file `rows` already is not run again."""
    names, missing = _at_hand()
    for name, reason in missing.items():
        say(f"{name} is not at hand: {reason}")
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
        study.times[dataset.name] = select_time(ops, max_t=_MORE_TIMES.get(dataset.name, _USUAL_TIMES))
    planted = next((name for name in _TREE_DATASETS if name in names), None)
    if planted is not None:
        case = prepared(find_dataset(planted), "published", None)
        found = search(case.ops, case.n_clusters, t=case.t, random_state=random_state, progress=False)
        study.tree = (planted, found)
    study.manifolds = [
        run_manifold(name, variant=variant, random_state=random_state)
        for name in MANIFOLDS
        for variant in profile.variants
    ]
    return study


def _at_hand() -> tuple[list[str], dict[str, str]]:
    """Return the data sets that can be loaded, and the reasons why the others cannot."""
    names, missing = [], {}
    for name in DATASETS:
        try:
            find_dataset(name).load()
        except (FileNotFoundError, ImportError) as error:
            missing[name] = str(error)
        else:
            names.append(name)
    return names, missing
