"""Views from one or several files, with the same samples in the same order."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._graphs.views import Matrix
from .readers import READERS
from .readers.request import PICKLE_ADVICE, Contents, FileError, Request, format_names

__all__ = ["FileError", "ViewFiles", "read_views"]

_REFUSED = {
    ".mat": "save the arrays as .npz: scipy.io.loadmat(...), then np.savez",
    **dict.fromkeys((".pkl", ".pickle", ".joblib", ".pt"), PICKLE_ADVICE),
}


@dataclass(frozen=True)
class ViewFiles:
    """Views and labels that were read from files.

    Attributes
    ----------
    views : dict of str to matrix
        Views by name: float32 or float64 arrays, or csr_arrays for sparse files; rows are samples.
    sample_names : list of str or None
        Names of the rows; None if no file has names.
    labels : (n_samples,) array or None
        The given classes; None if they were not requested.
    sources : dict of str to str
        For each view its file, and its name inside the file if it has one.
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
    """Read views from files; the suffix of a file determines its format.

    =====================  =======================================================================
    .npy                   one view
    .npz                   one view for each 2-D array of numbers, or one sparse view written by
                           scipy.sparse.save_npz
    .csv, .tsv (also .gz)  one view; UTF-8 text with a header row, separated by commas or tabs
    .parquet               one view
    .h5ad                  the view "X"; "layers/..." and "obsm/..." if selected
    .h5mu                  the X of each modality; "rna/layers/..." and "rna/obsm/..." if selected
    =====================  =======================================================================

    The name of a view is the name of its array or modality, or the stem of its file. A name that
    occurs in several files is preceded by the stem, as in "first/X".

    Parameters
    ----------
    paths : sequence of str or path
        The files.
    select : sequence of str or None, default=None
        Names of the views to read, in the order of the result. The stem of a file may precede a
        name.
    drop_columns : sequence of str, default=()
        Columns of tables to ignore.
    labels : str or None, default=None
        Name of the given classes: a column of a table or of obs, or a 1-D array of an .npz file.
        The first file that has this name is used.

    Returns
    -------
    ViewFiles
        The views, with sample names, labels and sources.

    Raises
    ------
    FileError
        If a file cannot be read, or its samples differ from those of the other files.

    Notes
    -----
    Sample names are read from obs_names, from the index of a Parquet table, from a column named
    index, id, sample, cell or barcode, or from a first column that has no name or no numbers. Rows
    are put in the order of the first file with sample names. Files without sample names are
    assumed to be in this order. From an .h5mu file only the cells that occur in all requested
    modalities are read, in the order of the first of these modalities.
    """
    if not paths:
        raise FileError("paths: expected at least one file, got none")
    requests = [_make_request(Path(path), select, drop_columns, labels) for path in paths]
    files = [_read(request) for request in requests]
    _check_requested(files, select, drop_columns, labels)
    orders, sample_names = _align(files)
    _check_rows(files)
    views, sources = _name_views(files, orders)
    classes = [_reorder(file.labels, order) for file, order in zip(files, orders, strict=True)]
    return ViewFiles(views, sample_names, next((found for found in classes if found is not None), None), sources)


def _make_request(path: Path, select: Sequence[str] | None, drop_columns: Sequence[str], labels: str | None) -> Request:
    suffix = next((known for known in READERS if path.name.lower().endswith(known)), path.suffix.lower())
    request = Request(path, suffix, select, drop_columns, labels)
    with request.reading("a path that can be accessed"):
        exists, is_folder = path.exists(), path.is_dir()
    if not exists or is_folder:
        raise FileError(f"{path}: expected a file, got {'a directory' if is_folder else 'a path that does not exist'}")
    if suffix not in READERS:
        advice = f"; {_REFUSED[suffix]}" if suffix in _REFUSED else ""
        raise FileError(f"{path}: expected one of {', '.join(READERS)}, got {suffix or 'no suffix'}{advice}")
    return request


def _read(request: Request) -> Contents:
    file = READERS[request.suffix](request)
    # A file without views is accepted if it has the labels.
    if not file.views and request.select is None and file.labels is None:
        names = format_names(file.columns or file.view_names)
        raise FileError(f"{request.path}: expected at least one 2-D matrix of numbers, got none among {names}")
    return file


def _check_requested(
    files: Sequence[Contents], select: Sequence[str] | None, drop_columns: Sequence[str], labels: str | None
) -> None:
    """Refuse names that occur in no file."""
    paths = ", ".join(str(file.request.path) for file in files)

    def check(expected: str, requested: Sequence[str], known: Sequence[str]) -> None:
        for name in requested:
            if name not in known:
                raise FileError(f"{paths}: expected {expected} among {format_names(known)}, got {name!r}")

    views = [(file.request.stem, name) for file in files for name in file.view_names]
    with_stems = {f"{stem}/{name}" for stem, name in views}
    check("a view", [name for name in select or () if name not in with_stems], [name for _, name in views])
    check("a column to leave out", drop_columns, [name for file in files for name in file.columns])
    if labels is not None and all(file.labels is None for file in files):
        check("labels", [labels], [name for file in files for name in file.label_names])
    if not any(file.views for file in files):
        raise FileError(f"{paths}: expected at least one view, got none")


def _align(files: Sequence[Contents]) -> tuple[list[NDArray[np.intp] | None], list[str] | None]:
    """Return the order of the rows of each file, and the sample names.

    The reference is the first file with sample names. An order is None if no reordering is needed.
    """
    first = next((file for file in files if file.sample_names is not None), None)
    if first is None:
        return [None] * len(files), None
    return [_match_rows(first, file) for file in files], first.sample_names


def _match_rows(first: Contents, file: Contents) -> NDArray[np.intp] | None:
    reference, names = first.sample_names or [], file.sample_names
    if names is None or names == reference:
        return None
    path, reference_path = file.request.path, first.request.path
    expected = f"{path}: expected the {len(reference)} sample names of {reference_path}, got {len(names)}"
    rows = {name: row for row, name in enumerate(names)}
    known = set(reference)
    if missing := [name for name in reference if name not in rows]:
        raise FileError(f"{expected}: {len(missing)} are missing, such as {missing[0]!r}")
    if unknown := [name for name in names if name not in known]:
        raise FileError(f"{expected}: {len(unknown)} are not among them, such as {unknown[0]!r}")
    if len(rows) < len(names) or len(known) < len(reference):
        raise FileError(f"{expected} in another order, in which they cannot be matched because some occur twice")
    return np.array([rows[name] for name in reference], dtype=np.intp)


def _check_rows(files: Sequence[Contents]) -> None:
    rows: dict[str, int] = {}
    for file in files:
        rows |= {file.request.source(name): matrix.shape[0] for name, matrix in file.views.items()}
        others = {"labels": file.labels, "sample names": file.sample_names}
        rows |= {f"{file.request.path}: {name}": len(values) for name, values in others.items() if values is not None}
    if len(set(rows.values())) > 1:
        got = ", ".join(f"{source}: {n}" for source, n in rows.items())
        raise FileError(f"{files[0].request.path}: expected the same number of rows everywhere, got {got}")


def _name_views(
    files: Sequence[Contents], orders: Sequence[NDArray[np.intp] | None]
) -> tuple[dict[str, Matrix], dict[str, str]]:
    """Return the views by name, in the order of the selection, and their sources by name."""
    found = [
        (file.request, own, _reorder(matrix, order))
        for file, order in zip(files, orders, strict=True)
        for own, matrix in file.views.items()
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
    return values if values is None or order is None else values[order]
