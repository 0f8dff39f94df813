"""scikit-learn's bundled digits as two noisy views: the noisy MNIST sets in small, without any file."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arguments import RandomStateLike, check_choice, check_generator, check_number
from ._bunch import make_bunch
from ._noise import add_gaussian_noise, drop_pixels

FIXED_STD = 0.3
DIGITS_MAXIMUM = 16.0


def load_multiview_digits(*, kind: str = "gaussian", noise: float = 0.5, random_state: RandomStateLike = 0) -> Any:
    """Load the 1797 handwritten digits of scikit-learn, 8 x 8 pixels, as two noisy views.

    Parameters
    ----------
    kind : {"gaussian", "dropout"}, default="gaussian"
        "gaussian", after K-MvMNIST: view 1 has Gaussian noise of standard deviation 0.3, view 2 of `noise`.
        "dropout", after L-MvMNIST: view 1 has Gaussian noise of standard deviation `noise`, view 2 has each
        pixel set to zero with probability `noise`. Pixels are scaled to [0, 1] first and clipped to it
        afterwards.
    noise : float, default=0.5
        Strength of the noise, in [0, 1].
    random_state : int, numpy.random.Generator, numpy.random.RandomState or None, default=0
        Seed of the noise.

    Returns
    -------
    sklearn.utils.Bunch
        views (two arrays of shape (1797, 64)), target (the digit), target_names, view_names, DESCR.
    """
    from sklearn.datasets import load_digits

    check_choice("kind", kind, ("gaussian", "dropout"))
    strength = check_number("noise", noise, maximum=1.0)
    # The two views draw from streams of their own, so that a change to one leaves the other as it was.
    first, second = check_generator(random_state).spawn(2)
    digits = load_digits()
    images = np.asarray(digits.data, dtype=np.float64) / DIGITS_MAXIMUM
    if kind == "gaussian":
        views = (add_gaussian_noise(images, FIXED_STD, first), add_gaussian_noise(images, strength, second))
        names = (f"gaussian {FIXED_STD:g}", f"gaussian {strength:g}")
    else:
        views = (add_gaussian_noise(images, strength, first), drop_pixels(images, strength, second))
        names = (f"gaussian {strength:g}", f"dropout {strength:g}")
    description = (
        f"Multi-view digits: {images.shape[0]} images of 8 x 8 pixels in [0, 1] (scikit-learn's copy of UCI "
        f"Optical Recognition of Handwritten Digits), views {names[0]} and {names[1]}."
    )
    target = np.asarray(digits.target, dtype=np.intp)
    return make_bunch(views, target, names, description, target_names=[str(digit) for digit in range(10)])
