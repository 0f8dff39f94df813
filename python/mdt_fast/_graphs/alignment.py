"""Data frames of different samples, joined by their row labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .row_labels import has_index


@dataclass(frozen=True)
class Aligned:
    """Frames whose rows are some of all samples.

    Attributes
    ----------
    index : pandas.Index
        The labels of all samples: those of the first frame, then the new ones of the next.
    places : list of (n_v,) arrays
        For each frame the numbers of its rows among all samples.
    """

    index: Any
    places: list[NDArray[np.intp]]


def align_frames(pairs: Sequence[tuple[str, Any]], argument: str) -> Aligned:
    """Join the rows of frames by their labels: the outer join."""
    for name, X in pairs:
        if not has_index(X):
            raise TypeError(
                f"{argument} ({name}): expected a data frame with row labels to align, got {type(X).__name__}"
            )
        if X.index.has_duplicates:
            label = X.index[X.index.duplicated()][0]
            raise ValueError(f"{argument} ({name}): expected unique row labels to align, got {label!r} twice")
        if _has_missing(X.index):
            raise ValueError(f"{argument} ({name}): expected a row label for each sample, got a missing one")
    labels = [set(X.index) for _, X in pairs]
    for v, (name, _) in enumerate(pairs):
        if len(pairs) > 1 and not any(labels[v] & other for u, other in enumerate(labels) if u != v):
            raise ValueError(
                f"{argument} ({name}): expected row labels that another view has too, got none, such as "
                f"{next(iter(pairs[v][1].index), None)!r}"
            )
    index = pairs[0][1].index
    for name, X in pairs[1:]:
        if X.index.nlevels != index.nlevels:
            got = f"{index.nlevels} and, in {name}, {X.index.nlevels}"
            raise ValueError(f"{argument}: expected row labels with the same number of levels, got {got}")
        index = index.append(X.index.difference(index, sort=False))
    return Aligned(index, [np.asarray(index.get_indexer(X.index)) for _, X in pairs])


def _has_missing(index: Any) -> bool:
    # A MultiIndex of pandas cannot say it as a whole.
    return any(index.get_level_values(level).hasnans for level in range(index.nlevels))
