"""Labels, values and coordinates of new cells, from the cells of a reference that they are close to.

A new cell steps to the reference cells that are its neighbours in the views (`OperatorSet.new_rows`), with the
weights of the fused graph. Its membership in a label is the probability that the step leads there. Values and
coordinates are means over the step.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._fusion.base_weights import default_weights, walk_of_views
from .._graphs.modalities import is_multimodal
from .._graphs.new_rows import FarSamples, check_training, connect, transition_rows
from .._graphs.remoteness import REMOTE
from .._operators.new_samples import FunctionsOfTrajectory
from .._operators.operator_set import OperatorSet
from .._support.threads import n_threads
from ._matrices import in_memory
from ._objects import check_data, check_key, check_names, codes_of, column, listed, to_change
from ._projection import read_like
from ._recipe import Recipe, stored_recipe
from ._views import place
from ._write import Results, as_labels, storable


def ingest(
    query: Any,
    reference: Any,
    obs: Any = None,
    *,
    obsm: Any = None,
    unknown: str | None = None,
    neighbors_key: str = "mdt",
    key_added: str = "mdt",
    n_jobs: int | None = None,
    copy: bool = False,
    **options: Any,
) -> Any:
    """Give new cells the labels, values and coordinates of the reference cells that they are close to.

    Parameters
    ----------
    query : AnnData or MuData
        The new cells, in the views of the reference. A MuData may lack modalities, and cells may lack some.
        If a view is ``.obsm["X_pca"]``, it must be of the PCA of the reference; a query without it is projected
        by ``.varm["PCs"]`` of the reference.
    reference : AnnData or MuData
        Cells with a graph of :func:`pp.neighbors`. Its operators are built again from the stored parameters.
    obs : str, list of str or None, default=None
        Columns of `.obs` of the reference: labels (text, categories, bools) or numbers. Cells without a value
        do not count.
    obsm : str, list of str or None, default=None
        Keys of `.obsm` of the reference, such as "X_umap".
    unknown : str or None, default=None
        Label of new cells that are like no cell of the reference, with a remoteness above 1.5; None gives
        them the most probable label.
    neighbors_key : str, default="mdt"
        Key of the graph of the reference.
    key_added : str, default="mdt"
        Start of the key "mdt_remoteness" in `.obs`, and of "mdt_ingest" in `.uns`.
    n_jobs : int or None, default=None
        Number of threads; None or -1 is all.
    copy : bool, default=False
        Whether to return a changed copy instead of changing `query`.
    **options
        Options of :func:`pp.neighbors` that could not be stored, such as functions.

    Returns
    -------
    None, or AnnData or MuData if `copy`
        Written to the query are, for each label, ``.obs["cell_type"]`` (categories of the reference) and
        ``.obs["cell_type_confidence"]`` (probability that a step of the cell leads to this label); for each
        column of numbers ``.obs["<column>"]`` (mean over a step); ``.obsm["<key>"]`` (mean coordinates over a
        step); and ``.obs["mdt_remoteness"]``: the distance to the nearest reference cell over the distance of
        that cell to its last neighbour, in the view where this is largest. Above 1.5 a cell is like no cell of
        the reference.

    Raises
    ------
    TypeError, ValueError
        If an argument or a matrix is not as described. Nothing is written then.

    Examples
    --------
    >>> import anndata
    >>> import mdt_fast as mdt
    >>> from mdt_fast import scverse as mv
    >>> blobs = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0)
    >>> rna, protein = blobs.views
    >>> cells = anndata.AnnData(rna, obsm={"protein": protein})
    >>> cells.obs["cell_type"] = [f"type {kind}" for kind in blobs.target]
    >>> reference, query = cells[:100].copy(), cells[100:].copy()
    >>> mv.pp.neighbors(reference, ["X", "protein"])
    >>> del query.obs["cell_type"]
    >>> mv.tl.ingest(query, reference, obs="cell_type")
    >>> float((query.obs["cell_type"] == cells.obs["cell_type"][100:]).mean())
    1.0
    """
    check_data(query, "query")
    check_data(reference, "reference")
    query = to_change(query, copy=copy)
    check_key("key_added", key_added)
    columns = [_Column.of(reference, key) for key in check_names("obs", obs)]
    coordinates = {key: _coordinates(reference, key) for key in check_names("obsm", obsm)}
    if not columns and not coordinates:
        raise ValueError("obs, obsm: expected at least one column or key, got none")
    if unknown is not None:
        check_key("unknown", unknown)
    recipe = stored_recipe(reference, neighbors_key, options, "reference")
    if recipe is None:
        raise ValueError(
            "neighbors_key: expected the key of a graph of scverse.pp.neighbors in .uns of the reference, "
            f"{listed(reference.uns)}, got {neighbors_key!r}"
        )
    views = _views_like(query, reference, recipe)
    step, remoteness = _first_step(recipe.build(reference, n_jobs), views, n_jobs)
    results = Results(obs={f"{key_added}_remoteness": remoteness})
    for each in columns:
        results.obs |= each.at(step, remoteness > REMOTE if unknown is not None else None, unknown)
    for key, values in coordinates.items():
        results.obsm[key] = step(values)
    params = {"obs": [each.key for each in columns], "obsm": list(coordinates), "remote": REMOTE, "unknown": unknown}
    results.uns[f"{key_added}_ingest"] = {"params": storable({name: value for name, value in params.items() if value})}
    results.write(query)
    return query if copy else None


@dataclass(frozen=True)
class _Step:
    """The first step of the new cells: functions on the reference are averaged over it."""

    ops: OperatorSet
    # The transition rows in each view, batch by batch.
    rows: list[list[Any]]

    def __call__(self, functions: NDArray[Any]) -> NDArray[Any]:
        return FunctionsOfTrajectory(walk_of_views(self.ops, default_weights(self.ops)), functions).of(self.rows)


@dataclass(frozen=True)
class _Column:
    """A column of the reference: numbers, or the number of a label for each cell."""

    key: str
    values: NDArray[Any]
    # None for numbers.
    names: list[str] | None

    @classmethod
    def of(cls, reference: Any, key: str) -> _Column:
        values = column(reference, key, "obs")
        if values.isna().all():
            raise ValueError(f"obs: expected a column with values, got {key!r}, which has none")
        if values.dtype.kind in "iuf":
            return cls(key, values.to_numpy(dtype=np.float64, na_value=np.nan), None)
        return cls(key, *codes_of(values))

    def at(self, step: _Step, is_unknown: NDArray[np.bool_] | None, unknown: str | None) -> dict[str, Any]:
        """Return what is written to `.obs` of the new cells."""
        if self.names is None:
            # Cells that a pseudotime does not reach are infinite.
            known = np.isfinite(self.values)
            found = step(np.column_stack([np.where(known, self.values, 0.0), known]))
            mass = np.where(found[:, 1] > 0, found[:, 1], np.nan)
            return {self.key: found[:, 0] / mass}
        # Cells without a label have a row of zeros.
        memberships = step(np.eye(len(self.names) + 1)[:, :-1][self.values])
        codes, names = memberships.argmax(axis=1), list(self.names)
        confidence = memberships.max(axis=1)
        codes[confidence <= 0] = -1
        if is_unknown is not None and unknown is not None:
            names = names if unknown in names else [*names, unknown]
            codes[is_unknown] = names.index(unknown)
        return {self.key: as_labels(codes, names), f"{self.key}_confidence": confidence}


def _coordinates(reference: Any, key: str) -> NDArray[Any]:
    if key not in reference.obsm:
        raise ValueError(f"obsm: expected a key of .obsm of the reference, {listed(reference.obsm)}, got {key!r}")
    values = np.asarray(in_memory(reference.obsm[key], f"obsm ({key})"))
    if values.ndim != 2 or values.dtype.kind not in "biuf" or not np.isfinite(values).all():
        raise ValueError(f"obsm: expected finite coordinates in .obsm[{key!r}] of the reference, got others")
    return values.astype(np.float64)


def _views_like(query: Any, reference: Any, recipe: Recipe) -> dict[str, Any]:
    """Return the matrices of the query in the views of the reference; a MuData may lack some."""
    if is_multimodal(query) != is_multimodal(reference):
        hint = "; mudata.MuData({'rna': query}) makes one" if is_multimodal(reference) else ""
        kind = "a MuData" if is_multimodal(reference) else "an AnnData"
        raise TypeError(f"query: expected {kind}, as the reference is, got {type(query).__name__}{hint}")
    views = {}
    for source in recipe.sources:
        if source.modality is not None and source.modality not in query.mod:
            continue
        label = f"query ({source.name})"
        X = read_like(source.owner(query), source.owner(reference), source.key, label)
        views[source.name] = place(query, source, X, label)
    if not views:
        raise ValueError(f"query: expected a modality of the reference, {listed(reference.mod)}, got none")
    return views


def _first_step(ops: OperatorSet, views: dict[str, Any], n_jobs: int | None) -> tuple[_Step, NDArray[np.float64]]:
    """Return the step of the new cells to the reference, and how far they are from it."""
    names = ops.names[: ops.n_views]
    training = check_training(ops._training_views, names, "query")
    far = FarSamples()
    rows, remoteness = [], []
    for new in connect(views, names, training, ops._joint, n_threads(n_jobs), "query"):
        far.note(new)
        rows.append([matrix.astype(ops.dtype, copy=False) for matrix in transition_rows(new, len(ops.given_names))])
        remoteness.append(np.nanmax(np.column_stack([each.remoteness() for each in new]), axis=1))
    far.warn(names)
    return _Step(ops, rows), np.concatenate(remoteness)
