"""Methods of a study: each finds coordinates, or labels, of a prepared data set from one seed."""

import math
import re
import time
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from .. import baselines
from .._estimators.mdt import MDTClustering
from .._geometry.embedding import embed
from .._operators.trajectory import Trajectory
from .._search.scoring import Scoring
from .._search.search import search
from .._search.strategies import Beam, Contrastive, Direct, Mean, RandomSequences, RandomWeights, Strategy
from .._support.warnings import ConvergenceWarning
from ._cases import Case

# A length other than the diffusion time: "MDT-Cvx-Rand(t=5)".
_WITH_TIME = re.compile(r"(.+)\(t=(\d+)\)")
_ONE_VIEW = re.compile(r"DM\(view (\d+)\)")


@dataclass(frozen=True)
class Outcome:
    """The result of one run of a method.

    Attributes
    ----------
    coordinates : (n_samples, n_components) array or None
        Coordinates that remain to be clustered.
    labels : (n_samples,) array or None
        Labels, if the method itself gives them.
    trajectory : Trajectory or None
        The trajectory, if the method has one.
    n_evaluations : int
        Number of candidates.
    seconds : float
        Duration of the run.
    converged : bool
        Whether every result is within its tolerance.
    """

    coordinates: NDArray[Any] | None = None
    labels: NDArray[Any] | None = None
    trajectory: Trajectory | None = None
    n_evaluations: int = 0
    seconds: float = 0.0
    converged: bool = True


@dataclass(frozen=True)
class Repeats:
    """Number of runs of a method, and number of clusterings of the coordinates of each run."""

    searches: int
    clusterings: int


@dataclass(frozen=True)
class Method(ABC):
    """A method, with its name in the tables."""

    name: str

    @property
    def settings(self) -> str:
        """Text that distinguishes methods of the same name."""
        return ""

    def accepts(self, n_views: int) -> bool:
        """Return whether the method can be run on this number of views."""
        return True

    @abstractmethod
    def repeats(self, n_runs: int, n_searches: int) -> Repeats:
        """Return how often the method is run and its coordinates are clustered."""

    @abstractmethod
    def run(self, case: Case, seed: int, n_jobs: int | None) -> Outcome:
        """Run the method once."""

    def observe(self, case: Case, seed: int, n_jobs: int | None) -> Outcome:
        """Run the method once, with its duration and convergence.

        Other warnings, such as those of disconnected graphs, are the same for all methods. They are
        suppressed.
        """
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            began = time.perf_counter()
            found = self.run(case, seed, n_jobs)
            seconds = time.perf_counter() - began
        converged = not any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
        return replace(found, seconds=seconds, converged=converged)


# Exact gradients, and all steps.
_PUBLISHED_CONTRASTIVE = Contrastive(batch_size=None, tol=0.0)


@dataclass(frozen=True)
class SearchMethod(Method):
    """A trajectory that a strategy of :func:`search` finds or draws."""

    strategy: Strategy
    t: int | None = None
    n_components: int | None = None

    _DRAWN: ClassVar = (RandomSequences, RandomWeights)
    # Strategies whose answer does not depend on the seed.
    _FIXED: ClassVar = (Mean, Contrastive)

    @property
    def settings(self) -> str:
        """The strategy and the options that differ from those of the published study.

        Seeds depend on this text, so it must not change with the defaults of a strategy.
        """
        published = _PUBLISHED_CONTRASTIVE if isinstance(self.strategy, Contrastive) else type(self.strategy)()
        usual = published.get_params()
        options = {name: value for name, value in self.strategy.get_params().items() if value != usual[name]}
        if self.n_components is not None:
            options["n_components"] = self.n_components
        return f"{self.strategy.name} t={self.t} {options}"

    def repeats(self, n_runs: int, n_searches: int) -> Repeats:
        """Cluster draws once, and searches several times, because each search may end elsewhere."""
        if isinstance(self.strategy, self._DRAWN):
            return Repeats(n_runs, 1)
        if isinstance(self.strategy, self._FIXED):
            return Repeats(1, n_runs)
        return Repeats(n_searches, math.ceil(n_runs / n_searches))

    def run(self, case: Case, seed: int, n_jobs: int | None) -> Outcome:
        """Search, and embed the answer."""
        compares = not isinstance(self.strategy, (*self._DRAWN, *self._FIXED))
        found = search(
            case.ops, case.n_clusters if compares else None, strategy=self.strategy, t=self.t or case.t,
            quality=Scoring("calinski_harabasz" if compares else None, n_components=self.n_components),
            random_state=seed, n_jobs=n_jobs, progress=False,
        )  # fmt: skip
        assert found.trajectory is not None
        geometry = embed(found.trajectory, case.n_components, tol=case.tol, random_state=seed)
        return Outcome(geometry.coordinates, None, found.trajectory, found.n_evaluations)


