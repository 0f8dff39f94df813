"""Names for the types that the data sets share."""

from __future__ import annotations

import os
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.float64]
LabelArray: TypeAlias = npt.NDArray[np.intp]
RandomStateLike: TypeAlias = int | np.integer[Any] | np.random.Generator | np.random.RandomState | None
DataHome: TypeAlias = str | os.PathLike[str] | None
