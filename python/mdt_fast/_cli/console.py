"""Output and exit codes of the commands; the output is text or one JSON document."""

import json
import os
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import click

from .._support.tables import aligned
from .._support.text import printable
from .outputs import OutputError

# Exit codes. click also exits with 2 after wrong usage.
BAD_INPUT = 2
FAILED = 1
INTERRUPTED = 130
TERMINATED = 143

_BREAK = "\n"

# Errors that the input causes. Other errors, such as a full disk, are failures.
_INPUT_ERRORS = (
    ValueError, TypeError, ImportError, FileNotFoundError, FileExistsError, PermissionError, IsADirectoryError,
    NotADirectoryError, OutputError,
)  # fmt: skip


class _TerminatedError(BaseException):
    """SIGTERM as an exception, so that temporary files are removed."""


@contextmanager
def _sigterm_raises() -> Iterator[None]:
    """Raise _TerminatedError at SIGTERM; only the main thread may handle signals."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def terminate(number: int, frame: Any) -> None:
        # A second signal must not interrupt the removal of files.
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        raise _TerminatedError

    earlier = signal.signal(signal.SIGTERM, terminate)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, earlier or signal.SIG_DFL)


class Console:
    """Output of a command.

    Parameters
    ----------
    as_json : bool
        Whether to print only one JSON document.
    quiet : bool, default=False
        Whether to print only errors.
    """

    def __init__(self, *, as_json: bool, quiet: bool = False) -> None:
        self.as_json = as_json
        self._silent = as_json or quiet
        self.warnings: list[str] = []
        # What an interrupted command says about its files.
        self.written = ""

    @property
    def shows_progress(self) -> bool:
        """Whether a progress bar may be written to standard error."""
        return not self._silent and sys.stderr.isatty()

    def print(self, text: str = "") -> None:
        """Print a line of text."""
        if not self._silent:
            click.echo(printable(text, keep=_BREAK))

    def warn(self, message: str) -> None:
        """Print a warning and keep it for the report and the JSON document; repeated ones count once."""
        if message not in self.warnings:
            self.warnings.append(message)
            self.print(f"! {message}")

    def table(self, header: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
        """Print a table with text aligned to the left and numbers aligned to the right."""
        cells = [[_cell(value) for value in row] for row in rows]
        is_text = [all(isinstance(value, str) for value in column) for column in zip(*rows, strict=True)]
        for line in aligned([header, *cells], is_text):
            self.print(line)

    def document(self, content: Mapping[str, Any]) -> None:
        """Print the JSON document."""
        if self.as_json:
            click.echo(json.dumps(content, indent=2, allow_nan=False))

    @contextmanager
    def collect_warnings(self) -> Iterator[None]:
        """Collect Python warnings in `warnings` and print them at the end, each once."""
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            yield
        for warning in caught:
            self.warn(str(warning.message))

    @contextmanager
    def exit_codes(self, written: str = "nothing was written") -> Iterator[None]:
        """Convert exceptions to a message and an exit code; after Ctrl-C and SIGTERM it ends with `written`."""
        self.written = written
        try:
            with _sigterm_raises():
                yield
        except KeyboardInterrupt:
            self._fail(f"interrupted; {self.written}", INTERRUPTED)
        except _TerminatedError:
            self._fail(f"terminated; {self.written}", TERMINATED)
        except BrokenPipeError:
            # The reader closed the pipe. Without a new target, the flush at exit would fail again.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(FAILED)
        except _INPUT_ERRORS as error:
            self._fail(_message(error), BAD_INPUT)
        except Exception as error:
            if not isinstance(error, (OSError, MemoryError, FloatingPointError)):
                # An unexpected error is a bug, and its report needs the traceback.
                traceback.print_exc()
            self._fail(_message(error), FAILED)

    def _fail(self, message: str, code: int) -> None:
        self.document({"error": message})
        click.echo(f"mdt-fast: {printable(message, keep=_BREAK)}", err=True)
        sys.exit(code)


def _message(error: BaseException) -> str:
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    return f"{value:.3f}" if isinstance(value, float) else str(value)
