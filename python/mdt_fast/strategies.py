"""Strategies of :func:`mdt_fast.search`: frozen classes with their options.

A name such as ``"beam"`` stands for the strategy with its default options, ``Beam()``. Options of
the strategy of an estimator are set as ``set_params(strategy__width=3)``.
"""

from ._search.strategies import *  # noqa: F403
from ._search.strategies import __all__ as __all__
