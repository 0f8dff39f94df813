"""Views from one or several files, with the same samples in the same order."""

import shlex
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._graphs.presence import Presence, has_samples
from .._graphs.views import Matrix, View, in_no_view
from .._support.text import printable
from .readers import READERS
from .readers.request import MISSING, PICKLE_ADVICE, Contents, FileError, Request, SampleCount, format_names

__all__ = ["FileError", "ViewFiles", "read_views"]

# Classes that usually stand for none.
_LIKE_MISSING = frozenset(
    {"", "?", "na", "n/a", "nan", "none", "null", "unknown", "unassigned", "unlabeled", "unlabelled", "unclassified"}
)
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
        Views by name: float32 or float64 arrays, or csr_arrays for sparse files; rows are the samples
        that the view has.
    n_samples : int
        Number of samples of all views together.
    presences : dict of str to Presence
        Which samples a view has, for views that lack some.
    sample_names : list of str or None
        Names of the rows; None if no file has names.
    labels : (n_samples,) array or None
        The given classes; None if they were not requested.
    sources : dict of str to str
        For each view its file, and its name inside the file if it has one.
    places : dict of str to (Path, str)
        For each view its file and its name inside the file.
    is_scored : (n_samples,) array of bool or None
        Whether the class of a sample counts in scores; None without labels.
    sample_counts : dict of str to SampleCount
        For each modality of an .h5mu file the number of its cells and of those that are used.
    notes : list of str
        What was chosen among the contents of the files.
    warnings : list of str
        What may be wrong: samples that are left out, an order of rows that cannot be checked, a class
        that looks like a missing value.
    """

    views: dict[str, Matrix]
    n_samples: int
    presences: dict[str, Presence]
    sample_names: list[str] | None
    labels: NDArray[Any] | None
    sources: dict[str, str]
    places: dict[str, tuple[Path, str]]
    is_scored: NDArray[np.bool_] | None = None
    sample_counts: dict[str, SampleCount] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def checked_views(self) -> dict[str, View]:
        """Return the views for :func:`build_operators`."""
        return {name: View(name, X, "views", self.presences.get(name)) for name, X in self.views.items()}


def read_views(
    paths: Sequence[str | Path],
    *,
    select: Sequence[str] | None = None,
    drop_columns: Sequence[str] = (),
    labels: str | None = None,
    ignore_label: Sequence[str] = (),
    missing: str = "borrow",
) -> ViewFiles:
    """Read views from files; the suffix of a file determines its format.

    =====================  =======================================================================
    .npy                   one view
    .npz                   one view for each 2-D array of numbers, or one sparse view written by
                           scipy.sparse.save_npz
    .csv, .tsv (also .gz)  one view; UTF-8 text with a header row, separated by commas or tabs
    .parquet               one view
    .h5ad                  "obsm/X_pca" if there is one, else "X"; any matrix if selected: "X",
                           "layers/...", "obsm/..."
    .h5mu                  the same for each modality: "rna/obsm/X_pca", or "rna" for its X; any matrix
                           if selected
    =====================  =======================================================================

    The name of a view is the name of its array or modality, or the stem of its file. A name that
    occurs in several files is preceded by the stem, as in "first/X". Characters of names that cannot be
    shown are replaced by escapes.

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
    ignore_label : sequence of str, default=()
        Classes that do not count in scores, as text; "nan" is that of samples without a class.
    missing : {"borrow", "stay", "drop", "error"}, default="borrow"
        What is done with samples that a view lacks: rows of NaN, or names that other files or
        modalities have. They are kept with the first two, left out with "drop", and refused with
        "error".

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
    assumed to be in this order. Samples that the first file lacks follow in the order of the others; so
    do cells that the first requested modality of an .h5mu file lacks. A file that takes more memory
    than half of what is available, or than the environment variable MDT_FAST_MAX_BYTES states, is
    refused before it is read.
    """
    if not paths:
        raise FileError("paths: expected at least one file, got none")
    if ignore_label and labels is None:
        raise FileError("--ignore-label: expected --labels with it, got none")
    requests = [_make_request(Path(path), select, drop_columns, labels, ignore_label, missing) for path in paths]
    files = [_read(request) for request in requests]
    _check_requested(files, select, drop_columns, labels)
    aligned = _align(files)
    _check_rows(files, aligned)
    found, sources, places_in_files = _name_views(files, aligned)
    sample_names = aligned.sample_names
    classes = next(
        (
            _place_labels(file, places, aligned.n_samples)
            for file, places in zip(files, aligned.places, strict=True)
            if file.labels is not None
        ),
        None,
    )
    warnings = [*_warn_of_left_out(files), *_warn_of_order(files)]
    if missing == "drop":
        kept = np.all([has_samples(view.presence, view.n_total) for view in found.values()], axis=0)
        if not kept.any():
            raise FileError(f"{files[0].request.path}: expected samples that all views have, got none")
        if not kept.all():
            warnings.append(
                f"{np.count_nonzero(~kept):,} of {len(kept):,} samples are left out, because a view lacks them"
            )
            places = np.cumsum(kept) - 1
            found = {
                name: view.without(~kept[has_samples(view.presence, view.n_total)]).among(places, int(kept.sum()))
                for name, view in found.items()
            }
            sample_names = None if sample_names is None else np.array(sample_names, dtype=object)[kept].tolist()
            classes = None if classes is None else classes[kept]
    _check_holes(found, sample_names)
    is_scored = None
    if classes is not None:
        if classes.dtype.kind == "U":
            classes = np.array([printable(each) for each in classes.tolist()])
        is_scored = _find_scored(classes, ignore_label)
        warnings += _warn_of_missing(classes[is_scored])
    counts = {_in_file(file, files, name): n for file in files for name, n in file.sample_counts.items()}
    notes = [printable(note) for file in files for note in file.notes]
    return ViewFiles(
        {name: view.data for name, view in found.items()},
        next(iter(found.values())).n_total,
        {name: view.presence for name, view in found.items() if view.presence is not None},
        sample_names, classes, sources, places_in_files, is_scored, counts, notes, list(map(printable, warnings)),
    )  # fmt: skip


def _check_holes(views: Mapping[str, View], sample_names: list[str] | None) -> None:
    """Refuse a sample that no view has."""
    nowhere = in_no_view(list(views.values()))
    if nowhere.any():
        first = int(nowhere.argmax())
        which = f"row {first}" if sample_names is None else repr(sample_names[first])
        raise FileError(
            f"{next(iter(views.values())).argument}: expected every sample in at least one view, got "
            f"{np.count_nonzero(nowhere):,} in none, such as {which}; --missing drop leaves them out"
        )


def _in_file(file: Contents, files: Sequence[Contents], name: str) -> str:
    return printable(name if len(files) == 1 else f"{file.request.stem}/{name}")


def _warn_of_left_out(files: Sequence[Contents]) -> list[str]:
    """Say how many cells of each modality are left out because another one lacks them."""
    return [
        f"{file.request.path}: {n.n_left_out:,} of the {n.n_samples:,} cells of {name!r} are left out, because not all "
        f"of {format_names(list(file.sample_counts))} have them"
        for file in files
        for name, n in file.sample_counts.items()
        if n.n_left_out
    ]


def _warn_of_order(files: Sequence[Contents]) -> list[str]:
    """Say which files have no sample names, if others have some."""
    first = next((file.request.path for file in files if file.sample_names is not None), None)
    return [
        f"{file.request.path}: its rows have no names; they are taken to be in the order of {first}"
        for file in files
        if first is not None and file.sample_names is None and (file.views or file.labels is not None)
    ]


def _find_scored(classes: NDArray[Any], ignore_label: Sequence[str]) -> NDArray[np.bool_]:
    """Return whether each sample has a class that counts in scores."""
    names = classes.astype(str)
    for label in ignore_label:
        if label not in names and label != MISSING:
            known = format_names(np.unique(names).tolist())
            raise FileError(f"--ignore-label: expected a class among {known}, got {label!r}")
    is_scored: NDArray[np.bool_] = ~np.isin(names, list(ignore_label))
    if not is_scored.any():
        raise FileError(f"--ignore-label: expected to leave some samples, got all {len(classes)} ignored")
    return is_scored


def _warn_of_missing(classes: NDArray[Any]) -> list[str]:
    """Say which classes are named like missing values."""
    names, counts = np.unique(classes.astype(str), return_counts=True)
    return [
        f"labels: {n:,} samples have the class {name!r}, which counts as a class; --ignore-label {shlex.quote(name)} "
        "leaves them out of the score"
        for name, n in zip(names.tolist(), counts.tolist(), strict=True)
        if name.strip().lower() in _LIKE_MISSING
    ]


def _make_request(
    path: Path,
    select: Sequence[str] | None,
    drop_columns: Sequence[str],
    labels: str | None,
    ignore_label: Sequence[str],
    missing: str,
) -> Request:
    suffix = next((known for known in READERS if path.name.lower().endswith(known)), path.suffix.lower())
    request = Request(path, suffix, select, drop_columns, labels, ignore_label, missing)
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


@dataclass(frozen=True)
class _Alignment:
    """Where the rows of each file are among all samples; None if they are in this order."""

    places: list[NDArray[np.intp] | None]
    n_samples: int
    sample_names: list[str] | None


def _align(files: Sequence[Contents]) -> _Alignment:
    """Return the places of the rows of each file.

    The order is that of the first file with sample names; samples that others add follow.
    """
    named = [file for file in files if file.sample_names is not None]
    # A file of classes only says nothing about the order, unless no other file has names.
    first = next((file for file in named if file.views), named[0] if named else None)
    if first is None:
        return _Alignment([None] * len(files), max(map(_n_rows, files)), None)
    _check_common_names([file for file in named if file.views])
    names = list(first.sample_names or ())
    if first.request.missing != "error":
        known = set(names)
        for file in files:
            # A file of classes only adds no samples.
            if file.sample_names is not None and file is not first and file.views:
                new = [name for name in file.sample_names if name not in known]
                names += new
                known |= set(new)
    return _Alignment([_places(first, names, file) for file in files], len(names), names)


def _check_common_names(files: Sequence[Contents]) -> None:
    """Refuse a file none of whose samples another one has: the names are probably of two kinds."""
    names = [set(file.sample_names or ()) for file in files]
    for f, file in enumerate(files):
        if len(files) > 1 and not any(names[f] & other for o, other in enumerate(names) if o != f):
            raise FileError(
                f"{file.request.path}: expected sample names that another file has too, got none, such as "
                f"{(file.sample_names or [''])[0]!r}"
            )


def _n_rows(file: Contents) -> int:
    """Return the number of samples of a file."""
    if file.sample_names is not None:
        return len(file.sample_names)
    return next((view.n_total for view in file.views.values()), 0 if file.labels is None else len(file.labels))


def _places(first: Contents, reference: list[str], file: Contents) -> NDArray[np.intp] | None:
    names = file.sample_names
    if names is None or names == reference:
        return None
    path, reference_path = file.request.path, first.request.path
    expected = f"{path}: expected the {len(reference)} sample names of {reference_path}, got {len(names)}"
    rows = {name: row for row, name in enumerate(reference)}
    if file.request.missing == "error":
        known = set(names)
        if missing := [name for name in reference if name not in known]:
            raise FileError(f"{expected}: {len(missing)} are missing, such as {missing[0]!r}")
        if unknown := [name for name in names if name not in rows]:
            raise FileError(f"{expected}: {len(unknown)} are not among them, such as {unknown[0]!r}")
    if len(rows) < len(reference) or len(set(names)) < len(names):
        raise FileError(f"{expected} in another order, in which they cannot be matched because some occur twice")
    # Only a file of classes has names that are not among those of the samples.
    return np.array([rows.get(name, -1) for name in names], dtype=np.intp)


def _place_labels(file: Contents, places: NDArray[np.intp] | None, n: int) -> NDArray[Any]:
    """Return the classes of all samples; those that the file lacks have none."""
    labels = file.labels
    assert labels is not None
    if places is None:
        return labels
    labels, places = labels[places >= 0], places[places >= 0]
    has = np.zeros(n, dtype=bool)
    has[places] = True
    if has.all():
        placed = np.empty_like(labels)
        placed[places] = labels
        return placed
    names = np.full(n, MISSING, dtype=object)
    names[places] = labels.astype(str)
    return file.request.to_labels(names.astype(str), ~has)


def _check_rows(files: Sequence[Contents], aligned: _Alignment) -> None:
    """Refuse files whose rows cannot be matched by names and differ in number."""
    rows: dict[str, int] = {}
    for file, places in zip(files, aligned.places, strict=True):
        if places is not None:
            continue
        rows |= {file.request.source(name): view.n_total for name, view in file.views.items()}
        others = {"labels": file.labels, "sample names": file.sample_names}
        rows |= {f"{file.request.path}: {name}": len(values) for name, values in others.items() if values is not None}
    if len(set(rows.values())) > 1 or any(n != aligned.n_samples for n in rows.values()):
        got = ", ".join(f"{source}: {n}" for source, n in rows.items())
        raise FileError(f"{files[0].request.path}: expected the same number of rows everywhere, got {got}")


def _name_views(
    files: Sequence[Contents], aligned: _Alignment
) -> tuple[dict[str, View], dict[str, str], dict[str, tuple[Path, str]]]:
    """Return the views by name, in the order of the selection, and by name their sources and places."""
    found = [
        (file.request, own, view if places is None else view.among(places, aligned.n_samples))
        for file, places in zip(files, aligned.places, strict=True)
        for own, view in file.views.items()
    ]
    found.sort(key=lambda entry: entry[0].rank(entry[1]))
    counts = Counter(own for _, own, _ in found)
    views: dict[str, View] = {}
    sources: dict[str, str] = {}
    places: dict[str, tuple[Path, str]] = {}
    for request, own, view in found:
        name = printable(own if counts[own] == 1 else f"{request.stem}/{own}")
        if name in views:
            raise FileError(
                f"{request.path}: expected views of different names, got {name!r} also from {sources[name]}; "
                "rename a file"
            )
        views[name] = view
        sources[name] = printable(request.source(own))
        places[name] = request.path, own
    return views, sources, places
