"""Scores of labels and of trajectories: how well they fit the base views of an operator set.

A score of labels is computed for each base view ``v`` and averaged, ``sum_v w_v score_v``. A view
is represented by the rows of its transition matrix ``P_v``, or by its features where `features` is
given; :func:`persistence` and :func:`information` use the transition probabilities themselves.
:func:`contrastive_loss` is a score of a trajectory and needs no labels. No N x N matrix is formed.
"""

from ._contrastive import contrastive_loss
from ._scores import calinski_harabasz, davies_bouldin, information, persistence, silhouette

__all__ = ["calinski_harabasz", "contrastive_loss", "davies_bouldin", "information", "persistence", "silhouette"]
