"""The one place that changes objects: results are collected first and written last.

Values are of kinds that .h5ad, .h5mu and Zarr files can hold: no None, no "/" in keys.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._objects import own


@dataclass
class Results:
    """What is to be written to an object; `modalities` has what is written to those of a MuData."""

    obs: dict[str, Any] = field(default_factory=dict)
    obsm: dict[str, Any] = field(default_factory=dict)
    obsp: dict[str, Any] = field(default_factory=dict)
    uns: dict[str, Any] = field(default_factory=dict)
    layers: dict[str, Any] = field(default_factory=dict)
    modalities: dict[str, Results] = field(default_factory=dict)

    def within(self, modality: str | None) -> Results:
        """Return the results of a modality, or of the object itself."""
        return self if modality is None else self.modalities.setdefault(modality, Results())

    def write(self, data: Any) -> None:
        """Write the results."""
        if data.is_view:
            # A modality; the object itself was made one of its own before the results were computed.
            own(data)
        for key, values in self.obs.items():
            data.obs[key] = values
        for store, items in ((data.obsm, self.obsm), (data.obsp, self.obsp), (data.uns, self.uns)):
            for key, value in items.items():
                store[key] = value
        for key, value in self.layers.items():
            data.layers[key] = value
        for name, results in self.modalities.items():
            results.write(data.mod[name])


def as_labels(codes: NDArray[np.integer[Any]], names: list[str]) -> Any:
    """Return categories by their numbers, -1 for none, with all the names as levels."""
    import pandas as pd

    return pd.Categorical.from_codes(np.asarray(codes), categories=names)


def numbered(labels: NDArray[np.integer[Any]]) -> Any:
    """Return clusters as scanpy writes them: categories "0", "1", ... in the order of the numbers."""
    return as_labels(labels, [str(number) for number in range(int(labels.max()) + 1)])


def storable(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings as plain values of files; those that no file holds become text."""
    return {key: _plain(value) for key, value in values.items() if value is not None}


def _plain(value: Any) -> Any:
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value)
    if isinstance(value, Mapping) and all(isinstance(key, str) and "/" not in key for key in value):
        return storable(value)
    if isinstance(value, (list, tuple)) and value and all(isinstance(each, str) for each in value):
        return np.array(value, dtype=object)
    if isinstance(value, np.ndarray) and value.dtype.kind in "biuf":
        return value
    return str(value)
