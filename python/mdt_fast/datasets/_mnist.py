"""MNIST digits with noise in two views (K-MvMNIST, L-MvMNIST), and the reader of idx files."""

import gzip
import math
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from .._support.arguments import LARGEST_SAMPLES, check_flag, check_integer, check_number
from ._bunch import make_bunch
from ._files import locate
from ._noise import add_gaussian_noise, drop_pixels
from ._prepare import principal_components, scale_columns, scale_rows
from ._types import DataHome, FloatArray, LabelArray

K_FIXED_STD = 0.3
N_TRAINING = 60_000
N_COMPONENTS = 100
_IDX_UNSIGNED_BYTE = 8

AddNoise = Callable[[FloatArray, np.random.RandomState], FloatArray]


def fetch_k_mvmnist(
    *,
    data_home: DataHome = None,
    prepared: bool = True,
    n_samples: int = 6000,
    s: float = 0.5,
    seeds: tuple[int, int] = (3333, 3335),
    download_if_missing: bool = True,
) -> Any:
    """Read K-MvMNIST: MNIST digits in 2 views with Gaussian noise of different strength.

    Every pixel is first scaled to [0, 1] over the samples. Noise of standard deviation 0.3 is added
    to view 1, and of `s` to view 2. Both are clipped to [0, 1].

    Parameters
    ----------
    data_home : str, os.PathLike or None, default=None
        Folder of the data files. None means the folder of the variable MDT_FAST_DATA, then the
        cache folder.
    prepared : bool, default=True
        Whether to reduce each view to 100 principal components and to scale every row to unit
        length, as in the published figures. False returns the noisy pixels.
    n_samples : int, default=6000
        Number of images. They are the first of the 60000 training images followed by the 10000 test
        images.
    s : float, default=0.5
        Standard deviation of the noise of view 2.
    seeds : tuple of two ints, default=(3333, 3335)
        Seeds of NumPy's legacy generator for views 1 and 2. The default is that of the published
        figures.
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
        If a file of MNIST is not in the folder and cannot be downloaded.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> bunch = mdt.datasets.fetch_k_mvmnist(n_samples=500, prepared=False)
    >>> bunch.view_names, [X.shape for X in bunch.views]
    (['gaussian 0.3', 'gaussian 0.5'], [(500, 784), (500, 784)])
    """
    std = check_number("s", s)
    noises: tuple[AddNoise, AddNoise] = (
        lambda images, rng: add_gaussian_noise(images, K_FIXED_STD, rng),
        lambda images, rng: add_gaussian_noise(images, std, rng),
    )
    names = (f"gaussian {K_FIXED_STD:g}", f"gaussian {std:g}")
    return _fetch_noisy("K-MvMNIST", data_home, download_if_missing, prepared, n_samples, seeds, noises, names)


def fetch_l_mvmnist(
    *,
    data_home: DataHome = None,
    prepared: bool = True,
    n_samples: int = 6000,
    s: float = 0.5,
    seeds: tuple[int, int] = (333, 334),
    download_if_missing: bool = True,
) -> Any:
    """Read L-MvMNIST: MNIST digits in 2 views, one with Gaussian noise and one with dropped pixels.

    Every pixel is first scaled to [0, 1] over the samples. Noise of standard deviation `s` is added
    to view 1, which is then clipped to [0, 1]. In view 2 each pixel is set to zero with probability
    `s`.

    Parameters
    ----------
    data_home : str, os.PathLike or None, default=None
        Folder of the data files. None means the folder of the variable MDT_FAST_DATA, then the
        cache folder.
    prepared : bool, default=True
        Whether to reduce each view to 100 principal components and to scale every row to unit
        length, as in the published figures. False returns the noisy pixels.
    n_samples : int, default=6000
        Number of images. They are the first of the 60000 training images followed by the 10000 test
        images.
    s : float, default=0.5
        Standard deviation of the noise of view 1 and probability of dropping a pixel in view 2, in
        [0, 1].
    seeds : tuple of two ints, default=(333, 334)
        Seeds of NumPy's legacy generator for views 1 and 2. The default is that of the published
        figures.
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
        If a file of MNIST is not in the folder and cannot be downloaded.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> bunch = mdt.datasets.fetch_l_mvmnist(n_samples=500, prepared=False)
    >>> bunch.view_names, [X.shape for X in bunch.views]
    (['gaussian 0.5', 'dropout 0.5'], [(500, 784), (500, 784)])
    """
    strength = check_number("s", s, maximum=1.0)
    noises: tuple[AddNoise, AddNoise] = (
        lambda images, rng: add_gaussian_noise(images, strength, rng),
        lambda images, rng: drop_pixels(images, strength, rng),
    )
    names = (f"gaussian {strength:g}", f"dropout {strength:g}")
    return _fetch_noisy("L-MvMNIST", data_home, download_if_missing, prepared, n_samples, seeds, noises, names)


