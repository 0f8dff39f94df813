"""Drawing without a screen."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


def require_matplotlib(what: str) -> None:
    """Find out before hours of work, not after them, that pictures cannot be drawn."""
    try:
        import matplotlib as mpl
    except ImportError:
        raise ImportError(f"{what} needs matplotlib: pip install 'mdt_fast[plot]'") from None
    mpl.use("Agg")


@contextmanager
def figures_closed() -> Iterator[None]:
    """Close the figures that were made inside; pyplot would keep them."""
    import matplotlib.pyplot as plt

    try:
        yield
    finally:
        plt.close("all")
