"""Make the Bunch that every function of this package returns."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from ._types import LabelArray


def make_bunch(views: Sequence[Any], target: Any, view_names: Sequence[str], description: str, **extra: Any) -> Any:
    """Return a `sklearn.utils.Bunch` with views, target, view_names, DESCR and extra entries."""
    # Importing scikit-learn takes most of a second. `import mdt_fast` avoids it.
    from sklearn.utils import Bunch

    return Bunch(views=list(views), target=target, view_names=list(view_names), DESCR=description.strip(), **extra)


def encode_labels(labels: Any) -> LabelArray:
    """Return labels as integers from 0, in sorted order of the original labels."""
    return np.unique(np.asarray(labels).ravel(), return_inverse=True)[1].astype(np.intp)
