"""Arrangement of the separate parts of a map in rows, like words on a page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Space around a part, as a share of its side, and at least.
_MARGIN, _LEAST_MARGIN = 0.08, 1.0
# Width of the page over its height.
_ASPECT = 1.3
# Distance of samples on a grid.
_SPACING = 0.5


def on_a_grid(n: int) -> NDArray[np.float32]:
    """Return n points of a grid, almost a square, row by row."""
    side = math.ceil(math.sqrt(n))
    numbers = np.arange(n)
    return np.column_stack([numbers % side, -(numbers // side)]).astype(np.float32) * np.float32(_SPACING)


def arrange(parts: Sequence[NDArray[np.float32]]) -> list[NDArray[Any]]:
    """Move parts so that their bounding boxes do not overlap.

    Parts are in rows from the top, the tallest first. Their sizes are kept.

    Parameters
    ----------
    parts : sequence of (n, 2) arrays
        Coordinates of the samples of each part.

    Returns
    -------
    list of (n, 2) arrays
        Moved coordinates, in the given order.
    """
    corners = [part.min(axis=0) for part in parts]
    boxes = np.array([part.max(axis=0) - corner for part, corner in zip(parts, corners, strict=True)], dtype=float)
    boxes += 2 * np.maximum(_MARGIN * boxes.max(axis=1, keepdims=True), _LEAST_MARGIN)
    width = max(float(boxes[:, 0].max()), math.sqrt(_ASPECT * float(boxes.prod(axis=1).sum())))
    moved: dict[int, NDArray[Any]] = {}
    left = top = height = 0.0
    for part in np.lexsort((np.arange(len(parts)), -boxes[:, 1])):
        if left > 0 and left + boxes[part, 0] > width:
            left, top, height = 0.0, top + height, 0.0
        height = max(height, float(boxes[part, 1]))
        # The middle of the part is in the middle of its box, which hangs at the top of the row.
        middle = np.array([left + boxes[part, 0] / 2, -top - boxes[part, 1] / 2])
        own = (parts[part].max(axis=0) + corners[part]) / 2
        moved[int(part)] = (parts[part] + (middle - own)).astype(np.float32)
        left += float(boxes[part, 0])
    return [moved[part] for part in range(len(parts))]
