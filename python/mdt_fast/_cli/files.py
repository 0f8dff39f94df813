"""Views from one or several files, with one number of samples in one order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._graphs.views import Matrix
from .formats import PICKLE_ADVICE, READERS, Contents, FileError, Request, listed

__all__ = ["FileError", "ViewFiles", "read_views"]

_REFUSED = {
    ".mat": "save the arrays as .npz: scipy.io.loadmat(...), then np.savez",
    **dict.fromkeys((".pkl", ".pickle", ".joblib", ".pt"), PICKLE_ADVICE),
}


@dataclass(frozen=True)
class ViewFiles:
    """What files hold.

    Attributes
    ----------
    views : dict
        Name to matrix: a float32 or float64 array, or a csr_array where the file is sparse; rows are samples.
    sample_names : list of str or None
        Names of the rows, if a file has them.
    labels : array of shape (n_samples,) or None
        The true classes, if they were asked for.
    sources : dict
        Name of a view to the file, and the place in it, where the view comes from.
    """

    views: dict[str, Matrix]
    sample_names: list[str] | None
    labels: NDArray[Any] | None
    sources: dict[str, str]


def read_views(
    paths: Sequence[str | Path],
    *,
    select: Sequence[str] | None = None,
    drop_columns: Sequence[str] = (),
    labels: str | None = None,
) -> ViewFiles:
    """Read the views in files, whose kind is told by the suffix.

    =====================  ===========================================================================================
    .npy                   one view
    .npz                   a view for every 2-D array of numbers, or one sparse view saved by scipy.sparse.save_npz
    .csv, .tsv (also .gz)  one view; a header row, commas or tabs, UTF-8
    .parquet               one view
    .h5ad                  the view "X"; by selection also "layers/..." and "obsm/..."
    .h5mu                  a view for the X of every modality; by selection also "rna/layers/..." and "rna/obsm/..."
    =====================  ===========================================================================================

    A view has the name of its array or modality, or else the stem of its file. Names that occur in several files are
    preceded by the stem, as in "first/X".

    Parameters
    ----------
    paths : sequence of str or path
        The files.
    select : sequence of str, optional
        Names of the views to read, which then come in this order; a name may be preceded by a file's stem.
    drop_columns : sequence of str
        Columns of tables to leave out.
    labels : str, optional
        The true classes: a column of a table or of obs, or a 1-D array of an .npz; of several, the first one.

    Returns
    -------
    ViewFiles
        The views, with sample names, classes and sources.

    Raises
    ------
    FileError
        If a file cannot be read, or does not fit the others.

    Notes
    -----
    Sample names come from obs_names, from the index of a Parquet table, from a column named index, id, sample, cell or
    barcode, or from a first column that has no name or holds no numbers. Files with the same names in another order are
    put in the order of the first file with names; files without names are taken to be in that order. Of an .h5mu
    file come the cells that are in every modality that is read, in the order of the first of these.
    """
    if not paths:
        raise FileError("paths: expected at least one file, got none")
    requests = [_request(Path(path), select, drop_columns, labels) for path in paths]
    files = [(request, _read(request)) for request in requests]
    _check_asked(files, select, drop_columns, labels)
    orders, sample_names = _align(files)
    _check_rows(files)
    views, sources = _name_views(files, orders)
    classes = [_reorder(h.labels, order) for (_, h), order in zip(files, orders, strict=True) if h.labels is not None]
    return ViewFiles(views, sample_names, classes[0] if classes else None, sources)


def _request(path: Path, select: Sequence[str] | None, drop_columns: Sequence[str], labels: str | None) -> Request:
    suffix = next((known for known in READERS if path.name.lower().endswith(known)), path.suffix.lower())
    request = Request(path, suffix, select, drop_columns, labels)
    with request.reading("a path that can be looked at"):
        exists, is_folder = path.exists(), path.is_dir()
    if not exists or is_folder:
        raise FileError(f"{path}: expected a file, got {'a directory' if is_folder else 'a path where nothing is'}")
    if suffix not in READERS:
        advice = f"; {_REFUSED[suffix]}" if suffix in _REFUSED else ""
        raise FileError(f"{path}: expected one of {', '.join(READERS)}, got {suffix or 'no suffix'}{advice}")
    return request


def _read(request: Request) -> Contents:
    held = READERS[request.suffix](request)
    # A file may be there for its classes alone.
    if not held.views and request.select is None and held.labels is None:
        there = listed(held.columns or held.view_names)
        raise FileError(f"{request.path}: expected at least one 2-D matrix of numbers, got none among {there}")
    return held


def _check_asked(
    files: Sequence[tuple[Request, Contents]],
    select: Sequence[str] | None,
    drop_columns: Sequence[str],
    labels: str | None,
) -> None:
    """Refuse names that no file knows."""
    paths = ", ".join(str(request.path) for request, _ in files)

    def check(what: str, asked: Sequence[str], known: Sequence[str]) -> None:
        for name in asked:
            if name not in known:
                raise FileError(f"{paths}: expected {what} of {listed(known)}, got {name!r}")

    views = [(request.stem, name) for request, held in files for name in held.view_names]
    stems = {f"{stem}/{name}" for stem, name in views}
    check("a view", [name for name in select or () if name not in stems], [name for _, name in views])
    check("a column to leave out", drop_columns, [name for _, held in files for name in held.columns])
    if labels is not None and all(held.labels is None for _, held in files):
        check("labels", [labels], [name for _, held in files for name in held.label_names])
    if not any(held.views for _, held in files):
        raise FileError(f"{paths}: expected at least one view, got none")


def _align(
    files: Sequence[tuple[Request, Contents]],
) -> tuple[list[NDArray[np.intp] | None], list[str] | None]:
    """Return what puts each file's rows in the order of the first with names, None where they are in it; the names."""
    first = next((file for file in files if file[1].sample_names is not None), None)
    if first is None:
        return [None] * len(files), None
    reference = first[1].sample_names or []
    orders = [
        None
        if held.sample_names is None or held.sample_names == reference
        else _order(reference, first[0].path, held.sample_names, request.path)
        for request, held in files
    ]
    return orders, reference


