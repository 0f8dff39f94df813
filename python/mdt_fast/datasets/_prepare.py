"""Preparation of features: scaling, principal components, unit rows, single-cell counts."""

from typing import Any

import numpy as np

from .._support.one_thread import one_thread
from ._types import FloatArray


def scale_columns(X: Any) -> FloatArray:
    """Return `X` with every column scaled to [0, 1]; a constant column becomes 0."""
    X = np.asarray(X, dtype=np.float64)
    low = X.min(axis=0)
    span = X.max(axis=0) - low
    scaled: FloatArray = (X - low) / np.where(span > 0.0, span, 1.0)
    return scaled


def scale_rows(X: Any) -> FloatArray:
    """Return `X` with every row scaled to Euclidean length 1; a row of zeros is unchanged."""
    X = np.asarray(X, dtype=np.float64)
    lengths = np.linalg.norm(X, axis=1, keepdims=True)
    scaled: FloatArray = X / np.where(lengths > 0.0, lengths, 1.0)
    return scaled


def principal_components(X: Any, n_components: int) -> FloatArray:
    """Return the scores of the leading principal components, at most min(n, d).

    BLAS runs on one thread, so that the last digits do not depend on the number of cores. (Clusters of
    a graph in many parts do: an embedding of Olivetti changed by two points of AMI.)
    """
    from sklearn.decomposition import PCA

    X = np.asarray(X, dtype=np.float64)
    # The exact solver. The randomised one, scikit-learn's default for wide data, depends on a seed.
    pca = PCA(n_components=min(n_components, *X.shape), svd_solver="full")
    with one_thread():
        return np.asarray(pca.fit_transform(X), dtype=np.float64)


def normalize_counts(counts: Any, total: float = 1e4) -> Any:
    """Return log(1 + c) of the sparse counts c, scaled so that every row sums to `total`."""
    sums = np.asarray(counts.sum(axis=1)).ravel()
    scaled = counts.astype(np.float64).tocsr(copy=True)
    scaled.data *= np.repeat(total / np.where(sums > 0.0, sums, 1.0), np.diff(scaled.indptr))
    scaled.data = np.log1p(scaled.data)
    return scaled


def most_variable_columns(X: Any, n_columns: int) -> FloatArray:
    """Return the columns of largest variance of a sparse matrix, dense and in original order."""
    mean = np.asarray(X.mean(axis=0)).ravel()
    variance = np.asarray(X.multiply(X).mean(axis=0)).ravel() - mean**2
    # A stable sort: of equal columns the first is chosen.
    chosen = np.sort(np.argsort(-variance, kind="stable")[:n_columns])
    return np.asarray(X[:, chosen].toarray(), dtype=np.float64)


def centered_log_ratio(counts: Any) -> FloatArray:
    """Return log(1 + c) minus its mean over the row."""
    logs = np.log1p(np.asarray(counts, dtype=np.float64))
    centered: FloatArray = logs - logs.mean(axis=1, keepdims=True)
    return centered
