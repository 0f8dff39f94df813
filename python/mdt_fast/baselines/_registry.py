"""Baselines by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._support.arguments import check_choice
from ._affinities import AffinityAddition, MultiviewDiffusionMaps
from ._there_and_back import CompositeDiffusion, CrossDiffusion
from ._trajectories import (
    AlternatingDiffusion,
    DiffusionMaps,
    IntegratedDiffusion,
    MeanDiffusion,
    PoweredAlternatingDiffusion,
)

# The names are those of the paper's tables.
_MAKERS: dict[str, Callable[..., Any]] = {
    "DM": DiffusionMaps,
    "AD": AlternatingDiffusion,
    "p-AD": PoweredAlternatingDiffusion,
    "ID": IntegratedDiffusion,
    "MVD": MultiviewDiffusionMaps,
    "CrD": CrossDiffusion,
    "ComD": CompositeDiffusion,
    "mean": MeanDiffusion,
    "AA": AffinityAddition,
}


def names() -> list[str]:
    """Return the names that :func:`make` knows."""
    return list(_MAKERS)


def make(name: str, **parameters: Any) -> Any:
    """Return a new baseline by name.

    Parameters
    ----------
    name : str
        One of :func:`names`.
    **parameters
        Of its constructor.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> mdt.baselines.make("ID", n_clusters=3)
    IntegratedDiffusion(n_clusters=3)
    """
    return _MAKERS[check_choice("name", name, names())](**parameters)


def register(name: str, estimator: Callable[..., Any]) -> None:
    """Let :func:`make` know one more baseline.

    Parameters
    ----------
    name : str
        A new name.
    estimator : class or callable
        Called with the parameters; returns an estimator with ``fit`` and ``embedding_``, such as a
        :class:`Baseline`.
    """
    if not callable(estimator):
        raise TypeError(f"estimator: expected a class or a function, got {estimator!r}")
    if not isinstance(name, str) or name in _MAKERS:
        raise ValueError(f"name: expected a name other than {', '.join(map(repr, _MAKERS))}, got {name!r}")
    _MAKERS[name] = estimator
