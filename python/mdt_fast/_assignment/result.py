"""What :meth:`MDTClustering.assign` returns."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, eq=False)
class Assignment:
    """Labels, coordinates and confidence of samples that were read in blocks.

    The arrays are NumPy arrays; memory maps of .npy files, arrays of Zarr or None for a folder of Parquet
    files if the results were written; lazy Dask arrays if the views are Dask arrays and nothing was written.

    Attributes
    ----------
    labels : (n_samples,) array of int32 or None
        Cluster of each sample; None after :class:`MDT`.
    embedding : (n_samples, n_components) array or None
        Coordinates.
    confidence : (n_samples,) array or None
        Confidence in the labels; None after :class:`MDT`.
    path : Path or None
        Where the results were written.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> views = mdt.datasets.make_multiview_blobs(150, n_clusters=3, random_state=0).views
    >>> model = mdt.MDTClustering(3).fit([X[:100] for X in views])
    >>> result = model.assign(views)
    >>> result.labels.shape, result.embedding.shape, result.confidence.shape
    ((150,), (150, 3), (150,))
    """

    labels: Any = None
    embedding: Any = None
    confidence: Any = None
    path: Path | None = None

    def __repr__(self) -> str:
        """Return the shapes of the arrays."""
        named = {name: getattr(self, name) for name in ("labels", "embedding", "confidence")}
        parts = [f"{name} {tuple(each.shape)}" for name, each in named.items() if each is not None]
        return f"Assignment({', '.join([*parts, *([] if self.path is None else [str(self.path)])])})"
