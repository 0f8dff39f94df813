"""Olivetti faces in two views: the pixels, and histograms of oriented gradients."""

from typing import Any

import numpy as np

from .._support.arguments import check_flag
from .._support.extras import require
from ._bunch import make_bunch
from ._files import download_folder, locate, may_download
from ._prepare import principal_components, scale_columns, scale_rows
from ._types import DataHome, FloatArray

N_COMPONENTS = 150
HOG_SIDE = 32


def fetch_olivetti(*, data_home: DataHome = None, prepared: bool = True, download_if_missing: bool = True) -> Any:
    """Read Olivetti: 400 face images of 40 persons in 2 views (pixels, HOG).

    Needs scikit-image for the second view: ``pip install mdt_fast[datasets]``.

    Parameters
    ----------
    data_home : str, os.PathLike or None, default=None
        Folder of the data files. None means the folder of the variable MDT_FAST_DATA, then the
        cache folder.
    prepared : bool, default=True
        Whether to scale every column of a view to [0, 1], reduce the view to 150 principal
        components and scale every row to unit length, as in the published figures. False returns
        the 4096 pixels and the 324 HOG features.
    download_if_missing : bool, default=True
        Whether to let scikit-learn download the faces, to `data_home` or the cache folder, if the
        file is missing. The variable MDT_FAST_OFFLINE also disables downloads.

    Returns
    -------
    sklearn.utils.Bunch
        views, target (0 to 39), view_names, DESCR, images (400, 64, 64).

    Raises
    ------
    FileNotFoundError
        If olivetti.npz is not in the folder and cannot be downloaded.
    ImportError
        If scikit-image is not installed.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> bunch = mdt.datasets.fetch_olivetti()
    >>> bunch.view_names, [X.shape for X in bunch.views]
    (['pixels', 'HOG'], [(400, 150), (400, 150)])
    """
    check_flag("prepared", prepared)
    arrays = _read_faces(data_home, download_if_missing)
    pixels, images = (np.asarray(array, dtype=np.float64) for array in arrays[:2])
    target = np.asarray(arrays[2], dtype=np.intp)
    views = [pixels, oriented_gradients(images)]
    if prepared:
        views = [scale_rows(principal_components(scale_columns(view), N_COMPONENTS)) for view in views]
    state = f"columns scaled, PCA {N_COMPONENTS}, unit rows" if prepared else "raw"
    description = (
        f"Olivetti: {target.size} faces of 40 persons, views pixels and HOG of the image at {HOG_SIDE} x "
        f"{HOG_SIDE} ({state})."
    )
    return make_bunch(views, target, ("pixels", "HOG"), description, images=images)


def _read_faces(data_home: DataHome, download_if_missing: bool) -> tuple[Any, Any, Any]:
    """Return pixels, images and persons, from olivetti.npz or else from scikit-learn."""
    from sklearn.datasets import fetch_olivetti_faces

    try:
        (path,) = locate("olivetti", data_home, download_if_missing)
    except FileNotFoundError as missing:
        folder, allowed = download_folder(data_home), may_download(download_if_missing)
        try:
            # The minimum number of retries, so that a machine without network does not wait long.
            faces = fetch_olivetti_faces(data_home=folder, download_if_missing=allowed, n_retries=1)
        except OSError as error:
            raise FileNotFoundError(f"{missing} From scikit-learn: {error}") from error
        return faces.data, faces.images, faces.target
    with np.load(path, allow_pickle=False) as contents:
        return contents["X1"], contents["X2"], contents["Y"]


def oriented_gradients(images: FloatArray) -> FloatArray:
    """Return HOG features of each image at 32 x 32, with the default parameters of scikit-image."""
    feature, transform = require("skimage.feature", "the HOG view"), require("skimage.transform", "the HOG view")
    features: FloatArray = np.array([feature.hog(transform.resize(image, (HOG_SIDE, HOG_SIDE))) for image in images])
    return features
