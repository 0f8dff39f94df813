"""Labels of new samples: the cluster that the first step of a new sample most probably leads to."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._operators.new_samples import functions_at
from .._operators.trajectory import Trajectory


def labels_at(
    Xs: Any, trajectories: list[Trajectory], labels: NDArray[np.int32], *, n_jobs: int | None = None
) -> NDArray[np.int32]:
    """Return the cluster of each new sample.

    The step has the mean of the weights of `trajectories`. The identity is left out: a new sample
    is in no cluster yet, so it cannot stay there.
    """
    ops = trajectories[0].operators
    weights = np.mean([each.weights.mean(axis=0) for each in trajectories], axis=0)
    weights[[member.identity_share > 0 for member in ops.members]] = 0.0
    step = ops.trajectory([weights / weights.sum()])
    shares = functions_at(ops.new_rows(Xs, n_jobs=n_jobs), step, np.eye(int(labels.max()) + 1)[labels])
    return np.asarray(shares.argmax(axis=1), dtype=np.int32)