@dataclass(frozen=True)
class BaselineMethod(Method):
    """A baseline."""

    baseline: str
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def settings(self) -> str:
        """The baseline and its parameters."""
        return f"{self.baseline} {dict(self.options)}"

    def accepts(self, n_views: int) -> bool:
        """Return whether there are two views (composite diffusion), or the view of `options`."""
        return n_views == 2 if self.baseline == "ComD" else self.options.get("view", 0) < n_views

    def repeats(self, n_runs: int, n_searches: int) -> Repeats:
        """Cluster one embedding `n_runs` times."""
        return Repeats(1, n_runs)

    def run(self, case: Case, seed: int, n_jobs: int | None) -> Outcome:
        """Embed the samples."""
        fitted = baselines.make(
            self.baseline, n_components=case.n_components, preset=case.preset, tol=case.tol, random_state=seed,
            n_jobs=n_jobs, **self.options,
        ).fit(case.ops)  # fmt: skip
        return Outcome(fitted.embedding_, None, getattr(fitted, "trajectory_", None), 1)


@dataclass(frozen=True)
class TrueLabels(Method):
    """The true classes, whose scores are those of a perfect answer."""

    name: str = "True labels"

    def repeats(self, n_runs: int, n_searches: int) -> Repeats:
        """Give the one answer once."""
        return Repeats(1, 1)

    def run(self, case: Case, seed: int, n_jobs: int | None) -> Outcome:
        """Return the classes."""
        return Outcome(labels=case.target)


@dataclass(frozen=True)
class DefaultClustering(Method):
    """:class:`MDTClustering` with its defaults, on graphs of its own instead of those of the study."""

    name: str = "MDTClustering"

    def repeats(self, n_runs: int, n_searches: int) -> Repeats:
        """Fit `n_searches` times. The labels of a fit are final."""
        return Repeats(n_searches, 1)

    def run(self, case: Case, seed: int, n_jobs: int | None) -> Outcome:
        """Fit the views."""
        # scikit-learn accepts seeds of 32 bits.
        fitted = MDTClustering(case.n_clusters, random_state=seed % 2**32, n_jobs=n_jobs).fit(case.views)
        return Outcome(labels=fitted.labels_, n_evaluations=fitted.search_result_.n_evaluations)


