"""Clusters of the cells, as categories in `.obs`."""

from __future__ import annotations

from typing import Any

from .._estimators.mdt import MDTClustering
from .._support.arguments import check_flag
from ._fit import fit, model_options
from ._objects import check_data, check_key, to_change
from ._recipe import recipe_for
from ._results import CLUSTER_KEY, GRAPH_KEY, cluster_results


def cluster(
    data: Any,
    n_clusters: int | str | None = None,
    *,
    resolution: float = 1.0,
    views: Any = None,
    neighbors_key: str = GRAPH_KEY,
    batch_key: str | None = None,
    key_added: str = CLUSTER_KEY,
    random_state: Any = 0,
    n_jobs: int | None = None,
    return_model: bool = False,
    copy: bool = False,
    **options: Any,
) -> Any:
    """Cluster cells seen in several views.

    Parameters
    ----------
    data : AnnData or MuData
        The cells.
    n_clusters : int, "auto" or None, default=None
        Number of clusters, found by the consensus of many trajectories; "auto" chooses the number. None finds
        the communities of the fused graph by the Leiden algorithm, whose number follows from `resolution`.
    resolution : float, default=1.0
        With ``n_clusters=None``: a larger number gives more clusters.
    views : dict, list, str or None, default=None
        As in :func:`pp.neighbors`. None takes views and batches from ``.uns[neighbors_key]``, if
        :func:`pp.neighbors` wrote it, and all modalities otherwise.
    neighbors_key : str, default="mdt"
        Key of the graph whose views are used. The number of neighbours and the kernel are not taken from it,
        but those of :class:`MDTClustering`.
    batch_key : str or None, default=None
        Column of `.obs` with the batch of each cell.
    key_added : str, default="mdt_cluster"
        Key of the labels in `.obs`, of their confidence (followed by "_confidence"), and in `.uns`.
    random_state : int, RandomState, Generator or None, default=0
        Seed.
    n_jobs : int or None, default=None
        Number of threads; None or -1 is all.
    return_model : bool, default=False
        Whether to return the fitted :class:`MDTClustering`, which cannot be stored in a file.
    copy : bool, default=False
        Whether to return a changed copy instead of changing `data`.
    **options
        Further parameters of :class:`MDTClustering`.

    Returns
    -------
    None, the copy, the model, or copy and model
        Written are ``.obs["mdt_cluster"]`` (categories "0", "1", ...), ``.obs["mdt_cluster_confidence"]``
        (from 0 to 1, if the strategy has it) and ``.uns["mdt_cluster"]`` with parameters and score.

    Raises
    ------
    TypeError, ValueError
        If an argument or a matrix is not as described. Nothing is written then.

    Examples
    --------
    >>> import anndata
    >>> import mdt_fast as mdt
    >>> from mdt_fast import scverse as mv
    >>> rna, protein = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> adata = anndata.AnnData(obsm={"X_pca": rna, "protein": protein})
    >>> mv.tl.cluster(adata, 3, views=["X_pca", "protein"])
    >>> adata.obs["mdt_cluster"].cat.categories.tolist()
    ['0', '1', '2']
    """
    check_data(data)
    data = to_change(data, copy=copy)
    wants_model = check_flag("return_model", return_model)
    check_key("key_added", key_added)
    given = model_options(MDTClustering, options, ("n_clusters", "resolution", "random_state", "n_jobs"))
    recipe = recipe_for(data, views, neighbors_key, batch_key, random_state, {})
    model = MDTClustering(
        n_clusters=n_clusters, resolution=resolution, random_state=random_state, n_jobs=n_jobs, **given
    )
    fit(model, data, recipe)
    shown = {"n_clusters": n_clusters, "random_state": random_state, **given}
    if n_clusters is None:
        shown["resolution"] = resolution
    confidence = getattr(model, "confidence_", None)
    results = cluster_results(
        model.labels_, confidence, recipe, shown, score=model.score_, t=model.t_, key_added=key_added
    )
    results.write(data)
    if wants_model:
        return (data, model) if copy else model
    return data if copy else None
