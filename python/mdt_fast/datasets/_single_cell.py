"""Two single-cell sets in which each cell was measured twice: RNA and surface proteins, chromatin and RNA."""

from __future__ import annotations

import pickle
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np

from .._support.arguments import check_flag
from ._bunch import encode_labels, make_bunch
from ._files import locate
from ._prepare import (
    centered_log_ratio,
    most_variable_columns,
    normalize_counts,
    principal_components,
    scale_rows,
)
from ._types import DataHome

N_GENES = 2000
N_COMPONENTS = 50
UNKNOWN = "unknown"


def fetch_citeseq_pbmc(
    *, data_home: DataHome = None, prepared: bool = True, drop_unknown: bool = False, download_if_missing: bool = True
) -> Any:
    """Read CITE-seq blood cells: 1372 cells in 2 views (counts of 16793 genes, of 10 surface proteins).

    Six cell types are annotated. The 190 cells that their annotators left open form a seventh class
    "unknown", which is no cell type: drop it where agreement with the annotation is measured.

    Parameters
    ----------
    data_home : str, os.PathLike or None, default=None
        Folder of the data files; None means the variable MDT_FAST_DATA, then the cache folder.
    prepared : bool, default=True
        RNA: scale every cell to 10000 counts, take log(1 + x), keep the 2000 genes of greatest variance, then
        50 principal components. Proteins: centred log-ratio within each cell, log(1 + x) less its mean. False
        gives the counts, RNA as a sparse matrix.
    drop_unknown : bool, default=False
        Leave out the cells of unknown type, before any preparation.
    download_if_missing : bool, default=True
        Without effect: no public address of the file is known.

    Returns
    -------
    sklearn.utils.Bunch
        views, target (integers from 0), target_names (the cell types), view_names, DESCR, cell_type (the type
        of each cell as a string), cells (barcodes), genes, proteins.

    Raises
    ------
    FileNotFoundError
        If citeseq_pbmc.npz is not in the folder.
    """
    from scipy.sparse import csr_array

    check_flag("prepared", prepared)
    check_flag("drop_unknown", drop_unknown)
    (path,) = locate("citeseq_pbmc", data_home, download_if_missing)
    cell_type = read_strings(path, "cell_type")
    with np.load(path, allow_pickle=False) as contents:
        parts = (contents["rna_data"].astype(np.float64), contents["rna_indices"], contents["rna_indptr"])
        n_cells, n_genes = (int(size) for size in contents["rna_shape"])
        rna: Any = csr_array(parts, shape=(n_cells, n_genes))
        protein = contents["protein"].astype(np.float64)
        cells, genes, proteins = contents["cells"], contents["genes"], contents["proteins"]
    if drop_unknown:
        kept = np.flatnonzero(cell_type != UNKNOWN)
        rna, protein, cells, cell_type = rna[kept], protein[kept], cells[kept], cell_type[kept]
    if prepared:
        rna = principal_components(most_variable_columns(normalize_counts(rna), N_GENES), N_COMPONENTS)
        protein = centered_log_ratio(protein)
    target, target_names = encode_labels(cell_type)
    state = "counts"
    if prepared:
        state = f"RNA: log of 10000 counts, {N_GENES} most variable genes, PCA {N_COMPONENTS}; proteins: CLR"
    description = f"CITE-seq blood cells: {target.size} cells, views rna and protein ({state}). Target: cell type" + (
        "." if drop_unknown else f"; {UNKNOWN!r} marks cells that were not annotated."
    )
    return make_bunch(
        (rna, protein),
        target,
        ("rna", "protein"),
        description,
        target_names=target_names,
        cell_type=cell_type,
        cells=cells,
        genes=genes,
        proteins=proteins,
    )


def fetch_snareseq_cellmix(
    *, data_home: DataHome = None, prepared: bool = True, download_if_missing: bool = True
) -> Any:
    """Read the SNARE-seq mixture: 1047 cells of 4 cell lines in 2 views (19 chromatin, 10 RNA features).

    Parameters
    ----------
    data_home : str, os.PathLike or None, default=None
        Folder of the data files; None means the variable MDT_FAST_DATA, then the cache folder.
    prepared : bool, default=True
        Scale every row to unit length, so that only the proportions of a cell's features count: chromatin
        features spread over three orders of magnitude. False gives the features as they are in the files.
    download_if_missing : bool, default=True
        Download a file that is not in the folder, to the cache folder or `data_home`. False, or the variable
        MDT_FAST_OFFLINE, keeps off the network.

    Returns
    -------
    sklearn.utils.Bunch
        views, target (0 to 3; the file does not name the cell lines), view_names, DESCR.

    Raises
    ------
    FileNotFoundError
        If one of the three files is not in the folder and cannot be downloaded.
    """
    check_flag("prepared", prepared)
    atac_path, rna_path, type_path = locate("snareseq_cellmix", data_home, download_if_missing)
    views = [np.asarray(np.load(path, allow_pickle=False), dtype=np.float64) for path in (atac_path, rna_path)]
    if prepared:
        views = [scale_rows(view) for view in views]
    target, _ = encode_labels(np.loadtxt(type_path, dtype=np.int64))
    state = "unit rows" if prepared else "raw"
    description = f"SNARE-seq cell mixture: {target.size} cells of 4 cell lines, views atac and rna ({state})."
    return make_bunch(views, target, ("atac", "rna"), description)


class _ArrayUnpickler(pickle.Unpickler):
    """Unpickles arrays of plain Python values and nothing else, so that a data file cannot run code."""

    def find_class(self, module_name: str, global_name: str) -> Any:
        """Return the few globals that an array needs."""
        if module_name in ("numpy.core.multiarray", "numpy._core.multiarray") and global_name == "_reconstruct":
            # Asking an array avoids NumPy's private module, which was renamed in version 2.
            return np.empty(0).__reduce__()[0]
        if module_name == "numpy" and global_name in ("ndarray", "dtype"):
            return getattr(np, global_name)
        raise pickle.UnpicklingError(f"expected an array of strings, got {module_name}.{global_name}")


def read_strings(path: Path, name: str) -> Any:
    """Return an array of strings from an npz file, also where its dtype is object and it is pickled."""
    with zipfile.ZipFile(path) as archive, archive.open(f"{name}.npy") as stream:
        values = _read_array(stream)
    return np.asarray(values).astype(np.str_)


def _read_array(stream: IO[bytes]) -> Any:
    version = np.lib.format.read_magic(stream)
    read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read_header(stream)
    if dtype.hasobject:
        return _ArrayUnpickler(stream).load()
    return np.frombuffer(stream.read(), dtype=dtype).reshape(shape)
