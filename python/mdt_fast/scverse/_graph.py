"""The graph that is stored in an object, and the walk on it.

The walk of symmetric connectivities C stays at a cell with probability 1/2:
``P = (I + D^-1 C) / 2`` with D the row sums of C. A cell without edges stays where it is. P is the walk of
the symmetric affinity ``C + D``, so it is reversible.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .._operators.operator_set import OperatorSet
from .._support.arguments import check_text
from ._objects import listed

# What scanpy calls the graph that has no key.
_UNNAMED = "neighbors"


@dataclass(frozen=True)
class StoredGraph:
    """A graph in `.obsp`, and its number of neighbours."""

    connectivities: sparse.csr_array
    distances: sparse.csr_array
    n_neighbors: int


def graph_keys(key_added: str | None) -> tuple[str, str, str]:
    """Return the keys of the entry in `.uns`, and of connectivities and distances in `.obsp`."""
    if key_added is None or key_added == _UNNAMED:
        return _UNNAMED, "connectivities", "distances"
    return key_added, f"{key_added}_connectivities", f"{key_added}_distances"


def stored_graph(data: Any, key: str | None, argument: str = "neighbors_key") -> StoredGraph:
    """Return a graph that `pp.neighbors`, scanpy or muon wrote."""
    key = graph_keys(None if key is None else check_text(argument, key))[0]
    known = [str(name) for name, entry in data.uns.items() if isinstance(entry, Mapping) and "params" in entry]
    known = [name for name in known if {"connectivities_key", "distances_key"} <= set(data.uns[name])]
    if key not in known:
        raise ValueError(
            f"{argument}: expected the key of a graph in .uns, {listed(known)}, got {key!r}; "
            "scverse.pp.neighbors makes one"
        )
    entry = data.uns[key]
    matrices = []
    for name in ("connectivities", "distances"):
        place = entry[f"{name}_key"]
        if place not in data.obsp:
            raise ValueError(f"{argument}: expected .obsp[{place!r}], as .uns[{key!r}] says, got {listed(data.obsp)}")
        matrices.append(sparse.csr_array(data.obsp[place]))
    return StoredGraph(matrices[0], matrices[1], int(entry["params"]["n_neighbors"]))


def lazy_walk(connectivities: sparse.csr_array, n_jobs: int | None) -> OperatorSet:
    """Return the walk that stays with probability 1/2, in single precision."""
    degrees = np.asarray(connectivities.sum(axis=1)).ravel()
    affinity = connectivities + sparse.diags_array(np.where(degrees > 0, degrees, 1.0))
    return OperatorSet.from_affinities({"fused": sparse.csr_array(affinity)}, dtype="float32", n_jobs=n_jobs)
