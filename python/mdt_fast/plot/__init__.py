"""Plots of coordinates, maps, diffusion times, searches, trajectories, views and scores.

Each function draws on `ax`, or on a new figure if it is None, and returns the axes. Nothing is
shown, saved or changed globally. The functions import matplotlib when they draw: ``pip install
'mdt_fast[plot]'``.

>>> from mdt_fast import plot
>>> ax = plot.embedding(coordinates, labels)  # doctest: +SKIP
>>> ax.figure.savefig("embedding.png")  # doctest: +SKIP
"""

from ._embedding import embedding
from ._entropy import entropy
from ._map import map
from ._prr import prr
from ._quality import quality
from ._scores import scores
from ._tree import tree
from ._views import views
from ._weights import weights

__all__ = ["embedding", "entropy", "map", "prr", "quality", "scores", "tree", "views", "weights"]
