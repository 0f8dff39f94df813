"""Spectral clustering on the sum of the affinities of the views."""

from .base import Labels, Views
from .graphs import neighbour_graph
from .spectral import spectral_labels


def spectral_sum(views: Views, n_clusters: int, seed: int) -> Labels:
    """Cluster the sum of the views' KNN affinities."""
    return spectral_labels(sum(neighbour_graph(view) for view in views), n_clusters, seed)
