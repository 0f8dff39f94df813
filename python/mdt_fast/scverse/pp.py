"""Preprocessing: the graph in which all views of the cells are fused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from .._fusion.fused_graph import fused_graph
from .._graphs.modalities import is_multimodal
from .._operators.operator_set import OperatorSet
from .._support.arguments import check_flag
from ._graph import graph_keys
from ._objects import check_data, check_key, to_change
from ._recipe import Recipe, graph_entry
from ._results import GRAPH_KEY, WEIGHT_KEY, graph_results
from ._views import cells_of
from ._write import Results

__all__ = ["neighbors"]


def neighbors(
    data: Any,
    views: Any = None,
    *,
    n_neighbors: Any = 15,
    key_added: str | None = GRAPH_KEY,
    batch_key: str | None = None,
    metric: Any = "auto",
    random_state: Any = 0,
    n_jobs: int | None = None,
    weight_key: str | None = WEIGHT_KEY,
    add_to_modalities: bool = False,
    copy: bool = False,
    **options: Any,
) -> Any:
    """Fuse the neighbour graphs of several views of the cells into one graph that scanpy and muon read.

    Parameters
    ----------
    data : AnnData or MuData
        The cells. Cells that a modality of a MuData lacks, and rows of NaN in a matrix of an AnnData, take
        their neighbours from the other views.
    views : dict, list, str or None, default=None
        Of a MuData: names of modalities, or a dict ``{modality: key}``; None is all modalities. Of an
        AnnData: keys, or a dict ``{name: key}``. A key is one of `.obsm`, "X", "raw" or
        "layers/<name>"; None is ``.obsm["X_pca"]`` if it is there, and `.X` otherwise.
    n_neighbors : int, "log", or list or dict of these, default=15
        Number of other cells to which each cell is joined in each view, as in :func:`build_operators`.
    key_added : str or None, default="mdt"
        Key of `.uns`, and start of the keys of `.obsp`. None is where scanpy looks without a key:
        "neighbors", "connectivities" and "distances".
    batch_key : str or None, default=None
        Column of `.obs` with the batch of each cell, see `batches` of :func:`build_operators`.
    metric : str, or list or dict of str, default="auto"
        Distance of two cells in a view, as in :func:`build_operators`.
    random_state : int, RandomState, Generator or None, default=0
        Seed of the approximate search.
    n_jobs : int or None, default=None
        Number of threads; None or -1 is all. The result does not depend on it.
    weight_key : str or None, default="mod_weight"
        The weight of a view at each cell is written to ``.obs["<view>:<weight_key>"]``, as muon does; None
        writes no weights.
    add_to_modalities : bool, default=False
        Whether each modality of a MuData also gets the graph of its cells. Tools that read modalities one by
        one, such as `muon.tl.leiden`, need it.
    copy : bool, default=False
        Whether to return a changed copy instead of changing `data`.
    **options
        Further options of :func:`build_operators`. The defaults are ``kernel="adaptive"``,
        ``anisotropy=1.0``, ``joint="auto"`` and ``scale="auto"``.

    Returns
    -------
    None, or AnnData or MuData if `copy`
        Written are ``.obsp["mdt_connectivities"]`` and ``.obsp["mdt_distances"]`` (symmetric `csr_matrix`,
        without a diagonal), ``.uns["mdt"]`` and ``.obs["<view>:mod_weight"]`` (rows sum to 1).

    Raises
    ------
    TypeError, ValueError
        If an argument or a matrix is not as described. Nothing is written then.

    See Also
    --------
    mdt_fast.fused_graph : The definition of connectivities, distances and weights.

    Examples
    --------
    >>> import anndata
    >>> import mdt_fast as mdt
    >>> from mdt_fast import scverse as mv
    >>> rna, protein = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> adata = anndata.AnnData(obsm={"X_pca": rna, "protein": protein})
    >>> mv.pp.neighbors(adata, ["X_pca", "protein"])
    >>> adata.obsp["mdt_connectivities"].shape, list(adata.obs)
    ((150, 150), ['X_pca:mod_weight', 'protein:mod_weight'])
    """
    check_data(data)
    data = to_change(data, copy=copy)
    is_shared = check_flag("add_to_modalities", add_to_modalities)
    if is_shared and not is_multimodal(data):
        raise ValueError("add_to_modalities: expected False for an AnnData, which has no modalities, got True")
    if key_added is not None:
        check_key("key_added", key_added)
    if weight_key is not None:
        check_key("weight_key", weight_key)
    recipe = Recipe.of(data, views, batch_key, random_state, {"n_neighbors": n_neighbors, "metric": metric, **options})
    ops = recipe.build(data, n_jobs)
    graph = fused_graph(ops)
    results = graph_results(data, graph, recipe, ops, key_added=key_added, weight_key=weight_key)
    if is_shared:
        for name in data.mod:
            _add_to_modality(results, data, str(name), recipe, ops, key_added)
    results.write(data)
    return data if copy else None


def _add_to_modality(
    results: Results, data: Any, name: str, recipe: Recipe, ops: OperatorSet, key_added: str | None
) -> None:
    """Add the graph among the cells of a modality, in their order."""
    entry, *keys = graph_keys(key_added)
    modality = data.mod[name]
    cells = cells_of(data, name)
    own = results.within(name)
    is_whole = np.array_equal(cells, np.arange(data.n_obs))
    for key in keys:
        matrix = results.obsp[key]
        own.obsp[key] = matrix if is_whole else matrix[cells][:, cells]
    sources = [replace(source, modality=None) for source in recipe.sources if source.modality == name]
    own.uns[entry] = graph_entry(modality, replace(recipe, sources=sources), ops, (keys[0], keys[1]), is_part=True)
