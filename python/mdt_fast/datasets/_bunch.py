"""The shape in which every data set is handed over."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._types import LabelArray


def make_bunch(views: Sequence[Any], target: Any, view_names: Sequence[str], description: str, **extra: Any) -> Any:
    """Return a `sklearn.utils.Bunch` with views, target, view_names, DESCR and what else a set has."""
    # Importing scikit-learn takes most of a second, which `import mdt_fast` should not pay.
    from sklearn.utils import Bunch

    return Bunch(views=list(views), target=target, view_names=list(view_names), DESCR=description.strip(), **extra)


def encode_labels(labels: Any) -> tuple[LabelArray, list[str]]:
    """Return labels as integers from 0 in sorted order of the originals, and the originals as strings."""
    names, codes = np.unique(np.asarray(labels).ravel(), return_inverse=True)
    return codes.astype(np.intp), [str(name) for name in names]
