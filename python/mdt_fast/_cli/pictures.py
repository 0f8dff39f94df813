"""Drawing without a screen."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from .._support.plotting import require_matplotlib


def prepare_pictures(what: str) -> None:
    """Find out before hours of work, not after them, whether pictures can be drawn; draw them without a screen."""
    require_matplotlib(what)
    import matplotlib as mpl

    mpl.use("Agg")


@contextmanager
def figures_closed() -> Iterator[None]:
    """Close the figures that were made inside; pyplot would keep them."""
    import matplotlib.pyplot as plt

    try:
        yield
    finally:
        plt.close("all")
