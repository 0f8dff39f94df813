"""What each view knows of a labelling of the cells."""

from __future__ import annotations

from typing import Any

from .._search.view_report import ViewReport
from .._search.view_report import view_report as report_views
from ._objects import check_data, check_key, codes_of, complete_column, to_change
from ._recipe import recipe_for
from ._write import Results


def view_report(
    data: Any,
    groupby: str = "mdt_cluster",
    *,
    views: Any = None,
    neighbors_key: str = "mdt",
    batch_key: str | None = None,
    key_added: str = "mdt_view_report",
    random_state: Any = 0,
    n_jobs: int | None = None,
    **options: Any,
) -> ViewReport:
    """Report what each view knows, alone and of a labelling.

    Parameters
    ----------
    data : AnnData or MuData
        The cells; the table is written to it.
    groupby : str, default="mdt_cluster"
        Column of `.obs` with a label for each cell.
    views : dict, list, str or None, default=None
        As in :func:`pp.neighbors`. None takes views, batches and options from ``.uns[neighbors_key]``, if
        :func:`pp.neighbors` wrote it, and all modalities otherwise.
    neighbors_key : str, default="mdt"
        Key of the graph whose views are used.
    batch_key : str or None, default=None
        Column of `.obs` with the batch of each cell.
    key_added : str, default="mdt_view_report"
        Key of the table in `.uns`.
    random_state : int, RandomState, Generator or None, default=0
        Seed.
    n_jobs : int or None, default=None
        Number of threads; None or -1 is all.
    **options
        Options of :func:`build_operators`, as in :func:`pp.neighbors`.

    Returns
    -------
    ViewReport
        The report; ``print(report)`` shows it. Its table is written to ``.uns["mdt_view_report"]``, a data
        frame with a row for each view.

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
    >>> adata = anndata.AnnData(rna, obsm={"protein": protein})
    >>> mv.pp.neighbors(adata, ["X", "protein"])
    >>> mv.tl.cluster(adata, 3)
    >>> report = mv.tl.view_report(adata)
    >>> adata.uns["mdt_view_report"]["view"].tolist()
    ['X', 'protein', 'joint']
    """
    check_data(data)
    data = to_change(data, copy=False)
    check_key("key_added", key_added)
    codes, names = codes_of(complete_column(data, groupby, "groupby"))
    if len(names) < 2:
        raise ValueError(f"groupby: expected at least 2 groups in .obs[{groupby!r}], got {len(names)}")
    ops = recipe_for(data, views, neighbors_key, batch_key, random_state, options).build(data, n_jobs)
    report = report_views(ops, labels=codes, random_state=random_state, n_jobs=n_jobs)
    table = report.to_frame()
    # Files need an index of text.
    table.index = table.index.astype(str)
    Results(uns={key_added: table}).write(data)
    return report
