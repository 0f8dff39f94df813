"""The numbers that the authors of the paper published, by data set and method.

`published.json` holds for each data set the singular entropies of the mean operator at t = 1, 2,
..., and for each method mean and standard deviation of AMI, ARI and CH over 100 runs (fractions,
not percent). The runs of beam and direct are starts of k-means on the answer of one search.
"""

import functools
import json
from dataclasses import dataclass
from importlib import resources
from typing import Any

from .._times import AS_CODED


@dataclass(frozen=True)
class PublishedScore:
    """Mean and standard deviation of one cell of the published tables.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> mdt.study.paper.published_score("Multi-Feat", "AD", "ami")
    PublishedScore(mean=0.8298, std=0.0139)
    """

    mean: float
    std: float


@functools.cache
def published() -> dict[str, Any]:
    """Return the content of published.json."""
    text = resources.files(__package__).joinpath("published.json").read_text(encoding="utf-8")
    return dict(json.loads(text))


def published_entropy(dataset: str) -> list[float] | None:
    """Return the published singular entropies of the mean operator of a data set.

    Parameters
    ----------
    dataset : str
        Name of a data set or of a manifold.

    Returns
    -------
    list of float or None
        Entropies at t = 1, 2, ...; None if none were published.
    """
    entry = published().get(dataset.removesuffix(AS_CODED), {})
    return None if "entropy" not in entry else list(entry["entropy"])


def published_score(dataset: str, method: str, measure: str) -> PublishedScore | None:
    """Return one cell of the published tables.

    Parameters
    ----------
    dataset, method : str
        Names of the tables.
    measure : str
        "ami", "ari" or "ch".

    Returns
    -------
    PublishedScore or None
        None if there is no such cell.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> mdt.study.paper.published_score("Multi-Feat", "AD", "ami")
    PublishedScore(mean=0.8298, std=0.0139)
    >>> mdt.study.paper.published_score("Digits", "AD", "ami") is None
    True
    """
    methods = published().get(dataset.removesuffix(AS_CODED), {}).get("methods", {})
    scores = methods.get(method.removesuffix(AS_CODED), {})
    return PublishedScore(*map(float, scores[measure])) if measure in scores else None
