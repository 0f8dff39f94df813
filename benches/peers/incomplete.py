"""Peer methods for views that lack samples, as rows of NaN.

NEMO is in nemo.py. The others are methods of the package iMML (https://imml.readthedocs.io) that
run without Octave, R and PyTorch, with its defaults. Their rows have unit length: of five ways to
scale (none, unit rows, unit columns, unit total variance, columns from 0 to 1) this had the best or
second best mean on three sets of the half "choose" for all but DAIMC and SIMCADC. Left out of
iMML: MONET, which takes no number of clusters; SUMO, which takes more than 30 s for 210 samples;
MLMF, whose factors become NaN on some sets; and NEMO, which is here already.
"""

from collections.abc import Callable

from .base import Labels, Peer, Views
from .nemo import nemo
from .spectral import unit_rows

# The methods, and the number of samples beyond which they take more than a quarter of a minute.
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
