"""How well labels fit the views: scores on each base view, averaged.

A view is scored on the rows of its walk ``P_v`` (two samples are alike if they walk alike), or on its features if these
are given; :func:`persistence` asks the walk itself. Nothing of size N x N is formed.
"""

from ._contrastive import contrastive_loss
from ._scores import calinski_harabasz, davies_bouldin, persistence, silhouette

__all__ = ["calinski_harabasz", "contrastive_loss", "davies_bouldin", "persistence", "silhouette"]
