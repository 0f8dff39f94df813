"""Diffusion coordinates of the cells, in `.obsm`."""

from __future__ import annotations

from typing import Any

from .._estimators.mdt import MDT
from .._support.arguments import check_flag
from ._fit import fit, model_options
from ._objects import check_data, check_key, to_change
from ._recipe import recipe_for
from ._results import EMBEDDING_KEY, GRAPH_KEY, embedding_results


def embed(
    data: Any,
    n_components: int = 15,
    *,
    views: Any = None,
    neighbors_key: str = GRAPH_KEY,
    batch_key: str | None = None,
    key_added: str = EMBEDDING_KEY,
    random_state: Any = 0,
    n_jobs: int | None = None,
    return_model: bool = False,
    copy: bool = False,
    **options: Any,
) -> Any:
    """Embed cells seen in several views by a multi-view diffusion trajectory.

    Parameters
    ----------
    data : AnnData or MuData
        The cells.
    n_components : int, default=15
        Number of coordinates.
    views, neighbors_key, batch_key
        As in :func:`tl.cluster`.
    key_added : str, default="X_mdt"
        Key of the coordinates in `.obsm`, and in `.uns`.
    random_state : int, RandomState, Generator or None, default=0
        Seed.
    n_jobs : int or None, default=None
        Number of threads; None or -1 is all.
    return_model : bool, default=False
        Whether to return the fitted :class:`MDT`, which embeds new cells and cannot be stored in a file.
    copy : bool, default=False
        Whether to return a changed copy instead of changing `data`.
    **options
        Further parameters of :class:`MDT`.

    Returns
    -------
    None, the copy, the model, or copy and model
        Written are ``.obsm["X_mdt"]`` and ``.uns["X_mdt"]`` with parameters, `singular_values`, the
        diffusion time `t`, and the `weights` of the `members` at each step of the trajectory.

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
    >>> mv.tl.embed(adata, 3, views=["X_pca", "protein"], strategy="mean")
    >>> adata.obsm["X_mdt"].shape, adata.uns["X_mdt"]["singular_values"].shape
    ((150, 3), (3,))
    """
    check_data(data)
    data = to_change(data, copy=copy)
    wants_model = check_flag("return_model", return_model)
    check_key("key_added", key_added)
    given = model_options(MDT, options, ("n_components", "random_state", "n_jobs"))
    recipe = recipe_for(data, views, neighbors_key, batch_key, random_state, {})
    model = fit(MDT(n_components, random_state=random_state, n_jobs=n_jobs, **given), data, recipe)
    shown = {"n_components": n_components, "random_state": random_state, **given}
    results = embedding_results(model.geometry_, recipe, shown, score=model.score_, t=model.t_, key_added=key_added)
    results.write(data)
    if wants_model:
        return (data, model) if copy else model
    return data if copy else None
