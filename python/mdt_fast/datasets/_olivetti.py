"""Olivetti faces in two views: the pixels, and histograms of oriented gradients."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from .._arguments import check_flag
from ._bunch import make_bunch
from ._files import locate
from ._prepare import principal_components, scale_columns, scale_rows
from ._types import DataHome, FloatArray

N_COMPONENTS = 150
HOG_SIDE = 32


def fetch_olivetti(*, data_home: DataHome = None, prepared: bool = True) -> Any:
    """Read Olivetti: 400 face images of 40 persons in 2 views (pixels, HOG).

    Needs scikit-image for the second view: ``pip install mdt_fast[datasets]``.

    Parameters
    ----------
    data_home : str, os.PathLike or None, default=None
        Folder of the data files; None means the variable MDT_FAST_DATA, then the cache folder.
    prepared : bool, default=True
        In each view map every column onto [0, 1], reduce to 150 principal components and scale every row to
        unit length, as in the published figures. False gives the 4096 pixels and the 324 HOG features.

    Returns
    -------
    sklearn.utils.Bunch
        views, target (0 to 39), view_names, DESCR, images (400, 64, 64).

    Raises
    ------
    FileNotFoundError
        If olivetti.npz is not in the folder.
    ImportError
        If scikit-image is not installed.
    """
    check_flag("prepared", prepared)
    (path,) = locate("olivetti", data_home)
    with np.load(path, allow_pickle=False) as contents:
        pixels = np.asarray(contents["X1"], dtype=np.float64)
        images = np.asarray(contents["X2"], dtype=np.float64)
        target = np.asarray(contents["Y"], dtype=np.intp)
    views = [pixels, oriented_gradients(images)]
    if prepared:
        views = [scale_rows(principal_components(scale_columns(view), N_COMPONENTS)) for view in views]
    state = f"columns scaled, PCA {N_COMPONENTS}, unit rows" if prepared else "raw"
    description = (
        f"Olivetti: {target.size} faces of 40 persons, views pixels and HOG of the image at {HOG_SIDE} x "
        f"{HOG_SIDE} ({state})."
    )
    return make_bunch(views, target, ("pixels", "HOG"), description, images=images)


def oriented_gradients(images: FloatArray) -> FloatArray:
    """Return the HOG features of each image at 32 x 32, with scikit-image's default parameters."""
    try:
        # As modules, because their functions are untyped, which strict type checking would refuse to call.
        feature: Any = import_module("skimage.feature")
        transform: Any = import_module("skimage.transform")
    except ImportError as error:
        raise ImportError("HOG features need scikit-image: pip install mdt_fast[datasets]") from error

    features: FloatArray = np.array([feature.hog(transform.resize(image, (HOG_SIDE, HOG_SIDE))) for image in images])
    return features