def _order(reference: list[str], reference_path: Path, names: list[str], path: Path) -> NDArray[np.intp]:
    expected = f"{path}: expected the {len(reference)} sample names of {reference_path}, got {len(names)}"
    places = {name: row for row, name in enumerate(names)}
    known = set(reference)
    if missing := [name for name in reference if name not in places]:
        raise FileError(f"{expected}: {len(missing)} are missing, such as {missing[0]!r}")
    if unknown := [name for name in names if name not in known]:
        raise FileError(f"{expected}: {len(unknown)} are not among them, such as {unknown[0]!r}")
    if len(places) < len(names) or len(known) < len(reference):
        raise FileError(f"{expected} in another order, in which they cannot be matched because some occur twice")
    return np.array([places[name] for name in reference], dtype=np.intp)


def _check_rows(files: Sequence[tuple[Request, Contents]]) -> None:
    rows: dict[str, int] = {}
    for request, held in files:
        rows |= {request.source(name): matrix.shape[0] for name, matrix in held.views.items()}
        beside = {"labels": held.labels, "sample names": held.sample_names}
        rows |= {f"{request.path}: {what}": len(values) for what, values in beside.items() if values is not None}
    if len(set(rows.values())) > 1:
        got = ", ".join(f"{source}: {n}" for source, n in rows.items())
        raise FileError(f"{files[0][0].path}: expected the same number of rows everywhere, got {got}")


def _name_views(
    files: Sequence[tuple[Request, Contents]], orders: Sequence[NDArray[np.intp] | None]
) -> tuple[dict[str, Matrix], dict[str, str]]:
    """Return the views in the order of the selection, and where each comes from."""
    found = [
        (request, own, _reorder(matrix, order))
        for (request, held), order in zip(files, orders, strict=True)
        for own, matrix in held.views.items()
    ]
    found.sort(key=lambda entry: entry[0].rank(entry[1]))
    counts = Counter(own for _, own, _ in found)
    views: dict[str, Matrix] = {}
    sources: dict[str, str] = {}
    for request, own, matrix in found:
        name = own if counts[own] == 1 else f"{request.stem}/{own}"
        if name in views:
            raise FileError(
                f"{request.path}: expected views of different names, got {name!r} also from {sources[name]}; "
                "rename a file"
            )
        views[name] = matrix
        sources[name] = request.source(own)
    return views, sources


def _reorder(values: Any, order: NDArray[np.intp] | None) -> Any:
    return values if order is None else values[order]
