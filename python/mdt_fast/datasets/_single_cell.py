"""Two single-cell data sets with two views: RNA and surface proteins, chromatin and RNA."""

import pickle
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np

from .._support.arguments import check_flag
from ._bunch import encode_labels, make_bunch
from ._files import locate
from ._prepare import centered_log_ratio, most_variable_columns, normalize_counts, principal_components, scale_rows
from ._types import DataHome

N_GENES = 2000
N_COMPONENTS = 50
UNKNOWN = "unknown"


def fetch_citeseq_pbmc(
    *, data_home: DataHome = None, prepared: bool = True, drop_unknown: bool = False, download_if_missing: bool = True
) -> Any:
    """Read CITE-seq blood cells: 1372 cells, counts of 16793 genes and of 10 surface proteins.

    Six cell types are annotated. The 190 cells without annotation form a seventh class "unknown".
    Drop them to measure agreement with the annotation.

    Parameters
    ----------
    data_home : str, os.PathLike or None, default=None
        Folder of the data files. None means the folder of the variable MDT_FAST_DATA, then the
        cache folder.
    prepared : bool, default=True
        Whether to prepare the counts. RNA: every cell is scaled to 10000 counts, then log(1 + x),
        the 2000 genes of largest variance, and 50 principal components. Proteins: centred log-ratio
        within each cell, log(1 + x) minus its mean. False returns the counts, RNA as a sparse
        matrix.
    drop_unknown : bool, default=False
        Whether to drop the cells of unknown type before any preparation.
    download_if_missing : bool, default=True
        Without effect, because no public address of the file is known.

    Returns
    -------
    sklearn.utils.Bunch
        views, target (integers from 0), target_names (the cell types), view_names, DESCR, cell_type
        (the type of each cell as a string), cells (barcodes), genes, proteins.

    Raises
    ------
    FileNotFoundError
        If citeseq_pbmc.npz is not in the folder.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> bunch = mdt.datasets.fetch_citeseq_pbmc(prepared=False)
    >>> bunch.view_names, [X.shape for X in bunch.views]
    (['rna', 'protein'], [(1372, 16793), (1372, 10)])
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
    n_cells = cell_type.size
    state = "counts"
    if prepared:
        state = f"RNA: log of 10000 counts, {N_GENES} most variable genes, PCA {N_COMPONENTS}; proteins: CLR"
    description = f"CITE-seq blood cells: {n_cells} cells, views rna and protein ({state}). Target: cell type" + (
        "." if drop_unknown else f"; {UNKNOWN!r} marks cells that were not annotated."
    )
    return make_bunch(
        (rna, protein),
        encode_labels(cell_type),
        ("rna", "protein"),
        description,
        target_names=np.unique(cell_type).tolist(),
        cell_type=cell_type,
        cells=cells,
        genes=genes,
        proteins=proteins,
    )


def fetch_snareseq_cellmix(
    *, data_home: DataHome = None, prepared: bool = True, download_if_missing: bool = True
) -> Any:
    """Read the SNARE-seq mixture: 1047 cells of 4 lines, 19 chromatin and 10 RNA features.

    Parameters
    ----------
    data_home : str, os.PathLike or None, default=None
        Folder of the data files. None means the folder of the variable MDT_FAST_DATA, then the
        cache folder.
    prepared : bool, default=True
        Whether to scale every row to unit length, so that only proportions between the features of
        a cell matter (chromatin features spread over three orders of magnitude). False returns the
        features of the files.
    download_if_missing : bool, default=True
        Whether to download missing files, to `data_home` or the cache folder. The variable
        MDT_FAST_OFFLINE also disables downloads.

    Returns
    -------
    sklearn.utils.Bunch
        views, target (0 to 3; the file does not name the cell lines), view_names, DESCR.

    Raises
    ------
    FileNotFoundError
        If one of the three files is not in the folder and cannot be downloaded.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> bunch = mdt.datasets.fetch_snareseq_cellmix()
    >>> bunch.view_names, [X.shape for X in bunch.views]
    (['atac', 'rna'], [(1047, 19), (1047, 10)])
    """
    check_flag("prepared", prepared)
    atac_path, rna_path, type_path = locate("snareseq_cellmix", data_home, download_if_missing)
    views = [np.asarray(np.load(path, allow_pickle=False), dtype=np.float64) for path in (atac_path, rna_path)]
    if prepared:
        views = [scale_rows(view) for view in views]
    target = encode_labels(np.loadtxt(type_path, dtype=np.int64))
    state = "unit rows" if prepared else "raw"
    description = f"SNARE-seq cell mixture: {target.size} cells of 4 cell lines, views atac and rna ({state})."
    return make_bunch(views, target, ("atac", "rna"), description)


class _ArrayUnpickler(pickle.Unpickler):
    """Unpickler of arrays of plain Python values only, so that a data file cannot run code."""

    def find_class(self, module_name: str, global_name: str) -> Any:
        """Return one of the globals that an array needs; refuse all others."""
        if module_name in ("numpy.core.multiarray", "numpy._core.multiarray") and global_name == "_reconstruct":
            # Taken from an array, because the private module of NumPy was renamed in version 2.
            return np.empty(0).__reduce__()[0]
        if module_name == "numpy" and global_name in ("ndarray", "dtype"):
            return getattr(np, global_name)
        raise pickle.UnpicklingError(f"expected an array of strings, got {module_name}.{global_name}")


def read_strings(path: Path, name: str) -> Any:
    """Return an array of strings from an npz file, also if it is a pickled array of objects."""
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
