"""A report as one HTML file that needs neither the network nor other files.

Parts are turned into HTML when they are added, so a figure may be changed or closed afterwards. Text is escaped, the
page carries no script, and its content security policy lets a browser load nothing but what is in the file.
"""

from __future__ import annotations

import base64
import io
import math
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from html import escape
from importlib.resources import files
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeGuard
from xml.etree import ElementTree

from .._core import __version__
from .._support.arguments import check_choice
from .._support.files import replace_file
from .._support.plotting import require_matplotlib

Cell: TypeAlias = str | float | int | None

# Characters of SVG up to which a figure stays a drawing; a heavier one is slow to show and becomes a picture.
_LIGHT_FIGURE = 300_000
# Browsers show an SVG at 96 dots an inch; pictures get twice as many, for sharp screens.
_DENSITY = 2
_DPI = 96 * _DENSITY
# Fixed, so that the same figure gives the same bytes whatever the user's settings.
_SVG_SETTINGS: dict[Any, Any] = {"svg.hashsalt": "mdt_fast", "svg.fonttype": "path", "svg.image_inline": True}
_SVG_METADATA = dict.fromkeys(("Creator", "Date", "Format", "Type"))
_SVG_NAMESPACE = "http://www.w3.org/2000/svg"

_POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'"
_BETTER = {"max": "higher", "min": "lower"}


