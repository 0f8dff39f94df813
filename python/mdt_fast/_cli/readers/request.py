"""The request to a reader, the contents that it returns, and the errors that it raises."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from ..._graphs.views import View, check_matrix, read_present
from ..._support.extras import require
from ..._support.reading import SizeLimitError, check_size

PICKLE_ADVICE = "a pickle can run any code when it is read; save the views with np.savez"

# The class of samples without one, for --ignore-label.
MISSING = "nan"

# Number of names that a message lists.
_LISTED = 12


class FileError(ValueError):
    """Error for a file that cannot be read as views; the message starts with its path."""


@dataclass(frozen=True)
class Request:
    """The parts of one file to read; the arguments are those of :func:`read_views`."""

    path: Path
    suffix: str
    select: Sequence[str] | None
    drop_columns: Sequence[str]
    labels: str | None
    ignored_labels: Sequence[str] = ()
    missing: str = "borrow"

    @property
    def stem(self) -> str:
        """The name of the file without its suffix."""
        return self.path.name[: -len(self.suffix)]

    def rank(self, name: str) -> int:
        """Return the index in `select` of a view, or of "stem/view"; -1 if it is not selected."""
        ranks = (i for i, wanted in enumerate(self.select or ()) if wanted in (name, f"{self.stem}/{name}"))
        return next(ranks, -1)

    def wants(self, name: str, *, by_default: bool = True) -> bool:
        """Return whether a view is to be read; `by_default` applies if `select` is None."""
        return by_default if self.select is None else self.rank(name) >= 0

    def source(self, name: str) -> str:
        """Return the path of a view, with its name inside the file if it has one."""
        return str(self.path) if name == self.stem else f"{self.path}: {name}"

    def to_view(self, name: str, X: Any) -> View:
        """Return a view as a finite 2-D matrix with rows and columns; rows of NaN are samples that it lacks."""
        if sparse.issparse(X):
            # The conversion to rows takes this memory, whatever the number of entries.
            self.check_size(name, 8 * (int(X.shape[0]) + 1))
        if hasattr(X, "check_format"):
            # SciPy does not check the indices of a file; wrong indices cause reads out of bounds.
            with self.reading("a sparse matrix"):
                X.check_format(full_check=True)
        source = self.source(name)
        try:
            matrix, presence = (check_matrix(X, source), None) if self.missing == "error" else read_present(X, source)
        except (TypeError, ValueError) as error:
            raise FileError(str(error)) from error
        if 0 in matrix.shape:
            rows, columns = matrix.shape
            raise FileError(f"{source}: expected rows and columns, got {rows} rows and {columns} columns")
        return View(name, matrix, source, presence)

    def to_labels(self, values: Any, missing: NDArray[np.bool_]) -> NDArray[Any]:
        """Return the given classes as an array of numbers or text; missing ones are the ignored class "nan"."""
        if missing.any():
            if MISSING not in self.ignored_labels:
                row = int(missing.argmax())
                raise FileError(
                    f"{self.path}: expected a class for every sample in {self.labels!r}, got none at row {row}; "
                    f"--ignore-label {MISSING} leaves such samples out of the score"
                )
            values = np.where(missing, MISSING, np.asarray(values).astype(str))
        try:
            array = np.asarray(values)
            return array if array.dtype.kind in "biufU" else array.astype(str)
        except (TypeError, ValueError) as error:
            raise FileError(f"{self.path}: expected classes in {self.labels!r}, got other values ({error})") from None

    def check_size(self, name: str, n_bytes: int) -> None:
        """Refuse a part of the file that takes more memory than may be read."""
        try:
            check_size(self.source(name), n_bytes)
        except SizeLimitError as error:
            raise FileError(str(error)) from None

    def require(self, module: str) -> Any:
        """Return a module of an extra."""
        try:
            return require(module, f"{self.path}: reading {self.suffix}")
        except ImportError as error:
            raise FileError(str(error)) from error

    @contextmanager
    def reading(self, expected: str) -> Iterator[None]:
        """Convert errors of a library to a FileError that names the file."""
        try:
            yield
        except (FileError, MemoryError):
            raise
        except SizeLimitError as error:
            raise FileError(str(error)) from None
        # Libraries raise errors of many types for damaged files, such as zlib.error and TokenError.
        except Exception as error:
            advice = f"; {PICKLE_ADVICE}" if "Object arrays" in str(error) else ""
            raise FileError(
                f"{self.path}: expected {expected}, got a damaged or different file ({error}){advice}"
            ) from error


@dataclass(frozen=True)
class SampleCount:
    """Number of samples in a part of a file, and of those that are used."""

    n_samples: int
    n_used: int

    @property
    def n_left_out(self) -> int:
        """Number of samples that are not used."""
        return self.n_samples - self.n_used


@dataclass(frozen=True)
class Contents:
    """The requested views and labels of one file, and the names of all that it contains.

    `view_names` and `label_names` list what can be requested, `columns` the columns of a table.
    `sample_counts` has the samples of each part of the file and how many of them are used, if parts
    differ; `notes` say what was chosen.
    """

    request: Request
    views: dict[str, View]
    view_names: list[str]
    sample_names: list[str] | None = None
    labels: NDArray[Any] | None = None
    label_names: list[str] = field(default_factory=list)
    columns: list[str] = field(default_factory=list)
    sample_counts: dict[str, SampleCount] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


def format_names(names: Sequence[str]) -> str:
    """Return names for a message; long lists are shortened."""
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return (", ".join(map(repr, names[:_LISTED])) or "none") + more
