"""Where the files of the real data sets lie, and which public place each comes from.

The registry is the one table to extend when a data set is added: a file's place inside the data folder, and
an origin that tells a reader where to get it and, for files made from the originals, how.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from ._types import DataHome

ENVIRONMENT_VARIABLE = "MDT_FAST_DATA"

_MULTI_VIEW_DATASETS = "https://github.com/ChuanbinZhang/Multi-view-datasets"
_MFEAT = "https://archive.ics.uci.edu/dataset/72/multiple+features"
_MNIST = "MNIST of LeCun, Cortes and Burges, http://yann.lecun.com/exdb/mnist/"
_SNARE = "SNARE-seq cell mixture of Chen et al. 2019, GEO series GSE126074, as reduced features"


@dataclass(frozen=True)
class DataFiles:
    """The files of a data set, relative to the data folder, and their public origin."""

    paths: tuple[str, ...]
    origin: str


REGISTRY: dict[str, DataFiles] = {
    "msrc": DataFiles(("MSRC-v5.mat",), _MULTI_VIEW_DATASETS),
    "leaves": DataFiles(("100Leaves.mat",), _MULTI_VIEW_DATASETS),
    "yale": DataFiles(("Yale.mat",), _MULTI_VIEW_DATASETS),
    "caltech7": DataFiles(("Caltech101-7.mat",), _MULTI_VIEW_DATASETS),
    "multi_feat": DataFiles(
        tuple(f"mfeat/mfeat-{name}" for name in ("fac", "kar", "zer", "mor", "pix", "fou")), _MFEAT
    ),
    "olivetti": DataFiles(
        ("olivetti.npz",),
        "AT&T faces as scikit-learn's fetch_olivetti_faces gives them: X1 = data, X2 = images, Y = target",
    ),
    "isolet": DataFiles(
        ("isolet/isolet_1560.npz",),
        "https://archive.ics.uci.edu/dataset/54/isolet, the first 1560 rows: X = features, y = label 1..26",
    ),
    "mnist": DataFiles(("mnist/train-images-idx3-ubyte.gz", "mnist/train-labels-idx1-ubyte.gz"), _MNIST),
    "citeseq_pbmc": DataFiles(
        ("citeseq_pbmc/citeseq_pbmc.npz",),
        "the in-house CITE-seq blood cells of BREM-SC: rna_data, rna_indices, rna_indptr, rna_shape "
        "(CSR counts), protein, genes, proteins, cells, cell_type",
    ),
    "snareseq_cellmix": DataFiles(
        tuple(f"snareseq_cellmix/SNAREseq_{name}" for name in ("atac_feat.npy", "rna_feat.npy", "rna_types.txt")),
        _SNARE,
    ),
}


def get_data_home(data_home: DataHome = None) -> Path:
    """Return the folder in which the real data sets are looked for; it need not exist.

    Parameters
    ----------
    data_home : str, os.PathLike or None, default=None
        The folder. None means the environment variable MDT_FAST_DATA, and without it ``mdt_fast`` in the
        user's cache folder (``$XDG_CACHE_HOME`` or ``~/.cache``).

    Returns
    -------
    pathlib.Path
        The folder, with ``~`` expanded.
    """
    if data_home is None:
        data_home = os.environ.get(ENVIRONMENT_VARIABLE) or None
    if data_home is None:
        return Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "mdt_fast"
    if not isinstance(data_home, (str, os.PathLike)):
        raise TypeError(f"data_home: expected a path or None, got {data_home!r} of type {type(data_home).__name__}")
    return Path(data_home).expanduser()


def locate(name: str, data_home: DataHome) -> list[Path]:
    """Return the paths of a data set's files in the registry's order, all of which exist."""
    home = get_data_home(data_home)
    files = REGISTRY[name]
    for path in files.paths:
        if not (home / path).is_file():
            raise FileNotFoundError(
                f"{path} is not in the data folder {home}. Its public origin: {files.origin}. Put the file "
                f"there, or name another folder with data_home= or the variable {ENVIRONMENT_VARIABLE}."
            )
    return [home / path for path in files.paths]
