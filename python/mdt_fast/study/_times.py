"""Diffusion times of the published figures, by data set."""

# Suffix of names where the authors' code differs from their text. The published numbers are those
# of the name without it.
AS_CODED = " (as coded)"
_NOISE_LEVELS = [f"{5 * level / 100:.2f}" for level in range(1, 15)]
_TIMES = {
    "100Leaves": 8, "Caltech101-7": 14, "Deformed-Plane": 8, "Helix-A": 7, "Helix-B": 9, "L-Isolet": 8, "MSRC-v5": 9,
    "Multi-Feat": 11, "Olivetti": 9, "Yale": 8,
    **{f"{name}(s={s})": 10 for name in ("K-MvMNIST", "L-MvMNIST") for s in _NOISE_LEVELS},
    "L-MvMNIST(s=0.70)": 11,
}  # fmt: skip


def published_time(dataset: str) -> int | None:
    """Return the published diffusion time of a data set.

    Parameters
    ----------
    dataset : str
        Name of a data set, with its noise level if it has one ("K-MvMNIST(s=0.25)"), or of a
        manifold ("Helix-A").

    Returns
    -------
    int or None
        None if no time was published.

    Examples
    --------
    >>> import mdt_fast as mdt
    >>> mdt.study.paper.published_time("Multi-Feat")
    11
    """
    return _TIMES.get(dataset.removesuffix(AS_CODED))
