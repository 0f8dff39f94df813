"""Types of the data sets."""

import os
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

FloatArray: TypeAlias = npt.NDArray[np.float64]
LabelArray: TypeAlias = npt.NDArray[np.intp]
DataHome: TypeAlias = str | os.PathLike[str] | None
