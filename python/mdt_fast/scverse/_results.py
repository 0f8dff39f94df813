"""What is written of a graph, of clusters and of coordinates, for functions and for the command line."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._fusion.fused_graph import FusedGraph
from .._geometry.embedding import Embedding
from .._operators.operator_set import OperatorSet
from ._graph import graph_keys
from ._recipe import Recipe, fit_params, graph_entry
from ._write import Results, numbered, storable

GRAPH_KEY, CLUSTER_KEY, EMBEDDING_KEY, WEIGHT_KEY = "mdt", "mdt_cluster", "X_mdt", "mod_weight"


def graph_results(
    data: Any,
    graph: FusedGraph,
    recipe: Recipe,
    ops: OperatorSet,
    *,
    key_added: str | None = GRAPH_KEY,
    weight_key: str | None = WEIGHT_KEY,
    is_part: bool = False,
) -> Results:
    """Return the matrices of a graph, its entry in `.uns` and the weights of the views.

    Parameters
    ----------
    data : AnnData or MuData
        The object.
    graph : FusedGraph
        The graph of its cells.
    recipe : Recipe
        How the operators were made.
    ops : OperatorSet
        The operators.
    key_added, weight_key
        As in :func:`pp.neighbors`.
    is_part : bool, default=False
        Whether the object does not have all views, so that the operators cannot be made from it again.
    """
    entry, *keys = graph_keys(key_added)
    matrices = (graph.connectivities, graph.distances)
    # Older readers know matrices of SciPy, not arrays.
    results = Results(obsp={key: sparse.csr_matrix(matrix) for key, matrix in zip(keys, matrices, strict=True)})
    results.uns[entry] = graph_entry(data, recipe, ops, (keys[0], keys[1]), is_part=is_part)
    if weight_key is not None:
        for name, weights in zip(graph.view_names, graph.view_weights.T, strict=True):
            results.obs[f"{name}:{weight_key}"] = weights.copy()
    return results


def cluster_results(
    labels: NDArray[np.integer[Any]],
    confidence: NDArray[np.float64] | None,
    recipe: Recipe,
    options: Mapping[str, Any],
    *,
    score: float,
    t: int,
    key_added: str = CLUSTER_KEY,
) -> Results:
    """Return the labels of cells, their confidence if there is one, and the parameters of the fit."""
    results = Results(obs={key_added: numbered(labels)})
    if confidence is not None:
        results.obs[f"{key_added}_confidence"] = confidence.copy()
    shown = {**options, "n_clusters": "leiden" if options["n_clusters"] is None else options["n_clusters"]}
    results.uns[key_added] = {
        "params": fit_params(recipe, shown),
        **storable({"n_clusters": int(labels.max()) + 1, "score": score, "t": t}),
    }
    return results


def embedding_results(
    geometry: Embedding,
    recipe: Recipe,
    options: Mapping[str, Any],
    *,
    score: float,
    t: int,
    key_added: str = EMBEDDING_KEY,
) -> Results:
    """Return the coordinates of cells, and the spectrum, trajectory and parameters of the fit."""
    trajectory = geometry.trajectory
    entry = {
        "params": fit_params(recipe, options),
        "singular_values": geometry.singular_values,
        "weights": trajectory.weights.copy(),
        **storable({"members": trajectory.operators.names, "t": t, "score": score}),
    }
    return Results(obsm={key_added: geometry.coordinates}, uns={key_added: entry})
