"""Features averaged along the walk on the fused graph: denoised, and expected where they were not measured.

With P the walk on the stored graph (`_graph.py`) and X the features, the result is ``P^t X``. Cells that lack
the features do not count: the sum over the others is divided by the probability that the walk ends at one
of them. Columns are computed in blocks, so that memory is that of the result and of one block.

A walk that stays with probability 1/2 has finer steps. Mean squared error of the logarithms of 1,500 genes of CITE-seq
cells against an independent half of the molecules, relative to their variance (not denoised: 1.59):

====================  ======  ======  ======  ======  ======
walk                  t = 1   t = 2   t = 3   t = 4   t = 6
====================  ======  ======  ======  ======  ======
stays with 1/2        1.019   0.886   0.855   0.851   0.858
never stays           0.864   0.851   0.861   0.870   0.885
====================  ======  ======  ======  ======  ======

Expected proteins of a fifth of these cells have errors of 0.211, 0.210 and 0.211 at t = 1, 2, 3 and 0.225 at 10.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from .._graphs.modalities import is_multimodal
from .._graphs.views import read_present
from .._operators.imputation import expected_features
from .._support.arguments import check_integer, check_text
from ._graph import lazy_walk, stored_graph
from ._matrices import find_key, read_key
from ._objects import check_data, check_key, check_names, listed, n_cells, to_change
from ._views import Source, cells_of, place
from ._write import Results, storable


def denoise(
    data: Any,
    modality: str | None = None,
    *,
    layer: str | None = None,
    genes: Any = None,
    t: int = 3,
    neighbors_key: str = "mdt",
    key_added: str = "mdt_denoised",
    n_jobs: int | None = None,
    copy: bool = False,
) -> Any:
    """Average the features of each cell over the cells that a walk of `t` steps reaches, as MAGIC does [1]_.

    Parameters
    ----------
    data : AnnData or MuData
        The cells, with a graph of :func:`pp.neighbors`.
    modality : str or None, default=None
        The modality of a MuData; None for an AnnData.
    layer : str or None, default=None
        Key of `.layers`; None is `.X`.
    genes : str, list of str or None, default=None
        Names of the features; None is all of them.
    t : int, default=3
        Number of steps. A step stays at the cell with probability 1/2.
    neighbors_key : str, default="mdt"
        Key of the graph, which may also come from scanpy or muon.
    key_added : str, default="mdt_denoised"
        Key of `.layers`, or of `.obsm` if `genes` are given, of the AnnData or modality.
    n_jobs : int or None, default=None
        Number of threads; None or -1 is all.
    copy : bool, default=False
        Whether to return a changed copy instead of changing `data`.

    Returns
    -------
    None, or AnnData or MuData if `copy`
        Written is ``.layers["mdt_denoised"]``, a dense array of float32, or ``.obsm["mdt_denoised"]``, a data
        frame of the given genes; and ``.uns["mdt_denoised"]``.

    Raises
    ------
    TypeError, ValueError
        If an argument or a matrix is not as described. Nothing is written then.
    MemoryError
        If the result does not fit into memory; choose some of the `genes`.

    References
    ----------
    .. [1] D. van Dijk et al., "Recovering gene interactions from single-cell data using data diffusion",
       Cell 174 (2018) 716-729. doi:10.1016/j.cell.2018.05.061

    Examples
    --------
    >>> import anndata
    >>> import mdt_fast as mdt
    >>> from mdt_fast import scverse as mv
    >>> rna, protein = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> adata = anndata.AnnData(rna, obsm={"protein": protein})
    >>> mv.pp.neighbors(adata, ["X", "protein"])
    >>> mv.tl.denoise(adata)
    >>> adata.layers["mdt_denoised"].shape
    (150, 50)
    """
    check_data(data)
    data = to_change(data, copy=copy)
    check_key("key_added", key_added)
    source = _source(data, modality, layer, "modality")
    X, has, names = _features(data, source, genes)
    values, _ = _walk_average(data, X, has, cells_of(data, source.modality), t, neighbors_key, n_jobs)
    results = Results()
    own = results.within(source.modality)
    own.uns[key_added] = {"params": storable({"t": t, "layer": source.key, "neighbors_key": neighbors_key})}
    if genes is None:
        own.layers[key_added] = values
    else:
        own.obsm[key_added] = _table(values, source.owner(data).obs_names, names)
    results.write(data)
    return data if copy else None


def impute(
    data: Any,
    view: str,
    *,
    layer: str | None = None,
    genes: Any = None,
    t: int = 3,
    neighbors_key: str = "mdt",
    key_added: str | None = None,
    n_jobs: int | None = None,
    copy: bool = False,
) -> Any:
    """Compute the expected features of cells that a modality lacks.

    They are the mean over the cells with the modality at which a walk of `t` steps on the fused graph ends.

    Parameters
    ----------
    data : AnnData or MuData
        The cells, with a graph of :func:`pp.neighbors`.
    view : str
        A modality of a MuData that lacks cells, or a key of `.obsm` of an AnnData with rows of NaN.
    layer : str or None, default=None
        Key of `.layers` of the modality; None is `.X`.
    genes : str, list of str or None, default=None
        Names of the features; None is all of them.
    t : int, default=3
        Number of steps. A step stays at the cell with probability 1/2.
    neighbors_key : str, default="mdt"
        Key of the graph, which may also come from scanpy or muon.
    key_added : str or None, default=None
        Key of the table in `.obsm`; None is ``"<view>_imputed"``.
    n_jobs : int or None, default=None
        Number of threads; None or -1 is all.
    copy : bool, default=False
        Whether to return a changed copy instead of changing `data`.

    Returns
    -------
    None, or AnnData or MuData if `copy`
        Written are ``.obsm["<view>_imputed"]``, a data frame of float32 with the features of all cells, as
        they are where they were measured; ``.obs["<view>_imputed_mass"]``, the probability with which the walk
        ends at cells that have the features (nan for cells that have them); and ``.uns["<view>_imputed"]``.

    Raises
    ------
    TypeError, ValueError
        If an argument or a matrix is not as described. Nothing is written then.

    Examples
    --------
    >>> import anndata
    >>> import numpy as np
    >>> import mdt_fast as mdt
    >>> from mdt_fast import scverse as mv
    >>> rna, protein = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> protein[:20] = np.nan  # cells without protein
    >>> adata = anndata.AnnData(rna, obsm={"protein": protein})
    >>> mv.pp.neighbors(adata, ["X", "protein"])
    >>> mv.tl.impute(adata, "protein")
    >>> adata.obsm["protein_imputed"].shape, bool(adata.obsm["protein_imputed"].isna().any(axis=None))
    ((150, 50), False)
    """
    check_data(data)
    data = to_change(data, copy=copy)
    key = check_key("key_added", f"{view}_imputed" if key_added is None else key_added)
    source = _source(data, view, layer, "view") if is_multimodal(data) else _of_obsm(data, view, layer)
    X, has, names = _features(data, source, genes)
    if has.all():
        raise ValueError(f"view: expected one that some cells lack, got {view!r}, which all cells have")
    lacking = np.flatnonzero(~has)
    values, mass = _walk_average(data, X, has, lacking, t, neighbors_key, n_jobs)
    table = np.empty((n_cells(data), X.shape[1]), dtype=np.float32)
    table[has], table[lacking] = X.toarray() if sparse.issparse(X) else X, values
    shares = np.full(n_cells(data), np.nan)
    shares[lacking] = mass
    params = {"params": storable({"t": t, "layer": source.key, "neighbors_key": neighbors_key})}
    results = Results(obs={f"{key}_mass": shares}, uns={key: params})
    results.obsm[key] = _table(table, data.obs_names, names)
    results.write(data)
    return data if copy else None


def _source(data: Any, modality: Any, layer: str | None, argument: str) -> Source:
    """Return where the features are: a layer of a modality, or of the AnnData."""
    owner = data
    if is_multimodal(data):
        if modality is None or check_text(argument, modality) not in data.mod:
            raise ValueError(f"{argument}: expected a modality, {listed(data.mod)}, got {modality!r}")
        owner = data.mod[modality]
    elif modality is not None:
        raise ValueError(f"{argument}: expected None for an AnnData, which has no modalities, got {modality!r}")
    label = "layer" if modality is None else f"layer ({modality})"
    return Source(str(modality), find_key(owner, "X" if layer is None else f"layers/{layer}", label), modality)


def _of_obsm(data: Any, view: Any, layer: str | None) -> Source:
    if layer is not None:
        raise ValueError(f"layer: expected None for a matrix in .obsm of an AnnData, got {layer!r}")
    if check_text("view", view) not in data.obsm:
        raise ValueError(f"view: expected a key of .obsm, {listed(data.obsm)}, got {view!r}")
    return Source(str(view), str(view))


def _features(data: Any, source: Source, genes: Any) -> tuple[Any, NDArray[np.bool_], list[str]]:
    """Return the rows of the cells that have the features, which cells these are, and the names."""
    owner, label = source.owner(data), f"layer ({source.key})"
    X = read_key(owner, source.key, label)
    names = _names(owner, source, X.shape[1])
    if genes is not None:
        chosen = _positions(names, genes)
        X, names = X[:, chosen], [names[i] for i in chosen]
    placed = place(data, source, X, label)
    matrix, presence = read_present(placed, label)
    has = np.ones(n_cells(data), dtype=bool) if presence is None else presence.mask()
    return matrix, has, names


def _names(owner: Any, source: Source, d: int) -> list[str]:
    if source.key == "X" or source.key.startswith("layers/"):
        return [str(name) for name in owner.var_names]
    frame = owner.obsm[source.key]
    return [str(name) for name in frame.columns] if hasattr(frame, "columns") else [str(i) for i in range(d)]


def _positions(names: list[str], genes: Any) -> list[int]:
    wanted = check_names("genes", genes)
    places: dict[str, list[int]] = {}
    for i, name in enumerate(names):
        places.setdefault(name, []).append(i)
    for name in wanted:
        found = places.get(name, [])
        if len(found) != 1:
            got = f"{name!r}, which names {len(found)} of them" if found else repr(name)
            raise ValueError(f"genes: expected names of features, {listed(names)}, got {got}")
    if not wanted:
        raise ValueError("genes: expected at least one name, got none")
    return [places[name][0] for name in wanted]


def _walk_average(
    data: Any, X: Any, has: NDArray[np.bool_], rows: NDArray[np.intp], t: int, key: str, n_jobs: int | None
) -> tuple[NDArray[np.float32], NDArray[np.float64]]:
    steps = check_integer("t", t, minimum=1, limit=1000)
    walk = lazy_walk(stored_graph(data, key).connectivities, n_jobs)
    return expected_features(walk.trajectory([0] * steps), X, has, rows, dtype=np.float32, name="denoise")


def _table(values: NDArray[Any], index: Any, names: list[str]) -> Any:
    import pandas as pd

    return pd.DataFrame(values, index=index, columns=names)