class HtmlReport:
    """Collects parts and writes them as one self-contained HTML page.

    Parameters
    ----------
    title : str
        The heading of the page.
    subtitle : str, optional
        One sentence under it.
    when : datetime, optional
        The moment in the footer; now by default. The same parts and the same moment give the same bytes.

    Examples
    --------
    >>> report = HtmlReport("Digits", subtitle="Two views, ten clusters.")
    >>> report.section("What was run")
    >>> report.parameters({"n_clusters": 10, "strategy": "beam", "t": None})
    >>> report.table(["method", "AMI"], [["camera alone", 0.61], ["trajectory", 0.83]], best={"AMI": "max"})
    >>> report.warnings([])
    >>> report.save("digits.html")  # doctest: +SKIP
    """

    def __init__(self, title: str, *, subtitle: str | None = None, when: datetime | None = None) -> None:
        if when is not None and not isinstance(when, datetime):
            raise TypeError(f"when: expected a datetime or None, got {when!r} of type {type(when).__name__}")
        self._title = _escape("title", title)
        self._subtitle = None if subtitle is None else _escape("subtitle", subtitle)
        self._when = datetime.now().astimezone() if when is None else when
        self._sections: list[str] = []
        self._parts: list[str] = []
        self._n_tables = 0
        self._n_figures = 0

    def section(self, title: str) -> None:
        """Start a section; the table of contents links to it."""
        heading = _escape("title", title)
        if self._sections:
            self._parts.append("</section>")
        self._sections.append(heading)
        self._parts.append(f'<section id="section-{len(self._sections)}">\n<h2>{heading}</h2>')

    def text(self, text: str) -> None:
        """Add a paragraph of plain text."""
        self._parts.append(f"<p>{_escape('text', text)}</p>")

    def parameters(self, values: Mapping[str, object]) -> None:
        """Add names and values, one a line; None is shown as "default"."""
        rows = [
            f'<tr><th scope="row">{_escape("name", name)}</th>'
            + ('<td class="none">default</td>' if value is None else f"<td>{escape(str(value))}</td>")
            + "</tr>"
            for name, value in values.items()
        ]
        self._parts.append("\n".join(['<table class="parameters">', "<tbody>", *rows, "</tbody>", "</table>"]))

    def table(
        self,
        header: Sequence[str],
        rows: Sequence[Sequence[Cell]],
        *,
        caption: str | None = None,
        best: Mapping[str, Literal["max", "min"]] | None = None,
    ) -> None:
        """Add a table.

        Parameters
        ----------
        header : sequence of str
            The names of the columns.
        rows : sequence of sequences
            Text, numbers or None (no value). The first cell names the row. Floats of a column share their number
            of decimals; give text where you want another form.
        caption : str, optional
            What the table shows.
        best : mapping of str to {"max", "min"}, optional
            Columns whose best number is set bold and the second best underlined, and which one is best. Numbers
            that read the same are marked the same.
        """
        if not header:
            raise ValueError("header: expected at least one column, got none")
        for i, row in enumerate(rows):
            if len(row) != len(header):
                raise ValueError(f"rows[{i}]: expected {len(header)} cells, one for each column, got {len(row)}")
        best = {} if best is None else best
        for name, direction in best.items():
            check_choice("best", name, header)
            check_choice(f"best[{name!r}]", direction, list(_BETTER))
        columns = [[row[c] for row in rows] for c in range(len(header))]
        heads = [
            f'<th scope="col"{_class_of(cells)}>{_escape("header", name)}</th>'
            for name, cells in zip(header, columns, strict=True)
        ]
        body = [
            _set_column(cells, best.get(name), is_row_name=c == 0)
            for c, (name, cells) in enumerate(zip(header, columns, strict=True))
        ]
        lines = [f"<tr>{''.join(cells)}</tr>" for cells in zip(*body, strict=True)]
        sentences = [] if caption is None else [_escape("caption", caption)]
        if best:
            sentences.append(escape(_legend(best)))
        parts = ["<figure>"]
        if sentences:
            self._n_tables += 1
            parts.append(f"<figcaption><b>Table {self._n_tables}.</b> {' '.join(sentences)}</figcaption>")
        parts += ['<div class="scroll"><table>', f"<thead><tr>{''.join(heads)}</tr></thead>"]
        parts += ["<tbody>", *lines, "</tbody>", "</table></div>", "</figure>"]
        self._parts.append("\n".join(parts))

    def figure(self, figure: Any, caption: str, *, alt: str | None = None) -> None:
        """Add a matplotlib figure: a drawing (SVG) if it is light, else a picture (PNG) of twice the resolution.

        A layout engine moves axes a little at every drawing of a figure: where the bytes of two reports are to be
        the same, make it anew for each.

        Parameters
        ----------
        figure : matplotlib.figure.Figure or matplotlib.axes.Axes
            The figure, or axes of it; the whole figure is shown.
        caption : str
            What it shows.
        alt : str, optional
            A description for those who cannot see it; the caption by default.
        """
        number, text = self._n_figures + 1, _escape("caption", caption)
        drawing = _draw(_figure_of(figure), f"figure-{number}", text if alt is None else _escape("alt", alt))
        self._n_figures = number
        self._parts.append(
            f'<figure id="figure-{number}">\n<div class="card">{drawing}</div>\n'
            f"<figcaption><b>Figure {number}.</b> {text}</figcaption>\n</figure>"
        )

    def warnings(self, warnings: Sequence[str]) -> None:
        """Add a box of warnings, or one that says that there are none."""
        if isinstance(warnings, str):
            raise TypeError(f"warnings: expected a list of texts, got the text {warnings!r}")
        kind, mark, message = "note", "✓", "<p>Nothing to worry about</p>"
        if warnings:
            kind, mark = "note warning", "!"
            count = "1 warning" if len(warnings) == 1 else f"{len(warnings)} warnings"
            items = "".join(f"<li>{_escape('warnings', warning)}</li>" for warning in warnings)
            message = f"<p><strong>{count}</strong></p><ul>{items}</ul>"
        self._parts.append(
            f'<div class="{kind}" role="note"><span class="mark" aria-hidden="true">{mark}</span>'
            f"<div>{message}</div></div>"
        )

    def code(self, text: str) -> None:
        """Add a command line or code, as it is."""
        # Browsers would break lines within the hyphens of an option.
        words = re.sub(r"(?<!\S)-\S+", r"<span>\g<0></span>", _escape("text", text))
        self._parts.append(f"<pre><code>{words}</code></pre>")

    def html(self) -> str:
        """Return the page."""
        style = files(__package__).joinpath("html_report.css").read_text(encoding="utf-8")
        subtitle = "" if self._subtitle is None else f'\n<p class="subtitle">{self._subtitle}</p>'
        links = [
            f'<li><a href="#section-{number}">{name}</a></li>' for number, name in enumerate(self._sections, start=1)
        ]
        contents = ["<nav><div>", "<p>Contents</p>", "<ol>", *links, "</ol>", "</div></nav>"] if links else []
        day = escape(f"{self._when:%Y-%m-%d %H:%M %Z}".rstrip())
        lines = [
            "<!DOCTYPE html>",
            '<html lang="en">',
            "<head>",
            '<meta charset="utf-8">',
            f'<meta http-equiv="Content-Security-Policy" content="{_POLICY}">',
            '<meta name="viewport" content="width=device-width, initial-scale=1">',
            f"<title>{self._title}</title>",
            f"<style>\n{style}</style>",
            "</head>",
            '<body class="contents">' if links else "<body>",
            f"<header>\n<h1>{self._title}</h1>{subtitle}\n</header>",
            *contents,
            "<main>",
            *self._parts,
            *(["</section>"] if self._sections else []),
            "</main>",
            f'<footer>mdt_fast {escape(__version__)} · <time datetime="{self._when.isoformat()}">{day}</time></footer>',
            "</body>",
            "</html>",
            "",
        ]
        # File names of odd encodings carry lone surrogates, which UTF-8 cannot hold: a report is not lost for them.
        return "\n".join(lines).encode("utf-8", "replace").decode("utf-8")

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file, as a whole or not at all, and return its path."""
        path = Path(path)
        replace_file(path, self.html())
        return path


def _escape(name: str, text: str) -> str:
    """Return plain text as HTML."""
    if not isinstance(text, str):
        raise TypeError(f"{name}: expected text, got {text!r} of type {type(text).__name__}")
    return escape(text)


def _legend(best: Mapping[str, str]) -> str:
    """Return what the marks of a table mean."""
    columns = {way: ", ".join(name for name, direction in best.items() if direction == way) for way in _BETTER}
    meaning = "; ".join(f"{names}: {_BETTER[way]} is better" for way, names in columns.items() if names)
    return f"Best in bold, second best underlined ({meaning})."


def _is_number(cell: object) -> TypeGuard[float]:
    return isinstance(cell, Real) and not isinstance(cell, bool)


def _class_of(cells: Iterable[Cell]) -> str:
    return ' class="number"' if any(map(_is_number, cells)) else ""


def _set_column(cells: Sequence[Cell], best: str | None, *, is_row_name: bool) -> list[str]:
    """Return the cells of a column as HTML."""
    texts = _format_column(cells)
    marks: dict[str, str] = {}
    if best is not None:
        ranked = [(c, text) for c, text in zip(cells, texts, strict=True) if _is_number(c) and c == c]
        ranked.sort(reverse=best == "max")
        distinct = dict.fromkeys(text for _, text in ranked)
        marks = dict(zip(distinct, ("strong", "u"), strict=False))
    tag, scope = ("th", ' scope="row"') if is_row_name else ("td", "")
    opening, closing = f"<{tag}{scope}{_class_of(cells)}>", f"</{tag}>"
    lines = []
    for text in texts:
        mark = marks.get(text)
        lines.append(opening + (f"<{mark}>{escape(text)}</{mark}>" if mark else escape(text)) + closing)
    return lines


def _format_column(cells: Sequence[Cell]) -> list[str]:
    """Return cells as text; the largest float has four digits, and all have its number of decimals."""
    floats = [abs(float(c)) for c in cells if _is_number(c) and not isinstance(c, Integral)]
    largest = max((size for size in floats if math.isfinite(size)), default=0.0)
    decimals = max(0, 3 - math.floor(math.log10(largest))) if 1e-4 <= largest < 1e7 else None

    def show(cell: Cell) -> str:
        if cell is None:
            return "\N{EN DASH}"
        if not _is_number(cell) or isinstance(cell, Integral):
            return str(cell)
        value = float(cell)
        # What would read as zero but is not keeps its digits.
        if decimals is None or (value != 0 and round(value, decimals) == 0):
            return f"{value:.4g}"
        return f"{value:.{decimals}f}"

    return [show(cell) for cell in cells]


class _HeavyFigureError(Exception):
    pass


class _LightText(io.StringIO):
    """Stops the drawing of a heavy figure early: at 100,000 points after 0.1 s instead of 5 s."""

    def write(self, text: str) -> int:
        if self.tell() + len(text) > _LIGHT_FIGURE:
            raise _HeavyFigureError
        return super().write(text)


def _figure_of(drawn: object) -> Any:
    """Return the figure that axes belong to."""
    require_matplotlib("HtmlReport.figure")
    from matplotlib.figure import Figure

    # Twice, because axes may lie in a subfigure.
    figure = getattr(getattr(drawn, "figure", None), "figure", None)
    if not isinstance(figure, Figure):
        raise TypeError(f"figure: expected a matplotlib Figure or Axes, got {type(drawn).__name__}")
    return figure


def _draw(figure: Any, prefix: str, alt: str) -> str:
    """Return a figure as an element of HTML; `alt` is escaped already."""
    from matplotlib import rc_context

    with rc_context(_SVG_SETTINGS), suppress(_HeavyFigureError):
        svg = _LightText()
        figure.savefig(svg, format="svg", dpi=_DPI, bbox_inches="tight", metadata=_SVG_METADATA)
        return _inline_svg(svg.getvalue(), prefix, alt)
    png = io.BytesIO()
    figure.savefig(png, format="png", dpi=_DPI, bbox_inches="tight", metadata={"Software": None})
    # The header of a PNG gives its width and height at a fixed place.
    content = png.getvalue()
    width, height = (int.from_bytes(content[at : at + 4]) // _DENSITY for at in (16, 20))
    data = base64.b64encode(content).decode("ascii")
    return f'<img src="data:image/png;base64,{data}" width="{width}" height="{height}" alt="{alt}">'


def _inline_svg(svg: str, prefix: str, alt: str) -> str:
    """Return an SVG document as an element of HTML whose ids and styles cannot meet those of another figure.

    Parsing drops the prolog, the document type and the comments. HTML knows the namespaces by itself.
    """
    root = ElementTree.fromstring(svg)
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
                # A link set on an artist: a figure is no place to leave the report from.
                continue
            element.set(name, value.replace("url(#", f"url(#{prefix}-"))
        if element.tag == "style":
            element.text = f"#{prefix} {element.text}"
    root.set("xmlns", _SVG_NAMESPACE)
    markup = ElementTree.tostring(root, encoding="unicode")
    return markup.replace("<svg", f'<svg role="img" aria-label="{alt}"', 1)
