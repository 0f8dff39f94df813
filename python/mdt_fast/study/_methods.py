"""Methods of a study: each finds coordinates (or labels) of a case, one seed, one result."""

from __future__ import annotations

import math
import re
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol

import joblib
import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, clone

from .. import baselines
from .._geometry.embedding import embed
from .._operators.trajectory import Trajectory
from .._search.search import search
from .._support.warnings import ConvergenceWarning
from ._cases import Case

# The authors' tree search is not that of their text: how it grows, what it answers with, in how many dimensions.
_AS_CODED = {"answer": "last", "grow": "right", "n_components": 10}
# A length other than the diffusion time: "MDT-Cvx-Rand(t=5)".
_WITH_TIME = re.compile(r"(.+)\(t=(\d+)\)")
_ONE_VIEW = re.compile(r"DM\(view (\d+)\)")


@dataclass(frozen=True)
class Found:
    """What a method found: coordinates to be clustered, or the labels themselves."""

    coordinates: NDArray[Any] | None = None
    labels: NDArray[Any] | None = None
    trajectory: Trajectory | None = None
    n_evaluations: int = 0


class Method(Protocol):
    """What a study needs of a method."""

    @property
    def name(self) -> str:
        """As in tables."""

    @property
    def settings(self) -> str:
        """Tells methods of the same name apart."""

    def suits(self, n_views: int) -> bool:
        """Whether it can do with so many views."""

    def repeats(self, n_runs: int, n_searches: int) -> tuple[int, int]:
        """How often it is run, and how often what it found is clustered."""

    def find(self, case: Case, seed: int, n_jobs: int | None) -> Found:
        """Run it once."""


def observe(method: Method, case: Case, seed: int, n_jobs: int | None) -> tuple[Found, float, bool]:
    """Run a method once; return what it found, the seconds it took, and whether all reached its tolerance.

    Other warnings, of graphs in parts for instance, are the same for all methods and are not passed on.
    """
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        began = time.perf_counter()
        found = method.find(case, seed, n_jobs)
        seconds = time.perf_counter() - began
    return found, seconds, not any(issubclass(warning.category, ConvergenceWarning) for warning in caught)


@dataclass(frozen=True)
class Searched:
    """A trajectory searched for, or drawn."""

    name: str
    strategy: str
    t: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)

    _DRAWN: ClassVar = ("random", "convex")
    # Their answer does not depend on chance.
    _FIXED: ClassVar = ("mean", "contrastive")

    @property
    def settings(self) -> str:
        """The strategy and its options."""
        return f"{self.strategy} t={self.t} {dict(self.options)}"

    def suits(self, n_views: int) -> bool:
        """Any number of views will do."""
        return True

    def repeats(self, n_runs: int, n_searches: int) -> tuple[int, int]:
        """Draws are clustered once; searches several times, because each may end elsewhere."""
        if self.strategy in self._DRAWN:
            return n_runs, 1
        return (1, n_runs) if self.strategy in self._FIXED else (n_searches, math.ceil(n_runs / n_searches))

    def find(self, case: Case, seed: int, n_jobs: int | None) -> Found:
        """Search, and embed the answer."""
        compares = self.strategy not in (*self._DRAWN, *self._FIXED)
        found = search(
            case.ops,
            case.n_clusters if compares else None,
            strategy=self.strategy,
            t=self.t or case.t,
            quality="calinski_harabasz" if compares else None,
            random_state=seed,
            n_jobs=n_jobs,
            progress=False,
            **self.options,
        )
        assert found.trajectory is not None
        geometry = embed(found.trajectory, case.n_components, tol=case.tol, random_state=seed)
        return Found(geometry.coordinates, None, found.trajectory, found.n_evaluations)


@dataclass(frozen=True)
class Fused:
    """One of the baselines."""

    name: str
    baseline: str
    options: Mapping[str, Any] = field(default_factory=dict)

    @property
    def settings(self) -> str:
        """Its parameters."""
        return f"{self.baseline} {dict(self.options)}"

    def suits(self, n_views: int) -> bool:
        """Composite diffusion is for two views, and there has to be the view that is asked for."""
        return n_views == 2 if self.baseline == "ComD" else self.options.get("view", 0) < n_views

    def repeats(self, n_runs: int, n_searches: int) -> tuple[int, int]:
        """There is one embedding."""
        return 1, n_runs

    def find(self, case: Case, seed: int, n_jobs: int | None) -> Found:
        """Embed."""
        fitted = baselines.make(
            self.baseline,
            n_components=case.n_components,
            preset=case.preset,
            tol=case.tol,
            random_state=seed,
            n_jobs=n_jobs,
            **self.options,
        ).fit(case.ops)
        return Found(fitted.embedding_, None, getattr(fitted, "trajectory_", None), 1)


