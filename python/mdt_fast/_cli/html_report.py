"""Reports as single HTML files without external resources.

Each part is converted to HTML when it is added, so a figure may be changed or closed afterwards. Text
is escaped, the page has no scripts, and its content security policy prevents a browser from loading
other files.
"""

import math
import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from html import escape
from importlib.resources import files
from numbers import Integral, Real
from pathlib import Path
from string import Template
from typing import Any, Literal, TypeAlias, TypeGuard

from .._core import __version__
from .._support.arguments import check_choice, check_text
from .._support.files import replace_file
from .._support.text import printable
from .html_figure import figure_to_html

Cell: TypeAlias = str | float | int | None

_BETTER = {"max": "higher", "min": "lower"}


class HtmlReport:
    """A report that collects parts and writes them as one self-contained HTML page.

    Parameters
    ----------
    title : str
        The heading of the page.
    subtitle : str or None, default=None
        One sentence below the heading.
    when : datetime or None, default=None
        The time in the footer; None is the current time. The same parts and the same time give the
        same bytes.

    Examples
    --------
    >>> report = HtmlReport("Digits", subtitle="Two views, ten clusters.")
    >>> report.section("Methods")
    >>> report.table(["method", "AMI"], [["camera alone", 0.61], ["trajectory", 0.83]], best={"AMI": "max"})
    >>> report.warnings([])
    >>> report.section("What was run")
    >>> with report.folded("Parameters"):
    ...     report.parameters({"n_clusters": 10, "strategy": "beam", "t": None})
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

    @contextmanager
    def folded(self, title: str) -> Iterator[None]:
        """Fold the parts that are added within a `with` block; readers open them by a click on the title."""
        self._parts.append(f"<details>\n<summary>{_escape('title', title)}</summary>")
        yield
        self._parts.append("</details>")

    def parameters(self, values: Mapping[str, object]) -> None:
        """Add one line for each name and value; None is shown as "default"."""
        rows = [
            f'<tr><th scope="row">{_escape("name", name)}</th>'
            + ('<td class="none">default</td>' if value is None else f"<td>{_to_html(str(value))}</td>")
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
            Text, numbers or None (no value). The first cell is the name of the row. All floats of a
            column have the same number of decimals; use text for other formats.
        caption : str or None, default=None
            The caption above the table.
        best : mapping of str to {"max", "min"} or None, default=None
            Columns in which the best number is bold and the second best underlined, and whether the
            largest or the smallest number is best. Numbers with equal text have equal marks.

        Raises
        ------
        ValueError
            If the header is empty, a row has another length, or `best` has an unknown entry.
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
            _column_to_html(cells, best.get(name), is_row_name=c == 0)
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
        """Add a matplotlib figure as an SVG drawing, or as a PNG image if the drawing is large.

        A layout engine moves axes slightly whenever a figure is drawn. Two reports have equal bytes
        only if each draws a new figure.

        Parameters
        ----------
        figure : matplotlib.figure.Figure or matplotlib.axes.Axes
            The figure, or axes of it; the whole figure is shown.
        caption : str
            The caption below the figure.
        alt : str or None, default=None
            The description for screen readers; None is the caption.
        """
        number, text = self._n_figures + 1, _escape("caption", caption)
        drawing = figure_to_html(figure, f"figure-{number}", text if alt is None else _escape("alt", alt))
        self._n_figures = number
        self._parts.append(
            f'<figure id="figure-{number}">\n<div class="card">{drawing}</div>\n'
            f"<figcaption><b>Figure {number}.</b> {text}</figcaption>\n</figure>"
        )

    def warnings(self, warnings: Sequence[str]) -> None:
        """Add a box that lists the warnings, or states that there are none."""
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
        """Add a command line or code, unchanged."""
        # The style of the spans prevents line breaks after the hyphens of an option.
        code = re.sub(r"(?<!\S)-\S+", r"<span>\g<0></span>", _escape("text", text))
        self._parts.append(f"<pre><code>{code}</code></pre>")

    def html(self) -> str:
        """Return the page as text."""
        template, style = (
            files(__package__).joinpath(f"html_report.{kind}").read_text(encoding="utf-8") for kind in ("html", "css")
        )
        links = [
            f'<li><a href="#section-{number}">{name}</a></li>' for number, name in enumerate(self._sections, start=1)
        ]
        contents = ["<nav><div>", "<p>Contents</p>", "<ol>", *links, "</ol>", "</div></nav>"] if links else []
        end = ["</section>"] if self._sections else []
        return Template(template).substitute(
            title=self._title,
            style=style,
            body='<body class="contents">' if links else "<body>",
            subtitle="" if self._subtitle is None else f'\n<p class="subtitle">{self._subtitle}</p>',
            content="\n".join([*contents, "<main>", *self._parts, *end, "</main>"]),
            version=escape(__version__),
            when=self._when.isoformat(),
            day=escape(f"{self._when:%Y-%m-%d %H:%M %Z}".rstrip()),
        )

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the page to a file and return its path; the file is never partly written."""
        path = Path(path)
        replace_file(path, self.html())
        return path


def _escape(name: str, text: str) -> str:
    """Return plain text as HTML; `name` is the argument in the error."""
    return _to_html(check_text(name, text))


def _to_html(text: str) -> str:
    """Return any text as HTML; escapes replace what a page cannot contain."""
    return escape(printable(text, keep="\t\n\r"))


def _legend(best: Mapping[str, str]) -> str:
    """Return the sentence that explains the marks of a table."""
    columns = {which: ", ".join(name for name in best if best[name] == which) for which in _BETTER}
    meaning = "; ".join(f"{names}: {_BETTER[which]} is better" for which, names in columns.items() if names)
    return f"Best in bold, second best underlined ({meaning})."


def _is_number(cell: object) -> TypeGuard[float]:
    return isinstance(cell, Real) and not isinstance(cell, bool)


def _class_of(cells: Iterable[Cell]) -> str:
    return ' class="number"' if any(map(_is_number, cells)) else ""


def _column_to_html(cells: Sequence[Cell], best: str | None, *, is_row_name: bool) -> list[str]:
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
        lines.append(opening + (f"<{mark}>{_to_html(text)}</{mark}>" if mark else _to_html(text)) + closing)
    return lines


def _format_column(cells: Sequence[Cell]) -> list[str]:
    """Return the cells as text; the largest float has four digits, all have equal decimals."""
    floats = [abs(float(c)) for c in cells if _is_number(c) and not isinstance(c, Integral)]
    largest = max((size for size in floats if math.isfinite(size)), default=0.0)
    decimals = max(0, 3 - math.floor(math.log10(largest))) if 1e-4 <= largest < 1e7 else None

    def show(cell: Cell) -> str:
        if cell is None:
            return "\N{EN DASH}"
        if not _is_number(cell) or isinstance(cell, Integral):
            return str(cell)
        value = float(cell)
        # A number other than 0 keeps its digits if rounding would show 0.
        if decimals is None or (value != 0 and round(value, decimals) == 0):
            return f"{value:.4g}"
        return f"{value:.{decimals}f}"

    return [show(cell) for cell in cells]
