"""scikit-learn's bundled digits in several views: noisy copies, or features of three kinds."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.arguments import RandomStateLike, check_choice, check_generator, check_number
from ._bunch import make_bunch
from ._noise import add_gaussian_noise, drop_pixels

FIXED_STD = 0.3
DIGITS_MAXIMUM = 16.0
SIDE = 8
# Number of directions of a histogram, and side of the square it covers.
DIRECTIONS, CELL = 8, 4


def load_multiview_digits(*, kind: str = "gaussian", noise: float = 0.5, random_state: RandomStateLike = 0) -> Any:
    """Load the 1797 handwritten digits of scikit-learn in two noisy views or three feature views.

    Parameters
    ----------
    kind : {"gaussian", "dropout", "features"}, default="gaussian"
        "gaussian", after K-MvMNIST: view 1 has Gaussian noise of standard deviation 0.3, view 2 of
        `noise`. "dropout", after L-MvMNIST: view 1 has Gaussian noise of standard deviation
        `noise`, view 2 has each pixel set to zero with probability `noise`. Pixels are scaled to
        [0, 1] before and clipped to [0, 1] after noise is added. "features": three views of the
        images without noise, namely amplitudes of the Fourier transform, histograms of gradient
        directions in each quarter, and sums over rows and columns.
    noise : float, default=0.5
        Strength of the noise, in [0, 1]. It does not apply to "features".
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None, default=0
        Seed of the noise.

    Returns
    -------
    sklearn.utils.Bunch
        views (two arrays of shape (1797, 64), or three with 40, 32 and 16 columns), target (the
        digit), target_names, view_names, DESCR.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> digits = mdt.datasets.load_multiview_digits(kind="features")
    >>> digits.view_names, [view.shape[1] for view in digits.views]
    (['fourier', 'gradients', 'profiles'], [40, 32, 16])
    """
    from sklearn.datasets import load_digits

    check_choice("kind", kind, ("gaussian", "dropout", "features"))
    strength = check_number("noise", noise, maximum=1.0)
    # Each view has its own random stream, so that the noise of one does not depend on the other.
    first, second = check_generator(random_state).spawn(2)
    digits = load_digits()
    images = np.asarray(digits.data, dtype=np.float64) / DIGITS_MAXIMUM
    views: tuple[NDArray[np.float64], ...]
    names: tuple[str, ...]
    if kind == "features":
        squares = images.reshape(-1, SIDE, SIDE)
        views = (_amplitudes(squares), _directions(squares), np.hstack([squares.sum(axis=1), squares.sum(axis=2)]))
        names = ("fourier", "gradients", "profiles")
    elif kind == "gaussian":
        views = (add_gaussian_noise(images, FIXED_STD, first), add_gaussian_noise(images, strength, second))
        names = (f"gaussian {FIXED_STD:g}", f"gaussian {strength:g}")
    else:
        views = (add_gaussian_noise(images, strength, first), drop_pixels(images, strength, second))
        names = (f"gaussian {strength:g}", f"dropout {strength:g}")
    description = (
        f"Multi-view digits: {images.shape[0]} images of 8 x 8 pixels in [0, 1] (scikit-learn's copy of UCI "
        f"Optical Recognition of Handwritten Digits), views {', '.join(names[:-1])} and {names[-1]}."
    )
    target = np.asarray(digits.target, dtype=np.intp)
    return make_bunch(views, target, names, description, target_names=[str(digit) for digit in range(10)])


def _amplitudes(images: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.abs(np.fft.rfft2(images)).reshape(len(images), -1)


def _directions(images: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return histograms of gradient directions, weighted by gradient length, one for each cell."""
    by_row, by_column = np.gradient(images, axis=(1, 2))
    turns = np.arctan2(by_row, by_column) / (2 * np.pi) + 0.5
    bins = np.floor(turns * DIRECTIONS).astype(int) % DIRECTIONS
    each = np.hypot(by_row, by_column)[..., np.newaxis] * (bins[..., np.newaxis] == np.arange(DIRECTIONS))
    cells = each.reshape(len(images), SIDE // CELL, CELL, SIDE // CELL, CELL, DIRECTIONS)
    return np.asarray(cells.sum(axis=(2, 4)).reshape(len(images), -1))