@dataclass(frozen=True)
class TrueLabels:
    """The classes themselves, to see what score a perfect answer has."""

    name: str = "True labels"
    settings: str = ""

    def suits(self, n_views: int) -> bool:
        """Any number of views will do."""
        return True

    def repeats(self, n_runs: int, n_searches: int) -> tuple[int, int]:
        """There is one answer."""
        return 1, 1

    def find(self, case: Case, seed: int, n_jobs: int | None) -> Found:
        """Tell the classes."""
        return Found(labels=case.target)


@dataclass(frozen=True)
class Fitted:
    """An estimator of the user's, with `labels_` after `fit`; it is told the number of clusters."""

    name: str
    estimator: Any

    @property
    def settings(self) -> str:
        """Its class and parameters."""
        return f"{type(self.estimator).__name__} {joblib.hash(self.estimator.get_params())}"

    def suits(self, n_views: int) -> bool:
        """Nobody knows."""
        return True

    def repeats(self, n_runs: int, n_searches: int) -> tuple[int, int]:
        """Its labels are its own."""
        return n_searches, 1

    def find(self, case: Case, seed: int, n_jobs: int | None) -> Found:
        """Fit a copy."""
        own = self.estimator.get_params()
        told = {
            "n_clusters": case.n_clusters,
            # What scikit-learn takes for a seed.
            "random_state": seed % 2**32,
            "n_jobs": n_jobs,
            "preset": case.preset,
        }
        copy = clone(self.estimator).set_params(**{name: value for name, value in told.items() if name in own})
        copy.fit(case.ops)
        labels: Any = getattr(copy, "labels_", None)
        if np.shape(labels) != (case.ops.n_samples,):
            got = "none" if labels is None else f"an array of shape {np.shape(labels)}"
            raise ValueError(f"methods[{self.name!r}]: expected {case.ops.n_samples} labels_ after fit, got {got}")
        return Found(labels=labels, trajectory=getattr(copy, "trajectory_", None))


_KNOWN: dict[str, Method] = {
    **{name: Fused(name, name) for name in ("CrD", "ComD", "AD", "MVD", "ID", "p-AD", "AA", "mean")},
    "MDT-Direct": Searched("MDT-Direct", "direct"),
    "MDT-BSC": Searched("MDT-BSC", "beam"),
    "MDT-BSC (as coded)": Searched("MDT-BSC (as coded)", "beam", options=_AS_CODED),
    "MDT-Rand": Searched("MDT-Rand", "random"),
    "MDT-Cvx-Rand": Searched("MDT-Cvx-Rand", "convex"),
    "MDT-CST": Searched("MDT-CST", "contrastive"),
    "MDT-Mean": Searched("MDT-Mean", "mean"),
    "True labels": TrueLabels(),
}


def method_names() -> list[str]:
    """Return the names of all methods; "DM" stands for every view alone."""
    return ["DM", *_KNOWN]


def find_method(name: str) -> Method:
    """Return a method by name; "DM(view 1)" is the first view, "MDT-Cvx-Rand(t=5)" has a length of its own."""
    if (of_view := _ONE_VIEW.fullmatch(name)) and int(of_view[1]) > 0:
        return Fused(name, "DM", {"view": int(of_view[1]) - 1})
    if timed := _WITH_TIME.fullmatch(name):
        base = _KNOWN.get(timed[1])
        if isinstance(base, Searched) and int(timed[2]) > 0:
            return Searched(name, base.strategy, int(timed[2]), base.options)
    if name not in _KNOWN:
        raise ValueError(f"methods: expected names among {', '.join(method_names())}, got {name!r}")
    return _KNOWN[name]


def check_methods(given: Any, most_views: int) -> list[Method]:
    """Return methods given by names, or as a mapping of names to estimators; "DM" becomes one for each view."""
    if isinstance(given, str):
        given = [given]
    if isinstance(given, Mapping):
        found = [_by_hand(str(name), value) for name, value in given.items()]
    elif isinstance(given, (list, tuple)) and all(isinstance(name, str) for name in given):
        views = [f"DM(view {v})" for v in range(1, most_views + 1)]
        names = [each for name in given for each in (views if name == "DM" else [name])]
        found = [find_method(name) for name in dict.fromkeys(names)]
    else:
        raise TypeError(f"methods: expected a list of names or a mapping of names to estimators, got {given!r}")
    if not found:
        raise ValueError("methods: expected at least one, got none")
    return found


def _by_hand(name: str, value: Any) -> Method:
    if isinstance(value, str):
        return replace(find_method(value), name=name)  # type: ignore[type-var]
    if not isinstance(value, BaseEstimator) or not hasattr(value, "fit"):
        raise TypeError(f"methods[{name!r}]: expected a name or an estimator, got {value!r}")
    return Fitted(name, value)
