"""Peer methods for views that lack samples, as rows of NaN.

NEMO is in nemo.py. The others are methods of the package iMML (https://imml.readthedocs.io) that
run without Octave, R and PyTorch, with its defaults. Left out of iMML: MONET, which takes no number
of clusters; SUMO, which takes more than 30 s for 210 samples; MLMF, which fails with NaN in the
factors on some sets; and NEMO, which is here already.
"""

from collections.abc import Callable

from .base import Labels, Peer, Views
from .nemo import nemo

IMML = ("IMSR", "PIMVC", "EEIMVC", "OPIMC", "LFIMVC", "SIMCADC", "DAIMC")


def _imml(name: str) -> Callable[[Views, int, int], Labels]:
    def run(views: Views, n_clusters: int, seed: int) -> Labels:
        # Imported here, because the package is optional.
        import imml.cluster

        method = getattr(imml.cluster, name)(n_clusters=n_clusters, random_state=seed)
        # Some of its methods write to the views.
        return method.fit_predict([view.copy() for view in views])

    return run


INCOMPLETE_PEERS: dict[str, Peer] = {
    "NEMO": Peer(nemo),
    **{f"{name} (iMML)": Peer(_imml(name), needs=("imml",)) for name in IMML},
}
