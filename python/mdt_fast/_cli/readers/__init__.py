"""Readers of view files, by suffix.

A reader converts a `Request` to `Contents`. No reader loads pickles. Optional and slow packages are
imported by the reader that needs them.
"""

from collections.abc import Callable

from .hdf5 import read_anndata, read_mudata
from .numpy_arrays import read_numpy
from .request import Contents, Request
from .tables import read_parquet, read_text

READERS: dict[str, Callable[[Request], Contents]] = {
    **dict.fromkeys((".npy", ".npz"), read_numpy),
    **dict.fromkeys((".csv", ".csv.gz", ".tsv", ".tsv.gz"), read_text),
    ".parquet": read_parquet,
    ".h5ad": read_anndata,
    ".h5mu": read_mudata,
}
