"""The figures that the paper's authors published, by data set and method.

`published.json` holds for each data set the diffusion time `t`, the singular entropies of the mean walk at t = 1, 2,
..., and for each method mean and standard deviation of AMI, ARI and CH over 100 runs (fractions, not percent). Those of
beam and direct are over starts of k-means on one searched trajectory.
"""

from __future__ import annotations

import functools
import json
from importlib import resources
from typing import Any


@functools.cache
def published() -> dict[str, Any]:
    """Return everything that was published."""
    text = resources.files(__package__).joinpath("published.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


# Names end like this where the authors' code departs from their text; the figures are those of the plain name.
AS_CODED = " (as coded)"


def published_time(dataset: str) -> int | None:
    """Return the diffusion time of a data set, None where none was published."""
    entry = published().get(dataset.removesuffix(AS_CODED))
    return None if entry is None else int(entry["t"])


def published_entropy(dataset: str) -> list[float] | None:
    """Return the singular entropies of the mean walk at t = 1, 2, ..., None where none were published."""
    entry = published().get(dataset.removesuffix(AS_CODED), {})
    return None if "entropy" not in entry else list(entry["entropy"])


def published_score(dataset: str, method: str, measure: str) -> tuple[float, float] | None:
    """Return mean and standard deviation of a cell of the tables, None where there is none."""
    methods = published().get(dataset.removesuffix(AS_CODED), {}).get("methods", {})
    scores = methods.get(method.removesuffix(AS_CODED), {})
    if measure not in scores:
        return None
    mean, deviation = scores[measure]
    return float(mean), float(deviation)
