"""What is drawn on axes."""

from __future__ import annotations


def legend_texts(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def tick_labels(axis):
    return [label.get_text() for label in axis.get_ticklabels()]


def other_axes(ax):
    return [other for other in ax.figure.axes if other is not ax]


def assert_inside(ax, artists):
    """Check that all artists are on the page and that none overlap."""
    ax.figure.canvas.draw()
    page = ax.figure.bbox
    boxes = [artist.get_window_extent() for artist in artists]
    for i, box in enumerate(boxes):
        assert page.x0 <= box.x0 <= box.x1 <= page.x1 + 1
        assert page.y0 <= box.y0 <= box.y1 <= page.y1 + 1
        assert not any(box.overlaps(other) for other in boxes[:i])
