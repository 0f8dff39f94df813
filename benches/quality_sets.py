"""Data sets of bench_quality.py: public sets, tables of scikit-learn and generators, in two halves.

Choices are made on the half "choose" and reported on the half "confirm". Each kind (text, faces, objects,
digits, cells, tables, generators) is in both halves. Sets with the same samples or of the same
source are in the same half, so that a choice is not confirmed on the data it was made on: both Reuters
sets, both Wikipedia sets, both MNIST sets, ORL and Olivetti (the same people), and the two sets from
scikit-learn's digits.

The public sets are in the folder that ``MDT_FAST_DATA`` names.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.decomposition import PCA
from sklearn.preprocessing import normalize, scale

import mdt_fast as mdt

Data = tuple[list[np.ndarray], np.ndarray]

PCA_COLUMNS = 100
# A sparse view is made dense below this size.
DENSE_BYTES = 10**9
# Multiplications of a full decomposition that takes some seconds.
FULL_PCA_COST = 2e10


def _reduce(view: np.ndarray | sp.csr_matrix) -> np.ndarray:
    """Return at most 100 principal components."""
    n, d = view.shape
    if d <= PCA_COLUMNS:
        return view.toarray() if sp.issparse(view) else view
    if sp.issparse(view) and n * d * 8 >= DENSE_BYTES:
        return PCA(PCA_COLUMNS, svd_solver="arpack", random_state=0).fit_transform(view)
    dense = view.toarray() if sp.issparse(view) else view
    solver = "full" if n * d * min(n, d) < FULL_PCA_COST else "randomized"
    return PCA(PCA_COLUMNS, svd_solver=solver, random_state=0).fit_transform(dense)


def explore(name: str) -> Data:
    """Read a set of the folder `explore`: PCA of wide views, then rows to unit length.

    A row of zeros in a narrow view stays zero. In a wide view the centring of the PCA moves all empty
    rows to one common point.
    """
    folder = Path(os.environ["MDT_FAST_DATA"]) / "explore"
    with np.load(folder / f"{name}.npz") as file:
        views = []
        while (prefix := f"v{len(views)}") in file or f"{prefix}_data" in file:
            if prefix in file:
                view = file[prefix].astype(float)
            else:
                parts = tuple(file[f"{prefix}_{part}"] for part in ("data", "indices", "indptr"))
                view = sp.csr_matrix(parts, shape=tuple(file[f"{prefix}_shape"])).astype(float)
            views.append(normalize(_reduce(view)))
        classes = np.unique(file["y"], return_inverse=True)[1].ravel()
    return views, classes


def loaded(fetch: Callable[[], Any]) -> Data:
    """Read a set of the package, without samples of unknown class."""
    data = fetch()
    classes = np.asarray(data.target)
    names = data.get("target_names", range(classes.max() + 1))
    known = np.array([str(name) != "unknown" for name in names])[classes]
    return [np.asarray(view)[known] for view in data.views], classes[known]


def breast_cancer() -> Data:
    """Mean, error and worst value of ten properties of cell nuclei: three views."""
    X, y = load_breast_cancer(return_X_y=True)
    return np.split(scale(X), 3, axis=1), y


def wine() -> Data:
    """Thirteen measurements of wines, the first six and the last seven."""
    X, y = load_wine(return_X_y=True)
    return np.split(scale(X), [6], axis=1), y


def digit_halves() -> Data:
    """Left and right half of each 8 x 8 image."""
    digits = load_digits()
    images = digits.images
    return [images[:, :, :4].reshape(len(images), -1), images[:, :, 4:].reshape(len(images), -1)], digits.target


def _with_noise(informative: np.ndarray, columns: int, rng: np.random.Generator) -> np.ndarray:
    return np.hstack([informative, rng.standard_normal((len(informative), columns))])


def _circle_of_centres(count: int, distance: float) -> np.ndarray:
    """Return centres on a circle whose neighbours have the given distance."""
    angles = 2 * np.pi * np.arange(count) / count
    return np.column_stack([np.cos(angles), np.sin(angles)]) * distance / (2 * np.sin(np.pi / count))


def _blobs(classes: np.ndarray, distance: float, rng: np.random.Generator, columns: int = 3) -> np.ndarray:
    """Return unit Gaussian clusters around centres on a circle in random order, beside columns of noise."""
    centres = rng.permutation(_circle_of_centres(classes.max() + 1, distance))
    return _with_noise(centres[classes] + rng.standard_normal((len(classes), 2)), columns, rng)


def complementary_grid() -> Data:
    """Six clusters, 3 x 2: view 1 shows three groups, view 2 shows two."""
    rng = np.random.default_rng(1)
    classes = np.arange(900) % 6
    return [_blobs(part, 10.0, rng) for part in (classes // 2, classes % 2)], classes


def complementary_pairs() -> Data:
    """Six clusters: view 1 merges 0 with 1, 2 with 3 and 4 with 5; view 2 merges 1 with 2, 3 with 4 and 5 with 0."""
    rng = np.random.default_rng(2)
    classes = np.arange(900) % 6
    return [_blobs(part, 10.0, rng) for part in (classes // 2, (classes + 1) % 6 // 2)], classes


def noise_view() -> Data:
    """Five clusters in view 1; view 2 is noise."""
    rng = np.random.default_rng(3)
    classes = np.arange(800) % 5
    return [_blobs(classes, 5.0, rng), rng.standard_normal((800, 5))], classes


def noise_for_one() -> Data:
    """Four clusters in two views; view v shows cluster v all over the others."""
    rng = np.random.default_rng(4)
    classes = np.arange(800) % 4
    views = []
    for v in range(2):
        view = _blobs(classes, 6.0, rng)
        spread = classes == v
        view[spread, :2] = rng.uniform(-6.0, 6.0, (spread.sum(), 2))
        views.append(view)
    return views, classes


def unequal_sizes() -> Data:
    """Six clusters, three of 300 samples and three of 30."""
    rng = np.random.default_rng(5)
    classes = np.repeat(np.arange(6), [300, 30] * 3)
    return [_blobs(classes, 6.0, rng) for _ in range(2)], classes


def unequal_densities() -> Data:
    """Four clusters with deviations 0.3, 0.6, 1.2 and 2.4."""
    rng = np.random.default_rng(6)
    classes = np.arange(800) % 4
    deviations = np.array([0.3, 0.6, 1.2, 2.4])[classes][:, None]
    views = []
    for _ in range(2):
        centres = rng.permutation(_circle_of_centres(4, 7.0))
        views.append(_with_noise(centres[classes] + deviations * rng.standard_normal((800, 2)), 3, rng))
    return views, classes


def _projections(points: np.ndarray, noise: float, rng: np.random.Generator) -> list[np.ndarray]:
    """Return two linear images of points of the plane in four columns, with noise."""
    views = []
    for _ in range(2):
        # An orthonormal map keeps distances; the diagonal factor makes the two views differ.
        image = points * rng.uniform(0.7, 1.3, 2) @ np.linalg.qr(rng.standard_normal((4, 2)))[0].T
        views.append(image + noise * rng.standard_normal(image.shape))
    return views


def rings() -> Data:
    """Two concentric rings, radius 1 and 2, seen in two noisy projections."""
    rng = np.random.default_rng(7)
    classes = np.arange(800) % 2
    angles = rng.uniform(0, 2 * np.pi, 800)
    points = np.column_stack([np.cos(angles), np.sin(angles)]) * (1.0 + classes[:, None])
    return _projections(points, 0.15, rng), classes


def chains() -> Data:
    """Three parallel chains, eight times longer than their distance, seen in two noisy projections."""
    rng = np.random.default_rng(8)
    classes = np.arange(900) % 3
    points = np.column_stack([rng.uniform(0, 8, 900), classes.astype(float)])
    return _projections(points, 0.15, rng), classes


def outliers() -> Data:
    """Five clusters; 3 % of the samples have uniform values in both views and keep their class."""
    rng = np.random.default_rng(9)
    classes = np.arange(1000) % 5
    views = [_blobs(classes, 6.0, rng) for _ in range(2)]
    far = rng.permutation(1000)[:30]
    for view in views:
        view[far] = rng.uniform(-20.0, 20.0, (len(far), view.shape[1]))
    return views, classes


def duplicated_views() -> Data:
    """Five clusters: one good view, and three copies of a poor one."""
    rng = np.random.default_rng(10)
    classes = np.arange(800) % 5
    good, poor = _blobs(classes, 5.0, rng), _blobs(classes, 2.0, rng)
    return [good, poor, poor.copy(), poor.copy()], classes


@dataclass(frozen=True)
class QualitySet:
    """A data set, its kind, and the half to which it belongs."""

    load: Callable[[], Data]
    kind: str
    half: str


def _public(name: str, kind: str, half: str) -> QualitySet:
    return QualitySet(lambda: explore(name), kind, half)


def _loaded(fetch: Callable[[], Any], kind: str, half: str) -> QualitySet:
    return QualitySet(lambda: loaded(fetch), kind, half)


SETS: dict[str, QualitySet] = {
    "3Sources": _public("3Sources", "text", "confirm"),
    "Reuters-600": _public("Reuters-600", "text", "choose"),
    "Reuters-1200": _public("Reuters-1200", "text", "choose"),
    "Prokaryotic": _public("Prokaryotic", "text", "choose"),
    "Wikipedia-test": _public("Wikipedia-test", "text", "confirm"),
    "Wikipedia": _public("Wikipedia", "text", "confirm"),
    "Cora": _public("Cora", "text", "confirm"),
    "yaleA2": _public("yaleA2", "faces", "confirm"),
    "ORL": _public("ORL", "faces", "choose"),
    "Olivetti": _loaded(mdt.datasets.fetch_olivetti, "faces", "choose"),
    "COIL20": _public("COIL20", "objects", "choose"),
    "MSRC-v5": _loaded(mdt.datasets.fetch_msrc, "objects", "choose"),
    "100Leaves": _loaded(mdt.datasets.fetch_leaves, "objects", "choose"),
    "CUB_10": _public("CUB_10", "objects", "confirm"),
    "LandUse_21": _public("LandUse_21", "objects", "confirm"),
    "digits": _loaded(mdt.datasets.load_multiview_digits, "digits", "choose"),
    "digit halves": QualitySet(digit_halves, "digits", "choose"),
    "Multi-Feat": _loaded(mdt.datasets.fetch_multi_feat, "digits", "confirm"),
    "K-MvMNIST": _loaded(lambda: mdt.datasets.fetch_k_mvmnist(s=0.5), "digits", "confirm"),
    "L-MvMNIST": _loaded(lambda: mdt.datasets.fetch_l_mvmnist(s=0.5), "digits", "confirm"),
    "CITE-seq": _loaded(mdt.datasets.fetch_citeseq_pbmc, "cells", "choose"),
    "SNARE-seq": _loaded(mdt.datasets.fetch_snareseq_cellmix, "cells", "confirm"),
    "breast cancer": QualitySet(breast_cancer, "tables", "choose"),
    "wine": QualitySet(wine, "tables", "confirm"),
    "complementary grid": QualitySet(complementary_grid, "generators", "choose"),
    "complementary pairs": QualitySet(complementary_pairs, "generators", "confirm"),
    "noise view": QualitySet(noise_view, "generators", "choose"),
    "noise for one": QualitySet(noise_for_one, "generators", "confirm"),
    "unequal sizes": QualitySet(unequal_sizes, "generators", "choose"),
    "unequal densities": QualitySet(unequal_densities, "generators", "confirm"),
    "rings": QualitySet(rings, "generators", "choose"),
    "chains": QualitySet(chains, "generators", "confirm"),
    "outliers": QualitySet(outliers, "generators", "choose"),
    "duplicated views": QualitySet(duplicated_views, "generators", "confirm"),
}
