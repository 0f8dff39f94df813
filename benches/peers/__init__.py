"""Peer methods of multi-view clustering, each in its own file.

The formulas are those of the cited papers. The parameters are common values, the same for all data sets,
and are not tuned by the classes.
"""

from .amgl import amgl
from .base import Labels, Peer, Views
from .coregularised import coregularised
from .cotraining import cotraining
from .gmc import gmc
from .kmeans import kmeans_concatenated, kmeans_each
from .leiden import multiplex_leiden
from .lmvsc import lmvsc
from .snf import snf
from .spectral_concatenated import spectral_concatenated
from .spectral_sum import spectral_sum

# Methods with several dense N x N matrices for each view take minutes beyond this size.
DENSE_LIMIT = 3500

PEERS: dict[str, Peer] = {
    "k-means, best view (oracle)": Peer(kmeans_each, oracle=True),
    "k-means": Peer(kmeans_concatenated),
    "spectral, concatenated": Peer(spectral_concatenated),
    "spectral, sum": Peer(spectral_sum),
    "multiplex Leiden": Peer(multiplex_leiden, needs=("igraph", "leidenalg")),
    "SNF": Peer(snf, max_samples=DENSE_LIMIT),
    "co-training": Peer(cotraining, max_samples=DENSE_LIMIT),
    "co-regularised": Peer(coregularised, max_samples=DENSE_LIMIT),
    "LMVSC": Peer(lmvsc),
    "AMGL": Peer(amgl, max_samples=DENSE_LIMIT),
    "GMC": Peer(gmc, random=False, max_samples=DENSE_LIMIT),
}

__all__ = ["DENSE_LIMIT", "PEERS", "Labels", "Peer", "Views"]
