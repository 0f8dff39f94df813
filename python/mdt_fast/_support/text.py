"""Text from files that is shown or written elsewhere: printable names, and cells of CSV files."""

import re
from collections.abc import Iterable
from contextlib import suppress
from typing import Any

# What XML, terminals and UTF-8 cannot show: control characters, lone surrogates, noncharacters, and
# the signs that change the direction of the text around them.
_UNPRINTABLE = re.compile(
    "[\\x00-\\x1f\\x7f-\\x9f\\u2028-\\u202e\\u2066-\\u2069\\ud800-\\udfff\\ufdd0-\\ufdef\\ufffe\\uffff]"
)
_FORMULA = re.compile("'*[=+\\-@\\t\\r]")


def printable(text: str, keep: str = "") -> str:
    r"""Return text with escapes such as ``\x07`` for characters that cannot be shown, except those of `keep`."""

    def escape(found: re.Match[str]) -> str:
        return found[0] if found[0] in keep else found[0].encode("unicode_escape").decode("ascii")

    return _UNPRINTABLE.sub(escape, text)


def to_cell(text: str) -> str:
    """Return text as a cell of a CSV file that no spreadsheet takes for a formula.

    Text that begins with ``=``, ``+``, ``-``, ``@``, a tab or a carriage return gets an apostrophe in
    front, as does such text after apostrophes. Numbers stay as they are. :func:`from_cell` inverts this.
    """
    if not _FORMULA.match(text):
        return text
    with suppress(ValueError):
        float(text)
        return text
    return f"'{text}"


def to_cells(row: Iterable[Any]) -> list[Any]:
    """Return a row of a CSV file: text by :func:`to_cell`, other values as they are."""
    return [to_cell(value) if isinstance(value, str) else value for value in row]


def from_cell(cell: str) -> str:
    """Return the text of which :func:`to_cell` made a cell."""
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell
