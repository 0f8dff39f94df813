"""Settings of matplotlib for the commands."""

from collections.abc import Iterator
from contextlib import contextmanager

from .._support.extras import require


def prepare_pictures(needed_by: str) -> None:
    """Select a matplotlib backend without display.

    A missing matplotlib raises ImportError before the computation.
    """
    require("matplotlib", needed_by)
    import matplotlib as mpl

    mpl.use("Agg")


@contextmanager
def figures_closed() -> Iterator[None]:
    """Close all pyplot figures at the end; pyplot keeps them in memory otherwise."""
    import matplotlib.pyplot as plt

    try:
        yield
    finally:
        plt.close("all")