@dataclass(frozen=True)
class EstimatorMethod(Method):
    """An estimator of the user, with `labels_` after `fit`. It gets the number of clusters."""

    estimator: Any

    @property
    def settings(self) -> str:
        """The class and the parameters of the estimator."""
        return f"{type(self.estimator).__name__} {joblib.hash(self.estimator.get_params())}"

    def repeats(self, n_runs: int, n_searches: int) -> Repeats:
        """Fit `n_searches` times. The labels of a fit are final."""
        return Repeats(n_searches, 1)

    def run(self, case: Case, seed: int, n_jobs: int | None) -> Outcome:
        """Fit a copy of the estimator."""
        own = self.estimator.get_params()
        given = {
            "n_clusters": case.n_clusters,
            # scikit-learn accepts seeds of 32 bits.
            "random_state": seed % 2**32,
            "n_jobs": n_jobs,
            "preset": case.preset,
        }
        copy = clone(self.estimator).set_params(**{name: value for name, value in given.items() if name in own})
        copy.fit(case.ops)
        labels: Any = getattr(copy, "labels_", None)
        if np.shape(labels) != (case.ops.n_samples,):
            got = "none" if labels is None else f"an array of shape {np.shape(labels)}"
            raise ValueError(f"methods[{self.name!r}]: expected {case.ops.n_samples} labels_ after fit, got {got}")
        return Outcome(labels=labels, trajectory=getattr(copy, "trajectory_", None))


_KNOWN: dict[str, Method] = {
    each.name: each
    for each in (
        *(BaselineMethod(name, name) for name in ("CrD", "ComD", "AD", "MVD", "ID", "p-AD", "AA", "mean")),
        SearchMethod("MDT-Direct", Direct()),
        SearchMethod("MDT-BSC", Beam()),
        # The beam search of the authors' code differs from their text: the side on which a sequence
        # grows, the depth of the answer, and the number of dimensions of a score.
        SearchMethod("MDT-BSC (as coded)", Beam(answer="last", grow="right"), n_components=10),
        SearchMethod("MDT-Rand", RandomSequences()),
        SearchMethod("MDT-Cvx-Rand", RandomWeights()),
        SearchMethod("MDT-CST", _PUBLISHED_CONTRASTIVE),
        SearchMethod("MDT-Mean", Mean()),
        DefaultClustering(),
        TrueLabels(),
    )
}


def method_names() -> list[str]:
    """Return the names of all known methods.

    Returns
    -------
    list of str
        "DM" stands for one method for each view. "DM(view 1)" is the first view alone, and
        "MDT-Cvx-Rand(t=5)" has trajectories of five steps.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> mdt.study.method_names()[:4]
    ['DM', 'CrD', 'ComD', 'AD']
    """
    return ["DM", *_KNOWN]


def find_method(name: str) -> Method:
    """Return a known method by name."""
    if (of_view := _ONE_VIEW.fullmatch(name)) and int(of_view[1]) > 0:
        return BaselineMethod(name, "DM", {"view": int(of_view[1]) - 1})
    if timed := _WITH_TIME.fullmatch(name):
        base = _KNOWN.get(timed[1])
        if isinstance(base, SearchMethod) and int(timed[2]) > 0:
            return replace(base, name=name, t=int(timed[2]))
    if name not in _KNOWN:
        raise ValueError(f"methods: expected names among {', '.join(method_names())}, got {name!r}")
    return _KNOWN[name]


def check_methods(given: Any, most_views: int) -> list[Method]:
    """Return methods given by names, or as a mapping of names to names or estimators.

    "DM" becomes one method for each view.
    """
    if isinstance(given, str):
        given = [given]
    if isinstance(given, Mapping):
        found = [_named(str(name), value) for name, value in given.items()]
    elif isinstance(given, (list, tuple)) and all(isinstance(name, str) for name in given):
        views = [f"DM(view {v})" for v in range(1, most_views + 1)]
        names = [each for name in given for each in (views if name == "DM" else [name])]
        found = [find_method(name) for name in dict.fromkeys(names)]
    else:
        raise TypeError(f"methods: expected a list of names or a mapping of names to estimators, got {given!r}")
    if not found:
        raise ValueError("methods: expected at least one, got none")
    return found


def _named(name: str, value: Any) -> Method:
    if isinstance(value, str):
        return replace(find_method(value), name=name)
    if not isinstance(value, BaseEstimator) or not hasattr(value, "fit"):
        raise TypeError(f"methods[{name!r}]: expected a name or an estimator, got {value!r}")
    return EstimatorMethod(name, value)
