"""Plots of what the tools wrote; each function draws on `ax` or a new figure and returns the axes.

They are thin: `scanpy.pl.embedding`, `scanpy.pl.umap` and `muon.pl.embedding` draw the same keys.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import plot
from .._fusion.fused_graph import FusedGraph
from .._search.view_report import ViewReport
from .._support.arguments import check_text
from ._graph import stored_graph
from ._matrices import in_memory
from ._objects import check_data, codes_of, column, complete_column, listed, n_cells

__all__ = ["embedding", "map", "view_report", "view_weights"]


def embedding(data: Any, basis: str = "X_mdt", *, color: str | None = None, ax: Any = None, **options: Any) -> Any:
    """Draw the cells at coordinates in `.obsm`.

    Parameters
    ----------
    data : AnnData or MuData
        The cells.
    basis : str, default="X_mdt"
        Key of `.obsm`, with or without ``"X_"`` at its start.
    color : str or None, default=None
        Column of `.obs`: text and categories are classes, numbers are values on a continuous scale.
    ax : matplotlib.axes.Axes, default=None
        Axes to draw on. None makes a new figure.
    **options
        Further arguments of :func:`mdt_fast.plot.embedding`, such as `dimensions`.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import anndata
    >>> import mdt_fast as mdt
    >>> from mdt_fast import scverse as mv
    >>> rna, protein = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> adata = anndata.AnnData(rna, obsm={"protein": protein})
    >>> mv.pp.neighbors(adata, ["X", "protein"])
    >>> mv.tl.embed(adata)
    >>> ax = mv.pl.embedding(adata)
    >>> type(ax).__name__
    'Axes'
    """
    check_data(data)
    key = basis if check_text("basis", basis) in data.obsm else f"X_{basis}"
    if key not in data.obsm:
        raise ValueError(f"basis: expected a key of .obsm, {listed(data.obsm)}, got {basis!r}")
    labels = None if color is None else _labels(data, color)
    return plot.embedding(in_memory(data.obsm[key], "basis"), labels, ax=ax, **_titled(options, color))


def map(data: Any, *, color: str | None = None, neighbors_key: str = "mdt", ax: Any = None, **options: Any) -> Any:
    """Draw a two-dimensional layout of the fused graph.

    Parameters
    ----------
    data : AnnData or MuData
        The cells, with a graph of :func:`pp.neighbors`.
    color : str or None, default=None
        Column of `.obs`, as in :func:`pl.embedding`.
    neighbors_key : str, default="mdt"
        Key of the graph.
    ax : matplotlib.axes.Axes, default=None
        Axes to draw on. None makes a new figure.
    **options
        Further arguments of :func:`mdt_fast.plot.map`.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import anndata
    >>> import mdt_fast as mdt
    >>> from mdt_fast import scverse as mv
    >>> rna, protein = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> adata = anndata.AnnData(rna, obsm={"protein": protein})
    >>> mv.pp.neighbors(adata, ["X", "protein"])
    >>> ax = mv.pl.map(adata, method="tsne")
    >>> type(ax).__name__
    'Axes'
    """
    check_data(data)
    stored = stored_graph(data, neighbors_key)
    nothing = np.empty((n_cells(data), 0))
    graph = FusedGraph(stored.connectivities, stored.distances, nothing, [])
    labels = None if color is None else _labels(data, color)
    draw = importlib.import_module("mdt_fast.plot").map
    return draw(graph, labels, ax=ax, **_titled(options, color))


def view_weights(
    data: Any, groupby: str | None = None, *, weight_key: str = "mod_weight", ax: Any = None, **options: Any
) -> Any:
    """Draw the mean weight of each view in each group of cells as a heat map.

    Parameters
    ----------
    data : AnnData or MuData
        The cells, with weights of :func:`pp.neighbors`.
    groupby : str or None, default=None
        Column of `.obs` with the group of each cell; None takes all cells together.
    weight_key : str, default="mod_weight"
        End of the columns of `.obs` with the weights.
    ax : matplotlib.axes.Axes, default=None
        Axes to draw on. None makes a new figure.
    **options
        Further arguments of :func:`mdt_fast.plot.weights`, such as `cmap`.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import anndata
    >>> import mdt_fast as mdt
    >>> from mdt_fast import scverse as mv
    >>> rna, protein = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> adata = anndata.AnnData(rna, obsm={"protein": protein})
    >>> mv.pp.neighbors(adata, ["X", "protein"])
    >>> ax = mv.pl.view_weights(adata)
    >>> [text.get_text() for text in ax.get_xticklabels()]
    ['all cells']
    """
    check_data(data)
    ending = f":{weight_key}"
    found = [str(name) for name in data.obs.columns if str(name).endswith(ending)]
    if not found:
        raise ValueError(f"weight_key: expected columns of .obs that end in {ending!r}, {listed(data.obs.columns)}")
    weights = data.obs[found].to_numpy(dtype=np.float64)
    codes, names = np.zeros(len(weights), dtype=np.intp), ["all cells"]
    if groupby is not None:
        codes, names = codes_of(complete_column(data, groupby, "groupby"))
    means = np.array([weights[codes == group].mean(axis=0) for group in range(len(names))])
    drawn = plot.weights(means, names=[name.removesuffix(ending) for name in found], ax=ax, **options)
    drawn.set_xlabel("" if groupby is None else groupby)
    drawn.set_xticks(np.arange(1, len(names) + 1), labels=names, rotation=0 if len(names) < 12 else 90)
    return drawn


def view_report(data: Any, *, key: str = "mdt_view_report", ax: Any = None) -> Any:
    """Draw the table of :func:`tl.view_report` as bars.

    Parameters
    ----------
    data : AnnData or MuData
        The cells.
    key : str, default="mdt_view_report"
        Key of the table in `.uns`.
    ax : matplotlib.axes.Axes, default=None
        Axes to draw on. None makes a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Examples
    --------
    >>> import anndata
    >>> import mdt_fast as mdt
    >>> from mdt_fast import scverse as mv
    >>> rna, protein = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> adata = anndata.AnnData(rna, obsm={"protein": protein})
    >>> mv.pp.neighbors(adata, ["X", "protein"])
    >>> mv.tl.cluster(adata, 3)
    >>> report = mv.tl.view_report(adata)
    >>> ax = mv.pl.view_report(adata)
    >>> type(ax).__name__
    'Axes'
    """
    check_data(data)
    table = data.uns.get(check_text("key", key))
    if not hasattr(table, "columns") or "stay" not in table.columns:
        raise ValueError(f"key: expected a table of tl.view_report in .uns, {listed(data.uns)}, got {key!r}")
    V, nothing = len(table), np.empty(0)
    numbers = {name: table[name].to_numpy() for name in ("stay", "alone", "own", "n_own", "adds")}
    counts = {name: table[name].to_numpy() for name in ("n_components", "n_isolated", "n_present")}
    report = ViewReport(
        names=[str(name) for name in table["view"]], **numbers, **counts, scores=table["score"].to_numpy(),
        score=float("nan"), weights=table["weight"].to_numpy(), self_probability=table["self_probability"].to_numpy(),
        remark=[str(remark) for remark in table["remark"]], findings=[], agreement=np.full((V, V), np.nan),
        labels=nothing, sample_weights=np.empty((0, V)), t=0, joint=None,
    )  # fmt: skip
    return plot.views(report, ax=ax)


def _labels(data: Any, color: str) -> NDArray[Any]:
    """Return classes as numbers or text, and values as floats."""
    values = column(data, color, "color")
    if values.dtype.kind in "iuf":
        return np.asarray(values.to_numpy(dtype=np.float64, na_value=np.nan))
    codes, names = codes_of(values)
    if all(name.isdecimal() for name in names) and (codes >= 0).all():
        # Clusters are listed by their numbers, not as text.
        return np.array([int(name) for name in names])[codes]
    return np.array([*names, "no value"], dtype=object)[codes]


def _titled(options: dict[str, Any], color: str | None) -> dict[str, Any]:
    """Return the options, with the column as the title of the legend."""
    return options if color is None else {"legend": color, **options}