def read_idx(path: Path, n_items: int) -> npt.NDArray[np.uint8]:
    """Return the first items of a gzipped idx file of unsigned bytes.

    The format: two zero bytes, the type, the number of dimensions, each dimension as a big-endian
    32-bit integer, then the numbers in C order. Only these items are decompressed.
    """
    with gzip.open(path, "rb") as stream:
        magic = stream.read(4)
        if len(magic) != 4 or magic[:2] != b"\0\0" or magic[2] != _IDX_UNSIGNED_BYTE or magic[3] == 0:
            raise ValueError(f"{path.name}: expected an idx file of unsigned bytes, got the magic number {magic.hex()}")
        shape = [int(size) for size in np.frombuffer(stream.read(4 * magic[3]), dtype=">u4")]
        if len(shape) != magic[3]:
            raise ValueError(f"{path.name}: expected {magic[3]} dimensions in the header, got {len(shape)}")
        if n_items > shape[0]:
            raise ValueError(f"n_samples: expected at most {shape[0]}, the items in {path.name}, got {n_items}")
        wanted = [n_items, *shape[1:]]
        content = stream.read(math.prod(wanted))
    if len(content) != math.prod(wanted):
        raise ValueError(f"{path.name}: expected {math.prod(wanted)} bytes of content, got {len(content)}")
    return np.frombuffer(content, dtype=np.uint8).reshape(wanted)


def _read_digits(n: int, data_home: DataHome, download_if_missing: bool) -> tuple[npt.NDArray[np.uint8], LabelArray]:
    """Return the first images and their labels; the test images follow the training images."""
    parts = []
    for name, count in (("mnist", min(n, N_TRAINING)), ("mnist_test", n - N_TRAINING)):
        if count > 0:
            paths = locate(name, data_home, download_if_missing)
            parts.append([read_idx(path, count) for path in paths])
    images, labels = (np.concatenate(each) for each in zip(*parts, strict=True))
    return images, labels.astype(np.intp)


def _fetch_noisy(
    title: str,
    data_home: DataHome,
    download_if_missing: bool,
    prepared: bool,
    n_samples: int,
    seeds: Sequence[int],
    noises: tuple[AddNoise, AddNoise],
    names: tuple[str, str],
) -> Any:
    check_flag("prepared", prepared)
    n = check_integer("n_samples", n_samples, minimum=1, limit=LARGEST_SAMPLES)
    if not isinstance(seeds, (tuple, list)) or len(seeds) != 2:
        raise ValueError(f"seeds: expected two integers, got {seeds!r}")
    checked = [check_integer("seeds", seed, minimum=0, maximum=2**32 - 1) for seed in seeds]
    pixels, target = _read_digits(n, data_home, download_if_missing)
    images = scale_columns(pixels.reshape(n, -1))
    views = [noise(images, np.random.RandomState(seed)) for noise, seed in zip(noises, checked, strict=True)]
    if prepared:
        views = [scale_rows(principal_components(view, N_COMPONENTS)) for view in views]
    state = f"PCA {N_COMPONENTS}, unit rows" if prepared else "noisy pixels"
    description = f"{title}: the first {n} digits of MNIST, views {names[0]} and {names[1]} ({state})."
    return make_bunch(views, target, names, description, target_names=[str(digit) for digit in range(10)])
