"""Data sets of a study: by the names of the paper's tables, or given by hand."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import joblib
import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import Bunch

from .. import datasets
from .._geometry.time import select_time
from .._graphs.views import check_views, is_named
from .._operators.build import build_operators
from .._operators.operator_set import OperatorSet
from .paper._published import published_time


@dataclass(frozen=True)
class Case:
    """A data set made ready: its operators, what methods are told, and what they are judged by."""

    ops: OperatorSet
    n_components: int
    n_clusters: int | None = None
    target: NDArray[Any] | None = None
    preset: str | None = None
    # Accuracy of coordinates.
    tol: float = 1e-3
    # Where figures are reproduced, the time that they were made with.
    published_t: int | None = None

    @functools.cached_property
    def t(self) -> int:
        """The diffusion time: the published one, or that of :func:`select_time`."""
        return self.published_t or select_time(self.ops).t


@dataclass(frozen=True)
class DataSet:
    """A data set that is loaded when and where it is needed.

    Parameters
    ----------
    name : str
        As in tables.
    n_views : int
        Number of views.
    load : callable
        Returns a Bunch with views and target.
    build : callable
        Makes operators of a Bunch, a preset and a number of threads.
    digest : str
        Tells data given by hand from others of the same name.
    """

    name: str
    n_views: int
    load: Callable[[], Any] = field(repr=False, compare=False)
    build: Callable[[Any, str | None, int | None], OperatorSet] = field(repr=False, compare=False)
    digest: str = ""

    def prepare(self, preset: str | None, n_jobs: int | None) -> Case:
        """Load the data and make the operators."""
        bunch = self.load()
        n_clusters = len(np.unique(bunch.target))
        return Case(
            ops=self.build(bunch, preset, n_jobs),
            n_components=n_clusters,
            n_clusters=n_clusters,
            target=bunch.target,
            preset=preset,
            published_t=published_time(self.name) if preset == "published" and not self.digest else None,
        )


def _build(bunch: Any, preset: str | None, n_jobs: int | None) -> OperatorSet:
    return build_operators(bunch.views, preset=preset, n_jobs=n_jobs)


def _build_kernels(bunch: Any, preset: str | None, n_jobs: int | None) -> OperatorSet:
    """One kernel a view, as their names say."""
    return build_operators(bunch.views, kernel=bunch.view_names, preset=preset, n_jobs=n_jobs)


def _build_as_coded(bunch: Any, preset: str | None, n_jobs: int | None) -> OperatorSet:
    """L-Isolet as in the authors' code: two views are the same by a slip, and no sample is its own neighbour.

    Which kernel is there twice follows from the published diffusion time and scores: the Laplacian.
    """
    ops = build_operators(bunch.views[:2], kernel=["laplacian", "correlation"], preset=preset, n_jobs=n_jobs)
    first, last = (K - sparse.diags_array(K.diagonal()) for K in ops.affinities)
    return OperatorSet.from_affinities([first, first, last], n_jobs=n_jobs)


# Loader, number of views, and how operators are made.
_Entry = tuple[Callable[..., Any], int, Callable[..., OperatorSet]]
_KNOWN: dict[str, _Entry] = {
    "K-MvMNIST": (datasets.fetch_k_mvmnist, 2, _build),
    "L-MvMNIST": (datasets.fetch_l_mvmnist, 2, _build),
    "Olivetti": (datasets.fetch_olivetti, 2, _build),
    "Yale": (datasets.fetch_yale, 3, _build),
    "100Leaves": (datasets.fetch_leaves, 3, _build),
    "L-Isolet": (datasets.fetch_l_isolet, 3, _build_kernels),
    "L-Isolet (as coded)": (datasets.fetch_l_isolet, 3, _build_as_coded),
    "MSRC-v5": (datasets.fetch_msrc, 5, _build),
    "Multi-Feat": (datasets.fetch_multi_feat, 6, _build),
    "Caltech101-7": (datasets.fetch_caltech7, 6, _build),
    "CITE-seq": (functools.partial(datasets.fetch_citeseq_pbmc, drop_unknown=True), 2, _build),
    "SNARE-seq": (datasets.fetch_snareseq_cellmix, 2, _build),
    "Digits": (functools.partial(datasets.load_multiview_digits, kind="features"), 3, _build),
}
# Those whose noise is a parameter: "K-MvMNIST(s=0.25)".
_NOISY = ("K-MvMNIST", "L-MvMNIST")
_USUAL_NOISE = 0.5


def dataset_names() -> list[str]:
    """Return the names of all data sets; MNIST's may be followed by their noise: "K-MvMNIST(s=0.25)"."""
    return list(_KNOWN)


def with_noise(name: str, s: float) -> str:
    """Return the name of a data set with a given noise: two decimals, as in the paper, or all that there are."""
    return f"{name}(s={s:.2f})" if round(s, 2) == s else f"{name}(s={s!r})"


def find_dataset(name: str) -> DataSet:
    """Return a data set by name."""
    parts = re.fullmatch(rf"({'|'.join(_NOISY)})\(s=([0-9]+(?:\.[0-9]+)?)\)", name)
    base, s = (parts[1], float(parts[2])) if parts else (name, _USUAL_NOISE)
    if base not in _KNOWN:
        raise ValueError(f"datasets: expected names among {', '.join(_KNOWN)}, got {name!r}")
    load, n_views, build = _KNOWN[base]
    if base in _NOISY:
        # One set, one name, whichever way it was asked for.
        name, load = with_noise(base, s), functools.partial(load, s=s)
    return DataSet(name, n_views, load, build)


def check_datasets(given: Any) -> list[DataSet]:
    """Return data sets given by names, or as a mapping of names to Bunches or pairs of views and target."""
    if isinstance(given, str):
        given = [given]
    if isinstance(given, Mapping):
        found = [_by_hand(str(name), data) for name, data in given.items()]
    elif isinstance(given, (list, tuple)) and all(isinstance(name, str) for name in given):
        # By the name that each is known by: there are several ways to ask for one set.
        found = list({each.name: each for each in map(find_dataset, given)}.values())
    else:
        raise TypeError(f"datasets: expected a list of names or a mapping of names to data, got {given!r}")
    if not found:
        raise ValueError("datasets: expected at least one, got none")
    return found


def _by_hand(name: str, data: Any) -> DataSet:
    argument = f"datasets[{name!r}]"
    if not (hasattr(data, "views") and hasattr(data, "target")):
        if not isinstance(data, (list, tuple)) or len(data) != 2:
            raise TypeError(f"{argument}: expected a Bunch or a pair of views and target, got {type(data).__name__}")
        data = Bunch(views=data[0], target=data[1])
    views = check_views(data.views, f"{argument}: views")
    target = np.asarray(data.target)
    n_samples = views[0].data.shape[0]
    if target.shape != (n_samples,):
        raise ValueError(f"{argument}: expected a target of {n_samples} classes, got an array of shape {target.shape}")
    if target.dtype.kind == "f" and not np.isfinite(target).all():
        raise ValueError(f"{argument}: expected a class for each sample, got values that are not finite")
    if not 2 <= len(np.unique(target)) < n_samples:
        raise ValueError(f"{argument}: expected between 2 and {n_samples - 1} classes, got {len(np.unique(target))}")
    # Codes: scikit-learn compares labels of any kind, but warns of numbers that are no integers.
    kept = Bunch(views=data.views, target=np.unique(target, return_inverse=True)[1])
    names = list(data.views) if is_named(data.views) else None
    digest = joblib.hash([names, [view.data for view in views], target])
    return DataSet(name, len(views), functools.partial(Bunch, **kept), _build, digest)
