"""How the operators of an object are made: its views, its batches, and options of `build_operators`.

A recipe is stored beside the graph in `.uns`, so that later functions make the same operators again;
operators themselves cannot be stored in files. Settings are stored as one JSON text: files have no None
and lose the types of nested values.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

import numpy as np

from .._graphs.modalities import is_multimodal
from .._graphs.views import View
from .._operators.build import build_operators
from .._operators.data_checks import warn_of_data
from .._operators.operator_set import OperatorSet
from .._support.arguments import check_text, is_integer
from ._graph import graph_keys
from ._matrices import keys_of
from ._objects import complete_column, listed
from ._representation import representation
from ._views import Source, find_sources, read_views
from ._write import storable

# Options of `build_operators` that suit cells.
DEFAULTS: dict[str, Any] = {
    "n_neighbors": 15, "kernel": "adaptive", "anisotropy": 1.0, "joint": "auto", "metric": "auto", "scale": "auto",
}  # fmt: skip
# Name of the text in the stored parameters.
_STORED = "mdt_fast"
_OPTIONS = (
    "n_neighbors", "kernel", "bandwidth", "symmetrize", "neighbors", "metric", "anisotropy", "scale", "joint", "absent",
    "zero_rows", "dtype",
)  # fmt: skip


@dataclass(frozen=True)
class Recipe:
    """Views, batches, seed and options from which operators are built."""

    sources: list[Source]
    batch_key: str | None = None
    random_state: Any = 0
    options: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, data: Any, views: Any, batch_key: str | None, random_state: Any, options: Mapping[str, Any]) -> Recipe:
        """Return a recipe with the defaults for cells; every name is checked."""
        unknown = [name for name in options if name not in _OPTIONS]
        if unknown:
            raise TypeError(f"{unknown[0]}: expected an option of build_operators, {listed(_OPTIONS)}")
        if batch_key is not None:
            complete_column(data, batch_key, "batch_key")
        return cls(find_sources(data, views), batch_key, random_state, {**DEFAULTS, **options})

    def views(self, data: Any, argument: str = "views") -> dict[str, View]:
        """Return the views of an object, which may be another one of the same kind."""
        return read_views(data, self.sources, argument)

    def batches(self, data: Any) -> dict[str, Any]:
        """Return the batches of the cells as an argument of other functions; no argument without a key."""
        if self.batch_key is None:
            return {}
        return {"batches": np.asarray(complete_column(data, self.batch_key, "batch_key").astype(str))}

    def build(self, data: Any, n_jobs: int | None = None) -> OperatorSet:
        """Build the operators of the views; data that spoils distances is warned of."""
        ops = build_operators(
            self.views(data),
            **self.options,
            **self.batches(data),
            random_state=self.random_state,
            n_jobs=n_jobs,
        )
        warn_of_data(ops)
        return ops

    def to_text(self) -> str:
        """Return the recipe as JSON; options that are no plain values are named only."""
        known, unknown = {}, []
        for name, value in self.options.items():
            try:
                known[name] = json.loads(json.dumps(value, default=_plain))
            except TypeError:
                unknown.append(name)
        return json.dumps({
            "views": [asdict(source) for source in self.sources],
            "batch_key": self.batch_key,
            "random_state": int(self.random_state) if is_integer(self.random_state) else 0,
            "options": known,
            "not_stored": unknown,
        })  # fmt: skip


def _plain(value: Any) -> Any:
    """Return an array or scalar of NumPy as a value of Python."""
    if isinstance(value, (np.ndarray, np.generic)):
        return value.tolist()
    raise TypeError(type(value).__name__)


def stored_recipe(data: Any, key: str | None, options: Mapping[str, Any], argument: str = "data") -> Recipe | None:
    """Return the recipe that `pp.neighbors` stored; None if it stored none under this key.

    Parameters
    ----------
    data : AnnData or MuData
        The object.
    key : str
        Key of `.uns`; None is "neighbors".
    options : mapping
        Options that replace stored ones; those that could not be stored must be among them.
    argument : str, default="data"
        The argument in which the user gave the object.
    """
    key = graph_keys(None if key is None else check_text("neighbors_key", key))[0]
    entry = data.uns.get(key)
    text = entry["params"].get(_STORED) if isinstance(entry, Mapping) and "params" in entry else None
    if text is None:
        return None
    stored = json.loads(str(text))
    missing = [name for name in stored["not_stored"] if name not in options]
    if missing:
        raise ValueError(
            f"{missing[0]}: expected the value that was given to pp.neighbors, because .uns[{key!r}] cannot hold it"
        )
    found = Recipe(
        [Source(**source) for source in stored["views"]],
        stored["batch_key"],
        stored["random_state"],
        {**stored["options"], **options},
    )
    check_sources(data, found.sources, key, argument)
    return found


def check_sources(data: Any, sources: list[Source], key: str, argument: str) -> None:
    """Raise ValueError if the stored views are no longer in the object."""
    if any((source.modality is None) == is_multimodal(data) for source in sources):
        kind = "a MuData" if sources[0].modality is not None else "an AnnData"
        raise ValueError(f"{argument}: expected {kind}, as .uns[{key!r}] says, got {type(data).__name__}")
    names = [source.name if source.modality is None else source.modality for source in sources]
    wanted = {name: source.key for name, source in zip(names, sources, strict=True)}
    find_sources(data, wanted, f"{argument}.uns[{key!r}]")


def recipe_for(
    data: Any, views: Any, neighbors_key: str, batch_key: str | None, random_state: Any, options: Mapping[str, Any]
) -> Recipe:
    """Return the recipe of given views, else the stored one, else that of the default views."""
    if views is None:
        found = stored_recipe(data, neighbors_key, options)
        if found is not None:
            return found if batch_key is None else Recipe(found.sources, batch_key, random_state, found.options)
        if not is_multimodal(data):
            raise ValueError(
                f"views, neighbors_key: expected matrices of the AnnData, {listed(keys_of(data))}, or the key of a "
                f"graph of scverse.pp.neighbors, {listed(data.uns)}, got None and {neighbors_key!r}"
            )
    return Recipe.of(data, views, batch_key, random_state, options)


def fit_params(recipe: Recipe, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the views and the options of a fit for `.uns`."""
    return {
        "views": np.array([source.name for source in recipe.sources], dtype=object),
        "keys": np.array([source.key for source in recipe.sources], dtype=object),
        **storable({"batch_key": recipe.batch_key, **options}),
    }


