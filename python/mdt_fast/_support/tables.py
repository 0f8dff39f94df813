"""Tables as text, with aligned columns."""

from collections.abc import Sequence


def aligned(rows: Sequence[Sequence[str]], is_text: Sequence[bool]) -> list[str]:
    """Return the lines of a table with a rule below the first row; text is on the left, numbers on the right."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in (rows[0], ["-" * width for width in widths], *rows[1:]):
        cells = zip(row, widths, is_text, strict=True)
        lines.append(
            "  ".join(cell.ljust(width) if text else cell.rjust(width) for cell, width, text in cells).rstrip()
        )
    return lines
