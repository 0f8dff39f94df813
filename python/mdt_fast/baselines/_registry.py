"""Baselines by name."""

from collections.abc import Callable
from typing import Any

from .._support.arguments import check_choice
from . import _affinities, _trajectories, _transposed

# The names are those of the paper's tables.
_MAKERS: dict[str, Callable[..., Any]] = {
    "DM": _trajectories.DiffusionMaps,
    "AD": _trajectories.AlternatingDiffusion,
    "p-AD": _trajectories.PoweredAlternatingDiffusion,
    "ID": _trajectories.IntegratedDiffusion,
    "MVD": _affinities.MultiviewDiffusionMaps,
    "CrD": _transposed.CrossDiffusion,
    "ComD": _transposed.CompositeDiffusion,
    "mean": _trajectories.MeanDiffusion,
    "AA": _affinities.AffinityAddition,
}


def names() -> list[str]:
    """Return the names of all registered baselines.

    Returns
    -------
    list of str

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> mdt.baselines.names()[:4]
    ['DM', 'AD', 'p-AD', 'ID']
    """
    return list(_MAKERS)


def make(name: str, **parameters: Any) -> Any:
    """Return a new baseline by name.

    Parameters
    ----------
    name : str
        One of :func:`names`.
    **parameters
        Parameters of its constructor.

    Returns
    -------
    Baseline
        The estimator, or what the callable of :func:`register` returns.

    Raises
    ------
    ValueError
        If the name is unknown.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> mdt.baselines.make("ID", n_clusters=3)
    IntegratedDiffusion(n_clusters=3)
    """
    return _MAKERS[check_choice("name", name, names())](**parameters)


def register(name: str, estimator: Callable[..., Any]) -> None:
    """Register a baseline for :func:`make`.

    Parameters
    ----------
    name : str
        A new name.
    estimator : class or callable
        Called with the parameters of :func:`make`. It returns an estimator with ``fit`` and
        ``embedding_``, such as a :class:`Baseline`.

    Raises
    ------
    TypeError
        If `estimator` is not callable.
    ValueError
        If the name is not a string or is already registered.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> class Backwards(mdt.baselines.TrajectoryBaseline):
    ...     def _trajectory(self, ops):
    ...         return ops.trajectory(range(ops.n_views))
    >>> mdt.baselines.register("backwards", Backwards)
    >>> mdt.baselines.make("backwards", n_clusters=3)
    Backwards(n_clusters=3)
    """
    if not callable(estimator):
        raise TypeError(f"estimator: expected a class or a function, got {estimator!r}")
    if not isinstance(name, str) or name in _MAKERS:
        raise ValueError(f"name: expected a name other than {', '.join(map(repr, _MAKERS))}, got {name!r}")
    _MAKERS[name] = estimator
