"""Data sets of a study: those known by the names of the paper's tables, and those of the user."""

import functools
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
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
from ._times import published_time


@dataclass(frozen=True)
class Case:
    """A prepared data set: the operators and parameters given to methods, and the true classes.

    Parameters
    ----------
    ops : OperatorSet
        Operators of the views.
    n_components : int
        Number of coordinates.
    n_clusters : int, default=None
        Number of classes.
    target : (n_samples,) array, default=None
        True classes. Only :class:`TrueLabels` and the scores of labels use them.
    preset : {None, "published"}, default=None
        Preset of the graphs.
    tol : float, default=1e-3
        Tolerance of the coordinates.
    published_t : int, default=None
        Published diffusion time, if it replaces that of :func:`select_time`.
    views : list or dict of arrays, default=None
        Views, for methods that make graphs of their own.
    """

    ops: OperatorSet
    n_components: int
    n_clusters: int | None = None
    target: NDArray[Any] | None = None
    preset: str | None = None
    tol: float = 1e-3
    published_t: int | None = None
    views: Any = None

    @functools.cached_property
    def t(self) -> int:
        """The diffusion time: the published one, or that of :func:`select_time`."""
        return self.published_t or select_time(self.ops).t


@dataclass(frozen=True)
class DataSet:
    """A data set that is loaded when it is used, in the process that uses it.

    Parameters
    ----------
    name : str
        Name in the tables.
    n_views : int
        Number of views.
    load : callable
        Returns a Bunch with `views` and `target`.
    build : callable
        Makes the operators from a Bunch, a preset and a number of threads.
    digest : str, default=""
        Digest of data given by the user, which distinguishes data sets of the same name.
    """

    name: str
    n_views: int
    load: Callable[..., Any] = field(repr=False, compare=False)
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
            views=bunch.views,
        )


def _build(bunch: Any, preset: str | None, n_jobs: int | None) -> OperatorSet:
    return build_operators(bunch.views, preset=preset, n_jobs=n_jobs)


def _build_kernels(bunch: Any, preset: str | None, n_jobs: int | None) -> OperatorSet:
    """Make the operators with the kernels that the view names give."""
    return build_operators(bunch.views, kernel=bunch.view_names, preset=preset, n_jobs=n_jobs)


def _build_as_coded(bunch: Any, preset: str | None, n_jobs: int | None) -> OperatorSet:
    """Make the operators of L-Isolet as the authors' code does.

    The code uses one kernel for two of the three views by mistake, and it omits self-loops. The
    published diffusion time and scores show that the repeated kernel is the Laplacian.
    """
    ops = build_operators(bunch.views[:2], kernel=["laplacian", "correlation"], preset=preset, n_jobs=n_jobs)
    first, last = (K - sparse.diags_array(K.diagonal()) for K in ops.affinities)
    return OperatorSet.from_affinities([first, first, last], n_jobs=n_jobs)


_KNOWN = {
    each.name: each
    for each in (
        DataSet("K-MvMNIST", 2, datasets.fetch_k_mvmnist, _build),
        DataSet("L-MvMNIST", 2, datasets.fetch_l_mvmnist, _build),
        DataSet("Olivetti", 2, datasets.fetch_olivetti, _build),
        DataSet("Yale", 3, datasets.fetch_yale, _build),
        DataSet("100Leaves", 3, datasets.fetch_leaves, _build),
        DataSet("L-Isolet", 3, datasets.fetch_l_isolet, _build_kernels),
        DataSet("L-Isolet (as coded)", 3, datasets.fetch_l_isolet, _build_as_coded),
        DataSet("MSRC-v5", 5, datasets.fetch_msrc, _build),
        DataSet("Multi-Feat", 6, datasets.fetch_multi_feat, _build),
        DataSet("Caltech101-7", 6, datasets.fetch_caltech7, _build),
        DataSet("CITE-seq", 2, functools.partial(datasets.fetch_citeseq_pbmc, drop_unknown=True), _build),
        DataSet("SNARE-seq", 2, datasets.fetch_snareseq_cellmix, _build),
        DataSet("Digits", 3, functools.partial(datasets.load_multiview_digits, kind="features"), _build),
    )
}
# Data sets whose noise level is a parameter: "K-MvMNIST(s=0.25)".
_NOISY = ("K-MvMNIST", "L-MvMNIST")
_DEFAULT_NOISE = 0.5


def dataset_names() -> list[str]:
    """Return the names of all known data sets.

    Returns
    -------
    list of str
        A noise level may follow the names of the MNIST sets: "K-MvMNIST(s=0.25)".

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> mdt.study.dataset_names()[:3]
    ['K-MvMNIST', 'L-MvMNIST', 'Olivetti']
    """
    return list(_KNOWN)


def with_noise(name: str, s: float) -> str:
    """Return the name of a data set with a noise level, with two decimals if that is exact."""
    return f"{name}(s={s:.2f})" if round(s, 2) == s else f"{name}(s={s!r})"


def find_dataset(name: str) -> DataSet:
    """Return a known data set by name."""
    parts = re.fullmatch(rf"({'|'.join(_NOISY)})\(s=([0-9]+(?:\.[0-9]+)?)\)", name)
    base, s = (parts[1], float(parts[2])) if parts else (name, _DEFAULT_NOISE)
    if base not in _KNOWN:
        raise ValueError(f"datasets: expected names among {', '.join(_KNOWN)}, got {name!r}")
    found = _KNOWN[base]
    if base in _NOISY:
        # The noise level is always in the name, so that one data set has one name.
        found = replace(found, name=with_noise(base, s), load=functools.partial(found.load, s=s))
    return found


def check_datasets(given: Any) -> list[DataSet]:
    """Return data sets given by names, or as a mapping to Bunches or (views, target) pairs."""
    if isinstance(given, str):
        given = [given]
    if isinstance(given, Mapping):
        found = [_from_data(str(name), data) for name, data in given.items()]
    elif isinstance(given, (list, tuple)) and all(isinstance(name, str) for name in given):
        # Several spellings, such as "K-MvMNIST" and "K-MvMNIST(s=0.5)", mean one data set.
        found = list({each.name: each for each in map(find_dataset, given)}.values())
    else:
        raise TypeError(f"datasets: expected a list of names or a mapping of names to data, got {given!r}")
    if not found:
        raise ValueError("datasets: expected at least one, got none")
    return found


def _from_data(name: str, data: Any) -> DataSet:
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
    # Integer codes: scikit-learn accepts labels of any type but warns about floats.
    kept = Bunch(views=data.views, target=np.unique(target, return_inverse=True)[1])
    names = list(data.views) if is_named(data.views) else None
    digest = joblib.hash([names, [view.data for view in views], target])
    return DataSet(name, len(views), functools.partial(Bunch, **kept), _build, digest)
