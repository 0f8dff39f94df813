"""Conversion of matplotlib figures to HTML elements.

A figure becomes an inline SVG drawing, or a PNG image if the drawing would be large. The same figure
gives the same bytes, whatever the settings of the user.
"""

import base64
import io
from contextlib import suppress
from typing import Any
from xml.etree import ElementTree

from .._support.extras import require
from .._support.text import printable

# Largest number of characters of an SVG drawing. Browsers are slow to show larger ones.
_MAX_SVG = 300_000
# Browsers show an SVG drawing at 96 dots per inch. Images have twice the resolution.
_DENSITY = 2
_DPI = 96 * _DENSITY
_SVG_SETTINGS: dict[Any, Any] = {"svg.hashsalt": "mdt_fast", "svg.fonttype": "path", "svg.image_inline": True}
_SVG_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))
_SVG_NAMESPACE = "http://www.w3.org/2000/svg"


class _LargeFigureError(Exception):
    pass


class _LimitedText(io.StringIO):
    """Text of limited length, which stops the drawing of a large figure early.

    At 100,000 points the drawing stops after 0.1 s instead of 5 s.
    """

    def write(self, text: str) -> int:
        if self.tell() + len(text) > _MAX_SVG:
            raise _LargeFigureError
        return super().write(text)


def figure_to_html(drawn: object, prefix: str, alt: str) -> str:
    """Return a figure, or the figure of axes, as an HTML element.

    `prefix` precedes all ids of the element; `alt` is the description, as escaped HTML.
    """
    figure = _figure_of(drawn)
    from matplotlib import rc_context

    with rc_context(_SVG_SETTINGS), suppress(_LargeFigureError):
        svg = _LimitedText()
        figure.savefig(svg, format="svg", dpi=_DPI, bbox_inches="tight", metadata=_SVG_METADATA)
        return _inline_svg(svg.getvalue(), prefix, alt)
    png = io.BytesIO()
    figure.savefig(png, format="png", dpi=_DPI, bbox_inches="tight", metadata={"Software": None})
    content = png.getvalue()
    # The width and the height are at fixed offsets of the PNG header.
    width, height = (int.from_bytes(content[at : at + 4]) // _DENSITY for at in (16, 20))
    data = base64.b64encode(content).decode("ascii")
    return f'<img src="data:image/png;base64,{data}" width="{width}" height="{height}" alt="{alt}">'


def _figure_of(drawn: object) -> Any:
    require("matplotlib", "HtmlReport.figure")
    from matplotlib.figure import Figure

    # Axes of a subfigure need both steps.
    figure = getattr(getattr(drawn, "figure", None), "figure", None)
    if not isinstance(figure, Figure):
        raise TypeError(f"figure: expected a matplotlib Figure or Axes, got {type(drawn).__name__}")
    return figure


def _inline_svg(svg: str, prefix: str, alt: str) -> str:
    """Return an SVG document as an HTML element whose ids and styles are unique in the page.

    Parsing removes the prolog, the document type and the comments. HTML needs no namespaces.
    """
    root = ElementTree.fromstring(printable(svg, keep="\t\n\r"))
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        attributes = list(element.items())
        element.attrib.clear()
        for qualified, value in attributes:
            name = qualified.rpartition("}")[2]
            if name == "id":
                value = f"{prefix}-{value}"
            elif name == "href" and value.startswith("#"):
                value = f"#{prefix}-{value[1:]}"
            elif name == "href" and not value.startswith("data:image/"):
                # The URL of an artist is dropped: a report has no links to other places.
                continue
            element.set(name, value.replace("url(#", f"url(#{prefix}-"))
        if element.tag == "style":
            element.text = f"#{prefix} {element.text}"
    root.set("xmlns", _SVG_NAMESPACE)
    markup = ElementTree.tostring(root, encoding="unicode")
    return markup.replace("<svg", f'<svg role="img" aria-label="{alt}"', 1)
