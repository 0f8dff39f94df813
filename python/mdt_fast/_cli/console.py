"""How commands speak: tables and notes for people, one JSON document for machines, exit codes for both."""

from __future__ import annotations

import json
import os
import sys
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import click

from .outputs import OutputError

# As click has it for wrong usage; input that cannot be used is no different to who calls us.
BAD_INPUT = 2
FAILED = 1
INTERRUPTED = 130


# Errors that another input would not have; a full disk is none of them.
_INPUT_ERRORS = (
    ValueError,
    TypeError,
    ImportError,
    FileNotFoundError,
    FileExistsError,
    PermissionError,
    IsADirectoryError,
    NotADirectoryError,
    OutputError,
)


class Console:
    """Where a command writes: prose to standard output, or with `as_json` nothing but one document."""

    def __init__(self, *, as_json: bool, quiet: bool = False) -> None:
        self.as_json = as_json
        self._silent = as_json or quiet
        self.warnings: list[str] = []

    @property
    def shows_progress(self) -> bool:
        """Whether a bar on the standard error disturbs nobody."""
        return not self._silent and sys.stderr.isatty()

    def say(self, text: str = "") -> None:
        """Write a line for people."""
        if not self._silent:
            click.echo(text)

    def table(self, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Write a table for people: text to the left, numbers to the right."""
        cells = [[_cell(value) for value in row] for row in rows]
        widths = [max(map(len, column)) for column in zip(header, *cells, strict=True)]
        is_text = [all(isinstance(value, str) for value in column) for column in zip(*rows, strict=True)]
        for row in ([*header], ["-" * width for width in widths], *cells):
            aligned = (
                cell.ljust(width) if text else cell.rjust(width)
                for cell, width, text in zip(row, widths, is_text, strict=True)
            )
            self.say("  ".join(aligned).rstrip())

    def document(self, content: Mapping[str, Any]) -> None:
        """Write the document for machines."""
        if self.as_json:
            click.echo(json.dumps(content, indent=2, allow_nan=False))

    @contextmanager
    def collect_warnings(self) -> Iterator[None]:
        """Note what Python would warn of, each once, for the end and for the report."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        for warning in caught:
            if (message := str(warning.message)) not in self.warnings:
                self.warnings.append(message)
                self.say(f"! {message}")

    @contextmanager
    def exit_codes(self, interrupted: str = "interrupted; nothing was written") -> Iterator[None]:
        """Turn exceptions into one message and an exit code; Ctrl-C into the message `interrupted`."""
        try:
            yield
        except KeyboardInterrupt:
            self._fail(interrupted, INTERRUPTED)
        except BrokenPipeError:
            # Whoever read has gone; Python would complain once more when it closes the stream.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(FAILED)
        except _INPUT_ERRORS as error:
            self._fail(_message(error), BAD_INPUT)
        except Exception as error:
            if not isinstance(error, (OSError, MemoryError, FloatingPointError)):
                # Nothing that is expected to happen: whoever mends it wants to know where.
                traceback.print_exc()
            self._fail(_message(error), FAILED)

    def _fail(self, message: str, code: int) -> None:
        self.document({"error": message})
        click.echo(f"mdt-fast: {message}", err=True)
        sys.exit(code)


def _message(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if isinstance(value, float) else str(value)
