"""Two data sets of the UCI repository: digits in six views, spoken letters with three kernels."""

import string
from typing import Any

import numpy as np

from .._support.arguments import check_flag
from ._bunch import make_bunch
from ._files import locate
from ._prepare import scale_columns
from ._types import DataHome

ROWS_PER_DIGIT = 200
ISOLET_KERNELS = ("gaussian", "laplacian", "correlation")


def fetch_multi_feat(*, data_home: DataHome = None, prepared: bool = True, download_if_missing: bool = True) -> Any:
    """Read Multi-Feat: 2000 handwritten digits in 6 views (fac, kar, zer, mor, pix, fou).

    The views are profile correlations, Karhunen-Loeve coefficients, Zernike moments, morphological
    features, pixel averages and Fourier coefficients.

    Parameters
    ----------
    data_home : str, os.PathLike or None, default=None
        Folder of the data files. None means the folder of the variable MDT_FAST_DATA, then the
        cache folder.
    prepared : bool, default=True
        Whether to scale every column to [0, 1], as in the published figures. False returns the
        features of the files.
    download_if_missing : bool, default=True
        Whether to download missing files, to `data_home` or the cache folder. The variable
        MDT_FAST_OFFLINE also disables downloads.

    Returns
    -------
    sklearn.utils.Bunch
        views, target (the digit), target_names, view_names, DESCR.

    Raises
    ------
    FileNotFoundError
        If one of the six mfeat files is not in the folder and cannot be downloaded.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> bunch = mdt.datasets.fetch_multi_feat()
    >>> bunch.view_names, [X.shape[1] for X in bunch.views]
    (['fac', 'kar', 'zer', 'mor', 'pix', 'fou'], [216, 64, 47, 6, 240, 76])
    """
    check_flag("prepared", prepared)
    paths = locate("multi_feat", data_home, download_if_missing)
    views = [np.loadtxt(path, dtype=np.float64, ndmin=2) for path in paths]
    for path, view in zip(paths, views, strict=True):
        if view.shape[0] != 10 * ROWS_PER_DIGIT:
            raise ValueError(f"{path.name}: expected {10 * ROWS_PER_DIGIT} rows, got {view.shape[0]}")
    if prepared:
        views = [scale_columns(view) for view in views]
    names = [path.name.removeprefix("mfeat-") for path in paths]
    # The files have no labels. Each digit has a block of 200 rows.
    target = np.repeat(np.arange(10, dtype=np.intp), ROWS_PER_DIGIT)
    state = "columns scaled to [0, 1]" if prepared else "raw"
    description = f"Multi-Feat: {target.size} handwritten digits, 6 views {', '.join(names)} ({state})."
    return make_bunch(views, target, names, description, target_names=[str(digit) for digit in range(10)])


def fetch_l_isolet(*, data_home: DataHome = None, prepared: bool = True, download_if_missing: bool = True) -> Any:
    """Read L-Isolet: spoken letters, one feature matrix for three kernels.

    The views of the paper are a Gaussian, a Laplacian and a correlation kernel on the same 617
    features. The Bunch has the same array three times, and `view_names` are the kernels:
    ``build_operators(b.views, kernel=b.view_names)`` makes the three operators. The file has 1560
    samples; the paper uses 1600.

    Parameters
    ----------
    data_home : str, os.PathLike or None, default=None
        Folder of the data files. None means the folder of the variable MDT_FAST_DATA, then the
        cache folder.
    prepared : bool, default=True
        Without effect, because the kernels use the features of the file.
    download_if_missing : bool, default=True
        Without effect, because no public address of the file is known.

    Returns
    -------
    sklearn.utils.Bunch
        views (the same array of shape (1560, 617) three times), target (0 to 25), target_names (the
        letters), view_names ("gaussian", "laplacian", "correlation"), DESCR.

    Raises
    ------
    FileNotFoundError
        If isolet_1560.npz is not in the folder.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> bunch = mdt.datasets.fetch_l_isolet()
    >>> bunch.view_names, [X.shape for X in bunch.views]
    (['gaussian', 'laplacian', 'correlation'], [(1560, 617), (1560, 617), (1560, 617)])
    """
    check_flag("prepared", prepared)
    (path,) = locate("isolet", data_home, download_if_missing)
    with np.load(path, allow_pickle=False) as contents:
        X = np.asarray(contents["X"], dtype=np.float64)
        target = np.asarray(contents["y"], dtype=np.intp) - 1
    description = (
        f"L-Isolet: {X.shape[0]} spoken letters (the paper uses 1600), {X.shape[1]} features, 26 classes. "
        "One feature set, whose three views are the kernels in view_names: "
        "build_operators(b.views, kernel=b.view_names)."
    )
    letters = list(string.ascii_uppercase)
    return make_bunch([X] * len(ISOLET_KERNELS), target, ISOLET_KERNELS, description, target_names=letters)
