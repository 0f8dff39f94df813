"""Four data sets in MATLAB files, which have a cell array X of views and labels y."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._support.arguments import check_flag
from ._bunch import encode_labels, make_bunch
from ._files import locate
from ._prepare import principal_components, scale_rows
from ._types import DataHome, FloatArray

WIDE_VIEW = 100

# The files have no view names. The number of columns identifies the descriptor.
_MSRC_WIDTHS = {24: "color moments", 576: "HOG", 512: "GIST", 256: "LBP", 254: "CENTRIST"}
_YALE_WIDTHS = {4096: "intensity", 3304: "LBP", 6750: "Gabor"}
_CALTECH_WIDTHS = {48: "Gabor", 40: "wavelet moments", 254: "CENTRIST", 1984: "HOG", 512: "GIST", 928: "LBP"}


def fetch_msrc(*, data_home: DataHome = None, prepared: bool = True, download_if_missing: bool = True) -> Any:
    """Read MSRC-v5: 210 images of 7 classes in 5 views (color moments, HOG, GIST, LBP, CENTRIST).

    Parameters
    ----------
    data_home : str, os.PathLike or None, default=None
        Folder of the data files. None means the folder of the variable MDT_FAST_DATA, then the
        cache folder.
    prepared : bool, default=True
        Whether to reduce views of more than 100 columns to 100 principal components and to scale
        every row to unit length, as in the published figures. False returns the features of the
        file.
    download_if_missing : bool, default=True
        Whether to download missing files, to `data_home` or the cache folder. The variable
        MDT_FAST_OFFLINE also disables downloads.

    Returns
    -------
    sklearn.utils.Bunch
        views, target (0 to 6), view_names, DESCR.

    Raises
    ------
    FileNotFoundError
        If MSRC-v5.mat is not in the folder and cannot be downloaded.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> bunch = mdt.datasets.fetch_msrc()
    >>> bunch.view_names, [X.shape for X in bunch.views]
    (['color moments', 'HOG', 'GIST', 'LBP', 'CENTRIST'], [(210, 24), (210, 100), (210, 100), (210, 100), (210, 100)])
    """
    return _fetch_descriptors("msrc", "MSRC-v5", data_home, download_if_missing, prepared, _MSRC_WIDTHS)


def fetch_yale(*, data_home: DataHome = None, prepared: bool = True, download_if_missing: bool = True) -> Any:
    """Read Yale: 165 face images of 15 persons in 3 views (intensity, LBP, Gabor).

    Parameters
    ----------
    data_home : str, os.PathLike or None, default=None
        Folder of the data files. None means the folder of the variable MDT_FAST_DATA, then the
        cache folder.
    prepared : bool, default=True
        Whether to reduce views of more than 100 columns to 100 principal components and to scale
        every row to unit length, as in the published figures. False returns the features of the
        file.
    download_if_missing : bool, default=True
        Without effect, because no public address of the file is known.

    Returns
    -------
    sklearn.utils.Bunch
        views, target (0 to 14), view_names, DESCR.

    Raises
    ------
    FileNotFoundError
        If Yale.mat is not in the folder.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> bunch = mdt.datasets.fetch_yale()
    >>> len(bunch.views), bunch.target.shape
    (3, (165,))
    """
    return _fetch_descriptors("yale", "Yale", data_home, download_if_missing, prepared, _YALE_WIDTHS)


def fetch_leaves(*, data_home: DataHome = None, prepared: bool = True, download_if_missing: bool = True) -> Any:
    """Read 100Leaves: 1600 leaves of 100 species in 3 views (margin, shape, texture).

    Parameters
    ----------
    data_home : str, os.PathLike or None, default=None
        Folder of the data files. None means the folder of the variable MDT_FAST_DATA, then the
        cache folder.
    prepared : bool, default=True
        Without effect, because the published figures use the features of the file.
    download_if_missing : bool, default=True
        Whether to download missing files, to `data_home` or the cache folder. The variable
        MDT_FAST_OFFLINE also disables downloads.

    Returns
    -------
    sklearn.utils.Bunch
        views, target (0 to 99), view_names, DESCR.

    Raises
    ------
    FileNotFoundError
        If 100Leaves.mat is not in the folder and cannot be downloaded.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> bunch = mdt.datasets.fetch_leaves()
    >>> bunch.view_names, [X.shape for X in bunch.views]
    (['margin', 'shape', 'texture'], [(1600, 64), (1600, 64), (1600, 64)])
    """
    check_flag("prepared", prepared)
    (path,) = locate("leaves", data_home, download_if_missing)
    views, labels = read_mat(path)
    names = ("margin", "shape", "texture")
    return make_bunch(views, encode_labels(labels), names, _describe("100Leaves", views, "raw"))


def fetch_caltech7(*, data_home: DataHome = None, prepared: bool = True, download_if_missing: bool = True) -> Any:
    """Read Caltech101-7: 1474 images of 7 classes in 6 views.

    The views are Gabor, wavelet moments, CENTRIST, HOG, GIST and LBP.

    Parameters
    ----------
    data_home : str, os.PathLike or None, default=None
        Folder of the data files. None means the folder of the variable MDT_FAST_DATA, then the
        cache folder.
    prepared : bool, default=True
        Without effect, because the published figures use the features of the file.
    download_if_missing : bool, default=True
        Without effect, because no public address of the file is known.

    Returns
    -------
    sklearn.utils.Bunch
        views, target (0 to 6), view_names, DESCR.

    Raises
    ------
    FileNotFoundError
        If Caltech101-7.mat is not in the folder.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> bunch = mdt.datasets.fetch_caltech7()
    >>> len(bunch.views), bunch.target.shape
    (6, (1474,))
    """
    check_flag("prepared", prepared)
    return _fetch_descriptors("caltech7", "Caltech101-7", data_home, download_if_missing, False, _CALTECH_WIDTHS)


def read_mat(path: Path) -> tuple[list[FloatArray], Any]:
    """Return the views (cell array X, rows are samples) and the labels y of a MATLAB file."""
    from scipy.io import loadmat

    contents = loadmat(path)
    if "X" not in contents or "y" not in contents:
        found = ", ".join(sorted(key for key in contents if not key.startswith("__")))
        raise ValueError(f"{path.name}: expected the variables X and y, got {found or 'none'}")
    labels = np.asarray(contents["y"]).ravel()
    views = [np.asarray(view, dtype=np.float64) for view in contents["X"].ravel()]
    for index, view in enumerate(views):
        if view.ndim != 2 or view.shape[0] != labels.size:
            raise ValueError(
                f"{path.name}: expected view {index} to have one row for each of {labels.size} labels, "
                f"got shape {view.shape}"
            )
    return views, labels


def _fetch_descriptors(
    key: str,
    title: str,
    data_home: DataHome,
    download_if_missing: bool,
    prepared: bool,
    names_of_widths: Mapping[int, str],
) -> Any:
    check_flag("prepared", prepared)
    (path,) = locate(key, data_home, download_if_missing)
    views, labels = read_mat(path)
    names = [names_of_widths.get(view.shape[1], f"view {index}") for index, view in enumerate(views)]
    if prepared:
        views = [
            scale_rows(principal_components(view, WIDE_VIEW) if view.shape[1] > WIDE_VIEW else view) for view in views
        ]
    state = f"views wider than {WIDE_VIEW} reduced by PCA, unit rows" if prepared else "raw"
    return make_bunch(views, encode_labels(labels), names, _describe(title, views, state))


def _describe(title: str, views: Sequence[FloatArray], state: str) -> str:
    widths = ", ".join(str(view.shape[1]) for view in views)
    return f"{title}: {views[0].shape[0]} samples, {len(views)} views of {widths} columns ({state})."
