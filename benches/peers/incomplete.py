"""Peer methods for views that lack samples, as rows of NaN.

NEMO is in nemo.py. The others are methods of the package iMML (https://imml.readthedocs.io) that
run without Octave, R and PyTorch, with its defaults. Their rows get unit length. Of five ways to
scale (none, unit rows, unit columns, unit total variance, columns from 0 to 1), tried with one mask
on three sets of the half "choose", this had the best mean for IMSR, PIMVC, OPIMC and LFIMVC; it was
2.9, 2.5 and 8.5 below the best for EEIMVC, SIMCADC and DAIMC. Left out of iMML: MONET, which ignores
the number of clusters; SUMO, which takes more than 30 s for 210 samples; MLMF, whose factors became
NaN on Wikipedia-test; and NEMO, which is here already.
"""

from collections.abc import Callable

from .base import Labels, Peer, Views
from .nemo import nemo
from .spectral import unit_rows

# The methods, and the number of samples beyond which they are left out: with 1797, two took a minute under load.
IMML = {"IMSR": 1500, "PIMVC": None, "EEIMVC": None, "OPIMC": None, "LFIMVC": None, "SIMCADC": None, "DAIMC": 1500}


def _imml(name: str) -> Callable[[Views, int, int], Labels]:
    def run(views: Views, n_clusters: int, seed: int) -> Labels:
        # Imported here, because the package is optional.
        import imml.cluster

        method = getattr(imml.cluster, name)(n_clusters=n_clusters, random_state=seed)
        return method.fit_predict([unit_rows(view) for view in views])

    return run


INCOMPLETE_PEERS: dict[str, Peer] = {
    "NEMO": Peer(nemo),
    **{f"{name} (iMML)": Peer(_imml(name), max_samples=limit, needs=("imml",)) for name, limit in IMML.items()},
}
