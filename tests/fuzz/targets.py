"""What is fuzzed: every public function, constructor, method and property, found by introspection."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from types import FunctionType, MethodType
from typing import Any

import mdt_fast as mdt

PACKAGES = ("", "quality", "datasets", "baselines", "study", "plot", "strategies")
EXCLUDED = {
    "baselines.register": "changes the state of the process",
    "baselines.Baseline": "abstract",
    "baselines.TrajectoryBaseline": "abstract",
    "strategies.Strategy": "abstract",
    "TimeSelection.plot": "is plot.entropy",
    "ViewReport.plot": "is plot.views",
    "SearchResult.plot_tree": "is plot.tree",
}
# Operators of Python that are part of the interface.
_OPERATORS = {"OperatorSet": ("__getitem__", "__len__", "__repr__"), "Trajectory": ("__matmul__", "__repr__")}
# Relative frequencies of the packages; 1 if not named. Pictures are slow, and downloads need files.
_WEIGHTS = {"datasets.fetch": 0.05, "datasets": 0.3, "plot": 0.15, "study": 0.2, "baselines": 0.4, "strategies": 0.3}
_HEAVY = {"build_operators": 6.0, "search": 8.0, "embed": 3.0, "k_means": 3.0, "nearest_neighbors": 3.0,
          "MDTClustering.fit": 4.0, "MDT.fit": 3.0, "select_time": 2.0, "OperatorSet.from_affinities": 2.0,
          "OperatorSet.from_transitions": 2.0, "quality.contrastive_loss": 2.0, "MDT.impute": 2.0,
          "OperatorSet.new_rows": 2.0, "MDTClustering.predict": 2.0, "NeighborsTransformer.transform": 2.0}  # fmt: skip


@dataclass(frozen=True)
class Target:
    """One public callable.

    Attributes
    ----------
    name : str
        Name as a user writes it, without the package: "quality.silhouette", "MDT.fit".
    owner : type or None
        Class of which an instance is needed; for `fit` methods the class that is constructed first.
    member : str or None
        Name of the method or property of the owner; None for a function or constructor.
    function : callable or None
        The function or class to call; None with an owner.
    parameters : dict of str to inspect.Parameter
        Parameters to draw, without `self`; for `fit` methods also those of the constructor.
    """

    name: str
    owner: type | None
    member: str | None
    function: Any
    parameters: dict[str, inspect.Parameter]

    @property
    def constructs(self) -> bool:
        """Whether the parameters of the constructor are drawn, too."""
        return self.member is not None and self.member.startswith("fit")

    @property
    def weight(self) -> float:
        """Relative frequency."""
        return _HEAVY.get(self.name, next((w for prefix, w in _WEIGHTS.items() if self.name.startswith(prefix)), 1.0))


@functools.cache
def all_targets() -> dict[str, Target]:
    """Return all targets by name."""
    found = {target.name: target for package in PACKAGES for target in _in_package(package)}
    return {name: target for name, target in sorted(found.items()) if name not in EXCLUDED}


def _in_package(package: str) -> Iterator[Target]:
    module = getattr(mdt, package) if package else mdt
    for name in module.__all__:
        value = getattr(module, name)
        full = f"{package}.{name}" if package else name
        if full in EXCLUDED:
            continue
        if isinstance(value, FunctionType):
            yield Target(full, None, None, value, _parameters(value))
        elif inspect.isclass(value) and not issubclass(value, BaseException):
            yield from _in_class(full, value)


def _in_class(name: str, cls: type) -> Iterator[Target]:
    is_estimator = hasattr(cls, "fit")
    # Classes that only functions of the package make document attributes, but no parameters.
    if not is_estimator and "Parameters\n" in (cls.__doc__ or ""):
        yield Target(name, None, None, cls, _parameters(cls))
    if name.startswith("strategies."):
        return
    for member in (*dir(cls), *_OPERATORS.get(name, ())):
        value = inspect.getattr_static(cls, member)
        if member.startswith("_") and member not in _OPERATORS.get(name, ()):
            continue
        full = f"{name}.{member}"
        if isinstance(value, (property, functools.cached_property)):
            yield Target(full, cls, member, None, {})
        elif isinstance(value, classmethod):
            bound: MethodType = getattr(cls, member)
            yield Target(full, None, None, bound, _parameters(bound))
        elif isinstance(value, FunctionType) and (value.__module__.startswith("mdt_fast") or member.startswith("fit")):
            own = _parameters(value)
            drawn = {**_parameters(cls), **own} if is_estimator and member.startswith("fit") else own
            yield Target(full, cls, member, None, drawn)


def _parameters(function: Any) -> dict[str, inspect.Parameter]:
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    signature = inspect.signature(function).parameters
    return {name: each for name, each in signature.items() if name != "self" and each.kind not in kinds}