def graph_entry(
    data: Any, recipe: Recipe, ops: OperatorSet, keys: tuple[str, str], *, is_part: bool = False
) -> dict[str, Any]:
    """Return the entry of `.uns` in the form that scanpy and muon read.

    Parameters
    ----------
    data : AnnData or MuData
        The object. scanpy expects one key of a representation, and muon a dict by modality.
    recipe : Recipe
        How the graph was made.
    ops : OperatorSet
        The operators from which it was made.
    keys : tuple of str
        Keys of the connectivities and of the distances in `.obsp`.
    is_part : bool, default=False
        Whether the object is one of several modalities, which do not have all views.
    """
    params: dict[str, Any] = {
        "n_neighbors": _n_neighbors(ops),
        # With another name `sc.tl.umap` logs that the graph was not made for it.
        "method": "umap",
        # Used by UMAP to arrange the parts of a graph that is not connected.
        "metric": "euclidean",
        "random_state": int(recipe.random_state) if is_integer(recipe.random_state) else 0,
        **representation(data, recipe.sources),
    }
    if not is_part:
        params[_STORED] = recipe.to_text()
    return {"connectivities_key": keys[0], "distances_key": keys[1], "params": params}


def _n_neighbors(ops: OperatorSet) -> int:
    """Return the largest number of neighbours of a view; of given graphs the mean number of edges of a cell."""
    known = [each.n_neighbors for each in ops._training_views if each is not None]
    if known:
        return max(known)
    walks = map(ops.native.transition_in_any_order, range(ops.n_views))
    return max(P.values.size for P in walks) // ops.n_samples
