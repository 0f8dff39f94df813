"""Spectral clustering on the KNN graph of all views side by side."""

from sklearn.cluster import SpectralClustering

from .base import Labels, Views
from .graphs import N_NEIGHBORS, concatenate


def spectral_concatenated(views: Views, n_clusters: int, seed: int) -> Labels:
    """Cluster the KNN graph of the concatenation with scikit-learn."""
    model = SpectralClustering(n_clusters, affinity="nearest_neighbors", n_neighbors=N_NEIGHBORS, random_state=seed)
    return model.fit_predict(concatenate(views))
