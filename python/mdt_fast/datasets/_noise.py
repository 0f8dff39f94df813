"""Noise of images: Gaussian noise and dropped pixels."""

from typing import TypeAlias

import numpy as np

from ._types import FloatArray

Generator: TypeAlias = np.random.Generator | np.random.RandomState


def add_gaussian_noise(images: FloatArray, std: float, rng: Generator) -> FloatArray:
    """Return images with N(0, std^2) added to each pixel, clipped to [0, 1]."""
    return np.clip(images + rng.normal(0.0, std, images.shape), 0.0, 1.0)


def drop_pixels(images: FloatArray, probability: float, rng: Generator) -> FloatArray:
    """Return images with each pixel independently set to 0 with the given probability."""
    return np.where(rng.random(images.shape) < probability, 0.0, images)
